/* Remap runs and bone palettes of another length. The runs of all meshes, or groups, follow each other in their table,
 * which can grow as far as the zeros behind it go. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmo.h"

struct run {
	uint32_t first, count;
	const struct ynode *rows;              /* what becomes of it; NULL: it stays */
};

struct rows {
	struct object *o;
	const struct pmo *p;
	unsigned section;                      /* PMO_REMAP: the meshes have runs; PMO_PALETTE: the groups */
	const char *key;
	const struct pmo_table *table, *owners;
	const struct record *record, *owner;
	const char *count_name, *first_name;   /* fields of an owner */
	struct run *run;                       /* owners->n */
	struct buf bytes;                      /* of the new table */
	const struct ynode *last;              /* change, for messages */
};

/* ---- the new table ---- */

static int parse_value(struct rows *x, const struct ynode *node, unsigned i, uint8_t *raw, struct err *e)
{
	struct field f = x->record->fields[i];
	char name[64];

	snprintf(name, sizeof name, "%s: %s", x->key, f.name);
	f.name = name;
	return ynode_parse(node, &f, false, raw, e);
}

static int add_row(struct rows *x, const struct ynode *node, struct err *e)
{
	unsigned n = x->record->nfields;
	uint8_t raw[4] = { 0 };
	int rc = 0;

	if (n == 1) {
		rc = parse_value(x, node, 0, raw, e);
	} else {
		if (node->kind != Y_LIST || node->count != n)
			return err_line(e, EINVAL, node->line, node->column, "%s: expected a list of %u numbers",
					x->key, n);
		for (unsigned i = 0; i < n && !rc; i++)
			rc = parse_value(x, ynode_item(node, i), i, raw, e);
	}
	buf_add(&x->bytes, raw, x->record->size);
	return rc;
}

static int refuse(const struct rows *x, int code, struct err *e, const char *text)
{
	return err_line(e, code, x->last->line, x->last->column, "%s: %s", x->key, text);
}

static int add_run(struct rows *x, const struct run *r, struct err *e)
{
	int rc = 0;

	if (!r->rows) {
		if (r->count)
			buf_add(&x->bytes, x->table->raw + (size_t)r->first * x->table->each,
				(size_t)r->count * x->table->each);
		return 0;
	}
	if (r->rows->count > 255)
		return err_line(e, EINVAL, r->rows->line, r->rows->column, "%s: %u entries, 255 are the most", x->key,
				r->rows->count);
	for (const struct ynode *k = r->rows->first; k && !rc; k = k->next)
		rc = add_row(x, k, e);
	return rc;
}

static int build(struct rows *x, struct err *e)
{
	uint32_t next = 0;
	int rc = 0;

	for (uint32_t i = 0; i < x->owners->n; i++) {
		if (x->run[i].count && x->run[i].first != next)
			return refuse(x, EINVAL, e, "another length needs runs that follow each other");
		next += x->run[i].count;
	}
	if (next != x->table->n)
		return refuse(x, EINVAL, e, "another length needs a table that is whole");
	for (uint32_t i = 0; i < x->owners->n && !rc; i++)
		rc = add_run(x, &x->run[i], e);
	return rc ? rc : x->bytes.bad ? err_nomem(e) : 0;
}

/* ---- writing ---- */

static int check_room(const struct rows *x, struct arena *a, struct err *e)
{
	const struct pmo_table *t = x->table;
	size_t n = x->bytes.len / t->each, old = (size_t)t->n * t->each;
	size_t grown = x->bytes.len > old ? x->bytes.len - old : 0;
	const uint8_t *behind;
	char text[120];
	int rc;

	if (n > 65535)
		return refuse(x, EFBIG, e, "more than 65535 entries in all");
	if (n > t->room) {
		snprintf(text, sizeof text, "%zu entries in all, the table has room for %u: %zu bytes are missing", n,
			 t->room, (n - t->room) * t->each);
		return refuse(x, ENOSPC, e, text);
	}
	rc = object_read(x->o, a, t->at + old, grown, "table", &behind, e);
	for (size_t i = 0; i < grown && !rc; i++)
		if (behind[i])
			return refuse(x, ENOSPC, e, "the bytes behind the table are in use");
	return rc;
}

