/* Made data, query by query; synth.h says how. All arithmetic here decides bytes that are pinned by
 * tests: keep the order of operations. */
#include "synth/synth.h"

#include <float.h>
#include <stdio.h>

#include "base/exact.h"
#include "base/fpenv.h"
#include "base/mem.h"
#include "base/rng.h"

/* What a random number is for: the third word of the generator's counter. */
enum purpose {
    FOR_SIZE = 0,
    FOR_LABEL = 1,
    FOR_COMMENT = 2,
    FOR_QUERY_LATENT = 16,
    FOR_LATENT = 64,
    FOR_FEATURE = 1024 /* + feature / 4 */
};

/* Documents of a query are numbered from 0; this one stands for the query itself. */
enum { OF_QUERY = 0xfffff, DOC_BITS = 20, N_TERM_STEPS = 6 };

/* Normal scores between queries of 1, 2, .., 7 terms. */
static const double term_step[N_TERM_STEPS] = {-0.954, -0.050, 0.706, 1.227, 1.645, 2.054};

/* What is fixed within a query. */
struct query_state {
    const struct rw_synth_shape *shape;
    uint64_t seed;
    uint32_t query;
    int n_terms;
    double latent[RW_N_LATENTS];                         /* those of the query are set */
    double any[RW_SYNTH_STREAMS], all[RW_SYNTH_STREAMS]; /* the query's part of the gates */
    float noise[RW_SYNTH_MAX_FEATURES];
};

static uint64_t item_of(uint32_t query, uint32_t doc)
{
    return ((uint64_t)query << DOC_BITS) | doc;
}

/* Standard normal, nearly: eight halfwords summed (range +-4.9). */
static double normal(const struct query_state *s, uint32_t doc, uint32_t purpose)
{
    const struct rw_philox r =
        rw_random4(s->seed, item_of(s->query, doc), purpose, s->shape->stream);
    uint32_t sum = 0;
    for (int k = 0; k < 4; k++)
        sum += (r.word[k] >> 16) + (r.word[k] & 0xffff);
    return ((double)sum - 262140.0) / 53509.91;
}

/* A rougher and cheaper one: the four bytes of a word summed. */
static float normal_of_word(uint32_t word)
{
    const uint32_t pairs = (word & 0x00ff00ffu) + ((word >> 8) & 0x00ff00ffu);
    const uint32_t sum = (pairs >> 16) + (pairs & 0xffff);
    return ((float)sum - 510.0f) / 147.8f;
}

/* x / sqrt(1 + x^2), in (-1, 1). */
static double squash(double x)
{
    return x / sqrt(1.0 + x * x);
}

static double positive(double x)
{
    return x > 0.0 ? x : 0.0;
}

/* The nearest whole number, halves up; |x| < 2^62. */
static double nearest(double x)
{
    const double y = x + 0.5;
    const double cut = (double)(int64_t)y;
    return cut > y ? cut - 1.0 : cut;
}

/* Linear between the knots, which stand at -3, -2, .., 4. */
static double bent(const double *knot, double z)
{
    if (z < -3.0)
        z = -3.0;
    if (z > 3.999)
        z = 3.999;
    const int k = (int)(z + 3.0);
    const double part = (z + 3.0) - (double)k;
    return knot[k] + part * (knot[k + 1] - knot[k]);
}

uint32_t rw_synth_query_docs(const struct rw_synth_shape *shape, uint64_t seed, uint32_t query)
{
    const struct query_state s = {.shape = shape, .seed = seed, .query = query};
    const double size = nearest(bent(shape->size_knot, normal(&s, OF_QUERY, FOR_SIZE)));
    if (size < 1.0)
        return 1;
    return size > (double)shape->traits->max_docs ? shape->traits->max_docs : (uint32_t)size;
}

uint64_t rw_synth_query_id(uint64_t seed, uint32_t query)
{
    return seed % 100 * RW_SYNTH_MAX_QUERIES + query + 1;
}

static void begin_query(struct query_state *s)
{
    const struct rw_synth_shape *shape = s->shape;
    uint32_t purpose = FOR_QUERY_LATENT;
    for (int k = RW_LATENT_QUERY_RARITY; k < RW_N_LATENTS; k++)
        s->latent[k] = normal(s, OF_QUERY, purpose++);
    for (int k = 0; k < RW_SYNTH_STREAMS; k++) {
        s->any[k] = normal(s, OF_QUERY, purpose++);
        s->all[k] = normal(s, OF_QUERY, purpose++);
    }
    const double terms = normal(s, OF_QUERY, purpose++);
    s->n_terms = 1;
    for (int k = 0; k < N_TERM_STEPS; k++)
        s->n_terms += terms >= term_step[k];
    for (int f = 0; f < shape->n_features; f += 4) {
        const struct rw_philox r = rw_random4(s->seed, item_of(s->query, OF_QUERY),
                                              FOR_FEATURE + (uint32_t)f / 4, shape->stream);
        for (int k = 0; k < 4 && f + k < shape->n_features; k++)
            s->noise[f + k] = normal_of_word(r.word[k]);
    }
}

