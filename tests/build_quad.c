#include "build.h"
#include "quad.h"

#include <string.h>

#include "bytes.h"

const char *const quad_ext[4] = { "qda", "qdb", "qdc", "qdd" };

static void build_a(struct buf *b, uint32_t parts, uint32_t stamp, bool c)
{
	buf_add(b, "QUAD", 4);
	put32(b, parts);
	put32(b, stamp);
	put32(b, 0);
	for (uint32_t i = 0; i < parts; i++) {
		put32(b, 0x1000 + i);
		put32(b, 4 + 16 * i);
		put32(b, 16);
		put32(b, c ? 4 + 8 * i : 0);
		put32(b, c ? 8 : 0);
		put32(b, 0);
	}
	for (uint32_t i = 0; i < parts; i++)
		buf_printf(b, "a%07u", i);
}

void quad_build(struct quad_files *q, uint32_t parts, uint32_t stamp, unsigned which)
{
	memset(q, 0, sizeof *q);
	if (which & QDA)
		build_a(&q->f[0], parts, stamp, which & QDC);
	for (unsigned k = 1; k < 4; k++)
		if (which & 1u << k)
			put32(&q->f[k], stamp);
	for (uint32_t i = 0; i < parts; i++) {
		if (which & QDB)
			buf_printf(&q->f[1], "b%015u", i);
		if (which & QDC)
			buf_printf(&q->f[2], "c%07u", i);
	}
}

void quad_free(struct quad_files *q)
{
	for (unsigned k = 0; k < 4; k++)
		buf_free(&q->f[k]);
}

void box_build(struct buf *out, const struct quad_entry *v, uint32_t n, uint32_t slack)
{
	uint32_t at = 8 + 40 * n;

	buf_add(out, "BOXX", 4);
	put32(out, n);
	for (uint32_t i = 0; i < n; i++) {
		char name[32] = "";

		memcpy(name, v[i].name, strlen(v[i].name));
		buf_add(out, name, sizeof name);
		put32(out, at);
		put32(out, (uint32_t)v[i].bytes->len);
		at += (uint32_t)v[i].bytes->len + slack;
	}
	for (uint32_t i = 0; i < n; i++) {
		buf_add(out, v[i].bytes->p, v[i].bytes->len);
		for (uint32_t k = 0; k < slack; k++)
			put8(out, 0);
	}
}

void bag_build(struct buf *out, const struct quad_files *q)
{
	uint32_t at = 8 + 32;

	buf_add(out, "BAGG", 4);
	put32(out, 1);
	for (unsigned k = 0; k < 4; k++) {
		put32(out, q->f[k].len ? at : 0);
		put32(out, (uint32_t)q->f[k].len);
		at += (uint32_t)q->f[k].len;
	}
	for (unsigned k = 0; k < 4; k++)
		buf_add(out, q->f[k].p, q->f[k].len);
}
