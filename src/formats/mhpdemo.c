/* What the demo archive holds: shapes, pictures, bones and motions as tables for the writers of mhpbuild.h.
 *
 * Right-handed, Y up. A surface runs right with u and down with v as its front side is seen. */
#include "mhpdemo.h"

#include <math.h>

#include "mhpbuild.h"

#define LIST_OF(v) { .n = ARRAY_LEN(v), .items = v }
#define PATCHES(v) .npatches = ARRAY_LEN(v), .patches = v
#define GROUPS(v) .ngroups = ARRAY_LEN(v), .groups = v

enum { LIT = 0x80000003u, GREY_AMBIENT = 0x007f7f7fu, UNTEXTURED = 0xff };
/* Vertex types: u16 UV and s16 positions, with weights, normals or colours, and u8 or u16 indices. */
enum { ONE_WEIGHT = 0x0b22, ONE_WEIGHT_LARGE = 0x1322, TWO_WEIGHTS = 0x4b22, COLOURED = 0x091e, UNWEIGHTED = 0x0922 };
enum { FORMAT_8888 = 3, FORMAT_CLUT4 = 4, FORMAT_CLUT8 = 5, COLOURS_5551 = 1, COLOURS_8888 = 3 };

static void set_point(double p[3], double x, double y, double z)
{
	p[0] = x;
	p[1] = y;
	p[2] = z;
}

/* u turns around the Y axis, starting in front. */
static void on_circle(double u, double radius, double y, double p[3])
{
	set_point(p, radius * sin(2 * M_PI * u), y, radius * cos(2 * M_PI * u));
}

/* ---- crate: a box of six 2 x 2 grids ---- */

static void crate_at(double u, double v, unsigned k, double p[3])
{
	static const int8_t right[6][3] = { { 1 }, { -1 }, { 0, 0, -1 }, { 0, 0, 1 }, { 1 }, { 1 } };
	static const int8_t up[6][3] = { { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 0, -1 }, { 0, 0, 1 } };

	for (unsigned i = 0; i < 3; i++) {
		unsigned j = (i + 1) % 3, l = (i + 2) % 3;
		int out = right[k][j] * up[k][l] - right[k][l] * up[k][j];

		p[i] = 8 * (right[k][i] * (2 * u - 1) + up[k][i] * (1 - 2 * v) + out);
	}
}

static const struct mhp_patch crate_patches[] = {
	{ crate_at, 0, PATCH_STRIPS, 2, 2 }, { crate_at, 1, PATCH_STRIPS, 2, 2 }, { crate_at, 2, PATCH_STRIPS, 2, 2 },
	{ crate_at, 3, PATCH_STRIPS, 2, 2 }, { crate_at, 4, PATCH_STRIPS, 2, 2 }, { crate_at, 5, PATCH_STRIPS, 2, 2 },
};
static const struct mhp_group crate_groups[] = {
	{ .vertex_type = ONE_WEIGHT, .npalette = 1, .palette = { { 0, 0 } }, PATCHES(crate_patches) },
};
static const struct mhp_mesh crate_meshes[] = {
	{ .uv_scale = { 1, 1 }, .lighting = LIT, .nmaterials = 1, .materials = { 0 }, GROUPS(crate_groups) },
};
static const struct mhp_material plain_material[] = { { 0xffffffff, GREY_AMBIENT, 0 } };
static const struct mhp_model crate_model = {
	.scale = { 8, 8, 8 }, .nmeshes = 1, .meshes = crate_meshes, .nmaterials = 1, .materials = plain_material,
};
static const struct mhp_bone single_bone[] = { { -1, { 0, 0, 0 }, 0 } };
static const struct mhp_skeleton single_skeleton = { 1, single_bone };

/* ---- vase: one profile, from the inner floor over the rim to the foot; more than 256 vertices ---- */

static void vase_at(double u, double v, unsigned k, double p[3])
{
	double height = v < 0.5 ? 2 * v : 2 - 2 * v, rim = fmin(fmax((v - 0.5) * 10, -1), 1);
	double y = v < 0.5 ? 1 + 23 * height : 24 * height;

	(void)k;
	on_circle(u, 5 + 2.5 * sin(0.3 + 5.03 * height) + 0.6 * rim, y, p);
}

/* Discs: the inner floor, which looks up, and the foot, which looks down. */
static void vase_disc_at(double u, double v, unsigned k, double p[3])
{
	double rim[3];

	vase_at(k ? -u : u, k, k, rim);
	set_point(p, v * rim[0], rim[1], v * rim[2]);
}

