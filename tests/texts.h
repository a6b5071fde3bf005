/* Texts of views, and changing their lines. All are to be freed. */
#ifndef MODELFS_TESTS_TEXTS_H
#define MODELFS_TESTS_TEXTS_H

#include "format.h"

char *obj_text(struct object *o, uint32_t mesh);              /* without usemtl */
char *named_obj_text(struct object *o, uint32_t mesh);        /* of parts that all have a material */
char *weights_text(struct object *o, uint32_t mesh);
/* The text with its n-th line that begins so (from 0) replaced by others ("": by none), which end with a newline or get
 * one; frees the old one. */
char *with_line(char *text, const char *begins, unsigned n, const char *line);

#endif
