/* Journals and undo files as bytes: the layout that journal.h tells, version 1, and tables that do not add up. All are
 * made here byte by byte. */
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
#include <zlib.h>

#include "bytes.h"
#include "crashio.h"
#include "foldered.h"

enum { RECORDED = 1, REWRITTEN = 2, RESTORED = 4, CUTS = 8 };

#define ARCHIVE "top.bin"
#define JOURNAL ".top.bin.modelfs-journal"
#define UNDO "top.bin.modelfs-undo"
#define FRESH ".top.bin.modelfs-new"

/* ---- making them ---- */

static void add32(struct buf *b, uint32_t v)
{
	uint8_t p[4];

	put_le32(p, v);
	buf_add(b, p, 4);
}

static void add64(struct buf *b, uint64_t v)
{
	add32(b, (uint32_t)v);
	add32(b, (uint32_t)(v >> 32));
}

static void set32(struct buf *b, size_t at, uint32_t v)
{
	put_le32(b->p + at, v);
}

static void set64(struct buf *b, size_t at, uint64_t v)
{
	set32(b, at, (uint32_t)v);
	set32(b, at + 4, (uint32_t)(v >> 32));
}

static uint64_t get64(const uint8_t *p)
{
	return le_u32(p) | (uint64_t)le_u32(p + 4) << 32;
}

static struct buf head(uint32_t version, uint32_t flags, uint64_t sequence)
{
	struct buf b = { 0 };

	buf_add(&b, "modelfsJ", 8);
	add32(&b, version);
	add32(&b, flags);
	add64(&b, 0);                          /* length */
	add64(&b, sequence);
	add64(&b, 1700000000);
	add32(&b, 5);
	for (unsigned i = 0; i < 20; i++)
		add32(&b, 0);
	buf_add(&b, "w", 1);                   /* path in the tree */
	set32(&b, 100, 1);
	set32(&b, 104, 1);
	return b;
}

/* The first file is `file`; n of its bytes at `at` become those of `to`. */
static void record(struct buf *b, uint32_t index, unsigned file, uint64_t at, const char *to)
{
	add32(b, index);
	add32(b, (uint32_t)strlen(to));
	add32(b, (uint32_t)strlen(to));
	add32(b, 0);
	add64(b, at);
	buf_add(b, to, strlen(to));
	for (size_t i = 0; i < strlen(to); i++)
		buf_char(b, first_byte(file, at + i));
	set64(b, 88, get64(b->p + 88) + 1);
}

/* An entry of the table, with all records of the file, which begin `at` bytes into the journal. */
static void entry(struct buf *b, const char *path, uint64_t at, uint64_t nrecords)
{
	size_t from = b->len;

	add32(b, (uint32_t)strlen(path) + 1);
	add32(b, 0);                           /* flags */
	add32(b, 0);                           /* N */
	add32(b, 0);
	add64(b, 0);                           /* inode */
	add64(b, SIZE);
	add64(b, SIZE);
	add64(b, at);
	add64(b, nrecords);
	buf_add(b, path, strlen(path) + 1);
	set32(b, 108, le_u32(b->p + 108) + (uint32_t)(b->len - from));
}

static void seal(struct buf *b)
{
	set64(b, 16, b->len);
	set32(b, 116, (uint32_t)crc32_z(0, b->p + 124, b->len - 124));
	set32(b, 120, (uint32_t)crc32_z(0, b->p, 120));
}

