/* A folder of three files for tests of what changes them together. */
#ifndef FOLDERED_H
#define FOLDERED_H

#include "fileset.h"

#define FILES 3u
#define SIZE 5000u

extern char dir[64];                           /* the folder */
extern int dir_fd;                             /* it as O_PATH */
extern const char *const names[FILES];         /* top.bin, pl/a.mod3, pl/a.mrl3 */
int setup(void **state);                       /* for cmocka: makes it and removes it */
int teardown(void **state);

const char *below(const char *file);           /* its path; until the fourth call from here */
uint8_t first_byte(unsigned file, uint64_t at);
void make_file(const char *where, unsigned file);
bool is_first(unsigned file);
bool all_first(void);
bool there(const char *name);
bool has(const char *name, uint64_t at, const char *text);

struct fileset *open_with(const struct fileset_options *opt);
struct fileset *open_write(void);
struct fileset *open_read(void);

/* An edit of some files: begin, change the plans, finish. */
struct edit { struct file_change v[FILES]; struct plan plan[FILES]; struct source *src[FILES]; size_t n; };
void begin(struct edit *ed, struct fileset *fs, const char *const *files, size_t n);
void write_all(struct edit *ed, uint64_t at, const char *text);        /* the same everywhere */
int finish(struct edit *ed, struct fileset *fs, const char *what, struct err *e);
/* That of the first n files. */
int commit(struct fileset *fs, size_t n, uint64_t at, const char *text, struct err *e);
void must_commit(struct fileset *fs, size_t n, uint64_t at, const char *text);

#endif
