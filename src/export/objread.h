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

#define OBJ_SHOWN 40                           /* bytes of a name in messages */

/* Slack of a number of few digits, until the decimals of all are known. */
#define OBJ_AS_ALL (-1.0f)

struct obj_word { const uint8_t *p; size_t n; };

/* Names of objects, for messages. */
struct obj_names { unsigned count; size_t len; char list[120]; };

/* From these values on, up to the next span, they belong to an object that is taken or not. */
struct obj_span { uint32_t from[OBJ_VALUES]; bool taken; };

/* Names that a text gave, by a hash of each. */
struct obj_table {
	struct buf names;                      /* struct geo_name */
	uint32_t *slot, nslots;                /* numbers of names; GEO_NONE: free; nslots is a power of two */
};

struct obj {
	const uint8_t *p, *end, *line_start;
	unsigned line, begun;                  /* now; where the statement began */
	uint32_t number;
	const struct geo_form *form;
	unsigned corners;                      /* places of a face in `face` */
	const struct reader_log *log;
	struct arena *a;
	struct err *e;
	bool own;                              /* begins as our own texts do */

	/* Arrays as in struct geo_put, all objects' values and the taken ones' faces. groups and materials are numbers
	 * of names where the form has those. */
	struct buf position, vertex_line, colour, uv, normal, normal_line;
	struct buf face, face_line, groups, materials, material_lines;
	struct obj_table names;
	uint32_t n[OBJ_VALUES], nfaces;
	struct obj_print printed[OBJ_PRINTED];
	uint32_t level[16];                    /* vn lines whose numbers all have that many decimals */

	struct buf spans;
	unsigned first_o;                      /* line of the first `o`; 0: there is none */
	uint32_t early_faces;                  /* before it */
	bool taking;                           /* faces now belong to an object that is taken */
	struct obj_names taken, others;
	uint32_t group, material;              /* of the next face; GEO_NONE */
	unsigned material_line;

	char noted[16][12];                    /* unknown keywords that the log names already */
	unsigned nnoted;
};

extern const char *const obj_value_name[OBJ_VALUES];

extern const char *const obj_value_name[OBJ_VALUES];

/* Whether only one of the objects is taken. */
static inline bool obj_chooses(const struct obj *o)
{
	return !o->form->named || o->form->object;
}

static inline bool obj_names_materials(const struct obj *o)
{
	return o->form->named || o->form->materials;
}

/* ---- objread.c ---- */

void obj_say(const struct obj *o, const char *fmt, ...) PRINTF(2, 3);
int obj_keep(struct obj *o, struct buf *b, const void *p, size_t n);
/* The next word of the statement; false: there is none. */
bool obj_word(struct obj *o, struct obj_word *w);
/* Everything up to the end of the line or a comment: names may have blanks inside. */
struct obj_word obj_rest(struct obj *o);
/* A word as it may stand in a message. */
const char *obj_shown(struct obj_word w, char text[OBJ_SHOWN]);

/* ---- objname.c ---- */

int obj_read_o(struct obj *o);
int obj_read_g(struct obj *o);
int obj_read_usemtl(struct obj *o);
/* What the object that is taken is called, for messages. */
const char *obj_wanted(const struct obj *o, char text[OBJ_SHOWN]);

/* ---- objpick.c ---- */

int obj_pick(struct obj *o, struct geo_put *out, struct arena *a);

#endif
