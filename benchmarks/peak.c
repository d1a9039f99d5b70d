/* How many int8 products this core can do in a second: nothing but VNNI instructions, from registers to registers. */
#include <immintrin.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 300, STEPS = 100000, SUMS = 12, PRODUCTS = 64 };

int main(void) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        struct timespec began, ended;
        __m512i sums[SUMS], one = _mm512_set1_epi8(1);
        for (int i = 0; i < SUMS; i++) sums[i] = _mm512_setzero_si512();
        clock_gettime(CLOCK_MONOTONIC, &began);
        for (int step = 0; step < STEPS; step++)
            for (int i = 0; i < SUMS; i++) __asm__ volatile("vpdpbusd %1, %1, %0" : "+v"(sums[i]) : "v"(one));
        clock_gettime(CLOCK_MONOTONIC, &ended);
        double took = (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) * 1e-9;
        if (took < best) best = took;
    }
    printf("%.1f\n", (double)STEPS * SUMS * PRODUCTS / best / 1e9);
    return 0;
}
