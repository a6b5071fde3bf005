/* Opening a source, and the nodes of its tree. */
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "draft.h"
#include "scratch.h"

#define YEAR_1980 315532800
#define SECOND 1000000000ll

/* ---- opening ---- */

/* path with its extension, if any, replaced; the caller's to free. */
static char *path_beside(const struct tree *t, const char *ext)
{
	const char *dot = strrchr(t->name, '.');
	size_t stem = (size_t)(t->name - t->path) + (dot ? (size_t)(dot - t->name) : strlen(t->name));
	char *path = malloc(stem + strlen(ext) + 2);

	if (path)
		sprintf(path, "%.*s.%s", (int)stem, t->path, ext);
	return path;
}

/* Never before 1980. */
static int64_t file_time(const struct tree *t, unsigned file)
{
	const struct timespec *m = &archive_stat(t->file[file].archive)->st_mtim;

	return m->tv_sec < YEAR_1980 ? YEAR_1980 * SECOND : m->tv_sec * SECOND + m->tv_nsec;
}

/* Those who read go on while a commit is prepared, and wait only while bytes change. */
static void hold(void *ctx)
{
	struct tree *t = ctx;

	pthread_rwlock_wrlock(&t->state);
	t->held = true;
}

static _Thread_local unsigned inside;          /* files this thread has begun to read, a bit each */

/* Before there are threads: a file is read while nobody commits to it, as it is now. */
static void begin_alone(struct tree *t, unsigned file)
{
	struct archive *a = t->file[file].archive;
	struct buf ids = { 0 };
	bool changed;

	archive_read_alone(a, true);
	if (archive_read_begin(a, &changed, NULL))
		return;
	if (changed) {
		archive_read_end(a);
		if (!archive_refresh(a, NULL))
			tree_refresh(t, file, NULL, &ids);
		buf_free(&ids);
		if (archive_read_begin(a, &changed, NULL))
			return;
	}
	inside |= 1u << file;
}

static void end_reading(struct tree *t)
{
	for (unsigned i = 0; inside; i++) {
		if (inside & 1u << i)
			archive_read_end(t->file[i].archive);
		inside &= ~(1u << i);
	}
}

static void end_alone(struct tree *t)
{
	end_reading(t);
	for (unsigned i = 0; i < t->nfiles; i++)
		archive_read_alone(t->file[i].archive, false);
}

static int open_archive(struct tree *t, const char *path, unsigned file, struct err *e)
{
	struct archive_options opt = { .write = t->writable, .noundo = t->noundo, .hold = hold, .hold_ctx = t };

	return archive_open(path, &opt, &t->file[file].archive, e);
}

int tree_file_beside(struct tree *t, const char *ext, unsigned *file)
{
	unsigned n;
	char *path;
	int rc = -ENOENT;

	pthread_mutex_lock(&t->lock);
	n = atomic_load(&t->nfiles);
	for (*file = 1; *file < n && strcmp(t->file[*file].ext, ext); ++*file)
		;
	path = *file == n && n < TREE_FILES ? path_beside(t, ext) : NULL;
	if (*file < n)
		rc = 0;
	else if (path && strcmp(path, t->path))
		rc = open_archive(t, path, n, NULL);
	if (!rc && *file == n) {
		t->file[n].ext = ext;
		t->file[n].mtime = file_time(t, n);
		atomic_store(&t->nfiles, n + 1);
	}
	pthread_mutex_unlock(&t->lock);
	free(path);
	return rc;
}

bool tree_is_file(const struct tree *t, const struct unit *u)
{
	return !u->id || u->file != unit_at(t, u->parent)->file;
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
		unsigned file;

		if ((*f)->role <= ROLE_MODEL || root->mate[(*f)->role] || tree_file_beside(t, (*f)->ext, &file))
			continue;
		begin_alone(t, file);
		src = archive_source(t->file[file].archive);
		if (recognise(src, t->name, NULL) != *f)
			continue;
		rc = unit_new(t, *f, src, 0, 0, hash_name(root->hash, (*f)->ext), &mate, e);
		if (!rc) {
			mate->file = (uint8_t)file;
			root->mate[(*f)->role] = mate->id;
		}
	}
	return rc;
}

static int open_root(struct tree *t, const struct tree_options *opt, struct err *e)
{
	struct unit *root;
	const struct format *f;
	struct source *src;
	int rc = open_archive(t, t->path, 0, e);

	if (rc)
		return rc;
	atomic_store(&t->nfiles, 1);
	t->file[0].mtime = file_time(t, 0);
	t->writable = archive_writable(t->file[0].archive, NULL);
	if (opt->names) {
		rc = names_read(opt->names, &t->names, e);
		if (rc)
			return rc;
	}
	begin_alone(t, 0);
	src = archive_source(t->file[0].archive);
	f = recognise(src, t->name, e);
	if (!f)
		return -EINVAL;
	rc = unit_new(t, f, src, 0, 0, hash_name(0, ""), &root, e);
	if (!rc && f->role == ROLE_MODEL)
		rc = find_companions(t, root, e);
	return rc;
}

