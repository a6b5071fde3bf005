#include "kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "unit.h"

#include <fcntl.h>

#define KINDS_FIRST 1024u
#define KINDS_MOST (1u << 21)                  /* slots, half of them used at most; then it is begun anew */
#define SHORTEST 4u                            /* bytes a file has that a format could know */
#define YOUNG_NS 20000000                      /* clocks of file systems tick that slowly */

/* ---- stamps ---- */

void see(struct seen *s, const struct stat *st)
{
	*s = (struct seen){
		.dev = st->st_dev, .ino = st->st_ino, .size = st->st_size, .mtime = ns_of(&st->st_mtim),
		.ctime = ns_of(&st->st_ctim), .mode = st->st_mode, .uid = st->st_uid, .gid = st->st_gid,
	};
}

struct stat seen_stat(const struct seen *s)
{
	return (struct stat){
		.st_dev = s->dev, .st_ino = s->ino, .st_size = s->size, .st_mode = s->mode, .st_uid = s->uid,
		.st_gid = s->gid, .st_mtim = timespec_of(s->mtime), .st_ctim = timespec_of(s->ctime),
	};
}

bool same_seen(const struct seen *a, const struct seen *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->size == b->size && a->mtime == b->mtime &&
	       a->ctime == b->ctime;
}

bool is_young(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return ns_of(&now) - ns_of(&st->st_ctim) < YOUNG_NS;
}

/* ---- memory ---- */

/* A slot is a hash of name and stamp, whose low bits give way to the kind; 0: unused. */
enum { KIND_PLAIN = 1, KIND_FIRST };           /* then formats[], in order */
#define KIND_MASK 0xffu

void kinds_init(struct kinds *k)
{
	*k = (struct kinds){ 0 };
	pthread_mutex_init(&k->lock, NULL);
	if (getrandom(&k->seed, sizeof k->seed, GRND_NONBLOCK) != sizeof k->seed)
		k->seed = (uint64_t)time(NULL);
}

void kinds_free(struct kinds *k)
{
	free(k->v);
	free(k->spelt);
	for (unsigned i = 0; i < FINDINGS; i++)
		finding_put(k->found[i].finding);
	pthread_mutex_destroy(&k->lock);
}

