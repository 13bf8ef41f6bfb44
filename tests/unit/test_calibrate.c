/* Fitted maps: compared with the formula that defines an isotonic fit and with a logistic fit by
 * another method; their quality is compared with plain sums. */
#include <math.h>

#include "base/mem.h"
#include "evaluate/evaluate.h"
#include "model/model.h"
#include "train_fixture.h"

enum { QUERIES = 23, LENGTH = 9, DOCS = QUERIES * LENGTH };

static struct rw_ctx *ctx;
static struct rw_dataset *data;
static struct rw_model *model;
static struct rw_calibrate how = RW_CALIBRATE_DEFAULTS;
static double scores[DOCS];

static void begin(void)
{
    struct rw_params *params;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    struct rw_dataset *train = fixture_data(ctx, 3, 30, LENGTH, 5);
    data = fixture_data(ctx, 4, QUERIES, LENGTH, 5);
    cr_assert_eq(rw_params_set(ctx, params, "rounds", "6"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "leaves", "5"), RW_OK);
    cr_assert_eq(rw_train(ctx, params, train, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    rw_dataset_free(train);
    rw_params_free(params);
}

static void end(void)
{
    rw_model_free(model);
    rw_dataset_free(data);
    rw_ctx_free(ctx);
}

TestSuite(calibrate, .init = begin, .fini = end, .timeout = 60);

/* ------------------------------------------------------------------ isotonic */

/* Small whole weights of documents at scores 0, 1, ...: sums and their quotients are exact. */
struct point {
    int weight, relevant;
};

/* The definition: the greatest over j <= i of the least over k >= i of the mean of j to k
 * (Robertson, Wright and Dykstra, "Order restricted statistical inference", 1988, theorem 1.4.4).
 */
static double isotonic_at(const struct point *point, int n, int i)
{
    double greatest = -1;
    for (int j = 0; j <= i; j++) {
        double least = 2;
        int weight = 0, relevant = 0;
        for (int k = j; k < n; k++) {
            weight += point[k].weight;
            relevant += point[k].relevant;
            const double mean = (double)relevant / weight;
            least = k >= i && mean < least ? mean : least;
        }
        greatest = least > greatest ? least : greatest;
    }
    return greatest;
}

/* Such that a model's file can hold it. */
static void check_map(const struct rw_score_map *map)
{
    cr_assert(isfinite(map->slope) && map->slope >= 0 && isfinite(map->intercept));
    for (int i = 0; i < map->n_knots; i++) {
        cr_assert(isfinite(map->score[i]) && (i == 0 || map->score[i] > map->score[i - 1]));
        cr_assert(map->probability[i] >= (i ? map->probability[i - 1] : 0));
        cr_assert(map->probability[i] <= 1);
    }
}

static void check_points(const struct point *point, int n, double unit)
{
    struct rw_score_group group[64];
    struct rw_score_map map = {.relevant = 1};
    for (int i = 0; i < n; i++)
        group[i] =
            (struct rw_score_group){i * 0.75 - 3, (rw_uint128)rw_units(point[i].weight * unit),
                                    (rw_uint128)rw_units(point[i].relevant * unit)};
    cr_assert_eq(rw_isotonic_fit(ctx, group, (size_t)n, &map), RW_OK);
    check_map(&map);
    for (int i = 0; i < n; i++)
        cr_assert_eq(rw_score_map_of(&map, group[i].score), isotonic_at(point, n, i));
    rw_score_map_release(&map);
}

Test(calibrate, isotonic_by_its_definition)
{
    struct point point[40];
    for (uint32_t round = 0; round < 400; round++) {
        const int n = 1 + (int)(fixture_unit(1, round) * 39);
        for (int i = 0; i < n; i++) {
            const uint32_t item = round * 100 + (uint32_t)i;
            point[i].weight = 1 + (int)(fixture_unit(2, item) * (round % 3 ? 6 : 1));
            point[i].relevant = (int)(fixture_unit(3, item) * (point[i].weight + 1));
        }
        check_points(point, n, 1.0);
        check_points(point, n, 0x1p-40); /* the smallest that count */
        check_points(point, n, 0x1p43);  /* 8 million documents of the largest weight */
    }
}

/* Shares that are equal as doubles, or even in the opposite order: each block keeps its knots,
 * and the second one is not below the first. */
Test(calibrate, isotonic_compares_exactly)
{
    const rw_uint128 whole = (rw_uint128)1 << 90, half = whole / 2 + ((rw_uint128)1 << 36);
    const struct rw_score_group rises[2] = {{0, whole, half + 1}, {1, whole - 2, half}};
    const struct rw_score_group falls[2] = {{0, whole - 2, half}, {1, whole, half + 1}};
    struct rw_score_map map = {.relevant = 1};
    cr_assert_gt((double)(half + 1) / (double)whole, (double)half / (double)(whole - 2));
    cr_assert_eq(rw_isotonic_fit(ctx, rises, 2, &map), RW_OK);
    cr_assert(map.n_knots == 2 && map.probability[0] == 0.5 + 0x1p-53 &&
              map.probability[1] == map.probability[0]);
    rw_score_map_release(&map);
    cr_assert_eq(rw_isotonic_fit(ctx, falls, 2, &map), RW_OK); /* one block, with two ends */
    cr_assert(map.n_knots == 2 && map.probability[0] == map.probability[1]);
    rw_score_map_release(&map);
    const struct rw_score_group four[4] = {
        {0, whole, half + 1}, {1, whole, half + 1}, {2, whole - 2, half}, {3, whole - 2, half}};
    cr_assert_eq(rw_isotonic_fit(ctx, four, 4, &map), RW_OK); /* two blocks, not one */
    cr_assert_eq(map.n_knots, 4);
    rw_score_map_release(&map);
}

/* ------------------------------------------------------------------ logistic */

static double slope_of_loss(const struct rw_score_group *group, int n, double a, double b,
                            double yes, double no, int by_slope)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const double w = (double)group[i].weight * 0x1p-40, r = (double)group[i].relevant * 0x1p-40;
        const double target = r * (yes + 1) / (yes + 2) + (w - r) / (no + 2);
        const double p = 1 / (1 + exp(-(a * group[i].score + b)));
        sum += (w * p - target) * (by_slope ? group[i].score : 1);
    }
    return sum;
}

