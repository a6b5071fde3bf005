/* Reading beside a writer of another process.
 *
 * While LOCK_BYTES is shared, nobody commits. The first reader in takes it and looks whether anything changed since;
 * then it is kept for a while, whether anybody is inside or not, so that most readers only find that it is there.
 * Taking it and looking is five system calls, more than a small read costs altogether. A thread, the warden, gives it
 * back when no reader comes that could: an idle mount must not keep a writer waiting. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "archive_in.h"
#include "filelock.h"

#define KEEP_NS 4000000                        /* after that long, who leaves last gives the lock back */
#define TURN_NS 20000000                       /* after that long, new readers wait until those inside have left */

static bool held_for(const struct archive *a, long ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (now.tv_sec - a->since.tv_sec) * 1000000000LL + now.tv_nsec - a->since.tv_nsec >= ns;
}

/* With the mutex held and nobody inside. */
static void let_go(struct archive *a)
{
	if (a->held && a->locked)
		filelock_drop(src_file_fd(a->s.file), LOCK_BYTES);
	a->held = false;
}

void archive_read_let_go(struct archive *a)
{
	pthread_mutex_lock(&a->mutex);
	let_go(a);
	pthread_mutex_unlock(&a->mutex);
}

/* ---- the warden ---- */

static void *watch(void *arg)
{
	struct archive *a = arg;
	struct timespec until;

	pthread_mutex_lock(&a->mutex);
	while (!a->stop) {
		if (!a->held) {
			a->awake = false;
			pthread_cond_wait(&a->taken, &a->mutex);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += KEEP_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&a->taken, &a->mutex, &until);
		if (!a->inside && held_for(a, KEEP_NS))
			let_go(a);
	}
	pthread_mutex_unlock(&a->mutex);
	return NULL;
}

int archive_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static bool start_warden(struct archive *a)
{
	a->guarded = !archive_thread(&a->warden, watch, a);
	return a->guarded;
}

void archive_read_init(struct archive *a)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&a->mutex, NULL);
	pthread_cond_init(&a->empty, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->taken, &attr);
	pthread_condattr_destroy(&attr);
}

void archive_read_alone(struct archive *a, bool alone)
{
	a->alone = alone;
}

void archive_read_stop(struct archive *a)
{
	pthread_mutex_lock(&a->mutex);
	a->stop = true;
	let_go(a);
	pthread_cond_signal(&a->taken);
	pthread_mutex_unlock(&a->mutex);
	if (a->guarded)
		pthread_join(a->warden, NULL);
	pthread_cond_destroy(&a->taken);
	pthread_cond_destroy(&a->empty);
	pthread_mutex_destroy(&a->mutex);
}

/* ---- readers ---- */

/* Locks for all and looks; as long as the lock is held, nothing can change. */
static int take_lock(struct archive *a, struct err *e)
{
	int rc = filelock_take(src_file_fd(a->s.file), LOCK_BYTES, false, true);
	struct stamp now;

	if (rc && rc != -ENOLCK && rc != -EINVAL && rc != -EOPNOTSUPP && rc != -ENOSYS)
		return err_set(e, -rc, "it cannot be locked: %s", strerror(-rc));
	a->locked = !rc;               /* where there are no locks, nobody writes */
	now = archive_stamp(a, a->place.name);
	a->changed = !stamp_equal(&now, &a->s.stamp, a->s.device);
	now = archive_stamp(a, a->place.journal);
	a->changed |= !stamp_equal(&now, &a->s.journal, false);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &a->since);
	a->held = true;
	if (!a->alone && !a->awake && (a->guarded || start_warden(a))) {
		a->awake = true;
		pthread_cond_signal(&a->taken);
	}
	return 0;
}

int archive_read_begin(struct archive *a, bool *changed, struct err *e)
{
	int rc = 0;

	*changed = false;
	if (a->s.fd >= 0)
		return 0;
	pthread_mutex_lock(&a->mutex);
	while (a->inside && held_for(a, TURN_NS))
		pthread_cond_wait(&a->empty, &a->mutex);
	if (!a->inside && a->held && held_for(a, KEEP_NS))
		let_go(a);
	if (!a->held)
		rc = take_lock(a, e);
	if (!rc) {
		a->inside++;
		*changed = a->changed;
	}
	pthread_mutex_unlock(&a->mutex);
	return rc;
}

void archive_read_end(struct archive *a)
{
	if (a->s.fd >= 0)
		return;
	pthread_mutex_lock(&a->mutex);
	if (!--a->inside) {
		if (!a->guarded || held_for(a, KEEP_NS))
			let_go(a);
		pthread_cond_broadcast(&a->empty);
	}
	pthread_mutex_unlock(&a->mutex);
}
