/* WordPiece with BERT's normalizer and pre-tokenizer. A text is read once, without any allocation; only where added
 * tokens are looked for in the normalized text is that written down first. */
#include "tokenizer.h"

#include <stdlib.h>

enum { WORD_LIMIT = 256, RANKS = 64 };
enum { CLASS_SPACE = 1, CLASS_ALONE = 2 }; /* the class above stands alone, too */
enum { SETTING_UNKNOWN, SETTING_LONGEST_WORD, SETTING_LONGEST_PIECE };

/* A code point of a word, and the one of the text that tokenizers holds it for. */
struct character {
    uint32_t point;
    uint32_t origin; /* while its run of marks goes on: how many of its rank came before */
    uint32_t rank, inserted;
};

struct reader {
    struct press_text *s;
    /* The word that is being read. */
    uint32_t points[WORD_LIMIT], length;
    uint32_t run; /* where in the word the last run of marks begins */
    /* For spans only. */
    struct character characters[WORD_LIMIT], last;
    const uint8_t *after_base; /* the text behind the last code point that is no mark */
    const uint8_t *end;
    uint32_t base;             /* that code point */
    uint32_t marks[RANKS];     /* how many of each rank follow it */
    int marked, unsettled;     /* some follow; some of them are in the word */
};

#define BOTH static inline __attribute__((always_inline)) /* compiled once for ids, once for ids and spans */

/* Where a mark of the last run stands in the text. Marks were sorted by rank, and what they stand for is then
 * counted from the run's beginning: the first in order is held for the first in the text, and so on. */
static uint32_t settled(const struct reader *r, const struct character *mark) {
    uint32_t before = mark->origin, index = r->base;
    for (uint32_t rank = 0; rank < mark->rank; rank++) before += r->marks[rank];
    const uint8_t *at = r->after_base;
    for (uint32_t left = before + !mark->inserted; left && at < r->end; index++) {
        uint32_t entry = press_entry(r->s, press_decode(&at, r->end));
        left -= !(entry & ENTRY_REMOVED && entry & ENTRY_VALUE);
    }
    return index;
}

static void settle(struct reader *r) {
    for (uint32_t i = r->run; i < r->length; i++) r->characters[i].origin = settled(r, r->characters + i);
    if (r->last.rank) r->last.origin = settled(r, &r->last), r->last.rank = 0;
    r->unsettled = 0;
}

BOTH void end_run(struct reader *r, int spans) {
    if (spans && r->unsettled) settle(r);
    r->run = r->length;
}

/* End the word: its pieces, longest first, or the unknown token. */
BOTH void write_word(struct reader *r, int spans) {
    struct press_text *s = r->s;
    const struct press_tokenizer *t = s->t;
    uint32_t length = r->length, before = s->count;
    end_run(r, spans);
    r->length = r->run = 0;
    uint32_t first = spans ? r->characters[0].origin : 0, last = spans ? r->last.origin + 1 : 0;
    if (length > t->settings[SETTING_LONGEST_WORD]) {
        press_put(s, t->settings[SETTING_UNKNOWN], first, last);
        return;
    }
    uint8_t bytes[WORD_LIMIT * 4];
    uint32_t ends[WORD_LIMIT + 1], hashes[WORD_LIMIT + 1];
    ends[0] = 0;
    for (uint32_t i = 0; i < length; i++) ends[i + 1] = ends[i] + press_encode(r->points[i], bytes + ends[i]);
    for (uint32_t start = 0; start < length;) {
        uint32_t longest = t->settings[SETTING_LONGEST_PIECE], most = length - start < longest ? length : start + longest;
        uint32_t hash = press_hash(PRESS_HASH_SEED, start > 0);
        for (uint32_t i = start; i < most; i++) {
            for (uint32_t b = ends[i]; b < ends[i + 1]; b++) hash = press_hash(hash, bytes[b]);
            hashes[i + 1] = hash;
        }
        uint32_t end = most, id = t->vocabulary;
        for (; end > start; end--) {
            id = press_find(t, start > 0, bytes + ends[start], ends[end] - ends[start], hashes[end]);
            if (id < t->vocabulary) break;
        }
        if (end == start) {
            s->count = before;
            press_put(s, t->settings[SETTING_UNKNOWN], first, last);
            return;
        }
        press_put(s, id, spans ? r->characters[start].origin : 0, spans ? r->characters[end - 1].origin + 1 : 0);
        start = end;
    }
}

static __attribute__((noinline)) void write_ids(struct reader *r) { write_word(r, 0); }
static __attribute__((noinline)) void write_spans(struct reader *r) { write_word(r, 1); }

BOTH void end_word(struct reader *r, int spans) {
    if (!r->length) return;
    if (spans) write_spans(r);
    else write_ids(r);
}

