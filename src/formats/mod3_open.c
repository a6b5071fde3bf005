/* Opening a MOD3: its header is read, every block is found by its header offset and every place a mesh record names is
 * checked. A table that does not lie where it can is left out, with a line in errors.txt; so is a mesh whose places
 * cannot be right. Counts that edited files have out of date are not believed where they are not needed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mod3.h"

#define MAGIC 0x00444f4du                      /* MOD and a zero */
#define BAD_MOST 256u                          /* damaged meshes, or bones, with a line each in errors.txt */
#define MESH_INDICES (1u << 24)                /* of one mesh; more is damage */
#define INDEX_VALUES 65536u                    /* what a u16 index tells apart */

static const char *const names[MOD3_SECTIONS] = {
	"header", "bones", "local matrices", "inverse matrices", "remap table", "groups", "material names",
	"mesh records", "envelopes", "vertex buffer", "index buffer", "trailing block"
};

/* What is wrong with a table goes into errors.txt and costs only what depends on it. */
PRINTF(4, 5)
static void note(struct object *o, unsigned section, uint64_t at, const char *fmt, ...)
{
	struct err why;
	va_list ap;

	va_start(ap, fmt);
	err_vat(&why, EBADMSG, o->src, at, names[section], fmt, ap);
	va_end(ap);
	object_fault(o, PART_OBJECT, 0, false, &why);
}

/* ---- tables ---- */

static bool overlaps(const struct mod3_table *a, uint64_t at, uint64_t size)
{
	return a->size && a->at < at + size && at < a->at + a->size;
}

/* Takes n records of `each` bytes at `at` for section s, when they lie in the file and in no earlier section. */
static bool place(struct object *o, unsigned s, uint64_t at, uint64_t n, uint64_t each)
{
	struct mod3 *m = o->priv;

	m->table[s].at = at;
	if (!n)
		return true;
	if (!span_ok(o->src->size, at, n, each) || n > UINT32_MAX) {
		note(o, s, at, "%" PRIu64 " of %" PRIu64 " bytes end past the %" PRIu64 " of the entry", n, each,
		     o->src->size);
		return false;
	}
	for (unsigned k = 0; k < s; k++) {
		if (!overlaps(&m->table[k], at, n * each))
			continue;
		note(o, s, at, "its %" PRIu64 " bytes overlap the %s at 0x%" PRIx64, n * each, names[k],
		     m->table[k].at);
		return false;
	}
	m->table[s] = (struct mod3_table){ at, n * each, (uint32_t)n };
	return true;
}

/* Records, matrices and the remap table are one block: without one of them there is none. */
static void place_bones(struct object *o)
{
	struct mod3 *m = o->priv;
	uint64_t n = m->head.bone_count, at = m->head.bone_off, size = n * (MOD3_BONE_SIZE + 2 * MOD3_MATRIX_SIZE);

	if (!n || !place(o, MOD3_BONES, at, 1, size + MOD3_REMAP_SIZE))
		return;
	m->table[MOD3_BONES] = (struct mod3_table){ at, n * MOD3_BONE_SIZE, (uint32_t)n };
	at += n * MOD3_BONE_SIZE;
	m->table[MOD3_LOCAL] = (struct mod3_table){ at, n * MOD3_MATRIX_SIZE, (uint32_t)n };
	at += n * MOD3_MATRIX_SIZE;
	m->table[MOD3_INVERSE] = (struct mod3_table){ at, n * MOD3_MATRIX_SIZE, (uint32_t)n };
	at += n * MOD3_MATRIX_SIZE;
	m->table[MOD3_REMAP] = (struct mod3_table){ at, MOD3_REMAP_SIZE, MOD3_REMAP_SIZE };
}

