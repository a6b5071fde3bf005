/* Materials of a MOD3: their names in OBJ texts, and what the MRL3 beside it says of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mod3.h"

/* ---- names for usemtl ---- */

/* Names so far, by hash; `copies` is the last number that was put behind one. */
struct taken { const char *name; uint32_t copies; };
struct names { struct taken *slot; uint32_t mask; };

#define NAME_ROOM (MOD3_NAME_SIZE + 1u)
#define NUMBERED_ROOM (NAME_ROOM + 12u)

/* The slot that has the name, or the free one where it belongs. */
static struct taken *find_name(const struct names *v, const char *name)
{
	uint32_t hash = 2166136261u;

	for (const char *p = name; *p; p++)
		hash = (hash ^ (uint8_t)*p) * 16777619u;
	for (hash &= v->mask; v->slot[hash].name && strcmp(v->slot[hash].name, name); hash = (hash + 1) & v->mask)
		;
	return &v->slot[hash];
}

static bool is_plain(uint8_t c)
{
	return c > 0x20 && c < 0x7f && !strchr("#/\\\"':", c);
}

static void plain_name(const uint8_t *raw, uint32_t i, char out[NAME_ROOM])
{
	unsigned n = 0;

	for (; n < MOD3_NAME_SIZE && raw[n]; n++)
		out[n] = is_plain(raw[n]) ? (char)raw[n] : '_';
	out[n] = '\0';
	if (!n)
		snprintf(out, NAME_ROOM, "material_%u", i);
}

/* What an earlier one has gets a number. */
static const char *unique_name(struct names *v, const char *plain, struct arena *a)
{
	struct taken *first = find_name(v, plain), *slot = first;
	char *name = first->name ? NULL : arena_printf(a, "%s", plain);
	char numbered[NUMBERED_ROOM];

	while (slot->name) {
		first->copies += first->copies ? 1 : 2;
		snprintf(numbered, sizeof numbered, "%s~%u", plain, first->copies);
		slot = find_name(v, numbered);
		if (!slot->name)
			name = arena_printf(a, "%s", numbered);
	}
	slot->name = name;
	return name;
}

static int name_materials(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	uint32_t n = m->table[MOD3_MATERIALS].n;
	struct names v = { .mask = 1 };
	char plain[NAME_ROOM];
	bool full = false;

	while (v.mask < 2 * n)
		v.mask = v.mask * 2 + 1;
	v.slot = calloc((size_t)v.mask + 1, sizeof *v.slot);
	m->material = arena_alloc(&o->arena, (size_t)n + 1, sizeof *m->material);
	full = !v.slot || !m->material;
	for (uint32_t i = 0; i < n && !full; i++) {
		plain_name(m->material_raw + (size_t)i * MOD3_NAME_SIZE, i, plain);
		m->material[i] = unique_name(&v, plain, &o->arena);
		full = !m->material[i];
	}
	free(v.slot);
	return full ? err_nomem(e) : 0;
}

/* ---- the library ---- */

static int link_textures(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	const struct mrl3_library *l = m->library;
	char file[MRL3_FILE_MAX];
	struct want want = { WANT_BELOW_ROOT, file, "nativePC" };
	int rc = 0;

	m->texture_link = arena_alloc(&o->arena, (size_t)l->ntextures + 1, sizeof *m->texture_link);
	if (!m->texture_link)
		return err_nomem(e);
	for (uint32_t i = 0; i < l->ntextures && !rc; i++) {
		m->texture_link[i] = GEO_NONE;
		if (o->nlinks < LIMIT_LINKS && mrl3_file(l->path[i], file))
			rc = object_link(o, &want, &m->texture_link[i], e);
	}
	return rc;
}

/* A library that cannot be read is damaged for itself; the model is sound without one. */
static int read_library(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	struct mrl3_library *l = arena_alloc(&o->arena, 1, sizeof *l);
	int rc = l ? object_link(o, &(struct want){ WANT_SWAP_EXT, "mrl3", NULL }, &m->library_link, e) :
		     err_nomem(e);

	if (rc || !o->links[m->library_link].src)
		return rc;
	rc = mrl3_read(o->links[m->library_link].src, &o->arena, l, e);
	if (rc)
		return rc == -EBADMSG ? 0 : rc;
	m->library = l;
	return link_textures(o, e);
}

int mod3_read_materials(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	const struct mod3_table *t = &m->table[MOD3_MATERIALS];
	int rc = 0;

	if (t->n)
		rc = object_read(o, &o->arena, t->at, t->size, "material names", &m->material_raw, e);
	rc = rc ? rc : name_materials(o, e);
	return rc ? rc : read_library(o, e);
}

const struct mrl3_material *mod3_library_material(const struct mod3 *m, uint32_t i, int64_t *number)
{
	*number = -1;
	if (m->library)
		*number = mrl3_find(m->library,
				    mrl3_hash(m->material_raw + (size_t)i * MOD3_NAME_SIZE, MOD3_NAME_SIZE));
	return *number < 0 ? NULL : &m->library->material[*number];
}

bool mod3_texture_found(const struct object *o, uint32_t texture)
{
	const struct mod3 *m = o->priv;
	uint32_t link = m->texture_link[texture];

	return link != GEO_NONE && o->links[link].src;
}

/* ---- for the exporters ---- */

int mod3_material(struct object *o, uint32_t i, struct geo_material *out, struct arena *a, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_table *t = &m->table[MOD3_MATERIALS];
	const struct mrl3_material *found;
	int64_t number;

	if (i >= t->n)
		return err_at(e, EBADMSG, o->src, t->at, "material names", "material %u of %u", i, t->n);
	out->name = arena_printf(a, "%s", m->material[i]);
	out->image = -1;
	out->head = "";                        /* a MOD3 knows no colours */
	found = mod3_library_material(m, i, &number);
	for (uint32_t k = found ? found->n : 0; k-- > 0;) {
		const struct mrl3_map *map = &m->library->map[found->first + k];

		if (map->name_id == MRL3_ALBEDO && mod3_texture_found(o, map->texture))
			out->image = (int32_t)map->texture;
	}
	return out->name ? 0 : err_nomem(e);
}

/* The first picture of each texture that the library names. */
bool mod3_image_link(const struct object *o, uint32_t i, uint32_t *link, uint32_t *image)
{
	const struct mod3 *m = o->priv;

	if (!m->library || i >= m->library->ntextures || !mod3_texture_found(o, i))
		return false;
	*link = m->texture_link[i];
	*image = 0;
	return true;
}
