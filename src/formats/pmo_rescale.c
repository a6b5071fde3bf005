/* A new position scale under which the shape stays: integer positions are rounded anew (spec/mhp.md 3.7). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pmo.h"

struct rescale {
	struct object *o;
	const struct pmo *p;
	const struct ynode *value;
	uint32_t mesh;                         /* 102: the one; 1.0: all have one scale */
	uint32_t first, n;                     /* groups under the scale */
	float old[3], now[3];
	double need[3];                        /* least scale that holds all positions */
	bool unfit[3];
	struct pmo_run *run;                   /* n */
	struct pmo_window win;
	struct pmo_wishes wishes;
};

/* ---- the value ---- */

static int refuse(const struct ynode *at, struct err *e, const char *what)
{
	if (at->kind != Y_SCALAR)
		return err_line(e, EINVAL, at->line, at->column, "rescale: %s", what);
	return err_line(e, EINVAL, at->line, at->column, "rescale: %s, found \"%.40s\"", what, at->text);
}

/* A component that stays may be what none should be. */
static int read_scale(const struct ynode *value, const float old[3], float out[3], struct err *e)
{
	if (value->kind != Y_LIST || value->count != 3)
		return refuse(value, e, "expected a list of 3 numbers");
	for (uint32_t i = 0; i < 3; i++) {
		const struct ynode *item = ynode_item(value, i);

		if (item->kind != Y_SCALAR || item->quoted || !num_parse_f32(item->text, item->n, &out[i]) ||
		    (out[i] == 0 && old[i] != 0))
			return refuse(item, e, "expected a number other than 0");
	}
	return 0;
}

/* ---- positions ---- */

static void requantise(struct rescale *x, const struct ge_field *f, uint64_t at, const uint8_t *was)
{
	unsigned size = pmo_component_size(f);
	uint8_t want[128];

	memcpy(want, was, f->at + 3 * size);
	for (unsigned k = 0; k < 3; k++) {
		double v = ge_get(f, was, k) * x->old[k], least, most, need;

		if (x->old[k] == x->now[k] || !isfinite(v))
			continue;
		pmo_range(f, &least, &most);
		need = f->format == 3 ? 0 : v > 0 ? v / most : -v;
		x->need[k] = need > x->need[k] ? need : x->need[k];
		x->unfit[k] |= !pmo_fits(f, v / x->now[k]);
		ge_put(f, want, k, v / x->now[k]);
		pmo_wish(&x->wishes, at + f->at + k * size, was + f->at + k * size, want + f->at + k * size, size,
			 x->value->line, false);
	}
}

static int requantise_run(struct rescale *x, const struct pmo_run *r, struct err *e)
{
	const struct ge_vertex *v = &r->scan.vertex;
	uint64_t at = x->p->group[r->group].vertex_buffer, end = at + (uint64_t)r->scan.vertices * v->stride;
	const uint8_t *was;

	for (; at < end; at += v->size) {      /* every morph target */
		int rc = pmo_window(x->p, &x->win, at, v->size, &was, e);

		if (rc)
			return rc;
		requantise(x, &v->position, at, was);
	}
	return 0;
}

static int check_fit(const struct rescale *x, struct err *e)
{
	for (unsigned k = 0; k < 3; k++)
		if (x->unfit[k])
			return err_line(e, EINVAL, x->value->line, x->value->column,
					"rescale: %c %s is too small: the positions need at least %s", 'x' + k,
					num_text(x->now[k]).s, num_text(x->need[k]).s);
	return 0;
}

/* ---- groups ---- */

static int scan_groups(struct rescale *x, struct err *e)
{
	for (uint32_t k = 0; k < x->n; k++) {
		struct pmo_run *r = &x->run[k];
		int rc;

		r->group = x->first + k;
		if (x->p->group[r->group].bad)
			return err_line(e, EINVAL, x->value->line, x->value->column,
					"rescale: group %u is damaged and cannot follow", r->group);
		rc = pmo_group_scan(x->p, r->group, 0, NULL, &x->win, &r->scan, e);
		if (rc)
			return rc;
	}
	return 0;
}

/* A mesh of another scale must not lose its shape. */
static int check_others(struct rescale *x, struct err *e)
{
	uint32_t all = x->p->table[PMO_GROUPS].n;
	struct span *v = calloc((size_t)all + 1, sizeof *v);
	int rc = v ? 0 : err_nomem(e);

	for (uint32_t g = 0; g < all && !rc; g++) {
		struct pmo_scan scan = { 0 };

		if (!x->p->group[g].bad)
			rc = pmo_group_scan(x->p, g, 0, NULL, &x->win, &scan, e);
		v[g] = (struct span){ x->p->group[g].vertex_buffer, (uint64_t)scan.vertices * scan.vertex.stride,
				      g >= x->first && g < x->first + x->n };
	}
	if (!rc && pmo_spans_meet(v, all))
		rc = err_line(e, EINVAL, x->value->line, x->value->column,
			      "rescale: mesh %u has vertices in common with another mesh, which has a scale of its own",
			      x->mesh);
	free(v);
	return rc;
}

