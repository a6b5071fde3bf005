/* Names in OBJ texts: which object is meant, and which group and material a face has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objread.h"

/* ---- numbers in names ---- */

/* Behind "PREFIXK" at the start of w, K in *k; NULL: that is not what stands there. */
static const uint8_t *numbered(struct obj_word w, const char *prefix, uint32_t *k)
{
	const uint8_t *p = w.p, *end = w.p + w.n, *from;
	size_t n = strlen(prefix);
	uint64_t v = 0;

	if (w.n <= n || memcmp(p, prefix, n))
		return NULL;
	for (from = p += n; p < end && *p >= '0' && *p <= '9' && v < GEO_NONE; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	*k = (uint32_t)v;
	return p > from && v < GEO_NONE ? p : NULL;
}

/* Past the .001 that Blender puts behind a name that was there already. */
static const uint8_t *past_copy(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *q = p + 1;

	if (p == end || *p != '.')
		return p;
	while (q < end && *q >= '0' && *q <= '9')
		q++;
	return q > p + 1 ? q : p;
}

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* K where group_K is a part of the name: programs put names of objects before it and of materials behind. */
static uint32_t group_of(struct obj_word w)
{
	uint32_t k;

	for (size_t i = 0; i < w.n; i++) {
		const uint8_t *end;

		if (w.p[i] != 'g' || (i && is_alnum(w.p[i - 1])))
			continue;
		end = numbered((struct obj_word){ w.p + i, w.n - i }, "group_", &k);
		if (end && (end == w.p + w.n || !is_alnum(*end)))
			return k;
	}
	return GEO_NONE;
}

/* ---- names by number ---- */

static uint32_t hash(const uint8_t *p, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 16777619u;
	return h ^ h >> 15;
}

static struct geo_name *names_of(const struct obj *o)
{
	return (struct geo_name *)(void *)o->names.names.p;
}

/* Where the name stands, or the free slot that is its. */
static uint32_t *find_slot(const struct obj *o, const uint8_t *p, size_t n)
{
	const struct obj_table *t = &o->names;
	uint32_t i = hash(p, n);

	for (;; i++) {
		uint32_t *slot = &t->slot[i & (t->nslots - 1)];
		const char *text = *slot == GEO_NONE ? NULL : names_of(o)[*slot].text;

		if (!text || (strlen(text) == n && !memcmp(text, p, n)))
			return slot;
	}
}

/* A table twice as large, at least. */
static int grow_table(struct obj *o)
{
	struct obj_table *t = &o->names;
	uint32_t count = (uint32_t)(t->names.len / sizeof(struct geo_name)), nslots = t->nslots ? t->nslots * 2 : 64;
	uint32_t *slot = malloc(nslots * sizeof *slot);

	if (!slot)
		return err_nomem(o->e);
	memset(slot, 0xff, nslots * sizeof *slot);
	free(t->slot);
	t->slot = slot;
	t->nslots = nslots;
	for (uint32_t i = 0; i < count; i++)
		*find_slot(o, (const uint8_t *)names_of(o)[i].text, strlen(names_of(o)[i].text)) = i;
	return 0;
}

/* The number of a name; GEO_NONE for one without letters. */
static int number_name(struct obj *o, struct obj_word w, uint32_t *out)
{
	struct obj_table *t = &o->names;
	uint32_t count = (uint32_t)(t->names.len / sizeof(struct geo_name)), *slot;
	struct geo_name name = { .line = o->begun };
	char *text;
	int rc;

	*out = GEO_NONE;
	/* A zero byte would end the text. */
	w.n = w.n && memchr(w.p, 0, w.n) ? (size_t)((const uint8_t *)memchr(w.p, 0, w.n) - w.p) : w.n;
	if (!w.n)
		return 0;
	rc = count * 2 >= t->nslots ? grow_table(o) : 0;
	if (rc)
		return rc;
	slot = find_slot(o, w.p, w.n);
	if (*slot == GEO_NONE) {
		text = arena_alloc(o->a, w.n + 1, 1);
		if (!text)
			return err_nomem(o->e);
		memcpy(text, w.p, w.n);
		name.text = text;
		rc = obj_keep(o, &t->names, &name, sizeof name);
		if (rc)
			return rc;
		*slot = count;
	}
	*out = *slot;
	return 0;
}

/* ---- groups and materials ---- */

int obj_read_g(struct obj *o)
{
	struct obj_word w = { o->p, 0 };

	if (o->form->named) {
		obj_word(o, &w);
		return number_name(o, w, &o->group);
	}
	o->group = GEO_NONE;
	while (o->group == GEO_NONE && obj_word(o, &w))
		o->group = group_of(w);
	return 0;
}

int obj_read_usemtl(struct obj *o)
{
	struct obj_word w = { o->p, 0 };
	const uint8_t *end;
	uint32_t k;

	obj_word(o, &w);
	o->material_line = o->begun;
	if (obj_names_materials(o))
		return number_name(o, w, &o->material);
	end = numbered(w, "material_", &k);
	o->material = end && k <= INT32_MAX && past_copy(end, w.p + w.n) == w.p + w.n ? k : GEO_NONE;
	return 0;
}

/* ---- objects ---- */

static bool begins(const uint8_t *p, const uint8_t *end, const char *text)
{
	return (size_t)(end - p) >= strlen(text) && !memcmp(p, text, strlen(text));
}

/* mesh_N; a .001 behind it; and what Blender may add: the name of the mesh (_mesh_N), of a group or material. */
static bool names_mesh(struct obj_word w, uint32_t number)
{
	const uint8_t *end = w.p + w.n, *p;
	uint32_t k;

	p = numbered(w, "mesh_", &k);
	if (!p || k != number)
		return false;
	p = past_copy(p, end);
	return p == end || begins(p, end, "_mesh_") || begins(p, end, "_group_") || begins(p, end, "_material_");
}

/* Likewise of an object that has a name. */
static bool names_object(struct obj_word w, const char *object)
{
	const uint8_t *p = w.p, *end = w.p + w.n;

	if (!begins(p, end, object))
		return false;
	p = past_copy(p + strlen(object), end);
	if (p == end)
		return true;
	return *p++ == '_' && begins(p, end, object) && past_copy(p + strlen(object), end) == end;
}

const char *obj_wanted(const struct obj *o, char text[OBJ_SHOWN])
{
	const char *name = o->form->object;

	if (name)
		return obj_shown((struct obj_word){ (const uint8_t *)name, strlen(name) }, text);
	snprintf(text, OBJ_SHOWN, "mesh_%u", o->number);
	return text;
}

static void add_name(struct obj_names *names, struct obj_word w)
{
	char text[OBJ_SHOWN];
	size_t n = strlen(obj_shown(w, text));

	names->count++;
	if (names->len + n + 3 > sizeof names->list)
		return;
	if (names->len) {
		memcpy(names->list + names->len, ", ", 2);
		names->len += 2;
	}
	memcpy(names->list + names->len, text, n + 1);
	names->len += n;
}

/* Values and faces up to the next object belong to this one. */
static int choose(struct obj *o, struct obj_word w)
{
	struct obj_span span = { .from = { o->n[OBJ_V], o->n[OBJ_VT], o->n[OBJ_VN] } };

	span.taken = o->taking = o->form->object ? names_object(w, o->form->object) : names_mesh(w, o->number);
	add_name(span.taken ? &o->taken : &o->others, w);
	if (!o->first_o) {
		o->first_o = o->begun;
		o->early_faces = o->nfaces;
	}
	return obj_keep(o, &o->spans, &span, sizeof span);
}

int obj_read_o(struct obj *o)
{
	struct obj_word w = obj_rest(o);
	int rc = obj_chooses(o) ? choose(o, w) : 0;

	o->group = GEO_NONE;
	return rc || !o->form->named ? rc : number_name(o, w, &o->group);
}
