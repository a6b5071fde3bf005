#include "scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "log.h"

int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ns_of(&ts);
}

/* ---- finding; names are under tree->lock ---- */

static bool lies_in(const struct scratch *s, struct node dir)
{
	return s->linked && s->unit == dir.unit && s->dir == node_dir(dir);
}

struct scratch *scratch_by_serial(struct tree *t, uint64_t serial)
{
	struct scratch *s;

	pthread_mutex_lock(&t->lock);
	for (s = t->scratch; s && s->serial != serial; s = s->next)
		;
	pthread_mutex_unlock(&t->lock);
	return s;
}

static struct scratch *find(struct tree *t, struct node dir, const char *name)
{
	struct scratch *s = t->scratch;

	while (s && (!lies_in(s, dir) || strcmp(s->name, name)))
		s = s->next;
	return s;
}

struct scratch *scratch_find(struct tree *t, struct node dir, const char *name)
{
	struct scratch *s;

	if (!t->writable)
		return NULL;
	pthread_mutex_lock(&t->lock);
	s = find(t, dir, name);
	pthread_mutex_unlock(&t->lock);
	return s;
}

struct scratch *scratch_nth(struct tree *t, struct node dir, uint64_t i)
{
	struct scratch *s;

	if (!t->writable)
		return NULL;
	pthread_mutex_lock(&t->lock);
	for (s = t->scratch; s && (!lies_in(s, dir) || i--); s = s->next)
		;
	pthread_mutex_unlock(&t->lock);
	return s;
}

/* ---- life ---- */

struct scratch *scratch_ref(struct scratch *s)
{
	struct tree *t = s->unit->tree;

	pthread_mutex_lock(&t->lock);
	s->refs++;
	pthread_mutex_unlock(&t->lock);
	return s;
}

static void free_scratch(struct scratch *s)
{
	store_free(s->store);
	pthread_mutex_destroy(&s->busy);
	free(s);
}

/* With the lock held. */
static void drop(struct tree *t, struct scratch *s, uint64_t n)
{
	struct scratch **p = &t->scratch;

	s->refs -= n;
	if (s->refs)
		return;
	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	free_scratch(s);
}

void scratch_put(struct tree *t, struct scratch *s)
{
	if (!s)
		return;
	scratch_forget(t, s, 1);
}

void scratch_forget(struct tree *t, struct scratch *s, uint64_t n)
{
	pthread_mutex_lock(&t->lock);
	drop(t, s, n);
	pthread_mutex_unlock(&t->lock);
}

static void unlink_one(struct tree *t, struct scratch *s)
{
	if (!s || !s->linked)
		return;
	s->linked = false;
	drop(t, s, 1);
}

void scratch_unlink(struct tree *t, struct scratch *s)
{
	pthread_mutex_lock(&t->lock);
	unlink_one(t, s);
	pthread_mutex_unlock(&t->lock);
}

int scratch_new(struct tree *t, struct node dir, const char *name, struct scratch **out)
{
	struct scratch *s, **end;

	if (strlen(name) >= NODE_NAME_MAX)
		return -ENAMETOOLONG;
	s = calloc(1, sizeof *s);
	if (s)
		s->store = store_new(NULL, &t->stored);
	if (!s || !s->store) {
		free(s);
		return -ENOMEM;
	}
	*s = (struct scratch){ .unit = dir.unit, .dir = node_dir(dir), .linked = true, .refs = 2, .mode = 0644,
			       .uid = getuid(), .gid = getgid(), .store = s->store };
	s->mtime = s->atime = now_ns();
	pthread_mutex_init(&s->busy, NULL);
	strcpy(s->name, name);
	pthread_mutex_lock(&t->lock);
	unlink_one(t, find(t, dir, name));
	s->serial = ++t->scratch_serial;
	for (end = &t->scratch; *end; end = &(*end)->next)
		;
	*end = s;
	pthread_mutex_unlock(&t->lock);
	*out = s;
	return 0;
}

