/* Edits of models of several files: what they change, all of it or nothing, and what is shown afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "archive.h"
#include "build_arc.h"
#include "build.h"
#include "bytes.h"
#include "crashio.h"
#include "draft.h"
#include "fileset.h"
#include "shown_quad.h"
#include "unit.h"

#define ENOUGH 96u

/* A model before and after an edit, and what a container of it is then; of stamps 7 and 9. */
struct both { struct quad_files was, now; struct buf held, after; };

static void build_both(struct both *b, uint32_t parts_was, uint32_t parts_now)
{
	*b = (struct both){ .held = { 0 } };
	quad_build(&b->was, parts_was, 7, QUAD_ALL);
	quad_build(&b->now, parts_now, 9, QUAD_ALL);
}

static void free_both(struct both *b)
{
	quad_free(&b->was);
	quad_free(&b->now);
	buf_free(&b->held);
	buf_free(&b->after);
}

/* Writes a value into header.yaml. */
static int save_key(struct tree *t, const char *dir, const char *key, uint32_t value, struct err *why)
{
	char path[ENOUGH], text[64];

	snprintf(path, sizeof path, "%s%sheader.yaml", dir, *dir ? "/" : "");
	snprintf(text, sizeof text, "%s: %u\n", key, value);
	return shown_save(t, path, text, strlen(text), why);
}

static struct stat stat_of(const char *name)
{
	struct stat st;

	assert_int_equal(stat(shown_at(name), &st), 0);
	return st;
}

/* ---- a folder ---- */

struct counted { unsigned commits; uint32_t files; uint64_t changed; };

static int count(void *ctx, const struct commit_info *c)
{
	struct counted *n = ctx;

	n->commits++;
	n->files = c->files;
	n->changed = c->changed;
	return 0;
}

static struct counted folder_log(void)
{
	int fd = open(shown_at(""), O_RDONLY | O_DIRECTORY);
	struct counted n = { 0 };

	assert_int_equal(fileset_log(fd, shown_at(""), count, &n, NULL), 0);
	close(fd);
	return n;
}

static void folder_undo(void)
{
	struct fileset_options opt = { .write = true };
	int fd = open(shown_at(""), O_RDONLY | O_DIRECTORY);
	struct fileset *fs;
	unsigned done;

	assert_int_equal(fileset_open(fd, shown_at(""), &opt, &fs, NULL), 0);
	assert_int_equal(fileset_undo(fs, 1, &done, NULL), 0);
	assert_int_equal(done, 1);
	fileset_close(fs);
	close(fd);
}

static void all_files_at_once(void **state)
{
	struct both b;
	struct tree *t;

	(void)state;
	build_both(&b, 2, 2);
	write_quad(&b.was, "m");
	t = shown_open("", true);
	assert_true(wholes_are(t, &b.was, "m.qda"));
	assert_int_equal(save_key(t, "m.qda", "stamp", 9, NULL), 0);
	assert_true(files_are(&b.now, "m"));
	assert_true(wholes_are(t, &b.now, "m.qda"));
	assert_true(shown_says(t, "m.qda/header.yaml", "stamp: 9"));
	assert_int_equal(folder_log().commits, 1);
	assert_int_equal(folder_log().files, 4);
	assert_int_equal(folder_log().changed, 4);     /* 7 to 9 in each */
	assert_int_equal(save_key(t, "m.qda", "stamp", 9, NULL), 0);
	assert_int_equal(folder_log().commits, 1);
	tree_close(t);
	folder_undo();
	assert_true(files_are(&b.was, "m"));
	free_both(&b);
}

