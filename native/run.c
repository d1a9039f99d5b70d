/* Running a model: the ops in their order, cut into stretches.
 *
 * All ops but attention and pooling treat each token by itself. So a stretch of them is run for a block of
 * tokens at a time, from its first op to its last: what lies between them never leaves the nearest
 * caches, and blocks need no word from each other. Only what attention and pooling read is kept whole.
 */
#include "model.h"
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 48,         /* tokens: a multiple of every kernel's tile, small enough for the second-level cache */
    TOKEN_BUDGET = 1024 /* texts run together up to this many tokens; one text may have more */
};

struct press_session {
    const struct press_model *model;
    const struct press_kernels *kernels;
    struct press_pool_ *pool;
    uint32_t threads, capacity, widest;
    uint8_t shared[PRESS_BUFFERS]; /* whether a buffer is kept whole */
    float *buffers[PRESS_BUFFERS];
    float *local;     /* per thread: the other buffers, for one block */
    size_t local_size;
    size_t local_at[PRESS_BUFFERS];
    uint8_t *bytes;   /* per thread: one block, quantized */
    float *scratch;   /* per thread: attention's */
    size_t scratch_size;
    uint32_t *positions;
};

static int is_barrier(const struct press_op *op) { return op->kind == PRESS_OP_ATTEND || op->kind >= PRESS_OP_POOL; }

static void note(struct press_session *s, int32_t *seen, uint32_t buffer, int32_t stretch) {
    if (buffer >= PRESS_BUFFERS) return;
    if (stretch < 0 || (seen[buffer] && seen[buffer] != stretch)) s->shared[buffer] = 1;
    else seen[buffer] = stretch;
}

/* Find the buffers that live longer than one stretch. */
static void find_shared(struct press_session *s) {
    int32_t seen[PRESS_BUFFERS] = {0}, stretch = 1;
    for (uint32_t i = 0; i < s->model->header->op_count; i++) {
        const struct press_op *op = s->model->ops + i;
        int32_t now = is_barrier(op) ? -1 : stretch;
        if (op->kind == PRESS_OP_LINEAR || is_barrier(op)) note(s, seen, op->source, now);
        if (op->kind != PRESS_OP_POOL && op->kind != PRESS_OP_NORMALIZE) note(s, seen, op->target, now);
        if (op->kind == PRESS_OP_LINEAR) note(s, seen, op->residual, now);
        if (is_barrier(op)) stretch++;
        if (op->kind == PRESS_OP_LINEAR && op->inputs > s->widest) s->widest = op->inputs;
    }
}

static uint32_t attention_scratch(const struct press_model *model, uint32_t tokens) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < model->header->op_count; i++)
        if (model->ops[i].kind == PRESS_OP_ATTEND) {
            uint32_t need = press_attention_scratch(tokens, model->ops[i].outputs / model->ops[i].heads);
            most = need > most ? need : most;
        }
    return most;
}

static void *aligned(size_t bytes) {
    void *memory = 0;
    return posix_memalign(&memory, 64, bytes ? bytes : 64) ? 0 : memory;
}

struct press_session *press_start(const struct press_model *model, uint32_t threads, const char *kernels, char *error) {
    struct press_session *s = calloc(1, sizeof *s);
    const struct press_header *header = model->header;
    if (!s || !threads || threads > 64) goto failed;
    s->model = model, s->threads = threads;
    s->kernels = press_choose_kernels(kernels);
    s->pool = press_pool_new(threads);
    s->capacity = header->max_tokens > TOKEN_BUDGET ? header->max_tokens : TOKEN_BUDGET;
    if (!s->kernels || !s->pool) goto failed;
    find_shared(s);
    for (int i = 0; i < PRESS_BUFFERS; i++) {
        if (!header->widths[i]) continue;
        if (s->shared[i]) {
            if (!(s->buffers[i] = aligned(sizeof(float) * s->capacity * header->widths[i]))) goto failed;
        } else {
            s->local_at[i] = s->local_size;
            s->local_size += (size_t)BLOCK * header->widths[i];
        }
    }
    s->scratch_size = press_round_up(attention_scratch(model, header->max_tokens), 16);
    s->local = aligned(sizeof(float) * s->local_size * threads);
    s->bytes = aligned((size_t)BLOCK * s->widest * threads);
    s->scratch = aligned(sizeof(float) * s->scratch_size * threads);
    s->positions = aligned(sizeof(uint32_t) * s->capacity);
    if (s->local && s->bytes && s->scratch && s->positions) return s;
failed:
    snprintf(error, PRESS_ERROR_SIZE, "no session: out of memory, or kernels that this CPU cannot run");
    press_stop(s);
    return 0;
}

