/* A month of traffic in seconds: fleets of sandboxes, servers with a queue, and the arrivals that they get.
 * Times are seconds in double precision; durations of requests are milliseconds. All of it is deterministic:
 * the same seed gives the same month, and tests/cost/reference_fleet.py gives it too. */
#ifndef SIMULATE_H
#define SIMULATE_H

#include <stdint.h>

/* Latencies are counted in 128 steps to each doubling: a percentile is right to 0.4 %. From 2^-10 to 2^24 ms. */
#define STEPS_BITS 7
#define LEAST_EXPONENT (-10)
#define DOUBLINGS 34
#define STEPS (DOUBLINGS << STEPS_BITS)

typedef struct {
    uint64_t state[4];
} Random;

void random_seed(Random *random, uint64_t seed);
uint64_t random_next(Random *random);
/* Uniform in (0, 1]: never zero, so that its logarithm is finite. */
double random_unit(Random *random);
int64_t random_below(Random *random, int64_t limit);

/* Which step of a histogram a latency belongs to. */
int64_t step_of(double ms);

typedef struct {
    double finish;
    int32_t sandbox;
    int32_t function; /* its complement: the sandbox is a provisioned one */
} Busy;

/* What is under way, the next to finish first. */
typedef struct {
    Busy *items;
    int64_t count, capacity;
} Heap;

int heap_push(Heap *heap, Busy busy);
Busy heap_pop(Heap *heap);

#endif
