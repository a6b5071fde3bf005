/* Runs of bytes in a source: patched, cleared, moved, looked through. All go piece by piece. */
#include "source.h"

#define PIECE 4096u
#define MOVED 65536u                           /* bytes moved at once */

int src_patch(struct source *src, const void *buf, size_t n, uint64_t at, const char *what, struct err *e)
{
	const uint8_t *p = buf;
	uint8_t old[PIECE];
	size_t piece, i, run;
	int rc = src_inside(src, at, n, what, e);

	for (; n && !rc; n -= piece, p += piece, at += piece) {
		piece = n < sizeof old ? n : sizeof old;
		rc = src_read(src, old, piece, at, what, e);
		for (i = 0; i < piece && !rc; i += run) {
			bool same = old[i] == p[i];

			for (run = 1; i + run < piece && (old[i + run] == p[i + run]) == same; run++)
				;
			rc = same ? 0 : src_write(src, p + i, run, at + i, what, e);
		}
	}
	return rc;
}

int src_clear(struct source *src, uint64_t at, uint64_t n, const char *what, struct err *e)
{
	static const uint8_t zeros[PIECE];
	int rc = src_inside(src, at, n, what, e);
	size_t piece;

	for (; n && !rc; n -= piece, at += piece) {
		piece = n < sizeof zeros ? (size_t)n : sizeof zeros;
		rc = src_write(src, zeros, piece, at, what, e);
	}
	return rc;
}

/* From the side to which they move. */
int src_move(struct source *src, uint64_t from, uint64_t to, uint64_t n, const char *what, struct err *e)
{
	uint8_t room[MOVED];
	uint64_t piece;
	int rc = 0;

	for (uint64_t done = 0; done < n && to != from && !rc; done += piece) {
		uint64_t left = n - done, at;

		piece = left < sizeof room ? left : sizeof room;
		at = to > from ? left - piece : done;
		rc = src_read(src, room, (size_t)piece, from + at, what, e);
		rc = rc ? rc : src_write(src, room, (size_t)piece, to + at, what, e);
	}
	return rc;
}

int src_count_zeros(struct source *src, uint64_t at, uint64_t n, uint64_t *zeros, const char *what, struct err *e)
{
	uint8_t room[PIECE];
	size_t piece, i;

	for (*zeros = 0; *zeros < n; *zeros += piece) {
		int rc;

		piece = n - *zeros < sizeof room ? (size_t)(n - *zeros) : sizeof room;
		rc = src_read(src, room, piece, at + *zeros, what, e);
		if (rc)
			return rc;
		for (i = 0; i < piece && !room[i]; i++)
			;
		if (i < piece) {
			*zeros += i;
			break;
		}
	}
	return 0;
}
