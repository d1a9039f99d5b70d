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
    float **observed; /* per op: where to copy what it reads; null for none */
    size_t observed_rows;
};

static int is_barrier(const struct press_op *op) { return op->kind == PRESS_OP_ATTEND || op->kind == PRESS_OP_POOL; }

static void note(struct press_session *s, int32_t *seen, uint32_t buffer, int32_t stretch) {
    if (buffer >= PRESS_BUFFERS) return;
    if (stretch < 0 || (seen[buffer] && seen[buffer] != stretch)) s->shared[buffer] = 1;
    else seen[buffer] = stretch;
}

/* Find the buffers that live longer than one stretch: those that attention or pooling touches, and the answer. */
static void find_shared(struct press_session *s) {
    int32_t seen[PRESS_BUFFERS] = {0}, stretch = 1;
    for (uint32_t i = 0; i < s->model->header->op_count; i++) {
        const struct press_op *op = s->model->ops + i;
        int32_t now = is_barrier(op) ? -1 : stretch;
        note(s, seen, op->source, now);
        note(s, seen, op->target, i + 1 == s->model->header->op_count ? -1 : now);
        note(s, seen, op->residual, now);
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

void press_quit(struct press_session *s) { press_pool_quit(s->pool); }

size_t press_memory(const struct press_session *s) {
    size_t floats = (s->local_size + s->scratch_size) * s->threads + s->capacity;
    for (int i = 0; i < PRESS_BUFFERS; i++)
        if (s->buffers[i]) floats += (size_t)s->capacity * s->model->header->widths[i];
    return sizeof *s + sizeof(float) * floats + (size_t)BLOCK * s->widest * s->threads;
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
    const uint8_t *types;
    const uint8_t *pixels; /* of the first picture, for a model that looks at them */
};

/* What a patch shows, as floats, row of pixels by row of pixels; zeros for tokens that are no patch. */
static void patches(struct press_session *s, const struct press_op *op, const struct stretch *stretch, uint32_t row, uint32_t rows,
                    uint32_t thread) {
    uint32_t tokens = s->model->header->max_tokens, edge = op->window, line = 3 * edge, width = s->model->header->widths[op->residual];
    size_t picture = press_picture_bytes(s->model), stride = (size_t)line * op->positions;
    const float *table = press_tensor(s->model, op, 0);
    float *out = block_of(s, op->target, row, thread), *beside = block_of(s, op->residual, row, thread);
    for (uint32_t r = row; r < row + rows; r++, out += op->outputs, beside += width) {
        uint32_t token = r % tokens;
        memcpy(beside, table + (size_t)token * width, width * sizeof *beside);
        memset(out, 0, op->outputs * sizeof *out);
        if (token < op->first_position) continue;
        uint32_t patch = token - op->first_position;
        const uint8_t *corner = stretch->pixels + r / tokens * picture + patch / op->positions * edge * stride + patch % op->positions * line;
        for (uint32_t y = 0; y < edge; y++)
            for (uint32_t x = 0; x < line; x++) out[y * line + x] = corner[y * stride + x];
    }
}

static void embed(struct press_session *s, const struct press_op *op, const struct stretch *stretch, uint32_t row, uint32_t rows, float *out) {
    const void *words = press_tensor(s->model, op, 0);
    const float *scales = press_tensor(s->model, op, 1), *positions = press_tensor(s->model, op, 2);
    const float *types = press_tensor(s->model, op, 3);
    uint32_t width = op->outputs;
    for (uint32_t r = row; r < row + rows; r++, out += width) {
        size_t word = (size_t)stretch->ids[r] * width;
        if (scales)
            for (uint32_t i = 0; i < width; i++) out[i] = (float)((const int8_t *)words)[word + i] * scales[stretch->ids[r]];
        else memcpy(out, (const float *)words + word, width * sizeof *out);
        if (types) {
            const float *type = types + (stretch->types ? (size_t)stretch->types[r] * width : 0);
            for (uint32_t i = 0; i < width; i++) out[i] = out[i] + type[i];
        }
        if (positions) {
            const float *position = positions + (size_t)(op->first_position + s->positions[r]) * width;
            for (uint32_t i = 0; i < width; i++) out[i] = out[i] + position[i];
        }
    }
}

static void linear(struct press_session *s, const struct press_op *op, uint32_t row, uint32_t rows, uint32_t thread) {
    const struct press_model *model = s->model;
    const float *in = block_of(s, op->source, row, thread);
    const float *residual = op->residual == PRESS_NO_BUFFER ? 0 : block_of(s, op->residual, row, thread);
    float *out = block_of(s, op->target, row, thread);
    if (s->observed && s->observed[op - model->ops])
        memcpy(s->observed[op - model->ops] + (s->observed_rows + row) * op->inputs, in, sizeof *in * rows * op->inputs);
    if (op->kind == PRESS_OP_FLOAT_LINEAR) {
        s->kernels->float_linear(press_tensor(model, op, 0), press_tensor(model, op, 1), op->inputs, op->outputs, in, rows,
                                 op->activation, residual, out);
        return;
    }
    struct press_matrix matrix = {press_tensor(model, op, 0), press_tensor(model, op, 1), press_tensor(model, op, 2),
                                  press_tensor(model, op, 3), op->inputs, op->outputs};
    const float *factors = press_tensor(model, op, 4);
    uint8_t *bytes = s->bytes + (size_t)BLOCK * s->widest * thread;
    struct press_row quantized[BLOCK];
    for (uint32_t r = 0; r < rows; r++)
        quantized[r] = s->kernels->quantize(in + (size_t)r * op->inputs, factors, bytes + (size_t)r * op->inputs, op->inputs);
    s->kernels->linear(&matrix, bytes, quantized, rows, op->activation, residual, out);
}

/* Queries and keys stand first in each row, head by head. */
static void rotate(struct press_session *s, const struct press_op *op, uint32_t row, uint32_t rows, float *out) {
    const float *table = press_tensor(s->model, op, 0);
    uint32_t size = op->outputs / op->heads;
    for (uint32_t r = 0; r < rows; r++) {
        const float *turn = table + (size_t)s->positions[row + r] * size;
        s->kernels->rotate(out + (size_t)r * 3 * op->outputs, turn, turn + size / 2, 2 * op->heads, size);
    }
}

/* What is done to each row by itself. */
static void run_row(struct press_session *s, const struct press_op *op, const float *in, float *out) {
    switch (op->kind) {
    case PRESS_OP_NORM:
        s->kernels->layer_norm(in, out, op->outputs, press_tensor(s->model, op, 0), press_tensor(s->model, op, 1), op->epsilon);
        break;
    case PRESS_OP_GATE: s->kernels->gate(in, in + op->outputs, out, op->outputs, op->activation); break;
    default: s->kernels->normalize(out, op->outputs);
    }
}

/* One block of rows through all ops of a stretch. */
static void run_block(void *context, uint32_t task, uint32_t thread) {
    struct stretch *stretch = context;
    struct press_session *s = stretch->session;
    const uint32_t *widths = s->model->header->widths;
    uint32_t row = task * stretch->block;
    uint32_t rows = stretch->rows - row < stretch->block ? stretch->rows - row : stretch->block;
    for (uint32_t i = 0; i < stretch->count; i++) {
        const struct press_op *op = stretch->ops + i;
        float *out = block_of(s, op->target, row, thread);
        if (op->kind == PRESS_OP_EMBED) embed(s, op, stretch, row, rows, out);
        else if (op->kind == PRESS_OP_PATCHES) patches(s, op, stretch, row, rows, thread);
        else if (op->kind == PRESS_OP_LINEAR || op->kind == PRESS_OP_FLOAT_LINEAR) linear(s, op, row, rows, thread);
        else if (op->kind == PRESS_OP_ROTATE) rotate(s, op, row, rows, out);
        else {
            int in_place = op->kind == PRESS_OP_NORMALIZE;
            const float *in = in_place ? out : block_of(s, op->source, row, thread);
            size_t step = widths[in_place ? op->target : op->source];
            for (uint32_t r = 0; r < rows; r++) run_row(s, op, in + r * step, out + (size_t)r * widths[op->target]);
        }
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
    const float *q = s->buffers[op->source] + (size_t)first * 3 * width + head * size, *bias = press_tensor(s->model, op, 0);
    if (bias) bias += (size_t)head * (2 * op->positions + 1) + op->positions;
    uint32_t from = op->only == PRESS_POOL_LAST ? tokens - 1 : 0, to = op->only == PRESS_POOL_CLS ? 1 : tokens;
    struct press_attention attention = {q, q + width, q + 2 * width, 3 * width, tokens, size, from, to,
                                        op->activation == PRESS_COMPARE_BYTES, op->window, bias,
                                        s->buffers[op->target] + (size_t)first * width + head * size, width,
                                        s->scratch + s->scratch_size * thread};
    s->kernels->attention(&attention);
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

static void place_tokens(struct press_session *s, const int32_t *ids, const uint32_t *starts, uint32_t texts) {
    uint32_t padding = s->model->ops[0].padding;
    for (uint32_t text = 0; text < texts; text++)
        for (uint32_t i = starts[text], position = 0; i < starts[text + 1]; i++) {
            int none = padding && (uint32_t)ids[i] == padding - 1; /* stands just before the first position */
            s->positions[i - starts[0]] = none ? (uint32_t)-1 : position++;
        }
}

/* Rows that the busiest thread has when blocks of that size are taken one after the other. */
static uint32_t longest_share(uint32_t rows, uint32_t block, uint32_t threads) {
    uint32_t blocks = (rows + block - 1) / block, rounds = (blocks + threads - 1) / threads;
    uint32_t is_last_alone = (blocks - 1) % threads == 0;
    return is_last_alone ? rows - (blocks - 1) * block + (rounds - 1) * block : rounds * block;
}

/* Few rows are shared out evenly; many go in blocks that fit the cache: as large as may be, or as many for each thread
 * if then none of them waits so long. */
static uint32_t block_size(const struct press_session *s, uint32_t rows) {
    uint32_t even = press_round_up((rows + BLOCK - 1) / BLOCK, s->threads), share = press_round_up((rows + even - 1) / even, 6);
    if (rows <= BLOCK * s->threads) return share;
    return longest_share(rows, share, s->threads) < longest_share(rows, BLOCK, s->threads) ? share : BLOCK;
}

/* Texts that fit the buffers together. */
static void run_group(struct press_session *s, const int32_t *ids, const uint8_t *types, const uint8_t *pixels, const uint32_t *starts,
                      uint32_t texts, float *out) {
    const struct press_header *header = s->model->header;
    const struct press_op *end = s->model->ops + header->op_count;
    uint32_t tokens = starts[texts] - starts[0], rows = tokens;
    if (ids) place_tokens(s, ids, starts, texts);
    for (const struct press_op *op = s->model->ops; op < end;) {
        if (op->kind == PRESS_OP_ATTEND) {
            struct heads heads = {s, op, starts};
            press_pool_run(s->pool, run_head, &heads, texts * op->heads);
            op++;
        } else if (op->kind == PRESS_OP_POOL) {
            for (uint32_t t = 0; t < texts; t++)
                pool_text(op, s->buffers[op->source] + (size_t)(starts[t] - starts[0]) * op->inputs, starts[t + 1] - starts[t],
                          s->buffers[op->target] + (size_t)t * header->widths[op->target] + op->column);
            rows = texts;
            op++;
        } else {
            struct stretch stretch = {s, op, 0, rows, block_size(s, rows), ids ? ids + starts[0] : 0, types ? types + starts[0] : 0, pixels};
            while (op < end && !is_barrier(op)) op++, stretch.count++;
            press_pool_run(s->pool, run_block, &stretch, (rows + stretch.block - 1) / stretch.block);
        }
    }
    uint32_t answer = end[-1].target;
    for (uint32_t r = 0; r < rows; r++)
        memcpy(out + (size_t)r * header->dimensions, s->buffers[answer] + (size_t)r * header->widths[answer], sizeof *out * header->dimensions);
}

/* Why texts cannot be run, or null. */
static const char *wrong_texts(const struct press_model *model, const int32_t *ids, const uint8_t *types, const uint32_t *starts,
                               uint32_t texts) {
    const struct press_header *header = model->header;
    for (uint32_t text = 0; text < texts; text++) {
        if (starts[text + 1] <= starts[text]) return "a text has no tokens";
        if (starts[text + 1] - starts[text] > header->max_tokens) return "a text has more tokens than the model takes";
        for (uint32_t i = starts[text]; i < starts[text + 1]; i++) {
            if (ids[i] < 0 || (uint32_t)ids[i] >= header->vocabulary) return "a token id is not in the vocabulary";
            if (types && model->ops[0].types && types[i] >= model->ops[0].types) return "a token type is not one the model has";
        }
    }
    return 0;
}

size_t press_run(struct press_session *s, const int32_t *ids, const uint8_t *types, const uint32_t *starts, uint32_t texts, float *out,
                 char *error) {
    const char *wrong = press_picture_bytes(s->model) ? "the model looks at pictures" : wrong_texts(s->model, ids, types, starts, texts);
    if (wrong) {
        snprintf(error, PRESS_ERROR_SIZE, "%s", wrong);
        return 0;
    }
    for (uint32_t first = 0; first < texts;) {
        uint32_t count = 1;
        while (first + count < texts && starts[first + count + 1] - starts[first] <= s->capacity) count++;
        size_t tokens = starts[first + count] - starts[first];
        run_group(s, ids, types, 0, starts + first, count, out);
        out += (s->model->per_token ? tokens : count) * s->model->header->dimensions;
        s->observed_rows += tokens;
        first += count;
    }
    return 1;
}

size_t press_see(struct press_session *s, const uint8_t *pixels, uint32_t pictures, float *out, char *error) {
    size_t picture = press_picture_bytes(s->model);
    uint32_t tokens = s->model->header->max_tokens, together = s->capacity / tokens;
    uint32_t starts[TOKEN_BUDGET + 2];
    if (!picture) {
        snprintf(error, PRESS_ERROR_SIZE, "the model reads tokens, not pictures");
        return 0;
    }
    if (together > TOKEN_BUDGET) together = TOKEN_BUDGET;
    for (uint32_t first = 0; first < pictures;) {
        uint32_t count = pictures - first < together ? pictures - first : together;
        for (uint32_t i = 0; i <= count; i++) starts[i] = i * tokens;
        run_group(s, 0, 0, pixels + first * picture, starts, count, out);
        out += (size_t)(s->model->per_token ? count * tokens : count) * s->model->header->dimensions;
        s->observed_rows += (size_t)count * tokens;
        first += count;
    }
    return 1;
}

void press_observe(struct press_session *s, float **inputs) {
    s->observed = inputs;
    s->observed_rows = 0;
}
