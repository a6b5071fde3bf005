/* DATA.BIN, the archive of the PSP Monster Hunter games (spec/mhp.md 1).
 *
 *   0            u32[n+1]        start block of each file; element n is the archive's count of blocks of 2048 bytes
 *   4(n+1)       {id, size}[k]   exact byte size of some files, ids ascending; k is not stored
 *   ..           bytes           leftover up to the end of the table's last block
 *   start[0]     the files, one after the other, each padded to whole blocks; start[0] is the table's length
 *
 * Nothing stores n: the start words end with the first one that is the archive's block count, so the last file is
 * never empty. Table and files are encrypted (1.2), each a run of its own; some files are not (1.3), and nothing is in
 * the archives of Freedom and Freedom 2. What is not a whole number of blocks long counts as cut short in its last
 * block: the file there ends where the archive does. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bytes.h"
#include "databin.h"
#include "mhpbytes.h"
#include "mhpcipher.h"
#include "mhpdemo.h"

#define BLOCK DATABIN_BLOCK
#define PLAIN_FIRST_MAX 0xfffu                 /* element 0 of an archive that is not encrypted (1.4) */

/* ---- records and games ---- */

struct databin_start { uint32_t block; };

#define S struct databin_start
static const struct field start_fields[] = {
	U32(S, block, 0, "First block of the file; the first word that is the archive's block count ends the list"),
};
#undef S

#define S struct databin_pair
static const struct field pair_fields[] = {
	U32(S, id, 0, "File number; more than the one before, less than the number of files"),
	U32(S, size, 4, "Exact size in bytes; ends in the last block of the file's slot"),
};
#undef S

static const struct record start_record = RECORD("start", "Where a file begins", 4, start_fields);
static const struct record pair_record =
	RECORD("exact_size", "How long a file is; one without is as long as its slot", 8, pair_fields);

static const struct section sections[] = {
	{ "starts", "Start blocks, in the order of the files", SECTION_LIST, &start_record },
	{ "sizes", "Exact sizes of some files, up to the first that cannot be one", SECTION_LIST, &pair_record },
	{ "leftover", "Rest of the table's blocks; its bytes mean nothing", SECTION_BYTES },
	{ "files", "The files, padded to whole blocks; the padding is not zero", SECTION_BYTES },
};

enum game { MHP2G, MHFU, MHP3RD, MHF2, GAMES };

#define VARIANT(version_, doc_) \
	{ .version = version_, .doc = doc_, .sections = sections, .nsections = ARRAY_LEN(sections) }
static const struct variant variants[GAMES] = {
	[MHP2G] = VARIANT("mhp2g", "Monster Hunter Portable 2nd G (Japan): encrypted, 6602 files"),
	[MHFU] = VARIANT("mhfu", "Monster Hunter Freedom Unite (Europe, North America): encrypted, other file counts"),
	[MHP3RD] = VARIANT("mhp3rd", "Monster Hunter Portable 3rd: encrypted, 5955 files"),
	[MHF2] = VARIANT("mhf2", "Monster Hunter Freedom and Freedom 2: not encrypted"),
};

static const char *const game_names[GAMES] = {
	[MHP2G] = "Monster Hunter Portable 2nd G",
	[MHFU] = "Monster Hunter Freedom Unite",
	[MHP3RD] = "Monster Hunter Portable 3rd",
	[MHF2] = "Monster Hunter Freedom or Freedom 2",
};

/* Files stored without the cipher (1.3): program modules and movies. */
static const struct { uint8_t game, first, last; } plain_files[] = {
	{ MHP2G, 22, 23 }, { MHP2G, 26, 42 },
	{ MHFU, 42, 43 }, { MHFU, 46, 62 },
	{ MHP3RD, 17, 20 }, { MHP3RD, 81, 92 },
};

static enum game game_of(bool coded, uint32_t n)
{
	return !coded ? MHF2 : n == 6602 ? MHP2G : n == 5955 ? MHP3RD : MHFU;
}

/* ---- start words ---- */

struct table {
	struct source *src;
	uint64_t blocks;                       /* of the archive, one that is cut short included */
	bool coded;
	uint32_t n;                            /* start words read so far; in the end the number of files */
	uint32_t last;                         /* the newest of them */
	uint8_t *p;                            /* the table, decrypted; start words, pairs, leftover */
	size_t len;
};

/* The last file is not empty, so element 0 is less than the block count. */
static uint64_t first_most(const struct table *t)
{
	return !t->coded && t->blocks > PLAIN_FIRST_MAX ? PLAIN_FIRST_MAX : t->blocks - 1;
}

