/* Which files a unit shows in raw/: its parts whole, sections, and pieces: chunks, which may lie in folders there, and
 * gaps. A model may have more pieces than anybody looks at: they are found by a hash of their names. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout_in.h"

#define FEW 16u                                /* pieces that are looked through one by one */

/* ---- names ---- */

static const char *full_name(const struct pieces *p, uint32_t i)
{
	return p->text + p->v[i].name;
}

const char *piece_name(const struct pieces *p, uint32_t i)
{
	const char *name = full_name(p, i), *slash = strchr(name, '/');

	return slash ? slash + 1 : name;
}

void piece_folder_name(const struct pieces *p, uint32_t i, char name[PART_NAME_MAX])
{
	size_t n = strcspn(full_name(p, i), "/");

	memcpy(name, full_name(p, i), n);
	name[n] = 0;
}

bool piece_same_name(const struct pieces *a, uint32_t i, const struct pieces *b, uint32_t k)
{
	return !strcmp(full_name(a, i), full_name(b, k));
}

bool piece_same_folder(const struct pieces *a, uint32_t i, const struct pieces *b, uint32_t k)
{
	size_t n = strcspn(full_name(a, i), "/");

	return n == strcspn(full_name(b, k), "/") && !strncmp(full_name(a, i), full_name(b, k), n);
}

void pieces_free(struct pieces *p)
{
	free(p->v);
	free(p->text);
	free(p->folder);
	free(p->slot);
	*p = (struct pieces){ 0 };
}

/* ---- listing ---- */

struct making {
	struct pieces *p;
	struct leaves *l;
	uint32_t cap, cap_folders;
	struct buf text;
};

static bool grow(void **v, uint32_t n, uint32_t *cap, size_t each)
{
	uint32_t more = *cap ? *cap * 2 : 8;
	void *p = n < *cap ? *v : more <= LIMIT_ENTRIES * 4 ? realloc(*v, more * each) : NULL;

	if (!p)
		return false;
	*cap = n < *cap ? *cap : more;
	*v = p;
	return true;
}

static int new_piece(struct making *m, uint64_t at, uint64_t size, unsigned part, const char *name)
{
	struct pieces *p = m->p;

	if (!grow((void **)&p->v, p->n, &m->cap, sizeof *p->v))
		return -ENOMEM;
	p->v[p->n++] = (struct piece){ .at = at, .size = size, .name = (uint32_t)m->text.len, .part = (uint8_t)part };
	buf_add(&m->text, name, strlen(name) + 1);
	return m->text.bad ? -ENOMEM : 0;
}

/* Its leaf is a child of raw/, that of its first piece is not known yet. */
static int new_folder(struct making *m, uint32_t first)
{
	struct pieces *p = m->p;

	if (!grow((void **)&p->folder, p->nfolders, &m->cap_folders, sizeof *p->folder))
		return -ENOMEM;
	p->folder[p->nfolders++] = m->l->n;
	leaves_add(m->l, LEAF_DIR_RAW, LEAF_DIR, LEAF_DIR_PIECES, first, 0);
	return 0;
}

/* Whether the last piece lies in a folder of that name. */
static bool is_in_last(const struct making *m, const char *name)
{
	size_t n = strcspn(name, "/");
	const struct piece *last = m->p->n ? &m->p->v[m->p->n - 1] : NULL;
	const char *had = last ? (char *)m->text.p + last->name : NULL;

	return last && last->folder && !strncmp(had, name, n + 1);
}

static int add_chunk(struct making *m, const struct chunk *c)
{
	struct pieces *p = m->p;
	bool inside = strchr(c->name, '/'), fresh = inside && !is_in_last(m, c->name);
	int rc = new_piece(m, c->at, c->size, c->part, c->name);

	if (!rc && fresh)
		rc = new_folder(m, p->n - 1);
	if (!rc && inside)
		p->v[p->n - 1].folder = p->nfolders;
	else if (!rc)
		leaves_add(m->l, LEAF_DIR_RAW, LEAF_PIECE, 0, p->n - 1, 0);
	return rc;
}

