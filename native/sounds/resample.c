/* Resampling by a windowed sinc: what is below 0.9 of the lower rate's half is kept to -90 dB, what is above that half
 * is gone to -90 dB.
 *
 * A sample of the result lies between two of the source, at one of `to / gcd` places, and each place has its own row of
 * weights. Rates that have next to nothing in common would need very many rows: there, the two nearest of 1024 are
 * blended, which is as exact (the error of a line through a sine of which 1024 points are known, -118 dB).
 */
#include "sounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Kaiser's window for 90 dB, 64 zeros of the sinc to each side: from full to nothing within 0.09 of the half rate. */
static const double BETA = 8.96, CUTOFF = 0.95;
enum { ZEROS = 64, MOST_ROWS = 1024, WINDOW = 4096, LANES = 8 };

struct filter {
    size_t rows, taps, reach;
    float *weights;
};

static size_t common(size_t a, size_t b) {
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The modified Bessel function of order 0. Its series is summed here: what the C library has for it needs exp, whose
 * newer versions are not on every system that Lambda has. */
static double bessel(double x) {
    double sum = 1, term = 1;
    for (int at = 1; term > sum * 1e-12; at++) sum += term *= x * x / (4.0 * at * at);
    return sum;
}

/* From the middle of the window to its end, and one more for whoever blends with the next. */
static void window_fill(double *window) {
    double most = bessel(BETA);
    for (int at = 0; at <= WINDOW; at++) {
        double x = (double)at / WINDOW;
        window[at] = bessel(BETA * sqrt(1 - x * x)) / most;
    }
    window[WINDOW + 1] = 0;
}

/* `x` samples of the source from the middle of a sinc that reaches `half` of them. */
static double weight(const double *window, double x, double half, double cutoff) {
    double place = fabs(x) / half * WINDOW;
    if (place >= WINDOW) return 0;
    size_t at = (size_t)place;
    double high = window[at] + (window[at + 1] - window[at]) * (place - (double)at);
    return high * (x == 0 ? cutoff : sin(M_PI * cutoff * x) / (M_PI * x));
}

static int filter_make(struct filter *filter, size_t up, double ratio) {
    double lower = ratio < 1 ? ratio : 1, half = ZEROS / lower;
    filter->reach = (size_t)ceil(half);
    filter->taps = 2 * filter->reach;
    filter->rows = up < MOST_ROWS ? up : MOST_ROWS;
    filter->weights = malloc((filter->rows + 1) * filter->taps * sizeof *filter->weights);
    double *window = malloc((WINDOW + 2) * sizeof *window), *row = malloc(filter->taps * sizeof *row);
    int made = filter->weights && window && row;
    if (made) window_fill(window);
    for (size_t at = 0; made && at <= filter->rows; at++) {
        double between = (double)at / (double)filter->rows, sum = 0;
        for (size_t tap = 0; tap < filter->taps; tap++) {
            double x = (double)tap - (double)(filter->reach - 1) - between;
            sum += row[tap] = weight(window, x, half, CUTOFF * lower);
        }
        /* A constant stays one, whichever row is used. */
        for (size_t tap = 0; tap < filter->taps; tap++)
            filter->weights[at * filter->taps + tap] = (float)(row[tap] / sum);
    }
    free(window);
    free(row);
    return made;
}

/* In an order that is the same for every CPU, and that a compiler can do several at a time. */
static float dot(const float *a, const float *b, size_t count) {
    float sums[LANES] = {0}, rest = 0;
    size_t at = 0;
    for (; at + LANES <= count; at += LANES)
        for (size_t lane = 0; lane < LANES; lane++) sums[lane] += a[at + lane] * b[at + lane];
    for (; at < count; at++) rest += a[at] * b[at];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])) + rest;
}

static void filter_run(const struct filter *filter, const float *in, size_t count, size_t up, size_t down, float *out,
                       size_t out_count) {
    for (size_t at = 0; at < out_count; at++) {
        size_t whole = at * down / up, place = at * down % up * filter->rows;
        /* Before the first sample and after the last one there is silence. */
        size_t low = whole + 1 < filter->reach ? filter->reach - 1 - whole : 0;
        size_t begin = whole + 1 + low - filter->reach, taps = filter->taps - low;
        if (taps > count - begin) taps = count - begin;
        const float *row = filter->weights + place / up * filter->taps + low;
        float value = dot(row, in + begin, taps);
        if (place % up) {
            float next = dot(row + filter->taps, in + begin, taps);
            value += (next - value) * ((float)(place % up) / (float)up);
        }
        out[at] = value;
    }
}

size_t sound_resample(const float *in, size_t count, size_t from, size_t to, float *out, size_t out_count, char *error) {
    if (from < SOUND_LOWEST_RATE || from > SOUND_HIGHEST_RATE || to < SOUND_LOWEST_RATE || to > SOUND_HIGHEST_RATE) {
        snprintf(error, SOUND_ERROR_SIZE, "it cannot be resampled from %zu to %zu Hz; from %d to %d can", from, to,
                 SOUND_LOWEST_RATE, SOUND_HIGHEST_RATE);
        return 0;
    }
    size_t shared = common(from, to), up = to / shared, down = from / shared;
    if (count > SIZE_MAX / SOUND_HIGHEST_RATE / 2 || out_count != (count * up + down - 1) / down) {
        snprintf(error, SOUND_ERROR_SIZE, "%zu samples at %zu Hz are not %zu at %zu Hz", count, from, out_count, to);
        return 0;
    }
    struct filter filter = {0};
    int made = filter_make(&filter, up, (double)to / (double)from);
    if (made)
        filter_run(&filter, in, count, up, down, out, out_count);
    else
        snprintf(error, SOUND_ERROR_SIZE, "not enough memory to resample it from %zu to %zu Hz", from, to);
    free(filter.weights);
    return (size_t)made;
}
