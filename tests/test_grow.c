/* Entries of DATA.BIN and PAC that become longer or shorter: the bytes they have then, read by hand; and what is
 * refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_mhp.h"
#include "bytes.h"
#include "mhpcipher.h"
#include "plan.h"

extern const struct format fmt_databin, fmt_pac;

#define BLOCK BUILD_BLOCK
#define FILES_MOST 40u

static uint32_t state = 7;

static uint32_t number(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(state >> 8) * below >> 24);
}

/* ---- a container that is edited ---- */

/* The outermost one lies in memory, under one plan more for each time it moved; others in an entry of `outer`. */
struct edit {
	struct surroundings around;            /* first */
	const struct format *format;
	struct buf bytes;
	struct plan plan[64];
	unsigned plans;
	struct edit *outer;
	uint32_t index;                        /* of this one in the outer one */
	struct object *o;
	struct entries v;
	struct err why;
};

static struct edit *edit_of(const struct surroundings *s)
{
	return (struct edit *)(uintptr_t)s;
}

static int rebase(const struct surroundings *s, struct source *moved, struct source **out, struct err *e)
{
	struct edit *k = edit_of(s);

	(void)e;
	assert_true(k->plans < 64 && s->grow);
	plan_init(&k->plan[k->plans], moved);
	*out = src_overlay(&k->plan[k->plans++]);
	assert_non_null(*out);
	return 0;
}

static int resize(struct edit *k, uint32_t i, uint64_t size)
{
	k->why = (struct err){ 0 };
	return k->format->container->resize(k->o, &k->v, i, size, &k->why);
}

static struct source *entry(struct edit *k, uint32_t i)
{
	struct source *src = entry_source(k->o->src, k->format, &k->v.v[i]);

	assert_non_null(src);
	return src;
}

static int resize_outer(const struct surroundings *s, unsigned n, uint64_t size, struct source **out, struct err *e)
{
	struct edit *k = edit_of(s);
	int rc = resize(k->outer, k->index + n, size);

	*e = k->outer->why;
	if (!rc)
		*out = entry(k->outer, k->index + n);
	return rc;
}

static void open_over(struct edit *k, struct source *src)
{
	if (object_open(k->format, src, &k->around, &k->o, &k->why) ||
	    k->format->container->list(k->o, &k->v, &k->why))
		fail_msg("%s", k->why.text);
	src_put(src);
}

/* Takes the bytes. */
static void open_memory(struct edit *k, const struct format *f, struct buf bytes, bool grow)
{
	struct source *memory = src_memory(bytes.p, bytes.len);

	assert_false(bytes.bad);
	assert_non_null(memory);
	*k = (struct edit){ .around = { .rebase = rebase, .grow = grow }, .format = f, .bytes = bytes, .plans = 1 };
	plan_init(&k->plan[0], memory);
	src_put(memory);
	open_over(k, src_overlay(&k->plan[0]));
}

static void open_entry(struct edit *k, const struct format *f, struct edit *outer, uint32_t i)
{
	*k = (struct edit){ .around = { .resize = resize_outer }, .format = f, .outer = outer, .index = i };
	open_over(k, entry(outer, i));
}

static void close_edit(struct edit *k)
{
	object_close(k->o);
	while (k->plans)
		plan_free(&k->plan[--k->plans]);
	buf_free(&k->bytes);
}

static void must(struct edit *k, uint32_t i, uint64_t size)
{
	if (resize(k, i, size))
		fail_msg("%s", k->why.text);
}

static void refused(struct edit *k, uint32_t i, uint64_t size, int code, const char *text)
{
	assert_int_equal(resize(k, i, size), -code);
	assert_string_equal(k->why.text, text);
}

/* All bytes as they are now. */
static struct buf read_all(struct edit *k)
{
	struct buf b = { 0 };
	uint8_t *p = buf_room(&b, (size_t)k->o->src->size);

	assert_non_null(p);
	assert_int_equal(src_pread(k->o->src, p, (size_t)k->o->src->size, 0), 0);
	b.len = (size_t)k->o->src->size;
	return b;
}

