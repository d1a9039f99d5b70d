/* Servers of one's own: so many slots, each one request at a time. Who finds none free waits, first come first
 * served, or is turned away. */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t slots;
    int64_t queue; /* 1: waits; 0: is turned away */
    uint64_t seed;
    const double *service;
    int64_t services;
} Settings;

typedef struct {
    int64_t requests, lost, waited;
    double wait_ms, latency_ms, busy_seconds;
    int64_t histogram[STEPS];
} Totals;

typedef struct {
    Settings settings;
    Totals totals;
    Random random;
    double *service;
    Heap free; /* when each slot is free again, the first one first */
} Servers;

void servers_close(Servers *servers)
{
    if (!servers)
        return;
    free(servers->service);
    free(servers->free.items);
    free(servers);
}

Servers *servers_open(const Settings *settings)
{
    Servers *servers = calloc(1, sizeof *servers);
    if (!servers)
        return NULL;
    servers->settings = *settings;
    size_t size = (size_t)settings->services * sizeof *servers->service;
    servers->service = malloc(size);
    if (!servers->service) {
        servers_close(servers);
        return NULL;
    }
    memcpy(servers->service, settings->service, size);
    for (int64_t i = 0; i < settings->slots; i++)
        if (heap_push(&servers->free, (Busy){0, 0, 0})) {
            servers_close(servers);
            return NULL;
        }
    random_seed(&servers->random, settings->seed);
    return servers;
}

int servers_run(Servers *servers, const double *at, int64_t count)
{
    Totals *totals = &servers->totals;
    for (int64_t i = 0; i < count; i++) {
        totals->requests++;
        double begins = servers->free.items[0].finish;
        double waits = begins > at[i] ? (begins - at[i]) * 1000 : 0;
        if (waits > 0 && !servers->settings.queue) {
            totals->lost++;
            continue;
        }
        double ms = servers->service[random_below(&servers->random, servers->settings.services)];
        heap_pop(&servers->free);
        heap_push(&servers->free, (Busy){(waits > 0 ? begins : at[i]) + ms / 1000, 0, 0});
        totals->waited += waits > 0;
        totals->wait_ms += waits;
        totals->latency_ms += waits + ms;
        totals->busy_seconds += ms / 1000;
        totals->histogram[step_of(waits + ms)]++;
    }
    return 0;
}

void servers_totals(const Servers *servers, Totals *totals) { *totals = servers->totals; }