static uint64_t add(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

static uint64_t add_name(uint64_t h, const char *name)
{
	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3u;
	return h;
}

static uint64_t stamp_hash(const struct kinds *k, const char *name, const struct stat *st)
{
	uint64_t h = add(add(k->seed, st->st_ino), st->st_dev);

	h = add(add(h, (uint64_t)st->st_size), (uint64_t)ns_of(&st->st_mtim));
	h = add(h, (uint64_t)ns_of(&st->st_ctim));
	return add(add_name(h, name), k->seed) & ~(uint64_t)KIND_MASK;
}

/* The slot of a hash, or the unused one where it belongs. */
static uint64_t *slot_of(const struct kinds *k, uint64_t hash)
{
	size_t i = (size_t)(hash >> 8) & (k->size - 1);

	while (k->v[i] && (k->v[i] & ~(uint64_t)KIND_MASK) != hash)
		i = (i + 1) & (k->size - 1);
	return &k->v[i];
}

/* Room for one more; what does not fit is forgotten, all of it. */
static bool make_room(struct kinds *k)
{
	struct kinds old = *k;

	if (k->n < k->size / 2)
		return true;
	if (k->size == KINDS_MOST) {
		memset(k->v, 0, k->size * sizeof *k->v);
		k->n = 0;
		return true;
	}
	k->size = k->size ? k->size * 2 : KINDS_FIRST;
	k->v = calloc(k->size, sizeof *k->v);
	if (!k->v) {
		k->v = old.v;
		k->size = old.size;
		return false;
	}
	for (size_t i = 0; i < old.size; i++)
		if (old.v[i])
			*slot_of(k, old.v[i] & ~(uint64_t)KIND_MASK) = old.v[i];
	free(old.v);
	return true;
}

static const struct format *format_of(uint64_t kind)
{
	return kind < KIND_FIRST ? NULL : formats[kind - KIND_FIRST];
}

static uint64_t kind_of(const struct format *f)
{
	uint64_t kind = KIND_FIRST;

	if (!f)
		return KIND_PLAIN;
	while (formats[kind - KIND_FIRST] != f)
		kind++;
	return kind;
}

static bool recall(struct kinds *k, uint64_t hash, const struct format **out)
{
	uint64_t slot;

	pthread_mutex_lock(&k->lock);
	slot = k->size ? *slot_of(k, hash) : 0;
	pthread_mutex_unlock(&k->lock);
	*out = format_of(slot & KIND_MASK);
	return slot;
}

static void remember(struct kinds *k, uint64_t hash, const struct format *f)
{
	uint64_t *slot;

	pthread_mutex_lock(&k->lock);
	if (make_room(k)) {
		slot = slot_of(k, hash);
		k->n += !*slot;
		*slot = hash | (kind_of(f) & KIND_MASK);
	}
	pthread_mutex_unlock(&k->lock);
}

/* Takes the reference. */
static void keep_finding(struct kinds *k, uint64_t hash, struct finding *finding)
{
	struct finding *was;
	unsigned i;

	if (!finding)
		return;
	pthread_mutex_lock(&k->lock);
	i = k->nfound++ % FINDINGS;
	was = k->found[i].finding;
	k->found[i].hash = hash;
	k->found[i].finding = finding;
	pthread_mutex_unlock(&k->lock);
	finding_put(was);
}

struct finding *kinds_finding(struct kinds *k, const char *name, const struct stat *st)
{
	uint64_t hash = stamp_hash(k, name, st);
	struct finding *out = NULL;

	pthread_mutex_lock(&k->lock);
	for (unsigned i = 0; i < FINDINGS && !out; i++)
		if (k->found[i].hash == hash)
			out = finding_ref(k->found[i].finding);
	pthread_mutex_unlock(&k->lock);
	return out;
}

/* ---- members ---- */

struct seeking { const struct in_dir *in; struct beside *out; bool busy; };    /* busy: one is being written */

/* A name that is not there is the usual answer, so that is asked for in the cheapest way. */
static int is_there(void *ctx, const char *name)
{
	struct seeking *s = ctx;
	int fd;

	if (s->in->names ? !nameset_has(s->in->names, name) :
			   fstatat(s->in->fd, name, &s->out->st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s->out->st.st_mode))
		return 0;
	fd = host_look(s->in->fd, name, &s->out->st);
	if (fd < 0)
		return 0;
	close(fd);
	if (!S_ISREG(s->out->st.st_mode))
		return 0;
	if (host_is_written(s->in->hosts, s->in->dir, name)) {
		s->busy = true;
		return 0;
	}
	strcpy(s->out->name, name);
	return 1;
}

/* ---- how members are spelt ---- */

/* Which names a file's members have, in a directory that is as it was: so nobody has to try all spellings each time. */
struct spelt { uint64_t key, dir; uint8_t letters[MEMBERS_MOST]; };    /* bit by bit: it is a small one */
#define SPELT_MOST 4096u
#define SPELT_NONE 0xffu
#define SPELT_MANY 0xfeu

_Static_assert(MEMBER_EXT_MOST < 8, "a spelling fits in a byte");

uint64_t kinds_dir_stamp(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || is_young(&st))
		return 0;
	return ((uint64_t)ns_of(&st.st_ctim) ^ (uint64_t)st.st_ino << 32 ^ (uint64_t)st.st_dev << 20) | 1;
}

static uint64_t spelt_key(const struct kinds *k, const char *owner, const struct format *f)
{
	return add(add_name(add(k->seed, (uintptr_t)f), owner), k->seed) | 1;
}

static bool recall_spelt(struct kinds *k, struct spelt *s)
{
	bool known;

	pthread_mutex_lock(&k->lock);
	known = k->spelt && k->spelt[s->key >> 8 & (SPELT_MOST - 1)].key == s->key &&
		k->spelt[s->key >> 8 & (SPELT_MOST - 1)].dir == s->dir;
	if (known)
		*s = k->spelt[s->key >> 8 & (SPELT_MOST - 1)];
	pthread_mutex_unlock(&k->lock);
	return known;
}

static void remember_spelt(struct kinds *k, const struct spelt *s)
{
	pthread_mutex_lock(&k->lock);
	if (!k->spelt)
		k->spelt = calloc(SPELT_MOST, sizeof *k->spelt);
	if (k->spelt)
		k->spelt[s->key >> 8 & (SPELT_MOST - 1)] = *s;
	pthread_mutex_unlock(&k->lock);
}

