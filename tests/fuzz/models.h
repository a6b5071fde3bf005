/* Archives whose views the fuzzers edit. */
#ifndef MODELFS_TESTS_FUZZ_MODELS_H
#define MODELFS_TESTS_FUZZ_MODELS_H

#include "base.h"

/* A DATA.BIN with what the demo archive lacks: models of both versions and several vertex types, one of them with its
 * geometry in the next file, and pictures of every format. */
void models_databin(struct buf *out);
void models_mod3(struct buf *out);             /* a mesh of each block type */
void models_jom(struct buf *out);              /* one of every chunk */
/* An ARC with a mod3, a picture, a text, and an archive with the same mod3 and a PAC. */
void models_arc(struct buf *out);
/* A PAK with a quartet, a mod3 and a picture, and room behind each. */
void models_pak(struct buf *out);
/* Noise with a quartet in it, which a search finds. */
void models_hidden(struct buf *out);
/* MLP, MMP and MGP of a quartet. */
void models_quartet(struct buf out[3]);
void models_tex(struct buf *out);              /* pixels that can be painted, with smaller levels */

#endif
