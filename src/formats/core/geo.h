/* Geometry and pictures as tools understand them: formats fill these, exporters read them. Everything belongs to the
 * caller's arena; axes and units are the file's own. Numbers are floats, but for meshes that are stored in fixed point:
 * those keep their integers, and nothing is rounded on the way to a text and back. */
#ifndef MODELFS_GEO_H
#define MODELFS_GEO_H

#include <math.h>

#include "base.h"

#define GEO_NONE 0xffffffffu
#define GEO_NO_FIXED INT64_MIN

enum geo_attr { GEO_NORMAL, GEO_UV, GEO_COLOUR, GEO_TANGENT };
#define GEO_UV_SETS 4u

/* One attribute. Its values are written in stored order. A corner finds its value through `corner` (one number per
 * face corner, GEO_NONE: this corner has none); NULL: the corner's vertex number. A GEO_COLOUR has one value per vertex
 * (never a corner index), r NaN where the vertex has no colour. A GEO_TANGENT points along growing u and has the side
 * of the bitangent as its fourth number: at least 0, it is normal x tangent and points along falling v, as stored. */
struct geo_stream {
	uint8_t attr, comps;
	uint8_t set;                           /* of GEO_UV: 0 up to GEO_UV_SETS - 1 */
	uint32_t count;
	float *v;                              /* count * comps; UV top-down as stored, colours 0..1 */
	int64_t *fixed;                        /* in its place where the mesh has fixed_bits; no colour: GEO_NO_FIXED */
	uint32_t *corner;
};

/* A run of faces with one material. */
struct geo_part {
	int32_t material;                      /* index in materials.yaml; -1: none */
	uint32_t first_face, nfaces;
	const char *object;                    /* where the mesh has `objects`; NULL: no name */
	bool hidden;                           /* the game does not draw it */
};

struct geo_mesh {
	uint32_t nvertices, nfaces;
	float (*position)[3];                  /* world units, stored order */
	uint32_t (*face)[3];                   /* vertex numbers from 0; front counter-clockwise; no repeated index */
	struct geo_stream *streams;
	unsigned nstreams;
	struct geo_part *parts;
	unsigned nparts;

	/* Not 0: positions and streams are integers over 2^fixed_bits, in `fixed` in the place of position and v. At
	 * most NUM_FIXED_BITS. */
	uint8_t fixed_bits;
	int64_t (*fixed)[3];
	/* In the place of face, 4 corners each: the fourth of a triangle is GEO_NONE. Streams with a corner index have
	 * 4 entries per face. Textures cover whole faces. */
	uint32_t (*quad)[4];
	/* Parts say which object they belong to: an `o` line where that changes, also before a part without faces, in
	 * the place of `o mesh_N` and `g group_K`. */
	bool objects;
	/* Of the MTL, in its order; NULL: those of the parts with faces. */
	const uint32_t *materials;
	uint32_t nmaterials;

	/* Skinning: vertex v has ninfluences[v] pairs from first_influence[v] on, in stored order, zeros kept. */
	bool skinned;                          /* some vertex stores weights */
	uint8_t *ninfluences;
	uint32_t *first_influence;
	int32_t *joint;                        /* bone; -1: no bone is known for it */
	float *weight;
	/* Not 0: weights are integers, so many of which are 1; the last pair of a vertex has what is left of that. */
	uint16_t weight_unit;
};

/* A value that is not finite is shown as 0. */
static inline float geo_shown(float v)
{
	return isfinite(v) ? v : 0;
}

/* Number i of a stream, and a number of a place, as they are shown. */
static inline double geo_stream_number(const struct geo_mesh *m, const struct geo_stream *s, size_t i)
{
	return m->fixed_bits ? (double)s->fixed[i] / (double)(1u << m->fixed_bits) : (double)geo_shown(s->v[i]);
}

static inline double geo_place_number(const struct geo_mesh *m, uint32_t vertex, unsigned k)
{
	return m->fixed_bits ? (double)m->fixed[vertex][k] / (double)(1u << m->fixed_bits) :
			       (double)geo_shown(m->position[vertex][k]);
}

