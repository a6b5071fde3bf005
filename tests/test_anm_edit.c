/* Animation packs that are written to: values, keys, channels, tracks, slots, and where the clips go. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "bytes.h"
#include "edited.h"
#include "opened.h"

extern const struct format fmt_anm;

#define NONE 0xffffffffu

/* One clip of Portable 3rd: bone 1 turns about Z. */
static const uint32_t p3rd[] = {
	2, 0x10, 0, 0x18,
	0x18, NONE,
	2, 0x38, 1, 0,                                 /* 0x18: tracks, size, loop, start */
	0x00040000, 0x00240001,                        /* 0x28, 0x2c: channels, size */
	0x00030020, 0x20,                              /* 0x30 */
	0x00000000, 0, 0x000f1000, 0, 0x001e0000, 0    /* 0x38 */
};
static const uint32_t mhfu[] = {
	3, 0x18, 1, 0x24, 0, 0x28,
	0x28, NONE, 0x7c, 0x28,
	0x80000002, 2, 0x54, 1, 0x40a00000,            /* 0x28: tracks, size, loop, from frame 5.0 on */
	0x80000000, 0, 12,                             /* 0x3c */
	0x80000021, 2, 0x34,                           /* 0x48 */
	0x80120020, 2, 28, 0x00000000, 0xfff60005, 0x000f1000, 0, /* 0x54 */
	0x80120001, 0, 12,                             /* 0x70 */
	0x80000002, 0, 0x14, 0, 0                      /* 0x7c: a clip without tracks */
};
/* Three clips of Portable 3rd without tracks, known by their loop words; the second one is shared. */
static const uint32_t three[] = {
	4, 0x10, 0, 0x20, 0x20, 0x30, 0x30, 0x40,
	0, 0x10, 7, 0, 0, 0x10, 8, 0, 0, 0x10, 9, 0
};

/* ---- an edited pack ---- */

static void open_words(struct edited *k, const uint32_t *words, size_t n, size_t tail, size_t room)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < n; i++)
		put32(&b, words[i]);
	for (size_t i = 0; i < tail; i++)
		put8(&b, 0);
	assert_false(b.bad);
	edited_open(k, &fmt_anm, b.p, b.len, room);
	buf_free(&b);
}
#define OPEN(k, words, tail, room) open_words(k, words, ARRAY_LEN(words), tail, room)

/* The text is taken, the pack is sound, and the same text again changes nothing. */
static void put(struct edited *k, unsigned kind, uint32_t i, const char *text)
{
	edited_yaml_twice(k, kind, i, text);
	sound(k->o);
}

static void refused(struct edited *k, unsigned kind, uint32_t i, const char *text, int code, const char *why)
{
	assert_int_equal(edited_yaml(k, kind, i, text), -code);
	assert_string_equal(k->why, why);
	edited_only(k, 0, 0, 0);
	assert_int_equal(k->size[0], k->size_was[0]);
}

