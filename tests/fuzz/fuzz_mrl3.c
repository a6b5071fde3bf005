/* Material library: whatever the bytes, its documents can be said, and what a model reads of it stays inside. */
#include "fuzz.h"
#include "mrl3.h"

extern const struct format fmt_mrl3;

static void use_library(struct source *src)
{
	struct mrl3_library l;
	struct arena a = { 0 };
	char file[MRL3_FILE_MAX];
	struct err why;

	if (!mrl3_read(src, &a, &l, &why)) {
		for (uint32_t i = 0; i < l.nmaterials; i++) {
			int64_t first = mrl3_find(&l, l.material[i].name_hash);

			if (first < 0 || first > i || l.material[i].first + l.material[i].n > l.nmaps)
				abort();
		}
		for (uint32_t i = 0; i < l.nmaps; i++)
			if (l.map[i].texture >= l.ntextures)
				abort();
		for (uint32_t i = 0; i < l.ntextures; i++)
			mrl3_file(l.path[i], file);
	}
	arena_free(&a);
}

static void use(struct object *o)
{
	struct err why;

	use_library(o->src);
	if (o->variant && fmt_mrl3.model->check(o, &why) && !why.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_object(&fmt_mrl3, data, size, use, 0);
	return 0;
}
