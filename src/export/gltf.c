/* glTF 2.0 as one binary file (GLB). A header of 12 bytes, then two chunks of u32 size, u32 tag and data: the JSON,
 * which says what there is, and the numbers and pictures it points into. All sizes are known once the shape of the
 * meshes and the size of the pictures are, so that a file can be measured without being written.
 *
 *   nodes      the joints, in the order of the skeleton; "skeleton", which they hang on; then the meshes
 *   meshes     one primitive per part, or per material where parts are only runs of faces
 *   animations one per clip, or per slot that clips play in; they move joints
 *   materials  those of the faces, with their picture as PNG
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "gltf.h"
#include "num.h"

/* ---- JSON; a failure is remembered, and what comes after it does nothing ---- */

void glb_put(struct glb *g, cJSON *object, const char *key, cJSON *value)
{
	if (value && object && cJSON_AddItemToObjectCS(object, key, value))
		return;
	cJSON_Delete(value);
	glb_fail(g, ENOMEM);
}

void glb_push(struct glb *g, cJSON *array, cJSON *value)
{
	if (value && array && cJSON_AddItemToArray(array, value))
		return;
	cJSON_Delete(value);
	glb_fail(g, ENOMEM);
}

void glb_put_number(struct glb *g, cJSON *object, const char *key, double value)
{
	glb_put(g, object, key, cJSON_CreateNumber(value));
}

void glb_put_text(struct glb *g, cJSON *object, const char *key, const char *text)
{
	glb_put(g, object, key, cJSON_CreateString(text));
}

void glb_put_floats(struct glb *g, cJSON *object, const char *key, const float *v, unsigned n)
{
	cJSON *list = cJSON_CreateArray();
	char text[NUM_MAX + 1];

	for (unsigned i = 0; i < n; i++) {
		text[num_f32(text, v[i], false)] = '\0';
		glb_push(g, list, cJSON_CreateRaw(text));
	}
	glb_put(g, object, key, list);
}

void glb_put_hidden(struct glb *g, cJSON *object)
{
	cJSON *extras = cJSON_CreateObject();

	glb_put(g, extras, "visible", cJSON_CreateFalse());
	glb_put(g, object, "extras", extras);
}

/* Lists of nothing are not allowed: such a one is left out. */
static void put_list(struct glb *g, const char *key, cJSON **list)
{
	if (*list && (*list)->child)
		glb_put(g, g->root, key, *list);
	else
		cJSON_Delete(*list);
	*list = NULL;
}

/* ---- the binary chunk ---- */

uint8_t *glb_view(struct glb *g, uint64_t n, enum gltf_target target, uint32_t *view)
{
	uint64_t padded = align_up(n, 4);
	cJSON *v = cJSON_CreateObject();
	uint8_t *p = NULL;

	glb_put_number(g, v, "buffer", 0);
	glb_put_number(g, v, "byteOffset", (double)g->size);
	glb_put_number(g, v, "byteLength", (double)n);
	if (target != GLTF_NO_TARGET)
		glb_put_number(g, v, "target", target);
	glb_push(g, g->views, v);
	*view = g->nviews++;
	if (padded > LIMIT_DECODED - g->size)
		glb_fail(g, EFBIG);
	if (g->bad)
		return NULL;
	g->size += padded;
	if (!g->write)
		return NULL;
	p = buf_room(&g->bin, (size_t)padded);
	if (!p) {
		glb_fail(g, ENOMEM);
		return NULL;
	}
	memset(p + n, 0, (size_t)(padded - n));
	g->bin.len += (size_t)padded;
	return p;
}

cJSON *glb_accessor(struct glb *g, uint32_t view, enum gltf_type type, uint32_t count, const char *shape,
		    uint32_t *number)
{
	cJSON *a = cJSON_CreateObject();

	glb_put_number(g, a, "bufferView", view);
	glb_put_number(g, a, "componentType", type);
	glb_put_number(g, a, "count", count);
	glb_put_text(g, a, "type", shape);
	glb_push(g, g->accessors, a);
	*number = g->naccessors++;
	return g->bad ? NULL : a;
}

