/* Archives whose layout is unknown, searched for PS3 quartets (spec/ps3-pak.md 7.2; design/views-ps3.md). There is no
 * table: what a quartet's MLP says is looked for in the bytes.
 *
 *   MLP  anywhere at a multiple of 4; it ends with its last metadata slice
 *   MMP  at a multiple of 16, where the first meshes' positions lie in their boxes and their indices name vertices
 *   MGP  at a multiple of 16, where there are zeros between its slices, if there is only one such place
 *
 * What cannot be found is left out. No size can change. */
#include "carve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* By which it is known. */
static const struct record *const records[] = { &mlp_header_record, &mlp_record_record, &mlp_metadata_record, NULL };
static const struct variant variants[] = {
	{ .version = "1", .doc = "Nothing is known of what lies between the quartets.", .records = records },
};

struct carve { const struct carve_finding *found; struct entries entries; };

/* ---- detection ---- */

static int probe(struct probe *p)
{
	struct buf streams = { 0 };
	struct carve_finding *f;
	bool any = false;

	if (p->search != SEARCH_NOT &&
	    !carve_search(p->src, 0, !p->whole, p->thorough ? &streams : NULL, &f, NULL)) {
		any = f->any;
		if (any)
			p->finding = &f->f;
		else
			finding_put(&f->f);
		if (!any && p->instead && !carve_deflated(p->src, &streams, p->instead) && p->search == SEARCH_NAMED)
			err_set(p->instead, EBADMSG, "no PS3 model library lies in it");
	}
	buf_free(&streams);
	return any;
}

/* ---- opening ---- */

/* What was found before may be all that there is, or at least where to begin. */
static int find(struct object *o, struct err *e)
{
	struct carve_finding *f = o->around ? (struct carve_finding *)o->around->finding : NULL;
	int rc = 0;

	if (f && carve_holds(o->src, f))
		finding_ref(&f->f);
	else
		rc = carve_search(o->src, f && !f->whole ? f->from : 0, false, NULL, &f, e);
	if (!rc)
		o->finding = &f->f;
	return rc;
}

/* Quartets that have bytes of each other, or members that have, are not written. */
static int find_shared(const struct carve_finding *f, struct entry *v, struct err *e)
{
	struct claim *all = malloc((3 * (size_t)f->n + 1) * sizeof *all);
	size_t n = 0;

	if (!all)
		return err_nomem(e);
	for (uint32_t i = 0; i < f->n; i++) {
		const struct carve_place *own[] = { &f->v[i].mlp, &f->v[i].mmp, &f->v[i].mgp };

		for (size_t k = 0; k < ARRAY_LEN(own); k++)
			if (own[k]->at != CARVE_NONE)
				all[n++] = (struct claim){ own[k]->at, own[k]->at + own[k]->size, i, false };
	}
	claims_compare(all, n);
	for (size_t k = 0; k < n; k++)
		v[all[k].owner].shared |= all[k].shared;
	free(all);
	return 0;
}

static struct entry entry_of(const struct carve_place *p, bool shared)
{
	return p->at == CARVE_NONE ? (struct entry){ 0 } :
	       (struct entry){ .at = p->at, .size = p->size, .shared = shared };
}

static int fill(struct object *o, struct carve *c, struct err *e)
{
	const struct carve_finding *f = c->found;
	struct entry *v = arena_alloc(&o->arena, f->n, sizeof *v);
	struct entry (*member)[MEMBERS_MOST] = arena_alloc(&o->arena, f->n, sizeof *member);
	const char **name = arena_alloc(&o->arena, f->n, sizeof *name);
	int rc = v && member && name ? find_shared(f, v, e) : err_nomem(e);

	for (uint32_t i = 0; i < f->n && !rc; i++) {
		const struct carved *q = &f->v[i];
		bool shared = v[i].shared;

		v[i] = entry_of(&q->mlp, shared);
		member[i][0] = entry_of(&q->mmp, shared);
		member[i][1] = entry_of(&q->mgp, shared);
		name[i] = arena_printf(&o->arena, "%08" PRIx64 ".mlp", q->mlp.at);
		rc = name[i] ? 0 : err_nomem(e);
	}
	c->entries = (struct entries){
		.v = v, .n = f->n, .name = name, .member = (const struct entry (*)[MEMBERS_MOST])member,
	};
	return rc;
}

static int open_carve(struct object *o, struct err *e)
{
	struct carve *c = arena_alloc(&o->arena, 1, sizeof *c);
	int rc = c ? find(o, e) : err_nomem(e);

	if (rc)
		return rc;
	o->priv = c;
	c->found = (const struct carve_finding *)o->finding;
	if (!c->found->n)
		return err_set(e, EBADMSG, "no model library lies in it");
	rc = fill(o, c, e);
	if (!rc)
		o->variant = &variants[0];
	return rc;
}

/* ---- views ---- */

static int list(struct object *o, struct entries *out, struct err *e)
{
	const struct carve *c = o->priv;

	if (!o->variant)
		return err_set(e, EBADMSG, "%s", o->faults ? o->faults->text : "no model library lies in it");
	*out = c->entries;
	return 0;
}

static int info(struct object *o, const struct entries *entries, struct doc *doc, struct err *e)
{
	const struct carve *c = o->priv;
	const struct carve_finding *f = c->found;
	uint32_t mmp = 0, mgp = 0, shared = 0;

	(void)e;
	for (uint32_t i = 0; i < f->n; i++) {
		mmp += f->v[i].has_mmp && f->v[i].mmp.at == CARVE_NONE;
		mgp += f->v[i].has_mgp && f->v[i].mgp.at == CARVE_NONE;
		shared += entries->v[i].shared;
	}
	doc_text(doc, "quartets", DOC_PLAIN, "%u", f->n);
	doc_text(doc, "without_mmp", DOC_PLAIN, "%u", mmp);
	doc_text(doc, "without_mgp", DOC_PLAIN, "%u", mgp);
	if (shared)
		doc_text(doc, "shared_quartets", DOC_PLAIN, "%u", shared);
	if (f->cut)
		doc_comment(doc, "the search was given up before its end: there is too much that looks like models");
	if (o->src->size > CARVE_END)
		doc_comment(doc, "only the first 4 GiB were searched");
	return 0;
}

/* ---- writing ---- */

static int resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e)
{
	uint64_t have = v->v[i].size;

	(void)o;
	if (size > have)
		return err_set(e, ENOSPC, "%s: %" PRIu64 " bytes are needed, and there are %" PRIu64 ": %" PRIu64
			       " bytes are missing; what follows is unknown", v->name[i], size, have, size - have);
	return size == have ? 0 : err_set(e, EPERM, "%s: %" PRIu64 " bytes needed, got %" PRIu64
					  "; what was found in unknown bytes keeps its size", v->name[i], have, size);
}

/* ---- format ---- */

static const struct container_ops container = {
	.open = open_carve, .list = list, .info = info, .resize = resize, .separator = '/',
};

const struct format fmt_carved = {
	.name = "carved", .title = "Archive of unknown layout, searched for models", .ext = "pak",
	.doc = "Bytes of which nothing is known but that PS3 quartets lie among them. They are found by what their "
	       "tables say of them.",
	.be = true, .probe = probe, .searches = true, .variants = variants, .nvariants = ARRAY_LEN(variants),
	.container = &container,
};
