#include "convert/rules.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/search.h"
#include "convert/convert.h"

/* The threshold that values are really compared with. */
static double effective(const struct rw_rules *rules, double threshold)
{
    double t = rules->threshold == RW_F32 ? (double)(float)threshold : threshold;
    if (rules->slack > 0)
        t = (double)((float)t + rules->slack);
    return t;
}

/* A fraction is dropped, as LightGBM and XGBoost do; no data of ours have one here. */
static int is_listed(const struct rw_ens_node *node, double x)
{
    if (!(x >= 0 && x <= (double)UINT32_MAX))
        return 0;
    const uint32_t at = rw_numbers_under(node->listed, node->n_listed, (uint64_t)x);
    return at < node->n_listed && node->listed[at] == (uint32_t)x;
}

int rw_rules_left(const struct rw_rules *rules, const struct rw_ens_node *node, float value)
{
    const enum rw_nan nan = rules->nan_by_node ? (enum rw_nan)node->nan : rules->nan;
    const int is_zero_missing = nan == RW_NAN_ZERO_LEFT || nan == RW_NAN_ZERO_RIGHT;
    /* A float is the same number in double: the width of values only matters to a reader of data.
     */
    double x = (double)value;
    if (node->by_category && isnan(x))
        return rules->missing_unlisted ? rules->listed_right : node->nan == RW_NAN_LEFT;
    if (node->by_category)
        return is_listed(node, x) != rules->listed_right;
    const int in_band = fabs(x) <= (double)RW_ZERO_BAND;
    if ((rules->band_is_zero && in_band) || (nan == RW_NAN_ZERO && isnan(x)))
        x = 0;
    if ((isnan(x) && nan != RW_NAN_FALSE) || (is_zero_missing && in_band))
        return nan == RW_NAN_LEFT || nan == RW_NAN_ZERO_LEFT;
    const double t = effective(rules, node->threshold);
    return node->less ? x < t : x <= t;
}

int rw_rules_threshold(const struct rw_rules *rules, float cut, double *threshold)
{
    /* Values are floats, so the next float above the cut splits them in any width. */
    const float goal = rules->less ? nextafterf(cut, INFINITY) : cut;
    *threshold = (double)goal;
    if (!(rules->slack > 0))
        return isfinite(goal);
    /* The float that gives the goal when the slack is added to it is near their difference; where
     * the goal is smaller than the slack there may be none. */
    float near = goal - rules->slack;
    for (int i = 0; i < 4; i++)
        near = nextafterf(near, -INFINITY);
    for (int i = 0; i < 9; i++) {
        if (near + rules->slack == goal) {
            *threshold = (double)near;
            return isfinite(near);
        }
        near = nextafterf(near, INFINITY);
    }
    *threshold = (double)(goal - rules->slack);
    return 0;
}

float rw_float_below(double t, int strictly)
{
    float c = t > (double)FLT_MAX ? FLT_MAX : t < -(double)FLT_MAX ? -INFINITY : (float)t;
    if ((double)c > t || (strictly && (double)c == t))
        c = nextafterf(c, -INFINITY);
    return c == 0.0f ? 0.0f : c;
}

const char *rw_rules_cut(const struct rw_rules *rules, const struct rw_ens_node *node, float *cut,
                         uint8_t *missing_left)
{
    const enum rw_nan nan = rules->nan_by_node ? (enum rw_nan)node->nan : rules->nan;
    const float band = RW_ZERO_BAND, below_band = nextafterf(-RW_ZERO_BAND, -INFINITY);
    const double t = effective(rules, node->threshold);
    *cut = rw_float_below(t, node->less);
    *missing_left = nan == RW_NAN_LEFT || nan == RW_NAN_ZERO_LEFT;
    if (nan == RW_NAN_ZERO_LEFT) {
        if (*cut < below_band)
            return "sends 0 left, but smaller values right (zero_as_missing)";
        *cut = *cut < band ? band : *cut;
    } else if (nan == RW_NAN_ZERO_RIGHT) {
        if (*cut > band)
            return "sends 0 right, but larger values left (zero_as_missing)";
        *cut = *cut > below_band ? below_band : *cut;
    }
    /* LightGBM's own thresholds lie on the band's ends; one inside it parts nothing there, but may
     * be a cut of ours that comes back. */
    if (rules->band_is_zero && *cut == -band)
        *cut = below_band;
    if (!isfinite(*cut))
        return "has a threshold that no float is below";
    if (nan == RW_NAN_ZERO)
        *missing_left = 0.0f <= *cut;
    return NULL;
}

void rw_rules_text(const struct rw_rules *rules, char *text, size_t size)
{
    static const char *const width[] = {"float", "double"};
    static const char *const absent[] = {"absent is 0", "absent is missing",
                                         "absent is what the caller passes"};
    char slack[32] = "";
    if (rules->slack > 0)
        snprintf(slack, sizeof(slack), " + %g", (double)rules->slack);
    snprintf(text, size, "%s value %s %s threshold%s goes left, missing %s, %s, sums in %s",
             width[rules->value], rules->less ? "<" : "<=", width[rules->threshold], slack,
             rules->nan_by_node          ? "by node"
             : rules->nan == RW_NAN_ZERO ? "is 0"
                                         : "goes right",
             absent[rules->absent], width[rules->sum]);
}
