/* What the fuzzers share. */
#ifndef MODELFS_TESTS_FUZZ_H
#define MODELFS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as a file, for what takes a path; valid until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[] = "/tmp/modelfs-fuzz-XXXXXX";
	static int fd;

	if (!fd) {
		fd = mkstemp(path);
		if (fd < 0)
			abort();
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	return path;
}

#endif
