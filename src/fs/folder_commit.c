/* An edit of a folder's files, as one change. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "edit.h"
#include "fileset.h"
#include "folder.h"

struct folder_commit {
	struct tree *tree;
	struct edit *ed;
	size_t n;
	unsigned *file;                        /* numbers of the n files */
	struct file_change v[];
};

static char *path_of(struct tree *t, const struct tree_file *f)
{
	struct buf path = { 0 };
	int rc = spot_path(&t->folder->hosts, f->spot, &path);

	buf_char(&path, 0);
	if (!rc && !path.bad)
		return (char *)path.p;
	buf_free(&path);
	return NULL;
}

int folder_check(struct tree *t, unsigned file, struct err *e)
{
	const struct tree_file *f = tree_file(t, file);
	struct stat was = seen_stat(&f->seen);
	char *path = path_of(t, f);
	int rc = path ? fileset_check(t->folder->set, path, &was, e) : err_set(e, ESTALE, "the file is gone");

	free(path);
	return rc;
}

static int add_file(struct folder_commit *c, struct edit *ed, unsigned file, struct err *e)
{
	const struct tree_file *f = tree_file(c->tree, file);
	char *path = path_of(c->tree, f);

	if (!path)
		return err_set(e, ESTALE, "the file is gone");
	c->file[c->n] = file;
	c->v[c->n++] = (struct file_change){ .path = path, .was = seen_stat(&f->seen), .plan = edit_plan(ed, file) };
	return 0;
}

int folder_commit_begin(struct tree *t, struct edit *ed, struct folder_commit **out, struct err *e)
{
	struct folder_commit *c;
	unsigned n = 0, file;
	int rc = 0;

	while (edit_file(ed, n) != NO_FILE)
		n++;
	c = calloc(1, sizeof *c + n * sizeof *c->v);
	if (c)
		c->file = calloc(n + 1, sizeof *c->file);
	if (!c || !c->file) {
		free(c);
		return err_nomem(e);
	}
	c->tree = t;
	c->ed = ed;
	for (unsigned i = 0; !rc && (file = edit_file(ed, i)) != NO_FILE; i++)
		rc = edit_changes(ed, file) ? add_file(c, ed, file, e) : 0;
	if (rc)
		folder_commit_end(c);
	else
		*out = c;
	return rc;
}

int folder_commit_do(struct folder_commit *c, const char *what,
		     void (*progress)(void *tree, uint64_t done, uint64_t all), struct err *e)
{
	return fileset_commit(c->tree->folder->set, c->v, c->n, what, progress, c->tree, e);
}

/* All files are what they are before the first unit looks at them. */
void folder_commit_refresh(struct folder_commit *c, struct buf *ids)
{
	for (size_t i = 0; i < c->n; i++)
		if (folder_renew_file(c->tree, c->file[i], &c->v[i].now))
			folder_suspect(c->tree, c->file[i]);
	for (size_t i = 0; i < c->n; i++)
		tree_refresh(c->tree, c->file[i], c->ed, ids);
}

void folder_commit_end(struct folder_commit *c)
{
	for (size_t i = 0; i < c->n; i++)
		free((char *)(uintptr_t)c->v[i].path);
	free(c->file);
	free(c);
}
