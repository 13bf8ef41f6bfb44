/* Estimates from click logs: how often documents are clicked if they are examined, and how often
 * positions are examined.
 *
 * pbm, the position-based model (Craswell and others, "An experimental comparison of click
 * position-bias models", 2008): a click has the probability theta(position) x rate(query,
 * document). For given thetas, the rate of a document is its clicks divided by the sum of theta
 * over its impressions. That leaves a likelihood of the thetas alone: where a document's clicks
 * are, given their number. EM's step multiplies each theta by its clicks / its expected clicks. It
 * is slow near the maximum, so Newton steps, with the same sums, follow the first EM_PASSES. Only
 * thetas relative to each other have an effect, and only if documents connect their positions.
 *
 * dbn, the dynamic Bayesian network (Chapelle and Zhang, "A dynamic Bayesian network click model",
 * 2009): a user reads from the top, clicks an examined document with its probability a, and is
 * satisfied by a clicked one with its probability s. Satisfied users stop; others continue with the
 * probability g. EM computes, for each session, the probability that a document was examined, and
 * that the last click satisfied. The rate is a, or a s if the caller wants it. Only what follows a
 * document's clicks determines its s, so s has a large error, which also changes how often the
 * documents below were examined. For the rate a, all documents therefore share s; for a s, the
 * prior draws s to its mean.
 *
 * The prior is added to the rates only. During estimation, it would make documents that are seldom
 * seen alike, and positions as well. Its mean is that of all impressions: a mean of examined
 * impressions is one of high positions, and would raise the rates of seldom examined documents.
 *
 * The sums of dbn are integers, in units of 2^-30, so the number of threads has no effect. Those of
 * pbm are made by one thread. */
#include <math.h>
#include <stdlib.h>

#include "base/exact.h"
#include "evaluate/click_log.h"
#include "params/params.h"

enum { MODEL_PBM, MODEL_DBN, MODEL_CTR };
static const char models[] = "pbm|dbn|ctr";

#define UNIT    0x1p30 /* a sum's units per 1 */
#define CERTAIN (1.0 - 0x1p-30)
#define Z95     1.959963984540054 /* 97.5 % of the normal distribution are below */
enum { EM_PASSES = 20, MOST_NEWTON = 200, MOST_PASSES = 2000 };
#define CLOSE_ENOUGH 1e-7 /* largest change of a propensity at which EM ends */
/* Quantiles of the rates with the gains 0 and 1 of a grade. */
#define FLOOR_QUANTILE 0.25
#define TOP_QUANTILE   0.99

/* A document of a query. */
struct pair {
    uint64_t n, clicks;
    uint64_t examined, satisfied;    /* dbn: sums in units */
    double attraction, satisfaction; /* dbn */
    double n_examined, rate, scale;  /* scale: rate / attraction */
    int last;                        /* 1 + the index of a position; 0: none yet */
};

/* Sums of dbn, in units. */
struct cascade_sums {
    uint64_t examined[RW_JUDGE_MAX_POSITIONS], n_continued, n_could_continue;
};

struct job {
    struct rw_ctx *ctx;
    const struct rw_judge *how;
    int model;
    struct rw_judged *out;
    struct rw_click_log *log; /* the result owns it */
    struct pair *pair;        /* [log->n_pairs]; owned */
    int n_positions;
    uint16_t index[RW_MAX_POSITION + 1]; /* of each displayed position */
    struct rw_judged_position *position; /* [n_positions] of the result */
    /* pbm: sums over the documents that have several positions */
    double hessian[RW_JUDGE_MAX_POSITIONS][RW_JUDGE_MAX_POSITIONS];
    double variance[RW_JUDGE_MAX_POSITIONS][RW_JUDGE_MAX_POSITIONS];
    double clicks[RW_JUDGE_MAX_POSITIONS], expected[RW_JUDGE_MAX_POSITIONS];
    /* dbn */
    size_t *session_first; /* [log->n_sessions + 1] rows; owned */
    double continuation, mean_satisfaction;
    struct cascade_sums sums;
};