/* The document's latents; weights' squares sum to 1 with the correlations counted. */
static void draw_latents(struct query_state *s, uint32_t doc)
{
    static const double sees[RW_SYNTH_STREAMS] = {0.50, 0.40, 0.60, 0.45, 0.0};
    double *latent = s->latent;
    uint32_t purpose = FOR_LATENT;
    for (int k = RW_LATENT_RELEVANCE; k < RW_LATENT_MATCH; k++)
        latent[k] = normal(s, doc, purpose++);
    const double relevance = latent[RW_LATENT_RELEVANCE];
    latent[RW_LATENT_POPULAR] =
        0.5 * latent[RW_LATENT_QUALITY] + 0.866025 * latent[RW_LATENT_POPULAR];
    latent[RW_LATENT_CLICK] =
        0.5 * relevance + 0.4 * latent[RW_LATENT_QUALITY] + 0.768115 * latent[RW_LATENT_CLICK];
    latent[RW_LATENT_LINKS] = 0.6 * latent[RW_LATENT_POPULAR] + 0.8 * latent[RW_LATENT_LINKS];
    for (int k = 0; k < RW_SYNTH_STREAMS; k++) {
        const double own = normal(s, doc, purpose++);
        double *match = latent + RW_LATENT_MATCH, *any = latent + RW_LATENT_ANY;
        double *all = latent + RW_LATENT_ALL;
        match[k] = sees[k] * relevance + sqrt(1.0 - sees[k] * sees[k]) * own;
        any[k] = 0.3 * relevance + 0.45 * s->any[k] + 0.841130 * normal(s, doc, purpose++);
        if (k == RW_SYNTH_STREAMS - 1) { /* the whole document is mostly its body */
            match[k] = 0.85 * match[0] + 0.15 * relevance + 0.357071 * own;
            any[k] = 0.9 * any[0] + 0.435890 * normal(s, doc, purpose++);
        }
        all[k] = 0.7 * any[k] + 0.2 * relevance + 0.35 * s->all[k] +
                 0.513323 * normal(s, doc, purpose++);
        if (s->n_terms == 1) /* any term is all terms */
            all[k] = any[k] + (s->shape->all_from[k] - s->shape->any_from[k]);
    }
}

/* What makes a document relevant, the same for every set of a shape. */
static double draw_score(const struct query_state *s, uint32_t doc)
{
    const struct rw_synth_shape *shape = s->shape;
    const double *latent = s->latent;
    const double *match = latent + RW_LATENT_MATCH;
    const double site = squash(latent[RW_LATENT_QUERY_INTENT]);
    const int in_title = latent[RW_LATENT_ALL + 2] >= shape->all_from[2];
    const double quality = squash(2.0 * latent[RW_LATENT_QUALITY]);
    double score = 0.4 * latent[RW_LATENT_RELEVANCE];
    score = score + 0.5 * (1.0 + site) * positive(match[2]);
    score = score + 0.5 * (1.0 - site) * squash(2.0 * match[0]);
    score = score + (in_title ? 0.5 : 0.0);
    score = score + (0.3 + 0.9 * site) * quality;
    score = score + 0.9 * squash(2.0 * match[2]) * quality;
    score = score - (latent[RW_LATENT_SPAM] > 0.8 ? 1.0 : 0.0);
    score = score + 0.5 * match[3] * positive(latent[RW_LATENT_POPULAR]);
    score = score - 0.5 * latent[RW_LATENT_LENGTH] * latent[RW_LATENT_LENGTH];
    score = score + shape->traits->density * latent[RW_LATENT_QUERY_DENSITY];
    return score + shape->traits->noise * normal(s, doc, FOR_LABEL);
}

static float label_of(const struct rw_synth_shape *shape, double score)
{
    int label = 0;
    while (label < RW_SYNTH_LABELS - 1 && score >= shape->traits->label_from[label])
        label++;
    return (float)label;
}

static double covered(const struct query_state *s, int stream)
{
    const double *latent = s->latent;
    if (latent[RW_LATENT_ANY + stream] < s->shape->any_from[stream])
        return 0.0;
    if (latent[RW_LATENT_ALL + stream] >= s->shape->all_from[stream])
        return (double)s->n_terms;
    double part = (latent[RW_LATENT_MATCH + stream] + 1.5) / 3.0;
    part = part < 0.0 ? 0.0 : part > 0.999 ? 0.999 : part;
    return 1.0 + (double)(int)(part * (double)(s->n_terms - 1));
}

