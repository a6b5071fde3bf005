/* Journals: what a commit does, written down before it is done.
 *
 * A journal holds the new bytes of every range and the old ones, so it can be applied again after a crash, checked
 * against the files it was made for, and taken back. It is its commit's point of no return when it is complete and it
 * and its directory are on disc. The undo file (undo.h) is the journals of past commits, one behind the other.
 *
 * All numbers little-endian:
 *
 *     0  8  "modelfsJ"
 *     8  4  version, 2
 *    12  4  flags (below)
 *    16  8  length of the whole journal
 *    24  8  sequence number
 *    32  8  time, seconds
 *    40  4  time, nanoseconds
 *    44  4  0
 *    48  8  length the undo file is cut to
 *    56  8  bytes changed
 *    64 24  0
 *    88  8  number of records
 *    96  4  number of CRCs
 *   100  4  length of the path in the tree
 *   104  4  number of files, 0 when only the undo file is cut
 *   108  4  length of the table of files
 *   112  4  0
 *   116  4  CRC-32 of all behind byte 124
 *   120  4  CRC-32 of bytes 0 to 119
 *   124     path in the tree
 *           table of files:
 *              0  4  length of the path
 *              4  4  flags: written anew, restored
 *              8  4  N of NAME.modelfs-undo.N: where a file written anew has its old one, or what is restored; 0: none
 *             12  4  0
 *             16  8  inode number of the file that takes the name
 *             24  8  size before
 *             32  8  size afterwards
 *             40  8  offset of its first record in the journal
 *             48  8  number of its records
 *             56     path from the folder on, with a zero at its end; only that: the archive itself
 *           CRC-32 of every 1 MiB of the file written anew
 *           records, file by file: its place in the table 4, new length 4, old length 4, 0 4, offset 8; new bytes; old
 *           bytes
 *
 * A record's new and old bytes begin at the same offset. Where a file grows there are no old bytes, where it is cut no
 * new ones.
 *
 * Version 1, which is read only, is of one file, the archive. It has no table; N stands at 44, the inode number at 64,
 * the sizes at 72 and 80, and flags are the file's as well. */
#ifndef MODELFS_JOURNAL_H
#define MODELFS_JOURNAL_H

#include <stddef.h>
#include <time.h>

#include "plan.h"
#include "sidecar.h"

enum {
	JOURNAL_RECORDED = 1,                  /* goes to the undo file */
	JOURNAL_REWRITTEN = 2,                 /* of a file: .NAME.modelfs-new takes the name; a journal has one */
	JOURNAL_RESTORED = 4,                  /* of a file: NAME.modelfs-undo.N takes the name */
	JOURNAL_CUTS = 8,                      /* takes commits back: cuts the undo file */
};

#define JOURNAL_SEQUENCES ((uint64_t)INT64_MAX)        /* no commit has a higher number */
#define JOURNAL_PIECE ((uint64_t)1 << 20)      /* of a file written anew, for its CRCs */
#define JOURNAL_RECORD (1u << 16)              /* bytes of each kind in one record */
#define JOURNAL_PATH 4096u                     /* longest path */
#define JOURNAL_FILES 4096u                    /* most files of one commit */
#define JOURNAL_HEAD 124u                      /* sizes in the file: of a head, */
#define JOURNAL_ENTRY 56u                      /* of a file without its path, */
#define JOURNAL_BEFORE 24u                     /* and of what comes before a record's bytes */

struct journal_file {
	const char *path;                      /* "": the archive */
	uint32_t index, flags, number;
	uint64_t inode, old_size, new_size, at, nrecords;      /* at: of the first record */
};

/* What messages call it. */
static inline const char *journal_subject(const char *path)
{
	return *path ? path : "the archive";
}

struct journal_head {
	uint32_t flags, nfiles, ntable, ncrcs, nwhat, body_crc;
	uint64_t length, sequence, cut, changed, nrecords;
	struct timespec time;
	struct journal_file lone;              /* path not NULL: version 1, and its file */
};

struct journal {
	int fd;
	uint64_t at;                           /* in the file */
	struct journal_head h;
};

struct record {
	uint64_t at;
	uint32_t nnew, nold;
	const uint8_t *new_bytes, *old_bytes;
};

/* One file of a journal that is to be written. */
struct journal_part {
	struct journal_file f;
	const struct plan *plan;               /* NULL: no records */
	struct source *old;                    /* where the bytes from before are */
};

/* Where its parts begin, from its own beginning on. */
static inline uint64_t journal_table_at(const struct journal_head *h)
{
	return JOURNAL_HEAD + (uint64_t)h->nwhat;
}

static inline uint64_t journal_crcs_at(const struct journal_head *h)
{
	return journal_table_at(h) + h->ntable;
}

static inline uint64_t journal_records_at(const struct journal_head *h)
{
	return journal_crcs_at(h) + (uint64_t)4 * h->ncrcs;
}

/* ---- writing ---- */

/* Fills in what of h and its h->nfiles parts says how long things are and where. */
void journal_measure(struct journal_head *h, struct journal_part *v);
/* Writes the journal file. j->fd is to be closed with place_close(). On an error there is none, or an incomplete one.
 * Not synced. */
int journal_write(const struct place *p, struct journal_head *h, const char *what, const struct journal_part *v,
		  const uint32_t *crcs, struct journal *j, struct err *e);
/* Removes the journal file j of a commit that is not to be, also if its name comes back after a crash. */
int journal_drop(const struct place *p, const struct journal *j);

/* ---- reading ---- */

/* The head of a journal at `at`. 1: there; 0: not, or damaged; ENOTSUP: of another version; EIO and others. */
int journal_head(int fd, uint64_t at, struct journal *j);
int journal_complete(const struct journal *j);         /* 1, 0 or a negative errno; reads all of it */
/* The journal file. 1: complete, j->fd to be closed with place_close(); 0: none (j->fd < 0), or an incomplete one. */
int journal_find(const struct place *p, struct journal *j, struct err *e);

char *journal_what(const struct journal *j);           /* to be freed; NULL: out of memory or not readable */
uint32_t *journal_crcs(const struct journal *j);       /* the same */
/* The table of files, j->h.nfiles of them; one block, to be freed. EBADMSG when it does not add up. */
int journal_files(const struct journal *j, struct journal_file **out);
/* The records of a file, until fn returns other than 0. EBADMSG when they do not add up. */
int journal_each(const struct journal *j, const struct journal_file *f, int (*fn)(void *ctx, const struct record *),
		 void *ctx);

/* ---- applying ---- */

/* 1 when every byte of the file is what it was before or after the commit, also where it stopped halfway; else 0. */
int journal_fits(const struct journal *j, const struct journal_file *f, struct source *file);
/* Writes the new bytes and sets the size; also what is there already, since a file whose fsync failed may show bytes
 * that are not on disc. Syncs the file. */
int journal_patch(const struct place *p, const struct journal *j, const struct journal_file *f, int fd);
/* The bytes of base with the journal laid over it; holds base. */
int journal_overlay(const struct journal *j, const struct journal_file *f, struct source *base, struct source **out);

/* The CRC-32 of piece i of a file that plan makes; room: JOURNAL_PIECE bytes, holds the piece afterwards. */
int journal_piece(const struct plan *plan, uint64_t i, uint8_t *room, size_t *n, uint32_t *crc);
static inline uint64_t journal_pieces(uint64_t size)
{
	return size / JOURNAL_PIECE + !!(size % JOURNAL_PIECE);
}

#endif
