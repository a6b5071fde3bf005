/* ISO 9660: what the records of the primary tree are shown as. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "iso9660.h"

/* ---- one file ---- */

/* Why a file of n records can never be written, and, if it is so, not even read. */
static const char *fixed_by(const struct iso_item *v, uint32_t n, bool *lost)
{
	uint16_t xa = 0;
	uint8_t apart = 0, xar = 0;

	for (uint32_t k = 0; k < n; k++) {
		xa |= v[k].xa;
		apart |= v[k].unit | v[k].gap;
		xar |= v[k].xar;
	}
	*lost = apart || xa & (ISO_XA_MIXED | ISO_XA_AUDIO | ISO_XA_FORM2);
	if (apart || xa & ISO_XA_MIXED)
		return "interleaved";
	if (*lost)
		return xa & ISO_XA_AUDIO ? "audio" : "form 2";
	return n > 1 ? "several extents" : xar ? "extended attributes" : NULL;
}

/* The first record whose bytes are not all in the image, or n. */
static uint32_t find_outside(const struct iso *iso, const struct iso_item *v, uint32_t n)
{
	uint64_t s;

	for (uint32_t k = 0; k < n; k++)
		if (v[k].size && (!iso_sector(iso, v[k].lba, &s) || iso_sectors(v[k].size) > iso->sectors - s))
			return k;
	return n;
}

struct making { struct object *o; struct iso *iso; struct iso_tree t; uint32_t *item; };

static int lose(struct making *m, const struct iso_item *v, uint32_t k, struct err *e)
{
	struct iso *iso = m->iso;

	iso->why[k] = arena_printf(&m->o->arena, "sectors %" PRIu64 ".. are outside %" PRIu64, v->lba,
				   iso->base + iso->sectors);
	if (!iso->why[k])
		return err_nomem(e);
	iso->entry[k].lost = true;
	iso->entry[k].fixed = false;
	iso_note(m->o, iso, v->at + 2, "directory record", "%s: %s", iso_name_text(&m->t, v).s, iso->why[k]);
	return 0;
}

/* Pieces of several records, without those of no bytes. */
static int set_pieces(struct making *m, const struct iso_item *v, uint32_t n, struct entry *out, struct err *e)
{
	struct extents *x = arena_alloc(&m->o->arena, 1, sizeof *x + n * sizeof *x->v);

	if (!x)
		return err_nomem(e);
	for (uint32_t k = 0; k < n; k++)
		if (v[k].size)
			x->v[x->n++] = (struct extent){ (v[k].lba - m->iso->base) * ISO_SECTOR, v[k].size };
	out->extents = x;
	out->in_pieces = true;
	return 0;
}

static int make_file(struct making *m, uint32_t k, uint32_t n, struct err *e)
{
	const struct iso_item *v = &m->t.v[m->item[k]];
	struct iso *iso = m->iso;
	struct entry *out = &iso->entry[k];
	uint32_t outside = find_outside(iso, v, n);
	bool lost;
	uint64_t s;

	for (uint32_t i = 0; i < n; i++)
		out->size += v[i].size;
	iso->nfiles++;
	iso->bytes += out->size;
	iso->lba[k] = v->lba - v->xar;
	iso->why[k] = fixed_by(v, n, &lost);
	out->lost = lost;
	if (!iso->why[k])
		iso->why[k] = iso->kind.fixed;
	out->fixed = iso->why[k];
	if (outside < n)
		return lose(m, v + outside, k, e);
	if (!out->lost && n > 1 && out->size)
		return set_pieces(m, v, n, out, e);
	if (iso_sector(iso, v->lba, &s))
		out->at = s * ISO_SECTOR;
	return 0;
}

/* ---- all ---- */

/* Associated files belong to the file of the same name that follows; nobody sees them. */
static uint32_t choose(const struct iso_tree *t, uint32_t *item)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i += iso_is_dir(&t->v[i]) ? 1 : iso_pieces(t, i))
		if (iso_is_dir(&t->v[i]) || !(t->v[i].flags & ISO_ASSOCIATED))
			item[n++] = i;
	return n;
}

static int make_entries(struct making *m, struct err *e)
{
	struct iso *iso = m->iso;
	struct arena *a = &m->o->arena;
	size_t n = iso->n + (size_t)1;
	int rc = 0;

	iso->entry = arena_alloc(a, n, sizeof *iso->entry);
	iso->name = arena_alloc(a, n, sizeof *iso->name);
	iso->why = arena_alloc(a, n, sizeof *iso->why);
	iso->mtime = arena_alloc(a, n, sizeof *iso->mtime);
	iso->lba = arena_alloc(a, n, sizeof *iso->lba);
	if (!iso->entry || !iso->name || !iso->why || !iso->mtime || !iso->lba)
		return err_nomem(e);
	for (uint32_t k = 0; k < iso->n && !rc; k++) {
		const struct iso_item *v = &m->t.v[m->item[k]];

		iso->mtime[k] = v->mtime;
		iso->entry[k].folder = iso_is_dir(v);
		iso->ndirs += iso_is_dir(v);
		rc = iso_is_dir(v) ? 0 : make_file(m, k, iso_pieces(&m->t, m->item[k]), e);
	}
	return rc ? rc : iso_names(iso, &m->t, m->item, a, e);
}

/* ---- whose game it is ---- */

static bool in_root(const struct iso *iso, const char *name)
{
	for (uint32_t k = 0; k < iso->n && !strchr(iso->name[k], '/'); k++)
		if (!strcmp(iso->name[k], name))
			return true;
	return false;
}

size_t iso_trimmed(const char *p, size_t n)
{
	while (n && (p[n - 1] == ' ' || !p[n - 1]))
		n--;
	return n;
}

static uint8_t game_of(const struct iso *iso)
{
	static const char saturn[] = "SEGA SEGASATURN ", psp[] = "PSP GAME";
	const char *id = iso->volume.system_id;
	char first[sizeof saturn - 1];

	if (!src_pread(iso->src, first, sizeof first, 0) && !memcmp(first, saturn, sizeof first))
		return ISO_SATURN;
	if (iso_trimmed(id, sizeof iso->volume.system_id) == strlen(psp) && !memcmp(id, psp, strlen(psp)) &&
	    in_root(iso, "PSP_GAME") && in_root(iso, "UMD_DATA.BIN"))
		return ISO_PSP;
	return ISO_UNKNOWN;
}

int iso_entries(struct object *o, struct iso *iso, struct err *e)
{
	struct making m = { .o = o, .iso = iso };
	int rc = iso_tree_read(iso, &iso->tree[iso->primary], o, &m.t, e);

	m.item = rc ? NULL : malloc((m.t.n + (size_t)1) * sizeof *m.item);
	if (!rc && !m.item)
		rc = err_nomem(e);
	if (!rc) {
		iso->n = choose(&m.t, m.item);
		rc = make_entries(&m, e);
	}
	rc = rc ? rc : iso_mark_own(iso, &m.t, e);
	if (!rc)
		iso->game = game_of(iso);
	free(m.item);
	iso_tree_free(&m.t);
	return rc;
}
