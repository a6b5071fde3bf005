/* Opening a PMO: its header and tables are read and every place they name is checked. What is damaged costs only the
 * meshes that need it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmo.h"

/* Tables of up to so many bytes are read with one request; larger ones one by one. */
#define TABLES_AT_ONCE 65536u

/* ---- tables ---- */

static const char *const table_names[PMO_SECTIONS] = {
	"header", "mesh table", "group table", "remap table", "bone palette", "material table", "geometry region"
};

/* What is wrong with an object goes into errors.txt and costs only what depends on it. */
static void note(struct object *o, const struct err *why)
{
	object_fault(o, PART_OBJECT, 0, false, why);
}

static int read_header(struct object *o, struct pmo *p, struct err *e)
{
	const uint8_t *header;
	int version, rc = object_read(o, &o->arena, 0, PMO_HEADER_SIZE, "header", &header, e);

	if (rc)
		return rc;
	version = pmo_version(header);
	if (version < 0)
		return err_at(e, EBADMSG, o->src, 4, "version", "bytes %02x %02x %02x %02x are neither 1.0 nor 102",
			      header[4], header[5], header[6], header[7]);
	o->variant = &pmo_variants[version];
	p->mesh_scale = version == PMO_102;
	p->mesh_record = o->variant->sections[PMO_MESHES].record;
	rec_decode(o->variant->sections[PMO_HEADER].record, false, header, &p->head);
	return 0;
}

static int read_tables(struct object *o, struct pmo *p, struct err *e)
{
	uint64_t end = p->head.geometry;

	if (end < PMO_HEADER_SIZE || end > o->src->size)
		end = o->src->size;
	if (end - PMO_HEADER_SIZE > TABLES_AT_ONCE)
		return 0;
	p->ntables = (uint32_t)(end - PMO_HEADER_SIZE);
	return object_read(o, &o->arena, PMO_HEADER_SIZE, p->ntables, "tables", &p->tables, e);
}

/* Where tables lie and how many records fit before the next one. */
static void place_tables(const struct object *o, struct pmo *p)
{
	const uint32_t at[PMO_SECTIONS] = { 0, p->head.mesh_table, p->head.group_table, p->head.remap_table,
					    p->head.palette_table, p->head.material_table, p->head.geometry };

	for (unsigned s = PMO_MESHES; s < PMO_GEOMETRY; s++) {
		struct pmo_table *t = &p->table[s];
		uint64_t end = o->src->size;

		t->at = at[s];
		t->each = o->variant->sections[s].record->size;
		for (unsigned k = PMO_MESHES; k < PMO_SECTIONS; k++)
			if (at[k] > t->at && at[k] < end)
				end = at[k];
		if (t->at >= PMO_HEADER_SIZE && t->at < end)
			t->room = (uint32_t)((end - t->at) / t->each);
	}
}

/* Whether n records of table s fit; else why not. */
static int table_fits(const struct object *o, const struct pmo *p, unsigned s, uint32_t n, struct err *e)
{
	const struct pmo_table *t = &p->table[s];

	if (n <= t->room)
		return 0;
	if (t->at < PMO_HEADER_SIZE)
		return err_at(e, EBADMSG, o->src, t->at, table_names[s], "lies inside the header of %u bytes",
			      PMO_HEADER_SIZE);
	if (t->at >= o->src->size)
		return err_at(e, EBADMSG, o->src, t->at, table_names[s], "lies past the %llu bytes of the entry",
			      (unsigned long long)o->src->size);
	if (!span_ok(o->src->size, t->at, n, t->each))
		return err_at(e, EBADMSG, o->src, t->at, table_names[s],
			      "%u records of %u bytes end past the %llu bytes of the entry", n, t->each,
			      (unsigned long long)o->src->size);
	return err_at(e, EBADMSG, o->src, t->at, table_names[s],
		      "%u records of %u bytes, the next table leaves room for %u", n, t->each, t->room);
}