/* The format itself finds nothing wrong, neither as edited nor read anew. */
static void accepted(struct edit *k)
{
	const struct container_ops *ops = k->format->container;
	struct object *o;
	struct entries v;
	struct err e;

	if (ops->verify(k->o, &k->v, &e))
		fail_msg("%s", e.text);
	if (object_open(k->format, k->o->src, NULL, &o, &e) || ops->list(o, &v, &e) || ops->verify(o, &v, &e))
		fail_msg("%s", e.text);
	assert_int_equal(v.n, k->v.n);
	for (uint32_t i = 0; i < v.n; i++) {
		assert_int_equal(v.v[i].at, k->v.v[i].at);
		assert_int_equal(v.v[i].size, k->v.v[i].size);
		assert_int_equal(v.v[i].key, k->v.v[i].key);
		assert_int_equal(v.v[i].coded, k->v.v[i].coded);
	}
	object_close(o);
}

/* ---- DATA.BIN: a model ---- */

struct file { uint8_t *p; size_t slot, size; bool exact, plain; };     /* p: the slot's bytes, decrypted */

struct model { struct file v[FILES_MOST]; uint32_t n; bool coded; uint8_t *leftover; size_t nleftover; };

static uint32_t word(const struct model *m, const struct buf *b, uint32_t i)
{
	return build_word(b, m->coded, i);
}

static uint32_t npairs(const struct model *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		n += m->v[i].exact;
	return n;
}

/* A copy of n bytes of an encrypted run, decrypted. */
static uint8_t *decrypted(const uint8_t *p, size_t n, bool coded, uint32_t key)
{
	uint8_t *out = malloc(n + 1);

	assert_non_null(out);
	memcpy(out, p, n);
	if (coded)
		mhp_cipher.decrypt(key, 0, out, n);
	return out;
}

static void read_model(struct model *m, const struct build_file *files, uint32_t n, bool coded, const struct buf *b)
{
	uint8_t *table;
	size_t used;

	*m = (struct model){ .n = n, .coded = coded };
	for (uint32_t i = 0; i < n; i++) {
		uint32_t start = word(m, b, i), next = word(m, b, i + 1);
		struct file *f = &m->v[i];

		f->slot = (size_t)(next - start) * BLOCK;
		f->exact = files[i].exact;
		f->plain = files[i].plain || !coded;
		f->size = f->exact ? files[i].n : f->slot;
		f->p = decrypted(b->p + (size_t)start * BLOCK, f->slot, !f->plain, start);
	}
	used = 4 * ((size_t)n + 1) + 8 * npairs(m);
	table = decrypted(b->p, (size_t)word(m, b, 0) * BLOCK, coded, 0);
	m->nleftover = (size_t)word(m, b, 0) * BLOCK - used;
	m->leftover = malloc(m->nleftover);
	memcpy(m->leftover, table + used, m->nleftover);
	free(table);
}

static void free_model(struct model *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->v[i].p);
	free(m->leftover);
}

/* What has to come of file i. */
static void model_resize(struct model *m, uint32_t i, size_t size)
{
	struct file *f = &m->v[i];
	size_t slot = size > f->slot ? (size + BLOCK - 1) / BLOCK * BLOCK : f->slot, old = f->size;

	f->p = realloc(f->p, slot + 1);
	assert_non_null(f->p);
	memset(f->p + f->slot, 0, slot - f->slot);
	f->slot = slot;
	f->size = !f->exact ? slot : size + BLOCK > slot ? size : slot - 2047;
	if (size < old)
		memset(f->p + size, 0, old - size);
	else if (f->size > old)
		memset(f->p + old, 0, f->size - old);
}

