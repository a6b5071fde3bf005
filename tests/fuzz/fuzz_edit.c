/* A file of the mount with another text saved over it: ours with bytes, numbers and lines changed where the input says.
 * An edit that is accepted leaves a sound object sound, and the same text once more changes nothing; nothing but the
 * entry changes.
 *
 *     0  1  which source, modulo 6: the demo archive, those of models.h, or one of the input
 *     1  1  1: -o grow; 2: also files that are no views; 4: the source is an archive of packed models; 8: a quartet;
 *           16: a PAK; 32: what a search finds in noise; 64: a GLB
 *     2  2  which of its files
 *     4  2  of an archive of the input: its length, then the archive
 *     ..    changes: kind, place (2), length; bytes
 *
 * Of a GLB the numbers behind the text change, which are vertices, bones and keys, and words of its text for others as
 * long as they. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "apply.h"
#include "bytes.h"
#include "databin.h"
#include "export.h"
#include "fuzz.h"
#include "mhpdemo.h"
#include "models.h"

#define NODES_MOST 2000u
#define TEXT_MOST ((size_t)1 << 20)
#define CHANGES_MOST 16u

struct input { const uint8_t *p; size_t n; };

static const uint8_t *take(struct input *in, size_t n)
{
	const uint8_t *p = in->p;

	if (in->n < n)
		return NULL;
	in->p += n;
	in->n -= n;
	return p;
}

static unsigned take16(struct input *in)
{
	const uint8_t *p = take(in, 2);

	return p ? p[0] | p[1] << 8 : 0;
}

/* ---- archives ---- */

/* Views come first; GLB files are apart. */
struct source_tree { struct tree *t; struct node v[NODES_MOST], glb[NODES_MOST]; unsigned n, views, nglb; };

static bool is_view(struct node n)
{
	const struct leaf *l = node_leaf(n);

	return l && (l->kind == LEAF_SECTION_YAML || l->kind == LEAF_DOC || l->kind == LEAF_OBJ ||
		     l->kind == LEAF_WEIGHTS || l->kind == LEAF_PNG || l->kind == LEAF_FILE);
}

static bool is_glb(struct node n)
{
	const struct leaf *l = node_leaf(n);

	return l && l->kind == LEAF_GLB;
}

static int collect(void *ctx, const struct node_entry *e)
{
	struct source_tree *s = ctx;

	if (e->dir)
		return s->n == NODES_MOST ? 1 : node_list(s->t, e->node, 0, true, collect, s);
	if (is_glb(e->node)) {
		if (s->nglb < NODES_MOST && !node_may_write(s->t, e->node, NULL))
			s->glb[s->nglb++] = e->node;
	} else if (s->n < NODES_MOST && !node_may_write(s->t, e->node, NULL)) {
		s->v[s->n++] = e->node;
		if (is_view(e->node)) {
			s->v[s->n - 1] = s->v[s->views];
			s->v[s->views++] = e->node;
		}
	}
	return s->n == NODES_MOST;
}

static bool open_tree(struct source_tree *s, const uint8_t *p, size_t n)
{
	struct tree_options opt = { .cache = 16 << 20, .write = true };

	s->n = s->views = s->nglb = 0;
	if (tree_open(fuzz_file(p, n), &opt, &s->t, NULL))
		return false;
	node_list(s->t, tree_root(s->t), 0, true, collect, s);
	return true;
}

static void demo(struct buf *out)
{
	if (mhpdemo_write(out, NULL))
		abort();
}

enum { PACKED = 5, NAMED, HIDDEN };
static void (*const makers[])(struct buf *out) = {
	demo, models_databin, models_mod3, models_jom, models_tex, [PACKED] = models_arc, [NAMED] = models_pak,
	[HIDDEN] = models_hidden
};

static void write_file(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "wb");

	if (b->bad || !f || fwrite(b->p, 1, b->len, f) != b->len || fclose(f))
		abort();
	buf_free(b);
}

static char quartet_dir[] = "/tmp/modelfs-edit-XXXXXX";
static const char *const quartet_files[] = { "x.mlp", "x.mmp", "x.mgp" };

static void quartet_path(unsigned k, char path[64])
{
	snprintf(path, 64, "%s/%s", quartet_dir, quartet_files[k]);
}

static void remove_quartet(void)
{
	char path[64];

	for (unsigned k = 0; k < ARRAY_LEN(quartet_files); k++) {
		quartet_path(k, path);
		unlink(path);
	}
	rmdir(quartet_dir);
}

