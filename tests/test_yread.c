/* YAML in: the tree of what is read, the exact place and words of what is refused, limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export.h"

struct text { struct arena a; struct ynode *root; struct err e; int rc; };

/* From a copy of the exact length, so that a sanitizer sees a step too far. */
static void read_bytes(struct text *t, const char *p, size_t n)
{
	uint8_t *copy = malloc(n + !n);

	*t = (struct text){ .rc = 0 };
	assert_non_null(copy);
	memcpy(copy, p, n);
	t->rc = yaml_read(copy, n, &t->root, &t->a, &t->e);
	free(copy);
}

static struct ynode *read_text(struct text *t, const char *p)
{
	read_bytes(t, p, strlen(p));
	if (t->rc)
		fail_msg("%s: %s", p, t->e.text);
	return t->root;
}

static void flow_is(const struct ynode *node, const char *want)
{
	struct buf b = { 0 };

	ynode_flow(node, &b);
	buf_char(&b, '\0');
	assert_false(b.bad);
	assert_string_equal((char *)b.p, want);
	buf_free(&b);
}

/* ---- what is read ---- */

static const struct { const char *text, *flow; } accepted[] = {
	{ "a: 1\nb: [x, 0x10, 1.5e-3]\n", "{a: 1, b: [x, 0x10, 1.5e-3]}" },
	{ "- a: 1\n  b: 2\n- {}\n-\n- null\n", "[{a: 1, b: 2}, {}, , null]" },
	{ "keys:\n- [1, 2]\n- - 3\n  - 4\n", "{keys: [[1, 2], [3, 4]]}" },
	{ "a: 1\r\nb:\r\n- 2\r\n", "{a: 1, b: [2]}" },
	{ "\xef\xbb\xbf# modelfs\na: 1", "{a: 1}" },
	{ "%YAML 1.1\n---\na: 1\n...\n", "{a: 1}" },
	{ "a: 1  # with a\ttab\n#\t\nb: \"c\td\"\n", "{a: 1, b: \"c\td\"}" },
	{ "a: \"x\\\"y\\\\z\"\nb: 'it''s'\n", "{a: \"x\\\"y\\\\z\", b: \"it's\"}" },
	{ "a: {b: c, \"d\": []}", "{a: {b: c, \"d\": []}}" },
	{ "[]", "[]" },
	{ "\"\"", "\"\"" },
	{ "name: J\xc3\xb6rg\n", "{name: J\xc3\xb6rg}" },
	{ "\"<<\": 1\n", "{\"<<\": 1}" },
	{ "[1, 2,\n 3,]\n", "[1, 2, 3]" },
};

static void test_accepted(void **state)
{
	struct text t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		flow_is(read_text(&t, accepted[i].text), accepted[i].flow);
		arena_free(&t.a);
	}
}

static void place_is(const struct ynode *node, unsigned line, unsigned column)
{
	assert_non_null(node);
	assert_int_equal(node->line, line);
	assert_int_equal(node->column, column);
}

static void test_tree(void **state)
{
	struct text t;
	struct ynode *root = read_text(&t, "\xef\xbb\xbf# one\r\nname: \"\xc3\xa9\" # two\r\ngroups:\r\n"
					   "- {slot: 1, bone: 300}\r\n-   - x\r\n"), *groups, *item;

	(void)state;
	assert_int_equal(root->kind, Y_MAP);
	assert_int_equal(root->count, 2);
	place_is(root, 2, 1);
	place_is(ynode_key(root, "name"), 2, 1);
	place_is(ynode_get(root, "name"), 2, 7);
	assert_true(ynode_get(root, "name")->quoted);
	assert_int_equal(ynode_get(root, "name")->n, 2);
	groups = ynode_get(root, "groups");
	assert_int_equal(groups->kind, Y_LIST);
	assert_int_equal(groups->count, 2);
	place_is(groups, 4, 1);
	item = ynode_item(groups, 0);
	place_is(item, 4, 3);
	place_is(ynode_get(item, "bone"), 4, 19);
	assert_false(ynode_get(item, "bone")->quoted);
	place_is(ynode_item(ynode_item(groups, 1), 0), 5, 7);
	assert_null(ynode_item(groups, 2));
	assert_null(ynode_get(root, "group"));
	assert_null(ynode_get(groups, "name"));
	assert_false(ynode_key(root, "name")->used);
	arena_free(&t.a);
}

