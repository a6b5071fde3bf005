/* Low-level FUSE operations that look at the tree; those that change it are in ops_write.c.
 *
 * What costs is round trips. Names and attributes may be kept for a second, pages and listings until the modification
 * time changes; FLUSH and extended attributes are left out, so the kernel asks for each once and never again. A listing
 * with attributes gives those that are known without rendering; for the others it gives the name alone, and the kernel
 * asks when somebody wants them. */
#include "ops_write.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <time.h>

#include "log.h"
#include "loop.h"
#include "notify.h"

#define TTL 1.0

struct mount *mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* Damage is what programs call an input/output error. */
int user_errno(int rc)
{
	return rc == -EBADMSG || rc == -EFBIG ? EIO : -rc;
}

#define LOOKS 8u                               /* until what others keep changing is shown as it was just now */

/* Whether the node may be outdated; one that is gone is not. */
static bool is_outdated(struct tree *t, fuse_ino_t ino)
{
	struct node n;
	bool is;

	if (!node_from_id(t, ino, &n))
		return false;
	is = node_is_outdated(t, n);
	node_put(t, n);
	return is;
}

/* Every operation looks at a tree that does not change meanwhile. */
struct tree *enter_at(fuse_req_t req, fuse_ino_t ino)
{
	struct tree *t = mount_of(req)->tree;
	unsigned looks = 0;

	tree_enter(t);
	while (tree_has_found(t) || (is_outdated(t, ino) && ++looks < LOOKS)) {
		tree_leave(t);
		tree_tell_found(t);
		tree_enter(t);
	}
	return t;
}

void fill_stat(const struct mount *m, const struct node_attr *a, struct stat *st)
{
	*st = (struct stat){
		.st_ino = a->ino,
		.st_mode = (a->dir ? S_IFDIR : S_IFREG) | a->mode,
		.st_nlink = a->dir ? 2 : 1,
		.st_uid = a->owned ? a->uid : m->uid,
		.st_gid = a->owned ? a->gid : m->gid,
		.st_size = (off_t)a->size,
		.st_blocks = (blkcnt_t)((a->size + 511) / 512),
		.st_atim = a->mtime,
		.st_mtim = a->mtime,
		.st_ctim = a->mtime,
	};
}

/* Attributes only (a negative offset): that touches no page, so it cannot wait for a read that is being answered. The
 * changed time makes the kernel list the directory anew. */
static void changed(void *m, uint64_t id)
{
	fuse_lowlevel_notify_inval_inode(((struct mount *)m)->session, id, -1, 0);
}

static void stale(void *m, const uint64_t *ids, size_t n)
{
	notifier_drop(((struct mount *)m)->notifier, ids, n);
}

const struct tree_watcher mount_watcher = { changed, stale };

/* ---- names and attributes ---- */

void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct mount *m = userdata;

	m->no_opendir = !m->writable && !m->folder && conn->capable & FUSE_CAP_NO_OPENDIR_SUPPORT;
	conn->max_read = m->max_read;
	conn->want |= conn->capable & (FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
	conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_SPLICE_READ);
	conn->time_gran = 1;
	if (m->folder)
		folder_init(conn);
}

/* Where another process saves, sizes of open files are those of the version they read: the kernel must not remember one
 * for all. */
double attr_ttl(const struct mount *m, bool dir)
{
	return m->folder || (!dir && tree_is_shared(m->tree)) ? 0 : TTL;
}

/* Names of files may be swapped by renaming at any time where there are writers: then the kernel asks for each. */
double entry_ttl(const struct mount *m, bool dir)
{
	return m->folder || (m->writable && !dir) ? 0 : TTL;
}

void fill_entry(const struct mount *m, struct node n, struct fuse_entry_param *e)
{
	struct node_attr a;

	node_attr(m->tree, n, true, &a);
	*e = (struct fuse_entry_param){
		.ino = node_id(n), .attr_timeout = attr_ttl(m, a.dir), .entry_timeout = entry_ttl(m, a.dir)
	};
	fill_stat(m, &a, &e->attr);
	if (n.scratch)
		fill_scratch(n.scratch, &e->attr);
}

int find_name(struct tree *t, fuse_ino_t parent, const char *name, struct node *n)
{
	struct node dir;

	return node_from_id(t, parent, &dir) ? node_lookup(t, dir, name, n) : -ESTALE;
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct mount *m = mount_of(req);
	struct fuse_entry_param e = { .attr_timeout = TTL, .entry_timeout = m->folder ? 0 : TTL };
	struct tree *t = enter_at(req, parent);
	struct node n = { 0 };
	int rc = find_name(t, parent, name, &n);

	if (!rc) {
		fill_entry(m, n, &e);
		if (n.scratch)
			scratch_ref(n.scratch);
	} else if (node_may_appear(t, name)) {
		e.entry_timeout = 0;
	}
	tree_leave(t);
	if (rc && rc != -ENOENT)
		fuse_reply_err(req, user_errno(rc));
	else if (fuse_reply_entry(req, &e) && !rc)     /* number 0: absent, and may be remembered */
		scratch_put(t, n.scratch);
}

