/* Opening a JOM: the walk along its chunks, and what has to hold before anything of it is shown (spec/jom.md 5). All
 * chunks are found before any is looked into, as keys of ANIM have a size that BONE tells. What is merely odd is shown
 * as it is stored. */
#include "jom.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define END_TAG "END "

/* ---- chunks ---- */

struct walk { uint64_t at; char tag[4]; uint32_t size; };

/* The chunk whose head is at w->at. */
static int read_head(const struct object *o, const struct jom_model *m, struct walk *w, struct err *e)
{
	if (!span_ok(m->size, w->at, JOM_CHUNK_HEAD, 1))
		return err_at(e, EBADMSG, o->src, w->at, "chunk", "%" PRIu64 " bytes are left, expected END or another "
			      "chunk's %u", m->size - w->at, JOM_CHUNK_HEAD);
	memcpy(w->tag, m->bytes + w->at, sizeof w->tag);
	w->size = be_u32(m->bytes + w->at + 4);
	if (!span_ok(m->size, w->at + JOM_CHUNK_HEAD, w->size, 1))
		return err_at(e, EBADMSG, o->src, w->at + 4, "chunk", "%u bytes of data, %" PRIu64 " are left", w->size,
			      m->size - w->at - JOM_CHUNK_HEAD);
	return 0;
}

static bool is_end(const struct walk *w)
{
	return !memcmp(w->tag, END_TAG, sizeof w->tag);
}

static int count_chunks(const struct object *o, struct jom_model *m, struct err *e)
{
	struct walk w = { JOM_HEADER_SIZE };
	int rc;

	for (m->nchunks = 0;; m->nchunks++) {
		rc = read_head(o, m, &w, e);
		if (rc)
			return rc;
		w.at += JOM_CHUNK_HEAD + (uint64_t)w.size;
		if (is_end(&w))
			break;
		if (m->nchunks == JOM_CHUNKS_MOST)
			return err_at(e, EFBIG, o->src, w.at, "chunk", "more than %u of them", JOM_CHUNKS_MOST);
	}
	m->end = w.at;
	return 0;
}

/* Unknown, when it came before. */
static uint8_t known_tag(const struct jom_model *m, const char tag[4])
{
	uint8_t k = 0;

	while (k < JOM_TAGS && memcmp(tag, jom_tag_names[k], 4))
		k++;
	return k < JOM_TAGS && m->table[k].there ? JOM_OTHER : k;
}

static int keep_chunks(struct object *o, struct jom_model *m, struct err *e)
{
	struct walk w = { JOM_HEADER_SIZE };
	int rc = 0;

	m->chunks = arena_alloc(&o->arena, (size_t)m->nchunks + 1, sizeof *m->chunks);
	if (!m->chunks)
		return err_nomem(e);
	for (uint32_t i = 0; i <= m->nchunks && !rc; i++) {
		struct jom_chunk *c = &m->chunks[i];

		rc = read_head(o, m, &w, e);
		memcpy(c->tag, w.tag, sizeof c->tag);
		c->known = known_tag(m, w.tag);
		c->size = w.size;
		c->at = w.at + JOM_CHUNK_HEAD;
		if (c->known != JOM_OTHER)
			m->table[c->known] = (struct jom_table){ .there = true, .chunk = i };
		w.at = c->at + c->size;
	}
	return rc;
}

static size_t tag_length(const char tag[4])
{
	size_t n = 4;

	while (n && tag[n - 1] == ' ')
		n--;
	return n;
}

static int name_chunks(struct object *o, struct jom_model *m, struct arena *a, struct err *e)
{
	uint32_t n = m->nchunks + 1;
	struct stored_name *v = arena_alloc(a, n, sizeof *v);
	const char **names = arena_alloc(a, n, sizeof *names);
	int rc;

	if (!v || !names)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct stored_name){ (const uint8_t *)m->chunks[i].tag, tag_length(m->chunks[i].tag) };
	rc = names_safe(v, n, "chunk", names, &o->arena, e);
	for (uint32_t i = 0; i < n && !rc; i++)
		m->chunks[i].name = names[i];
	return rc;
}

/* ---- records ---- */

/* A count and so many records of `each` bytes. */
static int find_records(const struct object *o, struct jom_model *m, enum jom_tag tag, struct err *e)
{
	struct jom_table *t = &m->table[tag];
	const struct jom_chunk *c = &m->chunks[t->chunk];

	if (c->size < 4)
		return err_at(e, EBADMSG, o->src, c->at, jom_tag_names[tag], "%u bytes, expected a count of 4",
			      c->size);
	t->n = be_u32(m->bytes + c->at);
	t->at = c->at + 4;
	t->raw = m->bytes + t->at;
	if (!span_ok(c->size - 4, 0, t->n, jom_record_sizes[tag]))
		return err_at(e, EBADMSG, o->src, c->at, jom_tag_names[tag],
			      "%u records of %u bytes, %u bytes are there", t->n, jom_record_sizes[tag], c->size - 4);
	return 0;
}

