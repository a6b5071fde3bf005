/* Groups of a PMO: what their display lists draw (spec/mhp.md 3.4, 3.7, 8.1). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmo.h"

#define WINDOW 4096u

/* ---- display lists ---- */

void pmo_walk(const struct pmo *p, uint32_t g, bool nops, struct ge_walk *w)
{
	const struct pmo_group *group = &p->group[g];
	/* A list that runs into its own vertices has lost its end; what follows are no commands. */
	uint64_t end = group->vertex_buffer > group->display_list ? group->vertex_buffer : p->region.size;

	ge_walk(w, &p->region, g, group->display_list, end, group->indices, nops);
}

int pmo_first_vertex(const struct pmo *p, const struct pmo_group *g, const struct ge_walk *w,
		     const struct ge_prim *prim, uint32_t *first, struct err *e)
{
	uint32_t buffer = g->vertex_buffer, stride = w->vertex.stride;
	char what[32];

	if (prim->vertices >= buffer && !((prim->vertices - buffer) % stride)) {
		*first = (prim->vertices - buffer) / stride;
		return 0;
	}
	if (!e)
		return -EBADMSG;
	snprintf(what, sizeof what, "display list %u", w->number);
	return err_at(e, EBADMSG, p->region.src, p->region.at + prim->at, what,
		      "PRIM: vertices at offset 0x%x of the geometry are not whole vertices of %u bytes from the "
		      "vertex "
		      "buffer at 0x%x",
		      prim->vertices, stride, buffer);
}

PRINTF(5, 6)
static int bad(const struct object *o, const struct pmo *p, uint32_t g, struct err *e, const char *fmt, ...)
{
	const struct pmo_table *t = &p->table[PMO_GROUPS];
	char what[24];
	va_list ap;

	if (!e)
		return -EBADMSG;
	snprintf(what, sizeof what, "group %u", g);
	va_start(ap, fmt);
	err_vat(e, EBADMSG, o->src, t->at + (uint64_t)g * t->each, what, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

static int check_places(const struct object *o, const struct pmo *p, uint32_t g, const struct pmo_group *group,
			struct err *e)
{
	const struct pmo_table *palette = &p->table[PMO_PALETTE];
	unsigned long long size = p->region.size;

	if (palette->room && group->palette_count &&
	    !span_ok(palette->room, group->first_palette, group->palette_count, 1))
		return bad(o, p, g, e, "palette entries %u to %u, the bone palette at 0x%x has room for %u",
			   group->first_palette, group->first_palette + group->palette_count - 1u, palette->at,
			   palette->room);
	if (!p->region.src)
		return 0;
	if (group->display_list % 4)
		return bad(o, p, g, e, "display list at offset 0x%x of the geometry; commands lie at multiples of 4",
			   group->display_list);
	if (!span_ok(size, group->display_list, 1, 4))
		return bad(o, p, g, e, "display list at offset 0x%x of the geometry lies past its %llu bytes",
			   group->display_list, size);
	if (group->vertex_buffer > size)
		return bad(o, p, g, e, "vertex buffer at offset 0x%x of the geometry lies past its %llu bytes",
			   group->vertex_buffer, size);
	return 0;
}

/* The PRIMs of one list; w tells the rest. */
static int check_prims(const struct pmo *p, struct pmo_group *group, struct ge_walk *w, uint32_t *corners,
		       uint32_t *words, struct err *e)
{
	struct ge_prim prim;
	uint32_t first;
	int rc;

	*corners = 0;
	while ((rc = ge_walk_next(w, &prim, e)) > 0) {
		*corners += prim.count;
		group->draws |= !prim.nop;
		rc = pmo_first_vertex(p, group, w, &prim, &first, e);
		if (rc)
			break;
	}
	*words += w->words;
	return rc;
}

int pmo_group_check(const struct object *o, const struct pmo *p, uint32_t g, struct pmo_group *group, uint32_t *indices,
		    uint32_t *words, struct err *e)
{
	struct ge_walk w;
	int rc = check_places(o, p, g, group, e);

	*indices = GE_NO_ADDRESS;
	if (rc || !p->region.src)
		return rc;
	pmo_walk(p, g, false, &w);
	rc = check_prims(p, group, &w, &group->corners, words, e);
	if (rc)
		return rc;
	*indices = w.indices;
	group->vertex_type = w.vertex.type;
	if (group->draws || !w.nop_prims)
		return 0;
	/* The argument of a NOP means nothing: only when all of them fit as PRIMs is the group a hidden one. */
	pmo_walk(p, g, true, &w);
	rc = check_prims(p, group, &w, &group->corners, words, NULL);
	group->hidden = !rc;
	if (rc)
		group->corners = 0;
	return rc == -EBADMSG ? 0 : rc;
}

/* ---- indices ---- */

int pmo_window(const struct pmo *p, struct pmo_window *win, uint64_t at, size_t n, const uint8_t **out, struct err *e)
{
	struct buf *b = &win->bytes;
	uint64_t left = p->region.size - at;
	size_t want = n > WINDOW ? n : left < WINDOW ? (size_t)left : WINDOW;
	int rc;

	if (at < win->at || at - win->at > b->len || n > b->len - (at - win->at)) {
		b->len = 0;
		if (!buf_room(b, want + 1))
			return err_nomem(e);
		rc = src_read(p->region.src, b->p, want, p->region.at + at, "geometry region", e);
		if (rc)
			return rc;
		win->at = at;
		b->len = want;
	}
	*out = b->p + (at - win->at);
	return 0;
}

/* What a PRIM draws: vertex numbers in its group. */
struct corners {
	const uint8_t *p;
	uint32_t first, n;
	unsigned size;                         /* bytes of an index; 0: not indexed */
};

static uint32_t corner(const struct corners *c, uint32_t i)
{
	return pmo_index(c->p, c->size, i);
}

static int too_far(const struct pmo *p, const struct pmo_group *g, const struct ge_prim *prim, const struct corners *c,
		   uint64_t highest, unsigned stride, struct err *e)
{
	uint32_t i = 0;

	while (i < c->n && corner(c, i) != highest)
		i++;
	return err_at(e, EBADMSG, p->region.src, p->region.at + prim->indices + (uint64_t)i * c->size, "index",
		      "%llu, the vertex buffer at offset 0x%x of the geometry has room for %llu vertices of %u bytes",
		      (unsigned long long)highest, g->vertex_buffer,
		      (unsigned long long)((p->region.size - g->vertex_buffer) / stride - c->first), stride);
}

/* How many vertices the group has at least, because this PRIM uses them. */
static int count_vertices(const struct pmo *p, const struct pmo_group *g, const struct ge_prim *prim,
			  const struct corners *c, unsigned stride, uint32_t *vertices, struct err *e)
{
	uint64_t highest = 0, n;

	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t v = corner(c, i);

		highest = v > highest ? v : highest;
	}
	n = c->n ? c->first + highest + 1 : 0;
	if (n > (p->region.size - g->vertex_buffer) / stride)
		return too_far(p, g, prim, c, highest, stride, e);
	if (n > PMO_MESH_VERTICES)
		return err_at(e, EFBIG, p->region.src, p->region.at + g->vertex_buffer, "vertex buffer",
			      "%llu vertices are more than %u", (unsigned long long)n, PMO_MESH_VERTICES);
	*vertices = n > *vertices ? (uint32_t)n : *vertices;
	return 0;
}

static uint32_t triangle_count(unsigned type, uint32_t n)
{
	switch (type) {
	case GE_TRIANGLES: return n / 3;
	case GE_STRIP:
	case GE_FAN: return n < 3 ? 0 : n - 2;
	default: return 0;                     /* points, lines, rectangles */
	}
}

/* Corners of triangle t, front counter-clockwise: every second one of a strip turns the other way. */
static void triangle(unsigned type, uint32_t t, uint32_t at[3])
{
	uint32_t odd = type == GE_STRIP ? t & 1 : 0;

	at[0] = type == GE_FAN ? 0 : type == GE_STRIP ? t : 3 * t;
	at[1] = type == GE_FAN ? t + 1 : at[0] + 1 + odd;
	at[2] = type == GE_FAN ? t + 2 : at[0] + 2 - odd;
}

static bool add_faces(const struct ge_prim *prim, const struct corners *c, uint32_t base, struct buf *faces,
		      uint32_t *count)
{
	uint32_t n = triangle_count(prim->type, c->n), *out = NULL;

	if (faces) {
		/* Only whole triangles are ever in the buffer, so this is aligned. */
		out = (uint32_t *)(void *)buf_room(faces, (size_t)n * 12 + 12);
		if (!out)
			return false;
	}
	for (uint32_t t = 0; t < n; t++) {
		uint32_t at[3], v[3];

		triangle(prim->type, t, at);
		for (unsigned k = 0; k < 3; k++)
			v[k] = corner(c, at[k]);
		if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0])
			continue;
		++*count;
		if (!faces)
			continue;
		*out++ = base + c->first + v[0];
		*out++ = base + c->first + v[1 + prim->reversed];
		*out++ = base + c->first + v[2 - prim->reversed];
		faces->len += 12;
	}
	return true;
}

