/* The interface of a format, and what the rest of modelfs does with one.
 *
 * A format is one file in src/formats/ that exports `const struct format fmt_NAME`. Hooks may be NULL: then that file
 * is not there. An opened entry is an `object`; models, texture banks, skeletons, animation packs and containers are
 * all objects, what they can do is told by their hooks. */
#ifndef MODELFS_FORMAT_H
#define MODELFS_FORMAT_H

#include "doc.h"
#include "geo.h"
#include "schema.h"
#include "source.h"
#include "ytree.h"

struct object;
struct plan;

#define PART_NAME_MAX 64u
#define MESH_WHOLE 0xffffffffu                 /* as the number of a mesh: all of the model */

/* ---- detection -------------------------------------------------------------------------------------------------- */

#define PROBE_FIRST 128u                       /* bytes read at first: enough for every magic and most tables */
#define PROBE_MOST 4096u                       /* what a probe may ask for */

/* Whether formats that search are asked about bytes that no other format knows. */
enum searching {
	SEARCH_NOT,
	SEARCH_NAMED,                          /* about those whose name has their extension, and that look like nothing */
	SEARCH_ALL
};

/* What a search came upon, so that who opens the bytes later need not begin anew. The format's own; counted. It may be
 * out of date when it is used. */
struct finding { _Atomic unsigned refs; };
static inline struct finding *finding_ref(struct finding *f)
{
	if (f)
		atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}
void finding_put(struct finding *f);           /* frees what calloc() gave; NULL is fine */

/* A file that is SOURCE because another one, which was given as SOURCE, leads to it (format.leads). */
#define LEAD_NAME_MAX 1024u
struct lead {
	/* The file, relative to the folder that the text lies in, `/` between folders. What leads out of the folder, by
	 * an absolute path or "..", is refused by who opens it. */
	char name[LEAD_NAME_MAX];
	const struct format *by;
	const void *detail;                    /* what else the text says, for formats that know `by`; or NULL */
};

struct probe {
	const char *name;                      /* file or stored name; "" when the container stores none */
	const struct format *within;           /* of the container; NULL: a file of its own */
	uint32_t index;                        /* entry number in the container */
	uint64_t size;
	const uint8_t *head;                   /* n bytes from the start */
	size_t n;
	struct source *src;
	const struct lead *lead;               /* what led to it; usually NULL */
	struct err *why;                       /* where a probe says why not (err_at); usually NULL */
	uint8_t *room;                         /* PROBE_MOST bytes of the caller's, for head */
	uint8_t search;                        /* enum searching */
	bool whole;                            /* what is found is asked for next: the search goes on to its end */
	bool unsearched;                       /* out: with SEARCH_NAMED one would have been asked */
	struct finding *finding;               /* out: of who searched, with one reference; NULL: none */
	/* Where who searched in vain says so; and, if it was to be thorough, which takes longer, what lies there instead.
	 * NULL: nobody wants to know. */
	struct err *instead;
	bool thorough;
};

/* At least n bytes in p->head; false when the entry is shorter, cannot be read, or n > PROBE_MOST. At most one more
 * read, whatever is asked for how often. */
bool probe_need(struct probe *p, size_t n);

/* ---- sections --------------------------------------------------------------------------------------------------- */

/* `part`: 0 is the entry itself, 1 what the object found behind it (geometry in the next file), or 1 + k the k-th of
 * its members. */
struct span { uint64_t at, size; uint8_t part; };

enum section_shape {
	SECTION_BYTES,                         /* raw/NAME.bin only */
	SECTION_ONE,                           /* one record */
	SECTION_LIST                           /* records until the section ends */
};

struct section {
	const char *name;                      /* "materials": raw/materials.bin */
	const char *doc;
	uint8_t shape;
	const struct record *record;           /* NULL for SECTION_BYTES */
	const char *yaml;                      /* "materials.yaml" when the generic document is the view; else NULL */
};

/* A piece of the entry that has a name of its own (a chunk by its tag). */
struct chunk {
	uint64_t at, size;
	uint32_t head;                         /* bytes before it that belong to it and are not shown */
	/* Unique; raw/NAME.bin; "": it is not shown. With one '/' in it: in a folder of raw/; those of one folder
	 * follow each other. */
	char name[PART_NAME_MAX];
	uint8_t part;                          /* as of a span; only those of part 0 keep bytes from being gaps */
};

