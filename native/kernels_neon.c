/* aarch64 with the dot-product extension, which every Graviton since the second has. */
#if defined(__aarch64__)
#include "lanes_neon.h"

#include <stddef.h>
#include <stdint.h>

enum { BYTE_SHIFT = 128, TILE_ROWS = 4, TILE_PANELS = 1, WIDE = 1 };

#define STEP(LANE)                                                                            \
    for (int c = 0; c < 4; c++) {                                                             \
        int8x16_t column = vld1q_s8(w + (size_t)(k + 4 * LANE) * 16 + (size_t)c * 16);        \
        for (int r = 0; r < ROWS_; r++) sum[r][c] = vdotq_laneq_s32(sum[r][c], column, sixteen[r], LANE); \
    }

#define TILE(ROWS)                                                                            \
    static void tile_##ROWS(const int8_t *w, uint32_t inputs, const uint8_t *q, int32_t *acc) { \
        enum { ROWS_ = ROWS };                                                                \
        int32x4_t sum[ROWS][4];                                                               \
        for (int r = 0; r < ROWS; r++)                                                        \
            for (int c = 0; c < 4; c++) sum[r][c] = vdupq_n_s32(0);                           \
        for (uint32_t k = 0; k < inputs; k += 16) {                                           \
            int8x16_t sixteen[ROWS];                                                          \
            for (int r = 0; r < ROWS; r++) sixteen[r] = vld1q_s8((const int8_t *)q + (size_t)r * inputs + k); \
            STEP(0) STEP(1) STEP(2) STEP(3)                                                   \
        }                                                                                     \
        for (int r = 0; r < ROWS; r++)                                                        \
            for (int c = 0; c < 4; c++) vst1q_s32(acc + r * 16 + c * 4, sum[r][c]);           \
    }

TILE(1) TILE(2) TILE(3) TILE(4)

static inline void tile(const int8_t *w, uint32_t inputs, uint32_t panels, const uint8_t *q, uint32_t rows, int32_t *acc) {
    static void (*const of[])(const int8_t *, uint32_t, const uint8_t *, int32_t *) = {tile_1, tile_2, tile_3, tile_4};
    (void)panels;
    of[rows - 1](w, inputs, q, acc);
}

#include "kernels_body.h"

PRESS_TABLE(press_neon, "neon")
#endif