static void check_model(struct edit *k, const struct model *m)
{
	struct buf b = read_all(k);
	uint32_t start = word(m, &b, 0), at = 4 * (m->n + 1);
	uint8_t *table = decrypted(b.p, (size_t)start * BLOCK, m->coded, 0), *p;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct file *f = &m->v[i];

		assert_int_equal(word(m, &b, i), start);
		assert_int_equal(k->v.v[i].at, (uint64_t)start * BLOCK);
		assert_int_equal(k->v.v[i].size, f->size);
		assert_true((size_t)start * BLOCK + f->slot <= b.len);
		p = decrypted(b.p + (size_t)start * BLOCK, f->slot, !f->plain, start);
		assert_memory_equal(p, f->p, f->slot);
		free(p);
		start += (uint32_t)(f->slot / BLOCK);
		if (f->exact) {
			assert_int_equal(le_u32(table + at), i);
			assert_int_equal(le_u32(table + at + 4), f->size);
			at += 8;
		}
	}
	assert_int_equal(word(m, &b, m->n), start);
	assert_int_equal(b.len, (size_t)start * BLOCK);
	assert_memory_equal(table + at, m->leftover, m->nleftover);
	free(table);
	buf_free(&b);
	accepted(k);
}

/* ---- DATA.BIN: cases ---- */

static uint8_t noise[5 * BLOCK];

/* The third is stored plain, outside of any list, and so are the first four in an archive that is not encrypted. */
static const struct build_file five[] = {
	{ noise, 3000, true, false, 0 }, { noise + 500, 100, false, false, 1 }, { "~PSPmodule", 10, false, true, 0 },
	{ noise + 7, BLOCK, true, false, 0 }, { noise, 0, true, false, 0 }, { noise, 0, false, false, 0 },
	{ noise + 900, 5000, false, false, 0 },
};
#define FIVE 7u

static void open_five(struct edit *k, struct model *m, bool coded, bool grow)
{
	struct buf b = { 0 };

	build_databin(&b, five, FIVE, coded);
	open_memory(k, &fmt_databin, b, grow);
	read_model(m, five, FIVE, coded, &k->bytes);
	check_model(k, m);
}

static void both(struct edit *k, struct model *m, uint32_t i, size_t size)
{
	must(k, i, size);
	model_resize(m, i, size);
	check_model(k, m);
}

/* Inside the slot nothing moves; the plan has the file's bytes, the pair, and nothing else. */
static void check_slot(bool coded)
{
	struct edit k;
	struct model m;
	uint32_t pair = 4 * (FIVE + 1) + 4;

	open_five(&k, &m, coded, false);
	both(&k, &m, 0, 3000);
	assert_int_equal(plan_settle(&k.plan[0], NULL), 0);
	assert_int_equal(k.plan[0].n, 0);
	both(&k, &m, 0, 2990);
	assert_int_equal(k.v.v[0].size, 2990);
	assert_int_equal(plan_settle(&k.plan[0], NULL), 0);
	assert_int_equal(k.plan[0].n, 2);
	assert_true(k.plan[0].v[0].at >= pair && k.plan[0].v[0].at + k.plan[0].v[0].len <= pair + 4);
	assert_true(k.plan[0].v[1].at >= BLOCK + 2990);
	assert_true(k.plan[0].v[1].at + k.plan[0].v[1].len <= BLOCK + 3000);
	both(&k, &m, 0, 4096);                 /* what was padding is zero now */
	both(&k, &m, 0, 2049);
	both(&k, &m, 0, 2048);                 /* no valid pair says so: one byte more, and it is zero */
	assert_int_equal(k.v.v[0].size, 2049);
	both(&k, &m, 0, 10);
	both(&k, &m, 0, 0);
	both(&k, &m, 1, 50);                   /* no pair: as long as the slot */
	assert_int_equal(k.v.v[1].size, 2 * BLOCK);
	both(&k, &m, 1, 2 * BLOCK);
	both(&k, &m, 2, 6);
	both(&k, &m, 4, 0);
	both(&k, &m, 5, 0);
	assert_int_equal(k.plans, 1);
	free_model(&m);
	close_edit(&k);
}

static void test_slot(void **unused)
{
	(void)unused;
	check_slot(true);
	check_slot(false);
}

