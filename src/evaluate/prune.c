/* Removes trees that hardly change a metric. This file finds the order of removal, measures the
 * loss on the way, and chooses the smallest model within the permitted loss. If the model averages
 * bags, it removes whole rounds. In this file a round is a group of trees that are removed
 * together. */
#include <stdlib.h>

#include "evaluate/evaluate.h"

/* The table has a row for the whole model, for the chosen one, and for each of these percentages of
 * the trees. */
static const int shown[] = {90, 80, 70, 60, 50, 40, 30, 20, 10, 5, 2, 1};
enum { MOST_ROWS = 2 + sizeof(shown) / sizeof(shown[0]) };

/* A struct rw_pruned and its parts, which are freed together. */
struct pruned {
    struct rw_pruned pruned;
    struct rw_prune_row row[MOST_ROWS];
    struct rw_metric metric; /* stores the name */
    char conventions[256];
};

struct pruning {
    struct rw_ctx *ctx; /* borrowed, as are the next three */
    const struct rw_eval_params *how;
    const struct rw_model *model;
    const struct rw_dataset *dataset;
    struct rw_measure measure; /* owned */
    double whole;              /* the metric of the whole model */
    struct rw_arena arena;     /* owns all arrays */
    double *scores;            /* [n_docs] of the whole model */
    /* [n_docs] left: scores of the remaining trees; tree: of one round; without: left minus tree */
    double *left, *tree, *without;
    int32_t n_rounds;
    int32_t *first;   /* [n_rounds + 1] the first tree of each round, and n_trees */
    int32_t *order;   /* [n_trees] rounds in the order of removal */
    double *loss;     /* [n_order] loss[k]: loss after k + 1 removals, up to rounding */
    int32_t n_order;  /* number of removals */
    double *held_out; /* [n_order] as `loss`, on queries that did not choose the order; NULL: the
                         order is fixed (RW_PRUNE_LAST) */
};

static void release(struct pruning *p)
{
    rw_judgments_release(&p->measure.judgments);
    rw_arena_free(&p->arena);
}

/* Returns the same task for one half of the data, with nothing prepared yet. */
static struct pruning half_of(const struct pruning *p, const struct rw_dataset *dataset)
{
    return (struct pruning){.ctx = p->ctx, .how = p->how, .model = p->model, .dataset = dataset};
}

/* Measures how much worse the scores are than those of the whole model. */
static int find_loss(const struct pruning *p, const double *scores, double *loss)
{
    double value;
    RW_TRY(rw_measure_scores(&p->measure, scores, &value));
    *loss = rw_measure_loss(&p->measure, p->whole, value);
    return RW_OK;
}

static int prepare(struct pruning *p)
{
    const size_t n = p->dataset->n_docs, n_trees = (size_t)p->model->n_trees;
    RW_TRY(rw_measure_init(p->ctx, p->how, p->dataset, "prune by", &p->measure));
    if (n_trees == 0)
        return rw_fail(p->ctx, RW_ERR_ARGUMENT, "the model to prune has no trees");
    RW_TRY(RW_ARENA_NEW(p->ctx, &p->arena, p->scores, n));
    RW_TRY(RW_ARENA_NEW(p->ctx, &p->arena, p->left, n));
    RW_TRY(RW_ARENA_NEW(p->ctx, &p->arena, p->tree, n));
    RW_TRY(RW_ARENA_NEW(p->ctx, &p->arena, p->without, n));
    RW_TRY(RW_ARENA_NEW(p->ctx, &p->arena, p->order, n_trees));
    RW_TRY(RW_ARENA_NEW(p->ctx, &p->arena, p->loss, n_trees));
    RW_TRY(RW_ARENA_NEW(p->ctx, &p->arena, p->first, n_trees + 1));
    while (p->first[p->n_rounds] < p->model->n_trees) {
        p->first[p->n_rounds + 1] = rw_model_round_end(p->model, p->first[p->n_rounds]);
        p->n_rounds++;
    }
    RW_TRY(rw_predict(p->ctx, p->model, p->dataset, 0, p->scores));
    RW_TRY(rw_measure_scores(&p->measure, p->scores, &p->whole));
    if (p->whole != p->whole)
        return rw_fail(p->ctx, RW_ERR_DATA, "no query of the data counts for %s",
                       p->measure.metric.name);
    return RW_OK;
}

