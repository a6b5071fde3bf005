#include "shown.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "draft.h"

static char root[64];

int shown_make(void **state)
{
	(void)state;
	strcpy(root, "/tmp/modelfs-shown-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

int shown_remove(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

const char *shown_at(const char *name)
{
	static char room[4][256];
	static unsigned i;

	snprintf(room[i = (i + 1) % 4], sizeof room[0], "%s%s%s", root, *name ? "/" : "", name);
	return room[i];
}

/* ---- files ---- */

void shown_write(const char *name, const struct buf *bytes)
{
	static time_t when = 1500000000;
	struct timespec past[2] = { { .tv_sec = when }, { .tv_sec = when } };
	char path[256];
	FILE *f;

	when++;
	snprintf(path, sizeof path, "%s", shown_at(name));
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes->p, 1, bytes->len, f), bytes->len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
}

void shown_read(const char *name, struct buf *out)
{
	FILE *f = fopen(shown_at(name), "rb");
	int c;

	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		buf_char(out, (char)c);
	fclose(f);
}

bool shown_file_is(const char *name, const struct buf *bytes)
{
	struct buf now = { 0 };
	bool is;

	shown_read(name, &now);
	is = now.len == bytes->len && (!now.len || !memcmp(now.p, bytes->p, now.len));
	buf_free(&now);
	return is;
}

/* ---- trees ---- */

static struct tree *open_tree(const char *name, bool write, bool grow)
{
	struct tree_options opt = { .cache = 1 << 20, .write = write, .grow = grow };
	struct err why = { 0 };
	struct tree *t;

	if (tree_open(shown_at(name), &opt, &t, &why))
		fail_msg("%s", why.text);
	if (write && !tree_writable(t, NULL))
		fail_msg("it cannot be written");
	return t;
}

struct tree *shown_open(const char *name, bool write)
{
	return open_tree(name, write, false);
}

struct tree *shown_open_growing(const char *name)
{
	return open_tree(name, true, true);
}

int shown_enter(struct tree *t, const char *path, struct node *out)
{
	int rc = -ESTALE;

	tree_enter(t);
	for (unsigned i = 0; i < 8 && rc == -ESTALE; i++) {
		rc = node_resolve(t, path, out);
		if (!rc && node_is_outdated(t, *out))
			rc = -ESTALE;
		if (rc == -ESTALE) {
			tree_leave(t);
			tree_enter(t);
		}
	}
	return rc;
}

/* ---- what is shown ---- */

static int add_name(void *ctx, const struct node_entry *entry)
{
	struct buf *b = ctx;

	buf_printf(b, "%s%s%s", b->len ? " " : "", entry->name, entry->dir ? "/" : "");
	return 0;
}

const char *shown_list(struct tree *t, const char *path)
{
	static struct buf b;
	struct node n;

	buf_free(&b);
	assert_int_equal(shown_enter(t, path, &n), 0);
	assert_int_equal(node_list(t, n, 0, false, add_name, &b), 0);
	node_put(t, n);
	tree_leave(t);
	buf_char(&b, 0);
	return (const char *)b.p;
}

void shown_text(struct tree *t, const char *path, struct buf *out)
{
	struct handle *h;
	struct node n;
	uint8_t *p;

	assert_int_equal(shown_enter(t, path, &n), 0);
	assert_int_equal(node_open(t, n, &h, NULL), 0);
	p = buf_room(out, handle_size(h) + 1);
	assert_int_equal(handle_read(h, p, handle_size(h) + 1, 0), handle_size(h));
	out->len += handle_size(h);
	tree_leave(t);
	handle_put(h);
	node_put(t, n);
}

bool shown_is(struct tree *t, const char *path, const void *p, size_t n)
{
	struct buf b = { 0 };
	bool is;

	shown_text(t, path, &b);
	is = b.len == n && !memcmp(b.p, p, n);
	buf_free(&b);
	return is;
}

bool shown_says(struct tree *t, const char *path, const char *part)
{
	struct buf b = { 0 };
	bool is;

	shown_text(t, path, &b);
	buf_char(&b, 0);
	is = strstr((char *)b.p, part);
	buf_free(&b);
	return is;
}

int shown_save(struct tree *t, const char *path, const void *p, size_t n, struct err *why)
{
	struct store *text = store_new(NULL, &t->stored);
	struct node node;
	int rc = shown_enter(t, path, &node);

	assert_int_equal(rc, 0);
	assert_int_equal(node_may_write(t, node, NULL), 0);
	tree_leave(t);
	assert_non_null(text);
	assert_int_equal(store_write(text, p, n, 0), 0);
	rc = tree_save(t, &node, text, NULL, why);
	store_free(text);
	return rc;
}
