/* Byte sources: every byte modelfs shows is read with a positioned read through a chain of them.
 *
 * A source is reference-counted and its size never changes; any thread may read it. The chain ends in a file of the
 * archive (or in memory, for tests); a slice adds an offset, coded blocks decrypt what they read. Nothing above knows
 * how deep an entry is nested. An edit opens the chain anew over an overlay of the file: what is written goes down the
 * chain into a plan (plan.h), and what is read shows it at once. */
#ifndef MODELFS_SOURCE_H
#define MODELFS_SOURCE_H

#include "base.h"

struct source_ops {
	/* All n bytes at `at`, which lie inside the source: src_pread() has checked that. 0 or a negative errno. */
	int (*pread)(struct source *, void *buf, size_t n, uint64_t at);
	/* The same bytes where they already lie, or NULL. Valid while the source is. See src_map(). */
	const void *(*map)(struct source *, size_t n, uint64_t at);
	/* Changes n bytes at `at`, which lie inside the source; NULL: it cannot be written. 0 or a negative errno. */
	int (*pwrite)(struct source *, const void *buf, size_t n, uint64_t at);
	/* The offset in the parent of byte `at`; NULL: it is the same. */
	uint64_t (*up)(const struct source *, uint64_t at);
	void (*close)(struct source *);
	/* Places in it are counted in it and not in the archive file, by those who ask what a plan changes:
	 * src_range() goes no further. */
	bool root;
	bool packed;                           /* each byte comes from all bytes of the parent; src_packed() */
};

struct extent { uint64_t at, size; };

struct source {
	const struct source_ops *ops;
	struct source *parent;                 /* held; NULL at the end of the chain */
	uint64_t size;
	_Atomic unsigned refs;
};

/* A reversible cipher over units of a run; unit j depends only on the run's key and j, so reads start anywhere. */
struct cipher {
	unsigned unit;                         /* bytes; a power of two up to 16 */
	/* In place; n bytes that begin `at` bytes into the run, both multiples of unit. */
	void (*decrypt)(uint32_t key, uint64_t at, uint8_t *p, size_t n);
	void (*encrypt)(uint32_t key, uint64_t at, uint8_t *p, size_t n);
};

/* A way to store bytes as a stream that can only be read from its start. */
struct packer {
	unsigned ratio;                        /* bytes that one byte of a stream can become, at most */
	/* The first n bytes of `size` that the stream becomes, to where there is room for one more. Of all of them: the
	 * stream has to end with them. */
	int (*unpack)(struct source *stream, uint8_t *to, size_t n, uint64_t size, struct err *e);
};

/* What a stream became, for as long as it is held. */
struct unpacked { const uint8_t *p; void *hold; };

/* Who keeps what streams became, so that none is unpacked for every read; and under which numbers. */
struct keep {
	const struct keeper *by;               /* NULL: the source keeps it itself, for as long as it lives */
	uint32_t unit, index, gen;
	bool peek;                             /* it is only looked at: its beginning is unpacked and not kept */
};
struct keeper {
	/* What src_unpack() makes of src, or has made before. */
	int (*get)(const struct keeper *k, const struct keep *which, struct source *src, struct unpacked *out,
		   struct err *e);
	void (*put)(const struct keeper *k, struct unpacked *u);
};

/* Each gives a source with one reference, or NULL when out of memory; each holds its parent. */
struct source *src_slice(struct source *parent, uint64_t at, uint64_t n);      /* [at, at + n) must lie in parent */
struct source *src_blocks(struct source *parent, const struct cipher *c, uint32_t key);
struct source *src_memory(const void *p, size_t n);                            /* borrows p */
struct source *src_copy(const void *p, size_t n);                              /* of p as it is now */
struct source *src_zeros(uint64_t n);
/* The bytes of parent, which something else has too: writing them is EPERM. */
struct source *src_shared(struct source *parent);
struct source *src_fixed(struct source *parent);                               /* the same; writing is EROFS */
/* n pieces of parent, one behind the other; they lie in it. Read-only; not one source of which nothing is known, as
 * src_pieces() is: places in it are places in parent. */