static const struct mhp_patch vase_patches[] = {
	{ vase_at, 0, PATCH_STRIPS, 25, 17 }, { vase_disc_at, 0, PATCH_FAN, 2, 17 },
	{ vase_disc_at, 1, PATCH_FAN, 2, 17 },
};
static const struct mhp_group vase_groups[] = {
	{ .vertex_type = ONE_WEIGHT_LARGE, .npalette = 1, .palette = { { 0, 0 } }, PATCHES(vase_patches) },
};
static const struct mhp_mesh vase_meshes[] = {
	{ .uv_scale = { 4, 3 }, .lighting = LIT, .nmaterials = 1, .materials = { 0 }, GROUPS(vase_groups) },
};
static const struct mhp_model vase_model = {
	.scale = { 8.2f, 24, 8.2f }, .nmeshes = 1, .meshes = vase_meshes, .nmaterials = 1, .materials = plain_material,
};

/* ---- worm: four bones in a line; each segment blends from its bone to the next, the head is rigid ---- */

#define SEGMENT 12.0

static double worm_radius(double y)
{
	return 4 - y / 30 + 0.3 * sin(y * M_PI / 2);
}

static void worm_at(double u, double v, unsigned k, double p[3])
{
	double y = SEGMENT * (k + 1 - v);

	on_circle(u, worm_radius(y), y, p);
}

static void worm_head_at(double u, double v, unsigned k, double p[3])
{
	double neck = SEGMENT * k, h = 0.95 * (1 - v);

	on_circle(u, worm_radius(neck) * sqrt(1 - h * h), neck + 6 * h, p);
}

static void worm_end_at(double u, double v, unsigned k, double p[3])
{
	double rim[3];

	if (k)
		worm_head_at(u, 0, k, rim);
	else
		worm_at(-u, 1, k, rim);
	set_point(p, v * rim[0], rim[1], v * rim[2]);
}

static const struct mhp_patch worm_patches_0[] = {
	{ worm_end_at, 0, PATCH_FAN, 2, 13 }, { worm_at, 0, PATCH_STRIPS, 7, 13, { 1, 0 } },
};
static const struct mhp_patch worm_patches_1[] = { { worm_at, 1, PATCH_STRIPS, 7, 13, { 1, 0 } } };
static const struct mhp_patch worm_patches_2[] = { { worm_at, 2, PATCH_STRIPS, 7, 13, { 1, 0 } } };
static const struct mhp_patch worm_patches_3[] = {
	{ worm_head_at, 3, PATCH_STRIPS, 5, 13 }, { worm_end_at, 3, PATCH_FAN, 2, 13 },
};
static const struct mhp_group worm_groups[] = {
	{ .vertex_type = TWO_WEIGHTS, .npalette = 2, .palette = { { 0, 0 }, { 1, 1 } }, PATCHES(worm_patches_0) },
	{ .vertex_type = TWO_WEIGHTS, .npalette = 2, .palette = { { 0, 1 }, { 1, 2 } }, PATCHES(worm_patches_1) },
	{ .vertex_type = TWO_WEIGHTS, .npalette = 2, .palette = { { 0, 2 }, { 1, 3 } }, PATCHES(worm_patches_2) },
	{ .vertex_type = ONE_WEIGHT, .npalette = 1, .palette = { { 0, 3 } }, PATCHES(worm_patches_3) },
};
static const struct mhp_mesh worm_meshes[] = {
	{ .uv_scale = { 2, 1 }, .lighting = LIT, .nmaterials = 1, .materials = { 0 }, GROUPS(worm_groups) },
};
static const struct mhp_model worm_model = {
	.scale = { 4.5f, 42, 4.5f }, .nmeshes = 1, .meshes = worm_meshes, .nmaterials = 1, .materials = plain_material,
};
static const struct mhp_bone worm_bones[] = {
	{ -1, { 0, 0, 0 }, 0 }, { 0, { 0, 12, 0 }, 0 }, { 1, { 0, 12, 0 }, 0 }, { 2, { 0, 12, 0 }, 0 },
};
static const struct mhp_skeleton worm_skeleton = { ARRAY_LEN(worm_bones), worm_bones };

