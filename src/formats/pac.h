/* What reading and writing a PAC share. */
#ifndef MODELFS_PAC_H
#define MODELFS_PAC_H

#include "format.h"

#define PAC_COUNT_MAX 256u
#define PAC_TABLE_SIZE(n) (4 + 8 * (size_t)(n))
#define PAC_STAGE_LEAST 6u                     /* entries of a stage; the last two are not always there */
#define PAC_STAGE_MOST 8u

struct pac {
	uint32_t align;                        /* 0: no alignment gives these offsets */
	uint32_t used;                         /* entries that are not empty */
	uint64_t end;                          /* of the last entry */
};

/* Fills in what the entries tell. */
void pac_describe(struct pac *pac, const struct entries *entries);

/* container_ops.resize */
int pac_resize(struct object *o, struct entries *entries, uint32_t i, uint64_t size, struct err *e);

#endif
