/* JPEG, by libjpeg-turbo with its defaults, which are Pillow's too. */
#include "pictures.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

struct trouble {
    struct jpeg_error_mgr manager;
    jmp_buf back;
    char *error;
};

static void give_up(j_common_ptr info) {
    struct trouble *trouble = (struct trouble *)info->err;
    char message[JMSG_LENGTH_MAX];
    info->err->format_message(info, message);
    snprintf(trouble->error, PICTURE_ERROR_SIZE, "its JPEG data is broken: %.180s", message);
    longjmp(trouble->back, 1);
}

/* A file that ends too early is only a warning to libjpeg, which fills the rest with grey; Pillow refuses it. */
static void no_message(j_common_ptr info, int level) {
    if (level < 0) info->err->num_warnings++;
}

static void ended(j_decompress_ptr info) { (void)info; }

static boolean no_more(j_decompress_ptr info) {
    struct trouble *trouble = (struct trouble *)info->err;
    snprintf(trouble->error, PICTURE_ERROR_SIZE, "its JPEG data ends too early");
    longjmp(trouble->back, 1);
}

static void skip(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    if ((size_t)count > info->src->bytes_in_buffer) no_more(info);
    info->src->next_input_byte += count;
    info->src->bytes_in_buffer -= (size_t)count;
}

/* Called, never pointed to: a pointer would have to be looked up when this library is opened. */
static boolean resync(j_decompress_ptr info, int wanted) { return jpeg_resync_to_restart(info, wanted); }

static uint8_t scaled(unsigned value, unsigned by) {
    unsigned sum = value * by + 128;
    return (uint8_t)((sum + (sum >> 8)) >> 8);
}

/* What a print would look like: ink taken from white. Adobe's files hold it the other way round. */
static void from_ink(uint8_t *rgb, const uint8_t *cmyk, size_t width, int inverted) {
    for (size_t x = 0; x < width; x++, rgb += 3, cmyk += 4) {
        uint8_t flip = inverted ? 255 : 0;
        unsigned white = 255 - (cmyk[3] ^ flip);
        for (int part = 0; part < 3; part++) rgb[part] = (uint8_t)(white - scaled(cmyk[part] ^ flip, white));
    }
}

static void row_to_rgb(uint8_t *row, const uint8_t *line, const struct jpeg_decompress_struct *info) {
    size_t width = info->output_width;
    if (info->out_color_space == JCS_RGB)
        memcpy(row, line, 3 * width);
    else if (info->out_color_space == JCS_CMYK)
        from_ink(row, line, width, info->saw_Adobe_marker);
    else
        for (size_t x = 0; x < width; x++) row[3 * x] = row[3 * x + 1] = row[3 * x + 2] = line[x];
}

struct picture *picture_from_jpeg(const uint8_t *data, size_t size, size_t most, char *error) {
    struct jpeg_decompress_struct info;
    struct trouble trouble = {.error = error};
    struct jpeg_source_mgr source = {
        .next_input_byte = data,
        .bytes_in_buffer = size,
        .init_source = ended,
        .fill_input_buffer = no_more,
        .skip_input_data = skip,
        .resync_to_restart = resync,
        .term_source = ended,
    };
    struct picture *volatile picture = NULL;
    uint8_t *volatile line = NULL;
    memset(&info, 0, sizeof info);
    info.err = jpeg_std_error(&trouble.manager);
    trouble.manager.error_exit = give_up;
    trouble.manager.emit_message = no_message;
    if (setjmp(trouble.back)) {
        jpeg_destroy_decompress(&info);
        picture_free(picture);
        free(line);
        return NULL;
    }
    jpeg_create_decompress(&info);
    info.src = &source;
    jpeg_save_markers(&info, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info, TRUE);
    if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK)
        info.out_color_space = JCS_CMYK;
    else
        info.out_color_space = info.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    unsigned orientation = 1;
    for (jpeg_saved_marker_ptr marker = info.marker_list; marker; marker = marker->next)
        if (marker->data_length >= 6 && !memcmp(marker->data, "Exif\0\0", 6)) {
            orientation = picture_orientation(marker->data, marker->data_length);
            break;
        }
    picture = picture_new(info.image_width, info.image_height, most, error);
    line = picture ? malloc(4 * (size_t)info.image_width) : NULL;
    if (!line) {
        if (picture) snprintf(error, PICTURE_ERROR_SIZE, "not enough memory for a row of %u pixels", info.image_width);
        jpeg_destroy_decompress(&info);
        picture_free(picture);
        return NULL;
    }
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
        JSAMPROW rows[] = {line};
        uint8_t *row = picture->pixels + 3 * (size_t)info.output_scanline * info.output_width;
        jpeg_read_scanlines(&info, rows, 1);
        row_to_rgb(row, line, &info);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
    free(line);
    return picture_turned(picture, orientation, error);
}
