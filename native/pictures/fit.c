/* Resizing as Pillow 13 does it, to the same bits: one axis, then the other, in fixed point, rounded to bytes between. */
#include "pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 32 - 8 - 2 };
enum { NEAREST, LANCZOS, BILINEAR, BICUBIC, BOX, HAMMING, FILTERS };

static double sinc(double x) { return x == 0 ? 1 : sin(x * M_PI) / (x * M_PI); }

static double weight(uint32_t filter, double x) {
    x = fabs(x);
    switch (filter) {
    case LANCZOS: return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case BILINEAR: return x < 1 ? 1 - x : 0;
    case BICUBIC:
        if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
        return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
    case HAMMING: return x == 0 ? 1 : x < 1 ? sinc(x) * (0.54 + 0.46 * cos(M_PI * x)) : 0;
    default: return 0;
    }
}

static double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

static const double supports[FILTERS] = {[LANCZOS] = 3, [BILINEAR] = 1, [BICUBIC] = 2, [BOX] = 0.5, [HAMMING] = 1};

/* For each place of the result: the first place that it is made from, how many, and what each counts. */
struct taps {
    size_t most;
    int32_t *first, *count, *weights;
};

static void taps_free(struct taps *taps) {
    free(taps->first);
    free(taps->count);
    free(taps->weights);
}

static int taps_make(struct taps *taps, uint32_t from, uint32_t to, uint32_t filter, uint32_t start, uint32_t stop) {
    double scale = (double)from / to, stretch = scale < 1 ? 1 : scale, support = supports[filter] * stretch;
    size_t places = stop - start;
    taps->most = (size_t)ceil(support) * 2 + 1;
    taps->first = malloc(places * sizeof *taps->first);
    taps->count = malloc(places * sizeof *taps->count);
    taps->weights = calloc(places * taps->most, sizeof *taps->weights);
    double *exact = malloc(taps->most * sizeof *exact);
    int made = taps->first && taps->count && taps->weights && exact;
    for (size_t place = 0; made && place < places; place++) {
        double center = ((double)(start + place) + 0.5) * scale, sum = 0;
        int low = (int)(center - support + 0.5), high = (int)(center + support + 0.5);
        if (low < 0) low = 0;
        if (high > (int)from) high = (int)from;
        for (int at = low; at < high; at++) {
            double x = (at - center + 0.5) * (1 / stretch);
            sum += exact[at - low] = filter == BOX ? box(x) : weight(filter, x);
        }
        taps->first[place] = low;
        taps->count[place] = high - low;
        for (int at = 0; at < high - low; at++) {
            double value = sum != 0 ? exact[at] / sum : exact[at];
            taps->weights[place * taps->most + (size_t)at] = (int32_t)(value * (1 << BITS) + (value < 0 ? -0.5 : 0.5));
        }
    }
    free(exact);
    return made;
}

static uint8_t byte(int32_t sum) {
    sum >>= BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* `step` is how far neighbours that are summed lie apart: a pixel along rows, a row along columns. */
static void blend(uint8_t *out, const uint8_t *in, size_t step, const int32_t *weights, int32_t count) {
    int32_t red = 1 << (BITS - 1), green = red, blue = red;
    for (int32_t at = 0; at < count; at++, in += step) {
        red += in[0] * weights[at];
        green += in[1] * weights[at];
        blue += in[2] * weights[at];
    }
    out[0] = byte(red);
    out[1] = byte(green);
    out[2] = byte(blue);
}

/* A part of a picture, and how far apart its rows are. */
struct part {
    uint8_t *corner;
    size_t stride;
};

/* Each of `places` along a row from what `taps` say; or only moved, where that axis keeps its size. */
static void across_rows(struct part to, struct part from, size_t rows, size_t places, const struct taps *taps, size_t first,
                        int keep) {
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < places; x++) {
            const uint8_t *row = from.corner + y * from.stride;
            uint8_t *pixel = to.corner + y * to.stride + 3 * x;
            if (keep)
                memcpy(pixel, row + 3 * x, 3);
            else
                blend(pixel, row + 3 * ((size_t)taps->first[x] - first), 3, taps->weights + x * taps->most, taps->count[x]);
        }
}

static void down_columns(struct part to, struct part from, size_t places, size_t columns, const struct taps *taps, size_t first,
                         int keep) {
    for (size_t y = 0; y < places; y++)
        for (size_t x = 0; x < columns; x++) {
            uint8_t *pixel = to.corner + y * to.stride + 3 * x;
            if (keep)
                memcpy(pixel, from.corner + y * from.stride + 3 * x, 3);
            else
                blend(pixel, from.corner + ((size_t)taps->first[y] - first) * from.stride + 3 * x, from.stride,
                      taps->weights + y * taps->most, taps->count[y]);
        }
}

