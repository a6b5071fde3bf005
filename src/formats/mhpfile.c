/* Files of the PSP Monster Hunter games that are known by their first bytes and shown as they are (spec/mhp.md 2.1).
 * Their extension is all that this format gives. Two kinds of a stage are known only by their place in its PAC. */
#include <string.h>

#include "format.h"

#define ANYWHERE 0xffu

static const struct kind {
	const char *magic;
	uint8_t length;                        /* of the magic */
	uint8_t least;                         /* bytes that a file has at least */
	uint8_t entry;                         /* number of the PAC's entry that it must be, or ANYWHERE */
	const char *ext;
} kinds[] = {
	{ "HITS", 4, 4, ANYWHERE, "hits" },            /* collision */
	{ "\x02\0", 2, 14, 3, "env" },                 /* environment: fog colour and two distances follow */
	{ "\x02\x01", 2, 2, 4, "bin" },                /* parameters of a stage */
	{ "MWo3", 4, 4, ANYWHERE, "ovl" },             /* code overlay */
	{ "Head", 4, 4, ANYWHERE, "phd" },             /* sound header */
	{ "NSP\0", 4, 4, ANYWHERE, "bin" },            /* MHP3rd monster data */
	{ "ASB\0", 4, 4, ANYWHERE, "bin" },
	{ "ARV\0", 4, 4, ANYWHERE, "bin" },
	{ "RIFF", 4, 4, ANYWHERE, "at3" },             /* ATRAC3 stream */
	{ "MIG.", 4, 4, ANYWHERE, "gim" },             /* picture */
	{ "\x89PNG", 4, 4, ANYWHERE, "png" },
	{ "GIF8", 4, 4, ANYWHERE, "gif" },
	{ "PSMF", 4, 4, ANYWHERE, "pmf" },             /* movie */
	{ "~PSP", 4, 4, ANYWHERE, "prx" },             /* module */
	{ "\x7f" "ELF", 4, 4, ANYWHERE, "prx" },
	{ "dbsT", 4, 4, ANYWHERE, "bin" },             /* MHFU data table */
	{ "\0\0\0\x14", 4, 4, ANYWHERE, "geo" },       /* geometry of the model before; a display list's ORIGIN */
};

static const struct kind *kind_of(const struct probe *p)
{
	bool in_pac = p->within && !strcmp(p->within->name, "pac");

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct kind *k = &kinds[i];

		/* The first byte rules nearly all of them out, and this runs for every entry nobody else knows. */
		if (p->size < k->least || p->n < k->length || *p->head != (uint8_t)*k->magic ||
		    memcmp(p->head, k->magic, k->length))
			continue;
		if (k->entry == ANYWHERE || (in_pac && p->index == k->entry))
			return k;
	}
	return NULL;
}

static int mhpfile_probe(struct probe *p)
{
	return kind_of(p) ? 10 : 0;
}

static const char *mhpfile_extension(struct probe *p)
{
	const struct kind *k = kind_of(p);

	return k ? k->ext : "bin";
}

const struct format fmt_mhpfile = {
	.name = "mhpfile", .title = "other file of a PSP Monster Hunter game",
	.doc = "Files that are recognised and shown with their extension, but not decoded.",
	.probe = mhpfile_probe, .extension = mhpfile_extension,
};
