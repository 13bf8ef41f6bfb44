/* Generates synthetic data, query by query; synth.h describes the model. Tests pin the output byte
 * for byte, and all arithmetic here affects it: keep the order of operations. */
#include "synth/synth.h"

#include <errno.h>
#include <float.h>
#include <zlib.h>

#include "base/exact.h"
#include "base/rng.h"
#include "io/cache/cache.h"

/* The purpose of a random number: the third word of the generator's counter. */
enum purpose {
    FOR_SIZE = 0,
    FOR_LABEL = 1,
    FOR_COMMENT = 2,
    FOR_QUERY_LATENT = 16,
    FOR_LATENT = 64,
    FOR_FEATURE = 1024 /* + feature / 4 */
};

/* A query's documents are numbered from 0. OF_QUERY is the number of the query itself. */
enum { OF_QUERY = 0xfffff, DOC_BITS = 20, N_TERM_STEPS = 6 };

/* A query's number of terms, 1 to 7, is 1 plus the number of these thresholds that a standard
 * normal number reaches. */
static const double term_step[N_TERM_STEPS] = {-0.954, -0.050, 0.706, 1.227, 1.645, 2.054};

/* The properties of a query, and the latents of its current document. */
struct query_state {
    const struct rw_synth_shape *shape;
    uint64_t seed;
    uint32_t query;
    int n_terms;
    double latent[RW_N_LATENTS]; /* set by begin_query (the query's) and draw_latents */
    double any[RW_SYNTH_STREAMS], all[RW_SYNTH_STREAMS]; /* the query's part of the gates */
    float noise[RW_SYNTH_MAX_FEATURES]; /* [n_features] the query's part of each feature's noise */
};

static uint64_t item_of(uint32_t query, uint32_t doc)
{
    return ((uint64_t)query << DOC_BITS) | doc;
}

/* Draws a nearly standard normal number: the sum of eight halfwords (range +-4.9). */
static double normal(const struct query_state *s, uint32_t doc, uint32_t purpose)
{
    const struct rw_philox r =
        rw_random4(s->seed, item_of(s->query, doc), purpose, s->shape->stream);
    uint32_t sum = 0;
    for (int k = 0; k < 4; k++)
        sum += (r.word[k] >> 16) + (r.word[k] & 0xffff);
    return ((double)sum - 262140.0) / 53509.91;
}

/* Converts a random word to a nearly standard normal number: the scaled sum of its four bytes. This
 * is coarser and cheaper than `normal`. */
static float normal_of_word(uint32_t word)
{
    const uint32_t pairs = (word & 0x00ff00ffu) + ((word >> 8) & 0x00ff00ffu);
    const uint32_t sum = (pairs >> 16) + (pairs & 0xffff);
    return ((float)sum - 510.0f) / 147.8f;
}

/* Returns x / sqrt(1 + x^2), in (-1, 1). */
static double squash(double x)
{
    return x / sqrt(1.0 + x * x);
}

static double positive(double x)
{
    return x > 0.0 ? x : 0.0;
}

/* Returns the nearest integer, halves rounded up. |x| < 2^62. */
static double nearest(double x)
{
    const double y = x + 0.5;
    const double cut = (double)(int64_t)y;
    return cut > y ? cut - 1.0 : cut;
}

/* Interpolates linearly between the knots, which are at -3, -2, .., 4. */
static double interpolate(const double *knot, double z)
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
    const double size = nearest(interpolate(shape->size_knot, normal(&s, OF_QUERY, FOR_SIZE)));
    if (size < 1.0)
        return 1;
    return size > (double)shape->traits->max_docs ? shape->traits->max_docs : (uint32_t)size;
}

/* Returns the id of a query. Ids differ for seeds that differ modulo 100, so sets can be joined. */
static unsigned long long id_of(uint64_t seed, uint32_t query)
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

/* Draws the document's latents. The weights are chosen so that, with correlations counted, the
 * variance is 1. */
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
        if (k == RW_SYNTH_STREAMS - 1) { /* the whole document consists mostly of its body */
            match[k] = 0.85 * match[0] + 0.15 * relevance + 0.357071 * own;
            any[k] = 0.9 * any[0] + 0.435890 * normal(s, doc, purpose++);
        }
        all[k] = 0.7 * any[k] + 0.2 * relevance + 0.35 * s->all[k] +
                 0.513323 * normal(s, doc, purpose++);
        if (s->n_terms == 1) /* with one term, "any" and "all" are the same */
            all[k] = any[k] + (s->shape->all_from[k] - s->shape->any_from[k]);
    }
}

