/* Geometry of a JOM as OBJ and MTL have it (spec/jom.md 7 to 10, design/views-jom.md). Axes are turned by half a circle
 * around x, which keeps what is front. A quad shows its whole texture; that says which corner is A. */
#include "jom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIXED_BITS 16u

/* ---- what a mesh shows ---- */

/* Of every polygon the last group that has it; GEO_NONE. */
static uint32_t *owners(const struct jom_model *m, struct arena *a)
{
	uint32_t *owner = arena_alloc(a, (size_t)m->npolygons + 1, sizeof *owner);
	/* next[k]: the first polygon from k on that has no owner yet, or one that leads there. */
	uint32_t *next = arena_alloc(a, (size_t)m->npolygons + 2, sizeof *next);

	if (!owner || !next)
		return NULL;
	for (uint32_t k = 0; k <= m->npolygons; k++) {
		owner[k] = GEO_NONE;
		next[k] = k;
	}
	for (uint32_t g = m->table[JOM_GRUP].n; g-- > 0;) {
		const uint8_t *raw = jom_row(m, JOM_GRUP, g);
		uint32_t k = be_u16(raw + 20), end = k + be_u16(raw + 22);

		end = end < m->npolygons ? end : m->npolygons;
		while (k < end) {
			while (next[k] != k) {
				next[k] = next[next[k]];
				k = next[k];
			}
			if (k >= end)
				break;
			owner[k] = g;
			next[k] = k + 1;
		}
	}
	return owner;
}

static bool is_whole(const struct jom_model *m, uint32_t mesh)
{
	return mesh == MESH_WHOLE || m->meshes[mesh].whole;
}

static bool find_polygons(const struct jom_model *m, uint32_t mesh, struct jom_shown *out, struct arena *a)
{
	uint32_t first = 0, end = m->npolygons, g = is_whole(m, mesh) ? GEO_NONE : m->meshes[mesh].group;
	uint32_t *owner = NULL;

	if (g != GEO_NONE) {
		const uint8_t *raw = jom_row(m, JOM_GRUP, g);

		first = be_u16(raw + 20);
		end = first + be_u16(raw + 22);
		end = end < m->npolygons ? end : m->npolygons;
	} else if (!is_whole(m, mesh)) {
		owner = owners(m, a);
		if (!owner)
			return false;
	}
	out->polygon = arena_alloc(a, (first < end ? end - first : 0) + 1, sizeof *out->polygon);
	for (uint32_t k = first; k < end && out->polygon; k++)
		if (!owner || owner[k] == GEO_NONE)
			out->polygon[out->npolygons++] = k;
	return out->polygon;
}

/* Points of the polygons, and the group's own. */
static void mark_points(const struct jom_model *m, uint32_t mesh, const struct jom_shown *s, uint8_t *used)
{
	uint32_t n = m->table[JOM_PNTS].n, g = is_whole(m, mesh) ? GEO_NONE : m->meshes[mesh].group;

	if (is_whole(m, mesh) && n)
		memset(used, 1, n);
	for (uint32_t i = 0; i < s->npolygons; i++)
		for (unsigned c = 0; c < 4; c++)
			used[jom_corner(m, s->polygon[i], c)] = 1;
	if (g != GEO_NONE) {
		const uint8_t *raw = jom_row(m, JOM_GRUP, g);
		uint32_t first = be_u16(raw + 16), end = first + be_u16(raw + 18);

		for (uint32_t i = first; i < end && i < n; i++)
			used[i] = 1;
	}
}

int jom_mesh_shown(const struct jom_model *m, uint32_t mesh, struct jom_shown *out, struct arena *a, struct err *e)
{
	uint32_t n = m->table[JOM_PNTS].n;
	uint8_t *used = arena_alloc(a, (size_t)n + 1, 1);

	*out = (struct jom_shown){ 0 };
	out->point = arena_alloc(a, (size_t)n + 1, sizeof *out->point);
	out->line = arena_alloc(a, (size_t)n + 1, sizeof *out->line);
	if (!used || !out->point || !out->line || !find_polygons(m, mesh, out, a))
		return err_nomem(e);
	mark_points(m, mesh, out, used);
	for (uint32_t i = 0; i < n; i++) {
		out->line[i] = used[i] ? out->npoints : GEO_NONE;
		if (used[i])
			out->point[out->npoints++] = i;
	}
	return 0;
}
