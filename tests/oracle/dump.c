/* Trains a few trees and prints the engine's intermediate results, one JSON object per line: the
 * integers of every document, the tree, the scores. Real numbers have 17 digits, which is exact.
 *
 *   dump ENGINE DATA NAME=VALUE...      the names: see `option` below; weights=FILE,
 * query-weights=FILE, start-scores=FILE, labels=FILE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "train/train.h"
#include "params/params.h"
#include "dataset/dataset.h"
#include "metric/metric.h"
#include "tree/grower.h"

struct job {
    struct rw_engine_rules rules;
    const struct rw_objective *handed; /* computed on the host; NULL: not */
    double relevant;
    struct rw_grow_rules grow;
    struct rw_params *params; /* `rate`, `label-weights`, and what codes of categories depend on */
    const char *gain, *weights, *query_weights, *start_scores, *labels;
    int8_t direction[RW_FEATURE_IDS]; /* of `monotone` */
    double penalty[RW_FEATURE_IDS];   /* of `feature-penalty` */
    struct rw_arena arena;            /* has the groups of interactions */
    struct rw_interactions interactions;
    uint32_t n_trees;
    int n_threads;
};

static const struct rw_training_features no_names;

static int monotone(struct job *job, const char *list)
{
    if (*list)
        job->rules.monotone = job->grow.monotone = job->direction;
    static double value[RW_FEATURE_IDS];
    const int status = rw_list_values(NULL, RW_LIST_MONOTONE, list, &no_names, value);
    for (int f = 0; f < RW_FEATURE_IDS; f++)
        job->direction[f] = (int8_t)value[f];
    return status;
}

static int interactions(struct job *job, const char *list)
{
    if (!*list)
        return 0;
    job->rules.interactions = &job->interactions;
    return rw_interactions_parse(NULL, &job->arena, list, &no_names, &job->interactions);
}

static int penalty(struct job *job, const char *list)
{
    if (*list)
        job->rules.penalty = job->penalty;
    return rw_list_values(NULL, RW_LIST_PENALTY, list, &no_names, job->penalty);
}

/* A word of the table, or custom. */
static int objective(struct job *job, const char *name)
{
    const struct rw_objective *found = NULL;
    for (int i = 0; rw_objective_at(i); i++)
        found = strcmp(rw_objective_at(i)->name, name) == 0 ? rw_objective_at(i) : found;
    const int is_handed = found && (found->device == RW_OBJECTIVE_HOST ||
                                    found->device > RW_OBJECTIVE_NEIGHBOURS);
    job->handed = is_handed ? found : NULL;
    job->rules.objective = is_handed ? NULL : found;
    if (is_handed && found->is_fixed) /* which rw_engine_set_gradients does not take */
        return -1;
    return found || strcmp(name, "custom") == 0 ? 0 : -1;
}

