/* A fleet as Lambda keeps it: the sandbox used last takes the next request; without a free one another is started,
 * within the limits; beyond them a request is throttled. Nothing queues. What nobody needs for a while is gone. */
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double idle;          /* seconds until an unused sandbox is taken down */
    int64_t concurrency;  /* requests under way at most, of all functions together */
    int64_t scale_up;     /* sandboxes started within scale_seconds at most, by each function */
    double scale_seconds;
    double placing_ms;    /* what comes before an init and is not billed */
    int64_t functions;
    /* A share of a CPU is so many milliseconds in each period, and a rested sandbox has one period's: a request
     * takes cpu_ms of them, and waits for what the one before it has spent. 0: not looked at. */
    double share, bucket_ms, cpu_ms;
    int64_t init_billed;  /* 0 where a cold start's init costs nothing by itself (SnapStart has fees of its own) */
    uint64_t seed;
    const double *warm;   /* durations that were measured, one drawn for each request */
    int64_t warms;
    const double *init, *first; /* a cold start: its init and its first request's duration, drawn together */
    int64_t colds;
} Settings;

typedef struct {
    int64_t requests, cold, provisioned, over_limit, over_scale_up;
    int64_t billed_ms, provisioned_ms;
    int64_t peak;              /* most under way at once */
    double provisioned_seconds; /* sandboxes kept ready, times how long */
    double latency_ms;         /* sum */
    double window_busy_seconds; /* of provisioned ones, since the window was opened */
    int64_t window_peak;
    int64_t histogram[STEPS];
} Totals;

typedef struct {
    int32_t top;         /* free sandboxes, the one used last on top; -1: none */
    int32_t ready_top;   /* the same of provisioned ones */
    int64_t ready;       /* so many are to be, */
    int64_t ready_busy;  /* and so many of them work */
    double *starts;      /* a ring of the starts that still count against scale_up */
    int64_t starts_first, starts_count, starts_capacity;
} Function;

typedef struct {
    Settings settings;
    Totals totals;
    Random random;
    double *warm, *init, *first;
    Function *functions;
    Heap busy;
    /* sandboxes: since when one is free, what it then had of its share, and which lies below it */
    double *since, *unspent;
    int32_t *below;
    int32_t sandboxes, capacity, spare;
    double now;
    int64_t ready, ready_busy;
} Fleet;

void fleet_close(Fleet *fleet)
{
    if (!fleet)
        return;
    for (int64_t i = 0; fleet->functions && i < fleet->settings.functions; i++)
        free(fleet->functions[i].starts);
    free(fleet->functions);
    free(fleet->warm);
    free(fleet->init);
    free(fleet->first);
    free(fleet->busy.items);
    free(fleet->since);
    free(fleet->unspent);
    free(fleet->below);
    free(fleet);
}

static double *copied(const double *values, int64_t count)
{
    double *own = malloc((size_t)(count ? count : 1) * sizeof *own);
    if (own && count)
        memcpy(own, values, (size_t)count * sizeof *own);
    return own;
}

Fleet *fleet_open(const Settings *settings)
{
    Fleet *fleet = calloc(1, sizeof *fleet);
    if (!fleet)
        return NULL;
    fleet->settings = *settings;
    fleet->warm = copied(settings->warm, settings->warms);
    fleet->init = copied(settings->init, settings->colds);
    fleet->first = copied(settings->first, settings->colds);
    fleet->functions = calloc((size_t)settings->functions, sizeof *fleet->functions);
    if (!fleet->warm || !fleet->init || !fleet->first || !fleet->functions) {
        fleet_close(fleet);
        return NULL;
    }
    for (int64_t i = 0; i < settings->functions; i++)
        fleet->functions[i].top = fleet->functions[i].ready_top = -1;
    fleet->spare = -1;
    random_seed(&fleet->random, settings->seed);
    return fleet;
}

/* Time goes on: what was provisioned is paid, and so is counted what of it worked. */
static void pass(Fleet *fleet, double until)
{
    double seconds = until - fleet->now;
    if (seconds <= 0)
        return;
    fleet->totals.provisioned_seconds += seconds * (double)fleet->ready;
    fleet->totals.window_busy_seconds += seconds * (double)fleet->ready_busy;
    fleet->now = until;
}

