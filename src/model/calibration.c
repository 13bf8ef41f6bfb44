#include "model/calibration.h"

#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "base/fpenv.h"
#include "base/mem.h"

void rw_score_map_release(struct rw_score_map *map)
{
    rw_mem_free(map->score);
    rw_mem_free(map->probability);
    *map = (struct rw_score_map){0};
}

void rw_score_map_leave_out(struct rw_ctx *ctx, const struct rw_score_map *map)
{
    if (map->kind != RW_SCORE_MAP_NONE)
        rw_log(ctx, RW_LOG_NOTE,
               "the model's map of scores to probabilities is left out: the new model makes other "
               "scores");
}

int rw_score_map_copy(struct rw_ctx *ctx, const struct rw_score_map *from, struct rw_score_map *to)
{
    const size_t n = (size_t)from->n_knots;
    int status = RW_OK;
    *to = *from;
    to->score = to->probability = NULL;
    if (n == 0)
        return RW_OK;
    RW_TRY_OUT(RW_NEW_RAW(ctx, to->score, n));
    RW_TRY_OUT(RW_NEW_RAW(ctx, to->probability, n));
    memcpy(to->score, from->score, n * sizeof(*to->score));
    memcpy(to->probability, from->probability, n * sizeof(*to->probability));
out:
    if (status < 0)
        rw_score_map_release(to);
    return status;
}

/* ------------------------------------------------------------------ checks */

const char *rw_score_map_knot_fault(const struct rw_score_map *map, int32_t i)
{
    const double score = map->score[i], probability = map->probability[i];
    if (!(fabs(score) <= RW_KNOT_MOST))
        return "a score from -1e300 to 1e300";
    if (i > 0 && !(score > map->score[i - 1]))
        return "a score above that of the knot before";
    if (!(probability >= 0.0 && probability <= 1.0))
        return "a probability, 0 to 1";
    if (i > 0 && !(probability >= map->probability[i - 1]))
        return "a probability that is not below that of the knot before";
    return NULL;
}

int rw_score_map_check(struct rw_ctx *ctx, const struct rw_score_map *map)
{
    if (map->kind == RW_SCORE_MAP_NONE)
        return RW_OK;
    if (!(map->relevant >= 0.0 && map->relevant <= 1e9))
        return rw_fail(ctx, RW_ERR_FORMAT, "calibration for labels from %g on; expected 0 to 1e9",
                       map->relevant);
    if (map->kind == RW_SCORE_MAP_LOGISTIC) {
        if (!(map->slope >= 0.0) || !isfinite(map->slope) || !isfinite(map->intercept))
            return rw_fail(ctx, RW_ERR_FORMAT,
                           "calibration with slope %g and intercept %g; expected finite numbers, "
                           "and a slope that is not below 0",
                           map->slope, map->intercept);
        return RW_OK;
    }
    if (map->n_knots < 1)
        return rw_fail(ctx, RW_ERR_FORMAT, "calibration with %d knots; expected 1 or more",
                       map->n_knots);
    for (int32_t i = 0; i < map->n_knots; i++) {
        const char *expected = rw_score_map_knot_fault(map, i);
        if (expected)
            return rw_fail(ctx, RW_ERR_FORMAT, "knot %d of the calibration: expected %s", i + 1,
                           expected);
    }
    return RW_OK;
}

/* ------------------------------------------------------------------ values */

double rw_sigmoid(double x)
{
    const double most = 600.0; /* beyond, exp(-|x|) is nothing beside 1 */
    const double size = fabs(x);
    const double small = size < most ? rw_exp2(size * -1.4426950408889634) : 0.0;
    return (x < 0.0 ? small : 1.0) / (1.0 + small);
}

static double between_knots(const struct rw_score_map *map, double score)
{
    int32_t low = 0, high = map->n_knots; /* knots below `low` are at or below the score */
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (map->score[middle] <= score)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || low == map->n_knots)
        return map->probability[low == 0 ? 0 : low - 1];
    const double *x = map->score + low - 1, *y = map->probability + low - 1;
    const double value = y[0] + (y[1] - y[0]) * ((score - x[0]) / (x[1] - x[0]));
    return value < y[1] ? value : y[1];
}

double rw_score_map_of(const struct rw_score_map *map, double score)
{
    if (score != score || map->kind == RW_SCORE_MAP_NONE)
        return (double)NAN;
    if (map->kind == RW_SCORE_MAP_LOGISTIC) /* 0 x infinity is no number */
        return rw_sigmoid((map->slope > 0.0 ? map->slope * score : 0.0) + map->intercept);
    return between_knots(map, score);
}
