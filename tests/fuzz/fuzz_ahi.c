/* Skeleton: whatever the bytes, it can be described, and every bone can be encoded again. */
#include <errno.h>

#include "format.h"
#include "fuzz.h"

extern const struct format fmt_ahi;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source *src = src_memory(data, size);
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	struct object *o;
	struct err why;
	int rc;

	if (!src)
		return 0;
	if (object_open(&fmt_ahi, src, NULL, &o, &why))
		abort();
	if (o->variant && fmt_ahi.model->doc(o, DOC_SKELETON, 0, &quiet, &why))
		abort();
	rc = object_verify(o, &why);
	if (rc && rc != -EBADMSG)
		abort();
	object_close(o);
	src_put(src);
	return 0;
}
