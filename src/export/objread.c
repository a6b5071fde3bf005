/* Wavefront OBJ as people's programs write it, statement by statement. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objread.h"

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

bool obj_word(struct obj *o, struct obj_word *w)
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
	struct obj_word w;

	while (obj_word(o, &w))
		;
	nl = o->p < o->end ? memchr(o->p, '\n', (size_t)(o->end - o->p)) : NULL;
	o->p = nl ? nl + 1 : o->end;
	o->line += nl != NULL;
	o->line_start = o->p;
}

static bool word_is(struct obj_word w, const char *text)
{
	return w.n == strlen(text) && !memcmp(w.p, text, w.n);
}

/* Everything up to the end of the line or a comment: names may have blanks inside. */
struct obj_word obj_rest(struct obj *o)
{
	struct obj_word all = { .p = o->p }, w;

	if (more(o))
		all.p = o->p;
	while (obj_word(o, &w))
		all.n = (size_t)(o->p - all.p);
	return all;
}

const char *obj_shown(struct obj_word w, char text[OBJ_SHOWN])
{
	size_t n = w.n < OBJ_SHOWN - 1 ? w.n : OBJ_SHOWN - 1;

	for (size_t i = 0; i < n; i++)
		text[i] = w.p[i] >= ' ' && w.p[i] <= '~' ? (char)w.p[i] : '?';
	text[n] = 0;
	if (n < w.n)
		memcpy(text + OBJ_SHOWN - 4, "...", 3);
	return text;
}

/* The word at o->p is not what it should be. */
static int refuse_word(struct obj *o, const char *should)
{
	unsigned column = (unsigned)(o->p - o->line_start) + 1, line = o->line;
	char text[OBJ_SHOWN];
	struct obj_word w = { o->p, 0 };

	obj_word(o, &w);
	return err_line(o->e, EINVAL, line, column, "\"%s\" %s", obj_shown(w, text), should);
}

int obj_keep(struct obj *o, struct buf *b, const void *p, size_t n)
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
	struct obj_word w;
	int rc;

	for (*n = 0; more(o); ++*n) {
		if (*n >= most) {
			obj_word(o, &w);
			continue;
		}
		rc = read_number(o, &d[*n]);
		if (rc)
			return rc;
	}
	return 0;
}

/* The slack of a number, where its own digits tell it: six or more were printed on purpose. */
static void take_numbers(struct obj *o, enum obj_printed of, const struct decimal *d, unsigned n,
			 struct geo_number *out)
{
	struct obj_print *print = &o->printed[of];

