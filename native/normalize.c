/* Normalized text in memory of its own: NFC, or what the table makes of each code point with marks in order.
 *
 * tokenizers holds each normalized code point for one of the text, by counting: what replaces takes the next of the
 * text, what came in addition stands where the one before it does. When marks trade places, that shows.
 */
#include "tokenizer.h"

#include <stdlib.h>

/* In tables for NFC, where nothing goes away: it may join what is before it, or does not stay what it is. */
enum { UNSETTLED = ENTRY_REMOVED };

/* Korean syllables are numbered by their parts, so they need no table; the compiler checks that they are. */
enum { FIRST_SYLLABLE = 0xAC00, SYLLABLES = 11172, LEADS = 0x1100, VOWELS = 0x1161, TAILS = 0x11A7 };
enum { LEAD_COUNT = 19, VOWEL_COUNT = 21, TAIL_COUNT = 28 };

static const uint32_t NOTHING = UINT32_MAX; /* a removed code point still counts */

struct item {
    uint32_t point, rank; /* rank 0 is for what no mark may pass */
    int32_t change;       /* 1: it came in addition; −n: n more went into it */
};

/* The items of a stretch, as far as they are known: counted first, then written. */
struct items {
    struct item *at, *spare;
    uint32_t count, run; /* where the last run of marks begins */
    size_t bytes;
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

static void add(struct items *items, uint32_t point, uint32_t rank, int32_t change) {
    uint8_t encoded[4];
    if (point != NOTHING) items->bytes += press_encode(point, encoded);
    if (items->at) {
        items->at[items->count] = (struct item){point, rank, change};
        if (!rank) {
            sort(items->at + items->run, items->count - items->run, items->spare);
            items->run = items->count + 1;
        }
    }
    items->count++;
}

/* What a code point is made of. For NFC, `composing`, the table has bits of its own, and no syllables. */
static void decompose(const struct press_text *s, struct items *items, uint32_t point, int composing) {
    uint32_t entry = press_entry(s, point), syllable = point - FIRST_SYLLABLE;
    uint32_t single = entry & ENTRY_VALUE ? entry & ENTRY_VALUE : point;
    if (composing && syllable < SYLLABLES) {
        add(items, LEADS + syllable / (VOWEL_COUNT * TAIL_COUNT), 0, 0);
        add(items, VOWELS + syllable / TAIL_COUNT % VOWEL_COUNT, 0, 1);
        if (syllable % TAIL_COUNT) add(items, TAILS + syllable % TAIL_COUNT, 0, 1);
    } else if (entry & ENTRY_SEQUENCE) {
        const uint32_t *sequence = s->sequences + (entry & ENTRY_VALUE);
        for (uint32_t i = 1; i <= sequence[0]; i++)
            add(items, sequence[i], press_rank(press_entry(s, sequence[i])), i > 1);
    } else if (!composing && entry & ENTRY_REMOVED) {
        if (!(entry & ENTRY_VALUE)) add(items, NOTHING, press_rank(entry), 0);
    } else if (!composing && press_class(press_entry(s, single)) == PRESS_CLASS_SPACED) {
        add(items, ' ', 0, 0), add(items, single, 0, 1), add(items, ' ', 0, 1);
    } else {
        add(items, single, press_rank(press_entry(s, single)), 0);
    }
}

/* Whether a code point of the text goes before it is counted. */
static int uncounted(const struct press_text *s, const uint8_t *at, const uint8_t *end, int composing) {
    uint32_t entry = press_entry(s, press_decode(&at, end));
    return !composing && entry & ENTRY_REMOVED && entry & ENTRY_VALUE;
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

/* Write the items out; `at` … `end` is the text that they came from. */
static uint8_t *write_items(struct press_text *s, const struct items *items, const uint8_t *at, const uint8_t *end,
                            int composing, uint8_t *out, uint32_t *origins) {
    const uint8_t *next = at;
    uint32_t index = origins ? press_index(s, at) : 0, last = index;
    for (uint32_t i = 0; i < items->count; i++) {
        const struct item *item = items->at + i;
        uint32_t origin = last; /* of what came in addition */
        for (int32_t taken = item->change; origins && taken <= 0 && next < end; taken++) {
            for (; next < end && uncounted(s, next, end, composing); index++) press_decode(&next, end);
            if (taken == item->change) origin = index;
            last = index;
            if (next < end) press_decode(&next, end), index++;
        }
        uint32_t length = item->point == NOTHING ? 0 : press_encode(item->point, out);
        for (uint32_t b = 0; origins && b < length; b++) *origins++ = origin;
        out += length;
    }
    return out;
}

/* `composed` is the part with the table of pairs; 0 for no composing. */
static void normalize(struct press_text *s, int composed, const uint8_t *at, const uint8_t *end,
                      struct press_normal *normal) {
    struct items items = {0, 0, 0, 0, 0};
    for (const uint8_t *p = at; p < end;) decompose(s, &items, press_decode(&p, end), composed);
    size_t size = items.bytes, count = items.count;
    void *memory = size < 1 << 30 ? malloc(2 * count * sizeof(struct item) + size * (s->spans ? 5 : 1) + 1) : 0;
    *normal = (struct press_normal){.at = at, .end = end, .memory = memory};
    if (!memory) {
        press_fail(s);
        return;
    }
    items = (struct items){memory, (struct item *)memory + count, 0, 0, 0};
    for (const uint8_t *p = at; p < end;) decompose(s, &items, press_decode(&p, end), composed);
    sort(items.at + items.run, items.count - items.run, items.spare);
    if (composed) items.count = recompose(s->t, composed, items.at, items.count);
    uint32_t *origins = (uint32_t *)(items.spare + count);
    uint8_t *bytes = (uint8_t *)(origins + (s->spans ? size : 0));
    normal->origins = s->spans ? origins : 0;
    normal->at = bytes, normal->end = write_items(s, &items, at, end, composed, bytes, normal->origins);
}

void press_normalize(struct press_text *s, const uint8_t *at, const uint8_t *end, struct press_normal *normal) {
    normalize(s, 0, at, end, normal);
}

void press_compose(struct press_text *s, int composed, const uint8_t *at, const uint8_t *end, struct press_normal *normal) {
    if (settled(s, at, end)) *normal = (struct press_normal){.at = at, .end = end};
    else normalize(s, composed, at, end, normal);
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
