/* Display lists taken apart and put together again with other PRIMs, and where all blocks of a model lie (spec/mhp.md
 * 3.6). Of a list nothing but its PRIMs, VADDR and IADDR is changed: other commands stay as they are, known or not. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmo_topology.h"

PRINTF(5, 6)
static int refuse(const struct pmo *p, uint32_t g, uint32_t at, struct err *e, const char *fmt, ...)
{
	char what[32];
	va_list ap;

	snprintf(what, sizeof what, "display list %u", g);
	va_start(ap, fmt);
	err_vat(e, EINVAL, p->region.src, p->region.at + at, what, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A PRIM, or a NOP in the place of one when the group is hidden. */
static bool is_prim(const struct pmo_list *l, uint32_t word)
{
	return ge_op(word) == GE_PRIM || (l->hidden && ge_op(word) == GE_NOP && ge_is_prim_arg(ge_arg(word)));
}

/* ---- taking apart ---- */

/* All PRIMs, which tells where the list ends; they draw triangles that face one way. */
static int walk_prims(const struct pmo *p, uint32_t g, struct pmo_list *l, uint32_t *end, struct err *e)
{
	bool any = false;
	struct ge_walk w;
	struct ge_prim prim;
	int rc;

	pmo_walk(p, g, l->hidden, &w);
	while ((rc = ge_walk_next(&w, &prim, e)) > 0) {
		if (prim.type < GE_TRIANGLES || prim.type > GE_FAN)
			return refuse(p, g, prim.at, e,
				      "draws something other than triangles, so a new topology cannot replace it");
		l->reversed = prim.reversed;
		any = true;
	}
	l->vertex = w.vertex;
	l->reversed = any ? l->reversed : w.reversed;
	*end = w.pc;
	return rc;
}

/* The commands that new PRIMs depend on stand before them, each once. */
static int take_word(const struct pmo *p, uint32_t g, struct pmo_list *l, uint32_t word, uint32_t at, struct err *e)
{
	bool vaddr = ge_op(word) == GE_VADDR, iaddr = ge_op(word) == GE_IADDR && l->vertex.index_size;

	if ((vaddr && l->vaddr != GE_NO_ADDRESS) || (iaddr && l->iaddr != GE_NO_ADDRESS))
		return refuse(p, g, at, e, "has a second %s: a list with several cannot be given a new topology",
			      vaddr ? "VADDR" : "IADDR");
	if (l->prims != GE_NO_ADDRESS && (vaddr || iaddr || ge_op(word) == GE_VTYPE))
		return refuse(p, g, at, e, "has %s behind its first PRIM: such a list cannot be given a new topology",
			      vaddr ? "VADDR" : iaddr ? "IADDR" : "VTYPE");
	if (vaddr)
		l->vaddr = l->nwords;
	if (iaddr)
		l->iaddr = l->nwords;
	l->word[l->nwords++] = word;
	return 0;
}

/* between: words kept since the first PRIM that are more than an empty NOP. */
static int take_words(const struct pmo *p, uint32_t g, struct pmo_list *l, const uint8_t *raw, uint32_t n,
		      struct err *e)
{
	uint32_t at = p->group[g].display_list, between = 0;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		uint32_t word = le_u32(raw + 4 * (size_t)i);

		if (is_prim(l, word) && between)
			return refuse(p, g, at + 4 * i, e,
				      "has commands between its PRIMs: such a list cannot be given a new topology");
		if (is_prim(l, word)) {
			l->prims = l->prims == GE_NO_ADDRESS ? l->nwords : l->prims;
			l->old[l->nold++] = ge_arg(word);
			continue;
		}
		between += word && l->prims != GE_NO_ADDRESS;
		rc = take_word(p, g, l, word, at + 4 * i, e);
	}
	return rc;
}

/* A list without PRIMs has room for them in front of the closing OFFSETADDR, behind which the engine finds no vertices;
 * one that lost all of them has a NOP there. */
static void place_prims(struct pmo_list *l)
{
	l->prims = l->nwords - 1;
	if (l->prims && ge_op(l->word[l->prims - 1]) == GE_OFFSETADDR)
		l->prims--;
	if (l->prims && !l->word[l->prims - 1]) {
		l->prims--;
		l->nwords--;
		memmove(l->word + l->prims, l->word + l->prims + 1, (l->nwords - l->prims) * sizeof *l->word);
	}
}

/* Putting the list together at its old place gives the old words. */
static int check_addresses(const struct pmo *p, uint32_t g, const struct pmo_list *l, struct err *e)
{
	const struct pmo_group *group = &p->group[g];
	struct ge_address a = { 0 };

	if (!l->vertex.stride || l->vaddr == GE_NO_ADDRESS)
		return refuse(p, g, group->display_list, e, "has no %s, so nothing can be drawn with it",
			      l->vertex.stride ? "VADDR" : "VTYPE");
	if (l->vertex.index_size && l->iaddr == GE_NO_ADDRESS)
		return refuse(p, g, group->display_list, e,
			      "has no IADDR but goes on with the indices of another list: it cannot be given a new "
			      "topology");
	for (uint32_t i = 0, at = group->display_list; i < l->prims; i++, at += 4) {
		bool vaddr = i == l->vaddr;
		uint32_t want = vaddr ? group->vertex_buffer : group->index_buffer;

		ge_address_follow(&a, l->word[i], at);
		if ((vaddr || i == l->iaddr) && ge_address_of(&a, ge_arg(l->word[i])) != want)
			return refuse(p, g, at, e, "%s leads to offset 0x%x of the geometry, the %s buffer is at 0x%x",
				      vaddr ? "VADDR" : "IADDR", ge_address_of(&a, ge_arg(l->word[i])),
				      vaddr ? "vertex" : "index", want);
	}
	return 0;
}

