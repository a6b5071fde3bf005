/* Bones of a MOD3 that are moved or hung on others (spec/mod3.md 4).
 *
 * The position of a bone is stored twice, in its record and as the translation of its local matrix; whichever a text
 * changes sets the other. The inverse bind matrix is A[i] = A[parent] x inverse(L[i]): it follows for the bone and all
 * that hang on it. Vertices do not move. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "matrix.h"
#include "mod3_write.h"
#include "num.h"

enum { B_PARENT = 0x02, B_LENGTH = 0x08, B_POSITION = 0x0c };
#define L_TRANSLATION 48u                      /* in a matrix */

typedef double matrix[16];

/* A bone as a text wants it. */
struct wanted {
	const struct ynode *position, *local, *parent;         /* NULL: the text does not change it */
	bool changed;                          /* its place relative to the model */
	bool tied;                             /* its inverse is that of its place, whatever is stored */
};

enum state { UNSEEN, CLEAN, DIRTY };

struct edit {
	struct object *o;
	const struct mod3 *m;
	uint32_t n;
	const uint8_t *bones, *locals, *inverses;      /* as stored */
	uint8_t *bone, *local, *inverse;       /* as they become */
	struct wanted *wanted;
	uint8_t *state;                        /* of each bone's inverse matrix */
	matrix *was, *now;                     /* that of a DIRTY one, from the old and from the new bones */
	uint32_t *path;
	struct arena a;
};

/* ---- matrices ---- */

static void load(const uint8_t *raw, matrix out)
{
	for (unsigned k = 0; k < 16; k++)
		out[k] = le_f32(raw + 4 * k);
}

static void multiply(const matrix a, const matrix b, matrix out)
{
	for (unsigned r = 0; r < 4; r++)
		for (unsigned c = 0; c < 4; c++)
			out[4 * r + c] = a[4 * r] * b[c] + a[4 * r + 1] * b[4 + c] + a[4 * r + 2] * b[8 + c] +
					 a[4 * r + 3] * b[12 + c];
}

static void swap_rows(double *a, double *b)
{
	for (unsigned k = 0; k < 8; k++) {
		double v = a[k];

		a[k] = b[k];
		b[k] = v;
	}
}

/* False: it has none. */
static bool invert(const matrix m, matrix out)
{
	double v[4][8] = { { 0 } };

	for (unsigned r = 0; r < 4; r++) {
		memcpy(v[r], m + 4 * r, 4 * sizeof *m);
		v[r][4 + r] = 1;
	}
	for (unsigned i = 0; i < 4; i++) {
		unsigned p = i;

		for (unsigned r = i + 1; r < 4; r++)
			p = fabs(v[r][i]) > fabs(v[p][i]) ? r : p;
		if (!(fabs(v[p][i]) > 0) || !isfinite(v[p][i]))
			return false;
		swap_rows(v[i], v[p]);
		for (unsigned k = 8; k-- > i;)
			v[i][k] /= v[i][i];
		for (unsigned r = 0; r < 4; r++) {
			double by = v[r][i];

			for (unsigned k = 0; k < 8 && r != i; k++)
				v[r][k] -= by * v[i][k];
		}
	}
	for (unsigned r = 0; r < 4; r++)
		memcpy(out + 4 * r, v[r] + 4, 4 * sizeof *out);
	return true;
}

/* ---- what the text says ---- */

static int parse(const struct record *r, const char *key, const struct ynode *value, uint8_t *raw, struct err *e)
{
	struct field f;

	rec_field(r, key, &f);
	f.at = 0;
	return ynode_parse(value, &f, false, raw, e);
}

/* One component of a position, stored twice. Once the text has been applied, what it says of the other one is out of
 * date. */
static int settle(struct edit *x, uint32_t i, unsigned k, const uint8_t position[12], const uint8_t local[64],
		  struct err *e)
{
	uint8_t *p = x->bone + (size_t)i * MOD3_BONE_SIZE + B_POSITION + 4 * k;
	uint8_t *l = x->local + (size_t)i * MOD3_MATRIX_SIZE + L_TRANSLATION + 4 * k;
	const uint8_t *to_p = position + 4 * k, *to_l = local + L_TRANSLATION + 4 * k;
	bool other_p = memcmp(p, to_p, 4), other_l = memcmp(l, to_l, 4);
	const struct ynode *at = x->wanted[i].local;

