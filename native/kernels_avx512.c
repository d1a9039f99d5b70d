/* x86 with AVX512 and VNNI. */
#if defined(__x86_64__)
#include "lanes_avx512.h"

#include <stddef.h>
#include <stdint.h>

enum { BYTE_SHIFT = 0, TILE_ROWS = 6, TILE_PANELS = 4, WIDE = 4 };

/* ROWS × PANELS accumulators, at most 24 of the 32 registers: four loads and six broadcasts for 24 products. */
#define TILE(ROWS, PANELS)                                                                                     \
    static void tile_##ROWS##_##PANELS(const int8_t *w, uint32_t inputs, const uint8_t *q, int32_t *acc) {    \
        __m512i sum[ROWS][PANELS];                                                                             \
        _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++)                                                 \
            _Pragma("GCC unroll 8") for (int p = 0; p < PANELS; p++) sum[r][p] = _mm512_setzero_si512();       \
        const size_t panel = (size_t)inputs * 16;                                                              \
        for (uint32_t k = 0; k < inputs; k += 4) {                                                             \
            __m512i column[PANELS];                                                                            \
            _Pragma("GCC unroll 8") for (int p = 0; p < PANELS; p++)                                           \
                column[p] = _mm512_loadu_si512(w + panel * (size_t)p + (size_t)k * 16);                        \
            _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {                                           \
                __m512i four = _mm512_set1_epi32(*(const int32_t *)(q + (size_t)r * inputs + k));              \
                _Pragma("GCC unroll 8") for (int p = 0; p < PANELS; p++)                                       \
                    sum[r][p] = _mm512_dpbusd_epi32(sum[r][p], four, column[p]);                               \
            }                                                                                                  \
        }                                                                                                      \
        _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++)                                                 \
            _Pragma("GCC unroll 8") for (int p = 0; p < PANELS; p++)                                           \
                _mm512_store_si512(acc + (r * PANELS + p) * 16, sum[r][p]);                                    \
    }

TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1)
TILE(1, 4) TILE(2, 4) TILE(3, 4) TILE(4, 4) TILE(5, 4) TILE(6, 4)

typedef void tile_function(const int8_t *w, uint32_t inputs, const uint8_t *q, int32_t *acc);

static inline void tile(const int8_t *w, uint32_t inputs, uint32_t panels, const uint8_t *q, uint32_t rows, int32_t *acc) {
    static tile_function *const one[] = {tile_1_1, tile_2_1, tile_3_1, tile_4_1, tile_5_1, tile_6_1};
    static tile_function *const four[] = {tile_1_4, tile_2_4, tile_3_4, tile_4_4, tile_5_4, tile_6_4};
    (panels == 4 ? four : one)[rows - 1](w, inputs, q, acc);
}

#include "kernels_body.h"

PRESS_TABLE(press_avx512, "avx512")
#endif
