/* Cue sheets (spec/disc.md 3), lines of text:
 *
 *   FILE "NAME" TYPE     the tracks that follow lie in this file; TYPE: BINARY, or one of audio
 *   TRACK NN MODE        MODE1/2048, MODE1/2352, MODE2/2336, MODE2/2352, AUDIO: bytes of a sector in the file
 *   INDEX 00 MM:SS:FF    where the pause before the track begins, counted from the start of the file in 1/75 s
 *   INDEX 01 MM:SS:FF    where the track begins
 *   PREGAP, POSTGAP      silence that the file does not have
 *
 * Everything else says nothing about where tracks are. A track starts in the file where those before it end, each with
 * sectors of its own size. A cue sheet is no archive: as SOURCE it stands for the file with its first data track. */
#include "cue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct { const char *name; uint16_t bytes; } modes[CUE_MODES] = {
	[CUE_AUDIO] = { "AUDIO", 2352 }, [CUE_MODE1_2048] = { "MODE1/2048", 2048 },
	[CUE_MODE1_2352] = { "MODE1/2352", 2352 }, [CUE_MODE2_2336] = { "MODE2/2336", 2336 },
	[CUE_MODE2_2352] = { "MODE2/2352", 2352 },
};

const char *cue_mode_name(unsigned mode)
{
	return modes[mode].name;
}

unsigned cue_mode_bytes(unsigned mode)
{
	return modes[mode].bytes;
}

/* ---- lines ---- */

struct word { const char *p; size_t n; };

/* What is left of a line. */
struct line { const char *p, *end; unsigned number; struct err *e; };

struct sheet {
	struct cue *c;
	uint32_t nfiles;
	struct word name;                      /* of the FILE at hand */
	bool binary;
	bool started;                          /* the track at hand has its INDEX 01 */
	bool pause;                            /* and its INDEX 00 */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct word take_word(struct line *l)
{
	struct word w;

	while (l->p < l->end && is_blank(*l->p))
		l->p++;
	w.p = l->p;
	while (l->p < l->end && !is_blank(*l->p))
		l->p++;
	w.n = (size_t)(l->p - w.p);
	return w;
}

static bool word_is(struct word w, const char *text)
{
	return w.n == strlen(text) && !strncasecmp(w.p, text, w.n);
}

static int refuse(const struct line *l, const char *why)
{
	return err_line(l->e, EBADMSG, l->number, 0, "%s", why);
}

/* Up to `most`; false when it is no such number. */
static bool number_of(struct word w, uint32_t most, uint32_t *out)
{
	uint32_t v = 0;

	for (size_t i = 0; i < w.n; i++) {
		if (w.p[i] < '0' || w.p[i] > '9')
			return false;
		v = v * 10 + (uint32_t)(w.p[i] - '0');
		if (v > most)
			return false;
	}
	*out = v;
	return w.n;
}

#define MINUTES_MOST 9999u

static bool take_part(struct word *w, uint32_t most, uint32_t *out)
{
	const char *colon = memchr(w->p, ':', w->n);
	struct word part = { w->p, colon ? (size_t)(colon - w->p) : w->n };

	w->p += part.n + !!colon;
	w->n -= part.n + !!colon;
	return number_of(part, most, out);
}

/* MM:SS:FF in sectors. */
static int take_time(struct line *l, uint32_t *out)
{
	struct word w = take_word(l);
	uint32_t m, s, f;

	if (!take_part(&w, MINUTES_MOST, &m) || !take_part(&w, 59, &s) || !take_part(&w, CUE_FRAMES - 1, &f) || w.n)
		return refuse(l, "no time: minutes, seconds to 59 and frames to 74, as in 01:59:74, are expected");
	*out = (m * 60 + s) * CUE_FRAMES + f;
	return 0;
}

/* ---- statements ---- */

/* Between quotes, or all of the line but its last word. */
static struct word take_name(struct line *l)
{
	struct word w = take_word(l);
	const char *end;