/* An open file of something that is gone answers for itself. */
bool find_node(struct tree *t, fuse_ino_t ino, struct fuse_file_info *fi, struct node *n)
{
	if (!fi || !fi->fh)
		return node_from_id(t, ino, n);
	*n = handle_node(handle_of(fi));
	return n->scratch || (n->local != UINT32_MAX && node_from_id(t, node_id(*n), n));
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct mount *m = mount_of(req);
	struct tree *t = enter_at(req, ino);
	struct fuse_entry_param e;
	struct node n;
	bool there = find_node(t, ino, fi, &n);

	if (there)
		fill_entry(m, n, &e);
	if (there && !m->writable && fi && fi->fh)
		e.attr.st_size = (off_t)handle_size(handle_of(fi));
	tree_leave(t);
	if (there)
		fuse_reply_attr(req, &e.attr, e.attr_timeout);
	else
		fuse_reply_err(req, ESTALE);
}

void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs sv;

	(void)ino;
	if (fstatvfs(tree_fd(mount_of(req)->tree), &sv)) {
		fuse_reply_err(req, errno);
		return;
	}
	sv.f_namemax = NODE_NAME_MAX - 1;
	fuse_reply_statfs(req, &sv);
}

/* ---- directories ---- */

#define DOTS 2u                                /* positions of "." and ".." */

struct listing {
	fuse_req_t req;
	const struct mount *m;
	char *p;
	size_t room, used;
	bool plus;
};

static size_t add_entry(struct listing *l, const char *name, const struct fuse_entry_param *e, uint64_t next)
{
	char *p = l->p + l->used;
	size_t room = l->room - l->used;

	return l->plus ? fuse_add_direntry_plus(l->req, p, room, name, e, (off_t)next) :
			 fuse_add_direntry(l->req, p, room, name, &e->attr, (off_t)next);
}

static int list_entry(void *ctx, const struct node_entry *entry)
{
	struct listing *l = ctx;
	struct fuse_entry_param e = {
		.attr = { .st_ino = entry->ino, .st_mode = entry->dir ? S_IFDIR : S_IFREG },
		.attr_timeout = attr_ttl(l->m, entry->dir), .entry_timeout = entry_ttl(l->m, entry->dir)
	};
	struct node_attr a;
	size_t n;

	if (l->plus && entry->node.unit && !entry->node.scratch) {
		node_attr(l->m->tree, entry->node, false, &a);
		if (a.sized) {
			e.ino = node_id(entry->node);
			fill_stat(l->m, &a, &e.attr);
		}
	}
	n = add_entry(l, entry->name, &e, entry->next + DOTS);
	if (n > l->room - l->used)
		return 1;
	l->used += n;
	return 0;
}

static int list_dots(struct listing *l, struct node dir, uint64_t *at)
{
	struct node_entry dot = { .dir = true };
	struct node_attr a;

	for (; *at < DOTS; ++*at) {
		struct node n = *at ? node_parent(l->m->tree, dir) : dir;

		node_attr(l->m->tree, n, false, &a);
		if (*at)
			node_put(l->m->tree, n);
		dot.name = *at ? ".." : ".";
		dot.ino = a.ino;
		dot.next = *at + 1 - DOTS;     /* list_entry adds DOTS */
		if (list_entry(l, &dot))
			return 1;
	}
	return 0;
}

static void read_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	struct listing l = { .req = req, .m = mount_of(req), .room = size, .plus = plus };
	uint64_t at = (uint64_t)off;
	struct tree *t;
	struct node dir;
	int rc;

	l.p = malloc(size);
	if (!l.p) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	t = enter_at(req, ino);
	rc = node_from_id(t, ino, &dir) ? list_dots(&l, dir, &at) : -ESTALE;
	if (!rc)
		rc = node_list(t, dir, at - DOTS, plus, list_entry, &l);
	tree_leave(t);
	if (rc < 0)
		fuse_reply_err(req, user_errno(rc));
	else
		fuse_reply_buf(req, l.p, l.used);
	free(l.p);
}

/* Listings may be cached until the modification time changes. "Not there" says the same, and is asked for once: from
 * then on the kernel opens directories by itself. Where there are writers, names come and go without the kernel. */
