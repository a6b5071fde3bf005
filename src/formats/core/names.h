/* Names out of files as they may stand in an OBJ, an MTL, as names of files, or in messages. */
#ifndef MODELFS_NAMES_H
#define MODELFS_NAMES_H

#include "base.h"

/* A stored name: n bytes, whatever they are. */
struct stored_name { const uint8_t *p; size_t n; };

/* Bytes outside '!'..'~' and # / \ " ' : become _; an empty name is STEM_K, K its number; . and .. are _ and __; a
 * repeat gets ~2, ~3, the first that is free. out[k] belongs to the arena. ENOMEM. */
int names_safe(const struct stored_name *v, uint32_t n, const char *stem, const char **out, struct arena *a,
	       struct err *e);

/* The names as they are, but a repeat gets ~2, ~3, the first that is free. As above. */
int names_distinct(const char *const *v, uint32_t n, const char **out, struct arena *a, struct err *e);

/* The beginning of a path as it can stand in a message: / between its parts, ? for what is no printable ASCII. */
struct path_text { char s[81]; };
struct path_text path_text(const char *path, char separator);

#endif
