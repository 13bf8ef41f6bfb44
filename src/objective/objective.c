/* The table of objectives, and the gradients of a training set that the host computes. For each
 * query it calls the objective's `query`, in parallel. With several labels per document it sums
 * their lambdas, and it passes the objective's state to and from checkpoints. */
#include "objective/objective.h"

#include "comm/comm.h"
#include "dataset/dataset.h"
#include "metric/metric.h"

/* With fewer documents, starting a parallel loop costs more than it saves. */
enum { PARALLEL_DOCS = 2048 };

static const struct rw_objective *const objectives[] = {
#define RW_OBJECTIVE(name) &rw_objective_##name,
#include "objective/objectives.def"
#undef RW_OBJECTIVE
};

const char rw_objective_words[] =
#define RW_OBJECTIVE(name) "|" #name
#include "objective/objectives.def"
#undef RW_OBJECTIVE
    ;

const struct rw_objective *rw_objective_at(int i)
{
    return i >= 0 && i < (int)(sizeof(objectives) / sizeof(objectives[0])) ? objectives[i] : NULL;
}

const struct rw_objective *rw_objective_variant_at(int i)
{
    static const struct rw_objective *const variants[] = {
#define RW_OBJECTIVE(name)
#define RW_VARIANT(name) &rw_objective_##name,
#include "objective/objectives.def"
#undef RW_OBJECTIVE
    };
    return i >= 0 && i < (int)(sizeof(variants) / sizeof(variants[0])) ? variants[i] : NULL;
}

const struct rw_objective *rw_objective_for(const struct rw_objective *objective,
                                            const struct rw_objective_rule *rule)
{
    const struct rw_objective *variant = objective->variant ? objective->variant(rule) : NULL;
    return variant ? variant : objective;
}

/* Returns in `name` the objective's next parameter, from *at on; 0: there are no more. */
static int next_param(const char **at, char name[32])
{
    const size_t n = strcspn(*at, " "), kept = n < 31 ? n : 31;
    memcpy(name, *at, kept);
    name[kept] = 0;
    *at += n + ((*at)[n] == ' ');
    return n > 0;
}

int rw_objective_param(const struct rw_objective *objective, const char *name)
{
    const char *at = objective->params;
    char own[32];
    for (int i = 0; next_param(&at, own); i++) {
        if (strcmp(own, name) == 0)
            return i;
    }
    return -1;
}

void rw_objective_rule_init(struct rw_objective_rule *rule, const struct rw_objective *objective,
                            double (*value_of)(const void *user, const char *name),
                            const void *user)
{
    *rule = (struct rw_objective_rule){.pair = {.sigma = 1.0f}};
    const char *at = objective->params;
    char name[32];
    for (int i = 0; next_param(&at, name); i++) {
        const double value = rule->value[i] = value_of(user, name);
        if (strcmp(name, "sigma") == 0)
            rule->pair.sigma = (float)value;
        else if (strcmp(name, "truncation") == 0)
            rule->pair.truncation = (uint32_t)value;
        else if (strcmp(name, "norm") == 0)
            rule->pair.norm = value != 0.0;
    }
}

const struct rw_objective *
rw_objective_choose(struct rw_objective_rule *rule, const struct rw_objective *row,
                    double (*value_of)(const void *user, const char *name), const void *user)
{
    const struct rw_objective *variant;
    for (int i = 0; (variant = rw_objective_variant_at(i)) != NULL; i++) {
        if (strcmp(variant->name, row->name) == 0 && value_of(user, variant->chosen_by) != 0.0)
            row = variant;
    }
    rw_objective_rule_init(rule, row, value_of, user);
    const struct rw_objective *objective = rw_objective_for(row, rule);
    if (objective != row)
        rw_objective_rule_init(rule, objective, value_of, user);
    return objective;
}

