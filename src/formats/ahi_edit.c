/* What is written to a skeleton beyond single values: names, and parents with the links that follow them.
 *
 * A bone leads to its first child, and each child to the next one; both lie in the order of their numbers. Roots are
 * linked likewise, unless a skeleton with several has none of them linked. A bone that gets another parent changes the
 * children of the old and of the new one; all other links stay as they are stored. */
#include "ahi.h"

#include <errno.h>
#include <string.h>

#include "bytes.h"

struct links { int32_t parent, child, sibling; };

struct editing {
	struct object *o;
	const struct ahi_skeleton *s;
	struct links *stored, *now;
	int32_t *first;                        /* child of bone k - 1 by the parents; [0]: root */
	bool *changed;                         /* whose children change, likewise */
	bool separate;                         /* roots are not linked */
	struct arena a;
};

/* ---- links ---- */

static int keep_links(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	struct links *v = ctx;

	(void)src;
	(void)at;
	v[i] = (struct links){ (int32_t)le_u32(raw + AHI_PARENT), (int32_t)le_u32(raw + AHI_PARENT + 4),
			       (int32_t)le_u32(raw + AHI_PARENT + 8) };
	return 0;
}

static bool roots_separate(const struct links *v, uint32_t n)
{
	uint32_t roots = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (v[i].parent == -1 && v[i].sibling != -1)
			return false;
		roots += v[i].parent == -1;
	}
	return roots > 1;
}

static int read_links(struct editing *d, struct err *e)
{
	uint32_t n = d->s->nbones;
	int rc;

	if (d->stored)
		return 0;
	d->stored = arena_alloc(&d->a, n, sizeof *d->stored);
	d->now = arena_alloc(&d->a, n, sizeof *d->now);
	d->first = arena_alloc(&d->a, (size_t)n + 1, sizeof *d->first);
	d->changed = arena_alloc(&d->a, (size_t)n + 1, sizeof *d->changed);
	if (!d->stored || !d->now || !d->first || !d->changed)
		return err_nomem(e);
	rc = object_section_records(d->o, 1, keep_links, d->stored, e);
	if (rc)
		return rc;
	memcpy(d->now, d->stored, n * sizeof *d->now);
	memset(d->first, 0xff, ((size_t)n + 1) * sizeof *d->first);
	d->separate = roots_separate(d->stored, n);
	return 0;
}

static bool has_children(const struct editing *d, int32_t parent)
{
	return parent >= -1 && parent < (int64_t)d->s->nbones;
}

static int take_parent(struct editing *d, uint32_t i, const struct ynode *value, struct err *e)
{
	int rc = read_links(d, e);
	int32_t parent, was;
	struct field f;
	uint8_t raw[4];

	rec_field(d->o->variant->sections[1].record, "parent", &f);
	f.at = 0;
	rc = rc ? rc : ynode_parse(value, &f, false, raw, e);
	if (rc)
		return rc;
	parent = (int32_t)le_u32(raw);
	was = d->stored[i].parent;
	if (parent == was)
		return 0;
	if (parent < -1 || parent >= (int64_t)i)
		return err_line(e, EINVAL, value->line, value->column,
				i ? "bone %u: parent %d, expected null or an earlier bone" :
				"bone %u: parent %d, expected null: the first bone is a root", i, parent);
	d->now[i].parent = parent;
	d->changed[parent + 1] = true;
	if (has_children(d, was))
		d->changed[was + 1] = true;
	return 0;
}

/* From the last bone to the first, so that each finds the next child of its parent. */
static void link_bones(struct editing *d)
{
	for (uint32_t i = d->s->nbones; i-- > 0;) {
		struct links *bone = &d->now[i];
		int32_t *first = has_children(d, bone->parent) ? &d->first[bone->parent + 1] : NULL;

		if (!first || !d->changed[bone->parent + 1])
			continue;
		if (bone->parent != -1 || !d->separate)
			bone->sibling = *first;
		else if (d->stored[i].parent != -1)
			bone->sibling = -1;
		*first = (int32_t)i;
	}
	for (uint32_t i = 0; i < d->s->nbones; i++)
		if (d->changed[i + 1])
			d->now[i].child = d->first[i + 1];
}