/* Both derivatives of Platt's loss are 0 there, and the loss is convex. By libm and plain sums. */
Test(calibrate, logistic_is_where_the_loss_is_least)
{
    for (uint32_t round = 0; round < 60; round++) {
        struct rw_score_group group[30];
        struct rw_score_map map = {.relevant = 1};
        const int n = 2 + (int)(fixture_unit(1, round) * 28);
        double at = round % 3 * 50.0, yes = 0, no = 0;
        for (int i = 0; i < n; i++) {
            const uint32_t item = round * 64 + (uint32_t)i;
            const int weight = 1 + (int)(fixture_unit(2, item) * 9);
            /* from 0 to all relevant; separable for some values of `round` */
            const double share =
                round % 4 == 0 ? i >= n / 2 : 0.2 + 0.6 * i / n + 0.2 * fixture_unit(3, item);
            const int relevant = (int)(weight * share + 0.5);
            group[i] = (struct rw_score_group){at, (rw_uint128)rw_units(weight),
                                               (rw_uint128)rw_units(relevant)};
            at += 0.01 + fixture_unit(4, item) * (round % 5 + 0.1);
            yes += relevant;
            no += weight - relevant;
        }
        rw_platt_fit(group, (size_t)n, &map);
        check_map(&map);
        const double largest = fabs(group[n - 1].score) + 1, most = 1e-8 * (yes + no);
        cr_assert(fabs(slope_of_loss(group, n, map.slope, map.intercept, yes, no, 0)) < most,
                  "round %u", round);
        if (map.slope > 0)
            cr_assert(fabs(slope_of_loss(group, n, map.slope, map.intercept, yes, no, 1)) <
                          most * largest,
                      "round %u", round);
        else
            cr_assert_gt(slope_of_loss(group, n, 0, map.intercept, yes, no, 1), -most * largest);
    }
}