/* ---- edited geometry ------------------------------------------------------------------------------------------------
 *
 * A number as a text gave it. The text may have been rounded when it was printed: the value meant lies within `slack`
 * of v (half a unit of the last digit printed). */
struct geo_number { double v; float slack; };

/* Whether the value that is shown now could have been printed as that number: then nobody changed it. */
static inline bool geo_stays(struct geo_number given, float shown)
{
	double off = given.v - (double)shown, slack = given.slack;

	/* What was rounded may have been our text of the value, the shortest that means it and half a unit in the last
	 * place away from it. */
	if (slack > 0)
		slack += (shown < 0 ? -shown : shown) * 0x1p-24;
	return (float)given.v == shown || (off <= slack && -off <= slack);
}

struct geo_corner { uint32_t v, uv, normal; };         /* numbers from 0; uv and normal may be GEO_NONE */

/* A face that draws nothing: two of its corners are one vertex. */
static inline bool geo_is_flat(const struct geo_corner c[3])
{
	return c[0].v == c[1].v || c[1].v == c[2].v || c[2].v == c[0].v;
}

/* A name a text gave to objects or materials; line: of its first `o`, `g` or `usemtl`. */
struct geo_name { const char *text; unsigned line; };

/* What OBJ texts of a mesh look like, where it is not `o mesh_N` and triangles with numbered groups and materials. */
struct geo_form {
	bool quads;                            /* faces of 3 or 4 corners, no fans; more are EINVAL */
	bool named;                            /* groups and materials have names, not numbers */
	bool materials;                        /* materials have names, groups have numbers */
	bool triangles;                        /* no face of more than 3 corners: it is EINVAL, no fan */
	/* Our own texts have all digits of a number, and one at least behind the dot: what is typed into one is exact. */
	bool exact;
	const char *object;                    /* the object that is taken; NULL: all are, `o` and `g` only name groups */
	const char *holds;                     /* "JOM holds triangles and quads", "only triangles": for messages */
};

/* What somebody wants a mesh to be. Lines count from 1, for messages. Arrays belong to the caller's arena. */
struct geo_put {
	uint32_t nvertices, nuvs, nnormals, nfaces;
	struct geo_number (*position)[3];
	struct geo_number (*colour)[3];        /* 0..1; [v][0].v is NaN where the vertex gives none; NULL: none does */
	struct geo_number (*uv)[2];            /* top-down, as stored: an OBJ's v has been turned */
	struct geo_number (*normal)[3];        /* as given, of any length */
	/* What no OBJ says; NULL: it is not given. Of each vertex; NaN where that gives none. */
	struct geo_number *alpha;              /* of its colour, 0..1 */
	struct geo_number (*more_uv[GEO_UV_SETS - 1])[2];      /* further texture coordinates, set 1 first */
	struct geo_corner (*face)[3];          /* triangles, in the order of the text; polygons as fans */
	uint32_t *group;                       /* of each face: K of `g group_K`; GEO_NONE */
	int32_t *material;                     /* of each face: K of `usemtl material_K`; -1 */
	unsigned *vertex_line, *normal_line, *face_line;
	bool foreign_normals;                  /* the file was written by another program: see views.md 4 */

	/* Of a form with `quads`, in the place of face; v of a triangle's fourth corner is GEO_NONE. */
	struct geo_corner (*quad)[4];
	/* Of a form with `named`, in the place of group and material: numbers of names; GEO_NONE. Each name once. Of one
	 * with `materials`, names, usemtl and usemtl_line; group is there too, and material says nothing. */
	struct geo_name *names;
	uint32_t nnames;
	uint32_t *object, *usemtl;             /* of each face */
	unsigned *usemtl_line;                 /* of each face: where its usemtl stands; 0: it has none */
};

/* Weights of all vertices of a mesh, in the order of its v lines: vertex i has npairs[i] pairs from first[i] on. */
struct geo_weights {
	uint32_t nvertices;
	uint32_t *npairs, *first;
	int32_t *joint;                        /* bone; -1: null */
	struct geo_number *weight;             /* may be negative */
	bool *whole;                           /* of each vertex: none of its weights has a dot or an exponent */
	unsigned *line;                        /* of each vertex */
};

