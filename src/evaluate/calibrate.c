/* Implements rw_model_calibrate: fits a map of scores to probabilities on all documents. To
 * estimate the error of such a map on new queries, it also fits one map per fold, without the
 * fold's queries, and measures it on them. A fold is every n_folds-th query. Documents of equal
 * score are pooled into groups before a fit. The second part of the file has the two kinds of fit,
 * isotonic and logistic. */
#include "evaluate/evaluate.h"

#include <stdlib.h>

enum { FOLDS = 5, BINS = 10, NO_FOLD = -1 };
static const double log_of_2 = 0.6931471805599453;
#define LEAST_PROBABILITY 0x1p-50 /* keeps the logarithm finite */

struct calibration {
    struct rw_ctx *ctx;     /* borrowed, as are all const pointers */
    struct rw_arena *arena; /* owns all arrays below */
    const struct rw_calibrate *how;
    const struct rw_dataset *dataset;
    double *score;                /* [n_docs] by document */
    struct rw_keyed *order;       /* [n_docs] documents by score, then input order */
    struct rw_score_group *group; /* [n_docs] scratch of group_documents */
    double *probability;          /* [n_docs] mapped scores */
    unsigned char *fold;          /* [n_docs] fold of the document's query */
    int n_folds; /* FOLDS, or the number of queries if it is smaller; 0: a single query, which
                    cannot be held out */
};

static double weight_of(const struct calibration *c, uint32_t doc)
{
    return c->dataset->weight ? c->dataset->weight[doc] : 1.0;
}

static int is_relevant(const struct calibration *c, uint32_t doc)
{
    return (double)c->dataset->label[doc] >= c->how->relevant;
}

/* ---- fitting ---- */

/* Pools the documents outside fold `without` by score into c->group, without those of weight 0.
 * Returns the number of groups. */
static size_t group_documents(struct calibration *c, int without)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->dataset->n_docs; i++) {
        const uint32_t doc = c->order[i].id;
        const rw_uint128 weight = (rw_uint128)rw_units(weight_of(c, doc));
        if (weight == 0 || (int)c->fold[doc] == without)
            continue;
        if (n == 0 || c->group[n - 1].score != c->order[i].key)
            c->group[n++] = (struct rw_score_group){.score = c->order[i].key};
        c->group[n - 1].weight += weight;
        c->group[n - 1].relevant += is_relevant(c, doc) ? weight : 0;
    }
    return n;
}

/* Fits a map on the documents outside fold `without` (NO_FOLD: on all documents). The map's kind
 * stays NONE if these documents have no weight. */
static int fit(struct calibration *c, int without, struct rw_score_map *map)
{
    *map = (struct rw_score_map){0};
    const size_t n = group_documents(c, without);
    if (n == 0)
        return RW_OK;
    if (strcmp(c->how->method, "isotonic") == 0)
        RW_TRY(rw_isotonic_fit(c->ctx, c->group, n, map));
    else
        rw_platt_fit(c->group, n, map);
    map->relevant = c->how->relevant;
    return RW_OK;
}

/* ---- measuring ---- */

/* Measures c->probability against the labels. The figures are NaN if a document has no probability
 * (NaN). */
static struct rw_calibration_figures measure(const struct calibration *c)
{
    rw_int128 weights = 0, log_loss = 0, brier = 0, off[BINS] = {0};
    struct rw_calibration_figures out = {(double)NAN, (double)NAN, (double)NAN};
    for (uint32_t doc = 0; doc < c->dataset->n_docs; doc++) {
        const double p = c->probability[doc], weight = weight_of(c, doc);
        const double truth = is_relevant(c, doc) ? 1.0 : 0.0;
        if (p != p)
            return out;
        const int bin = p < 1.0 ? (int)(p * BINS) : BINS - 1;
        weights += rw_units(weight);
        const double likely = fmax(truth > 0.0 ? p : 1.0 - p, LEAST_PROBABILITY);
        log_loss += rw_units(weight * (-rw_log2(likely) * log_of_2));
        brier += rw_units(weight * (p - truth) * (p - truth));
        off[bin] += rw_units(weight * (truth - p));
    }
    rw_int128 error = 0;
    for (int bin = 0; bin < BINS; bin++)
        error += off[bin] < 0 ? -off[bin] : off[bin];
    out.log_loss = rw_of_units(log_loss) / rw_of_units(weights);
    out.brier = rw_of_units(brier) / rw_of_units(weights);
    out.error = rw_of_units(error) / rw_of_units(weights);
    return out;
}