/* ---- bones ---- */

static void put_place(struct glb *g, cJSON *node, const struct geo_joint *j)
{
	static const float nowhere[3], unturned[4] = { 0, 0, 0, 1 }, unscaled[3] = { 1, 1, 1 };

	if (memcmp(j->move, nowhere, sizeof nowhere))
		glb_put_floats(g, node, "translation", j->move, 3);
	if (memcmp(j->turn, unturned, sizeof unturned))
		glb_put_floats(g, node, "rotation", j->turn, 4);
	if (memcmp(j->scale, unscaled, sizeof unscaled))
		glb_put_floats(g, node, "scale", j->scale, 3);
}

static void put_joints(struct glb *g, const struct geo_skeleton *s, cJSON **node, cJSON *roots)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct geo_joint *j = &s->joint[i];

		node[i] = cJSON_CreateObject();
		glb_put_text(g, node[i], "name", j->name);
		put_place(g, node[i], j);
		glb_push(g, g->nodes, node[i]);
		if (g->bad)
			return;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		int32_t parent = s->joint[i].parent;
		cJSON *kids = parent < 0 ? roots : cJSON_GetObjectItemCaseSensitive(node[parent], "children");

		if (!kids) {
			kids = cJSON_CreateArray();
			glb_put(g, node[parent], "children", kids);
		}
		if (!g->bad)
			glb_push(g, kids, cJSON_CreateNumber(i));
	}
}

/* A name that no joint has: theirs have no blanks. */
static const char *root_name(const struct geo_skeleton *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!strcmp(s->joint[i].name, "skeleton"))
			return "skeleton (root)";
	return "skeleton";
}

static void put_matrices(struct glb *g, const struct geo_skeleton *s, cJSON *skin)
{
	uint32_t view, number;
	uint8_t *p = glb_view(g, (uint64_t)s->n * 64, GLTF_NO_TARGET, &view);

	for (uint32_t i = 0; p && i < s->n; i++)
		for (unsigned k = 0; k < 16; k++, p += 4)
			put_le32(p, f32_bits(s->joint[i].inverse[k]));
	glb_accessor(g, view, GLTF_F32, s->n, "MAT4", &number);
	glb_put_number(g, skin, "inverseBindMatrices", number);
}

/* The joints of a skin must have one root. */
static int put_skeleton(struct glb *g, struct err *e)
{
	const struct geo_skeleton *s = g->skeleton;
	cJSON **node = arena_alloc(&g->arena, (size_t)s->n + 1, sizeof *node);
	cJSON *root = cJSON_CreateObject(), *roots = cJSON_CreateArray(), *joints = cJSON_CreateArray();
	cJSON *skin = cJSON_CreateObject(), *skins = cJSON_CreateArray();
	const char *name = root_name(s);

	if (!node)
		glb_fail(g, ENOMEM);
	if (!g->bad)
		put_joints(g, s, node, roots);
	glb_put_text(g, root, "name", name);
	glb_put(g, root, "children", roots);
	glb_push(g, g->nodes, root);
	glb_push(g, g->scene, cJSON_CreateNumber(s->n));
	g->nnodes = s->n + 1;
	for (uint32_t i = 0; i < s->n && !g->bad; i++)
		glb_push(g, joints, cJSON_CreateNumber(i));
	glb_put_text(g, skin, "name", name);
	glb_put(g, skin, "joints", joints);
	glb_put_number(g, skin, "skeleton", s->n);
	put_matrices(g, s, skin);
	glb_push(g, skins, skin);
	glb_put(g, g->root, "skins", skins);
	return g->bad ? err_nomem(e) : 0;
}

/* ---- materials ---- */

/* Room for one more of v, n of which are used; false: none. */
static bool grow(void **v, uint32_t n, uint32_t *room, size_t each)
{
	uint32_t more = *room ? *room : 16;
	void *p;

	while (more <= n)
		more *= 2;
	if (more == *room)
		return true;
	p = realloc(*v, more * each);
	if (!p)
		return false;
	memset((uint8_t *)p + *room * each, 0, (more - *room) * each);
	*v = p;
	*room = more;
	return true;
}

