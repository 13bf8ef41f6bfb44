/* Tuning: a search for parameters by successive halving over rounds (Jamieson and Talwalkar,
 * "Non-stochastic best arm identification and hyperparameter optimization", 2016). Rungs, brackets
 * and the choice are described at rw_tune in rankwood.h, and the space in tune_space.c.
 *
 * A part is a training set and a set that measures it: the validation set, or one for each fold. A
 * training reports the metric of each query after each round (struct rw_trial), and has no early
 * stopping of its own. The curve of a trial has these values for all parts. Every decision is
 * made three times, for three subsets of the queries: all of them, and each half. Only the
 * decisions for all queries choose the parameters. Those for a half serve the estimate, which
 * measures them on the other half. Decisions for a half use no value of the other half, so that the
 * estimate is honest.
 *
 * A trial that stays keeps its curve and its unfinished trainings. The next rung continues them
 * (rw_train_further), which gives the values of a training from the start. Trials of a rung on
 * small data, or on a GPU, run in parallel, as folds of a cross-validation do. They are
 * independent, so the number of threads does not matter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "io/input.h"
#include "params/params.h"
#include "train/train.h"

enum {
    BRACKET_TRIALS = 9,
    MOST_BRACKETS = 4, /* that run at the same time */
    RUNG_TRIALS = MOST_BRACKETS * BRACKET_TRIALS,
    KEPT_PART = 3,     /* a rung keeps 1 in 3 */
    N_RUNGS = 3,       /* the last one is whole */
    N_SUBSETS = 3,     /* all queries, the first half, the second half */
    LEVEL_ERRORS = 1,  /* standard errors that a level trial may be worse than the best */
    BETTER_ERRORS = 2, /* standard errors by which a chosen trial is better than trial 0 */
    OUT_OF_TIME = 1
};
/* Length of the rungs before the last, in units of what trial 0 needed. */
static const double rung_length[N_RUNGS - 1] = {1.0 / 3.0, 1.0};

/* The values of a trial after each round, and the trainings that have them. */
struct curve {
    const struct tuning *t;       /* NULL: no training yet, and all members are zero */
    struct rw_checkpoint *paused; /* [n_parts] unfinished trainings; owned, as are all arrays */
    int *ended;                   /* [n_parts] their rounds */
    int n_rounds;                 /* the most rounds of a part */
    int length;                   /* most rounds of a training */
    float *value;                 /* [n_rounds][n] */
    double *mean;                 /* [n_rounds][N_SUBSETS] */
    size_t value_room, mean_room;
    /* ---- of the current training ---- */

    struct rw_ctx *ctx; /* borrowed */
    const struct part *part;
    const uint8_t *is_alive; /* [N_SUBSETS] of the trial; the others do not matter; borrowed */
    int round;               /* rounds of the training so far */
};

struct trial {
    struct rw_tune_trial out;
    struct rw_params *params; /* for the final training; owned, as is `used` */
    struct rw_params *used;   /* the same with `auto` resolved for the whole training set */
    double leaves;            /* maximum per round */
    double rate;              /* of the first round */
    uint8_t is_alive[N_SUBSETS], is_whole[N_SUBSETS];
    int rounds[N_SUBSETS]; /* best number of rounds */
    double mean[N_SUBSETS];
    float *value[N_SUBSETS]; /* [n] values of all queries after these rounds */
    struct curve curve;      /* of a trial that may continue */
    int is_refused;          /* 1: its parameters contradict each other */
    int status;              /* of the last training */
    char failure[512];
};

struct part {
    struct rw_dataset *own[2];   /* training and measuring set of a fold; owned */
    struct rw_resident resident; /* owned */
    struct rw_measure measure;   /* of the measuring set */
    uint32_t *slot;              /* [its n_queries] index in curves; UINT32_MAX: not counted */
};

/* A struct rw_tuned and its parts, which are freed together. */
struct made {
    struct rw_tuned tuned;
    struct trial **trial; /* [n_trials] the arena owns them */
    size_t room;
    int n_trials; /* of all brackets, also of an unfinished one */
    struct rw_tune_space space;
    struct rw_metric metric;
    char conventions[512];
};

struct tuning {
    struct rw_ctx *ctx; /* borrowed, as are the next five */
    const struct rw_params *given;
    const struct rw_dataset *train, *valid;
    const struct rw_dataset *measured; /* the set that is measured, by parts or whole; borrowed */
    const struct rw_tune_options *options;
    struct made *made;        /* owned; its arena owns all arrays */
    struct rw_params *params; /* a copy of `given`; owned */
    struct part *part;        /* [n_parts] */
    int n_parts;
    int at_once; /* trainings that run at the same time */
    /* Counted queries in the order of curves: those of the first half, then the second. */
    uint32_t n, begin[N_SUBSETS], end[N_SUBSETS]; /* subset s is begin[s] to end[s] */
    double *weight;                               /* [n] */
    const char *what;    /* name of the search in messages: "tuning", or the rule that needs it */
    const char *purpose; /* "tune by"; NULL: of several metrics the first one counts */
    int is_paired;       /* 1: rounds are kept by the rule `paired`; 0: by `best` */
    double end_ms;       /* end of the search by time; 0: no such end */
    struct rw_tune_checkpoint checkpoint; /* owned */
    rw_log_fn log;                        /* the context's; off until the final training */
};

/* ---- the curve of a trial ---- */

static void curve_release(struct curve *c)
{
    for (int p = 0; c->paused && p < c->t->n_parts; p++)
        rw_checkpoint_release(&c->paused[p]);
    rw_mem_free(c->paused);
    rw_mem_free(c->ended);
    rw_mem_free(c->value);
    rw_mem_free(c->mean);
    *c = (struct curve){0};
}