/* ---- counts ---- */

static int count(struct job *job)
{
    const struct rw_click_log *log = job->log;
    struct rw_judged *out = job->out;
    RW_TRY(RW_NEW(job->ctx, job->pair, log->n_pairs));
    RW_TRY(RW_ARENA_NEW(job->ctx, rw_result_arena(out), job->position, RW_JUDGE_MAX_POSITIONS));
    out->position = job->position;
    out->n_impressions = log->n;
    for (size_t i = 0; i < log->n; i++) {
        job->index[log->row[i].position] = 1;
        out->n_clicks += log->row[i].click;
    }
    if (out->n_clicks == 0)
        return rw_fail(job->ctx, RW_ERR_DATA, "none of the %zu impressions has a click", log->n);
    if (out->n_clicks == log->n)
        return rw_fail(job->ctx, RW_ERR_DATA,
                       "all %zu impressions have a click\nhint: the log must also have the "
                       "documents that were displayed and not clicked",
                       log->n);
    for (uint32_t p = 1; p <= RW_MAX_POSITION; p++) {
        if (!job->index[p])
            continue;
        if (job->n_positions == RW_JUDGE_MAX_POSITIONS)
            return rw_fail(job->ctx, RW_ERR_DATA,
                           "more than %d different positions\nhint: give one number to the "
                           "positions that few users reach",
                           RW_JUDGE_MAX_POSITIONS);
        job->index[p] = (uint16_t)job->n_positions;
        job->position[job->n_positions++] =
            (struct rw_judged_position){.position = p, .propensity = 1.0, .low = 1.0, .high = 1.0};
    }
    for (size_t i = 0; i < log->n; i++) {
        const struct rw_impression *row = &log->row[i];
        struct rw_judged_position *position = &job->position[job->index[row->position]];
        job->pair[row->pair].n++;
        job->pair[row->pair].clicks += row->click;
        position->n_impressions++;
        position->n_clicks += row->click;
    }
    out->n_positions = (uint32_t)job->n_positions;
    out->n_sessions = log->n_sessions;
    out->n_queries = log->n_queries;
    return RW_OK;
}

/* Fails unless there are several positions, and clicked documents that were displayed at several of
 * them connect all. */
static int check_connected(const struct job *job)
{
    int group[RW_JUDGE_MAX_POSITIONS]; /* positions with the same number are connected */
    if (job->n_positions == 1)
        return rw_fail(
            job->ctx, RW_ERR_DATA,
            "the log has only position %u, so there is no effect of positions\nhint: the "
            "model 'ctr' computes clicks per impression",
            job->position[0].position);
    for (int k = 0; k < job->n_positions; k++)
        group[k] = k;
    for (size_t i = 0; i < job->log->n; i++) {
        struct pair *pair = &job->pair[job->log->row[i].pair];
        const int k = job->index[job->log->row[i].position];
        const int from = pair->clicks > 0 && pair->last ? group[pair->last - 1] : group[k];
        const int to = group[k];
        for (int j = 0; j < job->n_positions && from != to; j++)
            group[j] = group[j] == from ? to : group[j];
        pair->last = k + 1;
    }
    for (int k = 1; k < job->n_positions; k++) {
        if (group[k] != group[0])
            return rw_fail(
                job->ctx, RW_ERR_DATA,
                "the effects of the positions %u and %u cannot be separated from relevance: no "
                "clicked documents connect them by being displayed at different positions\nhint: "
                "log sessions with different rankings, such as random swaps, or give one number to "
                "rare positions",
                job->position[0].position, job->position[k].position);
    }
    return RW_OK;
}

/* ---- position-based model ---- */

