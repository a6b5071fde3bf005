#define FUSE_USE_VERSION 312
#include "notify.h"

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct notifier {
	struct fuse_session *se;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	uint64_t *ids;                         /* that wait */
	size_t count, room;
	uint64_t asked, answered;              /* calls so far; those whose ids have all been sent */
	bool stop;
};

static void *run(void *arg)
{
	struct notifier *n = arg;

	pthread_mutex_lock(&n->lock);
	for (;;) {
		uint64_t *ids, upto;
		size_t count;

		while (!n->count && !n->stop)
			pthread_cond_wait(&n->wake, &n->lock);
		if (n->stop)
			break;
		ids = n->ids;
		count = n->count;
		upto = n->asked;
		n->ids = NULL;
		n->count = n->room = 0;
		pthread_mutex_unlock(&n->lock);
		for (size_t i = 0; i < count; i++)
			fuse_lowlevel_notify_inval_inode(n->se, ids[i], 0, 0);
		free(ids);
		pthread_mutex_lock(&n->lock);
		n->answered = upto;
		pthread_cond_broadcast(&n->done);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

struct notifier *notifier_start(struct fuse_session *se)
{
	struct notifier *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->se = se;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->wake, NULL);
	pthread_cond_init(&n->done, NULL);
	if (!pthread_create(&n->thread, NULL, run, n))
		return n;
	pthread_mutex_destroy(&n->lock);
	pthread_cond_destroy(&n->wake);
	pthread_cond_destroy(&n->done);
	free(n);
	return NULL;
}

void notifier_stop(struct notifier *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_signal(&n->wake);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	pthread_mutex_destroy(&n->lock);
	pthread_cond_destroy(&n->wake);
	pthread_cond_destroy(&n->done);
	free(n->ids);
	free(n);
}

static bool add(struct notifier *n, const uint64_t *ids, size_t count)
{
	uint64_t *v;

	if (n->room - n->count < count) {
		v = realloc(n->ids, (n->count + count) * sizeof *v);
		if (!v)
			return false;
		n->ids = v;
		n->room = n->count + count;
	}
	memcpy(n->ids + n->count, ids, count * sizeof *ids);
	n->count += count;
	return true;
}

void notifier_drop(struct notifier *n, const uint64_t *ids, size_t count)
{
	struct timespec until;
	uint64_t mine;

	if (!n || !count)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += NOTIFY_PATIENCE_MS * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&n->lock);
	if (add(n, ids, count)) {
		mine = ++n->asked;
		pthread_cond_signal(&n->wake);
		while (n->answered < mine && !pthread_cond_timedwait(&n->done, &n->lock, &until))
			;
	}
	pthread_mutex_unlock(&n->lock);
}