static int write_links(struct editing *d, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < d->s->nbones && !rc; i++) {
		uint64_t at = d->s->bones_at + (uint64_t)i * d->s->bone_size + AHI_PARENT;
		const struct links *v = &d->now[i];
		uint8_t raw[12];

		if (!memcmp(v, &d->stored[i], sizeof *v))
			continue;
		put_le32(raw, (uint32_t)v->parent);
		put_le32(raw + 4, (uint32_t)v->child);
		put_le32(raw + 8, (uint32_t)v->sibling);
		rc = object_patch(d->o, 0, at, raw, sizeof raw, "links of a bone", e);
	}
	return rc;
}

/* ---- names ---- */

/* Only the name and the zero that ends it are written: what lies behind that is left over from a longer one and stays.
 */
static int take_name(struct editing *d, uint32_t i, const struct ynode *value, struct err *e)
{
	uint64_t at = d->s->bones_at + (uint64_t)i * d->s->bone_size + AHI_NAME;
	char was[AHI_NAME_SIZE], is[AHI_NAME_SIZE] = { 0 };
	struct field f;
	size_t n;
	int rc = 0;

	rec_field(d->o->variant->sections[1].record, "name", &f);
	f.at = 0;
	rc = ynode_parse(value, &f, false, (uint8_t *)is, e);
	rc = rc ? rc : src_read(d->o->src, was, sizeof was, at, "name of a bone", e);
	if (rc)
		return rc;
	n = strnlen(is, sizeof is);
	for (size_t k = n; k < sizeof is; k++)
		if (is[k])
			return err_line(e, EINVAL, value->line, value->column,
					"bone %u: name: byte %zu is not zero, but the name ends before", i, k);
	n += n < sizeof is;
	return object_patch(d->o, 0, at, is, n, "name of a bone", e);
}

/* ---- changes ---- */

static int take_changes(struct editing *d, struct doc_change *change, unsigned n, struct err *e)
{
	int rc = 0;

	for (unsigned k = 0; k < n && !rc; k++) {
		struct doc_change *c = &change[k];

		if (c->kind != CHANGE_TEXT || c->depth != 1 || c->item[0] >= d->s->nbones)
			continue;
		c->taken = true;
		if (!strcmp(c->key, "parent"))
			rc = take_parent(d, c->item[0], c->value, e);
		else if (!strcmp(c->key, "name") && d->s->bone_size == AHI_BONE_MHP3RD)
			rc = take_name(d, c->item[0], c->value, e);
		else
			c->taken = false;
	}
	if (rc || !d->stored)
		return rc;
	link_bones(d);
	return write_links(d, e);
}

int ahi_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e)
{
	struct editing d = { .o = o, .s = o->priv };
	int rc = kind == DOC_SKELETON ? take_changes(&d, change, n, e) : 0;

	(void)index;
	(void)root;
	arena_free(&d.a);
	return rc;
}

/* ---- check ---- */

struct checking { const struct record *r; struct err *e; };

static int check_link(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	const struct checking *c = ctx;
	struct ahi_bone b;

	(void)src;
	(void)at;
	rec_decode(c->r, false, raw, &b);
	if (b.link >= -1 && b.link < (int64_t)i)
		return 0;
	return err_set(c->e, EINVAL, "bone %u: link %d, expected null or an earlier bone", i, b.link);
}

int ahi_check(struct object *o, struct err *e)
{
	struct checking c = { o->variant->sections[1].record, e };
	const struct ahi_skeleton *s = o->priv;

	return s->nbones ? object_section_records(o, 1, check_link, &c, e) : 0;
}
