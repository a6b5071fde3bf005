/* Inside the tree: units, entries, leaves. For the files of the tree itself, and for commands that go unit by unit. */
#ifndef MODELFS_UNIT_H
#define MODELFS_UNIT_H

#include <dirent.h>
#include <limits.h>
#include <pthread.h>

#include "archive.h"
#include "kinds.h"
#include "stored.h"
#include "store.h"
#include "tree.h"

/* One entry of a container. */
struct kid {
	struct entry entry;                    /* first: plan_in_entries() */
	const struct format *format;           /* NULL: a plain file; once it is known */
	const char *ext;
	/* What it is has been found out. Where entries have stored names that waits until somebody looks at it. */
	_Atomic bool known;
	uint32_t unit;                         /* 0 while it has none; of a plain file: somebody asked for it by name */
	uint32_t gen;                          /* grows when its bytes change */
	bool bare;                             /* stored without the cipher, which its first bytes alone tell */
	_Atomic uint8_t shown;                 /* kid_hidden() */
};

enum leaf_kind {
	LEAF_DIR,                              /* arg: enum leaf_dir; index: its first child */
	LEAF_SECTION_YAML,                     /* arg: section */
	LEAF_DOC,                              /* arg: enum doc_kind; index: mesh, image, clip */
	LEAF_OBJ, LEAF_MTL, LEAF_WEIGHTS,      /* index: mesh, or MESH_WHOLE */
	LEAF_PNG,                              /* index: image */
	LEAF_GLB,                              /* arg: enum glb_what; index: clip */
	LEAF_PREVIEW,
	LEAF_FILE,                             /* arg: k of format->own, bytes; index: of the part */
	LEAF_WHOLE,                            /* arg: part of the object */
	LEAF_SECTION_RAW,                      /* arg: section */
	LEAF_PIECE,                            /* index: in unit->pieces */
	LEAF_ERRORS
};
enum glb_what { GLB_MODEL, GLB_CLIP, GLB_ALL };
/* A unit has at most one directory of each kind, but for folders in raw/, which are LEAF_DIR_PIECES. Numbers of these
 * count on, as do those of folders of stored names: DIR_FOLDER and the folder's number. No unit has both. */
enum leaf_dir {
	LEAF_TOP, LEAF_DIR_MESHES, LEAF_DIR_TEXTURES, LEAF_DIR_ANIMATIONS, LEAF_DIR_CLIPS, LEAF_DIR_RAW, LEAF_DIR_PIECES
};
#define DIR_FOLDER 8u

#define SIZE_UNKNOWN 0u
#define SIZE_FAILED 0xffffffffu                /* cannot be made: shown as empty, EIO when opened */

struct leaf {
	uint32_t index;
	_Atomic uint32_t size;                 /* bytes + 1, or SIZE_UNKNOWN, SIZE_FAILED */
	uint8_t dir;                           /* enum leaf_dir; the leaves of a directory follow each other */
	/* role: where the contents come from; 0 the unit itself, else the companion of that role, or LEAF_LINKED. */
	uint8_t kind : 5, role : 3;
	uint8_t arg;
};

/* As the role of a leaf: it shows a picture that lies in another file, unit->pictures. */
#define LEAF_LINKED 7u

/* Whether it shows bytes of the archive as they are. */
static inline bool leaf_is_bytes(const struct leaf *l)
{
	return l->kind == LEAF_WHOLE || l->kind == LEAF_SECTION_RAW || l->kind == LEAF_PIECE || l->kind == LEAF_FILE;
}

/* A piece, or a folder of pieces. */
static inline bool leaf_is_piece(const struct leaf *l)
{
	return l->kind == LEAF_PIECE || (l->kind == LEAF_DIR && l->arg == LEAF_DIR_PIECES);
}

/* Picture `number` of a model is `image` of another unit. */
struct picture { uint32_t number, unit, image; };

/* Bytes of the object that no section is: a chunk, or what nothing claims. */
struct piece {
	uint64_t at, size;
	uint32_t name;                         /* in text: that of a chunk, with its folder */
	uint32_t folder;                       /* from 1; 0: it lies in raw/ itself */
	uint8_t part;
};
struct pieces {
	struct piece *v;
	char *text;
	uint32_t *folder;                      /* leaf of each folder */
	uint32_t *slot, mask;                  /* leaves + 1 by hash of their names; NULL: they are few */
	uint32_t n, nfolders;
};

