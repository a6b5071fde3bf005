#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 65536u
#define SIZE_MOST ((uint64_t)1 << 40)          /* of a file, holes included: a page takes 8 bytes of table */

struct store {
	struct source *base;                   /* held; NULL: zeros */
	uint64_t base_size;                    /* bytes of base that still show */
	uint64_t size;
	uint8_t **page;                        /* NULL: as in base. ON_DISC: in the temporary file */
	size_t npages, present;                /* table entries; pages held */
	int fd;                                /* -1: pages are in memory */
	_Atomic uint64_t *used;
};

static uint8_t on_disc;
#define ON_DISC (&on_disc)                     /* only compared */

struct store *store_new(struct source *base, _Atomic uint64_t *used)
{
	struct store *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->fd = -1;
	s->used = used;
	s->base = base ? src_ref(base) : NULL;
	s->size = s->base_size = base ? base->size : 0;
	return s;
}

static void drop_page(struct store *s, size_t i)
{
	if (!s->page[i])
		return;
	if (s->page[i] != ON_DISC)
		free(s->page[i]);
	s->page[i] = NULL;
	s->present--;
	atomic_fetch_sub(s->used, PAGE);
}

void store_free(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->npages; i++)
		drop_page(s, i);
	free(s->page);
	if (s->fd >= 0)
		close(s->fd);
	src_put(s->base);
	free(s);
}

uint64_t store_size(const struct store *s)
{
	return s->size;
}

/* ---- pages ---- */