/* A file that belongs to an entry whole: beside it, with its name but this extension, in any case. The k-th is part
 * 1 + k of the object; raw/whole.EXT shows its bytes. While the entry is a directory they are not shown beside it. */
struct member { const char *ext, *doc; bool needed; };         /* needed: without it the entry is a plain file */
#define MEMBERS_MOST 3u
#define MEMBER_EXT_MOST 4u                     /* letters of its extension, and of that of a format with members */

/* Records that lie outside sections or between them (a clip's header), for the reference page and the tests. */
struct variant {
	const char *version;                   /* "1.0", as the first line of header.yaml says it */
	const char *doc;
	const struct section *sections;
	unsigned nsections;
	const struct record *const *records;   /* further ones; ends with NULL; or NULL */
};

/* ---- objects ---------------------------------------------------------------------------------------------------- */

/* What an entry can be to the models beside it. */
enum role { ROLE_NONE, ROLE_MODEL, ROLE_SKELETON, ROLE_TEXTURES, ROLE_ANIMATIONS, ROLE_COUNT };

/* Parts of an object that are counted, listed and can be damaged one by one. */
enum part { PART_OBJECT, PART_MESH, PART_IMAGE, PART_CLIP, PART_BONE, PART_COUNT };

/* Documents beyond the sections' own. index is the mesh, image or clip number. */
enum doc_kind {
	DOC_HEADER, DOC_MESH, DOC_IMAGE, DOC_SKELETON, DOC_CLIP,
	DOC_SECTION,                           /* index: a section with a `yaml`; only in doc_put and docs of edits */
	DOC_OWN = 16                           /* + k: format->own[k] */
};

/* A file of a format's own beside the usual ones: a document (model_ops.doc, kind DOC_OWN + k), or bytes that the
 * format makes of its own (model_ops.file). */
struct own_file {
	const char *name;                      /* "groups.yaml"; of a part: what follows its number: ".vertices.yaml" */
	const char *doc;
	uint8_t part;                          /* PART_OBJECT, PART_MESH, PART_IMAGE */
	bool bytes;                            /* not a document */
	bool fixed;                            /* a document that nobody can write */
	bool stem;                             /* PART_OBJECT: name is what follows the entry's name: "BASE" + ".dds" */
	bool from_link;                        /* PART_IMAGE, of links: the link's own_file of that name; see object_link */
	/* From the tables; NULL: always. */
	bool (*there)(const struct object *, uint32_t index);
};
#define LIMIT_LINKS 4096u

/* One line of errors.txt. */
struct fault {
	struct fault *next;
	uint8_t part;
	bool gone;                             /* the tables show the damage: the part's files are not listed */
	uint32_t index;
	char text[];
};

/* A file an object looks for by name. `/` separates folders. */
enum want_where {
	WANT_BESIDE,                           /* `path` in the object's own folder, exact case */
	WANT_SWAP_EXT,                         /* beside it, the object's own name with the extension `path` */
	/* Below the data root: the nearest folder above that is called `root` (any case), else the mounted folder (of
	 * a lone file: its own). Exact case first, then without regard to case. */
	WANT_BELOW_ROOT,
	/* Beside it, else in the root, else anywhere if there is just one; without regard to case, `;1` ignored. */
	WANT_LOOSE
};
struct want { uint8_t where; const char *path, *root; };

/* A file that was found: its bytes, and who knows it. */
struct link { struct source *src; uint32_t unit; };    /* src NULL: not found */

/* What an object may ask of the place it lies in. */
struct surroundings {
	/* The k-th entry (k from 1) behind the one that holds this object, in the container whose order has meaning;
	 * with one reference; NULL: none. */
	struct source *(*following)(const struct surroundings *, unsigned k, struct err *e);
	bool padded;                           /* the object's size may count padding behind it */
	const struct lead *lead;               /* of SOURCE itself, if a text led to it; else NULL */
	/* What the format's medium() has made of the object's bytes before; NULL: it is asked. */
	struct source *medium;
	struct finding *finding;               /* of a format that searches; NULL: none so far */
	/* The file that is format->members[k]; with one reference; NULL: there is none, or e says what failed. */
	struct source *(*member)(const struct surroundings *, unsigned k, struct err *e);
	bool handed;                           /* a container knows the members: one may be missing that is needed */
	/* What the container whose order has meaning calls the entry that holds this object, and its number there; else
	 * the name of its file, and GEO_NONE. The name ends with no zero. NULL: nobody knows. */
	void (*called)(const struct surroundings *, struct buf *name, uint32_t *number);
	/* A file that belongs to the object although it lies elsewhere: its source, with one reference, and in *link a
	 * number by which the tree knows it. ENOENT: there is none. The same file is the same link. */
	int (*find)(const struct surroundings *, const struct want *, struct source **out, uint32_t *link, struct err *e);

