#include "painting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

void open_picture(struct edited *k, struct picture p)
{
	struct buf b = { 0 };

	begin_bank(&b, 1);
	add_image(&b, p);
	edited_open(k, &fmt_tmh, b.p, b.len, 0);
	buf_free(&b);
}

struct painting paint(struct edited *k)
{
	struct painting p = { .a = { 0 } };
	struct err e = { 0 };

	if (fmt_tmh.model->image(k->o, 0, &p.img, &p.a, &e))
		fail_msg("%s", e.text);
	if (!p.img.indexed)
		return p;
	p.img.rgba = arena_alloc(&p.a, (size_t)p.img.w * p.img.h, 4);
	assert_non_null(p.img.rgba);
	for (size_t i = 0; i < (size_t)p.img.w * p.img.h; i++)
		memcpy(p.img.rgba + 4 * i, p.img.palette[p.img.indexed[i]], 4);
	return p;
}

uint8_t *pixel(struct painting *p, uint32_t x, uint32_t y)
{
	return p->img.rgba + ((size_t)y * p->img.w + x) * 4;
}

void dot(struct painting *p, uint32_t x, uint32_t y, uint8_t r, uint8_t g, uint8_t b, uint8_t a)
{
	memcpy(pixel(p, x, y), (uint8_t[]){ r, g, b, a }, 4);
}

void put_rgba(struct edited *k, struct painting *p)
{
	struct geo_image img = { .w = p->img.w, .h = p->img.h, .rgba = p->img.rgba };
	struct kept once;

	if (edited_image(k, 0, &img))
		fail_msg("%s", k->why);
	once = edited_keep(k);
	assert_int_equal(edited_image(k, 0, &img), 0);
	edited_same(k, &once);
}

void put_indexed(struct edited *k, struct painting *p)
{
	for (size_t i = 0; i < (size_t)p->img.w * p->img.h; i++)
		memcpy(p->img.rgba + 4 * i, p->img.palette[p->img.indexed[i]], 4);
	if (edited_image(k, 0, &p->img))
		fail_msg("%s", k->why);
}

void shows(struct edited *k, uint32_t x, uint32_t y, uint8_t r, uint8_t g, uint8_t b, uint8_t a)
{
	struct painting p = paint(k);

	assert_memory_equal(pixel(&p, x, y), ((uint8_t[]){ r, g, b, a }), 4);
	arena_free(&p.a);
}

void shows_all(struct edited *k, struct painting *p)
{
	struct painting now = paint(k);

	assert_memory_equal(now.img.rgba, p->img.rgba, (size_t)p->img.w * p->img.h * 4);
	arena_free(&now.a);
}

void done(struct edited *k, struct painting *p)
{
	arena_free(&p->a);
	edited_close(k);
}
