/* Power loss at every step of a commit to several files of a folder, of taking such commits back, and of what follows a
 * crash: all files are what they were before or all what they are afterwards, the latter once the call returned 0, and
 * the way back to the first bytes is open. */
#include <errno.h>
#include <fcntl.h>
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
#include "fileset.h"

#define HISTORY 4u                             /* states that a scenario leaves, the first one included */

static const char *const names[FILES] = { "em01.scp", "pl/em01.mlp", "pl/em01.mmp", "st/em01.mgp" };

struct scenario {
	edits before[HISTORY - 1];             /* commits that are there already */
	edits edit;                            /* the commit that is hit, or none: */
	unsigned undo;                         /* how many are taken back */
	bool noundo, no_links;
};

/* ---- states ---- */

static struct source *open_file(struct fileset *fs, const char *path)
{
	int fd = fileset_open_file(fs, path, O_RDONLY);
	struct source *file = NULL, *shown;

	if (fd >= 0)
		assert_int_equal(src_fd(fd, &file, NULL), 0);
	assert_int_equal(fileset_through(fs, path, file, &shown, NULL), 0);
	src_put(file);
	return shown;
}

static struct state shown(struct fileset *fs)
{
	struct state s;

	for (unsigned i = 0; i < FILES; i++) {
		struct source *src = open_file(fs, names[i]);

		s.file[i] = source_bytes(src);
		src_put(src);
	}
	return s;
}

/* ---- commits ---- */

static int commit(struct fileset *fs, const edits edit)
{
	struct file_change v[FILES] = { 0 };
	struct source *src[FILES] = { 0 };
	struct plan plan[FILES];
	struct err e = { 0 };
	size_t n = 0;
	int rc;

	for (unsigned i = 0; i < FILES; i++) {
		if (!edit[i])
			continue;
		src[n] = open_file(fs, names[i]);
		plan_init(&plan[n], src[n]);
		edit[i](&plan[n]);
		assert_int_equal(plan_settle(&plan[n], &e), 0);
		v[n].path = names[i];
		v[n].plan = &plan[n];
		assert_int_equal(fstat(src_file_fd(src[n]), &v[n].was), 0);
		n++;
	}
	rc = fileset_commit(fs, v, n, "em01/model.yaml", NULL, NULL, &e);
	for (size_t i = 0; i < n; i++) {
		plan_free(&plan[i]);
		src_put(src[i]);
	}
	return rc;
}

static int go(struct fileset *fs, const struct scenario *s)
{
	struct err e = { 0 };
	unsigned done;

	return any(s->edit) ? commit(fs, s->edit) : fileset_undo(fs, s->undo, &done, &e);
}

static struct fileset *open_dir(const char *dir, struct crashio *c, bool noundo, int *rc)
{
	struct fileset_options opt = {
		.write = c, .noundo = noundo, .io = c ? &crashio_ops : NULL, .io_ctx = c
	};
	struct fileset *fs = NULL;
	struct err e = { 0 };
	int fd = open(dir, O_PATH | O_DIRECTORY);

	assert_true(fd >= 0);
	*rc = fileset_open(fd, dir, &opt, &fs, &e);
	close(fd);
	return fs;
}

static int count(void *ctx, const struct commit_info *c)
{
	(void)c;
	++*(unsigned *)ctx;
	return 0;
}

static unsigned commits(const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY);
	unsigned n = 0;
	struct err e = { 0 };

	assert_int_equal(fileset_log(fd, dir, count, &n, &e), 0);
	close(fd);
	return n;
}

/* ---- one scenario ---- */

struct run {
	const struct scenario *s;
	struct state state[HISTORY + 1];       /* after each commit; the last is `after` of an edit */
	unsigned nstates, before, after;       /* indices */
	unsigned long crashes;
};

static void make_first(struct run *r)
{
	struct crashio *c;
	struct fileset *fs;
	int rc;

	empty_dir(dir_first);
	assert_false(mkdir(in(dir_first, "pl"), 0700) || mkdir(in(dir_first, "st"), 0700));
	first_files(names);
	c = crashio_new(dir_first);
	if (r->s->no_links)
		crashio_no_links(c);
	fs = open_dir(dir_first, c, false, &rc);
	assert_int_equal(rc, 0);
	r->state[r->nstates++] = shown(fs);
	for (unsigned i = 0; i < HISTORY - 1 && any(r->s->before[i]); i++) {
		assert_int_equal(commit(fs, r->s->before[i]), 0);
		r->state[r->nstates++] = shown(fs);
	}
	fileset_close(fs);
	crashio_free(c);
	r->before = r->nstates - 1;
	r->after = r->before - r->s->undo;
}

/* All the way back: the first bytes, and nothing else left but the lock. */
static void back_to_first(struct run *r, struct fileset *fs, const char *dir)
{
	unsigned done;
	struct err e = { 0 };
	struct state now;

	if (fileset_undo(fs, 100, &done, &e))
		fail_msg("undo: %s", e.text);
	now = shown(fs);
	assert_true(same_state(&now, &r->state[0]));
	free_state(&now);
	assert_int_equal(files_in(dir), FILES + 1);
}

static void check_disc(struct run *r, const char *dir, bool must)
{
	struct state read, now;
	struct crashio *c;
	struct fileset *fs;
	const char *why;
	bool is_new;
	int rc;

	r->crashes++;
	fs = open_dir(dir, NULL, false, &rc);
	assert_int_equal(rc, 0);
	read = shown(fs);
	fileset_close(fs);
	c = crashio_new(dir);
	fs = open_dir(dir, c, false, &rc);
	assert_int_equal(rc, 0);
	if (!fileset_writable(fs, &why))
		fail_msg("not writable: %s", why);
	assert_false(fileset_pending(fs));
	now = shown(fs);
	is_new = same_state(&now, &r->state[r->after]);
	assert_true(is_new || (!must && same_state(&now, &r->state[r->before])));
	assert_true(same_state(&read, &now));
	if (!r->s->noundo) {
		assert_int_equal(commits(dir), is_new ? r->after : r->before);
		back_to_first(r, fs, dir);
	}
	fileset_close(fs);
	if (!r->s->noundo)
		assert_int_equal(files_in(dir), FILES);
	crashio_free(c);
	free_state(&now);
	free_state(&read);
}

