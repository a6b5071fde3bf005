/* What the parts of a refresh share; not for others. */
#ifndef MODELFS_REFRESH_IN_H
#define MODELFS_REFRESH_IN_H

#include "unit.h"

struct refresh {
	struct tree *t;
	unsigned file;
	struct edit *ed;                       /* whose plans they are; NULL: nobody knows what has changed */
	const struct plan *plan;               /* of what the entries at hand lie in; NULL: all may have changed */
	bool reopened;                         /* that is another source now */
	int64_t now;
	struct buf *ids;
};

/* refresh.c */
void refresh_tell(struct refresh *r, struct node n);   /* the kernel has to ask for it again */
void refresh_unit(struct refresh *r, struct unit *u);
/* What was a directory is another entry now; who still has it open gets ESTALE. */
void refresh_kill(struct refresh *r, struct unit *u);

/* refresh_kids.c: of a container whose table was read again */
int refresh_names(struct refresh *r, struct unit *u, const struct entries *entries, bool *renamed);
int refresh_kids(struct refresh *r, struct unit *u, struct entries *entries, bool renamed);
/* When no table changed; 1: done. */
int refresh_written(struct refresh *r, struct unit *u);

#endif
