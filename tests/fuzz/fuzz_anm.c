/* Animation pack: whatever the bytes, probe and open agree, the header can be described, a clip is refused or shown. */
#include <errno.h>

#include "build_mhp.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source *src = src_memory(data, size);
	struct object *o;
	struct err why;
	int rc;

	if (!src)
		return 0;
	if (object_open(&fmt_anm, src, NULL, &o, &why))
		abort();
	if ((o->variant != NULL) != (build_probe(&fmt_anm, src, "", NULL, 0, NULL) > 0))
		abort();
	if (o->variant)
		describe(o);
	rc = object_verify(o, &why);           /* EILSEQ: a mask that its channels do not tell */
	if (rc && rc != -EBADMSG && rc != -EILSEQ)
		abort();
	object_close(o);
	src_put(src);
	return 0;
}
