/* The nodes of the tree: their numbers, how they are found and listed, their attributes and paths. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "folder.h"
#include "scratch.h"

/* ---- nodes ---- */

struct node tree_root(struct tree *t)
{
	return t->folder ? (struct node){ .host = t->folder->hosts.root } : (struct node){ .unit = unit_at(t, 0) };
}

#define SCRATCH_ID ((uint64_t)1 << 63)
#define HOST_ID ((uint64_t)1 << 62)

static uint32_t number_of(const struct unit *u, uint32_t local)
{
	return u->number && local && local <= unit_locals(u) ? u->number[local - 1] : local;
}

/* Few numbers are far from their local. UINT32_MAX: none has it. */
static uint32_t by_number(const struct unit *u, uint32_t number)
{
	uint32_t n = unit_locals(u), low, high;

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
	if (n.host)
		return n.host->by_serial.hash == 1 ? 1 : HOST_ID | n.host->by_serial.hash;
	return !n.unit->id && !n.local ? 1 : (uint64_t)(n.unit->id + 1) << 32 | number_of(n.unit, n.local);
}

struct scratch *node_scratch(struct tree *t, uint64_t id)
{
	return id & SCRATCH_ID ? scratch_by_serial(t, id & ~SCRATCH_ID) : NULL;
}

uint64_t node_host(const struct tree *t, uint64_t id)
{
	return id == 1 ? t->folder != NULL : (id & (HOST_ID | SCRATCH_ID)) == HOST_ID ? id & ~HOST_ID : 0;
}

void node_put(struct tree *t, struct node n)
{
	if (n.host)
		host_put(&t->folder->hosts, n.host, 1);
}

bool node_is_outdated(struct tree *t, struct node n)
{
	return t->folder && n.unit && folder_changed(t, n.unit);
}

static bool host_from_id(struct tree *t, uint64_t serial, struct node *out)
{
	*out = (struct node){ .host = host_by_serial(&t->folder->hosts, serial) };
	return out->host;
}

static bool scratch_from_id(struct tree *t, uint64_t id, struct node *out)
{
	struct scratch *s = scratch_by_serial(t, id & ~SCRATCH_ID);

	if (!s)
		return false;
	*out = s->became.unit ? s->became : (struct node){ .unit = s->unit, .scratch = s };
	return !s->became.unit || (s->became.local != UINT32_MAX && !atomic_load(&s->became.unit->dead));
}

bool node_from_id(struct tree *t, uint64_t id, struct node *out)
{
	uint32_t unit = (uint32_t)(id >> 32);

	if (id & SCRATCH_ID)
		return scratch_from_id(t, id, out);
	if (node_host(t, id))
		return t->folder && host_from_id(t, node_host(t, id), out);
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
	return out->local <= unit_locals(out->unit);
}

static uint32_t leaf_local(const struct unit *u, uint32_t leaf)
{
	return unit_first_leaf(u) + leaf;
}

bool node_is_dir(struct node n)
{
	const struct kid *kid = n.host ? NULL : node_kid(n);
	const struct leaf *l = n.host ? NULL : node_leaf(n);

	if (n.host)
		return n.host->type == S_IFDIR;
	return n.scratch ? false : kid ? kid->format != NULL : l ? l->kind == LEAF_DIR : true;     /* else a folder */
}

/* ---- directories ---- */

/* The leaves of a folder in raw/, which is leaf l: up to those of the next one. */
static struct range pieces_range(const struct unit *u, const struct leaf *l)
{
	uint32_t folder = u->pieces.v[u->leaves[l->index].index].folder;
	bool last = folder == u->pieces.nfolders;

	return (struct range){ l->index, last ? u->nleaves : u->leaves[u->pieces.folder[folder]].index };
}

static struct range leaves_of(struct node dir)
{
	const struct leaf *l = node_leaf(dir);

