#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metric/metric.h"

static struct rw_ctx *ctx;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

Test(metric, table, .init = setup, .fini = teardown)
{
    static const struct {
        const char *name;
        int at;
    } rows[] = {
#define RW_METRIC(metric, where, cutoff, ...) {#metric, cutoff},
#include "metric/metrics.def"
#undef RW_METRIC
    };
    static const char *const behind[] = {[RW_AT_NONE] = "",
                                         [RW_AT_OPTIONAL] = "",
                                         [RW_AT_REQUIRED] = "@5",
                                         [RW_AT_PERSISTENCE] = ":0.5"};
    const size_t n = sizeof(rows) / sizeof(rows[0]);
    for (size_t i = 0; i < n; i++) {
        struct rw_metric metric;
        char text[32];
        cr_assert_leq(strlen(rows[i].name), 16u);
        snprintf(text, sizeof(text), "%s%s", rows[i].name, behind[rows[i].at]);
        cr_assert_eq(rw_metric_parse(ctx, text, 1, &metric), RW_OK, "%s", text);
        cr_assert_str_eq(metric.kind->name, rows[i].name); /* no name is another's */
        cr_assert_not_null(metric.kind->query);
        cr_assert_not_null(metric.kind->help);
    }
    cr_assert_geq(n, 10u);
}

