/* The undo file: NAME.modelfs-undo, the journals of past commits one behind the other, by sequence number. What a crash
 * has torn off at its end is written over by the next commit. */
#ifndef MODELFS_UNDO_H
#define MODELFS_UNDO_H

#include "journal.h"

/* What is known of it; zero-initialise. */
struct undo {
	ino_t ino;
	uint64_t size;                         /* of the file when it was read */
	uint64_t last, end, sequence;          /* where the last commit begins and ends; its number, 0: none */
};

/* Opens the undo file and reads it when it is not the one that u knows. Returns the descriptor, for place_close();
 * -ENOENT when there is none and create is not set. */
int undo_open(const struct place *p, struct undo *u, bool create, struct err *e);
/* Adds journal j, or writes it again when it is the last one; synced. */
int undo_add(const struct place *p, struct undo *u, const struct journal *j, struct err *e);
/* Leaves out everything from `cut` on, and the old archives kept for it; synced. */
int undo_cut(const struct place *p, struct undo *u, uint64_t cut, struct err *e);
/* Calls fn for each commit before byte `end`, oldest first. */
int undo_each(int fd, uint64_t end, int (*fn)(void *ctx, const struct journal *), void *ctx);
/* Bytes that commit j takes, with the old archive it keeps. */
uint64_t undo_space(const struct place *p, const struct journal *j);

/* Whether a commit keeps an old file under that number: 1, 0 or a negative errno. */
int undo_keeps(const struct place *p, struct undo *u, uint32_t number);

/* A way back for one file. */
struct back_file {
	char *path;
	struct plan plan;                      /* over the file as it is, or over the kept one; settled */
	uint32_t kept;                         /* N of NAME.modelfs-undo.N, which takes the name again; 0: none */
	struct stat was;                       /* the file as it is */
};

struct back {
	struct back_file *v;                   /* those that change */
	size_t n;
	uint64_t cut;                          /* for undo_cut() */
	unsigned commits;
};
/* Works out how to take back the last n commits of the undo file fd. open: a file as it is now. Free b in any case. */
int undo_back(const struct place *p, const struct undo *u, int fd, unsigned n,
	      int (*open)(void *ctx, const char *path, struct source **out, struct err *e), void *ctx, struct back *b,
	      struct err *e);
void undo_back_free(struct back *b);

#endif
