/* What reading and writing a PAK share. */
#ifndef MODELFS_PAK_H
#define MODELFS_PAK_H

#include "format.h"
#include "names.h"

#define PAK_HEADER_SIZE 12u
#define PAK_NAME_SIZE 56u
#define PAK_ENTRY_SIZE 64u
#define PAK_SEPARATOR '/'                      /* of folders in a name */

/* Places of fields in an entry that are written one by one. */
#define PAK_AT_OFFSET 0x38u
#define PAK_AT_SIZE 0x3cu

enum pak_section { PAK_HEADER, PAK_DIRECTORY, PAK_SECTIONS };

struct pak_header { uint32_t directory, size; };

struct pak_entry {
	char name[PAK_NAME_SIZE];
	uint32_t offset, size;
};

struct pak {
	struct pak_header header;
	uint32_t n;
	struct entry *shown;                   /* n; of one that is lost the size is 0 */
	uint32_t *offset, *size;               /* n, as they are stored */
	const char **name;                     /* n */
	uint32_t nlost, nshared;
};

/* container_ops.resize */
int pak_resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e);

#endif
