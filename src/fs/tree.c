/* Opening a source, and entering its tree. */
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "fileset.h"
#include "folder.h"
#include "scratch.h"

#define YEAR_1980 315532800

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
	const struct timespec *m = &archive_stat(tree_file(t, file)->archive)->st_mtim;

	return m->tv_sec < YEAR_1980 ? YEAR_1980 * SECOND : ns_of(m);
}

/* Those who read go on while a commit is prepared, and wait only while bytes change. */
static void hold(void *ctx)
{
	struct tree *t = ctx;

	pthread_rwlock_wrlock(&t->state);
	t->held = true;
}

static _Thread_local uint64_t inside[TREE_ARCHIVES / 64];      /* files this thread has begun to read, a bit each */

static _Thread_local bool in_folder;           /* the same, all files of a folder */

static void set_inside(unsigned file)
{
	inside[file / 64] |= UINT64_C(1) << file % 64;
}

/* Before there are threads: a file is read while nobody commits to it, as it is now. */
static void begin_alone(struct tree *t, unsigned file)
{
	struct archive *a = tree_file(t, file)->archive;
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
	set_inside(file);
}

static void end_reading(struct tree *t)
{
	if (in_folder)
		fileset_read_end(t->folder->set);
	in_folder = false;
	for (unsigned i = 0; i < ARRAY_LEN(inside); i++)
		for (; inside[i]; inside[i] &= inside[i] - 1)
			archive_read_end(tree_file(t, i * 64 + (unsigned)__builtin_ctzll(inside[i]))->archive);
}

static unsigned archives(const struct tree *t)
{
	return t->folder ? 0 : atomic_load(&t->nfiles);
}

static void end_alone(struct tree *t)
{
	end_reading(t);
	for (unsigned i = 0; i < archives(t); i++)
		archive_read_alone(tree_file(t, i)->archive, false);
}

struct tree_file *tree_file_new(struct tree *t)
{
	unsigned i = atomic_load(&t->nfiles), chunk = i / FILE_CHUNK;

	if (chunk == FILE_CHUNKS)
		return NULL;
	if (!t->files[chunk])
		t->files[chunk] = calloc(FILE_CHUNK, sizeof *t->files[chunk]);
	return t->files[chunk] ? tree_file(t, i) : NULL;
}

static int open_archive(struct tree *t, const char *path, struct tree_file *file, struct err *e)
{
	struct archive_options opt = {
		.write = t->writable, .noundo = t->noundo, .io = t->io, .io_ctx = t->io_ctx, .hold = hold, .hold_ctx = t
	};

	opt.with = archives(t) ? tree_file(t, 0)->archive : NULL;
	return archive_open(path, &opt, &file->archive, e);
}

static bool find_file(const struct tree *t, const char *path, unsigned *file)
{
	unsigned n = atomic_load(&t->nfiles);

	for (*file = 1; *file < n && strcmp(tree_file(t, *file)->path, path); ++*file)
		;
	return *file < n;
}

/* The next file; with the lock for that held. */
static int open_next(struct tree *t, const char *path, unsigned file)
{
	struct tree_file *fresh = file < TREE_ARCHIVES ? tree_file_new(t) : NULL;
	char *own = fresh ? strdup(path) : NULL;
	int rc = own && strcmp(path, t->path) ? open_archive(t, path, fresh, NULL) : -ENOENT;

	if (rc) {
		free(own);
		return rc;
	}
	fresh->path = own;
	fresh->mtime = file_time(t, file);
	atomic_store(&t->nfiles, file + 1);
	return 0;
}

int tree_file_at(struct tree *t, const char *path, unsigned *file)
{
	int rc;

	if (find_file(t, path, file))
		return 0;
	pthread_mutex_lock(&t->opening);
	rc = find_file(t, path, file) ? 0 : open_next(t, path, *file);
	pthread_mutex_unlock(&t->opening);
	return rc;
}

int tree_file_beside(struct tree *t, const char *ext, unsigned *file)
{
	char *path = path_beside(t, ext);
	int rc = path ? tree_file_at(t, path, file) : -ENOENT;

	free(path);
	return rc;
}

