/* A JOM encoded again from what was decoded: header, chunks, records, pictures and keys, in the order of the file. What
 * has no meaning (padding, unknown chunks, bytes behind END) is taken as it is. */
#include "jom.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "num.h"

struct again { struct object *o; const struct jom_model *m; uint8_t *bytes; struct err *e; };

/* Decodes n records at `at` and writes them over the copy. */
static void encode_records(struct again *k, const struct record *r, uint64_t at, uint64_t n)
{
	union { struct jom_material widest; uint8_t bytes[64]; } decoded;

	for (uint64_t i = 0; i < n; i++, at += r->size) {
		rec_decode(r, true, k->m->bytes + at, &decoded);
		memset(k->bytes + at, 0, r->size);
		rec_encode(r, true, &decoded, k->bytes + at);
	}
}

/* ---- pictures ---- */

static uint16_t word_of(const uint8_t rgba[4])
{
	uint16_t colour = (uint16_t)(rgba[0] >> 3 | rgba[1] >> 3 << 5 | rgba[2] >> 3 << 10);

	return !rgba[3] ? 0 : rgba[3] == 255 ? colour | 0x8000 : colour;
}

static void encode_lut(struct again *k, const struct jom_picture *p, const struct geo_image *img)
{
	uint64_t at = p->at + JOM_IMAGE_SIZE, pixels = at + JOM_PALETTE_SIZE;
	uint32_t n = img->w * img->h;

	for (unsigned c = 1; c < 16; c++)      /* the first is transparent, whatever its word */
		put_be16(k->bytes + at + 2 * c, word_of(img->palette[c]));
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *to = k->bytes + pixels + i / 2;

		*to = (uint8_t)(i & 1 ? (*to & 0xf0) | img->indexed[i] : (*to & 0x0f) | img->indexed[i] << 4);
	}
}

static int encode_picture(struct again *k, uint32_t i)
{
	const struct jom_picture *p = &k->m->pictures[i];
	struct geo_image img;
	struct arena a = { 0 };
	int rc = i < k->m->table[JOM_TEXT].n ? jom_image(k->o, i, &img, &a, k->e) : -ENOENT;

	encode_records(k, &jom_image_record, p->at, 1);
	if (!rc && p->h.format == JOM_LUT16)
		encode_lut(k, p, &img);
	else if (!rc)
		for (uint32_t x = 0; x < img.w * img.h; x++)
			put_be16(k->bytes + p->at + JOM_IMAGE_SIZE + 2 * (size_t)x, word_of(img.rgba + 4 * (size_t)x));
	arena_free(&a);
	return rc == -ENOENT ? 0 : rc;
}

/* Those in files: that they can be decoded. */
static int decode_files(struct again *k)
{
	int rc = 0;

	for (uint32_t i = 0; i < k->m->table[JOM_TEXT].n && !rc; i++) {
		uint8_t source = k->m->textures[i].source;
		struct geo_image img;
		struct arena a = { 0 };

		if (source == JOM_FROM_BIN || source == JOM_FROM_TGA)
			rc = jom_image(k->o, i, &img, &a, k->e);
		arena_free(&a);
	}
	return rc;
}

/* ---- chunks ---- */

static void encode_keys(struct again *k)
{
	const struct jom_table *t = &k->m->table[JOM_ANIM];

	for (uint32_t i = 0; i < t->n; i++) {
		struct jom_animation an;
		uint64_t at = k->m->chunks[t->chunk].at;

		rec_decode(&jom_animation_record, true, jom_row(k->m, JOM_ANIM, i), &an);
		at += an.offset;
		for (unsigned key = 0; key < an.key_count; key++, at += k->m->key_size) {
			encode_records(k, &jom_root_record, at, 1);
			encode_records(k, &jom_angles_record, at + jom_root_record.size, k->m->nbones);
		}
	}
}

static int encode_chunk(struct again *k, const struct jom_chunk *c)
{
	static const struct record *const records[JOM_TAGS] = {
		[JOM_PNTS] = &jom_point_record, [JOM_QUAD] = &jom_quad_record,
		[JOM_QMAT] = &jom_polygon_material_record, [JOM_MATL] = &jom_material_record,
		[JOM_TEXT] = &jom_text_record, [JOM_NTAB] = &jom_normal_record,
		[JOM_CNRM] = &jom_corner_normals_record, [JOM_VCOL] = &jom_vertex_colour_record,
		[JOM_GOUR] = &jom_gouraud_record, [JOM_GRUP] = &jom_group_record, [JOM_BONE] = &jom_bone_record,
		[JOM_ANIM] = &jom_animation_record,
	};
	const struct jom_table *t = c->known < JOM_TAGS ? &k->m->table[c->known] : NULL;
	const struct record *r = t ? records[c->known] : NULL;
	uint8_t *head = k->bytes + c->at - JOM_CHUNK_HEAD;
	int rc = 0;

	memcpy(head, c->tag, 4);
	put_be32(head + 4, c->size);
	if (r)
		encode_records(k, r, t->at, (uint64_t)t->n * jom_record_sizes[c->known] / r->size);
	if (r == &jom_animation_record)
		encode_keys(k);
	for (uint32_t i = 0; c->known == JOM_TIMG && i < t->n && !rc; i++)
		rc = encode_picture(k, i);
	return rc;
}

/* ---- texts of geometry ---- */

/* OBJ shows fixed numbers of these chunks, turned: each has to come back. */
static int check_texts(struct again *k, enum jom_tag tag)
{
	const struct jom_table *t = &k->m->table[tag];
	uint64_t n = (uint64_t)t->n * 3;

	for (uint64_t i = 0; i < n; i++) {
		int64_t v = -(int64_t)jom_i32(t->raw + 4 * i), again;
		char text[NUM_MAX];

		if (!num_parse_fixed(text, num_fixed(text, v, 16), 16, 1, &again) || again != v)
			return err_at(k->e, EILSEQ, k->o->src, t->at + 4 * i, jom_tag_names[tag],
				      "its text does not read back");
	}
	return 0;
}

static int compare(const struct again *k)
{
	uint64_t i = 0;

	while (i < k->m->size && k->bytes[i] == k->m->bytes[i])
		i++;
	return i == k->m->size ? 0 : err_at(k->e, EILSEQ, k->o->src, i, "model", "byte %02x, encoded again %02x",
					    k->m->bytes[i], k->bytes[i]);
}

int jom_verify(struct object *o, struct err *e)
{
	struct arena a = { 0 };
	struct again k = { o, jom_of(o), NULL, e };
	int rc = 0;

	k.bytes = arena_alloc(&a, (size_t)k.m->size, 1);
	if (!k.bytes)
		return err_nomem(e);
	memcpy(k.bytes, k.m->bytes, (size_t)k.m->size);
	encode_records(&k, &jom_header_record, 0, 1);
	for (uint32_t i = 0; i <= k.m->nchunks && !rc; i++)
		rc = encode_chunk(&k, &k.m->chunks[i]);
	rc = rc ? rc : check_texts(&k, JOM_PNTS);
	rc = rc ? rc : check_texts(&k, JOM_NTAB);
	rc = rc ? rc : check_texts(&k, JOM_VCOL);
	rc = rc ? rc : decode_files(&k);
	rc = rc ? rc : compare(&k);
	arena_free(&a);
	return rc;
}
