/* Several labels a document: weights, the sum of lambdas, who reads them. */
#include "train/train.h"

#include <math.h>

#include "base/ctx.h"
#include "metric/metric.h"
#include "objective/objective.h"
#include "scratch_file.h"
#include "train_fixture.h"

TestSuite(labels, .init = scratch_begin, .fini = scratch_end);

Test(labels, weights)
{
    static const char *const bad[] = {"",    "1",   "0,0",  "1,",      ",1",    "1,-0.5",
                                      "1;2", "a,1", "1, 2", "1,65537", "nan,1", "1e999,1"};
    double weight[RW_MAX_LABELS];
    cr_assert_eq(rw_label_weights("1,0.5,0", weight), 3);
    cr_assert_eq(weight[0], 1.0);
    cr_assert_eq(weight[1], 0.5);
    cr_assert_eq(weight[2], 0.0);
    cr_assert_eq(rw_label_weights("0,65536", weight), 2);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        cr_expect_eq(rw_label_weights(bad[i], weight), 0, "'%s'", bad[i]);
    cr_assert_eq(rw_label_weights("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", weight), RW_MAX_LABELS);
    cr_assert_eq(rw_label_weights("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", weight), 0);
}

/* ---- the sum ---- */

enum { QUERIES = 400, LENGTH = 9, DOCS = QUERIES * LENGTH, KINDS = 3, TREE = 4 };

struct set {
    struct rw_dataset *data;
    double gains[KINDS][DOCS], scores[DOCS];
    const struct rw_objective *objective;
    struct rw_objective_rule rule; /* of one label */
};

static void set_init(struct set *set)
{
    static double more[DOCS][KINDS - 1];
    set->data = fixture_data(scratch_ctx, 2, QUERIES, LENGTH, 2);
    for (uint32_t i = 0; i < DOCS; i++) {
        set->scores[i] = floor(fixture_unit(4, i) * 20.0) * 0.1;
        for (uint32_t k = 0; k < KINDS - 1; k++) /* every third query has no relevant document */
            more[i][k] = i / LENGTH % 3 ? floor(fixture_unit(5 + k, i) * 5.0) : 0.0;
    }
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, set->data, "labels", more[0], DOCS, KINDS - 1),
        RW_OK);
    for (int k = 0; k < KINDS; k++) {
        for (uint32_t i = 0; i < DOCS; i++)
            set->gains[k][i] = exp2((double)rw_dataset_labels_of(set->data, k)[i]) - 1.0;
    }
}

static double most_of(const double *gains)
{
    double most = 0.0;
    for (int i = 0; i < DOCS; i++)
        most = gains[i] > most ? gains[i] : most;
    return most;
}

/* The gradients of an objective: doubles or integers, and their exponent. */
struct handed {
    double gradient[DOCS], hessian[DOCS];
    int64_t lambda[DOCS], hess[DOCS];
};

static void run(const struct set *set, const struct rw_objective_rule *rule,
                const struct rw_dataset *data, uint32_t first, const double *gains,
                struct handed *out)
{
    struct rw_gradients *made;
    const struct rw_user_gradients *handed;
    const size_t n = data->n_docs;
    cr_assert_eq(
        rw_gradients_new(scratch_ctx, set->objective, rule, data, first, gains, NULL, &made),
        RW_OK);
    cr_assert_eq(rw_gradients_run(made, TREE, 0.1, set->scores + first, &handed), RW_OK);
    if (handed->lambda) {
        memcpy(out->lambda, handed->lambda, n * sizeof(int64_t));
        memcpy(out->hess, handed->hess, n * sizeof(int64_t));
    } else {
        memcpy(out->gradient, handed->gradient, n * sizeof(double));
        memcpy(out->hessian, handed->hessian, n * sizeof(double));
    }
    rw_gradients_free(made);
}