	if (node_folder(dir))
		return (struct range){ 0, 0 };
	if (l && l->arg == LEAF_DIR_PIECES)
		return pieces_range(dir.unit, l);
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

static uint64_t dir_hash(const struct unit *u, uint32_t which)
{
	char name[NODE_NAME_MAX];

	if (which > DIR_FOLDER && u->stored)
		return u->stored->dirs[which - DIR_FOLDER].hash;
	if (which < DIR_FOLDER)
		return which == LEAF_TOP ? u->hash : hash_name(u->hash, leaf_dir_names[which]);
	leaf_name(u, &u->leaves[u->pieces.folder[which - DIR_FOLDER - 1]], name);
	return hash_name(dir_hash(u, LEAF_DIR_RAW), name);
}

static int kid_node(struct tree *t, struct unit *u, uint32_t i, struct node *out)
{
	int rc = kid_know(t, u, i, NULL);

	*out = (struct node){ .unit = u, .local = i + 1 };
	if (rc || !u->kids[i].format)
		return rc;
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

/* The leaf of that name in a directory; u->nleaves when there is none. */
static uint32_t find_leaf(struct tree *t, struct node dir, const char *name)
{
	const struct unit *u = dir.unit;
	struct range r = leaves_of(dir), run;
	uint32_t number, i = pieces_find(u, node_dir(dir), name, &r);

	if (i < u->nleaves)
		return i;
	run = leaf_numbered(u, r);
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

/* The kid of that name in a directory of a filled unit, or the folder, as an item of stored names; STORED_NONE. */
static uint32_t find_item(struct tree *t, struct node dir, const char *name)
{
	struct unit *u = dir.unit;
	char have[NODE_NAME_MAX];
	uint32_t number;

	if (node_leaf(dir))
		return STORED_NONE;
	if (u->stored)
		return stored_find(u->stored, node_folder(dir), name);
	if (!name_number(name, &number) || number >= u->nkids)
		return STORED_NONE;
	kid_name(t, u, number, have);
	return strcmp(have, name) ? STORED_NONE : number;
}

static int item_node(struct tree *t, struct unit *u, uint32_t item, struct node *out)
{
	if (item < u->nkids)
		return kid_node(t, u, item, out);
	*out = (struct node){ .unit = u, .local = item + 1 };
	return 0;
}

int node_lookup_view(struct tree *t, struct node dir, const char *name, struct node *out)
{
	struct unit *u = dir.unit;
	uint32_t item, i;
	int rc = node_is_dir(dir) ? unit_fill(t, u, NULL) : -ENOTDIR;

	if (rc)
		return rc;
	item = find_item(t, dir, name);
	if (item != STORED_NONE && item < u->nkids && kid_hidden(t, u, item))
		return -ENOENT;
	if (item != STORED_NONE)
		return item_node(t, u, item, out);
	if (!dir.local && !strcmp(name, ERRORS_NAME))
		unit_check(t, u);
	i = find_leaf(t, dir, name);
	if (i == u->nleaves)
		return -ENOENT;
	*out = (struct node){ .unit = u, .local = leaf_local(u, i) };
	return 0;
}

int node_lookup(struct tree *t, struct node dir, const char *name, struct node *out)
{
	int rc = dir.host ? folder_lookup(t, dir.host, name, out) : node_lookup_view(t, dir, name, out);
	struct scratch *s;

	if (dir.host)
		return rc;
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

struct host_listing { int (*fn)(void *ctx, const struct node_entry *); void *ctx; };

static int list_host_entry(void *ctx, const char *name, uint64_t ino, unsigned type, uint64_t next)
{
	const struct host_listing *l = ctx;
	struct node_entry entry = {
		.name = name, .dir = type == DT_DIR, .type = (uint8_t)type, .ino = ino, .next = next
	};

	return !strcmp(name, ".") || !strcmp(name, "..") ? 0 : l->fn(l->ctx, &entry);
}

static int list_host(struct tree *t, struct host *dir, uint64_t from, struct host_listing *l)
{
	struct folder_dir *d;
	int rc = dir->type == S_IFDIR ? folder_dir_open(t, dir, false, &d) : -ENOTDIR;

	if (rc)
		return rc;
	rc = folder_dir_list(d, from, list_host_entry, l);
	folder_dir_close(d);
	return rc;
}

/* How many kids and folders lie in a directory, and which is the one at a position. */
static uint32_t count_items(struct node dir)
{
	const struct unit *u = dir.unit;

	return node_leaf(dir) ? 0 : u->stored ? u->stored->dirs[node_folder(dir)].n : u->nkids;
}

static uint32_t item_at(struct node dir, uint32_t position)
{
	const struct stored *s = dir.unit->stored;

	return s ? s->order[s->dirs[node_folder(dir)].first + position] : position;
}

static void item_name(struct tree *t, const struct unit *u, uint32_t item, char name[NODE_NAME_MAX])
{
	if (item < u->nkids)
		kid_name(t, u, item, name);
	else
		strcpy(name, stored_name(u->stored, item));
}

static int list_unit(struct tree *t, struct node dir, uint64_t from, bool nodes,
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
	hash = dir_hash(u, node_dir(dir));
	nkids = count_items(dir);
	for (; from < nkids && !rc; from++) {
		uint32_t item = item_at(dir, (uint32_t)from);

		if (ghost_is(t, (struct node){ .unit = u, .local = item + 1 }) ||
		    (item < u->nkids && kid_hidden(t, u, item)))
			continue;
		item_name(t, u, item, name);
		rc = item < u->nkids ? kid_know(t, u, item, NULL) : 0;
		if (rc)
			break;
		entry.dir = item >= u->nkids || u->kids[item].format;
		entry.ino = hash_name(hash, name);
		entry.next = from + 1;
		rc = nodes ? item_node(t, u, item, &entry.node) : 0;
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

int node_list(struct tree *t, struct node dir, uint64_t from, bool nodes,
	      int (*fn)(void *ctx, const struct node_entry *), void *ctx)
{
	struct host_listing l = { fn, ctx };

	return dir.host ? list_host(t, dir.host, from, &l) : list_unit(t, dir, from, nodes, fn, ctx);
}

int node_link(struct tree *t, struct node n, char *to, size_t size)
{
	return n.host ? host_target(&t->folder->hosts, n.host, to, size) : -EINVAL;
}

bool node_may_appear(const struct tree *t, const char *name)
{
	return t->writable || !strcmp(name, ERRORS_NAME);
}

int node_resolve(struct tree *t, const char *path, struct node *out)
{
	char name[NODE_NAME_MAX];
	struct node dir;

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
		dir = *out;
		rc = node_lookup(t, dir, name, out);
		node_put(t, dir);
		if (rc)
			return rc;
	}
}

/* Of a host, or of a model that lies in the folder. */
static struct node parent_in_folder(struct tree *t, struct node n)
{
	struct hosts *h = &t->folder->hosts;
	struct host *dir = n.host ? host_parent(h, n.host) : host_ref(h, tree_file(t, n.unit->file)->spot->dir);

	return dir ? (struct node){ .host = dir } : tree_root(t);
}

static uint32_t item_lies_in(const struct unit *u, uint32_t item)
{
	uint32_t folder = u->stored && item < u->nkids + unit_folders(u) ? stored_in(u->stored, item) : 0;

	return folder ? DIR_FOLDER + folder : LEAF_TOP;
}

/* The directory of its unit that a node lies in; of a unit's own directory the parent's. */
static uint32_t lies_in(struct tree *t, struct node n)
{
	const struct leaf *l = node_leaf(n);

	if (n.scratch)
		return n.scratch->dir;
	if (l)
		return leaf_lies_in(n.unit, l);
	return n.local ? item_lies_in(n.unit, n.local - 1) : item_lies_in(unit_at(t, n.unit->parent), n.unit->index);
}

static struct node dir_node(struct unit *u, uint32_t dir)
{
	uint32_t i = 0;

	if (dir > DIR_FOLDER && u->stored)
		return (struct node){ .unit = u, .local = u->nkids + dir - DIR_FOLDER };
	if (dir > DIR_FOLDER)
		return (struct node){ .unit = u, .local = leaf_local(u, u->pieces.folder[dir - DIR_FOLDER - 1]) };
	while (dir != LEAF_TOP && i < u->nleaves && (u->leaves[i].kind != LEAF_DIR || u->leaves[i].arg != dir))
		i++;
	return (struct node){ .unit = u, .local = dir == LEAF_TOP ? 0 : leaf_local(u, i) };
}

struct node node_parent(struct tree *t, struct node n)
{
	if (n.host || (t->folder && !n.local && !n.scratch && tree_is_file(t, n.unit)))
		return parent_in_folder(t, n);
	if (!n.local && !n.scratch && tree_is_file(t, n.unit))
		return (struct node){ .unit = unit_at(t, n.unit->parent) };
	return dir_node(n.local || n.scratch ? n.unit : unit_at(t, n.unit->parent), lies_in(t, n));
}

/* ---- attributes ---- */

/* The name of what lies in a unit. */
static void own_name(struct tree *t, struct node n, char name[NODE_NAME_MAX])
{
	const struct leaf *l = node_leaf(n);

	if (n.scratch)
		strcpy(name, n.scratch->name);
	else if (l)
		leaf_name(n.unit, l, name);
	else
		item_name(t, n.unit, n.local - 1, name);
}

static uint64_t node_ino(struct tree *t, struct node n)
{
	const struct unit *u = n.unit;
	char name[NODE_NAME_MAX];

	if (!n.local && !n.scratch)
		return t->folder && tree_is_file(t, u) ? folder_seen(t, u)->ino : u->id ? u->hash : 1;
	own_name(t, n, name);
	return hash_name(dir_hash(u, lies_in(t, n)), name);
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
	bool bytes = leaf_is_bytes(l);

	out->sized = exact || bytes || l->kind == LEAF_ERRORS || size != SIZE_UNKNOWN;
	if (l->kind == LEAF_ERRORS)
		out->size = errors_size(t, n);
	else if (size != SIZE_UNKNOWN)
		out->size = size == SIZE_FAILED ? 0 : size - 1;
	else if (l->kind == LEAF_PIECE)
		out->size = n.unit->pieces.v[l->index].size;
	else if (bytes)
		out->size = bytes_size(t, n.unit, l);
	else if (exact && measure_leaf(t, n.unit, l, &out->size, NULL))
		out->size = 0;
}

/* Entries keep the time that the archive had when it was opened until they are written: programs that copy what is
 * newer must not copy all of it because one model changed. */
static int64_t node_mtime(struct tree *t, struct node n)
{
	const struct kid *kid = node_kid(n);
	uint32_t folder = node_folder(n), entry = folder ? n.unit->stored->dirs[folder].entry : 0;
	int64_t changed = kid ? kid_time_get(t, n.unit, n.local - 1) : entry ? 0 : atomic_load(&n.unit->mtime);

	if (changed)
		return changed;
	return kid || entry ? tree_kid_mtime(t, n.unit, kid ? n.local - 1 : entry - 1) : tree_mtime(t, n.unit);
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

static void scratch_attr(struct tree *t, struct node n, struct node_attr *out)
{
	*out = (struct node_attr){
		.ino = node_ino(t, n), .mtime = timespec_of(n.scratch->mtime), .sized = true,
		.size = scratch_size(n.scratch), .mode = (uint16_t)(n.scratch->mode & 07777),
	};
}

/* One that is gone has none. */
static void host_attr(struct tree *t, struct host *host, struct node_attr *out)
{
	struct stat st = { 0 };

	host_stat(&t->folder->hosts, host, &st);
	*out = (struct node_attr){
		.dir = host->type == S_IFDIR, .type = host->type, .sized = true, .mode = st.st_mode & 07777,
		.size = (uint64_t)st.st_size, .ino = st.st_ino, .mtime = st.st_mtim, .owned = true,
		.uid = st.st_uid, .gid = st.st_gid,
	};
}

/* What is shown of a model in a folder belongs to whom the model belongs, and nobody may do more with it. */
static void own(const struct tree *t, const struct unit *u, struct node_attr *a)
{
	const struct seen *seen = folder_seen(t, u);
	uint16_t mode = seen->mode & 0666;

	a->owned = true;
	a->uid = seen->uid;
	a->gid = seen->gid;
	a->mode = a->dir ? (uint16_t)(mode | (mode & 0444) >> 2) : a->mode & 0200 ? mode : mode & 0444;
}

/* As a leaf has it; of a folder in raw/, 1. Models may have more of them than can be told about: so it is set when
 * somebody asks. */
static uint32_t piece_size(const struct unit *u, const struct leaf *l)
{
	uint64_t size = l->kind == LEAF_PIECE ? u->pieces.v[l->index].size : 0;

	return size < SIZE_FAILED - 1 ? (uint32_t)size + 1 : SIZE_UNKNOWN;
}

static void view_attr(struct tree *t, struct node n, bool exact, struct node_attr *out)
{
	const struct kid *kid = node_kid(n);
	struct leaf *l = node_leaf(n);
	int64_t mtime;

	*out = (struct node_attr){ .dir = node_is_dir(n), .ino = node_ino(t, n) };
	out->mode = out->dir ? 0755 : node_may_write(t, n, NULL) != -EACCES ? 0644 : 0444;
	if (t->folder)
		own(t, n.unit, out);
	if (!out->dir && draft_size_node(t, n, &out->size, &mtime)) {
		out->sized = true;
		out->mtime = timespec_of(mtime);
		return;
	}
	out->mtime = timespec_of(node_mtime(t, n));
	if (l && leaf_is_piece(l))
		atomic_store_explicit(&l->size, piece_size(n.unit, l), memory_order_relaxed);
	if (out->dir)
		out->sized = true;
	else if (kid) {
		out->size = kid->entry.size;
		out->sized = true;
	} else
		leaf_size(t, n, l, exact, out);
}

void node_attr(struct tree *t, struct node n, bool exact, struct node_attr *out)
{
	if (n.host)
		host_attr(t, n.host, out);
	else if (n.scratch)
		scratch_attr(t, n, out);
	else
		view_attr(t, n, exact, out);
}

/* ---- messages ---- */

static void add_name(struct buf *path, const char *name)
{
	if (path->len)
		buf_char(path, '/');
	buf_str(path, name);
}

static void piece_folder_path(const struct unit *u, uint32_t folder, struct buf *out)
{
	char name[NODE_NAME_MAX];

	leaf_name(u, &u->leaves[u->pieces.folder[folder - 1]], name);
	buf_printf(out, "%s/%s", leaf_dir_names[LEAF_DIR_RAW], name);
}

static void add_dir(const struct unit *u, uint32_t dir, struct buf *path)
{
	struct buf folders = { 0 };

	if (dir == LEAF_TOP)
		return;
	if (dir < DIR_FOLDER) {
		add_name(path, leaf_dir_names[dir]);
		return;
	}
	if (u->stored)
		unit_folder_path(u, dir - DIR_FOLDER, &folders);
	else
		piece_folder_path(u, dir - DIR_FOLDER, &folders);
	buf_char(&folders, 0);
	if (!folders.bad)
		add_name(path, (char *)folders.p);
	path->bad |= folders.bad;
	buf_free(&folders);
}

void node_path(struct tree *t, struct node n, struct buf *out)
{
	struct unit *u = n.unit;
	char name[NODE_NAME_MAX];

	if (n.host) {
		host_path(&t->folder->hosts, n.host, out);
		return;
	}
	if (!n.local && !n.scratch) {
		if (t->folder && tree_is_file(t, u))
			folder_unit_path(t, u, out);
		if (tree_is_file(t, u))
			return;
		kid_name(t, unit_at(t, u->parent), u->index, name);
		u = unit_at(t, u->parent);
	} else {
		own_name(t, n, name);
	}
	node_path(t, (struct node){ .unit = u }, out);
	add_dir(u, lies_in(t, n), out);
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