static void check_growth(bool coded)
{
	struct edit k;
	struct model m;

	for (uint32_t i = 0; i < FIVE; i++) {
		open_five(&k, &m, coded, true);
		both(&k, &m, i, m.v[i].slot + 1);
		both(&k, &m, i, m.v[i].slot + 2 * BLOCK);
		both(&k, &m, i, m.v[i].slot - 2047);
		both(&k, &m, 0, m.v[0].slot + 3000);
		assert_int_equal(k.plans, 4);
		free_model(&m);
		close_edit(&k);
	}
	open_five(&k, &m, coded, true);        /* two in one edit, the later first */
	both(&k, &m, 6, 9000);
	both(&k, &m, 3, 2049);
	both(&k, &m, 5, 1);
	both(&k, &m, 4, 5000);
	free_model(&m);
	close_edit(&k);
}

static void test_growth(void **unused)
{
	(void)unused;
	check_growth(true);
	check_growth(false);
}

static void test_refused(void **unused)
{
	struct edit k;
	struct model m;

	(void)unused;
	open_five(&k, &m, true, false);
	refused(&k, 1, 4097, ENOSPC, "entry 1 needs 4097 bytes, its slot has 4096: 1 bytes are missing; "
		"-o grow would let the archive grow");
	k.around.rebase = NULL;
	refused(&k, 5, 70, ENOSPC, "entry 5 needs 70 bytes, its slot has 0: 70 bytes are missing");
	k.around.rebase = rebase;
	k.around.grow = true;
	refused(&k, 0, (uint64_t)BLOCK << 32, EFBIG,
		"entry 0: 8796093022208 bytes; lengths and start blocks have 32 bits");
	check_model(&k, &m);
	free_model(&m);
	close_edit(&k);
}

/* Of an archive that is cut short the last file has what is there, and the others' slots work. */
static void test_cut(void **unused)
{
	struct buf b = { 0 };
	struct edit k;
	uint8_t got[8], zero[8] = { 0 };
	struct source *src;

	(void)unused;
	build_databin(&b, five, FIVE, true);
	b.len -= 100;
	open_memory(&k, &fmt_databin, b, true);
	assert_int_equal(k.v.v[6].size, 3 * BLOCK - 100);
	refused(&k, 6, 3 * BLOCK - 92, ENOSPC, "entry 6 needs 6052 bytes, its slot has 6044: 8 bytes are missing; "
		"an archive that is cut short cannot grow");
	refused(&k, 0, 5000, ENOSPC, "entry 0 needs 5000 bytes, its slot has 4096: 904 bytes are missing; "
		"an archive that is cut short cannot grow");
	must(&k, 6, 3 * BLOCK - 108);
	assert_int_equal(k.v.v[6].size, 3 * BLOCK - 100);
	src = entry(&k, 6);
	assert_int_equal(src_pread(src, got, 8, 3 * BLOCK - 108), 0);
	assert_memory_equal(got, zero, 8);
	src_put(src);
	must(&k, 0, 4096);
	assert_int_equal(k.v.v[0].size, 4096);
	close_edit(&k);
}

/* Words behind the pairs that would be a pair once the slot is longer. */
static void test_leftover(void **unused)
{
	struct buf b = { 0 };
	struct edit k;

	(void)unused;
	build_databin(&b, five, FIVE, true);
	build_set_word(&b, true, FIVE + 1 + 6, 6);
	build_set_word(&b, true, FIVE + 1 + 7, 3 * BLOCK + 5);
	open_memory(&k, &fmt_databin, b, true);
	refused(&k, 6, 3 * BLOCK + 1, EINVAL,
		"with 8192 bytes for entry 6 the table's leftover would become its exact size, 6149");
	must(&k, 6, 4 * BLOCK + 1);
	accepted(&k);
	close_edit(&k);
}

