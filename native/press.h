/* press: a transformer encoder that is running before others have finished importing.
 *
 * A model is one file, mapped and used in place (format.h). A session has the memory to run it; several
 * sessions may share a model, and none of this has global state. Functions that can fail return 0 and
 * leave a sentence in `error`.
 */
#ifndef PRESS_H
#define PRESS_H

#include <stddef.h>
#include <stdint.h>

struct press_model;
struct press_session;

enum { PRESS_ERROR_SIZE = 256 };

/* Map the file at `path` and check it whole: every offset, every size. */
struct press_model *press_open(const char *path, char *error);
void press_close(struct press_model *model);

/* What the model is: floats per answer, the longest text in tokens, one answer per text or per token. */
size_t press_dimensions(const struct press_model *model);
size_t press_max_tokens(const struct press_model *model);
size_t press_per_token(const struct press_model *model);

/* Token ids of a UTF-8 text, framed as the model wants it and cut to `room`; the model must carry a tokenizer.
 * `spans` is null, or gets two numbers per token: the code points of the text that it stands for, from and to.
 * Returns how many there would be without the cut: any number past `room` when there are more; SIZE_MAX when
 * there was not enough memory. */
size_t press_tokenize(const struct press_model *model, const char *text, size_t size, int32_t *ids, int32_t *spans,
                      uint32_t room);
size_t press_has_tokenizer(const struct press_model *model);

/* A session that computes with `threads` threads: the caller's, and `threads` − 1 that call press_work.
 * `kernels` names an instruction set, for tests; null takes the best. */
struct press_session *press_start(const struct press_model *model, uint32_t threads, const char *kernels, char *error);
void press_stop(struct press_session *session);

/* Send the lent threads home, also those that are still to come, and wait for none: who frees a session while threads
 * may be on their way to it calls this, joins them, and then press_stop. */
void press_quit(struct press_session *session);

/* What a session has of its own, beside the model's file, in bytes. */
size_t press_memory(const struct press_session *session);
const char *press_kernels_name(const struct press_session *session);

/* Lend the calling thread to the session until press_stop; returns then. */
void press_work(struct press_session *session);

/* Run texts given as token ids, one after the other: text i has ids[starts[i]] … ids[starts[i + 1] − 1], and their
 * types where a text has two parts; null for the first kind everywhere. `out` gets press_dimensions floats per
 * text, or per token. Texts never see each other, nor padding. */
size_t press_run(struct press_session *session, const int32_t *ids, const uint8_t *types, const uint32_t *starts, uint32_t texts,
                 float *out, char *error);

/* The same for pictures, of the size that the model takes: RGB, one byte each, one picture after the other. */
size_t press_see(struct press_session *session, const uint8_t *pixels, uint32_t pictures, float *out, char *error);

/* What a picture is, in bytes; 0 for a model that reads tokens. */
size_t press_picture_bytes(const struct press_model *model);

/* From now on copy what each linear op reads to inputs[op], one row after the other, unless that is null: how a model is
 * calibrated. Null ends it. */
void press_observe(struct press_session *session, float **inputs);

/* Round weights (inputs × outputs, in units of each output's step) to −127 … 127 so that what the layer makes of the `rows`
 * of inputs in `x` changes least. `damping`, in thousandths, says how much the weights themselves count.
 * Inputs and outputs are multiples of sixteen; 0 where they are not, or nothing can be made of `x`. */
size_t press_round(const float *x, uint32_t rows, uint32_t inputs, uint32_t outputs, uint32_t damping, const float *weights,
                   int8_t *rounded);

/* Floats as a JSON array, each the shortest text that reads back as the same float32.
 * Returns the bytes written, or 0 when a value is not finite. `text` holds 24 bytes per float and 2 more. */
size_t press_json(const float *values, size_t count, char *text);

#endif
