/* Maps of scores to probabilities: the value of a map for a score, and the commands that use it. */
#include <float.h>

#include "model_bodies.h"

static void setup(void)
{
    ctx = fixture_ctx();
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(calibration, .init = setup, .fini = teardown);

Test(calibration, lines_between_knots)
{
    double score[] = {-1, 0, 0.5, 4}, probability[] = {0.125, 0.25, 0.25, 0.75};
    const struct rw_score_map map = {.kind = RW_SCORE_MAP_ISOTONIC,
                                     .relevant = 1,
                                     .n_knots = 4,
                                     .score = score,
                                     .probability = probability};
    static const double pairs[][2] = {{-INFINITY, 0.125}, {-DBL_MAX, 0.125}, {-1, 0.125},
                                      {-0.5, 0.1875},     {-0.0, 0.25},      {0, 0.25},
                                      {0.25, 0.25},       {0.5, 0.25},       {2.25, 0.5},
                                      {4, 0.75},          {DBL_MAX, 0.75},   {INFINITY, 0.75}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        cr_assert_eq(rw_score_map_of(&map, pairs[i][0]), pairs[i][1], "%g", pairs[i][0]);
    cr_assert(isnan(rw_score_map_of(&map, NAN)));
    const struct rw_score_map one = {
        .kind = RW_SCORE_MAP_ISOTONIC, .n_knots = 1, .score = score, .probability = probability};
    cr_assert(rw_score_map_of(&one, -2) == 0.125 && rw_score_map_of(&one, -1) == 0.125 &&
              rw_score_map_of(&one, 3) == 0.125);
}

static double at_score(double x0, double y0, double x1, double y1, double score)
{
    double x[] = {x0, x1}, y[] = {y0, y1};
    const struct rw_score_map map = {
        .kind = RW_SCORE_MAP_ISOTONIC, .n_knots = 2, .score = x, .probability = y};
    return rw_score_map_of(&map, score);
}

/* Pairs of probabilities for which y0 + (y1 - y0) is below y1, and above. */
Test(calibration, a_knot_has_its_probability)
{
    const double low[] = {0x1.413a31b611068p-5, 0x1.d52abc2d0f39fp-1};
    const double high[] = {0x1.4d7c4e18c10f0p-6, 0x1.75b4f2bfa2cadp-1};
    cr_assert(low[0] + (low[1] - low[0]) < low[1] && high[0] + (high[1] - high[0]) > high[1]);
    cr_assert_eq(at_score(0, low[0], 1, low[1], 1), low[1]);
    cr_assert_eq(at_score(-1, high[0], 1e-20, high[1], 0), high[1]); /* 1 of the way, as rounded */
    cr_assert_eq(at_score(-1, high[0], 1e-20, high[1], 1e-20), high[1]);
}

/* Neighbouring doubles, about knots and between them: never below the one before, by no bit. */
Test(calibration, an_isotonic_map_never_falls)
{
    double score[8], probability[8];
    for (int round = 0; round < 200; round++) {
        double at = -1e3 * fixture_below(1, (uint64_t)round, 3), p = 0.0;
        for (int i = 0; i < 8; i++) {
            at += 1e-9 +
                  fixture_below(2, (uint64_t)(round * 8 + i), 1000) * (round % 2 ? 1e-3 : 1e-9);
            p += fixture_below(3, (uint64_t)(round * 8 + i), 1000) / 8000.0;
            score[i] = at;
            probability[i] = p;
        }
        const struct rw_score_map map = {.kind = RW_SCORE_MAP_ISOTONIC,
                                         .n_knots = 8,
                                         .score = score,
                                         .probability = probability};
        for (int i = 1; i < 8; i++) {
            double x = score[i] - 20 * DBL_EPSILON * fabs(score[i]), before = 0.0;
            for (int k = 0; k < 60; k++, x = nextafter(x, INFINITY)) {
                const double value = rw_score_map_of(&map, x);
                cr_assert_geq(value, before);
                cr_assert(value <= 1.0);
                before = value;
            }
            x = score[i - 1] + (score[i] - score[i - 1]) * 0.37;
            for (int k = 0; k < 60; k++, x = nextafter(x, INFINITY)) {
                const double value = rw_score_map_of(&map, x);
                cr_assert(k == 0 || value >= before);
                before = value;
            }
            cr_assert_eq(rw_score_map_of(&map, score[i]), probability[i]);
        }
    }
}

Test(calibration, a_logistic_map)
{
    const struct rw_score_map map = {
        .kind = RW_SCORE_MAP_LOGISTIC, .relevant = 1, .slope = 2.5, .intercept = -1};
    for (int i = -4000; i <= 4000; i++) {
        const double score = i / 97.0, x = 2.5 * score - 1, expected = 1.0 / (1.0 + exp(-x));
        cr_assert_float_eq(rw_score_map_of(&map, score), expected,
                           1e-15 * (4 + fabs(x)) * expected);
    }
    cr_assert(rw_score_map_of(&map, -1e300) == 0.0 && rw_score_map_of(&map, 1e300) == 1.0);
    cr_assert(rw_score_map_of(&map, INFINITY) == 1.0 && rw_sigmoid(0.0) == 0.5);
    const struct rw_score_map flat = {.kind = RW_SCORE_MAP_LOGISTIC, .intercept = 0};
    cr_assert(rw_score_map_of(&flat, INFINITY) == 0.5 && rw_score_map_of(&flat, -1e300) == 0.5);
}

/* A model, and the scorer made of it, before and after the model is freed. */
Test(calibration, models_and_scorers)
{
    struct rw_model *model = fixture_model(ctx, isotonic_body), *plain = fixture_model(ctx, body);
    struct rw_scorer *all, *none;
    double scores[] = {-1, 0.25, -0.125, 3}, out[4];
    cr_assert_eq(rw_model_probabilities(ctx, model, scores, 4, out), RW_OK);
    cr_assert(out[0] == 0 && out[1] == 0.125 && out[2] == 0.0625 && out[3] == 0.125);
    cr_assert_eq(rw_model_probabilities(ctx, plain, scores, 4, scores), RW_ERR_DATA);
    cr_assert_eq(strncmp(rw_last_error(ctx), "the model has no calibration", 28), 0);
    cr_assert_eq(scores[0], -1.0);
    cr_assert_eq(rw_scorer_new(ctx, model, 0, &all), RW_OK);
    cr_assert_eq(rw_scorer_new(ctx, plain, 0, &none), RW_OK);
    cr_assert_eq(rw_model_probabilities(ctx, model, scores, 4, scores), RW_OK); /* in place */
    cr_assert_eq(scores[2], 0.0625);
    rw_model_free(model);
    cr_assert_eq(rw_scorer_probability(all, -0.125), 0.0625);
    cr_assert(isnan(rw_scorer_probability(none, -0.125)));
    rw_scorer_free(all);
    rw_scorer_free(none);
    rw_model_free(plain);
}

/* Fewer trees make other scores. */
Test(calibration, a_scorer_of_fewer_trees_has_no_map)
{
    struct rw_model *model = fixture_random_model(ctx, 3, 4, 2, 5);
    struct rw_scorer *two, *three;
    model->map = (struct rw_score_map){.kind = RW_SCORE_MAP_LOGISTIC, .slope = 1};
    cr_assert_eq(rw_scorer_new(ctx, model, 2, &two), RW_OK);
    cr_assert_eq(rw_scorer_new(ctx, model, 3, &three), RW_OK);
    cr_assert(isnan(rw_scorer_probability(two, 0)) && rw_scorer_probability(three, 0) == 0.5);
    rw_scorer_free(two);
    rw_scorer_free(three);
    rw_model_free(model);
}