/* Takes `words` more start words. 1: the list has ended, 0: it goes on. */
static int scan_starts(struct table *t, const uint8_t *p, size_t words, struct err *e)
{
	uint64_t most = t->n ? t->blocks : first_most(t);
	uint32_t block;
	char what[40];

	for (size_t i = 0; i < words; i++) {
		block = le_u32(p + 4 * i);
		if (block < (t->n ? t->last : 1) || block > most) {
			snprintf(what, sizeof what, "%sstart block %u", t->coded ? "decrypted " : "", t->n);
			return err_at(e, EBADMSG, t->src, 4 * (uint64_t)t->n, what,
				      "%u, expected %u to %" PRIu64 "; the archive has %" PRIu64 " blocks", block,
				      t->n ? t->last : 1, most, t->blocks);
		}
		if (t->n && block == t->blocks)
			return 1;
		t->last = block;
		t->n++;
		most = t->blocks;
	}
	return 0;
}

/* Reads the blocks that element 0 names, as far as start words and pairs can reach, and finds the number of files. */
static int read_table(struct table *t, uint32_t first, struct err *e)
{
	const uint64_t most = 4 * ((uint64_t)LIMIT_ENTRIES + 1) + 8 * (uint64_t)LIMIT_ENTRIES;
	uint64_t size = (uint64_t)first * BLOCK;
	size_t words;
	int rc;

	t->len = (size_t)(size < most ? size : most);
	t->p = malloc(t->len);
	if (!t->p)
		return err_nomem(e);
	rc = src_read(t->src, t->p, t->len, 0, "table", e);
	if (rc)
		return rc;
	if (t->coded)
		mhp_cipher.decrypt(0, 0, t->p, t->len);
	t->n = 0;
	words = t->len / 4 < LIMIT_ENTRIES + 1 ? t->len / 4 : LIMIT_ENTRIES + 1;
	rc = scan_starts(t, t->p, words, e);
	if (rc)
		return rc < 0 ? rc : 0;
	if (words > LIMIT_ENTRIES)
		return err_at(e, EFBIG, t->src, 4 * words, "start blocks", "more than %u files", LIMIT_ENTRIES);
	return err_at(e, EBADMSG, t->src, 0, "table",
		      "none of the %zu start blocks is the archive's %" PRIu64 " blocks; the last is %u", words,
		      t->blocks, t->last);
}

/* One of the two readings: the words of head decide in nearly all cases, without another read. */
static int try_table(struct table *t, bool coded, const uint8_t *head, size_t n, struct err *e)
{
	uint8_t start[PROBE_FIRST];
	int rc;

	n = n / 4 * 4;
	memcpy(start, head, n);
	if (coded)
		mhp_cipher.decrypt(0, 0, start, n);
	t->coded = coded;
	rc = scan_starts(t, start, n / 4, e);
	return rc < 0 ? rc : read_table(t, le_u32(start), e);
}

/* Why neither reading gives a table: the one that got further tells it. */
static int refuse(const struct table *plain, const struct err *why_plain, const struct table *coded,
		  const struct err *why_coded, const uint8_t *head, struct err *e)
{
	uint8_t first[4];

	if (plain->n || coded->n) {
		if (e)
			*e = coded->n > plain->n ? *why_coded : *why_plain;
		return -EBADMSG;
	}
	memcpy(first, head, sizeof first);
	mhp_cipher.decrypt(0, 0, first, sizeof first);
	return err_at(e, EBADMSG, plain->src, 0, "start block 0",
		      "%u, or %u decrypted; expected 1 to %" PRIu64 ", as the archive has %" PRIu64 " blocks",
		      le_u32(head), le_u32(first), first_most(coded), coded->blocks);
}

/* Finds out whether the archive is encrypted and reads its table into out->p, which the caller frees also when it
 * fails. Then out->n tells how many start words made sense. */
