/* Opening a press file: nothing is copied, and nothing in it is trusted. */
#include "model.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 64, MOST_OPS = 4096, MOST_WIDTH = 1 << 20, MOST_TOKENS = 1 << 16, MOST_INPUTS = 1 << 16, MOST_SCORES = 1 << 28 };

static void *fail(char *error, const char *reason) {
    snprintf(error, PRESS_ERROR_SIZE, "%s", reason);
    return 0;
}

/* Whether `bytes` at `offset` lie inside the file, aligned. */
static int inside(const struct press_model *model, uint64_t offset, uint64_t bytes) {
    return offset >= sizeof(struct press_header) && offset % ALIGNMENT == 0 && offset <= model->size &&
           bytes <= model->size - offset;
}

static uint32_t width(const struct press_model *model, uint32_t buffer) {
    return buffer < PRESS_BUFFERS ? model->header->widths[buffer] : 0;
}

/* Whether a tensor of floats (or integers) lies inside the file; one that may be left out is null then. */
static int floats(const struct press_model *model, uint64_t offset, uint64_t count) { return inside(model, offset, count * 4); }
static int maybe_floats(const struct press_model *model, uint64_t offset, uint64_t count) {
    return !offset || floats(model, offset, count);
}

static const char *wrong_embed(const struct press_model *model, const struct press_op *op) {
    uint64_t out = op->outputs, words = model->header->vocabulary * out;
    const uint64_t *t = op->tensors;
    if (width(model, op->target) != out || !out) return "embed: wrong target";
    if (t[1] ? !inside(model, t[0], words) || !floats(model, t[1], model->header->vocabulary) : !floats(model, t[0], words))
        return "embed: the table lies outside the file";
    if (t[2] && (!floats(model, t[2], op->positions * out) ||
                 (uint64_t)op->first_position + model->header->max_tokens > op->positions))
        return "embed: too few positions";
    if (op->padding && !op->first_position) return "embed: no position for padding";
    if (t[3] && (!op->types || op->types > 256 || !floats(model, t[3], op->types * out)))
        return "embed: token types lie outside the file";
    return 0;
}

/* A grid of patches after some tokens that are none; every token has a row of its own in the table. */
static const char *wrong_patches(const struct press_model *model, const struct press_op *op) {
    uint64_t edge = op->window, out = op->outputs, tokens = model->header->max_tokens;
    if (!edge || edge > 256 || !op->positions || op->positions > 256 || op->first_position >= tokens) return "patches: wrong sizes";
    if ((tokens - op->first_position) % op->positions) return "patches: a row that is not full";
    if (3 * edge * edge > out || width(model, op->target) != out) return "patches: wrong target";
    if (op->residual == op->target || !width(model, op->residual)) return "patches: nowhere for the table's rows";
    return floats(model, op->tensors[0], tokens * width(model, op->residual)) ? 0 : "patches: the table lies outside the file";
}

static const char *wrong_linear(const struct press_model *model, const struct press_op *op) {
    uint64_t in = op->inputs, out = op->outputs;
    const uint64_t *t = op->tensors;
    if (!in || !out || width(model, op->source) != in || width(model, op->target) != out) return "linear: wrong buffers";
    if (op->residual != PRESS_NO_BUFFER && width(model, op->residual) != out) return "linear: wrong residual";
    if (op->source == op->target) return "linear: in place";
    if (op->kind == PRESS_OP_FLOAT_LINEAR) {
        if (op->residual == op->target) return "linear: a residual in place";
        return floats(model, t[0], in * out) && floats(model, t[1], out) ? 0 : "linear: outside the file";
    }
    if (in > MOST_INPUTS) return "linear: sums of so many products could overflow";
    if (!inside(model, t[0], in * out) || !floats(model, t[1], out) || !floats(model, t[2], out) || !floats(model, t[3], out) ||
        !maybe_floats(model, t[4], in))
        return "linear: outside the file";
    return 0;
}

/* Queries, keys and values side by side in `buffer`, split into heads. */
static int wrong_heads(const struct press_model *model, const struct press_op *op, uint32_t buffer) {
    return !op->heads || !op->outputs || op->outputs % op->heads || op->outputs / op->heads % 16 ||
           width(model, buffer) != 3ull * op->outputs;
}

