/* What was written over a file of the tree becomes writes of an edit: the one place that knows how each kind of file is
 * read back. */
#include "apply.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "export.h"
#include "glbapply.h"

/* ---- documents ---- */

static int apply_tree(struct edit *ed, struct unit *u, unsigned kind, uint32_t index, struct ynode *root,
		      struct arena *a, struct err *e)
{
	const struct model_ops *m = u->format->model;
	struct yedit_rest rest = { .again = edit_is_second(ed) };
	struct object *o;
	int rc = edit_object(ed, u, &o, e);

	if (!rc && m->doc_tree)
		rc = m->doc_tree(o, kind, index, root, e);
	rc = rc ? rc : yedit_apply(o, kind, index, root, &rest, a, e);
	if (!rc && rest.n) {
		/* What was written so far may be what the rest depends on. */
		edit_reopen(ed);
		rc = edit_object(ed, u, &o, e);
		if (!rc && m->doc_put)
			rc = m->doc_put(o, kind, index, root, rest.v, rest.n, e);
		rc = rc ? rc : yedit_refuse(&rest, e);
	}
	return rc;
}

static int apply_yaml(struct edit *ed, struct unit *u, const struct leaf *l, const struct buf *text, struct arena *a,
		      struct err *e)
{
	bool section = l->kind == LEAF_SECTION_YAML;
	struct ynode *root;
	int rc = yaml_read(text->p, text->len, &root, a, e);

	return rc ? rc : apply_tree(ed, u, section ? DOC_SECTION : l->arg, section ? l->arg : l->index, root, a, e);
}

/* ---- geometry and pictures ---- */

static void log_said(void *ctx, const char *text)
{
	edit_say(ctx, text);
}

static int apply_mesh(struct edit *ed, struct object *o, const struct leaf *l, const struct buf *text, struct arena *a,
		      struct err *e)
{
	struct reader_log log = { log_said, ed };
	const struct model_ops *m = o->format->model;
	struct geo_weights weights = { 0 };
	struct geo_form form = { 0 };
	struct geo_put put = { 0 };
	int rc;

	if (l->kind == LEAF_OBJ) {
		rc = m->form ? m->form(o, l->index, &form, a, e) : 0;
		rc = rc ? rc : obj_read(text->p, text->len, l->index, &form, &put, a, &log, e);
		return rc ? rc : m->mesh_put(o, l->index, &put, e);
	}
	rc = weights_read(text->p, text->len, &weights, a, e);
	return rc ? rc : m->weights_put(o, l->index, &weights, e);
}

static int apply_png(struct object *o, const struct leaf *l, const struct buf *text, struct arena *a, struct err *e)
{
	const struct model_ops *m = o->format->model;
	struct geo_image old = { 0 }, now = { 0 };
	uint32_t w, h;
	int rc = m->image(o, l->index, &old, a, e);

	rc = rc ? rc : png_size(text->p, text->len, &w, &h, e);
	if (!rc && (w != old.w || h != old.h) && m->image_fits)
		rc = m->image_fits(o, l->index, w, h, e);
	rc = rc ? rc : png_read(text->p, text->len, old.w, old.h, &now, a, e);
	return rc ? rc : m->image_put(o, l->index, &now, e);
}

/* All of it lies in memory while the format looks at it. */
static int apply_file(struct edit *ed, struct unit *u, const struct leaf *l, struct store *text, struct err *e)
{
	struct source *now = NULL;
	struct buf b = { 0 };
	struct object *o;
	int rc = store_text(text, LIMIT_DECODED, &b, e);

	rc = rc ? rc : edit_object(ed, u, &o, e);
	if (!rc) {
		now = src_memory(b.p, b.len);
		rc = now ? o->format->model->file_put(o, l->arg, l->index, now, e) : err_nomem(e);
	}
	src_put(now);
	buf_free(&b);
	return rc;
}

