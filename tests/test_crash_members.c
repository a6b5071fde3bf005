/* Power loss at every step of a commit to an archive and files that belong to it, of taking such commits back, and of
 * what follows a crash: all files are what they were before or all what they are afterwards, also for readers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "crashed.h"
#include "crashio.h"


static const char *const names[FILES] = { "em01.mlp", "skin.tex", "em01.mgp", "base" };

struct scenario {
	edits before;                          /* a commit that is there already, or none */
	edits edit;                            /* the commit that is hit, or none: */
	unsigned undo;                         /* how many are taken back */
};

/* ---- commits ---- */

/* The files, opened together. */
struct family { struct archive *a[FILES]; };

static void close_family(struct family *f)
{
	for (unsigned i = FILES; i--;)
		if (f->a[i])
			archive_close(f->a[i]);
}

static int open_family(const char *dir, struct crashio *c, struct family *f)
{
	struct archive_options opt = { .write = c, .io = c ? &crashio_ops : NULL, .io_ctx = c };
	int rc = 0;

	*f = (struct family){ 0 };
	for (unsigned i = 0; i < FILES && !rc; i++) {
		opt.with = f->a[0];
		rc = archive_open(in(dir, names[i]), &opt, &f->a[i], NULL);
	}
	return rc;
}

static struct state shown(const struct family *f)
{
	struct state s;

	for (unsigned i = 0; i < FILES; i++)
		s.file[i] = source_bytes(archive_source(f->a[i]));
	return s;
}

static int commit(struct family *f, const edits edit)
{
	struct archive_change v[FILES];
	struct plan plan[FILES];
	size_t n = 0;
	int rc;

	for (unsigned i = 0; i < FILES; i++) {
		if (!edit[i])
			continue;
		plan_init(&plan[n], archive_source(f->a[i]));
		edit[i](&plan[n]);
		assert_int_equal(plan_settle(&plan[n], NULL), 0);
		v[n] = (struct archive_change){ f->a[i], &plan[n] };
		n++;
	}
	rc = archive_commit_all(v, n, "header.yaml", NULL, NULL, NULL);
	for (size_t i = 0; i < n; i++)
		plan_free(&plan[i]);
	return rc;
}

static int go(struct family *f, const struct scenario *s)
{
	unsigned done;

	return any(s->edit) ? commit(f, s->edit) : archive_undo(f->a[0], s->undo, &done, NULL);
}

static struct bytes file_bytes(const char *path)
{
	struct source *src;
	struct bytes b;

	assert_int_equal(src_file(path, &src, NULL), 0);
	b = source_bytes(src);
	src_put(src);
	return b;
}

static bool file_is(const char *path, const char *other)
{
	struct bytes a = file_bytes(path), b = file_bytes(other);
	bool is = same(a, b);

	free(a.p);
	free(b.p);
	return is;
}

/* ---- one scenario ---- */

struct run {
	const struct scenario *s;
	struct state first, before, after;
	unsigned long crashes;
};

static void make_first(struct run *r)
{
	struct family f;
	struct crashio *c;

	empty_dir(dir_first);
	first_files(names);
	c = crashio_new(dir_first);
	assert_int_equal(open_family(dir_first, c, &f), 0);
	r->first = shown(&f);
	if (any(r->s->before))
		assert_int_equal(commit(&f, r->s->before), 0);
	r->before = shown(&f);
	close_family(&f);
	crashio_free(c);
	copy_dir(dir_first, dir_work);
	c = crashio_new(dir_work);
	assert_int_equal(open_family(dir_work, c, &f), 0);
	assert_int_equal(go(&f, r->s), 0);
	close_family(&f);
	assert_int_equal(open_family(dir_work, c, &f), 0);
	r->after = shown(&f);
	close_family(&f);
	crashio_free(c);
}

