/* The work that depends on the instruction set, behind one table.
 *
 * Every table gives the same bits: integer sums are exact, and float work follows one order on all of
 * them. A float vector is sixteen virtual lanes (V in lanes_*.h); lane i of a sum adds elements
 * i, i+16, i+32, …; lanes are joined by one tree (8 apart, 4, 2, 1); a multiply-add is always fused.
 */
#ifndef PRESS_KERNELS_H
#define PRESS_KERNELS_H

#include <stdint.h>

enum { PRESS_LANES = 16, PRESS_PANEL = 16 };

enum press_activation { PRESS_LINEAR = 0, PRESS_GELU = 1, PRESS_RELU = 2, PRESS_TANH = 3, PRESS_SILU = 4, PRESS_GELU_TANH = 5 };

/* A quantized matrix, K inputs to N outputs, in panels of sixteen columns: [N/16][K/4][16][4] bytes. */
struct press_matrix {
    const int8_t *weights;
    const float *scales;      /* one per column */
    const float *bias;        /* one per column */
    const int32_t *sums;      /* of each column's weights */
    uint32_t inputs, outputs; /* multiples of 4 and 16 */
};

/* How a row was quantized. */
struct press_row {
    float scale;
    int32_t zero;
};

struct press_kernels {
    const char *name;

    /* One row of floats to bytes: x = scale · (byte − zero), with the row's whole range spread over 256 steps. */
    struct press_row (*quantize)(const float *x, uint8_t *q, uint32_t count);

    /* out[r][columns] = act(scale · (q × W) + bias) + residual, for rows of quantized input. */
    void (*linear)(const struct press_matrix *m, const uint8_t *q, const struct press_row *row, uint32_t rows,
                   uint32_t first_column, uint32_t columns, enum press_activation act, const float *residual,
                   float *out, uint32_t out_stride);

    /* x = gamma · (x − mean) / √(variance + epsilon) + beta, for one row; beta may be null. */
    void (*layer_norm)(float *x, uint32_t count, const float *gamma, const float *beta, float epsilon);

    /* One head of one text: out = softmax(q·kᵀ + bias) · v. Rows lie `stride` floats apart.
     * `scratch` holds press_attention_scratch(tokens, size) floats. */
    void (*attention)(const float *q, const float *k, const float *v, uint32_t stride, uint32_t tokens,
                      uint32_t size, float *out, uint32_t out_stride, float *scratch);

    /* y += a · x */
    void (*add_scaled)(float *y, const float *x, float a, uint32_t count);

    /* x = x / ‖x‖ */
    void (*normalize)(float *x, uint32_t count);
};

enum { PRESS_QUERY_ROWS = 4 };

static inline uint32_t press_round_up(uint32_t count, uint32_t step) { return (count + step - 1) / step * step; }

/* Keys turned on their side, and the scores of a few queries. */
static inline uint32_t press_attention_scratch(uint32_t tokens, uint32_t size) {
    uint32_t padded = press_round_up(tokens, PRESS_LANES);
    return size * padded + PRESS_QUERY_ROWS * padded;
}

extern const struct press_kernels press_portable;
#if defined(__x86_64__)
extern const struct press_kernels press_avx2, press_avx512;
#elif defined(__aarch64__)
extern const struct press_kernels press_neon;
#endif

/* The best table that this CPU can run; `wish` names another one, for tests, or is null. */
const struct press_kernels *press_choose_kernels(const char *wish);

#endif
