/* mount and umount. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <malloc.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "filelock.h"
#include "fileset.h"
#include "log.h"
#include "loop.h"
#include "notify.h"
#include "ops.h"

#define CACHE_MOST (1u << 20)                 /* MiB */
#define THREADS_MAX 8u                         /* plain bytes need one; the others decode */
#define UMOUNT_WAIT 5000u                      /* ms */

/* ---- options ---- */

struct options {
	char *names;
	unsigned cache;                        /* MiB */
	unsigned max_read;
	double fps, tolerance;
	int baked;
	int foreground, stats, ro, grow, noundo, carve;
	char *paths[2];
	int npaths, help;
};

#define OPT(text, member, value) { text, offsetof(struct options, member), value }
enum { KEY_HELP = 1 };

static const struct fuse_opt option_table[] = {
	OPT("-f", foreground, 1),
	OPT("names=%s", names, 0),
	OPT("cache=%u", cache, 0),
	OPT("max_read=%u", max_read, 0),
	OPT("stats", stats, 1),
	OPT("rw", ro, 0),
	OPT("ro", ro, 1),
	OPT("grow", grow, 1),
	OPT("noundo", noundo, 1),
	OPT("carve", carve, 1),
	OPT("fps=%lf", fps, 0),
	OPT("tolerance=%lf", tolerance, 0),
	OPT("baked", baked, 1),
	FUSE_OPT_KEY("-h", KEY_HELP),
	FUSE_OPT_KEY("--help", KEY_HELP),
	FUSE_OPT_END
};

static int take_option(void *data, const char *arg, int key, struct fuse_args *out)
{
	struct options *o = data;

	(void)out;
	if (key == KEY_HELP) {
		o->help = 1;
		return 0;
	}
	if (key != FUSE_OPT_KEY_NONOPT)
		return 1;                      /* libfuse's own */
	if (o->npaths == 2)
		return -1;
	o->paths[o->npaths] = strdup(arg);
	return o->paths[o->npaths++] ? 0 : -1;
}

/* "fsname=PATH,..." with the characters that end or quote an option escaped. */
static int add_our_options(struct fuse_args *args, const char *path, unsigned max_read, bool writable)
{
	struct buf b = { 0 };
	int rc;

	buf_printf(&b, "-osubtype=modelfs,%s,default_permissions,", writable ? "rw" : "ro");
	if (max_read)
		buf_printf(&b, "max_read=%u,", max_read);
	buf_str(&b, "fsname=");
	for (; *path; path++) {
		if (*path == ',' || *path == '\\')
			buf_char(&b, '\\');
		buf_char(&b, *path);
	}
	buf_char(&b, 0);
	rc = b.bad ? -1 : fuse_opt_add_arg(args, (char *)b.p);
	buf_free(&b);
	return rc;
}

/* ---- mount points ---- */

static int run_fusermount(const char *flags, const char *path)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execlp("fusermount3", "fusermount3", flags, "--", path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EBUSY;
}

/* A daemon that died leaves its mount point behind, where everything answers ENOTCONN. */
static int clean_stale(const struct command *self, const char *path)
{
	struct statvfs sv;

	/* Never answered from a cache, as attributes are for a second. */
	if (!statvfs(path, &sv) || errno != ENOTCONN)
		return 0;
	if (umount2(path, MNT_DETACH) && run_fusermount("-uz", path)) {
		fprintf(stderr, "modelfs: %s: %s: left behind by a mount that died; run `modelfs umount %s`\n",
			self->name, path, path);
		return 1;
	}
	log_line("%s: a mount that died had left it behind; cleaned up", path);
	return 0;
}

/* ---- serving ---- */

static void answered(void *tree)
{
	tree_tell_found(tree);
}

