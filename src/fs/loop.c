/* One thread, the leader, takes requests and answers them; the others sleep. Before work that takes long it lets
 * another one lead, so that decoding keeps nobody waiting. Threads that all wait for requests, as in libfuse's loop,
 * take turns at every one of them and change places with the client's; that costs 1.5 us a request. Threads are started
 * when they are needed: most mounts see their first listing with one. */
#define FUSE_USE_VERSION 312
#include "loop.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct loop {
	struct fuse_session *se;
	void (*after)(void *ctx);
	void *ctx;
	pthread_mutex_t lead;                  /* held by the leader */
	sem_t news;                            /* the session ended, or another thread is wanted */
	_Atomic unsigned waiting;              /* threads that would lead */
	_Atomic bool wanted;
	int rc;
};

static _Thread_local struct loop *led;         /* the loop this thread leads, or NULL */

void loop_let_go(void)
{
	struct loop *l = led;

	led = NULL;
	if (!l)
		return;
	pthread_mutex_unlock(&l->lead);
	if (!atomic_load(&l->waiting) && !atomic_exchange(&l->wanted, true))
		sem_post(&l->news);
}

static void free_room(void *arg)
{
	struct fuse_buf *room = arg;

	loop_let_go();                         /* cancelled while it waited for a request */
	free(room->mem);
}

static int take_request(struct loop *l, struct fuse_buf *room)
{
	int n;

	if (!led) {
		atomic_fetch_add(&l->waiting, 1);
		pthread_mutex_lock(&l->lead);
		atomic_fetch_sub(&l->waiting, 1);
		led = l;
	}
	if (fuse_session_exited(l->se))
		return 0;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	n = fuse_session_receive_buf(l->se, room);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return n;
}

static void *serve(void *arg)
{
	struct loop *l = arg;
	struct fuse_buf room = { 0 };
	int n;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_push(free_room, &room);
	while ((n = take_request(l, &room)) > 0 || n == -EINTR)
		if (n > 0) {
			fuse_session_process_buf(l->se, &room);
			l->after(l->ctx);
		}
	if (n < 0 && n != -ECONNABORTED)       /* that is how a forced unmount looks from here */
		l->rc = n;
	fuse_session_exit(l->se);
	sem_post(&l->news);
	pthread_cleanup_pop(1);
	return NULL;
}

/* Signals that end the session go to the thread that waits for its end. */
static int start(struct loop *l, pthread_t *thread)
{
	sigset_t ending, before;
	int rc;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ending, &before);
	rc = pthread_create(thread, NULL, serve, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

int loop_run(struct fuse_session *se, unsigned threads, void (*after)(void *ctx), void *ctx)
{
	struct loop l = { .se = se, .after = after, .ctx = ctx, .lead = PTHREAD_MUTEX_INITIALIZER };
	pthread_t *thread = calloc(threads, sizeof *thread);
	unsigned n = 0;
	int rc = thread ? 0 : -ENOMEM;

	sem_init(&l.news, 0, 0);
	if (!rc)
		rc = start(&l, &thread[0]);
	n = !rc;
	while (n && !fuse_session_exited(se)) {
		struct timespec until;

		if (atomic_exchange(&l.wanted, false) && n < threads && !start(&l, &thread[n]))
			n++;
		/* A signal that comes just before the wait does not end it. */
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		sem_timedwait(&l.news, &until);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_cancel(thread[i]);
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	fuse_session_reset(se);
	sem_destroy(&l.news);
	pthread_mutex_destroy(&l.lead);
	free(thread);
	return rc ? rc : l.rc;
}
