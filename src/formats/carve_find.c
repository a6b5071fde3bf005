/* The search for quartets in bytes of unknown layout (spec/ps3-pak.md 7.2).
 *
 * All bytes are read once, for MLPs and for bits that tell of each 16 bytes what they cannot be. From these bits follow
 * the few places where the MMP and MGP of an MLP can be, and only those are read again. */
#include "carve.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PIECE ((size_t)256 << 10)              /* read at once; whole runs */
#define LARGE_PAGE ((size_t)2 << 20)
#define PAGE 4096u                             /* the system copies whole pages faster */
#define NOTHING 0xff                           /* as a byte: no bit, no header */
#define SHARED ((uint64_t)64 << 20)            /* what is longer is worth a second processor */
#define QUARTETS_MOST 4096u
#define HEADERS_MOST (1u << 18)                /* that may be none */
#define STREAMS_MOST (1u << 20)                /* likewise */
#define RECORDS_MOST ((uint64_t)1 << 20)       /* of tables, likewise */

struct scan {
	struct source *src;
	uint64_t size;                         /* of what is searched */
	uint64_t from;                         /* MLPs may begin here */
	bool first, streams;                   /* streams: they are noted */
	struct carve_bits bits;                /* unless `first` */
	struct carve_work records;
	uint64_t skip;                         /* what lies before is an MLP's table */
	struct carve_mlp *v;
	uint32_t n, cap;
	bool cut, nomem;
};

/* ---- MLPs ---- */

static bool add(struct scan *s, uint64_t at)
{
	uint32_t cap = s->cap ? s->cap * 2 : 16;
	struct carve_mlp *v;
	struct err why = { 0 };

	if (s->n == QUARTETS_MOST) {
		s->cut = true;
		return false;
	}
	if (s->n == s->cap) {
		v = realloc(s->v, cap * sizeof *v);
		s->nomem = !v;
		if (!v)
			return false;
		s->v = v;
		s->cap = cap;
	}
	if (carve_mlp_read(s->src, at, &s->v[s->n], &why)) {
		s->nomem |= why.code == ENOMEM;
		return false;
	}
	s->n++;
	return true;
}

static bool is_done(const struct scan *s)
{
	return s->nomem || s->cut || (s->first && s->n);
}

/* A place where a header lies. */
static void look_at_header(struct scan *s, uint64_t at)
{
	uint64_t size;

	if (at < s->skip || is_done(s))
		return;
	if (carve_mlp_check(s->src, at, &s->records, &size) && add(s, at))
		s->skip = at + s->v[s->n - 1].table;
	s->cut |= !s->records.left;
}

/* ---- all bytes ---- */

/* A part of the file, whole pieces, that one thread goes through. */
struct stretch {
	struct scan *s;
	uint64_t at, end;
	uint8_t *room, *piece;                 /* a page, of which the end is the run before; PIECE; two runs */
	struct buf headers, streams;           /* places; of headers unless s->first */
	int rc;
};

/* A run in which a header may begin. */
static void find_headers(struct stretch *t, const uint8_t *run, uint64_t at)
{
	for (unsigned i = 0; i < CARVE_RUN; i += 4, at += 4) {
		if (!carve_is_head(run + i))
			continue;
		if (t->s->first)
			look_at_header(t->s, at);
		else if (t->headers.len < HEADERS_MOST * sizeof at)
			buf_add(&t->headers, &at, sizeof at);
	}
}

static void find_streams(struct stretch *t, const uint8_t *run, uint64_t at)
{
	const uint8_t *p = run, *end = run + CARVE_RUN;

	while ((p = memchr(p, 0x78, (size_t)(end - p)))) {
		uint64_t place = at + (uint64_t)(p - run);

		if (carve_is_stream(p) && t->streams.len < STREAMS_MOST * sizeof place)
			buf_add(&t->streams, &place, sizeof place);
		p++;
	}
}

/* n bytes, whole runs, of which the first is byte `at` of the file. */
static void look_at(struct stretch *t, const uint8_t *p, uint64_t at, size_t n)
{
	struct scan *s = t->s;

	for (; n; n -= CARVE_RUN, p += CARVE_RUN, at += CARVE_RUN) {
		struct carve_word word;

		if (at + CARVE_RUN > s->from && carve_may_begin(p))
			find_headers(t, p, at);
		if (s->streams && carve_may_stream(p))
			find_streams(t, p, at);
		if (s->first)
			continue;
		word = carve_bits_of(p);
		s->bits.vertex[at / CARVE_RUN] = word.vertex;
		s->bits.tail[at / CARVE_RUN] = word.tail;
		s->bits.zero[at / CARVE_RUN] = word.zero;
	}
}

