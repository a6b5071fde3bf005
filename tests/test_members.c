/* Models of several files: found, hidden, shown whole and in pieces, in a folder, beside a lone file, in containers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "shown_quad.h"

#define ON_TOP "header.yaml meshes/ model.glb preview.png raw/"
#define IN_RAW_OF_THREE "whole.qda whole.qdb whole.qdc header.bin table.bin part-0/ part-1/"
#define IN_RAW "whole.qda whole.qdb whole.qdc whole.qdd header.bin table.bin part-0/ part-1/"

/* All that is shown of a model of two parts and four files. */
static void assert_model(struct tree *t, const char *at, const struct quad_files *q)
{
	char path[96];

	assert_string_equal(shown_list(t, at), ON_TOP);
	snprintf(path, sizeof path, "%s/raw", at);
	assert_string_equal(shown_list(t, path), IN_RAW);
	assert_true(wholes_are(t, q, at));
	snprintf(path, sizeof path, "%s/raw/part-1", at);
	assert_string_equal(shown_list(t, path), "a.bin b.bin c.bin");
	snprintf(path, sizeof path, "%s/raw/part-1/a.bin", at);
	assert_true(shown_is(t, path, "a0000001", 8));
	snprintf(path, sizeof path, "%s/raw/part-1/b.bin", at);
	assert_true(shown_is(t, path, "b000000000000001", 16));
	snprintf(path, sizeof path, "%s/raw/part-0/c.bin", at);
	assert_true(shown_is(t, path, "c0000000", 8));
	snprintf(path, sizeof path, "%s/raw/header.bin", at);
	assert_true(shown_is(t, path, q->f[0].p, 16));
}

static bool is_there(struct tree *t, const char *path)
{
	struct node n;
	int rc = shown_enter(t, path, &n);

	if (!rc)
		node_put(t, n);
	tree_leave(t);
	assert_true(!rc || rc == -ENOENT);
	return !rc;
}

/* ---- names ---- */

static int add_spelling(void *ctx, const char *name)
{
	buf_printf(ctx, "%s ", name);
	return 0;
}

static int add_owner(void *ctx, const struct membership *m)
{
	buf_printf(ctx, "%s:%u:%s ", m->f->name, m->k, m->owner);
	return 0;
}

static void spellings(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(member_spell("A.b.qda", "q1", add_spelling, &b), 0);
	assert_memory_equal(b.p, "A.b.Q1 A.b.q1 ", b.len);
	b.len = 0;
	/* What has the name itself is no member of it. */
	assert_int_equal(member_spell("x.ab", "ab", add_spelling, &b), 0);
	assert_memory_equal(b.p, "x.AB x.Ab x.aB ", b.len);
	b.len = 0;
	assert_int_equal(member_spell("noext", "ab", add_spelling, &b), 0);
	assert_int_equal(member_spell(".ab", "ab", add_spelling, &b), 0);
	assert_int_equal(member_spell("dot.", "ab", add_spelling, &b), 0);
	assert_int_equal(b.len, 0);
	assert_int_equal(member_of("m.QdC", add_owner, &b), 0);
	assert_memory_equal(b.p, "quad:1:m.QDA quad:1:m.QDa quad:1:m.QdA ", 39);
	assert_int_equal(b.len, 8 * 13);
	assert_true(member_may_be("m.QDB"));
	assert_false(member_may_be("m.qda"));
	assert_false(member_may_be("qdb"));
	buf_free(&b);
}

/* ---- a folder ---- */

static void in_folder(void **state)
{
	struct quad_files q;
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	write_quad(&q, "deep/m");
	shown_write("deep/n.qdb", &q.f[1]);    /* of no model */
	shown_write("deep/other.txt", &q.f[1]);
	t = shown_open("", false);
	assert_model(t, "deep/m.qda", &q);
	assert_true(is_there(t, "deep/n.qdb"));
	assert_true(is_there(t, "deep/other.txt"));
	assert_false(is_there(t, "deep/m.qdb"));
	assert_false(is_there(t, "deep/m.qdd"));
	assert_null(strstr(shown_list(t, "deep"), "m.qdb"));
	assert_null(strstr(shown_list(t, "deep"), "m.qdd"));
	assert_non_null(strstr(shown_list(t, "deep"), "n.qdb"));
	assert_non_null(strstr(shown_list(t, "deep"), "m.qda/"));
	tree_close(t);
	quad_free(&q);
}

