/* meshes/N.attr.csv: what an OBJ cannot say of the vertices, in hex digits because nobody knows what most of it means.
 *
 *   vertex,normal,mgp
 *   0,7fc00000,3c00380000000000ffffffff        the MGP row is empty where the mesh has none */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mlp.h"

#define HEAD "vertex,normal,mgp"
#define NORMAL_DIGITS 8u
#define SHOWN 40                               /* bytes of a text in messages */

/* ---- printing ---- */

static void put_hex(char *to, const uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*to++ = digits[p[i] >> 4];
		*to++ = digits[p[i] & 15];
	}
}

int mlp_rows_text(const struct mlp_mesh *mesh, const struct mlp_slices *s, struct buf *out)
{
	size_t stride = s->rows ? mesh->stride : 0;

	buf_str(out, HEAD "\n");
	for (size_t i = 0; i < mesh->nvertices && !out->bad; i++) {
		char *p = (char *)buf_room(out, NUM_MAX + NORMAL_DIGITS + 2 * stride + 3);

		if (!p)
			break;
		p += num_u32(p, (uint32_t)i);
		*p++ = ',';
		put_hex(p, s->vertices + i * MLP_VERTEX_SIZE + MLP_NORMAL, 4);
		p += NORMAL_DIGITS;
		*p++ = ',';
		if (stride)
			put_hex(p, s->rows + i * stride, stride);
		p += 2 * stride;
		*p++ = '\n';
		out->len = (size_t)((uint8_t *)p - out->p);
	}
	return out->bad ? -EFBIG : 0;
}

int mlp_rows_file(struct object *o, unsigned k, uint32_t mesh, struct source **out, struct err *e)
{
	struct mlp_slices s;
	struct arena a = { 0 };
	struct buf text = { 0 };
	int rc = mlp_slices(o, mesh, &s, &a, e);

	(void)k;
	if (!rc && mlp_rows_text(&((const struct mlp *)o->priv)->mesh[mesh], &s, &text))
		rc = err_set(e, EFBIG, "the rows of mesh %u would be longer than %zu bytes, or memory is short", mesh,
			     LIMIT_DECODED);
	if (!rc) {
		*out = src_copy(text.p, text.len);
		rc = *out ? 0 : err_nomem(e);
	}
	buf_free(&text);
	arena_free(&a);
	return rc;
}

/* ---- reading ---- */

struct word { const char *p; size_t n; };

struct reading {
	uint32_t number;                       /* of the mesh */
	const struct mlp_mesh *mesh;
	const char *p, *end;
	unsigned line;
	uint8_t *vertices, *rows;              /* rows NULL: there are none */
	unsigned *seen;                        /* of each vertex: the line of its row */
	struct err *e;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct word trimmed(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	while (p < end && is_blank(end[-1]))
		end--;
	return (struct word){ p, (size_t)(end - p) };
}

/* The next line without blanks at its ends; false: there are no more. */
static bool next_line(struct reading *r, struct word *w)
{
	const char *nl;

	if (r->p == r->end)
		return false;
	nl = memchr(r->p, '\n', (size_t)(r->end - r->p));
	*w = trimmed(r->p, nl ? nl : r->end);
	r->p = nl ? nl + 1 : r->end;
	r->line++;
	return true;
}

/* Takes what stands before the next comma off the line. */
static struct word next_value(struct word *line)
{
	const char *comma = memchr(line->p, ',', line->n), *end = line->p + line->n;
	struct word w = trimmed(line->p, comma ? comma : end);

