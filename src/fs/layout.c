/* Which files a unit shows: the one place that turns what a format can do into directories. Generic: sections become
 * YAML and raw files, hooks become OBJ and PNG. Nothing is decoded here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "num.h"
#include "host.h"
#include "layout_in.h"

#define ALL_NAME "all"                         /* of the GLB with all animations */

/* ---- names of entries ---- */

/* A name being written, by hand: a listing of a large archive is mostly that. */
struct name { char *p; size_t n; };

static void add_text(struct name *to, const char *text)
{
	size_t n = strlen(text);

	n = n < NODE_NAME_MAX - 1 - to->n ? n : NODE_NAME_MAX - 1 - to->n;
	memcpy(to->p + to->n, text, n);
	to->n += n;
	to->p[to->n] = 0;
}

static void add_number(struct name *to, uint32_t v, unsigned digits)
{
	char text[NUM_MAX];
	size_t n = num_u32(text, v);

	for (; digits > n; digits--)
		add_text(to, "0");
	text[n] = 0;
	add_text(to, text);
}

void kid_name(const struct tree *t, const struct unit *u, uint32_t i, char name[NODE_NAME_MAX])
{
	const struct container_ops *c = u->format->container;
	const char *label = c->labels ? names_get(t->names, i) : NULL;
	struct name to = { name, 0 };

	if (u->stored) {
		*name = 0;
		add_text(&to, i < u->stored->nentries ? stored_name(u->stored, i) : "");
		return;
	}
	add_number(&to, i, c->digits);
	if (label) {
		add_text(&to, "-");
		add_text(&to, label);
	}
	if (i >= u->nkids)                     /* asked for what it was */
		return;
	add_text(&to, ".");
	add_text(&to, u->kids[i].ext);
}

void unit_kid_path(const struct unit *u, uint32_t i, struct buf *out)
{
	struct buf folder = { 0 };

	unit_folder_path(u, stored_in(u->stored, i), &folder);
	buf_add(out, folder.p, folder.len);
	buf_printf(out, "%s%s", folder.len ? "/" : "", stored_name(u->stored, i));
	out->bad |= folder.bad;
	buf_free(&folder);
}

void unit_folder_path(const struct unit *u, uint32_t folder, struct buf *out)
{
	const struct stored_dir *d = &u->stored->dirs[folder];

	if (!folder)
		return;
	unit_folder_path(u, d->in, out);       /* no deeper than stored_new() makes them */
	if (out->len)
		buf_char(out, '/');
	buf_str(out, u->stored->text + d->name);
}

void unit_name(const struct unit *u, char name[NODE_NAME_MAX])
{
	const struct tree *t = u->tree;
	struct name to = { name, 0 };
	const struct tree_file *f = tree_file(t, u->file);
	const char *slash = f->path ? strrchr(f->path, '/') : NULL;

	*name = 0;
	if (!tree_is_file(t, u))
		kid_name(t, unit_at(t, u->parent), u->index, name);
	else
		add_text(&to, f->spot ? f->spot->name : slash ? slash + 1 : t->name);
}

/* ---- models ---- */

void leaves_add(struct leaves *l, unsigned dir, unsigned kind, unsigned arg, uint32_t index, unsigned role)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? l->cap * 2 : 32;
		struct leaf *v = cap <= LIMIT_ENTRIES * 4 ? realloc(l->v, cap * sizeof *v) : NULL;

		if (!v) {
			l->bad = true;
			return;
		}
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = (struct leaf){
		.index = index, .dir = (uint8_t)dir, .kind = kind & 31, .arg = (uint8_t)arg, .role = role & 7
	};
}

void leaves_add_sized(struct leaves *l, unsigned dir, unsigned kind, unsigned arg, uint32_t index, uint64_t size)
{
	leaves_add(l, dir, kind, arg, index, 0);
	if (!l->bad && size < SIZE_FAILED - 1)
		atomic_init(&l->v[l->n - 1].size, (uint32_t)size + 1);
}

static void add_dir(struct leaves *l, bool there, unsigned which)
{
	if (there)
		leaves_add(l, LEAF_TOP, LEAF_DIR, which, 0, 0);
}

