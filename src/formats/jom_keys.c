/* Keys of animations: ANIM has a table of animations, then the keys of all (spec/jom.md 4.11). Where some get more or
 * fewer, or others, what lies behind them moves, and the offsets follow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jom_put.h"

uint32_t jom_key_size(uint32_t nbones)
{
	uint32_t size = jom_root_record.size + nbones * jom_angles_record.size;

	return size + size % 4;
}

/* ---- the chunk ---- */

struct run { uint32_t clip, offset, size; };   /* where the keys of an animation are */

static int by_offset(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? 1 : -1;
	return x->clip < y->clip ? -1 : x->clip > y->clip;
}

static struct run *sort_runs(const struct jom_model *m, struct arena *a)
{
	uint32_t n = m->table[JOM_ANIM].n;
	struct run *v = arena_alloc(a, (size_t)n + 1, sizeof *v);

	for (uint32_t i = 0; i < n && v; i++) {
		struct jom_animation an;

		rec_decode(&jom_animation_record, true, jom_row(m, JOM_ANIM, i), &an);
		v[i] = (struct run){ i, an.offset, an.key_count * m->key_size };
	}
	if (n && v)
		qsort(v, n, sizeof *v, by_offset);
	return v;
}

/* What lies between keys, and behind all of them, stays. */
static int add_keys(const struct jom_model *m, const struct run *run, const struct jom_clip *clip, uint32_t key_size,
		    struct buf *out, struct err *e)
{
	const struct jom_table *t = &m->table[JOM_ANIM];
	const struct jom_chunk *c = &m->chunks[t->chunk];
	const uint8_t *data = m->bytes + c->at;
	uint32_t at = 4 + t->n * jom_record_sizes[JOM_ANIM];

	for (uint32_t i = 0; i < t->n && !out->bad; i++) {
		const struct run *r = &run[i];
		uint32_t row = 4 + r->clip * jom_record_sizes[JOM_ANIM];

		/* One without keys may lie anywhere. */
		if (!r->size && !clip[r->clip].n && r->offset < at)
			continue;
		if (r->offset < at)
			return err_set(e, EINVAL, "animation %u begins at %u of ANIM, inside of other data up to %u",
				       r->clip, r->offset, at);
		buf_add(out, data + at, r->offset - at);
		if (out->bad)
			break;
		put_be16(out->p + row + 16, (uint16_t)clip[r->clip].n);
		put_be32(out->p + row + 24, (uint32_t)out->len);
		buf_add(out, clip[r->clip].keys, (size_t)clip[r->clip].n * key_size);
		at = r->offset + r->size;
	}
	buf_add(out, data + at, c->size - at);
	return out->bad ? err_nomem(e) : 0;
}

int jom_make_animations(const struct jom_model *m, const struct jom_clip *clip, uint32_t key_size, struct buf *out,
			struct err *e)
{
	const struct jom_table *t = &m->table[JOM_ANIM];
	struct arena a = { 0 };
	struct run *run = sort_runs(m, &a);
	int rc;

	buf_add(out, t->raw - 4, 4 + (size_t)t->n * jom_record_sizes[JOM_ANIM]);
	rc = run && !out->bad ? add_keys(m, run, clip, key_size, out, e) : err_nomem(e);
	arena_free(&a);
	return rc;
}

/* ---- keys of a text ---- */

static int take_angles(const struct jom_model *m, const struct ynode *list, uint8_t *raw, struct err *e)
{
	const struct ynode *row = list->first;
	int rc = 0;

	if (list->kind != Y_LIST || list->count != m->nbones)
		return err_line(e, EINVAL, list->line, list->column, "angles: %s found, expected a list of %u",
				ynode_quote(list).text, m->nbones);
	for (; row && !rc; row = row->next, raw += jom_angles_record.size)
		rc = ynode_parse(row, &jom_angles_record.fields[0], true, raw, e);
	return rc;
}

static int take_key(const struct jom_model *m, const struct ynode *item, uint8_t *raw, struct err *e)
{
	int rc = 0;

	if (ynode_is_null(item))
		return 0;
	if (item->kind != Y_MAP)
		return err_line(e, EINVAL, item->line, item->column, "%s found, expected keys and their values",
				ynode_quote(item).text);
	for (const struct ynode *k = item->first; k && !rc; k = k->next) {
		if (!strcmp(k->text, "root"))
			rc = ynode_parse(k->value, &jom_root_record.fields[0], true, raw, e);
		else if (!strcmp(k->text, "angles"))
			rc = take_angles(m, k->value, raw + jom_root_record.size, e);
		else
			rc = err_line(e, EINVAL, k->line, k->column, "no key %s here; there are root, angles",
				      ynode_quote(k).text);
	}
	return rc;
}

static int put_keys(struct object *o, uint32_t clip, const struct ynode *list, struct jom_chunks *chunks,
		    struct arena *a, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	const struct jom_table *t = &m->table[JOM_ANIM];
	struct jom_clip *v = arena_alloc(a, (size_t)t->n + 1, sizeof *v);
	uint8_t *keys = arena_alloc(a, (size_t)list->count + 1, m->key_size);
	const struct ynode *item = list->first;
	uint32_t had = 0;
	int rc = 0;

	if (!v || !keys)
		return err_nomem(e);
	for (uint32_t i = 0; i < t->n; i++) {
		struct jom_animation an;

		rec_decode(&jom_animation_record, true, jom_row(m, JOM_ANIM, i), &an);
		v[i] = (struct jom_clip){ m->bytes + m->chunks[t->chunk].at + an.offset, an.key_count };
	}
	had = v[clip].n < list->count ? v[clip].n : list->count;
	memcpy(keys, v[clip].keys, (size_t)had * m->key_size);
	v[clip] = (struct jom_clip){ keys, list->count };
	for (uint32_t i = 0; item && !rc; i++, item = item->next)
		rc = take_key(m, item, keys + (size_t)i * m->key_size, e);
	chunks->set[JOM_ANIM] = true;
	return rc ? rc : jom_make_animations(m, v, m->key_size, &chunks->data[JOM_ANIM], e);
}

int jom_put_keys(struct object *o, uint32_t clip, const struct ynode *list, struct err *e)
{
	struct jom_chunks chunks = { 0 };
	struct arena a = { 0 };
	int rc = jom_count(list->count, UINT16_MAX, "keys of an animation", e);

	if (!rc && !list->count)
		rc = err_line(e, EINVAL, list->line, list->column, "keys: an animation has one at least");
	rc = rc ? rc : put_keys(o, clip, list, &chunks, &a, e);
	rc = rc ? rc : jom_store(o, &chunks, e);
	jom_chunks_free(&chunks);
	arena_free(&a);
	return rc;
}
