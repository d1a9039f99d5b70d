/* Added tokens: found in a text wherever they stand, whatever the tokenizer would make of their letters. */
#include "tokenizer.h"

static int within(const struct press_tokenizer *t, int part, uint32_t point) {
    const uint32_t(*ranges)[2] = press_part(t, part);
    uint32_t low = 0, high = t->parts[part].count / 2;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (point > ranges[middle][1]) low = middle + 1;
        else high = middle;
    }
    return low < t->parts[part].count / 2 && point >= ranges[low][0];
}

/* Whether the code point that ends before `at` is in a table; `*before` is where it begins. */
static int ends_within(const struct press_tokenizer *t, int part, const uint8_t *begin, const uint8_t *at,
                       const uint8_t **before) {
    const uint8_t *p = at;
    do p--;
    while (p > begin && (*p & 0xC0) == 0x80);
    *before = p;
    return within(t, part, press_decode(&p, at));
}

/* An added token's span may leave out the white space that it took in. */
static void put_added(struct press_text *s, const struct press_normal *normal, uint32_t id, const uint8_t *at,
                      const uint8_t *end) {
    uint32_t start = 0, stop = 0, leading = 0, trailing = 0;
    if (s->spans) {
        press_origin(s, normal, at, end, &start, &stop);
        const uint8_t *p = at, *before = end;
        for (; p < end && within(s->t, PART_SPACES, press_decode(&p, end)); leading++);
        for (; before > at && ends_within(s->t, PART_SPACES, at, before, &before); trailing++);
    }
    press_put_trimmed(s, id, start, stop, leading, trailing);
}

/* The longest added token that begins at `at`, or null; `*stop` is where it ends. */
static const struct press_added *longest(const struct press_tokenizer *t, const uint32_t *first, const uint8_t *at,
                                         const uint8_t *end, const uint8_t **stop) {
    uint32_t node = first[*at++];
    if (!node) return 0;
    const struct press_node *nodes = press_part(t, PART_NODES);
    const struct press_edge *edges = press_part(t, PART_EDGES);
    const struct press_added *added = press_part(t, PART_ADDED), *best = 0;
    while (node) {
        const struct press_node *here = nodes + node;
        if (here->added) best = added + here->added - 1, *stop = at;
        node = 0;
        if (at < end)
            for (uint32_t i = here->edges; i < here->edges + here->count && !node; i++)
                if (edges[i].byte == *at) node = edges[i].node;
        at++;
    }
    return best;
}

void press_cut(struct press_text *s, int first, const struct press_normal *normal, press_between *between) {
    const struct press_tokenizer *t = s->t;
    const uint32_t *table = t->parts[first].count ? press_part(t, first) : 0;
    const uint8_t *begin = normal->at, *end = normal->end, *at = begin, *done = begin, *p;
    while (table && at < end && !press_full(s)) {
        const uint8_t *start = at, *stop = at;
        const struct press_added *token = longest(t, table, at, end, &stop);
        if (!token) {
            at++;
            continue;
        }
        at = stop;
        if (token->flags & ADDED_SINGLE_WORD) {
            const uint8_t *next = stop;
            if ((start > begin && ends_within(t, PART_LETTERS, begin, start, &p)) ||
                (stop < end && within(t, PART_LETTERS, press_decode(&next, end))))
                continue;
        }
        if (token->flags & ADDED_LSTRIP)
            while (start > done && ends_within(t, PART_SPACES, done, start, &p)) start = p;
        if (token->flags & ADDED_RSTRIP)
            for (p = stop; p < end && within(t, PART_SPACES, press_decode(&p, end)); stop = p);
        if (done < start) between(s, normal, done, start);
        put_added(s, normal, token->id, start, stop);
        at = done = stop;
    }
    if (done < end && !press_full(s)) between(s, normal, done, end);
}

const char *press_wrong_added(const struct press_tokenizer *t) {
    const struct press_added *added = press_part(t, PART_ADDED);
    const struct press_node *nodes = press_part(t, PART_NODES);
    const struct press_edge *edges = press_part(t, PART_EDGES);
    uint32_t added_count = t->parts[PART_ADDED].count * 4 / sizeof *added;
    uint32_t node_count = t->parts[PART_NODES].count * 4 / sizeof *nodes;
    uint32_t edge_count = t->parts[PART_EDGES].count * 4 / sizeof *edges;
    for (uint32_t i = 0; i < added_count; i++)
        if (added[i].id >= t->vocabulary) return "tokenizer: an impossible added token";
    for (int first = PART_FIRST; first <= PART_FIRST_NORMALIZED; first++) {
        const uint32_t *table = press_part(t, first);
        if (t->parts[first].count && t->parts[first].count != 256) return "tokenizer: impossible first bytes";
        for (uint32_t i = 0; i < t->parts[first].count; i++)
            if (table[i] && table[i] >= node_count) return "tokenizer: an impossible node";
    }
    for (uint32_t i = 0; i < node_count; i++)
        if (nodes[i].edges > edge_count || nodes[i].count > edge_count - nodes[i].edges || nodes[i].added > added_count)
            return "tokenizer: an impossible node";
    for (uint32_t i = 0; i < edge_count; i++)
        if (edges[i].node >= node_count) return "tokenizer: an impossible edge";
    return 0;
}
