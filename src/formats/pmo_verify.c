/* Proof that a PMO's geometry can be written back: every display list is taken apart and put together, every index and
 * every vertex goes through what the views show of it, as text, and back. What comes out has to be the stored bytes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "mhpbytes.h"
#include "num.h"
#include "pmo.h"

/* Vertices of all groups that are compared, at most; more is damage: groups that draw the same buffer over and over. */
#define VERIFY_BYTES (8u << 20)

struct check {
	const struct pmo *p;
	const struct pmo_mesh *mesh;
	uint32_t g;                            /* group */
	uint64_t bytes;                        /* of vertices so far */
	struct pmo_window win;
	struct err *e;
};

/* Compares n bytes of the region with what was made of them. */
static int compare(struct check *c, const char *what, uint64_t at, const uint8_t *stored, const uint8_t *again,
		   size_t n)
{
	const struct ge_region *r = &c->p->region;
	char where[48];

	if (!memcmp(stored, again, n))         /* nearly always; a name for each vertex would cost more */
		return 0;
	snprintf(where, sizeof where, "%s of group %u", what, c->g);
	return mhp_same(r->src, r->at + at, where, stored, again, n, c->e);
}

/* ---- display lists ---- */

static uint32_t assemble(struct ge_address *a, uint32_t word, uint32_t at)
{
	uint32_t arg = ge_arg(word);

	ge_address_follow(a, word, at);
	if (ge_op(word) == GE_VADDR || ge_op(word) == GE_IADDR)
		arg = ge_address_arg(a, ge_address_of(a, arg));
	return ge_word(ge_op(word), arg);
}

static int check_list(struct check *c, uint32_t from, uint32_t to)
{
	struct ge_address address = { 0 };
	const uint8_t *p;
	uint8_t again[4];
	int rc = 0;

	for (uint32_t at = from; at < to && !rc; at += 4) {
		rc = pmo_window(c->p, &c->win, at, 4, &p, c->e);
		if (!rc) {
			put_le32(again, assemble(&address, le_u32(p), at));
			rc = compare(c, "display list", at, p, again, 4);
		}
	}
	return rc;
}

static void put_index(uint8_t *p, unsigned size, uint32_t v)
{
	if (size == 1)
		*p = (uint8_t)v;
	else if (size == 2)
		put_le16(p, (uint16_t)v);
	else
		put_le32(p, v);
}

/* Indices become numbers of the group's vertices and back. */
static int check_indices(struct check *c, const struct ge_prim *prim, uint32_t first, unsigned size)
{
	const uint8_t *p;
	uint8_t again[4];
	int rc = pmo_window(c->p, &c->win, prim->indices, (size_t)prim->count * size, &p, c->e);

	for (uint32_t i = 0; i < prim->count && !rc; i++) {
		put_index(again, size, first + pmo_index(p, size, i) - first);
		rc = compare(c, "index", prim->indices + (uint64_t)i * size, p + (size_t)i * size, again, size);
	}
	return rc;
}

/* ---- vertices ---- */

/* Text as OBJ and YAML have it, and back. */
static float through_text(float v)
{
	char text[NUM_MAX];
	float back = NAN;

	return num_parse_f32(text, num_f32(text, v, false), &back) ? back : NAN;
}

/* One component is shown as stored * scale + offset. A value that is not finite prints as 0 and stays; f32 values stay
 * when their text gives the shown value; integers are computed from it, unless several of them look the same. */
static void component(const struct ge_field *f, uint8_t *again, unsigned i, double scale, double offset)
{
	float shown = (float)(ge_get(f, again, i) * scale + offset), text;
	uint8_t old[4];
	unsigned size = f->format == 3 ? 4 : f->format, at = f->at + i * size;

	if (!isfinite(shown))
		return;
	memcpy(old, again + at, size);
	text = through_text(shown);
	if (f->format == 3 && text == shown)
		return;
	ge_put(f, again, i, (text - offset) / scale);
	if (text == shown && (float)(ge_get(f, again, i) * scale + offset) == shown)
		memcpy(again + at, old, size);
}

