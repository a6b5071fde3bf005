#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "crashio.h"
#include "foldered.h"

char dir[64];
int dir_fd;
const char *const names[FILES] = { "top.bin", "pl/a.mod3", "pl/a.mrl3" };

const char *below(const char *file)
{
	static char name[4][160];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(name[turn], sizeof name[turn], "%s/%s", dir, file);
	return name[turn];
}

uint8_t first_byte(unsigned file, uint64_t at)
{
	return (uint8_t)(at * 31 + at / 256 + file * 7);
}

void make_file(const char *where, unsigned file)
{
	FILE *f = fopen(where, "w");

	assert_non_null(f);
	for (size_t i = 0; i < SIZE; i++)
		fputc(first_byte(file, i), f);
	fclose(f);
}

int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/modelfs-fileset-XXXXXX");
	if (!mkdtemp(dir) || mkdir(below("pl"), 0755))
		return -1;
	for (unsigned i = 0; i < FILES; i++)
		make_file(below(names[i]), i);
	dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0;
}

int teardown(void **state)
{
	(void)state;
	close(dir_fd);
	empty_dir(dir);
	return rmdir(dir);
}

struct fileset *open_with(const struct fileset_options *opt)
{
	struct fileset *fs;
	struct err e = { 0 };

	if (fileset_open(dir_fd, dir, opt, &fs, &e))
		fail_msg("open: %s", e.text);
	return fs;
}

struct fileset *open_write(void)
{
	struct fileset *fs = open_with(&(struct fileset_options){ .write = true });
	const char *why;

	if (!fileset_writable(fs, &why))
		fail_msg("not writable: %s", why);
	return fs;
}

struct fileset *open_read(void)
{
	return open_with(&(struct fileset_options){ 0 });
}

bool there(const char *name)
{
	return !access(below(name), F_OK);
}

bool has(const char *name, uint64_t at, const char *text)
{
	char got[64] = "";
	int fd = open(below(name), O_RDONLY);
	ssize_t n = pread(fd, got, strlen(text), (off_t)at);

	close(fd);
	return n == (ssize_t)strlen(text) && !memcmp(got, text, strlen(text));
}

bool is_first(unsigned file)
{
	uint8_t p[SIZE + 1];
	int fd = open(below(names[file]), O_RDONLY);
	bool same = read(fd, p, sizeof p) == SIZE;

	for (size_t i = 0; i < SIZE && same; i++)
		same = p[i] == first_byte(file, i);
	close(fd);
	return same;
}

bool all_first(void)
{
	return is_first(0) && is_first(1) && is_first(2);
}

/* ---- commits of the same text at the same place of several files ---- */

void begin(struct edit *ed, struct fileset *fs, const char *const *files, size_t n)
{
	*ed = (struct edit){ .n = n };
	for (size_t i = 0; i < n; i++) {
		int fd = fileset_open_file(fs, files[i], O_RDONLY);

		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &ed->v[i].was), 0);
		assert_int_equal(src_fd(fd, &ed->src[i], NULL), 0);
		plan_init(&ed->plan[i], ed->src[i]);
		ed->v[i].path = files[i];
		ed->v[i].plan = &ed->plan[i];
	}
}

void write_all(struct edit *ed, uint64_t at, const char *text)
{
	for (size_t i = 0; i < ed->n; i++) {
		struct plan *p = &ed->plan[i];

		if (p->size < at + strlen(text))
			assert_int_equal(plan_resize(p, at + strlen(text)), 0);
		assert_int_equal(plan_write(p, at, text, strlen(text)), 0);
	}
}

int finish(struct edit *ed, struct fileset *fs, const char *what, struct err *e)
{
	int rc;

	for (size_t i = 0; i < ed->n; i++)
		assert_int_equal(plan_settle(&ed->plan[i], NULL), 0);
	rc = fileset_commit(fs, ed->v, ed->n, what, NULL, NULL, e);
	for (size_t i = 0; i < ed->n; i++) {
		plan_free(&ed->plan[i]);
		src_put(ed->src[i]);
	}
	return rc;
}

int commit(struct fileset *fs, size_t n, uint64_t at, const char *text, struct err *e)
{
	struct edit ed;

	begin(&ed, fs, names, n);
	write_all(&ed, at, text);
	return finish(&ed, fs, "pl/a.mod3/meshes/0.obj", e);
}

void must_commit(struct fileset *fs, size_t n, uint64_t at, const char *text)
{
	struct err e = { 0 };

	if (commit(fs, n, at, text, &e))
		fail_msg("commit: %s", e.text);
}