struct lying { struct tree *t; size_t ndir; const char *path; unsigned file; };

/* A link to a file elsewhere is no member: what belongs together lies together. */
static int is_member(void *ctx, const char *name)
{
	struct lying *b = ctx;
	struct stat st;
	char *path;
	bool is;

	if (asprintf(&path, "%.*s%s", (int)b->ndir, b->path, name) < 0)
		return 0;
	is = !lstat(path, &st) && S_ISREG(st.st_mode) && !tree_file_at(b->t, path, &b->file);
	free(path);
	return is;
}

int tree_member_file(struct tree *t, const char *path, const struct format *f, unsigned k, unsigned *file)
{
	const char *name = strrchr(path, '/') + 1;
	struct lying b = { t, (size_t)(name - path), path, 0 };

	if (!member_owner(f, name) || !member_spell(name, f->members[k].ext, is_member, &b))
		return -ENOENT;
	*file = b.file;
	return 0;
}

bool tree_is_file(const struct tree *t, const struct unit *u)
{
	return !u->id || u->file != unit_at(t, u->parent)->file;
}

/* Why no format took the file: what the one says whose extension it has, else one that tells, else the first that says
 * anything. Of a file that something leads to, the extension says little. */
static void why_unknown(struct probe *p, struct err *e)
{
	struct err why, first = { 0 };
	const char *dot = strrchr(p->name, '.');

	format_tells(p, &first);
	p->why = &why;
	for (const struct format *const *f = formats; *f && !(p->lead && first.code); f++) {
		why = (struct err){ 0 };
		if (!(*f)->probe || (*f)->searches || (*f)->probe(p) || !why.code)
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

/* A file that is no unit yet. */
struct peek { struct surroundings around; struct tree *t; const char *path; const struct format *f; };

static struct source *peek_member(const struct surroundings *s, unsigned k, struct err *e)
{
	const struct peek *p = (const struct peek *)s;
	unsigned file;

	(void)e;
	if (tree_member_file(p->t, p->path, p->f, k, &file))
		return NULL;
	if (!atomic_load(&p->t->nunits))
		begin_alone(p->t, file);
	return src_ref(tree_file_source(tree_file(p->t, file)));
}

const struct format *tree_recognise(struct tree *t, struct source *src, const char *path, struct finding **finding,
				    struct err *e)
{
	uint8_t room[PROBE_MOST];
	struct err why = { 0 }, instead = { 0 };
	struct probe p = {
		.name = strrchr(path, '/') + 1, .size = src->size, .src = src, .room = room,
		.search = finding ? t->search : SEARCH_NOT, .whole = true, .instead = &instead,
		.lead = finding ? t->lead : NULL,
		.thorough = t->thorough,
	};
	const struct format *f = format_detect(&p, &why);

	if (finding)
		*finding = p.finding;
	if (why.code)
		err_set(e, why.code, "%s", why.text);
	else if (!format_opens(f) && instead.code)
		err_set(e, EINVAL, "no format modelfs knows: %s", instead.text);
	else if (!format_opens(f))
		why_unknown(&p, e);
	else if (format_refuses(f, src, &(struct peek){ { .member = peek_member, .lead = p.lead }, t, path, f }.around,
				e))
		return NULL;
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
		src = archive_source(tree_file(t, file)->archive);
		if (tree_recognise(t, src, t->path, NULL, NULL) != *f)
			continue;
		rc = unit_new(t, *f, src, 0, 0, hash_name(root->hash, (*f)->ext), &mate, e);
		if (!rc) {
			mate->file = file;
			tree_file(t, file)->unit = mate->id;
			root->mate[(*f)->role] = mate->id;
		}
	}
	return rc;
}

static int open_root(struct tree *t, const struct tree_options *opt, struct err *e)
{
	struct unit *root;
	const struct format *f;
	struct tree_file *file = tree_file_new(t);
	struct finding *finding = NULL;
	struct source *src;
	int rc = file ? open_archive(t, t->path, file, e) : err_nomem(e);

	if (rc)
		return rc;
	atomic_store(&t->nfiles, 1);
	tree_file(t, 0)->mtime = file_time(t, 0);
	t->writable = archive_writable(tree_file(t, 0)->archive, NULL);
	if (opt->names) {
		rc = names_read(opt->names, &t->names, e);
		if (rc)
			return rc;
	}
	begin_alone(t, 0);
	src = archive_source(tree_file(t, 0)->archive);
	f = tree_recognise(t, src, t->path, &finding, e);
	rc = f ? unit_new(t, f, src, 0, 0, hash_name(0, ""), &root, e) : -EINVAL;
	if (rc)
		finding_put(finding);
	else
		root->around.finding = finding;
	if (!rc && f->role == ROLE_MODEL)
		rc = find_companions(t, root, e);
	return rc;
}

/* Who saves must not wait for ever because there is always somebody who reads. */
static void init_locks(struct tree *t)
{
	pthread_rwlockattr_t attr;

	pthread_mutex_init(&t->commit, NULL);
	pthread_mutex_init(&t->opening, NULL);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->filled, NULL);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&t->state, &attr);
	pthread_rwlockattr_destroy(&attr);
}

