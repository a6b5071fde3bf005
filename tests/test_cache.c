/* The cache: made once whoever asks, dropped least recently used first, failures not remembered. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "cache.h"

static _Atomic unsigned made, dropped;

struct wish { unsigned number, cost, pause; int fail; };

static int make(void *ctx, void **value, size_t *cost, struct err *e)
{
	const struct wish *w = ctx;
	unsigned *v;

	if (w->pause)
		usleep(w->pause);
	atomic_fetch_add(&made, 1);
	if (w->fail)
		return err_set(e, w->fail, "no");
	v = malloc(sizeof *v);
	*v = w->number;
	*value = v;
	*cost = w->cost;
	return 0;
}

static void drop(void *value)
{
	atomic_fetch_add(&dropped, 1);
	free(value);
}

static const struct cache_maker maker = { make, drop };

static unsigned get(struct cache *c, struct wish w)
{
	struct cache_key key = { .unit = w.number / 10, .index = w.number % 10, .kind = 1 };
	struct cached *v;
	unsigned value;

	assert_int_equal(cache_get(c, &key, &maker, &w, &v, NULL), 0);
	value = *(unsigned *)cached_value(v);
	cached_put(v);
	return value;
}

static void test_least_recently_used(void **state)
{
	struct cache *c = cache_new(5000, NULL);

	(void)state;
	made = dropped = 0;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(get(c, (struct wish){ .number = i, .cost = 1000 }), i);
	assert_int_equal(made, 4);
	get(c, (struct wish){ .number = 0, .cost = 1000 });            /* now 1 is the oldest */
	assert_int_equal(made, 4);
	get(c, (struct wish){ .number = 4, .cost = 1000 });
	assert_int_equal(dropped, 1);
	get(c, (struct wish){ .number = 0, .cost = 1000 });
	assert_int_equal(made, 5);
	get(c, (struct wish){ .number = 1, .cost = 1000 });
	assert_int_equal(made, 6);
	cache_free(c);
	assert_int_equal(dropped, made);
}

static void test_larger_than_the_limit(void **state)
{
	struct cache *c = cache_new(100, NULL);
	struct cache_key key = { .unit = 1 };
	struct wish w = { .number = 7, .cost = 100000 };
	struct cached *v;

	(void)state;
	made = dropped = 0;
	assert_int_equal(cache_get(c, &key, &maker, &w, &v, NULL), 0);
	assert_int_equal(*(unsigned *)cached_value(v), 7);             /* out of the cache, still held */
	assert_int_equal(dropped, 0);
	cached_put(v);
	assert_int_equal(dropped, 1);
	cache_free(c);
}

static void test_failures(void **state)
{
	struct cache *c = cache_new(1000, NULL);
	struct cache_key key = { .unit = 1 };
	struct wish w = { .number = 1, .cost = 10, .fail = EBADMSG };
	struct cached *v;
	struct err e = { 0 };

	(void)state;
	made = dropped = 0;
	assert_int_equal(cache_get(c, &key, &maker, &w, &v, &e), -EBADMSG);
	assert_string_equal(e.text, "no");
	w.fail = 0;
	assert_int_equal(cache_get(c, &key, &maker, &w, &v, &e), 0);
	cached_put(v);
	assert_int_equal(made, 2);
	cache_free(c);
	assert_int_equal(dropped, 1);
}

static void *reader(void *c)
{
	unsigned seed = (unsigned)(uintptr_t)&seed;

	for (unsigned i = 0; i < 300; i++) {
		unsigned n = (unsigned)rand_r(&seed) % 40;

		if (get(c, (struct wish){ .number = n, .cost = 100, .pause = n % 7 ? 0 : 50 }) != n)
			abort();
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct cache *c = cache_new(3000, NULL);
	pthread_t t[8];

	(void)state;
	made = dropped = 0;
	for (unsigned i = 0; i < ARRAY_LEN(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, reader, c), 0);
	for (unsigned i = 0; i < ARRAY_LEN(t); i++)
		pthread_join(t[i], NULL);
	cache_free(c);
	assert_int_equal(dropped, made);
}

static void *asker(void *c)
{
	if (get(c, (struct wish){ .number = 5, .cost = 1, .pause = 20000 }) != 5)
		abort();
	return NULL;
}

static void test_made_once(void **state)
{
	struct cache *c = cache_new(3000, NULL);
	pthread_t t[8];

	(void)state;
	made = 0;
	for (unsigned i = 0; i < ARRAY_LEN(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, asker, c), 0);
	for (unsigned i = 0; i < ARRAY_LEN(t); i++)
		pthread_join(t[i], NULL);
	assert_int_equal(made, 1);
	cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least_recently_used), cmocka_unit_test(test_larger_than_the_limit),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_threads), cmocka_unit_test(test_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