	/* While an edit is made; else NULL. */

	/* Makes the object's entry (k 0), or the k-th behind it (of a format with members: member k - 1), `size`
	 * bytes long and gives its new source, with one reference: bytes up to the shorter of both lengths stay, the
	 * others are zero. May move later entries of its containers: all sources opened before are void then, except
	 * those the caller gets here. ENOSPC: "... N bytes are missing". */
	int (*resize)(const struct surroundings *, unsigned k, uint64_t size, struct source **out, struct err *e);
	/* For a container that is the archive itself: from now on its bytes are those of `moved`, whose source comes
	 * back in *out with one reference; writes go on through it. `moved` reads the object's source as it is now,
	 * with all that was written to it. EPERM unless `grow`. */
	int (*rebase)(const struct surroundings *, struct source *moved, struct source **out, struct err *e);
	/* A line for the log: what had to be guessed or rounded. */
	void (*say)(const struct surroundings *, const char *text);
	bool grow;                             /* -o grow: containers may move their own later data */
	/* The text was applied before, to see that it changes nothing more: what followed from it is stored by now, and
	 * what it says of that may be out of date. */
	bool again;
};

/* Immutable once opened, so that threads can share it: hooks other than open and list allocate from the arena they are
 * given, or one of their own. */
struct object {
	const struct format *format;
	const struct variant *variant;         /* set by open; NULL while unknown */
	/* The entry, held; of a container with a medium: the medium, which entries count in. */
	struct source *src;
	struct source *file;                   /* the entry's own bytes, held; src where there is no medium */
	struct source *behind;                 /* span.part 1; held; NULL: none, or not found */
	struct source *member[MEMBERS_MOST];   /* span.part 1 + k, of a format with members; held; NULL: none is there */
	struct link *links;                    /* by object_link(), in that order; held */
	uint32_t nlinks;
	const struct surroundings *around;     /* NULL: none */
	struct finding *finding;               /* by open(), of a format that searches; held */
	struct arena arena;                    /* of all the object's own tables */
	void *priv;                            /* the format's, in the arena */
	struct fault *faults, **last_fault;
};

/* Opens src as `format`. Only a lack of memory or a failed system call is an error; damage becomes faults, and an
 * object with a fault of PART_OBJECT and no variant has nothing but its bytes. */
int object_open(const struct format *format, struct source *src, const struct surroundings *around,
		struct object **out, struct err *e);
void object_close(struct object *o);           /* NULL is fine */

/* Notes what is wrong with a part. gone: it is not listed at all. */
void object_fault(struct object *o, unsigned part, uint32_t index, bool gone, const struct err *why);
const struct fault *object_find_fault(const struct object *o, unsigned part, uint32_t index);
bool object_gone(const struct object *o, unsigned part, uint32_t index);
uint32_t object_count(const struct object *o, unsigned part);
bool object_has(const struct object *o, unsigned part, uint32_t index);        /* model_ops.has */
/* Where section s lies; size 0 when it has no bytes. */
struct span object_section(const struct object *o, unsigned s);
struct source *object_part(const struct object *o, unsigned part);     /* src, behind, a member; may be NULL */
/* n bytes of the entry, in arena a. what names them in messages. */
int object_read(const struct object *o, struct arena *a, uint64_t at, uint64_t n, const char *what, const uint8_t **out,
		struct err *e);
/* model_ops.chunk; false for formats that have none. */
bool object_chunk(const struct object *o, uint32_t i, struct chunk *out);
/* Runs of bytes that no section or chunk claims: 16 or more, or not all zero. fn gets each in order. */
int object_gaps(const struct object *o, int (*fn)(void *ctx, uint64_t at, uint64_t size), void *ctx, struct err *e);
/* Calls fn for the records of a section, read in pieces; stops at the first result that is not 0 and returns it. */
int object_section_records(struct object *o, unsigned s,
			   int (*fn)(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at),
			   void *ctx, struct err *e);