/* path becomes that of the file that is meant. */
static int follow(struct tree *t, struct err *e)
{
	struct lead lead;
	char *to, *real;
	int rc = lead_follow(t->path, &to, &lead, &t->lead_arena, e);

	if (rc || !to)
		return rc;
	real = realpath(to, NULL);
	free(to);
	t->lead = malloc(sizeof *t->lead);
	if (!real || !t->lead) {
		free(real);
		return err_nomem(e);
	}
	*t->lead = lead;
	free(t->path);
	t->path = real;
	return 0;
}

static int open_source(struct tree *t, const struct tree_options *opt, struct err *e)
{
	struct err why = { 0 };
	struct stat st;
	int rc = 0;
	bool folder = !stat(t->path, &st) && S_ISDIR(st.st_mode);

	if (!folder)
		rc = follow(t, e);
	t->name = strrchr(t->path, '/') + 1;
	rc = rc ? rc : folder ? folder_open(t, hold, &why) : open_root(t, opt, &why);
	if (why.code && t->lead)
		err_set(e, why.code, "it leads to %.60s: %.170s", t->lead->name, why.text);
	else if (why.code && e)
		*e = why;
	return rc;
}

int tree_open(const char *path, const struct tree_options *opt, struct tree **out, struct err *e)
{
	struct tree *t = calloc(1, sizeof *t);
	int rc;

	if (!t)
		return err_nomem(e);
	init_locks(t);
	unpack_init(t);
	t->slow = opt->slow;
	t->writable = opt->write;
	t->noundo = opt->noundo;
	t->grow = opt->grow;
	t->thorough = opt->thorough;
	t->search = opt->carve ? SEARCH_ALL : SEARCH_NAMED;
	t->timing = opt->timing;
	t->io = opt->io;
	t->io_ctx = opt->io_ctx;
	t->path = realpath(path, NULL);
	t->cache = t->path ? cache_new(opt->cache, opt->slow) : NULL;
	if (!t->cache) {
		rc = t->path ? err_nomem(e) : err_set(e, errno, "%s", strerror(errno));
		tree_close(t);
		return rc;
	}
	rc = open_source(t, opt, e);
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
	unit_empty(u);
	src_put(u->src);
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
	folder_close(t);
	for (unsigned i = 0; i < t->nfiles; i++) {
		if (tree_file(t, i)->archive)
			archive_close(tree_file(t, i)->archive);
		free(tree_file(t, i)->path);
	}
	for (unsigned i = 0; i < FILE_CHUNKS && t->files[i]; i++)
		free(t->files[i]);
	while (t->times) {
		struct kid_time *next = t->times->next;

		free(t->times);
		t->times = next;
	}
	buf_free(&t->found);
	buf_free(&t->found_open);
	names_free(t->names);
	arena_free(&t->lead_arena);
	free(t->lead);
	free(t->path);
	pthread_mutex_destroy(&t->commit);
	pthread_mutex_destroy(&t->opening);
	pthread_mutex_destroy(&t->lock);
	pthread_rwlock_destroy(&t->state);
	pthread_cond_destroy(&t->filled);
	free(t);
}

const char *tree_path(const struct tree *t)
{
	return t->path;
}

