/* Opening a press file: nothing is copied, and nothing in it is trusted. */
#include "model.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 64, MOST_OPS = 4096, MOST_WIDTH = 1 << 20, MOST_TOKENS = 1 << 16, MOST_SCORES = 1 << 28 };

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

/* Why an op cannot be run, or null when it can. */
static const char *wrong_op(const struct press_model *model, const struct press_op *op) {
    uint64_t in = op->inputs, out = op->outputs;
    const uint64_t *t = op->tensors;
    if (in % 16 || out % 16 || in > MOST_WIDTH || out > MOST_WIDTH) return "an op has a size that is no multiple of 16";
    switch (op->kind) {
    case PRESS_OP_EMBED:
        if (width(model, op->target) != out || !out) return "embed: wrong target";
        if (!inside(model, t[0], model->header->vocabulary * out) || !inside(model, t[1], model->header->vocabulary * 4ull))
            return "embed: the table lies outside the file";
        if (t[2] && (!inside(model, t[2], op->positions * out * 4) ||
                     (uint64_t)op->first_position + model->header->max_tokens > op->positions))
            return "embed: too few positions";
        if (op->padding && !op->first_position) return "embed: no position for padding";
        if (t[3] && !inside(model, t[3], out * 4)) return "embed: the token type lies outside the file";
        return 0;
    case PRESS_OP_NORM:
        if (width(model, op->target) != out || !out) return "norm: wrong target";
        if (!inside(model, t[0], out * 4) || (t[1] && !inside(model, t[1], out * 4))) return "norm: outside the file";
        return 0;
    case PRESS_OP_LINEAR:
        if (!in || !out || width(model, op->source) != in || width(model, op->target) != out) return "linear: wrong buffers";
        if (op->residual != PRESS_NO_BUFFER && width(model, op->residual) != out) return "linear: wrong residual";
        if (op->source == op->target) return "linear: in place";
        if (op->activation > PRESS_GELU_TANH) return "linear: unknown activation";
        if (!inside(model, t[0], in * out) || !inside(model, t[1], out * 4) || !inside(model, t[2], out * 4) ||
            !inside(model, t[3], out * 4))
            return "linear: outside the file";
        return 0;
    case PRESS_OP_ATTEND:
        if (!op->heads || !out || out % op->heads || out / op->heads % 16) return "attend: heads do not fit";
        if (width(model, op->source) != 3 * out || width(model, op->target) != out) return "attend: wrong buffers";
        if (op->source == op->target) return "attend: in place";
        if ((out / op->heads + 16) * (model->header->max_tokens + 16) > MOST_SCORES) return "attend: too large";
        return 0;
    case PRESS_OP_POOL:
        if (!in || width(model, op->source) != in || model->header->dimensions != in) return "pool: wrong size";
        if (op->activation > PRESS_POOL_LAST) return "pool: unknown mode";
        return 0;
    case PRESS_OP_NORMALIZE:
        return 0;
    default:
        return "an op of an unknown kind";
    }
}

static uint32_t bit(uint32_t buffer) { return buffer < PRESS_BUFFERS ? 1u << buffer : 0; }

/* The buffers that an op reads, a bit each. */
static uint32_t reads(const struct press_op *op) {
    switch (op->kind) {
    case PRESS_OP_NORM: return bit(op->target);
    case PRESS_OP_LINEAR: return bit(op->source) | bit(op->residual);
    case PRESS_OP_ATTEND:
    case PRESS_OP_POOL: return bit(op->source);
    default: return 0;
    }
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
    if (!header->dimensions || header->dimensions % 16 || header->dimensions > MOST_WIDTH) return "impossible dimensions";
    for (int i = 0; i < PRESS_BUFFERS; i++)
        if (header->widths[i] % 16 || header->widths[i] > MOST_WIDTH) return "an impossible buffer";
    if (header->tokenizer_size) {
        if (!inside(model, header->tokenizer, header->tokenizer_size)) return "tokenizer outside the file";
        const char *wrong = press_wrong_tokenizer(model->base + header->tokenizer, header->tokenizer_size);
        if (wrong) return wrong;
    }
    if (header->table > model->size) return "table outside the file";
    model->ops = (const struct press_op *)(model->base + header->ops);
    uint32_t pooled = 0, written = 0;
    for (uint32_t i = 0; i < header->op_count; i++) {
        const char *wrong = wrong_op(model, model->ops + i);
        if (wrong) return wrong;
        /* Memory is used again: an answer must have nothing of the one before. */
        if (reads(model->ops + i) & ~written) return "an op reads what none before it wrote";
        if (model->ops[i].kind <= PRESS_OP_ATTEND) written |= bit(model->ops[i].target);
        if (model->ops[i].kind == PRESS_OP_POOL) pooled++, model->per_token = model->ops[i].activation == PRESS_POOL_NONE;
        if ((i == 0) != (model->ops[i].kind == PRESS_OP_EMBED)) return "embedding must be the first op, and only that";
        if (model->ops[i].kind == PRESS_OP_NORMALIZE && !pooled) return "normalize: nothing is pooled yet";
    }
    return pooled == 1 ? 0 : "exactly one op must pool";
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
    if (base == MAP_FAILED) return fail(error, "empty, or cannot be mapped");
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
size_t press_has_tokenizer(const struct press_model *model) { return model->header->tokenizer_size != 0; }