/* The first n records of table s, which fit. */
static int read_table(struct object *o, struct pmo *p, unsigned s, uint32_t n, struct err *e)
{
	struct pmo_table *t = &p->table[s];
	uint64_t bytes = (uint64_t)n * t->each;
	int rc = 0;

	if (p->tables && span_ok(p->ntables, t->at - PMO_HEADER_SIZE, bytes, 1))
		t->raw = p->tables + (t->at - PMO_HEADER_SIZE);
	else
		rc = object_read(o, &o->arena, t->at, bytes, table_names[s], &t->raw, e);
	t->n = rc ? 0 : n;
	return rc;
}

/* A table whose records the header counts. One that does not fit is left out. */
static int counted_table(struct object *o, struct pmo *p, unsigned s, uint32_t n, struct err *e)
{
	if (!n)
		return 0;
	if (table_fits(o, p, s, n, e)) {
		note(o, e);
		return 0;
	}
	return read_table(o, p, s, n, e);
}

/* ---- meshes ---- */

/* False when there are so many damaged meshes that the table is none. */
static bool mesh_fault(struct object *o, struct pmo *p, uint32_t i, unsigned *nbad, const struct err *why)
{
	const struct pmo_table *t = &p->table[PMO_MESHES];
	struct err many;

	p->mesh[i].bad = true;
	object_fault(o, PART_MESH, i, true, why);
	if (++*nbad < PMO_BAD_MESHES)
		return true;
	err_at(&many, EBADMSG, o->src, t->at, "mesh table", "no mesh is shown, %u of the first %u are damaged", *nbad,
	       i + 1);
	note(o, &many);
	p->nmeshes = 0;
	return false;
}

static int read_meshes(struct object *o, struct pmo *p, struct err *e)
{
	const struct pmo_table *t = &p->table[PMO_MESHES];
	int rc = counted_table(o, p, PMO_MESHES, p->head.mesh_count, e);

	if (rc || !t->n)
		return rc;
	p->mesh = arena_alloc(&o->arena, t->n, sizeof *p->mesh);
	if (!p->mesh)
		return err_nomem(e);
	for (uint32_t i = 0; i < t->n; i++)
		rec_decode(p->mesh_record, false, t->raw + (size_t)i * t->each, &p->mesh[i]);
	p->nmeshes = t->n;
	return 0;
}

/* Where the runs of the meshes in table s end, when the table can be used at all: 0 and a note when not. */
static uint32_t runs_end(struct object *o, struct pmo *p, unsigned s, struct err *e)
{
	uint32_t most = 0;
	bool any = false;

	for (uint32_t i = 0; i < p->nmeshes; i++) {
		const struct pmo_mesh *m = &p->mesh[i];
		uint32_t first = s == PMO_GROUPS ? m->first_group : m->first_remap;
		uint32_t n = s == PMO_GROUPS ? m->group_count : m->remap_count;

		any |= n > 0;
		if (n && span_ok(p->table[s].room, first, n, 1) && first + n > most)
			most = first + n;
	}
	if (any && table_fits(o, p, s, 1, e)) {
		note(o, e);
		if (s == PMO_GROUPS)
			p->nmeshes = 0;        /* without its groups no mesh can be shown */
	}
	return most;
}

/* Runs of groups and remap entries that lie outside their tables. */
static int check_runs(const struct object *o, const struct pmo *p, uint32_t i, uint32_t groups_before, struct err *e)
{
	const struct pmo_mesh *m = &p->mesh[i];
	const struct pmo_table *t = &p->table[PMO_MESHES], *g = &p->table[PMO_GROUPS], *r = &p->table[PMO_REMAP];
	uint64_t at = t->at + (uint64_t)i * t->each;
	char what[24];

	snprintf(what, sizeof what, "mesh %u", i);
	if (m->group_count && !span_ok(g->room, m->first_group, m->group_count, 1))
		return err_at(e, EBADMSG, o->src, at, what, "groups %u to %u, the group table at 0x%x has room for %u",
			      m->first_group, m->first_group + m->group_count - 1u, g->at, g->room);
	if (m->group_count > g->room - groups_before)
		return err_at(e, EBADMSG, o->src, at, what,
			      "%u groups and the %u of the meshes before are more than the %u "
			      "that the group table at 0x%x has room for",
			      m->group_count, groups_before, g->room, g->at);
	if (r->room && m->remap_count && !span_ok(r->room, m->first_remap, m->remap_count, 1))
		return err_at(e, EBADMSG, o->src, at, what,
			      "remap entries %u to %u, the remap table at 0x%x has room for %u", m->first_remap,
			      m->first_remap + m->remap_count - 1u, r->at, r->room);
	return 0;
}