static void test_quotes_for_messages(void **state)
{
	struct text t;
	struct ynode *root = read_text(&t, "- \"a\\x1bb\"\n- []\n- {a: 1}\n-\n- \"\"\n"
					   "- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n");
	static const char *const want[] = { "\"a?b\"", "a list of 0", "a mapping of 1", "nothing", "\"\"",
					    "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(ynode_quote(ynode_item(root, i)).text, want[i]);
	arena_free(&t.a);
}

/* ---- what is refused ---- */

#define TAB "a tab; YAML is indented and spaced with blanks"
#define EMPTY "the text is empty: no YAML document in it"
#define BLOCK "a block of text (| or >), expected a value of one line"
#define BRACKET " holds a comma or a bracket: a list is written [1, 2], a number 1.5, a text in quotes"
#define ALIAS "anchors and aliases are not read"
#define SAY(text) text, sizeof text - 1

static const struct { const char *text; size_t n; const char *message; } refused[] = {
	{ SAY(""), EMPTY }, { SAY("# only\n# comments\n"), EMPTY }, { SAY("\n\n"), EMPTY }, { SAY("---\n"), EMPTY },
	{ SAY("\xef\xbb\xbf"), EMPTY },
	{ SAY("a: &x 1\n"), "line 1, column 4: an anchor (&); " ALIAS },
	{ SAY("a: 1\nb: &x [1]\n"), "line 2, column 4: an anchor (&); " ALIAS },
	{ SAY("- &x {}\n"), "line 1, column 3: an anchor (&); " ALIAS },
	{ SAY("a: 1\nb: *x\n"), "line 2, column 4: an alias (*); " ALIAS },
	{ SAY("a: !!int 1\n"), "line 1, column 4: a tag (!); tags are not read" },
	{ SAY("a:\n  - !list []\n"), "line 2, column 5: a tag (!); tags are not read" },
	{ SAY("!map {a: 1}\n"), "line 1, column 1: a tag (!); tags are not read" },
	{ SAY("a: 1\nb: 2\na: 3\n"), "line 3, column 1: the key \"a\" was given before, in line 1" },
	{ SAY("- {x: 1, \"x\": 2}\n"), "line 1, column 10: the key \"x\" was given before, in line 1" },
	{ SAY("a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\nh: 1\nz: 1\nc: 1\nb: 1\nc: 1\n"),
	  "line 9, column 1: the key \"c\" was given before, in line 3" },
	{ SAY("a:\n\tb: 1\n"), "line 2, column 1: " TAB },
	{ SAY("a:\t1\n"), "line 1, column 3: " TAB },
	{ SAY("a: [1,\t2]\n"), "line 1, column 7: " TAB },
	{ SAY("a: \"\t\" # \t\nb: 'x'\t# y\n"), "line 2, column 7: " TAB },
	{ SAY("a: b\tc\n"), "line 1, column 5: " TAB },
	{ SAY("a: b#\tc\n"), "line 1, column 6: " TAB },
	{ SAY("a: 1\n---\nb: 2\n"), "line 2, column 1: a second document, expected one" },
	{ SAY("a: 1\n...\n---\n"), "line 3, column 1: a second document, expected one" },
	{ SAY("[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]"),
	  "line 1, column 17: lists and mappings nested deeper than 16" },
	{ SAY("a: 1\nb: x\xffy\n"), "line 2, column 5: byte 0xff: the text is not UTF-8" },
	{ SAY("# \xc3\xa9\xc0\xaf\n"), "line 1, column 4: byte 0xc0: the text is not UTF-8" },
	{ SAY("a: \xed\xa0\x80\n"), "line 1, column 4: byte 0xed: the text is not UTF-8" },
	{ SAY("a: \xf4\x90\x80\x80\n"), "line 1, column 4: byte 0xf4: the text is not UTF-8" },
	{ SAY("a: \xe2\x82"), "line 1, column 4: byte 0xe2: the text is not UTF-8" },
	{ SAY("\xff\xfe" "a\0"), "line 1, column 1: byte 0xff: the text is not UTF-8" },
	{ SAY("a: 1\r\nb\0: 2\n"), "line 2, column 2: a zero byte in the text" },
	{ SAY("a: \"\\0\"\n"), "line 1, column 4: a zero byte in a text" },
	{ SAY("a: \x1b[2J\n"), "line 1, column 4: character U+001B cannot stand in YAML" },
	{ SAY("a: 1\nb: \xef\xbb\xbf\n"), "line 2, column 4: character U+FEFF cannot stand in YAML" },
	{ SAY("[a]: 1\n"), "line 1, column 1: a key is a word, not a list or a mapping" },
	{ SAY("? {a: 1}\n: 2\n"), "line 1, column 3: a key is a word, not a list or a mapping" },
	{ SAY("a: 1\nb: |\n  text\n"), "line 2, column 4: " BLOCK },
	{ SAY("- >\n  text\n"), "line 1, column 3: " BLOCK },
	{ SAY("a: 1\n<<: {b: 2}\n"), "line 2, column 1: merge keys (<<) are not read" },
	{ SAY("a: 1,5\n"), "line 1, column 4: \"1,5\"" BRACKET },
	{ SAY("- 1, 2\n"), "line 1, column 3: \"1, 2\"" BRACKET },
	{ SAY("a: x [1]\n"), "line 1, column 4: \"x [1]\"" BRACKET },
	{ SAY("a: [1, 2\n"), "line 2, column 1: did not find expected ',' or ']', while parsing a flow sequence" },
	{ SAY("a: 1\n b: 2\n"), "line 2, column 3: mapping values are not allowed in this context" },
	{ SAY("a: \"x\n"), "line 2, column 1: found unexpected end of stream, while scanning a quoted scalar" },
	{ SAY("a: \"x\ty\n"), "line 2, column 1: found unexpected end of stream, while scanning a quoted scalar" },
	{ SAY("a: 1\nbcd\n"), "line 3, column 1: could not find expected ':', while scanning a simple key" },
	{ SAY("a: 1\n- 2\n"), "line 2, column 1: did not find expected key, while parsing a block mapping" },
	{ SAY("a: @x\n"), "line 1, column 4: found character that cannot start any token, while scanning for the "
			    "next token" },
};

static void test_refused(void **state)
{
	struct text t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		read_bytes(&t, refused[i].text, refused[i].n);
		if (t.rc != -EINVAL)
			fail_msg("\"%s\" gave %d", refused[i].text, t.rc);
		assert_string_equal(t.e.text, refused[i].message);
		assert_int_equal(t.e.code, EINVAL);
		arena_free(&t.a);
	}
	assert_int_equal(yaml_read((const uint8_t *)"[", 1, &t.root, &t.a, NULL), -EINVAL);
	arena_free(&t.a);
}

