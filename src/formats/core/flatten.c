/* A mesh with one number per corner, as glTF has it, where the mesh has numbers of their own for normals and texture
 * coordinates: corners that agree in all are one vertex. */
#include "geo.h"

#include <string.h>

struct corner_key { uint32_t vertex, value[GEO_UV_SETS + 3]; };
#define KEY_STREAMS ARRAY_LEN(((struct corner_key *)0)->value)

struct flattening {
	const struct geo_mesh *m;
	unsigned most;                         /* corners of a face */
	uint8_t keyed[KEY_STREAMS];            /* streams with numbers of their own */
	unsigned nkeyed;
	struct corner_key *key;                /* of each vertex, in order of appearance */
	uint32_t *slot, mask;                  /* number + 1; without keyed streams by vertex */
	uint32_t n;
	struct geo_flat *out;
};

static uint32_t value_of(const struct geo_stream *s, size_t corner, uint32_t vertex)
{
	uint32_t v = s->corner ? s->corner[corner] : vertex;

	return v < s->count ? v : GEO_NONE;
}

static uint32_t hash_key(const struct flattening *x, const struct corner_key *k)
{
	uint32_t h = k->vertex * 0x9e3779b1u;

	for (unsigned i = 0; i < x->nkeyed; i++)
		h = (h ^ h >> 15 ^ k->value[i]) * 0x85ebca6bu;
	return h ^ h >> 16;
}

/* Its number, by appearance. */
static uint32_t intern(struct flattening *x, const struct corner_key *k)
{
	uint32_t i = x->nkeyed ? hash_key(x, k) & x->mask : k->vertex;

	for (; x->slot[i]; i = (i + 1) & x->mask) {
		const struct corner_key *have = &x->key[x->slot[i] - 1];

		if (have->vertex == k->vertex && !memcmp(have->value, k->value, x->nkeyed * sizeof *k->value))
			return x->slot[i] - 1;
	}
	x->key[x->n] = *k;
	x->slot[i] = ++x->n;
	return x->n - 1;
}

static void add_corner(struct flattening *x, uint32_t face, unsigned c)
{
	const struct geo_mesh *m = x->m;
	struct corner_key k = { .vertex = m->quad ? m->quad[face][c] : m->face[face][c] };

	for (unsigned i = 0; i < x->nkeyed; i++)
		k.value[i] = value_of(&m->streams[x->keyed[i]], (size_t)face * x->most + c, k.vertex);
	x->out->corner[x->out->ncorners++] = intern(x, &k);
}

static void add_face(struct flattening *x, uint32_t face)
{
	for (unsigned c = 0; c < 3; c++)
		add_corner(x, face, c);
	if (!x->m->quad || x->m->quad[face][3] == GEO_NONE)
		return;
	add_corner(x, face, 0);
	add_corner(x, face, 2);
	add_corner(x, face, 3);
}

static bool make_room(struct flattening *x, uint64_t corners, uint32_t nlone, struct arena *a)
{
	uint64_t most, slots = 16;

	for (unsigned i = 0; i < x->m->nstreams && i < KEY_STREAMS; i++)
		if (x->m->streams[i].corner)
			x->keyed[x->nkeyed++] = (uint8_t)i;
	most = (x->nkeyed || corners < x->m->nvertices ? corners : x->m->nvertices) + nlone;
	while (slots < 2 * most)
		slots *= 2;
	if (slots > UINT32_MAX)
		return false;
	x->mask = (uint32_t)slots - 1;
	slots = x->nkeyed ? slots : (uint64_t)x->m->nvertices + 1;
	x->slot = arena_alloc(a, slots, sizeof *x->slot);
	x->key = arena_alloc(a, most + 1, sizeof *x->key);
	x->out->corner = arena_alloc(a, corners + 1, sizeof *x->out->corner);
	return x->slot && x->key && x->out->corner;
}

static void set_values(const struct flattening *x, uint32_t at, const struct corner_key *k, bool lone)
{
	const struct geo_mesh *m = x->m;
	uint32_t *value = x->out->value + (size_t)at * m->nstreams;
	unsigned keyed = 0;

	x->out->vertex[at] = k->vertex;
	for (unsigned i = 0; i < m->nstreams; i++) {
		const struct geo_stream *s = &m->streams[i];

		if (!s->corner)
			value[i] = value_of(s, 0, k->vertex);
		else
			value[i] = lone ? GEO_NONE : k->value[keyed++];
	}
}

/* By vertex number, those of one vertex by appearance. */
static int sort(struct flattening *x, uint32_t nlone, struct arena *a, struct err *e)
{
	struct geo_flat *out = x->out;
	uint32_t nv = x->m->nvertices, first_lone = x->n - nlone, *start, *now;

	start = arena_alloc(a, (size_t)nv + 2, sizeof *start);
	now = arena_alloc(a, (size_t)x->n + 1, sizeof *now);
	out->vertex = arena_alloc(a, (size_t)x->n + 1, sizeof *out->vertex);
	out->value = arena_alloc(a, (size_t)x->n + 1, (x->m->nstreams + 1) * sizeof *out->value);
	if (!start || !now || !out->vertex || !out->value)
		return err_nomem(e);
	out->nvertices = x->n;
	for (uint32_t i = 0; i < x->n; i++)
		start[x->key[i].vertex + 1]++;
	for (uint32_t i = 0; i < nv; i++)
		start[i + 1] += start[i];
	for (uint32_t i = 0; i < x->n; i++) {
		now[i] = start[x->key[i].vertex]++;
		set_values(x, now[i], &x->key[i], i >= first_lone);
	}
	for (uint32_t i = 0; i < out->ncorners; i++)
		out->corner[i] = now[out->corner[i]];
	return 0;
}

int geo_flatten(const struct geo_mesh *m, const uint32_t *part, uint32_t nparts, const uint32_t *lone, uint32_t nlone,
		struct geo_flat *out, struct arena *a, struct err *e)
{
	struct flattening x = { .m = m, .most = m->quad ? 4 : 3, .out = out };
	uint64_t corners = 0;

	*out = (struct geo_flat){ 0 };
	for (uint32_t i = 0; i < nparts; i++)
		corners += (uint64_t)m->parts[part[i]].nfaces * (m->quad ? 6 : 3);
	if (!make_room(&x, corners, nlone, a))
		return err_nomem(e);
	for (uint32_t i = 0; i < nparts; i++)
		for (uint32_t f = 0; f < m->parts[part[i]].nfaces; f++)
			add_face(&x, m->parts[part[i]].first_face + f);
	for (uint32_t i = 0; i < nlone; i++)
		x.key[x.n++].vertex = lone[i];
	return sort(&x, nlone, a, e);
}