/* Its number in g->picture; GEO_NONE: none is wanted. */
static uint32_t want_picture(struct glb *g, int32_t number)
{
	uint32_t *known;

	if (number < 0 || (uint32_t)number >= LIMIT_ENTRIES)
		return GEO_NONE;
	if (!grow((void **)&g->picture_of, (uint32_t)number, &g->picture_of_room, sizeof *g->picture_of) ||
	    !grow((void **)&g->picture, g->npictures, &g->pictures_room, sizeof *g->picture)) {
		glb_fail(g, ENOMEM);
		return GEO_NONE;
	}
	known = &g->picture_of[number];
	if (!*known) {
		g->picture[g->npictures++] = (struct glb_picture){ .number = (uint32_t)number };
		*known = g->npictures;
	}
	return *known - 1;
}

uint32_t glb_material(struct glb *g, int32_t index, const struct geo_material *m, bool clear)
{
	struct glb_material *mat;

	if ((uint32_t)index >= LIMIT_ENTRIES ||
	    !grow((void **)&g->material, (uint32_t)index, &g->materials_room, sizeof *g->material) ||
	    !grow((void **)&g->material_order, g->nmaterials, &g->order_room, sizeof *g->material_order)) {
		glb_fail(g, ENOMEM);
		return 0;
	}
	mat = &g->material[index];
	mat->clear |= clear;
	if (mat->used)
		return mat->number;
	mat->used = true;
	mat->number = g->nmaterials;
	mat->m = *m;
	mat->m.name = arena_printf(&g->arena, "%s", m->name);
	if (!mat->m.name)
		glb_fail(g, ENOMEM);
	g->material_order[g->nmaterials++] = (uint32_t)index;
	mat->picture = want_picture(g, m->image);
	return mat->number;
}

static void put_surface(struct glb *g, cJSON *material, const struct geo_material *m, const struct glb_picture *p)
{
	cJSON *surface = cJSON_CreateObject(), *texture;
	float colour[4];

	for (unsigned k = 0; k < 4; k++) {
		float c = k < 3 && p && m->bare_colour ? 1 : m->colour[k];

		colour[k] = c >= 0 ? c < 1 ? c : 1 : 0;
	}
	if (colour[0] < 1 || colour[1] < 1 || colour[2] < 1 || colour[3] < 1)
		glb_put_floats(g, surface, "baseColorFactor", colour, 4);
	if (p) {
		texture = cJSON_CreateObject();
		glb_put_number(g, texture, "index", p->texture);
		glb_put(g, surface, "baseColorTexture", texture);
	}
	glb_put_number(g, surface, "metallicFactor", 0);
	glb_put(g, material, "pbrMetallicRoughness", surface);
}

static void put_material(struct glb *g, cJSON *list, const struct glb_material *mat)
{
	const struct glb_picture *p = mat->picture != GEO_NONE && g->picture[mat->picture].there ?
					      &g->picture[mat->picture] : NULL;
	enum geo_alpha alpha = p ? p->alpha : GEO_OPAQUE;
	cJSON *material = cJSON_CreateObject();

	if (mat->clear || mat->m.colour[3] < 1)
		alpha = GEO_BLENDED;
	glb_put_text(g, material, "name", mat->m.name);
	put_surface(g, material, &mat->m, p);
	if (alpha != GEO_OPAQUE)
		glb_put_text(g, material, "alphaMode", alpha == GEO_CUT ? "MASK" : "BLEND");
	if (mat->m.both_sides)
		glb_put(g, material, "doubleSided", cJSON_CreateTrue());
	glb_push(g, list, material);
}