/* They have no offset of their own but follow the mesh records. */
static int place_envelopes(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	uint64_t at = m->head.mesh_off + (uint64_t)m->head.mesh_count * MOD3_MESH_SIZE;
	uint8_t raw[4];
	uint32_t n;
	int rc;

	if (!place(o, MOD3_ENVELOPES, at, 1, sizeof raw))
		return 0;
	rc = src_read(o->src, raw, sizeof raw, at, names[MOD3_ENVELOPES], e);
	if (rc)
		return rc;
	n = le_u32(raw);
	m->table[MOD3_ENVELOPES] = (struct mod3_table){ 0 };
	if (place(o, MOD3_ENVELOPES, at, 1, sizeof raw + (uint64_t)n * MOD3_ENVELOPE_SIZE))
		m->table[MOD3_ENVELOPES].n = n;
	return 0;
}

static int place_tables(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	const struct mod3_header *h = &m->head;
	int rc = 0;

	m->table[MOD3_HEADER] = (struct mod3_table){ 0, MOD3_HEADER_SIZE, 1 };
	place_bones(o);
	place(o, MOD3_GROUPS, h->group_off, h->group_count, MOD3_GROUP_SIZE);
	place(o, MOD3_MATERIALS, h->mat_off, h->material_count, MOD3_NAME_SIZE);
	if (place(o, MOD3_MESHES, h->mesh_off, h->mesh_count, MOD3_MESH_SIZE))
		rc = place_envelopes(o, e);
	place(o, MOD3_VERTICES, h->vertex_off, h->vertex_buffer_size, 1);
	place(o, MOD3_INDICES, h->index_off, h->index_count, 2);
	if (h->trail_off && h->trail_off < o->src->size)
		m->table[MOD3_TRAILER] = (struct mod3_table){ h->trail_off, o->src->size - h->trail_off, 1 };
	return rc;
}

/* ---- bones ---- */

PRINTF(4, 5)
static void note_bone(struct object *o, uint32_t i, uint32_t *noted, const char *fmt, ...)
{
	char what[24];
	struct err why;
	va_list ap;

	if ((*noted)++ >= BAD_MOST)
		return;
	snprintf(what, sizeof what, "bone %u", i);
	va_start(ap, fmt);
	err_vat(&why, EBADMSG, o->src, mod3_bone_at(o->priv, i), what, fmt, ap);
	va_end(ap);
	object_fault(o, PART_BONE, i, false, &why);
}

/* Whether the parents of bone i lead to a root. Bones seen in the walk before `i` get its mark. */
static bool leads_to_root(const struct mod3 *m, uint32_t i, uint32_t *mark)
{
	uint32_t n = m->table[MOD3_BONES].n, k = i;

	while (k < n && !mark[k]) {
		mark[k] = i + 1;
		k = m->bone[k].parent == MOD3_NO_BONE ? n : m->bone[k].parent;
	}
	return k >= n || mark[k] != i + 1;
}

static int read_bones(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	uint32_t n = m->table[MOD3_BONES].n, noted = 0, *mark;
	int rc;

	if (!n)
		return 0;
	rc = object_read(o, &o->arena, m->table[MOD3_BONES].at, m->table[MOD3_BONES].size, names[MOD3_BONES],
			 &m->bone_raw, e);
	m->bone = arena_alloc(&o->arena, n, sizeof *m->bone);
	mark = arena_alloc(&o->arena, n, sizeof *mark);
	if (rc || !m->bone || !mark)
		return rc ? rc : err_nomem(e);
	for (uint32_t i = 0; i < n; i++)
		rec_decode(&mod3_bone_record, false, m->bone_raw + (size_t)i * MOD3_BONE_SIZE, &m->bone[i]);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t parent = m->bone[i].parent;

		if (parent != MOD3_NO_BONE && parent >= n)
			note_bone(o, i, &noted, "parent %u of %u bones", parent, n);
		else if (!leads_to_root(m, i, mark))
			note_bone(o, i, &noted, "its parents lead to no root");
	}
	return 0;
}

/* ---- meshes ---- */

