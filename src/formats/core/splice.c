#include "splice.h"

uint64_t splice_moved(const struct splice *v, unsigned n, uint64_t at)
{
	uint64_t to = at;

	for (unsigned i = 0; i < n && v[i].at + v[i].was <= at; i++)
		to += v[i].now - v[i].was;
	return to;
}

/* The run of bytes that stays between splice i - 1 and splice i (n: the end). */
struct run { uint64_t from, to, size; };

static struct run run_of(const struct splice *v, unsigned n, unsigned i, uint64_t end)
{
	struct run r = { .from = i ? v[i - 1].at + v[i - 1].was : 0 };

	r.size = (i < n ? v[i].at : end) - r.from;
	r.to = r.from;
	for (unsigned k = 0; k < i; k++)
		r.to += v[k].now - v[k].was;
	return r;
}

/* New places are in the order of the old ones, so a run that moves down never comes onto one that has yet to move up.
 */
static int move_runs(struct object *o, unsigned part, const struct splice *v, unsigned n, uint64_t end, struct err *e)
{
	struct source *src = object_part(o, part);
	int rc = 0;

	for (unsigned i = 0; i <= n && !rc; i++) {
		struct run r = run_of(v, n, i, end);

		if (r.to < r.from)
			rc = src_move(src, r.from, r.to, r.size, "bytes that move", e);
	}
	for (unsigned i = n + 1; i-- > 0 && !rc;) {
		struct run r = run_of(v, n, i, end);

		if (r.to > r.from)
			rc = src_move(src, r.from, r.to, r.size, "bytes that move", e);
	}
	return rc;
}

int object_splice(struct object *o, unsigned part, const struct splice *v, unsigned n, struct err *e)
{
	uint64_t was = object_part(o, part)->size, now = splice_moved(v, n, was), to = 0;
	int rc = now > was ? object_resize(o, part, now, e) : 0;

	rc = rc ? rc : move_runs(o, part, v, n, was, e);
	for (unsigned i = 0; i < n && !rc; i++) {
		to = splice_moved(v, i, v[i].at);
		if (v[i].now)
			rc = src_write(object_part(o, part), v[i].bytes, (size_t)v[i].now, to, "new bytes", e);
	}
	return rc || now >= was ? rc : object_resize(o, part, now, e);
}