/* The sum over labels of the gradients of a training on each label alone. */
static void check_sum(struct set *set, const double *weight)
{
    static struct handed own, sum, all;
    struct rw_objective_rule rule = set->rule;
    memset(&sum, 0, sizeof(sum));
    rule.n_labels = KINDS;
    for (int k = 0; k < KINDS; k++) {
        struct rw_objective_rule one = set->rule;
        struct rw_dataset by_label = *set->data;
        by_label.label = (float *)(uintptr_t)rw_dataset_labels_of(set->data, k);
        one.max_gain = most_of(set->gains[k]);
        rule.label[k] = (struct rw_label_rule){weight[k], one.max_gain};
        memset(&own, 0, sizeof(own));
        run(set, &one, &by_label, 0, set->gains[k], &own);
        for (int i = 0; i < DOCS; i++) {
            sum.gradient[i] += weight[k] * own.gradient[i];
            sum.hessian[i] += weight[k] * own.hessian[i];
            sum.lambda[i] += (int64_t)rint(weight[k] * (double)own.lambda[i]);
            sum.hess[i] += (int64_t)rint(weight[k] * (double)own.hess[i]);
        }
    }
    memset(&all, 0, sizeof(all));
    run(set, &rule, set->data, 0, set->gains[0], &all);
    cr_assert_arr_eq(all.gradient, sum.gradient, sizeof(sum.gradient), "%s", set->objective->name);
    cr_assert_arr_eq(all.hessian, sum.hessian, sizeof(sum.hessian), "%s", set->objective->name);
    cr_assert_arr_eq(all.lambda, sum.lambda, sizeof(sum.lambda), "%s", set->objective->name);
    cr_assert_arr_eq(all.hess, sum.hess, sizeof(sum.hess), "%s", set->objective->name);
}

Test(labels, lambdas_are_summed)
{
    static const char *const deltas[] = {"ndcg", "err", "map"};
    static const double weights[][KINDS] = {{1, 0.5, 0.25}, {0.3, 0, 7}, {0, 1, 0}};
    static struct set set;
    set_init(&set);
    for (int threads = 1; threads <= 4; threads += 3) {
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, threads), RW_OK);
        for (int w = 0; w < 3; w++) {
            const struct rw_objective *row;
            for (int i = 0; (row = rw_objective_at(i)); i++) {
                for (int d = 0; d < (i == 0 ? 3 : 1); d++) {
                    set.rule = (struct rw_objective_rule){
                        .pair = {.sigma = 1.0f, .norm = 1, .truncation = 5}, .seed = 5};
                    set.rule.value[rw_objective_param(&rw_objective_lambdarank, "delta")] =
                        i == 0 ? rw_delta_number(deltas[d]) : 0.0;
                    if (strcmp(row->name, "yetirank") == 0) {
                        set.rule.value[rw_objective_param(row, "permutations")] = 3.0;
                        set.rule.value[rw_objective_param(row, "decay")] = 0.8;
                    }
                    set.objective = rw_objective_for(row, &set.rule);
                    const int relevant = rw_objective_param(set.objective, "relevant");
                    if (relevant >= 0)
                        set.rule.value[relevant] = 2.0;
                    check_sum(&set, weights[w]);
                }
            }
        }
    }
    rw_dataset_free(set.data);
}

/* The bound of one label's lambda is multiplied by the sum of the weights, and by the largest
 * weight of a document; 30 sigma^2 of that must be at most 2^22. */