/* Bytes that cannot be read are taken for such as mean nothing. */
static int read_piece(struct stretch *t, uint64_t at, size_t n)
{
	int rc = src_pread(t->s->src, t->piece, n, at);

	if (rc == -EIO || rc == -EBADMSG) {
		memset(t->piece, NOTHING, n);
		rc = 0;
	}
	memset(t->piece + n, NOTHING, 2 * CARVE_RUN);
	return rc;
}

/* A header may end behind the run it begins in: the last run of a piece is looked at with the next, or with as much of
 * the next as that takes. */
static void *go_through(void *arg)
{
	struct stretch *t = arg;
	struct scan *s = t->s;
	size_t n = PIECE, held = 0;

	for (uint64_t at = t->at; at < t->end && !t->rc && !(s->first && is_done(s)); at += n) {
		n = s->size - at < PIECE ? (size_t)(s->size - at) : PIECE;
		t->rc = read_piece(t, at, n);
		if (t->rc)
			break;
		look_at(t, t->piece - held, at - held,
			held + (size_t)align_up(n, CARVE_RUN) - (at + n < s->size ? CARVE_RUN : 0));
		held = CARVE_RUN;
		if (n == PIECE)
			memcpy(t->piece - held, t->piece + PIECE - held, held);
	}
	if (t->end < s->size && !t->rc && !(s->first && is_done(s))) {
		n = s->size - t->end < CARVE_RUN ? (size_t)(s->size - t->end) : CARVE_RUN;
		t->rc = read_piece(t, t->end, n);
		if (!t->rc)
			look_at(t, t->piece - held, t->end - held, held);
	}
	return NULL;
}

static bool second_processor(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 1;
}

static int begin_part(struct stretch *t, struct err *e)
{
	uint64_t n = t->s->size < PIECE ? align_up(t->s->size, PAGE) : PIECE;

	t->room = aligned_alloc(PAGE, (size_t)n + 2 * PAGE);
	t->piece = t->room ? t->room + PAGE : NULL;
	return t->room ? 0 : err_nomem(e);
}

static void go_through_both(struct stretch part[2])
{
	pthread_t other;
	bool started = part[1].at < part[1].end && !pthread_create(&other, NULL, go_through, &part[1]);

	go_through(&part[0]);
	if (started)
		pthread_join(other, NULL);
	else
		go_through(&part[1]);
}

static void look_at_headers(struct scan *s, const struct stretch *t)
{
	uint64_t at;

	for (size_t i = 0; i < t->headers.len; i += sizeof at) {
		memcpy(&at, t->headers.p + i, sizeof at);
		if (at >= s->from)
			look_at_header(s, at);
	}
	s->nomem |= t->headers.bad;
	s->cut |= t->headers.len >= HEADERS_MOST * sizeof at;
}

static int look_at_all(struct scan *s, struct buf *streams, struct err *e)
{
	uint64_t start = s->first ? s->from - s->from % PIECE : 0;
	uint64_t middle = s->first || s->size < SHARED || !second_processor() ? s->size : align_up(s->size / 2, PIECE);
	struct stretch part[2] = { { .s = s, .at = start, .end = middle }, { .s = s, .at = middle, .end = s->size } };
	int rc = begin_part(&part[0], e);

	rc = rc || middle == s->size ? rc : begin_part(&part[1], e);
	if (!rc)
		go_through_both(part);
	for (unsigned k = 0; k < 2; k++) {
		if (!rc)
			look_at_headers(s, &part[k]);
		if (!rc && part[k].rc)
			rc = err_set(e, -part[k].rc, "%s", strerror(-part[k].rc));
		if (streams && part[k].streams.len)
			buf_add(streams, part[k].streams.p, part[k].streams.len);
		buf_free(&part[k].streams);
		buf_free(&part[k].headers);
		free(part[k].room);
	}
	return rc ? rc : s->nomem ? err_nomem(e) : 0;
}

/* ---- the rest of each ---- */

static bool is_taken(const struct carve_finding *f, uint64_t at)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->v[i].mmp.at == at)
			return true;
	return false;
}

static bool equal(const struct carve_mlp *a, const struct carve_mlp *b)
{
	return a->mmp_size == b->mmp_size && a->nmeshes == b->nmeshes &&
	       !memcmp(a->mesh, b->mesh, a->nmeshes * sizeof a->mesh[0]);
}

/* The first place, better one with zeros between the slices; and of quartets that are equal each has one of its own. */
static uint64_t find_mmp(struct carve_placing *p, const struct carve_mlp *m, const struct carve_finding *f)
{
	bool again = f->n && equal(m, m - 1) && f->v[f->n - 1].mmp.at != CARVE_NONE;
	uint64_t at = again ? f->v[f->n - 1].mmp.at : carve_find_mmp(p, m, 0), first = at;

	while (at != CARVE_NONE && (is_taken(f, at) || !carve_mmp_is_tidy(p, m, at)))
		at = carve_find_mmp(p, m, at + CARVE_BLOCK);
	return at != CARVE_NONE ? at : first;
}