	if (w.n && *w.p == '"') {
		end = memchr(w.p + 1, '"', (size_t)(l->end - w.p - 1));
		l->p = end ? end + 1 : l->end;
		return (struct word){ w.p + 1, (size_t)((end ? end : l->end) - w.p - 1) };
	}
	for (end = l->end; end > w.p && is_blank(end[-1]);)
		end--;
	while (end > w.p && !is_blank(end[-1]))
		end--;
	l->p = end;
	while (end > w.p && is_blank(end[-1]))
		end--;
	return (struct word){ w.p, (size_t)(end - w.p) };
}

static int read_file(struct sheet *s, struct line *l)
{
	s->name = take_name(l);
	if (!s->name.n || s->name.n >= sizeof s->c->name)
		return refuse(l, "FILE has no name, or one that is too long");
	s->binary = word_is(take_word(l), "BINARY");
	s->nfiles++;
	return 0;
}

static int end_track(const struct sheet *s, const struct line *l)
{
	return s->c->ntracks && !s->started ?
	       err_line(l->e, EBADMSG, l->number, 0, "track %u before it has no INDEX 01",
			s->c->track[s->c->ntracks - 1].number) : 0;
}

static int read_track(struct sheet *s, struct line *l)
{
	struct cue_track *t = &s->c->track[s->c->ntracks];
	uint32_t number;
	struct word mode;
	unsigned k = 0;
	int rc = end_track(s, l);

	if (rc)
		return rc;
	if (!s->nfiles)
		return refuse(l, "TRACK before any FILE");
	if (s->c->ntracks == CUE_TRACKS_MOST)
		return refuse(l, "more than 99 tracks");
	if (!number_of(take_word(l), CUE_TRACKS_MOST, &number))
		return refuse(l, "TRACK without a number up to 99");
	mode = take_word(l);
	while (k < CUE_MODES && !word_is(mode, modes[k].name))
		k++;
	if (k == CUE_MODES)
		return refuse(l, "TRACK of a mode that is none of AUDIO, MODE1/2048, MODE1/2352, MODE2/2336, "
				 "MODE2/2352");
	*t = (struct cue_track){ .number = (uint8_t)number, .mode = (uint8_t)k, .file = (uint16_t)(s->nfiles - 1) };
	s->started = s->pause = false;
	if (k != CUE_AUDIO && s->c->data == CUE_TRACKS_MOST) {
		if (!s->binary)
			return refuse(l, "a data track in a FILE that is not BINARY");
		s->c->data = s->c->ntracks;
		memcpy(s->c->name, s->name.p, s->name.n);
		s->c->name[s->name.n] = 0;
	}
	s->c->ntracks++;
	return 0;
}

static int read_index(struct sheet *s, struct line *l)
{
	struct cue *c = s->c;
	struct cue_track *t = c->ntracks ? &c->track[c->ntracks - 1] : NULL;
	uint32_t number, at, least = 0;
	int rc;

	if (!t)
		return refuse(l, "INDEX before any TRACK");
	if (!number_of(take_word(l), 99, &number))
		return refuse(l, "INDEX without a number up to 99");
	rc = take_time(l, &at);
	if (rc || number > 1)
		return rc;
	if (number == 1 ? s->started : s->started || s->pause)
		return refuse(l, "INDEX given twice, or 00 behind 01");
	if (s->pause)
		least = t->first;
	else if (c->ntracks > 1 && t[-1].file == t->file)
		least = t[-1].start;
	if (at < least)
		return err_line(l->e, EBADMSG, l->number, 0, "INDEX goes back from sector %u to %u", least, at);
	if (!s->pause)
		t->first = at;
	t->start = at;
	s->pause |= number == 0;
	s->started |= number == 1;
	return 0;
}

static int read_gap(struct sheet *s, struct line *l, bool behind)
{
	struct cue_track *t = s->c->ntracks ? &s->c->track[s->c->ntracks - 1] : NULL;

	if (!t)
		return refuse(l, "a gap before any TRACK");
	return take_time(l, behind ? &t->postgap : &t->pregap);
}

static int read_line(struct sheet *s, struct line *l)
{
	struct word w = take_word(l);

	if (word_is(w, "FILE"))
		return read_file(s, l);
	if (word_is(w, "TRACK"))
		return read_track(s, l);
	if (word_is(w, "INDEX"))
		return read_index(s, l);
	if (word_is(w, "PREGAP") || word_is(w, "POSTGAP"))
		return read_gap(s, l, word_is(w, "POSTGAP"));
	return 0;
}

/* ---- the text ---- */

static bool is_text(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)p[i] < ' ' && !strchr("\t\n\r\f\x1a", p[i]))
			return false;
	return !memchr(p, 0, n);
}

