/* All that is said once for every instruction set, in terms of sixteen lanes.
 *
 * A file that includes this has defined V and its operations (lanes_*.h) and, for integers:
 *   BYTE_SHIFT                what is taken off quantized bytes so that they fit the products: 128 or 0
 *   TILE_ROWS, TILE_PANELS    the largest tile that `tile` computes
 *   tile(…)                   integer products of a few rows and panels
 *   exact(…)                  those sums as floats, less what the row's zero put into them
 *   SCORE_VECTORS, OUT_VECTORS  how many vectors of an attention row stay in registers
 */
#include "kernels.h"

#include <string.h>

#define ROUND_MAGIC 12582912.0f /* 1.5·2²³: adding and taking it off again rounds to the nearest even */

/* eˣ for −87 ≤ x ≤ 87, to 1e-7 of itself. */
static inline V v_exp(V x) {
    x = v_min(v_max(x, v_set(-87.0f)), v_set(87.0f));
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

/* x · (1 + erf(x/√2)) / 2, to 6e-6. The second factor is 1/2 + x·P(x²), fitted over |x| ≤ 4.8, where it ends at 1. */
static inline V v_gelu(V x) {
    static const float P[11] = {0.14696008f,    -0.0728657395f, 0.0528452285f,  -0.0405624285f, 0.0307932254f, -0.0222946648f,
                                0.0138894003f,  -0.00742839416f, 0.00548053253f, -0.00431654649f, 0.00148560049f};
    V near = v_min(v_max(x, v_set(-4.80832624f)), v_set(4.80832624f));
    V s = v_fma(v_mul(near, near), v_set(0.0865051895f), v_set(-1.0f));
    V p = v_set(P[10]);
    for (int i = 9; i >= 0; i--) p = v_fma(p, s, v_set(P[i]));
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

/* Zero is always a step of its own, so that nothing stays nothing; a row that is not finite gets no finite scale. */
static struct press_row quantize(const float *x, uint8_t *q, uint32_t count) {
    V high = v_set(0.0f), low = v_set(0.0f), wrong = v_set(0.0f);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) {
        V v = v_load(x + i);
        high = v_max(v, high); /* in this order, what is no number changes nothing */
        low = v_max(v_sub(v_set(0.0f), v), low);
        wrong = v_fma(v, v_set(0.0f), wrong); /* 0 · ∞ is no number, and stays one */
    }
    float above = v_largest(high), below = v_largest(low), range = above + below;
    float steps = range > 1e-30f && __builtin_isfinite(range) ? 255.0f / range : 0.0f;
    float zero = steps > 0.0f ? (below * steps + ROUND_MAGIC) - ROUND_MAGIC : 0.0f;
    V factor = v_set(steps), magic = v_set(ROUND_MAGIC), shift = v_set(zero), last = v_set(255.0f);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) {
        V whole = v_sub(v_add(v_mul(v_load(x + i), factor), magic), magic);
        v_store_bytes(q + i, v_min(v_add(whole, shift), last), -BYTE_SHIFT);
    }
    return (struct press_row){range / 255.0f + v_total(wrong), (int32_t)zero - BYTE_SHIFT};
}

static inline void finish(const struct press_matrix *m, const int32_t *acc, uint32_t column, struct press_row row,
                          enum press_activation act, const float *residual, float *out) {
    V scale = v_mul(v_set(row.scale), v_load(m->scales + column));
    V y = activated(v_fma(exact(acc, m->sums + column, row.zero), scale, v_load(m->bias + column)), act);
    if (residual) y = v_add(y, v_load(residual));
    v_store(out, y);
}