/* Weights and distances of the most extreme sizes still give a map. */
Test(calibrate, logistic_of_extremes)
{
    const rw_uint128 most = (rw_uint128)1 << 86, least = 1;
    for (int k = 0; k < 64; k++) {
        struct rw_score_map map = {.relevant = 1};
        struct rw_score_group group[4];
        const double score[] = {-1e38, k & 1 ? 0 : 1e38, k & 1 ? 1e-30 : 1.5e38, 2e38};
        for (int i = 0; i < 4; i++) {
            const rw_uint128 weight = k >> (i + 1) & 1 ? most : least;
            group[i] = (struct rw_score_group){score[i], weight,
                                               i >= 2 || (k & 32 && i == 0) ? weight : 0};
        }
        rw_platt_fit(group, 4, &map);
        check_map(&map);
        cr_assert_leq(rw_score_map_of(&map, score[0]), rw_score_map_of(&map, score[3]));
    }
}

Test(calibrate, a_logistic_map_does_not_fall)
{
    const struct rw_score_group falls[2] = {{0, (rw_uint128)rw_units(8), (rw_uint128)rw_units(6)},
                                            {1, (rw_uint128)rw_units(8), (rw_uint128)rw_units(2)}};
    struct rw_score_map map = {.relevant = 1};
    rw_platt_fit(falls, 2, &map);
    cr_assert(map.slope == 0 && map.intercept == 0);
    rw_platt_fit(falls, 1, &map); /* one score: the mean of the targets, 7/8 x 6 + 1/4 x 2 of 8 */
    const double mean = (6 * 7 / 8.0 + 2 / 4.0) / 8;
    cr_assert(map.slope == 0);
    cr_assert_float_eq(map.intercept, log(mean / (1 - mean)), 1e-14);
}

/* ------------------------------------------------------------------ a model's */

static double plain_loss(const double *p, const double *weight)
{
    double sum = 0, all = 0;
    for (int d = 0; d < DOCS; d++) {
        const double q = data->label[d] >= how.relevant ? p[d] : 1 - p[d];
        sum += weight[d] * -log(q > 0x1p-50 ? q : 0x1p-50);
        all += weight[d];
    }
    return sum / all;
}

static double plain_brier(const double *p, const double *weight)
{
    double sum = 0, all = 0;
    for (int d = 0; d < DOCS; d++) {
        const double off = p[d] - (data->label[d] >= how.relevant);
        sum += weight[d] * off * off;
        all += weight[d];
    }
    return sum / all;
}

static double plain_error(const double *p, const double *weight)
{
    double sum = 0, all = 0;
    for (int bin = 0; bin < 10; bin++) {
        double of = 0, mean_p = 0, mean_y = 0;
        for (int d = 0; d < DOCS; d++) {
            if ((int)(p[d] * 10) == bin || (p[d] == 1 && bin == 9)) {
                of += weight[d];
                mean_p += weight[d] * p[d];
                mean_y += weight[d] * (data->label[d] >= how.relevant);
            }
        }
        all += of;
        if (of > 0)
            sum += of * fabs(mean_y / of - mean_p / of);
    }
    return sum / all;
}

static void check_figures(const struct rw_calibration_figures *figures, const double *p,
                          const double *weight)
{
    cr_assert_float_eq(figures->log_loss, plain_loss(p, weight), 1e-10);
    cr_assert_float_eq(figures->brier, plain_brier(p, weight), 1e-10);
    cr_assert_float_eq(figures->error, plain_error(p, weight), 1e-10);
}

static struct rw_model *calibrated(struct rw_calibrated *figures)
{
    struct rw_model *out;
    cr_assert_eq(rw_model_calibrate(ctx, model, data, &how, figures, &out), RW_OK, "%s",
                 rw_last_error(ctx));
    return out;
}

/* With weights, by either method: figures by plain sums, on all documents and on those held out,
 * whose maps are fitted here to data sets without their queries. */
