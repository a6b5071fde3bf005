/* What the OBJ of a JOM says, in the file's own terms: y and z turned back, corners clockwise, names as numbers
 * (spec/jom.md 10). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jom_put.h"
#include "num.h"

/* ---- numbers ---- */

static bool nearest(double v, int32_t *out)
{
	double k = round(v * 65536);           /* exact but for the rounding itself */

	if (!(k >= INT32_MIN && k <= INT32_MAX))
		return false;
	*out = (int32_t)k;
	return true;
}

static bool stays(struct geo_number given, int32_t stored)
{
	double shown = stored / 65536.0, off = fabs(given.v - shown);
	int32_t k;

	if (nearest(given.v, &k) && k == stored)
		return true;
	/* Programs keep numbers as float32. */
	return given.slack > 0 && off <= given.slack + fabs(shown) * 0x1p-24;
}

bool jom_all_stay(const struct geo_number given[3], const int32_t stored[3])
{
	return stays(given[0], stored[0]) && stays(given[1], stored[1]) && stays(given[2], stored[2]);
}

static int outside(double v, unsigned line, struct err *e)
{
	char text[NUM_MAX + 1];

	text[num_f32(text, (float)v, true)] = 0;
	return err_line(e, EINVAL, line, 0, "%s is outside -32768..32767.99998", text);
}

static int take(const struct geo_number given[3], int32_t stored[3], bool keeps, bool turned, unsigned line,
		struct err *e)
{
	for (unsigned k = 0; k < 3; k++) {
		if (keeps && stays(given[k], stored[k]))
			continue;
		if (!nearest(given[k].v, &stored[k]))
			return outside(turned && k ? -given[k].v : given[k].v, line, e);
	}
	return 0;
}

int jom_take(const struct geo_number given[3], int32_t stored[3], unsigned line, struct err *e)
{
	return take(given, stored, true, false, line, e);
}

int jom_take_turned(const struct geo_number given[3], int32_t stored[3], unsigned line, struct err *e)
{
	return take(given, stored, true, true, line, e);
}

int jom_make(const struct geo_number given[3], int32_t out[3], unsigned line, struct err *e)
{
	return take(given, out, false, false, line, e);
}

int jom_make_turned(const struct geo_number given[3], int32_t out[3], unsigned line, struct err *e)
{
	return take(given, out, false, true, line, e);
}

static struct geo_number (*turn(const struct geo_number (*v)[3], uint32_t n, struct arena *a))[3]
{
	struct geo_number (*out)[3] = arena_alloc(a, (size_t)n + 1, sizeof *out);

	for (uint32_t i = 0; i < n && out; i++) {
		memcpy(out[i], v[i], sizeof out[i]);
		out[i][1].v = -out[i][1].v;
		out[i][2].v = -out[i][2].v;
	}
	return out;
}

/* ---- names ---- */

struct named { const char *name; uint32_t number; };

struct namesake { struct named *v; uint32_t n; };

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static bool sort_names(const char *const *name, uint32_t n, struct namesake *out, struct arena *a)
{
	out->n = n;
	out->v = arena_alloc(a, (size_t)n + 1, sizeof *out->v);
	for (uint32_t i = 0; i < n && out->v; i++)
		out->v[i] = (struct named){ name[i], i };
	if (n && out->v)
		qsort(out->v, n, sizeof *out->v, by_name);
	return out->v;
}

static uint32_t find(const struct namesake *s, const char *name)
{
	const struct named key = { name, 0 }, *found = s->n ? bsearch(&key, s->v, s->n, sizeof key, by_name) : NULL;

	return found ? found->number : GEO_NONE;
}

