/* Models of several files in the folder of shown.h. */
#ifndef MODELFS_TESTS_SHOWN_QUAD_H
#define MODELFS_TESTS_SHOWN_QUAD_H

#include "quad.h"
#include "shown.h"

/* The files of a model under a base name, below the folder. */
void write_quad(const struct quad_files *q, const char *base);
bool files_are(const struct quad_files *q, const char *base);
/* What the tree shows in raw/ of the model is those bytes. */
bool wholes_are(struct tree *t, const struct quad_files *q, const char *dir);

#endif
