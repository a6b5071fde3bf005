/* The cipher of the PSP Monster Hunter archives (spec/mhp.md 1.2). */
#ifndef MODELFS_MHPCIPHER_H
#define MODELFS_MHPCIPHER_H

#include "source.h"

/* Units of 4 bytes. key: the start block of the run; 0 for the archive's table. */
extern const struct cipher mhp_cipher;

/* The ways to compute it, fastest first; the last one runs everywhere. mhp_cipher takes the first that this processor
 * can run; tests and measurements take each. */
struct mhp_walk;
struct mhp_method {
	const char *name;
	bool (*usable)(void);
	void (*run)(struct mhp_walk *w, const uint8_t table[256], bool decrypt, uint8_t *p, size_t n);
};
extern const struct mhp_method mhp_methods[];
extern const unsigned mhp_nmethods;

/* As mhp_cipher's decrypt and encrypt, by one method. */
void mhp_crypt(const struct mhp_method *m, bool decrypt, uint32_t key, uint64_t at, uint8_t *p, size_t n);

#endif