	if (object_again(x->o) && !(other_p && other_l))
		return 0;
	if (other_p && other_l && memcmp(to_p, to_l, 4))
		return err_line(e, EINVAL, at->line, at->column,
				"bone %u: %c of its position is %s, and %s in local_matrix; they are one value", i,
				'x' + k, num_text(le_f32(to_p)).s, num_text(le_f32(to_l)).s);
	if (!other_p && !other_l)
		return 0;
	memcpy(p, other_p ? to_p : to_l, 4);
	memcpy(l, other_p ? to_p : to_l, 4);
	return 0;
}

static int take_place(struct edit *x, uint32_t i, struct err *e)
{
	const struct wanted *w = &x->wanted[i];
	uint8_t position[12], local[MOD3_MATRIX_SIZE], *raw = x->local + (size_t)i * MOD3_MATRIX_SIZE;
	int rc = 0;

	memcpy(position, x->bone + (size_t)i * MOD3_BONE_SIZE + B_POSITION, sizeof position);
	memcpy(local, raw, sizeof local);
	if (w->position)
		rc = parse(&mod3_bone_record, "position", w->position, position, e);
	if (!rc && w->local)
		rc = parse(&mod3_local_record, "local_matrix", w->local, local, e);
	for (unsigned k = 0; k < 3 && !rc; k++)
		rc = settle(x, i, k, position, local, e);
	memcpy(raw, local, L_TRANSLATION);
	memcpy(raw + L_TRANSLATION + 12, local + L_TRANSLATION + 12, 4);
	return rc;
}

static int take_parent(struct edit *x, uint32_t i, struct err *e)
{
	const struct ynode *value = x->wanted[i].parent;
	uint8_t *raw = x->bone + (size_t)i * MOD3_BONE_SIZE + B_PARENT;
	int rc = parse(&mod3_bone_record, "parent", value, raw, e);

	if (!rc && *raw != MOD3_NO_BONE && *raw >= x->n)
		return err_line(e, EINVAL, value->line, value->column, "bone %u: parent %u, the model has %u bones", i,
				*raw, x->n);
	return rc;
}

/* The bone that bone i hangs on; n: none. */
static uint32_t parent_of(const struct edit *x, const uint8_t *bones, uint32_t i)
{
	uint8_t parent = bones[(size_t)i * MOD3_BONE_SIZE + B_PARENT];

	return parent < x->n && parent != MOD3_NO_BONE ? parent : x->n;
}

static int check_cycle(const struct edit *x, uint32_t i, struct err *e)
{
	const struct ynode *value = x->wanted[i].parent;
	uint32_t up = parent_of(x, x->bone, i);

	for (uint32_t steps = 0; up < x->n && steps <= x->n; steps++, up = parent_of(x, x->bone, up))
		if (up == i)
			return err_line(e, EINVAL, value->line, value->column,
					"bone %u: parent %u hangs on bone %u itself", i, parent_of(x, x->bone, i), i);
	return 0;
}

static int take_changes(struct edit *x, struct doc_change *change, unsigned n, struct err *e)
{
	int rc = 0;

	for (unsigned k = 0; k < n; k++) {
		struct doc_change *c = &change[k];
		struct wanted *w;

		if (c->kind != CHANGE_TEXT || c->depth != 1 || c->item[0] >= x->n)
			continue;
		w = &x->wanted[c->item[0]];
		if (!strcmp(c->key, "position"))
			w->position = c->value;
		else if (!strcmp(c->key, "local_matrix"))
			w->local = c->value;
		else if (!strcmp(c->key, "parent"))
			w->parent = c->value;
		else
			continue;
		c->taken = true;
	}
	for (uint32_t i = 0; i < x->n && !rc; i++) {
		if (x->wanted[i].position || x->wanted[i].local)
			rc = take_place(x, i, e);
		if (!rc && x->wanted[i].parent)
			rc = take_parent(x, i, e);
	}
	for (uint32_t i = 0; i < x->n && !rc; i++)
		if (x->wanted[i].parent)
			rc = check_cycle(x, i, e);
	return rc;
}

/* ---- what follows ---- */

