/* Contents of leaves: rendered texts through the cache, raw bytes as sources. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export.h"
#include "unit.h"

/* Keys in the cache of opened objects, and of sizes of texts that were not made; leaf kinds are below. */
#define KIND_OBJECT 0xffu
#define KIND_SIZE 0xfeu

/* ---- opened objects ---- */

static int make_object(void *ctx, void **value, size_t *cost, struct err *e)
{
	struct unit *u = ctx;
	struct object *o;
	struct pin pin;
	int rc;

	/* So that it is unpacked once for all reads; if it cannot be, they tell. */
	src_pin(u->src, &pin, NULL);
	rc = object_open(u->format, u->src, &u->around, &o, e);
	src_unpin(&pin);
	if (!rc) {
		*value = o;
		*cost = sizeof *o + o->arena.used;
		for (const struct fault *f = o->faults; f; f = f->next)
			*cost += sizeof *f + strlen(f->text);
	}
	return rc;
}

static void drop_object(void *value)
{
	object_close(value);
}

static const struct cache_maker object_maker = { make_object, drop_object };

int unit_object(struct tree *t, struct unit *u, struct cached **hold, struct object **out, struct err *e)
{
	struct cache_key key = { .unit = u->id, .gen = atomic_load(&u->gen), .kind = KIND_OBJECT };
	int rc = cache_get(t->cache, &key, &object_maker, u, hold, e);

	if (!rc)
		*out = cached_value(*hold);
	return rc;
}

/* ---- texts ---- */

struct job { struct tree *t; struct unit *u; const struct leaf *l; };

struct leaf *picture_leaf(const struct unit *u, int32_t image)
{
	struct range r = { 0 };

	for (uint32_t i = 0; i < u->nleaves && u->leaves[i].dir == LEAF_TOP; i++)
		if (u->leaves[i].kind == LEAF_DIR && u->leaves[i].arg == LEAF_DIR_TEXTURES)
			r = leaf_range(u, u->leaves[i].index, LEAF_DIR_TEXTURES);
	if (image < 0 || r.first == r.end)
		return NULL;
	for (r.first = leaf_by_number(u, r, (uint32_t)image); r.first < r.end; r.first++) {
		struct leaf *l = &u->leaves[r.first];

		if (l->index != (uint32_t)image)
			break;
		if (l->kind == LEAF_PNG)
			return l;
	}
	return NULL;
}

/* A material, with the picture as the file at hand names it. */
static int find_material(const struct unit *u, struct object *o, uint32_t i, bool whole, struct arena *a,
			 struct geo_material *out, struct err *e)
{
	int rc = o->format->model->material(o, i, out, a, e);

	out->image = whole || !picture_leaf(u, out->image) ? -1 : out->image;
	if (!whole)
		out->map = NULL;
	return rc;
}

/* The materials of the MTL, where the mesh says which; else those of its parts. */
static int listed_materials(struct job *j, struct object *o, const struct geo_mesh *m, struct arena *a,
			    struct geo_material **out, struct err *e)
{
	int rc = 0;

	*out = arena_alloc(a, (size_t)m->nmaterials + 1, sizeof **out);
	if (!*out)
		return err_nomem(e);
	for (uint32_t i = 0; i < m->nmaterials && !rc; i++)
		rc = find_material(j->u, o, m->materials[i], j->l->index == MESH_WHOLE, a, &(*out)[i], e);
	return rc;
}

int part_materials(const struct unit *u, struct object *o, const struct geo_mesh *m, bool whole, struct arena *a,
		   struct geo_material **out, struct err *e)
{
	struct geo_material *v = arena_alloc(a, m->nparts + 1, sizeof *v);
	int rc = 0;

	if (!v)
		return err_nomem(e);
	for (unsigned i = 0; i < m->nparts && !rc; i++) {
		v[i].image = -1;
		if (m->parts[i].material < 0 || !m->parts[i].nfaces || !o->format->model->material)
			continue;
		rc = find_material(u, o, (uint32_t)m->parts[i].material, whole, a, &v[i], e);
	}
	*out = v;
	return rc;
}

