/* The tree over the demo archive: numbers, names, listings, sizes, open files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tree.h"

static char archive[] = "/tmp/modelfs-tree-XXXXXX";

static int write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	bool ok = f && fwrite(p, 1, n, f) == n;

	return f && !fclose(f) && ok ? 0 : -1;
}

static int make_archive(void **state)
{
	struct buf out = { 0 };
	int fd = mkstemp(archive), rc = -1;

	(void)state;
	for (const struct format *const *f = formats; *f && rc; f++)
		if ((*f)->demo)
			rc = (*f)->demo(&out, NULL);
	rc = rc ? rc : write_file(archive, out.p, out.len);
	buf_free(&out);
	close(fd);
	return rc;
}

static int remove_archive(void **state)
{
	(void)state;
	return unlink(archive);
}

static struct tree *open_archive(const char *names)
{
	struct tree_options opt = { .names = names, .cache = 1 << 20 };
	struct err why = { 0 };
	struct tree *t;

	if (tree_open(archive, &opt, &t, &why))
		fail_msg("%s", why.text);
	return t;
}

/* ---- every node ---- */

struct seen { uint64_t *ino; size_t n, files, bytes; struct tree *t; };

static void check_file(struct seen *s, struct node n)
{
	struct node_attr before, after;
	struct handle *h;
	uint8_t *p;

	node_attr(s->t, n, true, &before);
	assert_true(before.sized);
	assert_int_equal(node_open(s->t, n, &h, NULL), 0);
	assert_int_equal(handle_size(h), before.size);
	p = malloc(handle_size(h) + 1);
	assert_int_equal(handle_read(h, p, handle_size(h) + 1, 0), handle_size(h));
	assert_int_equal(handle_read(h, p, 1, handle_size(h)), 0);
	assert_int_equal(handle_read(h, p, 1, UINT64_MAX), 0);
	free(p);
	handle_put(h);
	node_attr(s->t, n, false, &after);
	assert_true(after.sized);              /* remembered, whether or not it is still cached */
	assert_int_equal(after.size, before.size);
	s->files++;
	s->bytes += before.size;
}

static int check_entry(void *ctx, const struct node_entry *e)
{
	struct seen *s = ctx;
	struct node_attr a;
	struct node back;

	node_attr(s->t, e->node, false, &a);
	assert_int_equal(a.dir, e->dir);
	assert_int_equal(a.ino, e->ino);
	assert_true(node_id(e->node) > 1);
	assert_true(node_from_id(s->t, node_id(e->node), &back));
	assert_ptr_equal(back.unit, e->node.unit);
	assert_int_equal(back.local, e->node.local);
	for (size_t i = 0; i < s->n; i++)
		assert_int_not_equal(s->ino[i], e->ino);
	s->ino = realloc(s->ino, (s->n + 1) * sizeof *s->ino);
	s->ino[s->n++] = e->ino;
	if (e->dir)
		return node_list(s->t, e->node, 0, true, check_entry, s);
	check_file(s, e->node);
	return 0;
}

static void test_every_node(void **state)
{
	struct tree *t = open_archive(NULL);
	struct seen a = { .t = t }, b = { 0 };
	struct node root;

	(void)state;
	assert_int_equal(node_id(tree_root(t)), 1);
	assert_true(node_from_id(t, 1, &root));
	assert_false(node_from_id(t, 0, &root));
	assert_false(node_from_id(t, (uint64_t)0xffffffff << 32, &root));
	assert_int_equal(node_list(t, tree_root(t), 0, true, check_entry, &a), 0);
	assert_true(a.files > 50 && a.bytes > 10000);
	tree_close(t);
	b.t = open_archive(NULL);
	assert_int_equal(node_list(b.t, tree_root(b.t), 0, true, check_entry, &b), 0);
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.ino, b.ino, a.n * sizeof *a.ino);       /* the same after a remount */
	assert_int_equal(a.bytes, b.bytes);
	tree_close(b.t);
	free(a.ino);
	free(b.ino);
}

/* ---- listings do not render, and resume anywhere ---- */

struct names_seen { char v[128][NODE_NAME_MAX]; unsigned n, stop; uint64_t next; };

static int take_name(void *ctx, const struct node_entry *e)
{
	struct names_seen *s = ctx;

	if (s->n == s->stop)
		return 1;
	strcpy(s->v[s->n++], e->name);
	s->next = e->next;
	return 0;
}

static int list_all(void *ctx, const struct node_entry *e)
{
	return e->dir ? node_list(ctx, e->node, 0, true, list_all, ctx) : 0;
}