static void figures_of(const char *method)
{
    double weight[DOCS], p[DOCS];
    struct rw_calibrated figures;
    how.method = method;
    for (uint32_t d = 0; d < DOCS; d++)
        weight[d] = d % 5 == 0 ? 0 : d % 5 == 1 ? 0.1 : d % 5;
    cr_assert_eq(rw_dataset_set_side_column(ctx, data, "weights", weight, DOCS, 1), RW_OK);
    struct rw_model *whole = calibrated(&figures);
    cr_assert(figures.n_docs == DOCS && figures.n_queries == QUERIES && figures.n_folds == 5);
    for (int d = 0; d < DOCS; d++)
        p[d] = 1 / (1 + exp(-scores[d]));
    check_figures(&figures.before, p, weight);
    cr_assert_eq(rw_model_probabilities(ctx, whole, scores, DOCS, p), RW_OK);
    check_figures(&figures.fitted, p, weight);
    cr_assert_lt(figures.fitted.log_loss, figures.before.log_loss);
    for (uint32_t fold = 0; fold < 5; fold++) {
        double others[DOCS], held[DOCS];
        for (uint32_t d = 0; d < DOCS; d++)
            others[d] = d / LENGTH % 5 == fold ? 0 : weight[d]; /* as if they were missing */
        cr_assert_eq(rw_dataset_set_side_column(ctx, data, "weights", others, DOCS, 1), RW_OK);
        struct rw_model *part = calibrated(NULL);
        cr_assert_eq(rw_model_probabilities(ctx, part, scores, DOCS, held), RW_OK);
        for (uint32_t d = 0; d < DOCS; d++)
            p[d] = d / LENGTH % 5 == fold ? held[d] : p[d];
        rw_model_free(part);
    }
    check_figures(&figures.held_out, p, weight);
    rw_model_free(whole);
}

Test(calibrate, figures_of_isotonic_maps)
{
    figures_of("isotonic");
}

Test(calibrate, figures_of_logistic_maps)
{
    how.relevant = 2;
    figures_of("logistic");
}

static size_t text_of(const struct rw_model *of, char **text)
{
    size_t n;
    cr_assert_eq(rw_model_write_memory(ctx, of, text, &n), RW_OK);
    return n;
}

static void same_models(const struct rw_model *a, const struct rw_model *b, int same)
{
    char *text_a, *text_b;
    const size_t n_a = text_of(a, &text_a), n_b = text_of(b, &text_b);
    cr_assert_eq(n_a == n_b && memcmp(text_a, text_b, n_a) == 0, same);
    rw_free(text_a);
    rw_free(text_b);
}

static int count_notes(void *user, enum rw_log_level level, const char *line)
{
    int *n = user;
    n[level] += strstr(line, level == RW_LOG_NOTE ? "replaced" : "constant") != NULL;
    return 0;
}

static void on_log(void *user, enum rw_log_level level, const char *line)
{
    count_notes(user, level, line);
}

/* A weight of 2 is a document twice; trees stay; a second map replaces the first. */
Test(calibrate, weights_threads_and_again)
{
    double weight[DOCS];
    int notes[3] = {0};
    how.method = "isotonic";
    for (uint32_t d = 0; d < DOCS; d++)
        weight[d] = 2;
    struct rw_model *plain = calibrated(NULL);
    cr_assert_eq(rw_dataset_set_side_column(ctx, data, "weights", weight, DOCS, 1), RW_OK);
    struct rw_model *doubled = calibrated(NULL);
    same_models(plain, doubled, 1);
    same_models(plain, model, 0);
    cr_assert_eq(rw_ctx_set_threads(ctx, 7), RW_OK);
    struct rw_model *threads = calibrated(NULL);
    same_models(plain, threads, 1);
    how.method = "logistic";
    struct rw_model *logistic = calibrated(NULL), *again;
    how.method = "isotonic";
    rw_ctx_set_log(ctx, on_log, notes);
    cr_assert_eq(rw_model_calibrate(ctx, logistic, data, &how, NULL, &again), RW_OK);
    same_models(plain, again, 1);
    cr_assert_eq(notes[RW_LOG_NOTE], 1);
    rw_model_free(plain);
    rw_model_free(doubled);
    rw_model_free(threads);
    rw_model_free(logistic);
    rw_model_free(again);
}

static void refused(int status, const char *expected)
{
    struct rw_model *out;
    cr_assert_eq(rw_model_calibrate(ctx, model, data, &how, NULL, &out), status);
    cr_assert_null(out);
    cr_assert_eq(strncmp(rw_last_error(ctx), expected, strlen(expected)), 0, "%s",
                 rw_last_error(ctx));
}

