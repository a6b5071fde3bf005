/* FUSE operations on what lies in a folder and is no model: they go straight to it. The table of all operations on a
 * folder, whose other nodes are models and their files as elsewhere.
 *
 * Names and attributes are asked for at each look, because others change them; pages are kept until a file is opened
 * again. The kernel checks permissions, by the attributes it is told. */
#include "ops_write.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "log.h"
#include "loop.h"

#define LOOKS 8u                               /* at a file that others keep changing */

static struct hosts *hosts_of(fuse_req_t req)
{
	return &mount_of(req)->tree->folder->hosts;
}

struct host *host_of(fuse_req_t req, fuse_ino_t ino)
{
	uint64_t serial = node_host(mount_of(req)->tree, ino);

	return serial ? host_by_serial(hosts_of(req), serial) : NULL;
}

static bool is_host(fuse_req_t req, fuse_ino_t ino)
{
	return node_host(mount_of(req)->tree, ino);
}

/* Pages of an open file are not looked at anew for each read of it: a time that others changed says so at the next
 * open. Listings tell names and types only, as attributes would be asked for once more anyway. */
void folder_init(struct fuse_conn_info *conn)
{
	conn->want &= ~(unsigned)(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
}

/* ---- names and attributes ---- */

static int known_entry(fuse_req_t req, struct host *dir, const char *name, const struct found *found,
		       struct fuse_entry_param *e)
{
	struct tree *t = enter_at(req, 0);
	struct node n;
	int rc = folder_node(t, dir, name, found, &n);

	if (!rc && n.unit)
		fill_entry(mount_of(req), n, e);
	else if (!rc)
		*e = (struct fuse_entry_param){ .ino = node_id(n), .attr = found->st };
	tree_leave(t);
	return rc;
}

int host_entry(fuse_req_t req, struct host *dir, const char *name, struct fuse_entry_param *e)
{
	struct tree *t = mount_of(req)->tree;
	struct found found;
	int rc = -ESTALE;

	for (unsigned i = 0; i < LOOKS && rc == -ESTALE; i++) {
		rc = folder_look(t, dir, name, &found);
		if (!rc && S_ISREG(found.st.st_mode) && folder_has_member(t, dir, name))
			rc = -ENOENT;
		if (rc)
			return rc;
		rc = known_entry(req, dir, name, &found, e);
	}
	return rc;
}

void entry_put(const struct mount *m, const struct fuse_entry_param *e)
{
	struct node n;

	if (!node_from_id(m->tree, e->ino, &n))
		return;
	if (n.host)
		host_put(&m->tree->folder->hosts, n.host, 2);
}

static void host_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct mount *m = mount_of(req);
	struct hosts *h = hosts_of(req);
	struct host *dir = host_of(req, parent);
	struct fuse_entry_param e;
	int rc;

	if (!dir) {
		op_lookup(req, parent, name);
		return;
	}
	rc = host_entry(req, dir, name, &e);
	if (rc)
		fuse_reply_err(req, user_errno(rc));
	else if (fuse_reply_entry(req, &e))
		entry_put(m, &e);
	host_put(h, dir, 1);
}

static void host_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct hosts *h = hosts_of(req);
	struct host *host = host_of(req, ino);
	struct stat st;
	int rc;

	if (!host) {
		op_getattr(req, ino, fi);
		return;
	}
	rc = host_stat(h, host, &st);
	if (rc)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_attr(req, &st, 0);
	host_put(h, host, 1);
}

static void host_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct hosts *h = hosts_of(req);
	struct host *host = host_of(req, ino);
	char to[PATH_MAX];
	int rc = host ? host_target(h, host, to, sizeof to) : -EINVAL;

	if (rc)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_readlink(req, to);
	host_put(h, host, 1);
}

static void host_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	struct hosts *h = hosts_of(req);
	struct host *host = host_of(req, ino);

	if (host)
		host_put(h, host, n + 1);
	if (host)
		fuse_reply_none(req);
	else
		op_forget(req, ino, n);
}