/* Draws the score that makes a document relevant. The formula is the same for every set of a shape.
 */
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

/* Returns the number of query terms that occur in a stream of the document. */
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

/* Rounds a value as f->decimals requires. */
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
    return rounded(s, f, interpolate(f->knot, z));
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

/* Scales each feature to [0, 1] within the query, as in LETOR 4.0; 0 if all values are equal. */
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

/* Makes a query's documents. label: [n_docs]; value: [n_docs][n_features]; both written. */
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

/* Calls `take` with each document of queries [begin, end), in order, until it returns a negative
 * status. Returns RW_OK or that status. */
static int docs_of(const struct rw_synth_shape *shape, uint64_t seed, uint32_t begin, uint32_t end,
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

/* ---- the shapes of synthetic data ----
 *
 * A shape defines which latents each feature sees, and the distributions of query sizes and labels.
 * Label thresholds are fixed numbers, found on 20,000 queries of seed 12345. To add a shape, write
 * its make function, give it a row in `shapes`, and name it in the messages of this file, in
 * rankwood.h, in the program's help and in test_synth.c. */
enum { BODY, ANCHOR, TITLE, URL, WHOLE };
/* The gate of a family: none; the stream's "any" or "all"; "any", and 0 for queries of one term. */
enum { NO_GATE, IF_ANY, IF_ALL, IF_VARIANCE };

/* Computes phi(x) (x + x^3/3 + x^5/15 + ...) + 1/2, where phi is the density. */
double rw_synth_normal_share(double x)
{
    double term = x, sum = x;
    for (int k = 3; k < 200; k += 2) {
        term = term * x * x / (double)k;
        sum = sum + term;
    }
    /* e^(-x^2/2) / sqrt(2 pi) */
    return 0.5 + sum * rw_exp2(x * x * -0.72134752044448171) * 0.39894228040143268;
}

double rw_synth_normal_quantile(double share)
{
    double low = -8.0, high = 8.0;
    for (int k = 0; k < 60; k++) {
        const double middle = (low + high) / 2.0;
        if (rw_synth_normal_share(middle) < share)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Returns the threshold of a gate that is closed for the fraction `zero` of all documents. */
static double gate_of_zeros(double zero)
{
    return zero <= 0.0 ? -8.0 : rw_synth_normal_quantile(zero);
}

/* Sets the weights of the feature's noise, so that the squares of all weights sum to 1. The noise
 * is divided between query and document such that the fraction `between` of the total variance is
 * between queries, as far as noise can achieve that. */
static void fill_noise(struct rw_synth_feature *f, double between)
{
    double query = 0.0, doc = 0.0;
    for (int k = 0; k < RW_SYNTH_LOADS; k++) {
        const double square = f->weight[k] * f->weight[k];
        if (f->load[k] >= RW_LATENT_QUERY_RARITY)
            query = query + square;
        else
            doc = doc + square;
    }
    const double left = 1.0 - query - doc;
    double noise = between - query;
    noise = noise < 0.0 ? 0.0 : noise > left ? left : noise;
    f->weight_query = sqrt(noise);
    f->weight_doc = sqrt(left - noise);
}

static struct rw_synth_feature *add_feature(struct rw_synth_shape *shape, int id)
{
    struct rw_synth_feature *f = &shape->feature[shape->n_features++];
    f->id = (uint16_t)id;
    f->gate = f->unknown = -1;
    return f;
}

static void load(struct rw_synth_feature *f, int k, int latent, double weight)
{
    f->load[k] = (uint8_t)latent;
    f->weight[k] = weight;
}

/* ---- mslr30k: 25 statistics of 5 streams ---- */

struct family {
    uint8_t kind, gate;
    float match, length, rarity; /* weights of latents: match and length in the variance within
                                    queries, rarity in that between queries */
};

static const struct family families[25] = {
    {RW_SYNTH_COVERED, NO_GATE, 0, 0, 0},
    {RW_SYNTH_RATIO, NO_GATE, 0, 0, 0},
    {RW_SYNTH_VALUE, IF_ANY, 0.05f, 0.95f, 0},        /* stream length */
    {RW_SYNTH_SAME, NO_GATE, 0, 0, 0.9f},             /* inverse document frequency */
    {RW_SYNTH_VALUE, IF_ANY, 0.5f, 0.5f, -0.5f},      /* term frequency: sum, */
    {RW_SYNTH_VALUE, IF_ALL, 0.5f, 0.4f, -0.5f},      /* min, */
    {RW_SYNTH_VALUE, IF_ANY, 0.45f, 0.5f, -0.5f},     /* max, */
    {RW_SYNTH_VALUE, IF_ANY, 0.55f, 0.45f, -0.5f},    /* mean, */
    {RW_SYNTH_VALUE, IF_VARIANCE, 0.2f, 0.5f, -0.5f}, /* variance */
    {RW_SYNTH_VALUE, IF_ANY, 0.6f, -0.4f, -0.5f},     /* the same five, divided by length */
    {RW_SYNTH_VALUE, IF_ALL, 0.55f, -0.3f, -0.5f},
    {RW_SYNTH_VALUE, IF_ANY, 0.55f, -0.45f, -0.5f},
    {RW_SYNTH_VALUE, IF_ANY, 0.6f, -0.4f, -0.5f},
    {RW_SYNTH_VALUE, IF_VARIANCE, 0.2f, -0.4f, -0.5f},
    {RW_SYNTH_VALUE, IF_ANY, 0.55f, 0.45f, 0.6f}, /* tf idf */
    {RW_SYNTH_VALUE, IF_ALL, 0.5f, 0.4f, 0.6f},
    {RW_SYNTH_VALUE, IF_ANY, 0.5f, 0.45f, 0.6f},
    {RW_SYNTH_VALUE, IF_ANY, 0.55f, 0.45f, 0.6f},
    {RW_SYNTH_VALUE, IF_VARIANCE, 0.2f, 0.4f, 0.5f},
    {RW_SYNTH_BOOLEAN, NO_GATE, 0, 0, 0},
    {RW_SYNTH_VALUE, IF_ANY, 0.6f, 0, -0.4f},      /* vector space */
    {RW_SYNTH_VALUE, IF_ANY, 0.85f, 0, 0.7f},      /* BM25 */
    {RW_SYNTH_VALUE, NO_GATE, 0.6f, -0.2f, -0.8f}, /* language models */
    {RW_SYNTH_VALUE, NO_GATE, 0.5f, 0.2f, -0.8f},
    {RW_SYNTH_VALUE, NO_GATE, 0.6f, -0.1f, -0.8f}};

/* The features without a stream: 126 to 136. */
struct single {
    int8_t gate;
    uint8_t load[2];
    float weight[2];
};

static const struct single singles[11] = {
    {-1, {RW_LATENT_SPAM, RW_LATENT_FREE}, {0.6f, 0.3f}}, /* slashes in the url */
    {-1, {RW_LATENT_SPAM, RW_LATENT_FREE}, {0.7f, 0.2f}}, /* length of the url */
    {RW_LATENT_LINKS, {RW_LATENT_FREE + 1, RW_LATENT_QUALITY}, {0.4f, 0.3f}},   /* inlinks */
    {RW_LATENT_FREE + 2, {RW_LATENT_FREE + 1, RW_LATENT_LENGTH}, {0.4f, 0.3f}}, /* outlinks */
    {-1, {RW_LATENT_QUALITY, RW_LATENT_POPULAR}, {0.5f, 0.4f}},                 /* page rank */
    {-1, {RW_LATENT_QUALITY, RW_LATENT_POPULAR}, {0.4f, 0.3f}},                 /* site rank */
    {-1, {RW_LATENT_QUALITY, RW_LATENT_SPAM}, {-0.5f, 0.4f}},                   /* quality scores */
    {-1, {RW_LATENT_QUALITY, RW_LATENT_SPAM}, {-0.4f, 0.3f}},
    /* clicks for this query: the gate already depends on quality */
    {RW_LATENT_CLICK, {RW_LATENT_FREE + 1, RW_LATENT_SPAM}, {0.3f, -0.3f}},
    {RW_LATENT_LINKS, {RW_LATENT_CLICK, RW_LATENT_FREE + 1}, {0.4f, 0.3f}}, /* clicks, any */
    {RW_LATENT_LINKS, {RW_LATENT_CLICK, RW_LATENT_QUALITY}, {0.4f, 0.3f}}}; /* time spent */

static const double single_share = 0.17; /* share of queries with one term */

static void mslr_stream_feature(struct rw_synth_feature *f, const struct family *family, int stream,
                                const struct rw_synth_mslr_row *row)
{
    const double within = sqrt(1.0 - row->between);
    const double over = sqrt((double)row->between);
    const int long_stream = stream == BODY || stream == WHOLE;
    f->kind = family->kind;
    f->stream = (uint8_t)stream;
    load(f, 0, RW_LATENT_MATCH + stream, within * family->match);
    load(f, 1, long_stream ? RW_LATENT_LENGTH : RW_LATENT_FREE + 3,
         within * (long_stream ? family->length : family->length * 0.7));
    /* short streams reflect the kind of query; long ones, how rare its terms are */
    load(f, 2, stream == TITLE || stream == URL ? RW_LATENT_QUERY_INTENT : RW_LATENT_QUERY_RARITY,
         over * family->rarity);
    f->gate_from = gate_of_zeros(row->zero);
    if (family->kind == RW_SYNTH_VALUE && family->gate == NO_GATE && !long_stream) {
        /* if no term occurs in a stream, its language model depends on the query only */
        f->gate = (int8_t)(RW_LATENT_ANY + stream);
        f->gate_from = gate_of_zeros(rw_synth_mslr_rows[20 + stream].zero);
        f->query_if_closed = 1;
    } else if (family->gate == IF_ANY && row->zero > 0)
        f->gate = (int8_t)(RW_LATENT_ANY + stream);
    else if (family->gate == IF_ALL)
        f->gate = (int8_t)(RW_LATENT_ALL + stream);
    else if (family->gate == IF_VARIANCE) {
        f->gate = (int8_t)(RW_LATENT_ANY + stream);
        f->zero_if_single = 1;
        f->gate_from = gate_of_zeros((row->zero - single_share) / (1.0 - single_share));
    }
}

static void make_mslr30k(struct rw_synth_shape *shape)
{
    shape->size_knot[RW_SYNTH_KNOTS - 1] = 1700.0; /* the longest of 30,000 queries has 1,251
                                                      documents */
    for (int k = 0; k < RW_SYNTH_STREAMS; k++) {
        const double any = rw_synth_mslr_rows[20 + k].zero, all = rw_synth_mslr_rows[25 + k].zero;
        shape->any_from[k] = gate_of_zeros(any);
        /* queries of one term open this gate as often as the "any" gate */
        shape->all_from[k] = gate_of_zeros((all - single_share * any) / (1.0 - single_share));
    }
    for (int i = 0; i < 136; i++) {
        const struct rw_synth_mslr_row *row = &rw_synth_mslr_rows[i];
        struct rw_synth_feature *f = add_feature(shape, i + 1);
        f->decimals = row->decimals;
        for (int k = 0; k < RW_SYNTH_KNOTS; k++)
            f->knot[k] = row->knot[k];
        if (i < 125) {
            mslr_stream_feature(f, &families[i / 5], i % 5, row);
            if (f->gate >= RW_LATENT_ALL && f->gate < RW_LATENT_ALL + RW_SYNTH_STREAMS)
                f->gate_from = shape->all_from[i % 5];
        } else {
            const double within = sqrt(1.0 - row->between);
            const struct single *single = &singles[i - 125];
            f->kind = RW_SYNTH_VALUE;
            f->gate = row->zero > 0 ? single->gate : -1;
            f->gate_from = gate_of_zeros(row->zero);
            for (int k = 0; k < 2; k++)
                load(f, k, single->load[k], within * single->weight[k]);
        }
        fill_noise(f, row->between);
    }
}

/* ---- letor: MQ2008's 46 features ---- */

/* Sets the latents, the stream and the gate of feature `id`, 1 to 46. Those from 41 on have no
 * stream. */
static void letor_loads(struct rw_synth_feature *f, int id)
{
    static const float match[] = {0.5f, 0, 0.5f, 0.05f}; /* tf, idf, tf idf, length */
    static const float length[] = {0.4f, 0, 0.3f, 0.9f};
    if (id > 40) {
        const struct single *single = &singles[id == 41 ? 0 : id == 42 ? 1 : id - 39];
        for (int k = 0; k < 2; k++)
            load(f, k, single->load[k], single->weight[k]);
        f->gate = (int8_t)(RW_LATENT_FREE + 2);
        return;
    }
    const int stream = id <= 20 ? (id - 1) % 5 : (id - 21) / 4;
    const int long_stream = stream == BODY || stream == WHOLE;
    f->stream = (uint8_t)stream;
    if (!long_stream)
        f->gate = (int8_t)(RW_LATENT_ANY + stream);
    if (id <= 20) {
        const int family = (id - 1) / 5;
        load(f, 0, RW_LATENT_MATCH + stream, match[family]);
        load(f, 1, long_stream ? RW_LATENT_LENGTH : RW_LATENT_FREE + 3, length[family]);
    } else {
        load(f, 0, RW_LATENT_MATCH + stream, (id - 21) % 4 ? 0.7 : 0.85);
        load(f, 1, RW_LATENT_LENGTH, (id - 21) % 4 == 1 ? 0.3 : 0.1);
    }
}

static void make_letor(struct rw_synth_shape *shape)
{
    static const double sizes[] = {5, 7, 8, 8, 25, 105, 118, 121};
    memcpy(shape->size_knot, sizes, sizeof(sizes));
    for (int k = 0; k < RW_SYNTH_STREAMS; k++) {
        shape->any_from[k] = gate_of_zeros(rw_synth_letor_rows[k].zero);
        shape->all_from[k] = shape->any_from[k] + 0.5;
    }
    for (int i = 0; i < 46; i++) {
        const struct rw_synth_letor_row *row = &rw_synth_letor_rows[i];
        struct rw_synth_feature *f = add_feature(shape, i + 1);
        f->kind = row->zero < 1 ? RW_SYNTH_VALUE : RW_SYNTH_ZERO;
        f->decimals = row->scale > 0 ? 0 : 6;
        letor_loads(f, i + 1);
        f->gate_from = gate_of_zeros(row->zero < 1 ? row->zero : 0.5);
        if (row->zero <= 0)
            f->gate = -1;
        const double scale = row->scale > 0 ? row->scale : row->bend < 0 ? -16.0 : 16.0;
        for (int k = 0; k < RW_SYNTH_KNOTS; k++)
            f->knot[k] = scale * rw_exp2((double)row->bend * (double)(k - 3));
        fill_noise(f, 0.0);
    }
}

/* ---- shapes with random features: yahoo and istella ---- */

/* Returns the i-th number in [0, 1) that describes a feature. It depends on the shape, not on a
 * seed. */
static double draw(const struct rw_synth_shape *shape, int feature, uint32_t i)
{
    return (double)rw_random(0, (uint64_t)feature, i, shape->stream + 16) / 4294967296.0;
}

/* Chooses latents. One feature in ten depends on the query only. Of the others, some see a stream's
 * match, and some see other latents. */
static void drawn_loads(const struct rw_synth_shape *shape, struct rw_synth_feature *f, int i)
{
    static const int other[] = {RW_LATENT_QUALITY, RW_LATENT_LENGTH, RW_LATENT_POPULAR,
                                RW_LATENT_SPAM,    RW_LATENT_CLICK,  RW_LATENT_LINKS};
    const double pick = draw(shape, i, 0), strength = draw(shape, i, 1);
    const int stream = (int)(draw(shape, i, 2) * RW_SYNTH_STREAMS);
    f->kind = RW_SYNTH_VALUE;
    f->stream = (uint8_t)stream;
    if (pick < 0.10) {
        f->kind = RW_SYNTH_SAME;
        load(f, 0, RW_LATENT_QUERY_RARITY + (int)(draw(shape, i, 3) * 3.0), 0.8 * strength);
        fill_noise(f, 1.0);
        return;
    }
    if (pick < 0.55) {
        load(f, 0, RW_LATENT_MATCH + stream, 0.15 + 0.75 * strength * strength * strength);
        load(f, 1, RW_LATENT_LENGTH, 0.2 * draw(shape, i, 3) - 0.1);
    } else {
        load(f, 0, other[(int)(draw(shape, i, 3) * 6.0)], 0.1 + 0.8 * strength * strength);
    }
    load(f, 2, RW_LATENT_FREE + (int)(draw(shape, i, 4) * 4.0), 0.3 * draw(shape, i, 5));
    load(f, 3, RW_LATENT_QUERY_RARITY, 0.3 * draw(shape, i, 6) - 0.15);
    fill_noise(f, 0.2 * draw(shape, i, 7));
}

/* Adds a feature with a share of zeros drawn from zeros: [5], and returns this share. The zeros
 * come from a gate of its stream or of a topic (RW_LATENT_FREE), which other features share. */
static double drawn_feature(struct rw_synth_shape *shape, int id, const double *zeros)
{
    struct rw_synth_feature *f = add_feature(shape, id);
    const double zero = zeros[(int)(draw(shape, id, 9) * 5.0)], pick = draw(shape, id, 8);
    drawn_loads(shape, f, id);
    if (zero > 0.0 && f->kind == RW_SYNTH_VALUE)
        f->gate = (int8_t)(pick < 0.4   ? RW_LATENT_ANY + f->stream
                           : pick < 0.7 ? RW_LATENT_ALL + f->stream
                                        : RW_LATENT_FREE + (int)((pick - 0.7) / 0.3 * 4.0));
    f->gate_from = gate_of_zeros(zero);
    return zero;
}

static void drawn_streams(struct rw_synth_shape *shape)
{
    for (int k = 0; k < RW_SYNTH_STREAMS; k++) {
        shape->any_from[k] = gate_of_zeros(rw_synth_mslr_rows[20 + k].zero);
        shape->all_from[k] = gate_of_zeros(rw_synth_mslr_rows[25 + k].zero);
    }
}

static void make_yahoo(struct rw_synth_shape *shape)
{
    /* shares of zeros, each for a fifth of the features; together about half of all values are zero
     */
    static const double zeros[] = {0.0, 0.3, 0.7, 0.87, 0.98};
    drawn_streams(shape);
    for (int id = 1, left = 519; id <= 700; id++) { /* 519 of 700, each subset equally likely */
        if (draw(shape, id, 20) * (double)(701 - id) >= (double)left)
            continue;
        left--;
        struct rw_synth_feature *f = &shape->feature[shape->n_features];
        drawn_feature(shape, id, zeros);
        f->decimals = draw(shape, id, 10) < 0.3 ? 2 : 5;
        for (int k = 0; k < RW_SYNTH_KNOTS; k++)
            f->knot[k] = rw_synth_normal_share((double)(k - 3));
        f->knot[RW_SYNTH_KNOTS - 1] = 1.0;
    }
}

static void make_istella(struct rw_synth_shape *shape)
{
    static const double zeros[] = {0.0, 0.1, 0.4, 0.7, 0.9};
    drawn_streams(shape);
    for (int id = 1; id <= 220; id++) {
        struct rw_synth_feature *f = &shape->feature[shape->n_features];
        const double zero = drawn_feature(shape, id, zeros);
        if (draw(shape, id, 11) < 0.06) { /* unknown for some documents */
            f->unknown = RW_LATENT_FREE;
            f->unknown_from = gate_of_zeros(0.5 + 0.5 * draw(shape, id, 12));
        }
        /* booleans, counts (some large), and real numbers */
        const double kind = draw(shape, id, 13), size = draw(shape, id, 14);
        f->decimals = kind < 0.6 ? 0 : 6;
        for (int k = 0; k < RW_SYNTH_KNOTS; k++) {
            if (kind < 0.1)
                f->knot[k] = k > 3 || zero > 0.0 ? 1.0 : 0.0;
            else if (kind < 0.6)
                f->knot[k] = rw_exp2(2.0 + 10.0 * size + (0.8 + size) * (double)(k - 3));
            else
                f->knot[k] = rw_exp2(6.0 * size - 3.0 + 0.8 * (double)(k - 3));
        }
    }
}

/* ---- shapes by name ---- */

static const struct rw_synth_traits shapes[] = {
    {"mslr30k", make_mslr30k, 0, 0, 1251, 100, 0.8, 1.8, 0.9, {-0.2303, 2.1838, 4.6176, 5.8408}},
    {"yahoo", make_yahoo, 1, 0, 139, 19.1, 0.88, 1.4, 1.1, {-1.7950, 0.4017, 2.7087, 4.5799}},
    {"istella", make_istella, 0, 0, 1000, 300, 0.45, 0.15, 0.3, {2.5867, 2.7982, 3.2871, 3.9088}},
    {"letor", make_letor, 0, 1, 121, 8, 0, 0.9, 1.4, {1.5123, 3.0634, INFINITY, INFINITY}},
};

int rw_synth_shape_new(struct rw_ctx *ctx, const char *name, struct rw_synth_shape **out)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (strcmp(name, shapes[i].name) != 0)
            continue;
        RW_TRY(RW_NEW(ctx, *out, 1));
        (*out)->traits = &shapes[i];
        (*out)->stream = RW_STREAM_SYNTH + (uint32_t)i;
        for (int k = 0; k < RW_SYNTH_KNOTS; k++)
            (*out)->size_knot[k] =
                shapes[i].median_docs * rw_exp2(shapes[i].spread * (double)(k - 3));
        shapes[i].make(*out);
        return RW_OK;
    }
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "shape: expected mslr30k, yahoo, istella or letor, found '%s'", name);
}

