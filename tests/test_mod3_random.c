/* MOD3 models made at random and edited at random: whatever an edit does to one mesh, the others show what they showed,
 * the file stays sound, and the same text again changes nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_mod3.h"
#include "bytes.h"
#include "edited.h"
#include "mod3.h"
#include "opened.h"
#include "texts.h"

extern const struct format fmt_mod3;

#define MODELS 250u
#define EDITS 8u
#define MESHES 6u

static struct build_mod3 b;
static struct edited k;
static uint32_t state;
static const char *last;                       /* type of the last mesh that has vertices, and how many */
static unsigned last_n;

static unsigned below(unsigned n)
{
	state = state * 1664525 + 1013904223;
	return (unsigned)((uint64_t)(state >> 8) * n >> 24);
}

/* ---- models ---- */

static void add_mesh(void)
{
	/* Few kinds, so that runs have several meshes. */
	static const char *const types[] = { "IASkin4wt1UV", "IANonSkin2UVColor", "IASkin8wt1UV", "IANonSkin1UV",
					     "IASkin4wt2UVColor" };
	int32_t indices[18];
	unsigned n = below(8) ? 3 + below(5) : 0;
	struct build_mod3_mesh m = { .type = types[below(5)], .nvertices = n, .indices = indices,
				     .nindices = n ? 3 * below(7) : 0, .new_base = !below(6),
				     .same = b.nmeshes && !below(9) };

	/* Vertices that two meshes have are of one type. */
	if (!last || strcmp(last, m.type) || m.new_base || n > last_n || n > b.sub)
		m.same = false;
	for (unsigned i = 0; i < m.nindices; i++)
		indices[i] = (int32_t)below(n);
	/* Into the mesh before, which is in the same run. */
	if (b.sub > 3 && m.nindices && last && !strcmp(last, m.type) && !m.new_base && !m.same && !below(5))
		indices[0] = -1;
	build_mod3_mesh(&b, &m);
	last = n ? m.type : last;
	last_n = n && !m.same ? n : last_n;
	for (unsigned i = below(3); i--;)
		build_envelope(&b, below(4) ? below(3) : 255, true);
}

/* Fields nobody reads are out of date, or a mesh is one that nobody can read. */
static void spoil(uint8_t *record)
{
	switch (below(8)) {
	case 0: put_le16(record + 0x2c, (uint16_t)below(65536)); break;
	case 1: put_le32(record + 0x3c, below(1000)); break;
	case 2: put_le32(record + 0x18, 0xd61a3e0d); break;
	case 3: record[0x29] = (uint8_t)(record[0x29] + below(2)); break;
	default: break;
	}
}

static void make_model(void)
{
	struct buf out;

	b = (struct build_mod3){ 0 };
	last = NULL;
	build_bone(&b, 255, 0, 8, 0);
	build_bone(&b, 0, 3, 0, 4);
	build_bone(&b, 1, 0, -1, 0);
	build_name(&b, "skin");
	for (unsigned i = 1 + below(MESHES); i--;)
		if (below(12))
			add_mesh();
		else
			build_no_mesh(&b);
	for (unsigned i = 0; i < b.nmeshes; i++)
		if (le_u32(b.meshes.p + 80 * i + 0x18))
			spoil(b.meshes.p + 80 * i);
	if (!below(3))
		build_envelope(&b, 2, false);
	build_mod3(&b, &out);
	if (!below(4))
		set64(&out, 0x60, b.size + below(100));
	edited_open(&k, &fmt_mod3, out.p, out.len, out.len + 20000);
	buf_free(&out);
	sound(k.o);
}

/* ---- what meshes show ---- */

static bool is_shown(uint32_t i)
{
	return !mod3_mesh_sound(k.o, i, NULL);
}

/* OBJ, weights and vertices of a mesh, or what an opaque one has. */
static char *all_of(uint32_t i)
{
	const struct mod3_mesh *m = &((const struct mod3 *)k.o->priv)->mesh[i];
	char *text, *obj, *vertices, *weights = NULL;

	if (!is_shown(i)) {
		text = malloc(64);
		assert_non_null(text);
		snprintf(text, 64, "%u %u %u", m->vertex_count, m->index_count, m->stride);
		return text;
	}
	obj = obj_text(k.o, i);
	vertices = text_of(k.o, MOD3_DOC_VERTICES, i);
	weights = m->block->slots ? weights_text(k.o, i) : NULL;
	text = malloc(strlen(obj) + strlen(vertices) + (weights ? strlen(weights) : 0) + 1);
	assert_non_null(text);
	sprintf(text, "%s%s%s", obj, vertices, weights ? weights : "");
	free(obj);
	free(vertices);
	free(weights);
	return text;
}

/* ---- edits ---- */

static unsigned count(const char *text, const char *begins)
{
	unsigned n = 0;

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		n += !strncmp(text, begins, strlen(begins));
		if (!*text)
			break;
	}
	return n;
}

