/* pictures: from the bytes of a JPEG or PNG to the pixels that a model reads.
 *
 * Decoding is left to libjpeg-turbo and libpng, which must be loaded before the first call that needs them (with
 * their symbols visible to all); turning, resizing and cropping are done here, to the same bits as Pillow does them.
 * Functions that can fail return 0 and leave a sentence in `error`.
 */
#ifndef PICTURES_H
#define PICTURES_H

#include <stddef.h>
#include <stdint.h>

enum { PICTURE_ERROR_SIZE = 256 };

enum picture_kind { PICTURE_UNKNOWN, PICTURE_JPEG, PICTURE_PNG };

/* RGB, one byte each, one row after the other. */
struct picture {
    uint32_t width, height;
    uint8_t *pixels;
};

/* What the bytes begin as: which library is needed to decode them. */
size_t picture_kind(const uint8_t *data, size_t size);

/* Decode, and turn upright as the picture's own Exif says. Larger ones than `most` pixels are refused before
 * anything is allocated for them. */
struct picture *picture_decode(const uint8_t *data, size_t size, size_t most, char *error);
void picture_free(struct picture *picture);
size_t picture_width(const struct picture *picture);
size_t picture_height(const struct picture *picture);

/* Resize to width × height by Pillow's `filter` (its numbers), then cut out_width × out_height with the corner at
 * (left, top); what lies outside is black. Only what is cut out is computed. */
size_t picture_fit(const struct picture *picture, uint32_t width, uint32_t height, uint32_t filter, int32_t left, int32_t top,
                   uint32_t out_width, uint32_t out_height, uint8_t *out, char *error);

/* For the decoders. */
struct picture *picture_new(size_t width, size_t height, size_t most, char *error);
struct picture *picture_turned(struct picture *picture, unsigned orientation, char *error);
unsigned picture_orientation(const uint8_t *exif, size_t size);
struct picture *picture_from_jpeg(const uint8_t *data, size_t size, size_t most, char *error);
struct picture *picture_from_png(const uint8_t *data, size_t size, size_t most, char *error);

#endif
