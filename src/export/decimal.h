/* Numbers in texts that somebody wrote, and how exactly they were printed. */
#ifndef MODELFS_DECIMAL_H
#define MODELFS_DECIMAL_H

#include "base.h"

struct decimal {
	double v;                              /* infinite when no double is that large */
	int decimals;                          /* behind the dot if there were no exponent: 6 in 1.5e-05 */
	unsigned digits;                       /* significant ones, zeros at the end counted */
	bool padded;                           /* a dot, and a zero as the last digit: shortest texts have none */
};

/* Reads [+-]digits[.digits][e[+-]digits]; one side of the dot may have no digits. Returns the first byte behind
 * it; NULL: no number starts at p. */
const uint8_t *decimal_read(const uint8_t *p, const uint8_t *end, struct decimal *out);

/* Half a unit of the last of so many decimals; 0 for more than a float32 needs. */
float decimal_half(int decimals);

/* Whether a float32 can hold it, if only roughly. */
bool decimal_fits(double v);

#endif
