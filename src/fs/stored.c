#include "stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define DEPTH_MOST 64u                         /* folders in folders; deeper, the rest of a path is the name */
#define NUMBER_MOST 12u                        /* bytes that ~N adds at most */

/* While it is made. */
struct making {
	struct stored *s;
	char separator;
	uint32_t cap_dirs, nslots;             /* slots in use */
	/* By slot: the number that the next repeat of that name tries first, and the directory that paths with it lead
	 * to where an entry has the name itself. */
	struct repeat { uint32_t next, dir; } *repeat;
	uint32_t *seen;                        /* items in the order in which they were made */
	uint32_t nseen, cap_seen;
};

/* ---- names by hash ---- */

static uint32_t hash_of(const struct stored *s, uint32_t dir, const char *name)
{
	/* Nobody can choose collisions. */
	uint64_t h = hash_name(dir * 0x9e3779b97f4a7c15u ^ (uintptr_t)s, name);

	return (uint32_t)(h ^ h >> 32) & s->mask;
}

const char *stored_name(const struct stored *s, uint32_t item)
{
	uint32_t d = stored_dir_of(s, item);

	return s->text + (d ? s->dirs[d].name : s->entries[item].name);
}

const char *stored_ext(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name ? dot + 1 : "";
}

uint32_t stored_in(const struct stored *s, uint32_t item)
{
	uint32_t d = stored_dir_of(s, item);

	return d ? s->dirs[d].in : s->entries[item].in;
}

/* The slot that has the name, or the free one where it belongs. */
static uint32_t slot_of(const struct stored *s, uint32_t dir, const char *name)
{
	uint32_t i = hash_of(s, dir, name);

	while (s->slot[i] && (stored_in(s, s->slot[i] - 1) != dir || strcmp(stored_name(s, s->slot[i] - 1), name)))
		i = (i + 1) & s->mask;
	return i;
}

uint32_t stored_find(const struct stored *s, uint32_t dir, const char *name)
{
	return s->slot[slot_of(s, dir, name)] - 1;     /* 0 - 1 is STORED_NONE */
}

uint32_t stored_find_any_case(const struct stored *s, uint32_t dir, const char *name, size_t n)
{
	const struct stored_dir *d = &s->dirs[dir];

	for (uint32_t i = 0; i < d->n; i++)
		if (want_is_name(stored_name(s, s->order[d->first + i]), name, n))
			return s->order[d->first + i];
	return STORED_NONE;
}

/* ---- making ---- */

static bool grow_slots(struct making *m)
{
	struct stored *s = m->s;
	uint32_t size = (s->mask + 1) * 2, nold = s->mask + 1, *old = s->slot, *slot = calloc(size, sizeof *slot);
	struct repeat *was = m->repeat, *repeat = calloc(size, sizeof *repeat);

	if (!slot || !repeat) {
		free(slot);
		free(repeat);
		return false;
	}
	s->slot = slot;
	s->mask = size - 1;
	m->repeat = repeat;
	for (uint32_t k = 0; k < nold; k++) {
		uint32_t i, item = old[k] - 1;

		if (!old[k])
			continue;
		i = slot_of(s, stored_in(s, item), stored_name(s, item));
		slot[i] = old[k];
		repeat[i] = was[k];
	}
	free(old);
	free(was);
	return true;
}

/* Where the text now stands, or UINT32_MAX. */
static uint32_t add_text(struct stored *s, const char *name)
{
	size_t n = strlen(name) + 1;

	if (n > s->cap - s->ntext) {
		size_t cap = s->cap * 2 > s->ntext + n ? s->cap * 2 : s->ntext + n + 256;
		char *p = cap < UINT32_MAX ? realloc(s->text, cap) : NULL;

		if (!p)
			return UINT32_MAX;
		s->text = p;
		s->cap = cap;
	}
	memcpy(s->text + s->ntext, name, n);
	s->ntext += n;
	return (uint32_t)(s->ntext - n);
}

/* Cut to a length that leaves room for a number. */
static size_t cut(char *name)
{
	size_t n = strlen(name);

	if (n > NODE_NAME_MAX - 1 - NUMBER_MOST)
		name[n = NODE_NAME_MAX - 1 - NUMBER_MOST] = 0;
	return n;
}

