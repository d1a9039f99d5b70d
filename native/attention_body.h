/* One head of one text, said once for every instruction set; a part of kernels_body.h, whose words it uses.
 *
 * Queries are compared with keys in floats or in bytes; weights and values are always floats.
 */
/* Turns the scores of keys `first` to `last` into e^(score − largest), all others into next to nothing; returns 1 / their sum. */
static inline float soften(float *scores, uint32_t first, uint32_t last, uint32_t padded) {
    for (uint32_t i = 0; i < first; i++) scores[i] = -3e38f;
    for (uint32_t i = last; i < padded; i++) scores[i] = -3e38f;
    V peak = v_load(scores);
    for (uint32_t i = PRESS_LANES; i < padded; i += PRESS_LANES) peak = v_max(peak, v_load(scores + i));
    V largest = v_set(v_largest(peak)), sum = v_set(0.0f);
    for (uint32_t i = 0; i < padded; i += PRESS_LANES) {
        V e = v_exp_below(v_sub(v_load(scores + i), largest));
        v_store(scores + i, e);
        sum = v_add(sum, e);
    }
    return 1.0f / v_total(sum);
}

/* Keys in bytes, as the columns of a matrix that queries are multiplied with. Their mean is taken off first: it adds the
 * same to all that one query compares, which softening does not see, and what is left has smaller steps. */
static inline struct press_matrix keys_in_bytes(const struct press_attention *a, uint32_t padded, float *scratch) {
    float *scales = scratch, *none = scales + padded, *mean = none + padded;
    int32_t *sums = (int32_t *)(mean + a->size);
    int8_t *panels = (int8_t *)(sums + padded);
    V nothing = v_set(0.0f), wrong = nothing;
    for (uint32_t d = 0; d < a->size; d += PRESS_LANES) {
        V sum = nothing;
        for (uint32_t key = 0; key < a->tokens; key++) sum = v_add(sum, v_load(a->k + (size_t)key * a->stride + d));
        V middle = v_div(sum, v_set((float)a->tokens));
        v_store(mean + d, middle);
        wrong = v_fma(middle, nothing, wrong); /* as in quantize */
    }
    float zero = v_total(wrong);
    for (uint32_t key = 0; key < padded; key++) {
        int8_t *panel = panels + (size_t)(key / PRESS_PANEL) * PRESS_PANEL * a->size + key % PRESS_PANEL * 4;
        const float *k = a->k + (size_t)(key < a->tokens ? key : 0) * a->stride; /* those beyond the last are not looked at */
        V largest = nothing, sum = nothing;
        for (uint32_t d = 0; d < a->size; d += PRESS_LANES) {
            V v = v_sub(v_load(k + d), v_load(mean + d));
            largest = v_max(v_max(v, v_sub(nothing, v)), largest);
        }
        float most = v_largest(largest);
        V steps = v_set(most > 1e-30f ? 127.0f / most : 0.0f);
        for (uint32_t d = 0; d < a->size; d += PRESS_LANES) {
            int8_t sixteen[PRESS_LANES];
            V rounded = v_fma(v_sub(v_load(k + d), v_load(mean + d)), steps, v_set(ROUND_MAGIC));
            v_store_low_bytes((uint8_t *)sixteen, rounded);
            sum = v_add(sum, v_sub(rounded, v_set(ROUND_MAGIC)));
            for (uint32_t i = 0; i < PRESS_LANES; i += 4) memcpy(panel + (size_t)(d + i) * PRESS_PANEL, sixteen + i, 4);
        }
        scales[key] = most / 127.0f + zero, none[key] = 0.0f, sums[key] = zero == 0.0f ? (int32_t)v_total(sum) : 0;
    }
    return (struct press_matrix){panels, scales, none, sums, a->size, padded};
}

static inline void compare_bytes(const struct press_attention *a, const struct press_matrix *keys, uint32_t row, uint32_t rows,
                                 float *scores) {
    uint8_t *q = (uint8_t *)(uintptr_t)keys->weights + (size_t)a->size * keys->outputs; /* bytes need a quarter of the room */
    struct press_row quantized[PRESS_QUERY_ROWS];
    for (uint32_t r = 0; r < rows; r++)
        quantized[r] = quantize(a->q + (size_t)(row + r) * a->stride, 0, q + (size_t)r * a->size, a->size);
    linear(keys, q, quantized, rows, PRESS_LINEAR, 0, scores);
}

static inline void gather_values(const struct press_attention *a, float *values) {
    for (uint32_t key = 0; key < a->tokens; key++)
        memcpy(values + (size_t)key * a->size, a->v + (size_t)key * a->stride, sizeof(float) * a->size);
}

/* Keys on their side: rows as far apart as they come fall into few sets of the nearest cache. */
static inline void turn_keys(const struct press_attention *a, uint32_t padded, float *turned) {
    for (uint32_t start = 0; start < padded; start += PRESS_LANES) {
        uint32_t count = a->tokens - start < PRESS_LANES ? a->tokens - start : PRESS_LANES;
        for (uint32_t d = 0; d < a->size; d++) {
            float *row = turned + (size_t)d * padded + start;
            for (uint32_t key = 0; key < count; key++) row[key] = a->k[(size_t)(start + key) * a->stride + d];
            for (uint32_t key = count; key < PRESS_LANES; key++) row[key] = 0.0f;
        }
    }
}

static void attention(const struct press_attention *a) {
    uint32_t padded = press_round_up(a->tokens, PRESS_LANES), size = a->size;
    float *turned = a->scratch, *values = turned + (size_t)size * padded, *scores = values + (size_t)size * padded;
    struct press_matrix keys = {0};
    if (a->bytes) keys = keys_in_bytes(a, padded, turned);
    else turn_keys(a, padded, turned);
    gather_values(a, values);
    memset(scores, 0, sizeof(float) * PRESS_QUERY_ROWS * padded);
    uint32_t reach = a->window && a->window < a->tokens ? a->window : a->tokens;
    for (uint32_t row = a->from; row < a->to; row += PRESS_QUERY_ROWS) {
        uint32_t rows = a->to - row < PRESS_QUERY_ROWS ? a->to - row : PRESS_QUERY_ROWS;
        /* Keys that any of these rows sees. */
        uint32_t low = row > reach ? (row - reach) / PRESS_LANES * PRESS_LANES : 0;
        uint32_t high = row + rows + reach < a->tokens ? row + rows + reach : a->tokens;
        uint32_t span = press_round_up(high - low, PRESS_LANES);
        float factors[PRESS_QUERY_ROWS];
        if (a->bytes) compare_bytes(a, &keys, row, rows, scores);
        else few_rows(a->q + (size_t)row * a->stride, a->stride, rows, turned + low, padded, span, size, ONES, scores, span);
        for (uint32_t r = 0; r < rows; r++) {
            uint32_t here = row + r, first = here > reach ? here - reach : 0;
            uint32_t last = here + reach + 1 < a->tokens ? here + reach + 1 : a->tokens;
            if (a->bias)
                for (uint32_t key = first; key < last; key++)
                    scores[r * span + key - low] = scores[r * span + key - low] + a->bias[(int32_t)key - (int32_t)here];
            factors[r] = soften(scores + r * span, first - low, last - low, span);
        }
        few_rows(scores, span, rows, values + (size_t)low * size, size, size, high - low, factors,
                 a->out + (size_t)row * a->out_stride, a->out_stride);
    }
}
