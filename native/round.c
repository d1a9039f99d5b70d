/* Rounding a layer's weights so that its answers stay where they were, rather than its weights.
 *
 * With H = xᵀx of what the layer reads, the error of its answers is ‖R·(w − q)‖² where RᵀR = H. Inputs are rounded one
 * after the other, and what rounding took from the earlier ones is made up for by each later one. (This is GPTQ,
 * seen as Babai's nearest plane: no inverse is needed.) Used when a model is built, never when it runs; it gives
 * the same bits on every CPU, so that a model built anywhere is the same file.
 */
#include "kernels.h"
#include "press.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

struct weight {
    float energy;
    uint32_t input;
};

static int by_energy(const void *one, const void *other) {
    const struct weight *a = one, *b = other;
    if (a->energy != b->energy) return a->energy < b->energy ? -1 : 1;
    return a->input < b->input ? -1 : a->input > b->input;
}

/* H of the inputs in the order in which they stand in `order`, found here: those that matter most come last. */
static void gram(const struct press_kernels *k, const float *x, float *turned, uint32_t rows, uint32_t n, struct weight *order,
                 float *all, float *h) {
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < n; i++) turned[(size_t)i * rows + r] = x[(size_t)r * n + i];
    k->multiply(turned, rows, n, x, n, n, rows, all);
    for (uint32_t i = 0; i < n; i++) order[i] = (struct weight){all[(size_t)i * n + i], i};
    qsort(order, n, sizeof *order, by_energy);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) h[(size_t)i * n + j] = all[(size_t)order[i].input * n + order[j].input];
}

/* h becomes R, upper triangular; `turned` and `product` hold BLOCK rows of it. Returns 0 where h is not definite. */
static int factor(const struct press_kernels *k, float *h, uint32_t n, float *turned, float *product) {
    for (uint32_t start = 0; start < n; start += BLOCK) {
        uint32_t end = n - start < BLOCK ? n : start + BLOCK, rest = n - start;
        for (uint32_t above = 0; above < start; above++)
            for (uint32_t i = start; i < end; i++) turned[(size_t)(i - start) * start + above] = h[(size_t)above * n + i];
        if (start) k->multiply(turned, start, end - start, h + start, n, rest, start, product);
        for (uint32_t i = start; i < end && start; i++) k->add_scaled(h + (size_t)i * n + start, product + (size_t)(i - start) * rest, -1.0f, rest);
        for (uint32_t j = start; j < end; j++) {
            float *row = h + (size_t)j * n, pivot = __builtin_sqrtf(row[j]);
            if (!(pivot > 0.0f)) return 0;
            for (uint32_t i = start; i < n; i++) row[i] = row[i] / pivot;
            for (uint32_t i = j + 1; i < end; i++) k->add_scaled(h + (size_t)i * n + start, row + start, -row[i], rest);
        }
    }
    return 1;
}

static void nearest_plane(const struct press_kernels *k, const float *r, uint32_t n, const struct weight *order, const float *w,
                          uint32_t outputs, float *lost, float *sums, int8_t *rounded) {
    for (uint32_t end = n; end;) {
        uint32_t start = (end - 1) / BLOCK * BLOCK;
        memset(sums, 0, sizeof *sums * BLOCK * outputs);
        if (end < n) k->multiply(r + (size_t)start * n + end, n, end - start, lost + (size_t)end * outputs, outputs, outputs, n - end, sums);
        for (uint32_t j = end; j-- > start;) {
            float factor = 1.0f / r[(size_t)j * n + j], *row = sums + (size_t)(j - start) * outputs;
            size_t input = (size_t)order[j].input * outputs;
            for (uint32_t o = 0; o < outputs; o++) {
                float wish = w[input + o] + row[o] * factor;
                float whole = wish > 127.0f ? 127.0f : wish < -127.0f ? -127.0f : (wish + 12582912.0f) - 12582912.0f;
                lost[(size_t)j * outputs + o] = w[input + o] - whole;
                rounded[input + o] = (int8_t)whole;
            }
            for (uint32_t i = start; i < j; i++)
                k->add_scaled(sums + (size_t)(i - start) * outputs, lost + (size_t)j * outputs, r[(size_t)i * n + j], outputs);
        }
        end = start;
    }
}

size_t press_round(const float *x, uint32_t rows, uint32_t inputs, uint32_t outputs, uint32_t damping, const float *w, int8_t *rounded) {
    if (inputs % PRESS_LANES || outputs % PRESS_LANES) return 0; /* kernels write whole vectors */
    const struct press_kernels *k = press_choose_kernels(0);
    size_t square = (size_t)inputs * inputs, block = (size_t)BLOCK * (inputs > outputs ? inputs : outputs);
    float *turned = malloc(sizeof(float) * ((size_t)rows * inputs + block)), *all = malloc(sizeof(float) * square);
    float *h = malloc(sizeof(float) * square), *lost = malloc(sizeof(float) * inputs * outputs), *sums = malloc(sizeof(float) * block);
    struct weight *order = malloc(sizeof *order * inputs);
    int done = turned && all && h && lost && sums && order;
    if (done) {
        gram(k, x, turned, rows, inputs, order, all, h);
        float mean = 0.0f;
        for (uint32_t i = 0; i < inputs; i++) mean = mean + order[i].energy / (float)inputs;
        /* Few samples do not know every direction: a part of the mean says, stay near the weights in all of them. */
        for (uint32_t i = 0; i < inputs; i++) h[(size_t)i * inputs + i] = h[(size_t)i * inputs + i] + mean * ((float)damping / 1000.0f);
        done = factor(k, h, inputs, turned, sums);
        if (done) nearest_plane(k, h, inputs, order, w, outputs, lost, sums, rounded);
    }
    free(turned), free(all), free(h), free(lost), free(sums), free(order);
    return (size_t)done;
}
