/* ARC: whatever the bytes, entries lie in the file or are lost, reading one costs what it is said to be, and writing
 * one changes no other. */
#include <string.h>

#include "build.h"
#include "fuzz.h"
#include "growing.h"

extern const struct format fmt_arc;

#define LONGEST (1u << 20)                     /* of entries that are read */

/* The entry's bytes, from malloc(); NULL: they cannot be had. */
static uint8_t *contents(struct object *o, const struct entry *v)
{
	struct source *src = entry_source(o->src, &fmt_arc, v);
	uint8_t *p = v->size <= LONGEST ? malloc((size_t)v->size + 1) : NULL;
	struct pin pin;
	int rc;

	if (!src || src->size != v->size)
		abort();
	rc = v->lost ? -EBADMSG : p ? src_pin(src, &pin, NULL) : -EFBIG;
	if (!rc) {
		rc = src_pread(src, p, (size_t)v->size, 0);
		src_unpin(&pin);
	}
	src_put(src);
	if (rc) {
		free(p);
		p = NULL;
	}
	return p;
}

static void use(struct object *o, const struct entries *v)
{
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	struct err why;
	int rc;

	for (uint32_t i = 0; i < v->n; i++) {
		if (!v->v[i].lost && !span_ok(o->src->size, v->v[i].at, entry_stored(&v->v[i]), 1))
			abort();
		if (!v->name[i])
			abort();
		free(contents(o, &v->v[i]));
	}
	rc = fmt_arc.container->verify(o, v, &why);
	if (fmt_arc.container->info(o, v, &quiet, &why) || (rc && rc != -EBADMSG && rc != -EFBIG))
		abort();
}

/* ---- writing ---- */

static bool shares(const struct entries *v, uint32_t i, uint32_t k)
{
	const struct entry *a = &v->v[i], *b = &v->v[k];

	return a->at < b->at + entry_stored(b) && b->at < a->at + entry_stored(a);
}

static void check_others(struct object *was, struct object *now, uint32_t but)
{
	struct entries a, b;

	if (fmt_arc.container->list(was, &a, NULL) || fmt_arc.container->list(now, &b, NULL) || a.n != b.n)
		abort();
	for (uint32_t i = 0; i < a.n; i++) {
		uint8_t *x = i == but ? NULL : contents(was, &a.v[i]), *y = x ? contents(now, &b.v[i]) : NULL;

		if (x && (!y || a.v[i].size != b.v[i].size || memcmp(x, y, (size_t)a.v[i].size)))
			abort();
		free(x);
		free(y);
	}
}

/* Entry i becomes n bytes. */
static void write_entry(struct source *src, struct object *was, uint32_t i, const uint8_t *p, size_t n)
{
	struct growing g = { .around = { .resize = growing_resize, .grow = true } };
	struct source *now = src_memory(p, n);
	struct object *o, *again;
	struct entries v;
	uint8_t *got;
	int rc;

	plan_init(&g.plan, src);
	o = growing_open(&g, &fmt_arc, &g.around, &v);
	if (!now)
		abort();
	rc = fmt_arc.container->put(o, &v, i, now, NULL);
	if (!rc) {
		again = growing_open(&g, &fmt_arc, NULL, &v);
		got = contents(again, &v.v[i]);
		if (!got || v.v[i].size != n || (n && memcmp(got, p, n)))
			abort();
		free(got);
		check_others(was, again, i);
		object_close(again);
	} else if (rc != -ENOSPC && rc != -EFBIG) {
		abort();
	}
	object_close(o);
	src_put(now);
	plan_free(&g.plan);
}

/* Entries that lie in the table itself are lost; those that share bytes are not written. The layout of a big-endian
 * archive follows from its streams, so another one may be seen after one has changed. */
static void write_some(struct source *src, struct object *o, const struct entries *v, const uint8_t *data, size_t size)
{
	uint32_t i = v->n ? data[size - 1] % v->n : 0;

	if (!v->n || v->n > 64 || !data[0])
		return;
	for (uint32_t k = 0; k < v->n; k++)
		if (v->v[k].size > LONGEST || (k != i && shares(v, i, k)))
			return;
	write_entry(src, o, i, data, size < 300 ? size : 300);
	write_entry(src, o, i, data, size % 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source *src = src_memory(data, size);
	struct entries entries;
	struct object *o;
	struct err why;

	if (!src)
		return 0;
	build_probe(&fmt_arc, src, "", NULL, 0, &why);
	if (object_open(&fmt_arc, src, NULL, &o, &why))
		abort();
	if (!fmt_arc.container->list(o, &entries, &why)) {
		use(o, &entries);
		write_some(src, o, &entries, data, size);
	}
	object_close(o);
	src_put(src);
	return 0;
}