/* The document of a section whose `yaml` is set. */
int object_section_doc(struct object *o, unsigned s, struct doc *d, struct err *e);
/* What `modelfs verify` checks of an object: each shown value through its text and back, then the format's own. */
int object_verify(struct object *o, struct err *e);

/* What value by value editing of a document could not do, for doc_put(). */
enum doc_change_kind {
	CHANGE_TEXT,                           /* a doc_text() that is not derived, or a field with FL_PUT, has another
						* text; that of a field is a value of it */
	CHANGE_ROWS,                           /* doc_rows() or a record list of another length */
	CHANGE_LIST,                           /* doc_list() of another length */
	CHANGE_KEY                             /* a key that the document does not say */
};
#define DOC_DEPTH 4u                           /* lists inside lists */
struct doc_change {
	uint8_t kind, depth;
	bool taken;                            /* doc_put() sets it: done, or not to be done */
	uint32_t item[DOC_DEPTH];              /* numbers of the list items around it, outermost first; depth of them */
	const char *key;                       /* "" when the document itself is the list */
	const struct ynode *value;
};

/* The hooks that write get an object opened over an edit: what they write to its sources goes into the plan and can be
 * read back at once, but the object's own tables stay as they were when it was opened. Each writes only bytes whose
 * meaning changed. Errors: EINVAL and what cannot be, with its number; EPERM; ENOSPC; EFBIG past a limit of the format.
 */
struct model_ops {
	/* Reads header and tables, sets variant and priv, notes faults. */
	int (*open)(struct object *, struct err *);
	uint32_t (*count)(const struct object *, unsigned part);
	int (*locate)(const struct object *, unsigned section, struct span *out);
	/* The i-th piece of the entry's bytes whose name stands in the file itself, unlike that of a section. False:
	 * there are no more. */
	bool (*chunk)(const struct object *, uint32_t i, struct chunk *out);
	/* Says DOC_HEADER and so on by calls to d. */
	int (*doc)(struct object *, unsigned kind, uint32_t index, struct doc *d, struct err *);
	bool (*skinned)(const struct object *, uint32_t mesh);                 /* from the tables, without decoding */
	int (*mesh)(struct object *, uint32_t mesh, struct geo_mesh *out, struct arena *, struct err *);
	/* The same with what no OBJ says: tangents, all sets of texture coordinates, alpha of colours, joints and
	 * weights of a mesh that stores none, parts that are hidden. NULL: mesh() is all. */
	int (*mesh_full)(struct object *, uint32_t mesh, struct geo_mesh *out, struct arena *, struct err *);
	/* The bones, in the order of skeleton.yaml; of a model with bones of its own, or of a skeleton. geo_settle() is
	 * left to the caller. */
	int (*skeleton)(struct object *, struct geo_skeleton *out, struct arena *, struct err *);
	/* What OBJ texts of a mesh look like, for reading; NULL: `o mesh_N`, triangles, numbered groups. */
	int (*form)(struct object *, uint32_t mesh, struct geo_form *out, struct arena *, struct err *);
	int (*material)(struct object *, uint32_t i, struct geo_material *out, struct arena *, struct err *);
	int (*image)(struct object *, uint32_t i, struct geo_image *out, struct arena *, struct err *);
	/* How clip i moves the bones of a settled skeleton: tracks of bones that are there. */
	int (*clip)(struct object *, uint32_t i, const struct geo_skeleton *, struct geo_clip *out, struct arena *,
		    struct err *);
	/* Calls `each` for what the clips become when they are played: those that move parts of the skeleton together
	 * are one. rc other than 0: it is damaged, and why it is. Stops at the first result that is not 0 and returns
	 * it. NULL: each clip plays alone. */
	int (*motions)(struct object *, const struct geo_skeleton *,
		       int (*each)(void *ctx, const struct geo_clip *, int rc, const struct err *why), void *ctx,
		       struct err *);
	/* Whether a part has its usual file at all (a mesh its OBJ, an image its PNG; PART_BONE, of a model without
	 * bones: skeleton.yaml), and whether that can be written; from the tables. NULL: yes, but no skeleton, and as
	 * the hooks for writing tell. */
	bool (*has)(const struct object *, unsigned part, uint32_t index);
	bool (*can_put)(const struct object *, unsigned part, uint32_t index);
	/* Link and image that picture `i` is, of objects whose pictures lie in other files: then PART_IMAGE counts
	 * them, and image() is not asked. False: there is none (the number stays free). */
	bool (*image_link)(const struct object *, uint32_t i, uint32_t *link, uint32_t *image);
	/* The name of a part's file without extension (a clip's); "" or NULL: its number. */
	void (*part_name)(const struct object *, unsigned part, uint32_t index, char name[PART_NAME_MAX]);
	/* Bytes of format->own[k], a source with one reference; and new bytes of it, which may be of another size. */
	int (*file)(struct object *, unsigned k, uint32_t index, struct source **out, struct err *);
	int (*file_put)(struct object *, unsigned k, uint32_t index, struct source *now, struct err *);
	/* Decodes everything, encodes it again and compares with the bytes; EILSEQ and the first difference. */
	int (*verify)(struct object *, struct err *);