static int by_pair(const void *a, const void *b)
{
    const struct rw_impression *x = a, *y = b;
    if (x->pair != y->pair)
        return x->pair < y->pair ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

/* Adds a document's clicks to the sums. row: [n] its rows, by position. */
static void add_document(struct job *job, const struct rw_impression *row, size_t n)
{
    const double n_clicks = (double)job->pair[row->pair].clicks;
    double share[RW_JUDGE_MAX_POSITIONS], surplus[RW_JUDGE_MAX_POSITIONS], sum = 0.0;
    uint16_t at[RW_JUDGE_MAX_POSITIONS];
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        const uint16_t k = job->index[row[i].position];
        if (i == 0 || k != at[m - 1]) {
            at[m] = k;
            surplus[m] = share[m] = 0.0;
            m++;
        }
        share[m - 1] += job->position[k].propensity;
        surplus[m - 1] += row[i].click;
        sum += job->position[k].propensity;
    }
    for (size_t j = 0; j < m && m > 1; j++) {
        share[j] /= sum;
        job->clicks[at[j]] += surplus[j];
        surplus[j] -= n_clicks * share[j];
        job->expected[at[j]] += n_clicks * share[j];
        job->hessian[at[j]][at[j]] += n_clicks * share[j];
        for (size_t l = 0; l <= j; l++) {
            job->hessian[at[j]][at[l]] -= n_clicks * share[j] * share[l];
            job->variance[at[j]][at[l]] += surplus[j] * surplus[l];
        }
    }
}

/* Computes the sums for the current propensities. The matrices are symmetric. */
static void add_documents(struct job *job)
{
    const struct rw_click_log *log = job->log;
    memset(job->hessian, 0, sizeof(job->hessian));
    memset(job->variance, 0, sizeof(job->variance));
    memset(job->clicks, 0, sizeof(job->clicks));
    memset(job->expected, 0, sizeof(job->expected));
    for (size_t i = 0, end; i < log->n; i = end) {
        for (end = i; end < log->n && log->row[end].pair == log->row[i].pair;)
            end++;
        if (job->pair[log->row[i].pair].clicks > 0)
            add_document(job, log->row + i, end - i);
    }
    for (int k = 0; k < job->n_positions; k++) {
        for (int j = 0; j < k; j++) {
            job->hessian[j][k] = job->hessian[k][j];
            job->variance[j][k] = job->variance[k][j];
        }
    }
    job->out->n_passes++;
}

/* Replaces a positive definite matrix by its inverse, except for its first row and column, which it
 * zeroes: the first position is fixed. Returns 0 if it is not positive definite. a: [n] rows */
static int invert_without_first(double a[][RW_JUDGE_MAX_POSITIONS], int n)
{
    for (int k = 1; k < n; k++) {
        const double pivot = a[k][k];
        if (!(pivot > 1e-9))
            return 0;
        a[k][k] = 1.0;
        for (int j = 1; j < n; j++)
            a[k][j] /= pivot;
        for (int i = 1; i < n; i++) {
            const double factor = a[i][k];
            if (i == k)
                continue;
            a[i][k] = 0.0;
            for (int j = 1; j < n; j++)
                a[i][j] -= factor * a[k][j];
        }
    }
    for (int i = 0; i < n; i++)
        a[0][i] = a[i][0] = 0.0;
    return 1;
}

static double natural_exp(double x)
{
    return rw_exp2(x * 1.4426950408889634);
}

static int no_estimate(const struct job *job, int k)
{
    return rw_fail(job->ctx, RW_ERR_DATA,
                   "position %u: too few clicks to estimate its propensity (%llu of %llu "
                   "impressions)\nhint: give one number to the positions that few users reach",
                   job->position[k].position, (unsigned long long)job->position[k].n_clicks,
                   (unsigned long long)job->position[k].n_impressions);
}

/* Sets the 95 % intervals, by the larger of two variances. The inverse hessian is that of
 * independent clicks. The other one holds if clicks on a document depend on each other: the inverse
 * hessian encloses the sums of squares of the documents' surpluses. It needs many documents. */
