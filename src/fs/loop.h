/* The threads that answer the kernel. */
#ifndef MODELFS_LOOP_H
#define MODELFS_LOOP_H

struct fuse_session;

/* Answers requests until the session ends or a signal stops it; calls after() behind each. 0 or -errno. */
int loop_run(struct fuse_session *se, unsigned threads, void (*after)(void *ctx), void *ctx);
/* To be called in a request before work that takes long: from then on another thread takes requests. */
void loop_let_go(void);

#endif
