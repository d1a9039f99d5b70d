/* Arrivals: of independent people at a rate that changes by steps, of a count within a span, and whose they are. */
#include "simulate.h"

#include <math.h>

typedef struct {
    Random random;
    double now;
    double left; /* of the exponential way to the next arrival, in units of rate x time; negative: to be drawn */
} Source;

void source_open(Source *source, uint64_t seed)
{
    random_seed(&source->random, ~seed); /* a fleet with the same seed must not draw the same numbers */
    source->now = 0;
    source->left = -1;
}

/* Arrivals until `end` at `rate` a second; as many as there is room for. Says how many; fewer: the end is reached. */
int64_t source_fill(Source *source, double end, double rate, double *at, int64_t room)
{
    int64_t count = 0;
    while (count < room) {
        if (source->left < 0)
            source->left = -log(random_unit(&source->random));
        double there = rate > 0 ? source->now + source->left / rate : INFINITY;
        if (there >= end) {
            source->left -= (end - source->now) * rate;
            if (source->left < 0)
                source->left = 0;
            source->now = end;
            return count;
        }
        source->now = there;
        source->left = -1;
        at[count++] = there;
    }
    return count;
}

/* `count` of `total` arrivals anywhere in `width` seconds from `start`, `done` of them drawn before, in order:
 * each is the least of those that are left. `*left` is the part of the span that is left, 1 at first. */
void spread_fill(Source *source, double start, double width, int64_t total, int64_t done, double *left, double *at,
                 int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        *left *= pow(random_unit(&source->random), 1.0 / (double)(total - done - i));
        at[i] = start + width * (1 - *left);
    }
}

/* Whose each arrival is: the first function whose share, added up, reaches a random number. */
void owners_fill(Source *source, const double *shares, int64_t functions, uint32_t *owners, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double drawn = random_unit(&source->random) * shares[functions - 1];
        int64_t low = 0, high = functions - 1;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (shares[middle] >= drawn)
                high = middle;
            else
                low = middle + 1;
        }
        owners[i] = (uint32_t)low;
    }
}
