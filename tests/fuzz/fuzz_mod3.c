/* MOD3: open, decode every mesh and material, take every view through its text and back. The first byte tells whether a
 * material library is beside it, which then is the second half of the input; every texture it names is found. */
#include <errno.h>

#include "format.h"
#include "fuzz.h"

extern const struct format fmt_mod3;

struct place { struct surroundings s; struct source *library; };

static int find(const struct surroundings *s, const struct want *w, struct source **out, uint32_t *link, struct err *e)
{
	const struct place *p = (const struct place *)s;

	(void)e;
	*link = 1 + (w->where == WANT_BELOW_ROOT);
	*out = src_ref(p->library);
	return 0;
}

static void use_mesh(struct object *o, uint32_t i)
{
	struct arena a = { 0 };
	struct geo_mesh g = { 0 };
	struct geo_material m;
	struct err why;
	int rc = fmt_mod3.model->mesh(o, i, &g, &a, &why);

	for (uint32_t k = 0; k < g.nmaterials && !rc; k++)
		if (fmt_mod3.model->material(o, g.materials[k], &m, &a, &why))
			abort();
	for (uint32_t k = 0; k < g.nfaces && !rc; k++)
		if (g.face[k][0] >= g.nvertices || g.face[k][1] >= g.nvertices || g.face[k][2] >= g.nvertices)
			abort();
	if (!rc && (g.skinned != fmt_mod3.model->skinned(o, i) || !object_has(o, PART_MESH, i)))
		abort();
	arena_free(&a);
}

static void use(struct object *o)
{
	uint32_t link, image;
	struct err why;

	for (uint32_t i = 0; i < object_count(o, PART_MESH); i++)
		use_mesh(o, i);
	for (uint32_t i = 0; i < object_count(o, PART_IMAGE); i++)
		if (fmt_mod3.model->image_link(o, i, &link, &image) && link >= o->nlinks)
			abort();
	/* Damage is one thing, a view that cannot be written back another. */
	if (object_verify(o, &why) == -EILSEQ)
		abort();
	if (o->variant)
		fmt_mod3.model->check(o, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct place p = { { .find = find }, NULL };
	struct object *o;
	struct source *src;
	size_t half;

	if (!size)
		return 0;
	half = data[0] & 1 ? (size - 1) / 2 : size - 1;
	src = src_memory(data + 1, half);
	p.library = src_memory(data + 1 + half, size - 1 - half);
	if (src && p.library && !object_open(&fmt_mod3, src, data[0] & 1 ? &p.s : NULL, &o, NULL)) {
		use(o);
		object_close(o);
	}
	src_put(src);
	src_put(p.library);
	return 0;
}