/* Many resizes and writes in one edit. */
static void test_random(void **unused)
{
	struct build_file files[FILES_MOST];
	struct edit k;
	struct model m;

	(void)unused;
	for (unsigned round = 0; round < 24; round++) {
		struct buf b = { 0 };
		uint32_t n = 2 + number(FILES_MOST - 1);
		bool coded = round % 4;

		for (uint32_t i = 0; i < n; i++) {
			files[i] = (struct build_file){ noise + number(100), number(4) ? number(4000) : 0, number(2) };
			files[i].slack = files[i].exact ? 0 : number(2);
			if (!number(6))
				files[i] = (struct build_file){ "\x7f" "ELF and more", 13, number(2), true };
		}
		files[n - 1].n = files[n - 1].n ? files[n - 1].n : 1;
		build_databin(&b, files, n, coded);
		open_memory(&k, &fmt_databin, b, true);
		read_model(&m, files, n, coded, &k.bytes);
		for (unsigned step = 0; step < 20; step++) {
			uint32_t i = number(n), keep = m.v[i].plain && coded ? 4 : 0, at, len;  /* the magic */
			struct entry now;
			struct source *src;

			both(&k, &m, i, keep + (number(2) ? number((uint32_t)m.v[i].slot + 1) : number(9000)));
			at = keep + number((uint32_t)m.v[i].size + 1 - keep);
			len = m.v[i].size - at < 60 ? (uint32_t)m.v[i].size - at : 60;
			now = k.v.v[i];
			now.coded = !m.v[i].plain;
			src = entry_source(k.o->src, &fmt_databin, &now);
			assert_non_null(src);
			assert_int_equal(src_pwrite(src, noise + step, len, at), 0);
			memcpy(m.v[i].p + at, noise + step, len);
			src_put(src);
		}
		check_model(&k, &m);
		free_model(&m);
		close_edit(&k);
	}
}

/* ---- PAC ---- */

static struct buf a_pac(const size_t *sizes, uint32_t n, uint32_t align, size_t tail)
{
	struct build_bytes v[16];
	struct buf b = { 0 };

	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct build_bytes){ noise + 64 * i, sizes[i] };
	build_pac(&b, v, n, align);
	build_noise(&b, tail, 3);
	return b;
}

static void check_pac(struct edit *k, const struct build_bytes *v, const uint32_t *at, uint32_t n)
{
	struct buf b = read_all(k);
	size_t end = 4 + 8 * (size_t)n;

	assert_int_equal(le_u32(b.p), n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(le_u32(b.p + 4 + 8 * (size_t)i), at[i]);
		assert_int_equal(le_u32(b.p + 8 + 8 * (size_t)i), v[i].n);
		assert_int_equal(k->v.v[i].at, at[i]);
		assert_int_equal(k->v.v[i].size, v[i].n);
		if (!at[i])
			continue;
		assert_true(at[i] + v[i].n <= b.len);
		for (; end < at[i]; end++)
			assert_int_equal(b.p[end], 0);
		assert_memory_equal(b.p + at[i], v[i].p, v[i].n);
		end += v[i].n;
	}
	buf_free(&b);
	accepted(k);
}