static int open_table(struct source *src, const uint8_t *head, size_t n, struct table *out, struct err *e)
{
	struct table plain = { .src = src, .blocks = (src->size + BLOCK - 1) / BLOCK }, coded = plain;
	struct err why[2];
	int rc;

	*out = plain;
	n = n < PROBE_FIRST ? n : PROBE_FIRST;
	if (plain.blocks < 2 || n < 4)
		return err_at(e, EBADMSG, src, 0, "archive",
			      "%" PRIu64 " bytes; a table and a file take 2 blocks of %u", src->size, BLOCK);
	if (plain.blocks > UINT32_MAX)
		return err_at(e, EFBIG, src, 0, "archive", "%" PRIu64 " blocks; start blocks have 32 bits",
			      plain.blocks);
	rc = try_table(&plain, false, head, n, &why[0]);
	if (rc != -EBADMSG) {
		*out = plain;
		if (rc && e)
			*e = why[0];
		return rc;
	}
	free(plain.p);
	rc = try_table(&coded, true, head, n, &why[1]);
	*out = coded;
	if (rc == -EBADMSG) {
		out->n = plain.n > coded.n ? plain.n : coded.n;
		return refuse(&plain, &why[0], &coded, &why[1], head, e);
	}
	if (rc && e)
		*e = why[1];
	return rc;
}

/* ---- pairs ---- */

static uint64_t slot_size(const struct table *t, uint32_t i)
{
	return (uint64_t)(le_u32(t->p + 4 * (size_t)i + 4) - le_u32(t->p + 4 * (size_t)i)) * BLOCK;
}

/* Counts the pairs, and stores them where there is room for them. */
static uint32_t read_pairs(const struct table *t, struct databin_pair *out)
{
	size_t at = 4 * ((size_t)t->n + 1);
	int64_t previous = -1;
	uint32_t k = 0;

	for (; span_ok(t->len, at, 1, 8); at += 8, k++) {
		struct databin_pair pair = { le_u32(t->p + at), le_u32(t->p + at + 4) };

		if (pair.id <= previous || pair.id >= t->n || !databin_size_ok(pair.size, slot_size(t, pair.id)))
			break;
		if (out)
			out[k] = pair;
		previous = pair.id;
	}
	return k;
}

/* ---- detection ---- */

static bool named_bin(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && !strcasecmp(dot, ".bin");
}

/* The archive is a file of its own or a named file on a disc; DATA.BIN and PAC, which store no names, hold none.
 * Whether the start words end can take the whole table to find out, but other files fail in their first words. */
static int databin_probe(struct probe *p)
{
	struct table t;
	struct err why;
	bool named = named_bin(p->name);
	int bid = 0, rc;

	if (p->within && !*p->name)
		return 0;
	rc = open_table(p->src, p->head, p->n, &t, &why);
	/* Few words that are not encrypted could be any list of numbers. */
	if (!rc && (t.coded || t.n >= 16 || named))
		bid = 90;
	if (rc && p->why && (named || t.n >= 16))
		*p->why = why;
	free(t.p);
	return bid;
}

/* ---- list ---- */

/* Modules and movies outside the lists, as an archive that is only assumed to be MHFU can have them. */
bool databin_plain_magic(const uint8_t raw[4])
{
	return !memcmp(raw, "~PSP", 4) || !memcmp(raw, "\x7f" "ELF", 4) || !memcmp(raw, "PSMF", 4);
}

static bool is_plain(unsigned game, uint32_t i)
{
	for (unsigned k = 0; k < ARRAY_LEN(plain_files); k++)
		if (plain_files[k].game == game && i >= plain_files[k].first && i <= plain_files[k].last)
			return true;
	return game == MHF2;
}

static void list_files(const struct object *o, const struct table *t, struct databin *d, struct entry *v)
{
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t start = le_u32(t->p + 4 * (size_t)i);
		uint64_t at = (uint64_t)start * BLOCK, slot = slot_size(t, i);

		v[i] = (struct entry){ .at = at, .size = slot, .key = start };
		if (slot > o->src->size - at)  /* the last file of an archive that is cut short */
			v[i].size = o->src->size - at;
		v[i].coded = !is_plain(d->game, i);
		d->nplain += !v[i].coded && slot;
	}
	for (uint32_t k = 0; k < d->npairs; k++)
		if (d->pairs[k].size < v[d->pairs[k].id].size)
			v[d->pairs[k].id].size = d->pairs[k].size;
	for (uint32_t i = 0; i < t->n; i++)
		d->nempty += !v[i].size;
}

static int list_table(struct object *o, const struct table *t, struct entries *out, struct err *e)
{
	struct databin *d = arena_alloc(&o->arena, 1, sizeof *d);
	struct entry *v = arena_alloc(&o->arena, t->n, sizeof *v);

	if (!d || !v)
		return err_nomem(e);
	d->game = game_of(t->coded, t->n);
	d->coded = t->coded;
	d->blocks = t->blocks;
	d->len = t->len;
	d->npairs = read_pairs(t, NULL);
	d->pairs = arena_alloc(&o->arena, d->npairs, sizeof *d->pairs);
	if (!d->pairs)
		return err_nomem(e);
	read_pairs(t, d->pairs);
	list_files(o, t, d, v);
	o->variant = &variants[d->game];
	o->priv = d;
	*out = (struct entries){ v, t->n };
	return 0;
}

