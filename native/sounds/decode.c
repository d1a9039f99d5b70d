/* Samples of every width that a WAV file can have, as floats. */
#include "sounds.h"

#include <stdio.h>
#include <string.h>

/* The loudest float that is taken: that of a writer that left 32-bit numbers as they were. The squares of a minute of
 * them still have a sum. */
static const float LOUDEST = 2147483648.0f;

/* `int32_t` of the sample's own highest bits, whatever its width. Bytes of 8 bits have no sign: silence is 128. */
static int32_t widened(const uint8_t *at, size_t width) {
    uint32_t value = 0;
    for (size_t byte = 0; byte < width; byte++) value |= (uint32_t)at[byte] << 8 * (4 - width + byte);
    return (int32_t)(width == 1 ? value ^ 0x80000000u : value);
}

static double sample(const uint8_t *at, size_t width, size_t floating) {
    if (!floating) return widened(at, width) / 2147483648.0;
    if (width == 4) {
        float value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

size_t sound_decode(const uint8_t *data, size_t size, size_t start, size_t frames, size_t channels, size_t width,
                    size_t floating, float *out, char *error) {
    int known = floating ? width == 4 || width == 8 : width >= 1 && width <= 4;
    if (!known || !channels || channels > 1 << 16 || start > size || frames > (size - start) / (channels * width)) {
        snprintf(error, SOUND_ERROR_SIZE, "%zu samples of %zu × %zu bytes do not fit into the %zu that there are", frames,
                 channels, width, size);
        return 0;
    }
    const uint8_t *at = data + start;
    for (size_t frame = 0; frame < frames; frame++) {
        double sum = 0;
        for (size_t channel = 0; channel < channels; channel++, at += width) sum += sample(at, width, floating);
        float value = (float)(channels == 1 ? sum : sum / (double)channels);
        if (!(value <= LOUDEST && value >= -LOUDEST)) { /* nor is it when it is not a number */
            snprintf(error, SOUND_ERROR_SIZE, "its sample %zu is %g; the limit is %.0f either way", frame, (double)value,
                     (double)LOUDEST);
            return 0;
        }
        out[frame] = value;
    }
    return 1;
}
