/* What a tree sees: queries, their documents, and features, drawn by number, so that it does not
 * matter who draws them. */
#include "base/rng.h"
#include "tree/engine_host.h"
#include "tree/ranks.h"

/* Documents under which a parallel region costs more than it gains. */
enum { PARALLEL_DOCS = 2048 };

/* The item with the lowest random number, the first of equals. */
struct drawn {
    uint32_t n_kept, lowest, lowest_random;
};

/* Items first, first + 1, ..., or item[i]. */
static struct drawn draw(uint8_t *kept, uint32_t n, uint32_t first, const uint32_t *item,
                         uint64_t threshold, uint64_t seed, uint32_t tree, uint32_t stream)
{
    struct drawn drawn = {0, 0, UINT32_MAX};
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t random = rw_random(seed, item ? item[i] : first + i, tree, stream);
        kept[i] = random < threshold;
        drawn.n_kept += kept[i];
        if (random < drawn.lowest_random) {
            drawn.lowest_random = random;
            drawn.lowest = i;
        }
    }
    return drawn;
}

void rw_host_draw(uint8_t *kept, uint32_t n, const uint32_t *item, uint64_t threshold,
                  uint64_t seed, uint32_t tree, uint32_t stream)
{
    const struct drawn drawn = draw(kept, n, 0, item, threshold, seed, tree, stream);
    if (n > 0 && drawn.n_kept == 0)
        kept[drawn.lowest] = 1;
}

int rw_host_draw_queries(struct rw_engine *engine, uint32_t tree, uint32_t n, uint8_t *kept)
{
    const struct rw_engine_rules *rules = &engine->rules;
    int keep;
    const struct drawn drawn = draw(kept, n, engine->first_query, NULL, rules->query_threshold,
                                    rules->seed, tree, RW_STREAM_SAMPLE_QUERY);
    RW_TRY(rw_ranks_keep_one(engine, drawn.n_kept, drawn.lowest_random,
                             engine->first_query + drawn.lowest, &keep));
    if (keep && n > 0)
        kept[drawn.lowest] = 1;
    return RW_OK;
}

struct doc_job {
    struct rw_host *host;
    struct drawn drawn; /* `lowest`: the document */
};

/* Of the documents of queries that are kept; the lowest of equals is the first. */
static int draw_some_docs(void *user, struct rw_share *share)
{
    struct doc_job *job = user;
    const struct rw_host *host = job->host;
    const struct rw_engine_rules *rules = &host->base.rules;
    struct drawn own = {0, UINT32_MAX, UINT32_MAX};
    struct rw_philox four = {{0, 0, 0, 0}}; /* of documents 4 drawn to 4 drawn + 3 */
    uint64_t drawn = UINT64_MAX;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++) {
            const uint64_t number = host->base.first_doc + doc; /* among all ranks' */
            if (!host->sampled[doc])
                continue;
            if (number / 4 != drawn) {
                drawn = number / 4;
                four = rw_random4(rules->seed, drawn, host->tree, RW_STREAM_SAMPLE_DOC);
            }
            const uint32_t random = four.word[number % 4];
            host->sampled[doc] = random < rules->doc_threshold;
            own.n_kept += host->sampled[doc];
            if (random < own.lowest_random || (random == own.lowest_random && doc < own.lowest)) {
                own.lowest_random = random;
                own.lowest = (uint32_t)doc;
            }
        }
    }
    rw_share_lock(share);
    struct drawn *all = &job->drawn;
    all->n_kept += own.n_kept;
    if (own.lowest_random < all->lowest_random ||
        (own.lowest_random == all->lowest_random && own.lowest < all->lowest)) {
        all->lowest_random = own.lowest_random;
        all->lowest = own.lowest;
    }
    rw_share_unlock(share);
    return RW_OK;
}

/* Lambdas are of whole queries, so which these are is kept. */
static int draw_docs(struct rw_host *host)
{
    struct doc_job job = {host, {0, UINT32_MAX, UINT32_MAX}};
    int keep;
    if (!host->query_sampled)
        return RW_OK;
    for (uint32_t q = 0; q < host->n_queries; q++)
        host->query_sampled[q] = host->sampled[host->query_offset[q]];
    rw_parallel(host->base.ctx, host->base.n_docs[0] >= PARALLEL_DOCS ? host->base.n_threads : 1,
                host->base.n_docs[0], 0, draw_some_docs, &job);
    const uint32_t lowest = job.drawn.lowest;
    RW_TRY(rw_ranks_keep_one(&host->base, job.drawn.n_kept, job.drawn.lowest_random,
                             lowest == UINT32_MAX ? lowest : host->base.first_doc + lowest, &keep));
    if (keep && lowest != UINT32_MAX)
        host->sampled[lowest] = 1;
    return RW_OK;
}

int rw_host_draw_samples(struct rw_host *host)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    rw_host_draw(host->feature_sampled, cuts->n_features, cuts->feature, rules->feature_threshold,
                 rules->seed, host->tree, RW_STREAM_SAMPLE_FEATURE);
    if (rules->query_threshold > UINT32_MAX) {
        memset(host->sampled, 1, host->base.n_docs[0]);
        return draw_docs(host);
    }
    /* drawn into the first bytes, then spread from the last query to the first: query q's first
     * document is at q or after it, so nothing is overwritten before it is read */
    uint8_t *kept = host->sampled;
    RW_TRY(rw_host_draw_queries(&host->base, host->tree, host->n_queries, kept));
    for (uint32_t q = host->n_queries; q-- > 0;) {
        const uint8_t keep = kept[q];
        const uint32_t first = host->query_offset[q];
        memset(host->sampled + first, keep, host->query_offset[q + 1] - first);
    }
    return draw_docs(host);
}
