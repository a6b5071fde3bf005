/* FUSE operations that change something in a folder outside its models. */
#include "ops_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/capability.h>

#include "beneath.h"
#include "loop.h"

static struct hosts *hosts_of(fuse_req_t req)
{
	return &mount_of(req)->tree->folder->hosts;
}

static bool is_host(fuse_req_t req, fuse_ino_t ino)
{
	return node_host(mount_of(req)->tree, ino);
}

static int result(int rc)
{
	return rc ? -errno : 0;
}

/* ---- who asks ---- */

/* What root makes for others is theirs. The kernel has checked what they may; so the thread keeps its rights. */
struct guise {
	bool on;
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
};

static void guise_begin(struct guise *g, fuse_req_t req)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);

	*g = (struct guise){ .head = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	if (geteuid() || (!who->uid && !who->gid) || syscall(SYS_capget, &g->head, g->caps))
		return;
	setfsgid(who->gid);
	setfsuid(who->uid);
	syscall(SYS_capset, &g->head, g->caps);
	g->on = true;
}

static void guise_end(const struct guise *g)
{
	if (!g->on)
		return;
	setfsuid(0);
	setfsgid(getegid());
}

/* ---- contents ---- */

static ssize_t write_fd(int fd, const char *buf, size_t size, off_t off, bool append)
{
	struct iovec v = { (void *)(uintptr_t)buf, size };

	return append ? pwritev2(fd, &v, 1, -1, RWF_APPEND) : pwrite(fd, buf, size, off);
}

void host_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct hosts *h = hosts_of(req);
	struct host_open *o = host_open_of(fi);
	ssize_t n;

	if (!is_host(req, ino)) {
		op_write(req, ino, buf, size, off, fi);
		return;
	}
	if (!atomic_load_explicit(&o->writing, memory_order_relaxed))
		host_open_write(h, o, true);
	n = write_fd(o->fd, buf, size, off, fi->flags & O_APPEND);
	if (n < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_write(req, (size_t)n);
}

/* A close says what went wrong with the file's bytes until then. */
void host_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct hosts *h = hosts_of(req);
	struct host_open *o = host_open_of(fi);
	int rc = 0;

	if (!is_host(req, ino)) {
		op_flush(req, ino, fi);
		return;
	}
	if (atomic_load_explicit(&o->writing, memory_order_relaxed)) {
		int copy = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);

		rc = copy < 0 ? 0 : result(close(copy));
		host_open_write(h, o, false);
	}
	fuse_reply_err(req, -rc);
}

void host_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	int fd;

	if (!is_host(req, ino)) {
		op_fsync(req, ino, datasync, fi);
		return;
	}
	loop_let_go();
	fd = host_open_of(fi)->fd;
	fuse_reply_err(req, -result(datasync ? fdatasync(fd) : fsync(fd)));
}

void host_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	int fd = is_host(req, ino) ? folder_dir_fd((struct folder_dir *)(uintptr_t)fi->fh) : -1;

	loop_let_go();
	fuse_reply_err(req, fd < 0 ? 0 : -result(datasync ? fdatasync(fd) : fsync(fd)));
}

void host_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t n, struct fuse_file_info *fi)
{
	if (!is_host(req, ino)) {
		op_fallocate(req, ino, mode, off, n, fi);
		return;
	}
	loop_let_go();
	fuse_reply_err(req, -result(fallocate(host_open_of(fi)->fd, mode, off, n)));
}

void host_copy(fuse_req_t req, fuse_ino_t ino, off_t off, struct fuse_file_info *fi, fuse_ino_t to, off_t to_off,
	       struct fuse_file_info *to_fi, size_t n, int flags)
{
	struct hosts *h = hosts_of(req);
	ssize_t done;

	/* The kernel reads and writes then. */
	if (!is_host(req, ino) || !is_host(req, to)) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	loop_let_go();
	host_open_write(h, host_open_of(to_fi), true);
	done = copy_file_range(host_open_of(fi)->fd, &off, host_open_of(to_fi)->fd, &to_off, n, (unsigned)flags);
	if (done < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_write(req, (size_t)done);
}

/* ---- attributes ---- */

/* There is no call that sets the mode of what is open by O_PATH. */
static int set_mode(int fd, mode_t mode)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return result(chmod(path, mode & 07777));
}

