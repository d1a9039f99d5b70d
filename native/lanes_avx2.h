/* Sixteen lanes in two 256-bit registers. */
#include <stdint.h>
#include <immintrin.h>

typedef struct { __m256 a, b; } V;

static inline V v_load(const float *p) { return (V){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
static inline void v_store(float *p, V x) { _mm256_storeu_ps(p, x.a); _mm256_storeu_ps(p + 8, x.b); }
static inline V v_set(float x) { return (V){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
static inline V v_add(V x, V y) { return (V){_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
static inline V v_sub(V x, V y) { return (V){_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
static inline V v_mul(V x, V y) { return (V){_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
static inline V v_div(V x, V y) { return (V){_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
static inline V v_fma(V x, V y, V z) { return (V){_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
static inline V v_max(V x, V y) { return (V){_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
static inline V v_min(V x, V y) { return (V){_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
static inline V v_int(const int32_t *p) {
    return (V){_mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)p)),
               _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)(p + 8)))};
}

static inline __m256 v_pow2_half(__m256 t) {
    __m256i bits = _mm256_add_epi32(_mm256_castps_si256(t), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 23));
}
static inline V v_pow2(V t) { return (V){v_pow2_half(t.a), v_pow2_half(t.b)}; }

static inline void v_store_low_bytes(uint8_t *p, V x) {
    __m256i low = _mm256_set1_epi32(255);
    __m256i a = _mm256_and_si256(_mm256_castps_si256(x.a), low), b = _mm256_and_si256(_mm256_castps_si256(x.b), low);
    __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xD8);
    _mm_storeu_si128((__m128i *)p, _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}

static inline float v_total(V x) {
    __m256 r8 = _mm256_add_ps(x.a, x.b);
    __m128 r4 = _mm_add_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
    __m128 r2 = _mm_add_ps(r4, _mm_movehl_ps(r4, r4));
    return _mm_cvtss_f32(_mm_add_ss(r2, _mm_movehdup_ps(r2)));
}

static inline float v_largest(V x) {
    __m256 r8 = _mm256_max_ps(x.a, x.b);
    __m128 r4 = _mm_max_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
    __m128 r2 = _mm_max_ps(r4, _mm_movehl_ps(r4, r4));
    return _mm_cvtss_f32(_mm_max_ss(r2, _mm_movehdup_ps(r2)));
}