void press_stop(struct press_session *s) {
    if (!s) return;
    press_pool_free(s->pool);
    for (int i = 0; i < PRESS_BUFFERS; i++) free(s->buffers[i]);
    free(s->local), free(s->bytes), free(s->scratch), free(s->positions), free(s);
}

const char *press_kernels_name(const struct press_session *s) { return s->kernels->name; }
void press_work(struct press_session *s) { press_pool_work(s->pool); }

/* Where a block of tokens that begins at `row` lies in a buffer. */
static float *block_of(struct press_session *s, uint32_t buffer, uint32_t row, uint32_t thread) {
    if (s->shared[buffer]) return s->buffers[buffer] + (size_t)row * s->model->header->widths[buffer];
    return s->local + s->local_size * thread + s->local_at[buffer];
}

struct stretch {
    struct press_session *session;
    const struct press_op *ops;
    uint32_t count, rows, block;
    const int32_t *ids;
};

static void embed(struct press_session *s, const struct press_op *op, const int32_t *ids, uint32_t row, uint32_t rows, float *out) {
    const int8_t *words = press_tensor(s->model, op, 0);
    const float *scales = press_tensor(s->model, op, 1), *positions = press_tensor(s->model, op, 2);
    const float *type = press_tensor(s->model, op, 3);
    uint32_t width = op->outputs;
    for (uint32_t r = 0; r < rows; r++, out += width) {
        const int8_t *word = words + (size_t)ids[row + r] * width;
        float scale = scales[ids[row + r]];
        for (uint32_t i = 0; i < width; i++) out[i] = (float)word[i] * scale;
        if (type)
            for (uint32_t i = 0; i < width; i++) out[i] = out[i] + type[i];
        if (positions) {
            const float *position = positions + (size_t)(op->first_position + s->positions[row + r]) * width;
            for (uint32_t i = 0; i < width; i++) out[i] = out[i] + position[i];
        }
    }
}

static void linear(struct press_session *s, const struct press_op *op, uint32_t row, uint32_t rows, uint32_t thread) {
    const struct press_model *model = s->model;
    struct press_matrix matrix = {press_tensor(model, op, 0), press_tensor(model, op, 1), press_tensor(model, op, 2),
                                  press_tensor(model, op, 3), op->inputs, op->outputs};
    uint8_t *bytes = s->bytes + (size_t)BLOCK * s->widest * thread;
    const float *in = block_of(s, op->source, row, thread);
    struct press_row quantized[BLOCK];
    for (uint32_t r = 0; r < rows; r++)
        quantized[r] = s->kernels->quantize(in + (size_t)r * op->inputs, bytes + (size_t)r * op->inputs, op->inputs);
    const float *residual = op->residual == PRESS_NO_BUFFER ? 0 : block_of(s, op->residual, row, thread);
    s->kernels->linear(&matrix, bytes, quantized, rows, 0, op->outputs, op->activation, residual,
                       block_of(s, op->target, row, thread), op->outputs);
}

/* One block of tokens through all ops of a stretch. */
static void run_block(void *context, uint32_t task, uint32_t thread) {
    struct stretch *stretch = context;
    struct press_session *s = stretch->session;
    uint32_t row = task * stretch->block;
    uint32_t rows = stretch->rows - row < stretch->block ? stretch->rows - row : stretch->block;
    for (uint32_t i = 0; i < stretch->count; i++) {
        const struct press_op *op = stretch->ops + i;
        float *target = block_of(s, op->target, row, thread);
        if (op->kind == PRESS_OP_EMBED) embed(s, op, stretch->ids, row, rows, target);
        else if (op->kind == PRESS_OP_LINEAR) linear(s, op, row, rows, thread);
        else
            for (uint32_t r = 0; r < rows; r++)
                s->kernels->layer_norm(target + (size_t)r * op->outputs, op->outputs, press_tensor(s->model, op, 0),
                                       press_tensor(s->model, op, 1), op->epsilon);
    }
}

struct heads {
    struct press_session *session;
    const struct press_op *op;
    const uint32_t *starts;
};

/* One head of one text. */
static void run_head(void *context, uint32_t task, uint32_t thread) {
    struct heads *heads = context;
    struct press_session *s = heads->session;
    const struct press_op *op = heads->op;
    uint32_t text = task / op->heads, head = task % op->heads, width = op->outputs, size = width / op->heads;
    uint32_t first = heads->starts[text] - heads->starts[0], tokens = heads->starts[text + 1] - heads->starts[text];
    const float *q = s->buffers[op->source] + (size_t)first * 3 * width + head * size;
    float *out = s->buffers[op->target] + (size_t)first * width + head * size;
    s->kernels->attention(q, q + width, q + 2 * width, 3 * width, tokens, size, out, width,
                          s->scratch + s->scratch_size * thread);
}

