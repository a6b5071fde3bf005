/* DATA.BIN: the input is flags, a block count, and the begin of the table before encryption. What it does not reach is
 * zero, so small inputs make archives that are large enough to have a table. */
#include <string.h>

#include "build_mhp.h"
#include "fuzz.h"
#include "mhpcipher.h"

enum { ENCRYPTED = 1, CUT_SHORT = 2, ONLY_INPUT = 4 };
#define BLOCKS_MOST 40u

extern const struct format fmt_databin;

static void use(struct source *src, uint32_t index)
{
	struct entries entries;
	struct object *o;
	struct err why;
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	uint8_t byte;
	int rc, bid = build_probe(&fmt_databin, src, "DATA.BIN", NULL, index, &why);

	if (object_open(&fmt_databin, src, NULL, &o, &why))
		abort();
	rc = fmt_databin.container->list(o, &entries, &why);
	if ((rc == 0) != (bid > 0))
		abort();
	for (uint32_t i = 0; !rc && i < entries.n; i++) {
		struct source *entry = entry_source(src, &fmt_databin, &entries.v[i]);

		if (!entry || (entry->size && src_pread(entry, &byte, 1, entry->size - 1)))
			abort();
		src_put(entry);
	}
	if (!rc && (fmt_databin.container->info(o, &entries, &quiet, &why)
		    || (fmt_databin.container->verify(o, &entries, &why) && src->size % BUILD_BLOCK == 0)))
		abort();
	object_close(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;
	struct source *src;
	size_t n;

	if (size < 2)
		return 0;
	n = (data[1] % BLOCKS_MOST + 2) * BUILD_BLOCK - (data[0] & CUT_SHORT ? data[0] : 0);
	n = n < size - 2 || data[0] & ONLY_INPUT ? size - 2 : n;
	bytes = calloc(1, n + 4);
	if (!bytes)
		return 0;
	memcpy(bytes, data + 2, size - 2);
	if (data[0] & ENCRYPTED)
		mhp_cipher.encrypt(0, 0, bytes, (n + 3) / 4 * 4);
	src = src_memory(bytes, n);
	if (src)
		use(src, data[1]);
	src_put(src);
	free(bytes);
	return 0;
}