static int read_runs(struct object *o, struct pmo *p, unsigned *nbad, struct err *e)
{
	uint32_t n = runs_end(o, p, PMO_GROUPS, e), groups = 0;
	int rc = n ? read_table(o, p, PMO_GROUPS, n, e) : 0;

	n = p->head.remap_table ? runs_end(o, p, PMO_REMAP, e) : 0;
	if (!rc && n)
		rc = read_table(o, p, PMO_REMAP, n, e);
	for (uint32_t i = 0; i < p->nmeshes && !rc; i++) {
		if (!check_runs(o, p, i, groups, e))
			groups += p->mesh[i].group_count;
		else if (!mesh_fault(o, p, i, nbad, e))
			break;
	}
	return rc;
}

/* ---- geometry region ---- */

#define BLOCK 2048u                            /* files of DATA.BIN are padded to whole blocks */

/* The region of a 102 model may be the next file of DATA.BIN; then the header's size counts it and it begins where this
 * entry ends. Right in DATA.BIN and without an exact size, the entry seems longer by its padding. */
static bool lies_behind(const struct object *o, const struct pmo *p)
{
	uint64_t entry = o->src->size, at = p->head.geometry;
	bool padded = o->around && o->around->padded && entry - at < BLOCK;

	return o->variant == &pmo_variants[PMO_102] && p->head.size > entry && (at == entry || padded);
}

/* Every region begins with a display list, and that with ORIGIN. */
static bool is_region(struct source *src, uint32_t n)
{
	uint8_t word[4];

	return src && src->size >= n && !src_pread(src, word, sizeof word, 0) && ge_op(le_u32(word)) == GE_ORIGIN;
}

static int find_behind(struct object *o, struct pmo *p, struct err *e)
{
	uint32_t n = p->head.size - p->head.geometry;

	if (o->around)
		o->behind = o->around->following(o->around, 1, e);
	if (!o->behind && o->around && e->code == ENOMEM)
		return -ENOMEM;
	if (p->head.geometry < o->src->size && !is_region(o->behind, n)) {
		src_put(o->behind);            /* no padding, then; the entry is cut short, or its size is wrong */
		o->behind = NULL;
		return -ENOENT;
	}
	if (!o->behind) {
		err_at(e, EBADMSG, o->src, p->head.geometry, "geometry region",
		       "its %u bytes are the next file of DATA.BIN, which is missing here", n);
		p->missing = arena_printf(&o->arena, "%s", e->text);
		note(o, e);
		return p->missing ? 0 : err_nomem(e);
	}
	p->behind = true;
	p->region = (struct ge_region){ o->behind, 0, n };
	if (n > o->behind->size) {
		err_at(e, EBADMSG, o->src, 8, "size",
		       "gives the geometry %u bytes, the next file of DATA.BIN has only %llu", n,
		       (unsigned long long)o->behind->size);
		note(o, e);
		p->region.size = o->behind->size;
	}
	return 0;
}

