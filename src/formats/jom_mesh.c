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

uint32_t jom_rows_shown(const struct jom_model *m, const struct jom_shown *s, enum jom_tag tag, uint32_t each)
{
	uint64_t there = (uint64_t)m->table[tag].n * jom_record_sizes[tag] / each;
	uint32_t n = 0;

	while (n < s->npolygons && s->polygon[n] < there)
		n++;
	return n;
}

/* ---- values ---- */

/* x, -y, -z: y up, and z towards the viewer. */
static void turned(const uint8_t *raw, int64_t out[3])
{
	out[0] = jom_i32(raw);
	out[1] = -(int64_t)jom_i32(raw + 4);
	out[2] = -(int64_t)jom_i32(raw + 8);
}

static bool add_points(const struct jom_model *m, const struct jom_shown *s, struct geo_mesh *out, struct arena *a)
{
	out->nvertices = s->npoints;
	out->fixed_bits = FIXED_BITS;
	out->fixed = arena_alloc(a, (size_t)s->npoints + 1, sizeof *out->fixed);
	for (uint32_t i = 0; out->fixed && i < s->npoints; i++)
		turned(jom_row(m, JOM_PNTS, s->point[i]), out->fixed[i]);
	return out->fixed;
}

/* The texture's corners as A, B, C and D have them, counted from its top. */
static bool add_uvs(struct geo_mesh *out, uint32_t nfaces, struct arena *a)
{
	static const int64_t one = (int64_t)1 << FIXED_BITS;
	const int64_t corners[8] = { 0, 0, one, 0, one, one, 0, one };
	struct geo_stream *s = &out->streams[out->nstreams++];

	*s = (struct geo_stream){ .attr = GEO_UV, .comps = 2, .count = 4 };
	s->fixed = arena_alloc(a, 8, sizeof *s->fixed);
	s->corner = arena_alloc(a, (size_t)nfaces * 4 + 1, sizeof *s->corner);
	if (!s->fixed || !s->corner)
		return false;
	memcpy(s->fixed, corners, sizeof corners);
	return true;
}

static bool add_normals(const struct jom_model *m, struct geo_mesh *out, uint32_t nfaces, struct arena *a)
{
	uint32_t n = m->table[JOM_NTAB].n;
	struct geo_stream *s = &out->streams[out->nstreams];

	if (!n)
		return true;
	out->nstreams++;
	*s = (struct geo_stream){ .attr = GEO_NORMAL, .comps = 3, .count = n };
	s->fixed = arena_alloc(a, (size_t)n * 3, sizeof *s->fixed);
	s->corner = arena_alloc(a, (size_t)nfaces * 4 + 1, sizeof *s->corner);
	if (!s->fixed || !s->corner)
		return false;
	for (uint32_t i = 0; i < n; i++)
		turned(jom_row(m, JOM_NTAB, i), s->fixed + (size_t)i * 3);
	return true;
}

/* Points behind the end of VCOL have none. */
static bool add_colours(const struct jom_model *m, const struct jom_shown *shown, struct geo_mesh *out, struct arena *a)
{
	struct geo_stream *s = &out->streams[out->nstreams];

	if (!m->table[JOM_VCOL].n)
		return true;
	out->nstreams++;
	*s = (struct geo_stream){ .attr = GEO_COLOUR, .comps = 3, .count = shown->npoints };
	s->fixed = arena_alloc(a, (size_t)shown->npoints * 3 + 1, sizeof *s->fixed);
	for (uint32_t i = 0; s->fixed && i < shown->npoints; i++) {
		int64_t *rgb = s->fixed + (size_t)i * 3;

		rgb[0] = GEO_NO_FIXED;
		for (unsigned c = 0; c < 3 && shown->point[i] < m->table[JOM_VCOL].n; c++)
			rgb[c] = jom_i32(jom_row(m, JOM_VCOL, shown->point[i]) + 4 * c);
	}
	return s->fixed;
}

/* ---- faces ---- */

struct faces {
	const struct jom_model *m;
	const struct jom_shown *shown;
	const uint32_t *owner;                 /* of every polygon, its group; NULL: all are `object` */
	const char *object;
	struct geo_mesh *out;
	struct geo_stream *uv, *normal;        /* NULL: no normals */
};

static const char *object_of(const struct faces *f, uint32_t k)
{
	if (!f->owner)
		return f->object;
	return f->owner[k] == GEO_NONE ? "ungrouped" : f->m->group_names[f->owner[k]];
}

