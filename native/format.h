/* The press file, version 2: little-endian, every part aligned to 64 bytes, used where it is mapped.
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

enum { PRESS_VERSION = 2, PRESS_LAYOUT_PANELS = 1, PRESS_BUFFERS = 16, PRESS_TENSORS = 8 };

/* What an op reads and writes. Buffers hold one row per token; after pooling, one per text. */
enum press_kind {
    PRESS_OP_EMBED = 1,        /* tensors: words, their scales (none: words are floats), positions, token types; → target */
    PRESS_OP_NORM = 2,         /* tensors: gamma, beta; source → target, which may be the same */
    PRESS_OP_LINEAR = 3,       /* tensors: weights, scales, bias, sums, channel factors; source → target (+ residual) */
    PRESS_OP_ATTEND = 4,       /* tensors: bias by distance; source holds queries, keys and values side by side → target */
    PRESS_OP_POOL = 5,         /* source, of all tokens of a text → target, from `column` on; `activation` holds the mode */
    PRESS_OP_NORMALIZE = 6,    /* target in place, to length one */
    PRESS_OP_FLOAT_LINEAR = 7, /* tensors: weights (inputs × outputs), bias; as LINEAR, in floats */
    PRESS_OP_ROTATE = 8,       /* tensors: cosines and sines per position; turns queries and keys of target in place */
    PRESS_OP_GATE = 9,         /* source holds two halves → target = activation(first) · second */
    PRESS_OP_PATCHES = 10      /* instead of EMBED; tensors: a row per token; pixels → target, those rows → residual */
};

/* How an ATTEND compares queries with keys; its `activation`. */
enum press_compare { PRESS_COMPARE_FLOATS = 0, PRESS_COMPARE_BYTES = 1 };

enum press_pool { PRESS_POOL_MEAN = 1, PRESS_POOL_CLS = 2, PRESS_POOL_MAX = 3, PRESS_POOL_SQRT = 4, PRESS_POOL_WEIGHTED = 5, PRESS_POOL_LAST = 6 };

enum { PRESS_NO_BUFFER = 0xFFFFFFFF };

struct press_op {
    uint32_t kind, activation, source, target, residual;
    uint32_t inputs, outputs, heads;
    uint32_t first_position, positions; /* embed, rotate; attend: distances to either side that have a bias;
                                           patches: tokens before the first, and patches in a row */
    uint32_t padding;                   /* embed: one more than the token id that takes no position; 0 for none */
    uint32_t types;                     /* embed: kinds of tokens */
    uint32_t window;                    /* attend: how many tokens are seen to either side, 0 for all; patches: their edge */
    uint32_t column;                    /* pool */
    float epsilon;
    uint32_t only;                      /* attend: the pooling after it, where one token of a text is all it reads; 0 for all */
    uint64_t tensors[PRESS_TENSORS]; /* offsets from the file's start; 0 for none */
};

/* The answer is what the last op wrote: `dimensions` floats of each row. */
struct press_header {
    char magic[8];
    uint32_t version, layout;
    uint64_t size;
    uint64_t ops, tokenizer, tokenizer_size, table, reserved[2];
    uint32_t op_count, dimensions, max_tokens, vocabulary;
    uint32_t widths[PRESS_BUFFERS]; /* floats per row of each buffer; 0 for unused ones */
};

#endif