static void measure_round(struct curve *c, int round)
{
    const struct tuning *t = c->t;
    const float *value = c->value + (size_t)round * t->n;
    for (int s = 0; s < N_SUBSETS; s++) {
        double sum = 0.0, weight = 0.0;
        for (uint32_t q = t->begin[s]; q < t->end[s]; q++) {
            sum += t->weight[q] * (double)value[q];
            weight += t->weight[q];
        }
        c->mean[round * N_SUBSETS + s] = sum / weight;
    }
}

/* Takes the values of the queries of a part after a round. */
static int take_values(void *user, const double *per_query)
{
    struct curve *c = user;
    const struct part *part = c->part;
    const size_t n = c->t->n, at = (size_t)c->round;
    if (c->t->valid && c->ctx->valid_is_train)
        return rw_fail(c->ctx, RW_ERR_DATA,
                       "the validation set is the training set: %s needs other queries",
                       c->t->what);
    RW_TRY(RW_GROW(c->ctx, c->value, c->value_room, (at + 1) * n));
    RW_TRY(RW_GROW(c->ctx, c->mean, c->mean_room, (at + 1) * N_SUBSETS));
    for (uint32_t q = 0; q < part->resident.valid.n_queries; q++) {
        if (part->slot[q] != UINT32_MAX)
            c->value[at * n + part->slot[q]] = (float)per_query[q];
    }
    c->round++;
    return RW_OK;
}

/* Returns the best one of the first `limit` rounds for a subset, as early stopping finds it: rounds
 * after its patience do not count. Without early stopping, it is the last one. *is_over: 1 if later
 * rounds cannot change it. */
static int best_round(const struct curve *c, int subset, int limit, int *is_over)
{
    const struct rw_params *params = c->t->params;
    const int n = limit < c->n_rounds ? limit : c->n_rounds;
    int best = 0;
    *is_over = 0;
    if (params->early_stop == 0)
        return n;
    for (int r = 1; r < n && !*is_over; r++) {
        const double by = c->mean[r * N_SUBSETS + subset] - c->mean[best * N_SUBSETS + subset];
        if (by > params->early_stop_delta)
            best = r;
        *is_over = r - best >= params->early_stop;
    }
    return best + 1;
}

/* Calls rw_stop_is_level for the queries of a subset. */
static int is_level(const struct curve *c, int subset, int best, int round)
{
    const struct tuning *t = c->t;
    const uint32_t begin = t->begin[subset], n = t->end[subset] - begin;
    double noise;
    return rw_stop_is_level(c->value + (size_t)(best - 1) * t->n + begin,
                            c->value + (size_t)(round - 1) * t->n + begin, t->weight + begin, n,
                            1.0, &noise);
}

/* Returns the round that a training keeps whose early stopping sees only a subset. best: its best
 * round, after which it trains as many rounds as its patience. */
static int kept_round(const struct curve *c, int subset, int best)
{
    const int most = best + c->t->params->early_stop;
    const int n = most < c->n_rounds ? most : c->n_rounds;
    int n_level = 0, kept = best;
    if (!c->t->is_paired)
        return best;
    for (int r = 1; r <= n; r++)
        n_level += is_level(c, subset, best, r);
    for (int r = 1, before = n_level / 2; r <= n && before >= 0; r++) {
        kept = r;
        before -= is_level(c, subset, best, r);
    }
    return kept;
}

/* Returns 1 if later rounds cannot change the best one of any subset. */
static int is_over_for_all(const struct curve *c)
{
    int is_over = 1, one;
    for (int s = 0; s < N_SUBSETS; s++) {
        best_round(c, s, c->length, &one);
        is_over &= one || !c->is_alive[s];
    }
    return is_over;
}

/* With one part, the means are known after each round, and training stops when they are over. */
static int on_round(void *user, const struct rw_round *round)
{
    struct curve *c = user;
    (void)round;
    if (c->t->n_parts > 1)
        return 0;
    c->n_rounds = c->round;
    measure_round(c, c->round - 1);
    return is_over_for_all(c);
}

/* Continues the training of part p up to round c->length. */
static int train_part(struct curve *c, int p, const struct trial *trial)
{
    const struct rw_train_hooks hooks = {.user = c, .on_round = on_round};
    const struct rw_trial further = {
        .paused = &c->paused[p], .take_values = take_values, .user = c};
    struct rw_model *none;
    struct rw_params params = *trial->used; /* texts are borrowed */
    params.rounds = c->length;
    params.early_stop = 0;
    params.metric_on_train = 0;
    params.ties = RW_TIES_MEAN;
    params.threads = 0; /* parallel trials share the threads */
    params.is_set[RW_AT_PARAM_threads] = 0;
    c->part = &c->t->part[p];
    c->round = c->ended[p];
    const int status =
        rw_resident_train(&c->part->resident, c->ctx, &params, &hooks, &further, &none);
    c->ended[p] = c->round;
    return status;
}

/* Continues the training of all parts up to round c->length, unless it is over. A part that ended
 * early, because its trees could not split, keeps its last values. */
static int train_parts(struct curve *c, const struct trial *trial)
{
    const struct tuning *t = c->t;
    if (c->n_rounds > 0 && (c->n_rounds >= c->length || is_over_for_all(c)))
        return RW_OK;
    for (int p = 0; p < t->n_parts; p++) {
        RW_TRY(train_part(c, p, trial));
        c->n_rounds = c->round > c->n_rounds ? c->round : c->n_rounds;
    }
    for (int p = 0; p < t->n_parts; p++) {
        const struct part *part = &t->part[p];
        for (int r = c->ended[p]; r < c->n_rounds; r++) {
            for (uint32_t q = 0; q < part->resident.valid.n_queries; q++) {
                float *row = c->value + (size_t)r * t->n;
                if (part->slot[q] != UINT32_MAX)
                    row[part->slot[q]] = *(row - t->n + part->slot[q]);
            }
        }
    }
    for (int r = 0; r < c->n_rounds; r++)
        measure_round(c, r);
    return RW_OK;
}