struct geo_material {
	const char *name;                      /* of usemtl; belongs to the arena */
	float colour[4];                       /* factor, 0..1 */
	int32_t image;                         /* of the textures; -1: none */
	bool bare_colour;                      /* r, g and b count only where there is no picture */
	bool both_sides;                       /* faces are seen from behind too */
	/* Lines of the MTL of the format's own, each with its end; NULL: none. */
	const char *head;                      /* before map_Kd, in the place of Kd and d */
	const char *tail;                      /* behind it */
	const char *map;                       /* what map_Kd says in model.mtl; NULL: there is none */
};

/* How much of what is behind a picture shows through. */
enum geo_alpha {
	GEO_OPAQUE,                            /* nothing */
	GEO_CUT,                               /* nothing or all, by pixel */
	GEO_BLENDED
};

struct geo_image {
	uint32_t w, h;
	uint8_t *rgba;                         /* w * h * 4, top row first; NULL when indexed */
	uint8_t *indexed;                      /* w * h bytes */
	uint8_t (*palette)[4];
	uint32_t ncolours;                     /* 16 or 256: an indexed picture's depth is 4 or 8 bits */
};
enum geo_alpha geo_alpha(const struct geo_image *img);

/* ---- skeletons --------------------------------------------------------------------------------------------------- */

/* A bone at rest: scaled, turned, then moved, in the space of its parent. */
struct geo_joint {
	const char *name;                      /* no other joint has it */
	int32_t parent;                        /* -1: none */
	float move[3], turn[4], scale[3];      /* turn: quaternion x, y, z, w of length 1 */
	/* From the model's space into the bone's, where the model was tied to it: columns, 12 to 14 are the
	 * translation. */
	float inverse[16];
	bool tied;                             /* `inverse` is stored; else geo_settle() makes it from the rest */
	uint32_t part;                         /* of the animations, that moves it; GEO_NONE: none does */
};
struct geo_skeleton {
	uint32_t n;
	struct geo_joint *joint;
};

/* What somebody wants a joint at rest to be otherwise than it is shown; bits. GEO_TIED, with others: where it rests now
 * is where the model is tied to it too, wherever that was before. */
enum geo_change { GEO_MOVED = 1, GEO_TURNED = 2, GEO_SCALED = 4, GEO_TIED = 8 };

/* At rest in its parent's place. */
void geo_joint_reset(struct geo_joint *j);
/* move, turn and scale of a matrix of columns: exact where it is made of those three, else what is nearest of them. */
void geo_joint_place(struct geo_joint *j, const float m[16]);
/* After all joints have their parents and places: parents that are no joints, or lead round in a circle, are cut off,
 * and what is not finite gives way. ENOMEM. */
int geo_settle(struct geo_skeleton *s, struct arena *a, struct err *e);
/* Of a settled skeleton: what each bone at rest does to what is tied to it, columns x, y, z and translation; NULL when
 * none does anything, as where the model was tied to its bones at rest. */
int geo_bend(const struct geo_skeleton *s, float (**out)[12], struct arena *a, struct err *e);

/* ---- animations -------------------------------------------------------------------------------------------------- */

/* Numbers of a bone that curves move: the first of three each, for x, y and z. They take the place of what the bone has
 * at rest; angles are radians around the axes of its parent, around x first and z last. */
enum { GEO_MOVE = 0, GEO_TURN = 3, GEO_SCALE = 6, GEO_CHANNELS = 9 };

/* Slopes are per frame: on the way to the key, and away from it. */
struct geo_key { double frame, value, in, out; };
/* Keys are joined by cubic curves, frames never go back, and where two are at one frame the value jumps. Before the
 * first and behind the last key their values hold. Without a key the bone stays at rest. */
struct geo_curve { uint32_t n; struct geo_key *key; };

struct geo_track {
	uint32_t joint;                        /* no other track of the clip moves it */
	struct geo_curve curve[GEO_CHANNELS];
	uint32_t clip, track;                  /* where it is stored */
};

