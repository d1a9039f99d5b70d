/* A pool of threads that others lend: press_pool_run shares tasks between the caller and them. */
#ifndef PRESS_POOL_H
#define PRESS_POOL_H

#include <stdint.h>

struct press_pool_;
typedef void press_task(void *context, uint32_t task, uint32_t thread);

struct press_pool_ *press_pool_new(uint32_t threads);
void press_pool_free(struct press_pool_ *pool);

/* Whoever is lent, or will be, returns. */
void press_pool_quit(struct press_pool_ *pool);

/* Lend this thread; returns when the pool is freed. */
void press_pool_work(struct press_pool_ *pool);

/* Do tasks 0 … count − 1, each once, in any order, by any thread; returns when all are done. */
void press_pool_run(struct press_pool_ *pool, press_task *task, void *context, uint32_t count);

#endif