/* Each may have as much work as is left for all from it on, so that one that takes much does not cost another its
 * members. */
static void place(struct scan *s, struct carve_finding *f)
{
	struct carve_placing *p = s->n ? malloc(sizeof *p) : NULL;
	uint64_t all = 8 * s->bits.n + (1 << 24);

	s->nomem = s->n && !p;
	if (!p)
		return;
	*p = (struct carve_placing){ .src = s->src, .size = s->size, .bits = &s->bits };
	p->vertices.src = p->indices.src = s->src;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct carve_mlp *m = &s->v[i];
		uint64_t own = all / (s->n - i);

		p->work.left = own;
		f->v[i] = (struct carved){
			.mlp = { m->at, m->size }, .has_mmp = m->mmp_size, .has_mgp = m->mgp_size,
			.mmp = { find_mmp(p, m, f), m->mmp_size },
		};
		f->v[i].mgp = (struct carve_place){ carve_find_mgp(p, m), m->mgp_size };
		f->n++;
		f->cut |= !p->work.left;
		all -= own - p->work.left;
	}
	f->cut |= s->cut;
	free(p);
}

/* ---- searching ---- */

/* Faults of small pages would take as long as some of the work. */
static int begin(struct scan *s, struct err *e)
{
	size_t words = (size_t)(s->size / CARVE_RUN + 1);
	size_t bytes = 3 * words * sizeof(uint64_t), page = bytes < LARGE_PAGE ? PAGE : LARGE_PAGE;

	if (s->first)
		return 0;
	s->bits.n = s->size / CARVE_BLOCK;
	s->bits.vertex = aligned_alloc(page, (size_t)align_up(bytes, page));
	if (!s->bits.vertex)
		return err_nomem(e);
	if (page == LARGE_PAGE)
		madvise(s->bits.vertex, (size_t)align_up(bytes, page), MADV_HUGEPAGE);
	s->bits.tail = s->bits.vertex + words;
	s->bits.zero = s->bits.tail + words;
	s->bits.vertex[words - 1] = s->bits.tail[words - 1] = s->bits.zero[words - 1] = 0;
	return 0;
}

static void end(struct scan *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		carve_mlp_free(&s->v[i]);
	free(s->v);
	free(s->bits.vertex);
}

int carve_search(struct source *src, uint64_t from, bool first, struct buf *streams, struct carve_finding **out,
		 struct err *e)
{
	struct scan s = {
		.src = src, .size = src->size < CARVE_END ? src->size : CARVE_END, .from = from, .first = first,
		.streams = streams,
		.records.left = RECORDS_MOST,
	};
	struct carve_finding *f = NULL;
	int rc = begin(&s, e);

	rc = rc ? rc : look_at_all(&s, streams, e);
	if (!rc) {
		f = calloc(1, sizeof *f + s.n * sizeof f->v[0]);
		if (f && !first)
			place(&s, f);
		rc = f && !s.nomem ? 0 : err_nomem(e);
	}
	if (!rc) {
		atomic_init(&f->f.refs, 1);
		f->any = s.n;
		f->whole = !first;
		f->from = s.n ? s.v[0].at : s.size;
		f->cut |= s.cut;
		*out = f;
	} else {
		free(f);
	}
	end(&s);
	return rc;
}

/* ---- once more ---- */

static bool holds(struct carve_placing *p, const struct carved *v)
{
	struct carve_work records = { RECORDS_MOST };
	struct carve_mlp m;
	uint64_t size;
	bool ok;

	if (!carve_mlp_check(p->src, v->mlp.at, &records, &size) || size != v->mlp.size ||
	    carve_mlp_read(p->src, v->mlp.at, &m, NULL))
		return false;
	ok = m.mmp_size == v->mmp.size && m.mgp_size == v->mgp.size &&
	     (v->mmp.at == CARVE_NONE || !carve_mmp_miss(p, &m, v->mmp.at)) &&
	     (v->mgp.at == CARVE_NONE || carve_mgp_fits(p, &m, v->mgp.at));
	carve_mlp_free(&m);
	return ok;
}

bool carve_holds(struct source *src, const struct carve_finding *f)
{
	struct carve_placing *p = malloc(sizeof *p);
	bool ok = p && f->whole;

	if (p)
		*p = (struct carve_placing){ .src = src, .size = src->size, .work.left = UINT64_MAX };
	for (uint32_t i = 0; i < f->n && ok; i++) {
		p->vertices = p->indices = (struct carve_window){ .src = src };
		ok = holds(p, &f->v[i]);
	}
	free(p);
	return ok;
}