struct geo_clip {
	const char *name;
	double rate;                           /* frames per second; 0: it is not stored */
	/* Between keys values follow straight lines, and bones turn the shortest way. */
	bool linear;
	bool loops;
	double loop_start;                     /* frame */
	uint32_t ntracks;
	struct geo_track *track;
	uint32_t nslots, *slot;                /* numbers by which games play it; 0: it has none */
	const char *note;                      /* what about it is uncertain; NULL: nothing */
};

/* A curve at a frame, with its slopes before and behind it. before: as the frame is reached, where the value jumps. */
struct geo_point { double value, in, out; };
void geo_curve_at(const struct geo_curve *c, double frame, bool linear, bool before, struct geo_point *out);

/* Where a track puts its joint, whose rest is j. */
struct geo_pose { double move[3], turn[4], scale[3]; };
void geo_track_at(const struct geo_clip *clip, const struct geo_track *t, const struct geo_joint *j, double frame,
		  struct geo_pose *out);
/* The frames that the keys of three curves are at, each once, ascending, 0 for all before it, into room for as many as
 * they have keys. */
uint32_t geo_key_frames(const struct geo_curve curve[3], double *out);

/* An animation that somebody wrote: where it puts the joints of a skeleton. */
struct geo_wish {
	const char *name;
	uint32_t clip;                         /* that it is to be; GEO_NONE: what motions() calls so */
	double last;                           /* seconds, of its last key */
	void (*at)(const struct geo_wish *, uint32_t joint, double seconds, struct geo_pose *out);
	void *ctx;
	bool taken;                            /* by the format: it is a clip or motion that there is */
	bool slopeless;                        /* who wrote it knows no slopes: places and scales are true at keys */
};

/* How animations are shown. */
struct geo_timing {
	double fps;                            /* of clips that store no rate; 0: 30 */
	double tolerance;                      /* degrees that turns may be off between keys; 0: each frame has a key */
	bool baked;                            /* places and scales have a key for each frame too, and no slopes */
};
#define GEO_FPS 30.0

/* How keys of a curve are stored: multiples of `unit`, at most `most` of it. Values that differ by no more than `step`
 * are the same. */
struct geo_fit {
	double unit, most, step;
	bool at_keys;                          /* between keys that agree, both agree */
};
/* Whether an animation is called so, or so with the ".001" that programs add. exact: only the former. */
bool geo_wish_is(const struct geo_wish *w, const char *name, bool exact);
/* Changes a curve that is `was` at frames 0 to n - 1 to be `now` there. Keys stay where both agree. EINVAL: the first
 * value that cannot be stored. */
int geo_curve_fit(const struct geo_curve *c, const double *was, const double *now, uint32_t n,
		  const struct geo_fit *how, struct geo_curve *out, bool *changed, struct arena *a, struct err *e);
/* As geo_angles_of(), but of all angles that are this turn those nearest to others. */
void geo_angles_near(const double turn[4], const double to[3], double angle[3]);
double geo_turns_apart(const double a[4], const double b[4]);          /* radians */

#define GEO_PI 3.14159265358979323846
#define GEO_DEGREE (GEO_PI / 180)
/* Angles around x, y and z, in that order, and the quaternion they are; and back: y within a quarter turn. */
void geo_turn_of(const double angle[3], double turn[4]);
void geo_angles_of(const double turn[4], double angle[3]);
/* The way from a to b, shortest: 0 is a, 1 is b. */
void geo_turn_between(const double a[4], const double b[4], double s, double out[4]);

/* ---- one number per corner --------------------------------------------------------------------------------------- */

/* Some faces of a mesh as triangles whose corners have one number for all attributes. A quad is two triangles that
 * follow each other: corners 1 2 3 and 1 3 4 of it. */
struct geo_flat {
	uint32_t nvertices, ncorners;
	uint32_t *vertex;                      /* of each, ascending: its number in the mesh */
	uint32_t *value;                       /* of each, m->nstreams numbers: of its values; GEO_NONE */
	uint32_t *corner;                      /* of each corner: its vertex here */
};
/* Of the parts named, in that order, and of vertices without a face: ascending. */
int geo_flatten(const struct geo_mesh *m, const uint32_t *part, uint32_t nparts, const uint32_t *lone, uint32_t nlone,
		struct geo_flat *out, struct arena *a, struct err *e);

#endif