int pmo_list_read(const struct pmo *p, uint32_t g, struct pmo_list *out, struct arena *a, struct err *e)
{
	const struct pmo_group *group = &p->group[g];
	uint32_t end, n;
	uint8_t *raw;
	int rc;

	*out = (struct pmo_list){ .prims = GE_NO_ADDRESS, .vaddr = GE_NO_ADDRESS, .iaddr = GE_NO_ADDRESS,
				  .hidden = group->hidden };
	rc = walk_prims(p, g, out, &end, e);
	if (rc)
		return rc;
	n = out->size = (end - group->display_list) / 4;
	raw = arena_alloc(a, n, 4);
	out->word = arena_alloc(a, n, sizeof *out->word);
	out->old = arena_alloc(a, n, sizeof *out->old);
	if (!raw || !out->word || !out->old)
		return err_nomem(e);
	rc = src_read(p->region.src, raw, 4 * (size_t)n, p->region.at + group->display_list, "display list", e);
	rc = rc ? rc : take_words(p, g, out, raw, n, e);
	if (!rc && out->prims == GE_NO_ADDRESS)
		place_prims(out);
	return rc ? rc : check_addresses(p, g, out, e);
}

/* ---- putting together ---- */

int pmo_list_write(const struct pmo_list *list, uint32_t at, uint32_t vertices, uint32_t indices,
		   const uint32_t *prims, uint32_t nprims, struct buf *out, struct err *e)
{
	uint32_t n = list->nwords + nprims;
	uint8_t *p = buf_room(out, 4 * (size_t)n);
	struct ge_address a = { 0 };

	if (!p)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++, at += 4, p += 4) {
		bool prim = i >= list->prims && i < list->prims + nprims;
		uint32_t k = prim || i < list->prims ? i : i - nprims, word, want;

		if (prim) {
			word = prims[i - list->prims];
			put_le32(p, ge_word(list->hidden || !word ? GE_NOP : GE_PRIM, word));
			continue;
		}
		word = list->word[k];
		ge_address_follow(&a, word, at);
		if (k == list->vaddr || k == list->iaddr) {
			want = k == list->vaddr ? vertices : indices;
			word = ge_word(ge_op(word), ge_address_arg(&a, want));
			if (ge_address_of(&a, ge_arg(word)) != want)
				return err_set(e, EFBIG,
					       "offset 0x%x of the geometry is too far from the display list at 0x%x",
					       want, at - 4 * i);
		}
		put_le32(p, word);
	}
	out->len += 4 * (size_t)n;
	return 0;
}

/* ---- blocks ---- */

/* Where the indices of a group lie: from its first PRIM to its last. *inherits: the first goes on where a list before
 * left off. */
static int indices_of(const struct pmo *p, uint32_t g, struct block *list, struct block *indices, bool *inherits,
		      struct err *e)
{
	const struct pmo_group *group = &p->group[g];
	struct ge_walk w;
	struct ge_prim prim;
	uint64_t from = UINT64_MAX, to = 0, size;
	int rc;

	pmo_walk(p, g, group->hidden, &w);
	w.indices = GE_NO_ADDRESS;
	while ((rc = ge_walk_next(&w, &prim, NULL)) > 0) {
		if (prim.indices == GE_NO_ADDRESS)
			continue;
		size = (uint64_t)prim.count * w.vertex.index_size;
		from = prim.indices < from ? prim.indices : from;
		to = prim.indices + size > to ? prim.indices + size : to;
	}
	*inherits = rc == -EBADMSG;
	if (rc && rc != -EBADMSG)
		return err_at(e, -rc, p->region.src, p->region.at + w.pc, "display list", "%s", strerror(-rc));
	*list = (struct block){ .at = group->display_list, .size = w.pc - group->display_list };
	*indices = to ? (struct block){ .at = from, .size = to - from } : (struct block){ .at = group->index_buffer };
	return 0;
}

int pmo_blocks(const struct object *o, struct block **out, struct arena *a, struct err *e)
{
	const struct pmo *p = o->priv;
	uint32_t n = p->table[PMO_GROUPS].n;
	struct pmo_window win = { 0 };
	struct block *b = arena_alloc(a, (size_t)n + 1, 3 * sizeof *b);
	int rc = b ? 0 : err_nomem(e);

	*out = b;
	for (uint32_t g = 0; g < n && !rc; g++, b += 3) {
		const struct pmo_group *group = &p->group[g];
		struct pmo_scan scan;
		bool inherits = false;

		if (group->bad)
			rc = refuse(p, g, group->display_list, e,
				    "group %u is damaged, so free room cannot be told from it: no mesh of this model "
				    "can be given a new topology",
				    g);
		rc = rc ? rc : indices_of(p, g, &b[0], &b[2], &inherits, e);
		if (!rc && inherits)
			rc = refuse(p, g, group->display_list, e,
				    "goes on with the indices of another list: no mesh of this model can be given a "
				    "new topology");
		rc = rc ? rc : pmo_group_scan(p, g, 0, NULL, &win, &scan, e);
		if (rc)
			break;
		b[1] = (struct block){ .at = group->vertex_buffer,
				       .size = (uint64_t)scan.vertices * scan.vertex.stride };
		for (unsigned k = 0; k < 3; k++)
			b[k].want = b[k].size;
	}
	buf_free(&win.bytes);
	return rc;
}
