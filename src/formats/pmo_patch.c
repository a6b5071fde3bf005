/* Where the vertices of a mesh are stored, and what an edit wants their bytes to be. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pmo.h"

/* ---- vertices ---- */

int pmo_runs(const struct pmo *p, const struct pmo_mesh *mesh, struct pmo_run *run, struct pmo_window *win,
	     uint32_t *nvertices, struct err *e)
{
	uint32_t first = 0, uv = 0, normal = 0;

	for (uint32_t k = 0; k < mesh->group_count; k++) {
		struct pmo_run *r = &run[k];
		int rc;

		r->group = (uint32_t)mesh->first_group + k;
		rc = pmo_group_scan(p, r->group, 0, NULL, win, &r->scan, e);
		if (rc)
			return rc;
		r->first = first;
		r->uv = uv;
		r->normal = normal;
		first += r->scan.vertices;
		uv += r->scan.vertex.uv.format ? r->scan.vertices : 0;
		normal += r->scan.vertex.normal.format ? r->scan.vertices : 0;
	}
	*nvertices = first;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

int pmo_runs_overlap(const struct pmo *p, const struct pmo_run *run, uint32_t n, struct err *e)
{
	struct span *v = calloc((size_t)n + 1, sizeof *v);
	uint64_t end = 0;
	int overlap = 0;

	if (!v)
		return err_nomem(e);
	for (uint32_t k = 0; k < n; k++)
		v[k] = (struct span){ p->group[run[k].group].vertex_buffer,
				      (uint64_t)run[k].scan.vertices * run[k].scan.vertex.stride, 0 };
	qsort(v, n, sizeof *v, by_start);
	for (uint32_t k = 0; k < n && !overlap; k++) {
		overlap = v[k].size && v[k].at < end;
		end = v[k].at + v[k].size > end ? v[k].at + v[k].size : end;
	}
	free(v);
	return overlap;
}

bool pmo_spans_meet(struct span *v, uint32_t n)
{
	uint64_t end[2] = { 0 };

	qsort(v, n, sizeof *v, by_start);
	for (uint32_t k = 0; k < n; k++) {
		uint64_t *mine = &end[v[k].part];

		if (v[k].size && v[k].at < end[!v[k].part])
			return true;
		if (v[k].size && v[k].at + v[k].size > *mine)
			*mine = v[k].at + v[k].size;
	}
	return false;
}

/* ---- components ---- */

void pmo_range(const struct ge_field *f, double *least, double *most)
{
	double unit = f->format == 1 ? 128 : 32768, lowest = f->is_signed ? -unit : 0;

	*least = f->format == 3 ? -HUGE_VAL : lowest / unit;
	*most = f->format == 3 ? HUGE_VAL : (lowest + 2 * unit - 1) / unit;
}

bool pmo_fits(const struct ge_field *f, double value)
{
	double unit = f->format == 1 ? 128 : 32768, least, most;

	if (f->format == 3)
		return isfinite((float)value);
	pmo_range(f, &least, &most);
	value = nearbyint(value * unit) / unit;
	return value >= least && value <= most;
}

/* ---- wishes ---- */

struct wish {
	uint64_t at;
	unsigned line;
	uint8_t byte;
	bool weak;
};

void pmo_wish(struct pmo_wishes *w, uint64_t at, const uint8_t *was, const uint8_t *want, size_t n, unsigned line,
	      bool weak)
{
	for (size_t i = 0; i < n; i++) {
		struct wish one = { at + i, line, want[i], weak };

		if (w->shared || was[i] != want[i])
			buf_add(&w->v, &one, sizeof one);
	}
}

/* Strong ones first, then in the order of the text. */
static int by_place(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->weak != y->weak)
		return x->weak ? 1 : -1;
	return (x->line > y->line) - (x->line < y->line);
}

/* All wishes for one byte, the first of which is granted. How many they are; 0: they contradict each other. */
static size_t agree(const struct wish *w, size_t n, struct err *e)
{
	size_t k = 1;

	for (; k < n && w[k].at == w->at; k++)
		if (w[k].weak == w->weak && w[k].byte != w->byte) {
			err_line(e, EINVAL, w[k].line, 0,
				 "this vertex and that of line %u are stored once, at offset 0x%llx of the geometry: "
				 "both need the same values",
				 w->line, (unsigned long long)w->at);
			return 0;
		}
	return k;
}

static int write_run(struct object *o, uint64_t at, const uint8_t *bytes, size_t n, struct err *e)
{
	const struct pmo *p = o->priv;

	return n ? object_patch(o, p->behind, p->region.at + at, bytes, n, "geometry region", e) : 0;
}

int pmo_grant(struct object *o, struct pmo_wishes *w, struct err *e)
{
	struct wish *v = (struct wish *)(void *)w->v.p;
	size_t n = w->v.len / sizeof *v, k, have = 0;
	uint8_t bytes[4096];
	uint64_t at = 0;
	int rc = w->v.bad ? err_nomem(e) : 0;

	if (rc || !n)
		return rc;
	qsort(v, n, sizeof *v, by_place);
	for (size_t i = 0; i < n; i += k) {
		k = agree(v + i, n - i, e);
		if (!k)
			return -EINVAL;
		if (have == sizeof bytes || at + have != v[i].at) {
			rc = write_run(o, at, bytes, have, e);
			if (rc)
				return rc;
			at = v[i].at;
			have = 0;
		}
		bytes[have++] = v[i].byte;
	}
	return write_run(o, at, bytes, have, e);
}
