#include "edited_mlp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "opened.h"

extern const struct format fmt_mlp;

void quartet_open(struct edited *k, struct buf part[BUILD_PARTS], size_t room)
{
	struct edited_part parts[EDITED_PARTS] = { { 0 } };

	for (unsigned i = 0; i < BUILD_PARTS; i++)
		parts[i] = (struct edited_part){ part[i].p, part[i].len, part[i].len + room };
	edited_open_members(k, &fmt_mlp, parts);
	for (unsigned i = 0; i < BUILD_PARTS; i++)
		buf_free(&part[i]);
}

void quartet_three(struct edited *k, size_t room)
{
	struct build_mlp b;
	struct buf part[BUILD_PARTS];

	build_three(&b, part);
	quartet_open(k, part, room);
	sound(k->o);
}

void save(struct edited *k, uint32_t mesh, char *text)
{
	edited_obj_twice(k, mesh, text);
	free(text);
}

void words_are(struct edited *k, unsigned part, uint64_t at, const uint32_t *want, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (be_u32(k->bytes[part] + at + 4 * i) != want[i])
			fail_msg("part %u: %08x at 0x%llx, expected %08x", part, be_u32(k->bytes[part] + at + 4 * i),
				 (unsigned long long)at + 4 * i, want[i]);
		put_be32(k->was[part] + at + 4 * i, want[i]);
	}
}

void quartet_unchanged(const struct edited *k)
{
	for (unsigned i = 0; i < BUILD_SCP; i++)
		edited_only(k, i, 0, 0);
}

void quartet_done(struct edited *k)
{
	quartet_unchanged(k);
	sound(k->o);
	edited_close(k);
}

void refused(const struct edited *k, int rc, int code, const char *why)
{
	assert_int_equal(rc, -code);
	if (!strstr(k->why, why))
		fail_msg("\"%s\" does not say \"%s\"", k->why, why);
	quartet_unchanged(k);
	for (unsigned i = 0; i < BUILD_SCP; i++)
		assert_int_equal(k->size[i], k->size_was[i]);
}