	*line = comma ? (struct word){ comma + 1, (size_t)(end - comma - 1) } : (struct word){ NULL, 0 };
	return w;
}

static const char *shown(struct word w, char text[SHOWN])
{
	size_t n = w.n < SHOWN - 1 ? w.n : SHOWN - 1;

	for (size_t i = 0; i < n; i++)
		text[i] = w.p[i] >= ' ' && w.p[i] <= '~' ? w.p[i] : '?';
	text[n] = 0;
	return text;
}

static bool take_hex(struct word w, uint8_t *out)
{
	for (size_t i = 0; i + 1 < w.n; i += 2) {
		int high = num_hex_digit(w.p[i]), low = num_hex_digit(w.p[i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i / 2] = (uint8_t)(high << 4 | low);
	}
	return w.n % 2 == 0;
}

static int take_number(const struct reading *r, struct word w, uint32_t *out)
{
	uint64_t v = 0;
	char text[SHOWN];
	size_t i;

	for (i = 0; i < w.n && w.p[i] >= '0' && w.p[i] <= '9' && v <= UINT32_MAX; i++)
		v = v * 10 + (uint64_t)(w.p[i] - '0');
	if (!w.n || i < w.n)
		return err_line(r->e, EINVAL, r->line, 0, "\"%s\" is not the number of a vertex", shown(w, text));
	if (v >= r->mesh->nvertices)
		return err_line(r->e, EINVAL, r->line, 0, "vertex %" PRIu64 ": mesh %u has %u vertices", v, r->number,
				r->mesh->nvertices);
	if (r->seen[v])
		return err_line(r->e, EINVAL, r->line, 0, "vertex %" PRIu64 " has a row already, in line %u", v,
				r->seen[v]);
	*out = (uint32_t)v;
	return 0;
}

static int take_normal(const struct reading *r, struct word w, uint32_t vertex)
{
	char text[SHOWN];

	if (w.n == NORMAL_DIGITS && take_hex(w, r->vertices + (size_t)vertex * MLP_VERTEX_SIZE + MLP_NORMAL))
		return 0;
	return err_line(r->e, EINVAL, r->line, 0, "normal \"%s\" is not %u hex digits", shown(w, text), NORMAL_DIGITS);
}

static int take_row(const struct reading *r, struct word w, uint32_t vertex)
{
	size_t stride = r->rows ? r->mesh->stride : 0;
	uint8_t nothing[1];

	if (w.n % 2)
		return err_line(r->e, EINVAL, r->line, 0, "row of %zu hex digits, expected %zu", w.n, 2 * stride);
	if (w.n != 2 * stride && !stride)
		return err_line(r->e, EINVAL, r->line, 0, r->mesh->stride ?
				"row of %zu bytes, but the MGP of mesh %u was not found" :
				"row of %zu bytes, but mesh %u has none", w.n / 2, r->number);
	if (w.n != 2 * stride)
		return err_line(r->e, EINVAL, r->line, 0, "row of %zu bytes, stride is %zu", w.n / 2, stride);
	if (!take_hex(w, stride ? r->rows + vertex * stride : nothing))
		return err_line(r->e, EINVAL, r->line, 0, "row that is not all hex digits");
	return 0;
}

static int take_line(const struct reading *r, struct word line)
{
	struct word number = next_value(&line), normal, row;
	uint32_t vertex = 0;
	int rc;

	if (!line.p)
		return err_line(r->e, EINVAL, r->line, 0, "1 value, expected " HEAD);
	normal = next_value(&line);
	if (!line.p)
		return err_line(r->e, EINVAL, r->line, 0, "2 values, expected " HEAD);
	row = next_value(&line);
	if (line.p)
		return err_line(r->e, EINVAL, r->line, 0, "more than 3 values, expected " HEAD);
	rc = take_number(r, number, &vertex);
	rc = rc ? rc : take_normal(r, normal, vertex);
	rc = rc ? rc : take_row(r, row, vertex);
	if (!rc)
		r->seen[vertex] = r->line;
	return rc;
}

static int take_head(struct reading *r)
{
	char text[SHOWN];
	struct word w;

	if (!next_line(r, &w))
		return err_set(r->e, EINVAL, "no rows: the file is empty");
	if (w.n == strlen(HEAD) && !memcmp(w.p, HEAD, w.n))
		return 0;
	return err_line(r->e, EINVAL, r->line, 0, "\"%s\" found, expected " HEAD, shown(w, text));
}

static int take_all(struct reading *r)
{
	struct word w;
	int rc = take_head(r);

	while (!rc && next_line(r, &w))
		if (w.n)
			rc = take_line(r, w);
	for (uint32_t i = 0; i < r->mesh->nvertices && !rc; i++)
		if (!r->seen[i])
			rc = err_line(r->e, EINVAL, r->line, 0, "the last one, and vertex %u of %u has no row", i,
				      r->mesh->nvertices);
	return rc;
}

int mlp_rows_read(uint32_t number, const struct mlp_mesh *mesh, const uint8_t *text, size_t n, uint8_t *vertices,
		  uint8_t *rows, struct arena *a, struct err *e)
{
	struct reading r = { .number = number, .mesh = mesh, .p = (const char *)text, .end = (const char *)text + n,
			     .vertices = vertices, .rows = rows, .e = e };

	r.seen = arena_alloc(a, (size_t)mesh->nvertices + 1, sizeof *r.seen);
	if (!r.seen)
		return err_nomem(e);
	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		r.p += 3;
	return take_all(&r);
}

/* ---- writing ---- */

static int put_rows(struct object *o, uint32_t number, const uint8_t *text, size_t n, struct arena *a, struct err *e)
{
	const struct mlp_mesh *mesh = &((const struct mlp *)o->priv)->mesh[number];
	size_t nvertices = (size_t)mesh->nvertices * MLP_VERTEX_SIZE;
	struct mlp_slices s;
	uint8_t *vertices, *rows;
	int rc = mlp_slices(o, number, &s, a, e);

	if (rc)
		return rc;
	vertices = arena_alloc(a, nvertices + 1, 1);
	rows = arena_alloc(a, (size_t)mesh->rec.mgp_size + 1, 1);
	if (!vertices || !rows)
		return err_nomem(e);
	memcpy(vertices, s.vertices, nvertices);
	rc = mlp_rows_read(number, mesh, text, n, vertices, s.rows ? rows : NULL, a, e);
	if (!rc)
		rc = object_patch(o, MLP_MMP, (uint64_t)mesh->rec.mmp_offset + mesh->vertices_at, vertices, nvertices,
				  "vertices", e);
	if (!rc && s.rows)
		rc = object_patch(o, MLP_MGP, mesh->rec.mgp_offset, rows, mesh->rec.mgp_size, "MGP rows", e);
	return rc;
}

int mlp_rows_put(struct object *o, unsigned k, uint32_t mesh, struct source *now, struct err *e)
{
	struct arena a = { 0 };
	uint8_t *text = now->size <= LIMIT_DECODED ? arena_alloc(&a, (size_t)now->size + 1, 1) : NULL;
	int rc = text ? src_read(now, text, (size_t)now->size, 0, "rows", e) : err_nomem(e);

	(void)k;
	rc = rc ? rc : put_rows(o, mesh, text, (size_t)now->size, &a, e);
	arena_free(&a);
	return rc;
}
