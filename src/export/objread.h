/* Inside of obj_read(): what the statements of a text gave (objread.c), before one object is picked (objpick.c). */
#ifndef MODELFS_OBJREAD_H
#define MODELFS_OBJREAD_H

#include "decimal.h"
#include "export.h"

enum obj_values { OBJ_V, OBJ_VT, OBJ_VN, OBJ_VALUES };
enum obj_printed { OBJ_POSITION, OBJ_COLOUR, OBJ_UV, OBJ_NORMAL, OBJ_PRINTED };

/* How the numbers of one kind were printed. */
struct obj_print {
	int decimals;                          /* most */
	bool padded;                           /* some end in zeros that a shortest text would not have */
};

/* Slack of a number of few digits, until the decimals of all are known. */
#define OBJ_AS_ALL (-1.0f)

/* Names of objects, for messages. */
struct obj_names { unsigned count; size_t len; char list[120]; };

/* From these values on, up to the next span, they belong to an object that is taken or not. */
struct obj_span { uint32_t from[OBJ_VALUES]; bool taken; };

struct obj {
	const uint8_t *p, *end, *line_start;
	unsigned line, begun;                  /* now; where the statement began */
	uint32_t number;
	const struct reader_log *log;
	struct err *e;
	bool own;                              /* begins as our own texts do */

	/* Arrays as in struct geo_put, all objects' values and the taken ones' faces. */
	struct buf position, vertex_line, colour, uv, normal;
	struct buf face, face_line, groups, materials;
	uint32_t n[OBJ_VALUES], nfaces;
	struct obj_print printed[OBJ_PRINTED];
	uint32_t level[16];                    /* vn lines whose numbers all have that many decimals */

	struct buf spans;
	unsigned first_o;                      /* line of the first `o`; 0: there is none */
	uint32_t early_faces;                  /* before it */
	bool taking;                           /* faces now belong to an object that is taken */
	struct obj_names taken, others;
	uint32_t group;                        /* of the next face */
	int32_t material;

	char noted[16][12];                    /* unknown keywords that the log names already */
	unsigned nnoted;
};

extern const char *const obj_value_name[OBJ_VALUES];

void obj_say(const struct obj *o, const char *fmt, ...) PRINTF(2, 3);
int obj_pick(struct obj *o, struct geo_put *out, struct arena *a);

#endif