static void any_case(void **state)
{
	struct quad_files q, other;
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	quad_build(&other, 2, 9, QUAD_ALL);
	shown_write("M.QDA", &q.f[0]);
	shown_write("M.Qdb", &q.f[1]);
	shown_write("M.qdb", &other.f[1]);     /* the second by its bytes */
	shown_write("M.qDC", &q.f[2]);
	shown_write("M.qdd", &q.f[3]);
	shown_write("m.QDB", &other.f[1]);     /* another base name */
	t = shown_open("", false);
	assert_model(t, "M.QDA", &q);
	assert_false(is_there(t, "M.Qdb"));
	assert_true(is_there(t, "M.qdb"));
	assert_true(is_there(t, "m.QDB"));
	tree_close(t);
	quad_free(&q);
	quad_free(&other);
}

/* What is missing makes plain files of all; what comes, goes and changes shows at the next look. */
static void others_change(void **state)
{
	struct quad_files q, longer;
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	quad_build(&longer, 3, 7, QUAD_ALL);
	shown_write("m.qda", &q.f[0]);
	shown_write("m.qdc", &q.f[2]);
	t = shown_open("", false);
	assert_true(shown_is(t, "m.qda", q.f[0].p, q.f[0].len));
	assert_true(is_there(t, "m.qdc"));
	shown_write("m.qdb", &q.f[1]);
	assert_string_equal(shown_list(t, "m.qda/raw"), IN_RAW_OF_THREE);
	assert_false(is_there(t, "m.qdc"));
	shown_write("m.qdd", &q.f[3]);
	assert_model(t, "m.qda", &q);
	assert_int_equal(unlink(shown_at("m.qdd")), 0);
	assert_string_equal(shown_list(t, "m.qda/raw"), IN_RAW_OF_THREE);
	shown_write("m.QDD", &q.f[3]);
	assert_model(t, "m.qda", &q);

	shown_write("m.qdb", &longer.f[1]);    /* in place, and as another file */
	assert_true(shown_is(t, "m.qda/raw/whole.qdb", longer.f[1].p, longer.f[1].len));
	shown_write("new", &q.f[1]);
	assert_int_equal(rename(shown_at("new"), shown_at("m.qdb")), 0);
	assert_model(t, "m.qda", &q);

	/* A member that is needed only by what is in another. */
	assert_int_equal(unlink(shown_at("m.qdc")), 0);
	assert_true(shown_is(t, "m.qda", q.f[0].p, q.f[0].len));
	assert_true(is_there(t, "m.qdb"));
	assert_true(is_there(t, "m.QDD"));
	shown_write("m.qdc", &q.f[2]);
	assert_model(t, "m.qda", &q);
	assert_int_equal(unlink(shown_at("m.qda")), 0);
	assert_true(is_there(t, "m.qdb"));
	assert_false(is_there(t, "m.qda"));
	tree_close(t);
	quad_free(&q);
	quad_free(&longer);
}

/* The same when the model's file stays and is looked at by nobody but through its members. */
static void table_errors(void **state)
{
	struct quad_files q;
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	write_quad(&q, "m");
	q.f[0].p[4] = 200;                     /* more parts than there are bytes */
	shown_write("m.qda", &q.f[0]);
	t = shown_open("", false);
	for (unsigned k = 0; k < 4; k++) {
		char name[16];

		snprintf(name, sizeof name, "m.%s", quad_ext[k]);
		assert_true(shown_is(t, name, q.f[k].p, q.f[k].len));
	}
	q.f[0].p[4] = 2;
	shown_write("m.qda", &q.f[0]);
	assert_false(is_there(t, "m.qdb"));
	assert_model(t, "m.qda", &q);
	tree_close(t);
	quad_free(&q);
}

/* Directories and links are no members. */
static void no_files(void **state)
{
	struct quad_files q;
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	write_quad(&q, "m");
	shown_write("elsewhere", &q.f[1]);
	assert_int_equal(unlink(shown_at("m.qdd")), 0);
	assert_int_equal(symlink("elsewhere", shown_at("m.QDD")), 0);
	shown_write("m.qdD/inside", &q.f[3]);
	t = shown_open("", false);
	assert_string_equal(shown_list(t, "m.qda/raw"), IN_RAW_OF_THREE);
	assert_true(is_there(t, "m.QDD"));
	assert_true(is_there(t, "m.qdD/inside"));
	tree_close(t);
	quad_free(&q);
}

/* ---- renaming ---- */

static int move(struct tree *t, const char *name, const char *to, unsigned flags)
{
	struct host *root = t->folder->hosts.root;

	return folder_rename(t, root, name, root, to, flags);
}