static int apply_text(struct edit *ed, struct unit *u, const struct leaf *l, struct store *text, struct err *e)
{
	bool yaml = l->kind == LEAF_SECTION_YAML || l->kind == LEAF_DOC;
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct object *o = NULL;
	int rc = store_text(text, yaml ? YAML_MOST : LIMIT_DECODED, &b, e);

	if (!rc && yaml)
		rc = apply_yaml(ed, u, l, &b, &a, e);
	else if (!rc)
		rc = edit_object(ed, u, &o, e);
	if (!rc && o)
		rc = l->kind == LEAF_PNG ? apply_png(o, l, &b, &a, e) : apply_mesh(ed, o, l, &b, &a, e);
	arena_free(&a);
	buf_free(&b);
	return rc;
}

/* ---- bytes ---- */

struct patching { struct source *src; struct err *e; };

/* Bytes that are equal cost nothing later: a settled plan has none of them. */
static int put_piece(void *ctx, uint64_t at, const uint8_t *p, size_t n)
{
	const struct patching *k = ctx;

	return src_write(k->src, p, n, at, "the entry", k->e);
}

/* All of src, which may be longer than the text: then the rest is zero. */
static int put_bytes(struct source *src, struct store *text, struct err *e)
{
	static const uint8_t zero[4096];
	struct patching k = { src, e };
	uint64_t at = store_size(text);
	int rc;

	if (at > src->size)
		return err_set(e, ENOSPC, "the entry has room for %" PRIu64 " bytes, %" PRIu64 " are needed: %" PRIu64
			       " bytes are missing", src->size, at, at - src->size);
	rc = store_each(text, put_piece, &k);
	if (rc == -ENOMEM)
		err_nomem(e);
	for (; at < src->size && !rc; at += sizeof zero)
		rc = put_piece(&k, at, zero, src->size - at < sizeof zero ? (size_t)(src->size - at) : sizeof zero);
	return rc;
}

static int apply_part(struct edit *ed, struct unit *u, const struct leaf *l, struct store *text, struct err *e)
{
	struct object *o;
	struct source *part, *slice;
	const struct piece *p;
	struct span span;
	int rc = edit_object(ed, u, &o, e);

	if (rc)
		return rc;
	p = l->kind == LEAF_PIECE ? &u->pieces.v[l->index] : NULL;
	span = p ? (struct span){ p->at, p->size, p->part } : object_section(o, l->arg);
	if (store_size(text) != span.size)
		return err_set(e, EINVAL, "%" PRIu64 " bytes needed, got %" PRIu64, span.size, store_size(text));
	part = object_part(o, span.part);
	slice = part ? src_slice(part, span.at, span.size) : NULL;
	if (!slice)
		return err_nomem(e);
	rc = put_bytes(slice, text, e);
	src_put(slice);
	return rc;
}

/* What tells that an entry is stored without the cipher has to stay, or it would be read through it. */
static int check_bare(const struct unit *u, const struct kid *kid, struct source *src, struct err *e)
{
	uint8_t first[4];

	if (!kid->bare)
		return 0;
	return !src_pread(src, first, sizeof first, 0) && u->format->container->stored_plain(first) ? 0 :
	       err_set(e, EINVAL, "it is stored without encryption, which only its first bytes tell: they have to "
		       "stay what they are");
}

static int apply_entry(struct edit *ed, struct unit *u, uint32_t kid, struct store *text, struct err *e)
{
	struct source *src;
	int rc = edit_resize_kid(ed, u, kid, store_size(text), &src, e);

	rc = rc ? rc : put_bytes(src, text, e);
	return rc ? rc : check_bare(u, &u->kids[kid], src, e);
}

/* ---- all of it ---- */

int apply_node(struct edit *ed, struct node n, struct store *text, struct err *e)
{
	struct source *src;
	struct leaf l;
	struct unit *u;
	int rc;

	if (!node_leaf(n))
		return apply_entry(ed, n.unit, n.local - 1, text, e);
	u = apply_owner(n, &l);
	if (!u)
		return err_set(e, EIO, "the companion is gone");
	switch (l.kind) {
	case LEAF_WHOLE:
		rc = edit_resize_unit(ed, u, l.arg, store_size(text), &src, e);
		return rc ? rc : put_bytes(src, text, e);
	case LEAF_SECTION_RAW:
	case LEAF_PIECE:
		return apply_part(ed, u, &l, text, e);
	case LEAF_FILE:
		return apply_file(ed, u, &l, text, e);
	case LEAF_GLB:
		return l.arg == GLB_MODEL ? apply_glb(ed, u, text, e) : apply_animations(ed, u, &l, text, e);
	default:
		return apply_text(ed, u, &l, text, e);
	}
}