/* A line of errors.txt. */
struct note {
	struct note *next;
	uint32_t about;                        /* local whose refused text it is about; 0: damage of the archive */
	char text[];
};
#define NOTES_MOST 500u                        /* lines; then one that says there is more */

enum unit_state { UNIT_EMPTY, UNIT_BUSY, UNIT_READY };

struct unit {
	struct surroundings around;            /* first: a format's look behind leads back to the unit */
	struct tree *tree;
	const struct format *format;
	const struct variant *variant;         /* once READY */
	struct source *src;
	uint64_t hash;                         /* of the path */
	uint32_t id, parent, index;            /* index: entry number in the parent */
	uint32_t nkids, nleaves;               /* once READY */
	struct kid *kids;
	struct stored *stored;                 /* names of the kids, and folders they lie in; NULL: they have none */
	/* Of a container whose entries say so; in `kept`, as is what the kids' own entries refer to. */
	const int64_t *times;                  /* of the kids; NULL: none says any */
	const char *const *why;                /* why a kid is fixed or lost */
	struct arena kept;
	struct leaf *leaves;
	struct pieces pieces;
	uint32_t *number;                      /* of local i + 1, in node_id(); NULL: the locals themselves */
	uint32_t numbers;                      /* the highest one given so far, once there are any */
	const struct entry (*handed)[MEMBERS_MOST];    /* members of the kids; NULL: they are kids */
	uint32_t mate[ROLE_COUNT];             /* companions' units; 0: none */
	uint32_t member[MEMBERS_MOST];         /* units of its members, once READY; 0: none */
	/* Once READY: */
	uint32_t *links, nlinks;               /* units that the object found by name; 0: it found none */
	struct picture *pictures;              /* by number */
	uint32_t npictures, nclips;
	char (*clip_name)[PART_NAME_MAX];      /* of nclips, in place of their numbers; NULL: none have names */
	uint32_t all_clip, all_suffix;         /* the clip called "all": its GLB is all~SUFFIX.glb; 0: there is none */
	struct note *notes;                    /* under tree->lock */
	_Atomic uint32_t gen;                  /* grows whenever what the unit shows may have changed */
	_Atomic int64_t mtime;                 /* of the last change, nanoseconds since 1970; 0: the archive's */
	_Atomic uint8_t state;
	_Atomic bool checked;                  /* unit_check() has been through */
	uint8_t depth;
	unsigned file;                         /* of the tree, that its bytes lie in */
	bool touched;                          /* by the commit whose refresh is under way */
	_Atomic bool dead;                     /* its entry is something else now */
	bool counted;                          /* kids_count() */
};

/* Locals: 0 the unit itself, then its kids, the folders of its stored names, its leaves. */
static inline uint32_t unit_folders(const struct unit *u)
{
	return u->stored ? u->stored->ndirs - 1 : 0;
}

static inline uint32_t unit_first_leaf(const struct unit *u)
{
	return u->nkids + unit_folders(u) + 1;
}

static inline uint32_t unit_locals(const struct unit *u)
{
	return u->nkids + unit_folders(u) + u->nleaves;
}

/* The kid, folder or leaf a local is; none of them for the unit's own directory. */
static inline struct kid *node_kid(struct node n)
{
	return n.local && n.local <= n.unit->nkids ? &n.unit->kids[n.local - 1] : NULL;
}

/* Its number in unit->stored; 0: it is no folder. */
static inline uint32_t node_folder(struct node n)
{
	return n.local > n.unit->nkids && n.local < unit_first_leaf(n.unit) ? n.local - n.unit->nkids : 0;
}

static inline struct leaf *node_leaf(struct node n)
{
	uint32_t first = unit_first_leaf(n.unit);

	return n.local >= first ? &n.unit->leaves[n.local - first] : NULL;
}

/* Whether it is a file of a container that is a file system. */
static inline bool node_is_file(struct node n)
{
	return n.unit && !n.scratch && node_kid(n) && n.unit->format->container->volume;
}

/* The directory that a node is. */
static inline uint32_t node_dir(struct node n)
{
	const struct leaf *l = node_leaf(n);

	if (l && l->kind == LEAF_DIR && l->arg == LEAF_DIR_PIECES)
		return DIR_FOLDER + n.unit->pieces.v[n.unit->leaves[l->index].index].folder;
	return node_folder(n) ? DIR_FOLDER + node_folder(n) : l ? l->arg : LEAF_TOP;
}

