/* Texture banks, written: a picture in the place of another of the same size and format, and the palettes of K.yaml.
 * Bytes that no pixel uses, and pixels that look as before, keep what is stored. */
#include <errno.h>
#include <string.h>

#include "tmh.h"

/* ---- pixels ---- */

const uint8_t *tmh_shown(const struct tmh_put *p, uint32_t x, uint32_t y)
{
	size_t at = (size_t)y * p->shown.w + x;

	return p->shown.indexed ? p->shown.palette[p->shown.indexed[at]] : p->shown.rgba + 4 * at;
}

static bool is_stored(const struct tmh_put *p, uint32_t x, uint32_t y)
{
	return !p->have || p->have[(size_t)y * p->l.rows.pitch + (size_t)tmh_least(p->l.m.h.format, x + 1, 1) - 1];
}

const uint8_t *tmh_given(const struct tmh_put *p, uint32_t x, uint32_t y)
{
	return is_stored(p, x, y) ? p->img->rgba + ((size_t)y * p->img->w + x) * 4 : tmh_shown(p, x, y);
}

void tmh_round(uint32_t format, const uint8_t in[4], uint8_t out[4])
{
	const uint8_t c[1][4] = { { in[0], in[1], in[2], in[3] } };
	uint8_t stored[4];

	tmh_colours_put(format, c, 1, stored);
	tmh_colours_get(format, stored, 1, (uint8_t (*)[4])out);
}

/* ---- rows ---- */

/* Which bytes of the rows a short last band lacks. */
static int find_stored(struct tmh_put *p, struct err *e)
{
	const struct tmh_rows *r = &p->l.rows;
	uint8_t *full, *have;

	if (!r->swizzled || p->l.npixels >= align_up(r->h, 8) * r->pitch)
		return 0;
	full = arena_alloc(p->a, p->l.npixels, 1);
	have = arena_alloc(p->a, r->h, r->pitch);
	if (!full || !have)
		return err_nomem(e);
	memset(full, 255, p->l.npixels);
	tmh_rows_get(r, full, p->l.npixels, have);
	p->have = have;
	return 0;
}

static int take_rows(struct tmh_put *p, struct err *e)
{
	size_t n = (size_t)p->l.rows.h * p->l.rows.pitch;
	const uint8_t *rows = tmh_rows_in_order(&p->l, p->a);

	p->rows = rows ? arena_alloc(p->a, n, 1) : NULL;
	if (!p->rows)
		return err_nomem(e);
	memcpy(p->rows, rows, n);
	return find_stored(p, e);
}

static int patch_pixels(struct tmh_put *p, const uint8_t *stored, struct err *e)
{
	return object_patch(p->o, 0, p->l.m.at + TMH_IMAGE_SIZE, stored, p->l.npixels, tmh_name(p->l.i).text, e);
}

static uint8_t *copy_stored(const struct tmh_put *p)
{
	uint8_t *stored = arena_alloc(p->a, p->l.npixels, 1);

	if (stored)
		memcpy(stored, p->l.pixels, p->l.npixels);
	return stored;
}

static int put_rows(struct tmh_put *p, struct err *e)
{
	uint8_t *stored = copy_stored(p);

	if (!stored)
		return err_nomem(e);
	tmh_rows_put(&p->l.rows, p->rows, stored, p->l.npixels);
	return patch_pixels(p, stored, e);
}

/* A colour that is shown narrows to what is stored, so pixels that look as before need no care. */
static void put_direct(struct tmh_put *p)
{
	unsigned each = tmh_colour_size(p->l.m.h.format);

	for (uint32_t y = 0; y < p->shown.h; y++) {
		uint8_t *row = p->rows + (size_t)y * p->l.rows.pitch;

		for (uint32_t x = 0; x < p->shown.w; x++)
			tmh_colours_put(p->l.m.h.format, (const uint8_t (*)[4])tmh_given(p, x, y), 1,
					row + (size_t)x * each);
	}
}

static int put_picture(struct tmh_put *p, struct err *e)
{
	int rc = take_rows(p, e);

	if (rc)
		return rc;
	if (tmh_is_clut(p->l.m.h.format))
		rc = tmh_put_indexed(p, e);
	else
		put_direct(p);
	return rc ? rc : put_rows(p, e);
}

static int put_blocks(struct tmh_put *p, struct err *e)
{
	const struct tmh_image *h = &p->l.m.h;
	uint8_t *stored = copy_stored(p);
	size_t n;

	if (!stored)
		return err_nomem(e);
	n = tmh_dxt_put(h->format, p->img->rgba, h->width, h->height, stored);
	if (n)
		object_say(p->o, "%s: %zu blocks of 4x4 pixels encoded as %s", tmh_name(p->l.i).text, n,
			   tmh_format_name(h->format));
	return patch_pixels(p, stored, e);
}

/* ---- what was lost ---- */

static void say_losses(const struct tmh_put *p)
{
	uint32_t missing = 0, rounded = 0, format = p->l.m.h.format;
	uint8_t c[4];

	for (uint32_t y = 0; y < p->shown.h; y++) {
		for (uint32_t x = 0; x < p->shown.w; x++) {
			const uint8_t *given = p->img->rgba + ((size_t)y * p->img->w + x) * 4;

			if (!is_stored(p, x, y)) {
				missing += memcmp(given, tmh_shown(p, x, y), 4) != 0;
				continue;
			}
			if (format > TMH_8888)
				continue;
			tmh_round(format, given, c);
			rounded += memcmp(given, c, 4) != 0;
		}
	}
	if (missing)
		object_say(p->o, "%s: %u pixels of the last rows are not stored and stay as they are",
			   tmh_name(p->l.i).text, missing);
	if (rounded)
		object_say(p->o, "%s: %u pixels rounded to %s", tmh_name(p->l.i).text, rounded,
			   tmh_format_name(format));
}

