/* Opening a quartet: the header and the table have to be right (spec 9.5), or its files are shown as they are. A mesh
 * that is not right is broken, with a line in errors.txt, and costs no other mesh. */
#include "mlp_open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESHES_MOST 65535u
#define BROKEN_MOST 8192u                      /* with more of them it is no quartet */
#define FOLD 4u                                /* slices may share bytes: so often all of a file is read, and */
#define FOLD_MORE 65536u                       /* some more of a small one */

/* ---- header and table ---- */

static int check_header(const struct object *o, const struct mlp_header *h, struct err *e)
{
	uint64_t size = o->src->size, end = MLP_HEADER_SIZE + (uint64_t)h->mesh_count * MLP_RECORD_SIZE;

	if (h->magic != MLP_MAGIC)
		return err_at(e, EBADMSG, o->src, 0, "magic", "0x%08x, expected 0x%08x", h->magic, MLP_MAGIC);
	if (h->header_size != MLP_HEADER_SIZE)
		return err_at(e, EBADMSG, o->src, 0x08, "header size", "%u, expected %u", h->header_size,
			      MLP_HEADER_SIZE);
	if (h->table_offset != MLP_HEADER_SIZE)
		return err_at(e, EBADMSG, o->src, 0x18, "table offset", "0x%x, expected 0x%x", h->table_offset,
			      MLP_HEADER_SIZE);
	if (end > size)
		return err_at(e, EBADMSG, o->src, 0x10, "mesh count", "the table of %u meshes would end at 0x%" PRIx64
			      ", past the %" PRIu64 " bytes of the file", h->mesh_count, end, size);
	if (h->mesh_count > MESHES_MOST)
		return err_at(e, EFBIG, o->src, 0x10, "mesh count", "%u, at most %u are read", h->mesh_count,
			      MESHES_MOST);
	if (h->data_base < end || h->data_base > size)
		return err_at(e, EBADMSG, o->src, 0x14, "data base", "0x%x, expected 0x%" PRIx64 " to 0x%" PRIx64,
			      h->data_base, end, size);
	return 0;
}

static int read_header(struct object *o, struct err *e)
{
	struct mlp *m = o->priv;
	uint8_t raw[MLP_HEADER_SIZE];
	int rc = src_read(o->src, raw, sizeof raw, 0, "header", e);

	if (rc)
		return rc;
	rec_decode(&mlp_header_record, true, raw, &m->head);
	return check_header(o, &m->head, e);
}

static int read_table(struct object *o, struct err *e)
{
	struct mlp *m = o->priv;
	uint32_t n = m->head.mesh_count;
	const uint8_t *raw = NULL;
	struct arena a = { 0 };
	int rc = object_read(o, &a, MLP_HEADER_SIZE, (uint64_t)n * MLP_RECORD_SIZE, "table", &raw, e);

	m->mesh = rc ? NULL : arena_alloc(&o->arena, (size_t)n + 1, sizeof *m->mesh);
	if (!rc && !m->mesh)
		rc = err_nomem(e);
	for (uint32_t i = 0; i < n && !rc; i++)
		rec_decode(&mlp_record_record, true, raw + (size_t)i * MLP_RECORD_SIZE, &m->mesh[i].rec);
	arena_free(&a);
	return rc;
}

/* The MMP is always needed, the MGP where a mesh has a slice of it. A container that knows the members of its entries
 * may have found only some of them: then meshes lack what would be in the others. */
static int check_members(const struct object *o, struct err *e)
{
	const struct mlp *m = o->priv;

	if (o->member[MLP_MGP - 1] || (o->around && o->around->handed))
		return 0;
	for (uint32_t i = 0; i < m->head.mesh_count; i++)
		if (m->mesh[i].rec.mgp_size)
			return err_at(e, EBADMSG, o->src, mlp_record_at(i) + 0x18, "table",
				      "mesh %u has %u bytes of an MGP, but there is no .mgp of the same name beside it",
				      i, m->mesh[i].rec.mgp_size);
	return 0;
}

/* ---- materials ---- */

struct use { uint32_t id, sub; };

static int by_id(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->sub > y->sub) - (x->sub < y->sub);
}