static double most_weight(const struct rw_dataset *dataset)
{
    double most = dataset->n_docs && !dataset->weight ? 1.0 : 0.0;
    for (uint32_t i = 0; dataset->weight && i < dataset->n_docs; i++)
        most = dataset->weight[i] > most ? dataset->weight[i] : most;
    return most;
}

int rw_objective_check(struct rw_ctx *ctx, const struct rw_objective *objective,
                       const struct rw_objective_rule *rule, const struct rw_dataset *dataset,
                       double by)
{
    if (!objective || !objective->check)
        return RW_OK;
    return objective->check(ctx, rule, rw_longest_query(dataset->query_offset, dataset->n_queries),
                            most_weight(dataset) * by);
}

/* Returns the factor of one label's bound: the sum of the weights, but at least 1, since each
 * label is also computed alone. */
static double weight_of_labels(const struct rw_objective_rule *rule)
{
    double sum = 0.0;
    for (int k = 0; k < rule->n_labels; k++)
        sum += rule->label[k].weight;
    return sum > 1.0 ? sum : 1.0;
}

int rw_objective_sum(struct rw_ctx *ctx, const struct rw_objective *objective,
                     struct rw_objective_rule *rule, const struct rw_dataset *dataset)
{
    double most[] = {rw_longest_query(dataset->query_offset, dataset->n_queries),
                     most_weight(dataset)};
    if (!rule->n_labels || !objective->check)
        return RW_OK;
    RW_TRY(rw_comm_max_doubles(ctx, most, 2));
    rule->in_doubles =
        objective->check(NULL, rule, (uint32_t)most[0], most[1] * weight_of_labels(rule)) < 0;
    return RW_OK;
}

int rw_gradients_check(struct rw_ctx *ctx, const char *objective, uint32_t first_doc,
                       uint32_t n_docs, const double *gradients, const double *hessians)
{
    const char *of = objective ? "objective " : "custom objective";
    const char *hint = objective ? "\nhint: its labels, weights or start scores are too large" : "";
    for (uint32_t i = 0; i < n_docs; i++) {
        if (!(fabs(gradients[i]) <= 1e30))
            return rw_fail(ctx, RW_ERR_DATA,
                           "%s%s: gradient of document %u (from 0) is %g; expected -1e30 to 1e30%s",
                           of, objective ? objective : "", first_doc + i, gradients[i], hint);
        if (!(hessians[i] >= 0.0 && hessians[i] <= 1e30))
            return rw_fail(ctx, RW_ERR_DATA,
                           "%s%s: hessian of document %u (from 0) is %g; expected 0 to 1e30%s", of,
                           objective ? objective : "", first_doc + i, hessians[i], hint);
    }
    return RW_OK;
}

/* ---- a training set ---- */

struct rw_gradients {
    struct rw_arena arena; /* owns the arrays, except those of engine.into */
    struct rw_ctx *ctx;    /* borrowed */
    const struct rw_objective *objective;
    struct rw_objective_rule rule;
    const struct rw_dataset *dataset; /* borrowed */
    uint32_t first_doc;               /* number of documents on the workers before this one */
    const double *gains;              /* borrowed */
    struct rw_gradients_engine engine;
    int n_threads;
    uint32_t longest; /* number of documents of the longest query */
    /* Both have [longest] elements. discount: NULL unless the objective ranks; position: the result
     * of the callback `positions`, or NULL without it */
    double *discount, *position;
    double *ideal;   /* [n_labels or 1][n_queries] ideal DCGs; NULL unless the objective ranks */
    double *scratch; /* [n_threads][longest x scratch] */
    uint32_t *order; /* [n_threads][longest] */
    struct rw_user_gradients made; /* [n_docs] the result */
    struct rw_user_gradients
        of_one_label; /* the result of one of several labels: [n_threads][longest] */
    const struct rw_train_hooks *hooks; /* the hooks that compute user gradients; else NULL */
    void *state;                        /* of the objective; NULL: no state; owned */
    /* ---- of the current run ---- */

