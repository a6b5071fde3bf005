/* Names files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[] = "/tmp/modelfs-fuzz-XXXXXX";
	static int fd;
	struct names *n;

	if (!fd) {
		fd = mkstemp(path);
		if (fd < 0)
			abort();
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (!names_read(path, &n, NULL)) {
		for (uint32_t i = 0; i < 1000; i++)
			if (names_get(n, i) && strchr(names_get(n, i), '/'))
				abort();
		names_free(n);
	}
	return 0;
}
