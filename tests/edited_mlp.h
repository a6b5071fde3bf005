/* Quartets in memory that are edited. What a test expects to have changed is noted as it is found, and quartet_done()
 * sees whether that was all. */
#ifndef MODELFS_TESTS_EDITED_MLP_H
#define MODELFS_TESTS_EDITED_MLP_H

#include "build_mlp.h"
#include "bytes.h"
#include "edited.h"

/* Frees the parts. room: how much longer each may become. */
void quartet_open(struct edited *k, struct buf part[BUILD_PARTS], size_t room);
/* That of build_three(), which is sound. */
void quartet_three(struct edited *k, size_t room);

/* As edited_obj_twice(); frees the text. */
void save(struct edited *k, uint32_t mesh, char *text);

/* These words have changed to that. */
void words_are(struct edited *k, unsigned part, uint64_t at, const uint32_t *want, unsigned n);
#define WORDS(k, part, at, ...) \
	words_are(k, part, at, (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)
#define FLOAT(v) f32_bits((float)(v))

/* Nothing else has. */
void quartet_unchanged(const struct edited *k);
/* The same, at the end of a test. */
void quartet_done(struct edited *k);
/* The last edit was refused, and no byte and no size differs from the first ones. */
void refused(const struct edited *k, int rc, int code, const char *why);

#endif