/* Rotations: 4096 is 90 degrees; locations: 16 is one unit; eases are per frame. */
enum { ROTATION_X = 0x008, ROTATION_Z = 0x020, LOCATION_Y = 0x080 };
#define SWAY(a, slope) { ROTATION_Z, 5, { { 0, 0, slope, slope }, { a, 15 }, { 0, 30, -(slope), -(slope) }, \
	{ -(a), 45 }, { 0, 60, slope, slope } } }
#define NOD(a) { ROTATION_X, 3, { { 0, 0 }, { a, 10 }, { 0, 30 } } }

static const struct mhp_track sway_tracks[] = {
	{ 1, { SWAY(300, 31) } }, { 1, { SWAY(600, 63) } }, { 1, { SWAY(800, 84) } }, { 1, { SWAY(900, 94) } },
};
static const struct mhp_track nod_tracks[] = {
	{ 2, { NOD(200), { LOCATION_Y, 3, { { 0, 0 }, { 32, 10 }, { 0, 30 } } } } },
	{ 1, { NOD(400) } }, { 1, { NOD(900) } }, { 1, { NOD(1500) } },
};
static const struct mhp_clip worm_clips[] = {
	{ .ntracks = ARRAY_LEN(sway_tracks), .loop = 1, .tracks = sway_tracks },
	{ .ntracks = ARRAY_LEN(nod_tracks), .loop = 0, .tracks = nod_tracks },
};
static const struct mhp_pack worm_pack = {
	.nslots = 4, .slots = { 0, 1, -1, 0 }, .nclips = ARRAY_LEN(worm_clips), .clips = worm_clips,
};

/* ---- garden: a stage of two meshes, with vertex colours and no skeleton ---- */

static void ground_at(double u, double v, unsigned k, double p[3])
{
	double x = 60 * (2 * u - 1), z = 60 * (2 * v - 1);

	(void)k;
	set_point(p, x, 3 * sin(x / 17) * cos(z / 23), z);
}

static const double pillar_foot[2][2] = { { 25, -20 }, { -25, -20 } };

static void pillar_at(double u, double v, unsigned k, double p[3])
{
	on_circle(u, 3 + 0.6 * cos(2 * M_PI * v), 24 - 28 * v, p);
	p[0] += pillar_foot[k][0];
	p[2] += pillar_foot[k][1];
}

static void pillar_top_at(double u, double v, unsigned k, double p[3])
{
	on_circle(u, 3.6 * v, 24, p);
	p[0] += pillar_foot[k][0];
	p[2] += pillar_foot[k][1];
}

static const struct mhp_patch ground_patches[] = { { ground_at, 0, PATCH_LIST, 13, 13 } };
static const struct mhp_patch pillar_patches_0[] = {
	{ pillar_at, 0, PATCH_STRIPS, 9, 13 }, { pillar_top_at, 0, PATCH_FAN, 2, 13 },
};
static const struct mhp_patch pillar_patches_1[] = {
	{ pillar_at, 1, PATCH_STRIPS, 9, 13 }, { pillar_top_at, 1, PATCH_FAN, 2, 13 },
};
static const struct mhp_group ground_groups[] = { { .vertex_type = COLOURED, PATCHES(ground_patches) } };
static const struct mhp_group pillar_groups[] = {
	{ .material = 0, .vertex_type = COLOURED, PATCHES(pillar_patches_0) },
	{ .material = 1, .vertex_type = COLOURED, PATCHES(pillar_patches_1) },
};
static const struct mhp_mesh garden_meshes[] = {
	{ .uv_scale = { 8, 8 }, .lighting = 0x80000002, .nmaterials = 1, .materials = { 0 }, GROUPS(ground_groups) },
	{ .uv_scale = { 2, 3 }, .lighting = 0x80000002, .nmaterials = 2, .materials = { 1, 2 }, GROUPS(pillar_groups) },
};
static const struct mhp_material garden_materials[] = {
	{ 0xffffffff, GREY_AMBIENT, 0 }, { 0xffffffff, GREY_AMBIENT, 1 }, { 0xffb0c0e0, GREY_AMBIENT, 1 },
};
static const struct mhp_model garden_model = {
	.scale = { 60, 24, 60 }, .nmeshes = ARRAY_LEN(garden_meshes), .meshes = garden_meshes,
	.nmaterials = ARRAY_LEN(garden_materials), .materials = garden_materials,
};
/* Environment: u16 2, fog colour, fog from 20.0 to 400.0. */
static const uint8_t garden_fog[] = { 2, 0, 120, 160, 200, 255, 0, 0, 0xa0, 0x41, 0, 0, 0xc8, 0x43, 0, 0 };
static const struct mhp_bytes garden_environment = { sizeof garden_fog, garden_fog };

