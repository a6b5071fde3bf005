/* The demo archive: the same bytes each time, and sound in the eyes of every format it is made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "format.h"
#include "mhpcipher.h"
#include "mhpdemo.h"

#define BLOCK 2048u
#define FILES 24u

static struct buf archive;

static int write_archive(void **state)
{
	struct err e = { 0 };

	(void)state;
	return mhpdemo_write(&archive, &e);
}

static int free_archive(void **state)
{
	(void)state;
	buf_free(&archive);
	return 0;
}

static void test_same_bytes_each_time(void **state)
{
	struct buf again = { 0 };

	(void)state;
	assert_int_equal(mhpdemo_write(&again, NULL), 0);
	assert_int_equal(again.len, archive.len);
	assert_memory_equal(again.p, archive.p, archive.len);
	assert_int_equal(archive.len % BLOCK, 0);
	assert_true(archive.len < 200000);
	buf_free(&again);
}

/* Start words ascend to the size in blocks, which stands at element 24 and nowhere before. */
static void test_table(void **state)
{
	uint8_t table[BLOCK];
	uint32_t last = 1, npairs = 0;

	(void)state;
	memcpy(table, archive.p, sizeof table);
	assert_int_not_equal(le_u32(table), 1);        /* encrypted */
	mhp_cipher.decrypt(0, 0, table, sizeof table);
	assert_int_equal(le_u32(table), 1);
	for (unsigned i = 0; i <= FILES; i++) {
		uint32_t start = le_u32(table + 4 * i);

		assert_true(start >= last);
		assert_int_equal(start == archive.len / BLOCK, i == FILES);
		last = start;
	}
	for (const uint8_t *p = table + 4 * (FILES + 1); le_u32(p + 4); p += 8) {
		uint32_t id = le_u32(p), size = le_u32(p + 4), slot;

		assert_in_range(id, 0, FILES - 1);
		slot = (le_u32(table + 4 * id + 4) - le_u32(table + 4 * id)) * BLOCK;
		assert_in_range(size, slot - BLOCK + 1, slot);
		npairs++;
	}
	assert_true(npairs >= 5);
}

/* ---- every entry, opened and verified ---- */

struct totals { unsigned containers, models, skeletons, banks, packs, others, meshes, images, clips, bones; };

static void walk(struct source *src, const struct format *within, uint32_t index, struct totals *n);

static void walk_container(struct object *o, struct totals *n)
{
	const struct container_ops *ops = o->format->container;
	struct entries entries = { 0 };
	struct err e = { 0 };

	assert_int_equal(ops->list(o, &entries, &e), 0);
	assert_string_equal(e.text, "");
	if (ops->verify)
		assert_int_equal(ops->verify(o, &entries, &e), 0);
	for (uint32_t i = 0; i < entries.n; i++) {
		struct source *src = entry_source(o->src, o->format, &entries.v[i]);

		assert_non_null(src);
		if (entries.v[i].size)
			walk(src, o->format, i, n);
		src_put(src);
	}
	n->containers++;
}

static void walk_model(struct object *o, struct totals *n)
{
	struct err e = { 0 };
	int rc = object_verify(o, &e);

	assert_string_equal(e.text, "");
	assert_int_equal(rc, 0);
	n->models += o->format->role == ROLE_MODEL;
	n->skeletons += o->format->role == ROLE_SKELETON;
	n->banks += o->format->role == ROLE_TEXTURES;
	n->packs += o->format->role == ROLE_ANIMATIONS;
	n->meshes += object_count(o, PART_MESH);
	n->images += object_count(o, PART_IMAGE);
	n->clips += object_count(o, PART_CLIP);
	n->bones += object_count(o, PART_BONE);
}

static void walk(struct source *src, const struct format *within, uint32_t index, struct totals *n)
{
	uint8_t room[PROBE_MOST];
	struct probe p = { .name = "", .within = within, .index = index, .size = src->size, .src = src, .room = room };
	struct err e = { 0 };
	const struct format *f = format_detect(&p, &e);
	struct object *o;

	if (!format_opens(f)) {
		n->others++;
		return;
	}
	assert_int_equal(object_open(f, src, NULL, &o, &e), 0);
	assert_null(o->faults);
	if (f->container)
		walk_container(o, n);
	else
		walk_model(o, n);
	object_close(o);
}

static void test_every_entry_is_sound(void **state)
{
	struct source *src = src_memory(archive.p, archive.len);
	struct totals n = { 0 };

	(void)state;
	assert_non_null(src);
	walk(src, NULL, 0, &n);
	src_put(src);
	/* The archive, five PACs, and two more inside one of them. */
	assert_int_equal(n.containers, 8);
	assert_int_equal(n.models, 7);
	assert_int_equal(n.meshes, 8);
	assert_int_equal(n.skeletons, 6);
	assert_int_equal(n.bones, 4 * 1 + 2 * 4);
	assert_int_equal(n.banks, 7);
	assert_int_equal(n.images, 4 * 1 + 1 + 2 + 3);
	assert_int_equal(n.packs, 2);
	assert_int_equal(n.clips, 4);
	assert_int_equal(n.others, 3);                 /* two texts and the garden's environment */
}

