/* A folder under a tree: what is known of it by name and by inode, and which files its models find. */
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

#include "folder.h"
#include "hidden.h"

static char root[64];

/* The path of something in the folder; until the fourth call from here. */
static const char *at(const char *name)
{
	static char room[4][256];
	static unsigned i;

	snprintf(room[i = (i + 1) % 4], sizeof room[0], "%s/%s", root, name);
	return room[i];
}

static void write_file(const char *name, const void *p, size_t n)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s", at(name));
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void write_demo(const char *name)
{
	struct buf out = { 0 };
	int rc = -1;

	for (const struct format *const *f = formats; *f && rc; f++)
		if ((*f)->demo)
			rc = (*f)->demo(&out, NULL);
	assert_int_equal(rc, 0);
	write_file(name, out.p, out.len);
	buf_free(&out);
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(root, "/tmp/modelfs-folder-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

/* ---- hosts ---- */

static struct host *see_name(struct hosts *h, struct host *dir, const char *name)
{
	int fd = host_dir(h, dir), found;
	struct host *host = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	found = host_look(fd, name, &st);
	host_dir_done(h, fd);
	if (found < 0) {
		host_unseen(h, dir, name);
		return NULL;
	}
	close(found);
	assert_int_equal(host_seen(h, dir, name, &st, &host), 0);
	return host;
}

static void assert_path(struct hosts *h, struct host *host, const char *path)
{
	struct buf b = { 0 };

	assert_int_equal(host_path(h, host, &b), 0);
	buf_char(&b, 0);
	assert_string_equal((char *)b.p, path);
	buf_free(&b);
}

static void open_hosts(struct hosts *h)
{
	struct err why = { 0 };

	if (hosts_open(h, root, &why))
		fail_msg("%s", why.text);
}

static void hosts_by_inode(void **state)
{
	struct hosts h;
	struct host *a, *b, *sub, *f;
	struct stat st;

	(void)state;
	write_file("a", "text", 4);
	write_file("sub/f", "text", 4);
	assert_int_equal(link(at("a"), at("b")), 0);
	open_hosts(&h);
	a = see_name(&h, h.root, "a");
	b = see_name(&h, h.root, "b");
	assert_ptr_equal(a, b);
	assert_path(&h, a, "b");
	sub = see_name(&h, h.root, "sub");
	f = see_name(&h, sub, "f");
	assert_path(&h, f, "sub/f");
	assert_null(see_name(&h, sub, "none"));
	assert_null(see_name(&h, h.root, ".."));

	/* Others rename what is known: it is found again by its inode, and all below it with it. */
	assert_int_equal(rename(at("sub"), at("moved")), 0);
	assert_int_equal(host_stat(&h, f, &st), -ESTALE);
	assert_ptr_equal(see_name(&h, h.root, "moved"), sub);
	assert_ptr_equal(see_name(&h, sub, "f"), f);
	assert_path(&h, f, "moved/f");
	assert_int_equal(host_stat(&h, f, &st), 0);
	host_put(&h, sub, 2);
	host_put(&h, f, 2);

	/* One name goes, the other stays. */
	assert_int_equal(unlink(at("b")), 0);
	assert_int_equal(host_stat(&h, a, &st), 0);
	assert_path(&h, a, "a");
	host_put(&h, a, 2);
	assert_null(host_by_serial(&h, 2));
	hosts_close(&h);
}

/* What somebody holds goes on without a name. */
static void hosts_without_name(void **state)
{
	struct host *a, *other;
	struct host_open *o;
	struct hosts h;
	struct stat st;
	int fd;

	(void)state;
	write_file("a", "text", 4);
	write_file("c", "text", 4);
	open_hosts(&h);
	a = see_name(&h, h.root, "a");
	fd = host_open(&h, a, O_RDWR);
	assert_int_equal(host_open_begin(&h, a, fd, true, &o), 0);
	assert_true(host_is_written(&h, h.root, "a"));
	assert_int_equal(unlink(at("a")), 0);
	host_unseen(&h, h.root, "a");
	assert_int_equal(host_stat(&h, a, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	write_file("a", "another", 7);
	other = see_name(&h, h.root, "a");
	assert_ptr_not_equal(a, other);
	assert_false(host_is_written(&h, h.root, "a"));
	host_open_end(&h, o);
	assert_int_equal(host_stat(&h, a, &st), -ESTALE);
	host_put(&h, a, 1);
	host_put(&h, other, 1);

	a = see_name(&h, h.root, "c");
	host_keep(&h, h.root, "c");
	assert_int_equal(unlink(at("c")), 0);
	host_unseen(&h, h.root, "c");
	assert_int_equal(host_stat(&h, a, &st), 0);
	assert_int_equal(h.nkept, 1);
	host_put(&h, a, 1);
	assert_int_equal(h.nkept, 0);
	hosts_close(&h);
}

/* Others may move directories into each other between two looks; then a path has no end. */
static void hosts_in_a_ring(void **state)
{
	struct host *a, *b;
	struct buf path = { 0 };
	struct hosts h;
	struct stat st;

	(void)state;
	write_file("a/b/f", "text", 4);
	open_hosts(&h);
	a = see_name(&h, h.root, "a");
	b = see_name(&h, a, "b");
	assert_int_equal(stat(at("a"), &st), 0);
	assert_int_equal(host_seen(&h, b, "a", &st, &a), 0);
	assert_int_equal(host_path(&h, a, &path), -ENAMETOOLONG);
	assert_true(host_open(&h, b, O_PATH) < 0);
	buf_free(&path);
	hosts_close(&h);
}

static void many_hosts(void **state)
{
	struct stat st = { .st_dev = 5, .st_mode = S_IFREG | 0644 };
	struct host *v[5000];
	struct hosts h;
	char name[32];

	(void)state;
	open_hosts(&h);
	for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
		st.st_ino = 100 + i;
		snprintf(name, sizeof name, "f%u", i);
		assert_int_equal(host_seen(&h, h.root, name, &st, &v[i]), 0);
	}
	assert_int_equal(h.serials.n, ARRAY_LEN(v) + 1);
	for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
		struct host *again = host_by_serial(&h, v[i]->by_serial.hash);

		assert_ptr_equal(again, v[i]);
		host_put(&h, again, 2);
	}
	assert_int_equal(h.serials.n, 1);
	assert_int_equal(h.spots.n, 0);
	hosts_close(&h);
}

/* ---- kinds ---- */

static void kinds_are_remembered(void **state)
{
	const struct format *f;
	struct kinds k;
	struct stat st;
	struct timespec past[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct hosts h;
	struct in_dir in = { .hosts = &h, .fd = open(root, O_PATH | O_DIRECTORY) };

	(void)state;
	assert_int_equal(hosts_open(&h, root, NULL), 0);
	in.dir = h.root;
	kinds_init(&k);
	write_demo("model");
	write_file("text", "no model at all", 15);
	assert_int_equal(stat(at("model"), &st), 0);
	f = kinds_find(&k, &in, "model", &st, NULL, NULL);
	assert_non_null(f);
	assert_non_null(f->container);
	assert_int_equal(k.n, 0);              /* it may be written again without its stamp telling */
	usleep(30000);
	assert_ptr_equal(kinds_find(&k, &in, "model", &st, NULL, NULL), f);
	assert_int_equal(stat(at("text"), &st), 0);
	assert_null(kinds_find(&k, &in, "text", &st, NULL, NULL));
	assert_int_equal(k.n, 2);

	/* The file is not looked at again until its stamp changes. */
	assert_int_equal(stat(at("model"), &st), 0);
	assert_int_equal(rename(at("text"), at("model")), 0);
	assert_ptr_equal(kinds_find(&k, &in, "model", &st, NULL, NULL), f);
	assert_int_equal(stat(at("model"), &st), 0);
	assert_null(kinds_find(&k, &in, "model", &st, NULL, NULL));
	assert_int_equal(utimensat(AT_FDCWD, at("model"), past, 0), 0);
	assert_null(kinds_find(&k, &in, "model", &st, NULL, NULL));
	st.st_size = 3;                        /* too short for any */
	assert_null(kinds_find(&k, &in, "model", &st, NULL, NULL));
	kinds_free(&k);
	hosts_close(&h);
	close(in.fd);
}

static void searches_wait(void **state)
{
	struct buf b;
	struct finding *finding;
	struct kinds k;
	struct stat st;
	bool later;
	struct hosts h;
	struct in_dir in = { .hosts = &h, .fd = open(root, O_PATH | O_DIRECTORY) };

	(void)state;
	hidden_start(NULL);
	b = hidden_in_noise(6000);
	assert_int_equal(hosts_open(&h, root, NULL), 0);
	in.dir = h.root;
	kinds_init(&k);
	k.search = SEARCH_NAMED;
	write_file("x.pak", b.p, b.len);
	write_file("y.pak", b.p, 80);
	write_file("x.bin", b.p, b.len);
	usleep(30000);
	for (unsigned i = 0; i < 2; i++) {
		const char *name = i ? "y.pak" : "x.pak";

		assert_int_equal(stat(at(name), &st), 0);
		assert_null(kinds_find(&k, &in, name, &st, &later, NULL));
		assert_true(later);
		assert_null(kinds_finding(&k, name, &st));
		assert_int_equal(kinds_find(&k, &in, name, &st, NULL, NULL) != NULL, !i);
		assert_int_equal(kinds_find(&k, &in, name, &st, &later, NULL) != NULL, !i);
		assert_false(later);           /* it is known */
		finding = kinds_finding(&k, name, &st);
		assert_int_equal(finding != NULL, !i);
		finding_put(finding);
	}
	assert_int_equal(stat(at("x.bin"), &st), 0);
	assert_null(kinds_find(&k, &in, "x.bin", &st, &later, NULL));
	assert_false(later);
	kinds_free(&k);
	kinds_init(&k);
	k.search = SEARCH_ALL;
	assert_null(kinds_find(&k, &in, "x.bin", &st, &later, NULL));
	assert_true(later);
	assert_non_null(kinds_find(&k, &in, "x.bin", &st, NULL, NULL));
	kinds_free(&k);
	hosts_close(&h);
	close(in.fd);
	buf_free(&b);
	hidden_end(NULL);
}

/* ---- files that are asked for ---- */

static struct tree *open_tree(void)
{
	struct tree_options opt = { .cache = 1 << 20 };
	struct err why = { 0 };
	struct tree *t;

	if (tree_open(root, &opt, &t, &why))
		fail_msg("%s", why.text);
	return t;
}

static struct unit *model_at(struct tree *t, const char *path)
{
	struct node n;

	assert_int_equal(node_resolve(t, path, &n), 0);
	assert_non_null(n.unit);
	return n.unit;
}

/* The path of the file that the unit gets, or NULL. */
static const char *found(struct tree *t, struct unit *u, unsigned where, const char *path)
{
	const struct want w = { (uint8_t)where, path, "nativePC" };
	static struct buf b;
	struct unit *out;
	int rc = unit_find(t, u, &w, &out, NULL);

	buf_free(&b);
	if (rc) {
		assert_int_equal(rc, -ENOENT);
		return NULL;
	}
	assert_int_equal(folder_unit_path(t, out, &b), 0);
	buf_char(&b, 0);
	return (char *)b.p;
}

static void wants(void **state)
{
	struct unit *model, *loose;
	struct tree *t;

	(void)state;
	write_demo("Game/NativePC/pl/Model.bin");
	write_demo("disc/model.jom");
	write_file("Game/NativePC/pl/model.mrl3", "lower", 5);
	write_file("Game/NativePC/pl/Model.mrl3", "exact", 5);
	write_file("Game/NativePC/Tex/One.tex", "texture", 7);
	write_file("Game/nativePC-other/tex/one.tex", "not this", 8);
	write_file("TEXTURE.TGA;1", "version", 7);
	write_file("deep/er/only.bin", "one", 3);
	write_file("deep/twice.bin", "one", 3);
	write_file("other/Twice.BIN", "two", 3);
	t = open_tree();
	tree_enter(t);
	model = model_at(t, "Game/NativePC/pl/Model.bin");
	loose = model_at(t, "disc/model.jom");
	assert_string_equal(found(t, model, WANT_SWAP_EXT, "mrl3"), "Game/NativePC/pl/Model.mrl3");
	assert_string_equal(found(t, model, WANT_BESIDE, "model.mrl3"), "Game/NativePC/pl/model.mrl3");
	assert_null(found(t, model, WANT_BESIDE, "MODEL.mrl3"));
	assert_string_equal(found(t, model, WANT_BELOW_ROOT, "tex/one.tex"), "Game/NativePC/Tex/One.tex");
	assert_null(found(t, model, WANT_BELOW_ROOT, "tex/two.tex"));
	assert_null(found(t, model, WANT_BELOW_ROOT, "../pl/Model.mrl3"));
	assert_null(found(t, model, WANT_BELOW_ROOT, "tex"));
	assert_string_equal(found(t, loose, WANT_LOOSE, "texture.tga"), "TEXTURE.TGA;1");
	assert_string_equal(found(t, loose, WANT_LOOSE, "ONLY.BIN"), "deep/er/only.bin");
	assert_null(found(t, loose, WANT_LOOSE, "TWICE.BIN"));
	assert_false(folder_changed(t, model));
	assert_false(folder_changed(t, loose));
	tree_leave(t);
	tree_close(t);
}

/* Asks until the folder is looked through again, which is once a second. */
static void assert_changed(struct tree *t, struct unit *u)
{
	bool changed = false;

	for (unsigned i = 0; i < 30 && !changed; i++) {
		tree_enter(t);
		changed = folder_changed(t, u);
		tree_leave(t);
		if (!changed)
			usleep(50000);
	}
	assert_true(changed);
	tree_enter(t);                         /* reads it anew */
	assert_false(folder_changed(t, u));
	tree_leave(t);
}

static void wants_that_come_and_go(void **state)
{
	struct unit *model;
	struct tree *t;

	(void)state;
	write_demo("Model.bin");
	t = open_tree();
	tree_enter(t);
	model = model_at(t, "Model.bin");
	assert_null(found(t, model, WANT_SWAP_EXT, "mrl3"));
	assert_null(found(t, model, WANT_BELOW_ROOT, "a/b/c.tex"));
	assert_false(folder_changed(t, model));
	tree_leave(t);
	write_file("Model.mrl3", "library", 7);
	assert_changed(t, model);
	tree_enter(t);
	assert_string_equal(found(t, model, WANT_SWAP_EXT, "mrl3"), "Model.mrl3");
	assert_null(found(t, model, WANT_BELOW_ROOT, "a/b/c.tex"));
	tree_leave(t);
	write_file("A/B/C.TEX", "texture", 7);
	assert_changed(t, model);
	tree_enter(t);
	assert_string_equal(found(t, model, WANT_SWAP_EXT, "mrl3"), "Model.mrl3");
	assert_string_equal(found(t, model, WANT_BELOW_ROOT, "a/b/c.tex"), "A/B/C.TEX");
	tree_leave(t);
	write_file("Model.mrl3", "another library", 15);
	assert_changed(t, model);
	tree_enter(t);
	assert_string_equal(found(t, model, WANT_SWAP_EXT, "mrl3"), "Model.mrl3");
	assert_null(found(t, model, WANT_LOOSE, "loose.bin"));
	tree_leave(t);
	write_file("deep/Loose.bin", "one", 3);
	assert_changed(t, model);
	tree_enter(t);
	assert_string_equal(found(t, model, WANT_LOOSE, "loose.bin"), "deep/Loose.bin");
	tree_leave(t);
	write_file("deeper/Loose.bin", "two", 3);
	assert_changed(t, model);
	tree_enter(t);
	assert_null(found(t, model, WANT_LOOSE, "loose.bin"));
	tree_leave(t);
	assert_int_equal(unlink(at("Model.bin")), 0);
	tree_enter(t);
	assert_true(folder_changed(t, model));
	tree_leave(t);
	tree_enter(t);
	assert_true(atomic_load(&model->dead));
	tree_leave(t);
	tree_close(t);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(hosts_by_inode), T(hosts_without_name), T(hosts_in_a_ring), T(many_hosts), T(kinds_are_remembered),
		T(searches_wait), T(wants), T(wants_that_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