/* Its files are looked for by name, so they stay until the end. */
static struct source_tree *quartet(void)
{
	static struct source_tree tree;
	struct tree_options opt = { .cache = 64 << 20, .write = true };
	struct buf part[ARRAY_LEN(quartet_files)];
	char path[64];

	if (tree.t)
		return &tree;
	if (!mkdtemp(quartet_dir) || atexit(remove_quartet))
		abort();
	models_quartet(part);
	for (unsigned k = 0; k < ARRAY_LEN(part); k++) {
		quartet_path(k, path);
		write_file(path, &part[k]);
	}
	quartet_path(0, path);
	if (tree_open(path, &opt, &tree.t, NULL))
		abort();
	node_list(tree.t, tree_root(tree.t), 0, true, collect, &tree);
	if (tree.views != 11)                  /* header, materials, three meshes */
		abort();
	return &tree;
}

/* Opened once; its file is its own. */
static struct source_tree *ours(unsigned which)
{
	static struct source_tree tree[ARRAY_LEN(makers)];
	struct source_tree *s = &tree[which];
	char path[] = "/tmp/modelfs-edit-XXXXXX";
	struct tree_options opt = { .cache = 64 << 20, .write = true, .carve = which == HIDDEN };
	struct buf b = { 0 };
	int fd;

	if (s->t)
		return s;
	makers[which](&b);
	fd = mkstemp(path);
	if (b.bad || fd < 0 || write(fd, b.p, b.len) != (ssize_t)b.len || tree_open(path, &opt, &s->t, NULL))
		abort();
	node_list(s->t, tree_root(s->t), 0, true, collect, s);
	unlink(path);
	close(fd);
	buf_free(&b);
	if (!s->views || (which != 4 && !s->nglb))     /* a picture is no model */
		abort();
	return s;
}

/* ---- texts ---- */

static bool read_node(struct tree *t, struct node n, struct buf *out)
{
	struct handle *h;
	uint64_t size;
	uint8_t *p;
	bool ok;

	if (node_open(t, n, &h, NULL))
		return false;
	size = handle_size(h);
	p = size <= TEXT_MOST ? buf_room(out, (size_t)size + 1) : NULL;
	ok = p && handle_read(h, p, (size_t)size, 0) == (int)size;
	out->len = ok ? (size_t)size : 0;
	handle_put(h);
	return ok;
}

/* Leaves out `n` bytes at `at` and puts others there. */
static void splice(struct buf *b, size_t at, size_t n, const void *with, size_t nwith)
{
	struct buf out = { 0 };

	buf_add(&out, b->p, at);
	buf_add(&out, with, nwith);
	if (b->len > at + n)
		buf_add(&out, b->p + at + n, b->len - at - n);
	if (out.bad)
		abort();
	buf_free(b);
	*b = out;
}

