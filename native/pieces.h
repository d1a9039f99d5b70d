/* Pieces of text in a trie of their UTF-8 bytes.
 *
 * Nodes are in the order of their depth: the children of a node are neighbours, and begin where those of the node
 * before end.
 */
#ifndef PRESS_PIECES_H
#define PRESS_PIECES_H

#include "tokenizer.h"

static const uint32_t PIECE_ENDS = 1u << 31, NO_PIECE = UINT32_MAX;

struct pieces {
    const uint8_t *labels;      /* a byte per node: the one that leads to it; some to spare */
    const uint32_t *children;   /* where the children of each node begin, and PIECE_ENDS; and the end of the last */
    const uint32_t (*marks)[2]; /* for every 32 nodes: at which of them pieces end, and how many pieces were before */
    uint32_t roots[256];        /* the node that each first byte leads to, or 0 */
};

/* The child of a node that a byte leads to, or 0. Looks at eight of them at once. */
static inline uint32_t child(const struct pieces *p, uint32_t node, uint8_t byte) {
    const uint64_t ones = 0x0101010101010101;
    uint32_t at = p->children[node] & ~PIECE_ENDS, end = p->children[node + 1] & ~PIECE_ENDS;
    for (; at < end; at += 8) {
        uint64_t labels;
        memcpy(&labels, p->labels + at, sizeof labels);
        labels ^= ones * byte;
        uint64_t equal = (labels - ones) & ~labels & ones << 7; /* the lowest bit is right */
        if (!equal) continue;
        at += (uint32_t)__builtin_ctzll(equal) / 8;
        return at < end ? at : 0;
    }
    return 0;
}

/* The node that a code point leads to from another, 0 for the root; or 0. */
static inline uint32_t follow(const struct pieces *p, uint32_t node, uint32_t point) {
    uint8_t bytes[4];
    uint32_t count = press_encode(point, bytes);
    node = node ? child(p, node, bytes[0]) : p->roots[bytes[0]];
    for (uint32_t i = 1; i < count && node; i++) node = child(p, node, bytes[i]);
    return node;
}

/* How many bits are set; the compiler would call a function for it. */
static inline uint32_t count_bits(uint32_t bits) {
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return ((bits + (bits >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24;
}

/* The number of the piece that ends at a node, or NO_PIECE. */
static inline uint32_t piece_at(const struct pieces *p, uint32_t node) {
    if (!(p->children[node] & PIECE_ENDS)) return NO_PIECE;
    return p->marks[node / 32][1] + count_bits(p->marks[node / 32][0] & ((1u << node % 32) - 1));
}

static inline void set_roots(struct pieces *p) {
    for (uint32_t i = p->children[0], end = p->children[1] & ~PIECE_ENDS; i < end; i++) p->roots[p->labels[i]] = i;
}

/* Whether the tables, of as many words each, and for as many pieces, cannot be used. */
static inline int wrong_pieces(const struct pieces *p, uint32_t labels, uint32_t children, uint32_t marks, uint32_t pieces) {
    uint32_t nodes = children - 1, groups = nodes / 32 + !!(nodes % 32), before = 0;
    if (children < 2 || labels < nodes / 4 + 3 || marks < groups * 2) return 1;
    if (p->children[0] != 1 || p->children[nodes] != nodes) return 1;
    /* Without a way out of the loops: the compiler makes them fast, and large vocabularies are checked at every start. */
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < nodes; i++) wrong |= (p->children[i] & ~PIECE_ENDS) > (p->children[i + 1] & ~PIECE_ENDS);
    for (uint32_t group = 0; group < groups; group++) {
        uint32_t ends = 0, count = nodes - group * 32 < 32 ? nodes - group * 32 : 32;
        for (uint32_t i = 0; i < count; i++) ends |= p->children[group * 32 + i] >> 31 << i;
        wrong |= (ends ^ p->marks[group][0]) | (before ^ p->marks[group][1]);
        before += count_bits(ends);
    }
    return wrong || before > pieces;
}

#endif
