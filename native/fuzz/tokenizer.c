/* Any bytes as a text, to the tokenizers of all models that PRESS_MODELS names, with colons between them. */
#include "fuzz.h"

enum { MOST_MODELS = 8 };

static struct press_model *models[MOST_MODELS];

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    char error[PRESS_ERROR_SIZE] = "", *paths = getenv("PRESS_MODELS");
    int found = 0;
    for (char *path = paths ? strtok(paths, ":") : 0; path && found < MOST_MODELS; path = strtok(0, ":")) {
        models[found] = press_open(path, error);
        if (!models[found]) break;
        PROMISE(press_has_tokenizer(models[found++]));
    }
    if (!found || *error) fprintf(stderr, "PRESS_MODELS names no model: %s\n", error), exit(1);
    return 0;
}

static void tokenize(const struct press_model *model, const uint8_t *text, size_t size) {
    /* No byte becomes more than eight tokens: characters that grow have several bytes. */
    uint32_t whole = (uint32_t)(2 + 8 * size);
    size_t count, again;
    int32_t *ids = fuzz_tokenize(model, text, size, whole, &count), *same = fuzz_tokenize(model, text, size, whole, &again);
    PROMISE(count <= whole && count == again);
    PROMISE(!memcmp(ids, same, sizeof *ids * count));
    for (size_t i = 0; i < count; i++) PROMISE(ids[i] >= 0 && (uint32_t)ids[i] < model->header->vocabulary);
    free(same);
    /* With less room: the same beginning, the same end, and word that it was cut. */
    for (uint32_t room = 0; room < count && room < 12; room++) {
        int32_t *cut = fuzz_tokenize(model, text, size, room, &again);
        PROMISE(again > room);
        if (room >= 2) PROMISE(!memcmp(cut, ids, sizeof *ids * (room - 1)) && cut[room - 1] == ids[count - 1]);
        free(cut);
    }
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *text = malloc(size ? size : 1); /* exactly as long as it is */
    memcpy(text, data, size);
    for (int i = 0; i < MOST_MODELS && models[i]; i++) tokenize(models[i], text, size);
    free(text);
    return 0;
}