static void words_are(const struct edited *k, uint32_t at, const uint32_t *want, size_t n)
{
	assert_true(at + 4 * n <= k->size[0]);
	for (size_t i = 0; i < n; i++)
		if (le_u32(k->bytes[0] + at + 4 * i) != want[i])
			fail_msg("0x%zx: 0x%08x, expected 0x%08x", at + 4 * i, le_u32(k->bytes[0] + at + 4 * i),
				 want[i]);
}
#define WORDS_ARE(k, at, ...) \
	words_are(k, at, (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

/* Of a clip with one channel in its second track. */
#define TURN(channel, keys) "tracks:\n- channels: []\n- channels:\n  - channel: " channel "\n    keys: " keys "\n"

/* ---- values ---- */

static void test_nothing(void **state)
{
	struct edited k;
	char *text;

	(void)state;
	OPEN(&k, mhfu, 0, 0);
	for (uint32_t i = 0; i < 2; i++) {
		text = text_of(k.o, DOC_CLIP, i);
		put(&k, DOC_CLIP, i, text);
		free(text);
	}
	text = text_of(k.o, DOC_HEADER, 0);
	put(&k, DOC_HEADER, 0, text);
	free(text);
	put(&k, DOC_CLIP, 0, "tracks:\n- {}\n- channels:\n  - channel: rotation_z\n  - channel: 1\n");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

static void test_values(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, p3rd, 0, 0);
	put(&k, DOC_CLIP, 0, TURN("rotation_z", "[[0, 0, 0, 0], [8192, 16, -1, 2], [0, 30, 0, 0]]"));
	WORDS_ARE(&k, 0x40, 0x00102000, 0x0002ffff);
	edited_only(&k, 0, 0x40, 8);
	edited_close(&k);

	OPEN(&k, p3rd, 0, 0);
	put(&k, DOC_CLIP, 0, "loop: 0\nloop_start: 2.5\n");
	WORDS_ARE(&k, 0x20, 0, 0x40200000);
	edited_only(&k, 0, 0x20, 8);
	edited_close(&k);

	OPEN(&k, p3rd, 0, 0);
	put(&k, DOC_CLIP, 0, TURN("scale_z", "[[0, 0, 0, 0], [4096, 15, 0, 0], [0, 30, 0, 0]]"));
	WORDS_ARE(&k, 0x30, 0x00030800);
	edited_only(&k, 0, 0x30, 2);
	edited_close(&k);
}

/* The mask of the track follows its channels; one that is stored wrong stays where the channels do. */
static void test_mask(void **state)
{
	static const char *const text =
		"tracks:\n- channels: []\n- channels:\n  - channel: rotation_x\n    keys: [[0, 0, 5, -10], "
		"[4096, 15, 0, 0]]\n  - channel: 0x0001\n    keys: []\n";
	struct edited k;

	(void)state;
	OPEN(&k, mhfu, 0, 0);
	put(&k, DOC_CLIP, 0, text);
	WORDS_ARE(&k, 0x48, 0x80000009, 2, 0x34, 0x80120008, 2, 28);
	edited_only(&k, 0, 0x48, 16);
	edited_close(&k);

	OPEN(&k, mhfu, 0, 0);
	k.bytes[0][0x48] = 0x61;
	assert_int_equal(edited_yaml(&k, DOC_CLIP, 0, "tracks:\n- channels: []\n- channels:\n  - "
				     "keys: [[1, 0, 5, -10], [4096, 15, 0, 0]]\n  - keys: []\n"), 0);
	WORDS_ARE(&k, 0x48, 0x80000061);
	WORDS_ARE(&k, 0x60, 0x00000001);
	edited_close(&k);
}

/* ---- keys that are new or gone ---- */

#define FOUR "[[0, 0, 0, 0], [4096, 15, 0, 0], [0, 30, 0, 0], [-5, 45, 6, 7]]"

static void grown(const struct edited *k)
{
	WORDS_ARE(k, 0, 2, 0x10, 0, 0x18, 0x18, NONE, 2, 0x40, 1, 0, 0x00040000, 0x002c0001, 0x00040020, 0x28, 0, 0,
		  0x000f1000, 0, 0x001e0000, 0, 0x002dfffb, 0x00070006);
}

static void test_key_added(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, p3rd, 0, 0x60);
	put(&k, DOC_CLIP, 0, TURN("rotation_z", FOUR));
	grown(&k);
	assert_int_equal(k.size[0], 0x58);
	edited_close(&k);

	OPEN(&k, p3rd, 0, 0x54);
	refused(&k, DOC_CLIP, 0, TURN("rotation_z", FOUR), ENOSPC,
		"the entry has room for 84 bytes: 4 bytes are missing");
	edited_close(&k);
}

/* Zeros behind the clips are room; other bytes there move along, unless they are padding. */
static void test_tails(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, p3rd, 12, 0);
	put(&k, DOC_CLIP, 0, TURN("rotation_z", FOUR));
	grown(&k);
	assert_int_equal(k.size[0], 0x5c);
	edited_close(&k);

	OPEN(&k, p3rd, 8, 0x60);
	memcpy(k.bytes[0] + 0x54, "tail", 4);
	put(&k, DOC_CLIP, 0, TURN("rotation_z", FOUR));
	grown(&k);
	assert_int_equal(k.size[0], 0x5c);
	assert_memory_equal(k.bytes[0] + 0x58, "tail", 4);
	edited_close(&k);

	OPEN(&k, p3rd, 8, 0x60);
	memcpy(k.bytes[0] + 0x50, "tailtail", 8);
	k.around.padded = true;
	put(&k, DOC_CLIP, 0, TURN("rotation_z", FOUR));
	grown(&k);
	assert_int_equal(k.size[0], 0x58);
	edited_close(&k);
}

