/* Normalizers, as steps over a text of code points that know where they came from. */
#ifndef PRESS_STEPS_H
#define PRESS_STEPS_H

#include "tokenizer.h"

/* A text: each code point, and the index of the one that it came from. One place before the first is free. */
struct letters {
    uint32_t *points, *sources;
    uint32_t count, room;
};

/* What is to be done to a text: places in the words that belong to the steps. */
struct step {
    uint32_t action, data, other;
};

/* A second text is worked with, and both trade places. Both return 0 when there is not enough memory. */
int press_make_room(struct letters *text, uint64_t room);
int press_take_steps(const struct step *steps, uint32_t count, const uint32_t *words, struct letters *text, struct letters *out);
void press_drop_letters(struct letters *text);

/* Why the steps cannot be used, or null. */
const char *press_wrong_steps(const struct step *steps, uint32_t count, const uint32_t *words, uint32_t word_count);

/* A table of code points, as words: this, then pages (two in a word), entries, sequences and keys. */
struct press_table {
    uint32_t entry_count, sequence_count, key_count;
};

/* What several characters become together, by their UTF-8 bytes in a charsmap, by themselves (the second as the higher
 * number) in a normalization form; in ascending order. */
struct press_key {
    uint32_t low, high, entry;
};

struct press_lookup {
    const uint16_t *pages;
    const uint32_t *entries, *sequences;
    const struct press_key *keys;
    uint32_t key_count;
};

enum { TABLE_PAGES = PRESS_CODE_POINTS / PRESS_PAGE, TABLE_HEAD = 3 + TABLE_PAGES / 2 };

static inline struct press_lookup press_look(const uint32_t *words) {
    const struct press_table *t = (const struct press_table *)words;
    const uint32_t *entries = words + TABLE_HEAD, *sequences = entries + t->entry_count;
    return (struct press_lookup){(const uint16_t *)(words + 3), entries, sequences, (const struct press_key *)(sequences + t->sequence_count), t->key_count};
}

static inline uint32_t press_entry_of(const struct press_lookup *l, uint32_t point) {
    return l->entries[(uint32_t)l->pages[point / PRESS_PAGE] * PRESS_PAGE + point % PRESS_PAGE];
}

/* The code points of an entry, and how many. */
static inline const uint32_t *press_becomes(const struct press_lookup *l, uint32_t entry, uint32_t *own, uint32_t *count) {
    if (entry & ENTRY_SEQUENCE) {
        const uint32_t *sequence = l->sequences + (entry & ENTRY_VALUE);
        *count = sequence[0];
        return sequence + 1;
    }
    if (entry & ENTRY_VALUE) *own = entry & ENTRY_VALUE;
    *count = !(entry & ENTRY_REMOVED);
    return own;
}

/* Code points at the end of a text that has room for them. */
static inline void press_add(struct letters *out, uint32_t point, uint32_t source) {
    out->points[out->count] = point, out->sources[out->count] = source, out->count++;
}

/* What two numbers are found under among the keys, or 0. */
static inline uint32_t press_find_key(const struct press_lookup *l, uint64_t wanted) {
    uint32_t low = 0, high = l->key_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint64_t here = (uint64_t)l->keys[middle].high << 32 | l->keys[middle].low;
        if (here == wanted) return l->keys[middle].entry;
        if (here < wanted) low = middle + 1;
        else high = middle;
    }
    return 0;
}

/* A normalization form. */
int press_canonical(const struct press_lookup *l, const struct letters *text, struct letters *out);

/* SentencePiece's map. */
int press_charsmap(const struct press_lookup *l, const struct letters *text, struct letters *out);

#endif