/* ---- one trial in one rung ---- */

/* Returns the number of rounds of a rung for a subset. All learning rates cover the same way. */
static int rounds_of(const struct tuning *t, const struct trial *trial, int rung, int subset)
{
    enum { LEAST = 5 };
    const struct trial *first = t->made->trial[0];
    const int most = trial->used->rounds;
    if (rung == N_RUNGS - 1)
        return most;
    const double way = (double)first->rounds[subset] * first->rate * rung_length[rung];
    const double rounds = ceil(way / trial->rate);
    const double least = LEAST < most ? LEAST : most;
    return (int)(rounds < least ? least : rounds > most ? most : rounds);
}

/* Trains a trial for the rounds of a rung. With several parts, a whole training continues in steps
 * until it is over for all parts together. */
static int train_trial(const struct tuning *t, struct rw_ctx *ctx, struct trial *trial, int rung)
{
    struct curve *c = &trial->curve;
    const int most = trial->used->rounds, is_last = rung == N_RUNGS - 1;
    const int patience = t->params->early_stop;
    const int step = t->n_parts == 1 || patience == 0 ? most : patience;
    int limit[N_SUBSETS], is_over;
    if (!c->t) {
        c->t = t;
        RW_TRY(RW_NEW(ctx, c->paused, (size_t)t->n_parts));
        RW_TRY(RW_NEW(ctx, c->ended, (size_t)t->n_parts));
    }
    c->ctx = ctx;
    c->is_alive = trial->is_alive;
    c->length = c->n_rounds;
    for (int s = 0; s < N_SUBSETS; s++) {
        limit[s] = rounds_of(t, trial, rung, s);
        if (!is_last && trial->is_alive[s] && limit[s] > c->length)
            c->length = limit[s];
    }
    do {
        const int half = c->n_rounds / 2, next = c->n_rounds + (step > half ? step : half);
        c->length = !is_last ? c->length : next < most ? next : most;
        RW_TRY(train_parts(c, trial));
    } while (is_last && c->length < most && c->n_rounds == c->length && !is_over_for_all(c));
    for (int s = 0; s < N_SUBSETS; s++) {
        if (!trial->is_alive[s])
            continue;
        int best = best_round(c, s, limit[s], &is_over);
        best = is_last ? kept_round(c, s, best) : best;
        trial->rounds[s] = best;
        trial->mean[s] = c->mean[(best - 1) * N_SUBSETS + s];
        trial->is_whole[s] = (uint8_t)is_last;
        memcpy(trial->value[s], c->value + (size_t)(best - 1) * t->n, t->n * sizeof(float));
    }
    return RW_OK;
}

/* ---- the trials of one rung ---- */

struct rung {
    struct tuning *t;
    struct trial *trial[RUNG_TRIALS]; /* [n] */
    int is_done[RUNG_TRIALS];         /* [n] 1: its result is that of the checkpoint */
    int n, number;
};

enum { HEAD_BYTES = 64 };

/* Writes the begin of a trial's record. The result depends on nothing else. */
static void record_head(const struct rung *rung, const struct trial *trial, char text[HEAD_BYTES])
{
    snprintf(text, HEAD_BYTES, "trial %d rung %d alive %d%d%d", trial->out.number, rung->number,
             trial->is_alive[0], trial->is_alive[1], trial->is_alive[2]);
}

/* Reads or writes the result of a trial in a rung, after the head of the record. */
static int record(struct rw_words *w, const struct rung *rung, struct trial *trial)
{
    for (int s = 0; s < N_SUBSETS; s++) {
        if (!trial->is_alive[s])
            continue;
        RW_TRY(rw_words_count(w, " rounds ", "a number of rounds", trial->used->rounds,
                              &trial->rounds[s]));
        RW_TRY(rw_words_any_real(w, " mean ", "a number", &trial->mean[s]));
        trial->is_whole[s] = rung->number == N_RUNGS - 1;
        for (uint32_t q = 0; q < rung->t->n && trial->is_whole[s]; q++) /* others are not needed */
            RW_TRY(rw_words_float(w, " ", "a number", &trial->value[s][q]));
    }
    return rw_words_newline(w);
}

/* Takes the results that the checkpoint has. */
static int resume_rung(struct rung *rung)
{
    struct rw_tune_checkpoint *checkpoint = &rung->t->checkpoint;
    char head[HEAD_BYTES];
    for (int i = 0; i < rung->n && checkpoint->resumed; i++) {
        record_head(rung, rung->trial[i], head);
        rung->is_done[i] = rw_tune_checkpoint_find(checkpoint, head);
        if (rung->is_done[i])
            RW_TRY(record(&checkpoint->resume, rung, rung->trial[i]));
    }
    return RW_OK;
}

/* Adds the new results to the checkpoint, except those of failed trials, and writes it if there are
 * any. A failed write is a warning. */
