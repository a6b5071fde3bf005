/* Names files. */
#include <string.h>

#include "fuzz.h"
#include "unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names *n;

	if (!names_read(fuzz_file(data, size), &n, NULL)) {
		for (uint32_t i = 0; i < 1000; i++)
			if (names_get(n, i) && strchr(names_get(n, i), '/'))
				abort();
		names_free(n);
	}
	return 0;
}
