#include "ytree.h"

#include <stdio.h>
#include <string.h>

struct ynode *ynode_key(const struct ynode *map, const char *key)
{
	size_t n = strlen(key);

	for (struct ynode *k = map && map->kind == Y_MAP ? map->first : NULL; k; k = k->next)
		if (k->n == n && !memcmp(k->text, key, n))
			return k;
	return NULL;
}

struct ynode *ynode_get(const struct ynode *map, const char *key)
{
	struct ynode *k = ynode_key(map, key);

	return k ? k->value : NULL;
}

struct ynode *ynode_item(const struct ynode *list, uint32_t i)
{
	struct ynode *item = list && list->kind == Y_LIST ? list->first : NULL;

	while (item && i--)
		item = item->next;
	return item;
}

bool ynode_is_null(const struct ynode *node)
{
	return node->kind == Y_SCALAR && !node->quoted &&
	       (!node->n || !strcmp(node->text, "null") || !strcmp(node->text, "~"));
}

static void put_quoted(const struct ynode *node, struct buf *out)
{
	buf_char(out, '"');
	for (size_t i = 0; i < node->n; i++) {
		if (node->text[i] == '"' || node->text[i] == '\\')
			buf_char(out, '\\');
		buf_char(out, node->text[i]);
	}
	buf_char(out, '"');
}

/* Recursion ends at the depth a text may be nested. */
void ynode_flow(const struct ynode *node, struct buf *out)
{
	const struct ynode *child;

	if (node->kind == Y_SCALAR) {
		if (node->quoted)
			put_quoted(node, out);
		else
			buf_add(out, node->text, node->n);
		return;
	}
	buf_char(out, node->kind == Y_LIST ? '[' : '{');
	for (child = node->first; child; child = child->next) {
		ynode_flow(child, out);
		if (node->kind == Y_MAP) {
			buf_str(out, ": ");
			ynode_flow(child->value, out);
		}
		if (child->next)
			buf_str(out, ", ");
	}
	buf_char(out, node->kind == Y_LIST ? ']' : '}');
}

struct yquote ynode_quote(const struct ynode *node)
{
	struct yquote q;
	size_t most = sizeof q.text - sizeof "\"...\"", n = node->n < most ? node->n : most;

	if (node->kind != Y_SCALAR) {
		snprintf(q.text, sizeof q.text, node->kind == Y_LIST ? "a list of %u" : "a mapping of %u", node->count);
		return q;
	}
	if (!n && !node->quoted) {
		strcpy(q.text, "nothing");
		return q;
	}
	q.text[0] = '"';
	for (size_t i = 0; i < n; i++)
		q.text[1 + i] = node->text[i] >= 0x20 && node->text[i] < 0x7f ? node->text[i] : '?';
	strcpy(q.text + 1 + n, n < node->n ? "...\"" : "\"");
	return q;
}

/* Most values are plain words and need no copy. */
static int parse(const struct ynode *node, const struct field *f, bool be, uint8_t *raw, struct err *e)
{
	struct ynode quoted = *node;
	struct buf text = { 0 };
	int rc;

	quoted.quoted |= f->type == F_TEXT && node->kind == Y_SCALAR && !ynode_is_null(node);
	if (node->kind == Y_SCALAR && !quoted.quoted)
		return field_parse(f, be, raw, node->text, node->n, e);
	ynode_flow(&quoted, &text);
	rc = text.bad ? err_nomem(e) : field_parse(f, be, raw, (const char *)text.p, text.len, e);
	buf_free(&text);
	return rc;
}

int ynode_parse(const struct ynode *node, const struct field *f, bool be, uint8_t *raw, struct err *e)
{
	struct err why = { 0 };
	int rc = parse(node, f, be, raw, &why);

	return rc ? err_line(e, -rc, node->line, node->column, "%s: %s", f->name, why.text) : 0;
}
