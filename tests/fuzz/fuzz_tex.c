/* Texture: whatever the bytes, a picture that is listed can be decoded, and the DDS can be read to its end. Written over
 * a texture of its own, the bytes as a DDS are refused or leave a sound texture. */
#include "edited.h"
#include "fuzz.h"

#include "build_tex.h"

extern const struct format fmt_tex;

static void use_image(struct object *o, uint32_t i)
{
	struct arena a = { 0 };
	struct geo_image img = { 0 };
	struct err why;

	if (fmt_tex.model->image(o, i, &img, &a, &why))
		abort();
	arena_free(&a);
}

static void use_dds(struct object *o)
{
	struct source *src;
	struct err why;
	uint8_t room[4096];

	if (fmt_tex.model->file(o, 0, 0, &src, &why))
		abort();
	if (src->size < 148 || src->size > 148 + o->src->size)
		abort();
	for (uint64_t at = 0; at < src->size; at += sizeof room)
		if (src_pread(src, room, src->size - at < sizeof room ? (size_t)(src->size - at) : sizeof room, at))
			abort();
	src_put(src);
}

static void use(struct object *o)
{
	for (uint32_t i = 0; i < object_count(o, PART_IMAGE); i++)
		if (object_has(o, PART_IMAGE, i))
			use_image(o, i);
	if (o->variant && fmt_tex.own[0].there(o, 0))
		use_dds(o);
}

static void put_dds(const uint8_t *data, size_t size)
{
	struct buf b = build_tex((struct build_tex){ .code = 0x17, .w = 8, .h = 8, .levels = 4 });
	struct edited k;

	edited_open(&k, &fmt_tex, b.p, b.len, 1 << 20);
	if (!edited_file(&k, 0, 0, data, size)) {
		if (k.o->faults || edited_file(&k, 0, 0, data, size))
			abort();
	}
	edited_close(&k);
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_object(&fmt_tex, data, size, use, 0);
	if (size >= 4 && data[0] == 'D')
		put_dds(data, size);
	return 0;
}