static int set_owner(int fd, const struct stat *attr, int to_set)
{
	uid_t uid = to_set & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1;
	gid_t gid = to_set & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1;

	return result(fchownat(fd, "", uid, gid, AT_EMPTY_PATH));
}

static struct timespec time_to_set(int to_set, int set, int now, const struct timespec *time)
{
	if (!(to_set & set))
		return (struct timespec){ .tv_nsec = UTIME_OMIT };
	return to_set & now ? (struct timespec){ .tv_nsec = UTIME_NOW } : *time;
}

static int set_times(int fd, const struct stat *attr, int to_set)
{
	struct timespec times[2] = {
		time_to_set(to_set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, &attr->st_atim),
		time_to_set(to_set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, &attr->st_mtim),
	};
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return result(utimensat(AT_FDCWD, path, times, 0));
}

static int set_size(struct hosts *h, struct host *host, off_t size, struct fuse_file_info *fi)
{
	int fd, rc;

	if (fi && fi->fh)
		return result(ftruncate(host_open_of(fi)->fd, size));
	if (host->type != S_IFREG)
		return host->type == S_IFDIR ? -EISDIR : -EINVAL;
	fd = host_open(h, host, O_WRONLY | O_NONBLOCK);
	rc = fd < 0 ? fd : result(ftruncate(fd, size));
	host_close(h, fd);
	return rc;
}

#define SETS_NAME (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID | FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_ATIME | \
		   FUSE_SET_ATTR_MTIME)

/* The owner first: a new one takes away bits of the mode. */
static int set_attr(int fd, const struct stat *attr, int to_set)
{
	int rc = 0;

	/* Where nothing is to be set, chown() was asked to set nothing: it changes the time of change. */
	if (to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID) || !to_set)
		rc = set_owner(fd, attr, to_set);
	if (!rc && to_set & FUSE_SET_ATTR_MODE)
		rc = set_mode(fd, attr->st_mode);
	if (!rc && to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME))
		rc = set_times(fd, attr, to_set);
	return rc;
}

/* The size before the times, which it changes. */
static int set_host_attr(struct hosts *h, struct host *host, const struct stat *attr, int to_set,
			 struct fuse_file_info *fi)
{
	int fd = host_any(h, host), rc = 0;

	if (fd < 0)
		return fd == -EXDEV ? -EROFS : fd;
	if (to_set & FUSE_SET_ATTR_SIZE)
		rc = set_size(h, host, attr->st_size, fi);
	if (!rc && (to_set & SETS_NAME || !(to_set & FUSE_SET_ATTR_SIZE)))
		rc = set_attr(fd, attr, to_set);
	host_close(h, fd);
	return rc;
}

/* The directory that a model is shown as: what is set is its file's. A file has no use for the right to search. */
static int set_model_attr(struct tree *t, struct node n, const struct stat *attr, int to_set)
{
	struct stat own = *attr;
	int fd = folder_unit_open(t, n.unit), rc;

	if (fd < 0)
		return fd;
	own.st_mode &= 0666;
	rc = set_attr(fd, &own, to_set);
	host_close(&t->folder->hosts, fd);
	return rc;
}

/* Whether a number is one of a model's directory; then its attributes are set. */
static bool is_model(fuse_req_t req, fuse_ino_t ino, const struct stat *attr, int to_set, int *rc)
{
	struct tree *t = enter_at(req, ino);
	struct node n;
	bool is = node_from_id(t, ino, &n) && n.unit && !n.local && !n.scratch && tree_is_file(t, n.unit);

	if (is)
		*rc = set_model_attr(t, n, attr, to_set);
	tree_leave(t);
	return is;
}

static void set_view_attr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	int rc = 0;

	if (to_set & SETS_NAME && !(fi && fi->fh) && is_model(req, ino, attr, to_set, &rc) && rc)
		fuse_reply_err(req, -rc);
	else
		op_setattr(req, ino, attr, to_set, fi);
}