static double length_of(const uint8_t *position)
{
	double v[3] = { le_f32(position), le_f32(position + 4), le_f32(position + 8) };

	return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static bool differs(const uint8_t *a, const uint8_t *b, uint32_t i, size_t each)
{
	return memcmp(a + i * each, b + i * each, each);
}

static void follow_length(struct edit *x, uint32_t i)
{
	const uint8_t *was = x->bones + (size_t)i * MOD3_BONE_SIZE;
	uint8_t *now = x->bone + (size_t)i * MOD3_BONE_SIZE;
	float old = (float)length_of(was + B_POSITION), new = (float)length_of(now + B_POSITION);

	if (old != new && isfinite(new))
		put_le32(now + B_LENGTH, f32_bits(new));
	x->wanted[i].changed = differs(x->locals, x->local, i, MOD3_MATRIX_SIZE) || was[B_PARENT] != now[B_PARENT];
}

/* inverse(world) of bone i from those of its parent. false: the local matrix has no inverse. */
static bool chain(const struct edit *x, uint32_t parent, bool old, const uint8_t *local, matrix out)
{
	matrix l, inverse, up;

	load(local, l);
	if (!invert(l, inverse))
		return false;
	if (parent == x->n) {
		memcpy(out, inverse, sizeof(matrix));
		return true;
	}
	if (x->state[parent] == DIRTY)
		memcpy(up, old ? x->was[parent] : x->now[parent], sizeof up);
	else
		load(x->inverses + (size_t)parent * MOD3_MATRIX_SIZE, up);
	multiply(up, inverse, out);
	return true;
}

static int follow_inverse(struct edit *x, uint32_t i, struct err *e)
{
	const uint8_t *was = x->locals + (size_t)i * MOD3_MATRIX_SIZE, *now = x->local + (size_t)i * MOD3_MATRIX_SIZE;
	uint8_t *raw = x->inverse + (size_t)i * MOD3_MATRIX_SIZE;
	uint32_t old_parent = parent_of(x, x->bones, i), parent = parent_of(x, x->bone, i);
	bool known = chain(x, old_parent, true, was, x->was[i]);

	if (!chain(x, parent, false, now, x->now[i]))
		return err_set(e, EINVAL, "local_matrix of bone %u has no inverse", i);
	for (unsigned k = 0; k < 16; k++) {
		float to = (float)(x->now[i][k] + 0.0);

		if (known && !x->wanted[i].tied && (float)x->was[i][k] == to)
			continue;              /* the stored number is as good as it was */
		if (!isfinite(to))
			return err_set(e, EINVAL, "the inverse matrix of bone %u would not be finite", i);
		put_le32(raw + 4 * k, f32_bits(to));
	}
	return 0;
}

/* From bone i up to one that is known, and down again. */
static int visit(struct edit *x, uint32_t i, struct err *e)
{
	uint32_t n = 0;
	int rc = 0;

	for (uint32_t up = i; up < x->n && x->state[up] == UNSEEN && n < x->n; up = parent_of(x, x->bone, up)) {
		x->path[n++] = up;
		x->state[up] = CLEAN;          /* for now: damaged files go round in circles */
	}
	while (n-- > 0 && !rc) {
		uint32_t at = x->path[n], up = parent_of(x, x->bone, at);

		if (!x->wanted[at].changed && (up == x->n || x->state[up] != DIRTY))
			continue;
		rc = follow_inverse(x, at, e);
		x->state[at] = DIRTY;
	}
	return rc;
}

/* The old chain of a bone that changed its parent may lead through others that follow: those come first. */
static int visit_old(struct edit *x, uint32_t i, struct err *e)
{
	uint32_t up = parent_of(x, x->bones, i);

	return x->wanted[i].changed && up < x->n && up != parent_of(x, x->bone, i) ? visit(x, up, e) : 0;
}

static int follow(struct edit *x, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->n; i++)
		follow_length(x, i);
	for (uint32_t i = 0; i < x->n && !rc; i++)
		rc = visit_old(x, i, e);
	for (uint32_t i = 0; i < x->n && !rc; i++)
		rc = visit(x, i, e);
	return rc;
}

/* ---- writing ---- */

static int write_bones(struct edit *x, struct err *e)
{
	const struct mod3_table *t = x->m->table;
	struct mod3_moves moves = { .a = &x->a };
	struct mod3_scene was, now;
	int rc = object_patch(x->o, 0, t[MOD3_BONES].at, x->bone, t[MOD3_BONES].size, "bones", e);

	rc = rc ? rc : object_patch(x->o, 0, t[MOD3_LOCAL].at, x->local, t[MOD3_LOCAL].size, "local matrices", e);
	rc = rc ? rc : object_patch(x->o, 0, t[MOD3_INVERSE].at, x->inverse, t[MOD3_INVERSE].size,
				    "inverse matrices", e);
	if (rc || !memcmp(x->inverse, x->inverses, t[MOD3_INVERSE].size))
		return rc;
	rc = mod3_scene(x->o, &was, &x->a, e);
	if (rc)
		return rc;
	now = was;
	was.inverse = x->inverses;
	now.inverse = x->inverse;
	rc = mod3_follow(x->o, &was, &now, &moves, e);
	return rc ? rc : mod3_moves_do(x->o, &moves, e);
}

