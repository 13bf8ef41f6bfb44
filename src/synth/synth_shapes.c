/* The shapes of made data: which latents each feature sees, how sizes and labels are distributed.
 * Thresholds of labels are fixed numbers, found on 20,000 queries of seed 12345. To add a shape:
 * write its make function, give it a row in `shapes`, name it in rankwood.h and in test_synth.c. */
#include "synth/synth.h"

#include "base/exact.h"
#include "base/mem.h"
#include "base/rng.h"

enum { BODY, ANCHOR, TITLE, URL, WHOLE };
enum { NO_GATE, IF_ANY, IF_ALL, IF_VARIANCE };

/* phi(x) (x + x^3/3 + x^5/15 + ...) + 1/2. */
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

static double gate_of_zeros(double zero)
{
    return zero <= 0.0 ? -8.0 : rw_synth_normal_quantile(zero);
}

/* Room for noise: what the squares of the weights leave of 1, split so that `between` of the whole
 * lies between queries as far as the noise can see to it. */
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

/* ---------------------------------------------------------------- mslr30k: 25 statistics of 5
 * streams */

struct family {
    uint8_t kind, gate;
    float match, length, rarity; /* weights, of what lies within and between queries */
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
    {RW_SYNTH_VALUE, IF_ANY, 0.6f, -0.4f, -0.5f},     /* the same by length */
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

/* The features of no stream: 126 to 136. */
struct single {
    int8_t gate;
    uint8_t load[2];
    float weight[2];
};

static const struct single singles[11] = {
    {-1, {RW_LATENT_SPAM, RW_LATENT_FREE}, {0.6f, 0.3f}}, /* slashes in the url */
    {-1, {RW_LATENT_SPAM, RW_LATENT_FREE}, {0.7f, 0.2f}}, /* length of the url */
    {RW_LATENT_LINKS, {RW_LATENT_FREE + 1, RW_LATENT_QUALITY}, {0.4f, 0.3f}},   /* links in */
    {RW_LATENT_FREE + 2, {RW_LATENT_FREE + 1, RW_LATENT_LENGTH}, {0.4f, 0.3f}}, /* links out */
    {-1, {RW_LATENT_QUALITY, RW_LATENT_POPULAR}, {0.5f, 0.4f}},                 /* page rank */
    {-1, {RW_LATENT_QUALITY, RW_LATENT_POPULAR}, {0.4f, 0.3f}},                 /* site rank */
    {-1, {RW_LATENT_QUALITY, RW_LATENT_SPAM}, {-0.5f, 0.4f}},                   /* quality scores */
    {-1, {RW_LATENT_QUALITY, RW_LATENT_SPAM}, {-0.4f, 0.3f}},
    /* Clicks for this query: the gate knows the quality already. */
    {RW_LATENT_CLICK, {RW_LATENT_FREE + 1, RW_LATENT_SPAM}, {0.3f, -0.3f}},
    {RW_LATENT_LINKS, {RW_LATENT_CLICK, RW_LATENT_FREE + 1}, {0.4f, 0.3f}}, /* clicks, any */
    {RW_LATENT_LINKS, {RW_LATENT_CLICK, RW_LATENT_QUALITY}, {0.4f, 0.3f}}}; /* time spent */

static const double single_share = 0.17; /* queries of one term */

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
    /* Short streams tell what kind of query it is; long ones, how rare its terms are. */
    load(f, 2, stream == TITLE || stream == URL ? RW_LATENT_QUERY_INTENT : RW_LATENT_QUERY_RARITY,
         over * family->rarity);
    f->gate_from = gate_of_zeros(row->zero);
    if (family->kind == RW_SYNTH_VALUE && family->gate == NO_GATE && !long_stream) {
        /* A language model of a stream in which no term occurs knows the query only. */
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
    shape->size_knot[RW_SYNTH_KNOTS - 1] = 1700.0; /* the longest of 30,000 has 1,251 */
    for (int k = 0; k < RW_SYNTH_STREAMS; k++) {
        const double any = rw_synth_mslr_rows[20 + k].zero, all = rw_synth_mslr_rows[25 + k].zero;
        shape->any_from[k] = gate_of_zeros(any);
        /* Queries of one term open this gate as often as the other one. */
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

/* ---------------------------------------------------------------- letor: MQ2008's 46 features */

/* Stream and family of ids 1 to 46; no stream: -1. */
static void letor_loads(struct rw_synth_feature *f, int id)
{
    static const float match[] = {0.5f, 0, 0.5f, 0.05f}; /* tf, idf, tf idf, length */
    static const float length[] = {0.4f, 0, 0.3f, 0.9f};
    if (id <= 20) {
        const int family = (id - 1) / 5, stream = (id - 1) % 5;
        f->stream = (uint8_t)stream;
        load(f, 0, RW_LATENT_MATCH + stream, match[family]);
        load(f, 1, stream == BODY || stream == WHOLE ? RW_LATENT_LENGTH : RW_LATENT_FREE + 3,
             length[family]);
        if (stream != BODY && stream != WHOLE)
            f->gate = (int8_t)(RW_LATENT_ANY + stream);
    } else if (id <= 40) {
        const int stream = (id - 21) / 4;
        f->stream = (uint8_t)stream;
        load(f, 0, RW_LATENT_MATCH + stream, (id - 21) % 4 ? 0.7 : 0.85);
        load(f, 1, RW_LATENT_LENGTH, (id - 21) % 4 == 1 ? 0.3 : 0.1);
        if (stream != BODY && stream != WHOLE)
            f->gate = (int8_t)(RW_LATENT_ANY + stream);
    } else {
        const struct single *single = &singles[id == 41 ? 0 : id == 42 ? 1 : id - 39];
        for (int k = 0; k < 2; k++)
            load(f, k, single->load[k], single->weight[k]);
        f->gate = (int8_t)(RW_LATENT_FREE + 2);
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

/* ---------------------------------------------------------------- drawn shapes: yahoo and istella
 */

/* The i-th number in [0, 1) that describes a feature; belongs to the shape, not to a seed. */
static double draw(const struct rw_synth_shape *shape, int feature, uint32_t i)
{
    return (double)rw_random(0, (uint64_t)feature, i, shape->stream + 16) / 4294967296.0;
}

/* One feature in ten is of the query; of the others some see a stream's match, some the rest. */
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

/* A new feature with one of five shares of zeros, and a gate for them that features of one stream
 * share. Returns the share. */
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
    /* Zeros of a fifth of the features each, as it happens about half of all values. */
    static const double zeros[] = {0.0, 0.3, 0.7, 0.87, 0.98};
    drawn_streams(shape);
    for (int id = 1, left = 519; id <= 700; id++) { /* 519 of 700, each set equally likely */
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
        if (draw(shape, id, 11) < 0.06) { /* not known for some documents */
            f->unknown = RW_LATENT_FREE;
            f->unknown_from = gate_of_zeros(0.5 + 0.5 * draw(shape, id, 12));
        }
        /* Booleans, counts (some large), and real numbers. */
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

/* ---------------------------------------------------------------- by name */

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