/* ---- generating queries in parallel ---- */

/* A part of the queries, generated by one thread: as lines of a data set, or as text. For a gzip
 * file, the text of each part is compressed as a separate gzip member. */
struct part {
    const struct made *made;
    uint32_t begin, end;      /* queries begin .. end - 1 */
    struct rw_builder *lines; /* NULL for text; borrowed */
    char *text;               /* owned */
    unsigned char *packed;    /* compressed text; owned */
    size_t text_room, text_bytes, packed_room, packed_bytes;
};

/* A set that is being generated. */
struct made {
    const struct rw_synth_shape *shape;
    uint64_t seed;
    int (*take)(void *part, const struct rw_synth_doc *doc); /* appends a document to a part */
    int gzip;                                                /* 1: compress the text */
    uint32_t n_parts;
    struct part *part;        /* [n_parts] owned */
    struct rw_builder *lines; /* [n_parts] for a data set; owned */
};

static int pack(struct part *part)
{
    enum { LEVEL = 6 };
    z_stream z = {0};
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return RW_ERR_MEMORY;
    const size_t bound = deflateBound(&z, (uLong)part->text_bytes);
    if (RW_GROW(NULL, part->packed, part->packed_room, bound) < 0) {
        deflateEnd(&z);
        return RW_ERR_MEMORY;
    }
    z.next_in = (Bytef *)part->text;
    z.avail_in = (uInt)part->text_bytes; /* 16 queries of 1,251 documents are under 4 GB */
    z.next_out = part->packed;
    z.avail_out = (uInt)bound;
    const int end = deflate(&z, Z_FINISH);
    part->packed_bytes = bound - z.avail_out;
    deflateEnd(&z);
    return end == Z_STREAM_END ? RW_OK : RW_ERR_INTERNAL;
}

