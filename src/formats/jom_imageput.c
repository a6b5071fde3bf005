/* Pictures of a JOM, written: another one of the same size and format, into TIMG or into the file that has it
 * (spec/jom.md 4.6, 12). A pixel that looks as it did keeps what is stored. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "jom_put.h"

struct picture {
	struct object *o;
	const struct jom_model *m;
	uint32_t i;
	const struct geo_image *img;
	struct geo_image shown;                /* as it is */
	uint32_t lost;                         /* pixels that are shown otherwise than they were given */
	struct arena a;
	struct err *e;
};

static const uint8_t *given(const struct picture *p, size_t i)
{
	return p->img->rgba + 4 * i;
}

static const uint8_t *shown(const struct picture *p, size_t i)
{
	return p->shown.indexed ? p->shown.palette[p->shown.indexed[i]] : p->shown.rgba + 4 * i;
}

/* What is transparent has no colour. */
static bool same(const uint8_t a[4], const uint8_t b[4])
{
	return !memcmp(a, b, 4) || (!a[3] && !b[3]);
}

/* ---- rgb555 ---- */

uint16_t jom_word_of(const uint8_t c[4], uint16_t was)
{
	uint16_t colour = (uint16_t)(c[0] >> 3 | c[1] >> 3 << 5 | c[2] >> 3 << 10);
	bool clear = was && !(was & 0x8000) && colour && c[3] != 255;

	if (!c[3] || (c[3] < 128 && !clear))
		return 0;
	return clear ? colour : colour | 0x8000;
}

static void count_lost(struct picture *p, size_t i, uint16_t word)
{
	uint8_t c[4];

	jom_rgba(word, c);
	p->lost += !same(c, given(p, i));
}

/* Words in the byte order of the file. */
static void put_words(struct picture *p, uint8_t *to, bool be)
{
	size_t n = (size_t)p->img->w * p->img->h;

	for (size_t i = 0; i < n; i++, to += 2) {
		uint16_t word = be ? be_u16(to) : le_u16(to);

		if (same(given(p, i), shown(p, i)))
			continue;
		word = jom_word_of(given(p, i), word);
		count_lost(p, i, word);
		if (be)
			put_be16(to, word);
		else
			put_le16(to, word);
	}
}

/* ---- names of pictures ----
 *
 * A loader takes a picture that it has already for another of the same name. So a new picture gets a new name: the six
 * digits in it are a hash, of which nobody knows how it is made; any good one will do. */

static uint64_t hash_bytes(uint64_t h, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

static uint32_t hash_picture(const uint8_t *raw, uint32_t size, uint32_t again)
{
	uint64_t h = hash_bytes(0xcbf29ce484222325u + again, raw + JOM_NAME, size - JOM_NAME);

	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 40);
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

/* Where the six digits of a name are; 0: it has none. */
static size_t digits_at(const char *name, size_t n)
{
	size_t at = n > 4 ? n - 4 - 6 : 0;     /* before .BIN */

	if (n < 4 + 6 + 1 || name[n - 4] != '.' || name[at - 1] != '_')
		return 0;
	for (size_t i = at; i < at + 6; i++)
		if (!is_hex(name[i]))
			return 0;
	return at;
}

/* The name with other digits; one without any gets some, behind at most four letters of it. */
static void rename_by(const char *was, uint32_t hash, char out[JOM_NAME + 1])
{
	size_t n = strnlen(was, JOM_NAME - 1), at = digits_at(was, n), stem = 0;
	bool small = false;

	for (size_t i = at; at && i < at + 6; i++)
		small |= was[i] >= 'a';
	if (at) {
		memcpy(out, was, n);
		out[n] = 0;
	} else {
		while (stem < 4 && stem < n && was[stem] != '.')
			stem++;
		snprintf(out, JOM_NAME + 1, "%.*s_000000.BIN", (int)stem, was);
		at = stem + 1;
	}
	for (unsigned i = 0; i < 6; i++)
		out[at + i] = (small ? "0123456789abcdef" : "0123456789ABCDEF")[hash >> (20 - 4 * i) & 15];
}

static bool is_name(const char *name, const uint8_t *raw)
{
	return !strncmp(name, (const char *)raw, JOM_NAME);
}

static bool is_taken(const struct jom_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->table[JOM_TIMG].n; i++)
		if (is_name(name, m->pictures[i].raw))
			return true;
	for (uint32_t i = 0; i < m->table[JOM_TEXT].n; i++)
		if (is_name(name, jom_row(m, JOM_TEXT, i)))
			return true;
	return false;
}

/* raw: the record as it will be. */
static int put_name(const struct picture *p, const uint8_t *raw)
{
	const struct jom_picture *pic = &p->m->pictures[p->i];
	char was[JOM_NAME + 1] = "", name[JOM_NAME + 1];
	uint32_t again = 0;
	int rc;

	memcpy(was, pic->raw, JOM_NAME);
	do
		rename_by(was, hash_picture(raw, pic->size, again++), name);
	while (is_taken(p->m, name) && again < 1000);
	/* What lies behind the zero that ends it stays. */
	rc = object_patch(p->o, 0, pic->at, name, strlen(name) + 1, "name of a picture", p->e);
	return rc ? rc : object_patch(p->o, 0, jom_row_at(p->m, JOM_TEXT, p->i), name, strlen(name) + 1,
				      "name of a texture", p->e);
}

