/* modelfs thumbnail: a small picture of a source, for file managers. It shows the model, or of an archive the first few
 * of which there is anything to see. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "export.h"

#define SHOWN_MOST 4u                          /* two rows of two */
#define TRIED_MOST 200u                        /* of models, and of all that is looked into: somebody waits */
#define UNITS_MOST 5000u
#define SIZE_MOST (2 * PREVIEW_SIDE)

struct thumbnail {
	uint8_t *room;                         /* CMD_PIECE bytes */
	struct arena arena;
	struct geo_image shown[SHOWN_MOST];
	unsigned nshown, tried, units;
};

/* A preview is smaller than a piece. */
static int read_preview(struct thumbnail *x, struct cmd_place *unit)
{
	struct cmd_reading r;
	int rc;

	tree_enter(unit->t);
	rc = cmd_read_open(unit, "preview.png", &r, NULL);
	if (!rc) {
		rc = cmd_read(&r, x->room, NULL);
		cmd_read_close(&r);
	}
	tree_leave(unit->t);
	return rc;
}

static bool is_clear(const struct geo_image *img)
{
	size_t n = (size_t)img->w * img->h;

	while (n && !img->rgba[4 * n - 1])
		n--;
	return !n;
}

/* What cannot be shown is passed over; memory that is short ends it. */
static int look(void *ctx, struct cmd_place *unit)
{
	struct thumbnail *x = ctx;
	struct geo_image *img = &x->shown[x->nshown];
	int n = read_preview(x, unit);

	x->tried += n != -ENOENT;
	if (n > 0 && !png_read(x->room, (size_t)n, PREVIEW_SIDE, PREVIEW_SIDE, img, &x->arena, NULL))
		x->nshown += !is_clear(img);
	return n == -ENOMEM ? n : x->nshown == SHOWN_MOST || x->tried == TRIED_MOST || ++x->units == UNITS_MOST;
}

static int draw(struct thumbnail *x, uint32_t size, struct buf *png, struct err *e)
{
	unsigned each = x->nshown > 1 ? 2 : 1;
	uint32_t part = size / each < PREVIEW_SIDE ? size / each : PREVIEW_SIDE;
	struct geo_image img = { .w = part * each, .h = part * each };

	img.rgba = arena_alloc(&x->arena, (size_t)img.w * img.h, 4);
	if (!img.rgba)
		return err_nomem(e);
	for (unsigned i = 0; i < x->nshown; i++)
		image_fit(&x->shown[i], part, img.rgba + 4 * ((size_t)(i / 2) * part * img.w + i % 2 * part), img.w);
	return png_write(png, &img, e);
}

static int save(const struct command *self, const char *path, const struct buf *png)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int rc = fd < 0 ? -errno : cmd_write_fd(fd, png->p, png->len);

	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	return rc ? cmd_fail_errno(self, path, -rc) : 0;
}

static int make(const struct command *self, struct tree *t, const char *to, uint32_t size)
{
	struct thumbnail x = { .room = malloc(CMD_PIECE) };
	struct buf png = { 0 };
	struct err why = { 0 };
	int rc = x.room ? cmd_each_unit(t, look, &x, &why) : err_nomem(&why);

	if (rc == -ENOMEM)
		rc = err_nomem(&why);
	else if (rc >= 0 && !x.nshown)
		rc = err_set(&why, ENOENT, "there is no model in it of which anything can be seen");
	else if (rc >= 0)
		rc = draw(&x, size, &png, &why);
	rc = rc < 0 ? cmd_fail(self, tree_path(t), &why) : save(self, to, &png);
	buf_free(&png);
	arena_free(&x.arena);
	free(x.room);
	return rc;
}

static int run_thumbnail(const struct command *self, int argc, char **argv)
{
	unsigned given;
	unsigned long size = PREVIEW_SIDE;
	char *end = "";
	struct tree *t;
	int rc;

	argc = cmd_options(self, argc, &argv, "", &given, 2, 3);
	if (argc < 0)
		return -1 - argc;
	if (argc == 3)
		size = strtoul(argv[2], &end, 10);
	if (*end || size < 2 || size > INT32_MAX)
		return cmd_usage(self);
	t = cmd_open(self, argv[0], (struct tree_options){ 0 });
	if (!t)
		return 1;
	rc = make(self, t, argv[1], size < SIZE_MOST ? (uint32_t)size : SIZE_MOST);
	tree_close(t);
	return rc;
}

const struct command cmd_thumbnail = {
	"thumbnail", "SOURCE FILE [SIZE]",
	"Writes a PNG of the model, or of the first models of an archive, of at most SIZE pixels a side (256) to FILE.",
	run_thumbnail
};
