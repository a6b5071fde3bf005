/* Points, polygons, normals and groups of a JOM between its chunks and what edits work on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jom_put.h"

/* ---- from the file ---- */

static void get3(const uint8_t *raw, int32_t v[3])
{
	for (unsigned k = 0; k < 3; k++)
		v[k] = jom_i32(raw + 4 * (size_t)k);
}

static void load_points(struct jom_geometry *g)
{
	const struct jom_model *m = g->m;

	for (uint32_t i = 0; i < g->npoints; i++) {
		g->point[i] = (struct jom_point){ .old = i, .from = GEO_NONE, .like = GEO_NONE };
		get3(jom_row(m, JOM_PNTS, i), g->point[i].at);
		if (i < m->table[JOM_VCOL].n)
			get3(jom_row(m, JOM_VCOL, i), g->point[i].colour);
	}
}

static void load_polygons(struct jom_geometry *g)
{
	const struct jom_model *m = g->m;

	for (uint32_t i = 0; i < g->npolygons; i++) {
		struct jom_polygon *p = &g->polygon[i];

		*p = (struct jom_polygon){ .old = i, .face = GEO_NONE, .group = GEO_NONE };
		get3(jom_row(m, JOM_QUAD, i), p->normal);
		if (i < m->table[JOM_QMAT].n)
			p->material = jom_material_of(m, i);
		for (unsigned c = 0; c < 4; c++) {
			p->corner[c] = jom_corner(m, i, c);
			p->normals[c] = (uint16_t)jom_word(m, JOM_CNRM, i, c);
			p->gouraud[c] = (uint16_t)jom_word(m, JOM_GOUR, i, c);
		}
	}
}

static void load_groups(struct jom_geometry *g)
{
	for (uint32_t i = 0; i < g->ngroups; i++)
		rec_decode(&jom_group_record, true, jom_row(g->m, JOM_GRUP, i), &g->group[i]);
	for (uint32_t i = g->ngroups; i-- > 0;)
		for (uint32_t k = 0; k < g->group[i].polygon_count; k++)
			if (g->group[i].first_polygon + k < g->npolygons)
				g->polygon[g->group[i].first_polygon + k].group = i;
}

int jom_geometry_load(struct object *o, uint32_t more_points, uint32_t more_polygons, uint32_t more_normals,
		      struct jom_geometry *out, struct arena *a, struct err *e)
{
	const struct jom_model *m = jom_of(o);

	*out = (struct jom_geometry){
		.o = o, .m = m, .a = a, .npoints = m->table[JOM_PNTS].n, .npolygons = m->table[JOM_QUAD].n,
		.nnormals = m->table[JOM_NTAB].n, .ngroups = m->table[JOM_GRUP].n,
		.has_normals = m->table[JOM_CNRM].there, .has_colours = m->table[JOM_VCOL].there,
		.has_gouraud = m->table[JOM_GOUR].there,
	};
	out->point = arena_alloc(a, (size_t)out->npoints + more_points + 1, sizeof *out->point);
	out->polygon = arena_alloc(a, (size_t)out->npolygons + more_polygons + 1, sizeof *out->polygon);
	out->normal = arena_alloc(a, (size_t)out->nnormals + more_normals + 1, sizeof *out->normal);
	out->group = arena_alloc(a, (size_t)out->ngroups + 1, sizeof *out->group);
	if (!out->point || !out->polygon || !out->normal || !out->group)
		return err_nomem(e);
	load_points(out);
	load_polygons(out);
	load_groups(out);
	for (uint32_t i = 0; i < out->nnormals; i++)
		get3(jom_row(m, JOM_NTAB, i), out->normal[i]);
	return 0;
}

/* ---- into the file ---- */

static void put3(uint8_t *raw, const int32_t v[3])
{
	for (unsigned k = 0; k < 3; k++)
		put_be32(raw + 4 * (size_t)k, (uint32_t)v[k]);
}

static void put_words(uint8_t *raw, const uint16_t v[4])
{
	for (unsigned k = 0; k < 4; k++)
		put_be16(raw + 2 * (size_t)k, v[k]);
}

static void put_point(const struct jom_geometry *g, uint32_t i, uint8_t *raw)
{
	put3(raw, g->point[i].at);
}

static void put_colour(const struct jom_geometry *g, uint32_t i, uint8_t *raw)
{
	put3(raw, g->point[i].colour);
}

static void put_polygon(const struct jom_geometry *g, uint32_t i, uint8_t *raw)
{
	const struct jom_polygon *p = &g->polygon[i];

	put3(raw, p->normal);
	for (unsigned c = 0; c < 4; c++)
		put_be16(raw + 12 + 2 * (size_t)c, (uint16_t)p->corner[c]);
}

static void put_material(const struct jom_geometry *g, uint32_t i, uint8_t *raw)
{
	put_be16(raw, g->polygon[i].material);
}

static void put_normal(const struct jom_geometry *g, uint32_t i, uint8_t *raw)
{
	put3(raw, g->normal[i]);
}

