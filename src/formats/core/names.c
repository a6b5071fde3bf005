#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names taken so far, found by hash. `next` is the number that the next repeat of a name tries first: lower ones are
 * taken, and stay so. */
struct taken {
	const char **name;
	uint32_t *next, *slot;                 /* slot: number + 1; 0: free */
	size_t mask;
};

static size_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3;
	return (size_t)(h ^ h >> 29);
}

/* Where the name stands, or where it would. */
static uint32_t *slot_of(const struct taken *t, const char *name)
{
	size_t i = hash(name) & t->mask;

	while (t->slot[i] && strcmp(t->name[t->slot[i] - 1], name))
		i = (i + 1) & t->mask;
	return &t->slot[i];
}

static bool is_safe(uint8_t c)
{
	return c >= '!' && c <= '~' && !strchr("#/\\\"':", c);
}

static char *make_safe(const struct stored_name *in, uint32_t k, const char *stem, struct arena *a)
{
	char *s;

	if (!in->n)
		return arena_printf(a, "%s_%u", stem, k);
	s = arena_alloc(a, in->n + 1, 1);
	for (size_t i = 0; s && i < in->n; i++)
		s[i] = is_safe(in->p[i]) ? (char)in->p[i] : '_';
	if (s && (!strcmp(s, ".") || !strcmp(s, "..")))
		memset(s, '_', in->n);
	return s;
}

/* The name, or what it becomes because others have it. */
static const char *take(struct taken *t, uint32_t k, const char *name, struct arena *a)
{
	uint32_t *slot = slot_of(t, name);

	if (*slot) {
		uint32_t *next = &t->next[*slot - 1];
		size_t n = strlen(name);
		char *other = arena_alloc(a, n + 12, 1);

		if (!other)
			return NULL;
		memcpy(other, name, n);
		do {
			snprintf(other + n, 12, "~%u", (*next)++);
			slot = slot_of(t, other);
		} while (*slot);
		name = other;
	}
	t->name[k] = name;
	t->next[k] = 2;
	*slot = k + 1;
	return name;
}

int names_distinct(const char *const *v, uint32_t n, const char **out, struct arena *a, struct err *e)
{
	struct taken t = { .name = out, .mask = 7 };
	bool ok;

	while (t.mask < (size_t)n * 2)
		t.mask = t.mask * 2 + 1;
	t.slot = calloc(t.mask + 1, sizeof *t.slot);
	t.next = calloc((size_t)n + 1, sizeof *t.next);
	ok = t.slot && t.next;
	for (uint32_t k = 0; k < n && ok; k++)
		ok = take(&t, k, v[k], a);
	free(t.slot);
	free(t.next);
	return ok ? 0 : err_nomem(e);
}

int names_safe(const struct stored_name *v, uint32_t n, const char *stem, const char **out, struct arena *a,
	       struct err *e)
{
	for (uint32_t k = 0; k < n; k++) {
		out[k] = make_safe(&v[k], k, stem, a);
		if (!out[k])
			return err_nomem(e);
	}
	return names_distinct(out, n, out, a, e);
}

struct path_text path_text(const char *path, char separator)
{
	struct path_text out = { "" };

	for (size_t i = 0; path[i] && i < sizeof out.s - 1; i++)
		out.s[i] = path[i] == separator ? '/' : path[i] >= ' ' && path[i] <= '~' ? path[i] : '?';
	return out;
}