static void normal(const struct ge_field *f, uint8_t *again)
{
	float unit[3];
	double length = pmo_normal(f, again, unit);

	for (unsigned i = 0; i < 3; i++) {
		float text = through_text(unit[i]);

		if (f->format != 3 || (text != unit[i] && isfinite(unit[i])))
			ge_put(f, again, i, text * length);
	}
}

/* Alpha is not shown. */
static void colour(const struct ge_field *f, uint8_t *again)
{
	uint8_t rgba[4];
	uint32_t bits;

	ge_colour_get(f->format - 4u, ge_colour_bits(f, again), rgba);
	for (unsigned i = 0; i < 3; i++)
		rgba[i] = (uint8_t)lrint(through_text((float)(rgba[i] / 255.0)) * 255.0);
	bits = ge_colour_put(f->format - 4u, rgba);
	if (f->format == 7)
		put_le32(again + f->at, bits);
	else
		put_le16(again + f->at, (uint16_t)bits);
}

/* One morph target; what no component covers stays. */
static void encode_again(const struct check *c, const struct ge_vertex *v, uint8_t *again)
{
	const struct pmo_mesh *m = c->mesh;
	const float *scale = pmo_scale(c->p, m);

	for (unsigned i = 0; i < v->weight.count; i++)
		component(&v->weight, again, i, 1, 0);
	for (unsigned i = 0; i < v->uv.count; i++)
		component(&v->uv, again, i, m->uv_scale[i], m->uv_offset[i]);
	if (v->colour.format)
		colour(&v->colour, again);
	if (v->normal.format)
		normal(&v->normal, again);
	for (unsigned i = 0; i < v->position.count; i++)
		component(&v->position, again, i, scale[i], 0);
}

static int check_vertices(struct check *c, const struct pmo_scan *scan)
{
	const struct ge_vertex *v = &scan->vertex;
	uint64_t at = c->p->group[c->g].vertex_buffer, n = (uint64_t)scan->vertices * v->stride;
	const uint8_t *p;
	uint8_t again[128];
	int rc = 0;

	c->bytes += n;
	if (c->bytes > VERIFY_BYTES)
		return err_at(c->e, EFBIG, c->p->region.src, c->p->region.at + at, "vertex buffer",
			      "all groups together have more than %u bytes of vertices", VERIFY_BYTES);
	for (uint64_t end = at + n; at < end && !rc; at += v->size) {
		rc = pmo_window(c->p, &c->win, at, v->size, &p, c->e);
		if (!rc) {
			memcpy(again, p, v->size);
			encode_again(c, v, again);
			rc = compare(c, "vertex", at, p, again, v->size);
		}
	}
	return rc;
}

/* ---- all of it ---- */

static int check_group(struct check *c)
{
	const struct pmo_group *group = &c->p->group[c->g];
	struct pmo_scan scan;
	struct ge_walk w;
	struct ge_prim prim;
	uint32_t first;
	int more, rc = pmo_group_scan(c->p, c->g, 0, NULL, &c->win, &scan, c->e);

	if (rc)
		return rc;
	pmo_walk(c->p, c->g, group->hidden, &w);
	while (!rc && (more = ge_walk_next(&w, &prim, c->e))) {
		rc = more < 0 ? more : pmo_first_vertex(c->p, group, &w, &prim, &first, c->e);
		if (!rc && w.vertex.index_size)
			rc = check_indices(c, &prim, first, w.vertex.index_size);
	}
	rc = rc ? rc : check_list(c, group->display_list, w.pc);
	return rc ? rc : check_vertices(c, &scan);
}

int pmo_verify(struct object *o, struct err *e)
{
	const struct pmo *p = o->priv;
	struct check c = { .p = p, .e = e };
	int rc = 0;

	if (!p->region.src)
		return 0;
	for (uint32_t i = 0; i < p->nmeshes && !rc; i++) {
		c.mesh = &p->mesh[i];
		if (c.mesh->bad)
			continue;
		for (uint32_t k = 0; k < c.mesh->group_count && !rc; k++) {
			c.g = c.mesh->first_group + k;
			rc = check_group(&c);
		}
	}
	buf_free(&c.win.bytes);
	return rc;
}
