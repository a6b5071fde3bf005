/* What the plain files of a folder are: which of them a format opens.
 *
 * Their contents tell, so each has to be opened once. What was found is remembered by the file's stamp and name, in 8
 * bytes: a listing of 100,000 files asks again for all of them. */
#ifndef MODELFS_KINDS_H
#define MODELFS_KINDS_H

#include <pthread.h>
#include <sys/stat.h>

#include "host.h"
#include "member.h"
#include "nameset.h"

struct in_dir;
#define FINDINGS 8u

struct kinds {
	/* What a file is to be read as, one reference, over `file` as it is on disc; another source than that is true
	 * for a while only. NULL: as it is. */
	int (*through)(void *ctx, const struct in_dir *in, const char *name, struct source *file, struct source **out);
	void *ctx;
	pthread_mutex_t lock;
	uint64_t *v;                           /* open addressing; the low bits are the kind */
	size_t n, size;
	uint64_t seed;
	struct spelt *spelt;                   /* SPELT_MOST names of members, by hash; NULL: none yet */
	uint8_t search;                        /* enum searching */
	/* What the last files that were searched have, for who opens them. */
	struct { uint64_t hash; struct finding *finding; } found[FINDINGS];
	unsigned nfound;                       /* counts on */
};

void kinds_init(struct kinds *k);
void kinds_free(struct kinds *k);

/* A directory that is looked into; fd: O_PATH will do. names: those it has, or NULL. */
struct in_dir { struct hosts *hosts; struct host *dir; int fd; const struct nameset *names; };

/* The format that opens the regular file `name` of a directory, whose stat was st; NULL: none, it is a plain file, as
 * is one that cannot be read. *refused, or NULL: why a strict format that knows it did not take it, unless that is
 * remembered; zero else. *later, or NULL: nothing is searched now, and it becomes true if that would be needed. */
const struct format *kinds_find(struct kinds *k, const struct in_dir *in, const char *name, const struct stat *st,
				bool *later, struct err *refused);
/* What was found in a file that was searched, with one reference; NULL: nobody knows any more. */
struct finding *kinds_finding(struct kinds *k, const char *name, const struct stat *st);
/* Asks the file again. *other, or NULL: what format_tells(), or who searched it, says of one that no format knows. */
const struct format *kinds_look(struct kinds *k, const struct in_dir *in, const char *name, const struct stat *st,
				struct err *refused, struct err *other);

/* A file beside another that belongs to it. */
struct beside { char name[MEMBER_NAME_MAX]; struct stat st; };
/* The members that `owner` has as a file of that format; there: which of them are found. One that is being written is
 * none yet. */
void kinds_members(struct kinds *k, const struct in_dir *in, const char *owner, const struct format *f,
		   struct beside member[MEMBERS_MOST], bool there[MEMBERS_MOST]);
/* Of a directory: as long as it is the same, no name in it comes or goes; 0: it may change again without telling. */
uint64_t kinds_dir_stamp(int fd);
/* What a look at a file saw. */
struct seen {
	dev_t dev;
	ino_t ino;
	int64_t size, mtime, ctime;            /* nanoseconds since 1970 */
	mode_t mode;
	uid_t uid;
	gid_t gid;
};
void see(struct seen *s, const struct stat *st);
struct stat seen_stat(const struct seen *s);   /* as far as it is known */
/* Whether two looks saw the same file with the same bytes, as far as that can be told. */
bool same_seen(const struct seen *a, const struct seen *b);
/* Whether a file may be written again without its stamp telling. */
bool is_young(const struct stat *st);

#endif
