/* Saving: an edit is planned, checked by reading it back, and committed; then the tree shows it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply.h"
#include "draft.h"
#include "folder.h"
#include "log.h"
#include "scratch.h"

struct save {
	struct tree *t;
	struct node n;
	struct store *text;
	struct before *before;
	struct edit *ed;
	struct buf path;                       /* of the node, zero-terminated */
	struct buf ids;                        /* nodes the kernel hears of */
};

/* ---- planning ---- */

/* Lays the bytes from before this draft was first saved over what is there. */
static int put_back(struct save *s, struct err *e)
{
	const struct before *b = s->before;
	struct plan *plan;
	int rc = 0;

	if (!b || b->commits != s->t->commits)
		return 0;
	edit_was(s->ed, b->media);
	for (const struct before_file *f = b->files; f && !rc; f = f->next) {
		rc = edit_open(s->ed, f->file, &plan, e);
		if (rc)
			return rc;
		rc = edit_lay(plan, &f->plan);
	}
	return rc ? err_set(e, -rc, "%s", strerror(-rc)) : 0;
}

/* ---- checking ---- */

static uint32_t count_faults(const struct object *o)
{
	uint32_t n = 0;

	for (const struct fault *f = o->faults; f; f = f->next)
		n++;
	return n;
}

/* A fault of the edited object that the stored one does not have. */
static const struct fault *new_fault(const struct object *now, const struct object *was)
{
	const struct fault *f, *old;

	if (count_faults(now) <= count_faults(was))
		return NULL;
	for (f = now->faults; f; f = f->next) {
		for (old = was->faults; old && strcmp(old->text, f->text); old = old->next)
			;
		if (!old)
			return f;
	}
	return now->faults;
}

/* An edit must not make a sound object a damaged one. */
static int check_object(struct save *s, struct unit *u, struct err *e)
{
	const struct model_ops *m = u->format->model;
	const struct leaf *l = node_leaf(s->n);
	struct cached *hold;
	struct object *was, *now;
	const struct fault *f;
	struct err why = { 0 };
	int rc = edit_object(s->ed, u, &now, e);

	rc = rc ? rc : unit_object(s->t, u, &hold, &was, e);
	if (rc)
		return rc;
	f = new_fault(now, was);
	if (f)
		rc = err_set(e, EINVAL, "it would be damaged: %s", f->text);
	else if (m && m->check && now->variant && m->check(now, &why) && (!was->variant || !m->check(was, NULL)))
		rc = err_set(e, EINVAL, "%s", why.text);
	/* Bytes as they are can also break what opening an object does not look at: lists, clips. */
	else if (m && l && leaf_is_bytes(l) && object_verify(now, &why) && !object_verify(was, NULL))
		rc = err_set(e, EINVAL, "it would be damaged: %s", why.text);
	cached_put(hold);
	return rc;
}

/* What was written must read back as what it is: the same text once more changes nothing. */
static int check_repeat(struct save *s, struct err *e)
{
	bool same = true;
	int rc;

	if (!apply_repeats(s->n))
		return 0;
	rc = edit_repeat(s->ed, e);
	rc = rc ? rc : apply_node(s->ed, s->n, s->text, e);
	rc = rc ? rc : edit_repeated(s->ed, &same, e);
	return rc || same ? rc : err_set(e, EIO, "what would be stored does not read back as it was written");
}

static int check(struct save *s, struct err *e)
{
	struct unit *owner = apply_owner(s->n, NULL);
	int rc;

	edit_reopen(s->ed);
	rc = owner ? check_object(s, owner, e) : err_set(e, EIO, "the companion is gone");
	for (unsigned i = 0; !rc && (owner = edit_touched(s->ed, i)); i++)
		rc = check_object(s, owner, e);
	return rc ? rc : check_repeat(s, e);
}

/* ---- committing ---- */

void before_free(struct before *b)
{
	while (b->files) {
		struct before_file *f = b->files;

		b->files = f->next;
		plan_free(&f->plan);
		free(f);
	}
	while (b->media) {
		struct before_medium *m = b->media;

		b->media = m->next;
		plan_free(&m->plan);
		free(m);
	}
}

static const struct before_file *known_before(const struct save *s, unsigned file)
{
	const struct before_file *f = s->before->commits == s->t->commits ? s->before->files : NULL;

	while (f && f->file != file)
		f = f->next;
	return f;
}