    uint32_t tree;
    const double *scores; /* borrowed */
};

/* Allocates the arrays for n documents: integers or doubles. */
static int make_arrays(struct rw_ctx *ctx, struct rw_gradients *g, int is_fixed, size_t n,
                       struct rw_user_gradients *out)
{
    if (is_fixed) {
        RW_TRY(RW_ARENA_NEW(ctx, &g->arena, out->lambda, n));
        return RW_ARENA_NEW(ctx, &g->arena, out->hess, n);
    }
    RW_TRY(RW_ARENA_NEW(ctx, &g->arena, out->gradient, n));
    return RW_ARENA_NEW(ctx, &g->arena, out->hessian, n);
}

static int make(struct rw_ctx *ctx, struct rw_gradients *g)
{
    const struct rw_dataset *dataset = g->dataset;
    const int is_fixed = g->objective->is_fixed;
    g->longest = rw_longest_query(dataset->query_offset, dataset->n_queries);
    const size_t room = (size_t)g->n_threads * g->longest;
    struct rw_dataset bare = *dataset; /* borrows all */
    if (g->rule.in_doubles) /* they do not include document weights, which the engine multiplies */
        bare.weight = NULL;
    RW_TRY(rw_objective_check(ctx, g->objective, &g->rule, &bare,
                              g->rule.in_doubles ? 1.0 : weight_of_labels(&g->rule)));
    if (!g->made.lambda && !g->made.gradient)
        RW_TRY(make_arrays(ctx, g, is_fixed && !g->rule.in_doubles, dataset->n_docs, &g->made));
    if (g->rule.n_labels)
        RW_TRY(make_arrays(ctx, g, is_fixed, room, &g->of_one_label));
    RW_TRY(RW_ARENA_NEW(ctx, &g->arena, g->order, room));
    RW_TRY(RW_ARENA_NEW(ctx, &g->arena, g->scratch, room * (size_t)g->objective->scratch));
    if (g->objective->state)
        RW_TRY(g->objective->state->open(ctx, &g->rule, dataset, g->n_threads, &g->state));
    if (g->objective->positions) {
        RW_TRY(RW_ARENA_NEW(ctx, &g->arena, g->position, g->longest));
        g->objective->positions(&g->rule, g->position, g->longest);
    }
    if (!g->objective->ranks)
        return RW_OK;
    const size_t n_labels = (size_t)(g->rule.n_labels ? g->rule.n_labels : 1);
    RW_TRY(RW_ARENA_NEW(ctx, &g->arena, g->discount, g->longest));
    RW_TRY(RW_ARENA_NEW(ctx, &g->arena, g->ideal, n_labels * dataset->n_queries));
    rw_discounts(g->discount, g->longest);
    for (size_t k = 0; k < n_labels; k++)
        RW_TRY(rw_ideal_dcgs(ctx, g->gains + k * dataset->n_docs, dataset->query_offset,
                             dataset->n_queries, g->rule.pair.truncation, g->discount,
                             g->ideal + k * dataset->n_queries));
    return RW_OK;
}

int rw_gradients_new(struct rw_ctx *ctx, const struct rw_objective *objective,
                     const struct rw_objective_rule *rule, const struct rw_dataset *dataset,
                     uint32_t first_doc, const double *gains,
                     const struct rw_gradients_engine *engine, struct rw_gradients **out)
{
    const struct rw_gradients_engine fastest = {.isa = rw_isa()};
    RW_SCOPED(rw_gradients_free) struct rw_gradients *g = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, g, 1));
    *g = (struct rw_gradients){.ctx = ctx,
                               .objective = objective,
                               .rule = *rule,
                               .dataset = dataset,
                               .first_doc = first_doc,
                               .gains = gains,
                               .engine = engine ? *engine : fastest,
                               .n_threads = dataset->n_docs >= PARALLEL_DOCS ? ctx->n_threads : 1};
    g->made = g->engine.into;
    RW_TRY(make(ctx, g));
    *out = RW_TAKE(g);
    return RW_OK;
}