/* letters SPELT_MANY: by any spelling. */
static bool find_spelt(const struct in_dir *in, const char *owner, const char *ext, unsigned letters,
		       struct beside *out, bool *busy)
{
	struct seeking s = { in, out, false };
	bool there = letters == SPELT_MANY ? member_spell(owner, ext, is_there, &s) :
		     letters != SPELT_NONE && member_spell_one(owner, ext, letters, is_there, &s);

	*busy |= s.busy;
	return there;
}

void kinds_members(struct kinds *k, const struct in_dir *in, const char *owner, const struct format *f,
		   struct beside member[MEMBERS_MOST], bool there[MEMBERS_MOST])
{
	struct spelt s = { .dir = in->names ? 0 : kinds_dir_stamp(in->fd), .key = spelt_key(k, owner, f) };
	bool known = s.dir && recall_spelt(k, &s), busy = false;

	for (unsigned i = 0; i < f->nmembers; i++) {
		const char *ext = f->members[i].ext;

		there[i] = known && find_spelt(in, owner, ext, s.letters[i], &member[i], &busy);
		if (!known || (!there[i] && s.letters[i] != SPELT_NONE))
			there[i] = member_owner(f, owner) &&
				   find_spelt(in, owner, ext, SPELT_MANY, &member[i], &busy);
		s.letters[i] = there[i] ? (uint8_t)member_spelling(member[i].name) : SPELT_NONE;
	}
	if (s.dir && !known && !busy)
		remember_spelt(k, &s);
}

/* ---- models ---- */

/* A file of a format with members, as those are just now. */
struct model {
	struct surroundings around;            /* first */
	struct kinds *kinds;
	const struct in_dir *in;
	bool there[MEMBERS_MOST];
	struct beside member[MEMBERS_MOST];
	bool unsure;                           /* some of it may be something else already, or soon */
};

/* Takes `file`, gives what it is to be read as. */
static struct source *read_through(struct kinds *k, const struct in_dir *in, const char *name, struct source *file,
				   bool *unsure)
{
	struct source *out;

	if (!k->through || k->through(k->ctx, in, name, file, &out))
		return file;
	*unsure |= out != file;
	src_put(file);
	return out;
}

static struct source *open_member(const struct surroundings *s, unsigned k, struct err *e)
{
	struct model *m = (struct model *)(uintptr_t)s;
	struct source *src = NULL;
	struct stat now;
	int fd;

	if (!m->there[k])
		return NULL;
	fd = beneath_open(m->in->fd, m->member[k].name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	if (fd < 0) {
		err_set(e, -fd, "%s: %s", m->member[k].name, strerror(-fd));
		return NULL;
	}
	m->unsure |= fstat(fd, &now) || now.st_ino != m->member[k].st.st_ino ||
		     ns_of(&now.st_ctim) != ns_of(&m->member[k].st.st_ctim) || is_young(&now);
	return src_fd(fd, &src, e) ? NULL : read_through(m->kinds, m->in, m->member[k].name, src, &m->unsure);
}

static void find_members(struct kinds *k, struct model *m, const struct in_dir *in, const char *name,
			 const struct format *f)
{
	m->around = (struct surroundings){ .member = open_member };
	m->kinds = k;
	m->in = in;
	m->unsure = false;
	kinds_members(k, in, name, f, m->member, m->there);
}

/* What is remembered of a file with members is remembered of it with these. */
static uint64_t model_hash(const struct kinds *k, const struct model *m, const struct format *f, uint64_t own)
{
	uint64_t h = own;

	for (unsigned i = 0; i < f->nmembers; i++)
		h = add(h, m->there[i] ? stamp_hash(k, m->member[i].name, &m->member[i].st) : i);
	return add(h, k->seed) & ~(uint64_t)KIND_MASK;
}

/* ---- looking ---- */

/* A file that is looked at and closed again: on the stack, and without a mapping. */
struct open_source { struct source s; int fd; };

static int open_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	return src_fd_read(((const struct open_source *)s)->fd, buf, n, at);
}

static const struct source_ops open_ops = { .pread = open_pread };