static int render_mesh(struct job *j, struct object *o, struct buf *out, struct err *e)
{
	struct arena a = { 0 };
	struct geo_mesh m = { 0 };
	struct geo_material *materials = NULL;
	int rc = o->format->model->mesh(o, j->l->index, &m, &a, e);
	bool listed = j->l->kind == LEAF_MTL && m.materials;

	if (!rc && listed)
		rc = listed_materials(j, o, &m, &a, &materials, e);
	else if (!rc && j->l->kind != LEAF_WEIGHTS)
		rc = part_materials(j->u, o, &m, j->l->index == MESH_WHOLE, &a, &materials, e);
	if (!rc) {
		if (j->l->kind == LEAF_OBJ)
			obj_write(out, &m, j->l->index, materials);
		else if (j->l->kind == LEAF_MTL)
			mtl_write(out, materials, listed ? m.nmaterials : m.nparts);
		else
			weights_write(out, &m);
	}
	arena_free(&a);
	return rc;
}

static int render_png(struct job *j, struct object *o, struct buf *out, enum geo_alpha *alpha, struct err *e)
{
	struct arena a = { 0 };
	struct geo_image img = { 0 };
	int rc = o->format->model->image(o, j->l->index, &img, &a, e);

	if (!rc)
		rc = png_write(out, &img, e);
	if (!rc)
		*alpha = geo_alpha(&img);
	arena_free(&a);
	return rc;
}

static int render(struct job *j, struct object *o, struct buf *out, enum geo_alpha *alpha, struct err *e)
{
	struct ydoc y;
	uint64_t size;

	switch (j->l->kind) {
	case LEAF_SECTION_YAML:
		ydoc_init(&y, out);
		return object_section_doc(o, j->l->arg, &y.doc, e);
	case LEAF_DOC:
		ydoc_init(&y, out);
		return o->format->model->doc(o, j->l->arg, j->l->index, &y.doc, e);
	case LEAF_PNG:
		return render_png(j, o, out, alpha, e);
	case LEAF_GLB:
		return glb_render(j->t, j->u, j->l, o, out, &size, e);
	case LEAF_PREVIEW:
		return preview_render(j->t, j->u, o, out, e);
	default:
		return render_mesh(j, o, out, e);
	}
}

/* A made text as the cache keeps it. From a page on it lies in a mapping of its own: texts of all sizes that come and
 * go in one heap leave it twice as large as what is in it. */
struct text {
	struct buf b;                          /* first: rendered_text() */
	size_t mapped;                         /* bytes of the mapping; 0: from malloc */
	enum geo_alpha alpha;                  /* of a PNG */
};

#define OWN_MAPPING 4096u
#define OWN_MAPPING_MOST ((size_t)1 << 20)     /* a larger one has a mapping from malloc, which shrinks in its place */

/* Moves what was written into memory of the right size; keeps b's own when there is none. */
static void settle_text(struct text *text, struct buf *b)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)align_up(b->len, page);
	void *p = MAP_FAILED;

	text->b = *b;
	if (b->len >= OWN_MAPPING && b->len < OWN_MAPPING_MOST)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED) {
		memcpy(p, b->p, b->len);
		free(b->p);
		text->b = (struct buf){ .p = p, .len = b->len, .cap = size };
		text->mapped = size;
	} else if (b->len) {
		p = realloc(b->p, b->len);
		text->b.p = p ? p : b->p;
		text->b.cap = p ? b->len : b->cap;
	}
}

static int make_text(void *ctx, void **value, size_t *cost, struct err *e)
{
	struct job *j = ctx;
	struct text *text = calloc(1, sizeof *text);
	struct buf b = { 0 };
	struct cached *hold = NULL;
	struct object *o = NULL;
	struct pin pin = { 0 };
	int rc = text ? unit_object(j->t, j->u, &hold, &o, e) : err_nomem(e);

	if (!rc) {
		src_pin(j->u->src, &pin, NULL);
		rc = render(j, o, &b, &text->alpha, e);
		src_unpin(&pin);
	}
	if (!rc && b.bad)
		rc = err_set(e, EFBIG, "the text would be longer than %zu bytes, or memory is short", LIMIT_DECODED);
	cached_put(hold);
	if (rc) {
		buf_free(&b);
		free(text);
		return rc;
	}
	settle_text(text, &b);
	atomic_fetch_add_explicit(&j->t->rendered, 1, memory_order_relaxed);
	*value = text;
	*cost = sizeof *text + text->b.cap;
	return 0;
}

