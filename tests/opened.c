#include "opened.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "export.h"

/* ---- opening ---- */

static uint8_t *copy(const void *p, size_t n, struct source **src)
{
	uint8_t *bytes = malloc(n ? n : 1);

	assert_non_null(bytes);
	if (n)
		memcpy(bytes, p, n);
	*src = src_memory(bytes, n);
	assert_non_null(*src);
	return bytes;
}

struct opened open_bytes(const struct format *f, const void *p, size_t n)
{
	struct opened k = { 0 };
	struct err e = { 0 };

	k.bytes = copy(p, n, &k.src);
	if (object_open(f, k.src, NULL, &k.o, &e))
		fail_msg("%s", e.text);
	return k;
}

struct members {
	struct surroundings around;            /* first */
	uint8_t *bytes[MEMBERS_MOST];
	struct source *src[MEMBERS_MOST];
};

static struct source *find_member(const struct surroundings *s, unsigned k, struct err *e)
{
	const struct members *m = (const struct members *)s;

	(void)e;
	return m->src[k] ? src_ref(m->src[k]) : NULL;
}

struct opened open_members(const struct format *f, const struct buf *entry,
			   const struct buf *const member[MEMBERS_MOST])
{
	struct opened k = { .members = calloc(1, sizeof *k.members) };
	struct err e = { 0 };

	assert_non_null(k.members);
	k.members->around.member = find_member;
	for (unsigned i = 0; i < MEMBERS_MOST; i++)
		if (member[i])
			k.members->bytes[i] = copy(member[i]->p, member[i]->len, &k.members->src[i]);
	k.bytes = copy(entry->p, entry->len, &k.src);
	if (object_open(f, k.src, &k.members->around, &k.o, &e))
		fail_msg("%s", e.text);
	return k;
}

struct opened open_buf(const struct format *f, struct buf *b)
{
	struct opened k = open_bytes(f, b->p, b->len);

	assert_false(b->bad);
	buf_free(b);
	return k;
}

void close_opened(struct opened *k)
{
	object_close(k->o);
	src_put(k->src);
	free(k->bytes);
	for (unsigned i = 0; k->members && i < MEMBERS_MOST; i++) {
		src_put(k->members->src[i]);
		free(k->members->bytes[i]);
	}
	free(k->members);
}

/* ---- what it says ---- */

void sound(struct object *o)
{
	struct err e = { 0 };

	if (o->faults)
		fail_msg("%s", o->faults->text);
	if (object_verify(o, &e))
		fail_msg("%s", e.text);
}

/* The text in b, which a document has just been written to. */
static char *text_in(struct buf *b)
{
	buf_char(b, 0);
	assert_false(b->bad);
	return (char *)b->p;
}

char *text_of(struct object *o, unsigned kind, uint32_t i)
{
	struct buf b = { 0 };
	struct ydoc y;
	struct err e = { 0 };

	ydoc_init(&y, &b);
	if (o->format->model->doc(o, kind, i, &y.doc, &e))
		fail_msg("%s", e.text);
	return text_in(&b);
}

void doc_is(struct object *o, unsigned kind, uint32_t i, const char *want)
{
	char *text = text_of(o, kind, i);

	assert_string_equal(text, want);
	free(text);
}

void section_doc_is(struct object *o, unsigned section, const char *want)
{
	struct buf b = { 0 };
	struct ydoc y;
	struct err e = { 0 };

	ydoc_init(&y, &b);
	if (object_section_doc(o, section, &y.doc, &e))
		fail_msg("%s", e.text);
	assert_string_equal(text_in(&b), want);
	buf_free(&b);
}

void each_cut(const struct buf *b, void (*use)(const uint8_t *p, size_t n))
{
	for (size_t n = 0; n <= b->len; n++)
		use(b->p, n);
}

void each_change(const struct buf *b, void (*use)(const uint8_t *p, size_t n))
{
	static const uint8_t change[] = { 0x01, 0x80, 0xff };

	for (size_t at = 0; at < b->len; at++) {
		for (size_t i = 0; i < ARRAY_LEN(change); i++) {
			b->p[at] ^= change[i];
			use(b->p, b->len);
			b->p[at] ^= change[i];
		}
	}
}

int bid_for(const struct format *f, const void *p, size_t n)
{
	struct source *src = src_memory(p, n);
	int bid;

	assert_non_null(src);
	bid = build_probe(f, src, "", NULL, 0, NULL);
	src_put(src);
	return bid;
}