int cue_parse(const char *text, size_t n, struct cue *out, struct err *e)
{
	struct sheet s = { .c = out };
	struct line l = { .p = text, .number = 1, .e = e };
	const char *all = text + n;
	int rc = 0;

	memset(out, 0, sizeof *out);
	out->data = CUE_TRACKS_MOST;
	if (!n || !is_text(text, n))
		return err_set(e, ENOENT, "it is no text");
	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		l.p += 3;
	for (; l.p < all && !rc; l.p = l.end + (l.end < all)) {
		l.end = l.p;
		while (l.end < all && *l.end != '\n' && *l.end != '\r')
			l.end++;
		rc = read_line(&s, &l);
		l.number += l.end < all && (*l.end == '\n' || l.end + 1 == all || l.end[1] != '\n');
	}
	if (!rc && !s.nfiles)
		return err_set(e, ENOENT, "it has no FILE line");
	rc = rc ? rc : end_track(&s, &l);
	if (!rc && out->data == CUE_TRACKS_MOST)
		return err_set(e, EBADMSG, "none of its %u tracks is of data", out->ntracks);
	return rc;
}

void cue_place(const struct cue *c, uint32_t k, uint64_t *at, uint32_t *sectors)
{
	const struct cue_track *t = &c->track[k], *before = NULL;
	uint32_t from = 0;

	*at = 0;
	for (const struct cue_track *i = c->track; i <= t; i++) {
		if (i->file != t->file)
			continue;
		/* What lies before the first track of a file has sectors of that one's size. */
		*at += (uint64_t)(i->first - from) * modes[before ? before->mode : i->mode].bytes;
		from = i->first;
		before = i;
	}
	*at += (uint64_t)(t->start - from) * modes[t->mode].bytes;
	*sectors = k + 1 < c->ntracks && t[1].file == t->file ? t[1].first - t->start : 0;
}

bool cue_base(const struct cue *c, uint32_t k, uint32_t *base)
{
	uint64_t at = c->track[k].start - (uint64_t)c->track[0].start;

	if (c->track[k].file != c->track[0].file)
		return false;
	for (uint32_t i = 0; i < k; i++)
		at += (uint64_t)c->track[i].postgap + c->track[i + 1].pregap;
	*base = (uint32_t)at;
	return at <= UINT32_MAX;
}

/* ---- format ---- */

static int leads(struct source *text, struct lead *out, struct arena *a, struct err *e)
{
	size_t n = (size_t)text->size;
	struct cue *c;
	char *p;
	int rc;

	if (text->size > CUE_TEXT_MOST)
		return err_set(e, ENOENT, "it is too long for a cue sheet");
	c = arena_alloc(a, 1, sizeof *c);
	p = c ? malloc(n + 1) : NULL;
	rc = p ? src_read(text, p, n, 0, "cue sheet", e) : err_nomem(e);
	rc = rc ? rc : cue_parse(p, n, c, e);
	free(p);
	if (rc)
		return rc;
	strcpy(out->name, c->name);
	out->by = &fmt_cue;
	out->detail = c;
	return 0;
}

const struct format fmt_cue = {
	.name = "cue", .title = "Cue sheet of a disc image", .ext = "cue",
	.doc = "The tracks of a disc and the files they lie in.",
	.leads = leads,
};
