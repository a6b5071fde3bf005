#include "filelock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTE ((off_t)1 << 62)

static struct flock range(enum filelock which, short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = FIRST_BYTE + which, .l_len = 1 };
}

static int take(int fd, enum filelock which, bool exclusive, bool wait)
{
	struct flock l = range(which, exclusive ? F_WRLCK : F_RDLCK);
	int rc;

	do
		rc = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &l);
	while (rc && errno == EINTR);
	return !rc ? 0 : errno == EACCES ? -EAGAIN : -errno;
}

/* The kernel gives a shared lock to whoever asks while another waits for the exclusive one. So all go through a lock
 * that everybody has only briefly: a writer that waits keeps it, and nobody comes in after it. */
int filelock_take(int fd, enum filelock which, bool exclusive, bool wait)
{
	int rc;

	if (which != LOCK_BYTES)
		return take(fd, which, exclusive, wait);
	rc = take(fd, LOCK_TURN, exclusive, wait);
	if (!rc) {
		rc = take(fd, LOCK_BYTES, exclusive, wait);
		filelock_drop(fd, LOCK_TURN);
	}
	return rc;
}

bool filelock_unknown(int rc)
{
	return rc == -ENOLCK || rc == -EINVAL || rc == -EOPNOTSUPP || rc == -ENOSYS;
}

void filelock_drop(int fd, enum filelock which)
{
	struct flock l = range(which, F_UNLCK);

	fcntl(fd, F_OFD_SETLK, &l);
}

static bool hinders(int fd, enum filelock which, short type)
{
	struct flock l = range(which, type);

	return !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
}

bool filelock_held(int fd, enum filelock which)
{
	return hinders(fd, which, F_RDLCK);
}

bool filelock_shared(int fd, enum filelock which)
{
	return hinders(fd, which, F_WRLCK);
}

/* ---- who holds it ----
 *
 * A mount asks this while it saves, and may lie where paths lead to: nothing here looks at a file that it would have to
 * answer for. */

/* The kernel names no process for such a lock, but each process shows the locks of its descriptors. */
static bool holds(const char *pid, const char *fd)
{
	char path[600], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%s/fdinfo/%s", pid, fd);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f))
		found = !strncmp(line, "lock:", 5) && strstr(line, "OFDLCK") && strstr(line, "WRITE");
	if (f)
		fclose(f);
	return found;
}

static bool has_file(const char *pid, const struct stat *want)
{
	char path[600];
	struct dirent *d;
	struct stat st;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (d = readdir(dir))) {
		snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, d->d_name);
		found = holds(pid, d->d_name) && !stat(path, &st) && st.st_dev == want->st_dev &&
			st.st_ino == want->st_ino;
	}
	if (dir)
		closedir(dir);
	return found;
}

static long holder(const struct stat *want)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	long pid = 0;

	while (proc && !pid && (d = readdir(proc)))
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && has_file(d->d_name, want))
			pid = strtol(d->d_name, NULL, 10);
	if (proc)
		closedir(proc);
	return pid;
}

/* A field of mountinfo, in place: blanks, tabs, newlines and backslashes are there as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = 0;
}

/* Where a line of mountinfo says that a modelfs of path is mounted, or NULL; changes the line. */
static char *mounted(char *line, const char *path)
{
	char *source = strstr(line, " - fuse.modelfs "), *where = line;

	if (!source)
		return NULL;
	source += strlen(" - fuse.modelfs ");
	source[strcspn(source, " \n")] = 0;
	unescape(source);
	for (unsigned i = 0; i < 4 && where; i++) {
		where = strchr(where, ' ');
		where = where ? where + 1 : NULL;
	}
	if (strcmp(source, path) || !where)
		return NULL;
	where[strcspn(where, " ")] = 0;
	unescape(where);
	return where;
}

void filelock_holder(const char *path, const struct stat *st, struct buf *out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	long pid = holder(st);
	char *line = NULL, *where = NULL;
	size_t room = 0;

	while (f && !where && getline(&line, &room, f) > 0)
		where = mounted(line, path);
	if (where)
		buf_printf(out, "is mounted writable at %s", where);
	else
		buf_str(out, pid ? "is open for writing" : "is open for writing in another program");
	if (pid)
		buf_printf(out, " by process %ld", pid);
	free(line);
	if (f)
		fclose(f);
}
