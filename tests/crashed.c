#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "crashed.h"
#include "crashio.h"

static char base[64];
char dir_first[80], dir_work[80], dir_disc[80], dir_again[80];

const char *in(const char *dir, const char *name)
{
	static char path[2][200];
	static unsigned turn;

	turn = !turn;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

int crashed_start(void **state)
{
	(void)state;
	snprintf(base, sizeof base, "%s/modelfs-crash-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert_non_null(mkdtemp(base));
	snprintf(dir_first, sizeof dir_first, "%s/first", base);
	snprintf(dir_work, sizeof dir_work, "%s/work", base);
	snprintf(dir_disc, sizeof dir_disc, "%s/disc", base);
	snprintf(dir_again, sizeof dir_again, "%s/again", base);
	return mkdir(dir_first, 0700) || mkdir(dir_work, 0700) || mkdir(dir_disc, 0700) || mkdir(dir_again, 0700);
}

int crashed_end(void **state)
{
	const char *dir[] = { dir_first, dir_work, dir_disc, dir_again, base };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		empty_dir(dir[i]);
		rmdir(dir[i]);
	}
	return 0;
}

/* ---- bytes ---- */

struct bytes first_bytes(size_t n, unsigned seed)
{
	struct bytes b = { malloc(n + 1), n };

	assert_non_null(b.p);
	for (size_t i = 0; i < n; i++)
		b.p[i] = (uint8_t)(i * 31 + i / 256 + seed);
	return b;
}

void write_bytes(const char *path, struct bytes b)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
	fclose(f);
}

struct bytes source_bytes(struct source *src)
{
	struct bytes b = { malloc(src->size + 1), src->size };

	assert_int_equal(src_pread(src, b.p, b.n, 0), 0);
	return b;
}

bool same(struct bytes a, struct bytes b)
{
	return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

/* ---- edits ---- */

static void put(struct plan *p, uint64_t at, size_t n, uint8_t seed)
{
	uint8_t *bytes = malloc(n);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(seed + i * 7);
	assert_int_equal(plan_write(p, at, bytes, n), 0);
	free(bytes);
}

void edit_patch(struct plan *p)
{
	put(p, 10, 3, 200);
	put(p, 1500, 2100, 33);                /* several sectors */
	put(p, p->size - 5, 5, 1);
}

void edit_grow(struct plan *p)
{
	put(p, 700, 100, 5);
	p->size += 3000;
	put(p, p->size - 2000, 1500, 77);      /* what is left between and behind is zero */
}

void edit_cut(struct plan *p)
{
	p->size -= 4000;
	put(p, p->size - 600, 600, 9);
}

/* 1000 bytes are put in at 2000, what was there moves. */
void edit_shift(struct plan *p)
{
	static const uint8_t more[1000] = { 1, 2, 3 };
	struct source *piece[] = { src_slice(p->base, 0, 2000), src_memory(more, sizeof more),
				   src_slice(p->base, 2000, p->base->size - 2000) };
	struct source *all = src_pieces(piece, 3);

	plan_free(p);
	plan_init(p, all);
	p->moved = true;
	src_put(all);
	for (unsigned i = 0; i < 3; i++)
		src_put(piece[i]);
	put(p, 2500, 800, 123);
}

/* ---- files that change together ---- */

void first_files(const char *const names[FILES])
{
	for (unsigned i = 0; i < FILES; i++) {
		struct bytes b = first_bytes(9000 + i, i * 17);

		write_bytes(in(dir_first, names[i]), b);
		free(b.p);
	}
}

bool any(const edits e)
{
	return e[0] || e[1] || e[2] || e[3];
}

bool same_state(const struct state *a, const struct state *b)
{
	bool all = true;

	for (unsigned i = 0; i < FILES; i++)
		all = all && same(a->file[i], b->file[i]);
	return all;
}

void free_state(struct state *s)
{
	for (unsigned i = 0; i < FILES; i++)
		free(s->file[i].p);
}