/* Of a name that an item of the directory has: with the first number behind it that is free. */
static void make_free(struct making *m, uint32_t dir, char *name)
{
	struct stored *s = m->s;
	struct repeat *r = &m->repeat[slot_of(s, dir, name)];
	uint32_t k = r->next ? r->next : 2;
	size_t n = cut(name);

	do
		snprintf(name + n, NUMBER_MOST + 1, "~%u", k++);
	while (s->slot[slot_of(s, dir, name)]);
	r->next = k;
}

static bool add_seen(struct making *m, uint32_t item)
{
	if (m->nseen == m->cap_seen) {
		uint32_t cap = m->cap_seen ? m->cap_seen * 2 : 64;
		uint32_t *p = realloc(m->seen, cap * sizeof *p);

		if (!p)
			return false;
		m->seen = p;
		m->cap_seen = cap;
	}
	m->seen[m->nseen++] = item;
	return true;
}

/* Puts an item, whose place and name are set, where it is found. */
static bool enter(struct making *m, uint32_t item)
{
	struct stored *s = m->s;

	if (m->nslots >= s->mask / 2 && !grow_slots(m))
		return false;
	s->slot[slot_of(s, stored_in(s, item), stored_name(s, item))] = item + 1;
	m->nslots++;
	s->dirs[stored_in(s, item)].n++;
	return add_seen(m, item);
}

static bool new_dir(struct making *m, uint32_t in, const char *name, uint32_t *out)
{
	struct stored *s = m->s;
	uint32_t text = add_text(s, name);

	if (s->ndirs == m->cap_dirs) {
		uint32_t cap = m->cap_dirs * 2;
		struct stored_dir *p = realloc(s->dirs, cap * sizeof *p);

		if (!p)
			return false;
		s->dirs = p;
		m->cap_dirs = cap;
	}
	if (text == UINT32_MAX)
		return false;
	*out = s->ndirs++;
	s->dirs[*out] = (struct stored_dir){ .in = in, .name = text, .hash = hash_name(s->dirs[in].hash, name) };
	return enter(m, s->nentries + *out - 1);
}

static bool is_safe(char c, char separator)
{
	return (uint8_t)c >= ' ' && c != 0x7f && c != '/' && c != '\\' && c != separator;
}

/* The part of a path that begins there, or all the rest; where it ends. */
static const char *take_part(const char *at, char separator, bool rest, char name[NODE_NAME_MAX])
{
	size_t n = 0;

	for (; *at && (rest || *at != separator); at++)
		if (n < NODE_NAME_MAX - 1)
			name[n++] = is_safe(*at, separator) ? *at : '_';
	name[n] = 0;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		memset(name, '_', n);
	return at;
}

static const char *skip(const char *at, char separator)
{
	while (*at == separator)
		at++;
	return at;
}

/* What something else in the directory has is taken as a name that was stored with a number. */
static void leave_taken(const char *const *taken, uint32_t dir, char *name)
{
	while (!dir && *taken && strcmp(*taken, name))
		taken++;
	if (!dir && *taken)
		strcpy(name + cut(name), "~2");
}

/* Into the directory of that name, made when there is none. What an entry is called, no directory is. */
static bool go_down(struct making *m, uint32_t *dir, char *name)
{
	struct stored *s = m->s;
	uint32_t in = *dir, slot = slot_of(s, in, name), item = s->slot[slot] - 1;
	char stored[NODE_NAME_MAX];

	if (!s->slot[slot])
		return new_dir(m, in, name, dir);
	*dir = stored_dir_of(s, item) ? stored_dir_of(s, item) : m->repeat[slot].dir;
	if (*dir)
		return true;
	strcpy(stored, name);
	make_free(m, in, name);
	if (!new_dir(m, in, name, dir))
		return false;
	m->repeat[slot_of(s, in, stored)].dir = *dir;
	return true;
}

