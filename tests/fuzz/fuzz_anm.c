/* Animation pack: whatever the bytes, probe and open agree, the header can be described, a clip is refused or shown. */
#include "build.h"
#include "fuzz.h"

extern const struct format fmt_anm;

static void describe(struct object *o)
{
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	struct err why;

	if (fmt_anm.model->doc(o, DOC_HEADER, 0, &quiet, &why))
		abort();
	for (uint32_t i = 0; i < object_count(o, PART_CLIP); i++)
		if (!fmt_anm.model->doc(o, DOC_CLIP, i, &quiet, &why) && object_gone(o, PART_CLIP, i))
			abort();
}

static void use(struct object *o)
{
	if ((o->variant != NULL) != (build_probe(&fmt_anm, o->src, "", NULL, 0, NULL) > 0))
		abort();
	if (o->variant)
		describe(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_object(&fmt_anm, data, size, use, EILSEQ);        /* a mask that its channels do not tell */
	return 0;
}