void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fi->cache_readdir = fi->keep_cache = !mount_of(req)->writable && !mount_of(req)->folder;
	if (mount_of(req)->no_opendir)
		fuse_reply_err(req, ENOSYS);
	else
		fuse_reply_open(req, fi);
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)fi;
	read_dir(req, ino, size, off, false);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)fi;
	read_dir(req, ino, size, off, true);
}

/* ---- files ---- */

void log_failure(struct tree *t, struct node n, const struct err *why)
{
	struct buf path = { 0 };

	node_path(t, n, &path);
	log_line("%s: %.*s: %s", tree_path(t), (int)path.len, path.len ? (char *)path.p : "", why->text);
	buf_free(&path);
}

static bool opens_for_writing(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY;
}

static int open_node(struct tree *t, fuse_ino_t ino, int flags, struct handle **h)
{
	struct err why = { 0 };
	struct node n;
	int rc;

	if (!node_from_id(t, ino, &n))
		return -ESTALE;
	rc = opens_for_writing(flags) ? node_open_write(t, n, flags & O_TRUNC, h, &why) : node_open(t, n, h, &why);
	if (rc && rc != -EACCES)
		log_failure(t, n, &why);
	return rc;
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct tree *t = enter_at(req, ino);
	struct handle *h;
	int rc = open_node(t, ino, fi->flags, &h);

	tree_leave(t);
	if (!rc && fi->flags & O_TRUNC && opens_for_writing(fi->flags)) {
		rc = truncate_handle(t, h, 0);
		if (rc)
			handle_put(h);
	}
	if (rc) {
		fuse_reply_err(req, user_errno(rc));
		return;
	}
	fi->fh = (uintptr_t)h;
	fi->keep_cache = !mount_of(req)->writable && !mount_of(req)->folder;
	fi->noflush = !opens_for_writing(fi->flags);
	if (fuse_reply_open(req, fi))          /* interrupted: there will be no release */
		handle_put(h);
}

/* One read buffer per worker thread, freed with it. */
static pthread_key_t room_key;
static pthread_once_t room_once = PTHREAD_ONCE_INIT;
struct room { size_t size; uint8_t bytes[]; };

static void make_room_key(void)
{
	pthread_key_create(&room_key, free);
}

uint8_t *read_room(size_t size)
{
	struct room *r;

	pthread_once(&room_once, make_room_key);
	r = pthread_getspecific(room_key);
	if (r && r->size >= size)
		return r->bytes;
	free(r);
	r = malloc(sizeof *r + size);
	pthread_setspecific(room_key, r);
	if (!r)
		return NULL;
	r->size = size;
	return r->bytes;
}

static void copy_reply(fuse_req_t req, struct handle *h, size_t size, uint64_t off)
{
	uint8_t *room = read_room(size);
	int rc = room ? handle_read(h, room, size, off) : -ENOMEM;

	if (rc < 0)
		fuse_reply_err(req, user_errno(rc));
	else
		fuse_reply_buf(req, (char *)room, (size_t)rc);
}

/* Asking whether bytes are in memory costs a tenth of a small read. So that is done only for a while after a read that
 * was slow: the first one of a cold archive makes others wait once. */
#define SLOW_NS 300000
#define COLD_READS 256

static int64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ns_of(&ts);
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	/* Who reads may close before fuse_reply_buf() returns. */
	struct handle *h = handle_ref(handle_of(fi));
	struct mount *m = mount_of(req);
	int64_t began = clock_ns();
	struct tree *t = m->tree;
	const void *p;

	(void)ino;
	tree_enter(t);
	p = handle_map(h, &size, (uint64_t)off);
	if (atomic_load_explicit(&m->cold, memory_order_relaxed) > 0) {
		atomic_fetch_sub_explicit(&m->cold, 1, memory_order_relaxed);
		if (!handle_ready(h, size, (uint64_t)off))
			loop_let_go();
	}
	/* Mapped bytes are never touched here: should the archive have been cut, the system call fails, and the kernel
	 * makes EIO of that for this request. */
	if (p)
		fuse_reply_buf(req, p, size);
	else
		copy_reply(req, h, size, (uint64_t)off);
	tree_leave(t);
	if (clock_ns() - began > SLOW_NS)
		atomic_store_explicit(&m->cold, COLD_READS, memory_order_relaxed);
	handle_put(h);
}

const struct fuse_lowlevel_ops mount_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.statfs = op_statfs,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.open = op_open,
	.read = op_read,
	.release = op_release,
	.write = op_write,
	.flush = op_flush,
	.fsync = op_fsync,
	.setattr = op_setattr,
	.create = op_create,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.symlink = op_symlink,
	.link = op_link,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.fallocate = op_fallocate,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
};
