/* Quartets: open, decode every mesh, take every view through its text and back. The input begins with a byte that tells
 * which members there are, and the lengths of MMP, MGP and SCP, a u16 each; then come those, then the MLP. */
#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "format.h"
#include "fuzz.h"

extern const struct format fmt_mlp;

#define HEAD 7u

struct place { struct surroundings s; struct source *member[MEMBERS_MOST]; };

static struct source *find(const struct surroundings *s, unsigned k, struct err *e)
{
	const struct place *p = (const struct place *)s;

	(void)e;
	return p->member[k] ? src_ref(p->member[k]) : NULL;
}

static void use_mesh(struct object *o, uint32_t i)
{
	struct arena a = { 0 };
	struct geo_mesh g = { 0 };
	struct geo_material m;
	struct err why;

	if (fmt_mlp.model->mesh(o, i, &g, &a, &why))
		abort();
	for (uint32_t k = 0; k < g.nparts; k++)
		if (fmt_mlp.model->material(o, (uint32_t)g.parts[k].material, &m, &a, &why))
			abort();
	for (uint32_t k = 0; k < g.nfaces; k++)
		if (g.face[k][0] >= g.nvertices || g.face[k][1] >= g.nvertices || g.face[k][2] >= g.nvertices)
			abort();
	arena_free(&a);
}

static void use(struct object *o)
{
	struct source *src;
	struct chunk c;
	struct err why;

	for (uint32_t i = 0; i < object_count(o, PART_MESH); i++) {
		if (!object_has(o, PART_MESH, i))
			continue;
		if (object_gone(o, PART_MESH, i))
			abort();
		use_mesh(o, i);
		if (!fmt_mlp.model->file(o, 2, i, &src, &why))
			src_put(src);
	}
	for (uint32_t i = 0; object_chunk(o, i, &c); i++)
		if (c.name[0] && !span_ok(object_part(o, c.part)->size, c.at, c.size, 1))
			abort();
	/* Damage is one thing, a view that cannot be written back another. */
	if (object_verify(o, &why) == -EILSEQ)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct place p = { { .member = find }, { NULL } };
	const uint8_t *at = data + HEAD;
	struct object *o;
	struct source *src;
	size_t left = size - HEAD;

	if (size < HEAD)
		return 0;
	p.s.handed = data[0] & 8;
	for (unsigned k = 0; k < MEMBERS_MOST; k++) {
		size_t n = le_u16(data + 1 + 2 * k);

		n = n < left ? n : left;
		p.member[k] = data[0] >> k & 1 ? src_memory(at, n) : NULL;
		at += n;
		left -= n;
	}
	src = src_memory(at, left);
	if (src && !object_open(&fmt_mlp, src, &p.s, &o, NULL)) {
		use(o);
		object_close(o);
	}
	src_put(src);
	for (unsigned k = 0; k < MEMBERS_MOST; k++)
		src_put(p.member[k]);
	return 0;
}