static int find_tables(const struct object *o, struct jom_model *m, struct err *e)
{
	static const uint8_t needed[] = { JOM_PNTS, JOM_QUAD, JOM_QMAT, JOM_MATL };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!m->table[needed[i]].there)
			return err_at(e, EBADMSG, o->src, m->end, "chunk", "END, but there is no %s",
				      jom_tag_names[needed[i]]);
	for (unsigned tag = JOM_TIMG + 1; tag < JOM_TAGS && !rc; tag++)
		rc = m->table[tag].there ? find_records(o, m, tag, e) : 0;
	return rc;
}

/* ---- numbers that lead nowhere ---- */

static int check_corners(const struct object *o, const struct jom_model *m, struct err *e)
{
	uint32_t npoints = m->table[JOM_PNTS].n;

	for (uint32_t k = 0; k < m->table[JOM_QUAD].n; k++)
		for (unsigned c = 0; c < 4; c++)
			if (jom_corner(m, k, c) >= npoints)
				return err_at(e, EBADMSG, o->src, jom_row_at(m, JOM_QUAD, k) + 12 + 2 * c, "QUAD",
					      "polygon %u: point %u, there are %u", k, jom_corner(m, k, c), npoints);
	return 0;
}

static int check_materials(const struct object *o, const struct jom_model *m, struct err *e)
{
	uint32_t nmaterials = m->table[JOM_MATL].n;

	for (uint32_t k = 0; k < m->table[JOM_QMAT].n; k++)
		if (jom_material_of(m, k) >= nmaterials)
			return err_at(e, EBADMSG, o->src, jom_row_at(m, JOM_QMAT, k), "QMAT",
				      "polygon %u: material %u, there are %u", k, jom_material_of(m, k), nmaterials);
	return 0;
}

static int check_keys(const struct object *o, struct jom_model *m, struct err *e)
{
	const struct jom_table *t = &m->table[JOM_ANIM];
	uint64_t each = 12 + (uint64_t)m->table[JOM_BONE].n * 6;

	each += each % 4;
	m->nbones = m->table[JOM_BONE].n;
	m->key_size = (uint32_t)each;          /* fewer bytes than those of BONE */
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t size = m->chunks[t->chunk].size;
		struct jom_animation an;

		rec_decode(&jom_animation_record, true, jom_row(m, JOM_ANIM, i), &an);
		if (!span_ok(size, an.offset, an.key_count, each))
			return err_at(e, EBADMSG, o->src, jom_row_at(m, JOM_ANIM, i) + 24, "ANIM",
				      "animation %u: %u keys of %u bytes at %u, the chunk has %u", i, an.key_count,
				      m->key_size, an.offset, size);
	}
	return 0;
}

/* ---- meshes ---- */

unsigned jom_face(const struct jom_model *m, uint32_t k, unsigned c[4])
{
	uint16_t q[4];
	unsigned kept[4], n = 0;

	for (unsigned i = 0; i < 4; i++)
		q[i] = jom_corner(m, k, i);
	for (unsigned i = 0; i < 4; i++)
		if (q[i] != q[(i + 3) % 4])
			kept[n++] = i;
	if (n < 3 || (n == 4 && (q[0] == q[2] || q[1] == q[3])))
		return 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned at = kept[i ? n - i : 0], first = 0;

		while (q[first] != q[at])
			first++;
		c[i] = first;
	}
	return n;
}

/* Polygons that groups have, from the number of a polygon on: +1 where a range begins, -1 behind its end. */
static bool all_grouped(const struct jom_model *m, struct arena *a, bool *out)
{
	int32_t *edge = arena_alloc(a, (size_t)m->npolygons + 1, sizeof *edge), depth = 0;

	if (!edge)
		return false;
	for (uint32_t g = 0; g < m->table[JOM_GRUP].n; g++) {
		const uint8_t *raw = jom_row(m, JOM_GRUP, g);
		uint32_t first = be_u16(raw + 20), end = first + be_u16(raw + 22);

		if (first >= m->npolygons)
			continue;
		edge[first]++;
		edge[end < m->npolygons ? end : m->npolygons]--;
	}
	*out = true;
	for (uint32_t k = 0; k < m->npolygons && *out; k++) {
		depth += edge[k];
		*out = depth > 0;
	}
	return true;
}