Test(labels, bound_of_the_integers)
{
    static struct set set;
    static double weight[DOCS];
    struct rw_objective_rule rule = {.pair = {.sigma = 10.0f, .norm = 1, .truncation = 5},
                                     .n_labels = 2};
    const struct {
        double labels[2], document;
        int in_doubles;
    } cases[] = {{{699, 699}, 1, 0},     {{699, 700}, 1, 1}, {{65536, 65536}, 1, 1},
                 {{699, 699}, 1.001, 1}, {{466, 466}, 1, 0}, {{466, 466}, 1.5, 0},
                 {{466, 467}, 1.5, 1},   {{0.25, 0}, 1, 0},  {{0.25, 0.5}, 1398, 0},
                 {{0.25, 0.5}, 1399, 1}, {{1, 0}, 1399, 1},  {{0, 65536}, 65536, 1}};
    set_init(&set);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rw_gradients *made;
        for (int k = 0; k < 2; k++)
            rule.label[k] = (struct rw_label_rule){cases[i].labels[k], most_of(set.gains[k])};
        for (int d = 0; d < DOCS; d++)
            weight[d] = d == 77 ? cases[i].document : 0.125;
        cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, set.data, "weights", weight, DOCS, 1),
                     RW_OK);
        cr_assert_eq(rw_objective_sum(scratch_ctx, &rw_objective_lambdarank, &rule, set.data),
                     RW_OK);
        cr_expect_eq(rule.in_doubles, cases[i].in_doubles, "%zu", i);
        cr_assert_eq(rw_gradients_new(scratch_ctx, &rw_objective_lambdarank, &rule, set.data, 0,
                                      set.gains[0], NULL, &made),
                     RW_OK);
        rw_gradients_free(made);
        rule.in_doubles = 0; /* not as integers */
        cr_assert_eq(rw_gradients_new(scratch_ctx, &rw_objective_lambdarank, &rule, set.data, 0,
                                      set.gains[0], NULL, &made),
                     cases[i].in_doubles ? RW_ERR_DATA : RW_OK);
        rw_gradients_free(made);
    }
    /* An overflow of a single label remains an error. */
    rule.pair.sigma = 1000.0f;
    cr_assert_eq(rw_objective_sum(scratch_ctx, &rw_objective_lambdarank, &rule, set.data), RW_OK);
    struct rw_gradients *made;
    cr_assert_eq(rw_gradients_new(scratch_ctx, &rw_objective_lambdarank, &rule, set.data, 0,
                                  set.gains[0], NULL, &made),
                 RW_ERR_DATA);
    /* An objective that needs no check, and a training on one label. */
    cr_assert_eq(rw_objective_sum(scratch_ctx, &rw_objective_listnet, &rule, set.data), RW_OK);
    rule.n_labels = rule.in_doubles = 0;
    cr_assert_eq(rw_objective_sum(scratch_ctx, &rw_objective_lambdarank, &rule, set.data), RW_OK);
    cr_assert_eq(rule.in_doubles, 0);
    rw_dataset_free(set.data);
}

/* Beyond the bound: the labels' integers, of documents that weigh 1, each times its weight in
 * doubles; documents' weights are left to the engine. */
Test(labels, sums_beyond_the_bound)
{
    static const double weight[KINDS] = {65536.0, 0.1, 40000.0};
    static struct set set;
    static struct handed own, sum, all;
    static double documents[DOCS];
    set_init(&set);
    set.rule =
        (struct rw_objective_rule){.pair = {.sigma = 7.0f, .norm = 1, .truncation = 5}, .seed = 5};
    set.rule.value[rw_objective_param(&rw_objective_yetirank, "permutations")] = 3.0;
    set.rule.value[rw_objective_param(&rw_objective_yetirank, "decay")] = 0.8;
    for (int i = 0; i < 2; i++) {
        set.objective = i ? &rw_objective_yetirank : &rw_objective_lambdarank;
        struct rw_objective_rule rule = set.rule;
        rule.n_labels = KINDS;
        memset(&sum, 0, sizeof(sum));
        for (int k = 0; k < KINDS; k++) {
            struct rw_dataset by_label = *set.data;
            by_label.label = (float *)(uintptr_t)rw_dataset_labels_of(set.data, k);
            by_label.weight = NULL;
            rule.label[k] = (struct rw_label_rule){weight[k], most_of(set.gains[k])};
            run(&set, &set.rule, &by_label, 0, set.gains[k], &own);
            for (int d = 0; d < DOCS; d++) {
                sum.gradient[d] += weight[k] * 0x1p-40 * (double)own.lambda[d];
                sum.hessian[d] += weight[k] * 0x1p-40 * (double)own.hess[d];
            }
        }
        for (int d = 0; d < DOCS; d++)
            documents[d] = 1.0 + d % 7;
        cr_assert_eq(
            rw_dataset_set_side_column(scratch_ctx, set.data, "weights", documents, DOCS, 1),
            RW_OK);
        cr_assert_eq(rw_objective_sum(scratch_ctx, set.objective, &rule, set.data), RW_OK);
        cr_assert(rule.in_doubles);
        memset(&all, 0, sizeof(all));
        run(&set, &rule, set.data, 0, set.gains[0], &all);
        cr_assert_arr_eq(all.gradient, sum.gradient, sizeof(sum.gradient));
        cr_assert_arr_eq(all.hessian, sum.hessian, sizeof(sum.hessian));
    }
    rw_dataset_free(set.data);
}

