/* PNG, by libpng, read as Pillow's convert("RGB") would have it: transparency is dropped, not blended. */
#include "pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

struct reading {
    const uint8_t *data;
    size_t left;
    char *error;
};

static void give_up(png_structp png, png_const_charp message) {
    struct reading *reading = png_get_error_ptr(png);
    snprintf(reading->error, PICTURE_ERROR_SIZE, "its PNG data is broken: %.180s", message);
    png_longjmp(png, 1);
}

static void no_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void read_some(png_structp png, png_bytep into, size_t count) {
    struct reading *reading = png_get_io_ptr(png);
    if (count > reading->left) png_error(png, "it ends too early");
    memcpy(into, reading->data, count);
    reading->data += count;
    reading->left -= count;
}

/* Grey of 16 bits: Pillow cuts off what is brighter than 255. */
static void narrow(struct picture *picture, const uint8_t *wide) {
    size_t count = (size_t)picture->width * picture->height;
    for (size_t at = 0; at < count; at++, wide += 2) {
        uint8_t grey = wide[0] ? 255 : wide[1];
        memset(picture->pixels + 3 * at, grey, 3);
    }
}

struct picture *picture_from_png(const uint8_t *data, size_t size, size_t most, char *error) {
    struct reading reading = {data, size, error};
    struct picture *volatile picture = NULL;
    uint8_t *volatile wide = NULL;
    png_bytep *volatile rows = NULL;
    png_infop info = NULL;
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, give_up, no_warning);
    if (png) info = png_create_info_struct(png);
    if (!info || setjmp(png_jmpbuf(png))) {
        if (!info) snprintf(error, PICTURE_ERROR_SIZE, "not enough memory to read a PNG");
        png_destroy_read_struct(&png, &info, NULL);
        picture_free(picture);
        free(wide);
        free(rows);
        return NULL;
    }
    png_set_read_fn(png, &reading, read_some);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff); /* ours follows */
    png_set_chunk_malloc_max(png, 8 << 20);
    png_read_info(png, info);
    size_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    int color = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
    picture = picture_new(width, height, most, error);
    if (!picture) goto failed;
    int deep_grey = color == PNG_COLOR_TYPE_GRAY && depth == 16;
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (!(color & PNG_COLOR_MASK_COLOR) && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
    if (depth == 16 && !deep_grey) png_set_strip_16(png);
    if (color & PNG_COLOR_MASK_ALPHA || png_get_valid(png, info, PNG_INFO_tRNS)) png_set_strip_alpha(png);
    if (!(color & PNG_COLOR_MASK_COLOR) && !deep_grey) png_set_gray_to_rgb(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    size_t stride = deep_grey ? 2 * width : 3 * width;
    if (png_get_rowbytes(png, info) != stride) png_error(png, "its rows have another size than its header says");
    rows = malloc(height * sizeof *rows);
    wide = deep_grey ? malloc(stride * height) : NULL;
    if (!rows || (deep_grey && !wide)) png_error(png, "there is not enough memory for it");
    for (size_t y = 0; y < height; y++) rows[y] = (deep_grey ? wide : picture->pixels) + y * stride;
    png_read_image(png, rows);
    png_read_end(png, info);
    if (deep_grey) narrow(picture, wide);
    png_bytep exif = NULL;
    png_uint_32 length = 0;
    unsigned orientation = 1;
    if (png_get_eXIf_1(png, info, &length, &exif)) orientation = picture_orientation(exif, length);
    png_destroy_read_struct(&png, &info, NULL);
    free(rows);
    free(wide);
    return picture_turned(picture, orientation, error);
failed:
    png_destroy_read_struct(&png, &info, NULL);
    return NULL;
}
