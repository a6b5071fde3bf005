/* Materials of a MOD3: their names in OBJ texts, and what the MRL3 beside it says of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mod3.h"

/* ---- names for usemtl ---- */

/* A name that some material is stored with; `copies` is the last number that was put behind it. */
struct stored { const char *name; uint32_t copies; bool used; };
struct names { struct stored *v; size_t n; };

#define NAME_ROOM (MOD3_NAME_SIZE + 1u)
#define NUMBERED_ROOM (NAME_ROOM + 12u)

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct stored *)a)->name, ((const struct stored *)b)->name);
}

static struct stored *find_name(const struct names *names, const char *name)
{
	return bsearch(&(struct stored){ .name = name }, names->v, names->n, sizeof *names->v, by_name);
}

static bool is_plain(uint8_t c)
{
	return c > 0x20 && c < 0x7f && !strchr("#/\\\"':", c);
}

static char *plain_name(const uint8_t *raw, uint32_t i, struct arena *a)
{
	char name[NAME_ROOM];
	unsigned n = 0;

	for (; n < MOD3_NAME_SIZE && raw[n]; n++)
		name[n] = is_plain(raw[n]) ? (char)raw[n] : '_';
	name[n] = '\0';
	return n ? arena_printf(a, "%s", name) : arena_printf(a, "material_%u", i);
}

/* Each name once, and none of them used. */
static void sort_names(struct names *names)
{
	size_t n = names->n;

	qsort(names->v, n, sizeof *names->v, by_name);
	names->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!i || by_name(&names->v[names->n - 1], &names->v[i]))
			names->v[names->n++] = names->v[i];
}

/* What an earlier one has gets a number: one that makes no name of an earlier one either. */
static const char *unique_name(struct names *names, const char *plain, struct arena *a)
{
	struct stored *stored = find_name(names, plain), *other = stored;
	char numbered[NUMBERED_ROOM];

	if (!stored->used) {
		stored->used = true;
		return plain;
	}
	while (other && other->used) {
		stored->copies += stored->copies ? 1 : 2;
		snprintf(numbered, sizeof numbered, "%s~%u", plain, stored->copies);
		other = find_name(names, numbered);
	}
	if (other)
		other->used = true;
	return arena_printf(a, "%s", numbered);
}

static int name_materials(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	uint32_t n = m->table[MOD3_MATERIALS].n;
	struct names names = { calloc((size_t)n + 1, sizeof *names.v), n };
	bool full = !names.v;

	m->material = arena_alloc(&o->arena, (size_t)n + 1, sizeof *m->material);
	full |= !m->material;
	for (uint32_t i = 0; i < n && !full; i++) {
		m->material[i] = plain_name(m->material_raw + (size_t)i * MOD3_NAME_SIZE, i, &o->arena);
		names.v[i].name = m->material[i];
		full = !m->material[i];
	}
	if (!full)
		sort_names(&names);
	for (uint32_t i = 0; i < n && !full; i++) {
		m->material[i] = unique_name(&names, m->material[i], &o->arena);
		full = !m->material[i];
	}
	free(names.v);
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

/* Archives name files by their types, where that of all libraries is mrl. */
static int link_library(struct object *o, struct err *e)
{
	static const char *const exts[] = { "mrl3", "mrl" };
	struct mod3 *m = o->priv;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(exts) && !rc; i++) {
		rc = object_link(o, &(struct want){ WANT_SWAP_EXT, exts[i], NULL }, &m->library_link, e);
		if (!rc && o->links[m->library_link].src)
			break;
	}
	return rc;
}

/* A library that cannot be read is damaged for itself; the model is sound without one. */
static int read_library(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	struct mrl3_library *l = arena_alloc(&o->arena, 1, sizeof *l);
	int rc = l ? link_library(o, e) : err_nomem(e);

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
	/* A MOD3 knows no colours. Without a picture it is the grey that programs give an MTL without one. */
	out->head = "";
	out->bare_colour = true;
	for (unsigned k = 0; k < 4; k++)
		out->colour[k] = k < 3 ? 0.8f : 1;
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