struct unit *apply_owner(struct node n, struct leaf *there)
{
	const struct leaf *l = node_leaf(n);
	struct leaf found;

	return l ? unit_of_leaf(n.unit->tree, n.unit, l, there ? there : &found) : n.unit;
}

bool apply_repeats(struct node n)
{
	const struct leaf *l = node_leaf(n);

	/* A picture of more colours than the palette holds is another one once it is saved; a header may number parts
	 * that have other numbers once one is removed. */
	return l && l->kind != LEAF_PNG && l->kind != LEAF_WHOLE && !(l->kind == LEAF_DOC && l->arg == DOC_HEADER);
}

static bool clips_writable(struct tree *t, struct unit *u)
{
	struct unit *pack = apply_pack(u);

	return pack->format->model && pack->format->model->clips_put && tree_file_writable(t, tree_file(t, pack->file));
}

/* Whether the format can write this very part, as the tables tell. */
static bool can_put(struct tree *t, struct unit *u, unsigned part, uint32_t index)
{
	const struct model_ops *m = u->format->model;
	struct cached *hold;
	struct object *o;
	bool can;

	if (!m->can_put)
		return true;
	if (unit_object(t, u, &hold, &o, NULL))
		return false;
	can = m->can_put(o, part, index);
	cached_put(hold);
	return can;
}

static int no_writes(struct err *e)
{
	return err_set(e, EACCES, "cannot be written");
}

static int never_written(const char *why, struct err *e)
{
	return err_set(e, EROFS, "%s", why ? why : "it cannot be written where it lies");
}

/* An entry of a container. */
static int may_write_kid(struct tree *t, const struct unit *u, uint32_t i, struct err *e)
{
	const struct entry *v = &u->kids[i].entry;
	const char *why = u->why ? u->why[i] : NULL;

	if (v->fixed || unit_is_fixed(t, u, &why))
		return never_written(why, e);
	/* What is packed anew goes somewhere, wherever it was. */
	if (v->lost && !u->format->container->put)
		return err_set(e, EIO, "%s", why ? why : "its place in the archive cannot be");
	return v->shared || unit_is_shared(t, u) ? no_writes(e) : 0;
}

/* Whether what a leaf shows can be written, wherever it lies. */
static bool can_write(struct tree *t, struct unit *u, const struct leaf *l)
{
	const struct model_ops *m = u->format->model;

	switch (l->kind) {
	case LEAF_MTL:
	case LEAF_PREVIEW:
	case LEAF_ERRORS: return false;
	case LEAF_GLB: return l->arg == GLB_MODEL ? m && m->mesh_put : clips_writable(t, u);
	case LEAF_OBJ: return m && m->mesh_put && can_put(t, u, PART_MESH, l->index);
	case LEAF_WEIGHTS: return m && m->weights_put && can_put(t, u, PART_MESH, l->index);
	case LEAF_PNG: return m && m->image_put && can_put(t, u, PART_IMAGE, l->index);
	case LEAF_FILE: return m && m->file_put;
	case LEAF_DOC: return l->arg < DOC_OWN || !u->format->own[l->arg - DOC_OWN].fixed;
	default: return true;
	}
}

int node_may_write(struct tree *t, struct node n, struct err *e)
{
	const char *why = NULL;
	struct leaf l;
	struct unit *u;

	if (!t->writable || n.host || (!n.scratch && node_is_dir(n)))
		return no_writes(e);
	if (n.scratch)
		return 0;
	if (!node_leaf(n))
		return may_write_kid(t, n.unit, n.local - 1, e);
	u = apply_owner(n, &l);
	if (!u || unit_is_shared(t, u) || !tree_file_writable(t, tree_file(t, u->file)) || !can_write(t, u, &l))
		return no_writes(e);
	return unit_is_fixed(t, u, &why) ? never_written(why, e) : 0;
}