/* Entries at 0x30, 0x70 and 0x90, an empty one at the end; 40 bytes of tail behind 0xb5. */
static void test_pac(void **unused)
{
	static const size_t sizes[] = { 0x3b, 0x20, 0x25, 0 };
	uint8_t first[0x100] = { 0 }, third[0x100] = { 0 };
	struct build_bytes v[4] = { { first, 0x3b }, { noise + 64, 0x20 }, { third, 0x25 }, { NULL, 0 } };
	struct edit k;

	(void)unused;
	memcpy(first, noise, 0x3b);
	memcpy(third, noise + 128, 0x25);
	open_memory(&k, &fmt_pac, a_pac(sizes, 4, 16, 40), false);
	check_pac(&k, v, (uint32_t[]){ 0x30, 0x70, 0x90, 0 }, 4);
	must(&k, 0, 0x40);                     /* the gap */
	v[0].n = 0x40;
	check_pac(&k, v, (uint32_t[]){ 0x30, 0x70, 0x90, 0 }, 4);
	must(&k, 0, 0x3b);
	v[0].n = 0x3b;
	check_pac(&k, v, (uint32_t[]){ 0x30, 0x70, 0x90, 0 }, 4);
	must(&k, 0, 0x41);                     /* the later ones move into the tail */
	v[0].n = 0x41;
	check_pac(&k, v, (uint32_t[]){ 0x30, 0x80, 0xa0, 0 }, 4);
	must(&k, 2, 0x3d);                     /* all of the tail */
	v[2].n = 0x3d;
	check_pac(&k, v, (uint32_t[]){ 0x30, 0x80, 0xa0, 0 }, 4);
	refused(&k, 2, 0x3e, ENOSPC, "entry 2 of the PAC needs 62 bytes, 61 are there: 1 bytes are missing");
	refused(&k, 0, 0x51, ENOSPC, "entry 0 of the PAC needs 81 bytes, 65 are there: 16 bytes are missing");
	refused(&k, 3, 1, ENOSPC, "entry 3 of the PAC needs 1 bytes, 0 are there: 4 bytes are missing");
	must(&k, 1, 3);                        /* room in the middle is taken before anything else moves */
	v[1].n = 3;
	must(&k, 0, 0x57);
	v[0].n = 0x57;
	check_pac(&k, v, (uint32_t[]){ 0x30, 0x90, 0xa0, 0 }, 4);
	must(&k, 1, 0);
	v[1].n = 0;
	check_pac(&k, v, (uint32_t[]){ 0x30, 0, 0xa0, 0 }, 4);
	must(&k, 1, 0x10);                     /* and gets a place again */
	memset(third + 0x80, 0, 0x10);
	v[1] = (struct build_bytes){ third + 0x80, 0x10 };
	check_pac(&k, v, (uint32_t[]){ 0x30, 0x90, 0xa0, 0 }, 4);
	must(&k, 1, 0);
	must(&k, 0, 0);
	v[0].n = v[1].n = 0;
	refused(&k, 2, 0, EINVAL, "entry 2 is the only one of the PAC's 4 that is not empty and has to stay");
	check_pac(&k, v, (uint32_t[]){ 0, 0, 0xa0, 0 }, 4);
	close_edit(&k);
}

/* The alignment is the PAC's own. */
static void test_alignment(void **unused)
{
	static const size_t sizes[] = { 10, 6, 7 };
	struct build_bytes v[3] = { { noise, 10 }, { noise + 64, 6 }, { noise + 128, 7 } };
	uint8_t longer[13] = { 0 };
	struct edit k;

	(void)unused;
	memcpy(longer, noise, 10);
	v[0] = (struct build_bytes){ longer, 13 };
	open_memory(&k, &fmt_pac, a_pac(sizes, 3, 4, 40), false);
	must(&k, 0, 13);
	check_pac(&k, v, (uint32_t[]){ 28, 44, 52 }, 3);
	close_edit(&k);
	open_memory(&k, &fmt_pac, a_pac(sizes, 3, 8, 40), false);      /* 32, 48, 56: there is room */
	must(&k, 0, 13);
	check_pac(&k, v, (uint32_t[]){ 32, 48, 56 }, 3);
	close_edit(&k);
}

static void test_stage(void **unused)
{
	uint8_t bytes[4 + 8 * 7 + 30] = { 7 };
	uint8_t zero[14] = { 0 };
	struct build_bytes v[7] = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { zero, 14 } };
	struct buf b = { 0 };
	struct edit k;

	(void)unused;
	memset(bytes + 60, 0xee, 30);
	buf_add(&b, bytes, sizeof bytes);
	open_memory(&k, &fmt_pac, b, false);
	must(&k, 3, 14);
	check_pac(&k, v, (uint32_t[]){ 0, 0, 0, 64, 0, 0, 0 }, 7);
	must(&k, 3, 0);                        /* a placeholder again */
	v[3].n = 0;
	check_pac(&k, v, (uint32_t[]){ 0, 0, 0, 0, 0, 0, 0 }, 7);
	close_edit(&k);
}

static void test_overlap(void **unused)
{
	static const size_t sizes[] = { 40, 20 };
	struct buf b = a_pac(sizes, 2, 16, 40);
	struct edit k;

	(void)unused;
	put_le32(b.p + 12, 33);
	open_memory(&k, &fmt_pac, b, false);
	refused(&k, 1, 21, EINVAL, "entry 1 of the PAC overlaps the one before it: no size can change");
	refused(&k, 0, 5, EINVAL, "entry 1 of the PAC overlaps the one before it: no size can change");
	close_edit(&k);
}