void host_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	struct host *host = host_of(req, ino);
	struct hosts *h = hosts_of(req);
	struct stat st;
	int rc;

	if (!host) {
		set_view_attr(req, ino, attr, to_set, fi);
		return;
	}
	rc = set_host_attr(h, host, attr, to_set, fi);
	rc = rc ? rc : host_stat(h, host, &st);
	if (rc)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_attr(req, &st, 0);
	host_put(h, host, 1);
}

/* ---- new names ---- */

static bool is_hidden(struct tree *t, struct host *dir, const char *name)
{
	return folder_hides(name) || folder_has_member(t, dir, name);
}

/* What is not shown is not replaced by accident either. */
static int refuse_hidden(struct tree *t, struct host *dir, const char *name)
{
	struct err why;

	if (folder_hides(name))
		return -EPERM;
	if (!folder_has_member(t, dir, name))
		return 0;
	err_set(&why, EPERM, "%s belongs to a model, which shows it in its raw/", name);
	log_failure(t, (struct node){ .host = dir }, &why);
	return -EPERM;
}

/* The directory that a name is to be made in or taken from; EROFS below a mount point. */
static int open_dir(struct tree *t, struct host *dir, const char *name)
{
	int rc = refuse_hidden(t, dir, name), fd = rc ? rc : host_dir(&t->folder->hosts, dir);

	return fd == -EXDEV ? -EROFS : fd;
}

/* What a new name is made by; a descriptor of its directory is given. */
struct making {
	int (*make)(const struct making *, int dirfd, const char *name);
	mode_t mode;
	dev_t dev;
	const char *to;
	int fd;
};

static void reply_made(fuse_req_t req, struct host *dir, const char *name)
{
	const struct mount *m = mount_of(req);
	struct fuse_entry_param e;
	int rc = host_entry(req, dir, name, &e);

	if (rc)
		fuse_reply_err(req, -rc);
	else if (fuse_reply_entry(req, &e))
		entry_put(m, &e);
}

static void make(fuse_req_t req, struct host *dir, const char *name, const struct making *m)
{
	struct hosts *h = hosts_of(req);
	int fd = open_dir(mount_of(req)->tree, dir, name), rc;
	struct guise g;

	guise_begin(&g, req);
	rc = fd < 0 ? fd : m->make(m, fd, name);
	guise_end(&g);
	host_dir_done(h, fd);
	if (rc)
		fuse_reply_err(req, -rc);
	else
		reply_made(req, dir, name);
	host_put(h, dir, 1);
}

static int make_node(const struct making *m, int dirfd, const char *name)
{
	return result(mknodat(dirfd, name, m->mode, m->dev));
}

void host_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	struct making m = { .make = make_node, .mode = mode, .dev = dev };
	struct host *dir = host_of(req, parent);

	if (dir)
		make(req, dir, name, &m);
	else
		op_mknod(req, parent, name, mode, dev);
}

static int make_dir(const struct making *m, int dirfd, const char *name)
{
	return result(mkdirat(dirfd, name, m->mode));
}

void host_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct making m = { .make = make_dir, .mode = mode };
	struct host *dir = host_of(req, parent);

	if (dir)
		make(req, dir, name, &m);
	else
		op_mkdir(req, parent, name, mode);
}

static int make_symlink(const struct making *m, int dirfd, const char *name)
{
	return result(symlinkat(m->to, dirfd, name));
}

void host_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name)
{
	struct making m = { .make = make_symlink, .to = to };
	struct host *dir = host_of(req, parent);

	if (dir)
		make(req, dir, name, &m);
	else
		op_symlink(req, to, parent, name);
}

static int make_link(const struct making *m, int dirfd, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", m->fd);
	return result(linkat(AT_FDCWD, path, dirfd, name, AT_SYMLINK_FOLLOW));
}

void host_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct host *host = host_of(req, ino), *dir = host_of(req, parent);
	struct making m = { .make = make_link, .fd = -1 };
	struct hosts *h = hosts_of(req);

	if (host && dir) {
		m.fd = host_any(h, host);
		if (m.fd < 0)
			fuse_reply_err(req, -m.fd);
		else
			make(req, host_ref(h, dir), name, &m);
		host_close(h, m.fd);
	} else if (host || dir) {
		fuse_reply_err(req, EPERM);
	} else {
		op_link(req, ino, parent, name);
	}
	host_put(h, host, 1);
	host_put(h, dir, 1);
}