/* ---- geometry ---- */

/* Follows entry numbers down from the archive; the result holds what it lies in. */
static struct source *entry_at(const unsigned *path, unsigned depth)
{
	struct source *src = src_memory(archive.p, archive.len);

	for (unsigned i = 0; i < depth; i++) {
		struct object *o;
		struct entries entries = { 0 };
		struct source *entry;

		assert_int_equal(object_open(format_named(i ? "pac" : "databin"), src, NULL, &o, NULL), 0);
		assert_int_equal(o->format->container->list(o, &entries, NULL), 0);
		assert_in_range(path[i], 0, entries.n - 1);
		entry = entry_source(src, o->format, &entries.v[path[i]]);
		assert_non_null(entry);
		object_close(o);
		src_put(src);
		src = entry;
	}
	return src;
}

static void face_normal(const struct geo_mesh *m, uint32_t face, double n[3])
{
	const float *a = m->position[m->face[face][0]], *b = m->position[m->face[face][1]],
		    *c = m->position[m->face[face][2]];

	for (unsigned i = 0; i < 3; i++) {
		unsigned j = (i + 1) % 3, k = (i + 2) % 3;

		n[i] = (double)(b[j] - a[j]) * (double)(c[k] - a[k]) - (double)(b[k] - a[k]) * (double)(c[j] - a[j]);
	}
}

/* The front side of every face is where its corners' normals point, so the shapes are not inside out. */
static void check_normals(const struct geo_mesh *m, const struct geo_stream *normals)
{
	for (uint32_t i = 0; i < m->nfaces; i++) {
		double n[3];

		face_normal(m, i, n);
		for (unsigned k = 0; k < 3; k++) {
			uint32_t v = m->face[i][k], at = normals->corner ? normals->corner[3 * i + k] : v;
			const float *stored = normals->v + 3 * at;

			assert_true(n[0] * (double)stored[0] + n[1] * (double)stored[1] + n[2] * (double)stored[2] > 0);
		}
	}
}

static void check_weights(const struct geo_mesh *m, int32_t nbones)
{
	for (uint32_t v = 0; v < m->nvertices; v++) {
		float sum = 0;

		for (unsigned k = 0; k < m->ninfluences[v]; k++) {
			assert_in_range(m->joint[m->first_influence[v] + k], 0, nbones - 1);
			sum += m->weight[m->first_influence[v] + k];
		}
		assert_true(sum == 1.0f);
	}
}

static void test_shapes(void **state)
{
	static const struct {
		unsigned depth, path[2];
		uint32_t mesh, nvertices, nfaces;
		int32_t nbones;                /* 0: not skinned */
	} v[] = {
		{ 2, { 5, 0 }, 0, 24, 12, 1 },         /* crate */
		{ 2, { 6, 0 }, 0, 461, 800, 1 },       /* vase */
		{ 2, { 12, 0 }, 0, 169, 288, 0 },      /* garden: ground */
		{ 2, { 12, 0 }, 1, 262, 408, 0 },      /* garden: pillars */
		{ 2, { 16, 1 }, 0, 366, 552, 4 },      /* worm */
		{ 1, { 17 }, 0, 102, 96, 0 },          /* coin */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct source *src = entry_at(v[i].path, v[i].depth);
		struct arena a = { 0 };
		struct geo_mesh m;
		struct object *o;
		bool any = false;

		assert_int_equal(object_open(format_named("pmo"), src, NULL, &o, NULL), 0);
		assert_int_equal(o->format->model->mesh(o, v[i].mesh, &m, &a, NULL), 0);
		assert_int_equal(m.nvertices, v[i].nvertices);
		assert_int_equal(m.nfaces, v[i].nfaces);
		for (unsigned k = 0; k < m.nstreams; k++) {
			if (m.streams[k].attr == GEO_NORMAL)
				check_normals(&m, &m.streams[k]);
			any |= m.streams[k].attr != GEO_UV;
		}
		assert_true(any);                      /* normals or colours */
		assert_int_equal(m.skinned, v[i].nbones != 0);
		if (m.skinned)
			check_weights(&m, v[i].nbones);
		arena_free(&a);
		object_close(o);
		src_put(src);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes_each_time),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_every_entry_is_sound),
		cmocka_unit_test(test_shapes),
	};

	return cmocka_run_group_tests(tests, write_archive, free_archive);
}
