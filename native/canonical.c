/* Unicode's normalization forms: characters taken apart, their marks put in order, and put together again.
 *
 * What a character is made of, which marks come first and which two make one stands in the table.
 */
#include "steps.h"

enum { SECOND = 1 << 24 }; /* of an entry: it may be the second of two that make one */

enum { RANKS = 64 };

/* While this goes on, the sources of the text hold how each character changed what there was: 0 for one in place of
 * one, 1 for one more, −n where n after it are gone. */

/* Marks in a row from `start` on, by their rank; those of equal rank keep their order. */
static int sort_marks(const struct press_lookup *l, struct letters *out, uint32_t start) {
    uint32_t count = out->count - start, places[RANKS + 1] = {0};
    if (count < 2) return 1;
    if (!press_make_room(out, (uint64_t)out->count + count)) return 0;
    uint32_t *points = out->points + start, *sources = out->sources + start;
    memcpy(points + count, points, count * sizeof *points);
    memcpy(sources + count, sources, count * sizeof *sources);
    for (uint32_t i = 0; i < count; i++) places[press_rank(press_entry_of(l, points[i])) + 1]++;
    for (uint32_t rank = 0; rank < RANKS; rank++) places[rank + 1] += places[rank];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = places[press_rank(press_entry_of(l, points[count + i]))]++;
        points[place] = points[count + i], sources[place] = sources[count + i];
    }
    return 1;
}

static int decompose(const struct press_lookup *l, const struct letters *text, struct letters *out) {
    uint32_t run = 0; /* where the last run of marks begins */
    for (uint32_t i = 0; i < text->count; i++) {
        uint32_t own = text->points[i], count;
        const uint32_t *to = press_becomes(l, press_entry_of(l, own), &own, &count);
        for (uint32_t k = 0; k < count; k++) {
            int starts = !press_rank(press_entry_of(l, to[k]));
            if ((starts && !sort_marks(l, out, run)) || !press_make_room(out, (uint64_t)out->count + 1)) return 0;
            press_add(out, to[k], k > 0);
            if (starts) run = out->count;
        }
    }
    return sort_marks(l, out, run);
}

static uint32_t compose_pair(const struct press_lookup *l, uint32_t first, uint32_t second) {
    if (!(press_entry_of(l, second) & SECOND)) return 0;
    uint32_t entry = press_find_key(l, (uint64_t)second << 32 | first);
    return entry & ENTRY_SEQUENCE ? 0 : entry & ENTRY_VALUE;
}

/* Each character that follows a starter, and is not kept from it by another, may become one with it. */
static void compose(const struct press_lookup *l, struct letters *out) {
    uint32_t count = out->count, starter = UINT32_MAX, last = 0;
    out->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t point = out->points[i], rank = press_rank(press_entry_of(l, point)), made = 0;
        if (starter != UINT32_MAX && (!last || last < rank)) made = compose_pair(l, out->points[starter], point);
        if (made) {
            out->points[starter] = made;
            out->sources[starter] += out->sources[i] - 1;
            continue;
        }
        if (!rank) starter = out->count;
        last = rank;
        press_add(out, point, out->sources[i]);
    }
}

int press_canonical(const struct press_lookup *l, const struct letters *text, struct letters *out) {
    if (!decompose(l, text, out)) return 0;
    if (l->key_count) compose(l, out);
    for (uint32_t i = 0, used = 0; i < out->count; i++) {
        int32_t change = (int32_t)out->sources[i];
        out->sources[i] = text->sources[change > 0 && used ? used - 1 : used];
        if (change <= 0) used += (uint32_t)(1 - change);
    }
    return 1;
}