static int find_meshes(struct object *o, struct jom_model *m, struct arena *a, struct err *e)
{
	uint32_t ngroups = m->table[JOM_GRUP].n;
	bool all = false;
	unsigned c[4];

	m->npolygons = m->table[JOM_QUAD].n < m->table[JOM_QMAT].n ? m->table[JOM_QUAD].n : m->table[JOM_QMAT].n;
	for (uint32_t k = 0; k < m->npolygons; k++)
		m->ntriangles += jom_face(m, k, c) == 3;
	m->meshes = arena_alloc(&o->arena, (size_t)ngroups + 1, sizeof *m->meshes);
	if (!m->meshes || !all_grouped(m, a, &all))
		return err_nomem(e);
	for (uint32_t g = 0; g < ngroups; g++)
		m->meshes[g] = (struct jom_mesh){ .group = g, .bone = -1 };
	for (uint32_t i = m->nbones; i-- > 0;) {
		uint16_t group = be_u16(jom_row(m, JOM_BONE, i) + 16);

		if (group < ngroups)
			m->meshes[group].bone = (int32_t)i;
	}
	m->nmeshes = ngroups;
	/* A model without polygons and groups still has its points. */
	if (!all || !ngroups)
		m->meshes[m->nmeshes++] = (struct jom_mesh){ GEO_NONE, !m->table[JOM_GRUP].there || !m->npolygons, -1 };
	return 0;
}

/* ---- names ---- */

/* The names at the start of a table's records. */
static int find_names(struct object *o, const struct jom_model *m, enum jom_tag tag, const char *stem,
		      const char ***out, struct arena *a, struct err *e)
{
	uint32_t n = m->table[tag].n;
	struct stored_name *v = arena_alloc(a, (size_t)n + 1, sizeof *v);

	*out = arena_alloc(&o->arena, (size_t)n + 1, sizeof **out);
	if (!v || !*out)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *raw = jom_row(m, tag, i);

		v[i] = (struct stored_name){ raw, strnlen((const char *)raw, JOM_NAME) };
	}
	return names_safe(v, n, stem, *out, &o->arena, e);
}

static int find_all_names(struct object *o, struct jom_model *m, struct arena *a, struct err *e)
{
	int rc = name_chunks(o, m, a, e);

	rc = rc ? rc : find_names(o, m, JOM_MATL, "material", &m->material_names, a, e);
	rc = rc ? rc : find_names(o, m, JOM_GRUP, "group", &m->group_names, a, e);
	return rc ? rc : find_names(o, m, JOM_ANIM, "animation", &m->clip_names, a, e);
}

/* ---- all of it ---- */

static int read_all(struct object *o, struct jom_model *m, struct err *e)
{
	uint64_t size = o->src->size;
	int rc;

	if (size < JOM_HEADER_SIZE)
		return err_at(e, EBADMSG, o->src, 0, "header", "%" PRIu64 " bytes, expected %u", size, JOM_HEADER_SIZE);
	if (size > JOM_SIZE_MOST)
		return err_at(e, EFBIG, o->src, 0, "model", "%" PRIu64 " bytes, at most %" PRIu64 " are read", size,
			      JOM_SIZE_MOST);
	rc = object_read(o, &o->arena, 0, size, "model", &m->bytes, e);
	if (rc)
		return rc;
	m->size = size;
	if (memcmp(m->bytes, "JOM1", 4))
		return err_at(e, EBADMSG, o->src, 0, "header", "magic 0x%08x, expected JOM1", be_u32(m->bytes));
	rec_decode(&jom_header_record, true, m->bytes, &m->head);
	return 0;
}

int jom_open(struct object *o, struct err *e)
{
	struct jom_model *m = arena_alloc(&o->arena, 1, sizeof *m);
	struct arena a = { 0 };
	int rc = m ? read_all(o, m, e) : err_nomem(e);

	rc = rc ? rc : count_chunks(o, m, e);
	rc = rc ? rc : keep_chunks(o, m, e);
	rc = rc ? rc : find_tables(o, m, e);
	rc = rc ? rc : check_corners(o, m, e);
	rc = rc ? rc : check_materials(o, m, e);
	rc = rc ? rc : check_keys(o, m, e);
	rc = rc ? rc : find_meshes(o, m, &a, e);
	rc = rc ? rc : find_all_names(o, m, &a, e);
	rc = rc ? rc : jom_find_textures(o, m, e);
	arena_free(&a);
	o->priv = m;
	return rc;
}