static int make_some(void *user, struct rw_share *share)
{
    const struct made *made = user;
    for (uint64_t k, last; rw_share_next(share, &k, &last);) {
        struct part *part = &made->part[k];
        part->text_bytes = 0;
        RW_TRY(docs_of(made->shape, made->seed, part->begin, part->end, made->take, part));
        if (made->gzip)
            RW_TRY(pack(part));
    }
    return RW_OK;
}

/* Generates the next parts of queries_each queries, from *query up to n_queries, and moves *query
 * after them. Returns how many parts have queries, or a negative status. */
static int make_parts(struct rw_ctx *ctx, struct made *made, uint32_t queries_each, uint32_t *query,
                      uint32_t n_queries)
{
    uint32_t n = 0;
    for (; n < made->n_parts && *query < n_queries; n++) {
        const uint32_t left = n_queries - *query;
        made->part[n].made = made;
        made->part[n].lines = made->lines ? &made->lines[n] : NULL;
        made->part[n].begin = *query;
        *query += left < queries_each ? left : queries_each;
        made->part[n].end = *query;
    }
    const int status = rw_parallel(ctx, ctx->n_threads, n, 1, make_some, made);
    return status < 0 ? rw_fail_memory(ctx, status, "out of memory while making queries") : (int)n;
}

