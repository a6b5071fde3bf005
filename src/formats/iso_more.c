/* ISO 9660: the longer names that a disc has besides those of the primary tree, for `modelfs info -v`.
 *
 * Joliet names are those of a tree of its own, UCS-2. Rock Ridge names stand in the primary tree's records, in the
 * system use behind the name, as entries of {signature[2], u8 length, u8 version, ...}: NM has a flag byte and a piece
 * of the name, CE tells where the entries go on: sector, offset and length, each stored twice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "iso9660.h"

#define CONTINUED_MOST 32u                     /* areas one after the other */

/* ---- texts ---- */

static void put_utf8(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_char(out, (char)c);
	} else if (c < 0x800) {
		buf_char(out, (char)(0xc0 | c >> 6));
	} else if (c < 0x10000) {
		buf_char(out, (char)(0xe0 | c >> 12));
		buf_char(out, (char)(0x80 | (c >> 6 & 63)));
	} else {
		buf_char(out, (char)(0xf0 | c >> 18));
		buf_char(out, (char)(0x80 | (c >> 12 & 63)));
		buf_char(out, (char)(0x80 | (c >> 6 & 63)));
	}
	if (c >= 0x80)
		buf_char(out, (char)(0x80 | (c & 63)));
}

/* In a quoted YAML text. */
static void put_char(struct buf *out, uint32_t c)
{
	if (c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
	    (c | 1) == 0xffff) {
		buf_printf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
		return;
	}
	if (c == '"' || c == '\\')
		buf_char(out, '\\');
	put_utf8(out, c);
}

static void put_ucs2(struct buf *out, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 2 <= n; i += 2) {
		uint32_t c = be_u16(p + i), low = i + 4 <= n ? be_u16(p + i + 2) : 0;

		if (c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
			i += 2;
		} else if (c >= 0xd800 && c < 0xe000) {
			c = 0xfffd;
		}
		put_char(out, c);
	}
}

/* The character that begins there, of UTF-8; a byte that is none is one of its own. */
static uint32_t take_utf8(const uint8_t *p, size_t n, size_t *used)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned more = *p < 0xc0 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : *p < 0xf8 ? 3 : 0;
	uint32_t c = more ? *p & (0x3fu >> more) : *p;

	*used = 1;
	if (more >= n)
		return *p;
	for (unsigned k = 1; k <= more; k++) {
		if ((p[k] & 0xc0) != 0x80)
			return *p;
		c = c << 6 | (p[k] & 63);
	}
	if (c < least[more] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return *p;
	*used = 1 + more;
	return c;
}

static void put_bytes(struct buf *out, const uint8_t *p, size_t n)
{
	size_t used;

	for (size_t i = 0; i < n; i += used)
		put_char(out, take_utf8(p + i, n - i, &used));
}

static void say_text(struct doc *d, const char *key, struct buf *text)
{
	buf_char(text, '"');
	buf_char(text, 0);
	if (!text->bad)
		doc_long_text(d, key, DOC_PLAIN, (char *)text->p);
	text->len = 0;
	buf_char(text, '"');
}

/* ---- Joliet ---- */

/* Without `;N`. */
static void put_joliet(struct buf *out, const uint8_t *p, size_t n)
{
	size_t k = n / 2 * 2;

	while (k && !p[k - 2] && p[k - 1] >= '0' && p[k - 1] <= '9')
		k -= 2;
	if (k && k < n / 2 * 2 && be_u16(p + k - 2) == ';')
		n = k - 2;
	put_ucs2(out, p, n);
}

static void put_path(struct buf *out, const struct iso_tree *t, const struct iso_item *v)
{
	const struct iso_item *up[ISO_DEPTH_MOST + 1];
	unsigned n = 0;

	up[n++] = v;
	for (uint32_t in = v->in; in && n < ARRAY_LEN(up); in = t->dir[in].in)
		up[n++] = &t->v[t->dir[in].item];
	while (n--) {
		put_joliet(out, iso_stored_name(t, up[n]), up[n]->name_length);
		if (n)
			buf_char(out, '/');
	}
}

