/* The tables of material libraries, read and checked; and what a model finds in them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bytes.h"
#include "mrl3.h"

#define PIECE 256u                             /* resources read at once */
#define MATERIALS 64u                          /* material records read at once */
#define MOST_RECORDS 65536u                    /* textures, or materials; more is damage */
#define MOST_RESOURCES (1u << 20)              /* of all materials */

struct mrl3_name mrl3_name(const char *what, uint32_t i)
{
	struct mrl3_name name;

	snprintf(name.text, sizeof name.text, "%s %u", what, i);
	return name;
}

/* ---- tables ---- */

struct reading {
	struct mrl3_tables *t;
	mrl3_fault *fault;
	void *ctx;
	uint64_t bytes;                        /* of blocks so far */
};

PRINTF(4, 5)
static void damaged(const struct reading *r, uint64_t at, const char *what, const char *fmt, ...)
{
	struct err why;
	va_list ap;

	if (!r->fault)
		return;
	va_start(ap, fmt);
	err_vat(&why, EBADMSG, r->t->src, at, what, fmt, ap);
	va_end(ap);
	r->fault(r->ctx, &why);
}

/* How many records there are: all of them, or none when they cannot lie there. */
static uint32_t place(const struct reading *r, const char *what, uint64_t at, uint32_t n, uint32_t each)
{
	uint64_t size = r->t->src->size;

	if (!n)
		return 0;
	if (at < MRL3_HEADER_SIZE)
		damaged(r, at, what, "%u of them overlap the header of %u bytes", n, MRL3_HEADER_SIZE);
	else if (!span_ok(size, at, n, each))
		damaged(r, at, what, "%u of %u bytes end past the %" PRIu64 " of the entry", n, each, size);
	else if (n > MOST_RECORDS)
		damaged(r, at, what, "%u of them, at most %u are read", n, MOST_RECORDS);
	else
		return n;
	return 0;
}

static bool overlaps(uint64_t at, uint64_t size, uint64_t other, uint64_t other_size)
{
	return other_size && at < other + other_size && other < at + size;
}

/* Why a block is not where it can be; NULL: it is. */
static const char *misplaced(const struct mrl3_tables *t, const struct mrl3_stored *m)
{
	const struct mrl3_header *h = &t->head;

	if (!span_ok(t->src->size, m->block_off, m->block_size, 1))
		return "ends past the entry";
	if (m->block_off < MRL3_HEADER_SIZE)
		return "overlaps the header";
	if (overlaps(m->block_off, m->block_size, h->texture_off, (uint64_t)t->ntextures * MRL3_TEXTURE_SIZE))
		return "overlaps the textures";
	if (overlaps(m->block_off, m->block_size, h->material_off, (uint64_t)t->nmaterials * MRL3_MATERIAL_SIZE))
		return "overlaps the materials";
	return NULL;
}

static void take_block(struct reading *r, uint32_t i, const struct mrl3_stored *m)
{
	uint64_t at = r->t->head.material_off + (uint64_t)i * MRL3_MATERIAL_SIZE;
	struct mrl3_block *b = &r->t->block[i];
	uint32_t n = m->resource_size / 2u, bytes = n * MRL3_RESOURCE_SIZE;
	const char *why = m->block_size ? misplaced(r->t, m) : NULL;
	struct mrl3_name name = mrl3_name("material", i);

	*b = (struct mrl3_block){ .name_hash = m->name_hash, .damaged = true };
	if (why)
		damaged(r, at, name.text, "its block of %u bytes at 0x%" PRIx64 " %s", m->block_size, m->block_off,
			why);
	else if (m->resource_size % 2)
		damaged(r, at, name.text, "resource size %u, expected an even number", m->resource_size);
	else if (bytes > m->block_size)
		damaged(r, at, name.text, "%u resources of %u bytes, but its block has %u bytes", n, MRL3_RESOURCE_SIZE,
			m->block_size);
	else if (m->block_size > r->t->src->size - r->bytes)
		damaged(r, at, name.text, "its block of %u bytes and those before it are more than the %" PRIu64
			" of the entry", m->block_size, r->t->src->size);
	else if (n > MOST_RESOURCES - r->t->nresources)
		damaged(r, at, name.text, "with its %u resources there are more than the %u that are read", n,
			MOST_RESOURCES);
	else
		b->damaged = false;
	if (b->damaged || !m->block_size)
		return;
	b->at = m->block_off;
	b->size = m->block_size;
	b->nresources = n;
	r->bytes += m->block_size;
	r->t->nresources += n;
}