/* The directory of its unit that a leaf lies in, likewise. */
static inline uint32_t leaf_lies_in(const struct unit *u, const struct leaf *l)
{
	return l->dir == LEAF_DIR_PIECES ? DIR_FOLDER + u->pieces.v[l->index].folder : l->dir;
}

#define SECOND 1000000000ll                    /* nanoseconds */

/* Files may have times that no number of nanoseconds tells: the nearest one does. */
static inline int64_t ns_of(const struct timespec *ts)
{
	int64_t ns;

	if (!__builtin_mul_overflow((int64_t)ts->tv_sec, SECOND, &ns) &&
	    !__builtin_add_overflow(ns, ts->tv_nsec, &ns))
		return ns;
	return ts->tv_sec < 0 ? INT64_MIN : INT64_MAX;
}

static inline struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };
}

#define UNIT_CHUNK 256u
#define UNIT_CHUNKS 16384u                     /* times UNIT_CHUNK: 4M units */

/* Files on disc: SOURCE, and what lies beside a lone one. */
#define TREE_ARCHIVES 256u                     /* that are opened each by itself */
#define NO_FILE 0xffffffffu
struct tree_file {
	struct archive *archive;               /* NULL: it lies in the folder that is SOURCE */
	char *path;                            /* of a companion */
	uint32_t unit;                         /* of all of it; 0: none, or SOURCE's own */
	int64_t mtime;                         /* when it was opened, nanoseconds since 1970 */
	_Atomic uint32_t nested;               /* entries of containers in it that may be many; kids_count() */
	/* In a folder; changed while `state` is held exclusively only, but for wishes and members, which come: */
	struct spot *spot;                     /* its name */
	struct seen seen;
	struct source *src;                    /* held */
	struct wish *_Atomic wishes;           /* files that its objects asked for */
	struct kin *_Atomic kin;               /* its members */
	bool gone;                             /* it is not there, or something else that no tree shows */
	_Atomic bool unsure;                   /* written so shortly before it was seen that it may have been again */
	_Atomic bool suspect;                  /* among those that have to be looked at again */
};

#define FILE_CHUNK 256u
#define FILE_CHUNKS 4096u                      /* times FILE_CHUNK: 1M files */

/* When a plain entry was written. */
struct kid_time { struct kid_time *next; uint32_t unit, kid; int64_t time; };

/* Locks, in order: `commit` (one edit at a time), `state` (shared by every operation, exclusive while the archive and
 * what is known of it change; never taken twice), a draft's, `opening`, `lock`. */
struct tree {
	struct tree_file *files[FILE_CHUNKS];  /* tree_file(); those before nfiles stay, others under `opening` */
	_Atomic unsigned nfiles;
	char *path;
	const char *name;                      /* last part of path */
	struct lead *lead;                     /* what led to path; NULL: nothing */
	struct arena lead_arena;
	struct folder *folder;                 /* NULL: SOURCE is a file */
	struct names *names;
	struct cache *cache;
	struct keeper keeper;                  /* of what is unpacked, in the cache */
	pthread_mutex_t commit;
	pthread_rwlock_t state;
	pthread_mutex_t opening;               /* of a file beside SOURCE, which reads */
	pthread_mutex_t lock;                  /* units, states, notes, open files; not held while reading, rendering */
	pthread_cond_t filled;
	bool writable, noundo, grow;
	bool thorough;
	uint8_t search;                        /* enum searching: of files, and of entries that have names */
	struct geo_timing timing;
	const struct io_ops *io;               /* tree_options.io */
	void *io_ctx;
	_Atomic bool shared;                   /* another process changes the archive */
	bool held;                             /* `state` is, by the commit under way; under `commit` */
	struct draft *drafts;                  /* under lock */
	struct scratch *scratch;
	struct ghost *ghosts;
	uint64_t scratch_serial;
	_Atomic unsigned ndrafts, nghosts;
	_Atomic uint64_t stored;               /* bytes in stores */
	uint64_t commits;                      /* so far; under `commit` */
	struct node *saving;                   /* what is being saved, or NULL; under `commit` */
	struct kid_time *times;                /* of plain entries that were written; under lock */
	bool silent;                           /* refusals are for the caller to tell, not for the log */
	void (*progress)(uint64_t done, uint64_t all);  /* of a rewrite; NULL: nobody looks */
	_Atomic uint32_t nunits;
	_Atomic uint64_t rendered, unpacked;
	void (*slow)(void);                    /* tree_options.slow */
	struct handle *handles;                /* open ones, under lock */
	struct buf found, found_open;          /* for tree_tell_found(); under lock */
	_Atomic bool untold;                   /* there are such */
	const struct tree_watcher *watcher;    /* tree_watch() */
	void *watcher_ctx;
	struct unit *chunk[UNIT_CHUNKS];
};

