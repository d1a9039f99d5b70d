/* What all kinds of tokenizers share: the compiled tables, reading of text, tokens that come out.
 *
 * A tokenizer is one block of tables, compiled at build time from Hugging Face's tokenizer.json. Whatever is
 * known of characters comes from those tables: nothing here knows Unicode. press_wrong_tokenizer checks a
 * block once, when its file is opened; code that runs relies on it.
 */
#ifndef PRESS_TOKENIZER_H
#define PRESS_TOKENIZER_H

#include "model.h"

#include <string.h>

enum { PRESS_PAGE = 256, PRESS_CODE_POINTS = 0x110000, PRESS_REPLACEMENT = 0xFFFD };

/* The parts of a block. Items are words of four bytes, but pages have two and bytes are bytes. */
enum press_part {
    PART_BEFORE,     /* ids that open a text */
    PART_AFTER,      /* ids that close it */
    PART_ADDED,      /* struct press_added */
    PART_FIRST,      /* 256 nodes by the first byte of an added token that is found in the text as it came; 0 for none */
    PART_FIRST_NORMALIZED, /* the same for those that are found in the normalized text */
    PART_NODES,      /* struct press_node; the first is no node */
    PART_EDGES,      /* struct press_edge */
    PART_SPACES,     /* ranges of code points, first and last: white space around added tokens */
    PART_LETTERS,    /* the same: what an added token that must be a word may not touch */
    PART_PAGES,      /* for each 256 code points, which page of entries */
    PART_ENTRIES,    /* what is known of a code point */
    PART_SEQUENCES,  /* a count, then as many code points */
    PART_SLOTS,      /* a hash table of pieces: one more than the id, above it bits of the hash; 0 for free */
    PART_OFFSETS,    /* of each id, where its piece begins; and the end of the last */
    PART_BYTES,      /* the pieces, each behind a byte that keeps two kinds of them apart */
    PART_OWN,        /* from here on each kind has its own, of words */
    PARTS = 24
};

/* An entry of the table of code points. */
enum {
    ENTRY_VALUE = 0x1FFFFF,    /* what it becomes: a code point (0 for itself), or where its sequence begins */
    ENTRY_SEQUENCE = 1 << 21,  /* it becomes several */
    ENTRY_REMOVED = 1 << 22,   /* it becomes nothing; a value of 1 says: before anything else happens */
    ENTRY_MARK = 1 << 23,      /* it is a mark that may trade places with other marks */
    ENTRY_CLASS_SHIFT = 24, ENTRY_CLASS_MASK = 3, /* what the pre-tokenizer makes of it; the kind's own numbers */
    ENTRY_RANK_SHIFT = 26      /* of a mark: lower ranks come first */
};

enum { TRIM_SPACES = 1, TRIM_BUT_PREFIX = 2 }; /* flags of a block: how spans leave out white space */

struct press_tokenizer {
    uint32_t kind, vocabulary, flags;
    uint32_t settings[5]; /* the kind's own */
    struct { uint32_t at, count; } parts[PARTS];
};

enum { ADDED_LSTRIP = 1, ADDED_RSTRIP = 2, ADDED_SINGLE_WORD = 4, ADDED_NORMALIZED = 8, ADDED_SPECIAL = 16 };

struct press_added { uint32_t id, flags; };
struct press_node { uint32_t edges, count, added; }; /* `added` is one more than the token that ends here */
struct press_edge { uint32_t byte, node; };

/* A text on its way: what it is made into, and what is often needed of the tables. */
struct press_text {
    const struct press_tokenizer *t;
    const uint16_t *pages;
    const uint32_t *entries, *sequences;
    int32_t *ids, *spans;  /* spans may be null */
    uint32_t count, room;  /* tokens so far; how many are written */
    const uint8_t *at;     /* a place in the text, and how many code points are before it */
    uint32_t index;
    int failed;            /* there was not enough memory */
};

/* A kind of tokenizer. */
struct press_tokenizer_kind {
    const char *(*wrong)(const struct press_tokenizer *t);
    /* Tokens of a stretch of the text that has no added token in it, but for normalized ones. */
    void (*segment)(struct press_text *s, const uint8_t *at, const uint8_t *end);
};

enum { PRESS_UNIGRAM = 9 };

extern const struct press_tokenizer_kind press_wordpiece, press_bpe, press_unigram;

static inline const void *press_part(const struct press_tokenizer *t, int part) {
    return (const uint8_t *)t + t->parts[part].at;
}

static inline uint32_t press_entry(const struct press_text *s, uint32_t point) {
    return s->entries[(uint32_t)s->pages[point / PRESS_PAGE] * PRESS_PAGE + point % PRESS_PAGE];
}

static inline uint32_t press_class(uint32_t entry) { return entry >> ENTRY_CLASS_SHIFT & ENTRY_CLASS_MASK; }
static inline uint32_t press_rank(uint32_t entry) { return entry & ENTRY_MARK ? entry >> ENTRY_RANK_SHIFT : 0; }

/* More tokens would not be kept. */
static inline int press_full(const struct press_text *s) { return s->count > s->room; }

/* There is not enough memory: no more tokens. */
static inline void press_fail(struct press_text *s) { s->failed = 1, s->room = 0, s->count++; }

