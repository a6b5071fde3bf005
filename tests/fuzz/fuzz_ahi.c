/* Skeleton: whatever the bytes, it can be described, and every bone can be encoded again. */
#include "fuzz.h"

extern const struct format fmt_ahi;

static void describe(struct object *o)
{
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	struct err why;

	if (o->variant && fmt_ahi.model->doc(o, DOC_SKELETON, 0, &quiet, &why))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_object(&fmt_ahi, data, size, describe, 0);
	return 0;
}