/* Behind a name that was there already programs put .001. */
static uint32_t find_copy(const struct namesake *s, const char *name, struct arena *a)
{
	size_t n = strlen(name), digits = 0;
	uint32_t found = find(s, name);
	char *text;

	while (digits < n && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9')
		digits++;
	if (found != GEO_NONE || !digits || n < digits + 2 || name[n - 1 - digits] != '.')
		return found;
	text = arena_alloc(a, n, 1);
	if (!text)
		return GEO_NONE;
	memcpy(text, name, n - 1 - digits);
	return find(s, text);
}

/* What each name of the text means as one of s. */
static uint32_t *look_up(const struct geo_put *put, const struct namesake *s, struct arena *a)
{
	uint32_t *out = arena_alloc(a, (size_t)put->nnames + 1, sizeof *out);

	for (uint32_t i = 0; i < put->nnames && out; i++)
		out[i] = find_copy(s, put->names[i].text, a);
	return out;
}

static int take_materials(const struct jom_model *m, struct jom_text *x, struct arena *a, struct err *e)
{
	const struct geo_put *put = x->put;
	struct namesake materials;
	uint32_t *of = sort_names(m->material_names, m->table[JOM_MATL].n, &materials, a) ?
		       look_up(put, &materials, a) : NULL;

	if (!of)
		return err_nomem(e);
	for (uint32_t f = 0; f < put->nfaces; f++) {
		uint32_t name = put->usemtl[f];

		x->face[f].material = name == GEO_NONE ? GEO_NONE : of[name];
		if (name != GEO_NONE && of[name] == GEO_NONE)
			return err_line(e, EINVAL, put->usemtl_line[f], 0,
					"no material \"%.40s\"; add it in materials.yaml", put->names[name].text);
	}
	return 0;
}

static int take_groups(const struct jom_model *m, struct jom_text *x, struct arena *a, struct err *e)
{
	const struct geo_put *put = x->put;
	struct namesake groups;
	uint32_t *of = sort_names(m->group_names, m->table[JOM_GRUP].n, &groups, a) ? look_up(put, &groups, a) : NULL;

	if (!of)
		return err_nomem(e);
	for (uint32_t f = 0; f < put->nfaces; f++) {
		uint32_t name = put->object[f];

		x->face[f].group = name == GEO_NONE ? GEO_NONE : of[name];
		if (name != GEO_NONE && of[name] == GEO_NONE && !strcmp(put->names[name].text, "ungrouped"))
			x->face[f].group = JOM_UNGROUPED;
	}
	return 0;
}

/* ---- faces ---- */

/* Whether corner s of a quad has the texture's top left: the next one lies to the right of it, the last one below. */
static bool is_top_left(const struct geo_put *put, const struct geo_corner c[4], unsigned s)
{
	const struct geo_number *a = put->uv[c[s].uv], *b = put->uv[c[(s + 1) % 4].uv], *d = put->uv[c[(s + 3) % 4].uv];
	double right = b[0].v - a[0].v, below = d[1].v - a[1].v;

	return right > fabs(b[1].v - a[1].v) && below > fabs(d[0].v - a[0].v);
}

/* Turns a quad so that its texture begins with corner 0, where its vt say which one that is. */
static void start(const struct geo_put *put, struct jom_face *f)
{
	struct geo_corner c[4];
	unsigned s = 0;

	for (unsigned k = 0; k < 4; k++)
		if (f->n != 4 || f->corner[k].uv == GEO_NONE)
			return;
	memcpy(c, f->corner, sizeof c);
	while (s < 4 && !is_top_left(put, c, s))
		s++;
	f->starts = s < 4;
	for (unsigned k = 0; k < 4 && f->starts; k++)
		f->corner[k] = c[(s + k) % 4];
}

/* Corners that follow each other and are the same vertex count once. */
static void take_face(const struct geo_put *put, uint32_t i, struct jom_face *f)
{
	const struct geo_corner *q = put->quad[i];
	unsigned given = q[3].v == GEO_NONE ? 3 : 4, n = 0;
	struct geo_corner c[4];

	for (unsigned k = 0; k < given; k++)
		if (q[k].v != q[(k + given - 1) % given].v)
			c[n++] = q[k];
	f->polygon = GEO_NONE;
	if (n < 3 || (n == 4 && (c[0].v == c[2].v || c[1].v == c[3].v)))
		return;
	f->n = (uint8_t)n;
	for (unsigned k = 0; k < n; k++)
		f->corner[k] = c[k ? n - k : 0];
	start(put, f);
}

int jom_text_read(const struct jom_model *m, uint32_t mesh, const struct geo_put *put, struct jom_text *out,
		  struct arena *a, struct err *e)
{
	int rc;

	*out = (struct jom_text){ .put = put, .mesh = mesh, .foreign = put->foreign_normals };
	out->position = turn((const struct geo_number (*)[3])put->position, put->nvertices, a);
	out->normal = turn((const struct geo_number (*)[3])put->normal, put->nnormals, a);
	out->face = arena_alloc(a, (size_t)put->nfaces + 1, sizeof *out->face);
	out->point = arena_alloc(a, (size_t)put->nvertices + 1, sizeof *out->point);
	out->stays = arena_alloc(a, (size_t)m->table[JOM_QUAD].n + 1, 1);
	if (!out->position || !out->normal || !out->face || !out->point || !out->stays)
		return err_nomem(e);
	memset(out->point, 0xff, (size_t)put->nvertices * sizeof *out->point);
	for (uint32_t i = 0; i < put->nfaces; i++) {
		take_face(put, i, &out->face[i]);
		out->nfaces += out->face[i].n > 0;
	}
	rc = take_materials(m, out, a, e);
	return rc || mesh != MESH_WHOLE ? rc : take_groups(m, out, a, e);
}
