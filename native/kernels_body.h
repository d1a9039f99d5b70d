/* All that is said once for every instruction set, in terms of sixteen lanes.
 *
 * A file that includes this has defined V and its operations (lanes_*.h) and, for integers:
 *   BYTE_SHIFT                what is taken off quantized bytes so that they fit the products: 128 or 0
 *   TILE_ROWS, TILE_PANELS    the largest tile that `tile` computes
 *   tile(…)                   integer products of a few rows and panels
 *   WIDE                      how many vectors of each of PRESS_QUERY_ROWS rows stay in registers
 */
#include "kernels.h"

#include <string.h>

/* Once in the library is enough: it is read at every cold start. */
#ifdef __clang__
#define LARGE __attribute__((noinline))
#else
#define LARGE __attribute__((noinline, noclone))
#endif
#define ROUND_MAGIC 12582912.0f /* 1.5·2²³: adding and taking it off again rounds to the nearest even */

/* eˣ for x ≤ 87, to 1e-7 of itself; what is below −87 counts as that. */
static inline V v_exp_below(V x) {
    x = v_max(v_set(-87.0f), x); /* in this order, what is no number stays none: also below */
    V t = v_fma(x, v_set(1.44269504f), v_set(ROUND_MAGIC));
    V n = v_sub(t, v_set(ROUND_MAGIC));
    V r = v_fma(n, v_set(-0.693359375f), x);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    V p = v_fma(v_set(1.3888889e-3f), r, v_set(8.3333333e-3f));
    p = v_fma(p, r, v_set(4.1666667e-2f));
    p = v_fma(p, r, v_set(1.6666667e-1f));
    p = v_fma(p, r, v_set(0.5f));
    p = v_fma(p, r, v_set(1.0f));
    p = v_fma(p, r, v_set(1.0f));
    return v_mul(p, v_pow2(t));
}

static inline V v_exp(V x) { return v_exp_below(v_min(v_set(87.0f), x)); }

/* x · (1 + erf(x/√2)) / 2, to 3e-5. The second factor is 1/2 + x·P(x²), fitted over |x| ≤ 4.4, where it ends at 1. */
static inline V v_gelu(V x) {
    static const float P[9] = {0.160404414f,   -0.0786123425f, 0.0552507751f,  -0.0400888883f, 0.0268004797f,
                               -0.0159779675f, 0.0109913843f,  -0.00788343232f, 0.00275194272f};
    V near = v_min(v_max(x, v_set(-4.4f)), v_set(4.4f));
    V s = v_fma(v_mul(near, near), v_set(0.103305787f), v_set(-1.0f));
    V p = v_set(P[8]);
    for (int i = 7; i >= 0; i--) p = v_fma(p, s, v_set(P[i]));
    return v_mul(x, v_fma(near, p, v_set(0.5f)));
}

/* 1 − 2 / (e²ˣ + 1) */
static inline V v_tanh(V x) {
    V e = v_exp(v_add(x, x));
    return v_sub(v_set(1.0f), v_div(v_set(2.0f), v_add(e, v_set(1.0f))));
}

static inline V v_silu(V x) { return v_div(x, v_add(v_set(1.0f), v_exp(v_sub(v_set(0.0f), x)))); }

/* x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³))): what some families mean by GELU. */
static inline V v_gelu_tanh(V x) {
    V inner = v_fma(v_mul(v_mul(x, x), x), v_set(0.0356774081f), v_mul(x, v_set(0.797884561f)));
    V half = v_mul(x, v_set(0.5f));
    return v_fma(half, v_tanh(inner), half);
}

static inline V activated(V x, enum press_activation act) {
    switch (act) {
    case PRESS_GELU: return v_gelu(x);
    case PRESS_RELU: return v_max(x, v_set(0.0f));
    case PRESS_TANH: return v_tanh(x);
    case PRESS_SILU: return v_silu(x);
    case PRESS_GELU_TANH: return v_gelu_tanh(x);
    default: return x;
    }
}

/* A little less than 255, so that no rounding carries the largest value past the last step. */
#define STEPS 254.99f

/* Zero is always a step of its own, so that nothing stays nothing; a row that is not finite gets no finite scale. Adding
 * the magic number leaves the rounded step in the low byte of each sum. */