/* A part for another object or material; one without faces takes a material that comes later. */
static void begin_part(struct faces *f, const char *object, int32_t material)
{
	struct geo_mesh *out = f->out;
	struct geo_part *last = out->nparts ? &out->parts[out->nparts - 1] : NULL;

	if (!last || last->object != object || (last->nfaces && material >= 0 && last->material != material))
		out->parts[out->nparts++] = (struct geo_part){ material, out->nfaces, 0, object };
	else if (!last->nfaces)
		last->material = material;
}

static void add_face(struct faces *f, uint32_t k)
{
	struct geo_mesh *out = f->out;
	unsigned c[4], n = jom_face(f->m, k, c);
	size_t at = (size_t)out->nfaces * 4;

	begin_part(f, object_of(f, k), n ? jom_material_of(f->m, k) : -1);
	if (!n)
		return;
	for (unsigned i = 0; i < 4; i++) {
		int32_t normal = i < n && f->normal ? jom_word(f->m, JOM_CNRM, k, c[i]) : -1;

		out->quad[out->nfaces][i] = i < n ? f->shown->line[jom_corner(f->m, k, c[i])] : GEO_NONE;
		f->uv->corner[at + i] = n == 4 ? c[i] : GEO_NONE;
		if (f->normal)
			f->normal->corner[at + i] = normal < 0 ? GEO_NONE : (uint32_t)normal;
	}
	out->nfaces++;
	out->parts[out->nparts - 1].nfaces++;
}

/* A named mesh has its object also when it has no polygon. */
static bool add_faces(struct faces *f, struct arena *a)
{
	struct geo_mesh *out = f->out;
	uint32_t n = f->shown->npolygons;

	out->quad = arena_alloc(a, (size_t)n + 1, sizeof *out->quad);
	out->parts = arena_alloc(a, (size_t)n + 1, sizeof *out->parts);
	if (!out->quad || !out->parts)
		return false;
	out->objects = true;
	if (f->object)
		begin_part(f, f->object, -1);
	for (uint32_t i = 0; i < n; i++)
		add_face(f, f->shown->polygon[i]);
	return true;
}

/* Those of the MTL: all of the model's, or those the mesh's polygons use, also where they have no face. */
static bool list_materials(const struct jom_model *m, uint32_t mesh, const struct jom_shown *s, struct geo_mesh *out,
			   struct arena *a)
{
	uint32_t n = m->table[JOM_MATL].n, *list = arena_alloc(a, (size_t)n + 1, sizeof *list);
	uint8_t *used = arena_alloc(a, (size_t)n + 1, 1);

	if (!list || !used)
		return false;
	for (uint32_t i = 0; i < s->npolygons; i++)
		used[jom_material_of(m, s->polygon[i])] = 1;
	for (uint32_t i = 0; i < n; i++)
		if (used[i] || mesh == MESH_WHOLE)
			list[out->nmaterials++] = i;
	out->materials = list;
	return true;
}

int jom_mesh(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	bool by_group = mesh == MESH_WHOLE && m->table[JOM_GRUP].there;
	uint32_t group = mesh == MESH_WHOLE ? GEO_NONE : m->meshes[mesh].group;
	struct jom_shown shown;
	struct faces f = { .m = m, .shown = &shown, .out = out };
	int rc = jom_mesh_shown(m, mesh, &shown, a, e);

	if (rc)
		return rc;
	*out = (struct geo_mesh){ 0 };
	f.owner = by_group ? owners(m, a) : NULL;
	f.object = group == GEO_NONE ? NULL : m->group_names[group];
	out->streams = arena_alloc(a, 3, sizeof *out->streams);
	if ((by_group && !f.owner) || !out->streams || !add_points(m, &shown, out, a) ||
	    !add_uvs(out, shown.npolygons, a))
		return err_nomem(e);
	f.uv = &out->streams[0];
	f.normal = m->table[JOM_NTAB].n ? &out->streams[1] : NULL;
	if (!add_normals(m, out, shown.npolygons, a) || !add_colours(m, &shown, out, a) || !add_faces(&f, a) ||
	    !list_materials(m, mesh, &shown, out, a))
		return err_nomem(e);
	return 0;
}

int jom_form(struct object *o, uint32_t mesh, struct geo_form *out, struct arena *a, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	uint32_t group = mesh == MESH_WHOLE ? GEO_NONE : m->meshes[mesh].group;

	(void)a;
	(void)e;
	*out = (struct geo_form){
		.quads = true, .named = true, .exact = true, .object = group == GEO_NONE ? NULL : m->group_names[group],
		.holds = "JOM holds triangles and quads",
	};
	return 0;
}

/* ---- MTL ---- */