/* Owners without entries keep a first one that is not a running total. */
static int write_owners(const struct rows *x, struct err *e)
{
	const struct pmo_table *t = x->owners;
	struct field count, first;
	uint32_t before = 0, now = 0;
	int rc = 0;

	rec_field(x->owner, x->count_name, &count);
	rec_field(x->owner, x->first_name, &first);
	for (uint32_t i = 0; i < t->n && !rc; i++) {
		const struct run *r = &x->run[i];
		uint32_t n = r->rows ? r->rows->count : r->count;
		uint8_t raw[64];

		memcpy(raw, t->raw + (size_t)i * t->each, t->each);
		field_set(&count, false, raw, 0, n);
		if (n || r->first == before)
			field_set(&first, false, raw, 0, now);
		rc = object_patch(x->o, 0, t->at + (uint64_t)i * t->each, raw, t->each, "table", e);
		before += r->count;
		now += n;
	}
	return rc;
}

static int write_table(struct rows *x, struct arena *a, struct err *e)
{
	size_t old = (size_t)x->table->n * x->table->each;
	int rc = check_room(x, a, e);

	while (!rc && x->bytes.len < old && !x->bytes.bad)
		buf_char(&x->bytes, 0);
	if (!rc && x->bytes.bad)
		rc = err_nomem(e);
	rc = rc ? rc : object_patch(x->o, 0, x->table->at, x->bytes.p, x->bytes.len, "table", e);
	return rc ? rc : write_owners(x, e);
}

/* ---- changes ---- */

static bool find_runs(struct rows *x, struct arena *a)
{
	x->run = arena_alloc(a, (size_t)x->owners->n + 1, sizeof *x->run);
	for (uint32_t i = 0; x->run && i < x->owners->n; i++) {
		struct run *r = &x->run[i];

		if (x->section == PMO_REMAP)
			*r = (struct run){ x->p->mesh[i].first_remap, x->p->mesh[i].remap_count, NULL };
		else
			*r = (struct run){ x->p->group[i].first_palette, x->p->group[i].palette_count, NULL };
	}
	return x->run;
}

static int put_rows(struct rows *x, uint32_t mesh, struct doc_change *change, unsigned n, struct arena *a,
		    struct err *e)
{
	unsigned depth = x->section == PMO_REMAP ? 0 : 1;
	int rc;

	if (!find_runs(x, a))
		return err_nomem(e);
	for (unsigned i = 0; i < n; i++) {
		struct doc_change *c = &change[i];
		uint32_t owner = depth ? x->p->mesh[mesh].first_group + c->item[0] : mesh;

		if (c->kind != CHANGE_ROWS || c->depth != depth || strcmp(c->key, x->key))
			continue;
		c->taken = true;
		x->last = x->run[owner].rows = c->value;
	}
	if (!x->last)
		return 0;
	rc = build(x, e);
	return rc ? rc : write_table(x, a, e);
}

int pmo_rows_put(struct object *o, uint32_t mesh, struct doc_change *change, unsigned n, struct err *e)
{
	const struct pmo *p = o->priv;
	struct rows remap = { .o = o, .p = p, .section = PMO_REMAP, .key = "materials", .table = &p->table[PMO_REMAP],
			      .owners = &p->table[PMO_MESHES], .record = &pmo_remap_record, .owner = p->mesh_record,
			      .count_name = "remap_count", .first_name = "first_remap" };
	struct rows palette = { .o = o, .p = p, .section = PMO_PALETTE, .key = "palette",
				.table = &p->table[PMO_PALETTE], .owners = &p->table[PMO_GROUPS],
				.record = &pmo_palette_record, .owner = &pmo_group_record,
				.count_name = "palette_count", .first_name = "first_palette" };
	struct arena a = { 0 };
	int rc = put_rows(&remap, mesh, change, n, &a, e);

	rc = rc ? rc : put_rows(&palette, mesh, change, n, &a, e);
	buf_free(&remap.bytes);
	buf_free(&palette.bytes);
	arena_free(&a);
	return rc;
}