bool leaves_begin_dir(struct leaves *l, unsigned which)
{
	for (uint32_t i = 0; i < l->n && !l->bad; i++) {
		if (l->v[i].kind == LEAF_DIR && l->v[i].arg == which) {
			l->v[i].index = l->n;
			return true;
		}
	}
	return false;
}

static void add_documents(struct leaves *l, const struct object *o)
{
	const struct variant *v = o->variant;

	if (o->format->docs & 1u << DOC_HEADER)
		leaves_add(l, LEAF_TOP, LEAF_DOC, DOC_HEADER, 0, 0);
	for (unsigned s = 0; s < v->nsections; s++)
		if (v->sections[s].yaml && object_section(o, s).size)
			leaves_add(l, LEAF_TOP, LEAF_SECTION_YAML, s, 0, 0);
}

/* The format's own files of a part, or of the object. */
static void add_own(struct leaves *l, const struct object *o, unsigned dir, unsigned part, uint32_t i)
{
	for (unsigned k = 0; k < o->format->nown && !l->bad; k++) {
		const struct own_file *own = &o->format->own[k];

		if (own->part != part || own->from_link || (own->there && !own->there(o, i)))
			continue;
		if (own->bytes)
			leaves_add(l, dir, LEAF_FILE, k, i, 0);
		else
			leaves_add(l, dir, LEAF_DOC, DOC_OWN + k, i, 0);
	}
}

static void add_meshes(struct leaves *l, const struct object *o)
{
	const struct model_ops *m = o->format->model;
	unsigned dir = LEAF_DIR_MESHES;
	uint32_t n = leaves_begin_dir(l, dir) ? object_count(o, PART_MESH) : 0;

	for (uint32_t i = 0; i < n && !l->bad; i++) {
		bool shape = m->mesh && object_has(o, PART_MESH, i);

		if (object_gone(o, PART_MESH, i))
			continue;
		if (shape) {
			leaves_add(l, dir, LEAF_OBJ, 0, i, 0);
			leaves_add(l, dir, LEAF_MTL, 0, i, 0);
		}
		if (o->format->docs & 1u << DOC_MESH)
			leaves_add(l, dir, LEAF_DOC, DOC_MESH, i, 0);
		if (shape && m->skinned && m->skinned(o, i))
			leaves_add(l, dir, LEAF_WEIGHTS, 0, i, 0);
		add_own(l, o, dir, PART_MESH, i);
	}
}

static void add_images(struct leaves *l, const struct object *o, unsigned dir)
{
	uint32_t n = dir == LEAF_TOP || leaves_begin_dir(l, dir) ? object_count(o, PART_IMAGE) : 0;

	for (uint32_t i = 0; i < n && !l->bad; i++) {
		if (object_gone(o, PART_IMAGE, i))
			continue;
		if (object_has(o, PART_IMAGE, i))
			leaves_add(l, dir, LEAF_PNG, 0, i, 0);
		if (o->format->docs & 1u << DOC_IMAGE)
			leaves_add(l, dir, LEAF_DOC, DOC_IMAGE, i, 0);
		add_own(l, o, dir, PART_IMAGE, i);
	}
}

/* A clip and, where there are bones that it can move, its GLB. */
static void add_clip(struct leaves *l, unsigned dir, uint32_t i, unsigned role, bool bones)
{
	leaves_add(l, dir, LEAF_DOC, DOC_CLIP, i, role);
	if (bones)
		leaves_add(l, dir, LEAF_GLB, GLB_CLIP, i, 0);
}

static void add_clips(struct leaves *l, const struct object *o, unsigned dir, bool bones)
{
	uint32_t n = leaves_begin_dir(l, dir) ? object_count(o, PART_CLIP) : 0, first = l->n;

	for (uint32_t i = 0; i < n && !l->bad; i++)
		if (!object_gone(o, PART_CLIP, i))
			add_clip(l, dir, i, 0, bones);
	if (l->n > first && bones)
		leaves_add(l, dir, LEAF_GLB, GLB_ALL, 0, 0);
}

