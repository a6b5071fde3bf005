/* Where the pictures of a JOM are: TIMG, or files that TEXT names (spec/jom.md 4.6, 12). A TIMG that cannot be walked
 * to its end costs the pictures, not the model. */
#include "jom.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- TIMG ---- */

struct picture_walk { const struct object *o; const struct jom_chunk *c; const struct jom_model *m; uint64_t at; };

/* The record at w->at, an offset in the chunk's data; w->at is behind it then. */
static int read_picture(struct picture_walk *w, uint32_t i, struct jom_picture *p, struct err *e)
{
	uint64_t pixels, size;

	p->at = w->c->at + w->at;
	p->raw = w->m->bytes + p->at;
	if (!span_ok(w->c->size, w->at, 1, JOM_IMAGE_SIZE))
		return err_at(e, EBADMSG, w->o->src, p->at, "TIMG", "picture %u: %u bytes, the chunk has ended", i,
			      JOM_IMAGE_SIZE);
	rec_decode(&jom_image_record, true, p->raw, &p->h);
	if (p->h.format > JOM_LUT16)
		return err_at(e, EBADMSG, w->o->src, p->at + 20, "TIMG", "picture %u: format %u, expected 0 or 1", i,
			      p->h.format);
	if (!p->h.width || !p->h.height)
		return err_at(e, EBADMSG, w->o->src, p->at + 16, "TIMG", "picture %u: %u x %u pixels", i, p->h.width,
			      p->h.height);
	pixels = (uint64_t)p->h.width * p->h.height;
	size = JOM_IMAGE_SIZE + (p->h.format == JOM_LUT16 ? JOM_PALETTE_SIZE + (pixels + 1) / 2 : pixels * 2);
	if (!span_ok(w->c->size, w->at, size, 1))
		return err_at(e, EBADMSG, w->o->src, p->at, "TIMG", "picture %u: %u x %u pixels end behind the chunk",
			      i, p->h.width, p->h.height);
	p->size = (uint32_t)size;
	/* The last one's padding may be missing. */
	w->at = align_up(w->at + size, 4);
	w->at = w->at < w->c->size ? w->at : w->c->size;
	return 0;
}

static int read_pictures(struct object *o, struct jom_model *m, struct err *e)
{
	struct jom_table *t = &m->table[JOM_TIMG];
	struct picture_walk w = { o, &m->chunks[t->chunk], m, 4 };
	uint32_t n;
	int rc = 0;

	if (w.c->size < 4)
		return err_at(e, EBADMSG, o->src, w.c->at, "TIMG", "%u bytes, expected a count of 4", w.c->size);
	n = be_u32(m->bytes + w.c->at);
	if (!span_ok(w.c->size, w.at, n, JOM_IMAGE_SIZE))
		return err_at(e, EBADMSG, o->src, w.c->at, "TIMG", "%u pictures, the chunk has %u bytes", n, w.c->size);
	m->pictures = arena_alloc(&o->arena, (size_t)n + 1, sizeof *m->pictures);
	if (!m->pictures)
		return err_nomem(e);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = read_picture(&w, i, &m->pictures[i], e);
	t->at = w.c->at + 4;
	t->raw = m->bytes + t->at;
	t->n = rc ? 0 : n;
	return rc;
}

/* ---- files ---- */

bool jom_tga_head(const uint8_t raw[JOM_TGA_HEAD], uint64_t size, struct jom_tga *out)
{
	uint32_t length = le_u16(raw + 5), bytes;
	uint8_t kind = raw[2];

	*out = (struct jom_tga){
		.width = le_u16(raw + 12), .height = le_u16(raw + 14), .depth = raw[16],
		.top_first = raw[17] & 0x20, .pixels_at = JOM_TGA_HEAD,
	};
	if (raw[0] || kind < 1 || kind > 3 || (out->depth != 8 && out->depth != 24 && out->depth != 32))
		return false;
	if (out->depth == 8) {
		bytes = length * raw[7] / 8;
		out->ncolours = length;
		out->pixels_at += bytes;
		if ((!length && kind != 3) || !span_ok(size, JOM_TGA_HEAD, length, 3))
			return false;
	}
	return out->width && out->height &&
	       span_ok(size, out->pixels_at, (uint64_t)out->width * out->height, out->depth / 8u);
}

static bool is_bin(uint16_t w, uint16_t h, uint64_t size)
{
	return w && h && JOM_BIN_HEAD + (uint64_t)w * h * 2 == size;
}

static void look_at_bin(struct source *src, struct jom_texture *t)
{
	uint8_t raw[JOM_BIN_HEAD];

	if (src->size < sizeof raw || src_pread(src, raw, sizeof raw, 0))
		return;
	t->width = le_u16(raw);
	t->height = le_u16(raw + 2);
	t->big = !is_bin(t->width, t->height, src->size);
	if (t->big) {
		t->width = be_u16(raw);
		t->height = be_u16(raw + 2);
	}
	t->source = is_bin(t->width, t->height, src->size) ? JOM_FROM_BIN : JOM_MISSING;
}

static void look_at_tga(struct source *src, struct jom_texture *t)
{
	uint8_t raw[JOM_TGA_HEAD];
	struct jom_tga tga;

	if (src->size < sizeof raw || src_pread(src, raw, sizeof raw, 0) || !jom_tga_head(raw, src->size, &tga))
		return;
	*t = (struct jom_texture){ .source = JOM_FROM_TGA, .width = tga.width, .height = tga.height, .link = t->link };
}

/* What the engine has no loader for is not looked for. */
static int find_file(struct object *o, const char *name, struct jom_texture *t, struct err *e)
{
	size_t n = strlen(name);
	bool bin = n > 4 && !strcasecmp(name + n - 4, ".BIN"), tga = n > 4 && !strcasecmp(name + n - 4, ".TGA");
	struct want want = { .where = WANT_LOOSE, .path = name };
	struct source *src;
	int rc;

	if ((!bin && !tga) || o->nlinks == LIMIT_LINKS)
		return 0;
	rc = object_link(o, &want, &t->link, e);
	src = rc ? NULL : o->links[t->link].src;
	if (src && src->size <= LIMIT_DECODED && bin)
		look_at_bin(src, t);
	else if (src && src->size <= LIMIT_DECODED)
		look_at_tga(src, t);
	return rc;
}

int jom_find_textures(struct object *o, struct jom_model *m, struct err *e)
{
	uint32_t n = m->table[JOM_TEXT].n;
	struct err why;
	int rc = m->table[JOM_TIMG].there ? read_pictures(o, m, &why) : 0;

	if (rc == -EBADMSG)
		object_fault(o, PART_IMAGE, GEO_NONE, false, &why);
	else if (rc)
		return err_set(e, -rc, "%s", why.text);
	m->textures = arena_alloc(&o->arena, (size_t)n + 1, sizeof *m->textures);
	if (!m->textures)
		return err_nomem(e);
	rc = 0;
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct jom_texture *t = &m->textures[i];
		char name[JOM_NAME + 1] = "";

		if (i < m->table[JOM_TIMG].n) {
			const struct jom_image *h = &m->pictures[i].h;

			*t = (struct jom_texture){ .source = JOM_FROM_TIMG, .width = h->width, .height = h->height };
			continue;
		}
		memcpy(name, jom_row(m, JOM_TEXT, i), JOM_NAME);
		rc = find_file(o, name, t, e);
	}
	return rc;
}
