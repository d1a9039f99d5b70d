/* WordPiece with BERT's normalizer and pre-tokenizer, from tables that were compiled at build time.
 *
 * Every property of a character comes from those tables, and they come from Hugging Face's tokenizers:
 * nothing here knows Unicode. A text is read once, without any allocation.
 */
#include "model.h"

#include <string.h>

enum { PAGE = 256, CODE_POINTS = 0x110000, WORD_LIMIT = 256, REPLACEMENT = 0xFFFD };

/* What the table says of a code point. */
enum {
    VALUE = 0x1FFFFF,       /* what it becomes: a code point (0 for itself), or where its sequence begins */
    SEQUENCE = 1 << 21,     /* it becomes several */
    REMOVED = 1 << 22,      /* it becomes nothing */
    MARK = 1 << 23,         /* it is a mark that may trade places with other marks */
    CLASS_SHIFT = 24,       /* what the pre-tokenizer makes of it, when it is part of the normalized text */
    CLASS_SPACE = 1, CLASS_ALONE = 2, CLASS_MASK = 3,
    RANK_SHIFT = 26         /* of a mark that is kept: lower ranks come first */
};

struct tokenizer {
    uint32_t kind, unknown, first, last, longest_word, longest_piece, slots, added;
    uint32_t pages_at, entries_at, sequences_at, slots_at, offsets_at, bytes_at, added_at, vocabulary;
    uint32_t entry_count, sequence_count, byte_count, reserved;
};

struct added {
    uint32_t id, offset, length, reserved;
};

struct state {
    const uint8_t *base;
    const struct tokenizer *t;
    int32_t *ids;
    uint32_t count, room;
    /* The word that is being read, one code point each. */
    uint32_t word[WORD_LIMIT];
    uint32_t length;
    uint32_t run; /* where in the word the last run of marks begins */
};

static inline uint32_t entry(const struct state *s, uint32_t point) {
    const uint16_t *pages = (const uint16_t *)(s->base + s->t->pages_at);
    const uint32_t *entries = (const uint32_t *)(s->base + s->t->entries_at);
    return entries[(uint32_t)pages[point / PAGE] * PAGE + point % PAGE];
}

static inline void put(struct state *s, uint32_t id) {
    if (s->count < s->room) s->ids[s->count] = (int32_t)id;
    s->count++;
}

static inline uint32_t encode(uint32_t point, uint8_t *out) {
    if (point < 0x80) return out[0] = (uint8_t)point, 1;
    if (point < 0x800) return out[0] = (uint8_t)(0xC0 | point >> 6), out[1] = (uint8_t)(0x80 | (point & 63)), 2;
    if (point < 0x10000)
        return out[0] = (uint8_t)(0xE0 | point >> 12), out[1] = (uint8_t)(0x80 | (point >> 6 & 63)),
               out[2] = (uint8_t)(0x80 | (point & 63)), 3;
    return out[0] = (uint8_t)(0xF0 | point >> 18), out[1] = (uint8_t)(0x80 | (point >> 12 & 63)),
           out[2] = (uint8_t)(0x80 | (point >> 6 & 63)), out[3] = (uint8_t)(0x80 | (point & 63)), 4;
}

enum { HASH_SEED = 2166136261u, HASH_PRIME = 16777619u };

/* The id of a piece, or the vocabulary's size when there is none. Continuations are kept apart by a first byte
 * that no text has. */
static uint32_t find(const struct state *s, int continued, const uint8_t *piece, uint32_t length, uint32_t hash) {
    const uint32_t *slots = (const uint32_t *)(s->base + s->t->slots_at);
    const uint32_t *offsets = (const uint32_t *)(s->base + s->t->offsets_at);
    const uint8_t *bytes = s->base + s->t->bytes_at;
    for (uint32_t at = hash & (s->t->slots - 1);; at = (at + 1) & (s->t->slots - 1)) {
        uint32_t id = slots[at];
        if (!id--) return s->t->vocabulary;
        const uint8_t *known = bytes + offsets[id];
        if (offsets[id + 1] - offsets[id] == length + 1 && known[0] == continued && !memcmp(known + 1, piece, length)) return id;
    }
}

