/* A disc that loses power: io_ops over the files of a directory and of those in it, which remember what has been
 * synced.
 *
 * Every call is carried out on the real files and written down. From the step that is chosen on all calls fail, as if
 * the process were gone. What could be on the disc then is made in another directory: what was synced is there, and of
 * the rest all, nothing, some sectors or some calls. */
#ifndef CRASHIO_H
#define CRASHIO_H

#include "archive.h"

struct crashio;
extern const struct io_ops crashio_ops;        /* ctx: a struct crashio */

enum crash {
	CRASH_KEPT,                            /* all that was written is there: only the process died */
	CRASH_LOST,                            /* nothing that was not synced */
	CRASH_TORN,                            /* some sectors of each write; the first of the changed names */
	CRASH_SOME,                            /* some of the calls, in any combination */
	CRASH_KINDS,
};

struct crashio *crashio_new(const char *dir);  /* what is in dir is on the disc */
void crashio_free(struct crashio *c);
/* From step `step` on (1 is the next one) all calls fail; 0: none. */
void crashio_die(struct crashio *c, unsigned step);
/* Step `step` fails with error (negative errno), nothing else does. */
void crashio_fail(struct crashio *c, unsigned step, int error);
void crashio_no_links(struct crashio *c);      /* linkat() is EPERM */
void crashio_space(struct crashio *c, uint64_t free_bytes);
unsigned crashio_steps(const struct crashio *c);
unsigned crashio_syncs(const struct crashio *c);
uint64_t crashio_written(const struct crashio *c);     /* bytes */
/* Makes what the disc may hold in the directory `to`, which is emptied first. */
void crashio_crash(struct crashio *c, const char *to, enum crash how, unsigned seed);

void empty_dir(const char *dir);                       /* of files and of directories */
unsigned files_in(const char *dir);                    /* and in its directories */
void copy_dir(const char *from, const char *to);       /* names of one file stay names of one file */

#endif
