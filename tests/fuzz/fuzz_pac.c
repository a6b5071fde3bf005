/* PAC, and the formats that only recognise: whatever the bytes, probe and list agree and entries lie in the file. */
#include "build.h"
#include "fuzz.h"

extern const struct format fmt_pac, fmt_mhpfile;

static void recognise(struct source *src)
{
	uint8_t room[PROBE_MOST];
	struct probe p = { .name = "", .within = &fmt_pac, .index = 3, .size = src->size, .src = src, .room = room };

	format_detect(&p, NULL);
	if (!fmt_mhpfile.extension(&p))
		abort();
}

static void use(struct object *o, const struct entries *entries)
{
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	struct err why;

	for (uint32_t i = 0; i < entries->n; i++) {
		struct source *entry = entry_source(o->src, &fmt_pac, &entries->v[i]);
		uint8_t byte;

		if (!entry || (entry->size && src_pread(entry, &byte, 1, entry->size - 1)))
			abort();
		src_put(entry);
	}
	if (fmt_pac.container->info(o, entries, &quiet, &why) || fmt_pac.container->verify(o, entries, &why))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source *src = src_memory(data, size);
	struct entries entries;
	struct object *o;
	struct err why;
	int rc;

	if (!src)
		return 0;
	recognise(src);
	if (object_open(&fmt_pac, src, NULL, &o, &why))
		abort();
	rc = fmt_pac.container->list(o, &entries, &why);
	if ((rc == 0) != (build_probe(&fmt_pac, src, "", &fmt_pac, 3, &why) > 0))
		abort();
	if (!rc)
		use(o, &entries);
	object_close(o);
	src_put(src);
	return 0;
}