static int find_region(struct object *o, struct pmo *p, struct err *e)
{
	uint64_t entry = o->src->size, end = p->head.size, at = p->head.geometry;

	if (at < PMO_HEADER_SIZE || at > entry) {
		if (at < PMO_HEADER_SIZE)
			err_at(e, EBADMSG, o->src, at, "geometry region", "lies inside the header of %u bytes",
			       PMO_HEADER_SIZE);
		else
			err_at(e, EBADMSG, o->src, at, "geometry region", "lies past the %llu bytes of the entry",
			       (unsigned long long)entry);
		note(o, e);
		p->nmeshes = 0;
		return 0;
	}
	if (lies_behind(o, p)) {
		int rc = find_behind(o, p, e);

		if (rc != -ENOENT)
			return rc;
	}
	if (end > entry)
		err_at(e, EBADMSG, o->src, 8, "size", "%u bytes, the entry has only %llu", p->head.size,
		       (unsigned long long)entry);
	else if (end < at)
		err_at(e, EBADMSG, o->src, 8, "size", "%u bytes end before the geometry region at 0x%llx", p->head.size,
		       (unsigned long long)at);
	if (end > entry || end < at) {
		note(o, e);
		end = entry;
	}
	p->region = (struct ge_region){ o->src, at, end - at };
	return 0;
}

/* ---- groups ---- */

static int read_groups(struct object *o, struct pmo *p, struct err *e)
{
	const struct pmo_table *t = &p->table[PMO_GROUPS];
	struct pmo_table *palette = &p->table[PMO_PALETTE];
	uint32_t most = 0;
	uint64_t entries = 0;

	p->group = t->n ? arena_alloc(&o->arena, t->n, sizeof *p->group) : NULL;
	if (!p->group)
		return t->n ? err_nomem(e) : 0;
	for (uint32_t i = 0; i < t->n; i++) {
		struct pmo_group *g = &p->group[i];

		rec_decode(&pmo_group_record, false, t->raw + (size_t)i * t->each, g);
		entries += g->palette_count;
		if (g->palette_count && span_ok(palette->room, g->first_palette, g->palette_count, 1) &&
		    g->first_palette + g->palette_count > most)
			most = g->first_palette + g->palette_count;
	}
	if (entries && table_fits(o, p, PMO_PALETTE, 1, e))
		note(o, e);
	/* The groups' entries follow each other, so the last one's number would not fit the record. */
	if (entries > PMO_PALETTE_ENTRIES) {
		err_at(e, EBADMSG, o->src, palette->at, "bone palette", "the groups set %llu entries, more than %u",
		       (unsigned long long)entries, PMO_PALETTE_ENTRIES);
		note(o, e);
		p->nmeshes = 0;
	}
	return most ? read_table(o, p, PMO_PALETTE, most, e) : 0;
}

/* Each group sets slots on top of what the groups before it left, whatever mesh they belong to. */
static void follow_palette(struct pmo *p)
{
	const struct pmo_table *palette = &p->table[PMO_PALETTE];
	int16_t bone[PMO_SLOTS];

	memset(bone, 0xff, sizeof bone);
	for (uint32_t i = 0; i < p->table[PMO_GROUPS].n; i++) {
		struct pmo_group *g = &p->group[i];

		for (uint32_t n = 0, k = g->first_palette; n < g->palette_count && k < palette->n; n++, k++)
			if (palette->raw[2 * k] < PMO_SLOTS)
				bone[palette->raw[2 * k]] = palette->raw[2 * k + 1];
		memcpy(g->bone, bone, sizeof bone);
	}
}

/* Groups may share a vertex buffer, but not so that a small file shows without end. */
#define SHARED_VERTICES(region) (4 * (uint64_t)(region) + (2u << 20))

/* Bytes of vertices that all groups have together, at most: as far as their buffers can reach. */
static uint64_t vertices_most(const struct pmo *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->table[PMO_GROUPS].n; i++) {
		const struct pmo_group *g = &p->group[i];

		if (!g->bad && g->vertex_buffer < p->region.size)
			sum += p->region.size - g->vertex_buffer;
	}
	return sum;
}