/* Entry i, which is a folder; the first of two that are the same one tells about it. */
static bool add_folder(struct making *m, uint32_t dir, uint32_t i, char *name)
{
	struct stored *s = m->s;
	uint32_t is = dir;

	if (!go_down(m, &is, name))
		return false;
	if (!s->dirs[is].entry)
		s->dirs[is].entry = i + 1;
	s->entries[i] = (struct stored_entry){ dir, s->dirs[is].name };
	return true;
}

static bool add_entry(struct making *m, const char *const *taken, uint32_t i, const char *path, bool folder)
{
	struct stored *s = m->s;
	char name[NODE_NAME_MAX];
	const char *at = skip(path, m->separator), *next;
	uint32_t dir = 0, text;

	for (unsigned depth = 1;; depth++, at = next) {
		next = skip(take_part(at, m->separator, depth > DEPTH_MOST, name), m->separator);
		if (!*name)
			strcpy(name, "_");
		leave_taken(taken, dir, name);
		if (!*next)
			break;
		if (!go_down(m, &dir, name))
			return false;
	}
	if (folder)
		return add_folder(m, dir, i, name);
	if (s->slot[slot_of(s, dir, name)])
		make_free(m, dir, name);
	text = add_text(s, name);
	s->entries[i] = (struct stored_entry){ dir, text };
	return text != UINT32_MAX && enter(m, i);
}

/* Items were made in the order of the table; each goes to the end of its directory's. */
static bool put_in_order(struct making *m)
{
	struct stored *s = m->s;
	uint32_t at = 0;

	s->order = malloc((m->nseen + (size_t)1) * sizeof *s->order);
	if (!s->order)
		return false;
	for (uint32_t d = 0; d < s->ndirs; d++) {
		s->dirs[d].first = at;
		at += s->dirs[d].n;
		s->dirs[d].n = 0;
	}
	for (uint32_t k = 0; k < m->nseen; k++) {
		struct stored_dir *d = &s->dirs[stored_in(s, m->seen[k])];

		s->order[d->first + d->n++] = m->seen[k];
	}
	return true;
}

static bool begin(struct making *m, uint32_t n, uint64_t hash)
{
	struct stored *s = m->s;

	s->mask = 15;
	while (s->mask / 2 <= n)
		s->mask = s->mask * 2 + 1;
	m->cap_dirs = 8;
	s->slot = calloc((size_t)s->mask + 1, sizeof *s->slot);
	m->repeat = calloc((size_t)s->mask + 1, sizeof *m->repeat);
	s->entries = calloc((size_t)n + 1, sizeof *s->entries);
	s->dirs = calloc(m->cap_dirs, sizeof *s->dirs);
	s->nentries = n;
	s->ndirs = 1;
	if (s->dirs)
		s->dirs[0].hash = hash;
	return s->slot && m->repeat && s->entries && s->dirs;
}

struct stored *stored_new(const struct entries *v, char separator, const char *const *taken, uint64_t hash)
{
	struct making m = { .s = calloc(1, sizeof *m.s), .separator = separator };
	bool ok = m.s && begin(&m, v->n, hash);

	for (uint32_t i = 0; i < v->n && ok; i++)
		ok = add_entry(&m, taken, i, v->name[i], v->v[i].folder);
	ok = ok && put_in_order(&m);
	free(m.repeat);
	free(m.seen);
	if (ok)
		return m.s;
	stored_free(m.s);
	return NULL;
}

void stored_free(struct stored *s)
{
	if (!s)
		return;
	free(s->entries);
	free(s->dirs);
	free(s->order);
	free(s->slot);
	free(s->text);
	free(s);
}

bool stored_same(const struct stored *a, const struct stored *b)
{
	bool same = a->nentries == b->nentries && a->ndirs == b->ndirs && a->ntext == b->ntext &&
		    !memcmp(a->text, b->text, a->ntext);

	for (uint32_t i = 0; i < a->nentries && same; i++)
		same = a->entries[i].in == b->entries[i].in && a->entries[i].name == b->entries[i].name;
	for (uint32_t d = 0; d < a->ndirs && same; d++)
		same = a->dirs[d].in == b->dirs[d].in && a->dirs[d].name == b->dirs[d].name &&
		       a->dirs[d].entry == b->dirs[d].entry;
	return same;
}