static int say_joliet(struct iso *iso, const struct iso_descriptor *tree, struct doc *d, struct err *e)
{
	struct buf text = { 0 };
	struct iso_tree t;
	int rc = iso_tree_read(iso, tree, NULL, &t, e);

	buf_char(&text, '"');
	doc_list(d, "joliet_names", rc ? 0 : t.n);
	for (uint32_t i = 0; i < t.n && !rc; i++) {
		doc_item(d);
		put_path(&text, &t, &t.v[i]);
		say_text(d, "path", &text);
	}
	doc_end(d);
	rc = rc ? rc : text.bad ? err_nomem(e) : 0;
	buf_free(&text);
	iso_tree_free(&t);
	return rc;
}

/* ---- Rock Ridge ---- */

/* Where the entries go on; n 0: they do not. */
struct area { uint64_t at; uint32_t n; };

static struct area next_area(const struct iso *iso, const uint8_t *p)
{
	struct area a = { 0 };
	uint32_t offset = le_u32(p + 12), n = le_u32(p + 20);
	uint64_t s;

	if (iso_sector(iso, le_u32(p + 4), &s) && offset < ISO_SECTOR && n <= ISO_SECTOR - offset)
		a = (struct area){ s * ISO_SECTOR + offset, n };
	return a;
}

/* Adds the pieces of a name among n bytes of entries. */
static struct area put_pieces(const struct iso *iso, const uint8_t *p, size_t n, struct buf *name)
{
	struct area next = { 0 };

	for (size_t i = 0; i + 4 <= n && p[i + 2] >= 4 && p[i + 2] <= n - i; i += p[i + 2]) {
		if (!memcmp(p + i, "NM", 2) && p[i + 2] >= 5)
			buf_add(name, p + i + 5, p[i + 2] - 5u);
		else if (!memcmp(p + i, "CE", 2) && p[i + 2] >= 28)
			next = next_area(iso, p + i);
	}
	return next;
}

/* The name as it is stored; none: there are no entries of that kind. */
static void rock_ridge_name(const struct iso *iso, const struct iso_item *v, struct buf *name)
{
	uint8_t raw[ISO_SECTOR];
	unsigned use = ISO_RECORD_HEAD + v->name_length + !(v->name_length & 1);
	struct area next;

	name->len = 0;
	if (src_pread(iso->src, raw, 1, v->at) || src_pread(iso->src, raw, raw[0], v->at) || use >= raw[0])
		return;
	if (use + 14 <= raw[0] && !memcmp(raw + use + 6, "XA", 2))
		use += 14;
	next = put_pieces(iso, raw + use, raw[0] - use, name);
	for (unsigned k = 0; next.n && k < CONTINUED_MOST; k++) {
		if (src_pread(iso->src, raw, next.n, next.at))
			return;
		next = put_pieces(iso, raw, next.n, name);
	}
}

static int say_rock_ridge(struct iso *iso, struct doc *d, struct err *e)
{
	struct buf text = { 0 }, name = { 0 };
	struct iso_tree t;
	uint32_t n = 0;
	int rc = iso_tree_read(iso, &iso->tree[iso->primary], NULL, &t, e);

	buf_char(&text, '"');
	for (int say = 0; say < 2 && !rc; say++) {             /* a list says first how long it is */
		if (say && n)
			doc_list(d, "rock_ridge_names", n);
		for (uint32_t i = 0; i < t.n && (!say || n); i++) {
			rock_ridge_name(iso, &t.v[i], &name);
			n += !say && name.len;
			if (!say || !name.len)
				continue;
			doc_item(d);
			put_bytes(&text, iso_stored_name(&t, &t.v[i]), t.v[i].name_length);
			say_text(d, "stored", &text);
			put_bytes(&text, name.p, name.len);
			say_text(d, "name", &text);
		}
		if (say && n)
			doc_end(d);
	}
	rc = rc ? rc : text.bad || name.bad ? err_nomem(e) : 0;
	buf_free(&text);
	buf_free(&name);
	iso_tree_free(&t);
	return rc;
}

int iso_more(struct object *o, const struct entries *entries, struct doc *d, struct err *e)
{
	struct iso *iso = o->priv;
	int rc = 0;

	(void)entries;
	for (uint32_t i = 0; i < iso->ntrees && !rc; i++)
		if (iso->tree[i].joliet && iso->tree[i].block_size == ISO_SECTOR)
			rc = say_joliet(iso, &iso->tree[i], d, e);
	return rc ? rc : say_rock_ridge(iso, d, e);
}