/* Why the places mesh i names cannot be right, as far as its record tells. */
static int check_mesh(const struct object *o, uint32_t i, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_mesh *mesh = &m->mesh[i];
	uint64_t size = m->table[MOD3_VERTICES].size, at = mod3_mesh_at(m, i);
	uint64_t first = mesh->vertex_offset + ((uint64_t)mesh->vertex_base + mesh->vertex_sub) * mesh->stride;
	char what[24];

	snprintf(what, sizeof what, "mesh %u", i);
	if (mesh->stride != mesh->block->stride)
		return err_at(e, EBADMSG, o->src, at + 0x0e, what, "stride %u, expected %u for %s", mesh->stride,
			      mesh->block->stride, mesh->block->name);
	if (mesh->vertex_count && !span_ok(size, first, mesh->vertex_count, mesh->stride))
		return err_at(e, EBADMSG, o->src, at, what, "%u vertices of %u bytes from 0x%" PRIx64
			      " of the vertex buffer on end past its %" PRIu64 " bytes", mesh->vertex_count,
			      mesh->stride, first, size);
	if (mesh->index_count % 3)
		return err_at(e, EBADMSG, o->src, at + 0x20, what, "%u indices, expected a multiple of 3",
			      mesh->index_count);
	if (mesh->index_count > MESH_INDICES)
		return err_at(e, EBADMSG, o->src, at + 0x20, what, "%u indices, more than %u", mesh->index_count,
			      MESH_INDICES);
	if (mesh->index_count && (m->head.index_off > o->src->size ||
				  !span_ok(o->src->size, mod3_index_at(m, mesh), mesh->index_count, 2)))
		return err_at(e, EBADMSG, o->src, at + 0x1c, what, "%u indices from index %u on end past the %" PRIu64
			      " bytes of the entry", mesh->index_count, mesh->first_index, o->src->size);
	if (mesh->index_count && (uint64_t)mesh->vertex_sub + mesh->vertex_count > INDEX_VALUES)
		return err_at(e, EBADMSG, o->src, at + 0x10, what, "vertices up to %" PRIu64
			      ", more than indices can tell apart",
			      (uint64_t)mesh->vertex_sub + mesh->vertex_count - 1);
	return 0;
}

/* False when there are so many damaged meshes that the table is none. */
static bool mesh_fault(struct object *o, uint32_t i, uint32_t *nbad, const struct err *why)
{
	struct mod3 *m = o->priv;

	m->mesh[i].bad = true;
	object_fault(o, PART_MESH, i, true, why);
	if (++*nbad < BAD_MOST)
		return true;
	note(o, MOD3_MESHES, m->table[MOD3_MESHES].at, "no mesh is shown, %u of the first %u are damaged", *nbad,
	     i + 1);
	m->table[MOD3_MESHES].n = 0;
	return false;
}

static int check_meshes(struct object *o, uint32_t *nbad)
{
	struct mod3 *m = o->priv;
	struct err why;

	for (uint32_t i = 0; i < m->table[MOD3_MESHES].n; i++)
		if (m->mesh[i].block && check_mesh(o, i, &why) && !mesh_fault(o, i, nbad, &why))
			break;
	return 0;
}

static void deal_envelopes(struct mod3 *m)
{
	uint32_t left = m->table[MOD3_ENVELOPES].n;

	for (uint32_t i = 0; i < m->table[MOD3_MESHES].n; i++) {
		struct mod3_mesh *mesh = &m->mesh[i];

		mesh->first_envelope = m->nclaimed;
		mesh->nenvelopes = mesh->envelope_count < left ? mesh->envelope_count : left;
		m->nclaimed += mesh->nenvelopes;
		left -= mesh->nenvelopes;
	}
}

