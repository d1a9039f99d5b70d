/* Normalizers, as steps over a text of code points that know where they came from.
 *
 * What a character becomes stands in tables that were compiled at build time: nothing here knows Unicode. Where a
 * character came from follows Hugging Face's tokenizers to the letter.
 */
#include "steps.h"

#include <stdlib.h>

enum { ACTION_MAP = 1, ACTION_CHARSMAP, ACTION_REPLACE, ACTION_RUNS, ACTION_STRIP, ACTION_PREPEND, ACTION_CANONICAL };
enum { STRIP_LEFT = 1, STRIP_RIGHT = 2, LONGEST_SEQUENCE = 64 };

int press_make_room(struct letters *text, uint64_t room) {
    if (room <= text->room) return 1;
    uint64_t grown = (uint64_t)text->room + text->room / 2 + 64; /* so that it is not done for each character */
    if (room < grown) room = grown;
    if (room > UINT32_MAX / 8) return 0;
    uint32_t *points = realloc(text->points ? text->points - 1 : 0, (room + 1) * sizeof *points);
    if (points) text->points = points + 1;
    uint32_t *sources = realloc(text->sources ? text->sources - 1 : 0, (room + 1) * sizeof *sources);
    if (sources) text->sources = sources + 1;
    if (!points || !sources) return 0;
    text->room = (uint32_t)room;
    return 1;
}

void press_drop_letters(struct letters *text) {
    if (text->points) free(text->points - 1);
    if (text->sources) free(text->sources - 1);
    *text = (struct letters){0};
}

static int add_all(struct letters *out, const uint32_t *list, uint32_t source) {
    if (!press_make_room(out, (uint64_t)out->count + list[0])) return 0;
    for (uint32_t i = 1; i <= list[0]; i++) press_add(out, list[i], source);
    return 1;
}

/* Each character by itself. */
static int map(const struct press_lookup *l, const struct letters *text, struct letters *out) {
    for (uint32_t i = 0; i < text->count; i++) {
        uint32_t own = text->points[i], count;
        const uint32_t *to = press_becomes(l, press_entry_of(l, own), &own, &count);
        if (!press_make_room(out, (uint64_t)out->count + count)) return 0;
        for (uint32_t k = 0; k < count; k++) press_add(out, to[k], text->sources[i]);
    }
    return 1;
}

/* A word by another, as often as it occurs; what is new came from the last character that it replaces. */
static int replace(const uint32_t *from, const uint32_t *to, const struct letters *text, struct letters *out) {
    for (uint32_t i = 0; i < text->count;) {
        if (from[0] <= text->count - i && !memcmp(text->points + i, from + 1, from[0] * sizeof *from)) {
            if (!add_all(out, to, text->sources[i + from[0] - 1])) return 0;
            i += from[0];
        } else {
            if (!press_make_room(out, (uint64_t)out->count + 1)) return 0;
            press_add(out, text->points[i], text->sources[i]), i++;
        }
    }
    return 1;
}

/* Whether a code point is in an ascending list. */
static int listed(const uint32_t *list, uint32_t point) {
    for (uint32_t i = 1; i <= list[0] && list[i] <= point; i++)
        if (list[i] == point) return 1;
    return 0;
}

/* The same for two or more in a row of those in one list, and for each alone that is also in the list behind it. */
static int replace_runs(const uint32_t *many, const uint32_t *to, const struct letters *text, struct letters *out) {
    const uint32_t *single = many + many[0] + 1;
    for (uint32_t i = 0, end; i < text->count; i = end) {
        end = i + 1;
        int in = listed(many, text->points[i]);
        while (in && end < text->count && listed(many, text->points[end])) end++;
        if (end - i > 1 || (in && listed(single, text->points[i]))) {
            if (!add_all(out, to, text->sources[end - 1])) return 0;
        } else {
            if (!press_make_room(out, (uint64_t)out->count + 1)) return 0;
            press_add(out, text->points[i], text->sources[i]);
        }
    }
    return 1;
}

/* Spaces at the ends go. */
static void strip(const uint32_t *spaces, uint32_t sides, struct letters *text) {
    uint32_t start = 0;
    if (sides & STRIP_RIGHT)
        while (text->count && listed(spaces, text->points[text->count - 1])) text->count--;
    if (sides & STRIP_LEFT)
        while (start < text->count && listed(spaces, text->points[start])) start++;
    text->count -= start;
    memmove(text->points, text->points + start, text->count * sizeof *text->points);
    memmove(text->sources, text->sources + start, text->count * sizeof *text->sources);
}

