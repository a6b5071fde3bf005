/* Texture banks of one picture that is painted on and put back. What goes wrong fails the test. */
#ifndef MODELFS_TESTS_PAINTING_H
#define MODELFS_TESTS_PAINTING_H

#include "build_tmh.h"
#include "edited.h"

extern const struct format fmt_tmh;

#define PIXELS_AT 48u                          /* of the first image: bank header 16, image header 32 */

struct painting { struct arena a; struct geo_image img; };

void open_picture(struct edited *k, struct picture p);
/* The picture as it is, as RGBA to paint on; its palette and numbers too when it shows them. done() frees it. */
struct painting paint(struct edited *k);
uint8_t *pixel(struct painting *p, uint32_t x, uint32_t y);
void dot(struct painting *p, uint32_t x, uint32_t y, uint8_t r, uint8_t g, uint8_t b, uint8_t a);
/* Puts it as RGBA, like a PNG without a palette; again it changes nothing. */
void put_rgba(struct edited *k, struct painting *p);
/* Puts it with its palette and numbers. */
void put_indexed(struct edited *k, struct painting *p);
void shows(struct edited *k, uint32_t x, uint32_t y, uint8_t r, uint8_t g, uint8_t b, uint8_t a);
void shows_all(struct edited *k, struct painting *p);          /* what was put is what is shown */
void done(struct edited *k, struct painting *p);               /* closes both */

#endif
