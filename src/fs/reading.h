/* Reading beside a writer of another process: one lock for all threads that read, kept while they follow each other. */
#ifndef MODELFS_READING_H
#define MODELFS_READING_H

#include <pthread.h>
#include <time.h>

#include "base.h"

struct reading_ops {
	/* Takes the lock, shared, and looks. *changed: what is known is void; *locked: there was a lock to take. */
	int (*take)(void *ctx, bool *changed, bool *locked, struct err *e);
	void (*drop)(void *ctx);               /* gives it back */
};

struct reading {
	const struct reading_ops *ops;
	void *ctx;
	pthread_mutex_t mutex;
	pthread_cond_t empty, taken;
	unsigned inside;
	bool held;                             /* the lock, from `since` on; as long as it is: */
	bool changed, locked;
	struct timespec since;
	pthread_t warden;                      /* gives the lock back when nobody comes any more */
	bool guarded, awake, stop;             /* there is one; it looks without being called; it is to end */
	bool alone;                            /* none is to be started */
};

void reading_init(struct reading *r, const struct reading_ops *ops, void *ctx);
void reading_stop(struct reading *r);          /* gives it back, for good */
/* See archive_read_begin(). */
int reading_begin(struct reading *r, bool *changed, struct err *e);
void reading_end(struct reading *r);
/* Gives back the lock that outlasts those inside; nobody is inside. */
void reading_let_go(struct reading *r);

/* Starts a thread that no signal goes to; 0 or a negative errno. */
int reading_thread(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