static void check_disc(struct run *r, const char *dir, bool must)
{
	struct archive_options beside = { 0 };
	struct state read, now, last;
	struct archive *none;
	struct crashio *c;
	struct family f;
	unsigned done;

	r->crashes++;
	assert_int_equal(open_family(dir, NULL, &f), 0);
	beside.with = f.a[0];
	read = shown(&f);
	/* What is written anew must not become a file that was never there. */
	assert_int_equal(archive_open(in(dir, "none.ahi"), &beside, &none, NULL), -ENOENT);
	close_family(&f);
	c = crashio_new(dir);
	assert_int_equal(open_family(dir, c, &f), 0);
	for (unsigned i = 0; i < FILES; i++)
		assert_true(archive_writable(f.a[i], NULL));
	now = shown(&f);
	assert_true(same_state(&now, &r->after) || (!must && same_state(&now, &r->before)));
	assert_true(same_state(&read, &now));
	close_family(&f);
	/* All the way back, by who opens the archive alone. */
	struct archive_options opt = { .write = true };
	assert_int_equal(archive_open(in(dir, names[0]), &opt, &f.a[0], NULL), 0);
	assert_int_equal(archive_undo(f.a[0], 100, &done, NULL), 0);
	archive_close(f.a[0]);
	assert_int_equal(open_family(dir, NULL, &f), 0);
	last = shown(&f);
	assert_true(same_state(&last, &r->first));
	close_family(&f);
	assert_int_equal(files_in(dir), FILES);
	crashio_free(c);
	free_state(&now);
	free_state(&read);
	free_state(&last);
}

/* Opens what a crash has left and crashes again amid that. */
static void crash_again(struct run *r, bool must)
{
	bool through = false;

	for (unsigned k = 1; !through; k++) {
		struct crashio *c;
		struct family f;

		copy_dir(dir_disc, dir_work);
		c = crashio_new(dir_work);
		crashio_die(c, k);
		open_family(dir_work, c, &f);
		close_family(&f);
		through = crashio_steps(c) < k;
		crashio_crash(c, dir_again, k % 2 ? CRASH_LOST : CRASH_SOME, k * 5);
		check_disc(r, dir_again, must);
		crashio_free(c);
	}
}