/* Where what is needed along an axis begins and ends. */
static void reach(const struct taps *taps, size_t places, int keep, size_t start, size_t *first, size_t *count) {
    *first = keep ? start : (size_t)taps->first[0];
    *count = keep ? places : (size_t)(taps->first[places - 1] + taps->count[places - 1]) - *first;
}

static int resample(const struct picture *from, uint32_t width, uint32_t height, uint32_t filter, uint32_t left, uint32_t top,
                    uint32_t right, uint32_t bottom, uint8_t *out, size_t stride) {
    struct taps across = {0}, down = {0};
    uint8_t *between = NULL;
    int made = taps_make(&across, from->width, width, filter, left, right) &&
               taps_make(&down, from->height, height, filter, top, bottom);
    if (made) {
        int keep_x = width == from->width, keep_y = height == from->height;
        size_t columns = right - left, rows = bottom - top, first_x, count_x, first_y, count_y;
        reach(&across, columns, keep_x, left, &first_x, &count_x);
        reach(&down, rows, keep_y, top, &first_y, &count_y);
        /* Pillow takes columns first where the height shrinks by more than twice as many pixels as the width. */
        int columns_first = from->height > height &&
                            (int64_t)from->height - height > 2 * ((int64_t)from->width - width);
        between = malloc(3 * (columns_first ? rows * count_x : columns * count_y));
        made = between != NULL;
        struct part source = {from->pixels + 3 * (first_y * from->width + first_x), 3 * (size_t)from->width};
        struct part middle = {between, 3 * (columns_first ? count_x : columns)}, target = {out, stride};
        if (made && columns_first) {
            down_columns(middle, source, rows, count_x, &down, first_y, keep_y);
            across_rows(target, middle, rows, columns, &across, first_x, keep_x);
        } else if (made) {
            across_rows(middle, source, count_y, columns, &across, first_x, keep_x);
            down_columns(target, middle, rows, columns, &down, first_y, keep_y);
        }
    }
    taps_free(&across);
    taps_free(&down);
    free(between);
    return made;
}

/* Places are summed up step by step, as Pillow does it: each sum is rounded, and that can decide for the next one. */
static void nearest(const struct picture *from, uint32_t width, uint32_t height, uint32_t left, uint32_t top, uint32_t right,
                    uint32_t bottom, uint8_t *out, size_t stride) {
    double down = (double)from->height / height, across = (double)from->width / width, row = down * 0.5;
    for (uint32_t y = 0; y < bottom; y++, row += down) {
        double column = across * 0.5;
        for (uint32_t x = 0; y >= top && x < right; x++, column += across)
            if (x >= left) {
                size_t at = (size_t)row * from->width + (size_t)column;
                memcpy(out + (y - top) * stride + 3 * (size_t)(x - left), from->pixels + 3 * at, 3);
            }
    }
}

static uint32_t within(int64_t value, uint32_t most) { return value < 0 ? 0 : value > most ? most : (uint32_t)value; }

size_t picture_fit(const struct picture *picture, uint32_t width, uint32_t height, uint32_t filter, int32_t left, int32_t top,
                   uint32_t out_width, uint32_t out_height, uint8_t *out, char *error) {
    if (!width || !height || width > 1 << 16 || height > 1 << 16 || filter >= FILTERS) {
        snprintf(error, PICTURE_ERROR_SIZE, "it cannot be resized to %u × %u by filter %u", width, height, filter);
        return 0;
    }
    size_t stride = 3 * (size_t)out_width;
    memset(out, 0, stride * out_height);
    uint32_t from_x = within(left, width), to_x = within((int64_t)left + out_width, width);
    uint32_t from_y = within(top, height), to_y = within((int64_t)top + out_height, height);
    if (from_x == to_x || from_y == to_y) return 1;
    uint8_t *corner = out + stride * (size_t)((int64_t)from_y - top) + 3 * (size_t)((int64_t)from_x - left);
    if (filter == NEAREST)
        nearest(picture, width, height, from_x, from_y, to_x, to_y, corner, stride);
    else if (!resample(picture, width, height, filter, from_x, from_y, to_x, to_y, corner, stride)) {
        snprintf(error, PICTURE_ERROR_SIZE, "not enough memory to resize it to %u × %u", width, height);
        return 0;
    }
    return 1;
}