static int serve(struct mount *m, struct fuse_session *se, const struct options *o)
{
	struct tree_counts n;
	int rc;

	if (fuse_daemonize(o->foreground))
		return 1;
	if (!o->foreground)
		log_use_syslog();
	m->notifier = notifier_start(se);      /* not before: a fork takes no threads along */
	rc = loop_run(se, THREADS_MAX, answered, m->tree);
	n = tree_count(m->tree);
	if (o->stats)
		log_line("rendered: %" PRIu64 " unpacked: %" PRIu64 " directories: %u", n.rendered, n.unpacked,
			 n.units);
	return rc < 0;
}

static int mount_session(struct mount *m, struct fuse_args *args, const char *point, const struct options *o)
{
	struct fuse_session *se = fuse_session_new(args, m->folder ? &folder_ops : &mount_ops, sizeof mount_ops, m);
	int rc = 1;

	if (!se)
		return 2;                      /* an option nobody knows; libfuse has said which */
	m->session = se;
	tree_watch(m->tree, &mount_watcher, m);
	if (!fuse_set_signal_handlers(se)) {
		if (!fuse_session_mount(se, point)) {
			rc = serve(m, se, o);
			fuse_session_unmount(se);
		}
		fuse_remove_signal_handlers(se);
	}
	tree_watch(m->tree, NULL, NULL);
	notifier_stop(m->notifier);
	fuse_session_destroy(se);
	return rc;
}

static int mount_tree(const struct command *self, struct mount *m, const char *point, struct options *o,
		      struct fuse_args *args)
{
	const char *why = NULL;

	m->writable = tree_writable(m->tree, &why);
	m->folder = tree_is_folder(m->tree);
	if (m->folder)
		umask(0);                      /* the kernel has taken away what each caller's mask says */
	if (!o->ro && !m->writable)
		log_line("%s: %s read-only: %s", tree_path(m->tree), m->folder ? "models are" : "mounted",
			 why ? why : "it cannot be written");
	tree_warm(m->tree);                    /* mount returns when the tree can be read */
	return add_our_options(args, tree_path(m->tree), o->max_read, m->writable || (m->folder && !o->ro)) ?
	       cmd_fail_errno(self, o->paths[0], ENOMEM) : mount_session(m, args, point, o);
}

static int mount_paths(const struct command *self, struct options *o, struct fuse_args *args)
{
	struct tree_options topt = {
		.names = o->names, .cache = (size_t)o->cache << 20, .slow = loop_let_go,
		.write = !o->ro, .noundo = o->noundo, .grow = o->grow, .carve = o->carve,
		.timing = { o->fps, o->tolerance, o->baked },
	};
	struct mount m = { .uid = getuid(), .gid = getgid(), .max_read = o->max_read };
	struct err why = { 0 };
	struct stat st;
	char *point;
	int rc = cmd_timing_fits(self, &topt) ? clean_stale(self, o->paths[1]) : 2;

	if (rc)
		return rc;
	if (stat(o->paths[1], &st))
		return cmd_fail_errno(self, o->paths[1], errno);
	if (!S_ISDIR(st.st_mode))
		return cmd_fail_errno(self, o->paths[1], ENOTDIR);
	point = realpath(o->paths[1], NULL);
	if (!point)
		return cmd_fail_errno(self, o->paths[1], errno);
	if (tree_open(o->paths[0], &topt, &m.tree, &why)) {
		free(point);
		return cmd_fail(self, o->paths[0], &why);
	}
	rc = mount_tree(self, &m, point, o, args);
	tree_close(m.tree);
	free(point);
	return rc;
}

static int run_mount(const struct command *self, int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct options o = { .cache = CACHE_MOUNT >> 20 };
	int rc = 2, parsed;

	/* A worker's arena of its own costs more memory than it saves time: rendering allocates little and rarely. */
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);    /* what is large goes back to the system when it is freed */
	mallopt(M_TRIM_THRESHOLD, 2 << 20);    /* a save opens the archive's table again and again */
	parsed = fuse_opt_parse(&args, &o, option_table, take_option);
	if (!parsed && o.help) {
		printf("usage: modelfs %s %s\n%s\n", self->name, self->synopsis, self->help);
		rc = 0;
	} else if (!parsed && o.npaths == 2 && o.cache <= CACHE_MOST) {
		rc = mount_paths(self, &o, &args);
	} else {
		cmd_usage(self);
	}
	free(o.paths[0]);
	free(o.paths[1]);
	free(o.names);
	fuse_opt_free_args(&args);
	return rc;
}