static int measure_all(struct calibration *c, const struct rw_score_map *map,
                       struct rw_calibrated *out)
{
    const uint32_t n_docs = c->dataset->n_docs;
    *out = (struct rw_calibrated){
        .n_docs = n_docs, .n_queries = c->dataset->n_queries, .n_folds = c->n_folds};
    for (uint32_t doc = 0; doc < n_docs; doc++) {
        out->n_relevant += (uint32_t)is_relevant(c, doc);
        c->probability[doc] = rw_sigmoid(c->score[doc]);
    }
    out->before = measure(c);
    for (uint32_t doc = 0; doc < n_docs; doc++)
        c->probability[doc] = rw_score_map_of(map, c->score[doc]);
    out->fitted = measure(c);
    out->held_out.log_loss = out->held_out.brier = out->held_out.error = (double)NAN;
    for (int fold = 0; fold < c->n_folds; fold++) { /* by maps that were fitted without the query */
        RW_RELEASED(rw_score_map_release) struct rw_score_map without = {0};
        RW_TRY(fit(c, fold, &without));
        for (uint32_t doc = 0; doc < n_docs; doc++)
            if ((int)c->fold[doc] == fold)
                c->probability[doc] = rw_score_map_of(&without, c->score[doc]);
    }
    if (c->n_folds > 0)
        out->held_out = measure(c);
    return RW_OK;
}

/* ---- the calibration ---- */

int rw_calibrate_check(struct rw_ctx *ctx, const struct rw_calibrate *how)
{
    const char *given = how->method ? how->method : "";
    if (strcmp(given, "isotonic") != 0 && strcmp(given, "logistic") != 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "method '%.100s'; expected isotonic or logistic",
                       given);
    if (!(how->relevant >= 0.0 && how->relevant <= 1e9))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "relevant is %g; expected 0 to 1e9", how->relevant);
    return RW_OK;
}

/* Fails unless there are both relevant and other documents with a weight above 0. */
static int check_labels(const struct calibration *c)
{
    uint32_t n[2] = {0, 0};
    for (uint32_t doc = 0; doc < c->dataset->n_docs; doc++)
        n[is_relevant(c, doc)] += rw_units(weight_of(c, doc)) > 0;
    if (n[0] > 0 && n[1] > 0)
        return RW_OK;
    return rw_fail(c->ctx, RW_ERR_DATA,
                   "%s of the data%s has a label of %g or more; calibration needs documents above "
                   "and below it\nhint: pass a different label by --relevant",
                   n[1] > 0 ? "each document" : "no document",
                   c->dataset->weight ? " with a weight above 0" : "", c->how->relevant);
}