/* The bytes that a plan replaces, with those on top that an earlier save of the same draft replaced. */
static int old_bytes(struct save *s, const struct plan *plan, unsigned file, struct before *to)
{
	const struct before_file *known = known_before(s, file);
	struct before_file *f = calloc(1, sizeof *f);
	uint8_t *room;
	int rc = 0;

	if (!f)
		return -ENOMEM;
	*f = (struct before_file){ .next = to->files, .file = file };
	plan_init(&f->plan, plan->base);
	to->files = f;
	for (size_t i = 0; i < plan->n && !rc; i++) {
		const struct write *w = &plan->v[i];

		room = malloc(w->len);
		rc = room ? src_pread(plan->base, room, w->len, w->at) : -ENOMEM;
		rc = rc ? rc : plan_write(&f->plan, w->at, room, w->len);
		free(room);
	}
	return !rc && known ? edit_lay(&f->plan, &known->plan) : rc;
}

/* What a later save of the draft begins with again; nothing when data moves, or memory is short. */
static void all_old_bytes(struct save *s, struct before *to)
{
	unsigned file;
	int rc = s->before ? 0 : -ENOENT;

	for (unsigned i = 0; !rc && (file = edit_file(s->ed, i)) != NO_FILE; i++) {
		const struct plan *plan = edit_plan(s->ed, file);

		rc = plan->moved || plan->size != plan->base->size ? -EFBIG : old_bytes(s, plan, file, to);
	}
	rc = rc ? rc : edit_media(s->ed, &to->media);
	if (rc)
		before_free(to);
}

static void log_progress(void *ctx, uint64_t done, uint64_t all)
{
	const struct tree *t = ctx;

	if (t->progress)
		t->progress(done, all);
}

/* Somebody else changed a file: the next look shows what is there now. */
static void look_again(struct save *s, unsigned file)
{
	struct tree *t = s->t;

	pthread_rwlock_wrlock(&t->state);
	if (t->folder) {
		t->commits++;
		folder_suspect(t, file);
		folder_freshen(t, &s->ids);
	} else if (!archive_refresh(tree_file(t, file)->archive, NULL)) {
		t->commits++;
		tree_refresh(t, file, NULL, &s->ids);
	}
	pthread_rwlock_unlock(&t->state);
}

static int check_folder(struct save *s, struct err *e)
{
	unsigned file = s->n.unit->file;
	int rc = folder_check(s->t, file, e);

	for (unsigned i = 0; !rc && (file = edit_file(s->ed, i)) != NO_FILE; i++)
		rc = folder_check(s->t, file, e);
	if (rc)
		look_again(s, file);
	return rc;
}

/* An edit that fails, or changes nothing, may do so because it was planned over what is not there any more. */
static int check_files(struct save *s, struct err *e)
{
	struct tree *t = s->t;
	int rc = 0;

	if (t->folder)
		return check_folder(s, e);
	for (unsigned i = 0; i < atomic_load(&t->nfiles) && !rc; i++) {
		rc = archive_check(tree_file(t, i)->archive, e);
		if (rc)
			look_again(s, i);
	}
	return rc;
}

/* The files that the edit changes: one, or several that belong together. */
static int changed_files(struct save *s, unsigned file[TREE_ARCHIVES], unsigned *n, struct err *e)
{
	const struct tree *t = s->t;
	unsigned f;

	*n = 0;
	for (unsigned i = 0; (f = edit_file(s->ed, i)) != NO_FILE; i++) {
		if (!edit_changes(s->ed, f))
			continue;
		file[(*n)++] = f;
		if (!archive_belong(tree_file(t, file[0])->archive, tree_file(t, f)->archive))
			return err_set(e, EXDEV, "it would change %.110s and %.110s at once, which do not lie together",
				       tree_file_path(t, file[0]), tree_file_path(t, f));
	}
	return 0;
}

/* When it fails halfway, the files read as if it had not, through their journal. All of them are what they are before
 * the first unit looks at one. */
static int commit_files(struct save *s, struct err *e)
{
	struct archive_change change[TREE_ARCHIVES];
	struct tree *t = s->t;
	unsigned file[TREE_ARCHIVES], n;
	int rc = changed_files(s, file, &n, e);

	if (rc)
		return rc;
	for (unsigned i = 0; i < n; i++)
		change[i] = (struct archive_change){ tree_file(t, file[i])->archive, edit_plan(s->ed, file[i]) };
	rc = archive_commit_all(change, n, (char *)s->path.p, log_progress, t, e);
	for (unsigned i = 0; i < n && !t->held && rc == -ESTALE; i++)
		if (archive_check(change[i].archive, NULL))
			look_again(s, file[i]);
	for (unsigned i = 0; i < n && t->held; i++)
		tree_renew(t, file[i]);
	for (unsigned i = 0; i < n && t->held; i++)
		tree_refresh(t, file[i], s->ed, &s->ids);
	t->commits += t->held && !rc;
	return rc;
}

