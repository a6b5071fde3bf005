/* Cue sheets: what is one has a data track, and its tracks lie one behind the other. */
#include <errno.h>
#include <string.h>

#include "cue.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cue c;
	struct err why = { 0 };
	char *text = malloc(size + !size);     /* of its exact length, so that reading past it is seen */
	int rc;

	if (!text)
		return 0;
	memcpy(text, data, size);
	rc = cue_parse(text, size, &c, &why);
	free(text);
	if (rc && ((rc != -EBADMSG && rc != -ENOENT) || why.code != -rc || !*why.text))
		abort();
	if (rc)
		return 0;
	if (c.data >= c.ntracks || c.track[c.data].mode == CUE_AUDIO || !*c.name)
		abort();
	for (uint32_t k = 0; k < c.ntracks; k++) {
		const struct cue_track *t = &c.track[k];
		uint64_t at, next;
		uint32_t n, more, base;

		cue_place(&c, k, &at, &n);
		cue_base(&c, k, &base);
		if (k + 1 == c.ntracks || t[1].file != t->file)
			continue;
		cue_place(&c, k + 1, &next, &more);
		if (next != at + (uint64_t)n * cue_mode_bytes(t->mode) +
			    (uint64_t)(t[1].start - t[1].first) * cue_mode_bytes(t[1].mode))
			abort();
	}
	return 0;
}
