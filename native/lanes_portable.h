/* Sixteen lanes in plain C: the meaning that the other lanes_*.h must match bit for bit. */
#include <stdint.h>
#include <math.h>
#include <string.h>

typedef struct { float f[16]; } V;

#define EACH(expression)                      \
    V r;                                      \
    for (int i = 0; i < 16; i++) r.f[i] = (expression); \
    return r

static inline V v_load(const float *p) { V r; memcpy(r.f, p, 64); return r; }
static inline void v_store(float *p, V a) { memcpy(p, a.f, 64); }
static inline V v_set(float x) { EACH(x); }
static inline V v_add(V a, V b) { EACH(a.f[i] + b.f[i]); }
static inline V v_sub(V a, V b) { EACH(a.f[i] - b.f[i]); }
static inline V v_mul(V a, V b) { EACH(a.f[i] * b.f[i]); }
static inline V v_div(V a, V b) { EACH(a.f[i] / b.f[i]); }
static inline V v_fma(V a, V b, V c) { EACH(fmaf(a.f[i], b.f[i], c.f[i])); }
static inline V v_max(V a, V b) { EACH(a.f[i] > b.f[i] ? a.f[i] : b.f[i]); }
static inline V v_min(V a, V b) { EACH(a.f[i] < b.f[i] ? a.f[i] : b.f[i]); }
static inline V v_int(const int32_t *p) { EACH((float)p[i]); }

/* 2ⁿ, where `t` is n + 1.5·2²³ as the rounding below leaves it. */
static inline V v_pow2(V t) {
    V r;
    for (int i = 0; i < 16; i++) {
        uint32_t bits;
        memcpy(&bits, &t.f[i], 4);
        bits = (bits + 127) << 23;
        memcpy(&r.f[i], &bits, 4);
    }
    return r;
}

/* The lowest byte of each lane's bits. */
static inline void v_store_low_bytes(uint8_t *p, V a) {
    for (int i = 0; i < 16; i++) memcpy(p + i, &a.f[i], 1);
}

static inline float v_total(V a) {
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++) a.f[i] = a.f[i] + a.f[i + half];
    return a.f[0];
}

static inline float v_largest(V a) {
    float r = a.f[0];
    for (int i = 1; i < 16; i++) r = a.f[i] > r ? a.f[i] : r;
    return r;
}
#undef EACH