/* One code point of the normalized text, made from the text's code point `index`. */
BOTH void take(struct reader *r, uint32_t point, uint32_t rank, uint32_t index, int inserted, int spans) {
    uint32_t class = press_class(press_entry(r->s, point));
    if (class == CLASS_SPACE) {
        end_word(r, spans);
        return;
    }
    if (class >= CLASS_ALONE) end_word(r, spans);
    struct character character = {point, index, rank, (uint32_t)inserted};
    if (spans) {
        if (!rank) end_run(r, spans);
        else character.origin = r->marks[rank], r->marks[rank] += !inserted, r->marked = r->unsettled = 1;
        if (!rank || !r->last.rank || rank >= r->last.rank) r->last = character;
    }
    if (r->length < WORD_LIMIT) {
        uint32_t at = r->length++;
        if (!rank) r->run = r->length;
        else /* marks of one run are put into their canonical order */
            for (; at > r->run && press_entry(r->s, r->points[at - 1]) >> ENTRY_RANK_SHIFT > rank; at--) {
                r->points[at] = r->points[at - 1];
                if (spans) r->characters[at] = r->characters[at - 1];
            }
        r->points[at] = point;
        if (spans) r->characters[at] = character;
    }
    if (class >= CLASS_ALONE) end_word(r, spans);
}

/* The text's code point `index`, which ends before `after`. */
BOTH void normalize(struct reader *r, uint32_t point, uint32_t index, const uint8_t *after, int spans) {
    uint32_t entry = press_entry(r->s, point), rank = press_rank(entry);
    if (entry & ENTRY_REMOVED && entry & ENTRY_VALUE) return;
    if (spans && !rank) {
        end_run(r, spans);
        r->base = index, r->after_base = after;
        if (r->marked) memset(r->marks, 0, sizeof r->marks), r->marked = 0;
    }
    if (entry & ENTRY_REMOVED) {
        if (!rank) r->run = r->length;
        else if (spans) r->marks[rank]++, r->marked = 1;
    } else if (!(entry & ENTRY_SEQUENCE)) {
        take(r, entry & ENTRY_VALUE ? entry & ENTRY_VALUE : point, rank, index, 0, spans);
    } else {
        const uint32_t *sequence = r->s->sequences + (entry & ENTRY_VALUE);
        for (uint32_t i = 1; i <= sequence[0]; i++)
            take(r, sequence[i], press_rank(press_entry(r->s, sequence[i])), index, i > 1, spans);
    }
}

BOTH void read_text(struct press_text *s, const uint8_t *at, const uint8_t *end, int spans) {
    struct reader r;
    r.s = s, r.length = r.run = 0;
    uint32_t index = 0;
    if (spans) {
        index = press_index(s, at);
        r.after_base = at, r.end = end, r.base = index - 1, r.marked = r.unsettled = 0, r.last.rank = 0;
        memset(r.marks, 0, sizeof r.marks);
    }
    for (; at < end && !press_full(s); index++) {
        uint32_t point = press_decode(&at, end);
        normalize(&r, point, index, at, spans);
    }
    end_word(&r, spans);
}

static void read_with_spans(struct press_text *s, const uint8_t *at, const uint8_t *end) { read_text(s, at, end, 1); }

static void read_normalized(struct press_text *s, const struct press_normal *normal, const uint8_t *at, const uint8_t *end) {
    struct reader r;
    int spans = s->spans != 0;
    r.s = s, r.length = r.run = 0, r.unsettled = 0, r.last.rank = 0;
    while (at < end && !press_full(s)) {
        uint32_t origin = spans ? normal->origins[at - normal->at] : 0;
        take(&r, press_decode(&at, end), 0, origin, 0, spans);
    }
    end_word(&r, spans);
}

static void segment(struct press_text *s, const uint8_t *at, const uint8_t *end) {
    if (s->t->parts[PART_FIRST_NORMALIZED].count) {
        struct press_normal normal;
        press_normalize(s, at, end, &normal);
        if (!press_full(s)) press_cut(s, PART_FIRST_NORMALIZED, &normal, read_normalized);
        free(normal.memory);
    } else if (s->spans) read_with_spans(s, at, end);
    else read_text(s, at, end, 0);
}

static const char *wrong(const struct press_tokenizer *t) {
    if (t->settings[SETTING_UNKNOWN] >= t->vocabulary) return "tokenizer: impossible ids";
    if (t->settings[SETTING_LONGEST_WORD] >= WORD_LIMIT || !t->settings[SETTING_LONGEST_PIECE])
        return "tokenizer: impossible lengths";
    return 0;
}

const struct press_tokenizer_kind press_wordpiece = {wrong, segment};
