/* Journals: what a commit does, written down before it is done.
 *
 * A journal holds the new bytes of every range and the old ones, so it can be applied again after a crash, checked
 * against the file it was made for, and taken back. It is its commit's point of no return when it is complete and it
 * and its directory are on disc. The undo file (undo.h) is the journals of past commits, one behind the other.
 *
 * All numbers little-endian:
 *
 *     0  8  "modelfsJ"
 *     8  4  version, 1
 *    12  4  flags (below)
 *    16  8  length of the whole journal
 *    24  8  sequence number
 *    32  8  time, seconds
 *    40  4  time, nanoseconds
 *    44  4  N of NAME.modelfs-undo.N: where a rewritten file's old one is kept, or the one that is restored; 0: none
 *    48  8  length the undo file is cut to
 *    56  8  bytes changed
 *    64  8  inode number of the file that takes the name
 *    72  8  size of the file before
 *    80  8  size of the file afterwards
 *    88  8  number of records
 *    96  4  number of CRCs
 *   100  4  length of the path in the tree
 *   104  4  number of files, 1
 *   108  4  0
 *   112  4  0
 *   116  4  CRC-32 of all behind byte 124
 *   120  4  CRC-32 of bytes 0 to 119
 *   124     path in the tree
 *           CRC-32 of every 1 MiB of a file written anew
 *           records: file 4 (0), new length 4, old length 4, 0 4, offset 8; new bytes; old bytes
 *
 * A record's new and old bytes begin at the same offset. Where the file grows there are no old bytes, where it is cut
 * no new ones. */
#ifndef MODELFS_JOURNAL_H
#define MODELFS_JOURNAL_H

#include <limits.h>

#include "archive.h"

/* The directory an archive lies in and the names beside it. */
struct place {
	const struct io_ops *io;
	void *ctx;
	int dir;
	const char *name;                      /* of the archive */
	char journal[NAME_MAX + 32], fresh[NAME_MAX + 32], undo[NAME_MAX + 32];
	struct stat like;                      /* the archive: new files get its owner and mode */
};

typedef char kept_name[NAME_MAX + 32];

void place_name(struct place *p);              /* fills in the names from p->name */
void place_kept(const struct place *p, uint32_t number, kept_name out);        /* NAME.modelfs-undo.N */
/* Opens a file beside the archive; O_CREAT gives it the archive's mode and owner as far as possible. */
int place_open(const struct place *p, const char *name, int flags);
void place_close(const struct place *p, int fd);
int place_write(const struct place *p, int fd, const void *buf, size_t n, uint64_t at);        /* all of it */

enum {
	JOURNAL_RECORDED = 1,                  /* goes to the undo file */
	JOURNAL_REWRITTEN = 2,                 /* .NAME.modelfs-new takes the name */
	JOURNAL_RESTORED = 4,                  /* NAME.modelfs-undo.N takes the name */
	JOURNAL_CUTS = 8,                      /* takes commits back: cuts the undo file */
};

#define JOURNAL_SEQUENCES ((uint64_t)INT64_MAX)        /* no commit has a higher number */
#define JOURNAL_PIECE ((uint64_t)1 << 20)      /* of a file written anew, for its CRCs */
#define JOURNAL_PATH 4096u                     /* longest path in the tree */

struct journal_head {
	uint32_t flags, number, ncrcs, nwhat, body_crc;
	uint64_t length, sequence, cut, changed, inode, old_size, new_size, nrecords;
	struct timespec time;
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

/* Fills in the lengths and counts of h for a journal of plan (NULL: no records) over a file of h->old_size bytes. */
void journal_measure(struct journal_head *h, const struct plan *plan);
/* Writes the journal file; old: where the old bytes are. j->fd is to be closed with place_close(). On an error there is
 * none, or an incomplete one. Not synced. */
int journal_write(const struct place *p, struct journal_head *h, const char *what, const uint32_t *crcs,
		  const struct plan *plan, struct source *old, struct journal *j, struct err *e);
/* Removes the journal file j of a commit that is not to be, also if its name comes back after a crash. */
int journal_drop(const struct place *p, const struct journal *j);

/* The head of a journal at `at`. 1: there; 0: not, or damaged; ENOTSUP: of another version; EIO and others. */
int journal_head(int fd, uint64_t at, struct journal *j);
int journal_complete(const struct journal *j);         /* 1, 0 or a negative errno; reads all of it */
/* The journal file. 1: complete, j->fd to be closed with place_close(); 0: none (j->fd < 0), or an incomplete one. */
int journal_find(const struct place *p, struct journal *j, struct err *e);

char *journal_what(const struct journal *j);           /* to be freed; NULL: out of memory or not readable */
uint32_t *journal_crcs(const struct journal *j);       /* the same */
/* Until fn returns other than 0. A journal whose records do not add up is EBADMSG. */
int journal_each(const struct journal *j, int (*fn)(void *ctx, const struct record *), void *ctx);
/* 1 when every byte of the file is what it was before or after the commit, also where it stopped halfway; else 0. */
int journal_fits(const struct journal *j, struct source *file);
/* Writes the new bytes and sets the size; also what is there already, since a file whose fsync failed may show bytes
 * that are not on disc. Syncs the file. */
int journal_patch(const struct place *p, const struct journal *j, int fd);
/* The bytes of base with the journal laid over it; holds base. */
int journal_overlay(const struct journal *j, struct source *base, struct source **out);

/* The CRC-32 of piece i of a file that plan makes; room: JOURNAL_PIECE bytes, holds the piece afterwards. */
int journal_piece(const struct plan *plan, uint64_t i, uint8_t *room, size_t *n, uint32_t *crc);
static inline uint64_t journal_pieces(uint64_t size)
{
	return size / JOURNAL_PIECE + !!(size % JOURNAL_PIECE);
}

#endif