/* medium.c */
/* What the unit's entries lie in: the medium of its bytes, or the bytes. */
static inline struct source *unit_inside(const struct unit *u)
{
	return u->around.medium ? u->around.medium : u->src;
}

/* Sees to it that the unit has its medium, if its format knows one: while nobody else looks at the unit. fresh, or
 * NULL: whether it is another source than before, so that those of the entries are void. */
int unit_medium(struct unit *u, bool *fresh, struct err *e);
/* Takes other bytes, and a reference. */
void unit_set_source(struct unit *u, struct source *src);
/* Whether its entry, or one that it lies in, is never written; why: the reason, or NULL. */
bool unit_is_fixed(const struct tree *t, const struct unit *u, const char **why);
void unit_drop_medium(struct unit *u);

/* unit.c */
/* Chooses the companions of all models of a container that have units. With the lock held, or `state` exclusively. */
void unit_choose_mates(struct tree *t, struct unit *u);
/* The companions of a model that is a file of a folder: they lie beside it. */
void unit_find_companions(struct tree *t, struct unit *u);
/* The animation pack behind an object that found its other part behind itself. */
void unit_find_pack_behind(struct tree *t, struct unit *u);
struct unit *unit_at(const struct tree *t, uint32_t id);
/* surroundings.called */
void unit_called(const struct unit *u, struct buf *name, uint32_t *number);
int unit_new(struct tree *t, const struct format *format, struct source *src, uint32_t parent, uint32_t index,
	     uint64_t hash, struct unit **out, struct err *e);
/* The unit of a kid, made when it has none; of a plain file too. */
int unit_of_kid(struct tree *t, struct unit *u, uint32_t i, struct unit **out, struct err *e);
/* Whether its entry, or one that it lies in, has bytes that something else has too. */
bool unit_is_shared(const struct tree *t, const struct unit *u);
/* The bytes of a kid; one reference, NULL when out of memory. peek: it is only looked at. */
struct source *kid_source(struct tree *t, const struct unit *u, uint32_t i, bool peek);
void unit_note(struct tree *t, struct unit *u, const char *text);      /* adds a line unless it is there */
/* The same, about an entry of a container. */
void unit_note_kid(struct tree *t, struct unit *u, uint32_t i, const char *text);
/* The same about a text that was refused; one line per file. */
void unit_note_refused(struct tree *t, struct unit *u, uint32_t local, const char *text);
/* Takes back the line about a local; 0: all that tell of damage. Whether there was one. */
bool unit_forget_notes(struct tree *t, struct unit *u, uint32_t local);
bool unit_has_note(struct tree *t, struct unit *u, const char *text);
void unit_empty(struct unit *u);                                       /* frees kids, leaves, gaps, links */
void unit_forget_links(struct unit *u);                                /* and names of clips */
uint64_t hash_name(uint64_t parent, const char *name);
/* The companion of that role, filled; NULL when there is none or it cannot be. */
struct unit *unit_mate(struct tree *t, struct unit *u, unsigned role);
/* Whose bytes a leaf shows, and which leaf of it that is; NULL: it is gone. */
struct unit *unit_of_leaf(struct tree *t, struct unit *u, const struct leaf *l, struct leaf *there);

/* kin.c */
/* Member k of a unit's entry; -ENOENT. Those that the container knows have no units. */
int unit_member(struct tree *t, const struct unit *u, unsigned k, struct unit **out, struct err *e);
/* A member v that a container of format f knows; one reference, NULL: there is none, or e says what failed. */
struct source *handed_source(struct source *in, const struct format *f, const struct entry *v, struct err *e);
/* Its bytes; one reference, NULL: there is none, or e says what failed. */
struct source *unit_member_source(const struct unit *u, unsigned k, struct err *e);
void unit_find_members(struct tree *t, struct unit *u);                /* unit->member */
uint64_t unit_bytes(const struct unit *u);     /* of its entry and all members */
/* Whether a kid is a member of another one, which is a directory: then it is not shown. */
bool kid_hidden(struct tree *t, struct unit *u, uint32_t i);
/* The kid that kid i is a member of by its name, whatever that is; STORED_NONE. */
uint32_t kid_owner(struct tree *t, struct unit *u, uint32_t i);
int kid_keep_handed(struct unit *u, const struct entries *v);          /* unit->handed; -ENOMEM */
/* Copies what entries refer to and say besides into unit->kept; *was: what was kept before, to be freed when it is not
 * needed any more. The entries refer to the copy then. -ENOMEM: nothing changed. */