static int add_gap(void *ctx, uint64_t at, uint64_t size)
{
	struct making *m = ctx;
	char name[PART_NAME_MAX];
	int rc;

	snprintf(name, sizeof name, "gap-%08" PRIx64, at);
	rc = new_piece(m, at, size, 0, name);
	if (!rc)
		leaves_add(m->l, LEAF_DIR_RAW, LEAF_PIECE, 0, m->p->n - 1, 0);
	return rc;
}

/* Behind all other leaves, folder by folder. */
static void add_inside(struct making *m)
{
	const struct pieces *p = m->p;
	uint32_t folder = 0;

	for (uint32_t i = 0; i < p->n && !m->l->bad; i++) {
		if (!p->v[i].folder)
			continue;
		if (p->v[i].folder != folder)
			m->l->v[p->folder[folder++]].index = m->l->n;
		leaves_add(m->l, LEAF_DIR_PIECES, LEAF_PIECE, 0, i, 0);
	}
}

static int add_pieces(struct making *m, struct object *o, struct err *e)
{
	struct chunk c;
	int rc = 0;

	for (uint32_t i = 0; object_chunk(o, i, &c) && !rc; i++)
		rc = c.name[0] ? add_chunk(m, &c) : 0;
	rc = rc ? rc : object_gaps(o, add_gap, m, e);
	if (!rc)
		add_inside(m);
	m->p->text = (char *)m->text.p;
	return rc == -ENOMEM ? err_nomem(e) : rc;
}

static void add_wholes(struct leaves *l, const struct object *o)
{
	leaves_add(l, LEAF_DIR_RAW, LEAF_WHOLE, 0, 0, 0);
	for (unsigned k = 0; k < o->format->nmembers; k++)
		if (o->member[k])
			leaves_add(l, LEAF_DIR_RAW, LEAF_WHOLE, 1 + k, 0, 0);
}

int layout_raw(struct leaves *l, struct unit *u, struct object *o, struct err *e)
{
	struct making m = { .p = &u->pieces, .l = l };

	if (!leaves_begin_dir(l, LEAF_DIR_RAW))
		return 0;
	add_wholes(l, o);
	if (!o->variant)
		return 0;
	for (unsigned s = 0; s < o->variant->nsections; s++)
		if (object_section(o, s).size)
			leaves_add_sized(l, LEAF_DIR_RAW, LEAF_SECTION_RAW, s, 0, object_section(o, s).size);
	return u->format->container ? 0 : add_pieces(&m, o, e);
}

/* ---- finding ---- */

static uint32_t *slot_of(const struct unit *u, uint32_t dir, const char *name)
{
	const struct pieces *p = &u->pieces;
	uint32_t i = (uint32_t)hash_name((uintptr_t)u ^ dir, name) & p->mask;  /* nobody can choose collisions */
	char have[NODE_NAME_MAX];

	for (; p->slot[i]; i = (i + 1) & p->mask) {
		const struct leaf *l = &u->leaves[p->slot[i] - 1];

		leaf_name(u, l, have);
		if (leaf_lies_in(u, l) == dir && !strcmp(have, name))
			break;
	}
	return &p->slot[i];
}

int pieces_index(struct unit *u)
{
	struct pieces *p = &u->pieces;
	char name[NODE_NAME_MAX];

	if (p->n <= FEW)
		return 0;
	for (p->mask = 63; p->mask / 2 < p->n + p->nfolders; p->mask = p->mask * 2 + 1)
		;
	p->slot = calloc((size_t)p->mask + 1, sizeof *p->slot);
	if (!p->slot)
		return -ENOMEM;
	for (uint32_t i = u->nleaves; i-- && u->leaves[i].dir >= LEAF_DIR_RAW;) {
		if (!leaf_is_piece(&u->leaves[i]))
			continue;
		leaf_name(u, &u->leaves[i], name);
		*slot_of(u, leaf_lies_in(u, &u->leaves[i]), name) = i + 1;
	}
	return 0;
}

uint32_t pieces_find(const struct unit *u, uint32_t dir, const char *name, struct range *rest)
{
	uint32_t found = u->pieces.slot ? *slot_of(u, dir, name) : 0;

	if (u->pieces.slot && rest->first < rest->end && u->leaves[rest->first].dir >= LEAF_DIR_RAW) {
		uint32_t end = rest->first;

		while (end < rest->end && !leaf_is_piece(&u->leaves[end]))
			end++;
		rest->end = end;
	}
	return found ? found - 1 : u->nleaves;
}