struct source *src_extents(struct source *parent, const struct extent *v, uint32_t n);
struct source *src_lost(uint64_t n);                                           /* no byte of which can be read */
/* The inverse of src_blocks(): what parent holds, encrypted. Read-only. */
struct source *src_coded(struct source *parent, const struct cipher *c, uint32_t key);
/* Sources one behind the other; pieces are held. Read-only. size is the sum of theirs. */
struct source *src_pieces(struct source *const *piece, uint32_t n);
/* The `size` bytes that a stream is said to become; read-only, unpacked when they are read. A stream that becomes
 * something else cannot be read. keep NULL: as with keep->by NULL. */
struct source *src_packed(struct source *stream, const struct packer *packer, uint64_t size, const struct keep *keep);
/* All bytes of such a source, to be given back with unpacked_free(). EBADMSG, EFBIG past LIMIT_DECODED. */
int src_unpack(struct source *packed, uint8_t **out, struct err *e);
void unpacked_free(uint8_t *p, uint64_t size);

/* A regular file or block device, opened for reading. */
int src_file(const char *path, struct source **out, struct err *e);
/* The same of a descriptor that is open for reading. It goes with the source, or at once if there is an error. */
int src_fd(int fd, struct source **out, struct err *e);
int src_file_fd(const struct source *src);     /* descriptor of a source from src_file() or src_fd() */

/* All n bytes of a file or an error; EIO when it ends before. */
int src_fd_read(int fd, void *buf, size_t n, uint64_t at);

struct source *src_ref(struct source *src);
void src_put(struct source *src);              /* NULL is fine */

/* All n bytes or an error: EBADMSG when the range is not inside the source, EIO when the file has shrunk. */
int src_pread(struct source *src, void *buf, size_t n, uint64_t at);
/* EBADMSG and what is there instead when n bytes of `what` do not lie inside the source. */
int src_inside(const struct source *src, uint64_t at, uint64_t n, const char *what, struct err *e);
/* src_pread(); the error says that `what` could not be read, where and why. */
int src_read(struct source *src, void *buf, size_t n, uint64_t at, const char *what, struct err *e);

/* Changes n bytes. Only a chain that ends in an overlay (plan.h) can be written; EROFS for others. EBADMSG when the
 * range is not inside the source. Encrypted blocks are encrypted again, as many whole units as the range touches. */
int src_pwrite(struct source *src, const void *buf, size_t n, uint64_t at);
/* src_pwrite(); the error says that `what` could not be written, where and why. */
int src_write(struct source *src, const void *buf, size_t n, uint64_t at, const char *what, struct err *e);
/* src_write() where the bytes differ from what is there: runs of equal ones are left alone. */
int src_patch(struct source *src, const void *buf, size_t n, uint64_t at, const char *what, struct err *e);
/* src_write() of n zeros. */
int src_clear(struct source *src, uint64_t at, uint64_t n, const char *what, struct err *e);
/* Writes n bytes to another place of the source; both may overlap. */
int src_move(struct source *src, uint64_t from, uint64_t to, uint64_t n, const char *what, struct err *e);
/* How many of n bytes are zero before the first that is not. */
int src_count_zeros(struct source *src, uint64_t at, uint64_t n, uint64_t *zeros, const char *what, struct err *e);

/* The bytes of a plain range in the mapped archive, or NULL when they must be read. Only for handing to the kernel in
 * one system call: if the file was cut meanwhile, the call fails with EFAULT, while touching the bytes would kill. */
const void *src_map(struct source *src, size_t n, uint64_t at);

/* Whether n bytes can be had without waiting for the disk, as far as the system tells; looks at 64 pages at most. */
bool src_ready(const struct source *src, size_t n, uint64_t at);

/* The offset in the archive file of byte `at`, for messages. */
uint64_t src_where(const struct source *src, uint64_t at);
/* Where n bytes at `at` come from, in place of both: in the archive file, or in the first `root` on the way there. True
 * when they are packed: then that is all of their stream. */
bool src_range(const struct source *src, uint64_t *at, uint64_t *n);

/* Sees to it that what src reads is unpacked, and stays so until src_unpin(); why not, if it cannot be. bytes: src's,
 * where they lie, or NULL. What is not packed needs no pin. */
struct pin { const struct keeper *by; struct unpacked u; const uint8_t *bytes; };
int src_pin(struct source *src, struct pin *out, struct err *e);
void src_unpin(struct pin *p);
/* What src is a slice of, and where it begins there; NULL: it is none. */
struct source *src_sliced(const struct source *src, uint64_t *at);

#endif