static void one_of_them(void **state)
{
	struct quad_files q;
	struct stat before, after;
	struct err why = { 0 };
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	write_quad(&q, "m");
	t = shown_open("", true);
	before = stat_of("m.qda");
	assert_int_equal(shown_save(t, "m.qda/raw/part-1/b.bin", "0123456789abcdef", 16, NULL), 0);
	memcpy(q.f[1].p + 20, "0123456789abcdef", 16);
	assert_true(files_are(&q, "m"));
	assert_true(wholes_are(t, &q, "m.qda"));
	after = stat_of("m.qda");
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	assert_int_equal(folder_log().files, 1);
	assert_int_equal(shown_save(t, "m.qda/raw/part-1/b.bin", "short", 5, &why), -EINVAL);
	assert_string_equal(why.text, "16 bytes needed, got 5");

	/* All of a member: checked, and of any size. */
	put_le32(q.f[1].p, 8);
	assert_int_equal(shown_save(t, "m.qda/raw/whole.qdb", q.f[1].p, q.f[1].len, &why), -EINVAL);
	assert_string_equal(why.text, "stamp 8 in the .qdb, 7 in the .qda");
	put_le32(q.f[1].p, 7);
	assert_int_equal(shown_save(t, "m.qda/raw/whole.qdb", q.f[1].p, 30, &why), -EINVAL);
	assert_string_equal(why.text, "it would be damaged: part 1 lies outside its file");
	assert_int_equal(shown_save(t, "m.qda/raw/whole.qdd", q.f[3].p, 3, NULL), 0);
	q.f[3].len = 3;
	assert_true(files_are(&q, "m"));
	assert_true(wholes_are(t, &q, "m.qda"));
	tree_close(t);
	quad_free(&q);
}

static void sizes(void **state)
{
	struct quad_files q;
	struct err why = { 0 };
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	write_quad(&q, "m");
	t = shown_open("", true);
	assert_int_equal(save_key(t, "m.qda", "b_size", 40, &why), -ENOSPC);
	assert_non_null(strstr(why.text, "4 bytes are missing"));
	assert_int_equal(save_key(t, "m.qda", "b_size", 30, &why), -EINVAL);
	assert_true(files_are(&q, "m"));
	tree_close(t);
	t = shown_open_growing("");
	assert_int_equal(save_key(t, "m.qda", "b_size", 40, NULL), 0);
	put32(&q.f[1], 0);
	assert_true(files_are(&q, "m"));
	assert_true(wholes_are(t, &q, "m.qda"));
	tree_close(t);
	folder_undo();
	q.f[1].len -= 4;
	assert_true(files_are(&q, "m"));
	quad_free(&q);
}

/* What another program did to a member in between is not overwritten. */
static void changed_by_others(void **state)
{
	struct quad_files q;
	struct err why = { 0 };
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	write_quad(&q, "m");
	t = shown_open("", true);
	assert_true(wholes_are(t, &q, "m.qda"));
	memcpy(q.f[2].p + 4, "C0000000", 8);
	struct node n;
	assert_int_equal(shown_enter(t, "m.qda/header.yaml", &n), 0);
	tree_leave(t);
	shown_write("m.qdc", &q.f[2]);
	struct store *text = store_new(NULL, &t->stored);
	assert_int_equal(store_write(text, "stamp: 9\n", 9, 0), 0);
	assert_int_equal(tree_save(t, &n, text, NULL, &why), -ESTALE);
	assert_true(files_are(&q, "m"));
	assert_true(wholes_are(t, &q, "m.qda"));
	assert_int_equal(tree_save(t, &n, text, NULL, &why), 0);
	for (unsigned k = 0; k < 4; k++)
		put_le32(q.f[k].p + (k ? 0 : 8), 9);
	assert_true(files_are(&q, "m"));
	store_free(text);
	tree_close(t);
	quad_free(&q);
}

/* Commits other files in place of those of m, until all calls fail from a step on. */
static int commit_files(const struct quad_files *now, unsigned step)
{
	struct file_change v[4] = { 0 };
	struct crashio *c = crashio_new(shown_at(""));
	struct fileset_options opt = { .write = true, .io = &crashio_ops, .io_ctx = c };
	int fd = open(shown_at(""), O_RDONLY | O_DIRECTORY), rc;
	struct source *src[4];
	struct plan plan[4];
	char name[4][8];
	struct fileset *fs;

	assert_int_equal(fileset_open(fd, shown_at(""), &opt, &fs, NULL), 0);
	for (unsigned k = 0; k < 4; k++) {
		snprintf(name[k], sizeof name[k], "m.%s", quad_ext[k]);
		assert_int_equal(src_file(shown_at(name[k]), &src[k], NULL), 0);
		plan_init(&plan[k], src[k]);
		assert_int_equal(plan_resize(&plan[k], now->f[k].len), 0);
		assert_int_equal(plan_write(&plan[k], 0, now->f[k].p, now->f[k].len), 0);
		assert_int_equal(plan_settle(&plan[k], NULL), 0);
		v[k] = (struct file_change){ .path = name[k], .was = stat_of(name[k]), .plan = &plan[k] };
	}
	crashio_die(c, step);
	rc = fileset_commit(fs, v, 4, "m", NULL, NULL, NULL);
	for (unsigned k = 0; k < 4; k++) {
		plan_free(&plan[k]);
		src_put(src[k]);
	}
	fileset_close(fs);
	close(fd);
	crashio_free(c);
	return rc;
}

