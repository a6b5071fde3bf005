#include "edited.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export.h"

/* ---- surroundings ---- */

static struct edited *edited_of(const struct surroundings *s)
{
	return (struct edited *)(uintptr_t)s;
}

static struct source *slice_of(struct edited *k, unsigned part)
{
	struct source *overlay = src_overlay(&k->plan[part]), *slice;

	assert_non_null(overlay);
	slice = src_slice(overlay, 0, k->size[part]);
	src_put(overlay);
	assert_non_null(slice);
	return slice;
}

static struct source *following(const struct surroundings *s, unsigned n, struct err *e)
{
	struct edited *k = edited_of(s);

	(void)e;
	return n == 1 && k->bytes[1] ? slice_of(k, 1) : NULL;
}

static struct source *member(const struct surroundings *s, unsigned n, struct err *e)
{
	struct edited *k = edited_of(s);

	(void)e;
	return k->bytes[1 + n] ? slice_of(k, 1 + n) : NULL;
}

static int resize(const struct surroundings *s, unsigned n, uint64_t size, struct source **out, struct err *e)
{
	struct edited *k = edited_of(s);
	uint8_t zero[64] = { 0 };

	assert_true(n < EDITED_PARTS && k->bytes[n]);
	if (size > k->room[n])
		return err_set(e, ENOSPC, "the entry has room for %llu bytes: %llu bytes are missing",
			       (unsigned long long)k->room[n], (unsigned long long)(size - k->room[n]));
	for (uint64_t at = k->size[n], part; at < size; at += part) {
		part = size - at < sizeof zero ? size - at : sizeof zero;
		assert_int_equal(plan_write(&k->plan[n], at, zero, (size_t)part), 0);
	}
	k->size[n] = size;
	*out = slice_of(k, n);
	return 0;
}

static void say(const struct surroundings *s, const char *text)
{
	struct edited *k = edited_of(s);
	size_t n = strlen(k->said);

	snprintf(k->said + n, sizeof k->said - n, "%s\n", text);
}

/* ---- opening ---- */

static void open_part(struct edited *k, unsigned part, const void *p, size_t n, size_t room)
{
	room = room < n ? n : room;
	k->bytes[part] = calloc(1, room + 1);
	k->was[part] = calloc(1, room + 1);
	assert_non_null(k->bytes[part]);
	assert_non_null(k->was[part]);
	memcpy(k->bytes[part], p, n);
	memcpy(k->was[part], p, n);
	k->size[part] = k->size_was[part] = n;
	k->room[part] = room;
	k->memory[part] = src_memory(k->bytes[part], room);
	assert_non_null(k->memory[part]);
	plan_init(&k->plan[part], k->memory[part]);
}

static void open_object(struct edited *k)
{
	struct source *src = slice_of(k, 0);
	struct err e = { 0 };

	if (object_open(k->format, src, &k->around, &k->o, &e))
		fail_msg("%s", e.text);
	src_put(src);
}

void edited_open_behind(struct edited *k, const struct format *f, const void *p, size_t n, size_t room,
			const void *behind, size_t nbehind, size_t behind_room)
{
	*k = (struct edited){ .around = { .following = following, .resize = resize, .say = say }, .format = f };
	open_part(k, 0, p, n, room);
	if (behind)
		open_part(k, 1, behind, nbehind, behind_room);
	open_object(k);
}

void edited_open(struct edited *k, const struct format *f, const void *p, size_t n, size_t room)
{
	edited_open_behind(k, f, p, n, room, NULL, 0, 0);
}

void edited_open_members(struct edited *k, const struct format *f, const struct edited_part part[EDITED_PARTS])
{
	*k = (struct edited){ .around = { .member = member, .resize = resize, .say = say }, .format = f };
	for (unsigned i = 0; i < EDITED_PARTS; i++)
		if (part[i].p)
			open_part(k, i, part[i].p, part[i].n, part[i].room);
	open_object(k);
}

static size_t settle_part(struct edited *k, unsigned part)
{
	struct plan *plan = &k->plan[part];
	struct err e = { 0 };
	size_t changed = 0;

	if (plan_settle(plan, &e))
		fail_msg("%s", e.text);
	for (size_t i = 0; i < plan->n; i++)
		for (size_t j = 0; j < plan->v[i].len; j++)
			changed += k->bytes[part][plan->v[i].at + j] != plan->v[i].bytes[j];
	for (size_t i = 0; i < plan->n; i++)
		memcpy(k->bytes[part] + plan->v[i].at, plan->v[i].bytes, plan->v[i].len);
	plan_free(plan);
	plan_init(plan, k->memory[part]);
	return changed;
}

size_t edited_settle(struct edited *k)
{
	size_t changed = 0;

	for (unsigned i = 0; i < EDITED_PARTS; i++)
		changed += k->bytes[i] ? settle_part(k, i) : 0;
	object_close(k->o);
	open_object(k);
	return changed;
}

void edited_close(struct edited *k)
{
	object_close(k->o);
	for (unsigned i = 0; i < EDITED_PARTS; i++) {
		if (!k->bytes[i])
			continue;
		plan_free(&k->plan[i]);
		src_put(k->memory[i]);
		free(k->bytes[i]);
		free(k->was[i]);
	}
}

/* ---- edits ---- */

struct sizes { uint64_t v[EDITED_PARTS]; };

static struct sizes sizes_of(const struct edited *k)
{
	struct sizes s;

	memcpy(s.v, k->size, sizeof s.v);
	return s;
}