static void renaming(void **state)
{
	struct quad_files q;
	struct node node, now;
	struct host *deep;
	struct tree *t;
	int rc;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	write_quad(&q, "m");
	assert_int_equal(rename(shown_at("m.qdc"), shown_at("m.QDc")), 0);
	shown_write("deep/file", &q.f[3]);
	t = shown_open("", true);
	assert_model(t, "m.qda", &q);
	assert_int_equal(shown_enter(t, "m.qda/raw/whole.qdb", &node), 0);
	tree_leave(t);

	assert_int_equal(move(t, "m.qda", "n.qda", 0), 0);
	assert_model(t, "n.qda", &q);
	assert_int_equal(access(shown_at("n.QDc"), F_OK), 0);
	assert_int_equal(access(shown_at("m.qdb"), F_OK), -1);
	assert_false(is_there(t, "m.qda"));
	assert_false(is_there(t, "n.qdb"));
	assert_int_equal(shown_enter(t, "n.qda/raw/whole.qdb", &now), 0);
	tree_leave(t);
	assert_ptr_equal(now.unit, node.unit); /* and what was known of it */
	assert_int_equal(now.local, node.local);

	/* Into another folder. */
	assert_int_equal(shown_enter(t, "deep", &node), 0);
	tree_leave(t);
	deep = node.host;
	rc = folder_rename(t, t->folder->hosts.root, "n.qda", deep, "n.QDA", 0);
	assert_int_equal(rc, 0);
	assert_model(t, "deep/n.QDA", &q);
	rc = folder_rename(t, deep, "n.QDA", t->folder->hosts.root, "m.qda", 0);
	assert_int_equal(rc, 0);
	node_put(t, node);
	assert_model(t, "m.qda", &q);

	/* What has no such extension is no model; back it is one again. */
	assert_int_equal(move(t, "m.qda", "m.bak", 0), 0);
	assert_true(shown_is(t, "m.bak", q.f[0].p, q.f[0].len));
	assert_true(is_there(t, "m.qdb"));
	assert_int_equal(move(t, "m.bak", "m.qda", 0), 0);
	assert_model(t, "m.qda", &q);
	tree_close(t);
	quad_free(&q);
}

static void renaming_onto(void **state)
{
	struct quad_files q, other;
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	quad_build(&other, 2, 9, QDA | QDB);
	write_quad(&q, "m");
	write_quad(&other, "o");
	shown_write("p.QDD", &q.f[3]);         /* would be another member */
	shown_write("x.qdb", &q.f[1]);
	t = shown_open("", true);
	assert_model(t, "m.qda", &q);
	assert_int_equal(move(t, "m.qda", "o.qda", 0), -ENOTEMPTY);
	assert_int_equal(move(t, "m.qda", "o.qda", RENAME_NOREPLACE), -EEXIST);
	assert_int_equal(move(t, "m.qda", "o.qda", RENAME_EXCHANGE), -EINVAL);
	assert_int_equal(move(t, "o.qda", "p.qda", 0), -EEXIST);
	assert_int_equal(move(t, "m.qda", "x.qda", 0), -EEXIST);
	assert_int_equal(move(t, "m.qda", "m.qda", 0), 0);
	assert_int_equal(move(t, "m.qda", "m.QDA", RENAME_NOREPLACE), 0);
	assert_model(t, "m.QDA", &q);
	assert_string_equal(shown_list(t, "o.qda/raw"), "whole.qda whole.qdb header.bin table.bin part-0/ part-1/");
	tree_close(t);
	quad_free(&q);
	quad_free(&other);
}

/* ---- a lone file ---- */

static void lone(void **state)
{
	struct tree_options opt = { .cache = 1 << 20 };
	struct quad_files q;
	struct err why = { 0 };
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	write_quad(&q, "m");
	assert_int_equal(rename(shown_at("m.qdc"), shown_at("m.QdC")), 0);
	t = shown_open("m.qda", false);
	assert_string_equal(shown_list(t, ""), ON_TOP);
	assert_string_equal(shown_list(t, "raw"), IN_RAW);
	assert_true(shown_is(t, "raw/whole.qdc", q.f[2].p, q.f[2].len));
	assert_true(shown_is(t, "raw/part-1/c.bin", "c0000001", 8));
	tree_close(t);
	assert_int_equal(unlink(shown_at("m.qdb")), 0);
	assert_int_not_equal(tree_open(shown_at("m.qda"), &opt, &t, &why), 0);
	assert_non_null(strstr(why.text, "there is no .qdb of the same name beside it"));
	quad_free(&q);
}

/* ---- containers ---- */

