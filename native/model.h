#ifndef PRESS_MODEL_H
#define PRESS_MODEL_H

#include "format.h"
#include "kernels.h"
#include "press.h"

struct press_model {
    const uint8_t *base;
    uint64_t size;
    const struct press_header *header;
    const struct press_op *ops;
    uint32_t per_token;
    uint32_t mapped; /* whether closing the model unmaps it */
};

/* As press_open, for a file that is in memory already, at an address that is a multiple of 64; it stays the caller's. */
struct press_model *press_open_memory(const void *base, uint64_t size, char *error);

/* A tensor of an op; null where the op has none. */
static inline const void *press_tensor(const struct press_model *model, const struct press_op *op, int index) {
    return op->tensors[index] ? model->base + op->tensors[index] : 0;
}

/* Why a tokenizer's tables cannot be used, or null. */
const char *press_wrong_tokenizer(const uint8_t *base, uint64_t size);

#endif
