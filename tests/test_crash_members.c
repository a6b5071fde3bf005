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


static const char *const names[FILES] = { "em01.mlp", "em01.MMP", "em01.mgp", "em01.scp" };

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
	struct state read, now, last;
	struct crashio *c;
	struct family f;
	unsigned done;

	r->crashes++;
	assert_int_equal(open_family(dir, NULL, &f), 0);
	read = shown(&f);
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
CRASH_TEST(undo_four, 10, .before = { PATCH, GROW, CUT, PATCH }, .undo = 1)

static bool file_is(const char *path, struct bytes b)
{
	struct source *src;
	struct bytes now;
	bool is;

	assert_int_equal(src_file(path, &src, NULL), 0);
	now = source_bytes(src);
	is = same(now, b);
	src_put(src);
	free(now.p);
	return is;
}

/* Leaves a complete journal in dir_work: one of the files is written already. */
static void leave_journal(struct bytes was)
{
	int rc = 0;

	for (unsigned k = 1; rc != -EIO || file_is(in(dir_work, names[0]), was); k++) {
		struct crashio *c;
		struct family f;

		copy_dir(dir_first, dir_work);
		c = crashio_new(dir_work);
		assert_int_equal(open_family(dir_work, c, &f), 0);
		crashio_die(c, k);
		rc = commit(&f, (edits){ PATCH, PATCH, NULL, NULL });
		assert_int_not_equal(rc, 0);
		close_family(&f);
		crashio_free(c);
	}
}

/* A journal that names what does not belong to the archive leads nowhere. */
static void foreign_journal(void **state)
{
	struct archive_options opt = { .write = true };
	struct bytes b = first_bytes(9000, 1);
	struct archive *a;
	const char *why;

	(void)state;
	empty_dir(dir_first);
	for (unsigned i = 0; i < FILES; i++)
		write_bytes(in(dir_first, names[i]), b);
	leave_journal(b);
	write_bytes(in(dir_work, "em01.MMP"), b);
	assert_int_equal(rename(in(dir_work, ".em01.mlp.modelfs-journal"),
				in(dir_work, ".other.mlp.modelfs-journal")), 0);
	assert_int_equal(rename(in(dir_work, "em01.mlp"), in(dir_work, "other.mlp")), 0);
	assert_int_equal(archive_open(in(dir_work, "other.mlp"), &opt, &a, NULL), 0);
	assert_false(archive_writable(a, &why));
	assert_non_null(strstr(why, "em01.MMP"));
	archive_close(a);
	assert_true(file_is(in(dir_work, "em01.MMP"), b));
	free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commit_four), cmocka_unit_test(commit_members), cmocka_unit_test(undo_four),
		cmocka_unit_test(foreign_journal),
	};

	return cmocka_run_group_tests(tests, crashed_start, crashed_end);
}
