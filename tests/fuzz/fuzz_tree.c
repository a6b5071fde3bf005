/* Any file as SOURCE: recognise it, list everything, make every text, read every file. */
#include "fuzz.h"
#include "tree.h"

#define NODES_MOST 3000u                       /* a wide archive is many times the same */

struct walk { struct tree *t; unsigned n; uint8_t room[65536]; };

static void read_file(struct walk *w, struct node n)
{
	struct node_attr a;
	struct handle *h;
	uint64_t at = 0;
	int got;

	node_attr(w->t, n, true, &a);
	if (node_open(w->t, n, &h, NULL))
		return;
	while ((got = handle_read(h, w->room, sizeof w->room, at)) > 0)
		at += (uint64_t)got;
	if (a.size != handle_size(h) || (got == 0 && at != handle_size(h)))
		abort();
	handle_put(h);
}

static int visit(void *ctx, const struct node_entry *e)
{
	struct walk *w = ctx;

	if (w->n++ > NODES_MOST)
		return 1;
	if (e->dir)
		return node_list(w->t, e->node, 0, true, visit, w);
	read_file(w, e->node);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct walk w;
	struct tree_options opt = { .cache = 1 << 20 };

	w.n = 0;
	if (!tree_open(fuzz_file(data, size), &opt, &w.t, NULL)) {
		node_list(w.t, tree_root(w.t), 0, true, visit, &w);
		tree_close(w.t);
	}
	return 0;
}