static int prepare(struct calibration *c, const struct rw_model *model)
{
    const struct rw_dataset *dataset = c->dataset;
    const uint32_t n_docs = dataset->n_docs, n_queries = dataset->n_queries;
    RW_SCOPED(rw_scorer_free) struct rw_scorer *scorer = NULL;
    RW_TRY(check_labels(c));
    RW_TRY(RW_ARENA_NEW(c->ctx, c->arena, c->score, n_docs));
    RW_TRY(RW_ARENA_NEW(c->ctx, c->arena, c->order, n_docs));
    RW_TRY(RW_ARENA_NEW(c->ctx, c->arena, c->group, n_docs));
    RW_TRY(RW_ARENA_NEW(c->ctx, c->arena, c->probability, n_docs));
    RW_TRY(RW_ARENA_NEW(c->ctx, c->arena, c->fold, n_docs));
    RW_TRY(rw_scorer_open(c->ctx, model, 0, c->how->device ? c->how->device : "cpu", &scorer));
    RW_TRY(rw_scorer_run(c->ctx, scorer, dataset, c->score));
    c->n_folds = n_queries < 2 ? 0 : n_queries < FOLDS ? (int)n_queries : FOLDS;
    for (uint32_t q = 0; q < n_queries; q++)
        for (uint32_t doc = dataset->query_offset[q]; doc < dataset->query_offset[q + 1]; doc++)
            c->fold[doc] = (unsigned char)(q % FOLDS);
    for (uint32_t doc = 0; doc < n_docs; doc++)
        c->order[doc] = (struct rw_keyed){c->score[doc], doc};
    RW_SORT(c->order, n_docs, rw_by_key);
    return RW_OK;
}

static void warn_of_constant(const struct calibration *c, const struct rw_score_map *map)
{
    const int n = map->n_knots;
    if (map->kind == RW_SCORE_MAP_LOGISTIC ? map->slope == 0.0
                                           : map->probability[0] == map->probability[n - 1])
        rw_log(c->ctx, RW_LOG_WARNING,
               "the calibration is constant: a higher score does not make a label of at least %g "
               "more likely",
               c->how->relevant);
}

int rw_model_calibrate(struct rw_ctx *ctx, const struct rw_model *model,
                       const struct rw_dataset *dataset, const struct rw_calibrate *how,
                       struct rw_calibrated *figures, struct rw_model **out)
{
    RW_DEFAULT_FPENV;
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    struct calibration c = {.ctx = ctx, .arena = &arena, .how = how, .dataset = dataset};
    RW_RELEASED(rw_score_map_release) struct rw_score_map map = {0};
    *out = NULL;
    RW_TRY(rw_calibrate_check(ctx, how));
    RW_TRY(prepare(&c, model));
    RW_TRY(fit(&c, NO_FOLD, &map));
    if (figures)
        RW_TRY(measure_all(&c, &map, figures));
    warn_of_constant(&c, &map);
    RW_TRY(rw_model_copy(ctx, model, out));
    if ((*out)->map.kind != RW_SCORE_MAP_NONE)
        rw_log(ctx, RW_LOG_NOTE, "the model's calibration was replaced");
    rw_score_map_release(&(*out)->map);
    (*out)->map = map;
    map = (struct rw_score_map){0}; /* the copy owns it */
    return RW_OK;
}

/* A block of neighbouring groups, first to last, which share one probability. */
struct block {
    size_t first, last;
    rw_uint128 weight, relevant;
};

/* Compares the fractions a / b and c / d exactly: returns a number below, equal to or above 0. b
 * and d must be positive. Each turn compares the whole parts, and then the reciprocals of the
 * remainders. */
static int compare_fractions(rw_uint128 a, rw_uint128 b, rw_uint128 c, rw_uint128 d)
{
    for (;;) {
        const rw_uint128 whole_a = a / b, whole_c = c / d;
        if (whole_a != whole_c)
            return whole_a < whole_c ? -1 : 1;
        const rw_uint128 rest_a = a - whole_a * b, rest_c = c - whole_c * d;
        if (rest_a == 0 || rest_c == 0)
            return (rest_a != 0) - (rest_c != 0);
        a = d;
        c = b;
        b = rest_c;
        d = rest_a;
    }
}

/* Merges neighbouring groups into blocks until the share of relevant weight rises strictly from
 * block to block. Returns the number of blocks. block: room for n, written */
