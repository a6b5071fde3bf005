#include "pmo_grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "export.h"
#include "ge.h"

/* ---- models ---- */

void grid_vertex(struct buf *b, int x, int y, unsigned weight)
{
	put8(b, weight);
	put8(b, 0);
	put16(b, (unsigned)x * 1024);
	put16(b, (unsigned)y * 1024);
	put8(b, 0);
	put8(b, 0);
	put8(b, 127);
	put8(b, 0);
	put16(b, (unsigned)(uint16_t)(x * 4096));
	put16(b, (unsigned)(uint16_t)(y * 4096));
	put16(b, 0);
}

struct parts { struct buf vertices, indices; uint32_t corners; };

static struct parts grid(unsigned index_size, int x0, int y0, int w, int h)
{
	struct parts p = { 0 };

	for (int y = 0; y <= h; y++)
		for (int x = 0; x <= w; x++)
			grid_vertex(&p.vertices, x0 + x, y0 + y, (unsigned)(10 * (y0 + y) + x0 + x + 1));
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			unsigned a = (unsigned)(y * (w + 1) + x), up = a + (unsigned)w + 1;
			unsigned v[6] = { a, a + 1, up, a + 1, up + 1, up };

			for (unsigned i = 0; i < 6; i++)
				(index_size == 1 ? put8 : put16)(&p.indices, v[i]);
			p.corners += 6;
		}
	return p;
}

void grid_add(struct build_pmo *b, unsigned material, uint32_t type, int x0, int y0, int w, int h,
	      const uint32_t *more)
{
	struct parts p = grid(type == SKINNED8 ? 1 : 2, x0, y0, w, h);
	uint32_t draw[GRID_DRAWS + 1] = { prim(GE_TRIANGLES, p.corners) };
	struct build_group g = { (uint8_t)material, type, p.vertices.p, p.indices.p,
				 p.vertices.len,    p.indices.len, draw };

	for (unsigned i = 0; more && more[i]; i++) {
		assert_true(i < GRID_DRAWS);
		draw[i] = more[i];
		draw[i + 1] = 0;
	}
	build_palette(b, 0, 3);
	build_group(b, &g);
	buf_free(&p.vertices);
	buf_free(&p.indices);
}

void grid_begin(struct build_pmo *b, bool v102)
{
	*b = (struct build_pmo){ .v102 = v102, .scale = { 1, 1, 1 } };
	for (unsigned i = 0; i < 3; i++)
		build_material(b, 0xffffffff, 0, (uint8_t)i, 0);
}

void grid_mesh(struct build_pmo *b)
{
	build_mesh(b, ones, ones, zeros);
	for (unsigned i = 0; i < 3; i++)
		build_remap(b, (uint8_t)i);
}

void grid_two_meshes(struct build_pmo *b)
{
	grid_begin(b, false);
	grid_mesh(b);
	grid_add(b, 0, SKINNED8, 0, 0, 2, 2, NULL);
	grid_add(b, 1, SKINNED16, 3, 0, 1, 1, NULL);
	grid_mesh(b);
	grid_add(b, 2, SKINNED8, 0, 4, 1, 1, NULL);
}

void grid_open(struct edited *k, struct build_pmo *b, size_t room)
{
	struct buf bytes = { 0 }, behind = { 0 };

	build_pmo(b, &bytes, b->behind ? &behind : NULL);
	edited_open_behind(k, &fmt_pmo, bytes.p, bytes.len, bytes.len + room, behind.p, behind.len, behind.len + room);
	assert_null(k->o->faults);
	buf_free(&bytes);
	buf_free(&behind);
}

/* ---- texts ---- */

void grid_read(struct edited *k, uint32_t i, struct geo_mesh *g, struct arena *a)
{
	struct err e = { 0 };

	if (fmt_pmo.model->mesh(k->o, i, g, a, &e))
		fail_msg("%s", e.text);
}

void grid_text(struct edited *k, uint32_t i, struct buf *text)
{
	struct geo_material material[8] = { { 0 } };
	char name[8][16];
	struct arena a = { 0 };
	struct geo_mesh g;

	memset(text, 0, sizeof *text);
	grid_read(k, i, &g, &a);
	for (unsigned p = 0; p < g.nparts && p < 8; p++) {
		snprintf(name[p], sizeof name[p], "material_%d", g.parts[p].material);
		material[p].name = name[p];
	}
	obj_write(text, &g, i, material);
	arena_free(&a);
}

void drop_face(struct buf *text, unsigned n)
{
	char *p = (char *)text->p, *end = p + text->len, *line;

	for (line = p; line < end; line = memchr(line, '\n', (size_t)(end - line)) + 1)
		if (!strncmp(line, "f ", 2) && !n--)
			break;
	assert_true(line < end);
	p = (char *)memchr(line, '\n', (size_t)(end - line)) + 1;
	memmove(line, p, (size_t)(end - p));
	text->len -= (size_t)(p - line);
}

void drop_lines(struct buf *text, const char *begins)
{
	struct buf out = { 0 };
	const char *p = (const char *)text->p, *end = p + text->len, *next;

	for (; p < end; p = next) {
		next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
		if (strncmp(p, begins, strlen(begins)))
			buf_add(&out, p, (size_t)(next - p));
	}
	buf_free(text);
	*text = out;
}
