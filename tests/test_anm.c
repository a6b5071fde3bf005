/* Animation packs of both games: tables, clips, documents, damage. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "build.h"
#include "bytes.h"
#include "export.h"
#include "opened.h"

extern const struct format fmt_anm;

#define NONE 0xffffffffu

/* The minimal pack of spec/mhp.md 5.7, and the same motion as MHFU has it: bone 1 turns about Z. */
static const uint32_t p3rd[] = {
	2, 0x10, 0, 0x18,
	0x18, NONE,
	2, 0x38, 1, 0,
	0x00040000, 0x00240001,
	0x00030020, 0x20,
	0x00000000, 0, 0x000f1000, 0, 0x001e0000, 0
};
static const uint32_t mhfu[] = {
	3, 0x18, 1, 0x24, 0, 0x28,
	0x28, NONE, 0x7c, 0x28,
	0x80000002, 2, 0x54, 1, 0x40a00000,            /* 0x28: tracks, size, loop, from frame 5.0 on */
	0x80000000, 0, 12,                             /* 0x3c */
	0x80000021, 2, 0x34,                           /* 0x48: Z rotation and a channel without a name */
	0x80120020, 2, 28, 0x00000000, 0xfff60005, 0x000f1000, 0, /* 0x54 */
	0x80120001, 0, 12,                             /* 0x70 */
	0x80000002, 0, 0x14, 0, 0                      /* 0x7c: a clip without tracks */
};

/* ---- an opened pack ---- */

static struct buf bytes_of(const uint32_t *words, size_t n)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < n; i++)
		put32(&b, words[i]);
	assert_false(b.bad);
	return b;
}
#define BYTES(words) bytes_of(words, ARRAY_LEN(words))

static void section_is(struct opened *k, unsigned s, uint64_t at, uint64_t size)
{
	assert_int_equal(object_section(k->o, s).at, at);
	assert_int_equal(object_section(k->o, s).size, size);
}

/* ---- documents ---- */

static void test_mhp3rd(void **state)
{
	struct buf b = BYTES(p3rd);
	struct opened k;

	(void)state;
	assert_int_equal(b.len, 0x50);
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 70);
	k = open_buf(&fmt_anm, &b);
	sound(k.o);
	assert_string_equal(k.o->variant->version, "mhp3rd");
	assert_int_equal(object_count(k.o, PART_CLIP), 1);
	section_is(&k, 0, 0, 0x10);
	section_is(&k, 1, 0x10, 8);
	section_is(&k, 2, 0x18, 0x38);
	doc_is(k.o, DOC_HEADER, 0,
	       "# modelfs anm mhp3rd\n"
	       "kind: mhp3rd  # derived\n"
	       "streams:\n"
	       "- slots: [0, null]\n");
	doc_is(k.o, DOC_CLIP, 0,
	       "loop: 1\n"
	       "loop_start: 0.0  # frame\n"
	       "tracks:\n"
	       "- channels: []\n"
	       "- channels:\n"
	       "  - channel: rotation_z\n"
	       "    keys:  # value, frame, ease in, ease out\n"
	       "    - [0, 0, 0, 0]\n"
	       "    - [4096, 15, 0, 0]\n"
	       "    - [0, 30, 0, 0]\n");
	assert_int_equal(fmt_anm.model->doc(k.o, DOC_CLIP, 1, NULL, NULL), -ENOENT);
	assert_int_equal(fmt_anm.model->doc(k.o, DOC_IMAGE, 0, NULL, NULL), -ENOENT);
	close_opened(&k);
}

static void test_mhfu(void **state)
{
	struct buf b = BYTES(mhfu);
	struct opened k;

	(void)state;
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 70);
	k = open_buf(&fmt_anm, &b);
	sound(k.o);
	assert_string_equal(k.o->variant->version, "mhfu");
	section_is(&k, 0, 0, 0x18);
	section_is(&k, 1, 0x18, 0x10);
	section_is(&k, 2, 0x28, 0x68);
	doc_is(k.o, DOC_HEADER, 0,
	       "# modelfs anm mhfu\n"
	       "kind: mhfu  # derived\n"
	       "streams:\n"
	       "- slots: [0, null, 1]\n"
	       "- slots: [0]\n");
	doc_is(k.o, DOC_CLIP, 0,
	       "loop: 1\n"
	       "loop_start: 5.0  # frame\n"
	       "tracks:\n"
	       "- channels: []\n"
	       "- channels:\n"
	       "  - channel: rotation_z\n"
	       "    keys:  # value, frame, ease in, ease out\n"
	       "    - [0, 0, 5, -10]\n"
	       "    - [4096, 15, 0, 0]\n"
	       "  - channel: 0x0001\n"
	       "    keys: []  # value, frame, ease in, ease out\n");
	doc_is(k.o, DOC_CLIP, 1, "loop: 0\nloop_start: 0.0  # frame\ntracks: []\n");
	close_opened(&k);
}

