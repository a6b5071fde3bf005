/* Lists of a JOM that get longer or shorter: materials and bones. Which item is which tells its name, in the order of
 * the list; what refers to them by number follows. */
#include <errno.h>
#include <string.h>

#include "jom_put.h"

/* ---- fields ---- */

static int take_field(const struct ynode *key, const struct field *f, uint8_t *raw, struct err *e)
{
	uint8_t was[64];
	int rc;

	memcpy(was, raw + f->at, (size_t)field_width(f) * f->count);
	rc = ynode_parse(key->value, f, true, raw, e);
	if (!rc && f->flags & FL_DERIVED && memcmp(was, raw + f->at, (size_t)field_width(f) * f->count))
		rc = err_line(e, EPERM, key->line, key->column, "%s follows from other data and cannot be changed",
			      f->name);
	return rc;
}

int jom_take_fields(const struct ynode *map, const struct record *r, uint8_t *raw, struct err *e)
{
	struct field f;
	int rc = 0;

	if (ynode_is_null(map))
		return 0;
	if (map->kind != Y_MAP)
		return err_line(e, EINVAL, map->line, map->column, "%s found, expected keys and their values",
				ynode_quote(map).text);
	for (const struct ynode *k = map->first; k && !rc; k = k->next) {
		if (!rec_field(r, k->text, &f) || f.flags & FL_HIDDEN)
			return err_line(e, EINVAL, k->line, k->column, "no key %s here", ynode_quote(k).text);
		rc = take_field(k, &f, raw, e);
	}
	return rc;
}

/* ---- which item is which ---- */

#define TABLE_MOST ((size_t)1 << 24)

struct items {
	const struct jom_model *m;
	enum jom_tag tag;
	const struct record *record;
	uint32_t nold, nnew;
	const struct ynode **node;             /* of each new one */
	uint8_t *raw;                          /* of all new ones */
	uint32_t *from;                        /* of each new one: its old number; GEO_NONE: it is new */
	uint32_t *to;                          /* of each old one: its new number; GEO_NONE: it is gone */
	struct arena *a;
	struct err *e;
};

static uint8_t *raw_of(const struct items *x, uint32_t i)
{
	return x->raw + (size_t)i * x->record->size;
}

static bool has_key(const struct ynode *item, const char *key)
{
	return item->kind == Y_MAP && ynode_key(item, key);
}

/* Names come first in both kinds of record. One that is left out may be any. */
static bool may_be(const struct items *x, uint32_t old, uint32_t fresh)
{
	return !has_key(x->node[fresh], "name") ||
	       !strncmp((const char *)jom_row(x->m, x->tag, old), (const char *)raw_of(x, fresh), JOM_NAME);
}

/* The longest sequence that old[a, b) and new[c, d) have in common. */
static int pair_common(struct items *x, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	size_t rows = b - a + 1, cols = d - c + 1;
	uint16_t *most;

	if (a == b || c == d || rows > TABLE_MOST / cols)
		return 0;
	most = arena_alloc(x->a, rows * cols, sizeof *most);
	if (!most)
		return err_nomem(x->e);
	for (size_t i = rows - 1; i-- > 0;)
		for (size_t k = cols - 1; k-- > 0;) {
			uint16_t *here = &most[i * cols + k], skip = here[cols] > here[1] ? here[cols] : here[1];

			*here = may_be(x, a + (uint32_t)i, c + (uint32_t)k) ? here[cols + 1] + 1 : skip;
		}
	for (size_t i = 0, k = 0; i < rows - 1 && k < cols - 1;) {
		const uint16_t *here = &most[i * cols + k];

		if (may_be(x, a + (uint32_t)i, c + (uint32_t)k)) {
			x->from[c + k++] = a + (uint32_t)i++;
		} else if (here[cols] >= here[1]) {
			i++;
		} else {
			k++;
		}
	}
	return 0;
}

/* As many old ones as new ones between two that are paired got other names. */
static void pair_renamed(struct items *x)
{
	uint32_t old = 0, end;

	for (uint32_t i = 0; i < x->nnew; i = end) {
		uint32_t next = x->nold;

		end = i + 1;
		if (x->from[i] != GEO_NONE) {
			old = x->from[i] + 1;
			continue;
		}
		while (end < x->nnew && x->from[end] == GEO_NONE)
			end++;
		next = end < x->nnew ? x->from[end] : x->nold;
		for (uint32_t k = i; k < end && next - old == end - i; k++)
			x->from[k] = old + k - i;
	}
}