static int option(struct job *job, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return -1;
    const size_t n = (size_t)(equals - text);
    const char *value = equals + 1;
    const double real = strtod(value, NULL);
#define NAMED(name) (strlen(name) == n && strncmp(text, name, n) == 0)
    if (NAMED("objective"))
        return objective(job, value);
    else if (NAMED("monotone"))
        return monotone(job, value);
    else if (NAMED("interactions"))
        return interactions(job, value);
    else if (NAMED("feature-penalty"))
        return penalty(job, value);
    else if (NAMED("categorical"))
        return rw_params_set(NULL, job->params, "categorical", value);
    else if (NAMED("category-smoothing"))
        job->rules.split.category_smoothing = real;
    else if (NAMED("category-penalty"))
        job->rules.split.category_penalty = real;
    else if (NAMED("split"))
        job->rules.newton = strcmp(value, "newton") == 0;
    else if (NAMED("grow"))
        job->grow.levels = strcmp(value, "levels") == 0;
    else if (NAMED("absent")) {
        job->rules.cut.absent_missing = strcmp(value, "missing") == 0;
        return rw_params_set(NULL, job->params, "absent", value);
    } else if (NAMED("rounding"))
        job->rules.nearest = strcmp(value, "nearest") == 0;
    else if (NAMED("norm"))
        job->rules.lambda.norm = strcmp(value, "on") == 0;
    else if (NAMED("gain"))
        job->gain = value;
    else if (NAMED("weights"))
        job->weights = value;
    else if (NAMED("query-weights"))
        job->query_weights = value;
    else if (NAMED("start-scores"))
        job->start_scores = value;
    else if (NAMED("labels"))
        job->labels = value;
    else if (NAMED("label-weights"))
        return rw_params_set(NULL, job->params, "label-weights", value);
    else if (NAMED("bins"))
        job->rules.cut.bins = job->params->bins = (int)real;
    else if (NAMED("bits"))
        job->rules.bits = (int)real;
    else if (NAMED("seed"))
        job->rules.seed = strtoull(value, NULL, 10);
    else if (NAMED("relevant"))
        job->relevant = real;
    else if (NAMED("sigma"))
        job->rules.lambda.sigma = (float)real;
    else if (NAMED("truncation"))
        job->rules.lambda.truncation = (uint32_t)real;
    else if (NAMED("min-docs"))
        job->grow.min_docs = (uint32_t)real;
    else if (NAMED("min-weight"))
        job->rules.split.min_hessian = real;
    else if (NAMED("min-gain"))
        job->rules.split.min_gain = real;
    else if (NAMED("split-l2"))
        job->rules.split.l2 = real;
    else if (NAMED("sample-queries"))
        job->rules.query_threshold = (uint64_t)(real * 4294967296.0 + 0.5);
    else if (NAMED("sample-features"))
        job->rules.feature_threshold = (uint64_t)(real * 4294967296.0 + 0.5);
    else if (NAMED("sample-docs"))
        job->rules.doc_threshold = (uint64_t)(real * 4294967296.0 + 0.5);
    else if (NAMED("sample-features-node"))
        job->rules.node_threshold = (uint64_t)(real * 4294967296.0 + 0.5);
    else if (NAMED("gain-noise"))
        job->rules.split.gain_noise = real;
    else if (NAMED("l2"))
        job->grow.l2 = real;
    else if (NAMED("rate"))
        return rw_params_set(NULL, job->params, "rate", value);
    else if (NAMED("leaves"))
        job->grow.leaves = (int32_t)real;
    else if (NAMED("depth"))
        job->grow.depth = (int32_t)real;
    else if (NAMED("trees"))
        job->n_trees = (uint32_t)real;
    else if (NAMED("threads"))
        job->n_threads = (int)real;
    else
        return -1;
    return 0;
}

#define PRINT_ARRAY(name, format, array, n)                \
    do {                                                   \
        printf(",\"%s\":[", name);                         \
        for (size_t at = 0; at < (size_t)(n); at++)        \
            printf(at ? "," format : format, (array)[at]); \
        printf("]");                                       \
    } while (0)

static void print_tree(const struct rw_tree *tree)
{
    const int32_t n = tree->n_leaves - 1;
    PRINT_ARRAY("left", "%d", tree->left, n);
    PRINT_ARRAY("right", "%d", tree->right, n);
    PRINT_ARRAY("feature", "%u", tree->feature, n);
    PRINT_ARRAY("cut", "%.17g", tree->cut, n);
    PRINT_ARRAY("missing_left", "%d", tree->missing_left, n);
    PRINT_ARRAY("gain", "%.17g", tree->gain, n);
    PRINT_ARRAY("leaf", "%.17g", tree->leaf, tree->n_leaves);
}

/* The codes that go left at each split, or null. */
static void print_sets(const struct rw_tree *tree)
{
    printf(",\"set\":[");
    for (int32_t k = 0; k < tree->n_leaves - 1; k++) {
        const char *before = "[";
        printf(k ? "," : "");
        if (!rw_tree_by_set(tree, k)) {
            printf("null");
            continue;
        }
        for (uint32_t code = 0; code <= RW_MAX_CATEGORIES; code++) {
            if (rw_set_has(&tree->set[k], code)) {
                printf("%s%u", before, code);
                before = ",";
            }
        }
        printf(*before == '[' ? "[]" : "]");
    }
    printf("]");
}

struct arrays { /* [n_docs] */
    int64_t *lambda, *hess;
    int32_t *lambda_q, *hess_q;
    uint8_t *sampled;
    double *scores, *gradients, *hessians;
    int32_t *leaf_slot; /* [max_slots] */
};

/* The oracle's own objective, made here as a caller of the library would. */
static int set_gradients(struct rw_engine *engine, const struct rw_dataset *data,
                         const struct arrays *a)
{
    for (uint32_t i = 0; i < data->n_docs; i++) {
        a->gradients[i] = 3.0 * ((double)data->label[i] - a->scores[i]);
        a->hessians[i] = 1.0 + (double)data->label[i] * (double)data->label[i];
    }
    return rw_engine_set_gradients(engine, a->gradients, a->hessians);
}