static int read_meshes(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	const struct mod3_table *t = &m->table[MOD3_MESHES];
	int rc;

	if (!t->n)
		return 0;
	rc = object_read(o, &o->arena, t->at, t->size, names[MOD3_MESHES], &m->mesh_raw, e);
	m->mesh = arena_alloc(&o->arena, t->n, sizeof *m->mesh);
	if (rc || !m->mesh)
		return rc ? rc : err_nomem(e);
	for (uint32_t i = 0; i < t->n; i++) {
		rec_decode(&mod3_mesh_record, false, m->mesh_raw + (size_t)i * MOD3_MESH_SIZE, &m->mesh[i]);
		m->mesh[i].block = mod3_block(m->mesh[i].block_type);
	}
	deal_envelopes(m);
	return 0;
}

/* ---- stride runs ---- */

/* Meshes with one vertexOffset and one stride: bytes [at, end) of the vertex buffer. */
struct run { uint64_t at, end; uint32_t offset, mesh; uint8_t stride; };

static int by_key(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->stride != y->stride ? (x->stride < y->stride ? -1 : 1) : (x->mesh > y->mesh) - (x->mesh < y->mesh);
}

static int by_place(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->at != y->at ? (x->at < y->at ? -1 : 1) : (x->mesh > y->mesh) - (x->mesh < y->mesh);
}

static bool same_run(const struct run *a, const struct run *b)
{
	return a->offset == b->offset && a->stride == b->stride;
}

/* One element per mesh that has vertices; tells how many. */
static uint32_t list_runs(const struct mod3 *m, struct run *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->table[MOD3_MESHES].n; i++) {
		const struct mod3_mesh *mesh = &m->mesh[i];
		uint64_t at = mesh->vertex_offset + ((uint64_t)mesh->vertex_base + mesh->vertex_sub) * mesh->stride;

		if (!mesh->block || mesh->bad || !mesh->vertex_count)
			continue;
		v[n++] = (struct run){ at, at + (uint64_t)mesh->vertex_count * mesh->stride, mesh->vertex_offset, i,
				       mesh->stride };
	}
	return n;
}

/* How far the indices of each mesh may reach. */
static void measure_runs(struct mod3 *m, struct run *v, uint32_t n)
{
	qsort(v, n, sizeof *v, by_key);
	for (uint32_t i = 0, next; i < n; i = next) {
		uint64_t end = v[i].end;

		for (next = i + 1; next < n && same_run(&v[i], &v[next]); next++)
			end = v[next].end > end ? v[next].end : end;
		for (uint32_t k = i; k < next; k++)
			m->mesh[v[k].mesh].run = (uint32_t)((end - v[k].offset) / v[k].stride);
	}
}

/* A mesh that begins inside the vertices of another, but not where one of them begins. */
static void check_runs(struct object *o, struct run *v, uint32_t n, uint32_t *nbad)
{
	struct mod3 *m = o->priv;
	const struct run *last = v;
	struct err why;
	char what[24];

	qsort(v, n, sizeof *v, by_place);
	for (uint32_t i = 1; i < n; i++) {
		bool inside = v[i].at < last->end;

		if (inside && (v[i].stride != last->stride || (v[i].at - last->at) % last->stride)) {
			snprintf(what, sizeof what, "mesh %u", v[i].mesh);
			err_at(&why, EBADMSG, o->src, mod3_mesh_at(m, v[i].mesh) + 0x10, what,
			       "begins at 0x%" PRIx64 " of the vertex buffer, inside a vertex of mesh %u", v[i].at,
			       last->mesh);
			if (!mesh_fault(o, v[i].mesh, nbad, &why))
				return;
			continue;
		}
		last = v[i].end > last->end ? &v[i] : last;
	}
}

static int find_runs(struct object *o, uint32_t *nbad, struct err *e)
{
	struct mod3 *m = o->priv;
	struct run *v = malloc(((size_t)m->table[MOD3_MESHES].n + 1) * sizeof *v);
	uint32_t n;

	if (!v)
		return err_nomem(e);
	n = list_runs(m, v);
	check_runs(o, v, n, nbad);
	measure_runs(m, v, n);
	free(v);
	return 0;
}

