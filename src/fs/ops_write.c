/* FUSE operations that change something. Those that save leave the tree first: a save waits for all who are in it. */
#include "ops_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "draft.h"
#include "log.h"

static int write_errno(int rc)
{
	return rc == -EBADMSG ? EIO : -rc;
}

void fill_scratch(const struct scratch *s, struct stat *st)
{
	st->st_uid = s->uid;
	st->st_gid = s->gid;
	st->st_atim = timespec_of(s->atime);
}

/* ---- contents ---- */

/* Calls fn until the file is not being saved. */
static int in_tree(struct tree *t, struct handle *h, int (*fn)(struct handle *h, void *ctx), void *ctx)
{
	int rc;

	for (;;) {
		tree_enter(t);
		rc = fn(h, ctx);
		tree_leave(t);
		if (rc != -EAGAIN)
			return rc;
		handle_wait(h);
	}
}

struct writing { const void *p; size_t n; uint64_t at; };

static int write_now(struct handle *h, void *ctx)
{
	const struct writing *w = ctx;

	return handle_write(h, w->p, w->n, w->at, NULL);
}

static int truncate_now(struct handle *h, void *ctx)
{
	return handle_truncate(h, *(uint64_t *)ctx, NULL);
}

int truncate_handle(struct tree *t, struct handle *h, uint64_t size)
{
	return in_tree(t, h, truncate_now, &size);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct writing w = { buf, size, (uint64_t)off };
	struct handle *h = handle_ref(handle_of(fi));
	int rc = in_tree(mount_of(req)->tree, h, write_now, &w);

	(void)ino;
	if (rc)
		fuse_reply_err(req, write_errno(rc));
	else
		fuse_reply_write(req, size);
	handle_put(h);
}

/* A close, or the end of a child that had the file open too. */
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct tree *t = mount_of(req)->tree;

	(void)ino;
	fuse_reply_err(req, write_errno(handle_save(handle_of(fi), NULL)));
	tree_tidy(t);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)datasync;
	op_flush(req, ino, fi);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	handle_put(handle_of(fi));
	fuse_reply_err(req, 0);
}

static int grow_now(struct handle *h, void *ctx)
{
	uint64_t size = *(uint64_t *)ctx;

	return handle_size(h) < size ? handle_truncate(h, size, NULL) : 0;
}

/* Room is kept in memory anyway; only the size can be asked for. */
void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t n, struct fuse_file_info *fi)
{
	uint64_t end = (uint64_t)off + (uint64_t)n;
	int rc = 0;

	(void)ino;
	if (mode & ~FALLOC_FL_KEEP_SIZE)
		rc = -EOPNOTSUPP;
	else if (!(mode & FALLOC_FL_KEEP_SIZE))
		rc = in_tree(mount_of(req)->tree, handle_of(fi), grow_now, &end);
	fuse_reply_err(req, -rc);
}

/* ---- attributes ---- */

/* Views have the archive's owner, mode and times: what programs set is taken and forgotten. */
static void set_scratch(struct scratch *s, const struct stat *attr, int to_set)
{
	if (to_set & FUSE_SET_ATTR_MODE)
		s->mode = attr->st_mode & 07777;
	if (to_set & FUSE_SET_ATTR_UID)
		s->uid = attr->st_uid;
	if (to_set & FUSE_SET_ATTR_GID)
		s->gid = attr->st_gid;
	if (to_set & FUSE_SET_ATTR_MTIME)
		s->mtime = to_set & FUSE_SET_ATTR_MTIME_NOW ? now_ns() : ns_of(&attr->st_mtim);
	if (to_set & FUSE_SET_ATTR_ATIME)
		s->atime = to_set & FUSE_SET_ATTR_ATIME_NOW ? now_ns() : ns_of(&attr->st_atim);
}

static int may_write(struct tree *t, struct node n)
{
	struct err why = { 0 };
	int rc = node_may_write(t, n, &why);

	if (rc && rc != -EACCES)
		log_failure(t, n, &why);
	return rc;
}