static int create(fuse_req_t req, struct host *dir, const char *name, mode_t mode, struct fuse_file_info *fi,
		  struct fuse_entry_param *e)
{
	int flags = (fi->flags & (O_ACCMODE | O_SYNC | O_DSYNC | O_EXCL)) | O_CREAT | O_NONBLOCK | O_NOFOLLOW;
	struct hosts *h = hosts_of(req);
	int dirfd = open_dir(mount_of(req)->tree, dir, name), fd, rc;
	struct host *host;
	struct guise g;

	guise_begin(&g, req);
	fd = dirfd < 0 ? dirfd : beneath_open(dirfd, name, flags, mode);
	guise_end(&g);
	host_dir_done(h, dirfd);
	if (fd < 0)
		return fd;
	rc = result(fstat(fd, &e->attr));
	rc = rc ? rc : !S_ISREG(e->attr.st_mode) ? -EEXIST : host_seen(h, dir, name, &e->attr, &host);
	if (rc) {
		close(fd);
		return rc;
	}
	e->ino = node_id((struct node){ .host = host });
	rc = host_begin(req, host, fd, fi);
	if (rc)
		host_put(h, host, 1);
	return rc;
}

void host_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	const struct mount *m = mount_of(req);
	struct hosts *h = hosts_of(req);
	struct host *dir = host_of(req, parent);
	struct fuse_entry_param e = { 0 };
	int rc;

	if (!dir) {
		op_create(req, parent, name, mode, fi);
		return;
	}
	rc = create(req, dir, name, mode, fi, &e);
	if (rc) {
		fuse_reply_err(req, -rc);
	} else if (fuse_reply_create(req, &e, fi)) {
		host_open_end(h, host_open_of(fi));
		entry_put(m, &e);
	}
	host_put(h, dir, 1);
}

/* ---- names that go ---- */

static int take_away(struct tree *t, struct host *dir, const char *name, int flags)
{
	int fd = is_hidden(t, dir, name) ? -ENOENT : open_dir(t, dir, name), rc;
	struct hosts *h = &t->folder->hosts;

	if (fd < 0)
		return fd;
	host_keep(h, dir, name);
	rc = result(unlinkat(fd, name, flags));
	host_dir_done(h, fd);
	if (!rc)
		host_unseen(h, dir, name);
	return rc;
}

void host_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree *t = mount_of(req)->tree;
	struct host *dir = host_of(req, parent);

	if (!dir) {
		op_unlink(req, parent, name);
		return;
	}
	fuse_reply_err(req, -take_away(t, dir, name, 0));
	host_put(&t->folder->hosts, dir, 1);
}

/* A file that is shown as a directory is a model, which goes by its file only: who removes all he finds in a directory
 * would have stopped at its views. */
void host_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree *t = mount_of(req)->tree;
	struct host *dir = host_of(req, parent);
	int rc;

	if (!dir) {
		op_rmdir(req, parent, name);
		return;
	}
	rc = take_away(t, dir, name, AT_REMOVEDIR);
	fuse_reply_err(req, rc == -ENOTDIR ? EPERM : -rc);
	host_put(&t->folder->hosts, dir, 1);
}

/* Between a folder and a model programs copy and remove. */
void host_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *to_name,
		 unsigned flags)
{
	struct tree *t = mount_of(req)->tree;
	struct host *dir = host_of(req, parent), *to_dir = host_of(req, to);
	int rc;

	if (!dir && !to_dir) {
		op_rename(req, parent, name, to, to_name, flags);
		return;
	}
	if (!dir || !to_dir)
		rc = -EXDEV;
	else
		rc = is_hidden(t, dir, name) ? -ENOENT : refuse_hidden(t, to_dir, to_name);
	rc = rc ? rc : folder_rename(t, dir, name, to_dir, to_name, flags);
	fuse_reply_err(req, -rc);
	host_put(&t->folder->hosts, dir, 1);
	host_put(&t->folder->hosts, to_dir, 1);
}