/* End the word: its pieces, longest first, or the unknown token. */
static void end_word(struct state *s) {
    uint32_t length = s->length, before = s->count;
    s->length = s->run = 0;
    if (!length) return;
    if (length > s->t->longest_word) {
        put(s, s->t->unknown);
        return;
    }
    uint8_t bytes[WORD_LIMIT * 4];
    uint32_t ends[WORD_LIMIT + 1], hashes[WORD_LIMIT + 1];
    ends[0] = 0;
    for (uint32_t i = 0; i < length; i++) ends[i + 1] = ends[i] + encode(s->word[i], bytes + ends[i]);
    for (uint32_t start = 0; start < length;) {
        uint32_t most = start + s->t->longest_piece < length ? start + s->t->longest_piece : length;
        uint32_t hash = (HASH_SEED ^ (start > 0)) * HASH_PRIME;
        for (uint32_t i = start; i < most; i++) {
            for (uint32_t b = ends[i]; b < ends[i + 1]; b++) hash = (hash ^ bytes[b]) * HASH_PRIME;
            hashes[i + 1] = hash;
        }
        uint32_t end = most, id = s->t->vocabulary;
        for (; end > start; end--) {
            id = find(s, start > 0, bytes + ends[start], ends[end] - ends[start], hashes[end]);
            if (id < s->t->vocabulary) break;
        }
        if (end == start) {
            s->count = before;
            put(s, s->t->unknown);
            return;
        }
        put(s, id);
        start = end;
    }
}

/* One code point of the normalized text. */
static inline void take(struct state *s, uint32_t point, uint32_t rank) {
    uint32_t class = entry(s, point) >> CLASS_SHIFT & CLASS_MASK;
    if (class == CLASS_SPACE) {
        end_word(s);
    } else if (class == CLASS_ALONE) {
        end_word(s);
        s->word[0] = point, s->length = 1;
        end_word(s);
    } else if (s->length < WORD_LIMIT) {
        uint32_t at = s->length++;
        if (rank) /* marks of one run are put into their canonical order */
            for (; at > s->run && (entry(s, s->word[at - 1]) >> RANK_SHIFT) > rank; at--) s->word[at] = s->word[at - 1];
        else s->run = s->length;
        s->word[at] = point;
    }
}

static void normalize(struct state *s, uint32_t point) {
    uint32_t e = entry(s, point);
    if (e & REMOVED) {
        if (!(e & MARK)) s->run = s->length;
        return;
    }
    if (!(e & SEQUENCE)) {
        take(s, e & VALUE ? e & VALUE : point, e & MARK ? e >> RANK_SHIFT : 0);
        return;
    }
    const uint32_t *sequence = (const uint32_t *)(s->base + s->t->sequences_at) + (e & VALUE);
    for (uint32_t i = 1; i <= sequence[0]; i++) take(s, sequence[i], entry(s, sequence[i]) & MARK ? entry(s, sequence[i]) >> RANK_SHIFT : 0);
}

/* The next code point of valid UTF-8, or the replacement character for what is none. */
static uint32_t decode(const uint8_t **at, const uint8_t *end) {
    const uint8_t *p = *at;
    uint32_t first = *p++, more = first < 0x80 ? 0 : first >= 0xF0 && first < 0xF5 ? 3 : first >= 0xE0 ? 2 : first >= 0xC2 ? 1 : 9;
    uint32_t point = more == 3 ? first & 7 : more == 2 ? first & 15 : more == 1 ? first & 31 : first;
    if (more == 9 || first >= 0xF5) return *at = p, REPLACEMENT;
    for (; more; more--) {
        if (p >= end || (*p & 0xC0) != 0x80) return *at = p, REPLACEMENT;
        point = point << 6 | (*p++ & 63);
    }
    *at = p;
    return point < CODE_POINTS && (point < 0xD800 || point > 0xDFFF) ? point : REPLACEMENT;
}

/* The longest added token that begins at `at`, or null. */
static const struct added *added_at(const struct state *s, const uint8_t *at, const uint8_t *end) {
    const struct added *tokens = (const struct added *)(s->base + s->t->added_at), *best = 0;
    for (uint32_t i = 0; i < s->t->added; i++)
        if (tokens[i].length <= (size_t)(end - at) && (!best || tokens[i].length > best->length) &&
            !memcmp(at, s->base + tokens[i].offset, tokens[i].length))
            best = tokens + i;
    return best;
}

/* Token ids of a text between the two that frame it. Writes at most `room`; returns how many there are in all, or
 * any number past `room`. */
