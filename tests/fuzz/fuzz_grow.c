/* Entries of PAC and DATA.BIN get other lengths, one after the other: whatever the bytes, what is listed afterwards is
 * what was there before, but for the entry that was asked for.
 *
 *     0  1  1: -o grow; 2: encrypted; 4: the archive is the input; 8: a PAC and no DATA.BIN
 *     1  1  entries
 *     ..    of each: length (2), flags; or of an archive of the input: its length (2), and the archive
 *     ..    number of words changed; of each: which, value (4)
 *     ..    steps: which container, which entry, length (2), factor of the length */
#include <string.h>

#include "build_mhp.h"
#include "bytes.h"
#include "edit.h"
#include "fuzz.h"

enum { GROW = 1, ENCRYPTED = 2, GIVEN = 4, ALONE = 8 };
enum { EXACT = 1, PLAIN = 2, NESTED = 4, SLACK = 8 };

#define ENTRIES_MOST 24u
#define UNITS_MOST 8u
#define STEPS_MOST 12u
#define WORDS_MOST 8u

struct input { const uint8_t *p; size_t n; };

static unsigned take8(struct input *in)
{
	unsigned v = in->n ? *in->p : 0;

	in->p += in->n != 0;
	in->n -= in->n != 0;
	return v;
}

static unsigned take16(struct input *in)
{
	unsigned low = take8(in);

	return low | take8(in) << 8;
}

/* ---- the archive ---- */

static void nested_pac(struct buf *out, unsigned n, struct input *in)
{
	struct build_bytes v[4] = { { 0 } };
	struct buf b[4] = { { 0 } };

	for (unsigned i = 0; i < 4; i++) {
		build_noise(&b[i], i < n % 5 ? take8(in) : 0, i);
		v[i] = (struct build_bytes){ b[i].p, b[i].len };
	}
	build_pac(out, v, 4, n % 3 ? 16 : 4);
	for (unsigned i = 0; i < 4; i++)
		buf_free(&b[i]);
}

static void build(struct buf *out, unsigned flags, unsigned n, struct input *in)
{
	struct build_file files[ENTRIES_MOST] = { { 0 } };
	struct build_bytes entries[ENTRIES_MOST] = { { 0 } };
	struct buf b[ENTRIES_MOST] = { { 0 } };

	for (unsigned i = 0; i < n; i++) {
		unsigned len = take16(in) % 6000, how = take8(in);

		if (how & NESTED)
			nested_pac(&b[i], len, in);
		else
			build_noise(&b[i], len, i);
		files[i] = (struct build_file){ b[i].p, b[i].len, how & EXACT, how & PLAIN, how & EXACT ? 0 : how / SLACK % 3 };
		entries[i] = (struct build_bytes){ b[i].p, b[i].len };
	}
	if (flags & ALONE)
		build_pac(out, entries, n, n % 2 ? 16 : 8);
	else
		build_databin(out, files, n, flags & ENCRYPTED);
	for (unsigned i = 0; i < n; i++)
		buf_free(&b[i]);
}

static void change_words(struct buf *b, bool coded, struct input *in)
{
	for (unsigned n = take8(in) % WORDS_MOST; n; n--) {
		unsigned i = take8(in);
		uint32_t value = take16(in);

		value |= (uint32_t)take16(in) << 16;
		if (b->len >= 4 * ((size_t)i + 1))
			build_set_word(b, coded, i, value);
	}
}

/* ---- contents ---- */

/* Containers of a tree, and the bytes of their entries. */
struct shown { bool there; uint32_t n; struct buf *v; };
struct units { struct tree *t; struct unit *v[UNITS_MOST]; unsigned n; };

static int collect(void *ctx, const struct node_entry *e)
{
	struct units *s = ctx;

	if (!e->dir || e->node.local || !e->node.unit->format->container || unit_fill(s->t, e->node.unit, NULL))
		return 0;
	s->v[s->n++] = e->node.unit;
	return s->n == UNITS_MOST ? 1 : node_list(s->t, e->node, 0, true, collect, s);
}

static void forget(struct shown *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		buf_free(&c->v[i]);
	free(c->v);
}

static void read_entry(struct object *o, const struct entry *entry, struct buf *out)
{
	struct source *src = entry_source(o->src, o->format, entry);
	uint8_t *p = src ? buf_room(out, (size_t)src->size + 1) : NULL;

	if (!p || src_pread(src, p, (size_t)src->size, 0))
		abort();
	out->len = (size_t)src->size;
	src_put(src);
}

static struct shown show(struct edit *ed, struct unit *u)
{
	struct shown c = { 0 };
	struct entries entries;
	struct object *o;

