/* What the fuzzers share. */
#ifndef MODELFS_TESTS_FUZZ_H
#define MODELFS_TESTS_FUZZ_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format.h"

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

/* The input opened as a format and handed to use(); then it is verified, which may fail with EBADMSG or `also`. */
static inline void fuzz_object(const struct format *f, const uint8_t *data, size_t size, void (*use)(struct object *o),
			       int also)
{
	struct source *src = src_memory(data, size);
	struct object *o;
	struct err why;
	int rc;

	if (!src)
		return;
	if (object_open(f, src, NULL, &o, &why))
		abort();
	use(o);
	rc = object_verify(o, &why);
	if (rc && rc != -EBADMSG && rc != -also)
		abort();
	object_close(o);
	src_put(src);
}

#endif
