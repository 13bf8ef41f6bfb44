/* How another program scores a document: as data, so that one function lowers our trees to it, one
 * takes its trees in, and one checks both. */
#ifndef RW_CONVERT_RULES_H
#define RW_CONVERT_RULES_H

#include <stddef.h>
#include <stdint.h>

enum rw_width { RW_F32, RW_F64 };

/* Where NaN goes at a node. */
enum rw_nan {
    RW_NAN_FALSE, /* it is compared, which is false: right */
    RW_NAN_ZERO,  /* it is read as 0 */
    RW_NAN_LEFT,
    RW_NAN_RIGHT,
    RW_NAN_ZERO_LEFT, /* left, and so does a value within RW_ZERO_BAND of 0 (LightGBM's Zero) */
    RW_NAN_ZERO_RIGHT
};
#define RW_ZERO_BAND 1e-35f /* LightGBM's kZeroThreshold, a float there too */

/* What a feature is that a document does not mention. */
enum rw_absent_rule {
    RW_ABSENT_ZERO,
    RW_ABSENT_NAN,
    RW_ABSENT_AS_MODEL /* the caller hands over all values, and so decides: as in our model */
};

/* All zero: floats everywhere, `value <= threshold` left, NaN compared, absent is 0. */
struct rw_rules {
    enum rw_width value;     /* of a feature when it is compared; data are floats */
    enum rw_width threshold; /* as it is kept */
    enum rw_width sum;       /* leaves are added in, one tree after the other */
    int less;                /* 1: left when value < threshold; 0: <= */
    float slack;             /* > 0: the threshold is threshold + slack, in f32 */
    int nan_by_node;         /* 1: each node says where NaN goes; 0: `nan` does */
    enum rw_nan nan;         /* RW_NAN_FALSE or RW_NAN_ZERO */
    enum rw_absent_rule absent;
    int band_is_zero;      /* 1: a value within RW_ZERO_BAND of 0 is read as 0 (LightGBM's rows) */
    int listed_right;      /* 1: listed categories go right, 0: left */
    int missing_unlisted;  /* 1: missing goes where the categories go that are not listed */
    int unknown_missing;   /* 1: a word that the file does not have is missing */
    int lists_none;        /* 1: a split may list no category; 0: a threshold stands for it */
    int base_ignored;      /* 1: a base score in the file is not added */
    uint32_t first_column; /* the first id that a feature can have: 0 or 1 */
};

struct rw_ens_node;
/* Does a value (NaN: missing) go left at a split? */
int rw_rules_left(const struct rw_rules *rules, const struct rw_ens_node *node, float value);

/* The threshold of the consumer that splits values where `value <= cut` does; 0 if there is none,
 * and then the nearest. */
int rw_rules_threshold(const struct rw_rules *rules, float cut, double *threshold);

/* The largest float at or below (strictly: below) a number; -INFINITY if there is none. -0 is 0. */
float rw_float_below(double t, int strictly);

/* The threshold of ours that splits floats where a node of theirs does, and where NaN goes. NULL,
 * or what the node does that none of ours can do. */
const char *rw_rules_cut(const struct rw_rules *rules, const struct rw_ens_node *node, float *cut,
                         uint8_t *missing_left);

/* One line for people: "float32, value < threshold, ...". */
void rw_rules_text(const struct rw_rules *rules, char *text, size_t size);
#endif