/* The clips of the pack beside it. */
static void add_clips_beside(struct leaves *l, const struct unit *pack, bool bones)
{
	uint32_t n = leaves_begin_dir(l, LEAF_DIR_ANIMATIONS) ? pack->nleaves : 0, first = l->n;

	for (uint32_t i = 0; i < n && !l->bad; i++) {
		const struct leaf *clip = &pack->leaves[i];

		if (clip->kind == LEAF_DOC && clip->arg == DOC_CLIP && !clip->role)
			add_clip(l, LEAF_DIR_ANIMATIONS, clip->index, ROLE_ANIMATIONS, bones);
	}
	if (l->n > first && bones)
		leaves_add(l, LEAF_DIR_ANIMATIONS, LEAF_GLB, GLB_ALL, 0, 0);
}

/* ---- what lies in other files ---- */

/* The units of the files that the object found, and which of them hold its pictures. */
static int keep_links(struct unit *u, const struct object *o, struct err *e)
{
	const struct model_ops *m = o->format->model;
	uint32_t n = m && m->image_link ? object_count(o, PART_IMAGE) : 0, link, image;

	if (o->nlinks) {
		u->links = calloc(o->nlinks, sizeof *u->links);
		if (!u->links)
			return err_nomem(e);
		u->nlinks = o->nlinks;
		for (uint32_t i = 0; i < o->nlinks; i++)
			u->links[i] = o->links[i].src ? o->links[i].unit : 0;
	}
	if (!n || !u->nlinks)
		return 0;
	u->pictures = calloc(n, sizeof *u->pictures);
	if (!u->pictures)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++)
		if (m->image_link(o, i, &link, &image) && link < u->nlinks && u->links[link])
			u->pictures[u->npictures++] = (struct picture){ i, u->links[link], image };
	return 0;
}

static bool has_clip_name(const struct unit *u, const char *name)
{
	for (uint32_t i = 0; i < u->nclips; i++)
		if (!strcmp(u->clip_name[i], name))
			return true;
	return false;
}

/* all.glb is not the clip's that is called so. */
static void name_around_all(struct unit *u)
{
	char name[PART_NAME_MAX] = ALL_NAME;

	for (uint32_t i = 0; i < u->nclips; i++)
		if (!strcmp(u->clip_name[i], name))
			u->all_clip = i;
	for (u->all_suffix = 0; has_clip_name(u, name); u->all_suffix++)
		snprintf(name, sizeof name, ALL_NAME "~%u", u->all_suffix + 2);
	u->all_suffix += u->all_suffix > 0;
}

static int keep_clip_names(struct unit *u, const struct object *o, struct err *e)
{
	const struct model_ops *m = o->format->model;
	uint32_t n = m && m->part_name ? object_count(o, PART_CLIP) : 0;

	if (!n)
		return 0;
	u->clip_name = calloc(n, sizeof *u->clip_name);
	if (!u->clip_name)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++)
		m->part_name(o, PART_CLIP, i, u->clip_name[i]);
	u->nclips = n;
	name_around_all(u);
	return 0;
}

static void add_linked(struct leaves *l, struct unit *u, const struct picture *p)
{
	const struct leaf png = { .index = p->number, .kind = LEAF_PNG, .role = LEAF_LINKED };
	const struct format *f = u->format;
	struct leaf there;

	for (unsigned k = 0; k < f->nown; k++) {
		struct leaf file = { .index = p->number, .kind = LEAF_FILE, .arg = (uint8_t)k, .role = LEAF_LINKED };

		if (f->own[k].from_link && unit_of_leaf(u->tree, u, &file, &there))
			leaves_add(l, LEAF_DIR_TEXTURES, LEAF_FILE, k, p->number, LEAF_LINKED);
	}
	if (unit_of_leaf(u->tree, u, &png, &there))
		leaves_add(l, LEAF_DIR_TEXTURES, LEAF_PNG, 0, p->number, LEAF_LINKED);
}