static double rounded(const struct query_state *s, const struct rw_synth_feature *f, double x)
{
    static const double power[] = {1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    double scale = s->n_terms;
    if (f->decimals == RW_SYNTH_PER_TERM_2)
        scale = scale * scale;
    else if (f->decimals != RW_SYNTH_PER_TERM)
        scale = power[f->decimals];
    return nearest(x * scale) / scale;
}

static double draw_value(const struct query_state *s, const struct rw_synth_feature *f,
                         float query_noise, float doc_noise)
{
    const double *latent = s->latent;
    switch (f->kind) {
    case RW_SYNTH_ZERO:
        return 0.0;
    case RW_SYNTH_COVERED:
        return covered(s, f->stream);
    case RW_SYNTH_RATIO:
        return covered(s, f->stream) / (double)s->n_terms;
    case RW_SYNTH_BOOLEAN:
        return latent[RW_LATENT_ALL + f->stream] >= s->shape->all_from[f->stream] &&
               latent[RW_LATENT_ANY + f->stream] >= s->shape->any_from[f->stream];
    default:
        break;
    }
    if (f->zero_if_single && s->n_terms == 1)
        return 0.0;
    const int closed = f->gate >= 0 && latent[f->gate] < f->gate_from;
    if (closed && !f->query_if_closed)
        return 0.0;
    if (f->unknown >= 0 && latent[f->unknown] >= f->unknown_from)
        return (double)FLT_MAX;
    double z = f->weight_query * query_noise + (closed ? 0.0 : f->weight_doc * doc_noise);
    for (int k = 0; k < RW_SYNTH_LOADS; k++) {
        if (!closed || f->load[k] >= RW_LATENT_QUERY_RARITY)
            z = z + f->weight[k] * latent[f->load[k]];
    }
    return rounded(s, f, bent(f->knot, z));
}

static void draw_values(const struct query_state *s, uint32_t doc, float *value)
{
    const struct rw_synth_shape *shape = s->shape;
    for (int f = 0; f < shape->n_features; f += 4) {
        const struct rw_philox r = rw_random4(s->seed, item_of(s->query, doc),
                                              FOR_FEATURE + (uint32_t)f / 4, shape->stream);
        for (int k = 0; k < 4 && f + k < shape->n_features; k++) {
            const float x = (float)draw_value(s, &shape->feature[f + k], s->noise[f + k],
                                              normal_of_word(r.word[k]));
            value[f + k] = x == 0.0f ? 0.0f : x; /* no -0 */
        }
    }
}

/* Each feature of the query to [0, 1], as LETOR 4.0 has it; 0 where all values are equal. */
static void normalise(float *value, uint32_t n_docs, int n_features)
{
    for (int f = 0; f < n_features; f++) {
        float low = value[f], high = value[f];
        for (uint32_t i = 1; i < n_docs; i++) {
            const float x = value[(size_t)i * (size_t)n_features + (size_t)f];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        for (uint32_t i = 0; i < n_docs; i++) {
            float *x = value + (size_t)i * (size_t)n_features + (size_t)f;
            const double range = (double)high - (double)low;
            *x = high > low ? (float)(nearest(((double)*x - (double)low) / range * 1e6) / 1e6)
                            : 0.0f;
        }
    }
}

/* A query's documents. label: [n_docs]; value: [n_docs][n_features]; both written. */
static void make_query(const struct rw_synth_shape *shape, uint64_t seed, uint32_t query,
                       uint32_t n_docs, float *label, float *value)
{
    struct query_state s = {.shape = shape, .seed = seed, .query = query};
    begin_query(&s);
    for (uint32_t i = 0; i < n_docs; i++) {
        draw_latents(&s, i);
        label[i] = label_of(shape, draw_score(&s, i));
        draw_values(&s, i, value + (size_t)i * (size_t)shape->n_features);
    }
    if (shape->traits->as_letor)
        normalise(value, n_docs, shape->n_features);
}

static void write_comment(const struct rw_synth_shape *shape, uint64_t seed, uint32_t query,
                          uint32_t doc, char *comment)
{
    const struct rw_philox r = rw_random4(seed, item_of(query, doc), FOR_COMMENT, shape->stream);
    snprintf(comment, RW_SYNTH_COMMENT_BYTES, "docid = GX%03u-%02u-%07u inc = 1 prob = 0.%06u",
             r.word[0] % 273, r.word[1] % 100, r.word[2] % 10000000, r.word[3] % 1000000);
}

int rw_synth_docs(const struct rw_synth_shape *shape, uint64_t seed, uint32_t begin, uint32_t end,
                  int (*take)(void *user, const struct rw_synth_doc *doc), void *user)
{
    const size_t n_features = (size_t)shape->n_features;
    RW_FREED float *value = NULL, *label = NULL;
    RW_TRY(RW_NEW_RAW(NULL, value, shape->traits->max_docs * n_features));
    RW_TRY(RW_NEW_RAW(NULL, label, shape->traits->max_docs));
    for (uint32_t query = begin; query < end; query++) {
        const uint32_t n = rw_synth_query_docs(shape, seed, query);
        make_query(shape, seed, query, n, label, value);
        for (uint32_t i = 0; i < n; i++) {
            struct rw_synth_doc doc = {
                .query = query, .doc = i, .label = label[i], .value = value + i * n_features};
            if (shape->traits->as_letor)
                write_comment(shape, seed, query, i, doc.comment);
            RW_TRY(take(user, &doc));
        }
    }
    return RW_OK;
}

int rw_synth_check(struct rw_ctx *ctx, const struct rw_synth_options *options,
                   struct rw_synth_shape **out)
{
    *out = NULL;
    if (!options || !options->shape)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "shape: expected mslr30k, yahoo, istella or letor");
    if (options->n_queries < 1 || options->n_queries > RW_SYNTH_MAX_QUERIES)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "queries: expected 1 to %d, found %u",
                       RW_SYNTH_MAX_QUERIES, options->n_queries);
    return rw_synth_shape_new(ctx, options->shape, out);
}

