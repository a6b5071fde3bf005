/* Files of a folder that are not shown because they are members of a model, which shows them. Who asks about one name
 * looks for a model that it belongs to; a listing looks at the models of its directory, once. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"

/* What a file would be shown as, by its name. */
static const struct format *format_at(struct tree *t, const struct in_dir *in, const char *name)
{
	struct stat st;
	bool later;                            /* what has members is not found by searching */

	if (folder_hides(name) || fstatat(in->fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return NULL;
	return folder_format_in(t, in, name, &st, &later);
}

/* ---- one name ---- */

struct hiding { struct tree *t; const struct in_dir *in; const char *name; };

static int is_owner(void *ctx, const struct membership *m)
{
	const struct hiding *h = ctx;
	struct beside member[MEMBERS_MOST];
	bool there[MEMBERS_MOST];

	if (format_at(h->t, h->in, m->owner) != m->f)
		return false;
	kinds_members(&h->t->folder->kinds, h->in, m->owner, m->f, member, there);
	return there[m->k] && !strcmp(member[m->k].name, h->name);
}

bool folder_has_member(struct tree *t, struct host *dir, const char *name)
{
	struct in_dir in = { .hosts = &t->folder->hosts, .dir = dir, .fd = -1 };
	struct hiding h = { t, &in, name };
	bool is;

	if (!member_may_be(name) || dir->type != S_IFDIR || host_was_written(in.hosts, dir, name))
		return false;
	in.fd = host_dir(in.hosts, dir);
	is = in.fd >= 0 && member_of(name, is_owner, &h);
	host_dir_done(in.hosts, in.fd);
	return is;
}

/* ---- all of a directory ---- */

/* Names of a directory: all of them, and those that models of several files may have, one behind the other. */
struct names { struct nameset all; struct buf owners; bool bad; };

static bool may_own(const char *name)
{
	const struct format *const *f = formats;

	while (*f && !member_owner(*f, name))
		f++;
	return *f;
}

static void read_names(int dirfd, struct names *n)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	while (d && !n->bad && (e = readdir(d))) {
		n->bad = !nameset_add(&n->all, e->d_name);
		if (may_own(e->d_name))
			buf_add(&n->owners, e->d_name, strlen(e->d_name) + 1);
	}
	n->bad |= n->owners.bad || !d;
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

static bool add_members(struct tree *t, const struct in_dir *in, const char *owner, struct nameset *hidden)
{
	const struct format *f = format_at(t, in, owner);
	struct beside member[MEMBERS_MOST];
	bool there[MEMBERS_MOST], ok = true;

	if (!f)
		return true;
	kinds_members(&t->folder->kinds, in, owner, f, member, there);
	for (unsigned k = 0; k < f->nmembers && ok; k++)
		ok = !there[k] || nameset_add(hidden, member[k].name);
	return ok;
}

int folder_hidden(struct tree *t, struct host *dir, int dirfd, struct nameset *hidden)
{
	struct names n = { 0 };
	struct in_dir in = { &t->folder->hosts, dir, dirfd, &n.all };
	bool ok;

	read_names(dirfd, &n);
	ok = !n.bad;
	for (size_t at = 0; at < n.owners.len && ok; at += strlen((char *)n.owners.p + at) + 1)
		ok = add_members(t, &in, (char *)n.owners.p + at, hidden);
	nameset_free(&n.all);
	buf_free(&n.owners);
	if (!ok)
		nameset_free(hidden);
	return ok ? 0 : -ENOMEM;
}