static void set_intervals(struct job *job)
{
    for (int k = 0; k < job->n_positions; k++) {
        struct rw_judged_position *position = &job->position[k];
        const double *row = job->hessian[k];
        double variance = 0.0;
        for (int i = 0; i < job->n_positions; i++) {
            for (int j = 0; j < job->n_positions; j++)
                variance += row[i] * job->variance[i][j] * row[j];
        }
        const double half = fmin(Z95 * sqrt(fmax(variance, row[k])), 70.0);
        position->low = position->propensity * natural_exp(-half);
        position->high = position->propensity * natural_exp(half);
    }
}

static int estimate_pbm(struct job *job)
{
    const int K = job->n_positions;
    double change = 1.0;
    RW_SORT(job->log->row, job->log->n, by_pair);
    for (int pass = 1; change > 1e-10; pass++) {
        add_documents(job);
        for (int k = 0; k < K; k++) {
            if (job->clicks[k] == 0)
                return no_estimate(job, k);
        }
        if (pass <= EM_PASSES) {
            const double first = job->clicks[0] / job->expected[0];
            for (int k = 1; k < K; k++)
                job->position[k].propensity *= job->clicks[k] / job->expected[k] / first;
            continue;
        }
        const int is_definite = invert_without_first(job->hessian, K);
        change = 0.0;
        for (int k = 1; k < K; k++) {
            double step = 0.0;
            for (int j = 1; j < K; j++)
                step += job->hessian[k][j] * (job->clicks[j] - job->expected[j]);
            job->position[k].propensity *= natural_exp(fmin(fmax(step, -2.0), 2.0));
            change = fmax(change, fabs(step));
            if (!is_definite || job->position[k].propensity < 1e-9 ||
                pass > EM_PASSES + MOST_NEWTON)
                return no_estimate(job, k);
        }
        RW_TRY(rw_poll(job->ctx));
    }
    set_intervals(job);
    return RW_OK;
}

/* ---- cascade ---- */

static uint64_t units(double probability)
{
    return (uint64_t)rw_round_int64(probability * UNIT);
}

/* Adds a session. row: [n] by position. unclicked: [n + 1] scratch: the probability that no
 * document from here on is clicked, if this one is examined. */
static void add_session(struct job *job, const struct rw_impression *row, size_t n,
                        double *unclicked, struct cascade_sums *sums)
{
    const double g = job->continuation;
    size_t after = 0; /* rows up to and including the last click */
    for (size_t i = 0; i < n; i++)
        after = row[i].click ? i + 1 : after;
    unclicked[n] = 1.0;
    for (size_t i = n; i-- > after;) {
        const double onwards = i + 1 < n ? 1.0 - g + g * unclicked[i + 1] : 1.0;
        unclicked[i] = (1.0 - job->pair[row[i].pair].attraction) * onwards;
    }
    double examined = 1.0;
    for (size_t i = 0; i < n; i++) {
        struct pair *pair = &job->pair[row[i].pair];
        const uint64_t now = units(examined);
        __atomic_fetch_add(&pair->examined, now, __ATOMIC_RELAXED);
        sums->examined[job->index[row[i].position]] += now;
        if (i + 1 == n && i + 1 != after)
            break; /* whether a user would continue after the end is unknown */
        if (i + 1 < after) {
            sums->n_continued += now;
            sums->n_could_continue += now;
            continue;
        }
        const double s = row[i].click ? pair->satisfaction : 0.0;
        const double goes_on = i + 1 < n ? g * unclicked[i + 1] : 0.0;
        const double stays = i + 1 < n ? 1.0 - g : 1.0;
        const double all = s + (1.0 - s) * (stays + goes_on);
        if (row[i].click)
            __atomic_fetch_add(&pair->satisfied, units(s / all), __ATOMIC_RELAXED);
        if (i + 1 == n)
            break;
        sums->n_could_continue += units(examined * (1.0 - s) * (stays + goes_on) / all);
        examined *= (1.0 - s) * goes_on / all;
        sums->n_continued += units(examined);
    }
}

