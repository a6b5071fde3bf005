/* Power loss at every step of a commit, a rewrite, an undo and of what follows a crash: the archive is what it was
 * before or what it is afterwards, it is the latter once the call returned 0, and the way back to the first bytes is
 * open. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "crashed.h"
#include "crashio.h"

#define NAME "game.bin"
#define SIZE 9000u
#define HISTORY 4u                             /* states that a scenario leaves, the first one included */

static int commit(struct archive *a, edit_fn *edit)
{
	struct plan p;
	struct err e = { 0 };
	int rc;

	plan_init(&p, archive_source(a));
	edit(&p);
	assert_int_equal(plan_settle(&p, &e), 0);
	rc = archive_commit(a, &p, "a/b.yaml", NULL, NULL, &e);
	plan_free(&p);
	return rc;
}

struct scenario {
	edit_fn *before[HISTORY - 1];          /* commits that are there already */
	edit_fn *edit;                         /* the commit that is hit, or NULL: */
	unsigned undo;                         /* how many are taken back */
	bool noundo, no_links;
};

static int go(struct archive *a, const struct scenario *s)
{
	struct err e = { 0 };
	unsigned done;

	return s->edit ? commit(a, s->edit) : archive_undo(a, s->undo, &done, &e);
}

/* ---- looking ---- */

static struct archive *open_with(const char *dir, struct crashio *c, bool noundo, int *rc)
{
	struct archive_options opt = { .write = true, .noundo = noundo, .io = &crashio_ops, .io_ctx = c };
	struct archive *a = NULL;
	struct err e = { 0 };

	*rc = archive_open(in(dir, NAME), &opt, &a, &e);
	return a;
}

static struct bytes shown(struct archive *a)
{
	return source_bytes(archive_source(a));
}

static int count(void *ctx, const struct commit_info *c)
{
	(void)c;
	++*(unsigned *)ctx;
	return 0;
}

static unsigned commits(const char *dir)
{
	unsigned n = 0;
	struct err e = { 0 };

	assert_int_equal(archive_log(in(dir, NAME), count, &n, &e), 0);
	return n;
}

/* ---- one scenario ---- */

struct run {
	const struct scenario *s;
	struct bytes state[HISTORY + 1];       /* after each commit; the last is `after` of an edit */
	unsigned nstates, before, after;       /* indices */
	unsigned long crashes;
};

static void make_first(struct run *r)
{
	struct bytes first = first_bytes(SIZE, 0);
	struct crashio *c;
	struct archive *a;
	int rc;

	empty_dir(dir_first);
	write_bytes(in(dir_first, NAME), first);
	free(first.p);
	c = crashio_new(dir_first);
	if (r->s->no_links)
		crashio_no_links(c);
	a = open_with(dir_first, c, false, &rc);
	assert_int_equal(rc, 0);
	r->state[r->nstates++] = shown(a);
	for (unsigned i = 0; i < HISTORY - 1 && r->s->before[i]; i++) {
		assert_int_equal(commit(a, r->s->before[i]), 0);
		r->state[r->nstates++] = shown(a);
	}
	archive_close(a);
	crashio_free(c);
	r->before = r->nstates - 1;
	r->after = r->before - r->s->undo;
}

/* All the way back: the first bytes, and nothing else left in the directory. */
static void back_to_first(struct run *r, struct archive *a, const char *dir)
{
	unsigned done;
	struct err e = { 0 };
	struct bytes b;

	if (archive_undo(a, 100, &done, &e))
		fail_msg("undo: %s", e.text);
	b = shown(a);
	assert_true(same(b, r->state[0]));
	free(b.p);
	assert_int_equal(files_in(dir), 1);
}

static void check_disc(struct run *r, const char *dir, bool must)
{
	struct archive_options opt = { 0 };
	struct archive *a;
	struct err e = { 0 };
	const char *why;
	struct crashio *c;
	struct bytes read, b;
	bool is_new;
	int rc;

	r->crashes++;
	if (archive_open(in(dir, NAME), &opt, &a, &e))
		fail_msg("reading: %s", e.text);
	read = shown(a);
	archive_close(a);
	c = crashio_new(dir);
	a = open_with(dir, c, false, &rc);
	assert_int_equal(rc, 0);
	if (!archive_writable(a, &why))
		fail_msg("not writable: %s", why);
	b = shown(a);
	is_new = same(b, r->state[r->after]);
	assert_true(is_new || (!must && same(b, r->state[r->before])));
	assert_true(same(read, b));
	if (!r->s->noundo) {
		assert_int_equal(commits(dir), is_new ? r->after : r->before);
		back_to_first(r, a, dir);
	}
	archive_close(a);
	crashio_free(c);
	free(b.p);
	free(read.p);
}

