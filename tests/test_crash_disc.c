/* Power loss at every step of an edit of a disc image, from the text that is saved to the bytes of the image: it is
 * what it was before or what it is afterwards, the latter once saving returned 0, whoever looks; and all can be taken
 * back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "archive.h"
#include "build_disc.h"
#include "build_mhp.h"
#include "crashed.h"
#include "crashio.h"
#include "mhpdemo.h"
#include "shown.h"
#include "unit.h"

#define NAME "game.bin"
#define LONE_MESH "00001.pac/00.pmo/meshes/0.obj"
#define MESH "DATA.BIN/" LONE_MESH

/* IMAGE_NONE: the archive by itself, which shows what the disc adds. */
enum image { IMAGE_NONE, IMAGE_PLAIN, IMAGE_RAW, IMAGE_CSO };

struct scenario {
	enum image image;
	const char *path;
	uint32_t bytes;                        /* of a plain file that is saved; 0: the text with its faces `faces` times */
	uint32_t faces;
	bool grow;                             /* -o grow */
	bool moved;                            /* the image gets another size: it is written anew */
	bool undo;                             /* not the edit but taking it back is hit */
};

struct run {
	const struct scenario *s;
	struct buf text;                       /* that is saved */
	struct bytes before, after;
	unsigned long crashes;
};

/* ---- the image ---- */

static void read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "rb");
	int c;

	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		put8(out, (unsigned)c);
	fclose(f);
	assert_false(out->bad);
}

static struct bytes file_bytes(const char *dir)
{
	struct buf b = { 0 };

	read_file(in(dir, NAME), &b);
	return (struct bytes){ b.p, b.len };
}

static void write_file(const char *path, const struct buf *b)
{
	assert_false(b->bad);
	write_bytes(path, (struct bytes){ b->p, b->len });
}

static struct tree *open_tree(const char *dir, const struct scenario *s, struct crashio *c)
{
	struct tree_options opt = {
		.cache = 1 << 20, .write = c, .grow = s->grow, .io = c ? &crashio_ops : NULL, .io_ctx = c
	};
	struct err why = { 0 };
	struct tree *t = NULL;

	if (tree_open(in(dir, NAME), &opt, &t, &why))
		fail_msg("%s", why.text);
	t->silent = true;
	return t;
}

/* A PAC of the demo archive, which has a model. */
static void demo_pac(struct buf *out)
{
	static const struct scenario plain = { 0 };
	struct buf demo = { 0 };
	struct tree *t;

	assert_int_equal(mhpdemo_write(&demo, NULL), 0);
	write_file(in(dir_work, NAME), &demo);
	t = open_tree(dir_work, &plain, NULL);
	shown_text(t, "00005.pac/raw/whole.pac", out);
	tree_close(t);
	buf_free(&demo);
}

/* A text, an encrypted DATA.BIN whose last entry is a PAC, and what follows it; with some room behind each. */
static void make_image(const struct scenario *s, struct buf *out)
{
	struct buf pac = { 0 }, data = { 0 }, noise = { 0 }, disc = { 0 };
	struct build_file entries[2] = { { "an entry", 8, false, false, 0 } };
	struct disc_file files[3] = { { "A.TXT", "a text\n", 7, 3 } };

	demo_pac(&pac);
	entries[1] = (struct build_file){ pac.p, pac.len, false, false, 0 };
	build_databin(&data, entries, 2, true);
	build_noise(&noise, 3000, 7);
	files[1] = (struct disc_file){ "DATA.BIN", data.p, data.len, 8 };
	files[2] = (struct disc_file){ "NEXT.BIN", noise.p, noise.len, 0 };
	build_disc(&disc, files, 3);
	if (s->image == IMAGE_RAW)
		build_raw(out, &disc);
	else if (s->image == IMAGE_CSO)
		build_cso(out, &disc, 4096, s->grow ? 0 : 400);
	else
		buf_add(out, s->image ? disc.p : data.p, s->image ? disc.len : data.len);
	buf_free(&pac);
	buf_free(&data);
	buf_free(&noise);
	buf_free(&disc);
}

