/* Records of a JOM (spec/jom.md 4). Fixed numbers are 16.16, angles 65536 to the circle. */
#include "jom.h"

const char jom_tag_names[JOM_TAGS][5] = {
	[JOM_TIMG] = "TIMG", [JOM_PNTS] = "PNTS", [JOM_QUAD] = "QUAD", [JOM_QMAT] = "QMAT", [JOM_MATL] = "MATL",
	[JOM_TEXT] = "TEXT", [JOM_NTAB] = "NTAB", [JOM_CNRM] = "CNRM", [JOM_VCOL] = "VCOL", [JOM_GOUR] = "GOUR",
	[JOM_GRUP] = "GRUP", [JOM_BONE] = "BONE", [JOM_ANIM] = "ANIM",
};

const uint8_t jom_record_sizes[JOM_TAGS] = {
	[JOM_PNTS] = 12, [JOM_QUAD] = 20, [JOM_QMAT] = 2, [JOM_MATL] = 32, [JOM_TEXT] = JOM_NAME, [JOM_NTAB] = 12,
	[JOM_CNRM] = 2, [JOM_VCOL] = 12, [JOM_GOUR] = 2, [JOM_GRUP] = 24, [JOM_BONE] = 32, [JOM_ANIM] = 28,
};

#define NAME(S, doc, more) TEXT(S, name, 0, JOM_NAME, doc, .flags = FL_ENDED | (more))

#define S struct jom_header
static const struct field header_fields[] = {
	TEXT(S, magic, 0, 4, "JOM1", .flags = FL_HIDDEN),
	U16(S, version, 4, "1; concerns only this header and the general rules", .flags = FL_DERIVED),
	U16(S, reserved, 6, "0", .view = V_HEX),
	FIX32N(S, sphere_centre, 8, 3, "Middle of the sphere around the model"),
	FIX32(S, sphere_radius, 20, "Its radius"),
};
#undef S
const struct record jom_header_record = RECORD("header", "Begins a model", JOM_HEADER_SIZE, header_fields);

struct point { int32_t position[3]; };
#define S struct point
static const struct field point_fields[] = {
	FIX32N(S, position, 0, 3, "x to the right, y down, z forward"),
};
#undef S
const struct record jom_point_record = RECORD("point", "PNTS: a point", 12, point_fields);

#define S struct jom_quad
static const struct field quad_fields[] = {
	FIX32N(S, normal, 0, 3, "Unit normal of the face"),
	U16N(S, corners, 12, 4, "Points A, B, C, D, clockwise from the front; a triangle repeats one",
	     .flags = FL_HIDDEN),
};
#undef S
const struct record jom_quad_record = RECORD("polygon", "QUAD: a polygon", 20, quad_fields);

struct polygon_material { uint16_t material; };
#define S struct polygon_material
static const struct field polygon_material_fields[] = {
	U16(S, material, 0, "Number of a material; two zero bytes follow an odd number of these"),
};
#undef S
const struct record jom_polygon_material_record =
	RECORD("polygon material", "QMAT: the material of a polygon", 2, polygon_material_fields);

static const struct label material_flags[] = {
	{ 1u << 0, "dual_plane" }, { JOM_SORT_MIN, "sort_min" }, { JOM_SORT_MAX, "sort_max" },
	{ JOM_GOURAUD, "gouraud" }, { 1u << 4, "half_transparent" }, { 1u << 5, "screen_doors" }, { 1u << 6, "light" },
	{ JOM_FLIP_H, "flip_h" }, { JOM_FLIP_V, "flip_v" }, { JOM_END_CODES, "end_codes" }, { 1u << 10, "mipmaps" },
	{ JOM_SUBDIVISION, "subdivision" }, { JOM_SUBDIVISION_NEAR, "subdivision_near" },
	{ 1u << 16, "user_0" }, { 1u << 17, "user_1" }, { 1u << 18, "user_2" }, { 1u << 19, "user_3" },
	{ 1u << 20, "user_4" }, { 1u << 21, "user_5" }, { 1u << 22, "user_6" }, { 1u << 23, "user_7" },
	{ 1u << 24, "user_8" }, { 1u << 25, "user_9" }, { 1u << 26, "user_10" }, { 1u << 27, "user_11" },
	{ 1u << 28, "user_12" }, { 1u << 29, "user_13" }, { 1u << 30, "user_14" }, { 1u << 31, "user_15" },
	{ 0, NULL }
};
#define S struct jom_material
static const struct field material_fields[] = {
	NAME(S, "Name", 0),
	U8N(S, colour, 16, 3, "Red, green, blue of a face without texture"),
	U8(S, shine, 19, "Shininess"),
	I16(S, texture, 20, "Number of a texture in TEXT", .flags = FL_NULL),
	U16(S, subdivision_error, 22, "Allowed error of subdivision in pixels; 0: the engine's"),
	U32(S, flags, 24, "How it is drawn; both sort bits: as the one before, none: by the centre; 13 to 15 are the "
	    "engine's", .view = V_FLAGS, .labels = material_flags),
	U32(S, user, 28, "The program's", .view = V_HEX),
};
#undef S
const struct record jom_material_record = RECORD("material", "MATL: a material", 32, material_fields);