static void test_depth(void **state)
{
	struct text t;

	(void)state;
	flow_is(read_text(&t, "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"), "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]");
	arena_free(&t.a);
}

/* ---- sizes ---- */

static void test_too_long(void **state)
{
	struct arena a = { 0 };
	struct ynode *root;
	struct err e;

	(void)state;
	assert_int_equal(yaml_read((const uint8_t *)"", YAML_MOST + 1, &root, &a, &e), -EFBIG);
	assert_string_equal(e.text, "the text has 67108865 bytes, at most 67108864 are read");
	assert_null(a.head);
}

static void test_many_keys(void **state)
{
	struct buf b = { 0 };
	struct text t;

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		buf_printf(&b, "key_%06u: %u\n", i * 7919 % 100000, i);
	read_bytes(&t, (char *)b.p, b.len);
	assert_int_equal(t.rc, 0);
	assert_int_equal(t.root->count, 100000);
	assert_string_equal(ynode_get(t.root, "key_007919")->text, "1");
	arena_free(&t.a);
	buf_str(&b, "key_000000: 5\n");
	read_bytes(&t, (char *)b.p, b.len);
	assert_int_equal(t.rc, -EINVAL);
	assert_string_equal(t.e.text, "line 100001, column 1: the key \"key_000000\" was given before, in line 1");
	arena_free(&t.a);
	buf_free(&b);
}

static void test_many_values(void **state)
{
	struct buf b = { 0 };
	struct text t;
	uint32_t n = 0;

	(void)state;
	for (unsigned i = 0; i < 40000; i++)
		buf_printf(&b, "- [[%u, 0.5], [3, 0.25]]\n", i & 255);
	read_bytes(&t, (char *)b.p, b.len);
	assert_int_equal(t.rc, 0);
	assert_int_equal(t.root->count, 40000);
	for (const struct ynode *k = t.root->first; k; k = k->next, n++)
		assert_int_equal(strtoul(k->first->first->text, NULL, 10), n & 255);
	assert_int_equal(n, 40000);
	arena_free(&t.a);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_quotes_for_messages),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_many_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
