/* What the entries of a unit lie in, and which of them are never written. */
#include "unit.h"

void unit_drop_medium(struct unit *u)
{
	src_put(u->around.medium);
	u->around.medium = NULL;
}

/* One that takes writes shows its bytes as they are at each look. */
static bool is_coherent(const struct unit *u)
{
	return u->around.medium && (u->around.medium == u->src || u->around.medium->ops->pwrite);
}

int unit_medium(struct unit *u, bool *fresh, struct err *e)
{
	bool knows = u->format->container && u->format->container->medium, stays = !knows || is_coherent(u);

	if (fresh)
		*fresh = !stays;
	if (stays)
		return 0;
	unit_drop_medium(u);
	return format_medium(u->format, u->src, u->around.lead, &u->around.medium, e);
}

void unit_set_source(struct unit *u, struct source *src)
{
	src_ref(src);
	if (src != u->src)
		unit_drop_medium(u);
	src_put(u->src);
	u->src = src;
}

bool unit_is_fixed(const struct tree *t, const struct unit *u, const char **why)
{
	for (; !tree_is_file(t, u); u = unit_at(t, u->parent)) {
		const struct unit *in = unit_at(t, u->parent);

		if (u->index >= in->nkids || !in->kids[u->index].entry.fixed)
			continue;
		if (why)
			*why = in->why ? in->why[u->index] : NULL;
		return true;
	}
	return false;
}