/* A token, and the code points of the text that it stands for. */
static inline void press_put(struct press_text *s, uint32_t id, uint32_t start, uint32_t end) {
    if (s->count < s->room) {
        s->ids[s->count] = (int32_t)id;
        if (s->spans) s->spans[2 * s->count] = (int32_t)start, s->spans[2 * s->count + 1] = (int32_t)end;
    }
    s->count++;
}

static inline uint32_t press_encode(uint32_t point, uint8_t *out) {
    if (point < 0x80) return out[0] = (uint8_t)point, 1;
    if (point < 0x800) return out[0] = (uint8_t)(0xC0 | point >> 6), out[1] = (uint8_t)(0x80 | (point & 63)), 2;
    if (point < 0x10000)
        return out[0] = (uint8_t)(0xE0 | point >> 12), out[1] = (uint8_t)(0x80 | (point >> 6 & 63)),
               out[2] = (uint8_t)(0x80 | (point & 63)), 3;
    return out[0] = (uint8_t)(0xF0 | point >> 18), out[1] = (uint8_t)(0x80 | (point >> 12 & 63)),
           out[2] = (uint8_t)(0x80 | (point >> 6 & 63)), out[3] = (uint8_t)(0x80 | (point & 63)), 4;
}

/* The next code point of valid UTF-8, or the replacement character for what is none. */
static inline uint32_t press_decode(const uint8_t **at, const uint8_t *end) {
    const uint8_t *p = *at;
    uint32_t first = *p++;
    if (first < 0x80) return *at = p, first;
    uint32_t more = first >= 0xF5 || first < 0xC2 ? 9 : first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    uint32_t point = more == 3 ? first & 7 : more == 2 ? first & 15 : first & 31;
    if (more == 9) return *at = p, PRESS_REPLACEMENT;
    for (; more; more--) {
        if (p >= end || (*p & 0xC0) != 0x80) return *at = p, PRESS_REPLACEMENT;
        point = point << 6 | (*p++ & 63);
    }
    *at = p;
    return point < PRESS_CODE_POINTS && (point < 0xD800 || point > 0xDFFF) ? point : PRESS_REPLACEMENT;
}

enum { PRESS_HASH_SEED = 2166136261u, PRESS_HASH_PRIME = 16777619u, PRESS_ID_BITS = 20 };

static inline uint32_t press_hash(uint32_t hash, uint8_t byte) { return (hash ^ byte) * PRESS_HASH_PRIME; }

/* The id of a piece behind its first byte, or the vocabulary's size when there is none. The hash is of both. */
static inline uint32_t press_find(const struct press_tokenizer *t, uint8_t first, const uint8_t *piece, uint32_t length,
                                  uint32_t hash) {
    const uint32_t *slots = press_part(t, PART_SLOTS), *offsets = press_part(t, PART_OFFSETS);
    const uint8_t *bytes = press_part(t, PART_BYTES);
    uint32_t mask = t->parts[PART_SLOTS].count - 1;
    for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
        if (!slots[at]) return t->vocabulary;
        if ((slots[at] ^ hash) >> PRESS_ID_BITS) continue;
        uint32_t id = (slots[at] & ((1 << PRESS_ID_BITS) - 1)) - 1;
        const uint8_t *known = bytes + offsets[id];
        if (offsets[id + 1] - offsets[id] == length + 1 && known[0] == first && !memcmp(known + 1, piece, length)) return id;
    }
}

/* Where a table of pairs begins to look for one. */
static inline uint32_t press_pair_hash(uint32_t one, uint32_t other) {
    uint32_t hash = one * 0x9E3779B1u ^ other * 0x85EBCA77u;
    return hash ^ hash >> 15;
}

/* How many code points of the text are before `at`. Quick when asked of places in their order. */
uint32_t press_index(struct press_text *s, const uint8_t *at);

/* A stretch of normalized text: in its own memory, or where it is in the text when normalizing changes nothing. */
struct press_normal {
    const uint8_t *at, *end;
    uint32_t *origins; /* of each byte, the code point of the text it stands for; null where it is the text's own */
    void *memory;
};

/* The code points of the text that `at` … `end` stands for; at least one byte. */
void press_origin(struct press_text *s, const struct press_normal *normal, const uint8_t *at, const uint8_t *end,
                  uint32_t *start, uint32_t *stop);

/* What the table makes of each code point of a stretch, marks in order. A code point of the highest class is put
 * between spaces. */
enum { PRESS_CLASS_SPACED = 3 };
void press_normalize(struct press_text *s, const uint8_t *at, const uint8_t *end, struct press_normal *normal);

/* NFC of a stretch, from the tables of code points and a table of pairs, `composed`: one, other, what they become. */
void press_compose(struct press_text *s, int composed, const uint8_t *at, const uint8_t *end, struct press_normal *normal);
const char *press_wrong_compositions(const struct press_tokenizer *t, int composed);

/* A token, its span without the white space that it begins and ends with where the tokenizer wants that. */
void press_put_trimmed(struct press_text *s, uint32_t id, uint32_t start, uint32_t end, uint32_t leading, uint32_t trailing);

/* Cut a stretch at added tokens: those of PART_FIRST, or of PART_FIRST_NORMALIZED. What is between them is given
 * to `between`. */
typedef void press_between(struct press_text *s, const struct press_normal *normal, const uint8_t *at, const uint8_t *end);
void press_cut(struct press_text *s, int first, const struct press_normal *normal, press_between *between);

/* Why the tables of added tokens cannot be used, or null. */
const char *press_wrong_added(const struct press_tokenizer *t);

#endif
