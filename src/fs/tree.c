/* Opening a source, and the nodes of its tree. */
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "unit.h"

#define YEAR_1980 315532800

/* ---- opening ---- */

struct source *tree_beside(const struct tree *t, const char *ext)
{
	const char *dot = strrchr(t->name, '.');
	size_t stem = (size_t)(t->name - t->path) + (dot ? (size_t)(dot - t->name) : strlen(t->name));
	char *path = malloc(stem + strlen(ext) + 2);
	struct source *src = NULL;

	if (path) {
		sprintf(path, "%.*s.%s", (int)stem, t->path, ext);
		if (strcmp(path, t->path))
			src_file(path, &src, NULL);
		free(path);
	}
	return src;
}

/* Why no format took the file: what the one says whose extension it has, else the first that says anything. */
static void why_unknown(struct probe *p, struct err *e)
{
	struct err why, first = { 0 };
	const char *dot = strrchr(p->name, '.');

	p->why = &why;
	for (const struct format *const *f = formats; *f; f++) {
		why = (struct err){ 0 };
		if (!(*f)->probe || (*f)->probe(p) || !why.code)
			continue;
		if (dot && (*f)->ext && !strcasecmp(dot + 1, (*f)->ext)) {
			first = why;
			break;
		}
		if (!first.code)
			first = why;
	}
	err_set(e, EINVAL, "no format modelfs knows%s%s", first.code ? ": " : "", first.text);
}

static const struct format *recognise(struct source *src, const char *name, struct err *e)
{
	uint8_t room[PROBE_MOST];
	struct err why = { 0 };
	struct probe p = { .name = name, .size = src->size, .src = src, .room = room };
	const struct format *f = format_detect(&p, &why);

	if (why.code)
		err_set(e, why.code, "%s", why.text);
	else if (!format_opens(f))
		why_unknown(&p, e);
	return format_opens(f) ? f : NULL;
}

/* A lone model finds its companions beside it: the same name with the extension of what they are. */
static int find_companions(struct tree *t, struct unit *root, struct err *e)
{
	int rc = 0;

	for (const struct format *const *f = formats; *f && !rc; f++) {
		struct source *src;
		struct unit *mate;

		if ((*f)->role <= ROLE_MODEL || root->mate[(*f)->role])
			continue;
		src = tree_beside(t, (*f)->ext);
		if (src && recognise(src, t->name, NULL) == *f) {
			rc = unit_new(t, *f, src, 0, 0, hash_name(root->hash, (*f)->ext), &mate, e);
			if (!rc)
				root->mate[(*f)->role] = mate->id;
		}
		src_put(src);
	}
	return rc;
}

static int open_root(struct tree *t, const struct tree_options *opt, struct err *e)
{
	struct stat st;
	struct unit *root;
	const struct format *f;
	int rc = src_file(t->path, &t->src, e);

	if (rc)
		return rc;
	if (fstat(src_file_fd(t->src), &st))
		return err_set(e, errno, "%s", strerror(errno));
	t->mtime = st.st_mtim.tv_sec < YEAR_1980 ? (struct timespec){ YEAR_1980, 0 } : st.st_mtim;
	if (opt->names) {
		rc = names_read(opt->names, &t->names, e);
		if (rc)
			return rc;
	}
	f = recognise(t->src, t->name, e);
	if (!f)
		return -EINVAL;
	rc = unit_new(t, f, t->src, 0, 0, hash_name(0, ""), &root, e);
	if (!rc && f->role == ROLE_MODEL)
		rc = find_companions(t, root, e);
	return rc;
}

int tree_open(const char *path, const struct tree_options *opt, struct tree **out, struct err *e)
{
	struct tree *t = calloc(1, sizeof *t);
	const char *slash;
	int rc;

	if (!t)
		return err_nomem(e);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->filled, NULL);
	t->slow = opt->slow;
	t->path = realpath(path, NULL);
	t->cache = t->path ? cache_new(opt->cache, opt->slow) : NULL;
	if (!t->cache) {
		rc = t->path ? err_nomem(e) : err_set(e, errno, "%s", strerror(errno));
		tree_close(t);
		return rc;
	}
	slash = strrchr(t->path, '/');
	t->name = slash ? slash + 1 : t->path;
	rc = open_root(t, opt, e);
	if (rc) {
		tree_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

static void free_unit(struct unit *u)
{
	while (u->notes) {
		struct note *next = u->notes->next;

		free(u->notes);
		u->notes = next;
	}
	src_put(u->src);
	unit_empty(u);
}

void tree_close(struct tree *t)
{
	uint32_t n = atomic_load(&t->nunits);

	handle_close_all(t);
	cache_free(t->cache);
	for (uint32_t i = 0; i < n; i++)
		free_unit(unit_at(t, i));
	for (uint32_t i = 0; i * UNIT_CHUNK < n; i++)
		free(t->chunk[i]);
	src_put(t->src);
	names_free(t->names);
	free(t->path);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->filled);
	free(t);
}

