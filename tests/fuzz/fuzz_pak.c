/* PAK: whatever the bytes, entries lie in the file or are lost, and one of another length changes no other. */
#include <errno.h>
#include <string.h>

#include "build.h"
#include "fuzz.h"
#include "growing.h"

extern const struct format fmt_pak;

/* The entry's bytes, from malloc(); NULL: it is lost. */
static uint8_t *contents(struct object *o, const struct entry *v)
{
	struct source *src = entry_source(o->src, &fmt_pak, v);
	uint8_t *p = malloc((size_t)v->size + 1);

	if (!src || !p || src->size != v->size)
		abort();
	if (v->lost) {
		free(p);
		p = NULL;
	} else if (src_pread(src, p, (size_t)v->size, 0)) {
		abort();
	}
	src_put(src);
	return p;
}

static bool overlap(const struct entry *a, const struct entry *b)
{
	return a->size && b->size && a->at < b->at + b->size && b->at < a->at + a->size;
}

static void use(struct object *o, const struct entries *v)
{
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	struct err why;

	for (uint32_t i = 0; i < v->n; i++) {
		const struct entry *entry = &v->v[i];

		if (!v->name[i] || (!entry->lost && !span_ok(o->src->size, entry->at, entry->size, 1)))
			abort();
		for (uint32_t k = 0; k < i && v->n < 300; k++)
			if (overlap(entry, &v->v[k]) && !(entry->shared && v->v[k].shared))
				abort();
		free(contents(o, entry));
	}
	if (fmt_pak.container->verify(o, v, &why) || fmt_pak.container->info(o, v, &quiet, &why))
		abort();
}

/* ---- writing ---- */

/* What has bytes of the directory changes with it. */
static bool has_table(const struct object *o, const struct entry *v)
{
	struct span table = object_section(o, 1);

	return v->at < table.at + table.size && table.at < v->at + v->size;
}

static void check(struct object *was, struct object *now, uint32_t i, uint64_t size)
{
	struct entries a, b;

	if (fmt_pak.container->list(was, &a, NULL) || fmt_pak.container->list(now, &b, NULL) || a.n != b.n)
		abort();
	if (b.v[i].size != size || b.v[i].lost)
		abort();
	for (uint32_t k = 0; k < a.n; k++) {
		uint8_t *x = contents(was, &a.v[k]), *y = contents(now, &b.v[k]);
		uint64_t n = a.v[k].size < b.v[k].size ? a.v[k].size : b.v[k].size;

		/* What was lost may be one in a longer archive. */
		if (x && !has_table(was, &a.v[k]) &&
		    (!y || (k != i && a.v[k].size != b.v[k].size) || memcmp(x, y, (size_t)n)))
			abort();
		for (uint64_t at = n; k == i && at < size; at++)
			if (y[at])
				abort();
		free(x);
		free(y);
	}
}

static void change(struct source *src, struct object *was, uint32_t i, uint64_t size, bool grow)
{
	struct growing g = { .around = { .resize = growing_resize, .grow = grow } };
	struct object *o, *again;
	struct entries v, now;
	int rc;

	plan_init(&g.plan, src);
	o = growing_open(&g, &fmt_pak, &g.around, &v);
	rc = fmt_pak.container->resize(o, &v, i, size, NULL);
	if (rc && rc != -ENOSPC && rc != -EFBIG && (rc != -EPERM || !v.v[i].shared))
		abort();
	if (!rc && !v.v[i].lost) {
		again = growing_open(&g, &fmt_pak, NULL, &now);
		check(was, again, i, size);
		object_close(again);
	}
	object_close(o);
	plan_free(&g.plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source *src = src_memory(data, size);
	struct entries v;
	struct object *o;
	struct err why;

	if (!src)
		return 0;
	build_probe(&fmt_pak, src, "", NULL, 0, &why);
	if (object_open(&fmt_pak, src, NULL, &o, &why))
		abort();
	if (!fmt_pak.container->list(o, &v, &why)) {
		use(o, &v);
		if (v.n && v.n < 64) {
			change(src, o, data[size - 1] % v.n, data[size - 2], false);
			change(src, o, data[size - 1] % v.n, data[size - 2] * 8u, true);
		}
	}
	object_close(o);
	src_put(src);
	return 0;
}