/* ---- the order ---- */

/* Scores all documents by a round. The progress counts documents. */
static int predict_round(const struct pruning *p, int32_t round)
{
    const int32_t t = p->first[round];
    const struct rw_model one = {.n_trees = p->first[round + 1] - t,
                                 .tree = &p->model->tree[t],
                                 .absent_missing = p->model->absent_missing};
    RW_TRY(rw_predict(p->ctx, &one, p->dataset, 0, p->tree));
    rw_stage_add(p->ctx, p->dataset->n_docs);
    return rw_poll(p->ctx);
}

/* Subtracts the scores of a round from the remaining ones, appends the round to the order, and
 * measures the loss without it. */
static int drop(struct pruning *p, int32_t round)
{
    RW_TRY(predict_round(p, round));
    for (uint32_t doc = 0; doc < p->dataset->n_docs; doc++)
        p->left[doc] -= p->tree[doc];
    p->order[p->n_order] = round;
    return find_loss(p, p->left, &p->loss[p->n_order++]);
}

/* Returns a candidate's round. Ids count from the last round, so that of equal candidates the last
 * is removed first. */
static int32_t round_of(const struct pruning *p, const struct rw_keyed *candidate)
{
    return p->n_rounds - 1 - (int32_t)candidate->id;
}

/* Computes the loss of the remaining trees without each candidate, as the candidate's key. */
static int weigh(struct pruning *p, struct rw_keyed *candidate, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        RW_TRY(predict_round(p, round_of(p, &candidate[i])));
        for (uint32_t doc = 0; doc < p->dataset->n_docs; doc++)
            p->without[doc] = p->left[doc] - p->tree[doc];
        RW_TRY(find_loss(p, p->without, &candidate[i].key));
    }
    return RW_OK;
}

static int32_t n_dropped_at_once(enum rw_prune_order order, int32_t n)
{
    return order == RW_PRUNE_LAST ? n - 1 : n > 7 ? n / 4 : 1;
}

/* Returns 1 if the round may be removed. A base score (a tree of one leaf, not 0) may not. */
static int is_candidate(const struct rw_tree *tree)
{
    return tree->n_leaves > 1 || tree->leaf[0] == 0.0f;
}

/* Returns how often the search for an order scores the data by one round, for the progress.
 * *n_dropped: the number of removals. */
static int n_scorings(const struct rw_model *model, enum rw_prune_order order, int32_t *n_dropped)
{
    int32_t n = 0;
    int count = 0;
    for (int32_t t = 0; t < model->n_trees; t = rw_model_round_end(model, t))
        n += is_candidate(&model->tree[t]);
    *n_dropped = n > 0 ? n - 1 : 0;
    for (int32_t n_drop; n > 1; n -= n_drop) {
        n_drop = n_dropped_at_once(order, n);
        count += (order == RW_PRUNE_ANY ? n : 0) + n_drop;
    }
    return count;
}

/* Removes candidates in steps until one is left, whatever the loss. RW_PRUNE_ANY computes the
 * candidates' losses again before each step. */
static int drop_all(struct pruning *p, enum rw_prune_order order, struct rw_keyed *candidate,
                    int32_t n)
{
    while (n > 1) {
        const int32_t n_drop = n_dropped_at_once(order, n);
        if (order == RW_PRUNE_ANY) {
            RW_TRY(weigh(p, candidate, n));
            RW_SORT(candidate, (size_t)n, rw_by_key);
        }
        for (int32_t i = 0; i < n_drop; i++)
            RW_TRY(drop(p, round_of(p, &candidate[i])));
        n -= n_drop;
        memmove(candidate, candidate + n_drop, (size_t)n * sizeof(*candidate));
    }
    return RW_OK;
}

static int find_order(struct pruning *p, enum rw_prune_order order)
{
    struct rw_keyed *candidate;
    int32_t n = 0;
    RW_TRY(RW_ARENA_NEW(p->ctx, &p->arena, candidate, (size_t)p->n_rounds));
    for (int32_t id = 0; id < p->n_rounds; id++) {
        candidate[n].id = (uint32_t)id;
        n += is_candidate(&p->model->tree[p->first[round_of(p, &candidate[n])]]);
    }
    memcpy(p->left, p->scores, p->dataset->n_docs * sizeof(double));
    return drop_all(p, order, candidate, n);
}

/* ---- held out ---- */

