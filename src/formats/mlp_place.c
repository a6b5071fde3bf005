/* Writing a mesh: over its slices while they keep their sizes, else the slices behind move (spec/ps3-pak.md 9.2). In
 * MMP and MGP one slice follows the other at the next multiple of 16, zeros between them; where that is not so, sizes
 * are fixed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mlp_write.h"
#include "splice.h"

static const char *const names[] = { "mlp", "mmp", "mgp" };

/* ---- the rule ---- */

struct slice { uint64_t at, size; uint32_t mesh; };

static struct slice slice_of(const struct mlp_record *r, unsigned part, uint32_t mesh)
{
	if (part == MLP_MMP)
		return (struct slice){ r->mmp_offset, r->mmp_size, mesh };
	return (struct slice){ r->mgp_offset, r->mgp_size, mesh };
}

static int by_place(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->mesh > y->mesh) - (x->mesh < y->mesh);
}

/* Bytes between slices: as many as alignment takes, all of them zero. end: of the gap, or of the file. */
static int check_gap(struct source *src, const char *name, uint64_t at, uint64_t end, bool last, struct err *e)
{
	uint64_t most = align_up(at, MLP_ALIGN), zeros;
	int rc = src_count_zeros(src, at, end - at, &zeros, "gap", e);

	if (rc)
		return rc;
	if (zeros < end - at)
		return err_set(e, EPERM, "gap at %s 0x%" PRIx64 " holds data: sizes are fixed", name, at);
	if (end == most || (last && end < most))
		return 0;
	return err_set(e, EPERM, "gap at %s 0x%" PRIx64 " is %" PRIu64 " bytes long, not %" PRIu64 ": sizes are fixed",
		       name, at, end - at, most - at);
}

static int check_slices(const struct slice *v, uint32_t n, struct source *src, const char *name, struct err *e)
{
	uint64_t at = 0;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		if (v[i].at < at)
			return err_set(e, EPERM, "slices overlap at %s 0x%" PRIx64 ": sizes are fixed", name, v[i].at);
		if (!span_ok(src->size, v[i].at, v[i].size, 1))
			return err_set(e, EPERM, "slice at %s 0x%" PRIx64 " ends past the file: sizes are fixed", name,
				       v[i].at);
		rc = check_gap(src, name, at, v[i].at, false, e);
		at = v[i].at + v[i].size;
	}
	return rc ? rc : check_gap(src, name, at, src->size, true, e);
}

static int check_part(const struct mlp_edit *x, unsigned part, struct err *e)
{
	struct source *src = object_part(x->o, part);
	struct slice *v = src ? arena_alloc(x->a, (size_t)x->m->head.mesh_count + 1, sizeof *v) : NULL;
	uint32_t n = 0;

	if (!src)
		return 0;
	if (!v)
		return err_nomem(e);
	for (uint32_t i = 0; i < x->m->head.mesh_count; i++) {
		v[n] = slice_of(&x->m->mesh[i].rec, part, i);
		n += v[n].size != 0;
	}
	qsort(v, n, sizeof *v, by_place);
	return check_slices(v, n, src, names[part], e);
}

/* ---- tables ---- */

static int put_words(const struct mlp_edit *x, uint64_t at, const uint32_t *word, unsigned n, const char *what,
		     struct err *e)
{
	uint8_t raw[4 * 2];                    /* two words at most */

	for (unsigned i = 0; i < n; i++)
		put_be32(raw + 4 * i, word[i]);
	return object_patch(x->o, MLP_LIBRARY, at, raw, 4 * n, what, e);
}

/* The second count follows the first where it was equal. */
static int put_stream(const struct mlp_edit *x, uint32_t offset, uint32_t nvertices, uint32_t first, struct err *e)
{
	uint64_t at = mlp_metadata_at(x->m, x->number) + offset;
	uint8_t raw[MLP_STREAM_SIZE];
	struct mlp_stream s;
	int rc = src_read(x->o->src, raw, sizeof raw, at, "descriptor", e);

	if (rc)
		return rc;
	rec_decode(&mlp_stream_record, true, raw, &s);
	s.second_count = s.second_count == s.vertex_count ? nvertices : s.second_count;
	s.vertex_count = nvertices;
	s.offset = first;
	s.size = nvertices * s.stride;
	rec_encode(&mlp_stream_record, true, &s, raw);
	return object_patch(x->o, MLP_LIBRARY, at, raw, sizeof raw, "descriptor", e);
}

static int put_index_stream(const struct mlp_edit *x, const struct mlp_shape *now, struct err *e)
{
	uint64_t at = mlp_metadata_at(x->m, x->number) + x->mesh->index;
	uint8_t raw[MLP_STREAM_SIZE];
	struct mlp_indices s;
	int rc = src_read(x->o->src, raw, sizeof raw, at, "descriptor", e);

	if (rc)
		return rc;
	rec_decode(&mlp_index_record, true, raw, &s);
	s.index_count = now->nindices;
	s.offset = now->nvertices * MLP_VERTEX_SIZE;
	s.size = now->nindices * 2;
	rec_encode(&mlp_index_record, true, &s, raw);
	return object_patch(x->o, MLP_LIBRARY, at, raw, sizeof raw, "descriptor", e);
}

static int put_runs(const struct mlp_edit *x, const struct mlp_shape *now, struct err *e)
{
	int rc = 0;

	for (uint32_t k = 0; k < x->mesh->nsubs && !rc; k++)
		rc = put_words(x, mlp_submesh_at(x->m, x->number, k) + MLP_AT_FIRST_INDEX,
			       (const uint32_t[]){ now->sub[k].first_index, now->sub[k].index_count }, 2, "submesh", e);
	return rc;
}