int kid_keep(struct unit *u, struct entries *v, struct arena *was);
/* format_refuses(), of a kid. */
int kid_refused(struct tree *t, struct unit *u, uint32_t i, const struct format *f, struct source *src, struct err *e);

/* node.c */
/* When a plain entry was written; 0: not since the tree was opened. */
int64_t kid_time_get(struct tree *t, const struct unit *u, uint32_t kid);
void kid_time_set(struct tree *t, const struct unit *u, uint32_t kid, int64_t time);
bool node_is_dir(struct node n);

/* tree.c */
static inline struct tree_file *tree_file(const struct tree *t, unsigned i)
{
	return &t->files[i / FILE_CHUNK][i % FILE_CHUNK];
}

/* The path of one that lies beside SOURCE, or of SOURCE. */
static inline const char *tree_file_path(const struct tree *t, unsigned i)
{
	return i ? tree_file(t, i)->path : t->path;
}

/* Room for the file that has the next number, all zero; NULL when there is none. */
struct tree_file *tree_file_new(struct tree *t);
bool tree_file_writable(const struct tree *t, const struct tree_file *f);
/* The bytes of all of a file; borrowed. */
static inline struct source *tree_file_source(const struct tree_file *f)
{
	return f->archive ? archive_source(f->archive) : f->src;
}
/* When the unit's entry was written, as its containers say, or the file it lies in when that was opened. */
int64_t tree_mtime(const struct tree *t, const struct unit *u);
/* The same of an entry of a container. */
int64_t tree_kid_mtime(const struct tree *t, const struct unit *u, uint32_t kid);
/* The number of the file beside a lone SOURCE with this extension, opened when it is there; -ENOENT. */
int tree_file_beside(struct tree *t, const char *ext, unsigned *file);
/* The same of a path, which is what realpath() gives. */
int tree_file_at(struct tree *t, const char *path, unsigned *file);
/* The same of member k of the file at a path, which has that format. */
int tree_member_file(struct tree *t, const char *path, const struct format *f, unsigned k, unsigned *file);
/* What the bytes of a file of its own are. NULL: nothing that opens. finding: of SOURCE, where to put what a search
 * found, with one reference; NULL: nothing is searched. */
const struct format *tree_recognise(struct tree *t, struct source *src, const char *path, struct finding **finding,
				    struct err *e);

/* find.c */
/* What no format opens is shown as bytes, and found by those who know what it is. */
extern const struct format plain_format;
/* Whether a path leads down from a folder, and nowhere else: no drive, no empty part, no "..". */
bool want_is_below(const char *path);
/* The length of a name without the version that discs add. */
size_t want_bare_length(const char *name);
/* Whether a file is called so, n bytes of name, in any case and with or without the version that discs add. */
bool want_is_name(const char *have, const char *name, size_t n);
/* The first by its bytes of a directory's names that is such a name. */
bool want_in_dir(DIR *d, const char *name, size_t n, char found[NAME_MAX + 1]);
/* Where the path of the nearest folder above `path` ends that is called `name`; 0: none is. */
size_t want_root(const char *path, const char *name);
/* The folder that a file lies in; the caller's to free. */
char *want_folder(const char *path);
/* The path with another extension; the caller's to free, NULL: no memory. */
char *want_swap_ext(const char *path, const char *ext);
/* A file below a folder, as it is called or in any case; the caller's to free; NULL: it is not there. */
char *want_file(const char *dir, const char *path);
/* lead.c: where a SOURCE leads to and why, with what it needs in the arena; *out is the caller's to free, NULL: it
 * leads nowhere, and is what is meant itself. */
