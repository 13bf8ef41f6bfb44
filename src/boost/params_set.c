/* Parameters from text: one value, a file of them, and what an unknown name was meant to be. */
#include "base/fpenv.h"
#include "boost/params_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/format.h"

static int refuse(struct rw_ctx *ctx, const struct rw_param_info *info, const char *expected,
                  const char *value)
{
    return rw_fail(ctx, RW_ERR_ARGUMENT, "parameter '%s': expected %s, found '%.200s'", info->name,
                   expected, value);
}

/* Digits only, at most `most`; 0 if it is not that. */
static int whole_number(const char *text, uint64_t most, uint64_t *value)
{
    *value = 0;
    if (!*text)
        return 0;
    for (; *text; text++) {
        const unsigned digit = (unsigned)*text - '0';
        if (digit > 9 || digit > most || *value > (most - digit) / 10)
            return 0;
        *value = *value * 10 + digit;
    }
    return 1;
}

static int assign_number(struct rw_ctx *ctx, const struct rw_param_row *row, void *field,
                         const char *value)
{
    char expected[128];
    if (row->info.type == RW_PARAM_INT) {
        uint64_t number;
        snprintf(expected, sizeof(expected), "a whole number, %s", row->info.range);
        if (!whole_number(value, (uint64_t)row->most, &number) || (double)number < row->least)
            return refuse(ctx, &row->info, expected, value);
        *(int *)field = (int)number;
        return RW_OK;
    }
    double number;
    int clamped = 0;
    const char *end = value + strlen(value);
    snprintf(expected, sizeof(expected), "a number, %s", row->info.range);
    const char *stop = rw_number_parse_double(value, end, &number, &clamped);
    if (stop != end || clamped || !(number >= row->least && number <= row->most))
        return refuse(ctx, &row->info, expected, value);
    *(double *)field = number;
    return RW_OK;
}

/* Texts that have a form of their own; files and lists are looked at where they are used. */
static int check_text(struct rw_ctx *ctx, int at, const char *value)
{
    const struct rw_param_info *info = &rw_param_rows[at].info;
    uint64_t number;
    if (at == RW_AT_PARAM_truncation && strcmp(value, "none") != 0 &&
        (!whole_number(value, 1000000000, &number) || number == 0))
        return refuse(ctx, info, "a whole number, 1 to 1000000000, or none", value);
    if (at == RW_AT_PARAM_leaves && strcmp(value, "auto") != 0 &&
        (!whole_number(value, 65536, &number) || number < 2))
        return refuse(ctx, info, "a whole number, 2 to 65536, or auto", value);
    if (at == RW_AT_PARAM_device && rw_param_word("auto|cpu|cuda|ref|sim", value) < 0 &&
        (strncmp(value, "cuda:", 5) != 0 || !whole_number(value + 5, 255, &number)))
        return refuse(ctx, info, "auto, cpu, cuda, cuda:N, ref or sim", value);
    if (at == RW_AT_PARAM_label_gain && !*value)
        return refuse(ctx, info, "exp, linear or a file", value);
    if (at == RW_AT_PARAM_metric) {
        struct rw_params probe = {.metric = (char *)value, .relevant = 1};
        struct rw_metric metrics[RW_MAX_METRICS];
        int n;
        RW_TRY(rw_params_metrics(ctx, &probe, metrics, &n));
    }
    return RW_OK;
}

int rw_param_assign(struct rw_ctx *ctx, struct rw_params *params, int at, const char *value)
{
    const struct rw_param_row *row = &rw_param_rows[at];
    void *field = (char *)params + row->offset;
    switch (row->info.type) {
    case RW_PARAM_INT:
    case RW_PARAM_REAL:
        return assign_number(ctx, row, field, value);
    case RW_PARAM_CHOICE: {
        const int place = rw_param_word(row->info.range, value);
        if (place < 0)
            return refuse(ctx, &row->info, row->info.range, value);
        *(int *)field = place;
        return RW_OK;
    }
    case RW_PARAM_TEXT: {
        char *copy;
        RW_TRY(check_text(ctx, at, value));
        RW_TRY(rw_mem_copy_text(ctx, &copy, value));
        rw_mem_free(*(char **)field);
        *(char **)field = copy;
        return RW_OK;
    }
    case RW_PARAM_SEED: {
        uint64_t seed;
        if (!whole_number(value, UINT64_MAX, &seed))
            return refuse(ctx, &row->info, "a whole number below 2^64", value);
        *(uint64_t *)field = seed;
        return RW_OK;
    }
    }
    return rw_fail(ctx, RW_ERR_INTERNAL, "parameter '%s' has no type", row->info.name);
}