const char *tree_path(const struct tree *t)
{
	return t->path;
}

struct source *tree_source(const struct tree *t)
{
	return t->src;
}

struct tree_counts tree_count(const struct tree *t)
{
	return (struct tree_counts){ .rendered = atomic_load(&t->rendered), .units = atomic_load(&t->nunits) };
}

void tree_watch(struct tree *t, void (*fn)(void *ctx, uint64_t id), void *ctx)
{
	t->changed = fn;
	t->changed_ctx = ctx;
}

/* ---- nodes ---- */

void tree_warm(struct tree *t)
{
	unit_fill(t, unit_at(t, 0), NULL);
}

struct node tree_root(struct tree *t)
{
	return (struct node){ unit_at(t, 0), 0 };
}

/* Unit 0 is the root, whose number has to be 1; the number 0 means "no node" to the kernel. */
uint64_t node_id(struct node n)
{
	return !n.unit->id && !n.local ? 1 : (uint64_t)(n.unit->id + 1) << 32 | n.local;
}

bool node_from_id(struct tree *t, uint64_t id, struct node *out)
{
	uint32_t unit = (uint32_t)(id >> 32);

	if (id == 1) {
		*out = tree_root(t);
		return true;
	}
	if (!unit || unit > atomic_load_explicit(&t->nunits, memory_order_acquire))
		return false;
	*out = (struct node){ unit_at(t, unit - 1), (uint32_t)id };
	if (!out->local)
		return true;
	return atomic_load_explicit(&out->unit->state, memory_order_acquire) == UNIT_READY &&
	       out->local <= (uint64_t)out->unit->nkids + out->unit->nleaves;
}

static uint32_t leaf_local(const struct unit *u, uint32_t leaf)
{
	return u->nkids + 1 + leaf;
}

bool node_is_dir(struct node n)
{
	const struct kid *kid = node_kid(n);
	const struct leaf *l = node_leaf(n);

	return kid ? kid->format != NULL : l ? l->kind == LEAF_DIR : true;
}

/* ---- directories ---- */

static struct range leaves_of(struct node dir)
{
	const struct leaf *l = node_leaf(dir);

	return leaf_range(dir.unit, l ? l->index : 0, l ? l->arg : LEAF_TOP);
}

/* A healthy unit has no errors.txt. */
static bool hidden(struct tree *t, const struct unit *u, const struct leaf *l)
{
	bool none;

	if (l->kind != LEAF_ERRORS)
		return false;
	pthread_mutex_lock(&t->lock);
	none = !u->notes;
	pthread_mutex_unlock(&t->lock);
	return none;
}

static uint64_t dir_hash(const struct unit *u, unsigned which)
{
	return which == LEAF_TOP ? u->hash : hash_name(u->hash, leaf_dir_names[which]);
}

static int kid_node(struct tree *t, struct unit *u, uint32_t i, struct node *out)
{
	*out = (struct node){ u, i + 1 };
	if (!u->kids[i].format)
		return 0;
	out->local = 0;
	return unit_of_kid(t, u, i, &out->unit, NULL);
}

/* The first run of digits in a name: kids and leaves are found by it. */
static bool name_number(const char *name, uint32_t *out)
{
	uint64_t v = 0;

	name += strcspn(name, "0123456789");
	if (!*name)
		return false;
	for (; *name >= '0' && *name <= '9' && v <= UINT32_MAX; name++)
		v = v * 10 + (uint64_t)(*name - '0');
	*out = (uint32_t)v;
	return v <= UINT32_MAX;
}

static bool leaf_is(struct tree *t, const struct unit *u, uint32_t i, const char *name)
{
	char have[NODE_NAME_MAX];

	leaf_name(u, &u->leaves[i], have);
	return !strcmp(have, name) && !hidden(t, u, &u->leaves[i]);
}