static int pair_items(struct items *x)
{
	uint32_t head = 0, tail = 0, least = x->nold < x->nnew ? x->nold : x->nnew;
	int rc;

	memset(x->from, 0xff, x->nnew * sizeof *x->from);
	memset(x->to, 0xff, x->nold * sizeof *x->to);
	for (; head < least && may_be(x, head, head); head++)
		x->from[head] = head;
	for (; tail < least - head && may_be(x, x->nold - 1 - tail, x->nnew - 1 - tail); tail++)
		x->from[x->nnew - 1 - tail] = x->nold - 1 - tail;
	rc = pair_common(x, head, x->nold - tail, head, x->nnew - tail);
	pair_renamed(x);
	for (uint32_t i = 0; i < x->nnew; i++)
		if (x->from[i] != GEO_NONE)
			x->to[x->from[i]] = i;
	return rc;
}

/* The items of the text over what they were; `fresh` is what a new one is before. */
static int take_items(struct items *x, const struct ynode *list, const uint8_t *fresh)
{
	const struct ynode *item = list->first;
	int rc = 0;

	x->nold = x->m->table[x->tag].n;
	x->nnew = list->count;
	x->node = arena_alloc(x->a, (size_t)x->nnew + 1, sizeof *x->node);
	x->raw = arena_alloc(x->a, (size_t)x->nnew + 1, x->record->size);
	x->from = arena_alloc(x->a, (size_t)x->nnew + 1, sizeof *x->from);
	x->to = arena_alloc(x->a, (size_t)x->nold + 1, sizeof *x->to);
	if (!x->node || !x->raw || !x->from || !x->to)
		return err_nomem(x->e);
	for (uint32_t i = 0; i < x->nnew && !rc; i++, item = item->next) {
		x->node[i] = item;
		memcpy(raw_of(x, i), fresh, x->record->size);
		rc = jom_take_fields(item, x->record, raw_of(x, i), x->e);
	}
	rc = rc ? rc : pair_items(x);
	for (uint32_t i = 0; i < x->nnew && !rc; i++) {
		if (x->from[i] != GEO_NONE) {
			memcpy(raw_of(x, i), jom_row(x->m, x->tag, x->from[i]), x->record->size);
			rc = jom_take_fields(x->node[i], x->record, raw_of(x, i), x->e);
		} else if (!has_key(x->node[i], "name")) {
			rc = err_line(x->e, EINVAL, x->node[i]->line, x->node[i]->column, "name is missing");
		}
	}
	return rc;
}

static void make_list(const struct items *x, struct jom_chunks *out)
{
	struct buf *b = &out->data[x->tag];

	jom_begin_list(b, x->nnew);
	buf_add(b, x->raw, (size_t)x->nnew * x->record->size);
	jom_end_list(x->m, x->tag, x->nnew, b);
	out->set[x->tag] = true;
}

/* ---- materials ---- */

/* Numbers in QMAT, where they are others now. */
static int renumber(const struct items *x, struct jom_chunks *out)
{
	const struct jom_table *t = &x->m->table[JOM_QMAT];
	const struct jom_chunk *c = &x->m->chunks[t->chunk];
	struct buf *b = &out->data[JOM_QMAT];
	uint32_t users = 0;

	buf_add(b, x->m->bytes + c->at, c->size);
	for (uint32_t i = 0; i < t->n && !b->bad; i++) {
		uint16_t was = jom_material_of(x->m, i);

		if (x->to[was] == GEO_NONE) {
			for (uint32_t k = i; k < t->n; k++)
				users += jom_material_of(x->m, k) == was;
			return err_set(x->e, EINVAL, "material %u is used by %u polygons", was, users);
		}
		put_be16(b->p + 4 + 2 * (size_t)i, (uint16_t)x->to[was]);
	}
	out->set[JOM_QMAT] = true;
	return 0;
}

static int store(struct object *o, struct jom_chunks *chunks, int rc, struct err *e)
{
	rc = rc ? rc : jom_store(o, chunks, e);
	jom_chunks_free(chunks);
	return rc;
}

