/* Containers that move data of their own: the run they lie in gets another base, which shows the new places. */
#include <errno.h>
#include <stdlib.h>

#include "edit_in.h"

/* The old plan stays what it is, and `moved` reads through it; a new one begins on top. */
static int rebase_run(struct edit *ed, struct run *r, struct source *moved, struct err *e)
{
	struct frozen *old = malloc(sizeof *old);
	struct run fresh = { 0 };
	int rc = old ? run_open(&fresh, moved, e) : err_nomem(e);

	if (rc) {
		free(old);
		return rc;
	}
	*old = (struct frozen){ ed->frozen, r->plan };
	ed->frozen = old;
	src_put(r->root);
	*r = fresh;
	r->plan->moved = true;
	ed->moved = true;
	return 0;
}

/* All of a run, with other bytes in place of some, as many. */
static struct source *with_part(struct source *all, uint64_t at, struct source *part)
{
	uint64_t end = at + part->size;
	struct source *v[3] = { src_slice(all, 0, at), part, src_slice(all, end, all->size - end) }, *out = NULL;

	if (v[0] && v[2])
		out = src_pieces(v, 3);
	src_put(v[0]);
	src_put(v[2]);
	return out;
}

/* What is open of a run that has another base. */
static int renew_levels(struct level *l, const struct run *r, struct err *e)
{
	bool whole = !l->up || packs(l->up);
	int rc = 0;

	if (l->run == r) {
		rc = whole ? 0 : renew_levels(l->up, r, e);
		rc = rc ? rc : renew_source(l, e);
	} else if (l->inside) {
		set_inside(l, l->inner->root);
	}
	return rc;
}

/* The container of the level makes room; the bytes must not go elsewhere, `moved` reads them where they are. */
static int resize_part(struct level *l, uint64_t size, struct err *e)
{
	const struct entry *v = &l->up->entries.v[l->unit->index];
	const struct plan *plan = l->run->plan;
	uint64_t at = v->at;
	int rc = size == v->size ? 0 : resize_entry(l->up, l->unit->index, size, e);

	if (rc)
		return rc;
	v = &l->up->entries.v[l->unit->index];
	if (v->size != size || (v->at != at && l->run->plan == plan))
		return err_set(e, EROFS, "an archive inside another one cannot be written anew here");
	return renew_source(l, e);
}

static int rebase_part(struct level *l, struct source *moved, struct err *e)
{
	struct source *all;
	uint64_t at = 0;
	int rc = resize_part(l, moved->size, e);

	if (rc)
		return rc;
	if (src_sliced(l->src, &at) != l->run->root)
		return err_set(e, EROFS, "an archive that lies encrypted in another one cannot be written anew");
	all = with_part(l->run->root, at, moved);
	rc = all ? rebase_run(l->edit, l->run, all, e) : err_nomem(e);
	src_put(all);
	return rc;
}

int rebase_bytes(struct level *l, struct source *moved, struct err *e)
{
	bool whole = !l->up || packs(l->up);
	int rc = whole ? rebase_run(l->edit, l->run, moved, e) : rebase_part(l, moved, e);

	return rc ? rc : renew_levels(l, l->run, e);
}

int rebase_inside(struct level *l, struct source *moved, struct err *e)
{
	int rc;

	if (l->inner == l->run)
		return rebase_bytes(l, moved, e);
	if (moved->size != l->inside->size)
		return err_set(e, EROFS, "what it is stored in cannot change its size");
	rc = rebase_run(l->edit, l->inner, moved, e);
	if (!rc)
		set_inside(l, l->inner->root);
	return rc;
}
