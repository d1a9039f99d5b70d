/* Byte-level BPE as GPT-2 has it: the text is cut into words, and in each the pair of least rank is joined first. */
#include "tokenizer.h"

#include <stdlib.h>

enum { SETTING_FLAGS, PREFIX_SPACE = 1, COMPOSE = 2 };
enum { PART_MERGES = PART_OWN, PART_MADE, PART_BYTE_IDS, PART_COMPOSED };
enum { CLASS_SPACE = 3 }; /* the other classes are letters, numbers, and all else */
enum { SHORT_WORD = 96 };

static const uint32_t NONE = UINT32_MAX;

/* A merge is a pair of ids and a rank in one number; PART_MADE has what each rank makes of its pair. */
static const uint64_t FREE = UINT64_MAX;

/* A word of the normalized text, and whether a space is to be thought before it. */
struct word {
    struct press_text *s;
    const struct press_normal *normal;
    const uint8_t *at, *end;
    uint32_t prefix;
};

static inline uint32_t class_of(const struct press_text *s, const uint8_t **at, const uint8_t *end) {
    return press_class(press_entry(s, press_decode(at, end)));
}

/* The length of 's, 't, 're, 've, 'm, 'll or 'd; 0 for none. */
static uint32_t contraction(const uint8_t *at, const uint8_t *end) {
    if (end - at >= 2 && (at[1] == 's' || at[1] == 't' || at[1] == 'm' || at[1] == 'd')) return 2;
    if (end - at < 3) return 0;
    return (at[1] == 'r' && at[2] == 'e') || (at[1] == 'v' && at[2] == 'e') || (at[1] == 'l' && at[2] == 'l') ? 3 : 0;
}

/* Where the word that begins at `at` ends: the pattern of GPT-2. */
static const uint8_t *word_end(const struct press_text *s, const uint8_t *at, const uint8_t *end, int prefix) {
    const uint8_t *last = at, *next = at, *p;
    uint32_t length = *at == '\'' && !prefix ? contraction(at, end) : 0, class = class_of(s, &next, end);
    if (length) return at + length;
    if (*at == ' ' && !prefix && next < end) { /* a space belongs to the word behind it */
        p = next;
        uint32_t second = class_of(s, &p, end);
        if (second != CLASS_SPACE) class = second, next = p;
    }
    for (p = next; p < end && class_of(s, &p, end) == class; next = p) last = next;
    if (class != CLASS_SPACE || next == end) return next;
    /* Of several spaces the last is left to the word behind them. */
    return last > at || prefix ? last : next;
}

/* The rank of a pair, or NONE. */
static inline uint32_t find_rank(const struct press_tokenizer *t, uint32_t left, uint32_t right) {
    const uint64_t *merges = press_part(t, PART_MERGES), pair = (uint64_t)left << PRESS_ID_BITS | right;
    uint32_t mask = t->parts[PART_MERGES].count / 2 - 1;
    for (uint32_t at = press_pair_hash(left, right) & mask;; at = (at + 1) & mask) {
        if (merges[at] >> PRESS_ID_BITS == pair) return (uint32_t)merges[at] & ((1 << PRESS_ID_BITS) - 1);
        if (merges[at] == FREE) return NONE;
    }
}

static uint8_t byte_of(const struct word *w, uint32_t index) { return index < w->prefix ? ' ' : w->at[index - w->prefix]; }

/* A token of the word's bytes `from` … `to`. The space before it stands where its first character does. */
static void put(const struct word *w, uint32_t id, uint32_t from, uint32_t to) {
    uint32_t start = 0, stop = 0, leading = 0, trailing = 0;
    if (w->s->spans) {
        const uint8_t *at = w->at + (from > w->prefix ? from - w->prefix : 0);
        const uint8_t *end = w->at + (to > w->prefix ? to - w->prefix : 1);
        press_origin(w->s, w->normal, at, end, &start, &stop);
        while (from + leading < to && byte_of(w, from + leading) == ' ') leading++;
        while (from + trailing < to && byte_of(w, to - 1 - trailing) == ' ') trailing++;
    }
    press_put_trimmed(w->s, id, start, stop, leading, trailing);
}

/* A word of few bytes: the best pair is looked for anew each time. */
static void merge_short(const struct word *w, uint32_t count) {
    const struct press_tokenizer *t = w->s->t;
    const uint32_t *byte_ids = press_part(t, PART_BYTE_IDS), *made = press_part(t, PART_MADE);
    uint32_t ids[SHORT_WORD], starts[SHORT_WORD + 1], ranks[SHORT_WORD];
    for (uint32_t i = 0; i < count; i++) ids[i] = byte_ids[byte_of(w, i)], starts[i] = i;
    starts[count] = count;
    for (uint32_t i = 0; i + 1 < count; i++) ranks[i] = find_rank(t, ids[i], ids[i + 1]);
    while (count > 1) {
        uint32_t best = 0;
        for (uint32_t i = 1; i + 1 < count; i++) best = ranks[i] < ranks[best] ? i : best;
        if (ranks[best] == NONE) break;
        ids[best] = made[ranks[best]];
        count--;
        for (uint32_t i = best + 1; i < count; i++) ids[i] = ids[i + 1], starts[i] = starts[i + 1], ranks[i - 1] = ranks[i];
        starts[count] = starts[count + 1];
        if (best) ranks[best - 1] = find_rank(t, ids[best - 1], ids[best]);
        if (best + 1 < count) ranks[best] = find_rank(t, ids[best], ids[best + 1]);
    }
    for (uint32_t i = 0; i < count; i++) put(w, ids[i], starts[i], starts[i + 1]);
}