/* ---- all of it ---- */

/* A table as it is stored, and a copy that can be changed. */
static int read_table(struct edit *x, unsigned section, const uint8_t **was, uint8_t **now, struct err *e)
{
	const struct mod3_table *t = &x->m->table[section];
	int rc = object_read(x->o, &x->a, t->at, t->size, "bones", was, e);

	if (rc)
		return rc;
	*now = arena_alloc(&x->a, t->size, 1);
	if (!*now)
		return err_nomem(e);
	memcpy(*now, *was, t->size);
	return 0;
}

static int prepare(struct edit *x, struct err *e)
{
	int rc = read_table(x, MOD3_BONES, &x->bones, &x->bone, e);

	rc = rc ? rc : read_table(x, MOD3_LOCAL, &x->locals, &x->local, e);
	rc = rc ? rc : read_table(x, MOD3_INVERSE, &x->inverses, &x->inverse, e);
	x->wanted = arena_alloc(&x->a, x->n, sizeof *x->wanted);
	x->state = arena_alloc(&x->a, x->n, 1);
	x->was = arena_alloc(&x->a, x->n, sizeof *x->was);
	x->now = arena_alloc(&x->a, x->n, sizeof *x->now);
	x->path = arena_alloc(&x->a, x->n, sizeof *x->path);
	if (!rc && (!x->wanted || !x->state || !x->was || !x->now || !x->path))
		rc = err_nomem(e);
	return rc;
}

static int put_bones(struct edit *x, struct doc_change *change, unsigned n, struct err *e)
{
	int rc = prepare(x, e);

	rc = rc ? rc : take_changes(x, change, n, e);
	rc = rc ? rc : follow(x, e);
	return rc ? rc : write_bones(x, e);
}

int mod3_bones_put(struct object *o, struct doc_change *change, unsigned n, struct err *e)
{
	const struct mod3 *m = o->priv;
	struct edit x = { .o = o, .m = m, .n = m->table[MOD3_BONES].n };
	int rc = x.n ? put_bones(&x, change, n, e) : 0;

	arena_free(&x.a);
	return rc;
}

/* ---- places at rest ---- */

/* Rows for row vectors lie as columns for column vectors do. */
static void turn_and_scale(const struct geo_joint *j, uint8_t *raw)
{
	double m[9];

	matrix_turn(j->turn, m);
	for (unsigned k = 0; k < 9; k++)
		put_le32(raw + k / 3 * 16 + k % 3 * 4, f32_bits((float)(m[k] * j->scale[k / 3])));
}

/* Numbers that the bone is shown with leave what is stored: a 0 in the place of what is not finite. */
static void move(struct edit *x, uint32_t i, const float to[3])
{
	uint8_t *p = x->bone + (size_t)i * MOD3_BONE_SIZE + B_POSITION;
	uint8_t *l = x->local + (size_t)i * MOD3_MATRIX_SIZE + L_TRANSLATION;

	for (unsigned k = 0; k < 3; k++, p += 4, l += 4) {
		if (geo_shown(le_f32(l)) == to[k])
			continue;
		put_le32(l, f32_bits(to[k]));
		put_le32(p, f32_bits(to[k]));
	}
}

static int put_rest(struct edit *x, const struct geo_skeleton *now, const uint8_t *change, struct err *e)
{
	int rc = prepare(x, e);

	for (uint32_t i = 0; i < x->n && i < now->n && !rc; i++) {
		if (change[i] & (GEO_TURNED | GEO_SCALED))
			turn_and_scale(&now->joint[i], x->local + (size_t)i * MOD3_MATRIX_SIZE);
		if (change[i] & GEO_MOVED)
			move(x, i, now->joint[i].move);
		x->wanted[i].tied = change[i] & GEO_TIED;
	}
	rc = rc ? rc : follow(x, e);
	return rc ? rc : write_bones(x, e);
}

int mod3_skeleton_put(struct object *o, const struct geo_skeleton *now, const uint8_t *change, struct err *e)
{
	const struct mod3 *m = o->priv;
	struct edit x = { .o = o, .m = m, .n = m->table[MOD3_BONES].n };
	int rc = x.n ? put_rest(&x, now, change, e) : 0;

	arena_free(&x.a);
	return rc;
}
