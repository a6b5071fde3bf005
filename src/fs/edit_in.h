/* Inside an edit: what it has opened. */
#ifndef MODELFS_EDIT_IN_H
#define MODELFS_EDIT_IN_H

#include "edit.h"

/* Bytes that are read and written through a plan. */
struct run {
	struct plan *plan;                     /* NULL: not opened */
	struct source *root;                   /* overlay of plan */
	bool original;                         /* the plan's base is what the tree shows */
};

/* One step of the chain: an entry as the edit sees it. */
struct level {
	struct surroundings around;            /* first: a hook's look around leads back to the level */
	struct edit *edit;
	struct level *next;                    /* of the edit */
	struct level *up;                      /* the container; NULL: the entry is a file */
	struct unit *unit;
	struct run *run;                       /* that its bytes lie in */
	struct source *src;                    /* held */
	/* Once opened. Where a medium is between the entry's bytes and what it contains, that is `inside`, in a run of
	 * its own; else the two are the same. */
	struct run *inner;
	struct source *inside;                 /* held; object->src */
	struct object *object;
	struct entries entries;                /* of a container, once opened */
	bool keep;                             /* edit_reopen() */
};

/* One of the tree's files that the edit has opened. */
struct edit_file {
	struct run run;                        /* first */
	struct edit_file *next;
	unsigned number;
	struct plan *first;                    /* edit_repeat(): the plan as it was; NULL: there was none */
};

/* An entry that its container packs: what it holds, until it is packed again. Or what the medium of `in` is, until it
 * is put back. */
#define ALL_OF_IT UINT32_MAX
struct edit_entry {
	struct run run;                        /* first */
	struct edit_entry *next;
	struct unit *in;
	uint32_t index;                        /* ALL_OF_IT: the medium */
	struct pin pin;                        /* of what it held */
	bool anew;                             /* what it held cannot be read: all of it is written */
};

/* Plans that others rest on. */
struct frozen { struct frozen *next; struct plan *plan; };

struct edit {
	struct tree *tree;
	bool second;                           /* edit_repeat() */
	bool moved;                            /* an entry has another size or place */
	struct edit_file *files;
	struct edit_entry *entries;
	struct edit_entry *put_back;           /* media: what was changed in them */
	struct before_medium *was;             /* edit_was() */
	struct frozen *frozen;
	struct level *levels;
	struct source *lent;                   /* of edit_resize_kid(), edit_resize_unit() */
	struct buf lines;
	struct buf touched;                    /* struct unit * each */
};

int run_open(struct run *r, struct source *base, struct err *e);
void run_close(struct run *r);
/* Another size; root is another source then. */
int run_resize(struct run *r, uint64_t size, struct err *e);
bool plan_changes(const struct plan *p);

int open_level(struct edit *ed, struct unit *u, struct level **out, struct err *e);
int open_object(struct level *l, struct err *e);
/* After a hook of a container that may have had its own entry resized. */
void take_resized(struct level *l);
/* What it contains is another source. */
void set_inside(struct level *l, struct source *src);
/* The level's own source, as its container has it now. */
int renew_source(struct level *l, struct err *e);
int resize_entry(struct level *in, uint32_t i, uint64_t size, struct err *e);
int resize_file(struct edit *ed, unsigned file, uint64_t size, struct err *e);

/* edit_move.c */
/* From now on the level's bytes, or what it contains if that is a medium, are those of `moved`, which reads them as
 * they are now. */
int rebase_bytes(struct level *l, struct source *moved, struct err *e);
int rebase_inside(struct level *l, struct source *moved, struct err *e);

/* edit_member.c */
/* Member k of an entry; one reference, NULL: there is none, or e says what failed. */
struct source *member_source(struct level *l, unsigned k, struct err *e);
int resize_member(struct level *l, unsigned k, uint64_t size, struct source **out, struct err *e);
/* What the entry's object has open of a container that has changed. */
int renew_family(struct level *l, struct err *e);

/* edit_medium.c */
/* What a level contains, through its medium if it has one: inner and inside. */
int open_inside(struct level *l, struct err *e);
/* Makes what was written to a medium the bytes of its container. */
int put_medium(struct edit *ed, struct edit_entry *f, struct err *e);

/* edit_pack.c */
bool packs(const struct level *in);             /* a container: whether it packs its entries */
/* What entry i of a container holds. */
int open_entry(struct level *in, uint32_t i, struct run **out, struct err *e);
/* The same, for who writes all of it, `size` bytes. */
int replace_entry(struct level *in, uint32_t i, uint64_t size, struct run **out, struct err *e);
/* Packs what was written to entries and media; the edit is opened anew. */
int edit_pack(struct edit *ed, struct err *e);
void close_entries(struct edit *ed);

#endif
