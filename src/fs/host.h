/* The folder under a tree: what lies in it, known by name and by inode.
 *
 * A *host* is a directory, plain file, link, fifo ... of the folder that somebody outside knows: the kernel by its
 * number, a command by its pointer. It is counted and goes with its last reference, because folders change all the
 * time; the folder itself is not counted. A *spot* is a name in such a directory that leads to something known: a host,
 * or a file that a format opens (folder.h). Names that lead to the same inode lead to the same host; one whose names are
 * all gone lasts as long as it is open.
 *
 * Each call goes down from the folder's own descriptor, and looks whether what it has found is what was meant. Only the
 * directories that were used last are kept open. */
#ifndef MODELFS_HOST_H
#define MODELFS_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base.h"

struct host;

struct chain { struct chain *next; uint64_t hash; };     /* in a table */

struct spot {
	struct chain link;                      /* first */
	struct spot *other;                    /* the same host's next name */
	struct host *dir;                      /* held */
	struct host *host;                     /* NULL: none is known there */
	unsigned file;                         /* number + 1 of the tree's file that lies there; 0: none */
	char name[];
};

/* A descriptor of a host that stays usable when the host has no name any more. */
struct host_open {
	struct host_open *next;                /* of the host */
	struct host *host;                     /* held */
	int fd;
	_Atomic bool writing;                  /* opened or written since one of its copies was last closed */
};

struct host {
	struct chain by_serial;                 /* first; its hash is the number, the folder's own is 1 */
	struct chain by_inode;
	uint64_t refs;
	dev_t dev;                             /* 0: another mount lies there, which is shown as an empty directory */
	ino_t ino;
	mode_t type;                           /* S_IFMT */
	unsigned writers;                      /* of `open`, those that are writing */
	int64_t written;                       /* when the last was through, milliseconds of the clock that only runs */
	struct spot *spots;                    /* its names, the one seen last first */
	struct host_open *open;
	int kept;                              /* O_PATH, of one that lost its last name while nobody had it open; -1 */
};

struct table { struct chain **v; size_t n, size; };

/* A directory that is kept open; host NULL: it is gone, and closed when nobody uses it any more. */
struct host_dir { struct host *host; int fd; unsigned users; uint64_t used; };
#define HOST_DIRS 16u

struct hosts {
	int fd;                                /* of the folder */
	pthread_mutex_t lock;                  /* of all below; a leaf */
	struct table serials, inodes, spots;
	struct host_dir dirs[HOST_DIRS];       /* users 0 and host NULL: unused */
	uint64_t serial, tick;
	unsigned nkept;
	struct host *root;
};

/* path: absolute. The folder is opened before it may be mounted over. */
int hosts_open(struct hosts *h, const char *path, struct err *e);
void hosts_close(struct hosts *h);

struct host *host_ref(struct hosts *h, struct host *host);
void host_put(struct hosts *h, struct host *host, uint64_t n);         /* n references; NULL is fine */
struct host *host_by_serial(struct hosts *h, uint64_t serial);         /* with a reference; NULL */

/* ---- descriptors; each to be given back with host_close() ---- */

/* What the host is, however it is called now; ESTALE when it cannot be found any more. flags: as for open(). */
int host_open(struct hosts *h, struct host *host, int flags);
/* O_PATH, of a directory, to be given back with host_dir_done(). */
int host_dir(struct hosts *h, struct host *host);
void host_dir_done(struct hosts *h, int fd);
/* O_PATH, or another descriptor that fstat(), fchownat() and the like take. */
int host_any(struct hosts *h, struct host *host);
/* O_PATH, of what lies at a name of a directory. ENOENT, EXDEV: a mount point. */
int host_look(int dirfd, const char *name, struct stat *st);
void host_close(struct hosts *h, int fd);
int host_stat(struct hosts *h, struct host *host, struct stat *st);
/* Where a symbolic link leads; what does not fit in size is left out. */
int host_target(struct hosts *h, struct host *host, char *to, size_t size);

/* Registers a descriptor that somebody uses; both go with host_open_end(). */
int host_open_begin(struct hosts *h, struct host *host, int fd, bool writing, struct host_open **out);
void host_open_end(struct hosts *h, struct host_open *o);
void host_open_write(struct hosts *h, struct host_open *o, bool writing);

/* ---- names ---- */

/* The host at a name where st was just seen, with a reference. */
int host_seen(struct hosts *h, struct host *dir, const char *name, const struct stat *st, struct host **out);
/* There is nothing at that name, or nothing that would be a host. */
void host_unseen(struct hosts *h, struct host *dir, const char *name);
/* Before the name goes: who has what lies there open, or stands in it, goes on. */
void host_keep(struct hosts *h, struct host *dir, const char *name);
/* With the lock held: */
struct spot *spot_find(struct hosts *h, struct host *dir, const char *name);   /* NULL: nothing is known there */
struct spot *spot_make(struct hosts *h, struct host *dir, const char *name);   /* the same, made; NULL: no memory */
void spot_drop(struct hosts *h, struct spot *s);       /* frees one that leads nowhere */
/* The host of one name has the other one; what that was the name of loses it, or has the first (swap). */
void spot_move_host(struct spot *from, struct spot *to, bool swap);

/* Adds the path below the folder; ESTALE when it has no name, ENAMETOOLONG past LONGEST_PATH. */
int host_path(struct hosts *h, struct host *host, struct buf *out);
int spot_path(struct hosts *h, const struct spot *s, struct buf *out);
/* The directory it lies in, with a reference; the folder's own is itself. NULL: it has no name. */
struct host *host_parent(struct hosts *h, struct host *host);
/* Whether its bytes are being written: then it stays a file whatever they are. */
bool host_is_written(struct hosts *h, struct host *dir, const char *name);
/* Whether that was so a moment ago: then programs go on to set its times and mode, by its name. */
bool host_was_written(struct hosts *h, struct host *dir, const char *name);

#endif