size_t press_tokenize(const struct press_model *model, const char *text, size_t size, int32_t *ids, uint32_t room) {
    struct state s = {model->base + model->header->tokenizer, 0, ids, 0, room, {0}, 0, 0};
    s.t = (const struct tokenizer *)s.base;
    const uint8_t *at = (const uint8_t *)text, *end = at + size;
    uint32_t inner = room >= 2 ? room - 2 : 0;
    put(&s, s.t->first);
    s.room = inner + 1;
    while (at < end && s.count <= inner + 1) {
        const struct added *token = s.t->added ? added_at(&s, at, end) : 0;
        if (token) {
            end_word(&s);
            put(&s, token->id);
            at += token->length;
        } else {
            normalize(&s, decode(&at, end));
        }
    }
    end_word(&s);
    uint32_t content = s.count - 1, kept = content < inner ? content : inner;
    s.room = room, s.count = kept + 1;
    put(&s, s.t->last);
    return content + 2;
}

/* Why a tokenizer's tables cannot be used, or null. Called once, when the file is opened. */
const char *press_wrong_tokenizer(const uint8_t *base, uint64_t size) {
    const struct tokenizer *t = (const struct tokenizer *)base;
    if (size < sizeof *t || size > UINT32_MAX) return "tokenizer: too small, or too large";
    if (t->kind != 1) return "tokenizer: of an unknown kind";
#define WITHIN(place, count, item) ((place) % 4 || (uint64_t)(place) + (uint64_t)(count) * (item) > size)
    if (WITHIN(t->pages_at, CODE_POINTS / PAGE, 2) || WITHIN(t->entries_at, t->entry_count, 4) ||
        WITHIN(t->sequences_at, t->sequence_count, 4) || WITHIN(t->slots_at, t->slots, 4) ||
        WITHIN(t->offsets_at, (uint64_t)t->vocabulary + 1, 4) || WITHIN(t->bytes_at, t->byte_count, 1) ||
        WITHIN(t->added_at, t->added, sizeof(struct added)))
        return "tokenizer: a table lies outside";
    if (!t->slots || t->slots & (t->slots - 1) || !t->vocabulary || t->slots <= t->vocabulary) return "tokenizer: impossible slots";
    if (t->longest_word >= WORD_LIMIT || !t->longest_piece) return "tokenizer: impossible lengths";
    if (t->unknown >= t->vocabulary || t->first >= t->vocabulary || t->last >= t->vocabulary) return "tokenizer: impossible ids";
    const uint16_t *pages = (const uint16_t *)(base + t->pages_at);
    const uint32_t *entries = (const uint32_t *)(base + t->entries_at), *sequences = (const uint32_t *)(base + t->sequences_at);
    for (uint32_t i = 0; i < CODE_POINTS / PAGE; i++)
        if (((uint32_t)pages[i] + 1) * PAGE > t->entry_count) return "tokenizer: a page is missing";
    for (uint32_t i = 0; i < t->entry_count; i++) {
        uint32_t value = entries[i] & VALUE;
        if (!(entries[i] & SEQUENCE)) {
            if (value >= CODE_POINTS) return "tokenizer: an impossible code point";
        } else {
            if (value >= t->sequence_count || sequences[value] >= t->sequence_count - value) return "tokenizer: a sequence is cut off";
            for (uint32_t k = 1; k <= sequences[value]; k++)
                if (sequences[value + k] >= CODE_POINTS) return "tokenizer: an impossible code point";
        }
    }
    const uint32_t *slots = (const uint32_t *)(base + t->slots_at), *offsets = (const uint32_t *)(base + t->offsets_at);
    uint32_t used = 0;
    for (uint32_t i = 0; i < t->slots; i++) {
        if (slots[i] > t->vocabulary) return "tokenizer: an impossible slot";
        used += slots[i] != 0;
    }
    if (used >= t->slots) return "tokenizer: no free slot"; /* a search for what is not there ends at one */
    for (uint32_t i = 0; i < t->vocabulary; i++)
        if (offsets[i] >= offsets[i + 1] || offsets[i + 1] > t->byte_count) return "tokenizer: an impossible piece";
    const struct added *added = (const struct added *)(base + t->added_at);
    for (uint32_t i = 0; i < t->added; i++)
        if (added[i].id >= t->vocabulary || !added[i].length || (uint64_t)added[i].offset + added[i].length > size)
            return "tokenizer: an impossible added token";
    return 0;
}
