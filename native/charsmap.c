/* SentencePiece's charsmap, as Hugging Face's tokenizers applies it: cluster by cluster.
 *
 * How a character joins its neighbours stands in the table; here are only the rules by which clusters are made.
 */
#include "steps.h"

enum { CLUSTER_BYTES = 6 };

/* What the table of a charsmap says of a code point, next to what it becomes. */
enum {
    MAPPED = 1 << 23, /* it is in there by itself, maybe as itself */
    BEGINS = 1 << 24, /* several that are in there together begin with it */
    CLASS_SHIFT = 25  /* how it joins its neighbours */
};

enum {
    OTHER, CONTROL, RETURN, LINE_FEED, HANGUL_L, HANGUL_V, HANGUL_T, HANGUL_LV, HANGUL_LVT,
    PREPEND, SPACING, JOINER, PICTOGRAPH, CONSONANT, EXTEND, EXTEND_CONJUNCT, LINKER
};

/* What came before, as far as it decides whether the next character joins. */
struct joint {
    uint32_t class;
    int emoji;    /* 1 after a pictograph and what extends it, 2 after a joiner behind these */
    int conjunct; /* 1 after a consonant and what extends it, 2 if a linker was among that */
};

/* Whether a character joins those before it, by the rules GB3 to GB13; two flags in a row, GB12, are too long to matter. */
static int joins(struct joint *before, uint32_t class) {
    uint32_t last = before->class;
    int emoji = before->emoji, conjunct = before->conjunct;
    before->class = class;
    if (last == OTHER && class == OTHER) return before->emoji = before->conjunct = 0; /* most of all text */
    before->emoji = class == PICTOGRAPH || (emoji == 1 && class >= EXTEND) ? 1 : emoji == 1 && class == JOINER ? 2 : 0;
    before->conjunct = class == CONSONANT ? 1 : class == LINKER && conjunct ? 2 : class == EXTEND_CONJUNCT || class == JOINER ? conjunct : 0;
    if (last == RETURN && class == LINE_FEED) return 1;
    if ((last >= CONTROL && last <= LINE_FEED) || (class >= CONTROL && class <= LINE_FEED)) return 0;
    if (class >= EXTEND || class == JOINER || class == SPACING || last == PREPEND) return 1;
    if (last == HANGUL_L) return class == HANGUL_L || class == HANGUL_V || class == HANGUL_LV || class == HANGUL_LVT;
    if (last == HANGUL_V || last == HANGUL_LV) return class == HANGUL_V || class == HANGUL_T;
    if (last == HANGUL_T || last == HANGUL_LVT) return class == HANGUL_T;
    return (class == CONSONANT && conjunct == 2) || (class == PICTOGRAPH && emoji == 2);
}

static inline uint32_t utf8_size(uint32_t point) {
    return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

/* The entry of the first few characters of a cluster, of at most five bytes; 0 if they are not in the charsmap. */
static uint32_t find_key(const struct press_lookup *l, const uint32_t *points, uint32_t count) {
    uint64_t wanted = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t point = points[i], size = utf8_size(point);
        wanted = wanted << 8 | (size == 1 ? point : ((0xF00u >> size) & 0xFF) | point >> 6 * (size - 1));
        for (uint32_t k = size - 1; k--;) wanted = wanted << 8 | 0x80 | (point >> 6 * k & 63);
    }
    return press_find_key(l, wanted);
}

/* A charsmap's work so far: of the last character that was put out, how it changed what there was decides where
 * it came from, and that may still change: what is removed after it is counted with it. */
struct charsmap {
    struct letters *out;
    const struct letters *text;
    uint32_t used;
    int64_t change;
};

static inline void settle(struct charsmap *c) {
    if (!c->out->count) return;
    uint32_t at = c->change > 0 ? c->used - 1 : c->used;
    c->out->sources[c->out->count - 1] = c->text->sources[at];
    if (c->change <= 0) c->used += (uint32_t)(1 - c->change);
}

static int replace_part(struct charsmap *c, uint32_t old, const uint32_t *to, uint32_t count) {
    if (!press_make_room(c->out, (uint64_t)c->out->count + count)) return 0;
    for (uint32_t k = 0; k < count; k++) {
        settle(c);
        c->change = k >= old;
        press_add(c->out, to[k], 0);
    }
    if (count < old && c->out->count) c->change -= old - count;
    return 1;
}

/* SentencePiece's map: a whole cluster of less than six bytes by the shortest beginning that is known, or else each character. */
int press_charsmap(const struct press_lookup *l, const struct letters *text, struct letters *out) {
    struct charsmap c = {out, text, 0, 0};
    struct joint joint = {0};
    uint32_t count = text->count, next;
    uint32_t first = count ? press_entry_of(l, text->points[0]) : 0;
    if (count) joins(&joint, first >> CLASS_SHIFT);
    for (uint32_t start = 0; start < count; start = next) {
        uint32_t bytes = utf8_size(text->points[start]), after = 0, to_count, found = first & MAPPED ? first : 0, own;
        for (next = start + 1; next < count; next++) {
            after = press_entry_of(l, text->points[next]);
            if (!joins(&joint, after >> CLASS_SHIFT)) break;
            if (bytes < CLUSTER_BYTES) bytes += utf8_size(text->points[next]);
        }
        if (bytes < CLUSTER_BYTES && !found && first & BEGINS)
            for (uint32_t k = 2; k <= next - start && !found; k++) found = find_key(l, text->points + start, k);
        if (bytes < CLUSTER_BYTES && found) {
            own = text->points[start];
            const uint32_t *to = press_becomes(l, found, &own, &to_count);
            if (!replace_part(&c, next - start, to, to_count)) return 0;
        } else {
            for (uint32_t i = start; i < next; i++) {
                own = text->points[i];
                const uint32_t *to = press_becomes(l, press_entry_of(l, own), &own, &to_count);
                if (!replace_part(&c, 1, to, to_count)) return 0;
            }
        }
        first = after;
    }
    settle(&c);
    return 1;
}