LARGE static struct press_row quantize(const float *x, const float *factors, uint8_t *q, uint32_t count) {
    V high = v_set(0.0f), low = v_set(0.0f), wrong = v_set(0.0f);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) {
        V v = factors ? v_mul(v_load(x + i), v_load(factors + i)) : v_load(x + i);
        high = v_max(v, high); /* in this order, what is no number changes nothing */
        low = v_min(v, low);
        wrong = v_fma(v, v_set(0.0f), wrong); /* 0 · ∞ is no number, and stays one */
    }
    float above = v_largest(high), below = v_largest(v_sub(v_set(0.0f), low)), range = above + below;
    float scale = range / STEPS + v_total(wrong), steps = range > 1e-30f ? STEPS / range : 0.0f; /* less than that is nothing */
    float zero = (below * steps + ROUND_MAGIC) - ROUND_MAGIC;
    V factor = v_set(steps), shift = v_set(ROUND_MAGIC + (zero - (float)BYTE_SHIFT));
    for (uint32_t i = 0; i < count; i += PRESS_LANES) {
        V v = factors ? v_mul(v_load(x + i), v_load(factors + i)) : v_load(x + i);
        v_store_low_bytes(q + i, v_fma(v, factor, shift));
    }
    return (struct press_row){scale, -zero * scale};
}

/* The exact sums of a tile as floats: those of whole bytes, whatever was taken off them. */
static inline V whole_sums(const int32_t *acc, const int32_t *sums) {
    if (!BYTE_SHIFT) return v_int(acc);
    int32_t whole[PRESS_PANEL];
    for (int i = 0; i < PRESS_PANEL; i++) whole[i] = acc[i] + BYTE_SHIFT * sums[i];
    return v_int(whole);
}

LARGE static void linear(const struct press_matrix *m, const uint8_t *q, const struct press_row *quantized, uint32_t rows,
                         enum press_activation act, const float *residual, float *out) {
    int32_t acc[TILE_ROWS * TILE_PANELS * PRESS_PANEL] __attribute__((aligned(64)));
    for (uint32_t column = 0; column < m->outputs;) {
        /* Weights of a tile's columns stay in the nearest cache while all rows pass by. */
        uint32_t panels = (m->outputs - column) / PRESS_PANEL >= TILE_PANELS ? TILE_PANELS : 1;
        const int8_t *weights = m->weights + (size_t)column * m->inputs;
        for (uint32_t row = 0; row < rows;) {
            uint32_t many = rows - row < TILE_ROWS ? rows - row : TILE_ROWS;
            tile(weights, m->inputs, panels, q + (size_t)row * m->inputs, many, acc);
            for (uint32_t p = 0; p < panels; p++, column += PRESS_PANEL) {
                const int32_t *sums = m->sums + column;
                V scales = v_load(m->scales + column), bias = v_load(m->bias + column), shifts = v_mul(v_int(sums), scales);
                for (uint32_t r = 0; r < many; r++) {
                    struct press_row how = quantized[row + r];
                    size_t at = (size_t)(row + r) * m->outputs + column;
                    V y = v_fma(whole_sums(acc + (r * panels + p) * PRESS_PANEL, sums), v_mul(v_set(how.scale), scales),
                                v_fma(v_set(how.offset), shifts, bias));
                    y = activated(y, act);
                    v_store(out + at, residual ? v_add(y, v_load(residual + at)) : y);
                }
            }
            column -= panels * PRESS_PANEL;
            row += many;
        }
        column += panels * PRESS_PANEL;
    }
}

static void layer_norm(const float *x, float *y, uint32_t count, const float *gamma, const float *beta, float epsilon) {
    V sum = v_set(0.0f);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) sum = v_add(sum, v_load(x + i));
    V mean = v_set(v_total(sum) / (float)count), squares = v_set(0.0f);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) {
        V d = v_sub(v_load(x + i), mean);
        squares = v_fma(d, d, squares);
    }
    V factor = v_set(1.0f / __builtin_sqrtf(v_total(squares) / (float)count + epsilon));
    for (uint32_t i = 0; i < count; i += PRESS_LANES) {
        V d = v_mul(v_sub(v_load(x + i), mean), factor);
        V g = v_load(gamma + i);
        v_store(y + i, beta ? v_fma(d, g, v_load(beta + i)) : v_mul(d, g));
    }
}

enum { HALF = WIDE > 1 ? WIDE / 2 : 1 };
#define EACH(i, count) _Pragma("GCC unroll 8") for (int i = 0; i < count; i++)

static const float ONES[PRESS_QUERY_ROWS] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f};

