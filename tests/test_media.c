/* Containers like discs: folders, pieces, times, entries that are never written, and what their entries lie in; what an
 * edit writes of that, and what it must not. */
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

#include "archive.h"
#include "build.h"
#include "bytes.h"
#include "plate.h"
#include "shown_quad.h"
#include "unit.h"

#define YEAR_2001 978307200u

static const char *const file_of[PLATE_KINDS] = { "bare.plt", "sectors.plt", "squashed.sqp" };

static void write_plate(enum plate_kind kind, const struct plate_entry *v, uint32_t n)
{
	struct buf b = { 0 };

	plate_build(&b, kind, v, n);
	shown_write(file_of[kind], &b);
	buf_free(&b);
}

/* Whether the medium of the file is, from a byte on, that of such a plate. */
static bool medium_is(enum plate_kind kind, const struct plate_entry *v, uint32_t n)
{
	struct buf file = { 0 }, has = { 0 }, built = { 0 }, want = { 0 };
	bool is;

	shown_read(file_of[kind], &file);
	plate_medium(&file, &has);
	plate_build(&built, kind, v, n);
	plate_medium(&built, &want);
	is = has.len == want.len && !memcmp(has.p, want.p, has.len);
	/* Sectors have sums, and nothing that could be otherwise. */
	if (kind != PLATE_SQUASHED)
		is &= file.len == built.len && !memcmp(file.p, built.p, file.len);
	buf_free(&file);
	buf_free(&has);
	buf_free(&built);
	buf_free(&want);
	return is;
}

static struct node_attr attr_of(struct tree *t, const char *path)
{
	struct node_attr a;
	struct node n;

	assert_int_equal(shown_enter(t, path, &n), 0);
	node_attr(t, n, true, &a);
	node_put(t, n);
	tree_leave(t);
	return a;
}

static int try_write(struct tree *t, const char *path, struct err *why)
{
	struct node n;
	int rc;

	assert_int_equal(shown_enter(t, path, &n), 0);
	rc = node_may_write(t, n, why);
	tree_leave(t);
	return rc;
}

static int open_read(struct tree *t, const char *path, struct err *why)
{
	struct handle *h = NULL;
	uint8_t byte;
	struct node n;
	int rc;

	assert_int_equal(shown_enter(t, path, &n), 0);
	rc = node_open(t, n, &h, why);
	if (!rc) {
		rc = handle_read(h, &byte, 1, 0);
		handle_put(h);
	}
	tree_leave(t);
	return rc;
}

/* ---- what is shown ---- */