static void drop_text(void *value)
{
	struct text *text = value;

	if (text->mapped)
		munmap(text->b.p, text->mapped);
	else
		buf_free(&text->b);
	free(text);
}

static const struct cache_maker text_maker = { make_text, drop_text };

const struct buf *rendered_text(const struct cached *c)
{
	return &((const struct text *)cached_value(c))->b;
}

enum geo_alpha rendered_alpha(const struct cached *c)
{
	return ((const struct text *)cached_value(c))->alpha;
}

/* Geometry knows its offset but not its mesh; what the tables showed when the unit was filled already stands there. */
void note_mesh(struct tree *t, struct unit *u, uint32_t mesh, const char *text)
{
	char line[300];

	if (!unit_has_note(t, u, text)) {
		snprintf(line, sizeof line, "mesh %u: %s", mesh, text);
		text = line;
	}
	unit_note(t, u, text);
}

static bool is_of_mesh(const struct unit *u, const struct leaf *l)
{
	if (l->kind == LEAF_DOC && l->arg >= DOC_OWN)
		return u->format->own[l->arg - DOC_OWN].part == PART_MESH;
	return l->kind == LEAF_OBJ || l->kind == LEAF_MTL || l->kind == LEAF_WEIGHTS;
}

static void note_failure(struct tree *t, struct unit *u, const struct leaf *l, const char *text)
{
	if (is_of_mesh(u, l))
		note_mesh(t, u, l->index, text);
	else if (l->kind != LEAF_PREVIEW)      /* which fails for its meshes only, and they are noted */
		unit_note(t, u, text);
}

/* ---- sizes of texts that are not made ---- */

static int make_size(void *ctx, void **value, size_t *cost, struct err *e)
{
	struct job *j = ctx;
	uint64_t *size = malloc(sizeof *size);
	struct cached *hold = NULL;
	struct object *o = NULL;
	int rc = size ? unit_object(j->t, j->u, &hold, &o, e) : err_nomem(e);

	if (!rc)
		rc = glb_render(j->t, j->u, j->l, o, NULL, size, e);
	cached_put(hold);
	if (rc) {
		free(size);
		return rc;
	}
	*value = size;
	*cost = sizeof *size;
	return 0;
}

static const struct cache_maker size_maker = { make_size, free };

static int get_leaf(struct tree *t, struct unit *u, struct leaf *l, bool size_only, struct cached **out, struct err *e)
{
	/* A companion's file is made once, whichever directory asks. */
	struct leaf there;
	struct unit *owner = unit_of_leaf(t, u, l, &there);
	struct job j = { t, owner, &there };
	struct cache_key key = { 0 };
	struct err why = { 0 };
	int rc;

	if (!owner)
		return err_set(e, EIO, "the companion is gone");
	key.index = there.index;
	key.kind = size_only ? KIND_SIZE : there.kind;
	key.arg = there.arg;
	key.unit = owner->id;
	key.gen = atomic_load(&owner->gen);
	rc = cache_get(t->cache, &key, size_only ? &size_maker : &text_maker, &j, out, &why);
	if (!rc) {
		uint64_t size = size_only ? *(const uint64_t *)cached_value(*out) : rendered_text(*out)->len;

		atomic_store_explicit(&l->size, (uint32_t)size + 1, memory_order_release);
		return 0;
	}
	if (rc == -EBADMSG || rc == -EFBIG) {
		atomic_store_explicit(&l->size, SIZE_FAILED, memory_order_release);
		note_failure(t, owner, &there, why.text);
		if (owner != u)
			note_failure(t, u, l, why.text);
	}
	if (e)
		*e = why;
	return rc;
}

int render_leaf(struct tree *t, struct unit *u, struct leaf *l, struct cached **out, struct err *e)
{
	return get_leaf(t, u, l, false, out, e);
}

int measure_leaf(struct tree *t, struct unit *u, struct leaf *l, uint64_t *size, struct err *e)
{
	struct cached *c;
	int rc = get_leaf(t, u, l, l->kind == LEAF_GLB, &c, e);

	if (rc)
		return rc;
	*size = atomic_load_explicit(&l->size, memory_order_acquire) - 1;
	cached_put(c);
	return 0;
}

