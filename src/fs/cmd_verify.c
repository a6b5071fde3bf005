/* verify, describe, demo. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cmd.h"
#include "export.h"
#include "unit.h"

/* ---- verify ---- */

struct verify { struct tree *t; const char *source; uint64_t nunits, nbad; };

static int verify_container(struct unit *u, struct object *o, struct err *e)
{
	struct entries entries = { 0 };
	int rc = u->format->container->list(o, &entries, e);

	if (!rc && u->format->container->verify)
		rc = u->format->container->verify(o, &entries, e);
	return rc;
}

/* What reading the unit for its listing has found. */
static int verify_notes(struct verify *v, struct unit *u, struct err *e)
{
	struct buf lines = { 0 };
	int rc = 0;

	node_errors(v->t, (struct node){ u, 0 }, &lines);
	if (lines.len)
		rc = err_set(e, EBADMSG, "%.*s", (int)strcspn((char *)lines.p, "\n"), (char *)lines.p);
	buf_free(&lines);
	return rc;
}

/* Another process that saves waits as long as one unit takes. */
static int check_unit(struct verify *v, struct unit *u, struct err *e)
{
	struct object *o;
	int rc;

	unit_fill(v->t, u, NULL);              /* what that finds out, opening finds out too */
	rc = object_open(u->format, u->src, &u->around, &o, e);
	if (!rc) {
		rc = u->format->container ? verify_container(u, o, e) : object_verify(o, e);
		object_close(o);
	}
	return rc ? rc : verify_notes(v, u, e);
}

static int verify_unit(void *ctx, struct cmd_place *unit)
{
	struct verify *v = ctx;
	struct err why = { 0 };
	bool bad = false;

	tree_enter(v->t);
	if (!cmd_place_find(unit) && unit->node.unit && !unit->node.local) {      /* else it is gone by now */
		v->nunits++;
		bad = check_unit(v, unit->node.unit, &why);
	}
	tree_leave(v->t);
	if (bad) {
		fprintf(stderr, "modelfs: verify: %s%s%s: %s\n", v->source, *unit->path ? ": " : "", unit->path,
			why.text);
		v->nbad++;
	}
	return 0;
}

static int run_verify(const struct command *self, int argc, char **argv)
{
	struct verify v = { 0 };
	struct err why = { 0 };
	struct tree *t;
	unsigned given;
	int rc = cmd_options(self, argc, &argv, "c", &given, 1, 1);

	if (rc < 0)
		return -1 - rc;
	v.source = argv[0];
	t = cmd_open(self, argv[0], (struct tree_options){ .carve = given });
	if (!t)
		return 1;
	v.t = t;
	rc = cmd_each_unit(t, verify_unit, &v, &why);
	if (rc)
		cmd_fail(self, argv[0], &why);
	printf("%" PRIu64 " checked, %" PRIu64 " differ or are damaged\n", v.nunits, v.nbad);
	tree_close(t);
	return rc || v.nbad;
}

const struct command cmd_verify = {
	"verify", "[-c] SOURCE",
	"Decodes every container and model, encodes it again and compares. Exit code 1 if anything differs.\n"
	CMD_CARVE_HELP, run_verify
};

/* ---- describe ---- */

static void list_formats(struct buf *out)
{
	for (const struct format *const *f = formats; *f; f++)
		if (format_opens(*f))
			buf_printf(out, "%-10s %s\n", (*f)->name, (*f)->title);
}

static int run_describe(const struct command *self, int argc, char **argv)
{
	const struct format *f = NULL;
	struct buf out = { 0 };
	unsigned given;
	int rc = cmd_options(self, argc, &argv, "", &given, 0, 1);

	if (rc < 0)
		return -1 - rc;
	if (rc) {
		f = format_named(argv[0]);
		if (!f || !format_opens(f)) {
			fprintf(stderr, "modelfs: describe: %s: no such format; `modelfs describe` lists them\n",
				argv[0]);
			return 1;
		}
		recdoc_write(&out, f);
	} else {
		list_formats(&out);
	}
	rc = out.bad ? cmd_fail_errno(self, "page", ENOMEM) : cmd_write(self, out.p, out.len);
	buf_free(&out);
	return rc;
}

const struct command cmd_describe = {
	"describe", "[FORMAT]",
	"Prints the reference page of a format, from its record tables; without FORMAT, the list of formats.",
	run_describe
};

/* ---- demo ---- */

/* An existing file is never overwritten: it may be somebody's game. */
static int save_new(const struct command *self, const char *path, const struct buf *b)
{
	int rc, fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return cmd_fail_errno(self, path, errno);
	rc = cmd_write_fd(fd, b->p, b->len);
	if (close(fd) && !rc)
		rc = -errno;
	return rc ? cmd_fail_errno(self, path, -rc) : 0;
}

/* The one whose files are called so, else the first. */
static const struct format *demo_of(const char *path)
{
	const char *dot = strrchr(path, '.');
	const struct format *first = NULL;

	for (const struct format *const *f = formats; *f; f++) {
		if ((*f)->demo && dot && !strcasecmp(dot + 1, (*f)->ext))
			return *f;
		if ((*f)->demo && !first)
			first = *f;
	}
	return first;
}

static int run_demo(const struct command *self, int argc, char **argv)
{
	const struct format *f;
	struct buf out = { 0 };
	struct err why = { 0 };
	unsigned given;
	int rc = cmd_options(self, argc, &argv, "", &given, 1, 1);

	if (rc < 0)
		return -1 - rc;
	f = demo_of(argv[0]);
	rc = f ? f->demo(&out, &why) : err_set(&why, ENOSYS, "no format has a demo");
	if (!rc && out.bad)
		rc = err_nomem(&why);
	rc = rc ? cmd_fail(self, argv[0], &why) : save_new(self, argv[0], &out);
	buf_free(&out);
	return rc;
}

const struct command cmd_demo = {
	"demo", "FILE",
	"Writes a small, valid archive of our own models to FILE, which must not exist yet: an encrypted DATA.BIN, or what\n"
	"the extension of FILE says.", run_demo
};
