/* Runs a press file on texts from standard input, for tests: also where no Python can run.
 *
 *   driver MODEL KERNELS|auto THREADS BATCH < texts > answers
 *
 * A text is four bytes of length and its bytes. For each batch the answers' floats are written as they are.
 */
#include "../press.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *lend(void *session) {
    press_work(session);
    return 0;
}

int main(int count, char **arguments) {
    char error[PRESS_ERROR_SIZE];
    if (count != 5) return 2;
    struct press_model *model = press_open(arguments[1], error);
    if (!model) return fprintf(stderr, "refused: %s\n", error), 3;
    uint32_t threads = (uint32_t)atoi(arguments[3]), most = (uint32_t)atoi(arguments[4]);
    struct press_session *session = press_start(model, threads, strcmp(arguments[2], "auto") ? arguments[2] : 0, error);
    if (!session) return fprintf(stderr, "refused: %s\n", error), press_close(model), 4;
    fprintf(stderr, "%s\n", press_kernels_name(session));
    pthread_t lent[64];
    for (uint32_t i = 1; i < threads; i++) pthread_create(lent + i, 0, lend, session);
    size_t room = press_max_tokens(model), width = press_dimensions(model);
    int32_t *ids = malloc(sizeof *ids * room * most), *spans = malloc(2 * sizeof *spans * room);
    uint32_t *starts = calloc(most + 1, sizeof *starts), length;
    int more = 1, failed = 0;
    while (more && !failed) {
        uint32_t texts = 0;
        while (texts < most && (more = fread(&length, 4, 1, stdin) == 1)) {
            char *text = malloc(length + 1);
            if (fread(text, 1, length, stdin) != length) return 5;
            size_t tokens = press_tokenize(model, text, length, ids + starts[texts], 0, (uint32_t)room);
            if (press_tokenize(model, text, length, ids + starts[texts], spans, (uint32_t)room) != tokens) return 7;
            starts[texts + 1] = starts[texts] + (uint32_t)(tokens < room ? tokens : room);
            texts++;
            free(text);
        }
        if (!texts) break;
        size_t answers = press_per_token(model) ? starts[texts] : texts;
        float *out = malloc(sizeof *out * answers * width);
        if (press_run(session, ids, 0, starts, texts, out, error)) fwrite(out, sizeof *out * width, answers, stdout);
        else failed = fprintf(stderr, "failed: %s\n", error);
        free(out);
    }
    free(ids), free(spans), free(starts);
    press_stop(session);
    for (uint32_t i = 1; i < threads; i++) pthread_join(lent[i], 0);
    press_close(model);
    return failed ? 6 : 0;
}
