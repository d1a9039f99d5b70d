/* Unigram: of all ways to cut a text into known pieces, the one that is likeliest in all.
 *
 * The text is normalized, its spaces become a visible character, and before each of these it may be cut into
 * words.
 */
#include "steps.h"
#include "pieces.h"
#include "tokenizer.h"

#include <stdlib.h>

enum { /* the parts of this kind */
    PART_STEPS = PART_OWN, /* struct step */
    PART_WORDS,            /* what the steps need */
    PART_BLANKS,           /* a bit per code point: white space that splits; none past the last */
    PART_LABELS,           /* the trie, see struct pieces */
    PART_CHILDREN,
    PART_MARKS,
    PART_PIECES,           /* in the order of their nodes: an id and a score each, a float or a double */
    PART_FALLBACK          /* 256 ids, of bytes; past the vocabulary where there is none. Or nothing */
};

enum { SET_FLAGS, SET_REPLACEMENT, SET_UNKNOWN, SET_UNKNOWN_SCORE }; /* settings; the last is a double */

enum { SPLIT_BLANKS = 1, METASPACE = 2, PREPEND_ALWAYS = 4, PREPEND_FIRST = 8, SPLIT_SPACES = 16, DOUBLES = 32 };

static const uint32_t NONE = UINT32_MAX;

/* The best way to a place in a word. */
struct place {
    union {
        double score;
        uint32_t next; /* once the best way is known: where the piece from here ends */
    };
    uint32_t start, id; /* where its last piece begins, and which one that is */
};

struct unigram {
    struct press_text *s;
    const struct press_tokenizer *t;
    struct pieces pieces;
    const uint32_t *records, *fallback;
    uint32_t flags, unknown;
    double unknown_score;
    struct letters text;
    struct place *places;
    uint32_t room;
};

/* How many words a piece takes. */
static inline uint32_t record_size(uint32_t flags) { return flags & DOUBLES ? 3 : 2; }

static inline uint32_t id_of(const struct unigram *u, uint32_t piece) { return u->records[(size_t)piece * record_size(u->flags)]; }

static inline double score_of(const struct unigram *u, uint32_t piece) {
    const uint32_t *record = u->records + (size_t)piece * record_size(u->flags) + 1;
    double wide;
    float narrow;
    if (u->flags & DOUBLES) return memcpy(&wide, record, sizeof wide), wide;
    return memcpy(&narrow, record, sizeof narrow), narrow;
}

static inline void offer(struct place *place, double score, uint32_t start, uint32_t id) {
    if (place->start == NONE || score > place->score) place->score = score, place->start = start, place->id = id;
}

/* What no piece covers, as one token; but the vocabulary may have it as a whole, or its bytes. */
static void put_unknown(struct unigram *u, const uint32_t *points, uint32_t count, uint32_t start, uint32_t end) {
    uint32_t node = follow(&u->pieces, 0, points[0]), piece, bytes_known = u->fallback != 0;
    for (uint32_t i = 1; i < count && node; i++) node = follow(&u->pieces, node, points[i]);
    piece = node ? piece_at(&u->pieces, node) : NO_PIECE;
    if (piece != NO_PIECE || !bytes_known) {
        press_put(u->s, piece != NO_PIECE ? id_of(u, piece) : u->unknown, start, end);
        return;
    }
    uint8_t bytes[4];
    for (int write = 0; write < 2; write++)
        for (uint32_t i = 0; i < count && bytes_known; i++)
            for (uint32_t k = 0, size = press_encode(points[i], bytes); k < size && bytes_known; k++)
                if (write) press_put(u->s, u->fallback[bytes[k]], start, end);
                else bytes_known = u->fallback[bytes[k]] < u->t->vocabulary;
    if (!bytes_known) press_put(u->s, u->unknown, start, end);
}