/* What failed has changed nothing. */
static int finish(struct edited *k, int rc, const struct err *e, const struct sizes *size)
{
	k->why[0] = 0;
	if (rc) {
		snprintf(k->why, sizeof k->why, "%s", e->text);
		for (unsigned i = 0; i < EDITED_PARTS; i++) {
			if (!k->bytes[i])
				continue;
			plan_free(&k->plan[i]);
			plan_init(&k->plan[i], k->memory[i]);
			k->size[i] = size->v[i];
		}
	}
	edited_settle(k);
	return rc;
}

static int apply_yaml(struct edited *k, unsigned kind, uint32_t index, const char *text, struct arena *a, struct err *e)
{
	const struct model_ops *m = k->format->model;
	struct yedit_rest rest = { .again = k->around.again };
	struct ynode *root;
	int rc = yaml_read((const uint8_t *)text, strlen(text), &root, a, e);

	if (!rc && m->doc_tree)
		rc = m->doc_tree(k->o, kind, index, root, e);
	if (!rc)
		rc = yedit_apply(k->o, kind, index, root, &rest, a, e);
	if (rc || !rest.n)
		return rc;
	object_close(k->o);
	open_object(k);
	if (m->doc_put)
		rc = m->doc_put(k->o, kind, index, root, rest.v, rest.n, e);
	return rc ? rc : yedit_refuse(&rest, e);
}

int edited_yaml(struct edited *k, unsigned kind, uint32_t index, const char *text)
{
	struct sizes size = sizes_of(k);
	struct arena a = { 0 };
	struct err e = { 0 };
	int rc = apply_yaml(k, kind, index, text, &a, &e);

	arena_free(&a);
	return finish(k, rc, &e, &size);
}

int edited_obj(struct edited *k, uint32_t mesh, const char *text)
{
	struct sizes size = sizes_of(k);
	const struct model_ops *m = k->format->model;
	struct geo_form form = { 0 };
	struct geo_put put = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	int rc = m->form ? m->form(k->o, mesh, &form, &a, &e) : 0;

	if (!rc)
		rc = obj_read((const uint8_t *)text, strlen(text), mesh, &form, &put, &a, NULL, &e);
	if (!rc)
		rc = m->mesh_put(k->o, mesh, &put, &e);
	arena_free(&a);
	return finish(k, rc, &e, &size);
}

int edited_weights(struct edited *k, uint32_t mesh, const char *text)
{
	struct sizes size = sizes_of(k);
	struct geo_weights put = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	int rc = weights_read((const uint8_t *)text, strlen(text), &put, &a, &e);

	if (!rc)
		rc = k->format->model->weights_put(k->o, mesh, &put, &e);
	arena_free(&a);
	return finish(k, rc, &e, &size);
}

int edited_image(struct edited *k, uint32_t i, const struct geo_image *img)
{
	struct sizes size = sizes_of(k);
	struct err e = { 0 };
	int rc = k->format->model->image_put(k->o, i, img, &e);

	return finish(k, rc, &e, &size);
}

int edited_file(struct edited *k, unsigned own, uint32_t index, const void *p, size_t n)
{
	struct sizes size = sizes_of(k);
	struct source *src = src_memory(p, n);
	struct err e = { 0 };
	int rc;

	assert_non_null(src);
	rc = k->format->model->file_put(k->o, own, index, src, &e);
	src_put(src);
	return finish(k, rc, &e, &size);
}

/* ---- what changed ---- */

struct kept edited_keep(const struct edited *k)
{
	struct kept was = { .size = { 0 } };

	for (unsigned i = 0; i < EDITED_PARTS; i++) {
		if (!k->bytes[i])
			continue;
		was.size[i] = k->size[i];
		was.bytes[i] = malloc(k->size[i] + 1);
		assert_non_null(was.bytes[i]);
		memcpy(was.bytes[i], k->bytes[i], k->size[i]);
	}
	return was;
}

void edited_same(const struct edited *k, struct kept *was)
{
	for (unsigned i = 0; i < EDITED_PARTS; i++) {
		assert_int_equal(k->size[i], was->size[i]);
		if (was->size[i])
			assert_memory_equal(k->bytes[i], was->bytes[i], was->size[i]);
		free(was->bytes[i]);
	}
}

void edited_yaml_twice(struct edited *k, unsigned kind, uint32_t index, const char *text)
{
	struct kept once;

	if (edited_yaml(k, kind, index, text))
		fail_msg("%s", k->why);
	once = edited_keep(k);
	k->around.again = true;
	if (edited_yaml(k, kind, index, text))
		fail_msg("again: %s", k->why);
	k->around.again = false;
	edited_same(k, &once);
}

void edited_obj_twice(struct edited *k, uint32_t mesh, const char *text)
{
	struct kept once;

	if (edited_obj(k, mesh, text))
		fail_msg("%s", k->why);
	once = edited_keep(k);
	k->around.again = true;
	if (edited_obj(k, mesh, text))
		fail_msg("again: %s", k->why);
	k->around.again = false;
	edited_same(k, &once);
}

void edited_only(const struct edited *k, unsigned part, uint64_t at, uint64_t n)
{
	uint64_t end = k->size[part] > k->size_was[part] ? k->size[part] : k->size_was[part];
	bool any = false;

	for (uint64_t i = 0; i < end; i++) {
		bool differs = k->bytes[part][i] != k->was[part][i];

		if (differs && (i < at || i >= at + n))
			fail_msg("byte 0x%llx changed, which is outside 0x%llx..0x%llx", (unsigned long long)i,
				 (unsigned long long)at, (unsigned long long)(at + n));
		any |= differs;
	}
	assert_true(any || !n);
}