static void in_box(void **state)
{
	struct quad_files q, half;
	struct buf box = { 0 };
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	quad_build(&half, 2, 7, QDA | QDC);
	const struct quad_entry v[] = {
		{ "x/m.qdd", &q.f[3] }, { "x/m.QDA", &q.f[0] }, { "x/m.qdb", &q.f[1] }, { "x/m.Qdc", &q.f[2] },
		{ "m.qdb", &q.f[1] }, { "x/half.qda", &half.f[0] }, { "x/half.qdc", &half.f[2] }, { "x/end", &q.f[3] },
	};
	box_build(&box, v, 8, 0);
	shown_write("a.box", &box);
	t = shown_open("a.box", false);
	assert_string_equal(shown_list(t, ""), "x/ m.qdb");
	assert_string_equal(shown_list(t, "x"), "m.QDA/ half.qda half.qdc end");
	assert_model(t, "x/m.QDA", &q);
	assert_false(is_there(t, "x/m.qdb"));
	assert_false(is_there(t, "x/m.qdd"));
	assert_true(shown_is(t, "x/half.qdc", half.f[2].p, half.f[2].len));
	tree_close(t);

	t = shown_open("", false);             /* the same as a file of a folder */
	assert_model(t, "a.box/x/m.QDA", &q);
	tree_close(t);
	buf_free(&box);
	quad_free(&q);
	quad_free(&half);
}

static void in_bag(void **state)
{
	struct quad_files q;
	struct buf bag = { 0 };
	struct tree *t;

	(void)state;
	quad_build(&q, 2, 7, QUAD_ALL);
	bag_build(&bag, &q);
	shown_write("a.bag", &bag);
	t = shown_open("a.bag", false);
	assert_string_equal(shown_list(t, ""), "00000028.qda/");
	assert_model(t, "00000028.qda", &q);
	tree_close(t);
	buf_free(&bag);
	quad_free(&q);

	quad_build(&q, 2, 7, QDA | QDC);       /* the member that is needed could not be found */
	bag_build(&bag, &q);
	shown_write("a.bag", &bag);
	t = shown_open("a.bag", false);
	assert_string_equal(shown_list(t, "00000028.qda/raw"),
			    "whole.qda whole.qdc header.bin table.bin part-0/ part-1/");
	assert_string_equal(shown_list(t, "00000028.qda/raw/part-0"), "a.bin c.bin");
	assert_true(shown_says(t, "00000028.qda/errors.txt", "part 0 lies outside its file"));
	tree_close(t);
	buf_free(&bag);
	quad_free(&q);
}

/* ---- many pieces ---- */

static int count(void *ctx, const struct node_entry *entry)
{
	(void)entry;
	++*(unsigned *)ctx;
	return 0;
}

static void many_parts(void **state)
{
	struct quad_files q;
	unsigned n = 0;
	struct node dir, found;
	struct tree *t;

	(void)state;
	quad_build(&q, 65535, 7, QUAD_ALL);
	write_quad(&q, "m");
	t = shown_open("m.qda", false);
	assert_int_equal(shown_enter(t, "raw", &dir), 0);
	assert_int_equal(node_list(t, dir, 0, true, count, &n), 0);
	assert_int_equal(n, 4 + 2 + 65535);
	for (unsigned i = 0; i < 65535; i++) {
		char name[32];

		snprintf(name, sizeof name, "part-%u", i);
		assert_int_equal(node_lookup(t, dir, name, &found), 0);
		assert_true(node_is_dir(found));
		assert_int_equal(node_parent(t, found).local, dir.local);
		assert_int_equal(node_lookup(t, found, "b.bin", &found), 0);
		if (i % 1000)
			continue;
		assert_int_equal(node_lookup(t, node_parent(t, found), "c.bin", &found), 0);
		assert_int_equal(node_lookup(t, node_parent(t, found), "d.bin", &found), -ENOENT);
	}
	assert_int_equal(node_lookup(t, dir, "part-65535", &found), -ENOENT);
	assert_int_equal(node_lookup(t, dir, "b.bin", &found), -ENOENT);
	assert_int_equal(tree_count(t).rendered, 0);
	tree_leave(t);
	assert_true(shown_is(t, "raw/part-65534/b.bin", "b000000000065534", 16));
	tree_close(t);
	quad_free(&q);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, shown_make, shown_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings), TEST(in_folder), TEST(any_case), TEST(others_change), TEST(table_errors),
		TEST(no_files), TEST(renaming), TEST(renaming_onto),
		TEST(lone), TEST(in_box), TEST(in_bag), TEST(many_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