static void test_all_channels(void **state)
{
	static const char *const names[] = {
		"0x0001", "0x0002", "0x0004", "rotation_x", "rotation_y", "rotation_z", "location_x", "location_y",
		"location_z", "scale_x", "scale_y", "scale_z", "0x1000"
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		struct buf b = BYTES(p3rd);
		char want[400];
		struct opened k;

		put_le16(b.p + 0x30, (uint16_t)(1u << i));
		k = open_buf(&fmt_anm, &b);
		sound(k.o);
		snprintf(want, sizeof want, "loop: 1\nloop_start: 0.0  # frame\ntracks:\n- channels: []\n- channels:\n"
			 "  - channel: %s\n    keys:  # value, frame, ease in, ease out\n"
			 "    - [0, 0, 0, 0]\n    - [4096, 15, 0, 0]\n    - [0, 30, 0, 0]\n", names[i]);
		doc_is(k.o, DOC_CLIP, 0, want);
		close_opened(&k);
	}
}

/* Clips are numbered as they lie, whatever slot uses them first. */
static void test_order(void **state)
{
	static const uint32_t words[] = {
		4, 0x10, 0, 0x20, 0x40, 0x20, 0x30, 0x40,
		0, 0x10, 7, 0, 0, 0x10, 8, 0, 0, 0x10, 9, 0, 0x11111111
	};
	struct buf b = BYTES(words);
	struct opened k = open_buf(&fmt_anm, &b);

	(void)state;
	sound(k.o);
	assert_int_equal(object_count(k.o, PART_CLIP), 3);
	doc_is(k.o, DOC_HEADER, 0,
	       "# modelfs anm mhp3rd\nkind: mhp3rd  # derived\nstreams:\n- slots: [2, 0, 1, 2]\n");
	doc_is(k.o, DOC_CLIP, 2, "loop: 9\nloop_start: 0.0  # frame\ntracks: []\n");
	section_is(&k, 2, 0x20, 0x30);
	close_opened(&k);
}

static void test_no_clips(void **state)
{
	static const uint32_t words[] = { 2, 0x18, 1, 0x20, 0, 0x24, NONE, NONE, NONE };
	struct buf b = BYTES(words);
	struct opened k;

	(void)state;
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 70);
	k = open_buf(&fmt_anm, &b);
	sound(k.o);
	assert_int_equal(object_count(k.o, PART_CLIP), 0);
	section_is(&k, 2, 0x24, 0);
	doc_is(k.o, DOC_HEADER, 0, "# modelfs anm unknown\nkind: null  # derived\nstreams:\n"
	       "- slots: [null, null]\n- slots: [null]\n");
	close_opened(&k);
}

/* ---- damaged tables: no pack at all ---- */

static void refused(uint32_t word, uint32_t value, const char *want)
{
	struct buf b = BYTES(mhfu);
	struct opened k;

	put_le32(b.p + 4 * word, value);
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 0);
	k = open_buf(&fmt_anm, &b);
	assert_null(k.o->variant);
	assert_non_null(k.o->faults);
	assert_string_equal(k.o->faults->text, want);
	close_opened(&k);
}