int jom_put_materials(struct object *o, const struct ynode *list, struct err *e)
{
	static const uint8_t fresh[32] = { [16] = 255, 255, 255, 0, 255, 255 };
	struct jom_chunks chunks = { 0 };
	struct arena a = { 0 };
	struct items x = { .m = jom_of(o), .tag = JOM_MATL, .record = &jom_material_record, .a = &a, .e = e };
	uint32_t had = x.m->table[JOM_MATL].n;
	int rc = jom_count(list->count, had > JOM_MOST ? had : JOM_MOST, "materials", e);

	rc = rc ? rc : take_items(&x, list, fresh);
	if (!rc) {
		make_list(&x, &chunks);
		rc = renumber(&x, &chunks);
	}
	rc = store(o, &chunks, rc, e);
	arena_free(&a);
	return rc;
}

/* ---- bones ---- */

#define PARENT 18u

/* A parent that the text does not give is the bone that it was. */
static int take_parents(const struct items *x)
{
	for (uint32_t i = 0; i < x->nnew; i++) {
		uint8_t *raw = raw_of(x, i) + PARENT;
		int16_t parent = (int16_t)be_u16(raw);

		if (x->from[i] != GEO_NONE && !has_key(x->node[i], "parent") && parent >= 0 &&
		    (uint32_t)parent < x->nold) {
			if (x->to[parent] == GEO_NONE)
				return err_line(x->e, EINVAL, x->node[i]->line, x->node[i]->column,
						"bones[%u].parent: its parent is gone, another is needed", i);
			put_be16(raw, (uint16_t)x->to[parent]);
			parent = (int16_t)x->to[parent];
		}
		if (parent >= (int64_t)i)
			return err_set(x->e, EINVAL, "bones[%u].parent: %d is not below %u", i, parent, i);
	}
	return 0;
}

/* A key whose angles go with their bones; those of new ones are 0. */
static void make_key(const struct items *x, const uint8_t *was, uint8_t *key)
{
	size_t root = jom_root_record.size, each = jom_angles_record.size;

	memcpy(key, was, root);
	for (uint32_t i = 0; i < x->nnew; i++)
		if (x->from[i] != GEO_NONE)
			memcpy(key + root + i * each, was + root + x->from[i] * each, each);
	if (x->nnew & x->nold & 1)
		memcpy(key + root + x->nnew * each, was + root + x->nold * each, 2);
}

static int make_keys(const struct items *x, struct jom_chunks *out)
{
	const struct jom_model *m = x->m;
	const struct jom_table *t = &m->table[JOM_ANIM];
	uint32_t size = jom_key_size(x->nnew);
	struct jom_clip *clip = arena_alloc(x->a, (size_t)t->n + 1, sizeof *clip);

	if (!t->there)
		return 0;
	for (uint32_t i = 0; i < t->n && clip; i++) {
		struct jom_animation an;
		uint8_t *keys;

		rec_decode(&jom_animation_record, true, jom_row(m, JOM_ANIM, i), &an);
		keys = arena_alloc(x->a, (size_t)an.key_count + 1, size);
		if (!keys)
			return err_nomem(x->e);
		clip[i] = (struct jom_clip){ keys, an.key_count };
		for (unsigned k = 0; k < an.key_count; k++)
			make_key(x, m->bytes + m->chunks[t->chunk].at + an.offset + (size_t)k * m->key_size,
				 keys + (size_t)k * size);
	}
	out->set[JOM_ANIM] = true;
	return clip ? jom_make_animations(m, clip, size, &out->data[JOM_ANIM], x->e) : err_nomem(x->e);
}

int jom_put_bones(struct object *o, const struct ynode *list, struct err *e)
{
	static const uint8_t fresh[32] = { [16] = 255, 255, 255, 255 };
	struct jom_chunks chunks = { 0 };
	struct arena a = { 0 };
	struct items x = { .m = jom_of(o), .tag = JOM_BONE, .record = &jom_bone_record, .a = &a, .e = e };
	uint32_t had = x.m->nbones;
	int rc = jom_count(list->count, had > JOM_BONES_MOST ? had : JOM_BONES_MOST, "bones", e);

	rc = rc ? rc : take_items(&x, list, fresh);
	rc = rc ? rc : take_parents(&x);
	if (!rc) {
		make_list(&x, &chunks);
		rc = make_keys(&x, &chunks);
	}
	rc = store(o, &chunks, rc, e);
	arena_free(&a);
	return rc;
}