/* truncate() by path: nothing is written through a handle, so a view stays what it is. Of a file that is an edit. */
static int truncate_path(struct tree *t, fuse_ino_t ino, uint64_t size)
{
	struct writing nothing = { "", 0, 0 };
	struct handle *h = NULL;
	struct node n;
	int rc = 0;

	tree_enter(t);
	if (!node_from_id(t, ino, &n))
		rc = -ESTALE;
	else if (n.scratch)
		rc = scratch_truncate(n.scratch, size);
	else if (node_is_dir(n))
		rc = -EISDIR;
	else
		rc = may_write(t, n);
	if (!rc && node_is_file(n))
		rc = node_open_write(t, n, !size, &h, NULL);
	tree_leave(t);
	if (!h)
		return rc;
	rc = truncate_handle(t, h, size);
	rc = rc ? rc : in_tree(t, h, write_now, &nothing);     /* so that it is saved now */
	rc = rc ? rc : handle_save(h, NULL);
	handle_put(h);
	return rc;
}

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	const struct mount *m = mount_of(req);
	struct tree *t = m->tree;
	struct node_attr a;
	struct stat st;
	struct node n;
	int rc = 0;

	if (to_set & FUSE_SET_ATTR_SIZE)
		rc = fi && fi->fh ? truncate_handle(t, handle_of(fi), (uint64_t)attr->st_size) :
				    truncate_path(t, ino, (uint64_t)attr->st_size);
	enter_at(req, ino);
	if (!rc && !find_node(t, ino, fi, &n))
		rc = -ESTALE;
	if (!rc) {
		if (n.scratch)
			set_scratch(n.scratch, attr, to_set);
		node_attr(t, n, true, &a);
		fill_stat(m, &a, &st);
		if (n.scratch)
			fill_scratch(n.scratch, &st);
	}
	tree_leave(t);
	if (rc)
		fuse_reply_err(req, write_errno(rc));
	else
		fuse_reply_attr(req, &st, 0);
}

/* ---- new names ---- */

/* The file that a new name means: a view that was removed and is made again, or a scratch file. It has a reference when
 * it is one. */
static int make_node(struct tree *t, fuse_ino_t parent, const char *name, mode_t mode, struct node *out)
{
	struct scratch *s;
	struct node dir;
	int rc = node_from_id(t, parent, &dir) ? node_lookup_view(t, dir, name, out) : -ESTALE;

	if (!t->writable)                      /* the plain files of a folder can be, still */
		return rc == -ENOENT ? -EROFS : rc ? rc : -EACCES;
	if (!rc) {
		ghost_remove(t, *out);
		return 0;
	}
	if (rc != -ENOENT)
		return rc;
	if (scratch_find(t, dir, name))
		return -EEXIST;
	if (scratch_refused(dir, name)) {
		struct err why;

		err_set(&why, EPERM, "%s: no such file can be added: it would exist in memory only", name);
		log_failure(t, dir, &why);
		return -EPERM;
	}
	rc = scratch_new(t, dir, name, &s);
	if (rc)
		return rc;
	s->mode = mode & 07777;
	*out = (struct node){ .unit = s->unit, .scratch = s };
	return 0;
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	const struct mount *m = mount_of(req);
	struct tree *t = m->tree;
	struct fuse_entry_param e;
	struct handle *h = NULL;
	struct node n = { 0 };
	int rc;

	enter_at(req, parent);
	rc = make_node(t, parent, name, mode, &n);
	rc = rc ? rc : node_open_write(t, n, true, &h, NULL);
	if (!rc)
		fill_entry(m, n, &e);
	tree_leave(t);
	/* A view that is made again begins empty. */
	if (!rc && !n.scratch)
		rc = truncate_handle(t, h, 0);
	if (!rc) {
		e.attr.st_size = 0;
		fi->fh = (uintptr_t)h;
		if (!fuse_reply_create(req, &e, fi))
			return;
	} else {
		fuse_reply_err(req, write_errno(rc));
	}
	if (h)
		handle_put(h);
	scratch_put(t, n.scratch);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	const struct mount *m = mount_of(req);
	struct tree *t = m->tree;
	struct fuse_entry_param e;
	struct node n;
	int rc;

	(void)dev;
	if (!S_ISREG(mode)) {
		fuse_reply_err(req, EPERM);
		return;
	}
	enter_at(req, parent);
	rc = make_node(t, parent, name, mode, &n);
	if (!rc)
		fill_entry(m, n, &e);
	tree_leave(t);
	if (rc)
		fuse_reply_err(req, write_errno(rc));
	else if (fuse_reply_entry(req, &e))
		scratch_put(t, n.scratch);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent;
	(void)name;
	(void)mode;
	fuse_reply_err(req, EPERM);
}

void op_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name)
{
	(void)to;
	op_mkdir(req, parent, name, 0);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	op_mkdir(req, parent, name, 0);
}

/* ---- names that go ---- */

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree *t = mount_of(req)->tree;
	struct node n;
	int rc;

	enter_at(req, parent);
	rc = find_name(t, parent, name, &n);
	rc = rc ? rc : node_is_dir(n) ? -EPERM : -ENOTDIR;
	tree_leave(t);
	fuse_reply_err(req, write_errno(rc));
}

static int unlink_node(struct tree *t, struct node n)
{
	int rc;

	if (!n.scratch && node_is_dir(n))
		return -EISDIR;
	if (n.scratch) {
		scratch_unlink(t, n.scratch);
		return 0;
	}
	rc = node_is_file(n) ? -EPERM : may_write(t, n);
	if (!rc)
		ghost_add(t, n);
	return rc;
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree *t = mount_of(req)->tree;
	struct node n;
	int rc;

	enter_at(req, parent);
	rc = find_name(t, parent, name, &n);
	rc = rc ? rc : unlink_node(t, n);
	tree_leave(t);
	fuse_reply_err(req, write_errno(rc));
}