static int put_image(struct tmh_put *p, uint32_t i, struct err *e)
{
	const struct geo_image *img = p->img;
	int rc = p->o->format->model->image(p->o, i, &p->shown, p->a, e);

	if (rc)
		return rc;
	if (img->w != p->shown.w || img->h != p->shown.h)
		return err_set(e, EINVAL, "%ux%u needed, got %ux%u", p->shown.w, p->shown.h, img->w, img->h);
	rc = tmh_load(p->o, i, &p->l, p->a, e);
	if (rc)
		return rc;
	if (tmh_is_dxt(p->l.m.h.format))
		return put_blocks(p, e);
	rc = put_picture(p, e);
	if (!rc)
		say_losses(p);
	return rc;
}

int tmh_image_put(struct object *o, uint32_t i, const struct geo_image *img, struct err *e)
{
	struct arena a = { 0 };
	struct tmh_put p = { .o = o, .a = &a, .img = img };
	int rc = put_image(&p, i, e);

	arena_free(&a);
	return rc;
}

/* ---- palettes of K.yaml ---- */

struct palettes {
	struct tmh_loaded l;
	uint32_t each, n;                      /* colours of a palette; palettes */
	uint8_t *stored;                       /* all of them, to be changed */
};

static int wrong_node(const struct ynode *node, struct err *e, uint32_t expected)
{
	if (node->kind != Y_LIST)
		return err_line(e, EINVAL, node->line, node->column, "palettes: expected a list of %u", expected);
	return err_line(e, EINVAL, node->line, node->column, "palettes: a list of %u found, expected a list of %u",
			node->count, expected);
}

static bool is_list_of(const struct ynode *node, uint32_t n)
{
	return node->kind == Y_LIST && node->count == n;
}

static int put_colour(struct palettes *p, uint32_t at, const struct ynode *node, struct err *e)
{
	static const struct field value = { .name = "palettes", .count = 1, .type = F_U8, .member = FIELD_NO_MEMBER };
	uint32_t format = p->l.c.palette_format;
	uint8_t *stored = p->stored + (size_t)at * tmh_colour_size(format);
	const struct ynode *channel = node->first;
	uint8_t c[1][4] = { { 0 } };
	int rc = 0;

	if (!is_list_of(node, 4))
		return wrong_node(node, e, 4);
	for (unsigned i = 0; i < 4 && !rc; i++, channel = channel->next)
		rc = ynode_parse(channel, &value, false, &c[0][i], e);
	if (rc)
		return rc;
	if (format == TMH_5650 && c[0][3] != 255)
		return err_line(e, EINVAL, node->line, node->column,
				"palettes: alpha %u, but %s has none: 255 expected", c[0][3], tmh_format_name(format));
	tmh_colours_put(format, (const uint8_t (*)[4])c, 1, stored);
	return 0;
}

/* A palette of one colour is written without a list around it. */
static int put_row(struct palettes *p, uint32_t row, const struct ynode *node, struct err *e)
{
	const struct ynode *colour = node->first;
	int rc = 0;

	if (p->each == 1)
		return put_colour(p, row, node, e);
	if (!is_list_of(node, p->each))
		return wrong_node(node, e, p->each);
	for (uint32_t i = 0; i < p->each && !rc; i++, colour = colour->next)
		rc = put_colour(p, row * p->each + i, colour, e);
	return rc;
}

static int put_palettes(struct object *o, uint32_t index, const struct ynode *node, struct arena *a, struct err *e)
{
	struct palettes p = { .n = 0 };
	const struct ynode *row = node->first;
	size_t size;
	int rc = tmh_load(o, index, &p.l, a, e);

	if (rc)
		return rc;
	p.each = tmh_palette_size(p.l.m.h.format, p.l.c.palette_entries);
	p.n = p.l.c.palette_entries / p.each;
	if (!is_list_of(node, p.n))
		return wrong_node(node, e, p.n);
	size = (size_t)tmh_clut_bytes(&p.l.c);
	p.stored = arena_alloc(a, size, 1);
	if (!p.stored)
		return err_nomem(e);
	memcpy(p.stored, p.l.colours, size);
	for (uint32_t i = 0; i < p.n && !rc; i++, row = row->next)
		rc = put_row(&p, i, row, e);
	return rc ? rc : object_patch(o, 0, tmh_clut_at(&p.l.m) + TMH_BLOCK_SIZE, p.stored, size,
				      tmh_name(index).text, e);
}

int tmh_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e)
{
	int rc = 0;

	(void)root;
	for (unsigned i = 0; i < n && !rc; i++) {
		struct arena a = { 0 };

		if (kind != DOC_IMAGE || change[i].kind != CHANGE_ROWS || change[i].depth ||
		    strcmp(change[i].key, "palettes"))
			continue;
		rc = put_palettes(o, index, change[i].value, &a, e);
		change[i].taken = !rc;
		arena_free(&a);
	}
	return rc;
}