/* Opens what a crash has left and crashes again, at every second step of that: the other ones come after the crash at
 * the next step. */
static void crash_again(struct run *r, unsigned first, bool must)
{
	for (unsigned k = first;; k += 2) {
		struct crashio *c;
		struct fileset *fs;
		bool through;
		int rc;

		copy_dir(dir_disc, dir_work);
		c = crashio_new(dir_work);
		crashio_die(c, k);
		fs = open_dir(dir_work, c, r->s->noundo, &rc);
		if (fs)
			fileset_close(fs);
		through = crashio_steps(c) < k;
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
	struct fileset *fs;
	unsigned steps;
	int rc;

	copy_dir(dir_first, dir_work);
	c = crashio_new(dir_work);
	if (r->s->no_links)
		crashio_no_links(c);
	fs = open_dir(dir_work, c, r->s->noundo, &rc);
	assert_int_equal(rc, 0);
	crashio_die(c, k);
	rc = go(fs, r->s);
	steps = crashio_steps(c);
	*through = steps < k;
	assert_true(!*through || !rc);
	if (rc == -EIO) {                      /* what is shown is one of the two as well */
		struct state now = shown(fs);

		assert_true(same_state(&now, &r->state[r->after]) || same_state(&now, &r->state[r->before]));
		free_state(&now);
	}
	fileset_close(fs);
	for (enum crash how = 0; how < CRASH_KINDS; how++)
		for (unsigned seed = 0; seed < (how >= CRASH_TORN ? 2 : 1); seed++) {
			crashio_crash(c, dir_disc, how, seed * 1000 + k);
			if (!seed && (how == CRASH_KEPT || how == CRASH_SOME))
				crash_again(r, 1 + (k + (how == CRASH_SOME)) % 2, !rc);
			check_disc(r, dir_disc, !rc);
		}
	crashio_free(c);
	return steps;
}

/* The state afterwards, without a crash. */
static void make_after(struct run *r)
{
	struct fileset *fs;
	struct crashio *c;
	int rc;

	copy_dir(dir_first, dir_work);
	c = crashio_new(dir_work);
	fs = open_dir(dir_work, c, r->s->noundo, &rc);
	assert_int_equal(go(fs, r->s), 0);
	r->after = r->nstates;
	r->state[r->nstates++] = shown(fs);
	fileset_close(fs);
	crashio_free(c);
}

static void crash_everywhere(const struct scenario *s, unsigned least)
{
	struct run r = { .s = s };
	bool through = false;
	unsigned steps = 0;

	make_first(&r);
	if (any(s->edit))
		make_after(&r);
	assert_false(same_state(&r.state[r.before], &r.state[r.after]));
	for (unsigned k = 1; !through; k++)
		steps = crash_at(&r, k, &through);
	assert_true(steps >= least);           /* it was not over before it began */
	for (unsigned i = 0; i < r.nstates; i++)
		free_state(&r.state[i]);
	print_message("[          ] %u steps, %lu discs\n", steps, r.crashes);
}

/* Steps at least: one write and one sync for each file, besides what one file takes. */
CRASH_TEST(commit_one, 12, .edit = { NULL, NULL, PATCH, NULL })
CRASH_TEST(commit_four, 18, .edit = { PATCH, GROW, CUT, PATCH })
CRASH_TEST(commit_next, 18, .before = { { CUT, PATCH, NULL, GROW }, { NULL, NULL, GROW, CUT } },
	   .edit = { GROW, PATCH, PATCH, PATCH })
CRASH_TEST(commit_noundo, 14, .edit = { PATCH, PATCH, GROW, CUT }, .noundo = true)
CRASH_TEST(rewrite, 20, .before = { { PATCH, NULL, NULL, PATCH } }, .edit = { PATCH, PATCH, SHIFT, GROW })
CRASH_TEST(rewrite_top, 20, .edit = { SHIFT, PATCH, NULL, PATCH })
CRASH_TEST(rewrite_noundo, 16, .edit = { NULL, SHIFT, PATCH, NULL }, .noundo = true)
CRASH_TEST(rewrite_no_links, 20, .before = { { PATCH } }, .edit = { PATCH, SHIFT, PATCH, NULL }, .no_links = true)
CRASH_TEST(undo_all, 10, .before = { { PATCH, GROW, NULL, NULL }, { NULL, CUT, PATCH, NULL },
				     { GROW, NULL, NULL, CUT } }, .undo = 3)
CRASH_TEST(undo_rewrites, 10, .before = { { PATCH, SHIFT, NULL, NULL }, { PATCH, GROW, NULL, SHIFT },
					  { NULL, SHIFT, GROW, NULL } }, .undo = 3)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commit_one), cmocka_unit_test(commit_four), cmocka_unit_test(commit_next),
		cmocka_unit_test(commit_noundo), cmocka_unit_test(rewrite), cmocka_unit_test(rewrite_top),
		cmocka_unit_test(rewrite_noundo), cmocka_unit_test(rewrite_no_links),
		cmocka_unit_test(undo_all), cmocka_unit_test(undo_rewrites),
	};

	return cmocka_run_group_tests(tests, crashed_start, crashed_end);
}