int rw_params_set(struct rw_ctx *ctx, struct rw_params *params, const char *name, const char *value)
{
    RW_DEFAULT_FPENV;
    const int at = rw_param_find(name);
    if (at < 0) {
        const char *near = rw_params_nearest(name);
        if (!near)
            return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown parameter '%.100s'", name);
        return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown parameter '%.100s'; the nearest is '%s'",
                       name, near);
    }
    RW_TRY(rw_param_assign(ctx, params, at, value));
    params->set |= (uint64_t)1 << at;
    return RW_OK;
}

/* ------------------------------------------------------------------ files */

/* Cuts blanks off both ends, in place. */
static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = 0;
    return text;
}

/* A comment starts at a '#' that begins the line or follows a blank. */
static void cut_comment(char *line)
{
    for (char *c = line; (c = strchr(c, '#')) != NULL; c++) {
        if (c == line || isspace((unsigned char)c[-1])) {
            *c = 0;
            return;
        }
    }
}

/* One line; *seen has a bit for each parameter that the file has set so far. */
static int read_line(struct rw_ctx *ctx, struct rw_params *params, char *line, uint64_t *seen)
{
    cut_comment(line);
    char *name = trim(line);
    if (!*name)
        return RW_OK;
    char *equals = strchr(name, '=');
    if (!equals)
        return rw_fail(ctx, RW_ERR_PARSE, "expected 'name = value', found '%.100s'", name);
    *equals = 0;
    const char *value = trim(equals + 1);
    name = trim(name);
    const int at = rw_param_find(name);
    if (at < 0)
        return rw_params_set(ctx, params, name, value); /* says what is near */
    const uint64_t bit = (uint64_t)1 << at;
    if (!(*seen & bit)) {
        *seen |= bit;
        return rw_params_set(ctx, params, name, value);
    }
    if (at != RW_AT_PARAM_metric)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "parameter '%s' is set a second time", name);
    char *both = NULL;
    const size_t size = strlen(params->metric) + strlen(value) + 2;
    RW_TRY(RW_NEW(ctx, both, size));
    snprintf(both, size, "%s,%s", params->metric, value);
    const int status = rw_params_set(ctx, params, name, both);
    rw_mem_free(both);
    return status;
}

