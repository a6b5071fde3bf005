/* The search for quartets: whatever the bytes, what is found lies in them and is found again, and it is what somebody
 * finds who leaves out no place. */
#include <errno.h>
#include <string.h>

#include "build.h"
#include "bytes.h"
#include "carve.h"
#include "fuzz.h"

extern const struct format fmt_carved;

#define SLOWLY 8192u                           /* bytes of which every place is looked at */

/* ---- every place ---- */

static bool is_likely(const uint8_t *p)
{
	unsigned first = p[0] & 0x7f;

	return !first || (first >= 0x20 && first <= 0x4a);
}

static const struct carve_mesh *largest(const struct carve_mlp *m)
{
	const struct carve_mesh *best = &m->mesh[0];

	for (unsigned k = 1; k < m->nmeshes; k++)
		if (m->mesh[k].nvertices > best->nvertices)
			best = &m->mesh[k];
	return best;
}

/* Vertices that are all zeros, or too small to be any, are passed over where bits are asked. */
static bool is_passed_over(const struct carve_mlp *m, const uint8_t *p, uint64_t at)
{
	const struct carve_mesh *mesh = largest(m);
	bool bits = mesh->vertices % 16 == 0, zero = true, likely = true;

	for (unsigned k = 0; k < 3; k++)
		bits = bits && mesh->low[k] > -(double)(1 << 22) && mesh->high[k] < (double)(1 << 22);
	for (uint32_t i = 0; i < mesh->nvertices; i++) {
		const uint8_t *v = p + at + mesh->vertices + 16 * (uint64_t)i;

		zero = zero && !be_u32(v) && !be_u32(v + 4) && !be_u32(v + 8) && !be_u32(v + 12);
		likely = likely && is_likely(v) && is_likely(v + 4) && is_likely(v + 8);
	}
	return bits && (zero || !likely);
}

static uint64_t slow_mmp(struct carve_placing *p, const struct carve_mlp *m, const uint8_t *data, uint64_t from)
{
	for (uint64_t at = from; at + m->mmp_size <= p->size; at += 16)
		if (!carve_mmp_miss(p, m, at) && !is_passed_over(m, data, at))
			return at;
	return CARVE_NONE;
}

static uint64_t slow_mgp(struct carve_placing *p, const struct carve_mlp *m)
{
	uint64_t found = CARVE_NONE;

	for (uint64_t at = 0; at + m->mgp_size <= p->size; at += 16) {
		if (!carve_mgp_fits(p, m, at))
			continue;
		if (found != CARVE_NONE)
			return CARVE_NONE;
		found = at;
	}
	return found;
}

static void compare(struct source *src, const uint8_t *data, const struct carve_finding *f)
{
	struct carve_placing p = { .src = src, .size = src->size, .work.left = UINT64_MAX };
	struct carve_mlp m;

	p.vertices.src = p.indices.src = src;
	for (uint32_t i = 0; i < f->n; i++) {
		uint64_t at;

		if (carve_mlp_read(src, f->v[i].mlp.at, &m, NULL))
			abort();
		if (f->v[i].mgp.at != slow_mgp(&p, &m))
			abort();
		at = f->v[i].mmp.at;
		if (i == 0 && at != CARVE_NONE && carve_mmp_is_tidy(&p, &m, at))
			for (uint64_t k = slow_mmp(&p, &m, data, 0); k < at; k = slow_mmp(&p, &m, data, k + 16))
				if (carve_mmp_is_tidy(&p, &m, k))
					abort();
		if (at == CARVE_NONE ? slow_mmp(&p, &m, data, 0) != CARVE_NONE : carve_mmp_miss(&p, &m, at) != 0)
			abort();
		carve_mlp_free(&m);
	}
}

/* ---- all of it ---- */

static void check_place(const struct source *src, const struct carve_place *p, unsigned align)
{
	if (p->at != CARVE_NONE && (p->at % align || !span_ok(src->size, p->at, p->size, 1)))
		abort();
}

static void use_entries(struct source *src, const struct carve_finding *f)
{
	struct surroundings around = { .finding = (struct finding *)(uintptr_t)&f->f };
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	struct object *o;
	struct entries v;

	if (object_open(&fmt_carved, src, &around, &o, NULL))
		abort();
	if (fmt_carved.container->list(o, &v, NULL)) {
		if (f->n)
			abort();
	} else if (v.n != f->n || !v.n || fmt_carved.container->info(o, &v, &quiet, NULL)) {
		abort();
	}
	object_close(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source *src = src_memory(data, size);
	struct carve_finding *f = NULL, *first = NULL;
	struct buf streams = { 0 };
	struct err why = { 0 };

	if (!src)
		return 0;
	if (carve_search(src, 0, false, &streams, &f, &why) || carve_search(src, 0, true, NULL, &first, &why))
		abort();
	if (f->any != first->any || f->from != first->from || f->any != (f->n > 0) || !carve_holds(src, f))
		abort();
	for (uint32_t i = 0; i < f->n; i++) {
		check_place(src, &f->v[i].mlp, 4);
		check_place(src, &f->v[i].mmp, 16);
		check_place(src, &f->v[i].mgp, 16);
		if (i && f->v[i].mlp.at <= f->v[i - 1].mlp.at)
			abort();
	}
	if (size <= SLOWLY && !f->cut)
		compare(src, data, f);
	use_entries(src, f);
	carve_deflated(src, &streams, &why);
	buf_free(&streams);
	finding_put(&first->f);
	finding_put(&f->f);
	src_put(src);
	return 0;
}