/* A commit that died amid its files is shown as if it had not, to who only reads too: also where the files are no model
 * as they are. */
static void amid_a_commit(void **state)
{
	struct both b;
	unsigned step = 1;
	struct tree *t;

	(void)state;
	build_both(&b, 300, 200);
	do {
		unlink(shown_at(".modelfs-journal"));
		write_quad(&b.was, "m");
	} while (commit_files(&b.now, step++) != -EIO || shown_file_is("m.qda", &b.was.f[0]) ||
	       shown_file_is("m.qda", &b.now.f[0]));
	assert_true(shown_file_is("m.qdc", &b.was.f[2]));
	t = shown_open("", false);
	assert_non_null(strstr(shown_list(t, "m.qda/raw"), "part-198/ part-199/"));
	assert_true(wholes_are(t, &b.now, "m.qda"));
	tree_close(t);
	assert_true(shown_file_is("m.qdc", &b.was.f[2]));
	t = shown_open("", true);              /* finishes it */
	assert_true(wholes_are(t, &b.now, "m.qda"));
	tree_close(t);
	assert_true(files_are(&b.now, "m"));
	free_both(&b);
}

/* ---- a lone file ---- */

static void beside_a_lone_file(void **state)
{
	struct archive_options opt = { .write = true };
	struct both b;
	struct counted n = { 0 };
	struct archive *a;
	struct tree *t;
	unsigned done;

	(void)state;
	build_both(&b, 2, 2);
	write_quad(&b.was, "m");
	t = shown_open("m.qda", true);
	assert_int_equal(save_key(t, "", "stamp", 9, NULL), 0);
	assert_true(files_are(&b.now, "m"));
	assert_true(wholes_are(t, &b.now, ""));
	assert_int_equal(shown_save(t, "raw/part-0/c.bin", "CCCCCCCC", 8, NULL), 0);
	memcpy(b.now.f[2].p + 4, "CCCCCCCC", 8);
	assert_true(files_are(&b.now, "m"));
	assert_true(wholes_are(t, &b.now, ""));
	tree_close(t);
	assert_int_equal(archive_log(shown_at("m.qda"), count, &n, NULL), 0);
	assert_int_equal(n.commits, 2);
	assert_int_equal(archive_open(shown_at("m.qda"), &opt, &a, NULL), 0);
	assert_int_equal(archive_undo(a, 2, &done, NULL), 0);
	assert_int_equal(done, 2);
	archive_close(a);
	assert_true(files_are(&b.was, "m"));
	free_both(&b);
}

/* ---- containers ---- */

static void in_box(void **state)
{
	struct both b;
	struct err why = { 0 };
	struct tree *t;

	(void)state;
	build_both(&b, 2, 2);
	struct quad_entry v[] = {
		{ "x/m.qda", &b.was.f[0] }, { "x/m.qdb", &b.was.f[1] }, { "x/m.qdc", &b.was.f[2] },
		{ "x/m.qdd", &b.was.f[3] }, { "end", &b.was.f[3] },
	};
	box_build(&b.held, v, 5, 8);
	shown_write("a.box", &b.held);
	t = shown_open("a.box", true);
	assert_true(wholes_are(t, &b.was, "x/m.qda"));
	assert_int_equal(save_key(t, "x/m.qda", "stamp", 9, NULL), 0);
	assert_true(wholes_are(t, &b.now, "x/m.qda"));
	for (unsigned k = 0; k < 4; k++)
		v[k].bytes = &b.now.f[k];
	box_build(&b.after, v, 5, 8);
	assert_true(shown_file_is("a.box", &b.after));

	/* Into the slack behind it, and no further. */
	assert_int_equal(save_key(t, "x/m.qda", "b_size", 44, NULL), 0);
	put32(&b.now.f[1], 0);
	put32(&b.now.f[1], 0);
	assert_true(wholes_are(t, &b.now, "x/m.qda"));
	assert_int_equal(save_key(t, "x/m.qda", "b_size", 45, &why), -ENOSPC);
	assert_string_equal(why.text, "1 bytes are missing");
	assert_int_equal(shown_save(t, "x/m.qda/raw/whole.qdb", b.now.f[1].p, 40, NULL), 0);
	b.now.f[1].len = 40;
	assert_true(wholes_are(t, &b.now, "x/m.qda"));
	tree_close(t);
	free_both(&b);
}