/* Why an op cannot be run, or null when it can. */
static const char *wrong_op(const struct press_model *model, const struct press_op *op) {
    uint64_t in = op->inputs, out = op->outputs;
    const uint64_t *t = op->tensors;
    if (in % 16 || out % 16 || in > MOST_WIDTH || out > MOST_WIDTH) return "an op has a size that is no multiple of 16";
    if (op->activation > PRESS_GELU_TANH && op->kind != PRESS_OP_POOL) return "an op has an unknown activation";
    switch (op->kind) {
    case PRESS_OP_EMBED: return wrong_embed(model, op);
    case PRESS_OP_PATCHES: return wrong_patches(model, op);
    case PRESS_OP_LINEAR:
    case PRESS_OP_FLOAT_LINEAR: return wrong_linear(model, op);
    case PRESS_OP_NORM:
        if (!out || width(model, op->source) != out || width(model, op->target) != out) return "norm: wrong buffers";
        return floats(model, t[0], out) && maybe_floats(model, t[1], out) ? 0 : "norm: outside the file";
    case PRESS_OP_ATTEND:
        if (wrong_heads(model, op, op->source) || width(model, op->target) != out) return "attend: heads do not fit";
        if (t[0] && (op->positions + 1ull < model->header->max_tokens || !floats(model, t[0], op->heads * (2ull * op->positions + 1))))
            return "attend: too few distances";
        if ((out / op->heads + 16) * (model->header->max_tokens + 16) > MOST_SCORES) return "attend: too large";
        if (op->activation > PRESS_COMPARE_BYTES || (op->activation && op->window)) return "attend: cannot compare this way";
        if (op->only && op->only != PRESS_POOL_CLS && op->only != PRESS_POOL_LAST) return "attend: no single token";
        return op->source == op->target ? "attend: in place" : 0;
    case PRESS_OP_ROTATE:
        if (wrong_heads(model, op, op->target)) return "rotate: heads do not fit";
        if (op->positions < model->header->max_tokens || model->ops[0].padding) return "rotate: too few positions";
        return floats(model, t[0], (uint64_t)op->positions * (out / op->heads)) ? 0 : "rotate: outside the file";
    case PRESS_OP_GATE:
        return out && width(model, op->source) == 2 * out && width(model, op->target) == out ? 0 : "gate: wrong buffers";
    case PRESS_OP_POOL:
        if (!in || width(model, op->source) != in || op->column % 16 || op->column + in > width(model, op->target))
            return "pool: wrong buffers";
        if (op->source == op->target) return "pool: in place";
        return op->activation && op->activation <= PRESS_POOL_LAST ? 0 : "pool: unknown mode";
    case PRESS_OP_NORMALIZE: return out && width(model, op->target) == out ? 0 : "normalize: wrong target";
    default: return "an op of an unknown kind";
    }
}

/* Whether an op makes rows out of what was asked. */
static int begins(const struct press_op *op) { return op->kind == PRESS_OP_EMBED || op->kind == PRESS_OP_PATCHES; }

/* Whether an op needs to know which token a row is. */
static int about_tokens(const struct press_op *op) {
    return begins(op) || op->kind == PRESS_OP_ATTEND || op->kind == PRESS_OP_ROTATE;
}

static uint32_t bit(uint32_t buffer) { return buffer < PRESS_BUFFERS ? 1u << buffer : 0; }

/* The buffers that an op reads, a bit each. */
static uint32_t reads(const struct press_op *op) {
    switch (op->kind) {
    case PRESS_OP_EMBED:
    case PRESS_OP_PATCHES: return 0;
    case PRESS_OP_LINEAR:
    case PRESS_OP_FLOAT_LINEAR: return bit(op->source) | bit(op->residual);
    case PRESS_OP_ROTATE:
    case PRESS_OP_NORMALIZE: return bit(op->target);
    default: return bit(op->source);
    }
}

