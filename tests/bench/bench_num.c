/* Speed of numbers as text, each against what the C library offers, and of whole OBJ texts:
 *
 *	bench_num            one line per measurement, the best of several rounds */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bytes.h"
#include "export.h"
#include "num.h"

#define NUMBERS (1u << 18)
#define ROUNDS 5
#define TEXT_MAX 24                            /* bytes a printed number takes here, with its zero */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t random_bits(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static float random_between(double lo, double hi)
{
	return (float)(lo + (hi - lo) * (double)(random_bits() >> 11) / (double)(1ull << 53));
}

static float random_finite(void)
{
	uint32_t bits;

	do
		bits = (uint32_t)(random_bits() >> 32);
	while ((bits & 0x7f800000) == 0x7f800000);
	return bits_f32(bits);
}

/* ---- numbers ---- */

struct numbers {
	float v[NUMBERS];
	char text[NUMBERS][TEXT_MAX];
	uint8_t len[NUMBERS];
};
typedef void job(struct numbers *);

static void print_ours(struct numbers *a)
{
	for (size_t i = 0; i < NUMBERS; i++) {
		char text[NUM_MAX];

		a->len[i] = (uint8_t)num_f32(text, a->v[i], false);
		__asm__ volatile("" : : "r"(text) : "memory");
	}
}

static void print_libc(struct numbers *a)
{
	for (size_t i = 0; i < NUMBERS; i++)
		snprintf(a->text[i], TEXT_MAX, "%.9g", (double)a->v[i]);
}

static void parse_ours(struct numbers *a)
{
	for (size_t i = 0; i < NUMBERS; i++)
		num_parse_f32(a->text[i], a->len[i], &a->v[i]);
}

static void parse_libc(struct numbers *a)
{
	for (size_t i = 0; i < NUMBERS; i++)
		a->v[i] = strtof(a->text[i], NULL);
}

static double best_ns(job *run, struct numbers *a)
{
	double best = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now(), took;

		run(a);
		took = now() - start;
		best = took < best ? took : best;
	}
	return best / NUMBERS * 1e9;
}

static void bench_numbers(struct numbers *a, const char *what)
{
	double ours = best_ns(print_ours, a), libc = best_ns(print_libc, a);

	printf("print %s: num_f32 %.1f ns, snprintf %%.9g %.1f ns\n", what, ours, libc);
	for (size_t i = 0; i < NUMBERS; i++) {
		a->len[i] = (uint8_t)num_f32(a->text[i], a->v[i], false);
		a->text[i][a->len[i]] = 0;
	}
	ours = best_ns(parse_ours, a);
	libc = best_ns(parse_libc, a);
	printf("parse %s: num_parse_f32 %.1f ns, strtof %.1f ns\n", what, ours, libc);
}

/* ---- OBJ ---- */

#define SIDE 1000u                             /* vertices of a square grid's side */

static void *need(size_t n, size_t each)
{
	void *p = calloc(n, each);

	if (!p) {
		fprintf(stderr, "bench_num: out of memory\n");
		exit(1);
	}
	return p;
}

static void bench_obj(void)
{
	struct geo_stream streams[2] = {
		{ .attr = GEO_UV, .comps = 2, .count = SIDE * SIDE, .v = need(SIDE * SIDE, 2 * sizeof(float)) },
		{ .attr = GEO_NORMAL, .comps = 3, .count = SIDE * SIDE, .v = need(SIDE * SIDE, 3 * sizeof(float)) },
	};
	struct geo_part part = { 0 };
	struct geo_material material = { .name = "material_0" };
	struct geo_mesh m = {
		.nvertices = SIDE * SIDE, .streams = streams, .nstreams = 2, .parts = &part, .nparts = 1,
		.position = need(SIDE * SIDE, sizeof *m.position), .face = need(SIDE * SIDE, sizeof *m.face),
	};
	double best = 1e9;
	size_t len = 0;

	for (uint32_t i = 0; i < m.nvertices; i++) {
		for (int k = 0; k < 3; k++) {
			m.position[i][k] = random_between(-100, 100);
			streams[1].v[3 * i + k] = random_between(-1, 1);
		}
		streams[0].v[2 * i] = random_between(0, 1);
		streams[0].v[2 * i + 1] = random_between(0, 1);
		if (i % SIDE < SIDE - 1 && i / SIDE < SIDE - 1) {
			m.face[m.nfaces][0] = i;
			m.face[m.nfaces][1] = i + 1;
			m.face[m.nfaces++][2] = i + SIDE;
		}
	}
	part.nfaces = m.nfaces;
	for (int round = 0; round < ROUNDS; round++) {
		struct buf out = { 0 };
		double start = now(), took;

		obj_write(&out, &m, 0, &material);
		took = now() - start;
		best = took < best ? took : best;
		len = out.bad ? 0 : out.len;
		buf_free(&out);
	}
	printf("obj_write, %u vertices, %u faces: %.1f MB, %.0f MB/s\n", m.nvertices, m.nfaces, (double)len / 1e6,
	       (double)len / 1e6 / best);
	free(streams[0].v);
	free(streams[1].v);
	free(m.position);
	free(m.face);
}

int main(void)
{
	struct numbers *a = need(1, sizeof *a);
	size_t i;

	for (i = 0; i < NUMBERS; i++)
		a->v[i] = random_finite();
	bench_numbers(a, "all exponents");
	for (i = 0; i < NUMBERS; i++)
		a->v[i] = random_between(-100, 100);
	bench_numbers(a, "-100..100");
	free(a);
	bench_obj();
	return 0;
}
