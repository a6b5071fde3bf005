#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "fileset.h"
#include "log.h"

/* The root's unit: it has no files of its own, but the units of all files lie in it. */
static const struct format root_format = { .name = "folder", .title = "Folder" };

/* ---- opening ---- */

static int make_root(struct tree *t, struct err *e)
{
	struct unit *root;
	int rc = unit_new(t, &root_format, NULL, 0, 0, hash_name(0, ""), &root, e);

	if (!rc) {
		root->file = NO_FILE;
		atomic_store(&root->state, UNIT_READY);
	}
	return rc;
}

static int open_set(struct tree *t, void (*hold)(void *tree), struct err *e)
{
	struct folder *f = t->folder;
	struct fileset_options opt = {
		.write = t->writable, .noundo = t->noundo, .io = t->io, .io_ctx = t->io_ctx, .hold = hold, .hold_ctx = t
	};
	int rc = fileset_open(f->hosts.fd, t->path, &opt, &f->set, e);

	if (!rc)
		t->writable = fileset_writable(f->set, NULL);
	return rc;
}

/* As a journal leaves it that cannot be applied. */
static int through(void *ctx, const struct in_dir *in, const char *name, struct source *file, struct source **out)
{
	struct tree *t = ctx;
	struct buf path = { 0 };
	int rc = fileset_pending(t->folder->set) ? host_path(in->hosts, in->dir, &path) : -ENOENT;

	if (!rc) {
		buf_printf(&path, "%s%s", path.len ? "/" : "", name);
		buf_char(&path, 0);
		rc = path.bad ? -ENOMEM : fileset_through(t->folder->set, (char *)path.p, file, out, NULL);
	}
	buf_free(&path);
	return rc;
}

int folder_open(struct tree *t, void (*hold)(void *tree), struct err *e)
{
	struct folder *f = calloc(1, sizeof *f);
	int rc;

	if (!f)
		return err_nomem(e);
	t->folder = f;
	kinds_init(&f->kinds);
	pthread_mutex_init(&f->lock, NULL);
	rc = hosts_open(&f->hosts, t->path, e);
	rc = rc ? rc : open_set(t, hold, e);
	if (rc)
		return rc;
	f->kinds.through = through;
	f->kinds.ctx = t;
	f->kinds.search = t->search;
	f->pool = pool_new(t);
	return f->pool ? make_root(t, e) : err_nomem(e);
}

static void close_file(struct tree_file *f)
{
	folder_forget_wishes(f);
	folder_forget_members(f);
	src_put(f->src);
}