/* ---- bytes of the archive ---- */

/* All of a part of the unit's object. */
static int part_source(struct tree *t, struct unit *u, unsigned part, struct source **out, struct err *e)
{
	struct err why = { 0 };
	struct cached *hold;
	struct object *o;
	int rc = 0;

	*out = NULL;
	if (!part) {
		*out = src_ref(u->src);
	} else if (u->format->nmembers) {
		*out = unit_member_source(u, part - 1, &why);
		rc = -why.code;
		if (rc && e)
			*e = why;
	} else {
		rc = unit_object(t, u, &hold, &o, e);
		if (rc)
			return rc;
		*out = object_part(o, part) ? src_ref(object_part(o, part)) : NULL;
		cached_put(hold);
	}
	return rc ? rc : *out ? 0 : err_set(e, ESTALE, "its other file is gone");
}

static int piece_source(struct tree *t, struct unit *u, const struct piece *p, struct source **out, struct err *e)
{
	struct source *part;
	int rc = part_source(t, u, p->part, &part, e);

	if (rc)
		return rc;
	*out = span_ok(part->size, p->at, p->size, 1) ? src_slice(part, p->at, p->size) : NULL;
	rc = *out ? 0 : span_ok(part->size, p->at, p->size, 1) ? err_nomem(e) :
	     err_set(e, ESTALE, "its file has become shorter");
	src_put(part);
	return rc;
}

static int section_source(struct tree *t, struct unit *u, unsigned s, struct source **out, struct err *e)
{
	struct cached *hold;
	struct object *o;
	struct source *part;
	struct span span;
	int rc = unit_object(t, u, &hold, &o, e);

	if (rc)
		return rc;
	span = object_section(o, s);
	part = object_part(o, span.part);
	*out = part ? src_slice(part, span.at, span.size) : NULL;
	cached_put(hold);
	return *out ? 0 : err_nomem(e);
}

/* Bytes that the format makes of its own. */
static int file_source(struct tree *t, struct unit *u, const struct leaf *l, struct source **out, struct err *e)
{
	struct leaf there;
	struct unit *owner = unit_of_leaf(t, u, l, &there);
	struct err why = { 0 };
	struct cached *hold;
	struct object *o;
	int rc = owner ? unit_object(t, owner, &hold, &o, e) : err_set(e, EIO, "the companion is gone");

	if (rc)
		return rc;
	rc = o->format->model->file(o, there.arg, there.index, out, &why);
	cached_put(hold);
	if (rc == -EBADMSG || rc == -EFBIG)
		unit_note(t, owner, why.text);
	if (rc && e)
		*e = why;
	return rc == -ENOENT ? -EIO : rc;
}

int leaf_source(struct tree *t, struct unit *u, const struct leaf *l, struct source **out, struct err *e)
{
	switch (l->kind) {
	case LEAF_WHOLE:
		return part_source(t, u, l->arg, out, e);
	case LEAF_FILE:
		return file_source(t, u, l, out, e);
	case LEAF_SECTION_RAW:
		return section_source(t, u, l->arg, out, e);
	case LEAF_PIECE:
		return piece_source(t, u, &u->pieces.v[l->index], out, e);
	default:
		return -ENOENT;
	}
}

/* ---- damage that only decoding shows ---- */

static bool only_decoding_tells(const struct unit *u, const struct leaf *l)
{
	return l->kind == LEAF_OBJ || (l->kind == LEAF_PNG && !(u->format->sure & 1u << PART_IMAGE)) ||
	       (l->kind == LEAF_DOC && (l->arg == DOC_CLIP || l->arg >= DOC_OWN));
}

void unit_check(struct tree *t, struct unit *u)
{
	if (atomic_load(&u->checked))
		return;
	for (uint32_t i = 0; i < u->nkids; i++)
		kid_know(t, u, i, NULL);
	for (uint32_t i = 0; i < u->nleaves; i++) {
		struct leaf *l = &u->leaves[i];
		struct cached *text;

		if (only_decoding_tells(u, l) && !l->role && atomic_load(&l->size) == SIZE_UNKNOWN &&
		    !render_leaf(t, u, l, &text, NULL))
			cached_put(text);
	}
	atomic_store(&u->checked, true);       /* only now: who asks meanwhile waits for the same texts */
}