/* What a companion shows as `kind`, shown here too. */
static void add_from_mate(struct leaves *l, const struct unit *mate, unsigned kind, unsigned arg, unsigned dir,
			  unsigned role)
{
	uint32_t n = leaves_begin_dir(l, dir) ? mate->nleaves : 0;

	for (uint32_t i = 0; i < n && !l->bad; i++)
		if (mate->leaves[i].kind == kind && mate->leaves[i].arg == arg && !mate->leaves[i].role)
			leaves_add(l, dir, kind, arg, mate->leaves[i].index, role);
}

static bool mate_has(const struct unit *mate, unsigned kind, unsigned arg)
{
	for (uint32_t i = 0; mate && i < mate->nleaves; i++)
		if (mate->leaves[i].kind == kind && mate->leaves[i].arg == arg)
			return true;
	return false;
}

/* What lies in the unit's own directory, up to the folders. */
static void add_top(struct leaves *l, const struct object *o)
{
	const struct format *f = o->format;

	add_documents(l, o);
	add_own(l, o, LEAF_TOP, PART_OBJECT, 0);
	if (f->docs & 1u << DOC_SKELETON && (f->role != ROLE_MODEL || object_count(o, PART_BONE) ||
					     (f->model->has && f->model->has(o, PART_BONE, 0))))
		leaves_add(l, LEAF_TOP, LEAF_DOC, DOC_SKELETON, 0, 0);
	add_dir(l, object_count(o, PART_MESH), LEAF_DIR_MESHES);
	if (f->whole_obj) {
		leaves_add(l, LEAF_TOP, LEAF_OBJ, 0, MESH_WHOLE, 0);
		leaves_add(l, LEAF_TOP, LEAF_MTL, 0, MESH_WHOLE, 0);
	}
	if (f->role != ROLE_MODEL)
		add_images(l, o, LEAF_TOP);
}

struct mates { struct unit *bones, *textures, *pack; };

/* Whether a model's own object has its pictures. */
static bool has_images(const struct object *o)
{
	return o->format->role == ROLE_MODEL && !(o->format->model && o->format->model->image_link);
}

static void add_all_top(struct leaves *l, const struct unit *u, const struct object *o, const struct mates *m)
{
	const struct container_ops *c = u->format->container;
	bool model = u->format->role == ROLE_MODEL;

	if (o->variant && !c)
		add_top(l, o);
	if (mate_has(m->bones, LEAF_DOC, DOC_SKELETON))
		leaves_add(l, LEAF_TOP, LEAF_DOC, DOC_SKELETON, 0, ROLE_SKELETON);
	add_dir(l, u->npictures || mate_has(m->textures, LEAF_PNG, 0) ||
		   (has_images(o) && object_count(o, PART_IMAGE)), LEAF_DIR_TEXTURES);
	add_dir(l, mate_has(m->pack, LEAF_DOC, DOC_CLIP) || (model && object_count(o, PART_CLIP)), LEAF_DIR_ANIMATIONS);
	add_dir(l, !model && object_count(o, PART_CLIP), LEAF_DIR_CLIPS);
	if (model && o->variant && !c)
		leaves_add(l, LEAF_TOP, LEAF_GLB, GLB_MODEL, 0, 0);
	if (model && o->variant && !c && preview_shown(o))
		leaves_add_sized(l, LEAF_TOP, LEAF_PREVIEW, 0, 0, PREVIEW_BYTES);
	add_dir(l, !c || c->raw, LEAF_DIR_RAW);
	leaves_add(l, LEAF_TOP, LEAF_ERRORS, 0, 0, 0);
}

static void add_textures(struct leaves *l, struct unit *u, const struct object *o, const struct unit *mate)
{
	if (u->npictures && leaves_begin_dir(l, LEAF_DIR_TEXTURES))
		for (uint32_t i = 0; i < u->npictures; i++)
			add_linked(l, u, &u->pictures[i]);
	else if (mate)
		add_from_mate(l, mate, LEAF_PNG, 0, LEAF_DIR_TEXTURES, ROLE_TEXTURES);
	else if (has_images(o))
		add_images(l, o, LEAF_DIR_TEXTURES);
}

