/* Chunks of a JOM, written: in their place while they keep their size; else all that lies behind moves (spec/jom.md
 * 3). */
#include <errno.h>
#include <string.h>

#include "jom_put.h"

int jom_count(uint64_t n, uint32_t most, const char *what, struct err *e)
{
	if (n <= most)
		return 0;
	return err_set(e, EINVAL, "%llu %s, JOM holds %u", (unsigned long long)n, what, most);
}

/* ---- lists of records ---- */

void jom_begin_list(struct buf *out, uint32_t n)
{
	uint8_t raw[4];

	put_be32(raw, n);
	buf_add(out, raw, sizeof raw);
}

/* Zeros that round a list of n records up to 4 bytes. */
static size_t padding(unsigned tag, uint32_t n)
{
	return (size_t)(-(4 + (uint64_t)n * jom_record_sizes[tag]) & 3);
}

void jom_end_list(const struct jom_model *m, enum jom_tag tag, uint32_t n, struct buf *out)
{
	static const uint8_t zero[4];
	const struct jom_table *t = &m->table[tag];
	size_t size = (size_t)t->n * jom_record_sizes[tag], left, was, now = padding(tag, n);

	if (!t->there) {
		buf_add(out, zero, now);
		return;
	}
	left = m->chunks[t->chunk].size - 4 - size;
	was = padding(tag, t->n) < left ? padding(tag, t->n) : left;
	buf_add(out, was >= now && now ? t->raw + size : zero, now);
	buf_add(out, t->raw + size + was, left - was);
}

/* ---- chunks ---- */

void jom_chunks_free(struct jom_chunks *v)
{
	for (unsigned k = 0; k < JOM_TAGS; k++)
		buf_free(&v->data[k]);
}

/* A chunk that is there and gets no new data. */
static const struct jom_chunk *chunk_of(const struct jom_model *m, unsigned tag)
{
	return m->table[tag].there ? &m->chunks[m->table[tag].chunk] : NULL;
}

static bool same_sizes(const struct jom_model *m, const struct jom_chunks *v)
{
	for (unsigned k = 0; k < JOM_TAGS; k++)
		if (v->set[k] && (!m->table[k].there || chunk_of(m, k)->size != v->data[k].len))
			return false;
	return true;
}

static int patch_chunks(struct object *o, const struct jom_chunks *v, struct err *e)
{
	int rc = 0;

	for (unsigned k = 0; k < JOM_TAGS && !rc; k++)
		if (v->set[k])
			rc = object_patch(o, 0, chunk_of(jom_of(o), k)->at, v->data[k].p, v->data[k].len,
					  jom_tag_names[k], e);
	return rc;
}

/* ---- a file of another size ---- */

/* Before which of the stored chunks a new one goes: behind the nearest one that comes before it in the order of the
 * format, else in front of the nearest that comes after it. */
static uint32_t place_of(const struct jom_model *m, unsigned tag)
{
	for (unsigned k = tag; k-- > 0;)
		if (m->table[k].there)
			return m->table[k].chunk + 1;
	for (unsigned k = tag + 1; k < JOM_TAGS; k++)
		if (m->table[k].there)
			return m->table[k].chunk;
	return m->nchunks;
}

static void add_chunk(struct buf *out, unsigned tag, const struct buf *data)
{
	uint8_t size[4];

	put_be32(size, (uint32_t)data->len);
	buf_add(out, jom_tag_names[tag], 4);
	buf_add(out, size, sizeof size);
	buf_add(out, data->p, data->len);
}

static void add_new(const struct jom_model *m, const struct jom_chunks *v, uint32_t before, struct buf *out)
{
	for (unsigned k = 0; k < JOM_TAGS; k++)
		if (v->set[k] && !m->table[k].there && place_of(m, k) == before)
			add_chunk(out, k, &v->data[k]);
}

static void make_file(const struct jom_model *m, const struct jom_chunks *v, struct buf *out)
{
	uint64_t end = JOM_HEADER_SIZE;

	buf_add(out, m->bytes, JOM_HEADER_SIZE);
	for (uint32_t i = 0; i < m->nchunks; i++) {
		const struct jom_chunk *c = &m->chunks[i];

		add_new(m, v, i, out);
		if (c->known < JOM_TAGS && v->set[c->known])
			add_chunk(out, c->known, &v->data[c->known]);
		else
			buf_add(out, m->bytes + c->at - JOM_CHUNK_HEAD, (size_t)JOM_CHUNK_HEAD + c->size);
		end = c->at + c->size;
	}
	add_new(m, v, m->nchunks, out);
	buf_add(out, m->bytes + end, (size_t)(m->size - end));
}

/* Where most bytes move, looking for those that are equal would make countless writes. */
static int write_file(struct object *o, const struct buf *file, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	size_t same = 0, least = m->size < file->len ? (size_t)m->size : file->len;
	int rc = 0;

	if (file->len > JOM_SIZE_MOST)
		return err_set(e, EFBIG, "the model would have %zu bytes, more than %llu", file->len,
			       (unsigned long long)JOM_SIZE_MOST);
	while (same < least && file->p[same] == m->bytes[same])
		same++;
	if (file->len != m->size)
		rc = object_resize(o, 0, file->len, e);
	return rc ? rc : src_write(o->src, file->p + same, file->len - same, same, "model", e);
}

int jom_store(struct object *o, const struct jom_chunks *v, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	struct buf file = { 0 };
	int rc;

	for (unsigned k = 0; k < JOM_TAGS; k++)
		if (v->data[k].bad)
			return err_nomem(e);
	if (same_sizes(m, v))
		return patch_chunks(o, v, e);
	make_file(m, v, &file);
	rc = file.bad ? err_nomem(e) : write_file(o, &file, e);
	buf_free(&file);
	return rc;
}