int pmo_group_scan_all(const struct pmo *p, uint32_t g, uint32_t base, bool nops, struct buf *faces,
		       struct pmo_window *win, struct pmo_scan *out, struct err *e)
{
	const struct pmo_group *group = &p->group[g];
	struct ge_walk w;
	struct ge_prim prim;
	int rc;

	*out = (struct pmo_scan){ 0 };
	pmo_walk(p, g, group->hidden, &w);
	while ((rc = ge_walk_next(&w, &prim, e)) > 0) {
		struct corners c = { .n = prim.count, .size = w.vertex.index_size };

		rc = pmo_first_vertex(p, group, &w, &prim, &c.first, e);
		if (rc)
			return rc;
		if (c.size)
			rc = pmo_window(p, win, prim.indices, (size_t)c.n * c.size, &c.p, e);
		if (rc)
			return rc;
		rc = count_vertices(p, group, &prim, &c, w.vertex.stride, &out->vertices, e);
		if (rc)
			return rc;
		/* Hidden triangles are counted, so that hiding changes nothing else in the view, but not drawn. */
		if ((!prim.nop || nops || !faces) && !add_faces(&prim, &c, base, faces, &out->faces))
			return err_nomem(e);
	}
	out->vertex = w.vertex;
	return rc;
}

int pmo_group_scan(const struct pmo *p, uint32_t g, uint32_t base, struct buf *faces, struct pmo_window *win,
		   struct pmo_scan *out, struct err *e)
{
	return pmo_group_scan_all(p, g, base, false, faces, win, out, e);
}
