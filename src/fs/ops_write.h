/* What the two halves of the FUSE operations share. */
#ifndef MODELFS_OPS_WRITE_H
#define MODELFS_OPS_WRITE_H

#define FUSE_USE_VERSION 312
#include <fcntl.h>
#include <fuse_lowlevel.h>

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