/* Both rounding down and to the nearest give the byte back. */
static void put_channel(struct buf *out, uint8_t v)
{
	uint32_t millionths = (uint32_t)(((uint64_t)v * 4 + 1) * 1000000 / (4 * 255) +
					 (((uint64_t)v * 4 + 1) * 1000000 % (4 * 255) >= 2 * 255));

	if (v == 0 || v == 255)
		buf_str(out, v ? " 1" : " 0");
	else
		buf_printf(out, " 0.%06u", millionths);
}

static void put_options(struct buf *out, const struct jom_material *mat, bool lut)
{
	static const struct { uint8_t bit; const char *key; } switches[] = {
		{ 0, "jo_dual" }, { 3, "jo_gouraud" }, { 4, "jo_half_transparent" }, { 5, "jo_screen_doors" },
		{ 6, "jo_light" }, { 9, "jo_end_codes" }, { 10, "jo_mipmaps" },
	};
	static const char *const sorts[] = { NULL, "min", "max", "previous" };
	static const char *const flips[] = { NULL, "h", "v", "hv" };
	uint32_t f = mat->flags, sort = f >> 1 & 3, flip = f >> 7 & 3;

	if (sort)
		buf_printf(out, "jo_sort %s\n", sorts[sort]);
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (f >> switches[i].bit & 1)
			buf_printf(out, "%s 1\n", switches[i].key);
	if (flip)
		buf_printf(out, "jo_flip %s\n", flips[flip]);
	if (f & (JOM_SUBDIVISION | JOM_SUBDIVISION_NEAR))
		buf_printf(out, "jo_subdivision %d\n", f & JOM_SUBDIVISION_NEAR ? 2 : 1);
	if (mat->subdivision_error)
		buf_printf(out, "jo_subdivision_error %u\n", mat->subdivision_error);
	if (f >> 16)
		buf_str(out, "jo_user");
	for (unsigned i = 0; i < 16; i++)
		if (f >> 16 >> i & 1)
			buf_printf(out, " %u", i);
	if (f >> 16)
		buf_char(out, '\n');
	if (mat->user)
		buf_printf(out, "jo_value %u\n", mat->user);
	if (lut)
		buf_str(out, "jo_lut 1\n");
}

/* The bytes so far as a string of the arena; empties b. */
static const char *settled(struct buf *b, struct arena *a)
{
	char *s = b->bad ? NULL : arena_alloc(a, b->len + 1, 1);

	if (s && b->len)
		memcpy(s, b->p, b->len);
	b->len = 0;
	return s;
}

/* The name in TEXT, as the converter wants it; what cannot stand in a line is replaced. */
static bool name_map(const struct jom_model *m, const struct jom_material *mat, struct geo_material *out,
		     struct arena *a)
{
	const uint8_t *raw;
	size_t n;
	char *s;

	if (mat->texture < 0 || (uint32_t)mat->texture >= m->table[JOM_TEXT].n)
		return true;
	raw = jom_row(m, JOM_TEXT, (uint32_t)mat->texture);
	n = strnlen((const char *)raw, JOM_NAME);
	if (!n)
		return true;
	s = arena_alloc(a, n + 1, 1);
	for (size_t i = 0; s && i < n; i++)
		s[i] = raw[i] >= ' ' && raw[i] <= '~' ? (char)raw[i] : '_';
	out->map = s;
	return s;
}

int jom_material(struct object *o, uint32_t i, struct geo_material *out, struct arena *a, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	struct jom_material mat;
	struct buf text = { 0 };
	bool lut;

	rec_decode(&jom_material_record, true, jom_row(m, JOM_MATL, i), &mat);
	lut = mat.texture >= 0 && (uint32_t)mat.texture < m->table[JOM_TIMG].n &&
	      m->pictures[mat.texture].h.format == JOM_LUT16;
	*out = (struct geo_material){ .name = m->material_names[i], .image = -1 };
	for (unsigned c = 0; c < 4; c++)
		out->colour[c] = c < 3 ? (float)mat.colour[c] / 255 : 1;
	if (mat.texture >= 0 && (uint32_t)mat.texture < m->table[JOM_TEXT].n)
		out->image = mat.texture;
	out->bare_colour = true;
	out->both_sides = mat.flags & JOM_DUAL_PLANE;
	if (mat.flags & JOM_HALF_TRANSPARENT)
		out->colour[3] = 0.5f;
	buf_str(&text, "Kd");
	for (unsigned c = 0; c < 3; c++)
		put_channel(&text, mat.colour[c]);
	buf_printf(&text, "\nNs %u\n", mat.shine);
	out->head = settled(&text, a);
	put_options(&text, &mat, lut);
	out->tail = settled(&text, a);
	buf_free(&text);
	return out->head && out->tail && name_map(m, &mat, out, a) ? 0 : err_nomem(e);
}