/* Later clips move, in both directions, and every slot that leads to one follows. */
static void test_later_clips(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, mhfu, 0, 0x98);
	put(&k, DOC_CLIP, 0, "tracks:\n- channels: []\n- channels:\n  - {}\n  - channel: 0x0001\n    keys: [[16, 0, "
	    "0, 0]]\n");
	WORDS_ARE(&k, 0x18, 0x28, NONE, 0x84, 0x28, 0x80000002, 2, 0x5c, 1, 0x40a00000, 0x80000000, 0, 12,
		  0x80000021, 2, 0x3c, 0x80120020, 2, 28, 0, 0xfff60005, 0x000f1000, 0, 0x80120001, 1, 20, 16, 0,
		  0x80000002, 0, 0x14, 0, 0);
	assert_int_equal(k.size[0], 0x98);
	put(&k, DOC_CLIP, 0, "tracks: []");
	WORDS_ARE(&k, 0x18, 0x28, NONE, 0x3c, 0x28, 0x80000002, 0, 0x14, 1, 0x40a00000, 0x80000002, 0, 0x14, 0, 0, 0,
	    0);
	assert_int_equal(k.size[0], 0x98);
	for (unsigned i = 0x50; i < 0x98; i++)
		assert_int_equal(k.bytes[0][i], 0);
	put(&k, DOC_CLIP, 1, "tracks:\n- channels:\n  - channel: location_y\n    keys: [[1, 2, 3, 4]]\n  - channel: "
	    "location_x\n"
	    "    keys: []\n- channels: []\n");
	WORDS_ARE(&k, 0x3c, 0x80000002, 2, 0x4c, 0, 0, 0x800000c0, 2, 0x2c, 0x80120080, 1, 20, 0x00020001, 0x00040003,
		  0x80120040, 0, 12, 0x80000000, 0, 12);
	edited_close(&k);
}

/* A gap between clips stays one. */
static void test_gap(void **state)
{
	static const uint32_t words[] = {
		2, 0x10, 0, 0x18, 0x18, 0x2c, 0, 0x10, 7, 0, 0x11111111, 0, 0x10, 8, 0
	};
	struct edited k;

	(void)state;
	OPEN(&k, words, 0, 0x60);
	put(&k, DOC_CLIP, 0, "tracks: [{channels: []}]");
	WORDS_ARE(&k, 0x10, 0x18, 0x30, 1, 0x14, 7, 0, 0x00040000, 0x11111111, 0, 0x10, 8, 0);
	assert_int_equal(k.size[0], 0x40);
	edited_close(&k);
}

/* ---- texts that are refused ---- */

