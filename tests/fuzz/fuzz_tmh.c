/* Texture bank: whatever the bytes, an image is either refused or decoded, and what is decoded can be encoded again. */
#include "fuzz.h"

extern const struct format fmt_tmh;

static void use_image(struct object *o, uint32_t i)
{
	struct arena a = { 0 };
	struct geo_image img = { 0 };
	struct err why;
	int rc = fmt_tmh.model->image(o, i, &img, &a, &why);

	if (!rc && object_gone(o, PART_IMAGE, i))
		abort();
	for (size_t k = 0; !rc && img.indexed && k < (size_t)img.w * img.h; k++)
		if (img.indexed[k] >= img.ncolours)
			abort();
	arena_free(&a);
}

static void use(struct object *o)
{
	for (uint32_t i = 0; i < object_count(o, PART_IMAGE); i++)
		use_image(o, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_object(&fmt_tmh, data, size, use, 0);
	return 0;
}
