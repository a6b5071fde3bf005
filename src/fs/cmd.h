/* The subcommands. Each takes its own argv (argv[0] is its name) and returns the exit code: 0 done, 1 failed or found
 * damage, 2 wrong usage. */
#ifndef MODELFS_CMD_H
#define MODELFS_CMD_H

#include "tree.h"

#define CACHE_MOUNT ((size_t)256 << 20)
#define CACHE_COMMAND ((size_t)16 << 20)       /* a command reads each file once */

struct command {
	const char *name;
	const char *synopsis;                  /* what follows "modelfs NAME " */
	const char *help;
	int (*run)(const struct command *self, int argc, char **argv);
};

extern const struct command cmd_mount, cmd_umount, cmd_info, cmd_ls, cmd_cat, cmd_extract, cmd_verify, cmd_describe,
	cmd_demo;

/* Reads the options: `letters` are flags, bit i of *given is letters[i]; --help is understood too. Returns the number
 * of arguments behind them, which is min to max, and moves *argv there; negative: return -1 - result as the exit
 * code. */
int cmd_options(const struct command *self, int argc, char ***argv, const char *letters, unsigned *given, int min,
		int max);
/* "modelfs: WHAT: WHERE: WHY" on standard error; returns 1. */
int cmd_fail(const struct command *self, const char *where, const struct err *why);
int cmd_fail_errno(const struct command *self, const char *where, int code);
int cmd_usage(const struct command *self);     /* returns 2 */
/* Opens SOURCE for a command that only reads; on failure says why and returns NULL. */
struct tree *cmd_open(const struct command *self, const char *path);
/* All of it, or -errno. */
int cmd_write_fd(int fd, const void *p, size_t n);
/* All of it to standard output; on failure says why and returns 1. */
int cmd_write(const struct command *self, const void *p, size_t n);

/* Calls fn for every unit of the tree, parents first, with its path; stops at the first result that is not 0. Also for
 * those that cannot be read. */
int cmd_each_unit(struct tree *t, int (*fn)(void *ctx, struct unit *u, const char *path), void *ctx, struct err *e);

#endif
