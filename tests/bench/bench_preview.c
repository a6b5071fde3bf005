/* How long a preview takes once the model is decoded: 10,000 triangles with four pictures of 256 x 256, whose texels are
 * noise, which neither samples nor packs well. All are opaque, then one is half clear, then all are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "export.h"

#define ROUNDS 21u
#define PARTS 4u
#define ACROSS 50u                             /* quads of a part, around and along: 2 * 25 * 50 triangles */
#define ALONG 25u
#define VERTICES ((ACROSS + 1) * (ALONG + 1))
#define FACES (2 * ACROSS * ALONG)
#define SIDE 256u
#define MOST 0.05

struct model {
	float position[VERTICES][3], normal[VERTICES][3], uv[VERTICES][2];
	uint32_t face[FACES][3];
	struct geo_stream streams[2];
	struct geo_part part;
	struct geo_mesh m;
};

static struct model models[PARTS];
static uint8_t texels[PARTS][SIDE * SIDE][4];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);  /* other programs do not count */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A tube of growing width, one inside the next. */
static void make_model(struct model *x, unsigned number)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < VERTICES; i++) {
		uint32_t a = i % (ACROSS + 1), b = i / (ACROSS + 1);
		float angle = (float)a * 6.2831853f / ACROSS, c = cosf(angle), s = sinf(angle);
		float width = 1 + (float)number / 2 + (float)b / ALONG;

		memcpy(x->position[i], (float[]){ c * width, (float)b / ALONG * 4 - 2, s * width }, 12);
		memcpy(x->normal[i], (float[]){ c, 0, s }, 12);
		memcpy(x->uv[i], (float[]){ (float)a * 2 / ACROSS, (float)b / ALONG }, 8);
	}
	for (uint32_t i = 0; i < ACROSS * ALONG; i++) {
		uint32_t v = i / ACROSS * (ACROSS + 1) + i % ACROSS;

		memcpy(x->face[n++], (uint32_t[]){ v, v + ACROSS + 1, v + 1 }, 12);
		memcpy(x->face[n++], (uint32_t[]){ v + 1, v + ACROSS + 1, v + ACROSS + 2 }, 12);
	}
	x->streams[0] = (struct geo_stream){ .attr = GEO_NORMAL, .comps = 3, .count = VERTICES, .v = x->normal[0] };
	x->streams[1] = (struct geo_stream){ .attr = GEO_UV, .comps = 2, .count = VERTICES, .v = x->uv[0] };
	x->part = (struct geo_part){ .nfaces = FACES };
	x->m = (struct geo_mesh){ .nvertices = VERTICES, .nfaces = FACES, .position = x->position, .face = x->face,
				  .streams = x->streams, .nstreams = 2, .parts = &x->part, .nparts = 1 };
}

static void make_texels(unsigned nclear)
{
	uint32_t seed = 1;

	for (unsigned i = 0; i < PARTS * SIDE * SIDE; i++)
		for (unsigned k = 0; k < 4; k++) {
			seed = seed * 1664525 + 1013904223;
			texels[i / (SIDE * SIDE)][i % (SIDE * SIDE)][k] =
				k < 3 || i / (SIDE * SIDE) < nclear ? (uint8_t)(seed >> 24) : 255;
		}
}

static void check(int rc)
{
	if (rc) {
		fprintf(stderr, "no preview: %d\n", rc);
		exit(2);
	}
}

static double once(bool png)
{
	double began = now(), took;
	struct preview *p;
	struct buf out = { 0 };
	uint32_t number;

	check(preview_begin(&p, NULL, NULL));
	for (unsigned i = 0; i < PARTS; i++) {
		struct geo_material m = { .name = "m", .colour = { 1, 1, 1, 1 }, .image = (int32_t)i, .both_sides = true };

		check(preview_mesh(p, &models[i].m, &m, NULL));
	}
	for (unsigned i = 0; preview_wants_picture(p, i, &number); i++) {
		struct geo_image img = { .w = SIDE, .h = SIDE, .rgba = texels[number][0] };

		check(preview_picture(p, i, &img, NULL));
	}
	took = now() - began;
	check(preview_end(p, &out, NULL));
	took = png ? now() - began : took;
	buf_free(&out);
	preview_free(p);
	return took;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(bool png)
{
	double took[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++)
		took[i] = once(png);
	qsort(took, ROUNDS, sizeof *took, ascending);
	return took[ROUNDS / 2];
}

int main(void)
{
	bool missed = false;

	for (unsigned i = 0; i < PARTS; i++)
		make_model(&models[i], i);
	for (unsigned clear = 0; clear <= PARTS; clear += clear ? PARTS - 1 : 1) {
		double all;

		make_texels(clear);
		all = median(true);
		missed |= all > MOST;
		printf("preview of %u triangles, %u of %u pictures half clear: %.1f ms, of which collecting %.1f ms\n",
		       PARTS * FACES, clear, PARTS, all * 1e3, median(false) * 1e3);
	}
	return missed;
}