static void test_no_pack(void **state)
{
	static const uint32_t none[] = { 0, 0x10, 0, 0x10 };
	struct buf b = BYTES(none);
	struct opened k;

	(void)state;
	refused(0, 0xfffffff0,
		"stream at 0x0: 4294967280 slots of 4 bytes in stream 0 end past the 144 bytes of the pack");
	refused(1, 0x14, "stream at 0x4: slots of stream 0 at 0x14, expected a multiple of 8 from 0x10 to 0x200");
	refused(1, 0x208, "stream at 0x4: slots of stream 0 at 0x208, expected a multiple of 8 from 0x10 to 0x200");
	refused(1, 8, "stream at 0x4: slots of stream 0 at 0x8, expected a multiple of 8 from 0x10 to 0x200");
	refused(3, 0x28, "stream at 0x8: slots of stream 1 at 0x28, expected 0x24");
	refused(4, 1, "end of the streams at 0x10: 0x1, 0x28, expected 0 and 0x28");
	refused(5, 0x2c, "end of the streams at 0x10: 0x0, 0x2c, expected 0 and 0x28");
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 0);
	assert_int_equal(bid_for(&fmt_anm, b.p, 12), 0);
	k = open_buf(&fmt_anm, &b);
	assert_null(k.o->variant);
	assert_string_equal(k.o->faults->text, "streams at 0x0: 0 slots, expected at least 1");
	close_opened(&k);
}

static void test_too_many_slots(void **state)
{
	static const uint32_t words[] = { 70000, 0x10, 0, 0x10 + 4 * 70000 };
	struct buf b = BYTES(words);
	struct opened k;

	(void)state;
	for (unsigned i = 0; i < 4 * 70000; i++)
		buf_char(&b, (char)0xff);
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 0);
	k = open_buf(&fmt_anm, &b);
	assert_string_equal(k.o->faults->text, "stream at 0x0: 70000 slots in stream 0, at most 65536 in all are read");
	assert_true(k.o->arena.used < 4096);
	close_opened(&k);
}

/* The slots of a wide pack lie far behind the first bytes a probe gets. */
static void test_probe_far_slots(void **state)
{
	static const uint32_t words[] = { 3000, 0x10, 0, 0x10 + 4 * 3000 };
	struct buf b = BYTES(words);

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		put32(&b, i == 2999 ? words[3] : NONE);
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 40);         /* the slot leads to the end of the file */
	for (unsigned i = 0; i < 16; i++)
		buf_char(&b, i == 4 ? 16 : 0);
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 70);
	put_le32(b.p + 4 * 3002, 5);
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 40);
	buf_free(&b);
}

/* ---- damaged clips ---- */

static void gone(const uint32_t *words, size_t n, uint32_t word, uint32_t value, uint32_t index, const char *want)
{
	struct buf b = bytes_of(words, n);
	struct opened k;
	struct err e;

	put_le32(b.p + 4 * word, value);
	assert_true(bid_for(&fmt_anm, b.p, b.len) >= 40);
	k = open_buf(&fmt_anm, &b);
	assert_non_null(k.o->faults);
	assert_null(k.o->faults->next);
	assert_true(object_gone(k.o, PART_CLIP, index));
	assert_string_equal(k.o->faults->text, want);
	assert_int_equal(object_verify(k.o, &e), -EBADMSG);
	close_opened(&k);
}
#define GONE(words, ...) gone(words, ARRAY_LEN(words), __VA_ARGS__)

static void test_clip_heads(void **state)
{
	(void)state;
	GONE(mhfu, 8, 0x7ffffff0, 1, "clip 1 at 0x7ffffff0: a slot leads here, expected 0x28 to 0x7c");
	GONE(mhfu, 8, 4, 0, "clip 0 at 0x4: a slot leads here, expected 0x28 to 0x7c");
	GONE(mhfu, 8, 0x80, 1, "clip 1 at 0x80: a slot leads here, expected 0x28 to 0x7c");
	GONE(mhfu, 31, 0x80000003, 1, "clip 1 at 0x7c: tag 0x80000003, expected 0x80000002");
	GONE(mhfu, 10, 0, 0, "clip 0 at 0x28: tag 0x00000000, expected 0x80000002");
	GONE(mhfu, 11, 0xfffffff0, 0, "clip 0 at 0x28: 4294967280 tracks of at least 12 bytes end past its 84");
	GONE(mhfu, 12, 0xfffffff0, 0, "clip 0 at 0x28: size 4294967280, expected 20 to 104");
	GONE(mhfu, 12, 19, 0, "clip 0 at 0x28: size 19, expected 20 to 104");
	GONE(p3rd, 6, 0xfffffff0, 0, "clip 0 at 0x18: 4294967280 tracks of at least 4 bytes end past its 56");
	GONE(p3rd, 7, 0x39, 0, "clip 0 at 0x18: size 57, expected 16 to 56");
	GONE(p3rd, 7, 0, 0, "clip 0 at 0x18: size 0, expected 16 to 56");
	GONE(p3rd, 4, 0x14, 0, "clip 0 at 0x14: a slot leads here, expected 0x18 to 0x50");
}