int lead_follow(const char *path, char **out, struct lead *lead, struct arena *a, struct err *e);
/* The unit of all of a file beside SOURCE, made when there is none. */
int unit_of_file(struct tree *t, unsigned file, struct unit **out, struct err *e);
/* A file that a unit's object asks for; -ENOENT. */
int unit_find(struct tree *t, const struct unit *u, const struct want *w, struct unit **out, struct err *e);
/* The file that has the name of a unit's file, but for the extension; -ENOENT. */
int unit_file_beside(struct tree *t, const struct unit *u, const char *ext, unsigned *file);
/* Whether a unit's entry is a file of its own. */
bool tree_is_file(const struct tree *t, const struct unit *u);

/* kids.c */
/* The entries of a container, from its table. */
int kid_list(struct tree *t, struct unit *u, struct object *o, struct err *e);
#define NESTED_MOST (1u << 18)
/* Containers that are packed into containers, or that several entries of one have, can hold more entries than anybody
 * could list, in a few kilobytes: all those in one file together may have NESTED_MOST. Counts those of a
 * unit, of which there were `was`; false: there are too many. */
bool kids_count(struct tree *t, struct unit *u, uint32_t was, uint32_t now);
/* The names that it stores; NULL when it stores none. */
int kid_names(struct unit *u, const struct entries *v, struct stored **out, struct err *e);
/* What entry i is, and its extension. room: PROBE_MOST bytes. */
int kid_probe(struct tree *t, struct unit *u, uint32_t i, uint8_t *room, struct err *e);
/* The same unless it is known; on any thread. */
int kid_know(struct tree *t, struct unit *u, uint32_t i, struct err *e);
/* What format_tells() says of an entry that no format knows. */
void kid_tells(struct tree *t, struct unit *u, uint32_t i, struct err *e);

/* layout.c */
int layout_model(struct tree *t, struct unit *u, struct object *o, struct err *e);
void kid_name(const struct tree *t, const struct unit *u, uint32_t i, char name[NODE_NAME_MAX]);
/* Adds the path of a kid that has a stored name, below the unit. */
void unit_kid_path(const struct unit *u, uint32_t i, struct buf *out);
/* Adds the path of a folder of a unit, below it; nothing for 0. */
void unit_folder_path(const struct unit *u, uint32_t folder, struct buf *out);
/* The name of a unit's entry or file. */
void unit_name(const struct unit *u, char name[NODE_NAME_MAX]);
/* The leaf of that kind, arg and index that a filled unit has of its own; NULL. */
const struct leaf *leaf_find(const struct unit *u, unsigned kind, unsigned arg, uint32_t index);
extern const char *const leaf_dir_names[];     /* by enum leaf_dir; NULL for LEAF_TOP */
#define ERRORS_NAME "errors.txt"
/* Leaves [first, end) of a unit. */
struct range { uint32_t first, end; };
/* Those from first on that lie in directory dir; leaves are ordered by directory. */
struct range leaf_range(const struct unit *u, uint32_t first, unsigned dir);
/* Of a directory's leaves, those whose names are numbers: one run, ascending, a few others before and behind it. */
struct range leaf_numbered(const struct unit *u, struct range r);
/* The first of such a run whose number is not less. */
uint32_t leaf_by_number(const struct unit *u, struct range run, uint32_t number);
void leaf_name(const struct unit *u, const struct leaf *l, char name[NODE_NAME_MAX]);

/* layout_raw.c */
void pieces_free(struct pieces *p);
const char *piece_name(const struct pieces *p, uint32_t i);    /* of its file, without extension */
void piece_folder_name(const struct pieces *p, uint32_t i, char name[PART_NAME_MAX]);  /* that it lies in */
/* Whether pieces are called the same, with their folders; whether their folders are. */
bool piece_same_name(const struct pieces *a, uint32_t i, const struct pieces *b, uint32_t k);
bool piece_same_folder(const struct pieces *a, uint32_t i, const struct pieces *b, uint32_t k);
/* When all leaves are there. */
int pieces_index(struct unit *u);
/* The leaf of a piece, or of a folder in raw/, in directory `dir`; u->nleaves. *rest, the leaves of that directory, is
 * cut to those that have to be looked at as well. */
uint32_t pieces_find(const struct unit *u, uint32_t dir, const char *name, struct range *rest);

/* unpack.c */
void unpack_init(struct tree *t);

