/* Wavefront OBJ as people's programs write it, statement by statement. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "objread.h"

struct word { const uint8_t *p; size_t n; };

void obj_say(const struct obj *o, const char *fmt, ...)
{
	char text[240];
	va_list ap;

	if (!o->log || !o->log->say)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	o->log->say(o->log->ctx, text);
}

/* ---- words ---- */

static bool is_blank(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

/* How long a backslash at the end of a line is, with that end; 0: p is none. The statement goes on in the next line. */
static size_t continued(const struct obj *o, const uint8_t *p)
{
	size_t n = 1;

	if (*p != '\\')
		return 0;
	if (p + n < o->end && p[n] == '\r')
		n++;
	return p + n < o->end && p[n] == '\n' ? n + 1 : 0;
}

static bool word_ends(const struct obj *o, const uint8_t *p)
{
	return p >= o->end || *p == '\n' || is_blank(*p) || continued(o, p);
}

/* Whether the statement has another word; that is where o->p is then. */
static bool more(struct obj *o)
{
	size_t n;

	for (; o->p < o->end; o->p++) {
		if (is_blank(*o->p))
			continue;
		n = continued(o, o->p);
		if (!n)
			return *o->p != '\n' && *o->p != '#';
		o->p += n - 1;
		o->line++;
		o->line_start = o->p + 1;
	}
	return false;
}

static bool next_word(struct obj *o, struct word *w)
{
	if (!more(o))
		return false;
	w->p = o->p;
	while (!word_ends(o, o->p))
		o->p++;
	w->n = (size_t)(o->p - w->p);
	return true;
}

/* A backslash ends no comment: it may be the end of a path. */
static void end_line(struct obj *o)
{
	const uint8_t *nl;
	struct word w;

	while (next_word(o, &w))
		;
	nl = o->p < o->end ? memchr(o->p, '\n', (size_t)(o->end - o->p)) : NULL;
	o->p = nl ? nl + 1 : o->end;
	o->line += nl != NULL;
	o->line_start = o->p;
}

static bool word_is(struct word w, const char *text)
{
	return w.n == strlen(text) && !memcmp(w.p, text, w.n);
}

/* Everything up to the end of the line or a comment: names may have blanks inside. */
static struct word rest_of_line(struct obj *o)
{
	struct word all = { .p = o->p }, w;

	if (more(o))
		all.p = o->p;
	while (next_word(o, &w))
		all.n = (size_t)(o->p - all.p);
	return all;
}

/* As it may stand in a message. */
#define SHOWN 40
static const char *shown(struct word w, char text[SHOWN])
{
	size_t n = w.n < SHOWN - 1 ? w.n : SHOWN - 1;

	for (size_t i = 0; i < n; i++)
		text[i] = w.p[i] >= ' ' && w.p[i] <= '~' ? (char)w.p[i] : '?';
	text[n] = 0;
	if (n < w.n)
		memcpy(text + SHOWN - 4, "...", 3);
	return text;
}

/* The word at o->p is not what it should be. */
static int refuse_word(struct obj *o, const char *should)
{
	unsigned column = (unsigned)(o->p - o->line_start) + 1, line = o->line;
	char text[SHOWN];
	struct word w = { o->p, 0 };

	next_word(o, &w);
	return err_line(o->e, EINVAL, line, column, "\"%s\" %s", shown(w, text), should);
}

static int keep(struct obj *o, struct buf *b, const void *p, size_t n)
{
	if (n > LIMIT_DECODED - b->len)
		return err_line(o->e, EFBIG, o->begun, 0, "more geometry than the %zu MiB that are read at most",
				LIMIT_DECODED >> 20);
	buf_add(b, p, n);
	return b->bad ? err_nomem(o->e) : 0;
}

/* ---- numbers ---- */

static int read_number(struct obj *o, struct decimal *d)
{
	const uint8_t *end = decimal_read(o->p, o->end, d);

	if (!end || !word_ends(o, end))
		return refuse_word(o, end && *end == ',' ? "has a comma where a decimal point is expected"
							 : "is not a finite number");
	if (!decimal_fits(d->v))
		return refuse_word(o, "is too large");
	o->p = end;
	return 0;
}

/* All words of the statement, the first `most` as numbers; *n: how many words. */
static int read_numbers(struct obj *o, struct decimal *d, unsigned most, unsigned *n)
{
	struct word w;
	int rc;

	for (*n = 0; more(o); ++*n) {
		if (*n >= most) {
			next_word(o, &w);
			continue;
		}
		rc = read_number(o, &d[*n]);
		if (rc)
			return rc;
	}
	return 0;
}

/* The slack of a number, where its own digits tell it: six or more were printed on purpose. */
static void take_numbers(struct obj_print *print, const struct decimal *d, unsigned n, struct geo_number *out)
{
	for (unsigned i = 0; i < n; i++) {
		bool full = d[i].digits >= 6 && d[i].decimals > 0;

		out[i] = (struct geo_number){ d[i].v, full ? decimal_half(d[i].decimals) : OBJ_AS_ALL };
		print->decimals = d[i].decimals > print->decimals ? d[i].decimals : print->decimals;
		print->padded |= d[i].padded;
	}
}

/* ---- values ---- */

/* `colour` has a place for every vertex from the first one on that has one. */
static int add_colour(struct obj *o, const struct decimal *d)
{
	struct geo_number rgb[3] = { { NAN, 0 }, { NAN, 0 }, { NAN, 0 } };
	int rc = 0;

	if (!d && !o->colour.len)
		return 0;
	while (!rc && o->colour.len < o->n[OBJ_V] * sizeof rgb)
		rc = keep(o, &o->colour, rgb, sizeof rgb);
	if (d)
		take_numbers(&o->printed[OBJ_COLOUR], d, 3, rgb);
	return rc ? rc : keep(o, &o->colour, rgb, sizeof rgb);
}

static int read_v(struct obj *o)
{
	struct geo_number position[3];
	struct decimal d[6];
	unsigned n;
	int rc = read_numbers(o, d, ARRAY_LEN(d), &n);

	if (rc)
		return rc;
	if (n != 3 && n != 4 && n != 6)
		return err_line(o->e, EINVAL, o->begun, 0, "v takes 3, 4 or 6 numbers, found %u", n);
	take_numbers(&o->printed[OBJ_POSITION], d, 3, position);
	rc = keep(o, &o->position, position, sizeof position);
	rc = rc ? rc : keep(o, &o->vertex_line, &o->begun, sizeof o->begun);
	rc = rc ? rc : add_colour(o, n == 6 ? d + 3 : NULL);
	o->n[OBJ_V]++;
	return rc;
}

static int read_vt(struct obj *o)
{
	struct geo_number uv[2] = { { 0 } };
	struct decimal d[3];
	unsigned n;
	int rc = read_numbers(o, d, ARRAY_LEN(d), &n);

	if (rc)
		return rc;
	if (n < 1 || n > 3)
		return err_line(o->e, EINVAL, o->begun, 0, "vt takes 1 to 3 numbers, found %u", n);
	take_numbers(&o->printed[OBJ_UV], d, n < 2 ? n : 2, uv);
	o->n[OBJ_VT]++;
	return keep(o, &o->uv, uv, sizeof uv);
}

static int read_vn(struct obj *o)
{
	struct geo_number normal[3];
	struct decimal d[3];
	unsigned n;
	int rc = read_numbers(o, d, ARRAY_LEN(d), &n);

	if (rc)
		return rc;
	if (n != 3)
		return err_line(o->e, EINVAL, o->begun, 0, "vn takes 3 numbers, found %u", n);
	take_numbers(&o->printed[OBJ_NORMAL], d, 3, normal);
	if (d[0].decimals > 0 && d[0].decimals < (int)ARRAY_LEN(o->level) && d[0].decimals == d[1].decimals &&
	    d[0].decimals == d[2].decimals)
		o->level[d[0].decimals]++;
	o->n[OBJ_VN]++;
	return keep(o, &o->normal, normal, sizeof normal);
}

/* ---- faces ---- */

const char *const obj_value_name[OBJ_VALUES] = { "vertex", "vt", "vn" };

/* One number of a corner, behind which *p is then; counted from 0 in *out. Whether a number from the front is in range
 * is known at the end of the text. */
static int read_index(struct obj *o, const uint8_t **p, enum obj_values of, uint32_t *out)
{
	unsigned column = (unsigned)(*p - o->line_start) + 1;
	bool minus = **p == '-';
	const uint8_t *from = *p += minus || **p == '+';
	uint64_t k = 0;

	for (; *p < o->end && **p >= '0' && **p <= '9'; ++*p)
		k = k < (uint64_t)1 << 40 ? k * 10 + (uint64_t)(**p - '0') : k;
	if (*p == from)
		return refuse_word(o, "is no corner like 1, 1/2, 1//3 or 1/2/3");
	if (!k)
		return err_line(o->e, EINVAL, o->line, column, "%s 0: they count from 1", obj_value_name[of]);
	if (minus ? k > o->n[of] : k >= GEO_NONE)
		return err_line(o->e, EINVAL, o->line, column, "%s %s%ju is out of range: %u so far",
				obj_value_name[of],
				minus ? "-" : "", (uintmax_t)k, o->n[of]);
	*out = minus ? o->n[of] - (uint32_t)k : (uint32_t)k - 1;
	return 0;
}

/* V, V/, V/T, V//N or V/T/N. */
static int read_corner(struct obj *o, struct geo_corner *c)
{
	uint32_t *const to[OBJ_VALUES] = { &c->v, &c->uv, &c->normal };
	const uint8_t *p = o->p;
	int rc = read_index(o, &p, OBJ_V, &c->v);

	c->uv = c->normal = GEO_NONE;
	for (unsigned k = OBJ_VT; k <= OBJ_VN && !rc && p < o->end && *p == '/'; k++) {
		p++;
		if (!word_ends(o, p) && *p != '/')
			rc = read_index(o, &p, k, to[k]);
	}
	if (!rc && !word_ends(o, p))
		rc = refuse_word(o, "is no corner like 1, 1/2, 1//3 or 1/2/3");
	o->p = p;
	return rc;
}

static int add_face(struct obj *o, const struct geo_corner *face)
{
	int rc = keep(o, &o->face, face, 3 * sizeof *face);

	rc = rc ? rc : keep(o, &o->face_line, &o->begun, sizeof o->begun);
	rc = rc ? rc : keep(o, &o->groups, &o->group, sizeof o->group);
	rc = rc ? rc : keep(o, &o->materials, &o->material, sizeof o->material);
	o->nfaces++;
	return rc;
}

static int read_f(struct obj *o)
{
	struct geo_corner fan[3];
	unsigned n;
	int rc;

	if (!o->taking)
		return 0;
	for (n = 0; more(o); n++) {
		rc = read_corner(o, &fan[n < 2 ? n : 2]);
		if (!rc && n >= 2)
			rc = add_face(o, fan);
		if (rc)
			return rc;
		if (n >= 2)
			fan[1] = fan[2];
	}
	return n < 3 ? err_line(o->e, EINVAL, o->begun, 0, "a face has 3 corners or more, found %u", n) : 0;
}

/* ---- names ---- */

/* Behind "PREFIXK" at the start of w, K in *k; NULL: that is not what stands there. */
static const uint8_t *numbered(struct word w, const char *prefix, uint32_t *k)
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
static uint32_t group_of(struct word w)
{
	uint32_t k;

	for (size_t i = 0; i < w.n; i++) {
		const uint8_t *end;

		if (w.p[i] != 'g' || (i && is_alnum(w.p[i - 1])))
			continue;
		end = numbered((struct word){ w.p + i, w.n - i }, "group_", &k);
		if (end && (end == w.p + w.n || !is_alnum(*end)))
			return k;
	}
	return GEO_NONE;
}

static int read_g(struct obj *o)
{
	struct word w;

	o->group = GEO_NONE;
	while (o->group == GEO_NONE && next_word(o, &w))
		o->group = group_of(w);
	return 0;
}

static int read_usemtl(struct obj *o)
{
	struct word w = { o->p, 0 };
	const uint8_t *end;
	uint32_t k;

	next_word(o, &w);
	end = numbered(w, "material_", &k);
	o->material = end && k <= INT32_MAX && past_copy(end, w.p + w.n) == w.p + w.n ? (int32_t)k : -1;
	return 0;
}

static bool begins(const uint8_t *p, const uint8_t *end, const char *text)
{
	return (size_t)(end - p) >= strlen(text) && !memcmp(p, text, strlen(text));
}

/* mesh_N; a .001 behind it; and what Blender may add: the name of the mesh (_mesh_N), of a group or material. */
static bool names_mesh(struct word w, uint32_t number)
{
	const uint8_t *end = w.p + w.n, *p;
	uint32_t k;

	p = numbered(w, "mesh_", &k);
	if (!p || k != number)
		return false;
	p = past_copy(p, end);
	return p == end || begins(p, end, "_mesh_") || begins(p, end, "_group_") || begins(p, end, "_material_");
}

static void add_name(struct obj_names *names, struct word w)
{
	char text[SHOWN];
	size_t n = strlen(shown(w, text));

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

static int read_o(struct obj *o)
{
	struct word w = rest_of_line(o);
	struct obj_span span = { .from = { o->n[OBJ_V], o->n[OBJ_VT], o->n[OBJ_VN] } };

	span.taken = o->taking = names_mesh(w, o->number);
	add_name(span.taken ? &o->taken : &o->others, w);
	if (!o->first_o) {
		o->first_o = o->begun;
		o->early_faces = o->nfaces;
	}
	o->group = GEO_NONE;
	return keep(o, &o->spans, &span, sizeof span);
}

/* ---- statements ---- */

static int ignore(struct obj *o)
{
	(void)o;
	return 0;
}

static const struct keyword { const char *name; int (*read)(struct obj *o); } keywords[] = {
	{ "v", read_v }, { "vt", read_vt }, { "vn", read_vn }, { "f", read_f }, { "o", read_o }, { "g", read_g },
	{ "usemtl", read_usemtl }, { "s", ignore }, { "mtllib", ignore },
};

static void note_unknown(struct obj *o, struct word w)
{
	char text[SHOWN];
	unsigned i;

	shown(w, text);
	text[sizeof o->noted[0] - 1] = 0;
	for (i = 0; i < o->nnoted; i++)
		if (!strcmp(o->noted[i], text))
			return;
	if (i == ARRAY_LEN(o->noted))
		return;
	memcpy(o->noted[o->nnoted++], text, sizeof o->noted[0]);
	obj_say(o, "line %u: lines of \"%s\" are ignored", o->begun, text);
}

static int read_statement(struct obj *o)
{
	struct word w;

	o->begun = o->line;
	if (!next_word(o, &w))
		return 0;
	for (unsigned i = 0; i < ARRAY_LEN(keywords); i++)
		if (word_is(w, keywords[i].name))
			return keywords[i].read(o);
	note_unknown(o, w);
	return 0;
}

/* The first two lines as obj_write() prints them. Other programs begin with a comment. */
static bool begins_as_ours(const uint8_t *text, size_t n, uint32_t number)
{
	char lf[64], crlf[64];

	snprintf(lf, sizeof lf, "mtllib %u.mtl\no mesh_%u\n", number, number);
	snprintf(crlf, sizeof crlf, "mtllib %u.mtl\r\no mesh_%u\r\n", number, number);
	return begins(text, text + n, lf) || begins(text, text + n, crlf);
}

int obj_read(const uint8_t *text, size_t n, uint32_t number, struct geo_put *out, struct arena *a,
	     const struct reader_log *log, struct err *e)
{
	struct obj o = {
		.p = text, .end = text + n, .line = 1, .number = number, .log = log, .e = e, .taking = true,
		.group = GEO_NONE, .material = -1,
	};
	int rc = 0;

	*out = (struct geo_put){ 0 };
	if (n > LIMIT_DECODED)
		return err_set(e, EFBIG, "%zu bytes of text: %zu MiB are read at most", n, LIMIT_DECODED >> 20);
	if (!n)
		return err_set(e, EINVAL, "no vertices: the file is empty");
	if (begins(o.p, o.end, "\xef\xbb\xbf"))
		o.p += 3;
	o.line_start = o.p;
	o.own = begins_as_ours(text, n, number);
	while (o.p < o.end && !rc) {
		rc = read_statement(&o);
		if (!rc)
			end_line(&o);
	}
	rc = rc ? rc : obj_pick(&o, out, a);
	struct buf *const all[] = {
		&o.position, &o.vertex_line, &o.colour, &o.uv, &o.normal,
		&o.face, &o.face_line, &o.groups, &o.materials, &o.spans,
	};
	for (unsigned i = 0; i < ARRAY_LEN(all); i++)
		buf_free(all[i]);
	return rc;
}