/* The leaf of that name; u->nleaves when there is none. */
static uint32_t find_leaf(struct tree *t, const struct unit *u, struct range r, const char *name)
{
	struct range run = leaf_numbered(u, r);
	uint32_t number, i;

	for (i = r.first; i < run.first; i++)
		if (leaf_is(t, u, i, name))
			return i;
	for (i = run.end; i < r.end; i++)
		if (leaf_is(t, u, i, name))
			return i;
	if (!name_number(name, &number))
		return u->nleaves;
	for (i = leaf_by_number(u, run, number); i < run.end && u->leaves[i].index == number; i++)
		if (leaf_is(t, u, i, name))
			return i;
	return u->nleaves;
}

int node_lookup(struct tree *t, struct node dir, const char *name, struct node *out)
{
	struct unit *u = dir.unit;
	char have[NODE_NAME_MAX];
	uint32_t number, i;
	int rc = node_is_dir(dir) ? unit_fill(t, u, NULL) : -ENOTDIR;

	if (rc)
		return rc;
	if (!dir.local && name_number(name, &number) && number < u->nkids) {
		kid_name(t, u, number, have);
		if (!strcmp(have, name))
			return kid_node(t, u, number, out);
	}
	if (!dir.local && !strcmp(name, ERRORS_NAME))
		unit_check(t, u);
	i = find_leaf(t, u, leaves_of(dir), name);
	if (i == u->nleaves)
		return -ENOENT;
	*out = (struct node){ u, leaf_local(u, i) };
	return 0;
}

int node_list(struct tree *t, struct node dir, uint64_t from, bool nodes,
	      int (*fn)(void *ctx, const struct node_entry *), void *ctx)
{
	struct unit *u = dir.unit;
	char name[NODE_NAME_MAX];
	struct node_entry entry = { .name = name };
	uint64_t hash, nkids;
	struct range r;
	int rc = node_is_dir(dir) ? unit_fill(t, u, NULL) : -ENOTDIR;

	if (rc)
		return rc;
	hash = dir_hash(u, dir.local ? node_leaf(dir)->arg : LEAF_TOP);
	nkids = dir.local ? 0 : u->nkids;
	for (; from < nkids && !rc; from++) {
		kid_name(t, u, (uint32_t)from, name);
		entry.dir = u->kids[from].format != NULL;
		entry.ino = hash_name(hash, name);
		entry.next = from + 1;
		rc = nodes ? kid_node(t, u, (uint32_t)from, &entry.node) : 0;
		rc = rc ? rc : fn(ctx, &entry);
	}
	r = leaves_of(dir);
	for (; !rc && from - nkids < r.end - r.first; from++) {
		uint32_t i = r.first + (uint32_t)(from - nkids);

		if (hidden(t, u, &u->leaves[i]))
			continue;
		leaf_name(u, &u->leaves[i], name);
		entry.dir = u->leaves[i].kind == LEAF_DIR;
		entry.ino = hash_name(hash, name);
		entry.next = from + 1;
		entry.node = (struct node){ nodes ? u : NULL, leaf_local(u, i) };
		rc = fn(ctx, &entry);
	}
	return rc;
}

bool node_may_appear(const char *name)
{
	return !strcmp(name, ERRORS_NAME);
}

int node_resolve(struct tree *t, const char *path, struct node *out)
{
	char name[NODE_NAME_MAX];

	*out = tree_root(t);
	for (;;) {
		size_t n;
		int rc;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (!n)
			return 0;
		if (n >= sizeof name)
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = 0;
		path += n;
		if (n == 1 && *name == '.')
			continue;
		rc = node_lookup(t, *out, name, out);
		if (rc)
			return rc;
	}
}

struct node node_parent(struct tree *t, struct node n)
{
	const struct leaf *l = node_leaf(n);
	uint32_t i = 0;

	if (!n.local)
		return (struct node){ unit_at(t, n.unit->parent), 0 };
	if (!l || l->dir == LEAF_TOP)
		return (struct node){ n.unit, 0 };
	while (n.unit->leaves[i].kind != LEAF_DIR || n.unit->leaves[i].arg != l->dir)
		i++;
	return (struct node){ n.unit, leaf_local(n.unit, i) };
}

