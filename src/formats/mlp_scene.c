/* Where a scene has the ids of its library's meshes (spec/ps3-pak.md 6): the format of scenes is unknown, but they name
 * meshes so, in words at multiples of 4. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlp.h"

#define PIECE 65536u
#define PLACES_MOST (1u << 20)                 /* of words that are equal to an id */

struct place { uint32_t id, at; };             /* at: in words */
struct scan {
	struct object *o;
	uint32_t *id, nids;                    /* each once, sorted */
	struct buf places;                     /* struct place; bad when memory ran out */
};

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int by_id(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static bool list_ids(struct scan *s)
{
	const struct mlp *m = s->o->priv;
	uint32_t n = 0;

	s->id = malloc(((size_t)m->head.mesh_count + 1) * sizeof *s->id);
	if (!s->id)
		return false;
	for (uint32_t i = 0; i < m->head.mesh_count; i++)
		s->id[i] = m->mesh[i].rec.mesh_id;
	qsort(s->id, m->head.mesh_count, sizeof *s->id, by_value);
	for (uint32_t i = 0; i < m->head.mesh_count; i++)
		if (!n || s->id[n - 1] != s->id[i])
			s->id[n++] = s->id[i];
	s->nids = n;
	return true;
}

static int scan_piece(struct scan *s, const uint8_t *p, size_t n, uint64_t at, struct err *e)
{
	for (size_t i = 0; i + 4 <= n; i += 4) {
		struct place place = { be_u32(p + i), (uint32_t)((at + i) / 4) };

		if (!bsearch(&place.id, s->id, s->nids, sizeof *s->id, by_value))
			continue;
		if (s->places.len == PLACES_MOST * sizeof place)
			return err_at(e, EFBIG, s->o->member[MLP_SCP - 1], at + i, "scene",
				      "more than %u words are equal to ids of meshes", PLACES_MOST);
		buf_add(&s->places, &place, sizeof place);
	}
	return s->places.bad ? err_nomem(e) : 0;
}

static int scan(struct scan *s, struct err *e)
{
	struct source *src = s->o->member[MLP_SCP - 1];
	uint8_t *room = malloc(PIECE);
	int rc = room ? 0 : err_nomem(e);
	uint64_t got;

	if (!rc && src->size > UINT32_MAX)
		rc = err_set(e, EFBIG, "the scene is longer than 4 GiB");
	for (uint64_t at = 0; !rc && at < src->size; at += got) {
		got = src->size - at < PIECE ? src->size - at : PIECE;
		rc = src_read(src, room, (size_t)got, at, "scene", e);
		rc = rc ? rc : scan_piece(s, room, (size_t)got, at, e);
	}
	free(room);
	if (!rc && s->places.len)
		qsort(s->places.p, s->places.len / sizeof(struct place), sizeof(struct place), by_id);
	return rc;
}

/* [0x00000040, 0x00000080] */
static void put_places(const struct scan *s, uint32_t id, struct buf *text)
{
	const struct place *v = (const struct place *)(const void *)s->places.p;
	size_t low = 0, high = s->places.len / sizeof *v, n = high;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	text->len = 0;
	for (size_t i = low; i < n && v[i].id == id; i++)
		buf_printf(text, "%s0x%08x", i > low ? ", " : "[", v[i].at * 4);
	buf_str(text, text->len ? "]" : "[]");
	buf_char(text, 0);
}

static int say(const struct scan *s, struct doc *d, struct err *e)
{
	const struct mlp *m = s->o->priv;
	struct buf text = { 0 };
	size_t all = 0;

	doc_derived_list(d, NULL, m->head.mesh_count);
	for (uint32_t i = 0; i < m->head.mesh_count && !text.bad && all < LIMIT_DECODED; i++) {
		uint32_t id = m->mesh[i].rec.mesh_id;

		doc_item(d);
		put_places(s, id, &text);
		all += text.len;
		doc_text(d, "mesh", DOC_DERIVED, "%u", i);
		doc_text(d, "id", DOC_DERIVED, "0x%08x", id);
		doc_long_text(d, "offsets", DOC_DERIVED, text.bad ? "" : (const char *)text.p);
	}
	doc_end(d);
	buf_free(&text);
	if (all >= LIMIT_DECODED)              /* many meshes with an id that is everywhere */
		return err_set(e, EFBIG, "the list would be longer than %zu bytes", LIMIT_DECODED);
	return text.bad ? err_nomem(e) : 0;
}

int mlp_scene(struct object *o, struct doc *d, struct err *e)
{
	struct scan s = { .o = o };
	int rc = list_ids(&s) ? scan(&s, e) : err_nomem(e);

	rc = rc ? rc : say(&s, d, e);
	free(s.id);
	buf_free(&s.places);
	return rc;
}
