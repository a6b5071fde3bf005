/* JOM: whatever the bytes, a model that opens can be shown in all its parts, and encoded again. */
#include "fuzz.h"

extern const struct format fmt_jom;

static void show(struct object *o, unsigned kind, uint32_t i)
{
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	struct err why;
	int rc = fmt_jom.model->doc(o, kind, i, &quiet, &why);

	if (rc && rc != -ENOENT)
		abort();
}

static void use_mesh(struct object *o, uint32_t i)
{
	struct arena a = { 0 };
	struct geo_mesh m = { 0 };
	struct err why;

	if (fmt_jom.model->mesh(o, i, &m, &a, &why))
		abort();
	for (uint32_t f = 0; f < m.nfaces; f++)
		for (unsigned c = 0; c < 4; c++)
			if (m.quad[f][c] >= m.nvertices && (c < 3 || m.quad[f][c] != GEO_NONE))
				abort();
	arena_free(&a);
}

static void use_image(struct object *o, uint32_t i)
{
	struct arena a = { 0 };
	struct geo_image img = { 0 };
	struct err why;

	if (fmt_jom.model->has(o, PART_IMAGE, i) && fmt_jom.model->image(o, i, &img, &a, &why))
		abort();
	arena_free(&a);
}

static void use(struct object *o)
{
	static const struct { uint8_t part, kind; } parts[] = {
		{ PART_MESH, DOC_MESH }, { PART_IMAGE, DOC_IMAGE }, { PART_CLIP, DOC_CLIP },
	};
	struct chunk c;

	if (!o->variant)
		return;
	show(o, DOC_HEADER, 0);
	show(o, DOC_SKELETON, 0);
	show(o, DOC_OWN, 0);
	use_mesh(o, MESH_WHOLE);
	for (size_t p = 0; p < ARRAY_LEN(parts); p++)
		for (uint32_t i = 0; i < object_count(o, parts[p].part) && i < 50; i++)
			show(o, parts[p].kind, i);
	for (uint32_t i = 0; i < object_count(o, PART_MESH) && i < 50; i++)
		use_mesh(o, i);
	for (uint32_t i = 0; i < object_count(o, PART_IMAGE) && i < 50; i++)
		use_image(o, i);
	for (uint32_t i = 0; object_chunk(o, i, &c); i++)
		if (!span_ok(o->src->size, c.at, c.size, 1))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_object(&fmt_jom, data, size, use, 0);
	return 0;
}
