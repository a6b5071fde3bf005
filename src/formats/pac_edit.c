/* PAC: entries of another length.
 *
 * An entry that becomes shorter leaves zeros behind and nothing else moves. One that becomes longer takes the gap in
 * front of the next entry, or the tail; where that is not enough, the entries behind it move back, each to the next
 * multiple of the alignment, until one finds the place it has still free. Only for what goes past the end of the PAC,
 * what the PAC lies in is asked. */
#include "pac.h"

#include <errno.h>
#include <inttypes.h>

#include "bytes.h"

#define ALIGN_UNKNOWN 16u

struct edit {
	struct object *o;
	struct entry *v;
	uint32_t n, i;                         /* entries; the one that gets another length */
	uint32_t align;
};

static bool is_used(const struct entry *v)
{
	return v->at || v->size;
}

/* The end of what lies in front of entry i. */
static uint64_t end_before(const struct edit *t, uint32_t i)
{
	while (i--)
		if (is_used(&t->v[i]))
			return t->v[i].at + t->v[i].size;
	return PAC_TABLE_SIZE(t->n);
}

static int check_order(const struct edit *t, struct err *e)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (is_used(&t->v[i]) && t->v[i].at < end_before(t, i))
			return err_set(e, EINVAL, "entry %u of the PAC overlaps the one before it: no size can change",
				       i);
	return 0;
}

static int write_table(const struct edit *t, struct err *e)
{
	uint8_t table[PAC_TABLE_SIZE(PAC_COUNT_MAX)];

	put_le32(table, t->n);
	for (uint32_t i = 0; i < t->n; i++) {
		put_le32(table + PAC_TABLE_SIZE(i), (uint32_t)t->v[i].at);
		put_le32(table + PAC_TABLE_SIZE(i) + 4, (uint32_t)t->v[i].size);
	}
	return object_patch(t->o, 0, 0, table, PAC_TABLE_SIZE(t->n), "PAC table", e);
}

/* ---- shorter ---- */

static int shrink(const struct edit *t, uint64_t size, struct err *e)
{
	const struct pac *pac = t->o->priv;
	struct entry *v = &t->v[t->i];
	int rc;

	/* With no entry left it has to look like a stage's placeholder. */
	if (!size && pac->used == 1 && (t->n < PAC_STAGE_LEAST || t->n > PAC_STAGE_MOST))
		return err_set(e, EINVAL, "entry %u is the only one of the PAC's %u that is not empty and has to stay",
			       t->i, t->n);
	rc = src_clear(t->o->src, v->at + size, v->size - size, "end of a PAC entry", e);
	if (rc)
		return rc;
	v->size = size;
	v->at = size ? v->at : 0;
	return 0;
}

/* ---- longer ---- */

/* Where all entries go. The end of the last one. */
static uint64_t place(const struct edit *t, uint64_t size, uint64_t at[])
{
	uint64_t end = end_before(t, t->i);

	for (uint32_t k = t->i; k < t->n; k++) {
		const struct entry *v = &t->v[k];

		at[k] = v->at;
		if (!is_used(v) && k != t->i)
			continue;
		if (v->at < end)               /* also a new one, which has no place yet */
			at[k] = align_up(end, t->align);
		end = at[k] + (k == t->i ? size : v->size);
	}
	return end;
}

/* The PAC becomes so long that it ends at `end`. */
static int make_room(const struct edit *t, uint64_t size, uint64_t end, struct err *e)
{
	uint64_t missing = end - t->o->src->size;

	if (end <= t->o->src->size)
		return 0;
	if (end > UINT32_MAX)
		return err_set(e, EFBIG, "entry %u: the PAC would end at 0x%" PRIx64 "; its offsets have 32 bits", t->i,
			       end);
	if (t->o->around && t->o->around->resize)
		return object_resize(t->o, 0, end, e);
	return err_set(e, ENOSPC, "entry %u of the PAC needs %" PRIu64 " bytes, %" PRIu64 " are there: %" PRIu64
		       " bytes are missing", t->i, size, size > missing ? size - missing : 0, missing);
}

static int grow(const struct edit *t, uint64_t size, struct err *e)
{
	uint64_t at[PAC_COUNT_MAX], from = t->v[t->i].size ? t->v[t->i].at + t->v[t->i].size : end_before(t, t->i);
	int rc = make_room(t, size, place(t, size, at), e);

	for (uint32_t k = t->n; --k > t->i && !rc;)
		if (at[k] != t->v[k].at)
			rc = src_move(t->o->src, t->v[k].at, at[k], t->v[k].size, "PAC entry", e);
	if (rc)
		return rc;
	t->v[t->i].at = at[t->i];
	t->v[t->i].size = size;
	rc = src_clear(t->o->src, from, at[t->i] + size - from, "PAC entry", e);
	for (uint32_t k = t->i + 1; k < t->n && !rc; k++) {
		if (at[k] == t->v[k].at)
			continue;
		from = end_before(t, k);
		t->v[k].at = at[k];
		rc = src_clear(t->o->src, from, at[k] - from, "gap of the PAC", e);
	}
	return rc;
}

int pac_resize(struct object *o, struct entries *entries, uint32_t i, uint64_t size, struct err *e)
{
	struct pac *pac = o->priv;
	struct edit t = {
		.o = o, .v = entries->v, .n = entries->n, .i = i, .align = pac->align ? pac->align : ALIGN_UNKNOWN,
	};
	int rc = check_order(&t, e);

	if (rc || size == t.v[i].size)
		return rc;
	rc = size < t.v[i].size ? shrink(&t, size, e) : grow(&t, size, e);
	rc = rc ? rc : write_table(&t, e);
	pac_describe(pac, entries);
	return rc;
}