	/* Writing; NULL: that cannot be written. */

	/* Before values are written one by one: takes keys out of the text that another key of it stands for. */
	int (*doc_tree)(struct object *, unsigned kind, uint32_t index, struct ynode *root, struct err *);
	/* After values were written one by one: the n changes left over. A change that is not `taken` is refused as
	 * unknown by the caller. */
	int (*doc_put)(struct object *, unsigned kind, uint32_t index, const struct ynode *root,
		       struct doc_change *change, unsigned n, struct err *);
	int (*mesh_put)(struct object *, uint32_t mesh, const struct geo_put *, struct err *);
	int (*weights_put)(struct object *, uint32_t mesh, const struct geo_weights *, struct err *);
	/* The bones of skeleton() with other places at rest: of joint i the parts in change[i], enum geo_change. What
	 * a bone of the format has not is EINVAL, by its name. */
	int (*skeleton_put)(struct object *, const struct geo_skeleton *now, const uint8_t *change, struct err *);
	/* Clips are to move the bones of a settled skeleton as those animations do: keys are set where they differ by
	 * more than the format's step, also in what clip() and motions() share. Marks those it knows. */
	int (*clips_put)(struct object *, const struct geo_skeleton *, struct geo_wish *, uint32_t n,
			 const struct geo_timing *, struct err *);
	/* Of the right size, or EINVAL "512x512 needed, got 500x500". rgba is set; indexed and palette too when the
	 * file had a palette. */
	int (*image_put)(struct object *, uint32_t i, const struct geo_image *, struct err *);
	/* Asked about a picture of another size than image i has, which cannot be taken: EINVAL says why no picture of
	 * the format has that size, 0 when it is only another. NULL: the latter. */
	int (*image_fits)(struct object *, uint32_t i, uint32_t w, uint32_t h, struct err *);
	/* What is wrong across records (numbers that lead nowhere), of an object that could be opened; EINVAL. An edit
	 * is refused that makes a sound object one that fails here. */
	int (*check)(struct object *, struct err *);
};

/* Finds a file (surroundings.find) and adds it to o->links, also when there is none (src NULL); for open(). Its number
 * in *n; may be NULL. */
int object_link(struct object *o, const struct want *w, uint32_t *n, struct err *e);
/* surroundings.called; false when nobody knows. */
bool object_called(const struct object *o, struct buf *name, uint32_t *number);
/* surroundings.again; false outside an edit. */
bool object_again(const struct object *o);
/* A line for the log of the edit the object was opened for; nothing outside one. */
void object_say(const struct object *o, const char *fmt, ...) PRINTF(2, 3);
/* Makes the entry (part 0) or another part of it `size` bytes long; o->src, o->behind or o->member[] is replaced. EROFS
 * outside an edit. Sources and spans taken from the object before are void. */
int object_resize(struct object *o, unsigned part, uint64_t size, struct err *e);
/* Writes n bytes of a part where they differ from what is there: runs of equal bytes are left alone. */
int object_patch(struct object *o, unsigned part, uint64_t at, const void *bytes, size_t n, const char *what,
		 struct err *e);

/* ---- containers ------------------------------------------------------------------------------------------------- */

/* Pieces of a container's source that are one entry, in their order. */
struct extents { uint32_t n; struct extent v[]; };