bool tree_is_folder(const struct tree *t)
{
	return t->folder;
}

int tree_fd(const struct tree *t)
{
	return t->folder ? t->folder->hosts.fd : archive_fd(tree_file(t, 0)->archive);
}

bool tree_writable(const struct tree *t, const char **why)
{
	return t->folder ? fileset_writable(t->folder->set, why) : archive_writable(tree_file(t, 0)->archive, why);
}

bool tree_file_writable(const struct tree *t, const struct tree_file *f)
{
	return f->archive ? archive_writable(f->archive, NULL) : fileset_writable(t->folder->set, NULL);
}

bool tree_is_shared(const struct tree *t)
{
	return atomic_load_explicit(&t->shared, memory_order_relaxed);
}

void tree_tidy(struct tree *t)
{
	if (!t->writable || pthread_mutex_trylock(&t->commit))
		return;
	for (unsigned i = 0; i < archives(t); i++)
		archive_tidy(tree_file(t, i)->archive);
	if (t->folder)
		fileset_tidy(t->folder->set);
	pthread_mutex_unlock(&t->commit);
}

/* ---- entering ---- */

/* Whether what is known of the files is still true. What cannot be locked is read all the same: then there is no
 * writer, or none that can be told of. */
static bool begin_reading(struct tree *t)
{
	unsigned n = archives(t);
	bool changed = false;

	if (t->folder)
		in_folder = !fileset_read_begin(t->folder->set, &changed, NULL);
	for (unsigned i = 0; i < n && !changed; i++)
		if (!archive_read_begin(tree_file(t, i)->archive, &changed, NULL))
			set_inside(i);
	return !changed;
}

/* All files are what they are now before the first unit looks at one. */
static void refresh_archives(struct tree *t, struct buf *ids)
{
	bool is_new[TREE_ARCHIVES] = { 0 };

	for (unsigned i = 0; i < archives(t); i++) {
		is_new[i] = !archive_refresh(tree_file(t, i)->archive, NULL);
		if (is_new[i])
			tree_renew(t, i);
	}
	for (unsigned i = 0; i < archives(t); i++)
		if (is_new[i])
			tree_refresh(t, i, NULL, ids);
}

static void refresh_all(struct tree *t)
{
	struct buf ids = { 0 };

	pthread_rwlock_wrlock(&t->state);
	atomic_store(&t->shared, true);
	if (t->folder && !fileset_refresh(t->folder->set, NULL))
		folder_freshen_all(t, &ids);
	refresh_archives(t, &ids);
	tree_found(t, &ids);
	pthread_rwlock_unlock(&t->state);
}

/* Files of a folder that somebody has found changed. */
static void freshen(struct tree *t)
{
	struct buf ids = { 0 };

	if (t->slow)
		t->slow();
	pthread_mutex_lock(&t->commit);
	pthread_rwlock_wrlock(&t->state);
	folder_freshen(t, &ids);
	tree_found(t, &ids);
	pthread_rwlock_unlock(&t->state);
	pthread_mutex_unlock(&t->commit);
}

void tree_enter(struct tree *t)
{
	while (folder_is_suspicious(t))
		freshen(t);
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
	return (struct tree_counts){
		.rendered = atomic_load(&t->rendered), .unpacked = atomic_load(&t->unpacked),
		.units = atomic_load(&t->nunits),
	};
}

void tree_warm(struct tree *t)
{
	if (t->folder)
		return;
	for (unsigned i = 0; i < archives(t); i++)
		begin_alone(t, i);
	unit_fill(t, unit_at(t, 0), NULL);
	end_alone(t);
}

int64_t tree_kid_mtime(const struct tree *t, const struct unit *u, uint32_t kid)
{
	int64_t time = u->times && kid < u->nkids ? u->times[kid] : ENTRY_NO_TIME;

	return time != ENTRY_NO_TIME && time >= YEAR_1980 * SECOND ? time : tree_mtime(t, u);
}

int64_t tree_mtime(const struct tree *t, const struct unit *u)
{
	return tree_is_file(t, u) ? tree_file(t, u->file)->mtime : tree_kid_mtime(t, unit_at(t, u->parent), u->index);
}
