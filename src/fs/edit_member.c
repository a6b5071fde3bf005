/* Members of an entry that is edited: other entries of its container, other files, places that its container knows. */
#include <errno.h>
#include <inttypes.h>

#include "edit_in.h"

static bool is_handed(const struct level *l)
{
	return l->up && l->up->entries.member;
}

static struct source *handed(const struct level *l, unsigned k, struct err *e)
{
	return handed_source(l->up->inside, l->up->unit->format, &l->up->entries.member[l->unit->index][k], e);
}

static int open_member(struct level *l, unsigned k, struct level **out, struct err *e)
{
	struct unit *u;
	int rc = unit_member(l->edit->tree, l->unit, k, &u, e);

	return rc ? rc : open_level(l->edit, u, out, e);
}

struct source *member_source(struct level *l, unsigned k, struct err *e)
{
	struct level *m;

	if (is_handed(l))
		return handed(l, k, e);
	return open_member(l, k, &m, e) ? NULL : src_ref(m->src);
}

/* ---- sizes ---- */

static int resize_handed(struct level *l, unsigned k, uint64_t size, struct source **out, struct err *e)
{
	uint64_t has = l->up->entries.member[l->unit->index][k].size;
	const char *ext = l->unit->format->members[k].ext;

	if (size > has)
		return err_set(e, ENOSPC, "the .%s has %" PRIu64 " bytes, %" PRIu64 " are needed: %" PRIu64
			       " bytes are missing, and nothing there can grow", ext, has, size, size - has);
	if (size < has)
		return err_set(e, EINVAL, "the .%s keeps its size: %" PRIu64 " bytes needed, got %" PRIu64, ext, has,
			       size);
	*out = handed(l, k, e);
	return *out ? 0 : err_nomem(e);
}

int resize_member(struct level *l, unsigned k, uint64_t size, struct source **out, struct err *e)
{
	const char *ext = l->unit->format->members[k].ext;
	struct level *m;
	int rc;

	if (is_handed(l))
		return resize_handed(l, k, size, out, e);
	rc = open_member(l, k, &m, e);
	if (rc)
		return rc == -ENOENT ? err_set(e, ENOENT, "there is no .%s", ext) : rc;
	rc = m->up ? resize_entry(m->up, m->unit->index, size, e) : resize_file(l->edit, m->unit->file, size, e);
	rc = rc ? rc : renew_source(m, e);
	rc = rc ? rc : renew_family(l, e);
	if (!rc)
		*out = src_ref(m->src);
	return rc;
}

/* ---- what is open of a container that has changed ---- */

static void swap(struct source **held, struct source *now)
{
	if (*held == now)
		return;
	src_ref(now);
	src_put(*held);
	*held = now;
}

static int renew_member(struct level *l, unsigned k, struct err *e)
{
	struct source **held = &l->object->member[k], *now;
	struct level *m;
	int rc;

	if (!*held)
		return 0;
	if (is_handed(l)) {
		now = handed(l, k, e);
		if (!now)
			return err_nomem(e);
		src_put(*held);
		*held = now;
		return 0;
	}
	rc = open_member(l, k, &m, e);
	rc = rc ? rc : renew_source(m, e);
	if (!rc)
		swap(held, m->src);
	return rc;
}

int renew_family(struct level *l, struct err *e)
{
	int rc;

	if (!l->up || !l->unit->format->nmembers)
		return 0;
	rc = renew_source(l, e);
	if (rc || !l->object)
		return rc;
	swap(&l->object->src, l->src);
	for (unsigned k = 0; k < l->unit->format->nmembers && !rc; k++)
		rc = renew_member(l, k, e);
	return rc;
}