/* Against a list of entries in memory; the PAC has all the room it may need. */
static void test_pac_random(void **unused)
{
	(void)unused;
	for (unsigned round = 0; round < 40; round++) {
		uint8_t *bytes[16];
		struct build_bytes v[16] = { { NULL, 0 } };
		size_t sizes[16];
		uint32_t n = 2 + number(14), at[16], align = 4u << number(3);
		struct edit k;

		for (uint32_t i = 0; i < n; i++) {
			sizes[i] = !i ? 33 : number(4) ? number(900) : 0;
			bytes[i] = calloc(1, 40000);
			assert_non_null(bytes[i]);
			memcpy(bytes[i], noise + 64 * i, sizes[i]);
			v[i] = (struct build_bytes){ bytes[i], sizes[i] };
		}
		open_memory(&k, &fmt_pac, a_pac(sizes, n, align, 400000), false);
		for (unsigned step = 0; step < 30; step++) {
			uint32_t i = number(n), size = number(8) ? number(1500) : number(40000);
			uint64_t was[16];

			for (uint32_t j = 0; j < n; j++)
				was[j] = k.v.v[j].at;
			size += !size;
			must(&k, i, size);
			if (size < v[i].n)
				memset(bytes[i] + size, 0, v[i].n - size);
			v[i].n = size;
			for (uint32_t j = 0; j < n; j++) {
				at[j] = (uint32_t)k.v.v[j].at;
				assert_true(at[j] >= was[j]);
				assert_true(j >= i || at[j] == was[j]);
				assert_int_equal(at[j] % 4, 0);
			}
			check_pac(&k, v, at, n);
		}
		for (uint32_t i = 0; i < n; i++)
			free(bytes[i]);
		close_edit(&k);
	}
}

/* ---- PAC in PAC in DATA.BIN ---- */

/* The bytes of file 1, a PAC of 2060 bytes in which `nested` stands at 32, and those of nested's entries. */
static void check_chain(struct edit *archive, struct edit *nested, struct model *m)
{
	struct source *file = entry(archive, 1), *second = entry(nested, 1);
	uint8_t got[260], want[260] = { 0 };

	model_resize(m, 1, 2060);
	assert_int_equal(src_pread(file, m->v[1].p, 2060, 0), 0);
	check_model(archive, m);
	assert_int_equal(le_u32(m->v[1].p + 32 + 4), 32);
	assert_int_equal(le_u32(m->v[1].p + 32 + 8), 210);
	assert_memory_equal(m->v[1].p + 32 + 32, noise, 100);
	memcpy(want, noise + 64, 200);
	assert_int_equal(src_pread(second, got, 260, 0), 0);
	assert_memory_equal(got, want, 260);
	assert_memory_equal(m->v[1].p + 32 + 256, want, 260);
	src_put(file);
	src_put(second);
}