/* out[r][column] = factors[r] · Σ x[r][i] · w[i][column], summed in the order of i, for at most PRESS_QUERY_ROWS rows. */
static inline void few_rows(const float *x, uint32_t stride, uint32_t rows, const float *w, uint32_t w_stride, uint32_t columns,
                            uint32_t inputs, const float *factors, float *out, uint32_t out_stride) {
    const float *row[PRESS_QUERY_ROWS];
    for (uint32_t r = 0; r < PRESS_QUERY_ROWS; r++) row[r] = x + (size_t)(r < rows ? r : 0) * stride;
    for (uint32_t column = 0; column < columns;) {
        uint32_t left = (columns - column) / PRESS_LANES;
#define TIMES(VECTORS)                                                                                                    \
    {                                                                                                                     \
        V acc[PRESS_QUERY_ROWS][VECTORS];                                                                                 \
        EACH(r, PRESS_QUERY_ROWS) EACH(c, VECTORS) acc[r][c] = v_set(0.0f);                                               \
        for (uint32_t i = 0; i < inputs; i++)                                                                             \
            EACH(c, VECTORS) {                                                                                            \
                V v = v_load(w + (size_t)i * w_stride + column + (uint32_t)c * PRESS_LANES);                              \
                EACH(r, PRESS_QUERY_ROWS) acc[r][c] = v_fma(v_set(row[r][i]), v, acc[r][c]);                              \
            }                                                                                                             \
        EACH(r, PRESS_QUERY_ROWS) if (r < (int)rows) {                                                                    \
            float *to = out + (size_t)r * out_stride + column;                                                            \
            EACH(c, VECTORS) v_store(to + (uint32_t)c * PRESS_LANES, v_mul(acc[r][c], v_set(factors[r])));                \
        }                                                                                                                 \
        column += VECTORS * PRESS_LANES;                                                                                  \
    }
        if (left >= WIDE) TIMES(WIDE)
        else if (left >= HALF) TIMES(HALF)
        else TIMES(1)
    }
}

#include "attention_body.h"

static void multiply(const float *x, uint32_t stride, uint32_t rows, const float *w, uint32_t w_stride, uint32_t columns,
                     uint32_t inputs, float *out) {
    for (uint32_t row = 0; row < rows; row += PRESS_QUERY_ROWS) {
        uint32_t many = rows - row < PRESS_QUERY_ROWS ? rows - row : PRESS_QUERY_ROWS;
        few_rows(x + (size_t)row * stride, stride, many, w, w_stride, columns, inputs, ONES,
                 out + (size_t)row * columns, columns);
    }
}

static void add_scaled(float *y, const float *x, float a, uint32_t count) {
    V factor = v_set(a);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) v_store(y + i, v_fma(v_load(x + i), factor, v_load(y + i)));
}

static void float_linear(const float *w, const float *bias, uint32_t inputs, uint32_t outputs, const float *x, uint32_t rows,
                         enum press_activation act, const float *residual, float *out) {
    multiply(x, inputs, rows, w, outputs, outputs, inputs, out);
    for (size_t row = 0; row < (size_t)rows * outputs; row += outputs)
        for (uint32_t i = 0; i < outputs; i += PRESS_LANES) {
            V y = activated(v_add(v_load(out + row + i), v_load(bias + i)), act);
            v_store(out + row + i, residual ? v_add(y, v_load(residual + row + i)) : y);
        }
}

static void rotate(float *x, const float *cosines, const float *sines, uint32_t heads, uint32_t size) {
    uint32_t half = size / 2;
    for (uint32_t head = 0; head < heads; head++, x += size)
        for (uint32_t i = 0; i < half; i++) {
            float first = x[i], second = x[half + i], cosine = cosines[i], sine = sines[i];
            x[i] = first * cosine - second * sine;
            x[half + i] = second * cosine + first * sine;
        }
}

static void gate(const float *x, const float *gate, float *y, uint32_t count, enum press_activation act) {
    for (uint32_t i = 0; i < count; i += PRESS_LANES) v_store(y + i, v_mul(activated(v_load(x + i), act), v_load(gate + i)));
}

static void normalize(float *x, uint32_t count) {
    V squares = v_set(0.0f);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) squares = v_fma(v_load(x + i), v_load(x + i), squares);
    float length = __builtin_sqrtf(v_total(squares));
    V divisor = v_set(length > 1e-12f ? length : 1e-12f);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) v_store(x + i, v_div(v_load(x + i), divisor));
}

#define PRESS_TABLE(table, title) \
    const struct press_kernels table = {title,      quantize,  linear, float_linear, multiply, add_scaled, \
                                        layer_norm, attention, rotate, gate, normalize};
