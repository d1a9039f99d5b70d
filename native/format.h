/* The press file, version 1: little-endian, every part aligned to 64 bytes, used where it is mapped.
 *
 *   header │ ops │ tensors of the layers, in order │ tokenizer │ embedding table
 *
 * The table comes last: a request touches few of its rows, and what fetches files by chunks should
 * find the layers together.
 */
#ifndef PRESS_FORMAT_H
#define PRESS_FORMAT_H

#include <stdint.h>

#define PRESS_MAGIC "coldpres"

enum { PRESS_VERSION = 1, PRESS_LAYOUT_PANELS = 1, PRESS_BUFFERS = 8, PRESS_TENSORS = 6 };

enum press_kind {
    PRESS_OP_EMBED = 1,  /* tensors: words (int8), their scales, positions, token type, —; → dst */
    PRESS_OP_NORM = 2,   /* tensors: gamma, beta; dst in place */
    PRESS_OP_LINEAR = 3, /* tensors: weights, scales, bias, sums; src → dst (+ residual) */
    PRESS_OP_ATTEND = 4, /* src holds queries, keys and values side by side → dst */
    PRESS_OP_POOL = 5,   /* src → the answer; `activation` holds the mode */
    PRESS_OP_NORMALIZE = 6 /* the answer in place */
};

enum press_pool { PRESS_POOL_NONE = 0, PRESS_POOL_MEAN = 1, PRESS_POOL_CLS = 2, PRESS_POOL_MAX = 3, PRESS_POOL_SQRT = 4, PRESS_POOL_WEIGHTED = 5, PRESS_POOL_LAST = 6 };

enum { PRESS_NO_BUFFER = 0xFFFFFFFF };

struct press_op {
    uint32_t kind, activation, source, target, residual;
    uint32_t inputs, outputs, heads;
    uint32_t first_position, positions;
    float epsilon;
    uint32_t padding; /* embed: one more than the token id that takes no position; 0 for none */
    uint64_t tensors[PRESS_TENSORS]; /* offsets from the file's start; 0 for none */
};

struct press_header {
    char magic[8];
    uint32_t version, layout;
    uint64_t size;
    uint64_t ops, tokenizer, tokenizer_size, table, reserved[2];
    uint32_t op_count, dimensions, max_tokens, vocabulary;
    uint32_t widths[PRESS_BUFFERS]; /* floats per token of each buffer; 0 for unused ones */
};

#endif
