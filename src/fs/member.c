#include "member.h"

#include <string.h>
#include <strings.h>

/* What follows the last dot; NULL when there is no base name before it, or nothing behind it. */
static const char *ext_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name && dot[1] ? dot + 1 : NULL;
}

bool member_owner(const struct format *f, const char *name)
{
	const char *ext = ext_of(name);

	return f->nmembers && ext && !strcasecmp(ext, f->ext);
}

/* ---- spellings ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Spelling i of ext: the first of its `letters` letters is the highest bit; capitals come before small ones. */
static void spell(char *to, const char *ext, unsigned i, unsigned letters)
{
	for (; *ext; ext++, to++) {
		*to = *ext;
		if (is_letter(*ext))
			*to = (char)(i >> --letters & 1 ? *ext | 0x20 : *ext & ~0x20);
	}
	*to = 0;
}

static unsigned count_letters(const char *ext)
{
	unsigned n = 0;

	for (; *ext; ext++)
		n += is_letter(*ext);
	return n;
}

/* The name with room for the extension behind its dot; the length up to there, 0: it has none. */
static size_t base_of(const char *owner, const char *ext, char name[MEMBER_NAME_MAX])
{
	const char *own = ext_of(owner);
	size_t base = own ? (size_t)(own - owner) : 0;

	if (!own || base + strlen(ext) >= MEMBER_NAME_MAX || strlen(ext) > MEMBER_EXT_MOST)
		return 0;
	memcpy(name, owner, base);
	return base;
}

int member_spell(const char *owner, const char *ext, int (*fn)(void *ctx, const char *name), void *ctx)
{
	char name[MEMBER_NAME_MAX];
	size_t base = base_of(owner, ext, name);
	unsigned letters = count_letters(ext);
	int rc = 0;

	for (unsigned i = 0; i < 1u << letters && base && !rc; i++) {
		spell(name + base, ext, i, letters);
		rc = strcmp(name, owner) ? fn(ctx, name) : 0;
	}
	return rc;
}

int member_spell_one(const char *owner, const char *ext, unsigned letters, int (*fn)(void *ctx, const char *name),
		     void *ctx)
{
	char name[MEMBER_NAME_MAX];
	size_t base = base_of(owner, ext, name);

	if (base)
		spell(name + base, ext, letters, count_letters(ext));
	return base ? fn(ctx, name) : 0;
}

unsigned member_spelling(const char *name)
{
	unsigned letters = 0;

	for (const char *p = ext_of(name); p && *p; p++)
		if (is_letter(*p))
			letters = letters << 1 | (*p & 0x20 ? 1 : 0);
	return letters;
}

/* ---- owners ---- */

struct owners { struct membership m; int (*fn)(void *ctx, const struct membership *m); void *ctx; };

static int call(void *ctx, const char *name)
{
	struct owners *o = ctx;

	o->m.owner = name;
	return o->fn(o->ctx, &o->m);
}

/* The next that a file with that extension may be a member of, by format and number; false: there are no more. */
static bool next(const char *ext, const struct format *const **f, unsigned *k)
{
	for (; **f; ++*f, *k = 0)
		for (; *k < (**f)->nmembers; ++*k)
			if (!strcasecmp((**f)->members[*k].ext, ext))
				return true;
	return false;
}

int member_of(const char *name, int (*fn)(void *ctx, const struct membership *m), void *ctx)
{
	const struct format *const *f = formats;
	const char *ext = ext_of(name);
	unsigned k = 0;
	int rc = 0;

	for (; ext && !rc && next(ext, &f, &k); k++) {
		struct owners o = { { *f, k, NULL }, fn, ctx };

		rc = member_spell(name, (*f)->ext, call, &o);
	}
	return rc;
}

bool member_may_be(const char *name)
{
	const struct format *const *f = formats;
	const char *ext = ext_of(name);
	unsigned k = 0;

	return ext && next(ext, &f, &k);
}