static void pool_text(const struct press_op *op, const float *x, uint32_t tokens, float *out) {
    uint32_t width = op->inputs;
    if (op->activation == PRESS_POOL_CLS || op->activation == PRESS_POOL_LAST) {
        memcpy(out, x + (op->activation == PRESS_POOL_LAST ? (size_t)(tokens - 1) * width : 0), width * sizeof *out);
        return;
    }
    float divisor = (float)tokens;
    if (op->activation == PRESS_POOL_SQRT) divisor = __builtin_sqrtf(divisor);
    if (op->activation == PRESS_POOL_WEIGHTED) divisor = (float)tokens * ((float)tokens + 1.0f) * 0.5f;
    memcpy(out, x, width * sizeof *out);
    for (uint32_t t = 1; t < tokens; t++) {
        const float *row = x + (size_t)t * width;
        if (op->activation == PRESS_POOL_MAX)
            for (uint32_t i = 0; i < width; i++) out[i] = row[i] > out[i] ? row[i] : out[i];
        else if (op->activation == PRESS_POOL_WEIGHTED)
            for (uint32_t i = 0; i < width; i++) out[i] = out[i] + row[i] * (float)(t + 1);
        else
            for (uint32_t i = 0; i < width; i++) out[i] = out[i] + row[i];
    }
    if (op->activation != PRESS_POOL_MAX)
        for (uint32_t i = 0; i < width; i++) out[i] = out[i] / divisor;
}

/* Texts that fit the buffers together. */
static void run_group(struct press_session *s, const int32_t *ids, const uint32_t *starts, uint32_t texts, float *out) {
    const struct press_header *header = s->model->header;
    uint32_t rows = starts[texts] - starts[0], answers = s->model->per_token ? rows : texts;
    uint32_t padding = s->model->ops[0].padding;
    for (uint32_t text = 0; text < texts; text++)
        for (uint32_t i = starts[text], position = 0; i < starts[text + 1]; i++) {
            int none = padding && (uint32_t)ids[i] == padding - 1; /* stands just before the first position */
            s->positions[i - starts[0]] = none ? (uint32_t)-1 : position++;
        }
    /* Few tokens are shared out evenly; many go in blocks that fit the cache. */
    uint32_t share = press_round_up((rows + s->threads - 1) / s->threads, 6), block = share < BLOCK ? share : BLOCK;
    for (uint32_t i = 0; i < header->op_count;) {
        const struct press_op *op = s->model->ops + i;
        if (op->kind == PRESS_OP_ATTEND) {
            struct heads heads = {s, op, starts};
            press_pool_run(s->pool, run_head, &heads, texts * op->heads);
            i++;
        } else if (op->kind == PRESS_OP_POOL) {
            const float *x = s->buffers[op->source];
            if (s->model->per_token) memcpy(out, x, sizeof(float) * rows * op->inputs);
            else
                for (uint32_t t = 0; t < texts; t++)
                    pool_text(op, x + (size_t)(starts[t] - starts[0]) * op->inputs, starts[t + 1] - starts[t],
                              out + (size_t)t * op->inputs);
            i++;
        } else if (op->kind == PRESS_OP_NORMALIZE) {
            for (uint32_t a = 0; a < answers; a++) s->kernels->normalize(out + (size_t)a * header->dimensions, header->dimensions);
            i++;
        } else {
            struct stretch stretch = {s, op, 0, rows, block, ids + starts[0]};
            while (i < header->op_count && !is_barrier(s->model->ops + i)) i++, stretch.count++;
            press_pool_run(s->pool, run_block, &stretch, (rows + block - 1) / block);
        }
    }
}

size_t press_run(struct press_session *s, const int32_t *ids, const uint32_t *starts, uint32_t texts, float *out, char *error) {
    const struct press_header *header = s->model->header;
    for (uint32_t text = 0; text < texts; text++) {
        if (starts[text + 1] <= starts[text] || starts[text + 1] - starts[text] > header->max_tokens) {
            snprintf(error, PRESS_ERROR_SIZE, "text %u has no tokens, or more than %u", text, header->max_tokens);
            return 0;
        }
        for (uint32_t i = starts[text]; i < starts[text + 1]; i++)
            if (ids[i] < 0 || (uint32_t)ids[i] >= header->vocabulary) {
                snprintf(error, PRESS_ERROR_SIZE, "token id %d of text %u is not one of %u", ids[i], text, header->vocabulary);
                return 0;
            }
    }
    for (uint32_t first = 0; first < texts;) {
        uint32_t count = 1;
        while (first + count < texts && starts[first + count + 1] - starts[first] <= s->capacity) count++;
        size_t answers = s->model->per_token ? starts[first + count] - starts[first] : count;
        run_group(s, ids, starts + first, count, out);
        out += answers * header->dimensions;
        first += count;
    }
    return 1;
}