static int save_rung(const struct rung *rung)
{
    struct tuning *t = rung->t;
    char head[HEAD_BYTES];
    int is_new = 0;
    for (int i = 0; i < rung->n; i++) {
        if (rung->trial[i]->status < 0 || rung->is_done[i])
            continue;
        is_new = 1;
        record_head(rung, rung->trial[i], head);
        RW_TRY(rw_words_take(&t->checkpoint.record, head));
        RW_TRY(record(&t->checkpoint.record, rung, rung->trial[i]));
    }
    if (!is_new || rw_tune_checkpoint_write(&t->checkpoint, t->ctx) >= 0)
        return RW_OK;
    t->ctx->log = t->log;
    rw_log(t->ctx, RW_LOG_WARNING, "the checkpoint was not written: %s", rw_last_error(t->ctx));
    t->ctx->log = NULL;
    return RW_OK;
}

/* Trains a trial and records its failure, unless it was interrupted. */
static int run_trial(void *user, struct rw_ctx *ctx, int i)
{
    const struct rung *rung = user;
    struct trial *trial = rung->trial[i];
    if (trial->is_refused || rung->is_done[i])
        return RW_OK;
    trial->status = train_trial(rung->t, ctx, trial, rung->number);
    if (trial->status < 0)
        snprintf(trial->failure, sizeof(trial->failure), "%s", rw_last_error(ctx));
    if (trial->status < 0 || rung->number == N_RUNGS - 1)
        curve_release(&trial->curve);
    return trial->status == RW_ERR_INTERRUPTED ? trial->status : RW_OK;
}

/* Trains all trials of a rung, several at the same time. Then repeats each failed one alone. The
 * results do not depend on the order. */
static int run_rung(struct tuning *t, struct rung *rung)
{
    RW_TRY(resume_rung(rung));
    RW_TRY(rw_jobs_run(t->ctx, t->at_once, rung->n, run_trial, rung));
    for (int i = 0; i < rung->n; i++) {
        struct trial *trial = rung->trial[i];
        if (trial->status < 0)
            RW_TRY(run_trial(rung, t->ctx, i));
    }
    if (t->checkpoint.path)
        RW_TRY(save_rung(rung));
    for (int i = 0; i < rung->n; i++) {
        struct trial *trial = rung->trial[i];
        if (trial->status >= 0)
            continue;
        memset(trial->is_alive, 0, sizeof(trial->is_alive));
        trial->out.failure = trial->failure;
    }
    return RW_OK;
}

/* Returns 1 if trial a ranks before b for a subset. */
static int ranks_before(const struct trial *a, const struct trial *b, int s)
{
    const double by = a->mean[s] - b->mean[s];
    return by > 0.0 || (by == 0.0 && a->out.number < b->out.number);
}

/* Keeps the best third of the living trials of each subset, rounded up. Frees the curves of the
 * others. */
static void halve(struct trial *const *trial, int n)
{
    uint8_t stays[BRACKET_TRIALS][N_SUBSETS] = {0};
    for (int s = 0; s < N_SUBSETS; s++) {
        int n_alive = 0;
        for (int i = 0; i < n; i++)
            n_alive += trial[i]->is_alive[s];
        for (int i = 0; i < n; i++) {
            int n_before = 0;
            for (int k = 0; k < n; k++)
                n_before += trial[k]->is_alive[s] && ranks_before(trial[k], trial[i], s);
            stays[i][s] = trial[i]->is_alive[s] && n_before * KEPT_PART < n_alive;
        }
    }
    for (int i = 0; i < n; i++) {
        memcpy(trial[i]->is_alive, stays[i], N_SUBSETS);
        if (!memchr(stays[i], 1, N_SUBSETS))
            curve_release(&trial[i]->curve);
    }
}

/* Completes the caller's view of the trials, and reports those that are alive for all queries. The
 * others serve the estimate only. */
static int report_rung(struct tuning *t, const struct rung *rung)
{
    const struct rw_tune_options *options = t->options;
    for (int i = 0; i < rung->n; i++) {
        const struct trial *trial = rung->trial[i];
        struct rw_tune_trial *out = &rung->trial[i]->out;
        out->is_whole = trial->is_whole[0];
        out->rounds = out->failure ? 0 : trial->rounds[0];
        out->leaves = out->rounds * trial->leaves;
        out->mean = out->failure ? (double)NAN : trial->mean[0];
        out->difference = out->error = (double)NAN;
        if ((trial->is_alive[0] || out->failure) && options->on_trial &&
            options->on_trial(options->user, out))
            return rw_fail(t->ctx, RW_ERR_INTERRUPTED, "tuning was interrupted");
    }
    return RW_OK;
}

/* ---- the search ---- */

/* Adds trial `number` with its parameters. */
static int add_trial(struct tuning *t)
{
    struct made *made = t->made;
    struct rw_arena *arena = rw_result_arena(made);
    const uint32_t number = (uint32_t)made->n_trials;
    struct trial *trial;
    const char **value;
    RW_TRY(RW_ARENA_NEW(t->ctx, arena, trial, 1));
    RW_TRY(RW_ARENA_NEW(t->ctx, arena, value, (size_t)made->space.n));
    RW_TRY(RW_ARENA_GROW(t->ctx, arena, made->trial, made->room, number + 1u));
    made->trial[made->n_trials++] = trial;
    RW_TRY(rw_params_copy(t->ctx, t->params, &trial->params));
    if (number > 0)
        RW_TRY(rw_tune_space_draw(t->ctx, &made->space, t->params->seed, number, trial->params));
    RW_TRY(rw_params_drop_idle(t->ctx, trial->params, &RW_FACTS_MEASURED(RW_FACT_UNKNOWN)));
    RW_TRY(rw_params_copy(t->ctx, trial->params, &trial->used));
    int status = rw_params_check(t->ctx, trial->used, RW_PARAMS_TRAIN);
    status = status < 0
                 ? status
                 : rw_params_resolve(t->ctx, trial->used, t->train->n_docs, t->train->n_columns, 1);
    trial->is_refused = status == RW_ERR_ARGUMENT;
    if (trial->is_refused)
        snprintf(trial->failure, sizeof(trial->failure), "%s", rw_last_error(t->ctx));
    else
        RW_TRY(status);
    trial->status = status;
    for (int i = 0; i < made->space.n; i++)
        RW_TRY(rw_arena_text(t->ctx, arena, &value[i],
                             rw_params_get(trial->used, made->space.name[i])));
    for (int s = 0; s < N_SUBSETS; s++) {
        RW_TRY(RW_ARENA_NEW(t->ctx, arena, trial->value[s], t->n));
        trial->is_alive[s] = 1;
    }
    trial->rate = rw_params_rate_of_round(trial->used, 0);
    trial->leaves = trial->used->grow == RW_GROW_LEAVES ? trial->used->leaves
                                                        : (double)(1 << trial->used->depth);
    trial->leaves *= trial->used->bags;
    trial->out =
        (struct rw_tune_trial){.number = (int)number, .values = value, .seed = trial->params->seed};
    return RW_OK;
}

