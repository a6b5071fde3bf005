/* Stored names in folders: what they are called, where they are, what it costs when many are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tree.h"
#include "stored.h"

static const char *const taken[] = { "errors.txt", "raw", NULL };

/* Names that end with a + are those of folders. */
static struct stored *make(const char **names, uint32_t n, char separator)
{
	struct entry *entry = calloc(n, sizeof *entry);
	const struct entries v = { .v = entry, .n = n, .name = names };
	struct stored *s;

	assert_non_null(entry);
	for (uint32_t i = 0; i < n; i++)
		entry[i].folder = names[i][0] && names[i][strlen(names[i]) - 1] == '+';
	s = stored_new(&v, separator, taken, 5);
	assert_non_null(s);
	free(entry);
	return s;
}

static void path_of(const struct stored *s, uint32_t item, char *out)
{
	uint32_t d = stored_in(s, item);

	*out = 0;
	if (d)
		path_of(s, s->nentries + d - 1, out);
	sprintf(out + strlen(out), "/%s", stored_name(s, item));
}

/* The entry is at that path, and is found there part by part. */
static void is_at(const struct stored *s, uint32_t i, const char *want)
{
	char path[4096], *part = path;
	uint32_t dir = 0, item = STORED_NONE;

	path_of(s, i, path);
	assert_string_equal(path, want);
	for (part = strtok(path, "/"); part; part = strtok(NULL, "/")) {
		item = stored_find(s, dir, part);
		assert_int_not_equal(item, STORED_NONE);
		dir = stored_dir_of(s, item);
	}
	assert_int_equal(item, i);
}

#define NAMES(...) (const char *[]){ __VA_ARGS__ }, sizeof (const char *[]){ __VA_ARGS__ } / sizeof(char *)

static void test_plain(void **state)
{
	struct stored *s = make(NAMES("a\\b\\one.x", "a\\two.x", "three", "a\\b\\four.x"), '\\');

	(void)state;
	is_at(s, 0, "/a/b/one.x");
	is_at(s, 1, "/a/two.x");
	is_at(s, 2, "/three");
	is_at(s, 3, "/a/b/four.x");
	assert_int_equal(s->ndirs, 3);
	assert_int_equal(stored_find(s, 0, "b"), STORED_NONE);
	assert_int_equal(stored_find(s, 0, "A"), STORED_NONE);
	assert_int_equal(stored_find(s, 0, ""), STORED_NONE);
	stored_free(s);
}

static void listing_is(const struct stored *s, uint32_t dir, const char *want)
{
	char got[256] = "";

	for (uint32_t i = 0; i < s->dirs[dir].n; i++)
		sprintf(got + strlen(got), "%s ", stored_name(s, s->order[s->dirs[dir].first + i]));
	assert_string_equal(got, want);
}

/* A folder stands where its first entry does. */
static void test_order(void **state)
{
	struct stored *s = make(NAMES("z", "b\\2", "a", "b\\1", "b\\c\\9", "y", "b\\0"), '\\');

	(void)state;
	listing_is(s, 0, "z b a y ");
	listing_is(s, stored_dir_of(s, stored_find(s, 0, "b")), "2 1 c 0 ");
	stored_free(s);
}

/* A folder that has an entry of its own, which tells about it, before what lies in it or behind; an empty one. */
static void test_folders(void **state)
{
	struct stored *s = make(NAMES("z", "e+", "b+", "b+\\1", "c+\\2", "c+", "b+\\d+", "a", "b+\\d+\\3"), '\\');
	uint32_t b = stored_dir_of(s, stored_find(s, 0, "b+")), c = stored_dir_of(s, stored_find(s, 0, "c+"));
	uint32_t e = stored_dir_of(s, stored_find(s, 0, "e+")), d = stored_dir_of(s, stored_find(s, b, "d+"));

	(void)state;
	listing_is(s, 0, "z e+ b+ c+ a ");
	listing_is(s, b, "1 d+ ");
	listing_is(s, c, "2 ");
	listing_is(s, d, "3 ");
	listing_is(s, e, "");
	is_at(s, 3, "/b+/1");
	is_at(s, 8, "/b+/d+/3");
	assert_int_equal(s->dirs[e].entry, 2);
	assert_int_equal(s->dirs[b].entry, 3);
	assert_int_equal(s->dirs[c].entry, 6);
	assert_int_equal(s->dirs[d].entry, 7);
	stored_free(s);
	s = make(NAMES("x", "x+\\1"), '\\');
	assert_int_equal(s->dirs[stored_dir_of(s, stored_find(s, 0, "x+"))].entry, 0);
	stored_free(s);
}

static void test_repeats(void **state)
{
	struct stored *s = make(NAMES("a\\x.g", "a\\x.g", "a\\x.g", "b\\x.g", "a\\x.g~2", "x", "x~2", "x"), '\\');

	(void)state;
	is_at(s, 0, "/a/x.g");
	is_at(s, 1, "/a/x.g~2");
	is_at(s, 2, "/a/x.g~3");
	is_at(s, 3, "/b/x.g");
	is_at(s, 4, "/a/x.g~2~2");
	is_at(s, 5, "/x");
	is_at(s, 6, "/x~2");
	is_at(s, 7, "/x~3");
	stored_free(s);
}

