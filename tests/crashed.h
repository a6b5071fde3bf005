/* What tests that crash share: their directories, edits that touch a file in every way, and its bytes; files that
 * change together. */
#ifndef CRASHED_H
#define CRASHED_H

#include "plan.h"

struct bytes { uint8_t *p; size_t n; };

/* The first files, those that are crashed over, what is on the disc then, and after a second crash. */
extern char dir_first[80], dir_work[80], dir_disc[80], dir_again[80];
int crashed_start(void **state);               /* for cmocka: makes them and removes them */
int crashed_end(void **state);
const char *in(const char *dir, const char *name);     /* until the call after the next */

struct bytes first_bytes(size_t n, unsigned seed);
void write_bytes(const char *path, struct bytes b);
struct bytes source_bytes(struct source *src);
bool same(struct bytes a, struct bytes b);

/* Each changes p, which is over a file of more than 6000 bytes. */
typedef void edit_fn(struct plan *p);
void edit_patch(struct plan *p);
void edit_grow(struct plan *p);
void edit_cut(struct plan *p);
void edit_shift(struct plan *p);               /* moves what is there: the file has to be written anew */

#define PATCH edit_patch
#define GROW edit_grow
#define CUT edit_cut
#define SHIFT edit_shift

/* Files that change together. */
#define FILES 4u
struct state { struct bytes file[FILES]; };
typedef edit_fn *edits[FILES];                 /* NULL: the file stays */
void first_files(const char *const names[FILES]);      /* each its own bytes, in dir_first */
bool any(const edits e);
bool same_state(const struct state *a, const struct state *b);
void free_state(struct state *s);

/* A test of a `struct scenario` of its file, by its crash_everywhere(). least: of steps. */
#define CRASH_TEST(name, least, ...) \
	static void name(void **state) \
	{ \
		(void)state; \
		crash_everywhere(&(const struct scenario){ __VA_ARGS__ }, least); \
	}

#endif