/* Who saves must not wait for ever because there is always somebody who reads. */
static void init_locks(struct tree *t)
{
	pthread_rwlockattr_t attr;

	pthread_mutex_init(&t->commit, NULL);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->filled, NULL);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&t->state, &attr);
	pthread_rwlockattr_destroy(&attr);
}

int tree_open(const char *path, const struct tree_options *opt, struct tree **out, struct err *e)
{
	struct tree *t = calloc(1, sizeof *t);
	const char *slash;
	int rc;

	if (!t)
		return err_nomem(e);
	init_locks(t);
	t->slow = opt->slow;
	t->writable = opt->write;
	t->noundo = opt->noundo;
	t->grow = opt->grow;
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
	end_alone(t);
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

	scratch_close_all(t);
	handle_close_all(t);
	draft_close_all(t);
	ghost_close_all(t);
	cache_free(t->cache);
	for (uint32_t i = 0; i < n; i++)
		free_unit(unit_at(t, i));
	for (uint32_t i = 0; i * UNIT_CHUNK < n; i++)
		free(t->chunk[i]);
	for (unsigned i = 0; i < t->nfiles; i++)
		archive_close(t->file[i].archive);
	while (t->times) {
		struct kid_time *next = t->times->next;

		free(t->times);
		t->times = next;
	}
	buf_free(&t->found);
	buf_free(&t->found_open);
	names_free(t->names);
	free(t->path);
	pthread_mutex_destroy(&t->commit);
	pthread_mutex_destroy(&t->lock);
	pthread_rwlock_destroy(&t->state);
	pthread_cond_destroy(&t->filled);
	free(t);
}

const char *tree_path(const struct tree *t)
{
	return t->path;
}

int tree_fd(const struct tree *t)
{
	return archive_fd(t->file[0].archive);
}

bool tree_writable(const struct tree *t, const char **why)
{
	return archive_writable(t->file[0].archive, why);
}

bool tree_is_shared(const struct tree *t)
{
	return atomic_load_explicit(&t->shared, memory_order_relaxed);
}

void tree_tidy(struct tree *t)
{
	if (!t->writable || pthread_mutex_trylock(&t->commit))
		return;
	for (unsigned i = 0; i < t->nfiles; i++)
		archive_tidy(t->file[i].archive);
	pthread_mutex_unlock(&t->commit);
}

/* ---- entering ---- */

/* Whether what is known of the files is still true. What cannot be locked is read all the same: then there is no writer,
 * or none that can be told of. */
static bool begin_reading(struct tree *t)
{
	unsigned n = atomic_load(&t->nfiles);
	bool changed = false;

	for (unsigned i = 0; i < n && !changed; i++)
		if (!archive_read_begin(t->file[i].archive, &changed, NULL))
			inside |= 1u << i;
	return !changed;
}

static void refresh_all(struct tree *t)
{
	struct buf ids = { 0 };

	pthread_rwlock_wrlock(&t->state);
	atomic_store(&t->shared, true);
	for (unsigned i = 0; i < t->nfiles; i++)
		if (!archive_refresh(t->file[i].archive, NULL))
			tree_refresh(t, i, NULL, &ids);
	tree_found(t, &ids);
	pthread_rwlock_unlock(&t->state);
}

void tree_enter(struct tree *t)
{
	pthread_rwlock_rdlock(&t->state);
	while (!t->writable && !begin_reading(t)) {
		end_reading(t);
		pthread_rwlock_unlock(&t->state);
		refresh_all(t);
		pthread_rwlock_rdlock(&t->state);
	}
}

void tree_leave(struct tree *t)
{
	if (!t->writable)
		end_reading(t);
	pthread_rwlock_unlock(&t->state);
}

struct tree_counts tree_count(const struct tree *t)
{
	return (struct tree_counts){ .rendered = atomic_load(&t->rendered), .units = atomic_load(&t->nunits) };
}

void tree_watch(struct tree *t, const struct tree_watcher *watcher, void *ctx)
{
	t->watcher = watcher;
	t->watcher_ctx = ctx;
}

void tree_changed(struct tree *t, struct node n)
{
	if (t->watcher)
		t->watcher->changed(t->watcher_ctx, node_id(n));
}

/* ---- nodes ---- */

void tree_warm(struct tree *t)
{
	for (unsigned i = 0; i < t->nfiles; i++)
		begin_alone(t, i);
	unit_fill(t, unit_at(t, 0), NULL);
	end_alone(t);
}