static unsigned crash_at(struct run *r, unsigned k, bool *through)
{
	struct crashio *c;
	struct family f;
	unsigned steps;
	int rc;

	copy_dir(dir_first, dir_work);
	c = crashio_new(dir_work);
	assert_int_equal(open_family(dir_work, c, &f), 0);
	crashio_die(c, k);
	rc = go(&f, r->s);
	steps = crashio_steps(c);
	*through = steps < k;
	assert_true(!*through || !rc);
	if (rc == -EIO) {                      /* what is shown is one of the two as well */
		struct state now = shown(&f);

		assert_true(same_state(&now, &r->after) || same_state(&now, &r->before));
		free_state(&now);
	}
	close_family(&f);
	for (enum crash how = 0; how < CRASH_KINDS; how++) {
		crashio_crash(c, dir_disc, how, k);
		if (how == CRASH_KEPT && k % 2)
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
	unsigned steps = 0;

	make_first(&r);
	assert_false(same_state(&r.before, &r.after));
	for (unsigned k = 1; !through; k++)
		steps = crash_at(&r, k, &through);
	assert_true(steps >= least);           /* it was not over before it began */
	free_state(&r.first);
	free_state(&r.before);
	free_state(&r.after);
	print_message("[          ] %u steps, %lu discs\n", steps, r.crashes);
}

CRASH_TEST(commit_four, 18, .edit = { PATCH, GROW, CUT, PATCH })
CRASH_TEST(commit_members, 14, .before = { PATCH, PATCH, NULL, NULL }, .edit = { NULL, GROW, NULL, CUT })
CRASH_TEST(rewrite_one, 20, .edit = { PATCH, SHIFT, NULL, CUT })
CRASH_TEST(undo_rewrite, 10, .before = { PATCH, SHIFT, NULL, CUT }, .undo = 1)
CRASH_TEST(undo_four, 10, .before = { PATCH, GROW, CUT, PATCH }, .undo = 1)

/* ---- a journal of its own ---- */

/* A commit to the second file by who has opened it alone; k: it crashes at that step. */
static int commit_alone(struct crashio *c)
{
	struct archive_options opt = { .write = true, .io = &crashio_ops, .io_ctx = c };
	struct archive *a;
	struct plan plan;
	int rc = archive_open(in(dir_work, names[1]), &opt, &a, NULL);

	if (rc)
		return rc;
	plan_init(&plan, archive_source(a));
	edit_patch(&plan);
	assert_int_equal(plan_settle(&plan, NULL), 0);
	rc = archive_commit(a, &plan, "header.yaml", NULL, NULL, NULL);
	plan_free(&plan);
	archive_close(a);
	return rc;
}

static void expect_second(struct source *src, struct bytes was, struct bytes now, bool must)
{
	struct bytes b = source_bytes(src);

	assert_true(same(b, now) || (!must && same(b, was)));
	free(b.p);
}

/* Opened together, before and after its own journal is finished; then all change at once. */
static void check_alone(struct bytes was, struct bytes now, bool must)
{
	struct crashio *c = crashio_new(dir_disc);
	struct family f;

	assert_int_equal(open_family(dir_disc, NULL, &f), 0);
	expect_second(archive_source(f.a[1]), was, now, must);
	close_family(&f);
	assert_int_equal(open_family(dir_disc, c, &f), 0);
	expect_second(archive_source(f.a[1]), was, now, must);
	for (unsigned i = 0; i < FILES; i++)
		assert_true(archive_writable(f.a[i], NULL) && archive_belong(f.a[0], f.a[i]));
	assert_int_equal(commit(&f, (edits){ PATCH, CUT, GROW, NULL }), 0);
	close_family(&f);
	crashio_free(c);
}

static void finishes_own_journal(void **state)
{
	struct bytes was, now = { 0 };
	bool through = false;

	(void)state;
	empty_dir(dir_first);
	first_files(names);
	copy_dir(dir_first, dir_work);
	was = file_bytes(in(dir_work, names[1]));
	for (unsigned k = 0; !through; k++) {
		struct crashio *c;
		int rc;

		copy_dir(dir_first, dir_work);
		c = crashio_new(dir_work);
		crashio_die(c, k ? k : 1000);
		rc = commit_alone(c);
		through = k && crashio_steps(c) < k;
		if (!k)
			now = file_bytes(in(dir_work, names[1]));
		for (enum crash how = 0; how < CRASH_KINDS; how++) {
			crashio_crash(c, dir_disc, how, k);
			check_alone(was, now, !rc);
		}
		crashio_free(c);
	}
	free(was.p);
	free(now.p);
}

/* A journal that cannot be finished keeps its file apart. */
static void keeps_apart(void **state)
{
	struct bytes journal = first_bytes(9000, 1);
	struct family f;
	struct crashio *c;

	(void)state;
	empty_dir(dir_first);
	first_files(names);
	for (unsigned k = 4; ; k++) {          /* until its file is half written */
		copy_dir(dir_first, dir_work);
		c = crashio_new(dir_work);
		crashio_die(c, k);
		assert_int_not_equal(commit_alone(c), 0);
		crashio_free(c);
		if (!file_is(in(dir_work, names[1]), in(dir_first, names[1])))
			break;
	}
	write_bytes(in(dir_work, names[1]), journal);
	free(journal.p);
	c = crashio_new(dir_work);
	assert_int_equal(open_family(dir_work, c, &f), 0);
	assert_true(archive_writable(f.a[0], NULL) && archive_writable(f.a[2], NULL));
	assert_false(archive_writable(f.a[1], NULL) || archive_belong(f.a[0], f.a[1]));
	assert_true(archive_belong(f.a[0], f.a[2]));
	close_family(&f);
	crashio_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commit_four), cmocka_unit_test(commit_members), cmocka_unit_test(rewrite_one),
		cmocka_unit_test(undo_rewrite), cmocka_unit_test(undo_four),
		cmocka_unit_test(finishes_own_journal), cmocka_unit_test(keeps_apart),
	};

	return cmocka_run_group_tests(tests, crashed_start, crashed_end);
}