static int put_tables(const struct mlp_edit *x, const struct mlp_shape *now, struct err *e)
{
	uint32_t sizes[2] = { (uint32_t)mlp_shape_size(now), now->nvertices * x->mesh->stride };
	int rc = put_words(x, mlp_record_at(x->number) + MLP_AT_MMP_SIZE, sizes, 2, "record", e);

	rc = rc ? rc : put_stream(x, x->mesh->primary, now->nvertices, 0, e);
	if (!rc && x->mesh->attribute != MLP_NONE)
		rc = put_stream(x, x->mesh->attribute, now->nvertices, 0, e);
	rc = rc ? rc : put_index_stream(x, now, e);
	return rc ? rc : put_runs(x, now, e);
}

/* ---- slices that change their size ---- */

/* A slice with the zeros behind it. */
struct move { unsigned part; struct splice s; };

static int plan_move(const struct mlp_edit *x, unsigned part, const struct mlp_shape *now, struct move *out,
		     struct err *e)
{
	struct slice was = slice_of(&x->mesh->rec, part, x->number);
	uint64_t size = part == MLP_MMP ? mlp_shape_size(now) : (uint64_t)now->nvertices * x->mesh->stride;
	uint64_t end = align_up(was.at + was.size, MLP_ALIGN), file = object_part(x->o, part)->size;
	size_t nvertices = (size_t)now->nvertices * MLP_VERTEX_SIZE;
	uint8_t *bytes;

	end = end < file ? end : file;
	*out = (struct move){ part, { was.at, end - was.at, align_up(size, MLP_ALIGN), NULL } };
	if (size > UINT32_MAX || file + out->s.now - out->s.was > UINT32_MAX)
		return err_set(e, EFBIG, "the %s would be longer than 4 GiB", names[part]);
	bytes = arena_alloc(x->a, (size_t)out->s.now + 1, 1);
	if (!bytes)
		return err_nomem(e);
	if (part == MLP_MMP) {
		memcpy(bytes, now->vertices, nvertices);
		memcpy(bytes + nvertices, now->indices, (size_t)now->nindices * 2);
	} else {
		memcpy(bytes, now->rows, (size_t)size);
	}
	out->s.bytes = bytes;
	return 0;
}

/* Offsets of the slices behind. */
static int put_offsets(const struct mlp_edit *x, const struct move *move, struct err *e)
{
	uint32_t by = (uint32_t)(move->s.now - move->s.was);
	int rc = 0;

	for (uint32_t i = 0; i < x->m->head.mesh_count && by && !rc; i++) {
		struct slice v = slice_of(&x->m->mesh[i].rec, move->part, i);

		if (v.size && v.at > move->s.at)
			rc = put_words(x, mlp_record_at(i) +
				       (move->part == MLP_MMP ? MLP_AT_MMP_OFFSET : MLP_AT_MGP_OFFSET), (const uint32_t[]){ (uint32_t)v.at + by }, 1, "record", e);
	}
	return rc;
}

/* The tables first: a file that gets longer may move. */
static int put_moved(const struct mlp_edit *x, const struct mlp_shape *now, struct err *e)
{
	bool rows = x->mesh->stride && now->nvertices != x->mesh->nvertices;
	struct move mmp, mgp;
	int rc = check_part(x, MLP_MMP, e);

	rc = rc ? rc : check_part(x, MLP_MGP, e);
	rc = rc ? rc : plan_move(x, MLP_MMP, now, &mmp, e);
	if (!rc && rows)
		rc = plan_move(x, MLP_MGP, now, &mgp, e);
	rc = rc ? rc : put_tables(x, now, e);
	rc = rc ? rc : put_offsets(x, &mmp, e);
	if (!rc && rows)
		rc = put_offsets(x, &mgp, e);
	if (!rc && !rows && now->rows)
		rc = object_patch(x->o, MLP_MGP, x->mesh->rec.mgp_offset, now->rows, x->mesh->rec.mgp_size, "MGP rows",
				  e);
	rc = rc ? rc : object_splice(x->o, MLP_MMP, &mmp.s, 1, e);
	return rc || !rows ? rc : object_splice(x->o, MLP_MGP, &mgp.s, 1, e);
}

/* ---- slices that keep it ---- */

static int put_in_place(const struct mlp_edit *x, const struct mlp_shape *now, struct err *e)
{
	uint64_t at = x->mesh->rec.mmp_offset;
	int rc = object_patch(x->o, MLP_MMP, at + x->mesh->vertices_at, now->vertices,
			      (size_t)now->nvertices * MLP_VERTEX_SIZE, "vertices", e);

	if (!rc)
		rc = object_patch(x->o, MLP_MMP, at + x->mesh->indices_at, now->indices, (size_t)now->nindices * 2,
				  "indices", e);
	if (!rc && now->rows)
		rc = object_patch(x->o, MLP_MGP, x->mesh->rec.mgp_offset, now->rows, x->mesh->rec.mgp_size, "MGP rows",
				  e);
	return rc ? rc : put_runs(x, now, e);
}

int mlp_shape_put(const struct mlp_edit *x, const struct mlp_shape *now, struct err *e)
{
	int rc = mlp_bounds_put(x, now, e);

	if (rc)
		return rc;
	if (now->nvertices == x->mesh->nvertices && now->nindices == x->mesh->nindices)
		return put_in_place(x, now, e);
	return put_moved(x, now, e);
}