static void put_corner_normals(const struct jom_geometry *g, uint32_t i, uint8_t *raw)
{
	put_words(raw, g->polygon[i].normals);
}

static void put_gouraud(const struct jom_geometry *g, uint32_t i, uint8_t *raw)
{
	put_words(raw, g->polygon[i].gouraud);
}

static void put_group(const struct jom_geometry *g, uint32_t i, uint8_t *raw)
{
	rec_encode(&jom_group_record, true, &g->group[i], raw);
}

/* Chunks of one row per point, polygon, ...; `each` records of the format are one row. */
struct rows {
	uint8_t tag, each;
	void (*put)(const struct jom_geometry *, uint32_t i, uint8_t *raw);
	bool by_point;                         /* its rows are those of points; else polygons */
};
static const struct rows rows[] = {
	{ JOM_PNTS, 1, put_point, true }, { JOM_QUAD, 1, put_polygon, false }, { JOM_QMAT, 1, put_material, false },
	{ JOM_CNRM, 4, put_corner_normals, false }, { JOM_VCOL, 1, put_colour, true },
	{ JOM_GOUR, 4, put_gouraud, false },
};
static const struct rows normal_rows = { JOM_NTAB, 1, put_normal, false };
static const struct rows group_rows = { JOM_GRUP, 1, put_group, false };

/* Rows over those that are stored: what else the chunk has stays. */
static void change_chunk(const struct jom_geometry *g, const struct rows *r, uint32_t n, struct buf *out)
{
	const struct jom_chunk *c = &g->m->chunks[g->m->table[r->tag].chunk];
	size_t size = (size_t)jom_record_sizes[r->tag] * r->each;

	buf_add(out, g->m->bytes + c->at, c->size);
	for (uint32_t i = 0; i < n && !out->bad; i++)
		r->put(g, i, out->p + 4 + i * size);
}

static void make_chunk(const struct jom_geometry *g, const struct rows *r, uint32_t n, struct buf *out)
{
	size_t size = (size_t)jom_record_sizes[r->tag] * r->each;
	uint8_t raw[32];

	jom_begin_list(out, n * r->each);
	for (uint32_t i = 0; i < n && !out->bad; i++) {
		r->put(g, i, raw);
		buf_add(out, raw, size);
	}
	jom_end_list(g->m, r->tag, n * r->each, out);
}

/* n rows are wanted; without a change of their number a chunk may have others too. */
static void add_rows(const struct jom_geometry *g, const struct rows *r, uint32_t n, struct jom_chunks *out)
{
	const struct jom_table *t = &g->m->table[r->tag];
	const struct jom_chunk *c = t->there ? &g->m->chunks[t->chunk] : NULL;
	struct buf *b = &out->data[r->tag];
	uint32_t have = t->n / r->each;

	if (c && (n == have || !g->rearranged) && n <= have)
		change_chunk(g, r, n, b);
	else if (c && !g->rearranged && r != &normal_rows)
		change_chunk(g, r, have, b);
	else
		make_chunk(g, r, n, b);
	out->set[r->tag] = b->bad || !c || c->size != b->len || memcmp(g->m->bytes + c->at, b->p, b->len);
}

static bool wanted(const struct jom_geometry *g, unsigned tag)
{
	switch (tag) {
	case JOM_CNRM: return g->has_normals;
	case JOM_VCOL: return g->has_colours;
	case JOM_GOUR: return g->has_gouraud;
	default: return true;
	}
}

int jom_geometry_store(const struct jom_geometry *g, const int32_t sphere[4], struct err *e)
{
	struct jom_chunks chunks = { 0 };
	uint8_t raw[16];
	int rc = jom_count(g->npoints, g->rearranged ? JOM_MOST : UINT32_MAX, "points", e);

	rc = rc ? rc : jom_count(g->npolygons, g->rearranged ? JOM_MOST : UINT32_MAX, "polygons", e);
	if (!rc && g->nnormals > g->m->table[JOM_NTAB].n)
		rc = jom_count(g->nnormals, JOM_MOST, "normals", e);
	for (unsigned i = 0; i < ARRAY_LEN(rows) && !rc; i++)
		if (wanted(g, rows[i].tag))
			add_rows(g, &rows[i], rows[i].by_point ? g->npoints : g->npolygons, &chunks);
	if (!rc && g->nnormals)
		add_rows(g, &normal_rows, g->nnormals, &chunks);
	if (!rc && g->ngroups)
		add_rows(g, &group_rows, g->ngroups, &chunks);
	rc = rc ? rc : jom_store(g->o, &chunks, e);
	jom_chunks_free(&chunks);
	for (unsigned k = 0; k < 4; k++)
		put_be32(raw + 4 * (size_t)k, (uint32_t)sphere[k]);
	return rc ? rc : object_patch(g->o, 0, JOM_HEADER_SIZE - sizeof raw, raw, sizeof raw, "sphere", e);
}
