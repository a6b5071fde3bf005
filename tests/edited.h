/* Entries in memory that are edited: opened over a plan, with some room behind them to grow into. What goes wrong where
 * a test does not expect it fails the test. */
#ifndef MODELFS_TESTS_EDITED_H
#define MODELFS_TESTS_EDITED_H

#include "format.h"
#include "plan.h"

#define EDITED_PARTS (1 + MEMBERS_MOST)
struct edited {
	struct surroundings around;            /* first */
	const struct format *format;
	/* Part 0 the entry, 1 what lies behind it, or 1 + k its member k; NULL: there is none. was: as they were at
	 * first. */
	uint8_t *bytes[EDITED_PARTS], *was[EDITED_PARTS];
	uint64_t size[EDITED_PARTS], room[EDITED_PARTS];       /* of the part now; and the most it may grow to */
	uint64_t size_was[EDITED_PARTS];
	struct source *memory[EDITED_PARTS];
	struct plan plan[EDITED_PARTS];
	struct object *o;
	char said[2048];                       /* lines of object_say() */
	char why[240];                         /* of the last error */
};

/* behind may be NULL. room: how long the part may become at most, its size at least. */
void edited_open(struct edited *k, const struct format *f, const void *p, size_t n, size_t room);
void edited_open_behind(struct edited *k, const struct format *f, const void *p, size_t n, size_t room,
			const void *behind, size_t nbehind, size_t behind_room);
/* An entry with members, as parts; p NULL: there is none. */
struct edited_part { const void *p; size_t n, room; };
void edited_open_members(struct edited *k, const struct format *f, const struct edited_part part[EDITED_PARTS]);
/* What was written so far becomes the bytes of the entry, and the object is opened anew. How many bytes differ from
 * before this call (bytes that are new count). */
size_t edited_settle(struct edited *k);
void edited_close(struct edited *k);

/* Applies YAML text to a document the way a save does: value by value, then doc_put() on the object opened anew, then
 * settles. 0, or the error with its text in k->why; then nothing has changed. */
int edited_yaml(struct edited *k, unsigned kind, uint32_t index, const char *text);
/* OBJ and weights, likewise. */
int edited_obj(struct edited *k, uint32_t mesh, const char *text);
int edited_weights(struct edited *k, uint32_t mesh, const char *text);
int edited_image(struct edited *k, uint32_t i, const struct geo_image *img);
/* Bytes of the format's own file. */
int edited_file(struct edited *k, unsigned own, uint32_t index, const void *p, size_t n);

/* All bytes as they are. */
struct kept { uint8_t *bytes[EDITED_PARTS]; uint64_t size[EDITED_PARTS]; };
struct kept edited_keep(const struct edited *k);
/* No byte and no size differs from those; frees them. */
void edited_same(const struct edited *k, struct kept *was);
/* As edited_yaml() and edited_obj(), which have to succeed, and the same text again to change nothing. */
void edited_yaml_twice(struct edited *k, unsigned kind, uint32_t index, const char *text);
void edited_obj_twice(struct edited *k, uint32_t mesh, const char *text);
/* The bytes [at, at + n) of a part differ from the first ones, and no others do. */
void edited_only(const struct edited *k, unsigned part, uint64_t at, uint64_t n);

#endif