/* Numbers the ids in the order of their first use. v: all uses, sorted by id. */
static void number_materials(struct mlp *m, struct use *v, uint32_t *material)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->nsubs; i++)        /* until they are numbered: the first use of the same id */
		if (i && v[i].id == v[i - 1].id)
			m->sub[v[i].sub].material = m->sub[v[i - 1].sub].material;
		else
			m->sub[v[i].sub].material = v[i].sub;
	for (uint32_t i = 0; i < m->nsubs; i++) {
		struct mlp_sub *s = &m->sub[i];

		if (s->material == i)
			material[n++] = s->material_id;
		s->material = s->material == i ? n - 1 : m->sub[s->material].material;
	}
	m->material = material;
	m->nmaterials = n;
}

static int find_materials(struct object *o, struct err *e)
{
	struct mlp *m = o->priv;
	struct use *v = malloc(((size_t)m->nsubs + 1) * sizeof *v);
	uint32_t *material = arena_alloc(&o->arena, (size_t)m->nsubs + 1, sizeof *material);

	if (!v || !material) {
		free(v);
		return err_nomem(e);
	}
	for (uint32_t i = 0; i < m->nsubs; i++)
		v[i] = (struct use){ m->sub[i].material_id, i };
	qsort(v, m->nsubs, sizeof *v, by_id);
	number_materials(m, v, material);
	free(v);
	return 0;
}

/* ---- meshes ---- */

static uint64_t most_of(const struct source *src)
{
	return src ? FOLD * src->size + FOLD_MORE : 0;
}

static int read_mesh(struct mlp_opening *x, uint32_t i, uint32_t *nbroken, struct err *e)
{
	struct mlp *m = x->m;
	size_t subs = x->subs.len;
	struct err why = { 0 };
	int rc = mlp_read_mesh(x, i, &why);

	if (rc != -EBADMSG) {
		if (rc && e)
			*e = why;
		return rc;
	}
	x->subs.len = subs;
	m->mesh[i].kind = MLP_BROKEN;
	object_fault(x->o, PART_MESH, i, true, &why);
	if (++*nbroken > BROKEN_MOST)
		return err_set(e, EBADMSG, "of the first %u meshes %u are broken", i + 1, *nbroken);
	return 0;
}

static int keep_subs(struct mlp_opening *x, struct err *e)
{
	struct mlp *m = x->m;

	m->nsubs = (uint32_t)(x->subs.len / sizeof *m->sub);
	m->sub = arena_alloc(&x->o->arena, (size_t)m->nsubs + 1, sizeof *m->sub);
	if (!m->sub || x->subs.bad)
		return err_nomem(e);
	if (m->nsubs)
		memcpy(m->sub, x->subs.p, m->nsubs * sizeof *m->sub);
	return 0;
}

static int read_meshes(struct object *o, struct err *e)
{
	struct mlp *m = o->priv;
	struct mlp_opening x = { .o = o, .m = m, .room = malloc(MLP_PIECE), .left = {
		[MLP_LIBRARY] = most_of(o->src), [MLP_MMP] = most_of(o->member[MLP_MMP - 1])
	} };
	uint32_t nbroken = 0;
	int rc = x.room ? 0 : err_nomem(e);

	for (uint32_t i = 0; i < m->head.mesh_count && !rc; i++)
		rc = read_mesh(&x, i, &nbroken, e);
	rc = rc ? rc : keep_subs(&x, e);
	/* At least 99 % of them are likely ones. */
	m->normals = 100 * x.nlikely >= 99 * x.nnormals;
	free(x.room);
	buf_free(&x.subs);
	return rc;
}

int mlp_open(struct object *o, struct err *e)
{
	struct mlp *m = arena_alloc(&o->arena, 1, sizeof *m);
	int rc;

	if (!m)
		return err_nomem(e);
	o->priv = m;
	rc = read_header(o, e);
	rc = rc ? rc : read_table(o, e);
	rc = rc ? rc : check_members(o, e);
	rc = rc ? rc : read_meshes(o, e);
	rc = rc ? rc : find_materials(o, e);
	if (!rc)
		o->variant = &mlp_variant;
	return rc;
}

int mlp_rigid(const struct object *o, uint32_t mesh, struct err *e)
{
	const struct mlp *m = o->priv;
	const struct fault *f;

	if (mesh >= m->head.mesh_count)
		return err_set(e, ENOENT, "mesh %u of %u", mesh, m->head.mesh_count);
	if (m->mesh[mesh].kind == MLP_BROKEN) {
		f = object_find_fault(o, PART_MESH, mesh);
		return err_set(e, EBADMSG, "%s", f ? f->text : "broken mesh");
	}
	if (m->mesh[mesh].kind == MLP_SKINNED)
		return err_set(e, ENOENT, "mesh %u is skinned: its vertices are unknown", mesh);
	return 0;
}
