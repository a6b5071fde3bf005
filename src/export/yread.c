/* YAML as the views use it, read with libyaml's parser into a tree.
 *
 * The text is looked through before libyaml sees it, so that broken characters get a line and a column. What libyaml
 * allows and views never hold is refused: it would only hide a mistake, or make a small text a large tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "export.h"

#define VALUES_MOST 3000000u                   /* scalars, lists and mappings: what an arena surely holds */
#define FEW_KEYS 8u                            /* so many are compared with each other */

/* ---- characters ---- */

/* A place in the text, in characters as libyaml counts them. */
struct place {
	const uint8_t *p, *end;
	size_t index;
	unsigned line, column;                 /* from 0 */
};

static unsigned lead_length(uint8_t c)
{
	return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Length of the character at p, or 0 when its bytes are none. */
static unsigned decode(const uint8_t *p, size_t n, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned length = lead_length(*p);
	uint32_t c = *p & (length == 1 ? 0x7f : 0xff >> (length + 1));

	if ((*p >= 0x80 && *p < 0xc0) || *p >= 0xf8 || length > n)
		return 0;
	for (unsigned i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*out = c;
	return length;
}

static bool is_allowed(uint32_t c)
{
	return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0x7f) || c == 0x85 ||
	       (c >= 0xa0 && c != 0xfeff && c < 0xfffe) || c > 0xffff;
}

/* One character on, in checked text. A line also ends at U+0085, U+2028 and U+2029. */
static void step(struct place *at)
{
	const uint8_t *p = at->p;
	unsigned length = lead_length(*p);
	bool ends = *p == '\n' || (*p == '\r' && !(at->end - p > 1 && p[1] == '\n')) ||
		    (*p == 0xc2 && p[1] == 0x85) || (*p == 0xe2 && p[1] == 0x80 && (p[2] & 0xfe) == 0xa8);

	at->p += length;
	at->index++;
	at->line += ends;
	at->column = ends ? 0 : at->column + 1;
}

static int bad_character(const struct place *at, unsigned length, uint32_t c, struct err *e)
{
	unsigned line = at->line + 1, column = at->column + 1;

	if (!length)
		return err_line(e, EINVAL, line, column, "byte 0x%02x: the text is not UTF-8", *at->p);
	if (!c)
		return err_line(e, EINVAL, line, column, "a zero byte in the text");
	return err_line(e, EINVAL, line, column, "character U+%04X cannot stand in YAML", c);
}

/* That every character is whole and one YAML allows. */
static int check_characters(const uint8_t *text, size_t n, struct err *e)
{
	struct place at = { text, text + n };
	unsigned length = 1;
	uint32_t c = ' ';
	size_t i = 0;

	while (i < n) {
		if (text[i] >= 0x20 && text[i] < 0x7f) {
			i++;
			continue;
		}
		length = decode(text + i, n - i, &c);
		if (!length || !is_allowed(c))
			break;
		i += length;
	}
	if (i == n)
		return 0;
	while (at.p < text + i)
		step(&at);
	return bad_character(&at, length, c, e);
}

/* ---- the tree ---- */

struct frame {
	struct ynode *node, *last, *key;       /* its last child; map: the key that waits for its value */
};

/* Between quoted scalars and comments no tab may stand. `at` goes through the text behind the parser. */
struct tabs { struct place at; bool any, comment; uint8_t before; };

struct reading {
	yaml_parser_t parser;
	struct arena *a;
	struct err *e;
	struct ynode *root;
	struct frame stack[YAML_DEPTH];
	unsigned depth, documents;
	uint32_t values;
	struct ynode *nodes;                   /* room for so many in the arena */
	unsigned nodes_left;
	char *text;
	size_t text_left;
	struct tabs tabs;
};

static int refuse(struct reading *r, const yaml_mark_t *at, const char *why)
{
	return err_line(r->e, EINVAL, (unsigned)at->line + 1, (unsigned)at->column + 1, "%s", why);
}

static struct ynode *new_node(struct reading *r, unsigned kind, const yaml_mark_t *at)
{
	struct ynode *node;

	if (!r->nodes_left) {
		r->nodes_left = r->values < 64 ? 16 : 1024;
		r->nodes = arena_alloc(r->a, r->nodes_left, sizeof *r->nodes);
		if (!r->nodes)
			r->nodes_left = 0;
	}
	if (!r->nodes_left)
		return NULL;
	r->nodes_left--;
	node = r->nodes++;
	node->kind = (uint8_t)kind;
	node->line = (unsigned)at->line + 1;
	node->column = (unsigned)at->column + 1;
	return node;
}

static const char *keep_text(struct reading *r, const void *p, size_t n)
{
	char *to;

	if (n >= r->text_left) {
		size_t room = n < 2048 ? 4096 : n + 1;

		r->text = arena_alloc(r->a, room, 1);
		r->text_left = r->text ? room : 0;
	}
	if (!r->text)
		return NULL;
	to = r->text;
	memcpy(to, p, n);
	r->text += n + 1;
	r->text_left -= n + 1;
	return to;
}

static int add_key(struct reading *r, struct frame *top, struct ynode *node)
{
	if (node->kind != Y_SCALAR)
		return err_line(r->e, EINVAL, node->line, node->column, "a key is a word, not a list or a mapping");
	if (!node->quoted && !strcmp(node->text, "<<"))
		return err_line(r->e, EINVAL, node->line, node->column, "merge keys (<<) are not read");
	top->key = node;
	return 0;
}

/* Puts the node where the text has come to. */
static int add_node(struct reading *r, struct ynode *node)
{
	struct frame *top = r->depth ? &r->stack[r->depth - 1] : NULL;
	int rc;

	if (++r->values > VALUES_MOST)
		return err_line(r->e, EFBIG, node->line, node->column, "more than %u values in one text", VALUES_MOST);
	if (!top) {
		r->root = node;
		return 0;
	}
	if (top->key) {
		top->key->value = node;
		top->key = NULL;
		return 0;
	}
	rc = top->node->kind == Y_MAP ? add_key(r, top, node) : 0;
	if (rc)
		return rc;
	if (top->last)
		top->last->next = node;
	else
		top->node->first = node;
	top->last = node;
	top->node->count++;
	return 0;
}

/* ---- keys given twice ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct ynode *x = *(struct ynode *const *)a, *y = *(struct ynode *const *)b;
	int order = x->n != y->n ? (x->n < y->n ? -1 : 1) : memcmp(x->text, y->text, x->n);

	if (order)
		return order;
	return x->line != y->line ? (x->line < y->line ? -1 : 1) : x->column < y->column ? -1 : x->column > y->column;
}

static bool same_key(const struct ynode *x, const struct ynode *y)
{
	return x->n == y->n && !memcmp(x->text, y->text, x->n);
}

static int given_twice(struct reading *r, const struct ynode *key, const struct ynode *first)
{
	return err_line(r->e, EINVAL, key->line, key->column, "the key %s was given before, in line %u",
			ynode_quote(key).text, first->line);
}

static int check_many_keys(struct reading *r, const struct ynode *map)
{
	struct ynode **v = malloc(map->count * sizeof(struct ynode *));
	const struct ynode *first = NULL, *again = NULL;
	size_t n = 0;

	if (!v)
		return err_nomem(r->e);
	for (struct ynode *k = map->first; k; k = k->next)
		v[n++] = k;
	qsort(v, n, sizeof *v, compare_keys);
	for (size_t i = 1; i < n; i++) {
		if (!same_key(v[i - 1], v[i]) || (again && again->line <= v[i]->line))
			continue;
		first = v[i - 1];
		again = v[i];
	}
	free(v);
	return again ? given_twice(r, again, first) : 0;
}

static int check_keys(struct reading *r, const struct ynode *map)
{
	if (map->count > FEW_KEYS)
		return check_many_keys(r, map);
	for (const struct ynode *k = map->first; k; k = k->next)
		for (const struct ynode *before = map->first; before != k; before = before->next)
			if (same_key(before, k))
				return given_twice(r, k, before);
	return 0;
}

/* ---- tabs ---- */

/* Goes on to that character; stops at a tab where none may be. */
static bool meet_tab(struct tabs *t, size_t index)
{
	for (; t->at.index < index && t->at.p < t->at.end; step(&t->at)) {
		uint8_t c = *t->at.p;

		if (c == '\t' && !t->comment)
			return true;
		if (c == '\n' || c == '\r')
			t->comment = false;
		else if (c == '#' && strchr(" \t\r\n", t->before))
			t->comment = true;
		t->before = c;
	}
	return false;
}

static int refuse_tab(struct reading *r)
{
	return err_line(r->e, EINVAL, r->tabs.at.line + 1, r->tabs.at.column + 1,
			"a tab; YAML is indented and spaced with blanks");
}

static int check_tabs(struct reading *r, const yaml_event_t *ev)
{
	struct tabs *t = &r->tabs;
	bool quoted = ev->type == YAML_SCALAR_EVENT && (ev->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
							ev->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE);

	if (!quoted && ev->type != YAML_STREAM_END_EVENT)
		return 0;
	if (meet_tab(t, ev->type == YAML_STREAM_END_EVENT ? SIZE_MAX : ev->start_mark.index))
		return refuse_tab(r);
	while (t->at.index < ev->end_mark.index && t->at.p < t->at.end)
		step(&t->at);
	t->before = '"';
	return 0;
}

/* ---- events ---- */

/* A plain scalar that holds what separates others was meant to be a list, or a number of another country. */
static int check_plain(struct reading *r, const struct ynode *node)
{
	if (!node->text[strcspn(node->text, ",[]{}")])
		return 0;
	return err_line(r->e, EINVAL, node->line, node->column,
			"%s holds a comma or a bracket: a list is written [1, 2], a number 1.5, a text in quotes",
			ynode_quote(node).text);
}

static int take_scalar(struct reading *r, const yaml_event_t *ev)
{
	yaml_scalar_style_t style = ev->data.scalar.style;
	struct ynode *node;
	int rc;

	if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE)
		return refuse(r, &ev->start_mark, "a block of text (| or >), expected a value of one line");
	if (memchr(ev->data.scalar.value, 0, ev->data.scalar.length))
		return refuse(r, &ev->start_mark, "a zero byte in a text");
	node = new_node(r, Y_SCALAR, &ev->start_mark);
	if (!node)
		return err_nomem(r->e);
	node->quoted = style != YAML_PLAIN_SCALAR_STYLE;
	node->n = ev->data.scalar.length;
	node->text = keep_text(r, ev->data.scalar.value, node->n);
	if (!node->text)
		return err_nomem(r->e);
	rc = node->quoted ? 0 : check_plain(r, node);
	return rc ? rc : add_node(r, node);
}