static void put_materials(struct glb *g)
{
	cJSON *materials = cJSON_CreateArray(), *textures = cJSON_CreateArray();

	for (uint32_t i = 0; i < g->nmaterials && !g->bad; i++)
		put_material(g, materials, &g->material[g->material_order[i]]);
	for (uint32_t i = 0; i < g->ntextures && !g->bad; i++) {
		cJSON *texture = cJSON_CreateObject();

		glb_put_number(g, texture, "source", i);
		glb_push(g, textures, texture);
	}
	put_list(g, "materials", &materials);
	put_list(g, "textures", &textures);
	put_list(g, "images", &g->images);
}

/* ---- the parts of a file, in their order ---- */

int glb_begin(struct glb **out, const struct geo_skeleton *s, bool write, struct err *e)
{
	struct glb *g;
	cJSON *asset;
	int rc;

	*out = NULL;
	if (s && s->n > GLB_JOINTS_MOST)
		return err_set(e, EFBIG, "%u bones, glTF can number %u", s->n, GLB_JOINTS_MOST);
	g = calloc(1, sizeof *g);
	asset = cJSON_CreateObject();
	if (!g) {
		cJSON_Delete(asset);
		return err_nomem(e);
	}
	g->write = write;
	g->skeleton = s && s->n ? s : NULL;
	g->root = cJSON_CreateObject();
	g->scene = cJSON_CreateArray();
	g->nodes = cJSON_CreateArray();
	g->meshes = cJSON_CreateArray();
	g->accessors = cJSON_CreateArray();
	g->views = cJSON_CreateArray();
	g->images = cJSON_CreateArray();
	g->animations = cJSON_CreateArray();
	glb_put_text(g, asset, "version", "2.0");
	glb_put_text(g, asset, "generator", "modelfs");
	glb_put(g, g->root, "asset", asset);
	glb_put_number(g, g->root, "scene", 0);
	rc = g->bad ? err_nomem(e) : g->skeleton ? put_skeleton(g, e) : 0;
	if (rc)
		glb_free(g);
	else
		*out = g;
	return rc;
}

int glb_failed(const struct glb *g, struct err *e)
{
	if (g->bad == EFBIG)
		return err_set(e, EFBIG, "a GLB of more than %zu bytes", LIMIT_DECODED);
	return g->bad ? err_nomem(e) : 0;
}

static bool all_hidden(const struct geo_mesh *m)
{
	unsigned hidden = 0, drawn = 0;

	for (unsigned k = 0; k < m->nparts; k++) {
		hidden += m->parts[k].hidden;
		drawn += !m->parts[k].hidden && m->parts[k].nfaces;
	}
	return hidden && !drawn;
}

/* A mesh that has no vertices is a node without one: glTF has no empty meshes. */
int glb_mesh(struct glb *g, uint32_t number, const char *name, const struct geo_mesh *m,
	     const struct geo_material *of_part, struct err *e)
{
	cJSON *node = cJSON_CreateObject(), *mesh = cJSON_CreateObject(), *primitives = cJSON_CreateArray();
	char stable[32];
	bool skinned = false, hidden = all_hidden(m);
	int rc = glb_primitives(g, m, of_part, primitives, &skinned, e);

	snprintf(stable, sizeof stable, "mesh_%u", number);
	glb_put_text(g, node, "name", name ? name : stable);
	glb_put_text(g, mesh, "name", stable);
	if (primitives && primitives->child) {
		glb_put(g, mesh, "primitives", primitives);
		glb_put_number(g, node, "mesh", g->nmeshes++);
		if (skinned)
			glb_put_number(g, node, "skin", 0);
		if (hidden)
			glb_put_hidden(g, mesh);
		glb_push(g, g->meshes, mesh);
	} else {
		cJSON_Delete(mesh);
		cJSON_Delete(primitives);
	}
	if (hidden)
		glb_put_hidden(g, node);
	glb_push(g, g->scene, cJSON_CreateNumber(g->nnodes++));
	glb_push(g, g->nodes, node);
	return rc ? rc : glb_failed(g, e);
}

bool glb_wants_picture(const struct glb *g, uint32_t i, uint32_t *number)
{
	if (i >= g->npictures)
		return false;
	*number = g->picture[i].number;
	return true;
}

