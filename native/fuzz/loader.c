/* Any bytes as a press file: refused with a reason, or opened, given texts and run.
 *
 * What is opened must run without harm on every table of kernels that this CPU has, and answers are the same to the
 * bit where the file is right about its weights and they are finite. A model that would take long is only opened: one
 * execution should take milliseconds.
 */
#include "fuzz.h"

#include <math.h>

enum { MOST_WORK = 1 << 21, MOST_FLOATS = 1 << 21, TEXTS = 4, LONG = 79, PICTURES = 3, MOST_PIXELS = 1 << 18 };

/* One is as long as several blocks and all vectors of a row of scores, where the model takes that much. */
static const struct { const char *text; uint32_t tokens; } TEXT[TEXTS] = {
    {"hello world", 4}, {"", 1}, {"\xFF\xC3 a\xCC\x81\xCC\x96", 3}, {"unable, \xC3\xA9t\xC3\xA9 \xE4\xB8\xAD [MASK] word hello world, \xEA\xB0\x80 the words", LONG}};

static uint64_t work(const struct press_model *model, uint64_t tokens) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < model->header->op_count; i++) {
        const struct press_op *op = model->ops + i;
        sum += tokens * ((uint64_t)op->inputs * op->outputs + op->outputs + 64);
        if (op->kind == PRESS_OP_ATTEND) sum += tokens * tokens * op->outputs;
    }
    return sum;
}

/* Buffers of a session and the scratch of its attention, which grows with the longest text. */
static uint64_t memory(const struct press_model *model) {
    uint64_t width = 0, tokens = model->header->max_tokens;
    for (int i = 0; i < PRESS_BUFFERS; i++) width += model->header->widths[i];
    return width * (tokens > 1024 ? tokens : 1024);
}

/* Whether the sums beside the weights are theirs. Opening a file does not check that, for it would read all of it. */
static int right_sums(const struct press_model *model) {
    for (uint32_t i = 0; i < model->header->op_count; i++) {
        const struct press_op *op = model->ops + i;
        if (op->kind != PRESS_OP_LINEAR) continue;
        const int8_t *weights = press_tensor(model, op, 0);
        const int32_t *sums = press_tensor(model, op, 3);
        for (uint32_t column = 0; column < op->outputs; column++) {
            const int8_t *panel = weights + (size_t)(column / PRESS_PANEL) * PRESS_PANEL * op->inputs;
            int32_t sum = 0;
            for (uint32_t k = 0; k < op->inputs; k++) sum += panel[(k / 4 * PRESS_PANEL + column % PRESS_PANEL) * 4 + k % 4];
            if (sum != sums[column]) return 0;
        }
    }
    return 1;
}

/* What a model is asked: texts by their ids, or, where there are pixels, as many pictures. */
struct asked {
    const int32_t *ids;
    const uint32_t *starts;
    const uint8_t *pixels;
    uint32_t count;
};

static float *run(const struct press_model *model, const char *kernels, const struct asked *asked, size_t floats) {
    char error[PRESS_ERROR_SIZE];
    struct press_session *session = press_start(model, 1, kernels, error);
    if (!session) return 0;
    float *out = malloc(sizeof *out * floats);
    size_t done = asked->pixels ? press_see(session, asked->pixels, asked->count, out, error)
                                : press_run(session, asked->ids, 0, asked->starts, asked->count, out, error);
    if (!done) free(out), out = 0;
    press_stop(session);
    return out;
}

static void run_all(const struct press_model *model, const struct asked *asked) {
    static const char *const tables[] = {"avx512", "avx2", "neon"};
    size_t tokens = asked->pixels ? asked->count * press_max_tokens(model) : asked->starts[asked->count];
    size_t floats = press_dimensions(model) * (press_per_token(model) ? tokens : asked->count);
    float *plain = run(model, "portable", asked, floats);
    if (!plain) return;
    int finite = 1, same = right_sums(model);
    for (size_t i = 0; i < floats; i++) finite &= isfinite(plain[i]) != 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        float *other = run(model, tables[i], asked, floats);
        PROMISE(!other || !finite || !same || !memcmp(plain, other, sizeof *plain * floats));
        free(other);
    }
    char *json = malloc(24 * floats + 2);
    PROMISE((press_json(plain, floats, json) != 0) == finite);
    free(json), free(plain);
}

static void look(const struct press_model *model) {
    size_t size = press_picture_bytes(model);
    if (size > MOST_PIXELS || work(model, PICTURES * model->header->max_tokens) > MOST_WORK || memory(model) > MOST_FLOATS) return;
    uint8_t *pixels = malloc(PICTURES * size);
    for (size_t i = 0; i < PICTURES * size; i++) pixels[i] = (uint8_t)(i * 37 + i / 251);
    run_all(model, &(struct asked){.pixels = pixels, .count = PICTURES});
    free(pixels);
}

static void use(const struct press_model *model) {
    if (press_picture_bytes(model)) {
        look(model);
        return;
    }
    int32_t ids[TEXTS * LONG];
    uint32_t starts[TEXTS + 1] = {0}, longest = model->header->max_tokens;
    for (uint32_t text = 0; text < TEXTS; text++) {
        uint32_t room = longest < LONG ? longest : LONG;
        size_t count = TEXT[text].tokens;
        int32_t *made = press_has_tokenizer(model) ? fuzz_tokenize(model, TEXT[text].text, strlen(TEXT[text].text), room, &count) : 0;
        count = count < room ? count : room;
        for (size_t i = 0; i < count; i++) ids[starts[text] + i] = made ? made[i] : (int32_t)(i + text);
        starts[text + 1] = starts[text] + (uint32_t)count;
        free(made);
    }
    if (work(model, starts[TEXTS]) <= MOST_WORK && memory(model) <= MOST_FLOATS)
        run_all(model, &(struct asked){.ids = ids, .starts = starts, .count = TEXTS});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char error[PRESS_ERROR_SIZE] = "";
    void *base = 0; /* aligned as a mapping is, and not a byte longer than the file */
    if (posix_memalign(&base, 64, size ? size : 1)) return 0;
    memcpy(base, data, size);
    struct press_model *model = press_open_memory(base, size, error);
    PROMISE(model || *error);
    if (model) use(model);
    press_close(model);
    free(base);
    return 0;
}