/* Whatever came first has the name; all of a folder is in one. */
static void test_file_and_folder(void **state)
{
	struct stored *s = make(NAMES("x", "x\\1", "x\\2", "y\\1", "y", "y\\2", "x\\d\\3", "x"), '\\');

	(void)state;
	is_at(s, 0, "/x");
	is_at(s, 1, "/x~2/1");
	is_at(s, 2, "/x~2/2");
	is_at(s, 3, "/y/1");
	is_at(s, 4, "/y~2");
	is_at(s, 5, "/y/2");
	is_at(s, 6, "/x~2/d/3");
	is_at(s, 7, "/x~3");
	stored_free(s);
}

/* Names of views, where those are. */
static void test_taken(void **state)
{
	struct stored *s = make(NAMES("raw", "errors.txt", "raw\\1", "a\\raw\\2", "a\\errors.txt", "raw"), '\\');

	(void)state;
	is_at(s, 0, "/raw~2");
	is_at(s, 1, "/errors.txt~2");
	is_at(s, 2, "/raw~2~2/1");
	is_at(s, 3, "/a/raw/2");
	is_at(s, 4, "/a/errors.txt");
	is_at(s, 5, "/raw~2~3");
	stored_free(s);
}

static void test_safe(void **state)
{
	struct stored *s = make(NAMES("..\\..\\etc\\passwd", "\\abs", "C:\\drive", "a\\.\\b", ".", "..", "",
				      "new\nline\x01", "a\\\\b", "a/../b", "dir\\", "\xe9\xff", "\\\\", "...",
				      "\x7f"), '\\');

	(void)state;
	is_at(s, 0, "/__/__/etc/passwd");
	is_at(s, 1, "/abs");
	is_at(s, 2, "/C:/drive");
	is_at(s, 3, "/a/_/b");
	is_at(s, 4, "/_");
	is_at(s, 5, "/__~2");
	is_at(s, 6, "/_~2");
	is_at(s, 7, "/new_line_");
	is_at(s, 8, "/a/b");
	is_at(s, 9, "/a_.._b");
	is_at(s, 10, "/dir");
	is_at(s, 11, "/\xe9\xff");
	is_at(s, 12, "/_~3");
	is_at(s, 13, "/...");
	is_at(s, 14, "/_~4");
	stored_free(s);
	s = make(NAMES("a/b/c", "a\\b", "/x"), '/');
	is_at(s, 0, "/a/b/c");
	is_at(s, 1, "/a_b");
	is_at(s, 2, "/x");
	stored_free(s);
}

/* No part is longer than a name may be, and no path deeper than can be gone. */
static void test_long(void **state)
{
	char name[2000], same[2000], deep[2000] = "";
	const char *names[3] = { name, same, deep };
	struct stored *s;
	unsigned depth = 0;

	(void)state;
	memset(name, 'n', 300);
	name[300] = 0;
	memset(same, 'n', 400);
	same[400] = 0;
	for (unsigned i = 0; i < 500; i++)
		strcat(deep, "d\\");
	strcat(deep, "end");
	s = make(names, 3, '\\');
	assert_int_equal(strlen(stored_name(s, 0)), 255);
	assert_string_equal(stored_name(s, 1) + 243, "~2");
	for (uint32_t d = stored_in(s, 2); d; d = s->dirs[d].in)
		depth++;
	assert_int_equal(depth, 64);
	assert_int_equal(strlen(stored_name(s, 2)), 255);
	stored_free(s);
}

static void test_any_case(void **state)
{
	struct stored *s = make(NAMES("PL\\Body.TEX;1", "PL\\body.tex"), '\\');
	uint32_t dir = stored_dir_of(s, stored_find_any_case(s, 0, "pl", 2));

	(void)state;
	assert_int_equal(dir, 1);
	assert_int_equal(stored_find_any_case(s, dir, "BODY.TEXT", 8), 0);
	assert_int_equal(stored_find_any_case(s, dir, "body", 4), STORED_NONE);
	stored_free(s);
}

static void test_same(void **state)
{
	struct stored *a = make(NAMES("a\\b\\x", "y"), '\\'), *b = make(NAMES("a\\b\\x", "y"), '\\');
	struct stored *c = make(NAMES("a\\b\\x", "a\\y"), '\\'), *d = make(NAMES("a\\b\\x"), '\\');

	(void)state;
	assert_true(stored_same(a, b));
	assert_false(stored_same(a, c));
	assert_false(stored_same(a, d));
	assert_int_equal(a->dirs[0].hash, 5);
	assert_int_equal(a->dirs[2].hash, c->dirs[2].hash);
	stored_free(a);
	stored_free(b);
	stored_free(c);
	stored_free(d);
}

/* All the same name, as files and as folders: still done in an instant. */
static void test_many(void **state)
{
	const uint32_t n = 65535;
	const char **names = calloc(n, sizeof *names);
	struct stored *s;
	size_t bytes;

	(void)state;
	assert_non_null(names);
	for (uint32_t i = 0; i < n; i++)
		names[i] = i % 2 ? "x\\y" : "x";
	s = make(names, n, '\\');
	is_at(s, 65534, "/x~32769");
	is_at(s, 65533, "/x~2/y~32767");
	bytes = s->ntext + (size_t)n * (sizeof *s->entries + sizeof *s->order);
	bytes += (s->mask + (size_t)1) * sizeof *s->slot;
	assert_true(bytes / n < 40);
	stored_free(s);
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain), cmocka_unit_test(test_order),    cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_file_and_folder), cmocka_unit_test(test_taken), cmocka_unit_test(test_safe),
		cmocka_unit_test(test_long),  cmocka_unit_test(test_any_case), cmocka_unit_test(test_same),
		cmocka_unit_test(test_many), cmocka_unit_test(test_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