/* Made queries put together as a data set. */
enum { QUERIES_A_PART = 64 };

struct made {
    const struct rw_synth_shape *shape;
    const struct rw_synth_options *options;
    struct rw_builder *part; /* [n_parts] owned */
};

struct part {
    const struct made *made;
    struct rw_builder *builder;
};

static int add_doc(void *user, const struct rw_synth_doc *doc)
{
    const struct part *part = user;
    const struct rw_synth_shape *shape = part->made->shape;
    uint16_t feature[RW_SYNTH_MAX_FEATURES];
    char id[24];
    size_t n = 0;
    if (doc->doc == 0) {
        const uint64_t seed = part->made->options->seed;
        snprintf(id, sizeof(id), "%llu", (unsigned long long)rw_synth_query_id(seed, doc->query));
        RW_TRY(rw_builder_query(NULL, part->builder, id, strlen(id)));
    }
    for (int f = 0; f < shape->n_features; f++) {
        if (shape->traits->sparse && doc->value[f] == 0.0f)
            continue;
        part->builder->n_clamped += doc->value[f] == FLT_MAX;
        feature[n] = shape->feature[f].id;
        doc->value[n++] = doc->value[f];
    }
    return rw_builder_doc(NULL, part->builder, doc->label, feature, doc->value, n, doc->comment,
                          strlen(doc->comment));
}

static int make_parts(void *user, struct rw_share *share)
{
    const struct made *made = user;
    const uint32_t n = made->options->n_queries;
    for (uint64_t k, last; rw_share_next(share, &k, &last);) {
        const uint32_t begin = (uint32_t)k * QUERIES_A_PART;
        const uint32_t end = n - begin < QUERIES_A_PART ? n : begin + QUERIES_A_PART;
        struct part part = {made, &made->part[k]};
        RW_TRY(rw_synth_docs(made->shape, made->options->seed, begin, end, add_doc, &part));
    }
    return RW_OK;
}

static int check_size(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                      const struct rw_synth_options *options)
{
    uint64_t n_docs = 0;
    for (uint32_t q = 0; q < options->n_queries; q++)
        n_docs += rw_synth_query_docs(shape, options->seed, q);
    if (n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u queries of shape '%s' are more than %u documents",
                       options->n_queries, shape->traits->name, RW_MAX_DOCS);
    return RW_OK;
}

int rw_synth(struct rw_ctx *ctx, const struct rw_synth_options *options, const char *path,
             struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    if (path)
        return rw_synth_write(ctx, options, path);
    struct rw_synth_shape *shape = NULL;
    struct made made = {.options = options};
    int status, n_parts = 0;
    *out = NULL;
    RW_TRY_OUT(rw_synth_check(ctx, options, &shape));
    RW_TRY_OUT(check_size(ctx, shape, options));
    made.shape = shape;
    n_parts = (int)((options->n_queries + QUERIES_A_PART - 1) / QUERIES_A_PART);
    RW_TRY_OUT(RW_NEW(ctx, made.part, (size_t)n_parts));
    status = rw_parallel(ctx, ctx->n_threads, (uint64_t)n_parts, 1, make_parts, &made);
    if (status < 0)
        rw_fail(ctx, status, "no memory for made queries");
    else
        status = rw_builder_finish(ctx, made.part, n_parts, out);
out:
    for (int part = 0; made.part && part < n_parts; part++)
        rw_builder_release(&made.part[part]);
    rw_mem_free(made.part);
    rw_mem_free(shape);
    return status;
}
