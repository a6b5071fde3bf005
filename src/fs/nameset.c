#include "nameset.h"

#include <stdlib.h>
#include <sys/random.h>

#define FIRST 1024u

static uint64_t hash_of(const struct nameset *s, const char *name)
{
	uint64_t h = s->seed;

	for (; *name; name++) {
		h = (h ^ (uint8_t)*name) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	return h | 1;
}

static uint64_t *slot_of(const struct nameset *s, uint64_t hash)
{
	size_t i = (size_t)(hash >> 8) & (s->size - 1);

	while (s->v[i] && s->v[i] != hash)
		i = (i + 1) & (s->size - 1);
	return &s->v[i];
}

static bool grow(struct nameset *s)
{
	struct nameset old = *s;

	if (!s->size && getrandom(&s->seed, sizeof s->seed, GRND_NONBLOCK) != sizeof s->seed)
		s->seed = (uintptr_t)s;
	s->size = s->size ? s->size * 2 : FIRST;
	s->v = calloc(s->size, sizeof *s->v);
	if (!s->v) {
		*s = old;
		return false;
	}
	for (size_t i = 0; i < old.size; i++)
		if (old.v[i])
			*slot_of(s, old.v[i]) = old.v[i];
	free(old.v);
	return true;
}

bool nameset_add(struct nameset *s, const char *name)
{
	uint64_t *slot, hash;

	if (s->n >= s->size / 2 && !grow(s))
		return false;
	hash = hash_of(s, name);
	slot = slot_of(s, hash);
	s->n += !*slot;
	*slot = hash;
	return true;
}

bool nameset_has(const struct nameset *s, const char *name)
{
	return s->size && *slot_of(s, hash_of(s, name));
}

void nameset_free(struct nameset *s)
{
	free(s->v);
	*s = (struct nameset){ 0 };
}