/* ---- who reads them ---- */

Test(labels, from_a_file)
{
    const float values[] = {1, 2, 3}, labels[] = {0, 1, 0};
    const uint32_t offsets[] = {0, 2, 3};
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 3, 1, 2, 1, &dataset),
                 RW_OK);
    scratch_text("l", "1 0.5\n -0\t3e0 \n0 2\r\n\n");
    cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, dataset, "labels", "l"), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    const float expected[] = {1, 0, 0, 0.5F, 3, 2};
    cr_assert_eq(dataset->n_more_labels, 2);
    cr_assert_arr_eq(dataset->more_label, expected, sizeof(expected));
    const struct {
        const char *text, *error;
    } cases[] = {
        {"1 2\n1 2\n", "'l' has 2 lines of labels; expected one per document, 3"},
        {"1\n2\n3\n4\n", "'l' has 4 lines of labels; expected one per document, 3"},
        {"1 2\n1\n1 2\n", "l:2:2: expected 2 numbers, found fewer"},
        {"1 2\n1 2 3\n1 2\n", "l:2:5: expected 2 numbers, found more"},
        {"1 2\n1 -2\n1 2\n", "l:2:3: expected a label (a number, 0 or more), found '-2'"},
        {"1 2\n1 x\n1 2\n", "l:2:3: expected a label (a number, 0 or more), found 'x'"},
        {"1 2\n1 2x\n1 2\n", "l:2:3: expected a label (a number, 0 or more), found '2x'"},
        {"1 2\n\n1 2\n", "l:2:1: expected a label (a number, 0 or more), found an empty line"},
        {"1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", "l:1:33: expected at most 16 numbers, found more"},
        {"1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
         "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n",
         "'labels' has 16 numbers per document; expected 1 to 15"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scratch_text("l", cases[i].text);
        cr_assert_lt(rw_dataset_read_side_column(scratch_ctx, dataset, "labels", "l"), 0, "%zu", i);
        cr_assert_str_eq(rw_last_error(scratch_ctx), cases[i].error);
    }
    cr_assert_arr_eq(dataset->more_label, expected, sizeof(expected), "they stay after an error");
    const double bad[] = {NAN, INFINITY, -1, 1e39};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const double some[] = {1, 1, 1, bad[i], 1, 1};
        cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "labels", some, 3, 2),
                     RW_ERR_DATA);
        cr_assert(strncmp(rw_last_error(scratch_ctx), "further label 2 of document 2 is ", 33) ==
                  0);
    }
    rw_dataset_free(dataset);
}

static struct rw_dataset *read_csv(const char *text, int n_files)
{
    static const char *const paths[] = {"a.csv", "b.csv"};
    struct rw_dataset *dataset = NULL;
    scratch_text("a.csv", text);
    if (rw_dataset_read(scratch_ctx, paths, n_files, &dataset) < 0)
        return NULL;
    return dataset;
}