static size_t line_start(const struct buf *b, size_t at)
{
	while (at && b->p[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const struct buf *b, size_t at)
{
	while (at < b->len && b->p[at] != '\n')
		at++;
	return at < b->len ? at + 1 : at;
}

static size_t number_end(const struct buf *b, size_t at)
{
	while (at < b->len && strchr("0123456789+-.eExabcdefnu/", b->p[at]) && b->p[at])
		at++;
	return at;
}

enum change { PUT, REPLACE, DELETE, NUMBER, DROP_LINE, DOUBLE_LINE, MOVE_LINE, LINE, CHANGES };

static void change_line(struct buf *b, size_t at, unsigned kind, const uint8_t *p, size_t n)
{
	size_t start = line_start(b, at), end = line_end(b, at), to;
	uint8_t *copy = malloc(end - start + 1);

	if (!copy)
		abort();
	memcpy(copy, b->p + start, end - start);
	if (kind == LINE) {
		splice(b, start, end - start - (end > start && b->p[end - 1] == '\n'), p, n);
	} else {
		if (kind != DOUBLE_LINE)
			splice(b, start, end - start, "", 0);
		to = n > 1 ? line_start(b, (size_t)(p[0] | p[1] << 8) * b->len >> 16) : start;
		if (kind != DROP_LINE)
			splice(b, to, 0, copy, end - start);
	}
	free(copy);
}

static void change_text(struct buf *b, struct input *in)
{
	for (unsigned i = 0; i < CHANGES_MOST && in->n; i++) {
		unsigned kind = *take(in, 1) % CHANGES * (b->len != 0);        /* nothing can only be added to */
		size_t at = (size_t)take16(in) * b->len >> 16, n, end;
		const uint8_t *p = take(in, 1);

		n = p ? *p : 0;
		n = n < in->n ? n : in->n;
		p = take(in, n);
		end = b->len - at;
		if (kind == NUMBER) {
			while (at < b->len && !strchr("0123456789-", b->p[at]))
				at++;
			splice(b, at, number_end(b, at) - at, p, n);
		} else if (kind >= DROP_LINE) {
			change_line(b, at, kind, p, n);
		} else if (kind == DELETE) {
			splice(b, at, n < end ? n : end, "", 0);
		} else {
			splice(b, at, kind == PUT ? 0 : n < end ? n : end, p, n);
		}
	}
}

/* A picture's pixels change before it is a file. */
static bool make_picture(struct node n, struct buf *out, struct input *in)
{
	struct arena a = { 0 };
	struct geo_image img = { 0 };
	struct cached *hold;
	struct object *o;
	bool ok = false;
	size_t size;

	if (unit_object(n.unit->tree, apply_owner(n, NULL), &hold, &o, NULL))
		return false;
	if (!o->format->model->image(o, node_leaf(n)->index, &img, &a, NULL)) {
		uint8_t *pixels = img.indexed ? img.indexed : img.rgba;

		size = (size_t)img.w * img.h * (img.indexed ? 1 : 4);
		for (unsigned i = 0; i < CHANGES_MOST && in->n > 4 && size; i++) {
			unsigned kind = *take(in, 1);
			size_t at = (size_t)take16(in) * size >> 16, len = *take(in, 1);

			len = len < in->n ? len : in->n;
			for (size_t k = 0; k < len && at + k < size; k++)
				pixels[at + k] = img.indexed ? (uint8_t)(in->p[k] % img.ncolours) : in->p[k];
			for (size_t k = 0; k < len && img.indexed && kind & 1; k++)
				img.palette[k % img.ncolours][k / img.ncolours % 4] = in->p[k];
			take(in, len);
		}
		ok = !png_write(out, &img, NULL) && !out->bad;
	}
	arena_free(&a);
	cached_put(hold);
	return ok;
}

/* A float by a factor or to anything; other bytes to anything. */
static void change_number(uint8_t *p, unsigned kind, const uint8_t *by, size_t n)
{
	float v;

	if (kind & 1 && n) {
		memcpy(&v, p, sizeof v);
		v = v * (1 + (float)(int8_t)by[0] / 64) + (n > 1 ? (float)(int8_t)by[1] / 16 : 0);
		memcpy(p, &v, sizeof v);
	} else {
		memcpy(p, by, n < 4 ? n : 4);
	}
}

static void change_glb(struct buf *b, struct input *in)
{
	size_t text = b->len < 28 ? 0 : 20 + (size_t)le_u32(b->p + 12), rest;

	if (!text || b->len < text + 12)
		return;
	rest = b->len - text - 8;
	for (unsigned i = 0; i < CHANGES_MOST && in->n; i++) {
		unsigned kind = *take(in, 1);
		size_t at = take16(in), n;
		const uint8_t *p = take(in, 1);

		n = p ? *p % 8 : 0;
		n = n < in->n ? n : in->n;
		p = take(in, n);
		if (kind & 8)
			memcpy(b->p + 20 + (at * (text - 28) >> 16), p, n);
		else
			change_number(b->p + text + 8 + ((at * (rest - 3) >> 16) & ~(size_t)3), kind, p, n);
	}
}

static bool make(struct tree *t, struct node n, struct buf *text, struct input *in)
{
	if (is_glb(n)) {
		if (!read_node(t, n, text))
			return false;
		change_glb(text, in);
		return true;
	}
	if (node_leaf(n) && node_leaf(n)->kind == LEAF_PNG)
		return make_picture(n, text, in);
	if (!read_node(t, n, text))
		return false;
	change_text(text, in);
	return true;
}

/* ---- saving ---- */

/* Nothing but the stream, zeros behind it, and its numbers in the table. */
static void expect_packed_inside(const struct plan *plan, const struct unit *root, uint32_t kid)
{
	const struct entry *v = &root->kids[kid].entry;
	uint64_t end = plan->size, row = 8 + 80 * (uint64_t)kid + 0x44;

	for (uint32_t i = 0; i < root->nkids; i++)
		if (root->kids[i].entry.at > v->at && root->kids[i].entry.at < end)
			end = root->kids[i].entry.at;
	for (size_t i = 0; i < plan->n; i++) {
		const struct write *w = &plan->v[i];

		if ((w->at < v->at || w->at + w->len > end) && (w->at < row || w->at + w->len > row + 12))
			abort();
	}
}

/* Nothing outside the entry's slot, that of the geometry behind it, and the table of exact sizes. */
static void expect_inside(struct edit *ed, struct unit *u)
{
	const struct plan *plan = edit_plan(ed, u->file);
	struct unit *root = tree_root(u->tree).unit;
	uint64_t from = 0, end = plan->size, table = 0;
	unsigned slots = u->format->behind ? 2 : 1;

	if (root->format && !strcmp(root->format->name, "databin") && u != root) {
		while (u->parent != root->id)
			u = unit_at(u->tree, u->parent);
		from = root->kids[u->index].entry.at;
		if (u->index + slots < root->nkids)
			end = root->kids[u->index + slots].entry.at;
		table = root->kids[0].entry.at;
	}
	if (root->format && !strcmp(root->format->name, "arc") && u != root) {
		while (u->parent != root->id)
			u = unit_at(u->tree, u->parent);
		expect_packed_inside(plan, root, u->index);
		return;
	}
	for (size_t i = 0; i < plan->n; i++) {
		const struct write *w = &plan->v[i];

		if ((w->at < from || w->at + w->len > end) && w->at + w->len > table)
			abort();
	}
}

/* What is wrong with an object, also across records. */
static bool is_sound(struct object *o)
{
	const struct model_ops *m = o->format->model;

	return o->variant && !o->faults && (!m || (!object_verify(o, NULL) && (!m->check || !m->check(o, NULL))));
}

/* What commit.c checks, but it may refuse what a hook should have; here that is the hook's mistake. */
static void check(struct edit *ed, struct node n, struct store *text)
{
	struct unit *u = apply_owner(n, NULL);
	struct cached *hold;
	struct object *was, *now;
	struct err e = { 0 };
	bool same = true, sound;

	if (unit_object(u->tree, u, &hold, &was, NULL))
		abort();
	sound = is_sound(was) && (is_view(n) || is_glb(n));
	cached_put(hold);
	edit_reopen(ed);
	if (edit_object(ed, u, &now, &e)) {
		if (sound)
			abort();
		return;
	}
	if (!sound || now->faults || (now->format->model->check && now->format->model->check(now, NULL)))
		return;                        /* refused with what it would be damaged by */
	if (object_verify(now, &e))
		abort();
	if (!apply_repeats(n))
		return;
	if (edit_repeat(ed, &e) || apply_node(ed, n, text, &e) || edit_repeated(ed, &same, &e) || !same)
		abort();
}

static void save(struct tree *t, struct node n, const struct buf *text)
{
	_Atomic uint64_t used = 0;
	struct store *store = store_new(NULL, &used);
	struct edit *ed;
	struct err e = { 0 };
	bool empty = true;
	int rc;

	if (!store || store_write(store, text->p, text->len, 0) || edit_begin(t, &ed, &e))
		abort();
	rc = apply_node(ed, n, store, &e);
	rc = rc ? rc : edit_settle(ed, &empty, &e);
	if (rc && (e.code != -rc || strnlen(e.text, sizeof e.text) == sizeof e.text))
		abort();
	if (!rc && !empty) {
		if (!t->grow)
			expect_inside(ed, apply_owner(n, NULL));
		check(ed, n, store);
	}
	edit_end(ed);
	store_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct source_tree theirs;
	struct source_tree *s;
	struct input in = { data + 4, size - 4 };
	struct buf text = { 0 };
	struct node n;
	unsigned most;

	if (size < 6)
		return 0;
	if (data[1] & 8) {
		s = quartet();
	} else if (data[1] & (16 | 32)) {
		s = ours(data[1] & 16 ? NAMED : HIDDEN);
	} else if (data[1] & 4 || data[0] % 6 < PACKED) {
		s = ours(data[1] & 4 ? PACKED : data[0] % 6);
	} else {
		size_t len = take16(&in);

		s = &theirs;
		len = len < in.n ? len : in.n;
		if (!open_tree(s, take(&in, len), len))
			return 0;
	}
	s->t->grow = data[1] & 1;
	most = data[1] & 64 ? s->nglb : data[1] & 2 ? s->n : s->views;
	if (most) {
		n = (data[1] & 64 ? s->glb : s->v)[(data[2] | (unsigned)data[3] << 8) % most];
		if (make(s->t, n, &text, &in))
			save(s->t, n, &text);
	}
	buf_free(&text);
	if (s == &theirs)
		tree_close(s->t);
	return 0;
}
