#include <math.h>

#include "evaluate/calibrate.h"

/* Newton's method ends when neither of the two numbers moves by more than this share of 1 + itself,
 * when no part of the step lowers the loss, or after MOST_STEPS. */
#define STEP_ENDS  0x1p-30
#define LEAST_PART 0x1p-30
#define MOST_STEP  0x1p20 /* so that no sum overflows; z is at most 1, so this is far */
enum { MOST_STEPS = 100 };
static const double log_of_2 = 0.6931471805599453;

struct sums {
    rw_int128 loss, by_slope, by_offset;                /* the loss and its first derivatives */
    rw_int128 slope_slope, slope_offset, offset_offset; /* the second ones */
};

/* The loss of p = 1 / (1 + exp(-(slope z + offset))), z the score moved and scaled to [-1, 1]. */
struct fit {
    const struct rw_score_group *group; /* [n] */
    size_t n;
    double middle, half;          /* z = (score - middle) / half */
    double target_yes, target_no; /* of relevant documents, and of others */
    double slope, offset;
    struct sums sums; /* where they are */
};

/* log(1 + exp(x)). */
static double softplus(double x)
{
    const double size = fabs(x), most = 40.0; /* beyond, exp(-size) is no bit of the result */
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

/* One step. Returns 0 where it ends. */
static int step(struct fit *fit)
{
    const double ridge = 0x1p-40; /* so that the matrix can be inverted where p is 0 or 1 for all */
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
    /* each group's loss is rounded: a loss may be so much higher and yet not be worse */
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