/* Runs n trials: a bracket, or several at the same time, so that their last rungs keep the machine
 * busy, too. Brackets are independent. Returns OUT_OF_TIME if the time ended before the last rung.
 */
static int run_brackets(struct tuning *t, int n)
{
    const int first = t->made->n_trials;
    for (int i = 0; i < n; i++)
        RW_TRY(add_trial(t));
    struct trial *const *trial = t->made->trial + first;
    for (int number = first == 0 ? N_RUNGS - 1 : 0; number < N_RUNGS; number++) {
        struct rung rung = {.t = t, .number = number};
        for (int i = 0; i < n; i++) {
            if (memchr(trial[i]->is_alive, 1, N_SUBSETS))
                rung.trial[rung.n++] = trial[i];
        }
        RW_TRY(run_rung(t, &rung));
        if (first == 0 && trial[0]->status < 0)
            return rw_fail(t->ctx, trial[0]->status, "%s", trial[0]->failure);
        RW_TRY(report_rung(t, &rung));
        for (int i = 0; i < n && number < N_RUNGS - 1; i += BRACKET_TRIALS)
            halve(trial + i, n - i < BRACKET_TRIALS ? n - i : BRACKET_TRIALS);
        if (first > 0 && number < N_RUNGS - 1 && t->end_ms > 0.0 && rw_clock_ms() >= t->end_ms)
            return OUT_OF_TIME;
    }
    return RW_OK;
}

static int search(struct tuning *t)
{
    struct rw_tuned *tuned = &t->made->tuned;
    const int most = t->options->n_trials ? t->options->n_trials : INT32_MAX;
    /* brackets at the same time fill a GPU, but an interruption loses all of them */
    const int one = t->end_ms > 0.0 || t->part[0].resident.codes || t->at_once > MOST_BRACKETS;
    const int n_together = (one ? 1 : t->at_once) * BRACKET_TRIALS;
    RW_TRY(run_brackets(t, 1));
    tuned->n_trials = 1;
    while (tuned->n_trials < most) {
        const int left = most - tuned->n_trials, n = left < n_together ? left : n_together;
        const int is_late = t->end_ms > 0.0 && rw_clock_ms() >= t->end_ms;
        const int status = is_late ? OUT_OF_TIME : run_brackets(t, n);
        for (int i = tuned->n_trials; i < t->made->n_trials; i++)
            curve_release(&t->made->trial[i]->curve); /* of an unfinished bracket */
        tuned->is_interrupted = status == RW_ERR_INTERRUPTED;
        if (status == OUT_OF_TIME || tuned->is_interrupted)
            break;
        RW_TRY(status);
        tuned->n_trials += n;
    }
    int n_failed = 0;
    for (int i = 1; i < tuned->n_trials; i++)
        n_failed += t->made->trial[i]->status < 0;
    if (n_failed > 0 && n_failed == tuned->n_trials - 1)
        return rw_fail(t->ctx, t->made->trial[1]->status,
                       "all trials except trial 0 failed; trial 1: %s", t->made->trial[1]->failure);
    return RW_OK;
}

/* ---- the choice ---- */

/* Compares two whole trials. Returns 1 if b is better by more than n_errors standard errors.
 * difference: a minus b */
static int is_better(const struct tuning *t, const struct trial *b, const struct trial *a, int s,
                     int n_errors, double *difference, double *error)
{
    const uint32_t begin = t->begin[s];
    rw_paired_difference(a->value[s] + begin, b->value[s] + begin, t->weight + begin,
                         t->end[s] - begin, difference, error);
    return -*difference > n_errors * *error;
}

/* Returns the trial that the queries of a subset choose. Candidates are level with the best one,
 * and better than trial 0 by more than two standard errors. The one with the fewest leaves is
 * chosen. Without a candidate, it is trial 0. */
static int choose(const struct tuning *t, int s)
{
    struct trial *const *trial = t->made->trial;
    double difference, error;
    int best = 0, chosen = 0;
    for (int i = 1; i < t->made->tuned.n_trials; i++) {
        if (trial[i]->is_whole[s] && ranks_before(trial[i], trial[best], s))
            best = i;
    }
    for (int i = 0; i < t->made->tuned.n_trials; i++) {
        struct rw_tune_trial *out = &trial[i]->out;
        if (!trial[i]->is_whole[s])
            continue;
        const int is_level =
            !is_better(t, trial[best], trial[i], s, LEVEL_ERRORS, &difference, &error);
        if (s == 0) {
            out->difference = difference;
            out->error = error;
            out->is_level = is_level;
        }
        const double leaves = trial[i]->rounds[s] * trial[i]->leaves;
        if (is_level && is_better(t, trial[i], trial[0], s, BETTER_ERRORS, &difference, &error) &&
            (chosen == 0 || leaves < trial[chosen]->rounds[s] * trial[chosen]->leaves))
            chosen = i;
    }
    return chosen;
}

