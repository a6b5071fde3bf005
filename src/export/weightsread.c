/* meshes/N.weights.yaml: a list with an item for each vertex, each a list of [bone, weight] pairs. What a weight may be
 * is for the format to say. */
#include <errno.h>
#include <string.h>

#include "decimal.h"
#include "export.h"
#include "ytree.h"

#define BONE_MOST 65535

static int refuse(const struct ynode *at, struct err *e, const char *what)
{
	if (at->kind != Y_SCALAR)
		return err_line(e, EINVAL, at->line, at->column, "%s, found a %s", what,
				at->kind == Y_LIST ? "list" : "mapping");
	return err_line(e, EINVAL, at->line, at->column, "%s, found \"%.40s\"", what, at->text);
}

static int read_bone(const struct ynode *s, int32_t *out, struct err *e)
{
	static const char expected[] = "bone: an integer or null is expected";
	int32_t v = 0;

	*out = -1;
	if (s->kind != Y_SCALAR || s->quoted)
		return refuse(s, e, expected);
	if (ynode_is_null(s))
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		if (s->text[i] < '0' || s->text[i] > '9' || (!i && s->text[0] == '0' && s->n > 1))
			return refuse(s, e, expected);
		v = v <= BONE_MOST ? v * 10 + (s->text[i] - '0') : v;
	}
	if (v > BONE_MOST)
		return err_line(e, EINVAL, s->line, s->column, "bone %.20s is outside 0..%d", s->text, BONE_MOST);
	*out = v;
	return 0;
}

/* Our own texts mean exactly what they say; other programs print a fixed number of decimals. */
static int read_weight(const struct ynode *s, struct geo_number *out, bool *whole, struct err *e)
{
	const uint8_t *p = (const uint8_t *)s->text, *end;
	struct decimal d;

	end = s->kind == Y_SCALAR && !s->quoted ? decimal_read(p, p + s->n, &d) : NULL;
	if (!end || end != p + s->n || !decimal_fits(d.v))
		return refuse(s, e, "weight: a finite number is expected");
	*whole &= s->text[strcspn(s->text, ".eE")] == '\0';
	*out = (struct geo_number){ d.v, d.decimals >= 5 ? decimal_half(d.decimals) : 0 };
	return 0;
}

static int read_pair(const struct ynode *pair, int32_t *joint, struct geo_number *weight, bool *whole,
		     struct err *e)
{
	int rc;

	if (pair->kind != Y_LIST)
		return refuse(pair, e, "a pair [bone, weight] is expected");
	if (pair->count != 2)
		return err_line(e, EINVAL, pair->line, pair->column,
				"a pair [bone, weight] is expected, found %u items", pair->count);
	rc = read_bone(pair->first, joint, e);
	return rc ? rc : read_weight(pair->first->next, weight, whole, e);
}

/* How many pairs there are in all. */
static int count_pairs(const struct ynode *root, size_t *out, struct err *e)
{
	if (root->kind != Y_LIST)
		return refuse(root, e, "a list with an item for each vertex is expected");
	*out = 0;
	for (const struct ynode *v = root->first; v; v = v->next) {
		if (v->kind != Y_LIST)
			return refuse(v, e, "a list of pairs [bone, weight] is expected");
		*out += v->count;
	}
	return 0;
}

int weights_read(const uint8_t *text, size_t n, struct geo_weights *out, struct arena *a, struct err *e)
{
	const struct ynode *v, *pair;
	struct ynode *root;
	size_t npairs = 0, at = 0;
	uint32_t i = 0;
	int rc = yaml_read(text, n, &root, a, e);

	*out = (struct geo_weights){ 0 };
	rc = rc ? rc : count_pairs(root, &npairs, e);
	if (rc)
		return rc;
	out->nvertices = root->count;
	out->npairs = arena_alloc(a, (size_t)root->count + 1, sizeof *out->npairs);
	out->first = arena_alloc(a, (size_t)root->count + 1, sizeof *out->first);
	out->whole = arena_alloc(a, (size_t)root->count + 1, sizeof *out->whole);
	out->line = arena_alloc(a, (size_t)root->count + 1, sizeof *out->line);
	out->joint = arena_alloc(a, npairs + 1, sizeof *out->joint);
	out->weight = arena_alloc(a, npairs + 1, sizeof *out->weight);
	if (!out->npairs || !out->first || !out->whole || !out->line || !out->joint || !out->weight)
		return err_nomem(e);
	for (v = root->first; v; v = v->next, i++) {
		out->npairs[i] = v->count;
		out->first[i] = (uint32_t)at;
		out->whole[i] = true;
		out->line[i] = v->line;
		for (pair = v->first; pair && !rc; pair = pair->next, at++)
			rc = read_pair(pair, &out->joint[at], &out->weight[at], &out->whole[i], e);
		if (rc)
			return rc;
	}
	return 0;
}