static void test_other_clips_stay(void **state)
{
	struct buf b = BYTES(mhfu);
	struct opened k;

	(void)state;
	put_le32(b.p + 4 * 12, 0);
	k = open_buf(&fmt_anm, &b);
	assert_true(object_gone(k.o, PART_CLIP, 0));
	assert_false(object_gone(k.o, PART_CLIP, 1));
	doc_is(k.o, DOC_CLIP, 1, "loop: 0\nloop_start: 0.0  # frame\ntracks: []\n");
	close_opened(&k);
}

static void inside(const uint32_t *words, size_t n, uint32_t word, uint32_t value, const char *want)
{
	struct buf b = bytes_of(words, n), text = { 0 };
	struct opened k;
	struct ydoc y;
	struct err e;

	put_le32(b.p + 4 * word, value);
	k = open_buf(&fmt_anm, &b);
	assert_null(k.o->faults);                      /* only the clip's contents tell */
	ydoc_init(&y, &text);
	assert_int_equal(fmt_anm.model->doc(k.o, DOC_CLIP, 0, &y.doc, &e), -EBADMSG);
	assert_string_equal(e.text, want);
	assert_int_equal(object_verify(k.o, &e), -EBADMSG);
	assert_string_equal(e.text, want);
	buf_free(&text);
	close_opened(&k);
}
#define INSIDE(words, ...) inside(words, ARRAY_LEN(words), __VA_ARGS__)

static void test_clip_contents(void **state)
{
	(void)state;
	INSIDE(mhfu, 15, 0x90000000, "clip 0 at 0x3c: track 0: tag 0x9000, expected 0x8000");
	INSIDE(mhfu, 17, 11, "clip 0 at 0x3c: track 0: size 11, expected 12 to 64");
	INSIDE(mhfu, 17, 65, "clip 0 at 0x3c: track 0: size 65, expected 12 to 64");
	INSIDE(mhfu, 16, 1, "clip 0 at 0x48: channel 0 of 1: 0 bytes are left, expected at least 12");
	INSIDE(mhfu, 19, 0xffffffff, "clip 0 at 0x7c: channel 2 of 4294967295: 0 bytes are left, expected at least 12");
	INSIDE(mhfu, 19, 1, "clip 0 at 0x70: 12 bytes behind the 1 channels of a track");
	INSIDE(mhfu, 21, 0x80110020, "clip 0 at 0x54: channel 0: tag 0x8011, expected 0x8012");
	INSIDE(mhfu, 22, 0xffffffff, "clip 0 at 0x54: channel 0: size 28, expected 34359738372 with 4294967295 keys");
	INSIDE(mhfu, 23, 41, "clip 0 at 0x54: channel 0: size 41, expected 12 to 40");
	INSIDE(mhfu, 11, 1, "clip 0 at 0x48: 52 bytes behind the 1 tracks");
	INSIDE(mhfu, 11, 3, "clip 0 at 0x7c: track 2 of 3: 0 bytes are left, expected at least 12");
	INSIDE(p3rd, 10, 0x00030000, "clip 0 at 0x28: track 0: size 3, expected 4 to 40");
	INSIDE(p3rd, 12, 0xffff0020, "clip 0 at 0x30: channel 0: size 32, expected 524288 with 65535 keys");
	INSIDE(p3rd, 13, 40, "clip 0 at 0x30: channel 0: size 40, expected 8 to 32");
}

/* A mask that says something else than the channels do cannot be worked out from them. */
static void test_verify_differs(void **state)
{
	struct buf b = BYTES(mhfu);
	struct opened k;
	struct err e;

	(void)state;
	b.p[4 * 18] = 0x61;
	k = open_buf(&fmt_anm, &b);
	assert_null(k.o->faults);
	assert_int_equal(object_verify(k.o, &e), -EILSEQ);
	assert_string_equal(e.text, "clip 0 at 0x48: 0x61 is stored, encoded again it is 0x21");
	close_opened(&k);
}

