/* Random numbers (xoshiro256**, seeded by splitmix64), the histogram's steps, and a heap. */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>

static uint64_t rotated(uint64_t value, int by) { return (value << by) | (value >> (64 - by)); }

void random_seed(Random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15ULL;
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        random->state[i] = z ^ (z >> 31);
    }
}

uint64_t random_next(Random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotated(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotated(s[3], 45);
    return result;
}

double random_unit(Random *random) { return (double)((random_next(random) >> 11) + 1) * 0x1p-53; }

/* The high half of a product: without a division, and even to one part in 2^32. */
int64_t random_below(Random *random, int64_t limit)
{
    return (int64_t)(((random_next(random) >> 32) * (uint64_t)limit) >> 32);
}

int64_t step_of(double ms)
{
    uint64_t bits;
    memcpy(&bits, &ms, sizeof bits);
    int64_t step = (int64_t)(bits >> (52 - STEPS_BITS)) - ((int64_t)(1023 + LEAST_EXPONENT) << STEPS_BITS);
    if (step < 0)
        return 0;
    return step < STEPS ? step : STEPS - 1;
}

int heap_push(Heap *heap, Busy busy)
{
    if (heap->count == heap->capacity) {
        int64_t capacity = heap->capacity ? heap->capacity * 2 : 64;
        Busy *items = realloc(heap->items, (size_t)capacity * sizeof *items);
        if (!items)
            return -1;
        heap->items = items;
        heap->capacity = capacity;
    }
    int64_t at = heap->count++;
    while (at > 0 && heap->items[(at - 1) / 2].finish > busy.finish) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = busy;
    return 0;
}

Busy heap_pop(Heap *heap)
{
    Busy first = heap->items[0], last = heap->items[--heap->count];
    int64_t at = 0;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->items[child + 1].finish < heap->items[child].finish)
            child++;
        if (heap->items[child].finish >= last.finish)
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return first;
}