/* Measures the choice of each half on the other half. */
static int estimate(struct tuning *t)
{
    struct rw_tuned *tuned = &t->made->tuned;
    double *a RW_FREED = NULL, *b RW_FREED = NULL;
    RW_TRY(RW_NEW(t->ctx, a, t->n));
    RW_TRY(RW_NEW(t->ctx, b, t->n));
    for (int s = 1; s < N_SUBSETS; s++) {
        const struct trial *chosen = t->made->trial[choose(t, s)];
        const int other = N_SUBSETS - s;
        for (uint32_t q = t->begin[other]; q < t->end[other]; q++) {
            a[q] = (double)t->made->trial[0]->value[s][q];
            b[q] = (double)chosen->value[s][q];
        }
    }
    const struct rw_pairs pairs = {.n = t->n, .a = a, .b = b, .weight = t->weight};
    tuned->estimate.name = "";
    tuned->n_samples = RW_BOOTSTRAP_SAMPLES;
    return rw_significance(t->ctx, &pairs, t->params->seed, &tuned->estimate);
}

/* Trains the model of the chosen parameters. */
static int train_final(struct tuning *t)
{
    struct rw_tuned *tuned = &t->made->tuned;
    const struct rw_train_hooks hooks = {.user = t->options->user,
                                         .on_start = t->options->on_start};
    t->ctx->log = t->log;
    if (!t->valid)
        return rw_train(t->ctx, tuned->params, t->train, NULL, 0, &hooks, &tuned->model);
    return rw_resident_train(&t->part[0].resident, t->ctx, tuned->params, &hooks, NULL,
                             &tuned->model);
}

static int finish(struct tuning *t)
{
    struct made *made = t->made;
    struct rw_tuned *tuned = &made->tuned;
    struct rw_tune_trial *rows;
    RW_TRY(rw_poll_hold(t->ctx, NULL, NULL)); /* an interruption ends the search, but not this */
    tuned->chosen = choose(t, 0);
    int status = estimate(t);
    rw_poll_release(t->ctx);
    RW_TRY(status);
    RW_TRY(RW_ARENA_NEW(t->ctx, rw_result_arena(made), rows, (size_t)tuned->n_trials));
    for (int i = 0; i < tuned->n_trials; i++)
        rows[i] = made->trial[i]->out;
    tuned->trials = rows;
    struct trial *chosen = made->trial[tuned->chosen];
    tuned->params = chosen->params;
    tuned->params->rounds = chosen->rounds[0];
    tuned->params->early_stop = 0;
    return tuned->is_interrupted || t->options->without_model ? RW_OK : train_final(t);
}

/* ---- preparation ---- */

/* Prepares part p. fold_of: the folds of the queries; of no use with a validation set. */
static int prepare_part(struct tuning *t, const uint32_t *fold_of, uint32_t p)
{
    struct part *part = &t->part[p];
    const struct rw_dataset *valid = t->valid;
    struct rw_binned train = {.documents = (struct rw_dataset *)t->train};
    struct rw_params params = *t->params; /* texts are borrowed */
    params.min_docs = 1;                  /* the codes then serve every value */
    if (!valid) {
        for (int is_in = 0; is_in < 2; is_in++)
            RW_TRY(rw_folds_select(t->ctx, t->train, fold_of, p, p, is_in, &part->own[is_in]));
        train.documents = part->own[0];
        valid = part->own[1];
    }
    RW_TRY(rw_resident_init(&part->resident, t->ctx, &params, &train, valid));
    RW_TRY(rw_measure_init(t->ctx, rw_params_eval(t->params), valid, t->purpose, &part->measure));
    return RW_ARENA_NEW(t->ctx, rw_result_arena(t->made), part->slot, valid->n_queries);
}

/* Numbers the queries that count, half by half. The metric of equal scores tells which count.
 * fold_of: all 0 for a validation set. */
static int number_queries(struct tuning *t, const uint32_t *fold_of)
{
    const struct rw_dataset *all = t->measured;
    uint32_t *half RW_FREED = NULL, *at RW_FREED = NULL, n_counted = 0;
    double *scores RW_FREED = NULL, *own RW_FREED = NULL;
    if (all->n_queries < 2)
        return rw_fail(t->ctx, RW_ERR_DATA, "the %s has one query, but %s needs two halves",
                       t->valid ? "validation set" : "data", t->what);
    RW_TRY(RW_NEW(t->ctx, half, all->n_queries));
    RW_TRY(RW_NEW(t->ctx, at, (size_t)t->n_parts));
    RW_TRY(RW_NEW(t->ctx, scores, all->n_docs));
    RW_TRY(RW_NEW(t->ctx, own, all->n_queries));
    RW_TRY(rw_folds(t->ctx, all->n_queries, t->options->groups, 2, t->params->seed, half));
    RW_TRY(RW_ARENA_NEW(t->ctx, rw_result_arena(t->made), t->weight, all->n_queries));
    for (int p = 0; p < t->n_parts; p++) {
        const struct rw_measure *measure = &t->part[p].measure;
        struct rw_metric_result result;
        RW_TRY(rw_metric_eval(t->ctx, &measure->metric, &measure->judgments, scores,
                              measure->how->empty, RW_TIES_MEAN, 0, own, &result));
        for (uint32_t q = 0; q < measure->judgments.n_queries; q++)
            t->part[p].slot[q] = own[q] == own[q] ? 0 : UINT32_MAX;
        n_counted += result.n_counted;
    }
    if (n_counted == 0)
        return rw_fail(t->ctx, RW_ERR_DATA,
                       "no query of the %s counts for %s\nhint: queries count if they have a "
                       "relevant document (see 'label-gain' and 'relevant')",
                       t->valid ? "validation set" : "data", t->made->metric.name);
    for (uint32_t h = 0; h < 2; h++) {
        double sum = 0.0;
        memset(at, 0, (size_t)t->n_parts * sizeof(*at));
        t->begin[h + 1] = t->n;
        for (uint32_t q = 0; q < all->n_queries; q++) {
            const uint32_t p = fold_of[q], i = at[p]++;
            const struct part *part = &t->part[p];
            const double *weight = part->measure.judgments.weight;
            if (half[q] != h || part->slot[i] == UINT32_MAX)
                continue;
            t->weight[t->n] = weight ? weight[i] : 1.0;
            sum += t->weight[t->n];
            part->slot[i] = t->n++;
        }
        t->end[h + 1] = t->n;
        if (!(sum > 0.0) || t->n - t->begin[h + 1] < 2)
            return rw_fail(t->ctx, RW_ERR_DATA,
                           "%s divides the %s into halves, and in one of them fewer than 2 queries "
                           "count for %s",
                           t->what, t->valid ? "validation set" : "queries", t->made->metric.name);
    }
    t->end[0] = t->n;
    return RW_OK;
}

