/* What reading and writing an ISO 9660 image share. Places and sizes in sectors count from the start of the medium, the
 * 2048 user bytes of each sector; what is stored in records counts from `base`. */
#ifndef MODELFS_ISO9660_H
#define MODELFS_ISO9660_H

#include "cue.h"
#include "disc.h"
#include "format.h"
#include "names.h"

#define ISO_SECTOR 2048u
#define ISO_SYSTEM 16u                         /* sectors before the descriptors */
#define ISO_DESCRIPTORS_MOST 48u
#define ISO_RECORD_HEAD 33u                    /* bytes of a directory record before its name */
#define ISO_RECORD_LEAST 34u
#define ISO_DEPTH_MOST 64u                     /* levels: a directory so far down is empty */
#define ISO_AT_SIZE 10u                        /* of the size in a directory record */
#define ISO_NOTED_MOST 256u                    /* things wrong with a line each */

enum iso_flags { ISO_HIDDEN = 0x01, ISO_DIRECTORY = 0x02, ISO_ASSOCIATED = 0x04, ISO_MORE = 0x80 };
enum iso_xa { ISO_XA_FORM2 = 0x1000, ISO_XA_MIXED = 0x2000, ISO_XA_AUDIO = 0x4000 };
enum iso_type { ISO_PRIMARY = 1, ISO_SUPPLEMENTARY, ISO_END = 255 };

/* ---- records ---- */

struct iso_record {                            /* of a directory, as far as its name */
	uint8_t length, xar;
	struct both32 lba, size;
	uint8_t years, month, day, hour, minute, second;
	int8_t zone[1];
	uint8_t flags, unit, gap;
	struct both16 volume;
	uint8_t name_length;
};

struct iso_volume {                            /* a descriptor of a tree */
	struct iso_record root;
	uint8_t type;
	char system_id[32], volume_id[32];
	uint8_t escapes[32];
	struct both32 blocks, table_size;
	struct both16 set_size, set_number, block_size;
	uint32_t table, table_copy;            /* little-endian path tables */
	uint8_t be_table[4], be_table_copy[4]; /* big-endian ones: such numbers */
};

struct iso_path { uint8_t length, xar; uint32_t lba; uint16_t parent; };

extern const struct record iso_volume_record, iso_record_record, iso_path_record;
enum iso_section { ISO_SYSTEM_AREA, ISO_DESCRIPTORS, ISO_SECTIONS };

/* ---- the image ---- */

struct iso_descriptor {                        /* of a tree */
	uint8_t type;
	bool joliet;
	uint16_t block_size;                   /* that its sectors are counted in */
	uint32_t sector;                       /* that it stands in */
	uint32_t lba, size;                    /* of its root, as they are stored */
	uint32_t table_size, table[4];         /* path tables as they are stored: L, its copy, M, its copy; 0: none */
};

enum iso_game { ISO_UNKNOWN, ISO_SATURN, ISO_PSP };

struct iso {
	struct source *src;                    /* the medium; the object's */
	struct disc_kind kind;
	const struct cue *cue;                 /* that led to it; NULL: none */
	uint32_t base;                         /* what records call the medium's first sector */
	uint64_t sectors;                      /* of the track */
	uint64_t there;                        /* bytes of them that the image has: it may end within the last one */
	uint32_t end;                          /* sector behind the last descriptor */
	uint32_t ntrees, primary;              /* primary: the one that is shown */
	struct iso_descriptor tree[ISO_DESCRIPTORS_MOST];
	struct iso_volume volume;              /* of the primary one */

	/* By list(), in the order of the entries. */
	uint32_t n;
	struct entry *entry;
	const char **name;
	const char **why;
	int64_t *mtime;
	uint32_t *lba;                         /* of a file's first record, as it is stored */
	uint32_t nfiles, ndirs;
	uint64_t bytes;                        /* of all files */
	unsigned noted;
	uint8_t game;                          /* enum iso_game */
};