static void test_refused_keys(void **state)
{
	static const struct { const char *text, *why; } bad[] = {
		{ TURN("rotation_z", "[[0, 0, 0, 0], [0, 9, 0, 0], [0, 8, 0, 0]]"),
		  "line 5, column 40: clip 0, track 1, channel 0: key 2 has frame 8, expected more than the 9 of key "
		  "1" },
		{ TURN("rotation_z", "[[0, 0, 0, 0], [0, 15, 0, 0], [0, 15, 0, 0]]"),
		  "line 5, column 41: clip 0, track 1, channel 0: key 2 has frame 15, expected more than the 15 of "
		  "key 1" },
		{ TURN("rotation_z", "[[0, -1, 0, 0]]"),
		  "line 5, column 12: clip 0, track 1, channel 0: key 0 has frame -1, expected 0 or more" },
		{ TURN("rotation_z", "[[0, 0, 0, 0], [0, 15, 0, 0], [0, 70000, 0, 0], [0, 1, 0, 0]]"),
		  "line 5, column 45: frame: 70000 is outside -32768..32767" },
		{ TURN("rotation_z", "[[0, 0, 0]]"),
		  "line 5, column 12: 3 values in the key, expected 4: [value, frame, ease in, ease out]" },
		{ TURN("rotation_z", "[5]"),
		  "line 5, column 12: \"5\" found, expected [value, frame, ease in, ease out]" },
		{ TURN("rotation_q", "[]"),
		  "line 4, column 14: channel: \"rotation_q\" is none of rotation_x, rotation_y, rotation_z, "
		  "location_x, location_y, location_z, scale_x, scale_y, scale_z; nearest is rotation_x" },
		{ "tracks: [{channels: [{channel: 1, keys: []}, {channel: 0x0001, keys: []}]}]",
		  "line 1, column 46: clip 0, track 0, channel 1: the track has a channel 0x0001 already" },
		{ "tracks: [{channels: [{channel: 1}]}]",
		  "line 1, column 22: keys is missing, and nothing stored stands for it" },
		{ "tracks: [{}, {}, {}]", "line 1, column 18: channels is missing, and nothing stored stands for it" },
		{ "tracks: [{channel: []}]", "line 1, column 11: unknown key \"channel\", expected channels" },
		{ "tracks: [{channels: [{channel: 1, keys: [], key: 2}]}]",
		  "line 1, column 45: unknown key \"key\", expected channel or keys" },
		{ "tracks: [{channels: 5}]", "line 1, column 21: \"5\" found, expected a list of channels" },
		{ "tracks: [5]", "line 1, column 10: \"5\" found, expected a mapping" },
	};
	struct edited k;

	(void)state;
	OPEN(&k, p3rd, 0, 0x100);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		refused(&k, DOC_CLIP, 0, bad[i].text, EINVAL, bad[i].why);
	edited_close(&k);
}

static void test_scale(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, mhfu, 0, 0x100);
	refused(&k, DOC_CLIP, 1, "tracks: [{channels: [{channel: scale_x, keys: []}]}]", EINVAL, "line 1, column 22: "
	    "clip 1, track 0, channel 0: Freedom Unite crashes on channels that scale (0x0200)");
	edited_close(&k);

	/* one that is there stays, and its keys can change */
	OPEN(&k, mhfu, 0, 0x100);
	put_le32(k.bytes[0] + 0x70, 0x80120200);
	put_le32(k.bytes[0] + 0x48, 0x80000220);
	put(&k, DOC_CLIP, 0, "tracks:\n- {}\n- channels:\n  - {}\n  - keys: [[1, 2, 3, 4]]\n");
	WORDS_ARE(&k, 0x70, 0x80120200, 1, 20, 0x00020001, 0x00040003);
	edited_close(&k);
}

/* A size of 16 bits has an end: 8190 keys fit in one channel, 4 + 8 + 8 * 8190 bytes. */
static void test_long_track(void **state)
{
	struct buf b = { 0 };
	struct edited k;

	(void)state;
	OPEN(&k, p3rd, 0, 0x20000);
	for (unsigned n = 8190; n <= 8191; n++) {
		b.len = 0;
		buf_str(&b, "tracks: [{}, {channels: [{keys: [");
		for (unsigned i = 0; i < n; i++)
			buf_printf(&b, "%s[0, %u, 0, 0]", i ? ", " : "", i);
		buf_str(&b, "]}]}]");
		buf_char(&b, 0);
		assert_false(b.bad);
		assert_int_equal(edited_yaml(&k, DOC_CLIP, 0, (const char *)b.p), n == 8190 ? 0 : -EINVAL);
		WORDS_ARE(&k, 0x2c, 0xfffc0001, 0x1ffe0020, 0xfff8);
	}
	assert_string_equal(k.why, "line 1, column 25: clip 0, track 1: 65540 bytes of channels and keys, at most "
	    "65535 fit");
	buf_free(&b);
	edited_close(&k);
}