static void release_made(struct made *made)
{
    for (uint32_t k = 0; made->part && k < made->n_parts; k++) {
        rw_mem_free(made->part[k].text);
        rw_mem_free(made->part[k].packed);
    }
    for (uint32_t k = 0; made->lines && k < made->n_parts; k++)
        rw_builder_release(&made->lines[k]);
    rw_mem_free(made->part);
    rw_mem_free(made->lines);
}

/* ---- a data set ---- */

static int add_doc(void *user, const struct rw_synth_doc *doc)
{
    const struct part *part = user;
    const struct rw_synth_shape *shape = part->made->shape;
    uint16_t feature[RW_SYNTH_MAX_FEATURES];
    char id[24];
    size_t n = 0;
    if (doc->doc == 0) {
        snprintf(id, sizeof(id), "%llu", id_of(part->made->seed, doc->query));
        RW_TRY(rw_builder_query(NULL, part->lines, id, strlen(id)));
    }
    for (int f = 0; f < shape->n_features; f++) {
        if (shape->traits->sparse && doc->value[f] == 0.0f)
            continue;
        part->lines->n_clamped += doc->value[f] == FLT_MAX;
        feature[n] = shape->feature[f].id;
        doc->value[n++] = doc->value[f];
    }
    return rw_builder_doc(NULL, part->lines, doc->label, feature, doc->value, n, doc->comment,
                          strlen(doc->comment));
}