/* The tokens of one word. */
static void put_word(struct unigram *u, const uint32_t *points, const uint32_t *sources, uint32_t count) {
    if (count >= u->room) {
        uint64_t grown = (uint64_t)u->room + u->room / 2 + 64, room = count < grown ? grown : (uint64_t)count + 1;
        struct place *places = realloc(u->places, room * sizeof *places);
        if (!places) {
            press_fail(u->s);
            return;
        }
        u->places = places, u->room = (uint32_t)room;
    }
    struct place *places = u->places;
    for (uint32_t i = 0; i <= count; i++) places[i].start = NONE;
    places[0].score = 0;
    for (uint32_t start = 0; start < count; start++) {
        double before = places[start].score;
        int alone = 0;
        uint32_t node = 0;
        for (uint32_t at = start; at < count; at++) {
            node = follow(&u->pieces, node, points[at]);
            if (!node) break;
            uint32_t piece = piece_at(&u->pieces, node);
            if (piece == NO_PIECE) continue;
            offer(places + at + 1, score_of(u, piece) + before, start, id_of(u, piece));
            alone |= at == start;
        }
        if (!alone) offer(places + start + 1, u->unknown_score + before, start, u->unknown);
    }
    for (uint32_t at = count; at; at = places[at].start) places[places[at].start].next = at;
    for (uint32_t at = 0, end; at < count && !press_full(u->s); at = end) {
        end = places[at].next;
        if (places[end].id != u->unknown) {
            press_put(u->s, places[end].id, sources[at], sources[end - 1] + 1);
            continue;
        }
        while (end < count && places[places[end].next].id == u->unknown) end = places[end].next;
        put_unknown(u, points + at, end - at, sources[at], sources[end - 1] + 1);
    }
}

/* Text without blanks that split: a visible space before it where one is wanted, then its words. */
static void put_words(struct unigram *u, uint32_t *points, uint32_t *sources, uint32_t count) {
    uint32_t space = u->t->settings[SET_REPLACEMENT], start = 0;
    if (u->flags & METASPACE) {
        for (uint32_t i = 0; i < count; i++)
            if (points[i] == ' ') points[i] = space;
        int wanted = u->flags & PREPEND_ALWAYS || (u->flags & PREPEND_FIRST && !sources[0]);
        if (wanted && points[0] != space) { /* what was there is done with, or it is the free place */
            points--, sources--, count++;
            points[0] = space, sources[0] = sources[1];
        }
    }
    if (u->flags & SPLIT_SPACES)
        for (uint32_t i = 1; i < count; i++)
            if (points[i] == space && !press_full(u->s)) {
                put_word(u, points + start, sources + start, i - start);
                start = i;
            }
    if (!press_full(u->s)) put_word(u, points + start, sources + start, count - start);
}

/* Text without added tokens, split at blanks where that is wanted. */
static void put_text(struct unigram *u, uint32_t *points, uint32_t *sources, uint32_t count) {
    const uint32_t *blanks = press_part(u->t, PART_BLANKS);
    uint32_t limit = u->t->parts[PART_BLANKS].count * 32, start = 0;
    for (uint32_t i = 0; i <= count && u->flags & SPLIT_BLANKS; i++)
        if (i == count || (points[i] < limit && blanks[points[i] / 32] >> points[i] % 32 & 1)) {
            if (start < i) put_words(u, points + start, sources + start, i - start);
            start = i + 1;
        }
    if (start < count) put_words(u, points + start, sources + start, count - start);
}

/* The normalized text once more, in UTF-8, and how far it was read. */
struct written {
    struct unigram *u;
    const uint8_t *at;
    uint32_t index;
};

static uint32_t index_of(struct written *w, const uint8_t *at) {
    for (; w->at < at; w->at++) w->index += (*w->at & 0xC0) != 0x80;
    for (; w->at > at; w->index -= (*w->at & 0xC0) != 0x80) w->at--;
    return w->index;
}

static void between(struct press_text *s, const struct press_normal *normal, const uint8_t *at, const uint8_t *end) {
    struct written *w = normal->memory;
    uint32_t start = index_of(w, at), stop = index_of(w, end);
    (void)s;
    put_text(w->u, w->u->text.points + start, w->u->text.sources + start, stop - start);
}

