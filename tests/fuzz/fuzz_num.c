/* Numbers from text: what is read prints as text that reads back to the same number. */
#include "bytes.h"
#include "fuzz.h"
#include "num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[NUM_MAX];
	float v, again;

	if (!num_parse_f32((const char *)data, size, &v))
		return 0;
	if (!num_parse_f32(text, num_f32(text, v, false), &again) || f32_bits(v) != f32_bits(again))
		abort();
	return 0;
}
