/* FUSE operations over a tree. */
#ifndef MODELFS_OPS_H
#define MODELFS_OPS_H

#include <sys/types.h>

#include "tree.h"

struct fuse_lowlevel_ops;
struct fuse_session;

struct mount {
	struct tree *tree;
	uid_t uid;                             /* the owner of everything: who mounted */
	gid_t gid;
	unsigned max_read;                     /* 0: as the kernel likes */
	_Atomic int cold;                      /* so many reads yet look first whether they would wait for the disk */
	bool writable;
	bool folder;                           /* SOURCE is one: names and attributes are asked for at each look */
	bool no_opendir;                       /* the kernel understands that there is no OPENDIR */
	struct fuse_session *session;
	struct notifier *notifier;             /* NULL: none */
};

extern const struct fuse_lowlevel_ops mount_ops;       /* their userdata is a struct mount */
extern const struct fuse_lowlevel_ops folder_ops;      /* likewise, of a folder */

extern const struct tree_watcher mount_watcher;        /* its ctx is the struct mount */

#endif
