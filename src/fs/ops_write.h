/* What the parts of the FUSE operations share: those that look at the tree, those that change it, and those of what
 * lies in a folder and is no model. */
#ifndef MODELFS_OPS_WRITE_H
#define MODELFS_OPS_WRITE_H

#define FUSE_USE_VERSION 312
#include <fcntl.h>
#include <fuse_lowlevel.h>

#include "folder.h"
#include "ops.h"
#include "scratch.h"

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

/* ops.c */
struct mount *mount_of(fuse_req_t req);
void fill_stat(const struct mount *m, const struct node_attr *a, struct stat *st);
void fill_entry(const struct mount *m, struct node n, struct fuse_entry_param *e);
int find_name(struct tree *t, fuse_ino_t parent, const char *name, struct node *n);    /* ESTALE, ENOENT, ... */
bool find_node(struct tree *t, fuse_ino_t ino, struct fuse_file_info *fi, struct node *n);
void log_failure(struct tree *t, struct node n, const struct err *why);
/* Enters the tree, to look at what ino is a part of. */
struct tree *enter_at(fuse_req_t req, fuse_ino_t ino);
double attr_ttl(const struct mount *m, bool dir);
double entry_ttl(const struct mount *m, bool dir);
/* size bytes for one reply, the thread's own; NULL: no memory. */
uint8_t *read_room(size_t size);
int user_errno(int rc);
void op_init(void *userdata, struct fuse_conn_info *conn);
void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_statfs(fuse_req_t req, fuse_ino_t ino);
void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);

/* ops_host.c */
/* The host a number means, with a reference; NULL: it is no host's. */
struct host *host_of(fuse_req_t req, fuse_ino_t ino);
static inline struct host_open *host_open_of(const struct fuse_file_info *fi)
{
	return (struct host_open *)(uintptr_t)fi->fh;
}

/* What lies at a name of a folder, looked up for the kernel; entry_put() when it has not got the reply. */
int host_entry(fuse_req_t req, struct host *dir, const char *name, struct fuse_entry_param *e);
void entry_put(const struct mount *m, const struct fuse_entry_param *e);
/* Registers a descriptor, which is closed on an error, for fi->fh. */
int host_begin(fuse_req_t req, struct host *host, int fd, struct fuse_file_info *fi);
void folder_init(struct fuse_conn_info *conn);

/* ops_change.c: what changes something in a folder */
void host_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi);
void host_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off, struct fuse_file_info *fi);
void host_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void host_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void host_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void host_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t n, struct fuse_file_info *fi);
void host_copy(fuse_req_t req, fuse_ino_t ino, off_t off, struct fuse_file_info *fi, fuse_ino_t to, off_t to_off,
	       struct fuse_file_info *to_fi, size_t n, int flags);
void host_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi);
void host_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev);
void host_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void host_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name);
void host_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void host_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void host_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void host_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *to_name,
		 unsigned flags);

/* ops_write.c */
/* What a scratch file remembers beyond what all nodes have. */
void fill_scratch(const struct scratch *s, struct stat *st);
/* handle_truncate() that waits while the file is being saved; not inside tree_enter(). */
int truncate_handle(struct tree *t, struct handle *h, uint64_t size);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off, struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi);
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *to_name,
	       unsigned flags);
void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t n, struct fuse_file_info *fi);
void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n);
void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *v);

#endif
