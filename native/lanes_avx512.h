/* Sixteen lanes in one 512-bit register. */
#include <stdint.h>
#include <immintrin.h>

typedef __m512 V;

static inline V v_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void v_store(float *p, V a) { _mm512_storeu_ps(p, a); }
static inline V v_set(float x) { return _mm512_set1_ps(x); }
static inline V v_add(V a, V b) { return _mm512_add_ps(a, b); }
static inline V v_sub(V a, V b) { return _mm512_sub_ps(a, b); }
static inline V v_mul(V a, V b) { return _mm512_mul_ps(a, b); }
static inline V v_div(V a, V b) { return _mm512_div_ps(a, b); }
static inline V v_fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
static inline V v_max(V a, V b) { return _mm512_max_ps(a, b); }
static inline V v_min(V a, V b) { return _mm512_min_ps(a, b); }
static inline V v_int(const int32_t *p) { return _mm512_cvtepi32_ps(_mm512_loadu_si512(p)); }

static inline V v_pow2(V t) {
    __m512i bits = _mm512_add_epi32(_mm512_castps_si512(t), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 23));
}

static inline void v_store_low_bytes(uint8_t *p, V a) {
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(_mm512_castps_si512(a)));
}

static inline float v_total(V a) {
    __m256 r8 = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 r4 = _mm_add_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
    __m128 r2 = _mm_add_ps(r4, _mm_movehl_ps(r4, r4));
    return _mm_cvtss_f32(_mm_add_ss(r2, _mm_movehdup_ps(r2)));
}

static inline float v_largest(V a) { return _mm512_reduce_max_ps(a); }