static int open_node(struct reading *r, unsigned kind, const yaml_mark_t *at)
{
	struct ynode *node;
	int rc;

	if (r->depth == YAML_DEPTH)
		return err_line(r->e, EINVAL, (unsigned)at->line + 1, (unsigned)at->column + 1,
				"lists and mappings nested deeper than %u", YAML_DEPTH);
	node = new_node(r, kind, at);
	rc = node ? add_node(r, node) : err_nomem(r->e);
	if (!rc)
		r->stack[r->depth++] = (struct frame){ .node = node };
	return rc;
}

static int close_node(struct reading *r)
{
	const struct ynode *node = r->stack[--r->depth].node;

	return node->kind == Y_MAP ? check_keys(r, node) : 0;
}

static int check_marks(struct reading *r, const yaml_event_t *ev)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (ev->type == YAML_SCALAR_EVENT) {
		anchor = ev->data.scalar.anchor;
		tag = ev->data.scalar.tag;
	} else if (ev->type == YAML_SEQUENCE_START_EVENT) {
		anchor = ev->data.sequence_start.anchor;
		tag = ev->data.sequence_start.tag;
	} else if (ev->type == YAML_MAPPING_START_EVENT) {
		anchor = ev->data.mapping_start.anchor;
		tag = ev->data.mapping_start.tag;
	}
	if (anchor)
		return refuse(r, &ev->start_mark, "an anchor (&); anchors and aliases are not read");
	return tag ? refuse(r, &ev->start_mark, "a tag (!); tags are not read") : 0;
}