Test(labels, from_columns)
{
    static const char *const more[] = {"buy", "long"};
    struct rw_columns columns = {.label = "click", .more_label = more, .n_more_labels = 2};
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_OK);
    const char *text = "qid,long,f,click,buy\n1,3,0.5,1,0\n1,-0,7,0,2.5\n2,1,1,1,1\n";
    struct rw_dataset *dataset = read_csv(text, 1);
    cr_assert_not_null(dataset, "%s", rw_last_error(scratch_ctx));
    const float expected[] = {0, 2.5F, 1, 3, 0, 1};
    cr_assert_eq(dataset->n_more_labels, 2);
    cr_assert_eq(dataset->n_columns, 1);
    cr_assert_arr_eq(dataset->more_label, expected, sizeof(expected));
    /* Where features are found by name they need not be there, and are no features. */
    columns.like = dataset;
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_OK);
    struct rw_dataset *other = read_csv("qid,f,click,buy\n1,0.5,1,no label\n", 1);
    cr_assert_not_null(other, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(other->n_more_labels, 0);
    cr_assert_eq(other->n_columns, 1);
    rw_dataset_free(other);
    rw_dataset_free(dataset);
    columns.like = NULL;
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_OK);
    cr_assert_null(read_csv("qid,long,f,click,buy\n1,3,0.5,1,-1\n", 1));
    cr_assert(strstr(rw_last_error(scratch_ctx), "a.csv:2:11: expected a label of 0 or more"));
    cr_assert_null(read_csv("qid,f,click,buy\n1,3,0.5,1\n", 1));
    cr_assert(strstr(rw_last_error(scratch_ctx), "no column 'long' for further labels"));
    columns.n_more_labels = RW_MAX_LABELS;
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_ERR_ARGUMENT);
}

/* Some documents have more labels than others. */
Test(labels, all_have_as_many)
{
    struct rw_builder builder[2] = {{0}};
    struct rw_dataset *dataset;
    const uint16_t feature = 0;
    const float value = 1, labels[] = {1, 2};
    for (int b = 0; b < 2; b++) {
        cr_assert_eq(rw_builder_query(scratch_ctx, &builder[b], b ? "b" : "a", 1), RW_OK);
        if (b)
            cr_assert_eq(rw_builder_more_labels(scratch_ctx, &builder[b], labels, 2), RW_OK);
        cr_assert_eq(rw_builder_doc(scratch_ctx, &builder[b], 1, &feature, &value, 1, NULL, 0),
                     RW_OK);
    }
    cr_assert_eq(rw_builder_finish(scratch_ctx, builder, 2, &dataset), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "a table and a table: documents have 1 label in one, 3 in the other");
}

/* ---- a training ---- */

Test(labels, training_has_as_many_as_weights)
{
    struct rw_dataset *data = fixture_data(scratch_ctx, 3, 20, 8, 2);
    double more[160] = {1};
    struct rw_params *params;
    struct rw_model *model;
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "rounds", "2"), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "label-weights", "1,2,3"), RW_OK);
    cr_assert_eq(rw_train(scratch_ctx, params, data, NULL, 0, NULL, &model), RW_ERR_ARGUMENT);
    cr_assert(
        strstr(rw_last_error(scratch_ctx), "has 3 weights, but the training set has 1 label "));
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, data, "labels", more, 160, 1), RW_OK);
    cr_assert_eq(rw_train(scratch_ctx, params, data, NULL, 0, NULL, &model), RW_ERR_ARGUMENT);
    cr_assert(strstr(rw_last_error(scratch_ctx), "the training set has 2 labels per document"));
    cr_assert_eq(rw_params_set(scratch_ctx, params, "label-weights", "1,2"), RW_OK);
    cr_assert_eq(rw_train(scratch_ctx, params, data, NULL, 0, NULL, &model), RW_OK);
    rw_model_free(model);
    rw_params_free(params);
    rw_dataset_free(data);
}