struct node tree_root(struct tree *t)
{
	return (struct node){ unit_at(t, 0), 0 };
}

#define SCRATCH_ID ((uint64_t)1 << 63)

static uint32_t locals(const struct unit *u)
{
	return u->nkids + u->nleaves;
}

static uint32_t number_of(const struct unit *u, uint32_t local)
{
	return u->number && local && local <= locals(u) ? u->number[local - 1] : local;
}

/* Few numbers are far from their local. UINT32_MAX: none has it. */
static uint32_t by_number(const struct unit *u, uint32_t number)
{
	uint32_t n = locals(u), low, high;

	if (!u->number || !number)
		return number;
	low = number < n ? number : n;
	for (high = low; low || high < n; low -= low > 0, high += high < n) {
		if (low && u->number[low - 1] == number)
			return low;
		if (high < n && u->number[high] == number)
			return high + 1;
	}
	return UINT32_MAX;
}

/* Unit 0 is the root, whose number has to be 1; the number 0 means "no node" to the kernel. */
uint64_t node_id(struct node n)
{
	if (n.scratch)
		return SCRATCH_ID | n.scratch->serial;
	return !n.unit->id && !n.local ? 1 : (uint64_t)(n.unit->id + 1) << 32 | number_of(n.unit, n.local);
}

struct scratch *node_scratch(struct tree *t, uint64_t id)
{
	return id & SCRATCH_ID ? scratch_by_serial(t, id & ~SCRATCH_ID) : NULL;
}

static bool scratch_from_id(struct tree *t, uint64_t id, struct node *out)
{
	struct scratch *s = scratch_by_serial(t, id & ~SCRATCH_ID);

	if (!s)
		return false;
	*out = s->became.unit ? s->became : (struct node){ .unit = s->unit, .scratch = s };
	return s->became.local != UINT32_MAX;
}

bool node_from_id(struct tree *t, uint64_t id, struct node *out)
{
	uint32_t unit = (uint32_t)(id >> 32);

	if (id & SCRATCH_ID)
		return scratch_from_id(t, id, out);
	if (id == 1) {
		*out = tree_root(t);
		return true;
	}
	if (!unit || unit > atomic_load_explicit(&t->nunits, memory_order_acquire))
		return false;
	*out = (struct node){ .unit = unit_at(t, unit - 1) };
	if (atomic_load_explicit(&out->unit->dead, memory_order_acquire))
		return false;
	if (!(uint32_t)id)
		return true;
	if (atomic_load_explicit(&out->unit->state, memory_order_acquire) != UNIT_READY)
		return false;
	out->local = by_number(out->unit, (uint32_t)id);
	return out->local <= locals(out->unit);
}

static uint32_t leaf_local(const struct unit *u, uint32_t leaf)
{
	return u->nkids + 1 + leaf;
}

bool node_is_dir(struct node n)
{
	const struct kid *kid = node_kid(n);
	const struct leaf *l = node_leaf(n);

	return n.scratch ? false : kid ? kid->format != NULL : l ? l->kind == LEAF_DIR : true;
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
	*out = (struct node){ .unit = u, .local = i + 1 };
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

int node_lookup_view(struct tree *t, struct node dir, const char *name, struct node *out)
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
	*out = (struct node){ .unit = u, .local = leaf_local(u, i) };
	return 0;
}

int node_lookup(struct tree *t, struct node dir, const char *name, struct node *out)
{
	int rc = node_lookup_view(t, dir, name, out);
	struct scratch *s;

	if (!rc)
		return ghost_is(t, *out) ? -ENOENT : 0;
	s = rc == -ENOENT ? scratch_find(t, dir, name) : NULL;
	if (!s)
		return rc;
	*out = (struct node){ .unit = s->unit, .scratch = s };
	return 0;
}

/* Behind all else; their positions count on. */
static int list_scratch(struct tree *t, struct node dir, uint64_t hash, uint64_t from, uint64_t first,
			int (*fn)(void *ctx, const struct node_entry *), void *ctx)
{
	struct scratch *s;
	int rc = 0;

	for (; !rc && (s = scratch_nth(t, dir, from - first)); from++) {
		struct node_entry entry = {
			.name = s->name, .ino = hash_name(hash, s->name), .next = from + 1,
			.node = { .unit = s->unit, .scratch = s },
		};

		rc = fn(ctx, &entry);
	}
	return rc;
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
		if (ghost_is(t, (struct node){ .unit = u, .local = (uint32_t)from + 1 }))
			continue;
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

		if (hidden(t, u, &u->leaves[i]) || ghost_is(t, (struct node){ .unit = u, .local = leaf_local(u, i) }))
			continue;
		leaf_name(u, &u->leaves[i], name);
		entry.dir = u->leaves[i].kind == LEAF_DIR;
		entry.ino = hash_name(hash, name);
		entry.next = from + 1;
		entry.node = (struct node){ .unit = nodes ? u : NULL, .local = leaf_local(u, i) };
		rc = fn(ctx, &entry);
	}
	return rc ? rc : list_scratch(t, dir, hash, from, nkids + (r.end - r.first), fn, ctx);
}