/* The numbers of an objective's parameters, as rw_params_objective_rule has them. */
static double value_of(const void *user, const char *name)
{
    return strcmp(name, "relevant") == 0 ? ((const struct job *)user)->relevant : 0.0;
}

static int gradients_new(struct rw_ctx *ctx, const struct job *job, const struct rw_dataset *data,
                         const double *gains, struct rw_gradients **out)
{
    struct rw_objective_rule rule;
    rw_objective_rule_init(&rule, job->handed, value_of, job);
    rule.seed = job->rules.seed;
    if (job->handed == &rw_objective_lambdarank)
        rule.pair = job->rules.lambda;
    struct rw_objective_rule of_params; /* which know of several labels */
    rw_params_objective_rule(job->params, &of_params);
    rule.n_labels = of_params.n_labels;
    memcpy(rule.label, of_params.label, sizeof(rule.label));
    RW_TRY(rw_labels_rule(ctx, job->handed, &rule, gains, data));
    return rw_gradients_new(ctx, job->handed, &rule, data, 0, gains, NULL, out);
}

/* One tree: grown, told, added. The integers stay the tree's until the next one begins. */
static int one_tree(const struct job *job, struct rw_engine *engine, struct rw_grower *grower,
                    const struct rw_dataset *data, struct rw_gradients *gradients, uint32_t t,
                    const struct arrays *a)
{
    const uint32_t n = engine->n_docs[0];
    struct rw_tree tree;
    struct rw_grow_times times;
    RW_TRY(engine->ops->read_scores(engine, 0, a->scores));
    if (gradients) {
        const struct rw_user_gradients *made;
        RW_TRY(rw_gradients_run(gradients, t, rw_params_rate_of_round(job->params, t), a->scores,
                                &made));
        RW_TRY(made->lambda ? engine->ops->set_lambdas(engine, made->lambda, made->hess)
                            : rw_engine_set_gradients(engine, made->gradient, made->hessian));
    } else if (!job->rules.objective)
        RW_TRY(set_gradients(engine, data, a));
    rw_grower_set_rate(grower, rw_params_rate_of_round(job->params, t));
    RW_TRY(rw_grower_grow(grower, engine, t, &tree, a->leaf_slot, &times));
    int status =
        engine->ops->read_integers(engine, a->lambda, a->hess, a->lambda_q, a->hess_q, a->sampled);
    printf("{\"tree\":%u", t);
    PRINT_ARRAY("scores", "%.17g", a->scores, n);
    PRINT_ARRAY("lambda", "%lld", (long long *)a->lambda, n);
    PRINT_ARRAY("hess", "%lld", (long long *)a->hess, n);
    PRINT_ARRAY("lambda_q", "%d", a->lambda_q, n);
    if (job->rules.newton)
        PRINT_ARRAY("hess_q", "%d", a->hess_q, n);
    PRINT_ARRAY("sampled", "%d", a->sampled, n);
    print_tree(&tree);
    print_sets(&tree);
    printf("}\n");
    if (status >= 0)
        status = rw_engine_add_tree(engine, 0, &tree, a->leaf_slot);
    rw_tree_release(&tree);
    return status;
}