static int add_sessions(void *user, struct rw_share *share)
{
    struct job *job = user;
    struct cascade_sums sums = {.n_continued = 0};
    double unclicked[RW_JUDGE_MAX_POSITIONS + 1]; /* no session has a position twice */
    RW_SHARE_EACH(share, s) {
        const size_t first = job->session_first[s];
        add_session(job, job->log->row + first, job->session_first[s + 1] - first, unclicked,
                    &sums);
    }
    rw_share_lock(share);
    for (int k = 0; k < job->n_positions; k++)
        job->sums.examined[k] += sums.examined[k];
    job->sums.n_continued += sums.n_continued;
    job->sums.n_could_continue += sums.n_could_continue;
    rw_share_unlock(share);
    return RW_OK;
}

static double limited(double probability)
{
    return fmin(fmax(probability, 0x1p-30), CERTAIN);
}

/* Sets a parameter, and raises *change to the size of its change. */
static void set(double *parameter, double value, double *change)
{
    *change = fmax(*change, fabs(value - *parameter));
    *parameter = value;
}

/* Sets the parameters from the sums. Returns the largest change of a propensity, or of the
 * probabilities that all documents share. */
static double set_parameters(struct job *job)
{
    const struct cascade_sums *sums = &job->sums;
    /* A prior of 1e18 gives the mean to all documents. */
    const double prior = job->how->use_satisfaction ? job->how->prior : 1e18;
    double satisfied = 0.0, change = 0.0;
    for (uint32_t i = 0; i < job->log->n_pairs; i++) {
        struct pair *pair = &job->pair[i];
        satisfied += (double)pair->satisfied / UNIT;
        pair->n_examined = (double)pair->examined / UNIT;
        if (pair->examined > 0)
            pair->attraction = limited((double)pair->clicks / pair->n_examined);
        if ((double)pair->clicks + prior > 0)
            pair->satisfaction =
                limited(((double)pair->satisfied / UNIT + prior * job->mean_satisfaction) /
                        ((double)pair->clicks + prior));
    }
    if (sums->n_could_continue > 0)
        set(&job->continuation, limited((double)sums->n_continued / (double)sums->n_could_continue),
            &change);
    set(&job->mean_satisfaction, limited(satisfied / (double)job->out->n_clicks), &change);
    for (int k = 0; k < job->n_positions; k++) {
        struct rw_judged_position *position = &job->position[k];
        set(&position->propensity,
            (double)sums->examined[k] / UNIT / (double)position->n_impressions, &change);
    }
    return change;
}

/* Sets the 95 % intervals for given parameters. The first position is always examined. */
static void set_share_intervals(struct job *job)
{
    for (int k = 0; k < job->n_positions; k++) {
        struct rw_judged_position *position = &job->position[k];
        const double p = position->propensity;
        const double half = Z95 * sqrt(fmax(p * (1.0 - p), 0.0) / (double)position->n_impressions);
        position->low = fmax(p - half, 0.0);
        position->high = p + half;
    }
}

/* Warns of sessions that lack the first position, such as those of a second page of results. */
static void warn_of_late_sessions(const struct job *job)
{
    const struct rw_click_log *log = job->log;
    const unsigned first = job->position[0].position;
    uint32_t n_late = 0;
    for (uint32_t s = 0; s < log->n_sessions; s++)
        n_late += log->row[job->session_first[s]].position != first;
    if (n_late > 0)
        rw_log(job->ctx, RW_LOG_WARNING,
               "sessions without position %u: %u of %u; 'dbn' takes the first document of each as "
               "always examined",
               first, n_late, log->n_sessions);
}

