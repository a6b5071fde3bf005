/* Renaming what lies in a folder. A model of several files is renamed with all of them: its members get second names
 * first, then the model its new one, then the old names of the members go. Whoever dies amid that leaves a whole model,
 * by its old or its new name, and maybe second names of its members. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"

/* ---- what is known by a name ---- */

static void set_spot(struct tree *t, struct spot *s, unsigned file)
{
	s->file = file;
	if (file)
		tree_file(t, file - 1)->spot = s;
}

/* Files swap names, so that each has one: that which is replaced is found gone at the next look. */
static void move_names(struct tree *t, struct host *dir, const char *name, struct host *to, const char *to_name,
		       bool swap)
{
	struct hosts *h = &t->folder->hosts;
	struct spot *a, *b;
	unsigned file;

	pthread_mutex_lock(&h->lock);
	a = spot_make(h, dir, name);
	b = a ? spot_make(h, to, to_name) : NULL;
	if (b && a != b) {
		spot_move_host(a, b, swap);
		file = a->file;
		set_spot(t, a, b->file);
		set_spot(t, b, file);
		spot_drop(h, b);
	}
	if (a)
		spot_drop(h, a);
	pthread_mutex_unlock(&h->lock);
}

/* ---- a model's files ---- */

struct moved { char from[MEMBER_NAME_MAX], to[MEMBER_NAME_MAX]; };     /* a member */

struct renaming {
	struct tree *t;
	struct host *dir, *to_dir;
	const char *name, *to_name;
	unsigned flags;
	int from, into;                        /* descriptors of the directories */
	struct moved member[MEMBERS_MOST];
	unsigned n;
};

/* A model of several files at a name; NULL: something else, or nothing. */
static const struct format *model_at(struct tree *t, struct host *dir, const char *name)
{
	struct found found;

	return !folder_look(t, dir, name, &found) && found.format && member_owner(found.format, name) ? found.format :
	       NULL;
}

static size_t base_of(const char *name)
{
	return (size_t)(strrchr(name, '.') - name);
}

/* The name that a member gets: it keeps its extension as it is spelt. */
static int add_member(struct renaming *r, const char *name)
{
	struct moved *m = &r->member[r->n];
	int n = snprintf(m->to, sizeof m->to, "%.*s%s", (int)base_of(r->to_name), r->to_name, strrchr(name, '.'));

	strcpy(m->from, name);
	r->n++;
	return n < (int)sizeof m->to ? 0 : -ENAMETOOLONG;
}

/* What the model would find at its new name must be its own. */
static int plan_members(struct renaming *r, const struct format *f)
{
	struct hosts *h = &r->t->folder->hosts;
	struct in_dir in = { h, r->dir, r->from, NULL }, into = { h, r->to_dir, r->into, NULL };
	struct kinds *kinds = &r->t->folder->kinds;
	struct beside own[MEMBERS_MOST], other[MEMBERS_MOST];
	bool has[MEMBERS_MOST], taken[MEMBERS_MOST];
	int rc = 0;

	kinds_members(kinds, &into, r->to_name, f, other, taken);
	kinds_members(kinds, &in, r->name, f, own, has);
	for (unsigned k = 0; k < f->nmembers && !rc; k++)
		rc = taken[k] ? -EEXIST : has[k] ? add_member(r, own[k].name) : 0;
	return rc;
}

/* By another name it is no model, and its members stay where they are. */
static int plan(struct renaming *r)
{
	const struct format *f = model_at(r->t, r->dir, r->name), *there = model_at(r->t, r->to_dir, r->to_name);
	bool same = r->dir == r->to_dir && f && member_owner(f, r->to_name) &&
		    base_of(r->name) == base_of(r->to_name) && !strncmp(r->name, r->to_name, base_of(r->name));

	if ((f || there) && r->flags & RENAME_EXCHANGE)
		return -EINVAL;
	if (there && !(r->dir == r->to_dir && !strcmp(r->name, r->to_name)))
		return r->flags & RENAME_NOREPLACE ? -EEXIST : -ENOTEMPTY;
	return f && member_owner(f, r->to_name) && !same ? plan_members(r, f) : 0;
}

/* ---- doing it ---- */

static int result(int rc)
{
	return rc ? -errno : 0;
}

static int rename_entry(const struct renaming *r)
{
	return result(renameat2(r->from, r->name, r->into, r->to_name, r->flags));
}

static int rename_with_links(const struct renaming *r, bool *no_links)
{
	unsigned n = 0;
	int rc = 0;

	for (; n < r->n && !rc; n += !rc)
		rc = result(linkat(r->from, r->member[n].from, r->into, r->member[n].to, 0));
	*no_links = rc && rc != -EEXIST && rc != -ENOENT && rc != -ENAMETOOLONG && rc != -ENOSPC;
	rc = rc ? rc : rename_entry(r);
	for (unsigned i = 0; i < n; i++) {
		if (rc)
			unlinkat(r->into, r->member[i].to, 0);
		else
			unlinkat(r->from, r->member[i].from, 0);
	}
	return rc;
}

/* A link is not made where something is, but a rename replaces it. */
static bool is_there(int dirfd, const char *name)
{
	struct stat st;

	return !fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) || errno != ENOENT;
}

/* Where there are no hard links, or not for this user. */
static int rename_one_by_one(const struct renaming *r)
{
	unsigned n = 0;
	int rc = 0;

	for (; n < r->n && !rc; n += !rc)
		rc = is_there(r->into, r->member[n].to) ? -EEXIST :
		     result(renameat(r->from, r->member[n].from, r->into, r->member[n].to));
	rc = rc ? rc : rename_entry(r);
	while (rc && n--)
		renameat(r->into, r->member[n].to, r->from, r->member[n].from);
	return rc;
}

static int rename_all(struct renaming *r)
{
	bool no_links = false;
	int rc = r->n ? rename_with_links(r, &no_links) : rename_entry(r);

	if (no_links)
		rc = rename_one_by_one(r);
	if (rc)
		return rc;
	move_names(r->t, r->dir, r->name, r->to_dir, r->to_name, r->flags & RENAME_EXCHANGE);
	for (unsigned i = 0; i < r->n; i++)
		move_names(r->t, r->dir, r->member[i].from, r->to_dir, r->member[i].to, false);
	return 0;
}

static int rename_now(struct renaming *r)
{
	struct tree *t = r->t;
	bool files = r->n || folder_file_at(t, r->dir, r->name) != NO_FILE ||
		     folder_file_at(t, r->to_dir, r->to_name) != NO_FILE;
	int rc;

	if (!(r->flags & RENAME_EXCHANGE))
		host_keep(&t->folder->hosts, r->to_dir, r->to_name);
	if (files) {
		pthread_mutex_lock(&t->commit);
		pthread_rwlock_wrlock(&t->state);
	}
	rc = rename_all(r);
	if (files) {
		pthread_rwlock_unlock(&t->state);
		pthread_mutex_unlock(&t->commit);
	}
	return rc;
}

int folder_rename(struct tree *t, struct host *dir, const char *name, struct host *to, const char *to_name,
		  unsigned flags)
{
	struct hosts *h = &t->folder->hosts;
	struct renaming r = { .t = t, .dir = dir, .to_dir = to, .name = name, .to_name = to_name, .flags = flags };
	int rc;

	r.from = host_dir(h, dir);
	r.into = r.from < 0 ? -1 : host_dir(h, to);
	rc = r.from < 0 ? r.from : r.into < 0 ? r.into : plan(&r);
	rc = rc ? rc : rename_now(&r);
	host_dir_done(h, r.from);
	host_dir_done(h, r.into);
	return rc;
}
