/* PMO: open, decode every mesh and material, take every view through its text and back. The first byte tells whether
 * the geometry may be the next file, which then is the second half of the input. */
#include <errno.h>

#include "format.h"
#include "fuzz.h"

extern const struct format fmt_pmo;

struct nearby { struct surroundings s; struct source *next; };

static struct source *following(const struct surroundings *s, unsigned k, struct err *e)
{
	(void)k;
	(void)e;
	return src_ref(((const struct nearby *)s)->next);
}

static void decode(struct object *o)
{
	struct err why;

	for (uint32_t i = 0; i < object_count(o, PART_MESH); i++) {
		struct arena a = { 0 };
		struct geo_mesh g = { 0 };
		int rc = fmt_pmo.model->mesh(o, i, &g, &a, &why);

		for (unsigned k = 0; k < g.nparts && !rc; k++) {
			struct geo_material m;

			if (g.parts[k].material >= 0 &&
			    fmt_pmo.model->material(o, (uint32_t)g.parts[k].material, &m, &a, &why))
				abort();
		}
		for (uint32_t k = 0; k < g.nfaces && !rc; k++)
			if (g.face[k][0] >= g.nvertices || g.face[k][1] >= g.nvertices || g.face[k][2] >= g.nvertices)
				abort();
		if (!rc && g.skinned != fmt_pmo.model->skinned(o, i))
			abort();
		arena_free(&a);
	}
	/* Damage is one thing, a view that cannot be written back another. */
	if (object_verify(o, &why) == -EILSEQ)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nearby nearby = { { following }, NULL };
	struct object *o;
	struct source *src;
	size_t half;

	if (!size)
		return 0;
	half = data[0] & 1 ? (size - 1) / 2 : size - 1;
	src = src_memory(data + 1, half);
	nearby.next = src_memory(data + 1 + half, size - 1 - half);
	if (src && nearby.next && !object_open(&fmt_pmo, src, data[0] & 1 ? &nearby.s : NULL, &o, NULL)) {
		decode(o);
		object_close(o);
	}
	src_put(src);
	src_put(nearby.next);
	return 0;
}
