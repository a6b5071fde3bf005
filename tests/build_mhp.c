#include "build_mhp.h"

#include <string.h>

#include "bytes.h"
#include "mhpcipher.h"

/* ---- DATA.BIN ---- */

static void add_file(struct buf *out, const struct build_file *f, size_t start, bool coded)
{
	size_t from = out->len;

	buf_add(out, f->bytes, f->n);
	build_noise(out, align_up(f->n, BUILD_BLOCK) - f->n + f->slack * BUILD_BLOCK, (uint32_t)from);
	if (coded && !f->plain && !out->bad)
		mhp_cipher.encrypt((uint32_t)((from - start) / BUILD_BLOCK), 0, out->p + from, out->len - from);
}

void build_databin(struct buf *out, const struct build_file *files, uint32_t n, bool coded)
{
	struct buf table = { 0 };
	size_t start = out->len, room = 4 * ((size_t)n + 1), block;

	for (uint32_t i = 0; i < n; i++)
		room += files[i].exact ? 8 : 0;
	room = align_up(room, BUILD_BLOCK);
	block = room / BUILD_BLOCK;
	for (uint32_t i = 0; i < n; i++) {
		put32(&table, (uint32_t)block);
		block += align_up(files[i].n, BUILD_BLOCK) / BUILD_BLOCK + files[i].slack;
	}
	put32(&table, (uint32_t)block);
	for (uint32_t i = 0; i < n; i++) {
		if (files[i].exact) {
			put32(&table, i);
			put32(&table, (uint32_t)files[i].n);
		}
	}
	if (room - table.len >= 8) {
		put32(&table, 0xfffffff0);
		put32(&table, 0xfffffff0);
	}
	build_noise(&table, room - table.len, n);
	if (coded && !table.bad)
		mhp_cipher.encrypt(0, 0, table.p, table.len);
	buf_add(out, table.p, table.len);
	out->bad |= table.bad;
	buf_free(&table);
	for (uint32_t i = 0; i < n; i++)
		add_file(out, &files[i], start, coded);
}

uint32_t build_word(const struct buf *b, bool coded, uint32_t i)
{
	uint8_t raw[4];

	memcpy(raw, b->p + 4 * (size_t)i, sizeof raw);
	if (coded)
		mhp_cipher.decrypt(0, 4 * (uint64_t)i, raw, sizeof raw);
	return le_u32(raw);
}

void build_set_word(struct buf *b, bool coded, uint32_t i, uint32_t value)
{
	uint8_t *raw = b->p + 4 * (size_t)i;

	put_le32(raw, value);
	if (coded)
		mhp_cipher.encrypt(0, 4 * (uint64_t)i, raw, 4);
}

/* ---- PAC ---- */

void build_pac(struct buf *out, const struct build_bytes *entries, uint32_t n, uint32_t align)
{
	size_t start = out->len, at = 4 + 8 * (size_t)n;

	put32(out, n);
	for (uint32_t i = 0; i < n; i++) {
		if (entries[i].n)
			at = align_up(at, align);
		put32(out, entries[i].n ? (uint32_t)at : 0);
		put32(out, (uint32_t)entries[i].n);
		at += entries[i].n;
	}
	for (uint32_t i = 0; i < n; i++) {
		while (entries[i].n && (out->len - start) % align && !out->bad)
			buf_char(out, 0);
		buf_add(out, entries[i].p, entries[i].n);
	}
}

/* ---- documents ---- */

static void collect(struct doc *d, const char *key, const char *value, unsigned style)
{
	struct build_doc *b = (struct build_doc *)d;

	(void)style;
	buf_printf(&b->text, "%s: %s\n", key, value);
}

static const struct doc_ops collect_ops = { .text = collect };

void build_doc_init(struct build_doc *d)
{
	*d = (struct build_doc){ .doc = { &collect_ops } };
}