static int prepare_parts(struct tuning *t)
{
    uint32_t *fold_of RW_FREED = NULL;
    t->n_parts = t->valid ? 1 : t->options->n_folds;
    RW_TRY(RW_ARENA_NEW(t->ctx, rw_result_arena(t->made), t->part, (size_t)t->n_parts));
    RW_TRY(RW_NEW(t->ctx, fold_of, t->measured->n_queries));
    if (!t->valid)
        RW_TRY(rw_folds(t->ctx, t->train->n_queries, t->options->groups, t->n_parts,
                        t->params->seed, fold_of));
    for (int p = 0; p < t->n_parts; p++)
        RW_TRY(prepare_part(t, fold_of, (uint32_t)p));
    t->at_once = rw_resident_at_once(&t->part[0].resident, t->ctx, t->params);
    RW_TRY(t->at_once);
    return number_queries(t, fold_of);
}

/* Takes the rule of early stopping. The rule `folds` is trial 0 with folds. */
static int take_rule(struct tuning *t)
{
    t->what = "tuning";
    t->purpose = "tune by";
    const int rule = t->params->early_stop > 0 ? t->params->early_stop_rule : RW_STOP_BEST;
    t->is_paired = rule == RW_STOP_PAIRED ||
                   (rule == RW_STOP_AUTO && t->measured->n_queries <= RW_FEW_QUERIES);
    if (rule == RW_STOP_SMOOTH)
        return rw_fail(t->ctx, RW_ERR_ARGUMENT,
                       "early-stop-rule 'smooth' is not available for tuning: expected auto, best "
                       "or paired");
    if (!rw_params_by_folds(t->params))
        return RW_OK;
    t->what = "early-stop-rule 'folds'";
    t->purpose = NULL;
    t->params->early_stop_rule = RW_STOP_AUTO;
    t->params->is_set[RW_AT_PARAM_early_stop_rule] = 0;
    return t->valid ? rw_fail(t->ctx, RW_ERR_ARGUMENT, "%s works without a validation set", t->what)
                    : RW_OK;
}

static int check_options(struct tuning *t)
{
    const struct rw_tune_options *o = t->options;
    const uint32_t n = t->train->n_queries;
    if (o->n_trials < 0 || (o->n_trials == 0 && !(o->seconds > 0.0)))
        return rw_fail(t->ctx, RW_ERR_ARGUMENT,
                       "trials is %d and time is %g s: expected 1 trial or more, or a time above 0",
                       o->n_trials, o->seconds);
    if (o->n_trials > 0 && o->seconds > 0.0)
        return rw_fail(t->ctx, RW_ERR_ARGUMENT,
                       "both trials and a time are set: expected one of them");
    if (t->valid && o->n_folds)
        return rw_fail(t->ctx, RW_ERR_ARGUMENT,
                       "both folds and a validation set are set: expected one of them");
    if (!t->valid && (o->n_folds < 2 || o->n_folds > RW_MAX_TUNE_FOLDS))
        return rw_fail(t->ctx, RW_ERR_ARGUMENT, "folds is %d: expected 2 to %d", o->n_folds,
                       RW_MAX_TUNE_FOLDS);
    if (!t->valid && (uint32_t)o->n_folds > n)
        return rw_fail(t->ctx, RW_ERR_DATA, "%s needs at least %d queries for %d folds; found %u",
                       t->what, o->n_folds, o->n_folds, n);
    return rw_search_check(t->ctx, t->what, t->valid);
}