static size_t pool(const struct rw_score_group *group, size_t n, struct block *block)
{
    size_t n_blocks = 0;
    for (size_t i = 0; i < n; i++) {
        struct block last = {i, i, group[i].weight, group[i].relevant};
        while (n_blocks > 0 &&
               compare_fractions(block[n_blocks - 1].relevant, block[n_blocks - 1].weight,
                                 last.relevant, last.weight) >= 0) {
            n_blocks--;
            last.first = block[n_blocks].first;
            last.weight += block[n_blocks].weight;
            last.relevant += block[n_blocks].relevant;
        }
        block[n_blocks++] = last;
    }
    return n_blocks;
}

static void add_knot(struct rw_score_map *map, double score, double probability)
{
    map->score[map->n_knots] = score;
    map->probability[map->n_knots++] = probability;
}

int rw_isotonic_fit(struct rw_ctx *ctx, const struct rw_score_group *group, size_t n,
                    struct rw_score_map *out)
{
    RW_FREED struct block *block = NULL;
    RW_TRY(RW_NEW_RAW(ctx, block, n));
    const size_t n_blocks = pool(group, n, block);
    if (n_blocks > INT32_MAX / 2)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "%zu blocks of equal probability; expected at most %d", n_blocks,
                       INT32_MAX / 2);
    RW_TRY(RW_NEW_RAW(ctx, out->score, 2 * n_blocks));
    RW_TRY(RW_NEW_RAW(ctx, out->probability, 2 * n_blocks));
    out->kind = RW_SCORE_MAP_ISOTONIC;
    double probability = 0.0;
    for (size_t i = 0; i < n_blocks; i++) {
        const double share = (double)block[i].relevant / (double)block[i].weight;
        probability = share > probability ? share : probability; /* rounded shares may be equal */
        add_knot(out, group[block[i].first].score, probability);
        if (block[i].last > block[i].first)
            add_knot(out, group[block[i].last].score, probability);
    }
    return RW_OK;
}

/* Newton's method ends when both parameters move by less than STEP_ENDS (relative to 1 + their
 * size), when no part of the step lowers the loss, or after MOST_STEPS. */
#define STEP_ENDS  0x1p-30
#define LEAST_PART 0x1p-30
#define MOST_STEP  0x1p20 /* keeps sums from overflowing; far from any fit, as |z| <= 1 */
enum { MOST_STEPS = 100 };

struct sums {
    rw_int128 loss, by_slope, by_offset; /* the loss and its first derivatives, in units of 2^-40 */
    rw_int128 slope_slope, slope_offset, offset_offset; /* the second derivatives */
};

/* A logistic fit p = 1 / (1 + exp(-(slope z + offset))), where z is the score, moved and scaled to
 * [-1, 1]. */
struct fit {
    const struct rw_score_group *group; /* [n] */
    size_t n;
    double middle, half;          /* z = (score - middle) / half */
    double target_yes, target_no; /* targets of relevant and of other documents */
    double slope, offset;
    struct sums sums; /* at this slope and offset */
};

/* Returns log(1 + exp(x)). */
static double softplus(double x)
{
    const double size = fabs(x), most = 40.0; /* beyond, exp(-size) rounds away */
    const double small = size < most ? rw_log2(1.0 + rw_exp2(size * -1.4426950408889634)) : 0.0;
    return (x > 0.0 ? x : 0.0) + small * log_of_2;
}

static struct sums add_up(const struct fit *fit, double slope, double offset)
{
    struct sums sums = {0};
    for (size_t i = 0; i < fit->n; i++) {
        const struct rw_score_group *group = &fit->group[i];
        const double z = fit->half > 0.0 ? (group->score - fit->middle) / fit->half : 0.0;
        const double weight = rw_of_units((rw_int128)group->weight);
        const double yes = rw_of_units((rw_int128)group->relevant);
        const double target = yes * fit->target_yes + (weight - yes) * fit->target_no;
        const double x = slope * z + offset, p = rw_sigmoid(x);
        const double first = weight * p - target, second = weight * p * (1.0 - p);
        sums.loss += rw_units(weight * softplus(x) - target * x);
        sums.by_slope += rw_units(first * z);
        sums.by_offset += rw_units(first);
        sums.slope_slope += rw_units(second * z * z);
        sums.slope_offset += rw_units(second * z);
        sums.offset_offset += rw_units(second);
    }
    return sums;
}

