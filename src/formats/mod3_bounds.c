/* What follows from the vertices of a MOD3: boxes and spheres of the model and of its envelopes (spec/mod3.md 3, 8).
 *
 * A bound is worked out from the vertices as they were and as they are; a number that is the same both times stays what
 * is stored. So boxes that are a little larger than their vertices, and those that were out of date, stay so. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mod3_write.h"

#define BONES 256u
#define WHOLE MOD3_NO_BONE                     /* as a bone: the mesh in its own space */

/* Offsets in an envelope. */
enum { ENVELOPE_SPHERE = 0x10, ENVELOPE_BOX = 0x20, ENVELOPE_OBB = 0x40, ENVELOPE_HALF = 0x80 };
#define HEADER_SPHERE 0x70u
#define RECORD_ENVELOPES 0x29u                 /* how many a mesh has */

struct bound {
	float min[3], max[3], centre[3], radius;
	bool any;                              /* it has points */
};

/* ---- bounds of points ---- */

/* Computed in double, rounded once; never infinite. */
static float rounded(double v)
{
	return (float)fmin(fmax(v, -FLT_MAX), FLT_MAX);
}

static bool is_finite(const float p[3])
{
	return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

static void box_add(struct bound *b, const float p[3])
{
	for (unsigned k = 0; k < 3; k++) {
		b->min[k] = !b->any || p[k] < b->min[k] ? p[k] : b->min[k];
		b->max[k] = !b->any || p[k] > b->max[k] ? p[k] : b->max[k];
	}
	b->any = true;
}

static void box_done(struct bound *b)
{
	for (unsigned k = 0; k < 3; k++)
		b->centre[k] = rounded(((double)b->min[k] + b->max[k]) / 2);
}

static double distance(const float a[3], const float b[3])
{
	double d[3] = { (double)a[0] - b[0], (double)a[1] - b[1], (double)a[2] - b[2] };

	return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static void sphere_add(struct bound *b, const float p[3])
{
	float away = rounded(distance(p, b->centre));

	b->radius = away > b->radius ? away : b->radius;
}

static void read_position(const uint8_t *vertex, float out[3])
{
	for (unsigned k = 0; k < 3; k++)
		out[k] = le_f32(vertex + 4 * k);
}

/* p as a row vector times a matrix as it is stored. */
static void transform(const float p[3], const uint8_t *matrix, float out[3])
{
	for (unsigned k = 0; k < 3; k++) {
		double v = (double)p[0] * le_f32(matrix + 4 * k) + (double)p[1] * le_f32(matrix + 16 + 4 * k) +
			   (double)p[2] * le_f32(matrix + 32 + 4 * k) + le_f32(matrix + 48 + 4 * k);

		out[k] = rounded(v);
	}
}

/* ---- bounds of the bones of a mesh ---- */

struct bones { struct bound of[BONES]; };

typedef void (*bound_add)(struct bound *b, const float p[3]);

/* The vertex goes into the bound of each bone that moves it, in the space of that bone, and into that of the whole. */
static void add_vertex(const struct mod3_scene *s, const struct mod3_block *b, const uint8_t *vertex, struct bones *out,
		       bound_add add)
{
	int32_t weight[MOD3_SLOTS];
	float p[3], local[3];

	read_position(vertex, p);
	if (!is_finite(p))
		return;
	add(&out->of[WHOLE], p);
	if (b->slots)
		mod3_weights(b, vertex, weight);
	for (unsigned k = 0; k < b->slots; k++) {
		uint8_t bone = vertex[b->ids + k];

		if (!weight[k] || bone >= s->nbones || bone == WHOLE)
			continue;
		transform(p, s->inverse + (size_t)bone * MOD3_MATRIX_SIZE, local);
		if (is_finite(local))
			add(&out->of[bone], local);
	}
}

static void measure_bones(const struct mod3_scene *s, const struct mod3_points *p, struct bones *out)
{
	memset(out, 0, sizeof *out);
	for (uint32_t i = 0; i < p->n && p->block; i++)
		add_vertex(s, p->block, p->v + (size_t)i * p->block->stride, out, box_add);
	for (unsigned k = 0; k < BONES; k++)
		box_done(&out->of[k]);
	for (uint32_t i = 0; i < p->n && p->block; i++)
		add_vertex(s, p->block, p->v + (size_t)i * p->block->stride, out, sphere_add);
}

/* ---- bounds of the model ---- */

static void add_meshes(const struct mod3_scene *s, uint32_t n, struct bound *b, bound_add add)
{
	float p[3];

	for (uint32_t i = 0; i < n; i++) {
		const struct mod3_points *points = &s->mesh[i];

		for (uint32_t k = 0; k < points->n && points->block; k++) {
			read_position(points->v + (size_t)k * points->block->stride, p);
			if (is_finite(p))
				add(b, p);
		}
	}
}

static void measure_model(const struct mod3_scene *s, uint32_t n, struct bound *b)
{
	*b = (struct bound){ 0 };
	add_meshes(s, n, b, box_add);
	box_done(b);
	add_meshes(s, n, b, sphere_add);
}

/* ---- numbers that differ ---- */

static bool same(const void *a, const void *b, size_t n)
{
	return !memcmp(a, b, n);
}

/* Stores `n` numbers that are not what they were. */
static void follow(uint8_t *raw, const float *was, const float *now, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (!same(&was[k], &now[k], sizeof *now))
			put_le32(raw + 4 * k, f32_bits(now[k]));
}

/* A sphere and, in the order of the bytes behind it, a box: as in the header and in envelopes. */
static void follow_bound(uint8_t *raw, const struct bound *was, const struct bound *now)
{
	struct bound none = { .min = { NAN, NAN, NAN }, .max = { NAN, NAN, NAN }, .centre = { NAN, NAN, NAN },
			      .radius = NAN };
	const struct bound *old = was->any ? was : &none;

	follow(raw, old->centre, now->centre, 3);
	follow(raw + 12, &old->radius, &now->radius, 1);
	follow(raw + 16, old->min, now->min, 3);
	follow(raw + 32, old->max, now->max, 3);
}

/* Numbers of a turned box mean something only together, so one that changes is written whole, not turned. */
static void put_obb(uint8_t *raw, const struct bound *b)
{
	for (unsigned k = 0; k < 16; k++)
		put_le32(raw + ENVELOPE_OBB + 4 * k, f32_bits(k % 5 ? 0 : 1));
	for (unsigned k = 0; k < 3; k++) {
		put_le32(raw + ENVELOPE_OBB + 48 + 4 * k, f32_bits(b->centre[k]));
		put_le32(raw + ENVELOPE_HALF + 4 * k, f32_bits(rounded(((double)b->max[k] - b->min[k]) / 2)));
	}
}

static void follow_envelope(uint8_t *raw, const struct bound *was, const struct bound *now)
{
	follow_bound(raw + ENVELOPE_SPHERE, was, now);
	if (!was->any || !same(was->min, now->min, sizeof now->min) || !same(was->max, now->max, sizeof now->max))
		put_obb(raw, now);
}

/* ---- header ---- */

/* Vertices nobody can read must not fall out of a bound. They lie in the stored ones, so the box is not made smaller,
 * nor the sphere around another centre, beyond what the box needs. */
static bool is_opaque(const struct mod3 *m)
{
	for (uint32_t i = 0; i < m->table[MOD3_MESHES].n; i++)
		if ((!m->mesh[i].block || m->mesh[i].bad) && m->mesh[i].vertex_count)
			return true;
	return false;
}

static void enlarge(const struct mod3 *m, const struct mod3_scene *now, struct bound *b)
{
	const struct mod3_header *h = &m->head;
	float corner[3];
	double away;

	for (unsigned k = 0; k < 3; k++) {
		b->min[k] = h->aabb_min[k] < b->min[k] ? h->aabb_min[k] : b->min[k];
		b->max[k] = h->aabb_max[k] > b->max[k] ? h->aabb_max[k] : b->max[k];
	}
	box_done(b);
	for (unsigned k = 0; k < 3; k++)
		corner[k] = (double)b->max[k] - b->centre[k] > (double)b->centre[k] - b->min[k] ? b->max[k] :
			    b->min[k];
	away = fmin(h->sphere_radius + distance(b->centre, h->sphere_centre), distance(b->centre, corner));
	b->radius = isfinite(away) ? rounded(away) : 0;
	add_meshes(now, m->table[MOD3_MESHES].n, b, sphere_add);
}

static int follow_header(struct object *o, const struct mod3_scene *was, const struct mod3_scene *now, struct err *e)
{
	const struct mod3 *m = o->priv;
	uint32_t n = m->table[MOD3_MESHES].n;
	struct bound old, new;
	uint8_t raw[48];
	int rc;

	measure_model(was, n, &old);
	measure_model(now, n, &new);
	if (!new.any || same(&old, &new, sizeof old))
		return 0;
	rc = src_read(o->src, raw, sizeof raw, HEADER_SPHERE, "bounds of the header", e);
	if (rc)
		return rc;
	if (is_opaque(m))
		enlarge(m, now, &new);
	follow_bound(raw, &old, &new);
	return object_patch(o, 0, HEADER_SPHERE, raw, sizeof raw, "bounds of the header", e);
}

/* ---- envelopes ---- */

struct following {
	struct object *o;
	const struct mod3 *m;
	const struct mod3_scene *was, *now;
	struct mod3_moves *moves;
	struct bones *old, *new;
	uint32_t added;                        /* envelopes that are new */
};

static int follow_envelopes(struct following *x, const struct mod3_mesh *mesh, bool has[BONES], bool *ascending,
			    struct err *e)
{
	int32_t last = INT32_MIN;
	int rc = 0;

	*ascending = true;
	for (uint32_t i = 0; i < mesh->nenvelopes && !rc; i++) {
		uint64_t at = mod3_envelope_at(x->m, mesh->first_envelope + i);
		uint8_t raw[MOD3_ENVELOPE_SIZE];
		int32_t bone;

		rc = src_read(x->o->src, raw, sizeof raw, at, "envelope", e);
		bone = rc ? 0 : (int32_t)le_u32(raw);
		*ascending &= bone >= last;
		last = bone;
		if (rc || bone < 0 || bone >= (int32_t)BONES)
			continue;
		has[bone] = true;
		if (!x->new->of[bone].any)
			continue;
		follow_envelope(raw, &x->old->of[bone], &x->new->of[bone]);
		rc = object_patch(x->o, 0, at, raw, sizeof raw, "envelope", e);
	}
	return rc;
}

/* Number among the mesh's envelopes that a new one gets: they are sorted in files of the game. */
static int place_of(struct following *x, const struct mod3_mesh *mesh, unsigned bone, bool ascending, uint32_t *out,
		    struct err *e)
{
	uint8_t raw[4];
	int rc = 0;

	for (*out = ascending ? 0 : mesh->nenvelopes; *out < mesh->nenvelopes && !rc; ++*out) {
		rc = src_read(x->o->src, raw, sizeof raw, mod3_envelope_at(x->m, mesh->first_envelope + *out),
			      "envelope", e);
		if (!rc && (int32_t)le_u32(raw) > (int32_t)bone)
			break;
	}
	return rc;
}

static int add_envelope(struct following *x, const struct mod3_mesh *mesh, unsigned bone, bool ascending, struct err *e)
{
	static const struct bound none;
	uint8_t *raw = arena_alloc(x->moves->a, 1, MOD3_ENVELOPE_SIZE);
	uint32_t i = 0;
	int rc = raw ? place_of(x, mesh, bone, ascending, &i, e) : err_nomem(e);

	if (rc)
		return rc;
	put_le32(raw, bone);
	memset(raw + 4, 0xcd, 12);
	follow_envelope(raw, &none, &x->new->of[bone]);
	x->added++;
	return mod3_move(x->moves, MOD3_ENVELOPES,
			 (struct splice){ mod3_envelope_at(x->m, mesh->first_envelope + i), 0, MOD3_ENVELOPE_SIZE,
					  raw }, e);
}

static int add_envelopes(struct following *x, uint32_t mesh, const bool has[BONES], bool ascending, struct err *e)
{
	const struct mod3_mesh *r = &x->m->mesh[mesh];
	uint32_t before = x->added, has_now;
	uint8_t raw;
	int rc = 0;

	for (unsigned k = 0; k < WHOLE && !rc; k++)
		if (x->new->of[k].any && !x->old->of[k].any && !has[k])
			rc = add_envelope(x, r, k, ascending, e);
	has_now = r->nenvelopes + x->added - before;
	if (rc || has_now <= r->envelope_count)
		return rc;
	if (has_now > UINT8_MAX)
		return err_set(e, EFBIG, "mesh %u would have %u envelopes, more than %u", mesh, has_now, UINT8_MAX);
	raw = (uint8_t)has_now;
	return object_patch(x->o, 0, mod3_mesh_at(x->m, mesh) + RECORD_ENVELOPES, &raw, 1, "envelope count", e);
}

/* ---- all of it ---- */

static bool same_points(const struct mod3_points *a, const struct mod3_points *b)
{
	if (a->block != b->block || a->n != b->n)
		return false;
	return !a->block || !a->n || same(a->v, b->v, (size_t)a->n * a->block->stride);
}

static int follow_mesh(struct following *x, uint32_t mesh, bool bones_moved, struct err *e)
{
	const struct mod3_points *was = &x->was->mesh[mesh], *now = &x->now->mesh[mesh];
	bool has[BONES] = { false }, ascending, moved = !same_points(was, now);
	int rc;

	if (!now->block || !x->m->mesh[mesh].nenvelopes || (!moved && !bones_moved))
		return 0;
	measure_bones(x->was, was, x->old);
	measure_bones(x->now, now, x->new);
	rc = follow_envelopes(x, &x->m->mesh[mesh], has, &ascending, e);
	/* In a mesh that had no weights, the whole of it has an envelope. */
	return rc || was->block != now->block ? rc : add_envelopes(x, mesh, has, ascending, e);
}

static int count_envelopes(struct following *x, struct err *e)
{
	uint8_t raw[4];

	if (!x->added)
		return 0;
	put_le32(raw, x->m->table[MOD3_ENVELOPES].n + x->added);
	return object_patch(x->o, 0, x->m->table[MOD3_ENVELOPES].at, raw, sizeof raw, "envelope count", e);
}

int mod3_scene(struct object *o, struct mod3_scene *out, struct arena *a, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_table *vertices = &m->table[MOD3_VERTICES], *inverse = &m->table[MOD3_INVERSE];
	const uint8_t *bytes = NULL;
	int rc = 0;

	*out = (struct mod3_scene){ .nbones = inverse->n };
	if (vertices->size)
		rc = object_read(o, a, vertices->at, vertices->size, "vertex buffer", &bytes, e);
	if (!rc && inverse->n)
		rc = object_read(o, a, inverse->at, inverse->size, "inverse matrices", &out->inverse, e);
	out->mesh = arena_alloc(a, (size_t)m->table[MOD3_MESHES].n + 1, sizeof *out->mesh);
	if (rc || !out->mesh)
		return rc ? rc : err_nomem(e);
	for (uint32_t i = 0; i < m->table[MOD3_MESHES].n; i++) {
		const struct mod3_mesh *mesh = &m->mesh[i];

		if (mesh->block && !mesh->bad && mesh->vertex_count)
			out->mesh[i] = (struct mod3_points){ mesh->block, bytes + mod3_own_at(mesh),
							     mesh->vertex_count };
		else if (!mesh->bad)
			out->mesh[i].block = mesh->block;
	}
	out->buffer = bytes;
	return 0;
}

int mod3_scene_copy(const struct mod3 *m, const struct mod3_scene *was, struct mod3_scene *out, uint8_t **buffer,
		    struct arena *a, struct err *e)
{
	uint64_t size = m->table[MOD3_VERTICES].size;
	size_t n = m->table[MOD3_MESHES].n;

	*out = *was;
	*buffer = arena_alloc(a, size + 1, 1);
	out->mesh = arena_alloc(a, n + 1, sizeof *out->mesh);
	if (!*buffer || !out->mesh)
		return err_nomem(e);
	if (size)
		memcpy(*buffer, was->buffer, size);
	out->buffer = *buffer;
	for (size_t i = 0; i < n; i++) {
		out->mesh[i] = was->mesh[i];
		if (was->mesh[i].v)
			out->mesh[i].v = *buffer + (was->mesh[i].v - was->buffer);
	}
	return 0;
}

int mod3_follow(struct object *o, const struct mod3_scene *was, const struct mod3_scene *now,
		struct mod3_moves *moves, struct err *e)
{
	const struct mod3 *m = o->priv;
	struct following x = { .o = o, .m = m, .was = was, .now = now, .moves = moves };
	bool bones_moved = was->inverse != now->inverse, moved = false;
	int rc = 0;

	x.old = arena_alloc(moves->a, 1, sizeof *x.old);
	x.new = arena_alloc(moves->a, 1, sizeof *x.new);
	if (!x.old || !x.new)
		return err_nomem(e);
	for (uint32_t i = 0; i < m->table[MOD3_MESHES].n && !rc; i++) {
		moved |= !same_points(&was->mesh[i], &now->mesh[i]);
		rc = follow_mesh(&x, i, bones_moved, e);
	}
	rc = rc ? rc : count_envelopes(&x, e);
	return rc || !moved ? rc : follow_header(o, was, now, e);
}