/* ---- coin: a model by itself, without texture and weights ---- */

static void coin_at(double u, double v, unsigned k, double p[3])
{
	(void)k;
	on_circle(u, 6, 1 - 2 * v, p);
}

static void coin_face_at(double u, double v, unsigned k, double p[3])
{
	on_circle(k ? -u : u, 6 * v, k ? -1 : 1, p);
}

static const struct mhp_patch coin_patches[] = {
	{ coin_face_at, 0, PATCH_FAN, 2, 25 }, { coin_at, 0, PATCH_STRIPS, 2, 25 },
	{ coin_face_at, 1, PATCH_FAN, 2, 25 },
};
static const struct mhp_group coin_groups[] = { { .vertex_type = UNWEIGHTED, PATCHES(coin_patches) } };
static const struct mhp_mesh coin_meshes[] = {
	{ .uv_scale = { 1, 1 }, .lighting = LIT, .nmaterials = 1, .materials = { 0 }, GROUPS(coin_groups) },
};
static const struct mhp_material coin_material[] = { { 0xff40c0f0, GREY_AMBIENT, UNTEXTURED } };
static const struct mhp_model coin_model = {
	.scale = { 6, 1, 6 }, .nmeshes = 1, .meshes = coin_meshes, .nmaterials = 1, .materials = coin_material,
};

/* ---- pictures: a colour number for each pixel, and the colours ---- */

static uint32_t mix(uint32_t from, uint32_t to, unsigned i, unsigned n)
{
	uint32_t colour = 0;

	for (unsigned shift = 0; shift < 32; shift += 8) {
		uint32_t a = from >> shift & 0xff, b = to >> shift & 0xff;

		colour |= (a * (n - i) + b * i) / n << shift;
	}
	return colour;
}

/* 0..range-1, the same for the same place. */
static unsigned grain(unsigned x, unsigned y, unsigned range)
{
	uint32_t h = x * 0x9e3779b1u ^ y * 0x85ebca6bu;

	h = (h ^ h >> 15) * 0x2c1b3c6du;
	return (h >> 16) % range;
}

static unsigned planks(unsigned x, unsigned y)
{
	bool frame = x < 6 || y < 6 || x >= 58 || y >= 58 || x + y == 63 || x == y;

	return y % 13 == 6 && !frame ? 0 : 100 + (frame ? 70 : 0) + grain(x / 5, y, 60);
}

static unsigned zigzag(unsigned x, unsigned y)
{
	unsigned fold = x % 16 < 8 ? x % 16 : 16 - x % 16;

	return (y + fold) % 16 * 16 + grain(x, y, 12);
}

static unsigned rings(unsigned x, unsigned y)
{
	return (y % 16 + grain(x / 4, y / 2, 2)) % 16;
}

static unsigned rough(unsigned x, unsigned y)
{
	return grain(x, y, 8) + grain(x / 4, y / 4, 8);
}

static unsigned slope(unsigned x, unsigned y)
{
	return (x + y) * 4;
}

static uint32_t wood(unsigned i, unsigned palette)
{
	(void)palette;
	return mix(0xff0a1828, 0xff70b0e0, i, 255);
}

static uint32_t glaze(unsigned i, unsigned palette)
{
	return palette ? mix(0xff302080, 0xffe0e8f8, i, 255) : mix(0xff903010, 0xffe8e8e0, i, 255);
}

static uint32_t skin(unsigned i, unsigned palette)
{
	return palette ? mix(0xff803060, 0xffe0b0d0, i, 15) : mix(0xff204080, 0xff90c0f0, i, 15);
}

static uint32_t grass(unsigned i, unsigned palette)
{
	(void)palette;
	return mix(0xff103818, 0xff50a860, i, 15);
}

static uint32_t stone(unsigned i, unsigned palette)
{
	(void)palette;
	return mix(0xff484840, 0xffc8c8c0, i, 15);
}

static uint32_t glass(unsigned i, unsigned palette)
{
	(void)palette;
	return mix(0x20ffc080, 0xff804020, i, 255);
}

