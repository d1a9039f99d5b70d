/* Tasks are taken by one atomic word that holds the job's number and the next task: whoever swaps it
 * forward has the task, and a thread that comes late, with an old number, gets nothing. Waiting
 * threads look for a few microseconds, then sleep in the kernel: an idle pool costs nothing.
 */
#include "pool.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOOKS = 2000 };

struct press_pool_ {
    _Atomic uint64_t ticket; /* job number, next task */
    _Atomic uint32_t job, done, count, quit, lent, asleep;
    _Atomic(press_task *) task;
    _Atomic(void *) context;
    uint32_t threads;
};

static void wait_for(_Atomic uint32_t *word, uint32_t old) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, 0, 0, 0); }
static void wake(_Atomic uint32_t *word, int many) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, many, 0, 0, 0); }

static void look_away(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

struct press_pool_ *press_pool_new(uint32_t threads) {
    struct press_pool_ *pool = calloc(1, sizeof *pool);
    if (pool) pool->threads = threads;
    return pool;
}

/* Take and do tasks of job `number` until none is left. */
static void take(struct press_pool_ *pool, uint32_t number, uint32_t thread) {
    for (;;) {
        uint64_t ticket = atomic_load(&pool->ticket);
        uint32_t count = atomic_load(&pool->count), next = (uint32_t)ticket;
        press_task *task = atomic_load(&pool->task);
        void *context = atomic_load(&pool->context);
        if (ticket >> 32 != number || next >= count) return;
        if (!atomic_compare_exchange_strong(&pool->ticket, &ticket, ticket + 1)) continue;
        task(context, next, thread);
        if (atomic_fetch_add(&pool->done, 1) + 1 == count) wake(&pool->done, 1);
    }
}

void press_pool_work(struct press_pool_ *pool) {
    uint32_t thread = atomic_fetch_add(&pool->lent, 1) + 1, seen = 0;
    if (thread >= pool->threads) return;
    while (!atomic_load(&pool->quit)) {
        for (int i = 0; i < LOOKS && seen && atomic_load(&pool->job) == seen; i++) look_away();
        if (atomic_load(&pool->job) == seen) {
            atomic_fetch_add(&pool->asleep, 1);
            wait_for(&pool->job, seen);
            atomic_fetch_sub(&pool->asleep, 1);
            continue;
        }
        seen = atomic_load(&pool->job);
        take(pool, seen, thread);
    }
    atomic_fetch_sub(&pool->lent, 1);
}

void press_pool_run(struct press_pool_ *pool, press_task *task, void *context, uint32_t count) {
    if (pool->threads == 1 || count <= 1) {
        for (uint32_t i = 0; i < count; i++) task(context, i, 0);
        return;
    }
    uint32_t number = atomic_load(&pool->job) + 1;
    if (!number) number = 1;
    /* Between jobs the ticket's number matches none, so nobody reads what is being changed. */
    atomic_store(&pool->ticket, 0);
    atomic_store(&pool->task, task);
    atomic_store(&pool->context, context);
    atomic_store(&pool->count, count);
    atomic_store(&pool->done, 0);
    atomic_store(&pool->ticket, (uint64_t)number << 32);
    atomic_store(&pool->job, number);
    if (atomic_load(&pool->asleep)) wake(&pool->job, (int)pool->threads);
    take(pool, number, 0);
    uint32_t done;
    for (int i = 0; (done = atomic_load(&pool->done)) < count; i++) {
        if (i < LOOKS) look_away();
        else wait_for(&pool->done, done);
    }
}

void press_pool_quit(struct press_pool_ *pool) {
    atomic_store(&pool->quit, 1);
    atomic_fetch_add(&pool->job, 1);
    wake(&pool->job, (int)pool->threads);
}

void press_pool_free(struct press_pool_ *pool) {
    if (!pool) return;
    do {
        press_pool_quit(pool);
        look_away();
    } while (atomic_load(&pool->lent));
    free(pool);
}