static int pwrite_all(int fd, const uint8_t *p, size_t n, uint64_t at)
{
	while (n) {
		ssize_t done = pwrite(fd, p, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static int read_base(const struct store *s, uint8_t *p, size_t n, uint64_t at)
{
	size_t have = at >= s->base_size ? 0 : s->base_size - at < n ? (size_t)(s->base_size - at) : n;

	memset(p + have, 0, n - have);
	return have ? src_pread(s->base, p, have, at) : 0;
}

/* n bytes that lie in one page. */
static int read_page(const struct store *s, uint8_t *p, size_t n, uint64_t at)
{
	size_t i = (size_t)(at / PAGE);

	if (i >= s->npages || !s->page[i])
		return read_base(s, p, n, at);
	if (s->page[i] == ON_DISC)
		return src_fd_read(s->fd, p, n, at);
	memcpy(p, s->page[i] + at % PAGE, n);
	return 0;
}

static int open_temporary(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[] = "/tmp/modelfs-XXXXXX";

	if (fd >= 0)
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd >= 0 ? fd : -errno;
}

static int move_to_disc(struct store *s)
{
	int fd = open_temporary(), rc = 0;

	if (fd < 0)
		return fd;
	for (size_t i = 0; i < s->npages && !rc; i++)
		if (s->page[i])
			rc = pwrite_all(fd, s->page[i], PAGE, (uint64_t)i * PAGE);
	if (rc) {
		close(fd);
		return rc;
	}
	for (size_t i = 0; i < s->npages; i++) {
		if (s->page[i]) {
			free(s->page[i]);
			s->page[i] = ON_DISC;
		}
	}
	s->fd = fd;
	return 0;
}

static int grow_table(struct store *s, size_t n)
{
	size_t most = s->npages + s->npages / 2 > n ? s->npages + s->npages / 2 : n;
	uint8_t **page;

	if (n <= s->npages)
		return 0;
	page = realloc(s->page, most * sizeof *page);
	if (!page)
		return -ENOMEM;
	memset(page + s->npages, 0, (most - s->npages) * sizeof *page);
	s->page = page;
	s->npages = most;
	return 0;
}

/* Makes page i the store's own, with the contents it shows. */
static int own_page(struct store *s, size_t i)
{
	uint8_t *p;
	int rc = grow_table(s, i + 1);

	if (rc || s->page[i])
		return rc;
	if (atomic_fetch_add(s->used, PAGE) + PAGE > STORE_MOST)
		rc = -ENOSPC;
	else if (s->fd < 0 && (s->present + 1) * PAGE > STORE_IN_MEMORY)
		rc = move_to_disc(s);
	p = rc ? NULL : malloc(PAGE);
	if (!rc)
		rc = p ? read_base(s, p, PAGE, (uint64_t)i * PAGE) : -ENOMEM;
	if (!rc && s->fd >= 0)
		rc = pwrite_all(s->fd, p, PAGE, (uint64_t)i * PAGE);
	if (rc || s->fd >= 0)
		free(p);
	if (rc) {
		atomic_fetch_sub(s->used, PAGE);
		return rc;
	}
	s->page[i] = s->fd >= 0 ? ON_DISC : p;
	s->present++;
	return 0;
}

/* ---- reading and writing ---- */

static size_t in_page(uint64_t at, size_t n)
{
	return PAGE - at % PAGE < n ? (size_t)(PAGE - at % PAGE) : n;
}

int store_read(struct store *s, void *buf, size_t n, uint64_t at)
{
	uint8_t *p = buf;
	size_t all, part;
	int rc = 0;

	if (at >= s->size)
		return 0;
	n = s->size - at < n ? (size_t)(s->size - at) : n;
	n = n < INT32_MAX ? n : INT32_MAX;
	for (all = n; n && !rc; n -= part, p += part, at += part) {
		part = in_page(at, n);
		rc = read_page(s, p, part, at);
	}
	return rc ? rc : (int)all;
}

int store_write(struct store *s, const void *buf, size_t n, uint64_t at)
{
	const uint8_t *p = buf;
	size_t part;
	int rc = 0;

	if (!span_ok(SIZE_MOST, at, n, 1))
		return -EFBIG;
	for (; n && !rc; n -= part, p += part, at += part) {
		size_t i = (size_t)(at / PAGE);

		part = in_page(at, n);
		rc = own_page(s, i);
		if (!rc && s->page[i] == ON_DISC)
			rc = pwrite_all(s->fd, p, part, at);
		else if (!rc)
			memcpy(s->page[i] + at % PAGE, p, part);
		if (!rc && at + part > s->size)
			s->size = at + part;
	}
	return rc;
}

/* What a page holds behind the new end must read as zero when the file grows again. */
static int clear_behind(struct store *s, uint64_t size)
{
	size_t i = (size_t)(size / PAGE), n = PAGE - size % PAGE;
	uint8_t *zero;
	int rc;

	if (!(size % PAGE) || i >= s->npages || !s->page[i])
		return 0;
	if (s->page[i] != ON_DISC) {
		memset(s->page[i] + size % PAGE, 0, n);
		return 0;
	}
	zero = calloc(1, n);
	rc = zero ? pwrite_all(s->fd, zero, n, size) : -ENOMEM;
	free(zero);
	return rc;
}

int store_truncate(struct store *s, uint64_t size)
{
	int rc = size > SIZE_MOST ? -EFBIG : size < s->size ? clear_behind(s, size) : 0;

	if (rc)
		return rc;
	for (size_t i = (size_t)((size + PAGE - 1) / PAGE); i < s->npages; i++)
		drop_page(s, i);
	s->base_size = s->base_size < size ? s->base_size : size;
	s->size = size;
	return 0;
}

int store_text(struct store *s, size_t most, struct buf *out, struct err *e)
{
	uint8_t *p;
	int rc;

	if (s->size > most)
		return err_set(e, EFBIG, "%llu bytes, at most %zu are read", (unsigned long long)s->size, most);
	p = buf_room(out, (size_t)s->size + 1);
	if (!p)
		return err_nomem(e);
	rc = store_read(s, p, (size_t)s->size, 0);
	if (rc < 0)
		return err_set(e, -rc, "%s", strerror(-rc));
	out->len += (size_t)rc;
	return 0;
}

int store_each(struct store *s, int (*fn)(void *ctx, uint64_t at, const uint8_t *p, size_t n), void *ctx)
{
	uint8_t *room = malloc(PAGE);
	int rc = room ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < s->size && !rc; at += PAGE) {
		size_t i = (size_t)(at / PAGE), n = s->size - at < PAGE ? (size_t)(s->size - at) : PAGE;

		/* Behind what still shows of the base there are zeros, which no page says. */
		if ((i >= s->npages || !s->page[i]) && at + n <= s->base_size)
			continue;
		rc = read_page(s, room, n, at);
		if (!rc)
			rc = fn(ctx, at, room, n);
	}
	free(room);
	return rc;
}

int store_copy(struct store *s, struct store **out)
{
	struct store *copy = store_new(NULL, s->used);
	uint8_t *room = malloc(PAGE);
	int rc = copy && room ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < s->size && !rc; at += PAGE) {
		size_t i = (size_t)(at / PAGE), n = s->size - at < PAGE ? (size_t)(s->size - at) : PAGE;

		if (at >= s->base_size && (i >= s->npages || !s->page[i]))
			continue;
		rc = read_page(s, room, n, at);
		rc = rc ? rc : store_write(copy, room, n, at);
	}
	rc = rc ? rc : store_truncate(copy, s->size);
	free(room);
	if (rc)
		store_free(copy);
	else
		*out = copy;
	return rc;
}
