/* Plain C, for any CPU: the reference that the other tables are compared with. */
#include <stddef.h>
#include <stdint.h>

#include "lanes_portable.h"

enum { BYTE_SHIFT = 128, TILE_ROWS = 1, TILE_PANELS = 1, WIDE = 1 };

static inline void tile(const int8_t *w, uint32_t inputs, uint32_t panels, const uint8_t *q, uint32_t rows, int32_t *acc) {
    (void)panels, (void)rows;
    for (int c = 0; c < 16; c++) acc[c] = 0;
    for (uint32_t k = 0; k < inputs; k += 4)
        for (uint32_t c = 0; c < 16; c++)
            for (uint32_t i = 0; i < 4; i++) acc[c] += w[(size_t)k * 16 + c * 4 + i] * (int8_t)q[k + i];
}

#include "kernels_body.h"

PRESS_TABLE(press_portable, "portable")