/* What would open it. */
static int detect(struct kinds *k, struct source *src, const char *name, uint64_t hash, bool *later,
		  const struct format **out, struct err *other)
{
	uint8_t room[PROBE_MOST];
	struct err why = { 0 }, instead = { 0 };
	struct probe p = {
		.name = name, .size = src->size, .src = src, .room = room,
		.search = later ? SEARCH_NOT : k->search, .instead = other ? &instead : NULL,
		.thorough = other,
	};
	const struct format *f = format_detect(&p, &why);

	keep_finding(k, hash, p.finding);
	if (later)
		*later = !f && (p.unsearched || k->search == SEARCH_ALL);
	if (!why.code && !f && other)
		format_tells(&p, other);
	if (other && !other->code && instead.code)
		*other = instead;
	*out = format_opens(f) ? f : NULL;
	return -why.code;
}

/* Whether a strict format takes it. An error: nobody knows. */
static int judge(const struct format **f, struct source *src, const struct surroundings *around, struct err *refused)
{
	struct err why = { 0 };
	int rc = format_refuses(*f, src, around, &why);

	if (rc)
		*f = NULL;
	if (rc && refused)
		*refused = why;
	return rc == -EBADMSG ? 0 : rc;
}

static const struct format *look(struct kinds *k, const struct in_dir *in, int fd, const char *name,
				 const struct stat *st, bool *later, struct err *refused, struct err *other)
{
	struct open_source file = { .s = { .ops = &open_ops, .size = (uint64_t)st->st_size }, .fd = fd };
	uint64_t hash = stamp_hash(k, name, st);
	bool unsure = is_young(st);
	const struct format *f, *of;
	struct source *src;
	struct model m;
	int rc;

	atomic_init(&file.s.refs, 2);          /* one stays: it is on the stack */
	src = read_through(k, in, name, &file.s, &unsure);
	rc = detect(k, src, name, hash, later, &f, other);
	of = f;
	unsure |= later && *later;
	if (!rc && f && f->nmembers) {
		if (!unsure)
			remember(k, hash, f);
		find_members(k, &m, in, name, f);
		rc = judge(&f, src, &m.around, refused);
		hash = model_hash(k, &m, of, hash);
		unsure |= m.unsure;
	} else if (!rc && f) {
		rc = judge(&f, src, NULL, refused);
	}
	if (!rc && !unsure)
		remember(k, hash, f);
	src_put(src);
	return f;
}

/* Who owns the file need not have its access time written; others may not ask for that. */
static int open_to_look(int dirfd, const char *name, const struct stat *st)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW, fd;
	uid_t self = geteuid();

	fd = beneath_open(dirfd, name, flags | (!self || self == st->st_uid ? O_NOATIME : 0), 0);
	return fd == -EPERM ? beneath_open(dirfd, name, flags, 0) : fd;
}

static const struct format *look_again(struct kinds *k, const struct in_dir *in, const char *name,
				       const struct stat *st, bool *later, struct err *refused, struct err *other)
{
	const struct format *f = NULL;
	struct stat now;
	int fd = open_to_look(in->fd, name, st);

	if (fd < 0)
		return NULL;
	/* It may be another file by now, even one that is no regular file; and what could not be read may be readable
	 * the next time. */
	if (!fstat(fd, &now) && S_ISREG(now.st_mode))
		f = look(k, in, fd, name, &now, later, refused, other);
	close(fd);
	return f;
}

const struct format *kinds_look(struct kinds *k, const struct in_dir *in, const char *name, const struct stat *st,
				struct err *refused, struct err *other)
{
	return look_again(k, in, name, st, NULL, refused, other);
}

const struct format *kinds_find(struct kinds *k, const struct in_dir *in, const char *name, const struct stat *st,
				bool *later, struct err *refused)
{
	const struct format *f = NULL, *judged;
	uint64_t hash;
	struct model m;

	if (later)
		*later = false;
	if ((uint64_t)st->st_size < SHORTEST)
		return NULL;
	hash = stamp_hash(k, name, st);
	if (recall(k, hash, &f)) {
		if (!f || !f->nmembers)
			return f;
		find_members(k, &m, in, name, f);
		if (recall(k, model_hash(k, &m, f, hash), &judged))
			return judged;
	}
	return look_again(k, in, name, st, later, refused, NULL);
}