/* Where a stored sector number lies; false: not in the medium. */
static inline bool iso_sector(const struct iso *iso, uint64_t lba, uint64_t *out)
{
	*out = lba - iso->base;
	return lba >= iso->base && *out < iso->sectors;
}

static inline uint64_t iso_sectors(uint64_t bytes)
{
	return bytes / ISO_SECTOR + !!(bytes % ISO_SECTOR);
}

/* The part of the file that is the data track: all of it unless a cue sheet says otherwise. One reference. */
int iso_track(struct source *file, const struct lead *lead, struct source **out, struct err *e);
/* Notes what is wrong with the disc, up to so many times. */
void iso_note(struct object *o, struct iso *iso, uint64_t at, const char *what, const char *fmt, ...) PRINTF(5, 6);

/* ---- a tree (iso_tree.c) ---- */

/* A record of a directory. */
struct iso_item {
	uint64_t at;                           /* of the record in the medium */
	uint64_t lba;                          /* of the data, as it is stored: behind extended attributes */
	int64_t mtime;
	uint32_t size, in;                     /* bytes; number of the directory it stands in */
	uint32_t name;                         /* where its name begins in text */
	uint32_t dir;                          /* of a directory: its number; else 0 */
	uint16_t xa;                           /* enum iso_xa */
	uint8_t name_length, flags, xar, unit, gap;
};

struct iso_dir {
	uint64_t lba;
	uint32_t size, in, item;               /* item: what leads to it */
	uint32_t path;                         /* bytes of its name with all that stands before it, at most */
	uint8_t depth;
};

/* Directories in the order of their depth, records in that of their directories. Number 0 is the root, which no item
 * leads to. */
struct iso_tree {
	struct iso_item *v;
	struct iso_dir *dir;
	uint32_t n, cap, ndirs, cap_dirs;
	struct buf text;                       /* names as they are stored */
	uint64_t read, paths;                  /* bytes of directories; of all paths */
	bool unsure;                           /* some records could not be read */
	bool cut;                              /* there are too many */
};

/* o: where what is wrong is noted; NULL: nowhere. The tree is to be freed also when that fails. */
int iso_tree_read(struct iso *iso, const struct iso_descriptor *d, struct object *o, struct iso_tree *out,
		  struct err *e);
void iso_tree_free(struct iso_tree *t);

static inline bool iso_is_dir(const struct iso_item *v)
{
	return v->flags & ISO_DIRECTORY;
}

static inline const uint8_t *iso_stored_name(const struct iso_tree *t, const struct iso_item *v)
{
	return t->text.p + v->name;
}
/* How many items from i on are one file. */
uint32_t iso_pieces(const struct iso_tree *t, uint32_t i);

/* ---- entries (iso_entries.c) ---- */

/* Reads the primary tree and makes entries of it. */
int iso_entries(struct object *o, struct iso *iso, struct err *e);
/* Marks those that lie in sectors of the disc itself (iso_own.c). */
int iso_mark_own(struct iso *iso, const struct iso_tree *primary, struct err *e);
size_t iso_trimmed(const char *p, size_t n);   /* bytes of an identifier without the blanks behind it */

/* ---- names (iso_names.c) ---- */

/* A stored name as it is shown and can stand in a message. */
struct path_text iso_name_text(const struct iso_tree *t, const struct iso_item *v);
/* iso->name[k] of the items item[k], of which there are iso->n. */
int iso_names(struct iso *iso, const struct iso_tree *t, const uint32_t *item, struct arena *a, struct err *e);

/* ---- views (iso_info.c, iso_more.c, iso_verify.c) ---- */

int iso_info(struct object *o, const struct entries *entries, struct doc *d, struct err *e);
int iso_more(struct object *o, const struct entries *entries, struct doc *d, struct err *e);
int iso_verify(struct object *o, const struct entries *entries, struct err *e);

/* format.demo (iso_demo.c) */
int iso_demo(struct buf *out, struct err *e);

/* container_ops.resize (iso_edit.c) */
int iso_resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e);
void iso_tell_shared(struct object *o, const struct entries *v, uint32_t i);   /* container_ops.tell_shared */

#endif