int rw_params_read(struct rw_ctx *ctx, struct rw_params *params, const char *path)
{
    RW_DEFAULT_FPENV;
    int status = RW_OK;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    uint64_t seen = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return rw_fail(ctx, RW_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    for (int number = 1; (length = getline(&line, &room, file)) >= 0; number++) {
        if (memchr(line, 0, (size_t)length))
            status = rw_fail(ctx, RW_ERR_PARSE, "expected text, found a zero byte");
        else
            status = read_line(ctx, params, line, &seen);
        if (status < 0) {
            char why[1024];
            snprintf(why, sizeof(why), "%s", ctx ? rw_last_error(ctx) : "");
            rw_fail(ctx, status, "%s:%d: %s", path, number, why);
            goto out;
        }
    }
    if (ferror(file))
        status = rw_fail(ctx, RW_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
out:
    free(line);
    fclose(file);
    return status;
}

/* ------------------------------------------------------------------ unknown names */

/* What LightGBM, XGBoost, CatBoost and scikit-learn call it, with '-' for '_'. */
static const struct {
    enum rw_param_at at;
    const char *names; /* between blanks */
} aliases[] = {
    {RW_AT_PARAM_objective, " objective-type app application loss loss-function obj "},
    {RW_AT_PARAM_rounds, " num-iterations num-iteration n-iter num-tree num-trees num-round"
                         " num-rounds nrounds num-boost-round n-estimators max-iter iterations"
                         " trees n-trees ntrees "},
    {RW_AT_PARAM_rate, " learning-rate shrinkage shrinkage-rate eta lr "},
    {RW_AT_PARAM_leaves, " num-leaves num-leaf max-leaves max-leaf max-leaf-nodes leaf n-leaves "},
    {RW_AT_PARAM_depth, " max-depth "},
    {RW_AT_PARAM_grow, " grow-policy growing-policy growth "},
    {RW_AT_PARAM_l2, " lambda-l2 reg-lambda lambda l2-leaf-reg l2-regularization reg-l2 "},
    {RW_AT_PARAM_min_docs, " min-data-in-leaf min-data-per-leaf min-data min-child-samples"
                           " min-samples-leaf min-examples mls min-leaf-support "},
    {RW_AT_PARAM_min_weight, " min-sum-hessian-in-leaf min-sum-hessian-per-leaf min-sum-hessian"
                             " min-hessian min-child-weight "},
    {RW_AT_PARAM_min_gain, " min-gain-to-split min-split-gain gamma min-split-loss"
                           " min-impurity-decrease "},
    {RW_AT_PARAM_bins, " max-bin max-bins border-count tc "},
    {RW_AT_PARAM_bits, " num-grad-quant-bins use-quantized-grad "},
    {RW_AT_PARAM_rounding, " stochastic-rounding "},
    {RW_AT_PARAM_truncation, " lambdarank-truncation-level lambdarank-num-pair-per-sample"
                             " ndcg-truncation truncation-level train-cutoff "},
    {RW_AT_PARAM_sigma, " sigmoid "},
    {RW_AT_PARAM_norm, " lambdarank-norm lambdarank-normalization lambdarank-score-normalization"
                       " normalize normalise "},
    {RW_AT_PARAM_label_gain, " gain gains ndcg-exp-gain "},
    {RW_AT_PARAM_absent, " missing use-missing zero-as-missing nan-mode "},
    {RW_AT_PARAM_weights, " weight weight-file weight-column weights-file group-weights"
                          " group-weight "},
    {RW_AT_PARAM_names, " feature-name feature-names feature-names-path "},
    {RW_AT_PARAM_ignore, " ignore-column ignore-feature ignore-features ignored-features"
                         " blacklist "},
    {RW_AT_PARAM_sample_queries, " bagging-fraction sub-row subsample bagging bagging-by-query "},
    {RW_AT_PARAM_sample_features, " feature-fraction sub-feature colsample-bytree colsample-bylevel"
                                  " colsample-bynode rsm max-features "},
    {RW_AT_PARAM_metric, " eval-metric metrics metric-types eval-at ndcg-at ndcg-eval-at"
                         " custom-metric test-metric metric2t "},
    {RW_AT_PARAM_early_stop, " early-stopping-round early-stopping-rounds early-stopping od-wait"
                             " n-iter-no-change estop "},
    {RW_AT_PARAM_seed, " random-seed random-state data-random-seed "},
    {RW_AT_PARAM_threads, " num-threads num-thread nthread nthreads n-jobs thread-count "},
    {RW_AT_PARAM_device, " device-type task-type tree-method gpu "},
    {RW_AT_PARAM_metric_on_train, " is-provide-training-metric training-metric is-training-metric"
                                  " train-metrics "},
};

const char *rw_params_nearest(const char *name)
{
    char plain[64], between[66];
    size_t n = 0;
    while (*name == '-')
        name++;
    for (; name[n] && n < sizeof(plain) - 1; n++)
        plain[n] = name[n] == '_' ? '-' : (char)tolower((unsigned char)name[n]);
    plain[n] = 0;
    if (name[n] || n == 0)
        return NULL;
    const int same = rw_param_find(plain);
    if (same >= 0)
        return rw_param_rows[same].info.name;
    snprintf(between, sizeof(between), " %s ", plain);
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (!strchr(plain, ' ') && strstr(aliases[i].names, between))
            return rw_param_rows[aliases[i].at].info.name;
    }
    size_t best = n < 5 ? 1 : (n + 1) / 3; /* as far as a slip of the fingers may be */
    const char *nearest = NULL;
    for (int i = 0; i < RW_N_PARAMS; i++) {
        const char *candidate = rw_param_rows[i].info.name;
        const size_t distance =
            n >= 3 && strncmp(candidate, plain, n) == 0 ? 1 : rw_word_distance(plain, candidate);
        if (distance < best || (distance == best && !nearest)) {
            best = distance;
            nearest = candidate;
        }
    }
    return nearest;
}