/* Removes rounds in the order that one part of the queries chooses, and measures on the other part:
 * after k + 1 removals half of the loss is added to loss[k]. */
static int follow(const struct pruning *whole, const struct rw_dataset *chooses,
                  const struct rw_dataset *measures, double *loss)
{
    RW_RELEASED(release) struct pruning one = half_of(whole, chooses);
    RW_RELEASED(release) struct pruning two = half_of(whole, measures);
    RW_TRY(prepare(&one));
    RW_TRY(prepare(&two));
    RW_TRY(find_order(&one, RW_PRUNE_ANY));
    memcpy(two.left, two.scores, measures->n_docs * sizeof(double));
    for (int32_t k = 0; k < one.n_order; k++) {
        RW_TRY(drop(&two, one.order[k]));
        loss[k] += two.loss[k] / 2.0;
    }
    return RW_OK;
}

/* Queries on which the trees were chosen underestimate the loss, because the choice also fits their
 * noise. Each half therefore measures the order that the other half chooses. */
static int hold_out(struct pruning *p)
{
    struct rw_dataset *half[2];
    int status;
    RW_TRY(RW_ARENA_NEW(p->ctx, &p->arena, p->held_out, (size_t)p->model->n_trees));
    RW_TRY_OUT(rw_halves(
        p->ctx, p->dataset, NULL, p->how->seed, "data",
        "chooses trees, the other one measures; dropping the last trees needs no choice", half));
    for (int h = 0; h < 2; h++)
        RW_TRY_OUT(follow(p, half[h], half[!h], p->held_out));
out:
    rw_dataset_free(half[0]);
    rw_dataset_free(half[1]);
    return status;
}

/* ---- the table ---- */

/* Copies the model without the first n_dropped rounds of the order. The copy borrows from the whole
 * model. */
static int select_trees(const struct pruning *p, int32_t n_dropped, struct rw_arena *arena,
                        struct rw_model *out)
{
    uint8_t *keep;
    RW_TRY(RW_ARENA_NEW(p->ctx, arena, keep, (size_t)p->model->n_trees));
    memset(keep, 1, (size_t)p->model->n_trees);
    for (int32_t i = 0; i < n_dropped; i++) {
        for (int32_t t = p->first[p->order[i]]; t < p->first[p->order[i] + 1]; t++)
            keep[t] = 0;
    }
    return rw_model_some(p->ctx, p->model, keep, arena, out);
}

static int fill_row(struct pruning *p, const struct rw_model *model, struct pruned *made,
                    struct rw_prune_row *row)
{
    RW_SCOPED(rw_free) struct rw_comparison *comparison = NULL;
    RW_SCOPED(rw_free) char *text = NULL;
    size_t n_bytes;
    RW_TRY(rw_poll(p->ctx));
    RW_TRY(rw_predict(p->ctx, model, p->dataset, 0, p->left));
    RW_TRY(rw_compare(p->ctx, p->how, p->dataset, p->scores, p->left, NULL, &comparison));
    RW_TRY(rw_model_write_memory(p->ctx, model, &text, &n_bytes));
    row->n_trees = model->n_trees;
    row->n_bytes = n_bytes;
    for (int32_t t = 0; t < model->n_trees; t++)
        row->n_leaves += (uint64_t)model->tree[t].n_leaves;
    row->compared = comparison->all;
    row->held_out = p->held_out && model == p->model ? 0.0 : (double)NAN;
    made->pruned.n_samples = comparison->n_samples;
    snprintf(made->conventions, sizeof(made->conventions), "%s", comparison->conventions);
    return RW_OK;
}

/* Finds the smallest number of rounds within the loss. Losses of the search have the rounding of
 * repeated subtraction, so a candidate is measured again by its own scores. */
static int choose(struct pruning *p, double most_loss, struct rw_model **out, int32_t *n_dropped)
{
    for (int32_t n = p->n_order;; n--) {
        RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
        struct rw_model some;
        double loss = 0.0;
        if (n > 0 &&
            (!(p->loss[n - 1] <= most_loss) || (p->held_out && !(p->held_out[n - 1] <= most_loss))))
            continue;
        RW_TRY(select_trees(p, n, &arena, &some));
        if (n > 0) {
            RW_TRY(rw_poll(p->ctx));
            RW_TRY(rw_predict(p->ctx, &some, p->dataset, 0, p->left));
            RW_TRY(find_loss(p, p->left, &loss));
        }
        *n_dropped = n;
        if (n == 0 || loss <= most_loss)
            return rw_model_copy(p->ctx, &some, out);
    }
}