static int train(struct rw_ctx *ctx, struct job *job, const char *device,
                 const struct rw_dataset *data)
{
    int status = RW_OK;
    struct rw_engine *engine = NULL;
    struct rw_grower *grower = NULL;
    struct rw_gradients *gradients = NULL;
    struct arrays a;
    memset(&a, 0, sizeof(a));
    double *gains = NULL;
    struct rw_arena arena = {NULL};
    struct rw_gain_rule gain;
    const uint32_t n = data->n_docs;
    job->rules.min_docs = job->rules.cut.min_docs = job->grow.min_docs;
    job->rules.max_slots = rw_grow_max_slots(&job->grow);
    RW_TRY(rw_gain_rule_init(ctx, &gain, job->gain));
    RW_TRY_OUT(RW_NEW(ctx, a.lambda, n));
    RW_TRY_OUT(RW_NEW(ctx, a.hess, n));
    RW_TRY_OUT(RW_NEW(ctx, a.lambda_q, n));
    RW_TRY_OUT(RW_NEW(ctx, a.hess_q, n));
    RW_TRY_OUT(RW_NEW(ctx, a.sampled, n));
    RW_TRY_OUT(RW_NEW(ctx, a.scores, n));
    RW_TRY_OUT(RW_NEW(ctx, a.gradients, n));
    RW_TRY_OUT(RW_NEW(ctx, a.hessians, n));
    RW_TRY_OUT(RW_NEW(ctx, a.leaf_slot, job->rules.max_slots));
    if (rw_rules_rank(&job->rules) || job->handed)
        RW_TRY_OUT(rw_labels_gains(ctx, &arena, job->params, &gain, data, &gains));
    if (job->handed)
        RW_TRY_OUT(gradients_new(ctx, job, data, gains, &gradients));
    RW_TRY_OUT(rw_engine_open(ctx, device, &job->rules, &engine));
    RW_TRY_OUT(rw_engine_load(engine, 0, data, NULL, rw_rules_rank(&job->rules) ? gains : NULL));
    if (data->start_score)
        RW_TRY_OUT(rw_engine_set_scores(engine, 0, data->start_score));
    RW_TRY_OUT(rw_grower_new(ctx, &job->grow, &grower));
    for (uint32_t t = 0; t < job->n_trees; t++)
        RW_TRY_OUT(one_tree(job, engine, grower, data, gradients, t, &a));
out:
    rw_engine_close(engine);
    rw_free(grower);
    rw_gradients_free(gradients);
    rw_gain_rule_release(&gain);
    rw_arena_free(&arena);
    void *const owned[] = {a.lambda, a.hess,      a.lambda_q, a.hess_q,   a.sampled,
                           a.scores, a.gradients, a.hessians, a.leaf_slot};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
    return status;
}

int main(int argc, char **argv)
{
    static struct job job = {.rules = {.cut = {.bins = 255},
                                       .objective = &rw_objective_lambdarank,
                                       .lambda = {.sigma = 1.0f, .truncation = 30, .norm = 1},
                                       .bits = 8,
                                       .seed = 1,
                                       .query_threshold = (uint64_t)1 << 32,
                                       .feature_threshold = (uint64_t)1 << 32},
                             .grow = {.leaves = 31, .min_docs = 20},
                             .relevant = 1.0,
                             .gain = "exp",
                             .n_trees = 3,
                             .n_threads = 2};
    struct rw_ctx *ctx = NULL;
    struct rw_dataset *data = NULL;
    struct rw_sets sets = {.n_sets = 0};
    int status = RW_OK;
    if (rw_params_new(NULL, &job.params) < 0 || rw_params_set(NULL, job.params, "rate", "0.1") < 0)
        return 2;
    for (int i = 3; i < argc; i++) {
        if (option(&job, argv[i]) < 0) {
            fprintf(stderr, "unknown option '%s'\n", argv[i]);
            return 2;
        }
    }
    if (job.params->label_weights[0] &&
        job.rules.objective) { /* whoever makes gradients: the host */
        job.handed = job.rules.objective;
        job.rules.objective = NULL;
    }
    if (argc < 3 || rw_ctx_new(&ctx) < 0)
        return 2;
    const char *path = argv[2];
    const struct rw_columns columns = {.categorical = rw_params_get(job.params, "categorical")};
    RW_TRY_OUT(rw_ctx_set_columns(ctx, &columns));
    RW_TRY_OUT(rw_ctx_set_threads(ctx, job.n_threads));
    RW_TRY_OUT(rw_dataset_read(ctx, &path, 1, &data));
    if (job.weights)
        RW_TRY_OUT(rw_dataset_read_side_column(ctx, data, "weights", job.weights));
    if (job.query_weights)
        RW_TRY_OUT(rw_dataset_read_side_column(ctx, data, "query-weights", job.query_weights));
    if (job.start_scores)
        RW_TRY_OUT(rw_dataset_read_side_column(ctx, data, "start-scores", job.start_scores));
    if (job.labels)
        RW_TRY_OUT(rw_dataset_read_side_column(ctx, data, "labels", job.labels));
    RW_TRY_OUT(rw_sets_init(&sets, ctx, data, NULL, 0));
    RW_TRY_OUT(rw_sets_prepare(ctx, job.params, &sets, NULL));
    job.rules.cut.categories = sets.category_codes;
    RW_TRY_OUT(train(ctx, &job, argv[1], sets.set[0]));
out:
    if (status < 0)
        fprintf(stderr, "dump: %s\n", rw_last_error(ctx));
    rw_sets_release(&sets);
    rw_params_free(job.params);
    rw_arena_free(&job.arena);
    rw_dataset_free(data);
    rw_ctx_free(ctx);
    return status < 0;
}