/* Frames that do not ascend may stay where they are stored, and other keys can change around them. */
static void test_stored_disorder(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, p3rd, 0, 0x100);
	put_le16(k.bytes[0] + 0x3a, (uint16_t)-3);
	put_le16(k.bytes[0] + 0x42, (uint16_t)-3);
	put(&k, DOC_CLIP, 0, TURN("rotation_z", "[[1, -3, 0, 0], [2, -3, 0, 0], [3, 30, 0, 0]]"));
	put(&k, DOC_CLIP, 0, TURN("rotation_z", "[[1, -3, 0, 0], [2, -3, 0, 0], [3, 30, 0, 0], [0, 31, 0, 0]]"));
	WORDS_ARE(&k, 0x38, 0xfffd0001, 0, 0xfffd0002, 0, 0x001e0003, 0, 0x001f0000, 0);
	assert_int_equal(edited_yaml(&k, DOC_CLIP, 0, TURN("rotation_z", "[[1, -3, 0, 0], [2, -4, 0, 0]]")), -EINVAL);
	assert_string_equal(k.why, "line 5, column 27: clip 0, track 1, channel 0: key 1 has frame -4, expected 0 or "
	    "more");
	edited_close(&k);
}

/* ---- slots ---- */

static void test_share(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, mhfu, 0, 0);
	put(&k, DOC_HEADER, 0, "streams:\n- slots: [0, 1, 1]\n- slots: [null]\n");
	WORDS_ARE(&k, 0x18, 0x28, 0x7c, 0x7c, NONE);
	edited_only(&k, 0, 0x1c, 12);
	edited_close(&k);

	OPEN(&k, mhfu, 0, 0);
	put(&k, DOC_HEADER, 0, "streams:\n- slots: [0, 1, 1]\n- {}\n");
	WORDS_ARE(&k, 0x18, 0x28, 0x7c, 0x7c, 0x28);
	edited_close(&k);
}

static void test_removed(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, three, 0, 0);
	put(&k, DOC_HEADER, 0, "streams:\n- slots: [0, null, null, 2]\n");
	WORDS_ARE(&k, 0x10, 0x20, NONE, NONE, 0x30, 0, 0x10, 7, 0, 0, 0x10, 9, 0, 0, 0, 0, 0);
	assert_int_equal(object_count(k.o, PART_CLIP), 2);
	assert_string_equal(k.said, "clips that no slot uses any more: 1; later ones are numbered anew\n");
	doc_is(k.o, DOC_HEADER, 0, "# modelfs anm mhp3rd\nkind: mhp3rd  # derived\nstreams:\n"
	       "- slots: [0, null, null, 1]\n");
	/* its room is taken again */
	put(&k, DOC_HEADER, 0, "streams:\n- slots: [0, 2, null, 1]\n");
	WORDS_ARE(&k, 0x10, 0x20, 0x40, NONE, 0x30, 0, 0x10, 7, 0, 0, 0x10, 9, 0, 0, 0x10, 0, 0);
	edited_close(&k);

	OPEN(&k, three, 0, 0);
	put(&k, DOC_HEADER, 0, "streams:\n- slots: [null, null, null, null]\n");
	WORDS_ARE(&k, 0x10, NONE, NONE, NONE, NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_string_equal(k.o->variant->version, "unknown");
	assert_int_equal(edited_yaml(&k, DOC_HEADER, 0, "streams:\n- slots: [null, 0, null, null]\n"), -EINVAL);
	assert_string_equal(k.why, "line 2, column 17: clip 0 is not there, and none can be added: no clip tells "
	    "which game the pack is for");
	edited_close(&k);
}

static void test_added(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, p3rd, 0, 0x100);
	put(&k, DOC_HEADER, 0, "streams:\n- slots: [0, 1]\n");
	WORDS_ARE(&k, 0x10, 0x18, 0x50);
	WORDS_ARE(&k, 0x50, 0, 0x10, 0, 0);
	assert_int_equal(k.size[0], 0x60);
	put(&k, DOC_CLIP, 1, "loop: 1\ntracks: [{channels: [{channel: location_x, keys: [[1, 2, 3, 4]]}]}]");
	WORDS_ARE(&k, 0x50, 1, 0x24, 1, 0, 0x00140001, 0x00010040, 0x10, 0x00020001, 0x00040003);
	edited_close(&k);

	OPEN(&k, mhfu, 0, 0x100);
	put(&k, DOC_HEADER, 0, "streams:\n- slots: [0, 2, 1]\n- slots: [3]\n");
	WORDS_ARE(&k, 0x18, 0x28, 0x90, 0x7c, 0xa4);
	WORDS_ARE(&k, 0x90, 0x80000002, 0, 0x14, 0, 0, 0x80000002, 0, 0x14, 0, 0);
	assert_int_equal(k.size[0], 0xb8);
	edited_close(&k);

	/* one gives way to another */
	OPEN(&k, three, 0, 0x100);
	put(&k, DOC_HEADER, 0, "streams:\n- slots: [3, 1, 1, 2]\n");
	WORDS_ARE(&k, 0x10, 0x40, 0x20, 0x20, 0x30, 0, 0x10, 8, 0, 0, 0x10, 9, 0, 0, 0x10, 0, 0);
	assert_int_equal(k.size[0], 0x50);
	edited_close(&k);

	OPEN(&k, three, 0, 0x5c);
	refused(&k, DOC_HEADER, 0, "streams: [{slots: [0, 1, 3, 2]}]", ENOSPC,
		"the entry has room for 92 bytes: 4 bytes are missing");
	edited_close(&k);
}