static int add_row(struct pruning *p, int32_t n_dropped, struct pruned *made)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    struct rw_model some;
    struct rw_prune_row *row = &made->row[made->pruned.n_rows];
    RW_TRY(select_trees(p, n_dropped, &arena, &some));
    const int status = fill_row(p, &some, made, row);
    if (p->held_out)
        row->held_out = p->measure.metric.kind->lower_is_better ? p->held_out[n_dropped - 1]
                                                                : -p->held_out[n_dropped - 1];
    made->pruned.n_rows++;
    return status;
}

/* Adds the rows, with falling numbers of trees, each number once. */
static int make_table(struct pruning *p, int32_t chosen, struct pruned *made)
{
    struct rw_pruned *pruned = &made->pruned;
    const int32_t n = p->n_rounds;
    int32_t last = 0;
    pruned->n_rows = 1;
    RW_TRY(fill_row(p, p->model, made, &made->row[0]));
    for (size_t i = 0; i <= sizeof(shown) / sizeof(shown[0]); i++) {
        const int is_end = i == sizeof(shown) / sizeof(shown[0]);
        const int32_t kept = is_end ? 0 : (int32_t)(((int64_t)n * shown[i] + 99) / 100);
        const int32_t dropped = n - kept;
        if (last < chosen && (is_end || chosen <= dropped)) {
            pruned->chosen = pruned->n_rows;
            RW_TRY(add_row(p, chosen, made));
            last = chosen;
        }
        if (!is_end && dropped > last && dropped <= p->n_order) {
            RW_TRY(add_row(p, dropped, made));
            last = dropped;
        }
    }
    return RW_OK;
}

/* Frees the members that the result's arena does not own. */
static void free_model(void *pruned)
{
    rw_model_free(((struct rw_pruned *)pruned)->model);
}

static int prune(struct pruning *p, double most_loss, enum rw_prune_order order,
                 struct pruned *made)
{
    struct rw_pruned *pruned = &made->pruned;
    int32_t n_dropped;
    RW_TRY(rw_arena_own(p->ctx, rw_result_arena(made), pruned, free_model));
    RW_TRY(prepare(p));
    rw_score_map_leave_out(p->ctx, &p->model->map);
    /* the halves take one more search, and score the removed trees */
    int n_scored = n_scorings(p->model, order, &n_dropped);
    n_scored += order == RW_PRUNE_ANY ? n_scored + n_dropped : 0;
    const int counts =
        rw_stage_begin(p->ctx, "pruning", (uint64_t)n_scored * p->dataset->n_docs, 0);
    int status = find_order(p, order);
    if (status >= 0 && order == RW_PRUNE_ANY)
        status = hold_out(p);
    rw_stage_end(p->ctx, counts);
    RW_TRY(status);
    RW_TRY(choose(p, most_loss, &pruned->model, &n_dropped));
    RW_TRY(make_table(p, n_dropped, made));
    made->metric = p->measure.metric;
    pruned->metric = made->metric.name;
    pruned->conventions = made->conventions;
    pruned->lower_is_better = made->metric.kind->lower_is_better;
    pruned->rows = made->row;
    return RW_OK;
}

int rw_prune(struct rw_ctx *ctx, const struct rw_eval_params *how, const struct rw_model *model,
             const struct rw_dataset *dataset, double most_loss, enum rw_prune_order order,
             struct rw_pruned **out)
{
    RW_DEFAULT_FPENV;
    RW_RELEASED(release)
    struct pruning p = {.ctx = ctx, .how = how, .model = model, .dataset = dataset};
    RW_SCOPED(rw_free) struct pruned *made = NULL;
    *out = NULL;
    if (!(most_loss >= 0.0) || (unsigned)order > RW_PRUNE_LAST)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "loss is %g; expected 0 or more", most_loss);
    if (how->like) /* the search for trees measures by Rankwood's conventions */
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'like' is set; pruning supports NULL only");
    RW_TRY(rw_result_new(ctx, (void **)&made, sizeof(*made)));
    RW_TRY(prune(&p, most_loss, order, made));
    *out = &RW_TAKE(made)->pruned;
    return RW_OK;
}
