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
    uint32_t inputs, outputs; /* multiples of 16 */
};

/* How a row was quantized: x = scale · byte + offset. */
struct press_row {
    float scale, offset;
};

/* What one head of one text attends to. Rows of q, k and v lie `stride` floats apart. */
struct press_attention {
    const float *q, *k, *v;
    uint32_t stride, tokens, size;
    uint32_t from, to; /* the tokens that ask; all are asked */
    int bytes;         /* whether queries and keys are compared in bytes, which takes a head of whole sixteens and no window */
    uint32_t window;   /* how many tokens are seen to either side; 0 for all */
    const float *bias; /* by key − query, which may be negative; null for none */
    float *out;
    uint32_t out_stride;
    float *scratch; /* press_attention_scratch(tokens, size) floats */
};

struct press_kernels {
    const char *name;

    /* One row of floats, times `factors` where there are any, to bytes: its whole range spread over 255 steps. */
    struct press_row (*quantize)(const float *x, const float *factors, uint8_t *q, uint32_t count);

    /* out[r] = act(q × W + bias) + residual, for rows of quantized input. */
    void (*linear)(const struct press_matrix *m, const uint8_t *q, const struct press_row *row, uint32_t rows,
                   enum press_activation act, const float *residual, float *out);

    /* The same in floats: W is inputs × outputs. */
    void (*float_linear)(const float *w, const float *bias, uint32_t inputs, uint32_t outputs, const float *x, uint32_t rows,
                         enum press_activation act, const float *residual, float *out);

    /* out = x × W for rows that lie `stride` floats apart; out's lie `columns` apart. */
    void (*multiply)(const float *x, uint32_t stride, uint32_t rows, const float *w, uint32_t w_stride, uint32_t columns,
                     uint32_t inputs, float *out);

    /* y += a · x */
    void (*add_scaled)(float *y, const float *x, float a, uint32_t count);

    /* y = gamma · (x − mean) / √(variance + epsilon) + beta, for one row; beta may be null, y may be x. */
    void (*layer_norm)(const float *x, float *y, uint32_t count, const float *gamma, const float *beta, float epsilon);

    /* out = softmax(q·kᵀ + bias) · v */
    void (*attention)(const struct press_attention *a);

    /* Each of `heads` vectors: its first half times cosines less its second times sines, and the other way round. */
    void (*rotate)(float *x, const float *cosines, const float *sines, uint32_t heads, uint32_t size);

    /* y = act(x) · gate */
    void (*gate)(const float *x, const float *gate, float *y, uint32_t count, enum press_activation act);

    /* x = x / ‖x‖ */
    void (*normalize)(float *x, uint32_t count);
};

enum { PRESS_QUERY_ROWS = 6 };

static inline uint32_t press_round_up(uint32_t count, uint32_t step) { return (count + step - 1) / step * step; }

/* Keys turned on their side, values side by side, and the scores of a few queries. */
static inline uint32_t press_attention_scratch(uint32_t tokens, uint32_t size) {
    return (2 * size + PRESS_QUERY_ROWS) * press_round_up(tokens, PRESS_LANES);
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