static char *change_obj(char *text)
{
	unsigned n = count(text, "v "), faces = count(text, "f ");
	char line[160];

	switch (below(5)) {
	case 0:
		snprintf(line, sizeof line, "v %u.5 %u -%u", below(9), below(9), below(9));
		return n ? with_line(text, "v ", below(n), line) : text;
	case 1:
		return faces ? with_line(text, "f ", below(faces), "") : text;
	case 2:                                        /* a corner with other values */
		snprintf(line, sizeof line, "f %u/%u/%u %u/%u/%u %u/%u/%u", 1 + below(n), 1 + below(n), 1 + below(n),
			 1 + below(n), 1 + below(n), 1 + below(n), 1 + below(n), 1 + below(n), 1 + below(n));
		return faces && n ? with_line(text, "f ", below(faces), line) : text;
	case 3:                                        /* a vertex more, in front */
		snprintf(line, sizeof line, "mtllib 0.mtl\nv %u %u.25 3\nf 1 %u %u", below(9), below(9), 1 + n, n);
		return n ? with_line(text, "mtllib ", 0, line) : text;
	default:
		snprintf(line, sizeof line, "f %u %u %u\nmtllib 0.mtl", 1 + below(n + 1), 1 + below(n + 1),
			 1 + below(n + 1));
		return n ? with_line(text, "mtllib ", 0, line) : text;
	}
}

static int edit_weights(uint32_t i)
{
	char line[80], *text = weights_text(k.o, i);
	unsigned n = count(text, "- "), w = below(1024);
	int rc;

	snprintf(line, sizeof line, "- [[%u, %u], [%u, %u]]", below(3), 1023 - w, below(3), w);
	if (n)
		text = with_line(text, "- ", below(n), line);
	rc = edited_weights(&k, i, text);
	if (!rc)
		assert_int_equal(edited_weights(&k, i, text), 0);
	free(text);
	return rc;
}

static int edit(uint32_t i, unsigned kind)
{
	const struct mod3_mesh *m = &((const struct mod3 *)k.o->priv)->mesh[i];
	char *text, yaml[64];
	struct kept once;
	int rc;

	if (kind == 0 && m->block->slots)
		return edit_weights(i);
	if (kind == 1) {
		snprintf(yaml, sizeof yaml, "block_type: %s\n", build_types[below(BUILD_TYPES)].name);
		rc = edited_yaml(&k, DOC_MESH, i, yaml);
		if (!rc)
			edited_yaml_twice(&k, DOC_MESH, i, yaml);
		return rc;
	}
	text = change_obj(change_obj(obj_text(k.o, i)));
	rc = edited_obj(&k, i, text);
	if (!rc) {
		once = edited_keep(&k);
		if (edited_obj(&k, i, text))
			fail_msg("again: %s", k.why);
		edited_same(&k, &once);
	}
	free(text);
	return rc;
}

/* Where vertices of several meshes are the same ones, a moved one moves in all. */
static bool may_change(uint32_t i, uint32_t other)
{
	const struct mod3 *m = k.o->priv;
	struct mod3_window w[2];
	struct arena a = { 0 };
	uint64_t at[2], end[2];
	const uint32_t of[2] = { i, other };

	if (!is_shown(other))
		return false;
	for (unsigned j = 0; j < 2; j++) {
		assert_int_equal(mod3_window(k.o, of[j], &w[j], &a, NULL), 0);
		at[j] = mod3_vertex_at(m, &m->mesh[of[j]], w[j].first);
		end[j] = at[j] + (uint64_t)w[j].n * m->mesh[of[j]].stride;
	}
	arena_free(&a);
	return at[0] < end[1] && at[1] < end[0];
}

static bool edit_once(uint32_t i)
{
	char *was[BUILD_MESHES] = { NULL }, *now;
	bool common[BUILD_MESHES] = { false };
	int rc;

	for (uint32_t j = 0; j < b.nmeshes; j++) {
		common[j] = j == i || may_change(i, j);
		was[j] = all_of(j);
	}
	rc = edit(i, below(4));
	if (rc && rc != -EINVAL)
		fail_msg("%s", k.why);
	sound(k.o);
	for (uint32_t j = 0; j < b.nmeshes; j++) {
		now = all_of(j);
		if (!common[j] || rc)
			assert_string_equal(now, was[j]);
		free(now);
		free(was[j]);
	}
	return !rc;
}

static void at_random(void **unused)
{
	unsigned done = 0, shown = 0;

	(void)unused;
	for (unsigned n = 0; n < MODELS; n++) {
		state = n;
		make_model();
		for (unsigned e = 0; e < EDITS; e++) {
			uint32_t i = below(b.nmeshes);

			if (!is_shown(i))
				continue;
			shown++;
			done += edit_once(i);
		}
		edited_close(&k);
	}
	/* Enough of them were edits, and not all. */
	assert_in_range(done, shown / 3, shown - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(at_random) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