/* render.c */
/* The text of a leaf; one reference. */
int render_leaf(struct tree *t, struct unit *u, struct leaf *l, struct cached **out, struct err *e);
const struct buf *rendered_text(const struct cached *c);
/* Of a PNG: what shows through it. */
enum geo_alpha rendered_alpha(const struct cached *c);
/* The size that the text of a leaf has: of one that can be measured, without making it. */
int measure_leaf(struct tree *t, struct unit *u, struct leaf *l, uint64_t *size, struct err *e);
/* Source of a leaf that shows bytes of the archive; one reference. -ENOENT: it is a rendered one. */
int leaf_source(struct tree *t, struct unit *u, const struct leaf *l, struct source **out, struct err *e);

/* The picture of that number in textures/; NULL: it is not there. */
struct leaf *picture_leaf(const struct unit *u, int32_t image);
/* Materials of a mesh's parts, with the pictures that textures/ shows; of parts that have faces, the others' stay
 * nameless. whole: as model.mtl names pictures. */
int part_materials(const struct unit *u, struct object *o, const struct geo_mesh *m, bool whole, struct arena *a,
		   struct geo_material **out, struct err *e);
/* The bytes of a unit are damaged in mesh `mesh`: that goes into errors.txt, once. */
void note_mesh(struct tree *t, struct unit *u, uint32_t mesh, const char *text);

/* glb.c */
/* The GLB that a leaf of u is; out NULL: only its size. */
int glb_render(struct tree *t, struct unit *u, const struct leaf *l, struct object *o, struct buf *out, uint64_t *size,
	       struct err *e);

/* preview.c */
/* Whether a model has preview.png: not where the tables tell already that all of its meshes are damaged. */
bool preview_shown(const struct object *o);
int preview_render(struct tree *t, struct unit *u, struct object *o, struct buf *out, struct err *e);

/* Decodes, once, all that a filled unit shows, so that its notes are complete: for who asks for them by name. */
void unit_check(struct tree *t, struct unit *u);

/* handle.c */
void handle_close_all(struct tree *t);
/* Bytes of the archive that a file shows; one reference. -ENOENT: its contents are rendered. */
int node_source(struct tree *t, struct node n, struct source **out, struct err *e);
/* The numbers, 8 bytes each, of nodes that are open and whose contents have changed since they were had. */
void handle_outdated(struct tree *t, struct buf *ids);
/* Open files of a unit go on under the numbers that map gives; UINT32_MAX: gone. With the state held exclusively. */
struct renumber { struct unit *unit; uint32_t (*map)(const struct renumber *r, uint32_t local); };
void handle_renumber(struct tree *t, const struct renumber *r);

/* refresh.c */
struct edit;
/* After a commit: units whose bytes or places changed are read anew, from the file's present bytes. ed NULL: anything
 * may have changed. With the state held exclusively. Numbers of the nodes the kernel has to ask for again are added to
 * ids, 8 bytes each. */
void tree_refresh(struct tree *t, unsigned file, struct edit *ed, struct buf *ids);
/* Before that, where several files changed: units read the file's present bytes, for those that look at them. */
void tree_renew(struct tree *t, unsigned file);
/* The unit of a file that is gone, or something else by now, is dead; and who shows something of it shows that anew.
 * With the state held exclusively. */
void tree_kill(struct tree *t, struct unit *u);
void tree_refresh_users(struct tree *t, struct unit *was, struct buf *ids);
/* Whether all that a plan writes of a container, src, lies in one entry or another, or in a member of one (NULL: they
 * have none): then its table is as it was. False for plans of many writes, too. hit, or NULL: set to true for each of
 * the n entries that is written. step: bytes from one entry of v to the next. */
bool plan_in_entries(const struct plan *p, const struct source *src, const struct entry *v, size_t step,
		     const struct entry (*member)[MEMBERS_MOST], uint32_t n, uint8_t *hit);

/* tell.c */
/* Says that a node's attributes changed. */
void tree_changed(struct tree *t, struct node n);
/* Tells the watcher about ids of tree_refresh(), and about open files that changed, and frees
 * them; with no lock held that an operation could want. */
void tree_tell(struct tree *t, struct buf *ids);
/* Keeps them for tree_tell_found(), and frees them; with `state` held exclusively. */
void tree_found(struct tree *t, struct buf *ids);
/* n, open and being read, has more bytes than before: all of that is told now, and nothing more of n. */
void tree_found_longer(struct tree *t, struct node n);

/* names.c */
int names_read(const char *path, struct names **out, struct err *e);
const char *names_get(const struct names *n, uint32_t index);          /* NULL: no label */
void names_free(struct names *n);

#endif