static int take_materials(struct reading *r, struct arena *a, struct err *e)
{
	struct mrl3_tables *t = r->t;
	uint8_t raw[MRL3_MATERIAL_SIZE * MATERIALS];
	struct mrl3_stored m;
	uint32_t got;
	int rc = 0;

	t->block = arena_alloc(a, t->nmaterials, sizeof *t->block);
	if (!t->block)
		return err_nomem(e);
	for (uint32_t i = 0; i < t->nmaterials && !rc; i += got) {
		uint64_t at = t->head.material_off + (uint64_t)i * MRL3_MATERIAL_SIZE;

		got = t->nmaterials - i < MATERIALS ? t->nmaterials - i : MATERIALS;
		rc = src_read(t->src, raw, got * MRL3_MATERIAL_SIZE, at, "materials", e);
		for (uint32_t k = 0; k < got && !rc; k++) {
			rec_decode(&mrl3_material_record, false, raw + k * MRL3_MATERIAL_SIZE, &m);
			take_block(r, i + k, &m);
		}
	}
	return rc;
}

int mrl3_tables(struct source *src, struct mrl3_tables *out, mrl3_fault *fault, void *ctx, struct arena *a,
		struct err *e)
{
	struct reading r = { .t = out, .fault = fault, .ctx = ctx };
	uint8_t raw[MRL3_HEADER_SIZE];
	int rc = src_read(src, raw, sizeof raw, 0, "library header", e);

	*out = (struct mrl3_tables){ .src = src };
	if (rc)
		return rc;
	if (memcmp(raw, "MRL", 4))
		return err_at(e, EBADMSG, src, 0, "library header", "magic MRL and a zero not found");
	rec_decode(&mrl3_header_record, false, raw, &out->head);
	if (out->head.version != 11 && out->head.version != 12)
		return err_at(e, EBADMSG, src, 4, "library header", "version %u, expected 11 or 12", out->head.version);
	out->ntextures = place(&r, "textures", out->head.texture_off, out->head.texture_count, MRL3_TEXTURE_SIZE);
	out->nmaterials = place(&r, "materials", out->head.material_off, out->head.material_count, MRL3_MATERIAL_SIZE);
	if (overlaps(out->head.texture_off, (uint64_t)out->ntextures * MRL3_TEXTURE_SIZE, out->head.material_off,
		     (uint64_t)out->nmaterials * MRL3_MATERIAL_SIZE)) {
		damaged(&r, out->head.material_off, "materials", "%u of them overlap the textures", out->nmaterials);
		out->nmaterials = 0;
	}
	return take_materials(&r, a, e);
}

int mrl3_resources(const struct mrl3_tables *t, uint32_t material,
		   int (*fn)(void *ctx, uint32_t i, const uint8_t *raw, uint64_t at), void *ctx, struct err *e)
{
	const struct mrl3_block *b = &t->block[material];
	uint8_t room[PIECE * MRL3_RESOURCE_SIZE];
	uint32_t got;
	int rc = 0;

	for (uint32_t i = 0; i < b->nresources && !rc; i += got) {
		uint64_t at = b->at + (uint64_t)i * MRL3_RESOURCE_SIZE;

		got = b->nresources - i < PIECE ? b->nresources - i : PIECE;
		rc = src_read(t->src, room, got * MRL3_RESOURCE_SIZE, at, mrl3_name("material", material).text, e);
		for (uint32_t k = 0; k < got && !rc; k++)
			rc = fn(ctx, i + k, room + k * MRL3_RESOURCE_SIZE, at + k * MRL3_RESOURCE_SIZE);
	}
	return rc;
}

/* ---- the library of a model ---- */

struct collecting { struct mrl3_library *l; struct mrl3_map *map; };

static int collect_map(void *ctx, uint32_t i, const uint8_t *raw, uint64_t at)
{
	const struct collecting *c = ctx;
	struct mrl3_resource r;

	(void)i;
	(void)at;
	rec_decode(&mrl3_resource_record, false, raw, &r);
	if (r.kind == MRL3_TEXTURE && r.value && r.value <= c->l->ntextures)
		c->map[c->l->nmaps++] = (struct mrl3_map){ r.name_id, r.value - 1 };
	return 0;
}

static int collect_maps(const struct mrl3_tables *t, struct mrl3_library *l, struct arena *a, struct err *e)
{
	struct mrl3_material *m = arena_alloc(a, t->nmaterials, sizeof *m);
	struct collecting c = { l, arena_alloc(a, t->nresources, sizeof *c.map) };
	int rc = m && c.map ? 0 : err_nomem(e);

	for (uint32_t i = 0; i < t->nmaterials && !rc; i++) {
		m[i] = (struct mrl3_material){ t->block[i].name_hash, l->nmaps, 0 };
		rc = mrl3_resources(t, i, collect_map, &c, e);
		m[i].n = l->nmaps - m[i].first;
	}
	l->nmaterials = t->nmaterials;
	l->material = m;
	l->map = c.map;
	return rc;
}