static void host_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *v)
{
	struct hosts *h = hosts_of(req);
	size_t rest = 0;

	for (size_t i = 0; i < count; i++) {
		struct host *host = host_of(req, v[i].ino);

		if (host)
			host_put(h, host, v[i].nlookup + 1);
		else
			v[rest++] = v[i];
	}
	op_forget_multi(req, rest, v);
}

/* ---- directories ---- */

static struct folder_dir *dir_of(const struct fuse_file_info *fi)
{
	return (struct folder_dir *)(uintptr_t)fi->fh;
}

static void host_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct hosts *h = hosts_of(req);
	struct host *host = host_of(req, ino);
	struct folder_dir *d;
	int rc;

	if (!host) {
		op_opendir(req, ino, fi);
		return;
	}
	rc = folder_dir_open(mount_of(req)->tree, host, true, &d);
	host_put(h, host, 1);
	if (rc) {
		fuse_reply_err(req, -rc);
		return;
	}
	fi->fh = (uintptr_t)d;
	if (fuse_reply_open(req, fi))
		folder_dir_close(d);
}

static void host_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (is_host(req, ino))
		folder_dir_close(dir_of(fi));
	fuse_reply_err(req, 0);
}

struct reply { fuse_req_t req; char *p; size_t room, used; };

static int add_name(void *ctx, const char *name, uint64_t ino, unsigned type, uint64_t next)
{
	struct reply *r = ctx;
	struct stat st = { .st_ino = ino, .st_mode = DTTOIF(type) };
	size_t n = fuse_add_direntry(r->req, r->p + r->used, r->room - r->used, name, &st, (off_t)next);

	if (n > r->room - r->used)
		return 1;
	r->used += n;
	return 0;
}

static void host_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct reply r = { .req = req, .room = size };
	int rc;

	if (!is_host(req, ino)) {
		op_readdir(req, ino, size, off, fi);
		return;
	}
	r.p = (char *)read_room(size);
	rc = r.p ? folder_dir_list(dir_of(fi), (uint64_t)off, add_name, &r) : -ENOMEM;
	if (rc < 0 && !r.used)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_buf(req, r.p, r.used);
}

/* ---- files ---- */

int host_begin(fuse_req_t req, struct host *host, int fd, struct fuse_file_info *fi)
{
	struct hosts *h = hosts_of(req);
	struct host_open *o;
	int rc = host_open_begin(h, host, fd, (fi->flags & O_ACCMODE) != O_RDONLY, &o);

	if (rc)
		close(fd);
	else
		fi->fh = (uintptr_t)o;
	return rc;
}

/* Root takes away what a change by others takes away. */
static void lose_bits(fuse_req_t req, int fd)
{
	struct stat st;
	mode_t mode;

	if (!fuse_req_ctx(req)->uid || fstat(fd, &st))
		return;
	mode = st.st_mode & ~(mode_t)(S_ISUID | (st.st_mode & S_IXGRP ? S_ISGID : 0));
	if (mode != st.st_mode && fchmod(fd, mode & 07777))
		log_line("a file that was truncated keeps its mode %04o: %s", st.st_mode & 07777, strerror(errno));
}

/* Also through a descriptor for reading, as open() does. */
static int cut(fuse_req_t req, struct host *host, int fd, int flags)
{
	bool reads = (flags & O_ACCMODE) == O_RDONLY;
	struct hosts *h = hosts_of(req);
	int rc;

	if (reads)
		fd = host_open(h, host, O_WRONLY | O_NONBLOCK);
	rc = fd < 0 ? fd : ftruncate(fd, 0) ? -errno : 0;
	if (!rc)
		lose_bits(req, fd);
	if (reads)
		host_close(h, fd);
	return rc;
}

static int open_host(fuse_req_t req, struct host *host, struct fuse_file_info *fi)
{
	struct hosts *h = hosts_of(req);
	int fd, rc;

	if (host->type != S_IFREG)
		return host->type == S_IFDIR ? -EISDIR : -EINVAL;
	fd = host_open(h, host, (fi->flags & (O_ACCMODE | O_SYNC | O_DSYNC)) | O_NONBLOCK);
	if (fd < 0)
		return fd;
	rc = fi->flags & O_TRUNC ? cut(req, host, fd, fi->flags) : 0;
	if (rc) {
		close(fd);
		return rc;
	}
	return host_begin(req, host, fd, fi);
}