static void add_animations(struct leaves *l, const struct object *o, const struct mates *m)
{
	const struct model_ops *own = o->format->model;
	bool model = o->format->role == ROLE_MODEL;
	bool bones_here = o->variant && own && own->skeleton && object_count(o, PART_BONE);
	bool moves = model && (bones_here || mate_has(m->bones, LEAF_DOC, DOC_SKELETON));

	if (m->pack)
		add_clips_beside(l, m->pack, moves && m->pack->format->model->clip);
	else
		add_clips(l, o, model ? LEAF_DIR_ANIMATIONS : LEAF_DIR_CLIPS, moves && own && own->clip);
}

int layout_model(struct tree *t, struct unit *u, struct object *o, struct err *e)
{
	struct leaves l = { 0 };
	const struct mates m = {
		unit_mate(t, u, ROLE_SKELETON), unit_mate(t, u, ROLE_TEXTURES), unit_mate(t, u, ROLE_ANIMATIONS)
	};
	int rc = keep_links(u, o, e);

	rc = rc ? rc : keep_clip_names(u, o, e);
	add_all_top(&l, u, o, &m);
	add_meshes(&l, o);
	add_textures(&l, u, o, m.textures);
	add_animations(&l, o, &m);
	rc = rc ? rc : layout_raw(&l, u, o, e);
	if (l.bad || rc) {
		free(l.v);
		return rc ? rc : err_nomem(e);
	}
	u->leaves = realloc(l.v, l.n * sizeof *l.v);
	u->leaves = u->leaves ? u->leaves : l.v;
	u->nleaves = l.n;
	return pieces_index(u) ? err_nomem(e) : 0;
}

/* ---- names ---- */

const char *const leaf_dir_names[] = {
	[LEAF_TOP] = NULL, [LEAF_DIR_MESHES] = "meshes", [LEAF_DIR_TEXTURES] = "textures",
	[LEAF_DIR_ANIMATIONS] = "animations", [LEAF_DIR_CLIPS] = "clips", [LEAF_DIR_RAW] = "raw",
};

static void clip_name(const struct unit *u, const struct leaf *l, struct name *to)
{
	if (!l->role && l->index < u->nclips)
		add_text(to, u->clip_name[l->index]);
	else
		add_number(to, l->index, 3);
}

static void own_name(const struct unit *u, unsigned k, uint32_t index, struct name *to)
{
	const struct own_file *own = &u->format->own[k];
	char *dot;

	if (own->stem) {
		unit_name(u, to->p);
		dot = strrchr(to->p, '.');
		to->n = dot ? (size_t)(dot - to->p) : strlen(to->p);
		to->p[to->n] = 0;
	} else if (own->part != PART_OBJECT) {
		add_number(to, index, 1);
	}
	add_text(to, own->name);
}

static void doc_name(const struct unit *u, const struct leaf *l, struct name *to)
{
	switch (l->arg) {
	case DOC_HEADER: add_text(to, "header.yaml"); return;
	case DOC_SKELETON: add_text(to, "skeleton.yaml"); return;
	case DOC_CLIP: clip_name(u, l, to); break;
	case DOC_MESH:
	case DOC_IMAGE: add_number(to, l->index, 1); break;
	default: own_name(u, l->arg - DOC_OWN, l->index, to); return;
	}
	add_text(to, ".yaml");
}

static void glb_name(const struct unit *u, const struct leaf *l, struct name *to)
{
	if (l->arg == GLB_CLIP)
		clip_name(u, l, to);
	else
		add_text(to, l->arg == GLB_ALL ? ALL_NAME : "model");
	if (l->arg == GLB_CLIP && u->all_suffix && l->index == u->all_clip) {
		add_text(to, "~");
		add_number(to, u->all_suffix, 1);
	}
	add_text(to, ".glb");
}

/* "12" and what follows; a mesh that is all of the model is "model". */
static void numbered_name(const struct leaf *l, const char *rest, struct name *to)
{
	if (l->index == MESH_WHOLE)
		add_text(to, "model");
	else
		add_number(to, l->index, 1);
	add_text(to, rest);
}