static int check_params(struct tuning *t)
{
    struct made *made = t->made;
    RW_TRY(rw_params_check(t->ctx, t->params, RW_PARAMS_TRAIN));
    RW_TRY(rw_trainings_judge(t->ctx, t->params, t->train->n_docs, t->train->n_columns));
    RW_TRY(rw_eval_one_metric(t->ctx, rw_params_eval(t->params), t->purpose, &made->metric));
    if (made->metric.kind->by_document)
        return rw_fail(t->ctx, RW_ERR_ARGUMENT,
                       "%s needs a metric with a value for each query; %s is a mean over documents",
                       t->what, made->metric.name);
    struct rw_eval_params how = *rw_params_eval(t->params);
    how.ties = RW_TIES_MEAN;
    if (rw_params_origin(t->given, "ties") == RW_PARAM_SET) {
        char text[128];
        snprintf(text, sizeof(text),
                 "'ties' has no effect %s %s, where ties count as the mean over all orders",
                 t->purpose ? "in" : "with", t->what);
        if (t->given->on_no_effect == RW_NO_EFFECT_ERROR)
            return rw_fail(t->ctx, RW_ERR_ARGUMENT, "%s", text);
        rw_log(t->ctx, RW_LOG_WARNING, "%s", text);
    }
    RW_TRY(rw_eval_conventions(t->ctx, &how, made->conventions, sizeof(made->conventions)));
    made->tuned.metric = made->metric.name;
    made->tuned.conventions = made->conventions;
    return RW_OK;
}

static int read_file(struct rw_ctx *ctx, const char *path, char **text)
{
    struct rw_input *input RW_SCOPED(rw_input_close) = NULL;
    size_t n;
    RW_TRY(rw_input_open(ctx, path, &input));
    return rw_input_read_all(ctx, input, text, &n);
}

static uint64_t print_text(const char *text)
{
    return rw_checksum(0, text, strlen(text));
}

/* Opens the checkpoint. Its parameters are those that were set and that a model stores. */
static int open_checkpoint(struct tuning *t)
{
    const struct rw_checkpoints *how = t->options->checkpoints;
    const char *space = t->options->space ? t->options->space : "";
    uint64_t print[RW_TUNE_PRINTS] = {t->valid ? 0 : (uint64_t)t->options->n_folds};
    for (int at = 0; at < RW_N_PARAMS; at++) {
        const char *name = rw_param_rows[at].info.name, *value = rw_params_get(t->params, name);
        const int is_file = at == RW_AT_PARAM_propensities || at == RW_AT_PARAM_label_gain ||
                            at == RW_AT_PARAM_names;
        const char *path = is_file ? rw_params_file(t->params, at) : NULL;
        char *text RW_FREED = NULL;
        if (path)
            RW_TRY(read_file(t->ctx, path, &text));
        if ((path || at == RW_AT_PARAM_features || rw_params_in_model(t->params, at)) &&
            rw_params_origin(t->given, name) != RW_PARAM_DEFAULT)
            print[RW_TUNE_SEARCH] += rw_mix_item((uint64_t)at, print_text(path ? text : value));
    }
    for (uint32_t q = 0; t->options->groups && q < t->measured->n_queries; q++)
        print[RW_TUNE_SEARCH] = rw_mix_item(print[RW_TUNE_SEARCH], t->options->groups[q]);
    print[RW_TUNE_SPACE] = rw_checksum(0, space, strlen(space));
    print[RW_TUNE_DATA] = rw_tune_print_data(t->train);
    if (t->valid)
        print[RW_TUNE_DATA] = rw_mix_item(print[RW_TUNE_DATA], rw_tune_print_data(t->valid));
    RW_TRY(rw_params_check_not_input(t->ctx, t->params, how->path));
    return rw_tune_checkpoint_open(&t->checkpoint, t->ctx, how, print);
}

/* Frees the members that the result's arena does not own. */
static void free_made(void *user)
{
    struct made *made = user;
    rw_model_free(made->tuned.model);
    for (int i = 0; i < made->n_trials; i++) {
        rw_params_free(made->trial[i]->params);
        rw_params_free(made->trial[i]->used);
    }
}

static int tune(struct tuning *t)
{
    struct made *made = t->made;
    struct rw_arena *arena = rw_result_arena(made);
    t->end_ms = t->options->seconds > 0.0 ? rw_clock_ms() + t->options->seconds * 1e3 : 0.0;
    RW_TRY(rw_arena_own(t->ctx, arena, made, free_made));
    RW_TRY(rw_params_copy(t->ctx, t->given, &t->params));
    RW_TRY(take_rule(t));
    RW_TRY(check_options(t));
    RW_TRY(check_params(t));
    if (t->params->threads)
        RW_TRY(rw_ctx_set_threads(t->ctx, t->params->threads));
    RW_TRY(rw_tune_space_init(t->ctx, arena, t->params, t->options, t->train,
                              t->given->on_no_effect, &made->space));
    made->tuned.n_names = made->space.n;
    made->tuned.names = made->space.name;
    if (t->options->checkpoints)
        RW_TRY(open_checkpoint(t));
    t->ctx->log = NULL; /* messages of many trainings would repeat */
    RW_TRY(prepare_parts(t));
    RW_TRY(search(t));
    return finish(t);
}

static void release(struct tuning *t)
{
    t->ctx->log = t->log;
    for (int p = 0; p < t->n_parts && t->part; p++) {
        rw_resident_release(&t->part[p].resident);
        rw_judgments_release(&t->part[p].measure.judgments);
        rw_dataset_free(t->part[p].own[0]);
        rw_dataset_free(t->part[p].own[1]);
    }
    rw_tune_checkpoint_release(&t->checkpoint);
    rw_params_free(t->params);
    rw_free(t->made);
}

int rw_tune(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_dataset *train,
            const struct rw_dataset *valid, const struct rw_tune_options *options,
            struct rw_tuned **out)
{
    RW_DEFAULT_FPENV;
    RW_RELEASED(release)
    struct tuning t = {.ctx = ctx,
                       .given = params,
                       .train = train,
                       .valid = valid,
                       .measured = valid ? valid : train,
                       .options = options,
                       .log = ctx->log};
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&t.made, sizeof(*t.made)));
    RW_TRY(tune(&t));
    *out = &RW_TAKE(t.made)->tuned;
    return RW_OK;
}