static int check_old(const struct rescale *x, struct err *e)
{
	for (unsigned k = 0; k < 3; k++)
		if (x->old[k] != x->now[k] && (x->old[k] == 0 || !isfinite(x->old[k])))
			return err_line(e, EINVAL, x->value->line, x->value->column,
					"rescale: the %c of the scale is %s, which gives no shape to keep; set `scale`",
					'x' + k, num_text(x->old[k]).s);
	return 0;
}

/* ---- the scale ---- */

static float largest(const float v[3])
{
	return fmaxf(fmaxf(v[0], v[1]), v[2]);
}

bool pmo_radius_follows(const struct pmo *p)
{
	return !p->mesh_scale && p->head.cull_radius == largest(p->head.scale);
}

static int write_scale(const struct rescale *x, struct err *e)
{
	const struct pmo *p = x->p;
	const struct pmo_table *t = &p->table[PMO_MESHES];
	uint64_t at = p->mesh_scale ? t->at + (uint64_t)x->mesh * t->each : 0x10;
	uint8_t bytes[12], radius[4];
	int rc;

	for (unsigned k = 0; k < 3; k++)
		put_le32(bytes + 4 * k, f32_bits(x->now[k]));
	rc = object_patch(x->o, 0, at, bytes, sizeof bytes, "scale", e);
	if (rc || !pmo_radius_follows(p))
		return rc;
	put_le32(radius, f32_bits(largest(x->now)));
	return object_patch(x->o, 0, 0x0c, radius, sizeof radius, "cull radius", e);
}

static int rescale(struct rescale *x, struct arena *a, struct err *e)
{
	int rc = check_old(x, e);

	if (rc)
		return rc;
	x->run = arena_alloc(a, (size_t)x->n + 1, sizeof *x->run);
	rc = x->run ? scan_groups(x, e) : err_nomem(e);
	if (!rc && x->p->mesh_scale)
		rc = check_others(x, e);
	if (rc)
		return rc;
	rc = pmo_runs_overlap(x->p, x->run, x->n, e);
	x->wishes.shared = rc > 0;
	rc = rc < 0 ? rc : 0;
	for (uint32_t k = 0; k < x->n && !rc; k++)
		rc = requantise_run(x, &x->run[k], e);
	rc = rc ? rc : check_fit(x, e);
	rc = rc ? rc : pmo_grant(x->o, &x->wishes, e);
	return rc ? rc : write_scale(x, e);
}

bool pmo_has_scale(const struct pmo *p, unsigned kind, uint32_t index)
{
	return p->mesh_scale ? kind == DOC_MESH && index < p->nmeshes : kind == DOC_SECTION && index == PMO_HEADER;
}

static int check_place(const struct pmo *p, unsigned kind, uint32_t index, const struct ynode *value, struct err *e)
{
	if (pmo_has_scale(p, kind, index))
		return 0;
	return err_line(e, EINVAL, value->line, value->column,
			p->mesh_scale ? "rescale goes into meshes/N.yaml: in version 102 each mesh has its own scale"
				      : "rescale goes into header.yaml: in version 1.0 all meshes have one scale");
}

int pmo_rescale(struct object *o, unsigned kind, uint32_t index, const struct ynode *value, struct err *e)
{
	const struct pmo *p = o->priv;
	struct rescale x = { .o = o, .p = p, .value = value, .n = p->table[PMO_GROUPS].n };
	struct arena a = { 0 };
	int rc = check_place(p, kind, index, value, e);

	if (rc)
		return rc;
	if (p->mesh_scale) {
		x.mesh = index;
		x.first = p->mesh[index].first_group;
		x.n = p->mesh[index].group_count;
	}
	memcpy(x.old, p->mesh_scale ? p->mesh[index].scale : p->head.scale, sizeof x.old);
	rc = read_scale(value, x.old, x.now, e);
	if (rc || !memcmp(x.old, x.now, sizeof x.old))
		return rc;
	if (!p->region.src)
		return err_set(e, EBADMSG, "%s", p->missing ? p->missing : "the geometry is missing");
	rc = rescale(&x, &a, e);
	buf_free(&x.win.bytes);
	buf_free(&x.wishes.v);
	arena_free(&a);
	return rc;
}