Test(calibrate, maps_that_cannot_be_fitted)
{
    double weight[DOCS];
    how.relevant = 4;
    refused(RW_ERR_DATA, "no document of the data has a label of 4 or more");
    how.relevant = 0;
    refused(RW_ERR_DATA, "each document of the data has a label of 0 or more");
    how.relevant = 3;
    for (uint32_t d = 0; d < DOCS; d++)
        weight[d] = data->label[d] < 3;
    cr_assert_eq(rw_dataset_set_side_column(ctx, data, "weights", weight, DOCS, 1), RW_OK);
    refused(RW_ERR_DATA, "no document of the data with a weight above 0 has a label of 3 or more");
    for (uint32_t d = 0; d < DOCS; d++)
        weight[d] = 0x1p-42; /* no unit */
    cr_assert_eq(rw_dataset_set_side_column(ctx, data, "weights", weight, DOCS, 1), RW_OK);
    refused(RW_ERR_DATA, "no document of the data with a weight above 0");
    how.relevant = NAN;
    refused(RW_ERR_ARGUMENT, "relevant is nan; expected 0 to 1e9");
    how.relevant = 1;
    how.method = "platt";
    refused(RW_ERR_ARGUMENT, "method 'platt'; expected isotonic or logistic");
    how.method = "isotonic";
    how.device = "gpu";
    cr_assert_eq(rw_dataset_set_side_column(ctx, data, "weights", NULL, 0, 1), RW_ERR_DATA);
    for (uint32_t d = 0; d < DOCS; d++)
        weight[d] = 1;
    cr_assert_eq(rw_dataset_set_side_column(ctx, data, "weights", weight, DOCS, 1), RW_OK);
    refused(RW_ERR_ARGUMENT, "");
}

/* Reversed labels: the map is constant, with a warning. */
Test(calibrate, a_constant_map_is_warned_of)
{
    int notes[3] = {0};
    double all[DOCS], mean = 0;
    for (uint32_t d = 0; d < DOCS; d++)
        mean += scores[d] / DOCS;
    for (uint32_t d = 0; d < DOCS; d++)
        data->label[d] = scores[d] < mean;
    rw_ctx_set_log(ctx, on_log, notes);
    how.relevant = 1;
    for (int m = 0; m < 2; m++) {
        how.method = m ? "logistic" : "isotonic";
        struct rw_model *out = calibrated(NULL);
        cr_assert_eq(notes[RW_LOG_WARNING], m + 1);
        cr_assert_eq(rw_model_probabilities(ctx, out, scores, DOCS, all), RW_OK);
        for (int d = 1; d < DOCS; d++)
            cr_assert_eq(all[d], all[0]);
        rw_model_free(out);
    }
}

/* A part of the queries in each fold; of one query there is nothing to hold out. */
Test(calibrate, few_queries)
{
    struct rw_calibrated figures;
    how = (struct rw_calibrate)RW_CALIBRATE_DEFAULTS;
    for (uint32_t n = 1; n <= 6; n++) {
        struct rw_dataset *few = fixture_data(ctx, 4, n, 40, 5);
        struct rw_model *out;
        cr_assert_eq(rw_model_calibrate(ctx, model, few, &how, &figures, &out), RW_OK, "%s",
                     rw_last_error(ctx));
        cr_assert_eq(figures.n_folds, n == 1 ? 0 : n < 5 ? (int)n : 5);
        cr_assert_eq(isnan(figures.held_out.log_loss) != 0, n == 1);
        cr_assert_eq(isnan(figures.held_out.error) != 0, n == 1);
        rw_model_free(out);
        rw_dataset_free(few);
    }
}

/* Each allocation fails in turn: an error, and no leaks. */
Test(calibrate, no_memory)
{
    struct rw_calibrated figures;
    struct rw_model *out;
    int status = RW_ERR_MEMORY;
    long n = 0;
    how = (struct rw_calibrate)RW_CALIBRATE_DEFAULTS;
    while (status != RW_OK) {
        rw_mem_fail_from(++n);
        status = rw_model_calibrate(ctx, model, data, &how, &figures, &out);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || (status == RW_ERR_MEMORY && !out), "allocation %ld", n);
    }
    cr_assert_gt(n, 20);
    rw_model_free(out);
}