/* Every eight bytes a clip of 4096: a few are taken, then the pack is done with. */
static void test_overlapping(void **state)
{
	enum { SLOTS = 4000, CLIPS = 0x10 + 4 * SLOTS, END = CLIPS + 8 * SLOTS + 4096 };
	static const uint32_t words[] = { SLOTS, 0x10, 0, CLIPS };
	struct buf b = BYTES(words);
	struct opened k;

	(void)state;
	for (unsigned i = 0; i < SLOTS; i++)
		put32(&b, CLIPS + 8 * i);
	for (unsigned at = CLIPS; at < END; at += 4)
		put32(&b, at % 8 ? 4096 : 0);
	k = open_buf(&fmt_anm, &b);
	assert_null(k.o->faults->next);
	assert_int_equal(k.o->faults->part, PART_OBJECT);
	assert_string_equal(k.o->faults->text,
			    "clip 25 at 0x3f58: overlaps others; up to here 106496 bytes of clips in 52112");
	assert_int_equal(object_count(k.o, PART_CLIP), 25);
	close_opened(&k);
}

/* No slot leads into the pack: nothing tells the game. */
static void test_all_slots_wild(void **state)
{
	static const uint32_t words[] = { 2, 0x10, 0, 0x18, 4, 0xfffffff0, 0, 0 };
	struct buf b = BYTES(words);
	struct opened k;

	(void)state;
	assert_int_equal(bid_for(&fmt_anm, b.p, b.len), 40);
	k = open_buf(&fmt_anm, &b);
	assert_string_equal(k.o->variant->version, "unknown");
	assert_true(object_gone(k.o, PART_CLIP, 0) && object_gone(k.o, PART_CLIP, 1));
	assert_string_equal(k.o->faults->text, "clip 0 at 0x4: a slot leads here, expected 0x18 to 0x20");
	assert_int_equal(fmt_anm.model->doc(k.o, DOC_CLIP, 0, NULL, NULL), -ENOENT);
	close_opened(&k);
}

/* ---- hostile bytes ---- */

static void use_everything(const uint8_t *p, size_t n)
{
	struct opened k = open_bytes(&fmt_anm, p, n);
	struct err e = { 0 };
	struct ydoc y;

	for (uint32_t i = 0; i < object_count(k.o, PART_CLIP); i++) {
		struct buf b = { 0 };

		ydoc_init(&y, &b);
		if (!fmt_anm.model->doc(k.o, DOC_CLIP, i, &y.doc, &e))
			assert_false(object_gone(k.o, PART_CLIP, i));
		buf_free(&b);
	}
	if (k.o->variant)
		free(text_of(k.o, DOC_HEADER, 0));
	if (object_verify(k.o, &e))
		assert_true(e.text[0]);
	close_opened(&k);
	bid_for(&fmt_anm, p, n);
}

static void test_cut_anywhere(void **state)
{
	struct buf b[] = { BYTES(mhfu), BYTES(p3rd) };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(b); i++) {
		each_cut(&b[i], use_everything);
		buf_free(&b[i]);
	}
}

static void test_any_byte_changed(void **state)
{
	struct buf b[] = { BYTES(mhfu), BYTES(p3rd) };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(b); i++) {
		for (size_t at = 0; at < b[i].len; at++) {
			uint8_t was = b[i].p[at];

			for (unsigned v = 0; v < 256; v++) {
				b[i].p[at] = (uint8_t)v;
				use_everything(b[i].p, b[i].len);
			}
			b[i].p[at] = was;
		}
		buf_free(&b[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mhp3rd), cmocka_unit_test(test_mhfu), cmocka_unit_test(test_all_channels),
		cmocka_unit_test(test_order), cmocka_unit_test(test_no_clips), cmocka_unit_test(test_no_pack),
		cmocka_unit_test(test_too_many_slots), cmocka_unit_test(test_probe_far_slots),
		cmocka_unit_test(test_clip_heads), cmocka_unit_test(test_other_clips_stay),
		cmocka_unit_test(test_clip_contents), cmocka_unit_test(test_verify_differs),
		cmocka_unit_test(test_overlapping), cmocka_unit_test(test_all_slots_wild),
		cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_any_byte_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