/* ---- pictures in TIMG ---- */

static int put_timg(struct picture *p)
{
	const struct jom_picture *pic = &p->m->pictures[p->i];
	uint8_t *raw = arena_alloc(&p->a, pic->size, 1);
	int rc = 0;

	if (!raw)
		return err_nomem(p->e);
	memcpy(raw, pic->raw, pic->size);
	if (pic->h.format == JOM_RGB555)
		put_words(p, raw + JOM_IMAGE_SIZE, true);
	else
		rc = jom_lut_put(p->m, p->i, p->img, raw + JOM_IMAGE_SIZE, &p->lost, p->e);
	if (rc || !memcmp(raw, pic->raw, pic->size))
		return rc;
	rc = object_patch(p->o, 0, pic->at + JOM_IMAGE_SIZE, raw + JOM_IMAGE_SIZE, pic->size - JOM_IMAGE_SIZE,
			  "picture", p->e);
	return rc ? rc : put_name(p, raw);
}

/* ---- pictures in files ---- */

/* The nearest colour of the map. */
static uint8_t nearest(const struct picture *p, uint32_t ncolours, const uint8_t c[4])
{
	uint32_t best = 0, least = UINT32_MAX;

	for (uint32_t k = 0; k < ncolours; k++) {
		uint32_t off = 0;

		for (unsigned i = 0; i < 3; i++) {
			int d = p->shown.palette[k][i] - c[i];

			off += (uint32_t)(d * d);
		}
		if (off < least) {
			least = off;
			best = k;
		}
	}
	return (uint8_t)best;
}

/* The map stays, so only its colours can be had; 255 is the transparent one. */
static void put_index(struct picture *p, const struct jom_tga *t, size_t i, uint8_t *to)
{
	uint32_t n = t->ncolours && t->ncolours < 255 ? t->ncolours : 255;
	const uint8_t *c = given(p, i);

	*to = c[3] < 128 ? 255 : nearest(p, n, c);
	p->lost += !same(p->shown.palette[*to], c);
}

static void put_pixel(struct picture *p, const struct jom_tga *t, size_t i, uint8_t *to)
{
	const uint8_t *c = given(p, i);

	to[0] = c[2];
	to[1] = c[1];
	to[2] = c[0];
	if (t->depth == 32)
		to[3] = c[3];
	else
		p->lost += c[3] != 255;
}

static int put_tga(struct picture *p, uint8_t *file, uint64_t size)
{
	uint8_t *to;
	struct jom_tga t;

	if (!jom_tga_head(file, size, &t))
		return err_set(p->e, EIO, "the picture's file has changed");
	to = file + t.pixels_at;
	for (uint32_t row = 0; row < t.height; row++)
		for (uint32_t x = 0; x < t.width; x++, to += t.depth / 8) {
			size_t i = (size_t)(t.top_first ? row : t.height - 1u - row) * t.width + x;

			if (same(given(p, i), shown(p, i)))
				continue;
			if (t.depth == 8)
				put_index(p, &t, i, to);
			else
				put_pixel(p, &t, i, to);
		}
	return 0;
}

static int put_file(struct picture *p)
{
	const struct jom_texture *t = &p->m->textures[p->i];
	struct source *src = p->o->links[t->link].src;
	uint8_t *file = arena_alloc(&p->a, (size_t)src->size + 1, 1);
	int rc = file ? src_read(src, file, (size_t)src->size, 0, "picture", p->e) : err_nomem(p->e);

	if (!rc && t->source == JOM_FROM_TGA)
		rc = put_tga(p, file, src->size);
	else if (!rc)
		put_words(p, file + JOM_BIN_HEAD, t->big);
	return rc ? rc : src_patch(src, file, (size_t)src->size, 0, "picture", p->e);
}

/* ---- all of them ---- */

static int put_picture(struct picture *p)
{
	const struct jom_texture *t = &p->m->textures[p->i];
	int rc = jom_image(p->o, p->i, &p->shown, &p->a, p->e);

	if (rc)
		return rc;
	if (p->img->w != p->shown.w || p->img->h != p->shown.h)
		return err_set(p->e, EINVAL, "%ux%u needed, got %ux%u", p->shown.w, p->shown.h, p->img->w, p->img->h);
	rc = t->source == JOM_FROM_TIMG ? put_timg(p) : put_file(p);
	if (!rc && p->lost)
		object_say(p->o, "texture %u: %u pixels are not stored exactly as they were given", p->i, p->lost);
	return rc;
}

int jom_image_put(struct object *o, uint32_t i, const struct geo_image *img, struct err *e)
{
	struct picture p = { .o = o, .m = jom_of(o), .i = i, .img = img, .e = e };
	int rc = put_picture(&p);

	arena_free(&p.a);
	return rc;
}

int jom_image_fits(struct object *o, uint32_t i, uint32_t w, uint32_t h, struct err *e)
{
	(void)o;
	(void)i;
	if (w % 8)
		return err_set(e, EINVAL, "width %u is not a multiple of 8", w);
	if (w > JOM_WIDTH_MOST || h > JOM_HEIGHT_MOST)
		return err_set(e, EINVAL, "%ux%u is over %ux%u", w, h, JOM_WIDTH_MOST, JOM_HEIGHT_MOST);
	return 0;
}