/* ---- the edit ---- */

/* The lines of an OBJ, and those of its faces once more for each time. */
static void more_faces(const struct buf *obj, uint32_t times, struct buf *out)
{
	buf_add(out, obj->p, obj->len);
	while (--times) {
		for (size_t at = 0, end; at < obj->len; at = end) {
			for (end = at; end < obj->len && obj->p[end++] != '\n';)
				;
			if (obj->p[at] == 'f')
				buf_add(out, obj->p + at, end - at);
		}
	}
	assert_false(out->bad);
}

static void make_text(struct run *r, struct tree *t)
{
	struct buf old = { 0 };

	if (r->s->faces) {
		shown_text(t, r->s->path, &old);
		more_faces(&old, r->s->faces, &r->text);
		buf_free(&old);
	} else {
		build_noise(&r->text, r->s->bytes, 3);
	}
}

/* step: at which it dies, once the image is open; 0: none. */
static int take_back(const char *dir, struct crashio *c, unsigned step, struct err *e)
{
	struct archive_options opt = { .write = true, .io = &crashio_ops, .io_ctx = c };
	struct archive *a;
	unsigned done;
	int rc = archive_open(in(dir, NAME), &opt, &a, e);

	if (!rc) {
		crashio_die(c, step);
		rc = archive_undo(a, 1, &done, e);
		archive_close(a);
	}
	return rc;
}

static int save(struct run *r, const char *dir, struct crashio *c, unsigned step, struct err *e)
{
	struct tree *t = open_tree(dir, r->s, c);
	int rc;

	crashio_die(c, step);
	rc = shown_save(t, r->s->path, r->text.p, r->text.len, e);
	tree_close(t);
	return rc;
}

static void make_first(struct run *r)
{
	struct buf image = { 0 };
	struct err e = { 0 };
	struct crashio *c;
	struct tree *t;

	empty_dir(dir_first);
	empty_dir(dir_work);
	make_image(r->s, &image);
	write_file(in(dir_first, NAME), &image);
	buf_free(&image);
	r->before = file_bytes(dir_first);
	t = open_tree(dir_first, r->s, NULL);
	make_text(r, t);
	tree_close(t);
	copy_dir(dir_first, dir_work);
	c = crashio_new(dir_work);
	if (save(r, dir_work, c, 0, &e))
		fail_msg("%s", e.text);
	crashio_free(c);
	r->after = file_bytes(dir_work);
	assert_false(same(r->before, r->after));
	assert_int_equal(r->before.n != r->after.n, r->s->moved);
	if (r->s->undo) {                      /* that is what comes first, then */
		struct bytes b = r->before;

		r->before = r->after;
		r->after = b;
		copy_dir(dir_work, dir_first);
	}
}

/* ---- after a crash ---- */

static bool is_new(struct run *r, const char *dir, bool must)
{
	struct bytes b = file_bytes(dir);
	bool fresh = same(b, r->after);

	assert_true(fresh || (!must && same(b, r->before)));
	free(b.p);
	return fresh;
}

/* What a reader sees before anybody has recovered anything, as a text of the disc. */
static void look(struct run *r, const char *dir, struct buf *out)
{
	struct tree *t = open_tree(dir, r->s, NULL);

	shown_text(t, r->s->path, out);
	tree_close(t);
}

static void check_disc(struct run *r, const char *dir, bool must)
{
	struct buf read = { 0 }, now = { 0 };
	struct err e = { 0 };
	struct crashio *c;
	struct tree *t;
	const char *why;
	bool fresh;

	r->crashes++;
	look(r, dir, &read);
	c = crashio_new(dir);
	t = open_tree(dir, r->s, c);
	if (!tree_writable(t, &why))
		fail_msg("not writable: %s", why);
	shown_text(t, r->s->path, &now);
	tree_close(t);
	assert_true(read.len == now.len && !memcmp(read.p, now.p, now.len));
	fresh = is_new(r, dir, must);
	if (fresh != r->s->undo && take_back(dir, c, 0, &e))
		fail_msg("undo: %s", e.text);
	assert_int_equal(is_new(r, dir, false), r->s->undo);
	assert_int_equal(files_in(dir), 1);
	crashio_free(c);
	buf_free(&read);
	buf_free(&now);
}

