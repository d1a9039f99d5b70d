/* A text is cut at added tokens, given to its kind of tokenizer between them, and framed. */
#include "tokenizer.h"

enum { LONGEST_SEQUENCE = 64, LONGEST_FRAME = 64 };

static const struct press_tokenizer_kind *const kinds[] = {0, &press_wordpiece, &press_bpe, [PRESS_UNIGRAM] = &press_unigram};

uint32_t press_index(struct press_text *s, const uint8_t *at) {
    for (; s->at < at; s->at++) s->index += (*s->at & 0xC0) != 0x80;
    for (; s->at > at; s->index -= (*s->at & 0xC0) != 0x80) s->at--;
    return s->index;
}

void press_put_trimmed(struct press_text *s, uint32_t id, uint32_t start, uint32_t end, uint32_t leading,
                       uint32_t trailing) {
    if (s->t->flags & TRIM_SPACES) {
        /* A single space at the beginning may have been put there by the tokenizer. */
        int first = s->count == s->t->parts[PART_BEFORE].count || start == 0;
        if (first && leading == 1 && s->t->flags & TRIM_BUT_PREFIX) leading = 0;
        start = start + leading < end ? start + leading : end;
        if (end >= trailing) end = end - trailing > start ? end - trailing : start;
    }
    press_put(s, id, start, end);
}

void press_origin(struct press_text *s, const struct press_normal *normal, const uint8_t *at, const uint8_t *end,
                  uint32_t *start, uint32_t *stop) {
    if (normal->origins) {
        *start = normal->origins[at - normal->at], *stop = normal->origins[end - 1 - normal->at] + 1;
        return;
    }
    while (at > normal->at && (*at & 0xC0) == 0x80) at--;
    *start = press_index(s, at), *stop = press_index(s, end);
}

static void segment(struct press_text *s, const struct press_normal *normal, const uint8_t *at, const uint8_t *end) {
    (void)normal;
    kinds[s->t->kind]->segment(s, at, end);
}

static void put_frame(struct press_text *s, int part) {
    const uint32_t *ids = press_part(s->t, part);
    for (uint32_t i = 0; i < s->t->parts[part].count; i++) press_put(s, ids[i], 0, 0);
}

size_t press_tokenize(const struct press_model *model, const char *text, size_t size, int32_t *ids, int32_t *spans,
                      uint32_t room) {
    const struct press_tokenizer *t = (const struct press_tokenizer *)(model->base + model->header->tokenizer);
    const uint8_t *at = (const uint8_t *)text;
    const struct press_normal whole = {.at = at, .end = at + size};
    struct press_text s = {.t = t, .pages = press_part(t, PART_PAGES), .entries = press_part(t, PART_ENTRIES),
                           .sequences = press_part(t, PART_SEQUENCES), .ids = ids, .spans = spans, .room = room, .at = at};
    uint32_t before = t->parts[PART_BEFORE].count, after = t->parts[PART_AFTER].count;
    uint32_t inner = room > before + after ? room - before - after : 0;
    put_frame(&s, PART_BEFORE);
    s.room = room < before + inner ? room : before + inner;
    press_cut(&s, PART_FIRST, &whole, segment);
    uint32_t content = s.count - before;
    s.room = room, s.count = before + (content < inner ? content : inner);
    put_frame(&s, PART_AFTER);
    return s.failed ? SIZE_MAX : (size_t)before + content + after;
}

/* Why the tables of code points or pieces cannot be used, or null. */
static const char *wrong_tables(const struct press_tokenizer *t) {
    const uint16_t *pages = press_part(t, PART_PAGES);
    const uint32_t *entries = press_part(t, PART_ENTRIES), *sequences = press_part(t, PART_SEQUENCES);
    uint32_t entry_count = t->parts[PART_ENTRIES].count, sequence_count = t->parts[PART_SEQUENCES].count;
    if (t->parts[PART_PAGES].count != PRESS_CODE_POINTS / PRESS_PAGE) return "tokenizer: not all pages are there";
    for (uint32_t i = 0; i < PRESS_CODE_POINTS / PRESS_PAGE; i++)
        if (((uint32_t)pages[i] + 1) * PRESS_PAGE > entry_count) return "tokenizer: a page is missing";
    for (uint32_t i = 0; i < entry_count; i++) {
        uint32_t value = entries[i] & ENTRY_VALUE;
        if (!(entries[i] & ENTRY_SEQUENCE)) {
            if (value >= PRESS_CODE_POINTS) return "tokenizer: an impossible code point";
        } else {
            if (value >= sequence_count || sequences[value] >= sequence_count - value)
                return "tokenizer: a sequence is cut off";
            if (sequences[value] > LONGEST_SEQUENCE) return "tokenizer: a sequence is too long";
            for (uint32_t k = 1; k <= sequences[value]; k++)
                if (sequences[value + k] >= PRESS_CODE_POINTS) return "tokenizer: an impossible code point";
        }
    }
    const uint32_t *slots = press_part(t, PART_SLOTS), *offsets = press_part(t, PART_OFFSETS);
    uint32_t slot_count = t->parts[PART_SLOTS].count, used = 0;
    if (!slot_count || slot_count & (slot_count - 1)) return "tokenizer: impossible slots";
    for (uint32_t i = 0; i < slot_count; i++) {
        uint32_t number = slots[i] & ((1 << PRESS_ID_BITS) - 1); /* one more than the id */
        if (slots[i] && (!number || number > t->vocabulary)) return "tokenizer: an impossible slot";
        used += slots[i] != 0;
    }
    if (used >= slot_count) return "tokenizer: no free slot"; /* a search for what is not there ends at one */
    if (t->parts[PART_OFFSETS].count != t->vocabulary + 1) return "tokenizer: not all pieces are there";
    for (uint32_t i = 0; i < t->vocabulary; i++)
        if (offsets[i] >= offsets[i + 1] || offsets[i + 1] > t->parts[PART_BYTES].count)
            return "tokenizer: an impossible piece";
    return 0;
}

const char *press_wrong_tokenizer(const uint8_t *base, uint64_t size) {
    const struct press_tokenizer *t = (const struct press_tokenizer *)base;
    if (size < sizeof *t || size > UINT32_MAX) return "tokenizer: too small, or too large";
    if (t->kind >= sizeof kinds / sizeof *kinds || !kinds[t->kind]) return "tokenizer: of an unknown kind";
    if (!t->vocabulary || t->vocabulary >= 1 << PRESS_ID_BITS) return "tokenizer: an impossible vocabulary";
    for (int part = 0; part < PARTS; part++) {
        uint64_t item = part == PART_BYTES ? 1 : part == PART_PAGES ? 2 : 4;
        if (t->parts[part].at % 4 || t->parts[part].at + t->parts[part].count * item > size)
            return "tokenizer: a table lies outside";
    }
    for (int part = PART_BEFORE; part <= PART_AFTER; part++) {
        const uint32_t *ids = press_part(t, part);
        if (t->parts[part].count > LONGEST_FRAME) return "tokenizer: an impossible frame";
        for (uint32_t i = 0; i < t->parts[part].count; i++)
            if (ids[i] >= t->vocabulary) return "tokenizer: impossible ids";
    }
    const char *wrong = t->kind == PRESS_UNIGRAM ? 0 : wrong_tables(t); /* it has its own */
    if (!wrong) wrong = press_wrong_added(t);
    return wrong ? wrong : kinds[t->kind]->wrong(t);
}
