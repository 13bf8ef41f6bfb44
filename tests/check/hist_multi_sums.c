/* Sums by key against serial: keys in rows and anywhere, few and many, lists, no weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "gpu/multi_sums.h"
#include "hist_multi_check.h"
#include "hist_tools.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum { STREAM = RW_STREAM_SYNTH + 130, SUMS_DOCS = 50021, POISON = 0xA5, FENCE = 64 };

struct sums_case {
    struct hist_run *run;
    struct hist_tally *tally;
    uint64_t turn;
    uint32_t *key, *list;
    int64_t *lambda, *weight;
    struct rw_sum *want, *got;
    struct hist_buffer d_key, d_list, d_lambda, d_weight, d_sum;
};

__attribute__((format(printf, 2, 3))) static void failed(struct sums_case *s, const char *format,
                                                         ...)
{
    va_list list;
    if (!hist_failed(s->run, s->tally))
        return;
    printf("sums by key");
    va_start(list, format);
    hist_failed_why(s->tally, format, list);
    va_end(list);
}

static int upload(struct sums_case *s, struct hist_buffer *buffer, const void *from, size_t bytes)
{
    if (hist_buffer_make(s->run, buffer, bytes) < 0)
        return -1;
    return rw_device_write(s->run->ctx, s->run->device, hist_buffer_at(buffer), from, bytes);
}

/* What stands right before and behind the sums is poison still. */
static int fenced(struct sums_case *s)
{
    unsigned char side[2][FENCE];
    unsigned char *const d = hist_buffer_at(&s->d_sum);
    if (rw_device_read(s->run->ctx, s->run->device, side[0], d - FENCE, FENCE) < 0 ||
        rw_device_read(s->run->ctx, s->run->device, side[1], d + s->d_sum.bytes, FENCE) < 0)
        return 0;
    for (int i = 0; i < FENCE; i++)
        if (side[0][i] != POISON || side[1][i] != POISON)
            return 0;
    return 1;
}

static int chosen(struct sums_case *s)
{
    const uint64_t hash = (s->run->seed + ++s->turn) * 0x9E3779B97F4A7C15u;
    return (hash >> 20) % s->run->every == 0;
}

static void make_sums(struct sums_case *s, uint32_t n_keys, int rows)
{
    for (uint64_t i = 0; i < SUMS_DOCS; i++) {
        const struct rw_philox r = rw_random4(s->run->seed, i, n_keys, STREAM);
        /* keys in rows, or anywhere; some are out of range */
        s->key[i] = rows == 0   ? r.word[0] % (n_keys + 1)
                    : rows == 1 ? (uint32_t)(i * n_keys / SUMS_DOCS)
                                : n_keys - 1;
        s->list[i] = (uint32_t)((i * 7919) % SUMS_DOCS); /* a prime: each document once */
        const uint64_t wide = (uint64_t)r.word[1] << 32 | r.word[2];
        s->lambda[i] = (int64_t)wide >> (r.word[3] % 50); /* either sign, many sizes */
        s->weight[i] = (int64_t)(wide >> 2);
    }
}

static void sums_call(struct sums_case *s, uint64_t n, uint32_t n_keys, int kind)
{
    struct rw_sums_call call;
    memset(&call, 0, sizeof(call));
    call.n = n;
    call.n_keys = n_keys;
    call.d_key = s->key;
    call.d_list = kind % 2 ? s->list : NULL;
    call.d_lambda = s->lambda;
    call.d_weight = kind / 2 ? s->weight : NULL;
    call.d_sum = s->want;
    rw_sums_by_key_serial(&call);
    call.d_key = hist_buffer_at(&s->d_key);
    call.d_list = call.d_list ? hist_buffer_at(&s->d_list) : NULL;
    call.d_lambda = hist_buffer_at(&s->d_lambda);
    call.d_weight = call.d_weight ? hist_buffer_at(&s->d_weight) : NULL;
    call.n_multiprocessors = s->run->device->n_multiprocessors;
    call.shared_bytes = s->run->device->shared_bytes;
    const size_t bytes = n_keys * sizeof(struct rw_sum);
    if (hist_buffer_make(s->run, &s->d_sum, bytes) < 0) {
        failed(s, "no memory: %s", rw_last_error(s->run->ctx));
        return;
    }
    call.d_sum = hist_buffer_at(&s->d_sum);
    if (rw_cuda_sums_by_key(&call, s->run->device->stream) != 0 ||
        rw_device_read(s->run->ctx, s->run->device, s->got, call.d_sum, bytes) < 0) {
        failed(s, "run: %s", rw_last_error(s->run->ctx));
        s->run->dead |= rw_device_wait(s->run->ctx, s->run->device) < 0;
    } else if (memcmp(s->got, s->want, bytes) != 0 || !fenced(s)) {
        failed(s, "%llu places, %u keys, kind %d differ, or fences", (unsigned long long)n, n_keys,
               kind);
    } else {
        s->tally->passed++;
    }
}

void hist_multi_sums(struct hist_run *run, struct hist_tally *tally)
{
    static const uint32_t keys[] = {1, 2, 31, 255, 1024, 3000, 40000};
    static const uint64_t sizes[] = {0, 1, 3, 511, 2049, SUMS_DOCS};
    enum { KINDS = 4, ROWS = 3 };
    struct sums_case s;
    memset(&s, 0, sizeof(s));
    s.run = run;
    s.tally = tally;
    s.key = hist_need(SUMS_DOCS, sizeof(*s.key));
    s.list = hist_need(SUMS_DOCS, sizeof(*s.list));
    s.lambda = hist_need(SUMS_DOCS, sizeof(*s.lambda));
    s.weight = hist_need(SUMS_DOCS, sizeof(*s.weight));
    s.want = hist_need(keys[LENGTH(keys) - 1], sizeof(*s.want));
    s.got = hist_need(keys[LENGTH(keys) - 1], sizeof(*s.got));
    for (int k = 0; k < LENGTH(keys) * ROWS && !run->dead; k++) {
        make_sums(&s, keys[k / ROWS], k % ROWS);
        if (upload(&s, &s.d_key, s.key, SUMS_DOCS * sizeof(*s.key)) < 0 ||
            upload(&s, &s.d_list, s.list, SUMS_DOCS * sizeof(*s.list)) < 0 ||
            upload(&s, &s.d_lambda, s.lambda, SUMS_DOCS * sizeof(*s.lambda)) < 0 ||
            upload(&s, &s.d_weight, s.weight, SUMS_DOCS * sizeof(*s.weight)) < 0) {
            failed(&s, "no memory: %s", rw_last_error(run->ctx));
            break;
        }
        for (int i = 0; i < LENGTH(sizes) * KINDS; i++)
            if (chosen(&s) && !run->dead)
                sums_call(&s, sizes[i / KINDS], keys[k / ROWS], i % KINDS);
    }
    rw_device_free(s.d_key.d);
    rw_device_free(s.d_list.d);
    rw_device_free(s.d_lambda.d);
    rw_device_free(s.d_weight.d);
    rw_device_free(s.d_sum.d);
    free(s.key);
    free(s.list);
    free(s.lambda);
    free(s.weight);
    free(s.want);
    free(s.got);
}