/* ---- attributes ---- */

static uint64_t node_ino(struct tree *t, struct node n)
{
	const struct leaf *l = node_leaf(n);
	const struct kid *kid = node_kid(n);
	uint64_t hash = n.unit->hash;
	char name[NODE_NAME_MAX];

	if (!n.local)
		return n.unit->id ? hash : 1;
	if (kid) {
		kid_name(t, n.unit, n.local - 1, name);
	} else {
		leaf_name(n.unit, l, name);
		hash = dir_hash(n.unit, l->dir);
	}
	return hash_name(hash, name);
}

/* The size of a file that shows bytes of the archive; 0 when they cannot be had. */
static uint64_t bytes_size(struct tree *t, struct unit *u, const struct leaf *l)
{
	struct source *src;
	uint64_t size;

	if (leaf_source(t, u, l, &src, NULL))
		return 0;
	size = src->size;
	src_put(src);
	return size;
}

static uint64_t text_size(struct tree *t, struct unit *u, struct leaf *l)
{
	struct cached *text;
	uint64_t size;

	if (render_leaf(t, u, l, &text, NULL))
		return 0;
	size = rendered_text(text)->len;
	cached_put(text);
	return size;
}

static uint64_t errors_size(struct tree *t, struct node n)
{
	struct buf lines = { 0 };
	uint64_t size;

	node_errors(t, n, &lines);
	size = lines.len;
	buf_free(&lines);
	return size;
}

static void leaf_size(struct tree *t, struct node n, struct leaf *l, bool exact, struct node_attr *out)
{
	uint32_t size = atomic_load_explicit(&l->size, memory_order_acquire);
	bool bytes = l->kind == LEAF_WHOLE || l->kind == LEAF_SECTION_RAW || l->kind == LEAF_GAP;

	out->sized = exact || bytes || l->kind == LEAF_ERRORS || size != SIZE_UNKNOWN;
	if (l->kind == LEAF_ERRORS)
		out->size = errors_size(t, n);
	else if (size != SIZE_UNKNOWN)
		out->size = size == SIZE_FAILED ? 0 : size - 1;
	else if (bytes)
		out->size = bytes_size(t, n.unit, l);
	else if (exact)
		out->size = text_size(t, n.unit, l);
}

static struct timespec node_mtime(const struct tree *t, const struct unit *u)
{
	struct timespec m = t->mtime;

	m.tv_nsec += (long)atomic_load(&u->changes);
	if (m.tv_nsec >= 1000000000) {
		m.tv_sec++;
		m.tv_nsec -= 1000000000;
	}
	return m;
}

void node_attr(struct tree *t, struct node n, bool exact, struct node_attr *out)
{
	const struct kid *kid = node_kid(n);
	struct leaf *l = node_leaf(n);

	*out = (struct node_attr){ .dir = node_is_dir(n), .ino = node_ino(t, n), .mtime = node_mtime(t, n.unit) };
	if (out->dir)
		out->sized = true;
	else if (kid) {
		out->size = kid->entry.size;
		out->sized = true;
	} else
		leaf_size(t, n, l, exact, out);
}

/* ---- messages ---- */

static void add_name(struct buf *path, const char *name)
{
	if (path->len)
		buf_char(path, '/');
	buf_str(path, name);
}

void node_path(struct tree *t, struct node n, struct buf *out)
{
	const struct leaf *l = node_leaf(n);
	char name[NODE_NAME_MAX];

	if (!n.local) {
		if (!n.unit->id)
			return;
		node_path(t, (struct node){ unit_at(t, n.unit->parent), 0 }, out);
		kid_name(t, unit_at(t, n.unit->parent), n.unit->index, name);
	} else {
		node_path(t, (struct node){ n.unit, 0 }, out);
		if (l && l->dir != LEAF_TOP)
			add_name(out, leaf_dir_names[l->dir]);
		if (l)
			leaf_name(n.unit, l, name);
		else
			kid_name(t, n.unit, n.local - 1, name);
	}
	add_name(out, name);
}

void node_errors(struct tree *t, struct node n, struct buf *out)
{
	pthread_mutex_lock(&t->lock);
	for (const struct note *note = n.unit->notes; note; note = note->next) {
		buf_str(out, note->text);
		buf_char(out, '\n');
	}
	pthread_mutex_unlock(&t->lock);
}