int glb_picture(struct glb *g, uint32_t i, const struct buf *png, enum geo_alpha alpha, struct err *e)
{
	cJSON *image = cJSON_CreateObject();
	char name[32];
	uint32_t view;
	uint8_t *p = glb_view(g, png->len, GLTF_NO_TARGET, &view);

	if (p)
		memcpy(p, png->p, png->len);
	g->picture[i].there = true;
	g->picture[i].texture = g->ntextures++;
	g->picture[i].alpha = alpha;
	snprintf(name, sizeof name, "texture_%u", g->picture[i].number);
	glb_put_text(g, image, "name", name);
	glb_put_text(g, image, "mimeType", "image/png");
	glb_put_number(g, image, "bufferView", view);
	glb_push(g, g->images, image);
	return glb_failed(g, e);
}

static void put_scene(struct glb *g)
{
	cJSON *scene = cJSON_CreateObject(), *scenes = cJSON_CreateArray();

	if (g->scene && g->scene->child)
		glb_put(g, scene, "nodes", g->scene);
	else
		cJSON_Delete(g->scene);
	g->scene = NULL;
	glb_push(g, scenes, scene);
	glb_put(g, g->root, "scenes", scenes);
}

static void put_buffer(struct glb *g)
{
	cJSON *buffer, *buffers;

	if (!g->size)
		return;
	buffer = cJSON_CreateObject();
	buffers = cJSON_CreateArray();
	glb_put_number(g, buffer, "byteLength", (double)g->size);
	glb_push(g, buffers, buffer);
	glb_put(g, g->root, "buffers", buffers);
}

static void add_words(struct buf *out, const uint32_t *v, unsigned n)
{
	uint8_t raw[4];

	for (unsigned i = 0; i < n; i++) {
		put_le32(raw, v[i]);
		buf_add(out, raw, sizeof raw);
	}
}

static void assemble(const struct glb *g, const char *json, size_t n, uint64_t all, struct buf *out)
{
	uint32_t padded = (uint32_t)align_up(n, 4);

	add_words(out, (const uint32_t[]){ GLB_MAGIC, GLB_VERSION, (uint32_t)all, padded, GLB_TAG_JSON }, 5);
	buf_add(out, json, n);
	buf_add(out, "   ", padded - n);
	if (!g->size)
		return;
	add_words(out, (const uint32_t[]){ (uint32_t)g->size, GLB_TAG_BIN }, 2);
	buf_add(out, g->bin.p, g->bin.len);
}

int glb_end(struct glb *g, struct buf *out, uint64_t *size, struct err *e)
{
	char *json;
	size_t n;
	uint64_t all;

	put_scene(g);
	put_list(g, "nodes", &g->nodes);
	put_list(g, "meshes", &g->meshes);
	put_list(g, "animations", &g->animations);
	put_materials(g);
	put_list(g, "accessors", &g->accessors);
	put_list(g, "bufferViews", &g->views);
	put_buffer(g);
	json = g->bad ? NULL : cJSON_PrintUnformatted(g->root);
	if (!json)
		return g->bad ? glb_failed(g, e) : err_nomem(e);
	n = strlen(json);
	all = GLB_HEADER_SIZE + GLB_CHUNK_HEAD + align_up(n, 4) + (g->size ? GLB_CHUNK_HEAD + g->size : 0);
	if (all > LIMIT_DECODED)
		glb_fail(g, EFBIG);
	else if (g->write)
		assemble(g, json, n, all, out);
	cJSON_free(json);
	*size = all;
	return glb_failed(g, e);
}

void glb_free(struct glb *g)
{
	if (!g)
		return;
	cJSON_Delete(g->root);
	cJSON_Delete(g->scene);
	cJSON_Delete(g->nodes);
	cJSON_Delete(g->meshes);
	cJSON_Delete(g->accessors);
	cJSON_Delete(g->views);
	cJSON_Delete(g->images);
	cJSON_Delete(g->animations);
	free(g->material);
	free(g->material_order);
	free(g->picture);
	free(g->picture_of);
	arena_free(&g->arena);
	buf_free(&g->bin);
	free(g);
}