static void test_listing(void **state)
{
	struct tree *t = open_archive(NULL);
	static struct names_seen all, parts;

	(void)state;
	assert_int_equal(node_list(t, tree_root(t), 0, true, list_all, t), 0);
	assert_int_equal(tree_count(t).rendered, 0);
	memset(&all, 0, sizeof all);
	memset(&parts, 0, sizeof parts);
	all.stop = 128;
	assert_int_equal(node_list(t, tree_root(t), 0, false, take_name, &all), 0);
	for (unsigned step = 1; step < 5; step++) {
		memset(&parts, 0, sizeof parts);
		do
			parts.stop = parts.n + step;
		while (node_list(t, tree_root(t), parts.next, false, take_name, &parts));
		assert_int_equal(parts.n, all.n);
		assert_memory_equal(parts.v, all.v, sizeof all.v);
	}
	tree_close(t);
}

static void test_lookup(void **state)
{
	struct tree *t = open_archive(NULL);
	struct node n, again;
	static struct names_seen all;
	char path[NODE_NAME_MAX + 2];
	struct buf text = { 0 };

	(void)state;
	memset(&all, 0, sizeof all);
	all.stop = 128;
	node_list(t, tree_root(t), 0, false, take_name, &all);
	for (unsigned i = 0; i < all.n; i++) {
		assert_int_equal(node_lookup(t, tree_root(t), all.v[i], &n), 0);
		snprintf(path, sizeof path, "/%s/", all.v[i]);
		assert_int_equal(node_resolve(t, path, &again), 0);
		assert_int_equal(node_id(n), node_id(again));
		text.len = 0;
		node_path(t, n, &text);
		assert_int_equal(text.len, strlen(all.v[i]));
		assert_memory_equal(text.p, all.v[i], text.len);
	}
	buf_free(&text);
	assert_int_equal(node_lookup(t, tree_root(t), "nothing", &n), -ENOENT);
	assert_int_equal(node_lookup(t, tree_root(t), "99999.pac", &n), -ENOENT);
	assert_int_equal(node_lookup(t, tree_root(t), "4294967296.pac", &n), -ENOENT);
	assert_int_equal(node_lookup(t, tree_root(t), "0.pac", &n), -ENOENT);          /* five digits are the name */
	assert_int_equal(node_lookup(t, tree_root(t), "errors.txt", &n), -ENOENT);     /* it is healthy */
	tree_close(t);
}

/* ---- names files ---- */

static void test_names(void **state)
{
	char path[] = "/tmp/modelfs-names-XXXXXX";
	int fd = mkstemp(path);
	static const char good[] = "# labels\n\n0\tpl/body\n2\tthe cat\r\n2\tthe dog\n";
	static const struct { const char *text, *says; } bad[] = {
		{ "abc\tx\n", "line 1: found \"abc" }, { "1\n", "line 1: found \"1\"" }, { "0\ta\n-1\tb\n", "line 2" },
		{ "99999999\tx\n", "at most" },
	};
	struct tree_options opt = { .names = path, .cache = 1 << 20 };
	static struct names_seen all;
	struct tree *t;

	(void)state;
	close(fd);
	assert_int_equal(write_file(path, good, sizeof good - 1), 0);
	t = open_archive(path);
	memset(&all, 0, sizeof all);
	all.stop = 128;
	node_list(t, tree_root(t), 0, false, take_name, &all);
	assert_memory_equal(all.v[0], "00000-pl_body.", 14);
	assert_memory_equal(all.v[1], "00001.", 6);
	assert_memory_equal(all.v[2], "00002-the dog.", 14);
	for (unsigned i = 0; i < 3; i++) {
		struct node n;

		assert_int_equal(node_lookup(t, tree_root(t), all.v[i], &n), 0);
	}
	tree_close(t);
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		struct err why = { 0 };

		assert_int_equal(write_file(path, bad[i].text, strlen(bad[i].text)), 0);
		assert_int_equal(tree_open(archive, &opt, &t, &why), -EINVAL);
		assert_non_null(strstr(why.text, bad[i].says));
	}
	unlink(path);
}

static void test_unknown_source(void **state)
{
	char path[] = "/tmp/modelfs-unknown-XXXXXX";
	int fd = mkstemp(path);
	struct tree_options opt = { .cache = 1 << 20 };
	struct err why = { 0 };
	struct tree *t;

	(void)state;
	close(fd);
	assert_int_equal(write_file(path, "hello", 5), 0);
	assert_int_equal(tree_open(path, &opt, &t, &why), -EINVAL);
	assert_non_null(strstr(why.text, "no format modelfs knows"));
	assert_int_equal(tree_open("/nowhere/x", &opt, &t, &why), -ENOENT);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_node), cmocka_unit_test(test_listing), cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_names), cmocka_unit_test(test_unknown_source),
	};

	return cmocka_run_group_tests(tests, make_archive, remove_archive);
}
