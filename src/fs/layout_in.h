/* What the parts of the layout of a unit share; not for others. */
#ifndef MODELFS_LAYOUT_IN_H
#define MODELFS_LAYOUT_IN_H

#include "unit.h"

/* Leaves being listed, directory by directory. */
struct leaves {
	struct leaf *v;
	uint32_t n, cap;
	bool bad;                              /* memory is short, or there are too many */
};

void leaves_add(struct leaves *l, unsigned dir, unsigned kind, unsigned arg, uint32_t index, unsigned role);
void leaves_add_sized(struct leaves *l, unsigned dir, unsigned kind, unsigned arg, uint32_t index, uint64_t size);
/* What follows are the children of that directory: it says where they begin. False when there is no such directory. */
bool leaves_begin_dir(struct leaves *l, unsigned which);

/* layout_raw.c: what raw/ shows, the last directory but for those in it. */
int layout_raw(struct leaves *l, struct unit *u, struct object *o, struct err *e);

#endif