int scratch_rename(struct tree *t, struct scratch *s, struct node dir, const char *name)
{
	if (strlen(name) >= NODE_NAME_MAX)
		return -ENAMETOOLONG;
	pthread_mutex_lock(&t->lock);
	if (find(t, dir, name) != s)
		unlink_one(t, find(t, dir, name));
	s->unit = dir.unit;
	s->dir = node_dir(dir);
	s->rejected = false;
	strcpy(s->name, name);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

void scratch_become(struct tree *t, struct scratch *s, struct node view)
{
	pthread_mutex_lock(&t->lock);
	s->became = view;
	unlink_one(t, s);
	pthread_mutex_unlock(&t->lock);
}

void scratch_close_all(struct tree *t)
{
	for (struct scratch *s = t->scratch, *next; s; s = next) {
		struct buf path = { 0 };

		next = s->next;
		if (s->linked && !s->rejected) {
			node_path(t, (struct node){ .unit = s->unit, .scratch = s }, &path);
			log_line("%s: %.*s: existed in memory only and is gone now", t->path, (int)path.len,
				 (char *)path.p);
			buf_free(&path);
		}
		free_scratch(s);
	}
	t->scratch = NULL;
}

/* ---- contents ---- */

int scratch_read(struct scratch *s, void *buf, size_t n, uint64_t at)
{
	int rc;

	pthread_mutex_lock(&s->busy);
	rc = store_read(s->store, buf, n, at);
	pthread_mutex_unlock(&s->busy);
	return rc;
}

int scratch_write(struct scratch *s, const void *buf, size_t n, uint64_t at)
{
	int rc;

	pthread_mutex_lock(&s->busy);
	rc = store_write(s->store, buf, n, at);
	s->mtime = now_ns();
	pthread_mutex_unlock(&s->busy);
	return rc;
}

int scratch_truncate(struct scratch *s, uint64_t size)
{
	int rc;

	pthread_mutex_lock(&s->busy);
	rc = store_truncate(s->store, size);
	s->mtime = now_ns();
	pthread_mutex_unlock(&s->busy);
	return rc;
}

uint64_t scratch_size(struct scratch *s)
{
	uint64_t size;

	pthread_mutex_lock(&s->busy);
	size = store_size(s->store);
	pthread_mutex_unlock(&s->busy);
	return size;
}

int scratch_copy(struct scratch *s, struct store **out)
{
	int rc;

	pthread_mutex_lock(&s->busy);
	rc = store_copy(s->store, out);
	pthread_mutex_unlock(&s->busy);
	return rc;
}

/* ---- refused texts ---- */

static bool rejected_name(struct tree *t, struct node n, char name[NODE_NAME_MAX])
{
	char plain[NODE_NAME_MAX];
	const struct leaf *l = node_leaf(n);

	if (l)
		leaf_name(n.unit, l, plain);
	else
		kid_name(t, n.unit, n.local - 1, plain);
	return snprintf(name, NODE_NAME_MAX, "%s.rejected", plain) < NODE_NAME_MAX;
}

void scratch_reject(struct tree *t, struct node n, struct store *text)
{
	struct node dir = node_parent(t, n);
	char name[NODE_NAME_MAX];
	struct store *copy;
	struct scratch *s;

	if (!rejected_name(t, n, name) || store_copy(text, &copy))
		return;
	pthread_rwlock_wrlock(&t->state);      /* one that goes must not be in anybody's hands */
	if (scratch_new(t, dir, name, &s)) {
		store_free(copy);
	} else {
		store_free(s->store);
		s->store = copy;
		s->rejected = true;
		scratch_put(t, s);
	}
	pthread_rwlock_unlock(&t->state);
	tree_changed(t, dir);
}

void scratch_accept(struct tree *t, struct node n)
{
	struct node dir = node_parent(t, n);
	char name[NODE_NAME_MAX];
	struct scratch *s;

	if (!rejected_name(t, n, name) || !scratch_find(t, dir, name))
		return;
	pthread_rwlock_wrlock(&t->state);
	s = scratch_find(t, dir, name);
	if (s)
		scratch_unlink(t, s);
	pthread_rwlock_unlock(&t->state);
	tree_changed(t, dir);
}

/* ---- which names may be ---- */

static bool is_extension_of(const struct format *f, const char *ext)
{
	if (f->ext && !strcasecmp(ext, f->ext))
		return true;
	for (unsigned k = 0; k < f->nown; k++)
		if (!strcasecmp(ext, strrchr(f->own[k].name, '.') + 1))
			return true;
	return false;
}

/* Extensions of views, wherever they stand: a file dropped into the wrong directory would be lost as well. */
static bool is_view_extension(const char *ext)
{
	static const char *const views[] = { "yaml", "obj", "mtl", "png", "glb", "bin" };

	for (size_t i = 0; i < ARRAY_LEN(views); i++)
		if (!strcasecmp(ext, views[i]))
			return true;
	for (const struct format *const *f = formats; *f; f++)
		if (is_extension_of(*f, ext))
			return true;
	return false;
}

#define VOLUME_EXT_MOST 4u                     /* letters of extensions; mkstemp() makes six */

/* Names that programs give to what they will remove again: they come with any extension. */
static bool is_temporary(const char *name)
{
	size_t n = strlen(name);

	return *name == '.' || *name == '#' || *name == '~' || name[n - 1] == '~' || name[n - 1] == '#';
}

/* In a file system any other name is that of a file, which would be lost. */
static bool is_known_temporary(const char *ext)
{
	static const char *const known[] = {
		"tmp", "temp", "swp", "swo", "swx", "bak", "bck", "orig", "old", "new", "part", "lck", "lock", "rej",
		"save"
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcasecmp(ext, known[i]))
			return true;
	return strlen(ext) > VOLUME_EXT_MOST;
}

bool scratch_refused(struct node dir, const char *name)
{
	const char *dot = strrchr(name, '.');
	const struct unit *u = dir.unit;

	if (is_temporary(name) || !dot || !dot[1])
		return false;
	if (!node_leaf(dir) && u->format->container && u->format->container->volume && !is_known_temporary(dot + 1))
		return true;
	if (is_view_extension(dot + 1) || (node_dir(dir) == LEAF_TOP && !strcmp(name, ERRORS_NAME)))
		return true;
	for (uint32_t i = 0; !node_leaf(dir) && i < u->nkids; i++)
		if (!u->kids[i].entry.folder && !strcasecmp(dot + 1, u->kids[i].ext))
			return true;
	return false;
}

/* ---- ghosts ---- */

struct ghost { struct ghost *next; struct unit *unit; uint32_t local; struct timespec since; };

/* Takes away those whose time is over. */
static void expire_ghosts(struct tree *t)
{
	struct ghost **p = &t->ghosts;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	while (*p) {
		struct ghost *g = *p;

		if (now.tv_sec - g->since.tv_sec >= GHOST_SECONDS) {
			*p = g->next;
			free(g);
			atomic_fetch_sub(&t->nghosts, 1);
		} else {
			p = &g->next;
		}
	}
}

static struct ghost **find_ghost(struct tree *t, struct node n)
{
	struct ghost **p = &t->ghosts;

	expire_ghosts(t);
	while (*p && ((*p)->unit != n.unit || (*p)->local != n.local))
		p = &(*p)->next;
	return *p ? p : NULL;
}

void ghost_add(struct tree *t, struct node n)
{
	struct ghost *g;

	pthread_mutex_lock(&t->lock);
	g = find_ghost(t, n) ? NULL : malloc(sizeof *g);
	if (g) {
		*g = (struct ghost){ .next = t->ghosts, .unit = n.unit, .local = n.local };
		clock_gettime(CLOCK_MONOTONIC, &g->since);
		t->ghosts = g;
		atomic_fetch_add(&t->nghosts, 1);
	}
	pthread_mutex_unlock(&t->lock);
}

bool ghost_is(struct tree *t, struct node n)
{
	bool is;

	if (!atomic_load_explicit(&t->nghosts, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&t->lock);
	is = find_ghost(t, n);
	pthread_mutex_unlock(&t->lock);
	return is;
}

bool ghost_remove(struct tree *t, struct node n)
{
	struct ghost **p, *g = NULL;
	bool was;

	if (!atomic_load_explicit(&t->nghosts, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&t->lock);
	p = find_ghost(t, n);
	if (p) {
		g = *p;
		*p = g->next;
		atomic_fetch_sub(&t->nghosts, 1);
	}
	pthread_mutex_unlock(&t->lock);
	was = g != NULL;
	free(g);
	return was;
}

void ghost_renumber(struct tree *t, const struct renumber *r)
{
	pthread_mutex_lock(&t->lock);
	for (struct ghost *g = t->ghosts; g; g = g->next)
		if (g->unit == r->unit && g->local != UINT32_MAX)
			g->local = r->map(r, g->local);
	for (struct scratch *s = t->scratch; s; s = s->next)
		if (s->became.unit == r->unit && s->became.local != UINT32_MAX)
			s->became.local = r->map(r, s->became.local);
	pthread_mutex_unlock(&t->lock);
}

void ghost_close_all(struct tree *t)
{
	while (t->ghosts) {
		struct ghost *g = t->ghosts;

		t->ghosts = g->next;
		free(g);
	}
}