static int make_dataset(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                        const struct rw_synth_options *options, struct rw_dataset **out)
{
    enum { QUERIES = 64 };
    RW_RELEASED(release_made)
    struct made made = {.shape = shape,
                        .seed = options->seed,
                        .take = add_doc,
                        .n_parts = (options->n_queries + QUERIES - 1) / QUERIES};
    uint64_t n_docs = 0;
    uint32_t query = 0;
    for (uint32_t q = 0; q < options->n_queries; q++)
        n_docs += rw_synth_query_docs(shape, options->seed, q);
    if (n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u queries of shape '%s' are more than %u documents",
                       options->n_queries, shape->traits->name, RW_MAX_DOCS);
    RW_TRY(RW_NEW(ctx, made.part, made.n_parts));
    RW_TRY(RW_NEW(ctx, made.lines, made.n_parts));
    RW_TRY(make_parts(ctx, &made, QUERIES, &query, options->n_queries));
    return rw_builder_finish(ctx, made.lines, (int)made.n_parts, out);
}

/* ---- text ---- */

enum { NUMBER_BYTES = 32 }; /* ' ' id ':' value, with the room that rw_number_write needs */

static int write_line(void *user, const struct rw_synth_doc *doc)
{
    struct part *part = user;
    const struct rw_synth_shape *shape = part->made->shape;
    const size_t room = 64 + RW_SYNTH_COMMENT_BYTES + NUMBER_BYTES * (size_t)shape->n_features;
    RW_TRY(RW_GROW(NULL, part->text, part->text_room, part->text_bytes + room));
    char *to = part->text + part->text_bytes;
    to += snprintf(to, 64, "%d qid:%llu", (int)doc->label, id_of(part->made->seed, doc->query));
    for (int f = 0; f < shape->n_features; f++) {
        if (shape->traits->sparse && doc->value[f] == 0.0f)
            continue;
        *to++ = ' ';
        to += rw_number_write(shape->feature[f].id, to);
        *to++ = ':';
        if (doc->value[f] == FLT_MAX) /* as Istella writes an unknown value */
            to += snprintf(to, NUMBER_BYTES, "1.79769313486e+308");
        else
            to += rw_number_write(doc->value[f], to);
    }
    if (shape->traits->as_letor)
        to += snprintf(to, RW_SYNTH_COMMENT_BYTES + 2, " #%s", doc->comment);
    *to++ = '\n';
    part->text_bytes = (size_t)(to - part->text);
    return RW_OK;
}