static void linear(const struct press_matrix *m, const uint8_t *q, const struct press_row *quantized, uint32_t rows,
                   uint32_t first_column, uint32_t columns, enum press_activation act, const float *residual,
                   float *out, uint32_t out_stride) {
    int32_t acc[TILE_ROWS * TILE_PANELS * PRESS_PANEL] __attribute__((aligned(64)));
    uint32_t end = first_column + columns;
    for (uint32_t column = first_column; column < end;) {
        /* Weights of a tile's columns stay in the nearest cache while all rows pass by. */
        uint32_t panels = (end - column) / PRESS_PANEL >= TILE_PANELS ? TILE_PANELS : 1;
        const int8_t *weights = m->weights + (size_t)column * m->inputs;
        for (uint32_t row = 0; row < rows;) {
            uint32_t many = rows - row < TILE_ROWS ? rows - row : TILE_ROWS;
            tile(weights, m->inputs, panels, q + (size_t)row * m->inputs, many, acc);
            for (uint32_t r = 0; r < many; r++) {
                size_t at = (size_t)(row + r) * out_stride + column;
                for (uint32_t p = 0; p < panels; p++)
                    finish(m, acc + (r * panels + p) * PRESS_PANEL, column + p * PRESS_PANEL, quantized[row + r], act,
                           residual ? residual + at + p * PRESS_PANEL : 0, out + at + p * PRESS_PANEL);
            }
            row += many;
        }
        column += panels * PRESS_PANEL;
    }
}

static void layer_norm(float *x, uint32_t count, const float *gamma, const float *beta, float epsilon) {
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
        v_store(x + i, beta ? v_fma(d, g, v_load(beta + i)) : v_mul(d, g));
    }
}

/* scores[r][key] = Σ q[r][d] · k[key][d], summed in the order of d. */
static inline void scores_of(const float *q, uint32_t stride, uint32_t rows, const float *turned, uint32_t padded,
                             uint32_t size, float *scores) {
    for (uint32_t key = 0; key < padded;) {
        uint32_t vectors = (padded - key) / PRESS_LANES >= SCORE_VECTORS ? SCORE_VECTORS : 1;
        V acc[PRESS_QUERY_ROWS][SCORE_VECTORS];
        for (int r = 0; r < PRESS_QUERY_ROWS; r++)
            for (int c = 0; c < SCORE_VECTORS; c++) acc[r][c] = v_set(0.0f);
#define ROWS_TIMES(VECTORS)                                                              \
    for (uint32_t d = 0; d < size; d++)                                                  \
        for (int c = 0; c < VECTORS; c++) {                                              \
            V k = v_load(turned + (size_t)d * padded + key + (uint32_t)c * PRESS_LANES); \
            for (int r = 0; r < PRESS_QUERY_ROWS; r++)                                   \
                acc[r][c] = v_fma(v_set(q[(r < (int)rows ? r : 0) * (size_t)stride + d]), k, acc[r][c]); \
        }
        if (vectors == SCORE_VECTORS) {
            ROWS_TIMES(SCORE_VECTORS)
        } else {
            ROWS_TIMES(1)
        }
        for (uint32_t r = 0; r < rows; r++)
            for (uint32_t c = 0; c < vectors; c++) v_store(scores + r * padded + key + c * PRESS_LANES, acc[r][c]);
        key += vectors * PRESS_LANES;
    }
}

/* Turns scores into e^(score − largest), zero past the end; returns 1 / their sum. */
static inline float soften(float *scores, uint32_t tokens, uint32_t padded) {
    for (uint32_t i = tokens; i < padded; i++) scores[i] = scores[0];
    V peak = v_load(scores);
    for (uint32_t i = PRESS_LANES; i < padded; i += PRESS_LANES) peak = v_max(peak, v_load(scores + i));
    V largest = v_set(v_largest(peak)), sum = v_set(0.0f);
    for (uint32_t i = 0; i < padded; i += PRESS_LANES) v_store(scores + i, v_exp(v_sub(v_load(scores + i), largest)));
    for (uint32_t i = tokens; i < padded; i++) scores[i] = 0.0f;
    for (uint32_t i = 0; i < padded; i += PRESS_LANES) sum = v_add(sum, v_load(scores + i));
    return 1.0f / v_total(sum);
}

