/* The map of a model's scores to the probability that a document's label is at least so much. It is
 * fitted by evaluate/calibrate.c, and stands behind the trees in the model's file. */
#ifndef RW_MODEL_CALIBRATION_H
#define RW_MODEL_CALIBRATION_H

#include "base/ctx.h"

enum rw_score_map_kind { RW_SCORE_MAP_NONE, RW_SCORE_MAP_ISOTONIC, RW_SCORE_MAP_LOGISTIC };

/* A knot's score is at most so far from 0, so that no difference of two overflows. No model's
 * scores are further away. */
#define RW_KNOT_MOST 1e300

struct rw_score_map {
    enum rw_score_map_kind kind; /* NONE: the model has no map, and all else is 0 */
    double relevant;             /* labels from which a document counts */
    double slope, intercept;     /* LOGISTIC: 1 / (1 + exp(-(slope x score + intercept))) */
    /* ISOTONIC: straight lines between knots, constant beyond the ends; at least one */
    int32_t n_knots;
    double *score;       /* [n_knots] ascending strictly; owned */
    double *probability; /* [n_knots] never falling; owned */
};

void rw_score_map_release(struct rw_score_map *map);
/* Notes that a model made from the one with this map has none: its scores are others. */
void rw_score_map_leave_out(struct rw_ctx *ctx, const struct rw_score_map *map);
int rw_score_map_copy(struct rw_ctx *ctx, const struct rw_score_map *from, struct rw_score_map *to);

/* What was expected in place of knot i, whose neighbour before it is right; NULL: nothing else. */
const char *rw_score_map_knot_fault(const struct rw_score_map *map, int32_t i);
/* RW_ERR_FORMAT: it is no map that a file can hold. */
int rw_score_map_check(struct rw_ctx *ctx, const struct rw_score_map *map);

/* 1 / (1 + exp(-x)), from the project's own exponential: the same bits everywhere. */
double rw_sigmoid(double x);
/* The probability of a score. Isotonic maps never fall, not by a bit: each operation is monotone,
 * and so is its rounding. NaN without a map. */
double rw_score_map_of(const struct rw_score_map *map, double score);

#endif