struct text { char name[JOM_NAME]; };
#define S struct text
static const struct field text_fields[] = {
	NAME(S, "Name of a file (.BIN or .TGA), or of a picture in TIMG", FL_PUT),
};
#undef S
const struct record jom_text_record = RECORD("texture name", "TEXT: a texture", JOM_NAME, text_fields);

static const struct label image_formats[] = { { JOM_RGB555, "rgb555" }, { JOM_LUT16, "lut16" }, { 0, NULL } };
#define S struct jom_image
static const struct field image_fields[] = {
	NAME(S, "Name, the same as in TEXT", FL_HIDDEN),
	U16(S, width, 16, "Pixels; a multiple of 8", .flags = FL_DERIVED),
	U16(S, height, 18, "Rows", .flags = FL_DERIVED),
	U16(S, format, 20, "Of the pixels, which follow, padded to 4 bytes; the first row is the top one",
	    .view = V_ENUM, .labels = image_formats, .flags = FL_DERIVED),
	U16(S, reserved, 22, "0", .view = V_HEX),
};
#undef S
const struct record jom_image_record = RECORD("image", "TIMG: a picture", JOM_IMAGE_SIZE, image_fields);

struct palette { uint16_t palette[16]; };
#define S struct palette
static const struct field palette_fields[] = {
	U16N(S, palette, 0, 16, "rgb555 words, before the pixels of a lut16; the first is transparent", .view = V_HEX),
};
#undef S
const struct record jom_palette_record = RECORD("palette", "TIMG: the colours of a lut16", 32, palette_fields);

struct normal { int32_t normal[3]; };
#define S struct normal
static const struct field normal_fields[] = {
	FIX32N(S, normal, 0, 3, "Normal that corners share"),
};
#undef S
const struct record jom_normal_record = RECORD("normal", "NTAB: a normal", 12, normal_fields);

struct corner_words { uint16_t corners[4]; };
#define S struct corner_words
static const struct field corner_normals_fields[] = {
	U16N(S, corners, 0, 4, "Number in NTAB of the corners A, B, C, D"),
};
static const struct field gouraud_fields[] = {
	U16N(S, corners, 0, 4, "rgb555 of the corners A, B, C, D; 16 of a channel changes nothing", .view = V_HEX),
};
#undef S
const struct record jom_corner_normals_record =
	RECORD("corner normals", "CNRM: the normals of a polygon", 8, corner_normals_fields);
const struct record jom_gouraud_record = RECORD("gouraud", "GOUR: the shading of a polygon", 8, gouraud_fields);

struct vertex_colour { int32_t colour[3]; };
#define S struct vertex_colour
static const struct field vertex_colour_fields[] = {
	FIX32N(S, colour, 0, 3, "Red, green, blue; 1.0 is all of it"),
};
#undef S
const struct record jom_vertex_colour_record =
	RECORD("vertex colour", "VCOL: the colour of a point", 12, vertex_colour_fields);

#define S struct jom_group
static const struct field group_fields[] = {
	NAME(S, "Name", 0),
	U16(S, first_point, 16, "First point that only this group uses", .flags = FL_DERIVED),
	U16(S, point_count, 18, "Such points", .flags = FL_DERIVED),
	U16(S, first_polygon, 20, "First polygon", .flags = FL_DERIVED),
	U16(S, polygon_count, 22, "Polygons", .flags = FL_DERIVED),
};
#undef S
const struct record jom_group_record = RECORD("group", "GRUP: a group of polygons", 24, group_fields);

#define S struct jom_bone
static const struct field bone_fields[] = {
	NAME(S, "Name", 0),
	U16(S, group, 16, "Number of the group that moves with it", .flags = FL_NULL),
	I16(S, parent, 18, "Bone that it hangs on, an earlier one", .flags = FL_NULL),
	FIX32N(S, pivot, 20, 3, "Point it turns around, in model space"),
};
#undef S
const struct record jom_bone_record = RECORD("bone", "BONE: a bone", 32, bone_fields);

static const struct label animation_flags[] = { { 1, "loop" }, { 0, NULL } };
#define S struct jom_animation
static const struct field animation_fields[] = {
	NAME(S, "Name", 0),
	U16(S, key_ticks, 18, "Ticks of 1/60 second between keys"),
	U16(S, flags, 20, "Loop: the last key leads back to the first", .view = V_FLAGS, .labels = animation_flags),
	U16(S, duplicate, 22, "0; the loader sets 1 for a repeated name"),
	U32(S, offset, 24, "Of its first key, from the start of the chunk's data", .flags = FL_DERIVED),
	U16(S, key_count, 16, "Keys", .flags = FL_DERIVED),
};
#undef S
const struct record jom_animation_record = RECORD("animation", "ANIM: an animation", 28, animation_fields);

struct root { int32_t root[3]; };
#define S struct root
static const struct field root_fields[] = {
	FIX32N(S, root, 0, 3, "Offset of the root"),
};
#undef S
const struct record jom_root_record = RECORD("key", "ANIM: begins a key; angles of all bones follow, two zero bytes "
					     "behind those of an odd number of bones", 12, root_fields);

struct angles { int16_t angles[3]; };
#define S struct angles
static const struct field angles_fields[] = {
	ANGLEN(S, angles, 0, 3, "Degrees around x, y, z of the parent"),
};
#undef S
const struct record jom_angles_record = RECORD("angles", "ANIM: how a bone is turned", 6, angles_fields);
