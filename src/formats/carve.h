/* What the parts of the search for quartets share. */
#ifndef MODELFS_CARVE_H
#define MODELFS_CARVE_H

#include "mlp.h"

#define CARVE_NONE UINT64_MAX                  /* as a place: it was not found, or there is none */
#define CARVE_END ((uint64_t)1 << 32)          /* nothing is searched behind it: names are 8 digits */

/* ---- what is found ---------------------------------------------------------------------------------------------- */

struct carve_place { uint64_t at, size; };     /* at: CARVE_NONE; then the size is what it would have */

/* A quartet, without its SCP. */
struct carved {
	struct carve_place mlp, mmp, mgp;
	bool has_mmp, has_mgp;                 /* slices of it are in the table */
};

struct carve_finding {
	struct finding f;                      /* first */
	bool any;                              /* there is an MLP */
	bool whole;                            /* else only the first one was looked for, and v is empty */
	uint64_t from;                         /* no MLP begins before it */
	bool cut;                              /* the search was given up before its end */
	uint32_t n;
	struct carved v[];                     /* in the order of the MLPs' places */
};

/* Searches src; *out has one reference. first: only for the first MLP. from: no MLP begins before it. streams: where to
 * note places where a zlib stream may begin, 8 bytes each, for carve_deflated(); NULL: nobody wants to know. */
int carve_search(struct source *src, uint64_t from, bool first, struct buf *streams, struct carve_finding **out,
		 struct err *e);
/* Whether all that was found is still so, as far as the rules of the search can tell. */
bool carve_holds(struct source *src, const struct carve_finding *f);

/* Deflated MLPs at some of these places, for a message; false: there are none. */
bool carve_deflated(struct source *src, const struct buf *streams, struct err *e);

/* ---- the work --------------------------------------------------------------------------------------------------- */

/* Bytes that are looked at one after the other, a few at a time. */
struct carve_window { struct source *src; uint64_t at; size_t n; uint8_t p[4096]; };
/* n bytes, at most 64; NULL: they cannot be read. What lies around them is read along. */
const uint8_t *carve_look(struct carve_window *w, uint64_t at, size_t n);

/* One bit for each 16 bytes of the file. */
struct carve_bits {
	uint64_t n;                            /* blocks */
	uint64_t *vertex;                      /* they may be a vertex */
	uint64_t *tail;                        /* the last 4 bytes are zero */
	uint64_t *zero;                        /* all are */
};
#define CARVE_BLOCK 16u

/* What one can afford: each look at something takes from it, so that no file takes longer than others of its size. */
struct carve_work { uint64_t left; };
static inline bool carve_afford(struct carve_work *w, uint64_t n)
{
	if (w->left < n) {
		w->left = 0;
		return false;
	}
	w->left -= n;
	return true;
}

/* ---- MLPs: carve_mlp.c */

/* Whether the header of an MLP may begin with these 28 bytes. */
static inline bool carve_is_head(const uint8_t *p)
{
	return be_u32(p) == MLP_MAGIC && be_u16(p + 8) == MLP_HEADER_SIZE && be_u32(p + 24) == MLP_HEADER_SIZE;
}

/* A rigid mesh whose vertices can be recognised. Offsets count from the start of the MMP. */
struct carve_mesh {
	uint64_t vertices, indices;
	uint32_t nvertices, nindices;
	double low[3], high[3];                /* the box, and what positions may lie beside it */
};
#define CARVE_MESHES 3u

struct carve_span { uint64_t at, end; };
/* What lies between slices and behind the last, from the start of their file. */
struct carve_gaps { struct carve_span *v; uint32_t n, cap; };

/* What the table of an MLP says of the rest. */
struct carve_mlp {
	uint64_t at, size, table;              /* table: where it ends, from `at` on */
	uint64_t mmp_size, mgp_size;           /* rounded up; 0: it has none */
	unsigned nmeshes;
	struct carve_mesh mesh[CARVE_MESHES];  /* the first that can be tested */
	struct carve_gaps mmp_gaps, mgp_gaps;
};

/* Whether an MLP begins there: 0 no, 1 yes. */
int carve_mlp_check(struct source *src, uint64_t at, struct carve_work *records, uint64_t *size);
/* Reads it, once it has been checked. */
int carve_mlp_read(struct source *src, uint64_t at, struct carve_mlp *out, struct err *e);
void carve_mlp_free(struct carve_mlp *m);

/* ---- members: carve_place.c */

struct carve_placing {
	struct source *src;
	uint64_t size;                         /* of what is searched */
	const struct carve_bits *bits;
	struct carve_work work;
	struct carve_window vertices, indices;
};

/* 0: the MMP may begin there; else so many blocks farther on at the earliest. */
uint64_t carve_mmp_miss(struct carve_placing *p, const struct carve_mlp *m, uint64_t at);
/* The first place from `from` on, or CARVE_NONE. */
uint64_t carve_find_mmp(struct carve_placing *p, const struct carve_mlp *m, uint64_t from);
/* Whether there are zeros between the slices of an MMP that may begin there. */
bool carve_mmp_is_tidy(struct carve_placing *p, const struct carve_mlp *m, uint64_t at);
bool carve_mgp_fits(struct carve_placing *p, const struct carve_mlp *m, uint64_t at);
/* The only place, or CARVE_NONE. */
uint64_t carve_find_mgp(struct carve_placing *p, const struct carve_mlp *m);

/* ---- bytes: carve_scan.c */

#define CARVE_RUN 1024u                        /* bytes that are looked at as a whole */

/* Whether the header of an MLP may begin in one of the runs' words; the 28 bytes behind it are readable too. */
bool carve_may_begin(const uint8_t run[CARVE_RUN]);
/* Whether a zlib stream may begin in one of the runs' bytes, and whether at that one; 28 bytes behind are readable too. */
bool carve_may_stream(const uint8_t run[CARVE_RUN]);
bool carve_is_stream(const uint8_t *p);
/* Fills the bits of a run: 64 of each kind. */
struct carve_word { uint64_t vertex, tail, zero; };
struct carve_word carve_bits_of(const uint8_t run[CARVE_RUN]);

#endif