/* ---- amount ---- */

/* Meshes may share vertices and indices, but not so that a small file shows without end. */
#define SHARED(size) (4 * (size) + (2u << 20))

/* Bytes of vertices that all meshes show at most: their own, and the run that their indices may reach. */
static uint64_t shown_most(const struct mod3 *m)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < m->table[MOD3_MESHES].n; i++) {
		const struct mod3_mesh *mesh = &m->mesh[i];
		uint32_t reach = mesh->run < INDEX_VALUES ? mesh->run : INDEX_VALUES;

		if (mesh->block && !mesh->bad)
			sum += (mesh->index_count ? reach : mesh->vertex_count) * (uint64_t)mesh->stride;
	}
	return sum;
}

/* The same, by the indices themselves, until it is more than `most`. */
static int count_shown(struct object *o, uint64_t most, uint64_t *sum, struct err *e)
{
	const struct mod3 *m = o->priv;

	*sum = 0;
	for (uint32_t i = 0; i < m->table[MOD3_MESHES].n && *sum <= most; i++) {
		struct mod3_window w;
		struct arena a = { 0 };
		int rc = m->mesh[i].block && !m->mesh[i].bad ? mod3_reach(o, i, &w, &a, e) : -EBADMSG;

		arena_free(&a);
		if (rc && rc != -EBADMSG)
			return rc;
		*sum += rc ? 0 : (uint64_t)w.n * m->mesh[i].stride;
	}
	return 0;
}

static int check_amount(struct object *o, struct err *e)
{
	struct mod3 *m = o->priv;
	struct mod3_table *t = &m->table[MOD3_MESHES];
	uint64_t most = SHARED(m->table[MOD3_VERTICES].size), sum = 0, indices = 0;
	int rc = 0;

	for (uint32_t i = 0; i < t->n; i++)
		indices += m->mesh[i].block && !m->mesh[i].bad ? 2 * (uint64_t)m->mesh[i].index_count : 0;
	if (indices > SHARED(o->src->size)) {
		note(o, MOD3_MESHES, t->at, "no mesh is shown, %" PRIu64 " bytes of indices in an entry of %" PRIu64,
		     indices, o->src->size);
		t->n = 0;
	}
	if (shown_most(m) > most)
		rc = count_shown(o, most, &sum, e);
	if (!rc && sum > most) {
		note(o, MOD3_MESHES, t->at, "no mesh is shown, the vertex buffer of %" PRIu64
		     " bytes would be shown as %" PRIu64 " and more", m->table[MOD3_VERTICES].size, sum);
		t->n = 0;
	}
	return rc;
}

/* ---- all of it ---- */

int mod3_open(struct object *o, struct err *e)
{
	struct mod3 *m = arena_alloc(&o->arena, 1, sizeof *m);
	uint32_t nbad = 0;
	const uint8_t *raw;
	int rc = m ? object_read(o, &o->arena, 0, MOD3_HEADER_SIZE, "header", &raw, e) : err_nomem(e);

	if (rc)
		return rc;
	o->priv = m;
	rec_decode(&mod3_header_record, false, raw, &m->head);
	if (m->head.magic != MAGIC || m->head.version != MOD3_VERSION)
		return err_at(e, EBADMSG, o->src, 0, "header", "magic 0x%08x and version %u, expected 0x%08x and %u",
			      m->head.magic, m->head.version, MAGIC, MOD3_VERSION);
	o->variant = &mod3_variant;
	rc = place_tables(o, e);
	rc = rc ? rc : read_bones(o, e);
	rc = rc ? rc : mod3_read_materials(o, e);
	rc = rc ? rc : read_meshes(o, e);
	rc = rc ? rc : check_meshes(o, &nbad);
	rc = rc ? rc : find_runs(o, &nbad, e);
	return rc ? rc : check_amount(o, e);
}
