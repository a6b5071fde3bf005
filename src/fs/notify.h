/* Telling the kernel to drop pages of files that changed, for programs that have them open or mapped.
 *
 * Such a message waits in the kernel for a page that is just being read or written, which may be waiting for this very
 * process. So a thread of its own sends it, which holds no lock and answers no request; who commits waits for it, but
 * not for long. */
#ifndef MODELFS_NOTIFY_H
#define MODELFS_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

struct fuse_session;
struct notifier;

/* NULL when out of memory or threads: then pages go when the kernel next asks for attributes. */
struct notifier *notifier_start(struct fuse_session *se);
void notifier_stop(struct notifier *n);        /* NULL is fine */
/* Has the pages of these nodes dropped; returns when that is done, or after NOTIFY_PATIENCE_MS. */
#define NOTIFY_PATIENCE_MS 100
void notifier_drop(struct notifier *n, const uint64_t *ids, size_t count);

#endif
