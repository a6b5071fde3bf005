/* Small disc images in memory: files in one folder, as 2048-byte sectors, as raw sectors of mode 1, as CSO. */
#ifndef MODELFS_TESTS_BUILD_DISC_H
#define MODELFS_TESTS_BUILD_DISC_H

#include "build.h"

#define DISC_SECTOR 2048u
#define DISC_RAW 2352u

struct disc_file {
	const char *name;                      /* as it is stored, without its version; sorted */
	const void *bytes;
	size_t n;
	uint32_t room;                         /* free sectors behind it */
};

/* ISO 9660 with one folder and no other trees: descriptors, path tables, the folder in sector 20, the files from 21 on
 * in the order given. At most 30 files. */
void build_disc(struct buf *out, const struct disc_file *files, uint32_t n);
/* First sector of file i of it. */
uint32_t disc_sector(const struct disc_file *files, uint32_t i);

/* Raw sectors of user data, with EDC and ECC. */
void build_raw(struct buf *out, const struct buf *data);
/* A CSO of version 1; behind each block that is packed lie `slack` zeros. */
void build_cso(struct buf *out, const struct buf *data, uint32_t block, uint32_t slack);

#endif