static void store(const char *name, struct buf *b)
{
	FILE *f = fopen(below(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(b->p, 1, b->len, f), b->len);
	fclose(f);
	buf_free(b);
}

/* Version 1: a patch of top.bin. */
static struct buf old_patch(uint64_t sequence, uint64_t at, const char *to)
{
	struct buf b = head(1, RECORDED, sequence);

	set64(&b, 72, SIZE);
	set64(&b, 80, SIZE);
	record(&b, 0, 0, at, to);
	seal(&b);
	return b;
}

static struct archive *open_archive(void)
{
	struct archive_options opt = { .write = true };
	struct archive *a;
	struct err e = { 0 };

	if (archive_open(below(ARCHIVE), &opt, &a, &e))
		fail_msg("open: %s", e.text);
	return a;
}

static void expect_undo(struct archive *a, unsigned n)
{
	struct err e = { 0 };
	unsigned done;

	if (archive_undo(a, 100, &done, &e))
		fail_msg("undo: %s", e.text);
	assert_int_equal(done, n);
	assert_true(all_first());
	assert_false(there(UNDO));
}

/* ---- version 1 ---- */

static void test_old_journal(void **state)
{
	struct buf b = old_patch(1, 100, "hello");
	struct archive *a;
	char got[6] = "";

	(void)state;
	store(JOURNAL, &b);
	assert_int_equal(archive_open(below(ARCHIVE), &(struct archive_options){ 0 }, &a, NULL), 0);
	assert_int_equal(src_pread(archive_source(a), got, 5, 100), 0);
	assert_string_equal(got, "hello");
	archive_close(a);
	assert_true(all_first());              /* it was read through */
	a = open_archive();
	assert_true(archive_writable(a, NULL) && has(ARCHIVE, 100, "hello"));
	assert_true(there(UNDO) && !there(JOURNAL));
	expect_undo(a, 1);
	archive_close(a);
}

static void test_old_undo(void **state)
{
	struct buf b = old_patch(3, 100, "hello"), more = old_patch(7, 1000, "again");
	struct archive *a;
	struct plan p;
	int fd;

	(void)state;
	buf_add(&b, more.p, more.len);
	buf_free(&more);
	store(UNDO, &b);
	fd = open(below(ARCHIVE), O_WRONLY);
	assert_true(pwrite(fd, "hello", 5, 100) == 5 && pwrite(fd, "again", 5, 1000) == 5);
	close(fd);
	a = open_archive();
	plan_init(&p, archive_source(a));
	assert_int_equal(plan_write(&p, 102, "new", 3), 0);
	assert_int_equal(archive_commit(a, &p, "w", NULL, NULL, NULL), 0);
	plan_free(&p);
	assert_true(has(ARCHIVE, 100, "henew"));
	expect_undo(a, 3);
	archive_close(a);
}

/* A file written anew, its name not taken over yet: it is, and the old one is kept and comes back. */
static void test_old_rewrite(void **state)
{
	struct buf b = head(1, RECORDED | REWRITTEN, 1), fresh = { 0 };
	struct archive *a;
	struct stat st;

	(void)state;
	for (unsigned i = 0; i < 7000; i++)
		buf_char(&fresh, (uint8_t)i);
	set32(&b, 44, 1);
	set64(&b, 72, SIZE);
	set64(&b, 80, 7000);
	set32(&b, 96, 1);
	add32(&b, (uint32_t)crc32_z(0, fresh.p, fresh.len));
	seal(&b);
	store(FRESH, &fresh);
	store(JOURNAL, &b);
	assert_int_equal(link(below(ARCHIVE), below(UNDO ".1")), 0);
	a = open_archive();
	assert_int_equal(archive_source(a)->size, 7000);
	assert_false(there(FRESH) || there(JOURNAL));
	assert_int_equal(stat(below(UNDO ".1"), &st), 0);
	assert_int_equal(st.st_size, SIZE);
	expect_undo(a, 1);
	assert_false(there(UNDO ".1"));
	archive_close(a);
}

/* ---- version 2 ---- */

/* Two files, the second one with two records. */
static struct buf two_files(void)
{
	struct buf b = head(2, RECORDED, 1);
	uint64_t at = 125 + 2 * (56 + 10);     /* both paths have nine letters */

	set32(&b, 104, 2);
	entry(&b, names[1], at, 1);
	entry(&b, names[2], at + 24 + 2 * 5, 2);
	assert_int_equal(b.len, at);
	record(&b, 0, 1, 100, "hello");
	record(&b, 1, 2, 200, "to");
	record(&b, 1, 2, 300, "you");
	seal(&b);
	return b;
}

static void test_folder_journal(void **state)
{
	struct buf b = two_files();
	struct fileset *fs;
	unsigned done;

	(void)state;
	store(".modelfs-journal", &b);
	fs = open_write();
	assert_true(has(names[1], 100, "hello") && has(names[2], 200, "to") && has(names[2], 300, "you"));
	assert_true(is_first(0));
	assert_int_equal(fileset_undo(fs, 1, &done, NULL), 0);
	assert_true(done == 1 && all_first());
	fileset_close(fs);
}

/* What a commit writes is that, byte by byte. */
static void test_layout(void **state)
{
	struct fileset *fs = open_write();
	struct buf want = two_files();
	struct err e = { 0 };
	uint8_t got[512];
	struct edit ed;
	int fd;

	(void)state;
	begin(&ed, fs, &names[1], 2);
	assert_int_equal(plan_write(&ed.plan[0], 100, "hello", 5), 0);
	assert_int_equal(plan_write(&ed.plan[1], 200, "to", 2), 0);
	assert_int_equal(plan_write(&ed.plan[1], 300, "you", 3), 0);
	assert_int_equal(finish(&ed, fs, "w", &e), 0);
	fileset_close(fs);
	fd = open(below(".modelfs-undo"), O_RDONLY);
	assert_int_equal(read(fd, got, sizeof got), want.len);
	close(fd);
	memcpy(want.p + 32, got + 32, 12);     /* the time */
	set64(&want, 56, 10);                  /* bytes changed, which nothing but the log reads */
	seal(&want);
	assert_memory_equal(got, want.p, want.len);
	buf_free(&want);
}

enum damage {
	NO_ZERO, ZERO_INSIDE, NO_LENGTH, LONG_PATH, MORE_FILES, SHORT_TABLE, HUGE_TABLE, EARLY_RECORDS, LATE_RECORDS,
	OTHER_INDEX, MORE_RECORDS, HUGE_SIZE, BEHIND_END, TWO_REWRITTEN, CRC_TOO_MANY, LEADS_OUT, ABSOLUTE, ITSELF,
	DAMAGES
};

static void damage(struct buf *b, enum damage how)
{
	uint8_t *first = b->p + 125, *second = first + 66, *records = second + 66;

	switch (how) {
	case NO_ZERO: first[65] = 'x'; break;
	case ZERO_INSIDE: first[60] = 0; break;
	case NO_LENGTH: put_le32(first, 0); break;
	case LONG_PATH: put_le32(first, 0xffffffff); break;
	case MORE_FILES: set32(b, 104, 3); break;
	case SHORT_TABLE: set32(b, 108, 100); break;
	case HUGE_TABLE: set32(b, 108, 0xffffff00); break;
	case EARLY_RECORDS: put_le32(first + 40, 124); break;
	case LATE_RECORDS: put_le32(first + 40, (uint32_t)b->len - 3); break;
	case OTHER_INDEX: put_le32(records, 1); break;
	case MORE_RECORDS: put_le32(second + 48, 3); break;
	case HUGE_SIZE: memset(first + 24, 0xff, 8); break;
	case BEHIND_END: put_le32(records + 16, SIZE - 2); break;
	case TWO_REWRITTEN:
		set32(b, 12, RECORDED | REWRITTEN);
		put_le32(first + 4, REWRITTEN);
		put_le32(second + 4, REWRITTEN);
		break;
	case CRC_TOO_MANY: set32(b, 96, 1); break;
	case LEADS_OUT: memcpy(first + 56, "pl/../../", 9); break;
	case ABSOLUTE: memcpy(first + 56, "/pl/a.mod", 9); break;
	case ITSELF: first[56] = 0; put_le32(first, 1); break;
	default: break;
	}
	seal(b);
}

/* None is applied, to no file; nor read through. */
static void test_damaged(void **state)
{
	(void)state;
	for (enum damage how = 0; how < DAMAGES; how++) {
		struct buf b = two_files();
		struct fileset *fs;

		damage(&b, how);
		store(".modelfs-journal", &b);
		fs = open_read();
		assert_false(fileset_pending(fs));
		fileset_close(fs);
		fs = open_with(&(struct fileset_options){ .write = true });
		assert_false(fileset_pending(fs));
		if (!all_first())
			fail_msg("damage %d was applied", how);
		fileset_close(fs);
		unlink(below(".modelfs-journal"));
		if (files_in(dir) != FILES)
			fail_msg("damage %d left a file", how);
	}
}

/* A journal that is about one of the files beside it. */
static void test_own_file(void **state)
{
	struct buf b = head(2, RECORDED, 1), undo = { 0 };
	struct fileset *fs;

	(void)state;
	entry(&b, ".modelfs-undo", 125 + 56 + 14, 1);
	record(&b, 0, 0, 100, "hello");
	seal(&b);
	store(".modelfs-journal", &b);
	for (unsigned i = 0; i < SIZE; i++)
		buf_char(&undo, first_byte(0, i));
	store(".modelfs-undo", &undo);
	fs = open_with(&(struct fileset_options){ .write = true });
	assert_false(fileset_writable(fs, NULL));
	fileset_close(fs);
	assert_false(has(".modelfs-undo", 100, "hello"));
}

/* A folder's journal is none of an archive, and the other way round. */
static void test_wrong_place(void **state)
{
	struct buf b = two_files();
	struct archive *a;
	struct fileset *fs;

	(void)state;
	store(JOURNAL, &b);
	a = open_archive();
	assert_false(archive_writable(a, NULL));
	archive_close(a);
	assert_true(all_first() && there(JOURNAL));
	b = old_patch(1, 100, "hello");
	store(".modelfs-journal", &b);
	fs = open_with(&(struct fileset_options){ .write = true });
	assert_false(fileset_writable(fs, NULL));
	fileset_close(fs);
	assert_true(all_first() && there(".modelfs-journal"));
}

/* What the journal of an archive names beside it, hidden files and what modelfs keeps excepted, and nowhere else. */
static void test_beside_archive(void **state)
{
	static const char *const bad[] = {
		"../a.mod3", "pl/a.mod3", "/etc/passwd", "..", ".", ARCHIVE, ".profile", "x.bin.modelfs-undo",
		"x.bin.modelfs-undo.3", ".x.bin.modelfs-journal", ".x.bin.modelfs-new", "link",
	};
	struct archive *a;
	const char *why;

	(void)state;
	assert_int_equal(symlink("/etc/passwd", below("link")), 0);
	for (unsigned i = 0; i <= ARRAY_LEN(bad); i++) {
		const char *name = i < ARRAY_LEN(bad) ? bad[i] : "other.tex";
		struct buf b = head(2, RECORDED, 1), file = { 0 };

		for (unsigned k = 0; k < SIZE && i >= 6 && strcmp(name, "link"); k++)
			buf_char(&file, first_byte(0, k));
		if (file.len)
			store(name, &file);
		entry(&b, name, 125 + 56 + strlen(name) + 1, 1);
		record(&b, 0, 0, 100, "hello");
		seal(&b);
		store(JOURNAL, &b);
		a = open_archive();
		assert_int_equal(archive_writable(a, &why), i == ARRAY_LEN(bad));
		if (i < ARRAY_LEN(bad))
			assert_non_null(strstr(why, name));
		archive_close(a);
		assert_int_equal(there(JOURNAL), i < ARRAY_LEN(bad));
		if (i >= 6 && strcmp(name, "link"))
			assert_int_equal(has(name, 100, "hello"), i == ARRAY_LEN(bad));
		assert_true(all_first());
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_old_journal), TEST(test_old_undo), TEST(test_old_rewrite), TEST(test_folder_journal),
		TEST(test_layout), TEST(test_damaged), TEST(test_own_file), TEST(test_wrong_place),
		TEST(test_beside_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