/* Everything that finishes up to a moment gives its sandbox back. */
static void finish(Fleet *fleet, double until)
{
    while (fleet->busy.count && fleet->busy.items[0].finish <= until) {
        Busy done = heap_pop(&fleet->busy);
        int provisioned = done.function < 0;
        Function *function = &fleet->functions[provisioned ? ~done.function : done.function];
        int32_t *top = provisioned ? &function->ready_top : &function->top;
        pass(fleet, done.finish);
        if (provisioned) {
            function->ready_busy--;
            fleet->ready_busy--;
        }
        fleet->since[done.sandbox] = done.finish;
        fleet->below[done.sandbox] = *top;
        *top = done.sandbox;
    }
}

/* The free sandbox that was used last, or -1. If it has been idle for too long, so have all below it. */
static int32_t warmest(Fleet *fleet, Function *function, double at)
{
    int32_t top = function->top;
    if (top < 0)
        return -1;
    if (fleet->since[top] >= at - fleet->settings.idle) {
        function->top = fleet->below[top];
        return top;
    }
    while (top >= 0) {
        int32_t below = fleet->below[top];
        fleet->below[top] = fleet->spare;
        fleet->spare = top;
        top = below;
    }
    function->top = -1;
    return -1;
}

static void rested(Fleet *fleet, int32_t sandbox, double at)
{
    fleet->since[sandbox] = at;
    fleet->unspent[sandbox] = fleet->settings.bucket_ms;
}

static int32_t new_sandbox(Fleet *fleet)
{
    if (fleet->spare >= 0) {
        int32_t sandbox = fleet->spare;
        fleet->spare = fleet->below[sandbox];
        return sandbox;
    }
    if (fleet->sandboxes == fleet->capacity) {
        int32_t capacity = fleet->capacity ? fleet->capacity * 2 : 64;
        double *since = realloc(fleet->since, (size_t)capacity * sizeof *since);
        if (since)
            fleet->since = since;
        double *unspent = realloc(fleet->unspent, (size_t)capacity * sizeof *unspent);
        if (unspent)
            fleet->unspent = unspent;
        int32_t *below = realloc(fleet->below, (size_t)capacity * sizeof *below);
        if (below)
            fleet->below = below;
        if (!since || !unspent || !below)
            return -1;
        fleet->capacity = capacity;
    }
    return fleet->sandboxes++;
}

/* May another one be started? Starts within the last seconds count; 1: yes, 0: no, -1: no memory. */
static int may_start(Fleet *fleet, Function *function, double at)
{
    double limit = at - fleet->settings.scale_seconds;
    while (function->starts_count && function->starts[function->starts_first] <= limit) {
        function->starts_first = (function->starts_first + 1) % function->starts_capacity;
        function->starts_count--;
    }
    if (function->starts_count >= fleet->settings.scale_up)
        return 0;
    if (function->starts_count == function->starts_capacity) {
        int64_t capacity = function->starts_capacity ? function->starts_capacity * 2 : 4;
        double *starts = malloc((size_t)capacity * sizeof *starts);
        if (!starts)
            return -1;
        for (int64_t i = 0; i < function->starts_count; i++)
            starts[i] = function->starts[(function->starts_first + i) % function->starts_capacity];
        free(function->starts);
        function->starts = starts;
        function->starts_first = 0;
        function->starts_capacity = capacity;
    }
    function->starts[(function->starts_first + function->starts_count++) % function->starts_capacity] = at;
    return 1;
}

/* A warm request's duration in a sandbox, whose share it spends. Measured ones are of rested sandboxes. */
static double warm_ms(Fleet *fleet, int32_t sandbox, double at)
{
    const Settings *settings = &fleet->settings;
    double ms = fleet->warm[random_below(&fleet->random, settings->warms)];
    if (settings->cpu_ms <= 0)
        return ms;
    double gained = (at - fleet->since[sandbox]) * 1000 * settings->share;
    double had = fmin(settings->bucket_ms, fleet->unspent[sandbox] + gained);
    double needs = fmin(settings->bucket_ms, settings->cpu_ms);
    if (needs > had)
        ms += (needs - had) / settings->share;
    fleet->unspent[sandbox] = fmin(settings->bucket_ms, fmax(0, had + ms * settings->share - settings->cpu_ms));
    return ms;
}

