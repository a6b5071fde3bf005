/* A directory of its own whose files an input makes: an archive or a folder, with journals and undo files. */
#ifndef FUZZ_FILES_H
#define FUZZ_FILES_H

#include <limits.h>

#include "base.h"
#include "io.h"

#define SEEN 65536u                            /* bytes of a file that are compared */
#define FILES_MOST 16u
#define HEAD 124u                              /* bytes of a journal's head */

extern char dir[64];
void make_dir(void);                           /* once; with the directory "s" in it */
void in_dir(char path[400], const char *name);

struct file { char name[NAME_MAX + 1]; uint64_t size; struct buf bytes; };
struct files { struct file v[FILES_MOST]; unsigned n; };
void forget(struct files *f);
struct file *find(struct files *f, const char *name);          /* NULL */
struct file *add(struct files *f, const char *name, const void *p, size_t n);
bool same(const struct file *a, const struct file *b);         /* NULL is nothing's like */

/* What is in the directory, and the other way round. */
struct files look(void);
void put_files(const struct files *f);
void expect_unchanged(struct files *was);

/* The system's calls, with little space, and a clock that goes with every write. */
extern bool keeps_journal;                     /* as if it could not be removed */
const struct io_ops *ticking(void);

uint64_t get64(const uint8_t *p);
/* Makes the checksums right of the journals in b, one behind the other. */
void fix(struct buf *b);
/* Bytes of files as the input says: file, kind, place (2), length; bytes. */
void change(struct files *f, const uint8_t *p, size_t n);
/* Whether n records at `at` of a journal change a file only where it is what they say it was, or will be. */
bool records_fit(const struct buf *j, uint64_t at, uint64_t len, uint64_t n, const struct buf *file);
/* Whether a journal's checksums are right. */
bool is_whole(const struct buf *j);

#endif