static void host_open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct hosts *h = hosts_of(req);
	struct host *host = host_of(req, ino);
	int rc;

	if (!host) {
		op_open(req, ino, fi);
		return;
	}
	rc = open_host(req, host, fi);
	fi->noflush = (fi->flags & O_ACCMODE) == O_RDONLY;     /* it would have nothing to say */
	if (rc)
		fuse_reply_err(req, -rc);
	else if (fuse_reply_open(req, fi))
		host_open_end(h, host_open_of(fi));
	host_put(h, host, 1);
}

static void host_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct hosts *h = hosts_of(req);
	if (!is_host(req, ino)) {
		op_release(req, ino, fi);
		return;
	}
	host_open_end(h, host_open_of(fi));
	fuse_reply_err(req, 0);
}

/* What is in memory is read at once; before waiting for a disk others get their turn. */
static ssize_t read_fd(int fd, uint8_t *room, size_t size, off_t off)
{
	struct iovec v = { room, size };
	ssize_t got = preadv2(fd, &v, 1, off, RWF_NOWAIT), more;

	if (got < 0 && errno != EAGAIN && errno != EOPNOTSUPP)
		return got;
	got = got < 0 ? 0 : got;
	if ((size_t)got == size)
		return got;
	/* Less than was asked for may be the end of the file: asking once more there costs nothing. */
	if (preadv2(fd, &(struct iovec){ room + got, 1 }, 1, off + got, RWF_NOWAIT) < 0)
		loop_let_go();
	more = pread(fd, room + got, size - (size_t)got, off + got);
	return more < 0 && !got ? more : got + (more > 0 ? more : 0);
}

static void host_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	uint8_t *room;
	ssize_t got;

	if (!is_host(req, ino)) {
		op_read(req, ino, size, off, fi);
		return;
	}
	room = read_room(size);
	got = room ? read_fd(host_open_of(fi)->fd, room, size, off) : -1;
	if (got < 0)
		fuse_reply_err(req, room ? errno : ENOMEM);
	else
		fuse_reply_buf(req, (char *)room, (size_t)got);
}

/* A view is all data. */
static void view_lseek(fuse_req_t req, off_t off, int whence, struct fuse_file_info *fi)
{
	struct tree *t = enter_at(req, 0);
	off_t size = (off_t)handle_size(handle_of(fi));

	tree_leave(t);
	if (off < 0 || off >= size)
		fuse_reply_err(req, ENXIO);
	else
		fuse_reply_lseek(req, whence == SEEK_HOLE ? size : off);
}

static void host_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
	off_t at;

	if (!is_host(req, ino)) {
		view_lseek(req, off, whence, fi);
		return;
	}
	at = lseek(host_open_of(fi)->fd, off, whence);
	if (at < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_lseek(req, at);
}

const struct fuse_lowlevel_ops folder_ops = {
	.init = op_init,
	.lookup = host_lookup,
	.getattr = host_getattr,
	.readlink = host_readlink,
	.statfs = op_statfs,
	.opendir = host_opendir,
	.readdir = host_readdir,
	.releasedir = host_releasedir,
	.fsyncdir = host_fsyncdir,
	.open = host_open_file,
	.read = host_read,
	.release = host_release,
	.lseek = host_lseek,
	.write = host_write,
	.flush = host_flush,
	.fsync = host_fsync,
	.setattr = host_setattr,
	.create = host_create,
	.mknod = host_mknod,
	.mkdir = host_mkdir,
	.symlink = host_symlink,
	.link = host_link,
	.unlink = host_unlink,
	.rmdir = host_rmdir,
	.rename = host_rename,
	.fallocate = host_fallocate,
	.copy_file_range = host_copy,
	.forget = host_forget,
	.forget_multi = host_forget_multi,
};