bool node_may_appear(const struct tree *t, const char *name)
{
	return t->writable || !strcmp(name, ERRORS_NAME);
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
	unsigned dir = n.scratch ? n.scratch->dir : l ? l->dir : LEAF_TOP;
	uint32_t i = 0;

	if (!n.local && !n.scratch)
		return (struct node){ unit_at(t, n.unit->parent), 0 };
	while (dir != LEAF_TOP && i < n.unit->nleaves &&
	       (n.unit->leaves[i].kind != LEAF_DIR || n.unit->leaves[i].arg != dir))
		i++;
	return (struct node){ .unit = n.unit, .local = dir == LEAF_TOP ? 0 : leaf_local(n.unit, i) };
}

/* ---- attributes ---- */

static uint64_t node_ino(struct tree *t, struct node n)
{
	const struct leaf *l = node_leaf(n);
	const struct kid *kid = node_kid(n);
	uint64_t hash = n.unit->hash;
	char name[NODE_NAME_MAX];

	if (n.scratch)
		return hash_name(dir_hash(n.unit, n.scratch->dir), n.scratch->name);
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

int64_t tree_mtime(const struct tree *t, const struct unit *u)
{
	return t->file[u->file].mtime;
}

/* Entries keep the time that the archive had when it was opened until they are written: programs that copy what is newer
 * must not copy all of it because one model changed. */
static int64_t node_mtime(struct tree *t, struct node n)
{
	const struct kid *kid = node_kid(n);
	int64_t changed = kid ? kid_time_get(t, n.unit, n.local - 1) : atomic_load(&n.unit->mtime);

	return changed ? changed : tree_mtime(t, n.unit);
}

static struct kid_time *find_time(const struct tree *t, const struct unit *u, uint32_t kid)
{
	struct kid_time *k = t->times;

	while (k && (k->unit != u->id || k->kid != kid))
		k = k->next;
	return k;
}

int64_t kid_time_get(struct tree *t, const struct unit *u, uint32_t kid)
{
	struct kid_time *k;
	int64_t time;

	if (!t->commits)
		return 0;
	pthread_mutex_lock(&t->lock);
	k = find_time(t, u, kid);
	time = k ? k->time : 0;
	pthread_mutex_unlock(&t->lock);
	return time;
}

void kid_time_set(struct tree *t, const struct unit *u, uint32_t kid, int64_t time)
{
	struct kid_time *k;

	pthread_mutex_lock(&t->lock);
	k = find_time(t, u, kid);
	if (!k && (k = malloc(sizeof *k))) {
		*k = (struct kid_time){ .next = t->times, .unit = u->id, .kid = kid };
		t->times = k;
	}
	if (k)
		k->time = time;
	pthread_mutex_unlock(&t->lock);
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };
}

static void scratch_attr(struct tree *t, struct node n, struct node_attr *out)
{
	*out = (struct node_attr){
		.ino = node_ino(t, n), .mtime = timespec_of(n.scratch->mtime), .sized = true,
		.size = scratch_size(n.scratch), .mode = (uint16_t)(n.scratch->mode & 07777),
	};
}

void node_attr(struct tree *t, struct node n, bool exact, struct node_attr *out)
{
	const struct kid *kid = node_kid(n);
	struct leaf *l = node_leaf(n);
	int64_t mtime;

	if (n.scratch) {
		scratch_attr(t, n, out);
		return;
	}
	*out = (struct node_attr){ .dir = node_is_dir(n), .ino = node_ino(t, n) };
	out->mode = out->dir ? 0755 : node_writable(t, n) ? 0644 : 0444;
	if (!out->dir && draft_size_node(t, n, &out->size, &mtime)) {
		out->sized = true;
		out->mtime = timespec_of(mtime);
		return;
	}
	out->mtime = timespec_of(node_mtime(t, n));
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
	unsigned dir = n.scratch ? n.scratch->dir : l ? l->dir : LEAF_TOP;
	char name[NODE_NAME_MAX];

	if (!n.local && !n.scratch) {
		if (!n.unit->id)
			return;
		node_path(t, (struct node){ .unit = unit_at(t, n.unit->parent) }, out);
		kid_name(t, unit_at(t, n.unit->parent), n.unit->index, name);
	} else {
		node_path(t, (struct node){ .unit = n.unit }, out);
		if (dir != LEAF_TOP)
			add_name(out, leaf_dir_names[dir]);
		if (n.scratch)
			strcpy(name, n.scratch->name);
		else if (l)
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
