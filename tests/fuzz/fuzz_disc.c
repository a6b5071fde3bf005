/* Disc images that are damaged where the input says: whatever they hold, all of it can be asked for, and after a file
 * was saved the tree that is open shows what one shows that is opened then.
 *
 *     0  1  kind: plain sectors, raw ones, CSO, or the rest of the input as it is
 *     1  1  1: a file is saved; 2: -o grow
 *     2  2  which of the files that can be written; how many bytes it becomes, in eighths of a sector
 *     ..    changes of 4 bytes: place (3), value; a place past the image is one in its descriptors and folder */
#include <stdio.h>
#include <string.h>

#include "build_disc.h"
#include "build_jom.h"
#include "draft.h"
#include "fuzz.h"
#include "unit.h"

#define NODES_MOST 400u
#define FOLDER_END 21u                         /* sectors before the first file */

static void make(unsigned kind, struct buf *out)
{
	static const char text[] = "a text on a disc\n";
	struct buf jom = { 0 }, noise = { 0 }, disc = { 0 };
	struct disc_file files[3] = { { "A.TXT", text, sizeof text - 1, 2 } };

	build_jom_smallest(&jom);
	build_noise(&noise, 5000, 3);
	files[1] = (struct disc_file){ "MODEL.JOM", jom.p, jom.len, 1 };
	files[2] = (struct disc_file){ "NOISE.BIN", noise.p, noise.len, 3 };
	build_disc(&disc, files, 3);
	if (kind == 1)
		build_raw(out, &disc);
	else if (kind == 2)
		build_cso(out, &disc, DISC_SECTOR, 64);
	else
		buf_add(out, disc.p, disc.len);
	buf_free(&jom);
	buf_free(&noise);
	buf_free(&disc);
}

static void damage(struct buf *b, unsigned kind, const uint8_t *p, size_t n)
{
	size_t from = kind == 2 ? 0 : 16 * (kind ? DISC_RAW : DISC_SECTOR);
	size_t head = kind == 2 ? 24 + 4 * FOLDER_END : FOLDER_END * (kind ? DISC_RAW : DISC_SECTOR);

	for (; n >= 4; p += 4, n -= 4) {
		size_t at = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16;

		b->p[at < b->len ? at : from + at % (head - from)] = p[3];
	}
}

/* ---- what is shown ---- */

struct view {
	struct tree *t;
	struct node writable[NODES_MOST];
	unsigned n, nwritable;
	uint64_t sum;                          /* of paths, sizes and contents */
	uint8_t room[65536];
};

static void add(struct view *s, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->sum = (s->sum ^ ((const uint8_t *)p)[i]) * 0x100000001b3;
}

static void read_file(struct view *s, struct node n)
{
	struct node_attr a;
	struct handle *h;
	uint64_t at = 0;
	int got;

	node_attr(s->t, n, true, &a);
	add(s, &a.size, sizeof a.size);
	if (node_open(s->t, n, &h, NULL))
		return;
	while ((got = handle_read(h, s->room, sizeof s->room, at)) > 0 && at < 1 << 20) {
		add(s, s->room, (size_t)got);
		at += (uint64_t)got;
	}
	handle_put(h);
}

static int visit(void *ctx, const struct node_entry *e)
{
	struct view *s = ctx;

	if (s->n++ > NODES_MOST)
		return 1;
	add(s, e->name, strlen(e->name));
	if (e->dir)
		return node_list(s->t, e->node, 0, true, visit, s);
	if (strcmp(e->name, "preview.png"))    /* is drawn for long */
		read_file(s, e->node);
	if (!node_may_write(s->t, e->node, NULL) && s->nwritable < NODES_MOST)
		s->writable[s->nwritable++] = e->node;
	return 0;
}

static bool look(struct view *s)
{
	s->n = s->nwritable = 0;
	s->sum = 0xcbf29ce484222325;
	tree_enter(s->t);
	node_list(s->t, tree_root(s->t), 0, true, visit, s);
	tree_leave(s->t);
	return s->n <= NODES_MOST;
}

static bool save(struct view *s, unsigned which, unsigned eighths)
{
	struct store *text = store_new(NULL, &s->t->stored);
	struct node n = s->writable[which % s->nwritable];
	struct err e = { 0 };
	int rc;

	memset(s->room, 'x', sizeof s->room);
	if (!text || store_write(text, s->room, (size_t)eighths * DISC_SECTOR / 8, 0))
		abort();
	rc = tree_save(s->t, &n, text, NULL, &e);
	if (rc && (e.code != -rc || !*e.text))
		abort();
	store_free(text);
	return !rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct view now, then;
	struct tree_options opt = { .cache = 1 << 20, .noundo = true };
	struct buf b = { 0 };
	const char *path;
	unsigned kind;

	if (size < 4)
		return 0;
	kind = data[0] % 4;
	opt.write = data[1] & 1;
	opt.grow = data[1] & 2;
	if (kind == 3) {
		buf_add(&b, data + 4, size - 4);
	} else {
		make(kind, &b);
		damage(&b, kind, data + 4, size - 4);
	}
	path = fuzz_file(b.p, b.len);
	buf_free(&b);
	if (tree_open(path, &opt, &now.t, NULL))
		return 0;
	now.t->silent = true;
	if (look(&now) && now.nwritable && save(&now, data[2], data[3])) {
		bool all = look(&now);

		opt.write = false;
		if (tree_open(path, &opt, &then.t, NULL))
			abort();
		look(&then);
		tree_close(then.t);
		if (all && then.sum != now.sum)
			abort();
	}
	tree_close(now.t);
	return 0;
}
