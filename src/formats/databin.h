/* What reading and writing a DATA.BIN share. */
#ifndef MODELFS_DATABIN_H
#define MODELFS_DATABIN_H

#include "format.h"

#define DATABIN_BLOCK 2048u

struct databin_pair { uint32_t id, size; };

struct databin {
	unsigned game;
	bool coded;                            /* table and files are encrypted */
	uint64_t blocks;
	size_t len;                            /* of the table, as far as it was read */
	uint32_t npairs, nempty, nplain;
	struct databin_pair *pairs;
};

/* Whether a pair's size can be that of a file whose slot is so long: it ends in the slot's last block. */
static inline bool databin_size_ok(uint64_t size, uint64_t slot)
{
	return size <= slot && size + DATABIN_BLOCK > slot;
}

/* Whether a file begins like the modules and movies that are stored without the cipher. */
bool databin_plain_magic(const uint8_t raw[4]);

/* container_ops.resize */
int databin_resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e);

#endif