/* Cut the normalized text at those added tokens that are found in there. */
static void cut(struct unigram *u) {
    size_t size = 0, at = 0;
    uint8_t encoded[4];
    for (uint32_t i = 0; i < u->text.count; i++) size += press_encode(u->text.points[i], encoded);
    uint32_t *origins = malloc((size + 1) * (sizeof *origins + 1));
    if (!origins) {
        press_fail(u->s);
        return;
    }
    uint8_t *bytes = (uint8_t *)(origins + size);
    for (uint32_t i = 0; i < u->text.count; i++)
        for (uint32_t k = press_encode(u->text.points[i], bytes + at); k; k--) origins[at++] = u->text.sources[i];
    struct written w = {u, bytes, 0};
    press_cut(u->s, PART_FIRST_NORMALIZED, &(struct press_normal){bytes, bytes + size, origins, &w}, between);
    free(origins);
}

static struct pieces pieces_of(const struct press_tokenizer *t) {
    return (struct pieces){press_part(t, PART_LABELS), press_part(t, PART_CHILDREN), press_part(t, PART_MARKS), {0}};
}

static void segment(struct press_text *s, const uint8_t *at, const uint8_t *end) {
    const struct press_tokenizer *t = s->t;
    struct unigram u = {.s = s, .t = t, .pieces = pieces_of(t), .records = press_part(t, PART_PIECES),
                        .fallback = t->parts[PART_FALLBACK].count ? press_part(t, PART_FALLBACK) : 0,
                        .flags = t->settings[SET_FLAGS], .unknown = t->settings[SET_UNKNOWN]};
    memcpy(&u.unknown_score, t->settings + SET_UNKNOWN_SCORE, sizeof u.unknown_score);
    set_roots(&u.pieces);
    struct letters other = {0};
    uint32_t index = press_index(s, at);
    if (press_make_room(&u.text, (uint64_t)(end - at))) {
        for (; at < end; u.text.count++) {
            u.text.points[u.text.count] = press_decode(&at, end);
            u.text.sources[u.text.count] = index++;
        }
        if (press_take_steps(press_part(t, PART_STEPS), t->parts[PART_STEPS].count / 3, press_part(t, PART_WORDS), &u.text, &other)) {
            if (t->parts[PART_FIRST_NORMALIZED].count) cut(&u);
            else put_text(&u, u.text.points, u.text.sources, u.text.count);
        } else press_fail(s);
    } else press_fail(s);
    press_drop_letters(&u.text);
    press_drop_letters(&other);
    free(u.places);
}

static const char *wrong(const struct press_tokenizer *t) {
    uint32_t size = record_size(t->settings[SET_FLAGS]), pieces = t->parts[PART_PIECES].count / size, largest = 0;
    const uint32_t *records = press_part(t, PART_PIECES);
    const struct pieces found = pieces_of(t);
    if (t->settings[SET_UNKNOWN] >= t->vocabulary || t->settings[SET_REPLACEMENT] >= PRESS_CODE_POINTS)
        return "tokenizer: impossible settings";
    if (wrong_pieces(&found, t->parts[PART_LABELS].count, t->parts[PART_CHILDREN].count, t->parts[PART_MARKS].count, pieces))
        return "tokenizer: impossible pieces";
    if (t->parts[PART_FALLBACK].count && t->parts[PART_FALLBACK].count != 256) return "tokenizer: impossible bytes";
    for (uint32_t i = 0; i < pieces; i++) largest = records[i * size] > largest ? records[i * size] : largest;
    if (largest >= t->vocabulary) return "tokenizer: impossible ids";
    return press_wrong_steps(press_part(t, PART_STEPS), t->parts[PART_STEPS].count / 3, press_part(t, PART_WORDS), t->parts[PART_WORDS].count);
}

const struct press_tokenizer_kind press_unigram = {wrong, segment};