static void dir_name(const struct unit *u, const struct leaf *l, struct name *to)
{
	char name[PART_NAME_MAX];

	if (l->arg != LEAF_DIR_PIECES) {
		add_text(to, leaf_dir_names[l->arg]);
		return;
	}
	piece_folder_name(&u->pieces, u->leaves[l->index].index, name);
	add_text(to, name);
}

static const char *part_ext(const struct format *f, unsigned part)
{
	return part ? f->members[part - 1].ext : f->ext;
}

void leaf_name(const struct unit *u, const struct leaf *l, char name[NODE_NAME_MAX])
{
	struct name to = { name, 0 };

	switch (l->kind) {
	case LEAF_DIR: dir_name(u, l, &to); break;
	case LEAF_SECTION_YAML: add_text(&to, u->variant->sections[l->arg].yaml); break;
	case LEAF_DOC: doc_name(u, l, &to); break;
	case LEAF_OBJ: numbered_name(l, ".obj", &to); break;
	case LEAF_MTL: numbered_name(l, ".mtl", &to); break;
	case LEAF_WEIGHTS: numbered_name(l, ".weights.yaml", &to); break;
	case LEAF_PNG: numbered_name(l, ".png", &to); break;
	case LEAF_GLB: glb_name(u, l, &to); break;
	case LEAF_PREVIEW: add_text(&to, "preview.png"); break;
	case LEAF_FILE: own_name(u, l->arg, l->index, &to); break;
	case LEAF_WHOLE: add_text(&to, "whole."); add_text(&to, part_ext(u->format, l->arg)); break;
	case LEAF_SECTION_RAW: add_text(&to, u->variant->sections[l->arg].name); add_text(&to, ".bin"); break;
	case LEAF_PIECE: add_text(&to, piece_name(&u->pieces, l->index)); add_text(&to, ".bin"); break;
	default: add_text(&to, ERRORS_NAME);
	}
}

/* ---- finding leaves ---- */

struct range leaf_range(const struct unit *u, uint32_t first, unsigned dir)
{
	struct range r = { first, u->nleaves };
	uint32_t i = first;

	while (i < r.end) {
		uint32_t mid = i + (r.end - i) / 2;

		if (u->leaves[mid].dir > dir)
			r.end = mid;
		else
			i = mid + 1;
	}
	return r;
}

static bool numbered(const struct unit *u, const struct leaf *l)
{
	switch (l->kind) {
	case LEAF_OBJ:
	case LEAF_MTL:
	case LEAF_WEIGHTS:
	case LEAF_PNG: return l->index != MESH_WHOLE;
	case LEAF_FILE: return u->format->own[l->arg].part != PART_OBJECT;
	case LEAF_GLB: return l->arg == GLB_CLIP && !u->clip_name;
	case LEAF_DOC: break;
	default: return false;
	}
	if (l->arg >= DOC_OWN)
		return u->format->own[l->arg - DOC_OWN].part != PART_OBJECT;
	return l->arg == DOC_MESH || l->arg == DOC_IMAGE || (l->arg == DOC_CLIP && (l->role || !u->clip_name));
}

struct range leaf_numbered(const struct unit *u, struct range r)
{
	while (r.first < r.end && !numbered(u, &u->leaves[r.first]))
		r.first++;
	while (r.first < r.end && !numbered(u, &u->leaves[r.end - 1]))
		r.end--;
	return r;
}

uint32_t leaf_by_number(const struct unit *u, struct range run, uint32_t number)
{
	while (run.first < run.end) {
		uint32_t mid = run.first + (run.end - run.first) / 2;

		if (u->leaves[mid].index < number)
			run.first = mid + 1;
		else
			run.end = mid;
	}
	return run.first;
}

const struct leaf *leaf_find(const struct unit *u, unsigned kind, unsigned arg, uint32_t index)
{
	for (uint32_t i = 0; i < u->nleaves; i++) {
		const struct leaf *l = &u->leaves[i];

		if (l->kind == kind && l->arg == arg && l->index == index && !l->role)
			return l;
	}
	return NULL;
}
