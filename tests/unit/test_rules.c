/* Thresholds split floats at the same place, whatever a consumer compares with. */
#include <float.h>

#include "convert_fixture.h"

static const float odd[] = {0.0f,  1e-45f, -1e-45f,     1e-38f, 1e-35f,  -1e-35f, 0.1f,
                            -0.1f, 0.5f,   1.0f,        -1.0f,  31.999f, 32.0f,   33.5f,
                            1e6f,  -1e6f,  16777216.0f, 1e30f,  -1e30f,  FLT_MAX, -FLT_MAX};
enum { N_ODD = sizeof(odd) / sizeof(odd[0]) };

/* Every value near the threshold, and odd ones, go where `value <= cut` sends them. */
static void assert_parts(const struct rw_rules *rules, const struct rw_ens_node *node, float cut,
                         const char *why)
{
    float x = cut;
    for (int i = 0; i < 4; i++)
        x = nextafterf(x, -INFINITY);
    for (int i = 0; i < 9; i++, x = nextafterf(x, INFINITY)) {
        if (!isfinite(x) || (rules->band_is_zero && fabsf(x) <= RW_ZERO_BAND))
            continue;
        cr_assert_eq(rw_rules_left(rules, node, x), x <= cut, "%s: %.9g at %.9g", why, (double)x,
                     (double)cut);
    }
    for (int i = 0; i < N_ODD; i++)
        if (!rules->band_is_zero || fabsf(odd[i]) > RW_ZERO_BAND)
            cr_assert_eq(rw_rules_left(rules, node, odd[i]), odd[i] <= cut, "%s", why);
}

static void assert_rules(const struct rw_rules *rules, float cut, const char *why)
{
    struct rw_ens_node node = {.left = 1, .right = 2, .less = (uint8_t)rules->less};
    float back;
    uint8_t missing_left;
    if (!rw_rules_threshold(rules, cut, &node.threshold)) {
        cr_assert(rules->slack > 0 || (rules->less && cut == FLT_MAX), "%s: no threshold for %.9g", why,
                  (double)cut);
        return;
    }
    assert_parts(rules, &node, cut, why);
    for (int nan = RW_NAN_FALSE; nan <= RW_NAN_RIGHT; nan++) {
        node.nan = (uint8_t)nan;
        cr_assert_null(rw_rules_cut(rules, &node, &back, &missing_left));
        if (!rules->band_is_zero || cut != -RW_ZERO_BAND)
            cr_assert_eq(rw_bits_of_float(back), rw_bits_of_float(cut), "%s", why);
        cr_assert_eq(missing_left, rw_rules_left(rules, &node, NAN), "%s", why);
    }
}

Test(rules, thresholds_of_every_consumer)
{
    const struct rw_model_format *format;
    for (int i = 0; (format = rw_model_format_at_index(i)) != NULL; i++) {
        for (const struct rw_consumer *c = format->consumer; c->name; c++) {
            if (c->rules.less != format->consumer[0].rules.less)
                continue; /* it does not shape the file */
            for (int k = 0; k < N_ODD; k++)
                assert_rules(&c->rules, odd[k], c->name);
            for (uint64_t k = 0; k < 2000; k++) {
                const float cut = rw_float_of_bits(rw_random(1, k, 0, 0));
                if (isfinite(cut) && cut != 0.0f)
                    assert_rules(&c->rules, cut, c->name);
            }
        }
    }
}

Test(rules, slack)
{
    const struct rw_rules rules = {
        .value = RW_F32, .threshold = RW_F32, .sum = RW_F32, .slack = 1e-6f, .nan = RW_NAN_ZERO};
    int found = 0;
    for (uint64_t k = 0; k < 2000; k++) {
        const float cut = ((float)fixture_below(3, k, 2000001) - 1e6f) * 1e-5f;
        double threshold;
        found += rw_rules_threshold(&rules, cut, &threshold);
        assert_rules(&rules, cut == 0.0f ? 0.0f : cut, "slack");
    }
    cr_assert_gt(found, 1500);
    double threshold;
    cr_assert_eq(rw_rules_threshold(&rules, 1e-20f, &threshold), 0);
}

Test(rules, doubles_between_floats)
{
    const struct rw_rules rules = {.value = RW_F64, .threshold = RW_F64, .nan_by_node = 1};
    struct rw_ens_node node = {.threshold = 0.1, .nan = RW_NAN_LEFT};
    float cut;
    uint8_t left;
    cr_assert_null(rw_rules_cut(&rules, &node, &cut, &left));
    cr_assert_lt((double)cut, 0.1);
    cr_assert_gt((double)nextafterf(cut, 1.0f), 0.1);
    assert_parts(&rules, &node, cut, "0.1");
    node.threshold = 1e300;
    cr_assert_null(rw_rules_cut(&rules, &node, &cut, &left));
    cr_assert_eq(cut, FLT_MAX);
    node.threshold = INFINITY;
    cr_assert_null(rw_rules_cut(&rules, &node, &cut, &left));
    cr_assert_eq(cut, FLT_MAX);
    node.threshold = -1e300;
    cr_assert_null(rw_rules_cut(&rules, &node, &cut, &left));
    cr_assert_eq(cut, -INFINITY);
    node.threshold = -(double)FLT_MAX;
    cr_assert_null(rw_rules_cut(&rules, &node, &cut, &left));
    cr_assert_eq(cut, -FLT_MAX);
    node.less = 1;
    cr_assert_null(rw_rules_cut(&rules, &node, &cut, &left));
    cr_assert_eq(cut, -INFINITY);
}

/* LightGBM's Zero: values within the band go the default way. */
Test(rules, zero_is_missing)
{
    const struct rw_rules rules = {.value = RW_F64, .threshold = RW_F64, .nan_by_node = 1};
    const float below = nextafterf(-1e-35f, -1.0f);
    const struct {
        double threshold;
        enum rw_nan nan;
        float cut; /* NaN: none */
    } cases[] = {
        {0.5, RW_NAN_ZERO_LEFT, 0.5f},     {0.5, RW_NAN_ZERO_RIGHT, NAN},
        {-0.5, RW_NAN_ZERO_LEFT, NAN},     {-0.5, RW_NAN_ZERO_RIGHT, -0.5f},
        {0.0, RW_NAN_ZERO_LEFT, 1e-35f},   {0.0, RW_NAN_ZERO_RIGHT, below},
        {1e-35, RW_NAN_ZERO_LEFT, 1e-35f}, {1e-36, RW_NAN_ZERO_RIGHT, below},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rw_ens_node node = {.threshold = cases[i].threshold,
                                         .nan = (uint8_t)cases[i].nan};
        float cut;
        uint8_t left;
        const char *why = rw_rules_cut(&rules, &node, &cut, &left);
        cr_assert_eq(why != NULL, isnan(cases[i].cut), "case %zu", i);
        if (why)
            continue;
        cr_assert_eq(cut, cases[i].cut, "case %zu", i);
        cr_assert_eq(left, cases[i].nan == RW_NAN_ZERO_LEFT);
        assert_parts(&rules, &node, cut, "zero");
        for (int k = 0; k < N_ODD; k++)
            cr_assert_eq(rw_rules_left(&rules, &node, odd[k]), odd[k] <= cut);
    }
}

Test(rules, in_words)
{
    char text[192];
    rw_rules_text(&convert_format("xgboost")->consumer[0].rules, text, sizeof(text));
    cr_assert_str_eq(text, "float value < float threshold goes left, each node directs "
                           "missing values, absent features are missing, sums in float");
}
