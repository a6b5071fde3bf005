/* Reads that neither a shell nor fsbench makes. Prints the seconds they took.
 *
 *	preads at FILE <OFFSETS      16 bytes at every offset, one a line
 *	preads tail FILE N           the last 4 KiB N times, forgetting the kernel's copy in between (not timed) */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD 16
#define TAIL 4096

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static off_t *read_offsets(size_t *n)
{
	off_t *v = NULL, *more;
	long long at;

	for (*n = 0; scanf("%lld", &at) == 1; v[(*n)++] = at) {
		if (*n & (*n - 1))
			continue;
		more = realloc(v, (*n ? *n * 2 : 1) * sizeof *v);
		if (!more) {
			free(v);
			return NULL;
		}
		v = more;
	}
	return v;
}

static int read_at(int fd, double *took)
{
	size_t n, bad = 0;
	off_t *at = read_offsets(&n);
	char room[HEAD];

	if (!at)
		return 1;
	*took = now();
	for (size_t i = 0; i < n; i++)
		bad += pread(fd, room, HEAD, at[i]) != HEAD;
	*took = now() - *took;
	free(at);
	return bad != 0;
}

static int read_tail(int fd, int n, double *took)
{
	char room[TAIL];
	struct stat st;
	int bad = 0;

	if (fstat(fd, &st) || st.st_size < TAIL)
		return 1;
	*took = 0;
	for (int i = 0; i < n; i++) {
		double from = now();

		bad += pread(fd, room, TAIL, st.st_size - TAIL) != TAIL;
		*took += now() - from;
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	return bad != 0;
}

int main(int argc, char **argv)
{
	double took = 0;
	int rc, fd = argc > 2 ? open(argv[2], O_RDONLY) : -1;

	if (argc == 3 && fd >= 0 && !strcmp(argv[1], "at"))
		rc = read_at(fd, &took);
	else if (argc == 4 && fd >= 0 && !strcmp(argv[1], "tail"))
		rc = read_tail(fd, atoi(argv[3]), &took);
	else
		rc = 2;
	if (rc)
		fprintf(stderr, "preads: %s\n", rc == 2 ? "usage, or the file cannot be opened" : "short reads");
	else
		printf("%.6f s\n", took);
	return rc;
}