/* Any number of files of a folder. */
static int commit_folder(struct save *s, struct err *e)
{
	struct tree *t = s->t;
	struct folder_commit *c;
	int rc = folder_commit_begin(t, s->ed, &c, e);

	if (rc)
		return rc;
	rc = folder_commit_do(c, (char *)s->path.p, log_progress, e);
	if (t->held) {
		t->commits += !rc;
		folder_commit_refresh(c, &s->ids);
	}
	folder_commit_end(c);
	return rc;
}

static int commit(struct save *s, struct err *e)
{
	struct tree *t = s->t;
	struct before old = { 0 };
	int rc;

	all_old_bytes(s, &old);
	rc = t->folder ? commit_folder(s, e) : commit_files(s, e);
	if (t->held) {
		t->held = false;
		pthread_rwlock_unlock(&t->state);
	} else if (t->folder && rc) {
		check_files(s, NULL);
	}
	if (!rc && old.files) {
		before_free(s->before);
		s->before->files = old.files;
		s->before->media = old.media;
		s->before->commits = t->commits;
	} else {
		before_free(&old);
	}
	return rc;
}

static int plan_and_commit(struct save *s, struct err *e)
{
	bool empty;
	int stale, rc = edit_begin(s->t, &s->ed, e);

	rc = rc ? rc : put_back(s, e);
	rc = rc ? rc : apply_node(s->ed, s->n, s->text, e);
	rc = rc ? rc : edit_settle(s->ed, &empty, e);
	if (!rc && !empty) {
		rc = check(s, e);
		if (!rc)
			return commit(s, e);
	}
	stale = check_files(s, e);
	return stale ? stale : rc;
}

/* ---- what the user hears ---- */

static void log_lines(const struct save *s)
{
	const struct buf *lines = edit_lines(s->ed);

	for (size_t at = 0; at < lines->len;) {
		size_t n = (size_t)((uint8_t *)memchr(lines->p + at, '\n', lines->len - at) - lines->p) - at;

		log_line("%s: %s: %.*s", s->t->path, (char *)s->path.p, (int)n, (char *)lines->p + at);
		at += n + 1;
	}
}

static bool is_there(const struct node *n)
{
	return !atomic_load(&n->unit->dead) && n->local <= unit_locals(n->unit);
}

static void refuse(struct save *s, const struct err *why)
{
	struct buf line = { 0 };
	struct buf dir = { 0 };
	size_t skip;

	if (!s->t->silent)
		log_line("%s: %s: %s", s->t->path, (char *)s->path.p, why->text);
	if (!is_there(&s->n))
		return;
	/* errors.txt names the file as it is called from its own directory. */
	node_path(s->t, (struct node){ .unit = s->n.unit }, &dir);
	skip = dir.len ? dir.len + 1 : 0;
	buf_printf(&line, "%s: %s", (char *)s->path.p + skip, why->text);
	buf_char(&line, 0);
	if (!line.bad)
		unit_note_refused(s->t, s->n.unit, s->n.local, (char *)line.p);
	buf_free(&line);
	buf_free(&dir);
	scratch_reject(s->t, s->n, s->text);
}

static int save(struct save *s, struct err *e)
{
	int rc;

	if (!is_there(&s->n))
		return err_set(e, ESTALE, "the file is gone");
	node_path(s->t, s->n, &s->path);
	buf_char(&s->path, 0);
	if (s->path.bad)
		return err_nomem(e);
	rc = plan_and_commit(s, e);
	if (rc) {
		refuse(s, e);
	} else {
		log_lines(s);
		if (is_there(&s->n)) {
			unit_forget_notes(s->t, s->n.unit, s->n.local);
			scratch_accept(s->t, s->n);
		}
	}
	return rc;
}

int tree_save(struct tree *t, const struct node *n, struct store *text, struct before *before, struct err *e)
{
	struct save s = { .t = t, .text = text, .before = before };
	struct err why = { 0 };
	int rc;

	if (!t->writable)
		return err_set(e, EROFS, "mounted read-only");
	if (t->slow)
		t->slow();
	pthread_mutex_lock(&t->commit);
	s.n = *n;
	t->saving = &s.n;
	rc = save(&s, &why);
	t->saving = NULL;
	if (before)
		before->gen = atomic_load(&s.n.unit->gen);
	pthread_mutex_unlock(&t->commit);
	tree_tell(t, &s.ids);
	edit_end(s.ed);
	buf_free(&s.path);
	if (rc && e)
		*e = why;
	return rc;
}