static int took(Fleet *fleet, double at, double ms, int32_t sandbox, int32_t function)
{
    Totals *totals = &fleet->totals;
    totals->latency_ms += ms;
    totals->histogram[step_of(ms)]++;
    if (heap_push(&fleet->busy, (Busy){at + ms / 1000, sandbox, function}))
        return -1;
    if (fleet->busy.count > totals->peak)
        totals->peak = fleet->busy.count;
    return 0;
}

static int arrive(Fleet *fleet, double at, uint32_t which)
{
    const Settings *settings = &fleet->settings;
    Totals *totals = &fleet->totals;
    Function *function = &fleet->functions[which];
    totals->requests++;
    if (function->ready_busy < function->ready) {
        int32_t sandbox = function->ready_top;
        if (sandbox >= 0)
            function->ready_top = fleet->below[sandbox];
        else if ((sandbox = new_sandbox(fleet)) < 0)
            return -1;
        else
            rested(fleet, sandbox, at);
        double ms = warm_ms(fleet, sandbox, at);
        function->ready_busy++;
        fleet->ready_busy++;
        if (fleet->ready_busy > totals->window_peak)
            totals->window_peak = fleet->ready_busy;
        totals->provisioned++;
        totals->provisioned_ms += (int64_t)ceil(ms);
        return took(fleet, at, ms, sandbox, ~(int32_t)which);
    }
    /* What is provisioned is taken off the account's limit, whether it works or not. */
    int64_t kept = fleet->ready > fleet->ready_busy ? fleet->ready : fleet->ready_busy;
    if (fleet->busy.count - fleet->ready_busy + kept >= settings->concurrency) {
        totals->over_limit++;
        return 0;
    }
    int32_t sandbox = warmest(fleet, function, at);
    if (sandbox >= 0) {
        double ms = warm_ms(fleet, sandbox, at);
        totals->billed_ms += (int64_t)ceil(ms);
        return took(fleet, at, ms, sandbox, (int32_t)which);
    }
    int may = may_start(fleet, function, at);
    if (may <= 0) {
        totals->over_scale_up += may == 0;
        return may;
    }
    sandbox = new_sandbox(fleet);
    if (sandbox < 0)
        return -1;
    rested(fleet, sandbox, at);
    int64_t drawn = random_below(&fleet->random, settings->colds);
    double init = fleet->init[drawn], first = fleet->first[drawn];
    totals->cold++;
    totals->billed_ms += (int64_t)ceil(first + (settings->init_billed ? init : 0));
    fleet->unspent[sandbox] = 0; /* a start takes all that it can get */
    return took(fleet, at, settings->placing_ms + init + first, sandbox, (int32_t)which);
}

/* Arrivals in order of time; `functions` says whose each is, or is NULL if all are the first's. */
int fleet_run(Fleet *fleet, const double *at, const uint32_t *functions, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        finish(fleet, at[i]);
        pass(fleet, at[i]);
        if (arrive(fleet, at[i], functions ? functions[i] : 0))
            return -1;
    }
    return 0;
}

/* From this moment on so many are kept ready for each function. */
void fleet_provision(Fleet *fleet, double at, int64_t each)
{
    finish(fleet, at);
    pass(fleet, at);
    for (int64_t i = 0; i < fleet->settings.functions; i++)
        fleet->functions[i].ready = each;
    fleet->ready = each * fleet->settings.functions;
}

/* Go on to a moment without arrivals. */
void fleet_advance(Fleet *fleet, double at)
{
    finish(fleet, at);
    pass(fleet, at);
}

/* What is provisioned is watched in windows of a minute: begin another. */
void fleet_window(Fleet *fleet)
{
    fleet->totals.window_busy_seconds = 0;
    fleet->totals.window_peak = fleet->ready_busy;
}

void fleet_totals(const Fleet *fleet, Totals *totals) { *totals = fleet->totals; }