static void test_refused_slots(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, mhfu, 0, 0x100);
	refused(&k, DOC_HEADER, 0, "streams:\n- slots: [0, 3, 1]\n- slots: [0]\n", EINVAL,
		"line 2, column 14: clip 3 is not there: expected 0 to 1, null, or 2 for a new clip");
	refused(&k, DOC_HEADER, 0, "streams:\n- slots: [0, 2, 1]\n- slots: [4]\n", EINVAL,
		"line 3, column 11: clip 4 is not there: expected 0 to 2, null, or 3 for a new clip");
	refused(&k, DOC_HEADER, 0, "streams:\n- slots: [0, 1]\n- slots: [0]\n", EINVAL,
		"line 2, column 10: slots: 2 values found, expected 3");
	refused(&k, DOC_HEADER, 0, "streams:\n- slots: [0, 1, 1]\n", EINVAL,
		"line 2, column 1: streams: 1 item found, expected 2");
	refused(&k, DOC_HEADER, 0, "kind: mhp3rd\n", EPERM, "line 1, column 7: kind follows from other data and "
	    "cannot be changed: mhp3rd found, mhfu stored");
	edited_close(&k);
}

/* ---- damage ---- */

/* Nothing moves that is not understood, but values and slots can be put right. */
static void test_damaged(void **state)
{
	struct edited k;

	(void)state;
	OPEN(&k, three, 0, 0x100);
	put_le32(k.bytes[0] + 0x44, 0x90);             /* size of clip 2 */
	put_le32(k.was[0] + 0x44, 0x90);
	edited_settle(&k);
	refused(&k, DOC_CLIP, 0, "tracks: [{channels: []}]", EPERM, "clips cannot change their sizes in a damaged "
	    "pack: clip 2 at 0x40: size 144, expected 16 to 16");
	refused(&k, DOC_HEADER, 0, "streams: [{slots: [0, 1, 3, 2]}]", EPERM, "clips cannot change their sizes in a "
	    "damaged pack: clip 2 at 0x40: size 144, expected 16 to 16");
	put(&k, DOC_HEADER, 0, "streams: [{slots: [0, 1, 1, null]}]");
	edited_only(&k, 0, 0x1c, 4);
	edited_close(&k);

	OPEN(&k, three, 0, 0x100);
	put_le32(k.bytes[0] + 0x24, 0x18);             /* clip 0 reaches into clip 1 */
	put_le32(k.was[0] + 0x24, 0x18);
	edited_settle(&k);
	refused(&k, DOC_CLIP, 2, "tracks: [{channels: []}]", EPERM, "clips cannot change their sizes in this pack: "
	    "clip 1 at 0x30 begins before 0x38, where the one before it ends");
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_values), cmocka_unit_test(test_mask),
		cmocka_unit_test(test_key_added), cmocka_unit_test(test_tails), cmocka_unit_test(test_later_clips),
		cmocka_unit_test(test_gap), cmocka_unit_test(test_refused_keys), cmocka_unit_test(test_scale),
		cmocka_unit_test(test_long_track), cmocka_unit_test(test_stored_disorder),
		cmocka_unit_test(test_share), cmocka_unit_test(test_removed), cmocka_unit_test(test_added),
		cmocka_unit_test(test_refused_slots), cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
