/* A picture in memory: made within limits, and turned upright. */
#include "pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t picture_kind(const uint8_t *data, size_t size) {
    if (size >= 3 && !memcmp(data, "\xff\xd8\xff", 3)) return PICTURE_JPEG;
    if (size >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8)) return PICTURE_PNG;
    return PICTURE_UNKNOWN;
}

struct picture *picture_decode(const uint8_t *data, size_t size, size_t most, char *error) {
    switch (picture_kind(data, size)) {
    case PICTURE_JPEG: return picture_from_jpeg(data, size, most, error);
    case PICTURE_PNG: return picture_from_png(data, size, most, error);
    default: snprintf(error, PICTURE_ERROR_SIZE, "it is neither a JPEG nor a PNG"); return NULL;
    }
}

struct picture *picture_new(size_t width, size_t height, size_t most, char *error) {
    if (!width || !height || width > most || height > most / width) {
        snprintf(error, PICTURE_ERROR_SIZE, "it has %zu × %zu pixels; the limit is %zu in all", width, height, most);
        return NULL;
    }
    struct picture *picture = malloc(sizeof *picture);
    uint8_t *pixels = malloc(3 * width * height);
    if (!picture || !pixels) {
        free(picture);
        free(pixels);
        snprintf(error, PICTURE_ERROR_SIZE, "not enough memory for %zu × %zu pixels", width, height);
        return NULL;
    }
    *picture = (struct picture){(uint32_t)width, (uint32_t)height, pixels};
    return picture;
}

void picture_free(struct picture *picture) {
    if (picture) free(picture->pixels);
    free(picture);
}

size_t picture_width(const struct picture *picture) { return picture->width; }
size_t picture_height(const struct picture *picture) { return picture->height; }

/* Orientations 1 to 8: whether rows run from right to left, from bottom to top, and whether the axes change places. */
struct picture *picture_turned(struct picture *from, unsigned orientation, char *error) {
    if (orientation < 2 || orientation > 8) return from;
    int swap = orientation >= 5;
    int mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    int mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    size_t width = from->width, height = from->height;
    struct picture *to = picture_new(swap ? height : width, swap ? width : height, width * height, error);
    if (to) {
        for (size_t y = 0; y < to->height; y++)
            for (size_t x = 0; x < to->width; x++) {
                size_t column = swap ? y : x, row = swap ? x : y;
                if (mirror_x) column = width - 1 - column;
                if (mirror_y) row = height - 1 - row;
                memcpy(to->pixels + 3 * (y * to->width + x), from->pixels + 3 * (row * width + column), 3);
            }
    }
    picture_free(from);
    return to;
}

static unsigned word(const uint8_t *at, int little) { return little ? at[0] | at[1] << 8 : at[0] << 8 | at[1]; }

static size_t number(const uint8_t *at, int little) {
    size_t high = word(at + (little ? 2 : 0), little), low = word(at + (little ? 0 : 2), little);
    return high << 16 | low;
}

/* Exif is a TIFF file: a byte order, then a list of tags; 0x0112 of the first list is the orientation. */
unsigned picture_orientation(const uint8_t *exif, size_t size) {
    if (size >= 6 && !memcmp(exif, "Exif\0\0", 6)) exif += 6, size -= 6;
    if (size < 8 || (memcmp(exif, "II*\0", 4) && memcmp(exif, "MM\0*", 4))) return 1;
    int little = exif[0] == 'I';
    size_t at = number(exif + 4, little);
    if (at > size - 2) return 1;
    size_t tags = word(exif + at, little);
    for (at += 2; tags-- && at + 12 <= size; at += 12)
        if (word(exif + at, little) == 0x0112 && word(exif + at + 2, little) == 3) return word(exif + at + 8, little);
    return 1;
}
