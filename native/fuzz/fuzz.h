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

/* Into memory of exactly `room` ids, so that one more would be noticed, and as many spans. The caller frees them. */
static inline int32_t *fuzz_tokenize(const struct press_model *model, const void *text, size_t size, uint32_t room,
                                     size_t *count) {
    int32_t *ids = malloc(sizeof *ids * room);
    int32_t *spans = malloc(sizeof *spans * 2 * room);
    *count = press_tokenize(model, text, size, ids, spans, room);
    for (size_t i = 0; i < *count && i < room; i++)
        PROMISE(0 <= spans[2 * i] && spans[2 * i] <= spans[2 * i + 1] && (size_t)spans[2 * i + 1] <= size);
    free(spans);
    /* Without spans, which is how most texts are read: the same ids. */
    int32_t *plain = malloc(sizeof *plain * room);
    size_t found = press_tokenize(model, text, size, plain, 0, room);
    PROMISE(found == *count && !memcmp(plain, ids, sizeof *ids * (found < room ? found : room)));
    free(plain);
    return ids;
}

#endif