	if (edit_object(ed, u, &o, NULL) || o->format->container->list(o, &entries, NULL))
		return c;
	if (o->format->container->verify(o, &entries, NULL) && o->src->size % BUILD_BLOCK == 0)
		abort();
	c.there = true;
	c.n = entries.n;
	c.v = calloc(c.n + (size_t)1, sizeof *c.v);
	for (uint32_t i = 0; i < c.n && c.v; i++) {
		if (c.n == u->nkids)
			entries.v[i].coded = u->kids[i].entry.coded;
		read_entry(o, &entries.v[i], &c.v[i]);
	}
	if (!c.v)
		abort();
	return c;
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && !memcmp(a->p, b->p, a->len);
}

/* Whether unit u lies in entry i of unit w, at any depth. */
static bool lies_in(const struct unit *u, const struct unit *w, uint32_t i)
{
	while (u->parent != u->id) {
		if (u->parent == w->id && u->index == i)
			return true;
		u = unit_at(u->tree, u->parent);
	}
	return false;
}

/* ---- steps ---- */

/* `size` bytes as they were, then zeros. */
static void expect_kept(const struct buf *now, const struct buf *was, uint64_t size, bool exact)
{
	size_t keep = was->len < size ? was->len : (size_t)size;

	if (now->len < size || (exact && now->len != size) || (keep && memcmp(now->p, was->p, keep)))
		abort();
	for (size_t i = keep; i < now->len; i++)
		if (now->p[i])
			abort();
}

/* Everything is listed as before, but for entry i of unit u. */
static void expect_rest(struct edit *ed, const struct units *s, const struct shown *before, const struct unit *u,
			uint32_t i)
{
	for (unsigned k = 0; k < s->n; k++) {
		struct shown now;

		if (s->v[k] == u || !before[k].there || lies_in(s->v[k], u, i))
			continue;
		now = show(ed, s->v[k]);
		if (!now.there || now.n != before[k].n)
			abort();
		for (uint32_t j = 0; j < now.n; j++)
			if (!lies_in(u, s->v[k], j) && !same(&now.v[j], &before[k].v[j]))
				abort();
		forget(&now);
	}
}

static void expect(struct edit *ed, const struct units *s, const struct shown *before, unsigned k, uint32_t i,
		   uint64_t size)
{
	struct unit *u = s->v[k];
	struct shown now = show(ed, u);

	if (!now.there || now.n != before[k].n)
		abort();
	for (uint32_t j = 0; j < now.n; j++)
		if (j != i && !same(&now.v[j], &before[k].v[j]))
			abort();
	expect_kept(&now.v[i], &before[k].v[i], size, !u->format->container->padded);
	forget(&now);
	expect_rest(ed, s, before, u, i);
}

/* False: it was refused, so that the edit is over. */
static bool step(struct edit *ed, const struct units *s, struct input *in)
{
	struct shown before[UNITS_MOST];
	unsigned k = take8(in) % s->n, kid = take8(in);
	uint64_t size = take16(in), factor = take8(in);
	struct source *src;
	struct err e = { 0 };
	bool empty, done = false;

	size = s->t->grow ? size * (factor % 8) / 4 : factor > 250 ? size << 40 : size * factor;
	for (unsigned j = 0; j < s->n; j++)
		before[j] = show(ed, s->v[j]);
	if (before[k].n) {
		kid %= before[k].n;
		edit_reopen(ed);
		done = !edit_resize_kid(ed, s->v[k], kid, size, &src, &e);
		if (!done && (!e.code || strnlen(e.text, sizeof e.text) == sizeof e.text))
			abort();
	}
	if (done) {
		if (src->size < size || edit_settle(ed, &empty, NULL))
			abort();
		edit_reopen(ed);
		expect(ed, s, before, k, kid, size);
	}
	for (unsigned j = 0; j < s->n; j++)
		forget(&before[j]);
	return done;
}

static void resize(struct tree *t, struct input *in)
{
	struct units s = { .t = t };
	struct edit *ed;

	s.v[s.n++] = tree_root(t).unit;
	if (!s.v[0]->format->container || unit_fill(t, s.v[0], NULL))
		return;
	node_list(t, tree_root(t), 0, true, collect, &s);
	if (edit_begin(t, &ed, NULL))
		abort();
	for (unsigned i = 0; i < STEPS_MOST && in->n && step(ed, &s, in); i++)
		;
	edit_end(ed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	unsigned flags = take8(&in), n = take8(&in) % ENTRIES_MOST + 1;
	struct tree_options opt = { .cache = 1 << 20, .grow = flags & GROW };
	struct tree *t;
	struct buf b = { 0 };

	if (flags & GIVEN) {
		n = take16(&in);
		n = n < in.n ? n : (unsigned)in.n;
		buf_add(&b, in.p, n);
		in.p += n;
		in.n -= n;
	} else {
		build(&b, flags, n, &in);
	}
	change_words(&b, flags & ENCRYPTED && !(flags & ALONE), &in);
	if (!b.bad && b.len && !tree_open(fuzz_file(b.p, b.len), &opt, &t, NULL)) {
		resize(t, &in);
		tree_close(t);
	}
	buf_free(&b);
	return 0;
}
