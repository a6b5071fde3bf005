/* Speed of the DATA.BIN cipher: every way to compute it that this processor has, in the pieces that reads come in. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mhpcipher.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds of one call at offsets all over a run; the best of several rounds. */
static double measure(const struct mhp_method *m, bool decrypt, uint8_t *p, size_t piece)
{
	unsigned calls = (unsigned)((32u << 20) / (piece + 2048)) + 1;
	double best = 1e9, took;

	for (unsigned round = 0; round < 7; round++) {
		took = now();
		for (unsigned i = 0; i < calls; i++)
			mhp_crypt(m, decrypt, 0x1234 + i, (uint64_t)i * 4, p, piece);
		took = (now() - took) / calls;
		best = took < best ? took : best;
	}
	return best;
}

int main(void)
{
	static const size_t pieces[] = { 128 << 10, 4 << 10, 128, 4 };
	uint8_t *p = calloc(1, pieces[0]);

	if (!p)
		return 1;
	for (unsigned i = 0; i < mhp_nmethods; i++) {
		const struct mhp_method *m = &mhp_methods[i];

		if (!m->usable())
			continue;
		for (unsigned k = 0; k < ARRAY_LEN(pieces); k++) {
			double d = measure(m, true, p, pieces[k]), e = measure(m, false, p, pieces[k]);

			printf("%-9s %7zu bytes: decrypt %8.0f MB/s (%8.0f ns a call), encrypt %8.0f MB/s\n", m->name,
			       pieces[k], (double)pieces[k] / d / 1e6, d * 1e9, (double)pieces[k] / e / 1e6);
		}
	}
	free(p);
	return 0;
}