/* Counts them by the indices when they could be too many. */
static int check_vertices(struct object *o, struct pmo *p, struct err *e)
{
	uint64_t most = SHARED_VERTICES(p->region.size), sum = 0;
	struct pmo_window win = { 0 };
	struct pmo_scan scan;
	uint32_t i;
	int rc = 0;

	if (vertices_most(p) <= most)
		return 0;
	for (i = 0; i < p->table[PMO_GROUPS].n && sum <= most && rc != -ENOMEM; i++) {
		rc = p->group[i].bad ? 0 : pmo_group_scan(p, i, 0, NULL, &win, &scan, e);
		sum += p->group[i].bad || rc ? 0 : (uint64_t)scan.vertices * scan.vertex.stride;
	}
	buf_free(&win.bytes);
	if (rc == -ENOMEM)
		return rc;
	if (sum > most) {
		err_at(e, EBADMSG, p->region.src, p->region.at, "geometry region",
		       "its %llu bytes give the first %u groups %llu bytes of vertices",
		       (unsigned long long)p->region.size, i, (unsigned long long)sum);
		note(o, e);
		p->nmeshes = 0;
	}
	return 0;
}

static int check_groups(struct object *o, struct pmo *p, struct err *e)
{
	uint32_t words = 0, indices = GE_NO_ADDRESS;
	uint64_t corners = 0;

	for (uint32_t i = 0; i < p->table[PMO_GROUPS].n; i++) {
		struct pmo_group *g = &p->group[i];
		int rc;

		g->indices = indices;
		rc = pmo_group_check(o, p, i, g, &indices, &words, NULL);
		if (rc && rc != -EBADMSG)
			return err_at(e, -rc, o->src, p->region.at, "geometry region", "%s", strerror(-rc));
		g->bad = rc != 0;
		corners += g->bad ? 0 : g->corners;
		if (words <= PMO_COMMANDS && corners <= PMO_CORNERS)
			continue;
		err_at(e, EBADMSG, p->region.src, p->region.at, "geometry region",
		       "the display lists of the first %u groups have %u commands and draw %llu corners, more than any "
		       "model",
		       i + 1, words, (unsigned long long)corners);
		note(o, e);
		p->nmeshes = 0;
		return 0;
	}
	return check_vertices(o, p, e);
}

/* Why mesh i cannot be drawn, as far as its tables and display lists tell. */
static int check_mesh(const struct object *o, const struct pmo *p, uint32_t i, struct err *e)
{
	const struct pmo_mesh *m = &p->mesh[i];
	uint64_t corners = 0;
	char what[24];

	for (uint32_t k = m->first_group; k < (uint32_t)m->first_group + m->group_count; k++) {
		struct pmo_group again = p->group[k];
		uint32_t indices, words = 0;

		if (again.bad)
			return pmo_group_check(o, p, k, &again, &indices, &words, e);
		corners += again.corners;
	}
	if (corners <= PMO_MESH_CORNERS)
		return 0;
	snprintf(what, sizeof what, "mesh %u", i);
	return err_at(e, EBADMSG, o->src, p->table[PMO_MESHES].at + (uint64_t)i * p->table[PMO_MESHES].each, what,
		      "draws %llu corners, more than %u", (unsigned long long)corners, PMO_MESH_CORNERS);
}

static int check_meshes(struct object *o, struct pmo *p, unsigned *nbad, struct err *e)
{
	for (uint32_t i = 0; i < p->nmeshes; i++) {
		int rc = p->mesh[i].bad ? 0 : check_mesh(o, p, i, e);

		if (rc && rc != -EBADMSG)
			return rc;
		if (rc && !mesh_fault(o, p, i, nbad, e))
			break;
	}
	return 0;
}

int pmo_open(struct object *o, struct err *e)
{
	struct pmo *p = arena_alloc(&o->arena, 1, sizeof *p);
	unsigned nbad = 0;
	int rc;

	if (!p)
		return err_nomem(e);
	o->priv = p;
	rc = read_header(o, p, e);
	if (rc)
		return rc;
	place_tables(o, p);
	rc = read_tables(o, p, e);
	rc = rc ? rc : read_meshes(o, p, e);
	rc = rc ? rc : counted_table(o, p, PMO_MATERIALS, p->head.material_count, e);
	rc = rc ? rc : read_runs(o, p, &nbad, e);
	rc = rc ? rc : read_groups(o, p, e);
	rc = rc ? rc : find_region(o, p, e);
	if (rc)
		return rc;
	follow_palette(p);
	rc = check_groups(o, p, e);
	return rc ? rc : check_meshes(o, p, &nbad, e);
}
