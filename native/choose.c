/* Which table of kernels this CPU runs. */
#include "kernels.h"

#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1UL << 20)
#endif
#endif

static int can_run(const struct press_kernels *table) {
#if defined(__x86_64__)
    if (table == &press_avx512)
        return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (table == &press_avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#elif defined(__aarch64__)
    if (table == &press_neon) return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#endif
    return 1;
}

const struct press_kernels *press_choose_kernels(const char *wish) {
    static const struct press_kernels *const tables[] = {
#if defined(__x86_64__)
        &press_avx512, &press_avx2,
#elif defined(__aarch64__)
        &press_neon,
#endif
        &press_portable};
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        if ((!wish || !strcmp(wish, tables[i]->name)) && can_run(tables[i])) return tables[i];
    return 0;
}