static int read_paths(const struct mrl3_tables *t, struct mrl3_library *l, struct arena *a, struct err *e)
{
	uint8_t (*path)[MRL3_PATH_SIZE] = arena_alloc(a, t->ntextures, sizeof *path);
	int rc = path ? 0 : err_nomem(e);

	l->ntextures = t->ntextures;
	l->textures_at = t->head.texture_off;
	l->path = (const uint8_t (*)[MRL3_PATH_SIZE])path;
	for (uint32_t i = 0; i < l->ntextures && !rc; i++)
		rc = src_read(t->src, path[i], sizeof path[i], mrl3_path_at(l, i), mrl3_name("texture", i).text, e);
	return rc;
}

struct keyed { uint32_t hash, number; };

static int by_hash(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int sort_materials(struct mrl3_library *l, struct arena *a, struct err *e)
{
	struct keyed *key = malloc(((size_t)l->nmaterials + 1) * sizeof *key);
	uint32_t *order = arena_alloc(a, l->nmaterials, sizeof *order);

	if (key && order) {
		for (uint32_t i = 0; i < l->nmaterials; i++)
			key[i] = (struct keyed){ l->material[i].name_hash, i };
		qsort(key, l->nmaterials, sizeof *key, by_hash);
		for (uint32_t i = 0; i < l->nmaterials; i++)
			order[i] = key[i].number;
	}
	free(key);
	l->by_hash = order;
	return key && order ? 0 : err_nomem(e);
}

int mrl3_read(struct source *src, struct arena *a, struct mrl3_library *out, struct err *e)
{
	struct arena tables = { 0 };
	struct mrl3_tables t;
	int rc = mrl3_tables(src, &t, NULL, NULL, &tables, e);

	*out = (struct mrl3_library){ 0 };
	rc = rc ? rc : read_paths(&t, out, a, e);
	rc = rc ? rc : collect_maps(&t, out, a, e);
	arena_free(&tables);
	return rc ? rc : sort_materials(out, a, e);
}

int64_t mrl3_find(const struct mrl3_library *l, uint32_t name_hash)
{
	uint32_t low = 0, high = l->nmaterials;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (l->material[l->by_hash[mid]].name_hash < name_hash)
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->nmaterials && l->material[l->by_hash[low]].name_hash == name_hash ? (int64_t)l->by_hash[low] :
											   -1;
}

/* ---- names and paths ---- */

/* Whether one of the folders of a path is the one above. */
static bool leads_up(const char *path)
{
	for (const char *p = path; *p; p += strcspn(p, "/"), p += *p == '/')
		if (strcspn(p, "/") == 2 && !memcmp(p, "..", 2))
			return true;
	return false;
}

bool mrl3_file(const uint8_t path[MRL3_PATH_SIZE], char out[MRL3_FILE_MAX])
{
	size_t n = strnlen((const char *)path, MRL3_PATH_SIZE);

	if (!n || n == MRL3_PATH_SIZE)
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] = (char)(path[i] == '\\' ? '/' : path[i]);
	out[n] = 0;
	if (out[0] == '/' || strchr(out, ':') || leads_up(out))
		return false;
	strcpy(out + n, ".tex");
	return true;
}

uint32_t mrl3_hash(const void *name, size_t most)
{
	return ~(uint32_t)crc32_z(0, name, strnlen(name, most));
}

/* Of the names with __disclosure behind them. */
const char *mrl3_resource_name(uint32_t name_id)
{
	static const struct label names[] = {
		{ MRL3_ALBEDO, "tAlbedoMap" }, { 0xc2545, "tNormalMap" }, { 0x93fa6, "tRMTMap" },
		{ 0x76826, "tEmissiveMap" }, { 0xb8bbd, "tColorMaskMap" }, { 0x12d4a, "tFxMap" },
		{ 0x4c367, "tFurVelocityMap" }, { 0xe0cc0, "tDetailNormalMap" }, { 0x5d0ea, "tSnowMap" },
		{ 0x7f80a, "tPartsMaskMap" }, { 0xe4372, "tAddNormalMap" }, { 0x73645, "tSkinMap" },
		{ 0x435e0, "tAlbedoBlendMap" }, { 0x120b8, "CBMhMaterialPLLocal" }, { 0xb2732, "CBMaterialCommon" },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].value == name_id)
			return names[i].name;
	return NULL;
}

/* Maps are textures: "t" and a capital. */
const char *mrl3_map_name(uint32_t name_id)
{
	const char *name = mrl3_resource_name(name_id);

	return name && name[0] == 't' ? name : NULL;
}