uint64_t rw_gradients_bytes(const struct rw_dataset *dataset, int n_threads)
{
    const uint64_t longest = rw_longest_query(dataset->query_offset, dataset->n_queries);
    return (dataset->n_queries + longest) * sizeof(double) +
           (uint64_t)n_threads * longest * sizeof(uint32_t);
}

int rw_gradients_by_caller(struct rw_ctx *ctx, const struct rw_train_hooks *hooks,
                           const struct rw_dataset *dataset, struct rw_gradients **out)
{
    static const struct rw_objective callers = {.name = "custom"};
    RW_SCOPED(rw_gradients_free) struct rw_gradients *g = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, g, 1));
    *g = (struct rw_gradients){
        .ctx = ctx, .objective = &callers, .dataset = dataset, .hooks = hooks};
    RW_TRY(make_arrays(ctx, g, 0, dataset->n_docs, &g->made));
    *out = RW_TAKE(g);
    return RW_OK;
}

void rw_gradients_free(struct rw_gradients *g)
{
    if (!g)
        return;
    if (g->objective->state)
        g->objective->state->close(g->state);
    rw_arena_free(&g->arena);
    rw_mem_free(g);
}

/* Makes the query write to the arrays from the document at `first` on. */
static void write_to(struct rw_objective_query *query, const struct rw_user_gradients *made,
                     size_t first)
{
    query->lambda = made->lambda ? made->lambda + first : NULL;
    query->hess = made->hess ? made->hess + first : NULL;
    query->gradient = made->gradient ? made->gradient + first : NULL;
    query->hessian = made->hessian ? made->hessian + first : NULL;
}

/* Returns the query with one of its documents' labels. */
static struct rw_objective_query query_by(const struct rw_gradients *g, uint32_t q,
                                          struct rw_share *share, int label)
{
    const size_t own = (size_t)share->thread * g->longest;
    const uint32_t first = g->dataset->query_offset[q];
    const float *labels = rw_dataset_labels_of(g->dataset, label);
    struct rw_objective_query query = {
        .n = g->dataset->query_offset[q + 1] - first,
        .first_document = g->first_doc + first,
        .tree = g->tree,
        .isa = g->engine.isa,
        .share = share,
        .fast = !g->engine.is_plain,
        .scores = g->scores + first,
        .labels = labels ? labels + first : NULL,
        .weights = g->dataset->weight ? g->dataset->weight + first : NULL,
        .gains = g->gains ? g->gains + (size_t)label * g->dataset->n_docs + first : NULL,
        .discounts = g->discount,
        .positions = g->position,
        .ideal = g->ideal ? g->ideal[(size_t)label * g->dataset->n_queries + q] : 0.0,
        .pairs =
            g->dataset->pairs.item ? g->dataset->pairs.item + g->dataset->pairs.offset[q] : NULL,
        .n_pairs = g->dataset->pairs.item
                       ? g->dataset->pairs.offset[q + 1] - g->dataset->pairs.offset[q]
                       : 0,
        .first_row = first,
        .order = g->order + own,
        .scratch = g->scratch + own * (size_t)g->objective->scratch,
        .state = g->state,
        .thread = share->thread};
    write_to(&query, &g->made, first);
    return query;
}

/* Adds a label's lambdas times its weight. Integers are rounded once per label. */
static void add_label(const struct rw_objective_query *sum, const struct rw_objective_query *query,
                      double weight)
{
    const double by = weight * rw_pow2(-RW_LAMBDA_EXPONENT);
    for (uint32_t i = 0; i < sum->n; i++) {
        if (sum->lambda) {
            sum->lambda[i] += rw_round_int64(weight * (double)query->lambda[i]);
            sum->hess[i] += rw_round_int64(weight * (double)query->hess[i]);
        } else {
            sum->gradient[i] +=
                query->lambda ? by * (double)query->lambda[i] : weight * query->gradient[i];
            sum->hessian[i] +=
                query->lambda ? by * (double)query->hess[i] : weight * query->hessian[i];
        }
    }
}