static const struct mhp_picture crate_pictures[] = {
	{ FORMAT_CLUT8, COLOURS_5551, 1, 64, 64, planks, wood },
};
static const struct mhp_picture vase_pictures[] = {
	{ FORMAT_CLUT8, COLOURS_8888, 1, 64, 64, zigzag, glaze },
};
static const struct mhp_picture worm_pictures[] = {
	{ FORMAT_CLUT4, COLOURS_5551, 2, 64, 64, rings, skin },
};
static const struct mhp_picture garden_pictures[] = {
	{ FORMAT_CLUT4, COLOURS_8888, 1, 64, 64, rough, grass },
	{ FORMAT_CLUT4, COLOURS_5551, 1, 32, 32, rough, stone },
};
/* A bank by itself: direct colours with alpha, two palettes, and rows too short to be swizzled. */
static const struct mhp_picture mixed_pictures[] = {
	{ FORMAT_8888, 0, 0, 32, 32, slope, glass }, { FORMAT_CLUT8, COLOURS_8888, 2, 32, 32, zigzag, glaze },
	{ FORMAT_CLUT4, COLOURS_5551, 1, 16, 16, rough, stone },
};
#define BANK(v) { ARRAY_LEN(v), v }
static const struct mhp_bank crate_bank = BANK(crate_pictures), vase_bank = BANK(vase_pictures),
	worm_bank = BANK(worm_pictures), garden_bank = BANK(garden_pictures), mixed_bank = BANK(mixed_pictures);

/* ---- the archive ---- */

/* Equipment: model, skeleton, textures. */
static const struct mhp_item crate_items[] = {
	{ .kind = MHP_PMO, .what = &crate_model }, { .kind = MHP_AHI, .what = &single_skeleton },
	{ .kind = MHP_TMH, .what = &crate_bank },
};
static const struct mhp_item vase_items[] = {
	{ .kind = MHP_PMO, .what = &vase_model }, { .kind = MHP_AHI, .what = &single_skeleton },
	{ .kind = MHP_TMH, .what = &vase_bank },
};
/* Monster: skeleton, model, textures, animations, and no second set. */
static const struct mhp_item worm_items[] = {
	{ .kind = MHP_AHI, .what = &worm_skeleton }, { .kind = MHP_PMO, .what = &worm_model },
	{ .kind = MHP_TMH, .what = &worm_bank }, { .kind = MHP_ANM, .what = &worm_pack },
	{ 0 }, { 0 }, { 0 },
};
/* Stage: terrain, textures, no props, environment. */
static const struct mhp_item garden_items[] = {
	{ .kind = MHP_PMO, .what = &garden_model }, { .kind = MHP_TMH, .what = &garden_bank },
	{ 0 }, { .kind = MHP_BYTES, .what = &garden_environment },
};
static const struct mhp_list crate_pac = LIST_OF(crate_items), vase_pac = LIST_OF(vase_items),
	worm_pac = LIST_OF(worm_items), garden_pac = LIST_OF(garden_items);

static const struct mhp_item set_items[] = {
	{ .kind = MHP_PAC, .what = &crate_pac }, { .kind = MHP_PAC, .what = &vase_pac },
};
static const struct mhp_list set_pac = LIST_OF(set_items);

static const struct mhp_item files[] = {
	[0] = { .kind = MHP_TEXT, .exact = true, .what = "Written by `modelfs demo`: an archive of small models.\n" },
	[3] = { .kind = MHP_TMH, .exact = true, .what = &mixed_bank },
	[5] = { .kind = MHP_PAC, .what = &crate_pac },
	[6] = { .kind = MHP_PAC, .exact = true, .what = &vase_pac },
	[8] = { .kind = MHP_PAC, .slack = 1, .what = &set_pac },
	[12] = { .kind = MHP_PAC, .exact = true, .what = &garden_pac },
	[16] = { .kind = MHP_PAC, .what = &worm_pac },
	[17] = { .kind = MHP_PMO, .exact = true, .what = &coin_model },
	[18] = { .kind = MHP_AHI, .what = &worm_skeleton },
	[19] = { .kind = MHP_ANM, .exact = true, .what = &worm_pack },
	[23] = { .kind = MHP_TEXT, .exact = true, .what = "The last file of an archive is never empty.\n" },
};
static const struct mhp_list archive = LIST_OF(files);

int mhpdemo_write(struct buf *out, struct err *e)
{
	mhp_build_databin(out, &archive);
	return out->bad ? err_nomem(e) : 0;
}
