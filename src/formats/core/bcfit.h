/* Fitting a block of 4 x 4 pixels to what block compression (BC1 to BC3, DXT) can say: two end colours of 5, 6 and 5
 * bits, steps between them, and a step for each pixel; the same for alpha. How ends become steps is the format's; how
 * the bits lie is the format's too. */
#ifndef MODELFS_BCFIT_H
#define MODELFS_BCFIT_H

#include "base.h"

/* Red in the high bits. */
struct bc_colours { uint16_t end[2]; uint8_t pick[16]; };

/* The four colours that two ends give; a step that is transparent black has alpha 0, all others 255. */
typedef void bc_steps(const uint16_t end[2], uint8_t step[4][4]);

/* Ends and picks with a small squared error. A pixel of weight 0 takes any step. clear: pixels of which it says so take
 * a step with alpha 0, all others one without; NULL: alpha of steps does not matter. The same pixels give the same
 * fit; pixels that are all equal, or of two colours that ends can be, are met exactly. */
void bc_fit(const uint8_t rgba[16][4], const float weight[16], const bool *clear, bc_steps *steps,
	    struct bc_colours *out);

/* The eight alphas that two ends give: see bc_fit(). */
typedef void bc_alpha_steps(const uint8_t end[2], uint8_t step[8]);
struct bc_alpha { uint8_t end[2], pick[16]; };

/* used: pixels that count. */
void bc_fit_alpha(const uint8_t alpha[16], const bool used[16], bc_alpha_steps *steps, struct bc_alpha *out);

#endif