/* ---- renaming ---- */

struct renaming { struct node from, dir; const char *name; struct node to; bool to_there; };

static int find_names(struct tree *t, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *to_name,
		      struct renaming *r)
{
	int rc = node_from_id(t, to, &r->dir) ? find_name(t, parent, name, &r->from) : -ESTALE;

	if (rc)
		return rc;
	r->name = to_name;
	rc = node_lookup(t, r->dir, to_name, &r->to);
	r->to_there = !rc;
	/* One that is absent for a while is what it becomes again. */
	if (rc == -ENOENT)
		rc = node_lookup_view(t, r->dir, to_name, &r->to);
	if (rc == -ENOENT) {
		r->to = (struct node){ 0 };
		return 0;
	}
	return rc;
}

/* The old text under another name, which lasts as long as the mount; the view is absent until it is made anew. */
static int view_away(struct tree *t, struct renaming *r)
{
	struct handle *h = NULL;
	struct scratch *s;
	uint8_t piece[16384];
	int got = 0, rc;

	if (scratch_refused(r->dir, r->name) || (r->to.unit && !r->to.scratch))
		return -EPERM;
	rc = node_open(t, r->from, &h, NULL);
	rc = rc ? rc : scratch_new(t, r->dir, r->name, &s);
	if (rc) {
		if (h)
			handle_put(h);
		return rc;
	}
	for (uint64_t at = 0; !rc && (got = handle_read(h, piece, sizeof piece, at)) > 0; at += (uint64_t)got)
		rc = scratch_write(s, piece, (size_t)got, at);
	rc = rc ? rc : got < 0 ? got : 0;
	handle_put(h);
	if (rc)
		scratch_unlink(t, s);
	else
		ghost_add(t, r->from);
	scratch_put(t, s);
	return rc;
}

/* 1: the scratch file has to be saved over the view. */
static int rename_in_tree(struct tree *t, struct renaming *r, unsigned flags)
{
	int rc;

	if (flags & ~(unsigned)RENAME_NOREPLACE)
		return -EINVAL;
	if (flags & RENAME_NOREPLACE && r->to_there)
		return -EEXIST;
	if ((!r->from.scratch && node_is_dir(r->from)) || (r->to.unit && !r->to.scratch && node_is_dir(r->to)))
		return -EPERM;
	if (!r->from.scratch) {
		rc = may_write(t, r->from);
		return rc ? rc : view_away(t, r);
	}
	if (r->to.unit && !r->to.scratch) {
		rc = may_write(t, r->to);
		return rc ? rc : 1;
	}
	if (scratch_refused(r->dir, r->name))
		return -EPERM;
	return scratch_rename(t, r->from.scratch, r->dir, r->name);
}

/* Over a view: its bytes become those of the file, which then is the view. */
static int save_over(struct tree *t, struct scratch *s, struct handle *view)
{
	struct store *text = NULL;
	int rc;

	/* A copy: who reads the file meanwhile must not have to wait for the save. */
	rc = scratch_copy(s, &text);
	rc = rc ? rc : handle_put_text(view, text, NULL);
	store_free(text);
	if (rc)
		return rc;
	pthread_rwlock_wrlock(&t->state);      /* who is at the file's bytes goes on at the view's */
	ghost_remove(t, handle_node(view));
	scratch_become(t, s, handle_node(view));
	pthread_rwlock_unlock(&t->state);
	return 0;
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *to_name, unsigned flags)
{
	struct tree *t = mount_of(req)->tree;
	struct handle *view = NULL;
	struct scratch *s = NULL;
	struct renaming r;
	int rc;

	enter_at(req, parent);
	rc = find_names(t, parent, name, to, to_name, &r);
	rc = rc ? rc : rename_in_tree(t, &r, flags);
	if (rc == 1)
		rc = node_open_write(t, r.to, true, &view, NULL);
	if (view)
		s = scratch_ref(r.from.scratch);
	tree_leave(t);
	if (view) {
		/* The second try would save what was made for another archive. */
		rc = s->stale ? -ESTALE : save_over(t, s, view);
		s->stale = !s->stale && rc == -ESTALE;
		scratch_put(t, s);
		handle_put(view);
	}
	fuse_reply_err(req, write_errno(rc));
}

/* ---- forgetting ---- */

static void forget(struct tree *t, fuse_ino_t ino, uint64_t n)
{
	struct scratch *s = node_scratch(t, ino);

	if (s)
		scratch_forget(t, s, n);
}

void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	forget(mount_of(req)->tree, ino, n);
	fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *v)
{
	for (size_t i = 0; i < count; i++)
		forget(mount_of(req)->tree, v[i].ino, v[i].nlookup);
	fuse_reply_none(req);
}