	for (unsigned i = 0; i < n; i++) {
		bool full = d[i].digits >= 6 && d[i].decimals > 0;

		out[i] = (struct geo_number){ d[i].v, full ? decimal_half(d[i].decimals) : OBJ_AS_ALL };
		print->decimals = d[i].decimals > print->decimals ? d[i].decimals : print->decimals;
		/* Exact texts have a digit behind the dot, which may be a zero. */
		print->padded |= d[i].padded && !(o->form->exact && d[i].decimals == 1);
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
		rc = obj_keep(o, &o->colour, rgb, sizeof rgb);
	if (d)
		take_numbers(o, OBJ_COLOUR, d, 3, rgb);
	return rc ? rc : obj_keep(o, &o->colour, rgb, sizeof rgb);
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
	take_numbers(o, OBJ_POSITION, d, 3, position);
	rc = obj_keep(o, &o->position, position, sizeof position);
	rc = rc ? rc : obj_keep(o, &o->vertex_line, &o->begun, sizeof o->begun);
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
	take_numbers(o, OBJ_UV, d, n < 2 ? n : 2, uv);
	o->n[OBJ_VT]++;
	return obj_keep(o, &o->uv, uv, sizeof uv);
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
	take_numbers(o, OBJ_NORMAL, d, 3, normal);
	if (d[0].decimals > 0 && d[0].decimals < (int)ARRAY_LEN(o->level) && d[0].decimals == d[1].decimals &&
	    d[0].decimals == d[2].decimals)
		o->level[d[0].decimals]++;
	o->n[OBJ_VN]++;
	rc = obj_keep(o, &o->normal, normal, sizeof normal);
	return rc ? rc : obj_keep(o, &o->normal_line, &o->begun, sizeof o->begun);
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
	int rc = obj_keep(o, &o->face, face, o->corners * sizeof *face);

	rc = rc ? rc : obj_keep(o, &o->face_line, &o->begun, sizeof o->begun);
	rc = rc ? rc : obj_keep(o, &o->groups, &o->group, sizeof o->group);
	rc = rc ? rc : obj_keep(o, &o->materials, &o->material, sizeof o->material);
	if (!rc && obj_names_materials(o))
		rc = obj_keep(o, &o->material_lines, &o->material_line, sizeof o->material_line);
	o->nfaces++;
	return rc;
}

static int too_few(const struct obj *o, unsigned n)
{
	return err_line(o->e, EINVAL, o->begun, 0, "a face has 3 corners or more, found %u", n);
}

static int too_many(const struct obj *o, unsigned n)
{
	return err_line(o->e, EINVAL, o->begun, 0, "%u corners; %s", n, o->form->holds);
}

static int read_fan(struct obj *o)
{
	struct geo_corner fan[3];
	unsigned n;
	int rc;

	for (n = 0; more(o); n++) {
		rc = read_corner(o, &fan[n < 2 ? n : 2]);
		if (!rc && n >= 2)
			rc = add_face(o, fan);
		if (rc)
			return rc;
		if (n >= 2)
			fan[1] = fan[2];
	}
	if (n > 3 && o->form->triangles)
		return too_many(o, n);
	return n < 3 ? too_few(o, n) : 0;
}

static int read_quad(struct obj *o)
{
	struct geo_corner quad[4], further;
	unsigned n;
	int rc;

	quad[3] = (struct geo_corner){ GEO_NONE, GEO_NONE, GEO_NONE };
	for (n = 0; more(o); n++) {
		rc = read_corner(o, n < 4 ? &quad[n] : &further);
		if (rc)
			return rc;
	}
	if (n > 4)
		return too_many(o, n);
	return n < 3 ? too_few(o, n) : add_face(o, quad);
}

static int read_f(struct obj *o)
{
	if (!o->taking)
		return 0;
	return o->form->quads ? read_quad(o) : read_fan(o);
}

/* ---- statements ---- */

static int ignore(struct obj *o)
{
	(void)o;
	return 0;
}

static const struct keyword { const char *name; int (*read)(struct obj *o); } keywords[] = {
	{ "v", read_v }, { "vt", read_vt }, { "vn", read_vn }, { "f", read_f }, { "o", obj_read_o }, { "g", obj_read_g },
	{ "usemtl", obj_read_usemtl }, { "s", ignore }, { "mtllib", ignore },
};

static void note_unknown(struct obj *o, struct obj_word w)
{
	char text[OBJ_SHOWN];
	unsigned i;

	obj_shown(w, text);
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
	struct obj_word w;

	o->begun = o->line;
	if (!obj_word(o, &w))
		return 0;
	for (unsigned i = 0; i < ARRAY_LEN(keywords); i++)
		if (word_is(w, keywords[i].name))
			return keywords[i].read(o);
	note_unknown(o, w);
	return 0;
}

static bool begins(const uint8_t *p, const uint8_t *end, const char *text)
{
	return (size_t)(end - p) >= strlen(text) && !memcmp(p, text, strlen(text));
}

/* The first two lines as obj_write() prints them: other programs begin with a comment. Where objects have names, the
 * second one may be a vertex. */
static bool begins_as_ours(const uint8_t *text, size_t n, uint32_t number, const struct geo_form *form)
{
	const uint8_t *end = text + n;
	char line[64];

	if (number == MESH_WHOLE)
		snprintf(line, sizeof line, "mtllib model.mtl");
	else
		snprintf(line, sizeof line, "mtllib %u.mtl", number);
	if (!begins(text, end, line))
		return false;
	text += strlen(line);
	text += begins(text, end, "\r\n") ? 2 : begins(text, end, "\n") ? 1 : 0;
	if (text[-1] != '\n')
		return false;
	if (form->named)
		return begins(text, end, "v ") || begins(text, end, "vt ") || begins(text, end, "o ");
	snprintf(line, sizeof line, "o mesh_%u", number);
	return begins(text, end, line) && (begins(text + strlen(line), end, "\n") ||
					   begins(text + strlen(line), end, "\r\n"));
}

static void free_buffers(struct obj *o)
{
	struct buf *const all[] = {
		&o->position, &o->vertex_line, &o->colour, &o->uv, &o->normal, &o->normal_line, &o->face, &o->face_line,
		&o->groups, &o->materials, &o->material_lines, &o->spans, &o->names.names,
	};

	for (unsigned i = 0; i < ARRAY_LEN(all); i++)
		buf_free(all[i]);
	free(o->names.slot);
}

int obj_read(const uint8_t *text, size_t n, uint32_t number, const struct geo_form *form, struct geo_put *out,
	     struct arena *a, const struct reader_log *log, struct err *e)
{
	static const struct geo_form plain;
	struct obj o = {
		.p = text, .end = text + n, .line = 1, .number = number, .form = form ? form : &plain, .log = log,
		.a = a, .e = e, .taking = true, .group = GEO_NONE, .material = GEO_NONE,
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
	o.corners = o.form->quads ? 4 : 3;
	o.own = begins_as_ours(text, n, number, o.form);
	while (o.p < o.end && !rc) {
		rc = read_statement(&o);
		if (!rc)
			end_line(&o);
	}
	rc = rc ? rc : obj_pick(&o, out, a);
	free_buffers(&o);
	return rc;
}