static int estimate_dbn(struct job *job)
{
    const struct rw_click_log *log = job->log;
    double change = 1.0;
    RW_TRY(RW_NEW(job->ctx, job->session_first, (size_t)log->n_sessions + 1));
    for (size_t i = 0; i < log->n; i++)
        job->session_first[log->row[i].session + 1] = i + 1;
    warn_of_late_sessions(job);
    job->continuation = job->mean_satisfaction = 0.5;
    for (uint32_t i = 0; i < log->n_pairs; i++) {
        struct pair *pair = &job->pair[i];
        pair->satisfaction = 0.5;
        pair->attraction = limited(((double)pair->clicks + 1.0) / ((double)pair->n + 2.0));
    }
    for (; change > CLOSE_ENOUGH; job->out->n_passes++) {
        if (job->out->n_passes == MOST_PASSES) {
            rw_log(job->ctx, RW_LOG_WARNING,
                   "the estimation ended after %d passes; propensities still change by %.1e",
                   MOST_PASSES, change);
            break;
        }
        for (uint32_t i = 0; i < log->n_pairs; i++)
            job->pair[i].examined = job->pair[i].satisfied = 0;
        job->sums = (struct cascade_sums){.n_continued = 0};
        RW_TRY(rw_parallel_long(job->ctx, rw_ctx_threads(job->ctx), log->n_sessions, 256,
                                add_sessions, job));
        change = set_parameters(job);
    }
    set_share_intervals(job);
    return RW_OK;
}

/* ---- rates and grades ---- */

static int estimate(struct job *job)
{
    if (job->model != MODEL_CTR)
        RW_TRY(check_connected(job));
    if (job->model == MODEL_DBN)
        return estimate_dbn(job);
    if (job->model == MODEL_PBM)
        RW_TRY(estimate_pbm(job));
    for (size_t i = 0; i < job->log->n; i++) {
        const struct rw_impression *row = &job->log->row[i];
        job->pair[row->pair].n_examined += job->position[job->index[row->position]].propensity;
    }
    return RW_OK;
}

static void set_rates(struct job *job)
{
    const double prior = job->how->prior;
    double mean = 0.0;
    for (int k = 0; k < job->n_positions; k++) {
        const struct rw_judged_position *position = &job->position[k];
        if (position->n_clicks > 0)
            mean += (double)position->n_clicks / position->propensity;
    }
    mean /= (double)job->log->n;
    for (uint32_t i = 0; i < job->log->n_pairs; i++) {
        struct pair *pair = &job->pair[i];
        const double clicks = (double)pair->clicks + prior * mean;
        pair->scale = job->how->use_satisfaction ? pair->satisfaction : 1.0;
        pair->rate =
            clicks > 0 ? fmin(clicks / (pair->n_examined + prior), 1.0) * pair->scale : 0.0;
    }
    job->out->mean_rate = mean * (job->how->use_satisfaction ? job->mean_satisfaction : 1.0);
}

/* Sets the 95 % interval of the rate for a given number of examined impressions (Wilson). */
static void set_interval(const struct pair *pair, struct rw_judged_label *label)
{
    const double clicks = (double)pair->clicks, n = fmax(pair->n_examined, clicks);
    label->high = pair->scale;
    if (!(n > 0))
        return;
    const double p = clicks / n, share = Z95 * Z95 / n;
    const double middle = (p + 0.5 * share) / (1.0 + share);
    const double half = sqrt(share * (p * (1.0 - p) + 0.25 * share)) / (1.0 + share);
    label->low = fmax(middle - half, 0.0) * pair->scale;
    label->high = fmin(middle + half, 1.0) * pair->scale;
}

/* Parses rising numbers with commas between them. Returns their number, or RW_ERR_ARGUMENT. */
static int parse_thresholds(struct rw_ctx *ctx, const char *text,
                            double threshold[RW_JUDGE_MAX_GRADE])
{
    const char *end = text + strlen(text);
    int n = 0, clamped;
    for (const char *p = text; n < RW_JUDGE_MAX_GRADE; p++) {
        const char *q = rw_number_parse_double(p, end, &threshold[n], &clamped);
        if (!q || (*q && *q != ',') || !(threshold[n] > (n ? threshold[n - 1] : 0.0)))
            break;
        n++;
        if (!*q)
            return n;
        p = q;
    }
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "thresholds: expected 1 to %d rising rates above 0 with commas between them, "
                   "found '%.100s'",
                   RW_JUDGE_MAX_GRADE, text);
}

/* Chooses thresholds: the gain of a grade, 2^grade - 1, is proportional to the part of the rate
 * above the floor. A grade begins halfway between its gain and that of the grade below. rate: [n]
 */
