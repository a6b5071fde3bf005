/* Reading beside a writer of another process.
 *
 * While LOCK_BYTES is shared, nobody commits. The first reader in takes it and looks whether anything changed since;
 * then it is kept for a while, whether anybody is inside or not, so that most readers only find that it is there.
 * Taking it and looking is five system calls, more than a small read costs altogether. A thread, the warden, gives it
 * back when no reader comes that could: an idle mount must not keep a writer waiting. */
#include "reading.h"

#include <signal.h>

#define KEEP_NS 4000000                        /* after that long, who leaves last gives the lock back */
#define TURN_NS 20000000                       /* after that long, new readers wait until those inside have left */

static bool held_for(const struct reading *r, long ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (now.tv_sec - r->since.tv_sec) * 1000000000LL + now.tv_nsec - r->since.tv_nsec >= ns;
}

/* With the mutex held and nobody inside. */
static void let_go(struct reading *r)
{
	if (r->held && r->locked)
		r->ops->drop(r->ctx);
	r->held = false;
}

void reading_let_go(struct reading *r)
{
	pthread_mutex_lock(&r->mutex);
	let_go(r);
	pthread_mutex_unlock(&r->mutex);
}

/* ---- the warden ---- */

static void *watch(void *arg)
{
	struct reading *r = arg;
	struct timespec until;

	pthread_mutex_lock(&r->mutex);
	while (!r->stop) {
		if (!r->held) {
			r->awake = false;
			pthread_cond_wait(&r->taken, &r->mutex);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += KEEP_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&r->taken, &r->mutex, &until);
		if (!r->inside && held_for(r, KEEP_NS))
			let_go(r);
	}
	pthread_mutex_unlock(&r->mutex);
	return NULL;
}

int reading_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static bool start_warden(struct reading *r)
{
	r->guarded = !reading_thread(&r->warden, watch, r);
	return r->guarded;
}

void reading_init(struct reading *r, const struct reading_ops *ops, void *ctx)
{
	pthread_condattr_t attr;

	*r = (struct reading){ .ops = ops, .ctx = ctx };
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->empty, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->taken, &attr);
	pthread_condattr_destroy(&attr);
}

void reading_stop(struct reading *r)
{
	pthread_mutex_lock(&r->mutex);
	r->stop = true;
	let_go(r);
	pthread_cond_signal(&r->taken);
	pthread_mutex_unlock(&r->mutex);
	if (r->guarded)
		pthread_join(r->warden, NULL);
	pthread_cond_destroy(&r->taken);
	pthread_cond_destroy(&r->empty);
	pthread_mutex_destroy(&r->mutex);
}

/* ---- readers ---- */

/* Locks for all and looks; as long as the lock is held, nothing can change. */
static int take_lock(struct reading *r, struct err *e)
{
	int rc = r->ops->take(r->ctx, &r->changed, &r->locked, e);

	if (rc)
		return rc;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &r->since);
	r->held = true;
	if (!r->alone && !r->awake && (r->guarded || start_warden(r))) {
		r->awake = true;
		pthread_cond_signal(&r->taken);
	}
	return 0;
}

int reading_begin(struct reading *r, bool *changed, struct err *e)
{
	int rc = 0;

	*changed = false;
	pthread_mutex_lock(&r->mutex);
	while (r->inside && held_for(r, TURN_NS))
		pthread_cond_wait(&r->empty, &r->mutex);
	if (!r->inside && r->held && held_for(r, KEEP_NS))
		let_go(r);
	if (!r->held)
		rc = take_lock(r, e);
	if (!rc) {
		r->inside++;
		*changed = r->changed;
	}
	pthread_mutex_unlock(&r->mutex);
	return rc;
}

void reading_end(struct reading *r)
{
	pthread_mutex_lock(&r->mutex);
	if (!--r->inside) {
		if (!r->guarded || held_for(r, KEEP_NS))
			let_go(r);
		pthread_cond_broadcast(&r->empty);
	}
	pthread_mutex_unlock(&r->mutex);
}