/* Sums the labels' lambdas, each times its weight, in the order of the labels. */
static void run_labels(const struct rw_gradients *g, uint32_t q, struct rw_share *share)
{
    const struct rw_objective_query sum = query_by(g, q, share, 0);
    for (uint32_t i = 0; i < sum.n; i++) {
        if (sum.lambda)
            sum.lambda[i] = sum.hess[i] = 0;
        else
            sum.gradient[i] = sum.hessian[i] = 0.0;
    }
    for (int k = 0; k < g->rule.n_labels; k++) {
        struct rw_objective_query query = query_by(g, q, share, k);
        struct rw_objective_rule rule = g->rule;
        rule.max_gain = rule.label[k].max_gain;
        query.weights = rule.in_doubles ? NULL : query.weights;
        write_to(&query, &g->of_one_label, (size_t)share->thread * g->longest);
        g->objective->query(&rule, &query);
        add_label(&sum, &query, rule.label[k].weight);
    }
}

static int run_queries(void *user, struct rw_share *share)
{
    const struct rw_gradients *g = user;
    RW_SHARE_EACH(share, q) {
        if (g->engine.keep && !g->engine.keep[q])
            continue;
        const struct rw_objective_query query = query_by(g, (uint32_t)q, share, 0);
        if (g->rule.n_labels)
            run_labels(g, (uint32_t)q, share);
        else
            g->objective->query(&g->rule, &query);
    }
    return RW_OK;
}

int rw_gradients_run(struct rw_gradients *g, uint32_t tree, double rate, const double *scores,
                     const struct rw_user_gradients **out)
{
    g->tree = tree;
    g->scores = scores;
    *out = &g->made;
    const struct rw_objective_state *state = g->objective->state;
    if (g->hooks &&
        g->hooks->gradients(g->hooks->user, g->dataset, scores, g->made.gradient, g->made.hessian))
        return rw_fail(g->ctx, RW_ERR_INTERRUPTED, "the custom objective failed");
    if (g->hooks)
        return RW_OK;
    if (!state)
        return rw_parallel_long(g->ctx, g->n_threads, g->dataset->n_queries, 4, run_queries, g);
    state->begin(g->state);
    RW_TRY(rw_parallel(g->ctx, g->n_threads, g->dataset->n_queries, 4, run_queries, g));
    return state->end(g->state, rate);
}

/* ---- the objective's state ---- */

/* Returns 1 if the last run was for a tree that is not one of the first n_trees. */
static int is_before(const struct rw_gradients *g, uint32_t n_trees)
{
    return n_trees <= g->tree;
}

int rw_gradients_print(struct rw_ctx *ctx, const struct rw_gradients *g, uint32_t n_trees,
                       char **text)
{
    const struct rw_objective_state *state = g->objective->state;
    *text = NULL;
    return state ? state->print(ctx, g->state, is_before(g, n_trees), text) : RW_OK;
}

int rw_gradients_read(struct rw_gradients *g, int is_given, const char *name, const char *text,
                      size_t n)
{
    const struct rw_objective_state *state = g->objective->state;
    return state ? state->read(g->state, is_given, name, text, n) : RW_OK;
}

int rw_gradients_report(struct rw_ctx *ctx, const struct rw_gradients *g, int n_rounds,
                        const struct rw_train_hooks *hooks)
{
    if (!g || !hooks || !g->objective->state)
        return RW_OK;
    return g->objective->state->report(ctx, g->state, is_before(g, (uint32_t)n_rounds), n_rounds,
                                       hooks);
}

void *rw_gradients_state(struct rw_gradients *g)
{
    return g->state;
}
