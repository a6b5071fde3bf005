/* Speed of the codes of raw sectors: telling whether a sector's EDC is right, and making EDC, P and Q. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "disc.h"

#define SECTORS 256u

static uint8_t image[SECTORS][RAW_SECTOR];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned seal(void)
{
	for (unsigned i = 0; i < SECTORS; i++)
		sector_seal(image[i]);
	return SECTORS;
}

static unsigned check(void)
{
	unsigned good = 0;

	for (unsigned i = 0; i < SECTORS; i++)
		good += sector_is_intact(image[i]);
	return good;
}

/* User bytes a second, the best of several rounds. */
static int measure(const char *what, unsigned (*work)(void))
{
	double best = 1e9, took;

	for (unsigned round = 0; round < 20; round++) {
		took = now();
		if (work() != SECTORS)
			return 1;
		took = now() - took;
		best = took < best ? took : best;
	}
	printf("%s: %.0f MB/s, %.2f us a sector\n", what, SECTORS * SECTOR / best / 1e6, best / SECTORS * 1e6);
	return 0;
}

int main(void)
{
	for (unsigned i = 0; i < SECTORS; i++) {
		memcpy(image[i], sector_sync, sizeof sector_sync);
		image[i][15] = 1;
		for (unsigned k = 16; k < 16 + SECTOR; k++)
			image[i][k] = (uint8_t)(i * 7 + k * k / 5);
	}
	return measure("codes of raw sectors made", seal) || measure("EDC of raw sectors checked", check);
}