static const char alphabet[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz";

static const struct plate_entry several[] = {
	{ "z.txt", "zzz", 3, 100, YEAR_2001, 0, 0 },
	{ "sub", "", 0, 0, YEAR_2001 + 1, PLATE_FOLDER, 0 },
	{ "sub/b.txt", "b", 1, 8, 0, 0, 0 },
	{ "empty", "", 0, 0, YEAR_2001 + 2, PLATE_FOLDER, 0 },
	{ "a.txt", alphabet, 80, 80, 5, 0, 30 },
	{ "fixed.txt", "fixed", 5, 8, 0, PLATE_FIXED, 0 },
	{ "lost.txt", "lost!", 5, 8, 0, PLATE_LOST, 0 },
	{ "sub/none.txt", "", 0, 8, 0, 0, 0 },
};

static void check_shown(struct tree *t, const char *top)
{
	char path[64];
	struct err why = { 0 };

#define AT(name) (snprintf(path, sizeof path, "%s%s%s", top, *top && *(name) ? "/" : "", name), path)
	assert_string_equal(shown_list(t, AT("")), "z.txt sub/ empty/ a.txt fixed.txt lost.txt");
	assert_string_equal(shown_list(t, AT("sub")), "b.txt none.txt");
	assert_string_equal(shown_list(t, AT("empty")), "");
	assert_true(shown_is(t, AT("z.txt"), "zzz", 3));
	assert_true(shown_is(t, AT("sub/b.txt"), "b", 1));
	assert_true(shown_is(t, AT("sub/none.txt"), "", 0));
	assert_true(shown_is(t, AT("a.txt"), alphabet, 80));
	assert_int_equal(attr_of(t, AT("z.txt")).mtime.tv_sec, YEAR_2001);
	assert_int_equal(attr_of(t, AT("sub")).mtime.tv_sec, YEAR_2001 + 1);
	assert_int_equal(attr_of(t, AT("empty")).mtime.tv_sec, YEAR_2001 + 2);
	/* None, and one before 1980: the file's. */
	assert_int_equal(attr_of(t, AT("sub/b.txt")).mtime.tv_sec / 1000000, 1500);
	assert_int_equal(attr_of(t, AT("a.txt")).mtime.tv_sec / 1000000, 1500);
	assert_int_equal(attr_of(t, AT("lost.txt")).size, 5);
	assert_int_equal(open_read(t, AT("lost.txt"), &why), -EBADMSG);
	assert_non_null(strstr(why.text, "is none"));
	assert_int_equal(try_write(t, AT("lost.txt"), &why), -EIO);
	assert_int_equal(try_write(t, AT("a.txt"), &why), -EROFS);
	assert_string_equal(why.text, "two pieces");
	assert_int_equal(attr_of(t, AT("a.txt")).mode, 0644);
	assert_int_equal(try_write(t, AT("fixed.txt"), &why), -EROFS);
	assert_int_equal(try_write(t, AT("z.txt"), &why), 0);
#undef AT
}

static void shown_alone(void **state)
{
	struct tree *t;

	(void)state;
	for (enum plate_kind k = 0; k < PLATE_KINDS; k++) {
		write_plate(k, several, ARRAY_LEN(several));
		t = shown_open(file_of[k], true);
		check_shown(t, "");
		tree_close(t);
	}
}

static void shown_in_folder(void **state)
{
	struct tree *t;

	(void)state;
	for (enum plate_kind k = 0; k < PLATE_KINDS; k++)
		write_plate(k, several, ARRAY_LEN(several));
	t = shown_open("", true);
	for (enum plate_kind k = 0; k < PLATE_KINDS; k++)
		check_shown(t, file_of[k]);
	tree_close(t);
}

/* A medium that cannot be: a plain file. */
static void damaged(void **state)
{
	struct buf b = { 0 };
	struct tree *t;

	(void)state;
	plate_build(&b, PLATE_SECTORS, several, ARRAY_LEN(several));
	b.len -= 64;
	shown_write("sectors.plt", &b);
	t = shown_open("", true);
	assert_true(shown_is(t, "sectors.plt", b.p, b.len));
	tree_close(t);
	buf_free(&b);
}

/* ---- plain entries ---- */

#define NPAIR 3u
static void pair(struct plate_entry v[NPAIR], const char *first, const char *second)
{
	v[0] = (struct plate_entry){ "d/one.txt", first, (uint32_t)strlen(first), 200, YEAR_2001, 0, 0 };
	v[1] = (struct plate_entry){ "two.txt", second, (uint32_t)strlen(second), 200, YEAR_2001, 0, 0 };
	v[2] = (struct plate_entry){ "d/last", alphabet, 60, 60, YEAR_2001, 0, 0 };
}

/* The other entries are what they were, and their times. */
static void check_pair(struct tree *t, const char *first, const char *second)
{
	assert_true(shown_is(t, "d/one.txt", first, strlen(first)));
	assert_true(shown_is(t, "two.txt", second, strlen(second)));
	assert_true(shown_is(t, "d/last", alphabet, 60));
	assert_int_equal(attr_of(t, "two.txt").mtime.tv_sec, YEAR_2001);
	assert_int_equal(attr_of(t, "d/last").mtime.tv_sec, YEAR_2001);
	assert_true(attr_of(t, "d/one.txt").mtime.tv_sec > 1600000000);
}

static void edits(enum plate_kind k)
{
	struct plate_entry was[NPAIR], now[NPAIR];
	struct buf file = { 0 };
	struct err why = { 0 };
	struct tree *t;

	pair(was, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "second");
	write_plate(k, was, NPAIR);
	shown_read(file_of[k], &file);
	t = k == PLATE_SQUASHED ? shown_open_growing(file_of[k]) : shown_open(file_of[k], true);
	assert_true(shown_is(t, "two.txt", "second", 6));
	/* What is as it was is not written. */
	assert_int_equal(shown_save(t, "d/one.txt", was[0].bytes, was[0].size, NULL), 0);
	assert_true(shown_file_is(file_of[k], &file));

	pair(now, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbb", "second");
	assert_int_equal(shown_save(t, "d/one.txt", now[0].bytes, now[0].size, NULL), 0);
	assert_true(medium_is(k, now, NPAIR));
	check_pair(t, now[0].bytes, "second");

	/* Shorter, empty, and up to the last byte of its room. */
	pair(now, "aaa", "second");
	assert_int_equal(shown_save(t, "d/one.txt", "aaa", 3, NULL), 0);
	assert_true(medium_is(k, now, NPAIR));
	pair(now, "", "second");
	assert_int_equal(shown_save(t, "d/one.txt", "", 0, NULL), 0);
	assert_true(medium_is(k, now, NPAIR));
	char long_one[202];
	memset(long_one, 'c', 200);
	long_one[200] = 0;
	pair(now, long_one, "second");
	assert_int_equal(shown_save(t, "d/one.txt", long_one, 200, NULL), 0);
	assert_true(medium_is(k, now, NPAIR));
	check_pair(t, long_one, "second");

	buf_free(&file);
	file = (struct buf){ 0 };
	shown_read(file_of[k], &file);
	assert_int_equal(shown_save(t, "d/one.txt", memset(long_one, 'd', 201), 201, &why), -ENOSPC);
	assert_string_equal(why.text, "1 bytes more than its 200: so many bytes are missing");
	assert_true(shown_file_is(file_of[k], &file));
	tree_close(t);
	t = shown_open(file_of[k], false);
	assert_true(shown_is(t, "d/one.txt", memset(long_one, 'c', 200), 200));
	assert_true(shown_is(t, "two.txt", "second", 6));
	tree_close(t);
	buf_free(&file);
}

static void edits_bare(void **state)
{
	(void)state;
	edits(PLATE_BARE);
}

static void edits_in_sectors(void **state)
{
	(void)state;
	edits(PLATE_SECTORS);
}

static void edits_squashed(void **state)
{
	(void)state;
	edits(PLATE_SQUASHED);
}

/* A file that is open, and what another mount has read, after an edit. */
static void open_files(void **state)
{
	struct plate_entry was[NPAIR];
	uint8_t got[8];
	struct handle *h;
	struct tree *t, *reader;
	struct node n;

	(void)state;
	for (enum plate_kind k = 0; k < PLATE_KINDS; k++) {
		pair(was, "first", "second");
		write_plate(k, was, NPAIR);
		t = shown_open(file_of[k], true);
		reader = shown_open(file_of[k], false);
		assert_true(shown_is(reader, "d/one.txt", "first", 5));
		assert_int_equal(shown_enter(t, "d/one.txt", &n), 0);
		assert_int_equal(node_open(t, n, &h, NULL), 0);
		assert_int_equal(handle_read(h, got, 8, 0), 5);
		tree_leave(t);
		assert_int_equal(shown_save(t, "d/one.txt", "FIRST", 5, NULL), 0);
		tree_enter(t);
		assert_int_equal(handle_read(h, got, 8, 0), 5);
		assert_memory_equal(got, "FIRST", 5);
		tree_leave(t);
		handle_put(h);
		usleep(20000);                 /* until then a change may go unseen */
		assert_true(shown_is(reader, "d/one.txt", "FIRST", 5));
		assert_true(shown_is(reader, "two.txt", "second", 6));
		tree_close(reader);
		tree_close(t);
	}
}

/* What does not fit its slot: nothing changes, or the file is written anew; then taken back. */
static void squashed_anew(void **state)
{
	struct archive_options opt = { .write = true };
	struct plate_entry was[NPAIR], now[NPAIR];
	struct buf file = { 0 };
	struct archive *a;
	struct err why = { 0 };
	struct tree *t;
	unsigned done;

	(void)state;
	pair(was, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "two");
	write_plate(PLATE_SQUASHED, was, NPAIR);
	shown_read(file_of[PLATE_SQUASHED], &file);
	t = shown_open(file_of[PLATE_SQUASHED], true);
	assert_int_equal(shown_save(t, "d/one.txt", alphabet, 80, &why), -ENOSPC);
	assert_non_null(strstr(why.text, "bytes are missing in slots of blocks"));
	assert_true(shown_file_is(file_of[PLATE_SQUASHED], &file));
	assert_true(shown_is(t, "d/one.txt", was[0].bytes, was[0].size));
	assert_int_equal(attr_of(t, "d/one.txt").mtime.tv_sec, YEAR_2001);
	tree_close(t);

	t = shown_open_growing(file_of[PLATE_SQUASHED]);
	assert_true(shown_is(t, "two.txt", "two", 3));
	assert_int_equal(shown_save(t, "d/one.txt", alphabet, 80, NULL), 0);
	pair(now, "", "two");
	now[0].bytes = alphabet;
	now[0].size = 80;
	assert_true(medium_is(PLATE_SQUASHED, now, NPAIR));
	assert_true(shown_is(t, "d/one.txt", alphabet, 80));
	assert_int_equal(attr_of(t, "two.txt").mtime.tv_sec, YEAR_2001);
	assert_int_equal(shown_save(t, "two.txt", alphabet + 7, 40, NULL), 0);
	assert_true(shown_is(t, "d/one.txt", alphabet, 80));
	assert_true(shown_is(t, "two.txt", alphabet + 7, 40));
	tree_close(t);
	assert_int_equal(archive_open(shown_at(file_of[PLATE_SQUASHED]), &opt, &a, NULL), 0);
	assert_int_equal(archive_undo(a, 2, &done, NULL), 0);
	assert_int_equal(done, 2);
	archive_close(a);
	assert_true(shown_file_is(file_of[PLATE_SQUASHED], &file));
	buf_free(&file);
}

/* ---- models in it ---- */

static void quads(struct plate_entry v[5], const struct quad_files *q)
{
	static const char *const name[4] = { "m/x.qda", "m/x.qdb", "m/x.qdc", "m/x.qdd" };

	for (unsigned k = 0; k < 4; k++)
		v[k] = (struct plate_entry){
			name[k], q->f[k].p, (uint32_t)q->f[k].len, (uint32_t)q->f[k].len + 40, YEAR_2001, 0, 0
		};
	v[4] = (struct plate_entry){ "end", "end", 3, 3, 0, 0, 0 };
}

static void models(void **state)
{
	struct quad_files was, now;
	struct plate_entry v[5];
	struct err why = { 0 };
	struct tree *t;

	(void)state;
	quad_build(&was, 2, 7, QUAD_ALL);
	quad_build(&now, 2, 9, QUAD_ALL);
	for (enum plate_kind k = 0; k < PLATE_KINDS; k++) {
		quads(v, &was);
		write_plate(k, v, 5);
		t = shown_open(file_of[k], true);
		assert_string_equal(shown_list(t, "m"), "x.qda/");
		assert_true(wholes_are(t, &was, "m/x.qda"));
		assert_int_equal(shown_save(t, "m/x.qda/header.yaml", "stamp: 9\n", 9, NULL), 0);
		assert_true(wholes_are(t, &now, "m/x.qda"));
		quads(v, &now);
		assert_true(medium_is(k, v, 5));
		assert_int_equal(shown_save(t, "m/x.qda/header.yaml", "b_size: 50\n", 11, NULL), 0);
		assert_int_equal(attr_of(t, "m/x.qda/raw/whole.qdb").size, 50);
		assert_int_equal(shown_save(t, "m/x.qda/header.yaml", "b_size: 200\n", 12, &why), -ENOSPC);
		assert_non_null(strstr(why.text, "bytes are missing"));
		assert_true(shown_is(t, "end", "end", 3));
		tree_close(t);
	}
	quad_free(&was);
	quad_free(&now);
}

/* ---- an archive in it that moves its own later entries ---- */

static void with_row(struct plate_entry v[3], const struct buf *row, uint32_t room)
{
	v[0] = (struct plate_entry){ "before", "before", 6, 20, 0, 0, 0 };
	v[1] = (struct plate_entry){ "r.row", row->p, (uint32_t)row->len, room, YEAR_2001, 0, 0 };
	v[2] = (struct plate_entry){ "behind", alphabet, 70, 70, YEAR_2001, 0, 0 };
}

/* Entry 1 of a row of three, 40 bytes each, becomes 50 long: the row moves its last entry by 10. */
static void build_grown(struct buf *out)
{
	struct buf was = { 0 };

	row_build(&was, 3, 40, 0);
	buf_add(out, was.p, 8 + 24 + 80);
	memset(out->p + 8 + 24 + 40, 'x', 40);
	buf_add(out, "xxxxxxxxxx", 10);
	buf_add(out, was.p + 8 + 24 + 80, 40);
	put_le32(out->p + 8 + 8 + 4, 50);
	put_le32(out->p + 8 + 16, 8 + 24 + 90);
	buf_free(&was);
}

static void moving_row(enum plate_kind k, int want)
{
	struct buf row = { 0 }, grown = { 0 }, file = { 0 };
	struct plate_entry was[3], now[3];
	struct err why = { 0 };
	char text[50], last[40];
	struct tree *t;

	memset(text, 'x', sizeof text);
	memset(last, 'c', sizeof last);
	row_build(&row, 3, 40, 0);
	build_grown(&grown);
	with_row(was, &row, (uint32_t)row.len + 15);
	write_plate(k, was, 3);
	shown_read(file_of[k], &file);
	t = shown_open(file_of[k], true);
	assert_int_equal(shown_save(t, "r.row/1.bin", text, 50, &why), -ENOSPC);
	assert_string_equal(why.text, "10 bytes are missing");
	tree_close(t);
	t = shown_open_growing(file_of[k]);
	assert_true(shown_is(t, "r.row/2.bin", last, 40));
	assert_int_equal(shown_save(t, "r.row/1.bin", text, 50, &why), want);
	if (!want) {
		with_row(now, &grown, (uint32_t)row.len + 15);
		assert_true(medium_is(k, now, 3));
		assert_true(shown_is(t, "r.row/1.bin", text, 50));
		assert_true(shown_is(t, "r.row/2.bin", last, 40));
		assert_true(shown_is(t, "behind", alphabet, 70));
		assert_true(shown_is(t, "before", "before", 6));
		shown_read(file_of[k], (file.len = 0, &file));
		/* 5 bytes are left of its room. */
		char longer[56];
		memset(longer, 'x', sizeof longer);
		assert_int_equal(shown_save(t, "r.row/1.bin", longer, 56, &why), -ENOSPC);
		assert_non_null(strstr(why.text, "1 bytes more than its"));
	}
	assert_true(shown_file_is(file_of[k], &file));
	assert_true(shown_is(t, "r.row/2.bin", last, 40));
	tree_close(t);
	buf_free(&row);
	buf_free(&grown);
	buf_free(&file);
}

static void rows(void **state)
{
	(void)state;
	moving_row(PLATE_BARE, 0);
	moving_row(PLATE_SECTORS, -ENOSPC);            /* its format knows no way */
	moving_row(PLATE_SQUASHED, 0);
}

/* ---- notes ---- */

static void write_text(const char *name, const char *text)
{
	struct buf b = { (uint8_t *)(uintptr_t)text, strlen(text), 0, false };

	shown_write(name, &b);
}

static int open_led(const char *name, struct err *why)
{
	struct tree_options opt = { .cache = 1 << 20 };
	struct tree *t;
	int rc = tree_open(shown_at(name), &opt, &t, why);

	if (!rc) {
		assert_true(shown_is(t, "two.txt", "second", 6));
		tree_close(t);
	}
	return rc;
}

static void notes(void **state)
{
	struct plate_entry v[NPAIR];
	struct buf file = { 0 };
	struct err why = { 0 };
	struct tree *t;

	(void)state;
	pair(v, "first", "second");
	plate_build(&file, PLATE_BARE, v, NPAIR);
	shown_write("d/Image.PLT", &file);
	write_text("a.note", "NOTE d/Image.PLT\n");
	write_text("any.note", "NOTE D/image.plt\n");
	write_text("up.note", "NOTE ../d/Image.PLT\n");
	write_text("none.note", "NOTE e/Image.PLT\n");
	write_text("end.note", "NOTE e/Image.PLT");
	write_text("note.note", "NOTE a.note\n");
	write_text("root.note", "NOTE /etc/passwd\n");
	write_text("no.note", "N");
	write_text("self.note", "NOTE self.note\n");
	assert_int_equal(open_led("a.note", &why), 0);
	assert_int_equal(open_led("any.note", &why), 0);
	assert_int_equal(open_led("up.note", &why), -EINVAL);
	assert_string_equal(why.text, "it leads to \"../d/Image.PLT\", which is no path below its own folder");
	assert_int_equal(open_led("root.note", &why), -EINVAL);
	assert_int_equal(open_led("none.note", &why), -ENOENT);
	assert_string_equal(why.text, "it leads to \"e/Image.PLT\", which is not there");
	assert_int_equal(open_led("end.note", &why), -EINVAL);
	assert_string_equal(why.text, "the note has no end");
	assert_int_equal(open_led("note.note", &why), -EINVAL);
	assert_non_null(strstr(why.text, "it leads to a.note: no format modelfs knows"));
	assert_int_equal(open_led("self.note", &why), -EINVAL);
	assert_string_equal(why.text, "it leads to itself");
	assert_int_equal(open_led("no.note", &why), -EINVAL);
	assert_string_equal(why.text, "the note has no end");
	/* In a folder a note is a file; what is written through one is the image's. */
	t = shown_open("", true);
	assert_true(shown_is(t, "a.note", "NOTE d/Image.PLT\n", 17));
	assert_string_equal(shown_list(t, "d/Image.PLT"), "d/ two.txt");
	tree_close(t);
	t = shown_open("a.note", true);
	assert_int_equal(shown_save(t, "two.txt", "SECOND", 6, NULL), 0);
	tree_close(t);
	assert_int_equal(access(shown_at("d/.Image.PLT.modelfs-undo"), F_OK) &&
			 access(shown_at("d/Image.PLT.modelfs-undo"), F_OK), 0);
	pair(v, "first", "SECOND");
	buf_free(&file);
	file = (struct buf){ 0 };
	plate_build(&file, PLATE_BARE, v, NPAIR);
	assert_true(shown_file_is("d/Image.PLT", &file));
	buf_free(&file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, shown_make, shown_remove)
	const struct CMUnitTest tests[] = {
		TEST(shown_alone), TEST(shown_in_folder), TEST(damaged), TEST(edits_bare), TEST(edits_in_sectors),
		TEST(edits_squashed), TEST(open_files), TEST(squashed_anew), TEST(models), TEST(rows), TEST(notes),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
