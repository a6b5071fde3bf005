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
	cmd_demo, cmd_put, cmd_log, cmd_undo, cmd_thumbnail;

/* Reads the options: `letters` are flags, bit i of *given is letters[i]; --help is understood too. Returns the number
 * of arguments behind them, which is min to max, and moves *argv there; negative: return -1 - result as the exit
 * code. */
int cmd_options(const struct command *self, int argc, char ***argv, const char *letters, unsigned *given, int min,
		int max);
/* The same with `-o fps=N,tolerance=DEGREES,baked`, for commands that show or write animations. */
int cmd_tree_options(const struct command *self, int argc, char ***argv, const char *letters, unsigned *given, int min,
		     int max, struct tree_options *opt);
/* Whether animations can be shown so; else an error is told. */
bool cmd_timing_fits(const struct command *self, const struct tree_options *opt);
#define CMD_TIMING_HELP \
	"  -o fps=N        frames per second of animations that store no rate, in GLB files (30)\n" \
	"  -o tolerance=D  in degrees: leave out keys of turns that others stand for so closely (0)\n" \
	"  -o baked        places and scales with a key for each frame, which Blender needs"
/* "modelfs: WHAT: WHERE: WHY" on standard error; returns 1. */
int cmd_fail(const struct command *self, const char *where, const struct err *why);
int cmd_fail_errno(const struct command *self, const char *where, int code);
int cmd_usage(const struct command *self);     /* returns 2 */
/* Opens SOURCE for a command that only reads; on failure says why and returns NULL. opt: what is shown, and how. */
struct tree *cmd_open(const struct command *self, const char *path, struct tree_options opt);
#define CMD_CARVE_HELP "  -c   search what no format knows for models (-o carve)"
/* All of it, or -errno. */
int cmd_write_fd(int fd, const void *p, size_t n);
/* All of it to standard output; on failure says why and returns 1. */
int cmd_write(const struct command *self, const void *p, size_t n);

/* A node that a command comes back to. What is known of nodes may change each time the tree is entered, because another
 * process may save: so it is known by its path. */
struct cmd_place {
	struct tree *t;
	struct cmd_place *in;                  /* the directory it lies in, which has to last longer; NULL: the root */
	char *path;                            /* below the root, "" the root's */
	struct node node;                      /* as it was when last looked for; unit NULL: never */
	uint32_t gen;
};

/* Enters the tree. On failure there is nothing to free, here and below. */
int cmd_place_open(struct tree *t, const char *path, struct cmd_place *out);
int cmd_place_below(struct cmd_place *dir, const char *name, struct cmd_place *out);   /* not looked for yet */
void cmd_place_free(struct cmd_place *p);
/* Within tree_enter(): p->node is true until tree_leave(). ENOENT, ENOTDIR when it is gone. */
int cmd_place_find(struct cmd_place *p);
/* An entry of dir, or with name NULL dir itself; within tree_enter(). */
int cmd_place_lookup(struct cmd_place *dir, const char *name, struct node *out);

/* The names in a directory, each behind a '/' when it is a directory too, '@' a symbolic link, '=' another thing
 * without bytes, else a blank; and with a 0 at its end. All but errors.txt: going through the others may find damage.
 * Enters the tree. */
int cmd_names(struct cmd_place *dir, struct buf *names, struct err *e);
/* A comment "WHAT: LINE" for each line in a text that ends with a zero. */
void cmd_comments(struct doc *d, const char *what, struct buf *lines);
/* Whether a directory that was listed has errors.txt by now. Enters the tree. */
bool cmd_damaged(struct cmd_place *dir);

/* A command may do several small things in one turn inside the tree, because entering costs as much as a small file;
 * not longer than that, because who saves waits for it. */
#define CMD_TURN 0.002                         /* seconds */
double cmd_now(void);                          /* seconds */

/* A file that is read from its start. */
#define CMD_PIECE ((size_t)1 << 20)
struct cmd_reading {
	struct tree *t;
	struct handle *h;
	uint64_t at, size;
	uint32_t gen;
	struct timespec mtime;
};
/* Opens an entry of dir, or with name NULL dir itself, within tree_enter(). On failure there is nothing to close. */
int cmd_read_open(struct cmd_place *dir, const char *name, struct cmd_reading *r, struct err *e);
/* The next piece, at most CMD_PIECE bytes, within tree_enter(): bytes read, 0 at the end, or -errno. EAGAIN: another
 * process saved since it was opened, so this piece may not fit those before. */
int cmd_read(struct cmd_reading *r, void *piece, struct err *e);
/* The same, outside: enters the tree for it. */
int cmd_read_on(struct cmd_reading *r, void *piece, struct err *e);
void cmd_read_close(struct cmd_reading *r);

/* cmd_folder.c: info of a folder; 1: there are files that look like models and are none. Enters the tree. */
int cmd_describe_folder(struct tree *t, struct buf *out, struct err *e);

/* Calls fn for every unit of the tree, parents first, outside tree_enter(), also for those that cannot be read; stops
 * at the first result that is not 0. */
int cmd_each_unit(struct tree *t, int (*fn)(void *ctx, struct cmd_place *unit), void *ctx, struct err *e);

#endif