/* out[r] = factor[r] · Σ p[r][key] · v[key], summed in the order of keys. */
static inline void mix(const float *p, uint32_t padded, const float *v, uint32_t stride, uint32_t tokens, uint32_t rows,
                       uint32_t size, const float *factors, float *out, uint32_t out_stride) {
    for (uint32_t d = 0; d < size;) {
        uint32_t vectors = (size - d) / PRESS_LANES >= OUT_VECTORS ? OUT_VECTORS : 1;
        V acc[PRESS_QUERY_ROWS][OUT_VECTORS];
        for (int r = 0; r < PRESS_QUERY_ROWS; r++)
            for (int c = 0; c < OUT_VECTORS; c++) acc[r][c] = v_set(0.0f);
#define MIX_TIMES(VECTORS)                                                                        \
    for (uint32_t key = 0; key < tokens; key++)                                                   \
        for (int c = 0; c < VECTORS; c++) {                                                       \
            V x = v_load(v + (size_t)key * stride + d + (uint32_t)c * PRESS_LANES);               \
            for (int r = 0; r < PRESS_QUERY_ROWS; r++) acc[r][c] = v_fma(v_set(p[r * padded + key]), x, acc[r][c]); \
        }
        if (vectors == OUT_VECTORS) {
            MIX_TIMES(OUT_VECTORS)
        } else {
            MIX_TIMES(1)
        }
        for (uint32_t r = 0; r < rows; r++)
            for (uint32_t c = 0; c < vectors; c++)
                v_store(out + (size_t)r * out_stride + d + c * PRESS_LANES, v_mul(acc[r][c], v_set(factors[r])));
        d += vectors * PRESS_LANES;
    }
}

static void attention(const float *q, const float *k, const float *v, uint32_t stride, uint32_t tokens, uint32_t size,
                      float *out, uint32_t out_stride, float *scratch) {
    uint32_t padded = press_round_up(tokens, PRESS_LANES);
    float *turned = scratch, *scores = scratch + (size_t)size * padded;
    for (uint32_t d = 0; d < size; d++) {
        float *row = turned + (size_t)d * padded;
        for (uint32_t key = 0; key < tokens; key++) row[key] = k[(size_t)key * stride + d];
        for (uint32_t key = tokens; key < padded; key++) row[key] = 0.0f;
    }
    memset(scores, 0, sizeof(float) * PRESS_QUERY_ROWS * padded);
    for (uint32_t row = 0; row < tokens; row += PRESS_QUERY_ROWS) {
        uint32_t rows = tokens - row < PRESS_QUERY_ROWS ? tokens - row : PRESS_QUERY_ROWS;
        float factors[PRESS_QUERY_ROWS];
        scores_of(q + (size_t)row * stride, stride, rows, turned, padded, size, scores);
        for (uint32_t r = 0; r < rows; r++) factors[r] = soften(scores + r * padded, tokens, padded);
        mix(scores, padded, v, stride, tokens, rows, size, factors, out + (size_t)row * out_stride, out_stride);
    }
}

static void add_scaled(float *y, const float *x, float a, uint32_t count) {
    V factor = v_set(a);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) v_store(y + i, v_fma(v_load(x + i), factor, v_load(y + i)));
}

static void normalize(float *x, uint32_t count) {
    V squares = v_set(0.0f);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) squares = v_fma(v_load(x + i), v_load(x + i), squares);
    float length = __builtin_sqrtf(v_total(squares));
    V divisor = v_set(length > 1e-12f ? length : 1e-12f);
    for (uint32_t i = 0; i < count; i += PRESS_LANES) v_store(x + i, v_div(v_load(x + i), divisor));
}

#define PRESS_TABLE(table, title) \
    const struct press_kernels table = {title, quantize, linear, layer_norm, attention, add_scaled, normalize};