static int choose_thresholds(const struct job *job, double *rate, size_t n)
{
    const double most_gain = (double)(1u << RW_JUDGE_GRADES) - 1.0;
    rw_sort_doubles(rate, n);
    const double floor = rate[(size_t)(FLOOR_QUANTILE * (double)(n - 1))];
    const double top = rate[(size_t)(TOP_QUANTILE * (double)(n - 1) + 0.5)];
    if (!(top > floor))
        return rw_fail(job->ctx, RW_ERR_DATA,
                       "the documents' rates are too similar for grades: %g at the quartile and %g "
                       "at the top\nhint: pass thresholds",
                       floor, top);
    job->out->n_thresholds = RW_JUDGE_GRADES;
    for (int g = 1; g <= RW_JUDGE_GRADES; g++)
        job->out->threshold[g - 1] =
            floor + (top - floor) * (0.75 * (double)(1u << g) - 1.0) / most_gain;
    return RW_OK;
}

static int by_query(const void *a, const void *b)
{
    const struct rw_judged_label *x = a, *y = b;
    const int order = strcmp(x->query, y->query);
    return order ? order : strcmp(x->document, y->document);
}

static int make_labels(const struct job *job)
{
    const struct rw_click_log *log = job->log;
    struct rw_judged *out = job->out;
    struct rw_judged_label *label;
    double *rate RW_FREED = NULL;
    for (uint32_t i = 0; i < log->n_pairs; i++)
        out->n_labels += job->pair[i].n >= job->how->min_impressions;
    out->n_left_out = log->n_pairs - out->n_labels;
    if (out->n_labels == 0)
        return rw_fail(job->ctx, RW_ERR_DATA, "no document of a query has %llu or more impressions",
                       (unsigned long long)job->how->min_impressions);
    RW_TRY(RW_ARENA_NEW(job->ctx, rw_result_arena(out), label, out->n_labels));
    RW_TRY(RW_NEW_RAW(job->ctx, rate, out->n_labels));
    for (uint32_t i = 0, n = 0; i < log->n_pairs; i++) {
        const struct pair *pair = &job->pair[i];
        if (pair->n < job->how->min_impressions)
            continue;
        rate[n] = pair->rate;
        label[n] = (struct rw_judged_label){.query = log->query.text[log->pair[i].query],
                                            .document = log->pair[i].document,
                                            .n_impressions = pair->n,
                                            .n_clicks = pair->clicks,
                                            .n_examined = pair->n_examined,
                                            .rate = pair->rate};
        set_interval(pair, &label[n++]);
    }
    if (job->how->thresholds)
        RW_TRY(out->n_thresholds =
                   parse_thresholds(job->ctx, job->how->thresholds, out->threshold));
    else
        RW_TRY(choose_thresholds(job, rate, out->n_labels));
    for (uint32_t i = 0; i < out->n_labels; i++) {
        while (label[i].grade < out->n_thresholds &&
               label[i].rate >= out->threshold[label[i].grade])
            label[i].grade++;
    }
    RW_SORT(label, out->n_labels, by_query);
    out->label = label;
    return RW_OK;
}

/* ---- the interface ---- */

int rw_judge_check(struct rw_ctx *ctx, const struct rw_judge *how)
{
    double threshold[RW_JUDGE_MAX_GRADE];
    if (!how->model || rw_param_word(models, how->model) < 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "model: expected pbm, dbn or ctr, found '%.100s'",
                       how->model ? how->model : "");
    int n_columns = 1;
    for (const char *p = how->columns ? how->columns : ""; *p; p++)
        n_columns += *p == ',';
    if (n_columns != 4 && n_columns != 5)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "columns: expected four or five names or numbers, such as '" RW_JUDGE_COLUMNS
                       "', found %d",
                       n_columns);
    if (how->min_impressions < 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "min_impressions: expected 1 or more, found 0");
    if (!(how->prior >= 0 && how->prior <= 1e6))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "prior: expected a number from 0 to 1e6, found %g",
                       how->prior);
    if (how->use_satisfaction && strcmp(how->model, "dbn") != 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "satisfaction needs the model dbn, found %s",
                       how->model);
    if (how->thresholds)
        RW_TRY(parse_thresholds(ctx, how->thresholds, threshold));
    return RW_OK;
}