/* Opens what a crash has left and crashes again, at every step of that. */
static void crash_again(struct run *r, bool must)
{
	for (unsigned k = 1;; k++) {
		struct crashio *c;
		struct archive *a;
		bool through;
		int rc;

		copy_dir(dir_disc, dir_work);
		c = crashio_new(dir_work);
		crashio_die(c, k);
		a = open_with(dir_work, c, r->s->noundo, &rc);
		through = crashio_steps(c) < k;
		if (a)
			archive_close(a);
		for (unsigned i = 0; i < 2; i++) {
			crashio_crash(c, dir_again, i ? CRASH_LOST : CRASH_SOME, k * 5);
			check_disc(r, dir_again, must);
		}
		crashio_free(c);
		if (through)
			break;
	}
}

static unsigned crash_at(struct run *r, unsigned k, bool *through)
{
	struct crashio *c;
	struct archive *a;
	unsigned steps;
	int rc;

	copy_dir(dir_first, dir_work);
	c = crashio_new(dir_work);
	if (r->s->no_links)
		crashio_no_links(c);
	a = open_with(dir_work, c, r->s->noundo, &rc);
	assert_int_equal(rc, 0);
	crashio_die(c, k);
	rc = go(a, r->s);
	steps = crashio_steps(c);
	*through = steps < k;
	assert_true(!*through || !rc);
	if (rc == -EIO && archive_source(a)->size) {   /* what is shown is one of the two as well */
		struct bytes b = shown(a);

		assert_true(same(b, r->state[r->after]) || same(b, r->state[r->before]));
		free(b.p);
	}
	archive_close(a);
	for (enum crash how = 0; how < CRASH_KINDS; how++)
		for (unsigned seed = 0; seed < (how >= CRASH_TORN ? 3 : 1); seed++) {
			crashio_crash(c, dir_disc, how, seed * 1000 + k);
			if (!seed && (how == CRASH_KEPT || how == CRASH_SOME))
				crash_again(r, !rc);
			check_disc(r, dir_disc, !rc);
		}
	crashio_free(c);
	return steps;
}

static void crash_everywhere(const struct scenario *s, unsigned least)
{
	struct run r = { .s = s };
	bool through = false;
	unsigned k, steps = 0;
	struct archive *a;
	struct crashio *c;
	int rc;

	make_first(&r);
	if (s->edit) {                         /* the state afterwards, without a crash */
		copy_dir(dir_first, dir_work);
		c = crashio_new(dir_work);
		a = open_with(dir_work, c, s->noundo, &rc);
		assert_int_equal(go(a, s), 0);
		r.after = r.nstates;
		r.state[r.nstates++] = shown(a);
		archive_close(a);
		crashio_free(c);
	}
	assert_false(same(r.state[r.before], r.state[r.after]));
	for (k = 1; !through; k++)
		steps = crash_at(&r, k, &through);
	assert_true(steps >= least);           /* it was not over before it began */
	for (unsigned i = 0; i < r.nstates; i++)
		free(r.state[i].p);
	print_message("[          ] %u steps, %lu discs\n", steps, r.crashes);
}

CRASH_TEST(commit_first, 12, .edit = edit_patch)
CRASH_TEST(commit_next, 12, .before = { edit_patch, edit_cut }, .edit = edit_grow)
CRASH_TEST(commit_cut, 12, .before = { edit_patch }, .edit = edit_cut)
CRASH_TEST(commit_noundo, 8, .edit = edit_grow, .noundo = true)
CRASH_TEST(rewrite, 14, .before = { edit_patch }, .edit = edit_shift)
CRASH_TEST(rewrite_twice, 14, .before = { edit_shift, edit_patch }, .edit = edit_shift)
CRASH_TEST(rewrite_noundo, 10, .edit = edit_shift, .noundo = true)
CRASH_TEST(rewrite_no_links, 14, .before = { edit_patch }, .edit = edit_shift, .no_links = true)
CRASH_TEST(undo_one, 8, .before = { edit_cut, edit_grow, edit_patch }, .undo = 1)
CRASH_TEST(undo_all, 8, .before = { edit_patch, edit_grow, edit_cut }, .undo = 3)
CRASH_TEST(undo_rewrite, 8, .before = { edit_patch, edit_shift }, .undo = 1)
CRASH_TEST(undo_over_rewrite, 8, .before = { edit_patch, edit_shift, edit_grow }, .undo = 3)
CRASH_TEST(undo_two_rewrites, 8, .before = { edit_shift, edit_patch, edit_shift }, .undo = 3)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commit_first), cmocka_unit_test(commit_next), cmocka_unit_test(commit_cut),
		cmocka_unit_test(commit_noundo), cmocka_unit_test(rewrite), cmocka_unit_test(rewrite_twice),
		cmocka_unit_test(rewrite_noundo), cmocka_unit_test(rewrite_no_links), cmocka_unit_test(undo_one),
		cmocka_unit_test(undo_all), cmocka_unit_test(undo_rewrite), cmocka_unit_test(undo_over_rewrite),
		cmocka_unit_test(undo_two_rewrites),
	};

	return cmocka_run_group_tests(tests, crashed_start, crashed_end);
}