static void test_chain(void **unused)
{
	static const size_t sizes[] = { 100, 200 };
	struct buf inner = a_pac(sizes, 2, 16, 0), outer = { 0 }, all = { 0 };
	struct build_bytes parts[2];
	struct build_file files[4];
	struct edit archive, pac, nested;
	struct model m;
	uint64_t slot;

	(void)unused;
	parts[0] = (struct build_bytes){ inner.p, inner.len };
	parts[1] = (struct build_bytes){ noise, 1500 };
	build_pac(&outer, parts, 2, 16);
	files[0] = (struct build_file){ noise, 2000 };
	files[1] = (struct build_file){ outer.p, outer.len, true };
	files[2] = (struct build_file){ "~PSP stays", 11, false, true };
	files[3] = (struct build_file){ noise, 3000, true };
	build_databin(&all, files, 4, true);
	open_memory(&archive, &fmt_databin, all, false);
	read_model(&m, files, 4, true, &archive.bytes);
	open_entry(&pac, &fmt_pac, &archive, 1);
	open_entry(&nested, &fmt_pac, &pac, 0);

	/* 20 + 12, 100 at 32, 200 at 144: 344 long; with 110 more 464. The PAC around it: 32 + 464 = 496, 1500 more:
	 * 1996, and the file's pair follows. */
	assert_int_equal(inner.len, 344);
	must(&nested, 0, 210);
	assert_int_equal(nested.v.v[1].at, 256);
	assert_int_equal(nested.o->src->size, 456);
	assert_int_equal(pac.v.v[0].size, 456);
	assert_int_equal(pac.v.v[1].at, 496);
	assert_int_equal(pac.o->src->size, 1996);
	assert_int_equal(archive.v.v[1].size, 1996);
	assert_int_equal(build_word(&archive.bytes, true, 4 + 1 + 1), outer.len);      /* not written yet */
	accepted(&archive);
	accepted(&pac);
	accepted(&nested);

	/* 100 more do not fit; the message is that of the archive. */
	refused(&nested, 1, 260, ENOSPC, "entry 1 needs 2060 bytes, its slot has 2048: 12 bytes are missing; "
		"-o grow would let the archive grow");
	archive.around.grow = true;
	must(&nested, 1, 260);
	slot = archive.v.v[2].at - archive.v.v[1].at;
	assert_int_equal(slot, 2 * BLOCK);
	assert_int_equal(archive.v.v[1].size, 2060);
	assert_int_equal(nested.v.v[1].size, 260);
	accepted(&archive);
	accepted(&pac);
	accepted(&nested);
	check_chain(&archive, &nested, &m);
	close_edit(&nested);
	close_edit(&pac);
	close_edit(&archive);
	free_model(&m);
	buf_free(&inner);
	buf_free(&outer);
}

/* Behind the last file of an archive nothing has to move: what the archive lies in gives room, as far as it has any. */
static void check_last(bool coded)
{
	struct buf data = { 0 }, all = { 0 };
	struct build_bytes part;
	struct edit outer, k;
	struct model m;

	build_databin(&data, five, FIVE, coded);
	part = (struct build_bytes){ data.p, data.len };
	build_pac(&all, &part, 1, 16);
	for (unsigned i = 0; i < 3 * BLOCK; i++)
		put8(&all, 0);
	open_memory(&outer, &fmt_pac, all, false);
	open_entry(&k, &fmt_databin, &outer, 0);
	read_model(&m, five, FIVE, coded, &data);
	check_model(&k, &m);
	both(&k, &m, 6, 3 * BLOCK - 9);                /* its slot */
	assert_int_equal(outer.v.v[0].size, data.len);
	both(&k, &m, 6, 3 * BLOCK + 1);
	assert_int_equal(outer.v.v[0].size, data.len + BLOCK);
	both(&k, &m, 6, 6 * BLOCK);
	assert_int_equal(outer.v.v[0].size, data.len + 3 * BLOCK);
	refused(&k, 6, 6 * BLOCK + 1, ENOSPC,
		"entry 0 of the PAC needs 28672 bytes, 26624 are there: 2048 bytes are missing");
	check_model(&k, &m);
	refused(&k, 3, 2049, ENOSPC, "entry 3 needs 2049 bytes, its slot has 2048: 1 bytes are missing");
	check_model(&k, &m);
	assert_int_equal(outer.plans, 1);
	close_edit(&k);
	close_edit(&outer);
	free_model(&m);
	buf_free(&data);
}

static void test_last(void **unused)
{
	(void)unused;
	check_last(true);
	check_last(false);
}

static int setup(void **unused)
{
	struct buf b = { 0 };

	(void)unused;
	build_noise(&b, sizeof noise, 5);
	assert_false(b.bad);
	memcpy(noise, b.p, sizeof noise);
	buf_free(&b);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slot), cmocka_unit_test(test_growth), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut), cmocka_unit_test(test_leftover), cmocka_unit_test(test_random),
		cmocka_unit_test(test_pac), cmocka_unit_test(test_alignment), cmocka_unit_test(test_stage),
		cmocka_unit_test(test_overlap), cmocka_unit_test(test_pac_random), cmocka_unit_test(test_chain),
		cmocka_unit_test(test_last),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