Test(metric, names, .init = setup, .fini = teardown)
{
    const struct {
        const char *text, *name, *kind;
        uint32_t at;
        double persistence;
    } cases[] = {
        {"ndcg", "ndcg", "ndcg", 0, 0},
        {"ndcg@10", "ndcg@10", "ndcg", 10, 0},
        {"ndcg@010", "ndcg@10", "ndcg", 10, 0},
        {"dcg@2147483647", "dcg@2147483647", "dcg", 2147483647u, 0},
        {"map", "map", "map", 0, 0},
        {"mrr@5", "mrr@5", "mrr", 5, 0},
        {"err@20", "err@20", "err", 20, 0},
        {"p@1", "p@1", "p", 1, 0},
        {"recall@100", "recall@100", "recall", 100, 0},
        {"rbp:0.8", "rbp:0.8", "rbp", 0, 0.8},
        {"rbp:.95", "rbp:0.95", "rbp", 0, 0.95},
        {"rbp:0.123456789012345", "rbp:0.123456789012345", "rbp", 0, 0.123456789012345},
        {"rmse", "rmse", "rmse", 0, 0},
        {"logloss", "logloss", "logloss", 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_metric metric;
        cr_assert_eq(rw_metric_parse(ctx, cases[i].text, 2.5, &metric), RW_OK, "%s",
                     rw_last_error(ctx));
        cr_expect_str_eq(metric.name, cases[i].name);
        cr_expect_str_eq(metric.kind->name, cases[i].kind);
        cr_expect_eq(metric.at, cases[i].at);
        cr_expect_eq(metric.persistence, cases[i].persistence);
        cr_expect_eq(metric.relevant, 2.5);
    }
}

/* The list after "hint: metrics are": the table's spellings. */
static const char listed[] =
#define RW_METRIC(name, device, at, spelling, ...) " " spelling
#include "metric/metrics.def"
#undef RW_METRIC
    ;

#define UNKNOWN(text, nearest)                                                            \
    {                                                                                     \
        text, "unknown metric '" text "'; did you mean '" nearest "'?\nhint: metrics are" \
    }
#define CUT(text, name)                                                                  \
    {                                                                                    \
        text, "metric '" text "': expected a whole number of 1 to 2147483647 after '@'," \
              " as in '" name "@10'"                                                     \
    }
#define PERSISTENCE(text)                                                                          \
    {                                                                                              \
        text,                                                                                      \
            "metric '" text "': expected a persistence between 0 and 1 after ':', as in 'rbp:0.8'" \
    }

Test(metric, refused_names, .init = setup, .fini = teardown)
{
    const struct {
        const char *text, *message;
    } cases[] = {
        UNKNOWN("ndgc@10", "ndcg@10"),
        UNKNOWN("NDCG@10", "ndcg@10"),
        UNKNOWN("nDCG", "ndcg"),
        UNKNOWN("precision@5", "p@5"),
        UNKNOWN("Recal@5", "recall@5"),
        UNKNOWN("NDCG:top=10", "ndcg@10"),
        UNKNOWN("NDCG:type=Exp;denominator=Log2;top=5", "ndcg@5"),
        UNKNOWN("PrecisionAt:top=3", "p@3"),
        UNKNOWN("PrecisionAt", "p@10"),
        UNKNOWN("RecallAt", "recall@10"),
        UNKNOWN("MRR@10", "mrr@10"),
        UNKNOWN("RR@10", "mrr@10"),
        UNKNOWN("ndcg_cut_10", "ndcg@10"),
        UNKNOWN("ndcg_cut.5", "ndcg@5"),
        UNKNOWN("map_cut_100", "map@100"),
        UNKNOWN("P_5", "p@5"),
        UNKNOWN("P.20", "p@20"),
        UNKNOWN("recip_rank", "mrr"),
        UNKNOWN("NDCG@00", "ndcg"),
        UNKNOWN("NDCG@99999999999", "ndcg"),
        UNKNOWN("l2", "rmse"),
        UNKNOWN("l2_root", "rmse"),
        UNKNOWN("binary_logloss", "logloss"),
        {"ndcg-", "unknown metric 'ndcg-'; did you mean 'ndcg'?\n"
                  "hint: for XGBoost's '-', set the parameter 'empty' to 0\nhint: metrics are"},
        {"10", "unknown metric '10'; did you mean 'ndcg@10'?\nhint: give each metric its cutoff: "
               "'ndcg@5,ndcg@10'\nhint: metrics are"},
        {"auc", "unknown metric 'auc'\nhint: ranking metrics are "
                "ndcg, map, mrr, p@k, recall@k and others\nhint: metrics are"},
        {"AUC:type=Ranking", "unknown metric 'AUC:type=Ranking'\nhint: "
                             "ranking metrics are ndcg, map, mrr, p@k, recall@k and others\n"
                             "hint: metrics are"},
        UNKNOWN("mse", "rmse"),
        UNKNOWN("log-loss", "logloss"),
        UNKNOWN("average_precision", "map"),
        UNKNOWN("rb", "rbp:0.8"),
        UNKNOWN(" ndcg", "ndcg"),
        CUT("ndcg@0", "ndcg"),
        CUT("ndcg@", "ndcg"),
        CUT("ndcg@-1", "ndcg"),
        CUT("ndcg@1.5", "ndcg"),
        {"ndcg@5-", "metric 'ndcg@5-': expected a whole number of 1 to 2147483647 after '@', as in "
                    "'ndcg@10'\nhint: for XGBoost's '-', set the parameter 'empty' to 0"},
        CUT("ndcg@ 5", "ndcg"),
        CUT("p@00", "p"),
        CUT("map@2147483648", "map"),
        CUT("map@99999999999999999999999999", "map"),
        {"p", "metric 'p' needs a cutoff, as in 'p@10'"},
        {"recall", "metric 'recall' needs a cutoff, as in 'recall@10'"},
        {"p:3", "metric 'p:3': write a cutoff as 'p@10'"},
        {"ndcg:3", "metric 'ndcg:3': write a cutoff as 'ndcg@10'"},
        {"rbp", "metric 'rbp' needs a persistence, as in 'rbp:0.8'"},
        {"rbp@10", "metric 'rbp@10' needs a persistence, as in 'rbp:0.8'"},
        PERSISTENCE("rbp:0"),
        PERSISTENCE("rbp:0.1234567890123456"),
        PERSISTENCE("rbp:.1234567890123456"),
        PERSISTENCE("rbp:1"),
        PERSISTENCE("rbp:0.0"),
        PERSISTENCE("rbp:"),
        PERSISTENCE("rbp:."),
        PERSISTENCE("rbp:-0.5"),
        PERSISTENCE("rbp:0,8"),
        PERSISTENCE("rbp:0.5x"),
        PERSISTENCE("rbp:nan"),
        {"rmse@3", "metric 'rmse@3': 'rmse' accepts no cutoff or persistence"},
        {"logloss:1", "metric 'logloss:1': 'logloss' accepts no cutoff or persistence"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_metric metric;
        cr_expect_eq(rw_metric_parse(ctx, cases[i].text, 1, &metric), RW_ERR_ARGUMENT, "%s",
                     cases[i].text);
        char expected[512];
        const char *hint = strstr(cases[i].message, "metrics are");
        snprintf(expected, sizeof(expected), "%s%s", cases[i].message, hint ? listed : "");
        cr_expect_str_eq(rw_last_error(ctx), expected);
    }
    struct rw_metric metric;
    cr_assert_eq(rw_metric_parse(ctx, "", 1, &metric), RW_ERR_ARGUMENT);
    char huge[5000];
    memset(huge, 'x', sizeof(huge));
    huge[sizeof(huge) - 1] = 0;
    cr_assert_eq(rw_metric_parse(ctx, huge, 1, &metric), RW_ERR_ARGUMENT);
    memcpy(huge, "rbp:0.", 6);
    memset(huge + 6, '1', sizeof(huge) - 7);
    cr_assert_eq(rw_metric_parse(ctx, huge, 1, &metric), RW_ERR_ARGUMENT);
}

/* The order is the one definition allows: falling score, then rising (or falling) place. */
static void check_order(const double *scores, uint32_t n, int reversed)
{
    uint32_t *order = malloc((n + 1) * sizeof(*order));
    uint8_t *seen = calloc(n + 1, 1);
    order[n] = 0xfeedfaceu;
    rw_rank_query(scores, n, reversed, order);
    cr_assert_eq(order[n], 0xfeedfaceu);
    for (uint32_t r = 0; r < n; r++) {
        cr_assert_lt(order[r], n);
        cr_assert(!seen[order[r]]);
        seen[order[r]] = 1;
        if (r == 0)
            continue;
        const double above = scores[order[r - 1]], here = scores[order[r]];
        cr_assert(above > here || (above == here &&
                                   (reversed ? order[r - 1] > order[r] : order[r - 1] < order[r])));
    }
    free(order);
    free(seen);
}

Test(metric, ranking)
{
    static const uint32_t sizes[] = {0, 1, 2, 3, 23, 24, 25, 120, 1023, 1024, 1025, 5000, 100000};
    static double scores[100000];
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const uint32_t n = sizes[s];
        for (int kind = 0; kind < 9; kind++) {
            for (uint32_t i = 0; i < n; i++) {
                const uint32_t random = i * 2654435761u;
                switch (kind) {
                case 0:
                    scores[i] = 0.0;
                    break;
                case 1:
                    scores[i] = i;
                    break;
                case 2:
                    scores[i] = -(double)i;
                    break;
                case 3:
                    scores[i] = i < n / 2 ? i : n - i;
                    break;
                case 4:
                    scores[i] = random % 3;
                    break;
                case 5:
                    scores[i] = random;
                    break;
                case 6:
                    scores[i] = i % 2 ? 0.0 : -0.0;
                    break;
                case 7:
                    scores[i] = (random & 1 ? -1 : 1) * 1.7e308 / (1 + random % 5);
                    break;
                default:
                    scores[i] = (random & 1 ? -1 : 1) * 4.9e-324 * (random % 4);
                    break;
                }
            }
            check_order(scores, n, 0);
            check_order(scores, n, 1);
        }
    }
}

/* A NaN cannot reach here (scores are checked before), but must not corrupt memory if it does. */
Test(metric, ranking_survives_nan)
{
    double scores[200];
    uint32_t order[200], sum = 0;
    for (uint32_t i = 0; i < 200; i++)
        scores[i] = i % 3 ? (double)NAN : (double)i;
    rw_rank_query(scores, 200, 0, order);
    for (uint32_t r = 0; r < 200; r++)
        sum += order[r];
    cr_assert_eq(sum, 199u * 200u / 2u);
}

/* Median-of-three quicksort's worst case (Musser 1997) must not be quadratic: 400,000 documents
 * would take minutes. */
Test(metric, ranking_of_a_killer, .timeout = 20)
{
    enum { N = 400000 };
    static double scores[N];
    static uint32_t order[N];
    for (int i = 0; i < N / 2; i++) {
        scores[i] = i % 2 ? N / 2 + i : i + 1;
        scores[N / 2 + i] = 2 * (i + 1);
    }
    for (int repeat = 0; repeat < 3; repeat++)
        rw_rank_query(scores, N, repeat & 1, order);
    check_order(scores, N, 0);
}

Test(metric, tie_ends)
{
    const double score[] = {5, 5, 3, 0.0, -0.0, -1};
    const uint32_t expected[] = {2, 2, 3, 5, 5, 6};
    uint32_t end[6];
    rw_tie_ends(score, 6, end);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(end[i], expected[i]);
    rw_tie_ends(score, 0, end);
}
