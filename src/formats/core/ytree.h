/* What a YAML text says: scalars, lists and mappings with the lines they stand in. Made by export/yread.c; matched
 * against a document by export/yedit.c; formats see it only where a view cannot be edited value by value
 * (model_ops.doc_put). */
#ifndef MODELFS_YTREE_H
#define MODELFS_YTREE_H

#include "schema.h"

enum ynode_kind { Y_SCALAR, Y_LIST, Y_MAP };

/* A list's items and a map's keys are its children, in the order of the text; a key is a Y_SCALAR with `value` set. */
struct ynode {
	uint8_t kind;
	bool quoted;                           /* scalar: was in quotes */
	bool used;                             /* key: something has claimed it */
	unsigned line, column;                 /* from 1 */
	uint32_t count;                        /* items or keys */
	const char *text;                      /* scalar, without its quotes, zero-terminated */
	size_t n;                              /* its length */
	struct ynode *first, *next, *value;
};

/* The value of a key; NULL when it is not there. */
struct ynode *ynode_get(const struct ynode *map, const char *key);
/* The key itself, for its line. */
struct ynode *ynode_key(const struct ynode *map, const char *key);
struct ynode *ynode_item(const struct ynode *list, uint32_t i);
/* Nothing, null or ~, without quotes. */
bool ynode_is_null(const struct ynode *node);
/* Writes the node as one line of flow YAML, as field_parse() reads it: [1, "two", [3]]. */
void ynode_flow(const struct ynode *node, struct buf *out);
/* What a node is, for messages: its word in quotes, cut when it is long; "a list of 3"; "nothing". */
struct yquote { char text[48]; };
struct yquote ynode_quote(const struct ynode *node);
/* The node as the value of field f into the record raw; a text need not be quoted. EINVAL with its line. */
int ynode_parse(const struct ynode *node, const struct field *f, bool be, uint8_t *raw, struct err *e);

#endif
