/* Any bytes as a text, to the tokenizer of the model that PRESS_MODEL names. */
#include "fuzz.h"

static struct press_model *model;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    char error[PRESS_ERROR_SIZE] = "PRESS_MODEL is not set";
    const char *path = getenv("PRESS_MODEL");
    model = path ? press_open(path, error) : 0;
    if (!model) fprintf(stderr, "no model: %s\n", error), exit(1);
    PROMISE(press_has_tokenizer(model));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* No code point becomes more than four, and a token has at least one. */
    uint32_t whole = (uint32_t)(2 + 4 * size);
    size_t count, again;
    uint8_t *text = malloc(size ? size : 1); /* exactly as long as it is */
    memcpy(text, data, size);
    int32_t *ids = fuzz_tokenize(model, text, size, whole, &count), *same = fuzz_tokenize(model, text, size, whole, &again);
    PROMISE(count >= 2 && count <= whole && count == again);
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
    free(ids), free(text);
    return 0;
}
