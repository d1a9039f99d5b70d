/* sounds: from the samples inside a WAV file to the floats that a model reads: one channel, the model's own rate.
 *
 * Where the samples lie and what they are is found out before, by whoever parses the file; here every size is checked
 * once more. Functions return 0 and leave a sentence in `error` when they cannot do what they are asked.
 */
#ifndef SOUNDS_H
#define SOUNDS_H

#include <stddef.h>
#include <stdint.h>

enum { SOUND_ERROR_SIZE = 256 };

/* Rates that are resampled, in Hz. */
enum { SOUND_LOWEST_RATE = 1000, SOUND_HIGHEST_RATE = 384000 };

/* The mean of all channels, from -1 to 1 for whole numbers; floats are taken as they are. Samples are little-endian
 * and begin at `start`: `width` bytes each, whole numbers of 1 to 4 bytes or, if `floating`, floats of 4 or 8. */
size_t sound_decode(const uint8_t *data, size_t size, size_t start, size_t frames, size_t channels, size_t width,
                    size_t floating, float *out, char *error);

/* From one rate to another, by a windowed sinc; `out_count` is count × to / from, rounded up. */
size_t sound_resample(const float *in, size_t count, size_t from, size_t to, float *out, size_t out_count, char *error);

#endif
