/* Sixteen lanes in four 128-bit registers. */
#include <stdint.h>
#include <arm_neon.h>

typedef float32x4x4_t V;

static inline V v_load(const float *p) { return (V){{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}}; }
static inline void v_store(float *p, V a) { for (int i = 0; i < 4; i++) vst1q_f32(p + 4 * i, a.val[i]); }
static inline V v_set(float x) { float32x4_t q = vdupq_n_f32(x); return (V){{q, q, q, q}}; }
#define PAIR(name, op)                                                                                  \
    static inline V name(V a, V b) {                                                                    \
        return (V){{op(a.val[0], b.val[0]), op(a.val[1], b.val[1]), op(a.val[2], b.val[2]), op(a.val[3], b.val[3])}}; \
    }
PAIR(v_add, vaddq_f32)
PAIR(v_sub, vsubq_f32)
PAIR(v_mul, vmulq_f32)
PAIR(v_div, vdivq_f32)
PAIR(v_max, vmaxq_f32)
PAIR(v_min, vminq_f32)
#undef PAIR
static inline V v_fma(V a, V b, V c) {
    return (V){{vfmaq_f32(c.val[0], a.val[0], b.val[0]), vfmaq_f32(c.val[1], a.val[1], b.val[1]),
                vfmaq_f32(c.val[2], a.val[2], b.val[2]), vfmaq_f32(c.val[3], a.val[3], b.val[3])}};
}
static inline V v_int(const int32_t *p) {
    return (V){{vcvtq_f32_s32(vld1q_s32(p)), vcvtq_f32_s32(vld1q_s32(p + 4)), vcvtq_f32_s32(vld1q_s32(p + 8)),
                vcvtq_f32_s32(vld1q_s32(p + 12))}};
}
static inline V v_pow2(V t) {
    V r;
    for (int i = 0; i < 4; i++) {
        int32x4_t bits = vaddq_s32(vreinterpretq_s32_f32(t.val[i]), vdupq_n_s32(127));
        r.val[i] = vreinterpretq_f32_s32(vshlq_n_s32(bits, 23));
    }
    return r;
}
static inline void v_store_low_bytes(uint8_t *p, V a) {
    uint16x8_t low = vcombine_u16(vmovn_u32(vreinterpretq_u32_f32(a.val[0])), vmovn_u32(vreinterpretq_u32_f32(a.val[1])));
    uint16x8_t high = vcombine_u16(vmovn_u32(vreinterpretq_u32_f32(a.val[2])), vmovn_u32(vreinterpretq_u32_f32(a.val[3])));
    vst1q_u8(p, vcombine_u8(vmovn_u16(low), vmovn_u16(high)));
}
static inline float v_total(V a) {
    float32x4_t r8a = vaddq_f32(a.val[0], a.val[2]), r8b = vaddq_f32(a.val[1], a.val[3]);
    float32x4_t r4 = vaddq_f32(r8a, r8b);
    float32x2_t r2 = vadd_f32(vget_low_f32(r4), vget_high_f32(r4));
    return vget_lane_f32(r2, 0) + vget_lane_f32(r2, 1);
}
static inline float v_largest(V a) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.val[0], a.val[1]), vmaxq_f32(a.val[2], a.val[3])));
}