/* Writes text in parts of a fixed number of queries, in order. The output does not depend on
 * threads, and memory does not grow with the set. */
static int write_text(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                      const struct rw_synth_options *options, const char *path, int gzip)
{
    enum { QUERIES = 16 };
    RW_RELEASED(release_made)
    struct made made = {.shape = shape,
                        .seed = options->seed,
                        .take = write_line,
                        .gzip = gzip,
                        .n_parts = 2 * (uint32_t)ctx->n_threads};
    RW_RELEASED(rw_out_file_abandon) struct rw_out_file file = {0};
    RW_TRY(rw_out_file_open(ctx, &file, path));
    RW_TRY(RW_NEW(ctx, made.part, made.n_parts));
    for (uint32_t q = 0; q < options->n_queries;) {
        const int n = make_parts(ctx, &made, QUERIES, &q, options->n_queries);
        RW_TRY(n);
        for (int k = 0; k < n; k++) {
            const struct part *part = &made.part[k];
            const size_t bytes = gzip ? part->packed_bytes : part->text_bytes;
            const void *from = gzip ? (const void *)part->packed : part->text;
            if (fwrite(from, 1, bytes, file.file) != bytes)
                return rw_fail_io(ctx, errno, "cannot write '%s'", path);
        }
    }
    return rw_out_file_commit(ctx, &file);
}