/* A model that becomes one, or none, hides and shows its members. */
static void plain_entries(void **state)
{
	struct quad_files q, bad;
	struct buf box = { 0 };
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	quad_build(&bad, 2, 7, QUAD_ALL);
	put_le32(bad.f[0].p + 4, 200);
	struct quad_entry v[] = {
		{ "m.qdb", &q.f[1] }, { "m.qda", &bad.f[0] }, { "m.qdc", &q.f[2] },
	};
	box_build(&box, v, 3, 0);
	shown_write("a.box", &box);
	t = shown_open("a.box", true);
	assert_string_equal(shown_list(t, ""), "m.qdb m.qda m.qdc");
	assert_int_equal(shown_save(t, "m.qda", q.f[0].p, q.f[0].len, NULL), 0);
	assert_string_equal(shown_list(t, ""), "m.qda/");
	assert_true(shown_is(t, "m.qda/raw/whole.qdb", q.f[1].p, q.f[1].len));
	tree_close(t);
	buf_free(&box);
	quad_free(&q);
	quad_free(&bad);
}

static void in_bag(void **state)
{
	struct both b;
	struct err why = { 0 };
	struct tree *t;

	(void)state;
	build_both(&b, 2, 2);
	bag_build(&b.held, &b.was);
	bag_build(&b.after, &b.now);
	shown_write("a.bag", &b.held);
	t = shown_open_growing("a.bag");
	assert_true(wholes_are(t, &b.was, "00000028.qda"));
	assert_int_equal(save_key(t, "00000028.qda", "stamp", 9, NULL), 0);
	assert_true(shown_file_is("a.bag", &b.after));
	assert_true(wholes_are(t, &b.now, "00000028.qda"));
	assert_int_equal(save_key(t, "00000028.qda", "b_size", 40, &why), -ENOSPC);
	assert_non_null(strstr(why.text, "4 bytes are missing"));
	assert_int_equal(shown_save(t, "00000028.qda/raw/whole.qdc", b.now.f[2].p, 8, &why), -EINVAL);
	assert_true(shown_file_is("a.bag", &b.after));
	tree_close(t);
	free_both(&b);
}

/* A box that is packed as a whole. */
static void in_packed_box(void **state)
{
	const struct build_arc how = { .version = 7, .gap = 64 };
	struct build_file_in_arc v = { .path = "x\\a", .type = 0x1000, .level = 6 };
	struct both b;
	struct buf arc = { 0 };
	struct tree *t;

	(void)state;
	build_both(&b, 40, 40);
	for (unsigned i = 0; i < 2; i++) {
		const struct quad_files *q = i ? &b.now : &b.was;
		const struct quad_entry e[] = {
			{ "m.qda", &q->f[0] }, { "m.qdb", &q->f[1] }, { "m.qdc", &q->f[2] }, { "m.qdd", &q->f[3] },
		};

		box_build(i ? &b.after : &b.held, e, 4, 0);
	}
	v.p = b.held.p;
	v.n = b.held.len;
	build_arc(&arc, &how, &v, 1);
	shown_write("a.arc", &arc);
	t = shown_open("a.arc", true);
	assert_string_equal(shown_list(t, "x/a.00001000"), "m.qda/");
	assert_true(wholes_are(t, &b.was, "x/a.00001000/m.qda"));
	assert_int_equal(save_key(t, "x/a.00001000/m.qda", "stamp", 9, NULL), 0);
	assert_true(wholes_are(t, &b.now, "x/a.00001000/m.qda"));
	tree_close(t);
	t = shown_open("", false);
	assert_true(wholes_are(t, &b.now, "a.arc/x/a.00001000/m.qda"));
	tree_close(t);
	buf_free(&arc);
	free_both(&b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, shown_make, shown_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_files_at_once), TEST(one_of_them), TEST(sizes), TEST(changed_by_others), TEST(amid_a_commit),
		TEST(beside_a_lone_file), TEST(in_box), TEST(plain_entries), TEST(in_bag), TEST(in_packed_box),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
