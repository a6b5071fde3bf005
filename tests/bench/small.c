/* small DIR N: makes N files of 4 KiB in a folder, one open, write and close each, and removes them. Prints the seconds
 * that took. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SIZE 4096

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int make(const char *name)
{
	static const char text[SIZE] = { 1 };
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644), bad;

	if (fd < 0)
		return 1;
	bad = write(fd, text, SIZE) != SIZE;
	return bad | !!close(fd);
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[2]) : 0, bad = 0;
	char name[32];
	double from;

	if (n < 1 || chdir(argv[1])) {
		fprintf(stderr, "small: usage, or there is no such folder\n");
		return 2;
	}
	from = now();
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "small-%06d", i);
		bad += make(name);
	}
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "small-%06d", i);
		bad += !!unlink(name);
	}
	if (bad)
		fprintf(stderr, "small: %d calls failed\n", bad);
	else
		printf("%.6f s\n", now() - from);
	return bad != 0;
}