static int databin_list(struct object *o, struct entries *out, struct err *e)
{
	uint8_t head[4];
	struct table t;
	size_t n = o->src->size < sizeof head ? (size_t)o->src->size : sizeof head;
	int rc = src_read(o->src, head, n, 0, "first start block", e);

	if (rc)
		return rc;
	rc = open_table(o->src, head, n, &t, e);
	if (!rc)
		rc = list_table(o, &t, out, e);
	free(t.p);
	return rc;
}

/* ---- verify, info ---- */

#define PIECE 4096u

/* Writes what is known of the table's bytes from `at` on over p. */
static void encode_table(const struct databin *d, const struct entries *entries, uint64_t at, uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 4 <= n; i += 4) {
		uint64_t word = (at + i) / 4, pair = word - entries->n - 1;

		if (word < entries->n)
			put_le32(p + i, (uint32_t)(entries->v[word].at / BLOCK));
		else if (word == entries->n)
			put_le32(p + i, (uint32_t)d->blocks);
		else if (pair / 2 < d->npairs)
			put_le32(p + i, pair % 2 ? d->pairs[pair / 2].size : d->pairs[pair / 2].id);
	}
}

static int verify_piece(struct object *o, const struct entries *entries, uint64_t at, size_t n, struct err *e)
{
	const struct databin *d = o->priv;
	uint8_t stored[PIECE], mine[PIECE];
	int rc = src_read(o->src, stored, n, at, "table", e);

	if (rc)
		return rc;
	memcpy(mine, stored, n);
	if (d->coded)
		mhp_cipher.decrypt(0, at, mine, n);
	encode_table(d, entries, at, mine, n);
	if (d->coded)
		mhp_cipher.encrypt(0, at, mine, n);
	return mhp_same(o->src, at, "table", stored, mine, n, e);
}

static int databin_verify(struct object *o, const struct entries *entries, struct err *e)
{
	const struct databin *d = o->priv;
	int rc = 0;

	for (uint64_t at = 0; at < d->len && !rc; at += PIECE)
		rc = verify_piece(o, entries, at, d->len - at < PIECE ? (size_t)(d->len - at) : PIECE, e);
	if (!rc && o->src->size % BLOCK)
		return err_at(e, EBADMSG, o->src, o->src->size, "end of the archive",
			      "%u bytes of its last block are missing", (unsigned)(BLOCK - o->src->size % BLOCK));
	return rc;
}

static int databin_info(struct object *o, const struct entries *entries, struct doc *doc, struct err *e)
{
	const struct databin *d = o->priv;

	(void)e;
	doc_text(doc, "kind", DOC_PLAIN, "DATA.BIN, %s", d->coded ? "encrypted" : "not encrypted");
	doc_text(doc, "game", DOC_PLAIN, "%s", game_names[d->game]);
	doc_text(doc, "layout", DOC_PLAIN, "%s", variants[d->game].version);
	doc_text(doc, "files", DOC_PLAIN, "%u", entries->n);
	doc_text(doc, "empty_files", DOC_PLAIN, "%u", d->nempty);
	doc_text(doc, "plain_files", DOC_PLAIN, "%u", d->nplain);
	doc_text(doc, "exact_sizes", DOC_PLAIN, "%u", d->npairs);
	doc_text(doc, "blocks", DOC_PLAIN, "%" PRIu64, d->blocks);
	if (o->src->size % BLOCK)
		doc_text(doc, "missing_bytes", DOC_PLAIN, "%u", (unsigned)(BLOCK - o->src->size % BLOCK));
	return 0;
}

/* ---- format ---- */

static const struct container_ops container = {
	.list = databin_list, .verify = databin_verify, .info = databin_info, .resize = databin_resize,
	.cipher = &mhp_cipher, .stored_plain = databin_plain_magic, .digits = 5, .labels = true, .in_order = true,
	.padded = true,
};

const struct format fmt_databin = {
	.name = "databin", .title = "PSP Monster Hunter archive (DATA.BIN)", .ext = "bin",
	.doc = "The archive that holds all files of a PSP Monster Hunter game, in blocks of 2048 bytes. Files have no "
	       "names, only numbers. Table and files are encrypted in all games but Freedom and Freedom 2.",
	.probe = databin_probe, .variants = variants, .nvariants = GAMES, .container = &container,
	.demo = mhpdemo_write,
};