struct entry {
	union {
		uint64_t at;                   /* in the container's source */
		const struct extents *extents; /* in_pieces; in the object's arena */
	};
	uint64_t size;                         /* of what it holds */
	union {
		uint32_t key;                  /* of the cipher */
		uint32_t stream;               /* packed: bytes of the stream that becomes that */
	};
	bool coded : 1;                        /* encrypted with the container's cipher */
	bool packed : 1;                       /* by the container's packer */
	bool lost : 1;                         /* its place cannot be, or not be read: it is shown, and reading it fails */
	bool folder : 1;                       /* it has no bytes: a directory, also when no entry lies in it */
	bool shared : 1;                       /* others, or the table, have some of its bytes: it is never written */
	bool fixed : 1;                        /* it is never written */
	bool in_pieces : 1;                    /* of `size` bytes in all; fixed, neither coded nor packed */
};

/* Bytes that an entry takes in its container. */
static inline uint64_t entry_stored(const struct entry *v)
{
	return v->packed ? v->stream : v->size;
}

/* Bytes of a container that are somebody's. */
struct claim {
	uint64_t at, end;
	uint32_t owner;
	bool shared;                           /* out */
};
/* Sorts n claims, none of them empty, by their places, and tells which have bytes that another one has too. */
void claims_compare(struct claim *v, size_t n);

#define ENTRY_NO_TIME INT64_MIN

struct entries {
	struct entry *v;                       /* in the object's arena, as the names */
	uint32_t n;
	const char **name;                     /* of a container with a separator: as they are stored; else NULL */
	/* When each was written, nanoseconds since 1970, or ENTRY_NO_TIME; in the object's arena. NULL: none says. */
	const int64_t *mtime;
	/* Why each is fixed, or lost: "several extents"; NULL where nobody knows. In the object's arena, the texts too,
	 * unless they are static. NULL: none says. */
	const char *const *why;
	/* Members of each entry, of size 0 where there is none; NULL: they are entries, found by name. */
	const struct entry (*member)[MEMBERS_MOST];
};

struct container_ops {
	/* Like model_ops.open: reads the table, sets variant and priv, notes faults. NULL: list() does that. */
	int (*open)(struct object *, struct err *);
	/* The entries. A container with one that does not lie inside it is damaged, unless the entry is `lost`. */
	int (*list)(struct object *, struct entries *out, struct err *);
	int (*locate)(const struct object *, unsigned section, struct span *out);      /* as of a model */
	int (*verify)(struct object *, const struct entries *, struct err *);  /* the table, encoded again */
	/* For `modelfs info`: what there is to say beyond counts; and what `info -v` says besides. */
	int (*info)(struct object *, const struct entries *, struct doc *d, struct err *);
	int (*more)(struct object *, const struct entries *, struct doc *d, struct err *);
	/* `modelfs info` says info() alone, without counts of kinds. */
	bool info_is_all;
	/* What the entries lie in, where that is not the bytes themselves (user data of sectors, unpacked blocks); with
	 * one reference, `file` itself where it is. It has `root` set, and keeps little in memory, whatever a header
	 * claims. One that takes src_pwrite() keeps nothing of what it has read. lead: of object->around. */
	int (*medium)(struct source *file, const struct lead *lead, struct source **out, struct err *e);
	/* In an edit, when all is written: `file`, which takes src_pwrite(), is to become what medium() makes `now` of.
	 * `now` is settled and of the medium's size; now->v[] are the runs that differ from what medium() makes of
	 * `file`, unless now->moved: then its base is something else than that, and any byte may be another. grow: the
	 * file may be written anew; then *moved, with one reference, is what becomes of it, a source over `file`, `now`
	 * and memory. Else *moved stays NULL. ENOSPC tells how many bytes are missing where, and that -o grow would
	 * help if it does. NULL: the runs are written to what medium() makes of `file`, by src_pwrite(). */
	int (*medium_put)(struct source *file, const struct lead *lead, const struct plan *now, bool grow,
			  struct source **moved, struct err *e);
	/* Makes entry i `size` bytes long, in an object opened over an edit: bytes up to the shorter length stay, new
	 * ones are zero. Uses the container's slack, then asks o->around->resize for more of its own; moves later
	 * entries where the format has to; writes the table through o->src and brings *v up to date. ENOSPC names the
	 * bytes missing. */
	int (*resize)(struct object *, struct entries *v, uint32_t i, uint64_t size, struct err *);
	/* The bytes of entry i are written where they lie: says what else has them. NULL: nothing ever has. */
	void (*tell_shared)(struct object *, const struct entries *v, uint32_t i);
	/* Gives entry i other contents, in an object opened over an edit of a container that packs its entries. As
	 * resize(), of the bytes that are stored. */
	int (*put)(struct object *, struct entries *v, uint32_t i, struct source *now, struct err *);
	const struct packer *packer;           /* of entries with `packed` */
	/* Entries have stored names, unique or not, of parts with this between them; 0: they are numbers. */
	char separator;
	const struct cipher *cipher;
	/* Whether an entry of unknown contents that begins with these 4 bytes is stored without the cipher. */
	bool (*stored_plain)(const uint8_t raw[4]);
	uint8_t digits;                        /* of the entry number that is an entry's name, at least */
	bool labels;                           /* a names file may add labels */
	bool raw;                              /* has raw/ with its bytes */
	bool in_order;                         /* an entry's neighbours mean something: its objects may look behind */
	bool padded;                           /* an entry's size may count the padding behind it */
	bool companions;                       /* the k-th model goes with the k-th skeleton, bank and pack */
	/* It is a file system: plain entries are files, which a program may cut without writing to them, and names do
	 * not come or go (EPERM), but for those that editors give to files of their own. */
	bool volume;
};