static int take_event(struct reading *r, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		return r->documents++ ? refuse(r, &ev->start_mark, "a second document, expected one") : 0;
	case YAML_ALIAS_EVENT:
		return refuse(r, &ev->start_mark, "an alias (*); anchors and aliases are not read");
	case YAML_SCALAR_EVENT:
		return take_scalar(r, ev);
	case YAML_SEQUENCE_START_EVENT:
		return open_node(r, Y_LIST, &ev->start_mark);
	case YAML_MAPPING_START_EVENT:
		return open_node(r, Y_MAP, &ev->start_mark);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_node(r);
	default:
		return 0;
	}
}

/* libyaml's own words, but for a tab: to it, that is any character no token begins with. */
static int parser_error(struct reading *r)
{
	const yaml_parser_t *p = &r->parser;
	const yaml_mark_t *at = &p->problem_mark;

	if (p->error == YAML_MEMORY_ERROR)
		return err_nomem(r->e);
	if (p->error == YAML_SCANNER_ERROR && r->tabs.any && meet_tab(&r->tabs, p->context_mark.index + 1))
		return refuse_tab(r);
	return err_line(r->e, EINVAL, (unsigned)at->line + 1, (unsigned)at->column + 1, "%s%s%s", p->problem,
			p->context ? ", " : "", p->context ? p->context : "");
}

static int read_events(struct reading *r)
{
	yaml_event_t ev;
	bool end = false;
	int rc = 0;

	while (!rc && !end) {
		if (!yaml_parser_parse(&r->parser, &ev))
			return parser_error(r);
		rc = r->tabs.any ? check_tabs(r, &ev) : 0;
		rc = rc ? rc : check_marks(r, &ev);
		rc = rc ? rc : take_event(r, &ev);
		end = ev.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&ev);
	}
	return rc;
}

static int read_tree(const uint8_t *text, size_t n, struct reading *r)
{
	int rc;

	if (!yaml_parser_initialize(&r->parser))
		return err_nomem(r->e);
	yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r->parser, text, n);
	r->tabs = (struct tabs){ .at = { text, text + n }, .any = n && memchr(text, '\t', n), .before = '\n' };
	rc = read_events(r);
	yaml_parser_delete(&r->parser);
	if (!rc && (!r->root || (r->root->kind == Y_SCALAR && !r->root->n && !r->root->quoted)))
		return err_set(r->e, EINVAL, "the text is empty: no YAML document in it");
	return rc;
}

int yaml_read(const uint8_t *text, size_t n, struct ynode **out, struct arena *a, struct err *e)
{
	struct reading r = { .a = a, .e = e };
	int rc;

	if (n > YAML_MOST)
		return err_set(e, EFBIG, "the text has %zu bytes, at most %zu are read", n, YAML_MOST);
	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		n -= 3;
	}
	rc = check_characters(text, n, e);
	rc = rc ? rc : read_tree(text, n, &r);
	if (!rc)
		*out = r.root;
	return rc;
}
