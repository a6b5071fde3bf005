/* ISO 9660: names as they are shown.
 *
 * `NAME.EXT;1` is shown without its version, and without a dot that nothing follows. What no file can be called becomes
 * `_`; of two names that become equal in a directory the later one gets `~2`. */
#include "iso9660.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without `;N`. */
static unsigned cut_version(const uint8_t *p, unsigned n)
{
	unsigned k = n;

	while (k && p[k - 1] >= '0' && p[k - 1] <= '9')
		k--;
	return k && k < n && p[k - 1] == ';' ? k - 1 : n;
}

static bool is_safe(uint8_t c)
{
	return c >= ' ' && c != 0x7f && c != '/';
}

/* The n bytes of a stored name as they are shown, in `to`, which has room for n + 3. */
static void show_name(const uint8_t *p, unsigned n, char *to)
{
	unsigned k = cut_version(p, n);

	k -= k && p[k - 1] == '.';
	for (unsigned i = 0; i < k; i++)
		to[i] = is_safe(p[i]) ? (char)p[i] : '_';
	to[k] = 0;
	if (!strcmp(to, ".") || !strcmp(to, ".."))
		memset(to, '_', k);
	if (!k)
		strcpy(to, "_");
}

struct path_text iso_name_text(const struct iso_tree *t, const struct iso_item *v)
{
	char name[256 + 2];

	show_name(iso_stored_name(t, v), v->name_length, name);
	return path_text(name, '/');
}

/* ---- paths ---- */

struct naming {
	struct iso *iso;
	const struct iso_tree *t;
	const uint32_t *item;
	const char **path;                     /* of each directory */
	const char **part;                     /* of each entry */
	struct arena *a;
};

static const char *join(const char *path, const char *name, struct arena *a)
{
	size_t n = strlen(path), m = strlen(name) + 1;
	char *s;

	if (!n)
		return name;
	s = arena_alloc(a, n + 1 + m, 1);
	if (!s)
		return NULL;
	memcpy(s, path, n);
	s[n] = '/';
	memcpy(s + n + 1, name, m);
	return s;
}

/* The names [from, to), all of one directory. */
static int name_dir(struct naming *k, uint32_t from, uint32_t to, struct err *e)
{
	const struct iso_tree *t = k->t;
	int rc = names_distinct(k->part + from, to - from, k->part + from, k->a, e);

	for (uint32_t i = from; i < to && !rc; i++) {
		const struct iso_item *v = &t->v[k->item[i]];

		k->iso->name[i] = join(k->path[v->in], k->part[i], k->a);
		if (!k->iso->name[i])
			return err_nomem(e);
		if (v->dir)
			k->path[v->dir] = k->iso->name[i];
	}
	return rc;
}

static int show_all(struct naming *k, struct err *e)
{
	char name[256 + 2];

	for (uint32_t i = 0; i < k->iso->n; i++) {
		const struct iso_item *v = &k->t->v[k->item[i]];
		char *s;

		show_name(iso_stored_name(k->t, v), v->name_length, name);
		s = arena_alloc(k->a, strlen(name) + 1, 1);
		if (!s)
			return err_nomem(e);
		k->part[i] = strcpy(s, name);
	}
	return 0;
}

int iso_names(struct iso *iso, const struct iso_tree *t, const uint32_t *item, struct arena *a, struct err *e)
{
	struct naming k = {
		iso, t, item, calloc(t->ndirs, sizeof *k.path), calloc(iso->n + (size_t)1, sizeof *k.part), a,
	};
	uint32_t to;
	int rc = k.path && k.part ? show_all(&k, e) : err_nomem(e);

	if (!rc)
		k.path[0] = "";
	for (uint32_t from = 0; from < iso->n && !rc; from = to) {
		for (to = from; to < iso->n && t->v[item[to]].in == t->v[item[from]].in; to++)
			;
		rc = name_dir(&k, from, to, e);
	}
	free(k.path);
	free(k.part);
	return rc;
}