const struct command cmd_mount = {
	"mount", "[-f] [-o OPTIONS] SOURCE MOUNTPOINT",
	"Shows SOURCE at MOUNTPOINT. What is saved there is in SOURCE.\n"
	"  -f              stay in front\n"
	"  -o ro           read-only\n"
	"  -o grow         the archive may grow, moving its own later data\n"
	"  -o noundo       keep nothing that `modelfs undo` could take back\n"
	"  -o carve        search what no format knows for models, not only .pak files\n"
	"  -o names=FILE   labels for entries: lines INDEX<tab>LABEL\n"
	"  -o cache=MIB    memory for what was decoded (256)\n"
	CMD_TIMING_HELP "\n"
	"  -o stats        log at the end how much was decoded\n"
	"  -o ...          options of libfuse, such as allow_other", run_mount
};

/* ---- umount ---- */

/* Whether the last mount at path is one of modelfs, also one whose daemon has died. *archive: what it may write to, to
 * be freed, or NULL. */
static bool is_ours(const char *path, char **archive)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	char room[8192];
	struct mntent entry;
	bool ours = false;

	*archive = NULL;
	while (mounts && getmntent_r(mounts, &entry, room, sizeof room)) {
		if (strcmp(entry.mnt_dir, path))
			continue;
		free(*archive);
		ours = !strcmp(entry.mnt_type, "fuse.modelfs");
		*archive = ours && hasmntopt(&entry, "rw") ? strdup(entry.mnt_fsname) : NULL;
	}
	if (mounts)
		endmntent(mounts);
	return ours;
}

/* What a writer of the archive, or folder, holds its lock on. */
static int open_lock(const char *archive)
{
	int fd = open(archive, O_RDONLY | O_NONBLOCK | O_CLOEXEC), lock;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISDIR(st.st_mode))
		return fd;
	lock = openat(fd, FILESET_LOCK, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	close(fd);
	return lock;
}

/* The kernel does not wait for the daemon, but who unmounts wants the archive to be free. */
static void wait_for_daemon(const char *archive)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int fd = archive ? open_lock(archive) : -1;

	for (unsigned i = 0; i < UMOUNT_WAIT && fd >= 0 && filelock_held(fd, LOCK_WRITER); i++)
		nanosleep(&pause, NULL);
	if (fd >= 0)
		close(fd);
}

static int let_go(const struct command *self, const char *path)
{
	if (!umount2(path, UMOUNT_NOFOLLOW))
		return 0;
	if (errno != EPERM)
		return cmd_fail_errno(self, path, errno);
	if (!run_fusermount("-u", path))
		return 0;
	fprintf(stderr, "modelfs: %s: %s: not mounted by you, or in use\n", self->name, path);
	return 1;
}

static int unmount(const struct command *self, const char *path)
{
	char *archive;
	int rc = 1;

	if (!is_ours(path, &archive))
		fprintf(stderr, "modelfs: %s: %s: nothing of modelfs is mounted there\n", self->name, path);
	else
		rc = let_go(self, path);
	if (!rc)
		wait_for_daemon(archive);
	free(archive);
	return rc;
}

static int run_umount(const struct command *self, int argc, char **argv)
{
	unsigned given;
	char *real;
	int rc = cmd_options(self, argc, &argv, "", &given, 1, 1);

	if (rc < 0)
		return -1 - rc;
	real = realpath(argv[0], NULL);        /* NULL for the mount point of a daemon that died */
	rc = unmount(self, real ? real : argv[0]);
	free(real);
	return rc;
}

const struct command cmd_umount = {
	"umount", "MOUNTPOINT", "Unmounts. Needs no root rights where you mounted it.", run_umount
};