/* Takes one step of Newton's method. Returns 0 if this was the last one: the fit has converged, or
 * no part of a step lowers the loss. */
static int step(struct fit *fit)
{
    const double ridge = 0x1p-40; /* keeps the matrix invertible if every p is 0 or 1 */
    const struct sums *sums = &fit->sums;
    const double g = rw_of_units(sums->by_slope), h = rw_of_units(sums->by_offset);
    const double a = rw_of_units(sums->slope_slope) + ridge, b = rw_of_units(sums->slope_offset);
    const double c = rw_of_units(sums->offset_offset) + ridge;
    const double determinant = a * c - b * b;
    double slope_step = (c * g - b * h) / determinant;
    double offset_step = (a * h - b * g) / determinant;
    const double longest = fmax(fabs(slope_step), fabs(offset_step));
    if (!(determinant > 0.0) || !isfinite(longest))
        return 0;
    /* Each group's loss is rounded, so a loss may exceed the last one by this without being
     * worse. */
    const rw_int128 most = sums->loss + (rw_int128)fit->n;
    struct sums next = fit->sums;
    slope_step *= longest > MOST_STEP ? MOST_STEP / longest : 1.0;
    offset_step *= longest > MOST_STEP ? MOST_STEP / longest : 1.0;
    double part = 1.0;
    for (; part >= LEAST_PART; part *= 0.5) {
        next = add_up(fit, fit->slope - part * slope_step, fit->offset - part * offset_step);
        if (next.loss <= most)
            break;
    }
    if (part < LEAST_PART)
        return 0;
    fit->slope -= part * slope_step;
    fit->offset -= part * offset_step;
    fit->sums = next;
    return fabs(part * slope_step) > STEP_ENDS * (1.0 + fabs(fit->slope)) ||
           fabs(part * offset_step) > STEP_ENDS * (1.0 + fabs(fit->offset));
}

static double logit(double p)
{
    return (rw_log2(p) - rw_log2(1.0 - p)) * log_of_2;
}

void rw_platt_fit(const struct rw_score_group *group, size_t n, struct rw_score_map *out)
{
    rw_uint128 all = 0, relevant = 0;
    for (size_t i = 0; i < n; i++) {
        all += group[i].weight;
        relevant += group[i].relevant;
    }
    const double weight = rw_of_units((rw_int128)all), yes = rw_of_units((rw_int128)relevant);
    const double no = rw_of_units((rw_int128)(all - relevant));
    struct fit fit = {.group = group,
                      .n = n,
                      .half = group[n - 1].score / 2.0 - group[0].score / 2.0,
                      .target_yes = (yes + 1.0) / (yes + 2.0),
                      .target_no = 1.0 / (no + 2.0)};
    const double mean = (yes * fit.target_yes + no * fit.target_no) / weight;
    fit.middle = group[0].score + fit.half;
    fit.offset = logit(mean); /* the best constant */
    fit.sums = add_up(&fit, 0.0, fit.offset);
    for (int i = 0; fit.half > 0.0 && i < MOST_STEPS && step(&fit); i++)
        ;
    const double slope = fit.half > 0.0 ? fit.slope / fit.half : 0.0;
    const double intercept = fit.offset - slope * fit.middle;
    const int rises = slope > 0.0 && isfinite(slope) && isfinite(intercept);
    out->kind = RW_SCORE_MAP_LOGISTIC;
    out->slope = rises ? slope : 0.0;
    out->intercept = rises ? intercept : logit(mean);
}
