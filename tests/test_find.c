/* Files that are asked for by name: the folder they lie in, and their names in any case. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit.h"

static void test_root(void **state)
{
	static const struct { const char *path; size_t at; } paths[] = {
		{ "/game/nativePC/pl/a.mod3", 14 },
		{ "/game/NATIVEpc/pl/a.mod3", 14 },
		{ "nativePC/a.mod3", 8 },
		{ "/nativePC/a.mod3", 9 },
		{ "nativePC/mods/nativePC/x/a.mod3", 22 },     /* the nearest */
		{ "/game/nativePC", 0 },                       /* a file that is called so */
		{ "/game/xnativePC/a.mod3", 0 },
		{ "/game/nativePCx/a.mod3", 0 },
		{ "/a.mod3", 0 },
		{ "a.mod3", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_int_equal(want_root(paths[i].path, "nativePC"), paths[i].at);
}

static void folder_is(const char *path, const char *want)
{
	char *dir = want_folder(path);

	assert_non_null(dir);
	assert_string_equal(dir, want);
	free(dir);
}

static void test_folder(void **state)
{
	(void)state;
	folder_is("/a/b/c.tex", "/a/b");
	folder_is("a/c.tex", "a");
	folder_is("/c.tex", "");
	folder_is("c.tex", "");
}

/* Whatever the order in which a file system lists them. */
static void test_in_dir(void **state)
{
	static const char *const names[] = { "skin.TEX", "Skin.tex", "SKIN.tex;1", "skin.tex2", "other.tex" };
	char dir[] = "/tmp/test_find.XXXXXX", path[64], found[NAME_MAX + 1];
	DIR *d;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		close(open(path, O_WRONLY | O_CREAT, 0600));
	}
	d = opendir(dir);
	assert_non_null(d);
	assert_true(want_in_dir(d, "skin.tex/more", 8, found));
	assert_string_equal(found, "SKIN.tex;1");
	rewinddir(d);
	assert_false(want_in_dir(d, "none.tex", 8, found));
	assert_string_equal(found, "");
	closedir(d);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root), cmocka_unit_test(test_folder), cmocka_unit_test(test_in_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
