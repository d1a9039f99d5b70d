/* What the two fuzzers share: token ids of a text, and a place where broken promises stop the program. */
#ifndef PRESS_FUZZ_H
#define PRESS_FUZZ_H

#include "../model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMISE(condition)                                                        \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                              \
        }                                                                         \
    } while (0)

/* Into memory of exactly `room` ids, so that one more would be noticed. The caller frees them. */
static inline int32_t *fuzz_tokenize(const struct press_model *model, const void *text, size_t size, uint32_t room,
                                     size_t *count) {
    int32_t *ids = malloc(sizeof *ids * room);
    *count = press_tokenize(model, text, size, ids, 0, room);
    return ids;
}

#endif