void folder_close(struct tree *t)
{
	struct folder *f = t->folder;

	if (!f)
		return;
	for (unsigned i = 0; i < t->nfiles; i++)
		close_file(tree_file(t, i));
	pool_free(f->pool);
	folder_names_free(f->names);
	if (f->set)
		fileset_close(f->set);
	hosts_close(&f->hosts);
	kinds_free(&f->kinds);
	buf_free(&f->suspects);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- looking ---- */

bool folder_hides(const char *name)
{
	return fileset_is_own(name);
}

/* Nothing can be known of what lies below another mount, not even a number. */
static void covered(const struct host *dir, const char *name, struct stat *st)
{
	*st = (struct stat){ .st_ino = hash_name(dir->ino, name), .st_mode = S_IFDIR | 0555, .st_nlink = 2 };
}

static void log_refused(struct tree *t, struct host *dir, const char *name, const struct err *why)
{
	struct buf path = { 0 };

	host_path(&t->folder->hosts, dir, &path);
	log_line("%s: %.*s%s%s: a plain file: %s", t->path, (int)path.len, path.len ? (char *)path.p : "",
		 path.len ? "/" : "", name, why->text);
	buf_free(&path);
}

const struct format *folder_format_in(struct tree *t, const struct in_dir *in, const char *name, const struct stat *st,
				      bool *later)
{
	struct err refused = { 0 };
	const struct format *f;
	bool slow = false;

	if (later)
		*later = false;
	if (host_is_written(in->hosts, in->dir, name))
		return NULL;
	f = kinds_find(&t->folder->kinds, in, name, st, later ? later : &slow, &refused);
	if (slow && t->slow)
		t->slow();
	if (slow)
		f = kinds_find(&t->folder->kinds, in, name, st, NULL, &refused);
	if (refused.code && !t->silent)
		log_refused(t, in->dir, name, &refused);
	return f;
}

const struct format *folder_format(struct tree *t, struct host *dir, int dirfd, const char *name,
				   const struct stat *st, bool *later)
{
	return folder_format_in(t, &(struct in_dir){ &t->folder->hosts, dir, dirfd, NULL }, name, st, later);
}

static int look(struct tree *t, struct host *dir, int dirfd, const char *name, struct found *out)
{
	int fd = host_look(dirfd, name, &out->st);

	out->format = NULL;
	if (fd == -EXDEV) {
		covered(dir, name, &out->st);
		return 0;
	}
	if (fd < 0)
		return fd;
	close(fd);
	if (S_ISREG(out->st.st_mode))
		out->format = folder_format(t, dir, dirfd, name, &out->st, NULL);
	return 0;
}

int folder_look(struct tree *t, struct host *dir, const char *name, struct found *out)
{
	struct hosts *h = &t->folder->hosts;
	int dirfd, rc;

	if (folder_hides(name))
		return -ENOENT;
	if (dir->type != S_IFDIR)
		return -ENOTDIR;
	dirfd = host_dir(h, dir);
	if (dirfd < 0)
		return dirfd == -EXDEV ? -ENOENT : dirfd;
	rc = look(t, dir, dirfd, name, out);
	host_dir_done(h, dirfd);
	if (rc == -ENOENT)
		host_unseen(h, dir, name);
	return rc;
}

int folder_open_source(struct tree *t, struct host *host, struct source **out, struct err *e)
{
	int fd;

	if (host->type != S_IFREG)
		return err_set(e, EINVAL, "is no regular file");
	fd = host_open(&t->folder->hosts, host, O_RDONLY | O_NONBLOCK);
	return fd < 0 ? err_set(e, -fd, "%s", strerror(-fd)) : src_fd(fd, out, e);
}

/* ---- files of the tree ---- */

static int new_unit(struct tree *t, unsigned i, const struct format *format, struct err *e)
{
	struct tree_file *f = tree_file(t, i);
	struct unit *u;
	int rc = unit_new(t, format ? format : &plain_format, f->src, 0, 0, hash_name(f->seen.ino, ""), &u, e);

	if (rc)
		return rc;
	if (format && format->searches) {
		const struct stat st = seen_stat(&f->seen);

		u->around.finding = kinds_finding(&t->folder->kinds, f->spot->name, &st);
	}
	u->file = i;
	f->unit = u->id;
	return 0;
}

static int read_through(struct tree *t, const struct tree_file *f, struct source **src)
{
	struct source *file = *src;
	struct buf path = { 0 };
	int rc = spot_path(&t->folder->hosts, f->spot, &path);

	buf_char(&path, 0);
	rc = rc ? rc : path.bad ? -ENOMEM : fileset_through(t->folder->set, (char *)path.p, file, src, NULL);
	buf_free(&path);
	src_put(file);
	return rc;
}

static int set_contents(struct tree *t, unsigned i, const struct stat *st)
{
	struct tree_file *f = tree_file(t, i);
	struct source *src;
	int rc = 0;

	see(&f->seen, st);
	src = pool_source(t->folder->pool, i, &f->seen);
	if (!src)
		return -ENOMEM;
	if (fileset_pending(t->folder->set))
		rc = read_through(t, f, &src);
	if (rc)
		return rc;
	src_put(f->src);
	f->src = src;
	f->mtime = f->seen.mtime;
	f->gone = false;
	atomic_store(&f->unsure, is_young(st));
	return 0;
}

/* The number of the file at a name, or NO_FILE. */
static unsigned file_at(struct hosts *h, struct host *dir, const char *name)
{
	struct spot *s;
	unsigned i;

	pthread_mutex_lock(&h->lock);
	s = spot_find(h, dir, name);
	i = s && s->file ? s->file - 1 : NO_FILE;
	pthread_mutex_unlock(&h->lock);
	return i;
}

static bool take_spot(struct hosts *h, struct host *dir, const char *name, unsigned i, struct spot **out)
{
	pthread_mutex_lock(&h->lock);
	*out = spot_make(h, dir, name);
	if (*out)
		(*out)->file = i + 1;
	pthread_mutex_unlock(&h->lock);
	return *out;
}

static void leave_spot(struct hosts *h, struct spot *s)
{
	pthread_mutex_lock(&h->lock);
	s->file = 0;
	spot_drop(h, s);
	pthread_mutex_unlock(&h->lock);
}

/* With `opening` held, so that nobody makes it twice. */
static int new_file(struct tree *t, struct host *dir, const char *name, const struct found *found, unsigned *out)
{
	struct hosts *h = &t->folder->hosts;
	struct tree_file *f = tree_file_new(t);
	unsigned i = atomic_load(&t->nfiles);
	int rc;

	if (!f || !take_spot(h, dir, name, i, &f->spot))
		return -ENOMEM;
	rc = set_contents(t, i, &found->st);
	rc = rc ? rc : new_unit(t, i, found->format, NULL);
	if (rc) {
		leave_spot(h, f->spot);
		src_put(f->src);
		*f = (struct tree_file){ 0 };
		return rc;
	}
	atomic_store(&t->nfiles, i + 1);
	*out = i;
	return 0;
}

int folder_renew_file(struct tree *t, unsigned i, const struct stat *now)
{
	struct tree_file *f = tree_file(t, i);
	struct unit *u = unit_at(t, f->unit);
	int64_t time = f->mtime;
	int rc = set_contents(t, i, now);

	if (rc)
		return rc;
	f->mtime = time;                       /* of what the edit did not touch */
	atomic_store(&f->unsure, false);
	unit_set_source(u, f->src);
	return 0;
}

static const struct format *format_of(const struct tree *t, const struct tree_file *f)
{
	const struct unit *u = unit_at(t, f->unit);

	return atomic_load(&u->dead) || f->gone || !format_opens(u->format) ? NULL : u->format;
}

static void suspect(struct tree *t, unsigned i)
{
	struct folder *f = t->folder;

	if (atomic_exchange(&tree_file(t, i)->suspect, true))
		return;
	pthread_mutex_lock(&f->lock);
	buf_add(&f->suspects, &i, sizeof i);
	atomic_store(&f->suspicious, true);
	pthread_mutex_unlock(&f->lock);
}

/* Whether a file that was just seen is what the tree knows it as. */
static bool is_known(struct tree *t, unsigned i, const struct found *found)
{
	const struct tree_file *f = tree_file(t, i);
	struct seen now;

	see(&now, &found->st);
	if (!f->gone && same_seen(&now, &f->seen) && format_of(t, f) == found->format)
		return true;
	suspect(t, i);
	return false;
}

static int model_node(struct tree *t, struct host *dir, const char *name, const struct found *found, struct node *out)
{
	struct hosts *h = &t->folder->hosts;
	unsigned i = file_at(h, dir, name);
	int rc = 0;

	if (i == NO_FILE) {
		pthread_mutex_lock(&t->opening);
		i = file_at(h, dir, name);
		if (i == NO_FILE)
			rc = new_file(t, dir, name, found, &i);
		pthread_mutex_unlock(&t->opening);
	}
	if (rc)
		return rc;
	if (!is_known(t, i, found))
		return -ESTALE;
	*out = (struct node){ .unit = unit_at(t, tree_file(t, i)->unit) };
	return 0;
}

int folder_node(struct tree *t, struct host *dir, const char *name, const struct found *found, struct node *out)
{
	struct hosts *h = &t->folder->hosts;
	unsigned i;

	if (found->format)
		return model_node(t, dir, name, found, out);
	i = file_at(h, dir, name);
	if (i != NO_FILE && !tree_file(t, i)->gone)
		is_known(t, i, found);
	*out = (struct node){ 0 };
	return host_seen(h, dir, name, &found->st, &out->host);
}

int folder_lookup(struct tree *t, struct host *dir, const char *name, struct node *out)
{
	struct found found;
	int rc = folder_look(t, dir, name, &found);

	if (!rc && S_ISREG(found.st.st_mode) && folder_has_member(t, dir, name))
		rc = -ENOENT;
	return rc ? rc : folder_node(t, dir, name, &found, out);
}

unsigned folder_file_at(struct tree *t, struct host *dir, const char *name)
{
	return file_at(&t->folder->hosts, dir, name);
}

int folder_file(struct tree *t, struct host *dir, const char *name, unsigned *file, struct seen *seen)
{
	struct found found;
	int rc = folder_look(t, dir, name, &found);

	if (rc)
		return rc;
	if (!S_ISREG(found.st.st_mode))
		return -ENOENT;
	*file = file_at(&t->folder->hosts, dir, name);
	if (*file == NO_FILE)
		rc = new_file(t, dir, name, &found, file);
	if (rc)
		return rc;
	is_known(t, *file, &found);
	*seen = tree_file(t, *file)->seen;
	return 0;
}

/* ---- what others did ---- */

int folder_open_file(struct tree *t, const struct tree_file *f, int flags)
{
	struct hosts *h = &t->folder->hosts;
	int dirfd = host_dir(h, f->spot->dir), fd;

	fd = dirfd < 0 ? dirfd : beneath_open(dirfd, f->spot->name, flags | O_NOFOLLOW, 0);
	host_dir_done(h, dirfd);
	return fd;
}

static int look_at_file(struct tree *t, const struct tree_file *f, struct stat *st)
{
	int fd = folder_open_file(t, f, O_PATH);

	if (fd >= 0 && fstat(fd, st)) {
		close(fd);
		return -errno;
	}
	return fd;
}

int folder_unit_open(struct tree *t, const struct unit *u)
{
	const struct tree_file *f = tree_file(t, u->file);
	struct stat st;
	int fd = look_at_file(t, f, &st);

	if (fd < 0 || (st.st_ino == f->seen.ino && st.st_dev == f->seen.dev))
		return fd == -ENOENT ? -ESTALE : fd;
	close(fd);
	return -ESTALE;
}

bool folder_file_changed(struct tree *t, struct tree_file *f)
{
	struct hosts *h = &t->folder->hosts;
	int dirfd = host_dir(h, f->spot->dir), rc;
	struct stat st;
	struct seen now;

	/* What another mount hides is on another device. */
	rc = dirfd < 0 ? -1 : fstatat(dirfd, f->spot->name, &st, AT_SYMLINK_NOFOLLOW);
	host_dir_done(h, dirfd);
	if (rc)
		return true;
	see(&now, &st);
	if (!same_seen(&now, &f->seen))
		return true;
	return atomic_load_explicit(&f->unsure, memory_order_relaxed) && !is_young(&st) &&
	       atomic_exchange(&f->unsure, false);
}

bool folder_changed(struct tree *t, const struct unit *u)
{
	struct tree_file *f;

	if (u->file == NO_FILE || atomic_load(&u->dead))
		return false;
	f = tree_file(t, u->file);
	if (!folder_file_changed(t, f) && !folder_wishes_changed(t, f) && !folder_members_changed(t, f))
		return false;
	suspect(t, u->file);
	return true;
}

void folder_suspect(struct tree *t, unsigned file)
{
	suspect(t, file);
}

bool folder_is_suspicious(const struct tree *t)
{
	return t->folder && atomic_load_explicit(&t->folder->suspicious, memory_order_acquire);
}

/* The file is another one now, or none; found NULL. */
static void replace(struct tree *t, unsigned i, const struct found *found, struct buf *ids)
{
	struct tree_file *f = tree_file(t, i);
	struct unit *was = unit_at(t, f->unit);

	tree_kill(t, was);
	folder_forget_wishes(f);
	folder_forget_members(f);
	f->gone = true;
	if (found && !set_contents(t, i, &found->st) && new_unit(t, i, found->format, NULL))
		f->gone = true;
	tree_refresh_users(t, was, ids);
}

/* A file that was suspected, and what there is to do. */
struct suspected { unsigned file; bool same; struct found found; int rc; };

/* What is the same kind of file as before has its present bytes from here on, whoever looks at them. */
static void look_again(struct tree *t, struct suspected *s)
{
	struct tree_file *f = tree_file(t, s->file);
	struct unit *u = unit_at(t, f->unit);

	atomic_store(&f->suspect, false);
	s->rc = folder_look(t, f->spot->dir, f->spot->name, &s->found);
	s->rc = s->rc ? s->rc : S_ISREG(s->found.st.st_mode) ? 0 : -ENOENT;
	s->same = !s->rc && u->format == (s->found.format ? s->found.format : &plain_format);
	if (!s->same)
		return;
	atomic_store(&u->dead, false);
	folder_forget_wishes(f);
	folder_forget_members(f);
	s->same = !set_contents(t, s->file, &s->found.st);
	if (s->same)
		tree_renew(t, s->file);
	else
		s->rc = -ENOMEM;
}

static void freshen(struct tree *t, const struct suspected *s, struct buf *ids)
{
	if (s->same)
		tree_refresh(t, s->file, NULL, ids);
	else if (!s->rc)
		replace(t, s->file, &s->found, ids);
	else if (!tree_file(t, s->file)->gone)
		replace(t, s->file, NULL, ids);
}

void folder_freshen(struct tree *t, struct buf *ids)
{
	struct folder *f = t->folder;
	struct buf suspects;
	struct suspected *v;
	size_t n;

	pthread_mutex_lock(&f->lock);
	suspects = f->suspects;
	f->suspects = (struct buf){ 0 };
	atomic_store(&f->suspicious, false);
	pthread_mutex_unlock(&f->lock);
	n = suspects.len / sizeof v->file;
	v = calloc(n + 1, sizeof *v);
	for (size_t i = 0; i < n; i++) {
		struct suspected s = { 0 };

		memcpy(&s.file, suspects.p + i * sizeof s.file, sizeof s.file);
		look_again(t, &s);
		if (v)
			v[i] = s;
		else
			freshen(t, &s, ids);   /* memory is short: one after the other */
	}
	for (size_t i = 0; v && i < n; i++)
		freshen(t, &v[i], ids);
	free(v);
	buf_free(&suspects);
}

void folder_freshen_all(struct tree *t, struct buf *ids)
{
	for (unsigned i = 0; i < atomic_load(&t->nfiles); i++)
		suspect(t, i);
	folder_freshen(t, ids);
}

int folder_unit_path(struct tree *t, const struct unit *u, struct buf *out)
{
	return spot_path(&t->folder->hosts, tree_file(t, u->file)->spot, out);
}

const struct seen *folder_seen(const struct tree *t, const struct unit *u)
{
	return &tree_file(t, u->file)->seen;
}
