/* Members of models of a folder: files beside the model. Which they are is remembered with the time of their directory:
 * as long as that stays, no name in it comes or goes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "folder.h"

struct kin {
	_Atomic uint64_t dir;                  /* stamp of the directory; 0: it may change again without telling */
	unsigned file[MEMBERS_MOST];           /* NO_FILE: there is none */
};

/* ---- which they are ---- */

static int find(struct tree *t, const struct in_dir *in, const struct tree_file *f, struct kin *kin)
{
	const struct format *format = unit_at(t, f->unit)->format;
	struct beside member[MEMBERS_MOST];
	bool there[MEMBERS_MOST];
	int rc = 0;

	atomic_init(&kin->dir, kinds_dir_stamp(in->fd));
	for (unsigned k = 0; k < MEMBERS_MOST; k++)
		kin->file[k] = NO_FILE;
	kinds_members(&t->folder->kinds, in, f->spot->name, format, member, there);
	for (unsigned k = 0; k < format->nmembers && !rc; k++) {
		struct seen seen;

		if (there[k])
			rc = folder_file(t, in->dir, member[k].name, &kin->file[k], &seen);
		if (rc == -ENOENT)
			rc = 0;                /* it went just now */
	}
	return rc;
}

/* With `opening` held. */
static int make(struct tree *t, struct tree_file *f, struct kin **out)
{
	struct in_dir in = { .hosts = &t->folder->hosts, .dir = f->spot->dir };
	struct kin *kin = malloc(sizeof *kin);
	int rc;

	in.fd = host_dir(in.hosts, in.dir);
	rc = !kin ? -ENOMEM : in.fd < 0 ? in.fd : find(t, &in, f, kin);
	host_dir_done(&t->folder->hosts, in.fd);
	if (rc) {
		free(kin);
		return rc;
	}
	atomic_store_explicit(&f->kin, kin, memory_order_release);
	*out = kin;
	return 0;
}

int folder_member(struct tree *t, const struct unit *u, unsigned k, struct unit **out, struct err *e)
{
	struct tree_file *f = tree_file(t, u->file);
	struct kin *kin = atomic_load_explicit(&f->kin, memory_order_acquire);
	int rc = 0;

	if (!kin) {
		pthread_mutex_lock(&t->opening);
		kin = atomic_load(&f->kin);
		rc = kin ? 0 : make(t, f, &kin);
		pthread_mutex_unlock(&t->opening);
	}
	if (rc)
		return err_set(e, -rc, "its .%s: %s", u->format->members[k].ext, strerror(-rc));
	if (kin->file[k] == NO_FILE || tree_file(t, kin->file[k])->gone)
		return -ENOENT;
	*out = unit_at(t, tree_file(t, kin->file[k])->unit);
	return 0;
}

void folder_forget_members(struct tree_file *f)
{
	free(atomic_load(&f->kin));
	atomic_store(&f->kin, NULL);
}

/* ---- whether they still are ---- */

static bool same_now(struct tree *t, const struct in_dir *in, const struct tree_file *f, const struct kin *kin)
{
	const struct format *format = unit_at(t, f->unit)->format;
	struct beside member[MEMBERS_MOST];
	bool there[MEMBERS_MOST], same = true;

	kinds_members(&t->folder->kinds, in, f->spot->name, format, member, there);
	for (unsigned k = 0; k < format->nmembers && same; k++) {
		unsigned file = there[k] ? folder_file_at(t, in->dir, member[k].name) : NO_FILE;

		same = file == kin->file[k] && (file != NO_FILE) == there[k];
	}
	return same;
}

static bool others_now(struct tree *t, const struct tree_file *f, struct kin *kin)
{
	struct in_dir in = { .hosts = &t->folder->hosts, .dir = f->spot->dir };
	uint64_t now;
	bool same;

	in.fd = host_dir(in.hosts, in.dir);
	if (in.fd < 0)
		return true;
	now = kinds_dir_stamp(in.fd);
	same = now && now == atomic_load(&kin->dir);
	if (!same) {
		same = same_now(t, &in, f, kin);
		if (same)
			atomic_store(&kin->dir, now);
	}
	host_dir_done(in.hosts, in.fd);
	return !same;
}

bool folder_members_changed(struct tree *t, const struct tree_file *f)
{
	struct kin *kin = atomic_load_explicit(&f->kin, memory_order_acquire);
	bool any = false;

	for (unsigned k = 0; kin && k < MEMBERS_MOST; k++) {
		if (kin->file[k] == NO_FILE || !folder_file_changed(t, tree_file(t, kin->file[k])))
			continue;
		folder_suspect(t, kin->file[k]);
		any = true;
	}
	return any || (kin && others_now(t, f, kin));
}