static int fill(struct job *job, const char *const *paths, int n_paths)
{
    struct rw_arena *arena = rw_result_arena(job->out);
    RW_TRY(RW_ARENA_NEW(job->ctx, arena, job->log, 1));
    RW_TRY(rw_arena_own(job->ctx, arena, job->log, rw_click_log_release));
    RW_TRY(rw_click_log_read(job->ctx, job->how->columns, job->model == MODEL_DBN, paths, n_paths,
                             job->log));
    RW_TRY(count(job));
    RW_TRY(estimate(job));
    rw_mem_free(RW_TAKE(job->log->row)); /* the result keeps only texts */
    set_rates(job);
    job->out->continuation = job->model == MODEL_DBN ? job->continuation : (double)NAN;
    return make_labels(job);
}

int rw_judge_new(struct rw_ctx *ctx, const struct rw_judge *how, const char *const *paths,
                 int n_paths, struct rw_judged **out)
{
    RW_DEFAULT_FPENV;
    struct job *job RW_FREED = NULL;
    *out = NULL;
    RW_TRY(rw_judge_check(ctx, how));
    RW_TRY(RW_NEW(ctx, job, 1));
    RW_TRY(rw_result_new(ctx, (void **)out, sizeof(**out)));
    job->ctx = ctx;
    job->how = how;
    job->model = rw_param_word(models, how->model);
    job->out = *out;
    const int status = fill(job, paths, n_paths);
    rw_mem_free(job->pair);
    rw_mem_free(job->session_first);
    if (status < 0) {
        rw_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- files ---- */

/* Writes a field of TSV. One that begins with a quote would be read as a quoted field. */
static void write_text(FILE *file, const char *text)
{
    const int is_quoted = *text == '"';
    if (is_quoted)
        fputc('"', file);
    for (; *text; text++) {
        if (is_quoted && *text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputs(is_quoted ? "\"\t" : "\t", file);
}

int rw_judged_write_labels(struct rw_ctx *ctx, const struct rw_judged *judged,
                           struct rw_out_file *out)
{
    (void)ctx;
    fputs("query\tdocument\tgrade\trate\tlow\thigh\timpressions\tclicks\n", out->file);
    for (uint32_t i = 0; i < judged->n_labels; i++) {
        const struct rw_judged_label *label = &judged->label[i];
        const double number[3] = {label->rate, label->low, label->high};
        write_text(out->file, label->query);
        write_text(out->file, label->document);
        fprintf(out->file, "%d", label->grade);
        for (int k = 0; k < 3; k++) {
            char text[32];
            text[rw_number_write_double(number[k], text)] = 0;
            fprintf(out->file, "\t%s", text);
        }
        fprintf(out->file, "\t%llu\t%llu\n", (unsigned long long)label->n_impressions,
                (unsigned long long)label->n_clicks);
    }
    return RW_OK;
}

int rw_judged_write_propensities(struct rw_ctx *ctx, const struct rw_judged *judged,
                                 struct rw_out_file *out)
{
    for (uint32_t k = 0; k < judged->n_positions; k++) {
        const struct rw_judged_position *position = &judged->position[k];
        char text[32];
        double p = position->propensity;
        if (p < 0x1p-10 || p > 0x1p10) {
            p = p < 1.0 ? 0x1p-10 : 0x1p10;
            rw_log(ctx, RW_LOG_WARNING,
                   "position %u: the propensity %.3g is written as %.3g, the limit of the file",
                   position->position, position->propensity, p);
        }
        text[rw_number_write_double(p, text)] = 0;
        fprintf(out->file, "%u %s\n", position->position, text);
    }
    return RW_OK;
}
