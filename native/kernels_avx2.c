/* x86 with AVX2 and FMA: products in 16 bits, so that no sum saturates. */
#if defined(__x86_64__)
#include "lanes_avx2.h"

#include <stddef.h>
#include <stdint.h>

enum { BYTE_SHIFT = 128, TILE_ROWS = 3, TILE_PANELS = 1, WIDE = 1 };

/* Twelve accumulators: four per row, each with two partial sums for four columns. */
#define TILE(ROWS)                                                                                             \
    static void tile_##ROWS(const int8_t *w, uint32_t inputs, const uint8_t *q, int32_t *acc) {                \
        __m256i sum[ROWS][4];                                                                                  \
        _Pragma("GCC unroll 4") for (int r = 0; r < ROWS; r++)                                                 \
            _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++) sum[r][c] = _mm256_setzero_si256();            \
        for (uint32_t k = 0; k < inputs; k += 4) {                                                             \
            __m256i four[ROWS];                                                                                \
            _Pragma("GCC unroll 4") for (int r = 0; r < ROWS; r++)                                             \
                four[r] = _mm256_cvtepi8_epi16(_mm_set1_epi32(*(const int32_t *)(q + (size_t)r * inputs + k))); \
            _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++) {                                              \
                __m256i column = _mm256_cvtepi8_epi16(                                                         \
                    _mm_loadu_si128((const __m128i *)(w + (size_t)k * 16 + (size_t)c * 16)));                  \
                _Pragma("GCC unroll 4") for (int r = 0; r < ROWS; r++)                                         \
                    sum[r][c] = _mm256_add_epi32(sum[r][c], _mm256_madd_epi16(column, four[r]));               \
            }                                                                                                  \
        }                                                                                                      \
        _Pragma("GCC unroll 4") for (int r = 0; r < ROWS; r++)                                                 \
            _Pragma("GCC unroll 2") for (int c = 0; c < 4; c += 2) {                                           \
                __m256i joined = _mm256_hadd_epi32(sum[r][c], sum[r][c + 1]);                                  \
                _mm256_storeu_si256((__m256i *)(acc + r * 16 + c * 4), _mm256_permute4x64_epi64(joined, 0xD8)); \
            }                                                                                                  \
    }

TILE(1) TILE(2) TILE(3)

static inline void tile(const int8_t *w, uint32_t inputs, uint32_t panels, const uint8_t *q, uint32_t rows, int32_t *acc) {
    static void (*const of[])(const int8_t *, uint32_t, const uint8_t *, int32_t *) = {tile_1, tile_2, tile_3};
    (void)panels;
    of[rows - 1](w, inputs, q, acc);
}

#include "kernels_body.h"

PRESS_TABLE(press_avx2, "avx2")
#endif
