/* Containers like discs for tests: the formats of plate.c, in the list that quad.c is. */
#ifndef MODELFS_TESTS_PLATE_H
#define MODELFS_TESTS_PLATE_H

#include "format.h"

extern const struct format fmt_plate, fmt_squashed, fmt_row, fmt_note;

enum plate_kind { PLATE_BARE, PLATE_SECTORS, PLATE_SQUASHED, PLATE_KINDS };
enum { PLATE_FOLDER = 1, PLATE_FIXED = 2, PLATE_LOST = 4 };

struct plate_entry {
	const char *name;
	const void *bytes;
	uint32_t size, room;                   /* room: bytes that are its own, at least; `size` at least */
	uint32_t time;                         /* seconds since 1970; 0: none */
	uint32_t flags;
	uint32_t split;                        /* not 0: the entry is two pieces, the second from there */
};
void plate_build(struct buf *out, enum plate_kind kind, const struct plate_entry *v, uint32_t n);
/* What lies in a medium: the file's own bytes where it is bare. */
void plate_medium(const struct buf *file, struct buf *out);

/* A row of n entries of so many bytes each, all filled with a letter: `a` the first one. */
void row_build(struct buf *out, uint32_t n, uint32_t size, uint32_t slack);

#endif
