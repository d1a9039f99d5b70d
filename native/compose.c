/* NFC as tokenizers does it, with what it says of where each character comes from. */
#include "tokenizer.h"

#include <stdlib.h>

/* It may join what is before it, or does not stay what it is. */
enum { UNSETTLED = ENTRY_REMOVED };

/* Korean syllables are numbered by their parts, so they need no table; the compiler checks that they are. */
enum { FIRST_SYLLABLE = 0xAC00, SYLLABLES = 11172, LEADS = 0x1100, VOWELS = 0x1161, TAILS = 0x11A7, LEAD_COUNT = 19, VOWEL_COUNT = 21, TAIL_COUNT = 28 };

struct item {
    uint32_t point, rank; /* rank 0 is for what no mark may pass */
    int32_t change;       /* 1: it came in addition; −n: n more went into it */
};

static uint32_t composed(const struct press_tokenizer *t, int part, uint32_t one, uint32_t other) {
    if (one - LEADS < LEAD_COUNT && other - VOWELS < VOWEL_COUNT)
        return FIRST_SYLLABLE + ((one - LEADS) * VOWEL_COUNT + other - VOWELS) * TAIL_COUNT;
    if (one - FIRST_SYLLABLE < SYLLABLES && (one - FIRST_SYLLABLE) % TAIL_COUNT == 0 && other - TAILS - 1 < TAIL_COUNT - 1)
        return one + other - TAILS;
    const uint32_t(*table)[3] = press_part(t, part);
    uint32_t mask = t->parts[part].count / 3 - 1;
    for (uint32_t at = press_pair_hash(one, other) & mask;; at = (at + 1) & mask) {
        if (table[at][0] == UINT32_MAX) return 0;
        if (table[at][0] == one && table[at][1] == other) return table[at][2];
    }
}

/* What a code point is made of, at most three for a syllable; returns how many. */
static uint32_t decomposed(const struct press_text *s, uint32_t point, uint32_t entry, uint32_t syllable[3], const uint32_t **parts) {
    uint32_t number = point - FIRST_SYLLABLE;
    *parts = syllable, syllable[0] = point;
    if (number < SYLLABLES) {
        syllable[0] = LEADS + number / (VOWEL_COUNT * TAIL_COUNT), syllable[1] = VOWELS + number / TAIL_COUNT % VOWEL_COUNT;
        syllable[2] = TAILS + number % TAIL_COUNT;
        return number % TAIL_COUNT ? 3 : 2;
    }
    if (entry & ENTRY_SEQUENCE) {
        const uint32_t *sequence = s->sequences + (entry & ENTRY_VALUE);
        *parts = sequence + 1;
        return sequence[0];
    }
    if (entry & ENTRY_VALUE) syllable[0] = entry & ENTRY_VALUE;
    return 1;
}

/* Marks in the order of their ranks, those of equal rank as they came. */
static void sort(struct item *items, uint32_t count, struct item *spare) {
    if (count > 16) {
        uint32_t places[65] = {0};
        for (uint32_t i = 0; i < count; i++) places[items[i].rank + 1]++;
        for (uint32_t rank = 0; rank < 64; rank++) places[rank + 1] += places[rank];
        for (uint32_t i = 0; i < count; i++) spare[places[items[i].rank]++] = items[i];
        memcpy(items, spare, count * sizeof *items);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct item item = items[i];
        uint32_t at = i;
        for (; at && items[at - 1].rank > item.rank; at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Join what can be joined; returns how many are left. */
static uint32_t recompose(const struct press_tokenizer *t, int part, struct item *items, uint32_t count) {
    uint32_t left = 0, base = UINT32_MAX;
    uint32_t last = 0; /* the rank of the last mark that stayed behind the base; 0 for none */
    for (uint32_t i = 0; i < count; i++) {
        struct item item = items[i];
        if (base != UINT32_MAX && (!last || last < item.rank)) {
            uint32_t made = composed(t, part, items[base].point, item.point);
            if (made) {
                items[base].point = made, items[base].change += item.change - 1;
                continue;
            }
        }
        if (!item.rank) base = left, last = 0;
        else if (base != UINT32_MAX) last = item.rank;
        items[left++] = item;
    }
    return left;
}

/* Whether NFC leaves a stretch as it is. */
static int settled(const struct press_text *s, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        if (*at < 0x80) at++;
        else if (press_entry(s, press_decode(&at, end)) & UNSETTLED) return 0;
    }
    return 1;
}

/* All parts of a stretch, marks in order; when `items` is null, only counts them and the bytes they take. */
static uint32_t decompose(const struct press_text *s, const uint8_t *at, const uint8_t *end, struct item *items, struct item *spare, size_t *bytes) {
    uint32_t count = 0, run = 0, syllable[3];
    const uint32_t *parts;
    uint8_t encoded[4];
    for (*bytes = 0; at < end;) {
        uint32_t point = press_decode(&at, end), made = decomposed(s, point, press_entry(s, point), syllable, &parts);
        for (uint32_t i = 0; i < made; i++, count++) {
            *bytes += press_encode(parts[i], encoded);
            if (!items) continue;
            uint32_t rank = press_rank(press_entry(s, parts[i]));
            items[count] = (struct item){parts[i], rank, i > 0};
            if (rank) continue;
            sort(items + run, count - run, spare);
            run = count + 1;
        }
    }
    if (items) sort(items + run, count - run, spare);
    return count;
}

void press_compose(struct press_text *s, int part, const uint8_t *at, const uint8_t *end, struct press_normal *normal) {
    *normal = (struct press_normal){.at = at, .end = end};
    if (settled(s, at, end)) return;
    size_t size;
    uint32_t count = decompose(s, at, end, 0, 0, &size);
    struct item *items = size < 1 << 30 ? malloc(2 * count * sizeof *items + size * (s->spans ? 5 : 1)) : 0;
    if (!items) {
        press_fail(s);
        return;
    }
    uint32_t *origins = (uint32_t *)(items + 2 * (size_t)count), next = s->spans ? press_index(s, at) : 0;
    uint8_t *bytes = (uint8_t *)(origins + (s->spans ? size : 0)), *out = bytes;
    decompose(s, at, end, items, items + count, &size);
    count = recompose(s->t, part, items, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = press_encode(items[i].point, out), origin = next;
        if (items[i].change > 0) origin -= origin > 0; /* what came in addition stands where the one before it does */
        else next += (uint32_t)(1 - items[i].change);
        for (uint32_t b = 0; s->spans && b < length; b++) origins[out - bytes + b] = origin;
        out += length;
    }
    *normal = (struct press_normal){bytes, out, s->spans ? origins : 0, items};
}

static uint32_t bytes_of(uint32_t point) {
    uint8_t encoded[4];
    return press_encode(point, encoded);
}

const char *press_wrong_compositions(const struct press_tokenizer *t, int part) {
    const uint32_t(*table)[3] = press_part(t, part);
    uint32_t count = t->parts[part].count / 3, used = 0;
    if (!count || count & (count - 1)) return "tokenizer: impossible compositions";
    for (uint32_t i = 0; i < count; i++) {
        if (table[i][0] == UINT32_MAX) continue;
        used++;
        for (int k = 0; k < 3; k++)
            if (table[i][k] >= PRESS_CODE_POINTS) return "tokenizer: an impossible code point";
        /* Memory for the parts is then enough for the whole. */
        if (bytes_of(table[i][2]) > bytes_of(table[i][0]) + bytes_of(table[i][1])) return "tokenizer: a composition grows";
    }
    return used < count ? 0 : "tokenizer: no free slot";
}