static const char *wrong_ops(struct press_model *model) {
    const struct press_header *header = model->header;
    uint32_t written = 0, pooled[PRESS_BUFFERS] = {0}, partly[PRESS_BUFFERS] = {0};
    model->per_token = 1;
    for (uint32_t i = 0; i < header->op_count; i++) {
        const struct press_op *op = model->ops + i;
        const char *wrong = wrong_op(model, op);
        if (wrong) return wrong;
        if ((i == 0) != begins(op)) return "embedding must be the first op, and only that";
        /* Memory is used again: an answer must have nothing of the one before. */
        if (reads(op) & ~written) return "an op reads what none before it wrote";
        for (uint32_t b = 0; b < PRESS_BUFFERS; b++)
            if (partly[b] && (reads(op) & bit(b)) && !(op->kind == PRESS_OP_POOL && op->activation == partly[b]))
                return "an op reads tokens that did not attend";
        if (op->kind == PRESS_OP_POOL) {
            if (op->column != pooled[op->target]) return "pool: a gap between two";
            pooled[op->target] += op->inputs;
            model->per_token = 0;
        } else if (!model->per_token && about_tokens(op)) {
            return "an op about tokens comes after pooling";
        }
        if (op->kind != PRESS_OP_POOL || pooled[op->target] == header->widths[op->target]) written |= bit(op->target);
        if (op->kind == PRESS_OP_PATCHES) written |= bit(op->residual);
        partly[op->target] = op->kind == PRESS_OP_ATTEND ? op->only : 0;
    }
    if (bit(model->ops[header->op_count - 1].target) & ~written) return "the answer is not written whole";
    return header->dimensions <= width(model, model->ops[header->op_count - 1].target) ? 0 : "the answer is wider than what the last op writes";
}

static const char *wrong_model(struct press_model *model) {
    const struct press_header *header = model->header;
    if (memcmp(header->magic, PRESS_MAGIC, 8)) return "not a press file";
    if (header->version != PRESS_VERSION) return "a press file of another version: build it again";
    if (header->layout != PRESS_LAYOUT_PANELS) return "weights in a layout for another architecture: build it again";
    if (header->size != model->size) return "cut off or grown: its size is not the one it was written with";
    if (!header->op_count || header->op_count > MOST_OPS) return "too many ops, or none";
    if (!inside(model, header->ops, header->op_count * sizeof(struct press_op))) return "ops outside the file";
    if (!header->max_tokens || header->max_tokens > MOST_TOKENS) return "an impossible length of texts";
    if (!header->dimensions || !header->vocabulary) return "impossible dimensions";
    for (int i = 0; i < PRESS_BUFFERS; i++)
        if (header->widths[i] % 16 || header->widths[i] > MOST_WIDTH) return "an impossible buffer";
    if (header->tokenizer_size) {
        if (!inside(model, header->tokenizer, header->tokenizer_size)) return "tokenizer outside the file";
        const char *wrong = press_wrong_tokenizer(model->base + header->tokenizer, header->tokenizer_size);
        if (wrong) return wrong;
    }
    if (header->table > model->size) return "table outside the file";
    model->ops = (const struct press_op *)(model->base + header->ops);
    return wrong_ops(model);
}

struct press_model *press_open_memory(const void *base, uint64_t size, char *error) {
    if (size <= sizeof(struct press_header)) return fail(error, "too short for a press file");
    struct press_model *model = calloc(1, sizeof *model);
    if (!model) return fail(error, "out of memory");
    model->base = base, model->size = size, model->header = base;
    const char *wrong = wrong_model(model);
    if (!wrong) return model;
    free(model);
    return fail(error, wrong);
}

struct press_model *press_open(const char *path, char *error) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail(error, "cannot be opened");
    off_t size = lseek(file, 0, SEEK_END);
    void *base = size > 0 ? mmap(0, (size_t)size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (base == MAP_FAILED) return fail(error, "cannot be mapped, or is too short for a press file");
    struct press_model *model = press_open_memory(base, (uint64_t)size, error);
    if (!model) return munmap(base, (size_t)size), (void *)0;
    model->mapped = 1;
    /* Layers are needed by every request, so ask for them now; rows of the table come as they are used. */
    uint64_t layers = model->header->table & ~(uint64_t)4095;
    if (layers) madvise(base, layers, MADV_WILLNEED);
    if (layers < model->size) madvise((char *)base + layers, model->size - layers, MADV_RANDOM);
    return model;
}

void press_close(struct press_model *model) {
    if (!model) return;
    if (model->mapped) munmap((void *)(uintptr_t)model->base, model->size);
    free(model);
}

size_t press_dimensions(const struct press_model *model) { return model->header->dimensions; }
size_t press_max_tokens(const struct press_model *model) { return model->header->max_tokens; }
size_t press_per_token(const struct press_model *model) { return model->per_token; }
size_t press_picture_bytes(const struct press_model *model) {
    const struct press_op *op = model->ops;
    return op->kind == PRESS_OP_PATCHES ? 3 * (size_t)op->window * op->window * (model->header->max_tokens - op->first_position) : 0;
}
size_t press_has_tokenizer(const struct press_model *model) { return model->header->tokenizer_size != 0; }