/* Something before the text; it came from where the first character came from. */
static int prepend(const uint32_t *what, const struct letters *text, struct letters *out) {
    if (!press_make_room(out, (uint64_t)text->count + what[0])) return 0;
    add_all(out, what, text->sources[0]);
    memcpy(out->points + out->count, text->points, text->count * sizeof *text->points);
    memcpy(out->sources + out->count, text->sources, text->count * sizeof *text->sources);
    out->count += text->count;
    return 1;
}

static int take(const struct step *s, const uint32_t *words, const struct letters *text, struct letters *out) {
    struct press_lookup l;
    switch (s->action) {
    case ACTION_MAP: return l = press_look(words + s->data), map(&l, text, out);
    case ACTION_CHARSMAP: return l = press_look(words + s->data), press_charsmap(&l, text, out);
    case ACTION_CANONICAL: return l = press_look(words + s->data), press_canonical(&l, text, out);
    case ACTION_REPLACE: return replace(words + s->other, words + s->data, text, out);
    case ACTION_RUNS: return replace_runs(words + s->other, words + s->data, text, out);
    default: return prepend(words + s->data, text, out);
    }
}

int press_take_steps(const struct step *steps, uint32_t count, const uint32_t *words, struct letters *text, struct letters *out) {
    for (; count && text->count; count--, steps++) {
        if (steps->action == ACTION_STRIP) {
            strip(words + steps->data, steps->other, text);
            continue;
        }
        out->count = 0;
        if (!press_make_room(out, text->count) || !take(steps, words, text, out)) return 0;
        struct letters swap = *text;
        *text = *out, *out = swap;
    }
    return 1;
}

/* ---- Checks, once, when the file is opened ---- */

static int wrong_list(const uint32_t *words, uint32_t count, uint32_t at) {
    if (at >= count || words[at] >= count - at) return 1;
    for (uint32_t i = 1; i <= words[at]; i++)
        if (words[at + i] >= PRESS_CODE_POINTS) return 1;
    return 0;
}

static int wrong_entry(const struct press_lookup *l, uint32_t sequence_count, uint32_t entry) {
    uint32_t at = entry & ENTRY_VALUE;
    if (entry & ENTRY_SEQUENCE) return wrong_list(l->sequences, sequence_count, at) || l->sequences[at] > LONGEST_SEQUENCE;
    return (entry & ENTRY_VALUE) >= PRESS_CODE_POINTS;
}

static int wrong_table(const uint32_t *words, uint32_t count, uint32_t at) {
    if (at > count || count - at < TABLE_HEAD) return 1;
    const struct press_table *t = (const struct press_table *)(words + at);
    if ((uint64_t)TABLE_HEAD + t->entry_count + t->sequence_count + (uint64_t)t->key_count * 3 > count - at) return 1;
    struct press_lookup l = press_look(words + at);
    for (uint32_t i = 0; i < TABLE_PAGES; i++)
        if (((uint32_t)l.pages[i] + 1) * PRESS_PAGE > t->entry_count) return 1;
    for (uint32_t i = 0; i < t->entry_count; i++)
        if (wrong_entry(&l, t->sequence_count, l.entries[i])) return 1;
    for (uint32_t i = 0; i < t->key_count; i++)
        if (wrong_entry(&l, t->sequence_count, l.keys[i].entry)) return 1;
    return 0;
}

const char *press_wrong_steps(const struct step *steps, uint32_t count, const uint32_t *words, uint32_t word_count) {
    for (; count; count--, steps++) {
        int table = steps->action == ACTION_MAP || steps->action == ACTION_CHARSMAP || steps->action == ACTION_CANONICAL;
        if (steps->action < ACTION_MAP || steps->action > ACTION_CANONICAL) return "tokenizer: an unknown step";
        if (table ? wrong_table(words, word_count, steps->data) : wrong_list(words, word_count, steps->data)) return "tokenizer: an impossible step";
        if ((steps->action == ACTION_REPLACE || steps->action == ACTION_RUNS) &&
            (wrong_list(words, word_count, steps->other) || !words[steps->other]))
            return "tokenizer: an impossible step";
        if (steps->action == ACTION_RUNS && wrong_list(words, word_count, steps->other + words[steps->other] + 1))
            return "tokenizer: an impossible step";
    }
    return 0;
}