/* Pairs that wait to be joined, the least first: the rank, then where. */
struct queue {
    uint64_t *items;
    size_t count;
};

static void push(struct queue *q, uint64_t item) {
    size_t at = q->count++;
    for (; at && q->items[(at - 1) / 2] > item; at = (at - 1) / 2) q->items[at] = q->items[(at - 1) / 2];
    q->items[at] = item;
}

static uint64_t pop(struct queue *q) {
    uint64_t first = q->items[0], item = q->items[--q->count];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < q->count; at = child) {
        if (child + 1 < q->count && q->items[child + 1] < q->items[child]) child++;
        if (q->items[child] >= item) break;
        q->items[at] = q->items[child];
    }
    q->items[at] = item;
    return first;
}

static void push_pair(const struct press_tokenizer *t, struct queue *q, const uint32_t *ids, uint32_t left, uint32_t right) {
    uint32_t rank = find_rank(t, ids[left], ids[right]);
    if (rank != NONE) push(q, (uint64_t)rank << 32 | left);
}

/* A word of many bytes, in n log n steps. What is joined lives on at its first byte. */
static void merge_long(const struct word *w, uint32_t count) {
    const struct press_tokenizer *t = w->s->t;
    const uint32_t *byte_ids = press_part(t, PART_BYTE_IDS), *made = press_part(t, PART_MADE);
    struct queue q = {malloc(count * (3 * sizeof(uint64_t) + 3 * sizeof(uint32_t))), 0}; /* a join queues two more */
    if (!q.items) {
        press_fail(w->s);
        return;
    }
    uint32_t *ids = (uint32_t *)(q.items + 3 * (size_t)count), *before = ids + count, *after = before + count;
    for (uint32_t i = 0; i < count; i++) ids[i] = byte_ids[byte_of(w, i)], before[i] = i - 1, after[i] = i + 1;
    for (uint32_t i = 0; i + 1 < count; i++) push_pair(t, &q, ids, i, i + 1);
    while (q.count) {
        uint64_t item = pop(&q);
        uint32_t left = (uint32_t)item, rank = (uint32_t)(item >> 32), right = ids[left] == NONE ? count : after[left];
        if (right >= count || find_rank(t, ids[left], ids[right]) != rank) continue; /* one of the two was joined already */
        ids[left] = made[rank], ids[right] = NONE;
        after[left] = after[right];
        if (after[left] < count) before[after[left]] = left, push_pair(t, &q, ids, left, after[left]);
        if (before[left] != NONE) push_pair(t, &q, ids, before[left], left);
    }
    for (uint32_t i = 0; i < count; i = after[i]) put(w, ids[i], i, after[i]);
    free(q.items);
}

static void write_word(const struct word *w) {
    const struct press_tokenizer *t = w->s->t;
    uint32_t count = (uint32_t)(w->end - w->at) + w->prefix, hash = press_hash(PRESS_HASH_SEED, byte_of(w, 0));
    const uint8_t *rest = w->at + !w->prefix;
    for (const uint8_t *p = rest; p < w->end; p++) hash = press_hash(hash, *p);
    uint32_t id = press_find(t, byte_of(w, 0), rest, count - 1, hash);
    if (id < t->vocabulary) put(w, id, 0, count);
    else if (count <= SHORT_WORD) merge_short(w, count);
    else merge_long(w, count);
}

static void between(struct press_text *s, const struct press_normal *normal, const uint8_t *at, const uint8_t *end) {
    uint32_t prefix = s->t->settings[SETTING_FLAGS] & PREFIX_SPACE && *at != ' ';
    while (at < end && !press_full(s)) {
        const uint8_t *stop = word_end(s, at, end, (int)prefix);
        write_word(&(struct word){s, normal, at, stop, prefix});
        at = stop, prefix = 0;
    }
}

static void segment(struct press_text *s, const uint8_t *at, const uint8_t *end) {
    struct press_normal normal = {.at = at, .end = end};
    if ((uint64_t)(end - at) >= INT32_MAX) press_fail(s);
    else if (s->t->settings[SETTING_FLAGS] & COMPOSE) press_compose(s, PART_COMPOSED, at, end, &normal);
    if (!press_full(s)) press_cut(s, PART_FIRST_NORMALIZED, &normal, between);
    free(normal.memory);
}

static const char *wrong(const struct press_tokenizer *t) {
    const uint64_t *merges = press_part(t, PART_MERGES);
    const uint32_t *byte_ids = press_part(t, PART_BYTE_IDS), *made = press_part(t, PART_MADE);
    uint32_t count = t->parts[PART_MERGES].count / 2, used = 0, ranks = t->parts[PART_MADE].count;
    if (!count || count & (count - 1) || t->parts[PART_MERGES].at % 8) return "tokenizer: impossible merges";
    for (uint32_t i = 0; i < count; i++) {
        used += merges[i] != FREE;
        if (merges[i] != FREE && (merges[i] & ((1 << PRESS_ID_BITS) - 1)) >= ranks) return "tokenizer: an impossible merge";
    }
    if (used >= count) return "tokenizer: no free slot";
    for (uint32_t i = 0; i < ranks; i++)
        if (made[i] >= t->vocabulary) return "tokenizer: an impossible merge";
    if (t->parts[PART_BYTE_IDS].count != 256) return "tokenizer: not all bytes are there";
    for (uint32_t i = 0; i < 256; i++)
        if (byte_ids[i] >= t->vocabulary) return "tokenizer: an impossible byte";
    return t->settings[SETTING_FLAGS] & COMPOSE ? press_wrong_compositions(t, PART_COMPOSED) : 0;
}

const struct press_tokenizer_kind press_bpe = {wrong, segment};