/* ---- formats ---------------------------------------------------------------------------------------------------- */

struct format {
	const char *name, *title;              /* "pmo", "PSP Monster Hunter model" */
	const char *ext;                       /* of entries, and of raw/whole.EXT; NULL: from extension() */
	const char *doc;                       /* what the reference page opens with */
	const char *behind;                    /* extension of what lies behind a lone file of this format, or NULL */
	uint8_t pack_behind;                   /* a pack so many entries behind goes with an object that found its other
						* part behind itself; 0: none does */
	bool be;
	uint8_t role;
	int (*probe)(struct probe *);          /* 0 no .. 100 certain */
	/* It is asked about what no other format knows, and may read all of it to tell; probe->search says whether. */
	bool searches;
	bool tells;                            /* probe says why not only of what begins as such files do */
	/* Of a text that only leads to another file, which is SOURCE in its place. In a folder such a text is a plain
	 * file. detail: in arena a, which lasts as long as the tree. The text may be of any length. */
	int (*leads)(struct source *text, struct lead *out, struct arena *a, struct err *e);
	const char *(*extension)(struct probe *);      /* formats that are only recognised, and shown as plain files */
	const struct variant *variants;
	unsigned nvariants;
	uint8_t docs;                          /* 1 << DOC_...: the documents that model->doc says */
	const struct own_file *own;            /* further files */
	unsigned nown;
	const struct member *members;
	unsigned nmembers;
	bool whole_obj;                        /* has model.obj and model.mtl: mesh number MESH_WHOLE */
	/* 1 << PART_...: such a part can be decoded when the tables show no damage, so that nobody has to decode it to
	 * find out. */
	uint8_t sure;
	/* An entry whose object has a fault of PART_OBJECT is a plain file; else it is a directory with its bytes. */
	bool strict;
	const struct model_ops *model;
	const struct container_ops *container;
	int (*demo)(struct buf *out, struct err *);    /* a small valid archive of our own */
};

extern const struct format *const formats[];   /* generated from src/formats/meson.build; ends with NULL */

const struct format *format_named(const char *name);
/* The highest bid, or NULL. p->head and p->n are filled in here, and all that is out. */
const struct format *format_detect(struct probe *p, struct err *e);
/* What the formats that tell say of bytes that no format knows, as p has them from format_detect(); else nothing. */
void format_tells(struct probe *p, struct err *e);
/* A strict format: why the bytes are no such thing all the same (EBADMSG), or what else went wrong; 0: they are.
 * around: for the members; NULL: there are none. */
int format_refuses(const struct format *f, struct source *src, const struct surroundings *around, struct err *e);
/* container_ops.medium; the file itself where there is none. One reference. */
int format_medium(const struct format *f, struct source *file, const struct lead *lead, struct source **out,
		  struct err *e);
/* Whether entries of this format are directories. */
static inline bool format_opens(const struct format *f)
{
	return f && (f->model || f->container);
}

/* Source of an entry of a container, src: the object's, which entries count in; with one reference, NULL when out of
 * memory. keep: of what has to be unpacked, or NULL. */
struct source *entry_open(struct source *src, const struct format *container, const struct entry *entry,
			  const struct keep *keep);
static inline struct source *entry_source(struct source *src, const struct format *container, const struct entry *entry)
{
	return entry_open(src, container, entry, NULL);
}

#endif
