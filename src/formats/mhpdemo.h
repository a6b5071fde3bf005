/* A small archive of our own models, so that nobody needs a game to try modelfs. */
#ifndef MODELFS_MHPDEMO_H
#define MODELFS_MHPDEMO_H

#include "base.h"

/* Appends a DATA.BIN as MHFU has it: encrypted, with exact sizes, empty files, PACs and single files. The bytes are
 * always the same. Only a lack of memory is an error. */
int mhpdemo_write(struct buf *out, struct err *e);

#endif