/* ---- entry points ---- */

static int ends_with(const char *path, const char *end)
{
    const size_t n = strlen(path), n_end = strlen(end);
    return n >= n_end && strcmp(path + n - n_end, end) == 0;
}

int rw_synth(struct rw_ctx *ctx, const struct rw_synth_options *options, const char *path,
             struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    RW_FREED struct rw_synth_shape *shape = NULL;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *dataset = NULL;
    RW_SCOPED(rw_bins_free) struct rw_bins *bins = NULL;
    if (!path)
        *out = NULL;
    if (!options || !options->shape)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "shape: expected mslr30k, yahoo, istella or letor");
    if (options->n_queries < 1 || options->n_queries > RW_SYNTH_MAX_QUERIES)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "queries: expected 1 to %d, found %u",
                       RW_SYNTH_MAX_QUERIES, options->n_queries);
    RW_TRY(rw_synth_shape_new(ctx, options->shape, &shape));
    if (!path)
        return make_dataset(ctx, shape, options, out);
    if (!ends_with(path, ".rwb"))
        return write_text(ctx, shape, options, path, ends_with(path, ".gz"));
    RW_TRY(make_dataset(ctx, shape, options, &dataset));
    RW_TRY(rw_bins_make_training(ctx, dataset, &rule, &bins));
    return rw_cache_write(ctx, dataset, bins, path);
}