static int go(struct run *r, const char *dir, struct crashio *c, unsigned step)
{
	struct err e = { 0 };

	return r->s->undo ? take_back(dir, c, step, &e) : save(r, dir, c, step, &e);
}

/* Opens what a crash has left, and dies at the step. */
static void crash_again(struct run *r, unsigned step, bool must)
{
	struct archive_options opt = { .write = true, .io = &crashio_ops };
	struct crashio *c;
	struct archive *a = NULL;

	copy_dir(dir_disc, dir_work);
	c = crashio_new(dir_work);
	opt.io_ctx = c;
	crashio_die(c, step);
	if (!archive_open(in(dir_work, NAME), &opt, &a, NULL))
		archive_close(a);
	crashio_crash(c, dir_again, step % 2 ? CRASH_LOST : CRASH_SOME, step);
	check_disc(r, dir_again, must);
	crashio_free(c);
}

static bool crash_at(struct run *r, unsigned k)
{
	struct crashio *c;
	unsigned steps;
	int rc;

	copy_dir(dir_first, dir_work);
	c = crashio_new(dir_work);
	rc = go(r, dir_work, c, k);
	steps = crashio_steps(c);
	assert_true(steps >= k || !rc);
	for (enum crash how = 0; how < CRASH_KINDS; how++) {
		crashio_crash(c, dir_disc, how, 1000 + k);
		if (how == CRASH_KEPT)
			crash_again(r, 1 + k % 7, !rc);
		check_disc(r, dir_disc, !rc);
	}
	crashio_free(c);
	return steps >= k;
}

static void crash_everywhere(const struct scenario *s, unsigned least)
{
	struct run r = { .s = s };
	unsigned k = 1;

	make_first(&r);
	while (crash_at(&r, k))
		k++;
	assert_true(k > least);                        /* it was not over before it began */
	print_message("[          ] %u steps, %lu discs\n", k, r.crashes);
	buf_free(&r.text);
	free(r.before.p);
	free(r.after.p);
}

CRASH_TEST(no_disc, 14, .image = IMAGE_NONE, .path = LONE_MESH, .faces = 100, .grow = true, .moved = true)
CRASH_TEST(plain_file, 12, .image = IMAGE_PLAIN, .path = "A.TXT", .bytes = 5000)
CRASH_TEST(raw_file, 12, .image = IMAGE_RAW, .path = "A.TXT", .bytes = 5000)
CRASH_TEST(raw_file_same_size, 12, .image = IMAGE_RAW, .path = "NEXT.BIN", .bytes = 3000)
CRASH_TEST(raw_chain, 12, .image = IMAGE_RAW, .path = MESH, .faces = 100)
CRASH_TEST(raw_undo, 8, .image = IMAGE_RAW, .path = MESH, .faces = 100, .undo = true)
CRASH_TEST(cso_file, 12, .image = IMAGE_CSO, .path = "A.TXT", .bytes = 100)
CRASH_TEST(cso_file_anew, 14, .image = IMAGE_CSO, .path = "A.TXT", .bytes = 5000, .grow = true, .moved = true)
CRASH_TEST(cso_chain, 14, .image = IMAGE_CSO, .path = MESH, .faces = 100, .grow = true, .moved = true)
CRASH_TEST(cso_undo, 8, .image = IMAGE_CSO, .path = MESH, .faces = 100, .grow = true, .moved = true, .undo = true)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_disc), cmocka_unit_test(plain_file), cmocka_unit_test(raw_file),
		cmocka_unit_test(raw_file_same_size),
		cmocka_unit_test(raw_chain), cmocka_unit_test(raw_undo), cmocka_unit_test(cso_file),
		cmocka_unit_test(cso_file_anew), cmocka_unit_test(cso_chain), cmocka_unit_test(cso_undo),
	};

	return cmocka_run_group_tests(tests, crashed_start, crashed_end);
}
