/* Suites that train on synthetic data: "trees" measures time per tree and memory, "grow" how the
 * time per tree grows with documents, features, bins and leaves, and "text" the time from reading
 * text to the finished model. */
#include <unistd.h>

#include "bench/bench.h"

enum { QUERIES = 31531 }; /* as in MSLR-WEB30K */

/* ---- shared by the suites ---- */

enum { FIRST_TREE = 10, DEFAULT_LEVELS = 6 };

/* Returns 1 if all parameters that models record, except the seed, have equal values in both. */
static int are_same(struct rw_params *a, struct rw_params *b)
{
    for (int i = 0; rw_param_info(i); i++) {
        const struct rw_param_info *info = rw_param_info(i);
        if (info->model && strcmp(info->name, "seed") != 0 &&
            strcmp(rw_params_get(a, info->name), rw_params_get(b, info->name)) != 0)
            return 0;
    }
    return 1;
}

/* Makes parameters from the suite's settings, overridden by the user's parameters. *is_default: 1
 * if this is no quick run, and the user's options change neither the suite's data nor the trees,
 * except by `seed`. */
static int make_params(struct rw_bench *bench, const struct rw_bench_setting *setting,
                       int n_settings, struct rw_params **out, int *is_default)
{
    struct rw_params *suites;
    RW_TRY(rw_bench_params_new(bench, setting, n_settings, 0, &suites));
    RW_TRY(rw_bench_params_new(bench, setting, n_settings, 1, out));
    RW_TRY(rw_params_check(bench->ctx, *out, RW_PARAMS_TRAIN));
    *is_default = bench->has_default_data && are_same(suites, *out);
    return RW_OK;
}

/* Returns the number of leaves that a tree may have. */
static int most_leaves(const struct rw_params *params, uint32_t n_docs)
{
    if (params->grow != RW_GROW_LEAVES)
        return 1 << (params->depth > 0 ? params->depth : DEFAULT_LEVELS);
    return rw_params_leaves(params, n_docs);
}

/* Computes the figures from t->grown, as time_training describes. */
static void take_figures(struct rw_bench_training *t, int rounds)
{
    const struct rw_bench_grown *grown = &t->grown;
    const int tenth = rounds / 10 > 2 ? rounds / 10 : 2;
    t->first = tenth < FIRST_TREE ? tenth : FIRST_TREE;
    t->median_ms = t->least_ms = t->q1_ms = t->q3_ms = t->most_ms = t->mean_leaves = NAN;
    t->first_tree_ms = grown->n > 0 ? grown->tree[0].ms : NAN;
    const int n = grown->n - t->first + 1;
    if (n < 1)
        return;
    double *ms = grown->sorted, leaves = 0.0;
    struct rw_bench_times times;
    for (int i = 0; i < n; i++) {
        ms[i] = grown->tree[t->first - 1 + i].ms;
        leaves += grown->tree[t->first - 1 + i].leaves;
    }
    rw_bench_spread(ms, n, &times);
    t->mean_leaves = leaves / n;
    t->median_ms = times.median_ms;
    t->least_ms = times.least_ms;
    t->q1_ms = ms[(n - 1) / 4];
    t->q3_ms = ms[(n - 1) - (n - 1) / 4];
    t->most_ms = times.most_ms;
}

/* Trains and fills in *out, except out->plan, which must be set. The figures leave out the first
 * trees: they start with tree rounds / 10, but at least 2 and at most FIRST_TREE. model: receives
 * the model, which the caller frees with rw_model_free; NULL: not needed. */
static int time_training(struct rw_bench *bench, struct rw_params *params,
                         const struct rw_dataset *dataset, struct rw_bench_training *out,
                         struct rw_model **model)
{
    RW_SCOPED(rw_model_free) struct rw_model *made = NULL;
    struct rw_bench_grown *grown = &out->grown;
    grown->gpu = -1;
    if (out->plan.on_gpu)
        sscanf(out->plan.device, "cuda:%d", &grown->gpu);
    const int status =
        rw_bench_grow(bench->ctx, params, (struct rw_training){.train = dataset}, grown, &made);
    if (status >= 0)
        take_figures(out, params->rounds);
    rw_bench_grown_release(grown);
    if (model)
        *model = RW_TAKE(made);
    return status;
}

/* ---- suite "trees": milliseconds per tree, and memory, on three shapes of data ---- */

enum { MOST_ROWS = 7, QUICK_DOCS = 1500 };

/* The data and settings of each row. Options may replace some of them. */
static const struct preset {
    const char *shape;
    uint32_t n_queries, n_docs; /* one of them is 0 and follows from the other */
    const char *leaves, *bins, *split;
    double must_ms, aim_ms; /* on one H200 */
} presets[MOST_ROWS] = {
    {"mslr30k", QUERIES, 0, "255", "255", "mart", 2.2, 1.5},
    {"mslr30k", QUERIES, 0, "31", "255", "mart", 1.2, 0.8},
    {"mslr30k", QUERIES, 0, "255", "255", "newton", 2.6, 1.7},
    {"mslr30k", QUERIES, 0, "31", "255", "newton", 1.5, 1.0},
    {"mslr30k", QUERIES, 0, "255", "1023", "mart", 4.0, 3.0},
    {"yahoo", 0, 473134, "255", "255", "mart", 1.8, 1.2},
    {"letor", 0, 10000, "31", "255", "mart", 0.3, 0.2},
};

struct row {
    const struct preset *preset;
    const char *shape;
    uint32_t n_queries, n_docs;
    struct rw_params *params; /* borrowed */
    int is_default;           /* 1: data and settings of the preset */
    char name[96];
    uint64_t n_bins;
    uint32_t n_used; /* features that have a column of codes */
    struct rw_bench_training training;
};

struct trees {
    struct rw_bench *bench;
    struct row row[MOST_ROWS];
    int n_rows;
};

static int queries_of(struct trees *s, const struct preset *preset, const char *shape, uint32_t *n)
{
    const struct rw_bench_options *o = s->bench->options;
    *n = o->n_queries ? o->n_queries : o->quick ? 0 : preset->n_queries;
    if (*n)
        return RW_OK;
    return rw_bench_queries_of(s->bench, shape, o->quick ? QUICK_DOCS : preset->n_docs, n);
}

static void name_row(struct row *row)
{
    char size[32];
    if (row->params->grow != RW_GROW_LEAVES)
        snprintf(size, sizeof(size), "%d %slevels", row->params->depth,
                 row->params->grow == RW_GROW_SYMMETRIC ? "symmetric " : "");
    else
        snprintf(size, sizeof(size), "%s leaves", rw_params_get(row->params, "leaves"));
    snprintf(row->name, sizeof(row->name), "%s, %s, %d bins%s", row->shape, size, row->params->bins,
             row->params->split == RW_SPLIT_NEWTON ? ", newton" : "");
}

static int make_row(struct trees *s, const struct preset *preset, struct row *row)
{
    const struct rw_bench_options *o = s->bench->options;
    const struct rw_bench_setting setting[] = {
        {"rounds", o->quick ? "4" : "100"},
        {"leaves", preset->leaves},
        {"bins", preset->bins},
        {"split", preset->split},
    };
    *row = (struct row){.preset = preset, .shape = o->shape ? o->shape : preset->shape};
    RW_TRY(queries_of(s, preset, row->shape, &row->n_queries));
    RW_TRY(make_params(s->bench, setting, 4, &row->params, &row->is_default));
    name_row(row);
    return RW_OK;
}

static int is_repeated(const struct trees *s, const struct row *row)
{
    for (int i = 0; i < s->n_rows; i++) {
        const struct row *other = &s->row[i];
        if (strcmp(other->shape, row->shape) == 0 && other->n_queries == row->n_queries &&
            are_same(other->params, row->params))
            return 1;
    }
    return 0;
}

static int measure_row(struct trees *s, struct row *row)
{
    const struct rw_bench_training *t = &row->training;
    const struct rw_cut_rule rule = rw_params_cut_rule(row->params);
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    RW_TRY(rw_bench_data_make(s->bench, row->shape, row->n_queries));
    row->n_docs = rw_dataset_n_docs(s->bench->made.dataset);
    RW_TRY(rw_cuts_make(s->bench->ctx, s->bench->made.dataset, &rule, &cuts));
    row->n_used = cuts->n_features;
    row->n_bins = cuts->offset[cuts->n_features];
    RW_TRY(rw_bench_plan(s->bench, row->params, s->bench->made.dataset, &row->training.plan));
    rw_log(s->bench->ctx, RW_LOG_NOTE, "%s, %d trees on %s", row->name, row->params->rounds,
           t->plan.device);
    RW_TRY(time_training(s->bench, row->params, s->bench->made.dataset, &row->training, NULL));
    return rw_bench_send_row(s->bench, "trees",
                             "row:s device:s queries:u documents:u features:u leaves:i training:t "
                             "first_tree_ms:1 load_s:3",
                             row->name, t->plan.device, row->n_queries, row->n_docs,
                             rw_dataset_n_features(s->bench->made.dataset),
                             most_leaves(row->params, row->n_docs), t, t->first_tree_ms,
                             t->grown.load_ms / 1e3);
}

/* Returns the largest GPU memory that the target allows: 2 x bytes of padded codes + 80 bytes per
 * document + 12 bytes x leaves x total bins + 64 MiB. NaN on the CPU. */
static double allowed_bytes(const struct row *row)
{
    if (!row->training.plan.on_gpu)
        return NAN;
    return 2.0 * rw_bench_code_bytes(&row->training.plan) + 80.0 * row->n_docs +
           12.0 * most_leaves(row->params, row->n_docs) * (double)row->n_bins + 67108864.0;
}

static int send_memory(struct trees *s)
{
    for (int i = 0; i < s->n_rows; i++) {
        const struct row *row = &s->row[i];
        const struct rw_bench_training *t = &row->training;
        RW_TRY(rw_bench_send_row(
            s->bench, "memory",
            "row:s columns:u total_bins:n padded_codes:0 planned_bytes:0 held_bytes:0 "
            "allowed_bytes:0",
            row->name, row->n_used, (double)row->n_bins,
            t->plan.on_gpu ? rw_bench_code_bytes(&t->plan) : NAN,
            t->plan.bytes ? (double)t->plan.bytes : NAN,
            t->grown.device_bytes ? (double)t->grown.device_bytes : NAN, allowed_bytes(row)));
    }
    return RW_OK;
}

/* Sends the targets of the GPU rows whose data and settings are those of the preset. */
static int send_targets(struct trees *s)
{
    for (int i = 0; i < s->n_rows; i++) {
        const struct row *row = &s->row[i];
        const struct rw_bench_training *t = &row->training;
        char what[3][128];
        if (!row->is_default || !t->plan.on_gpu)
            continue;
        snprintf(what[0], sizeof(what[0]), "%s: ms per tree", row->name);
        snprintf(what[1], sizeof(what[1]), "%s: mean leaves", row->name);
        snprintf(what[2], sizeof(what[2]), "%s: MiB of GPU memory", row->name);
        const double mib = 1048576.0, held = (double)t->grown.device_bytes;
        const struct rw_bench_bar bar[3] = {
            {what[0], t->median_ms, row->preset->must_ms, row->preset->aim_ms, 1},
            {what[1], t->mean_leaves, most_leaves(row->params, row->n_docs), NAN, 0},
            {what[2], held > 0.0 ? held / mib : NAN, allowed_bytes(row) / mib, NAN, 1}};
        for (int k = 0; k < 3; k++)
            RW_TRY(rw_bench_bar(s->bench, &bar[k]));
    }
    return RW_OK;
}

int rw_bench_trees(struct rw_bench *bench)
{
    struct trees s = {.bench = bench};
    struct rw_params *params[MOST_ROWS];
    for (int i = 0; i < MOST_ROWS; i++) { /* options may make rows equal; each runs once */
        RW_TRY(make_row(&s, &presets[i], &s.row[s.n_rows]));
        s.n_rows += !is_repeated(&s, &s.row[s.n_rows]);
    }
    for (int i = 0; i < s.n_rows; i++)
        params[i] = s.row[i].params;
    RW_TRY(rw_bench_send_params(bench, params, s.n_rows));
    for (int i = 0; i < s.n_rows; i++)
        RW_TRY(measure_row(&s, &s.row[i]));
    RW_TRY(send_memory(&s));
    return send_targets(&s);
}

/* ---- suite "grow": how the time of a tree grows with documents, features, bins and leaves ---- */

enum { MOST_STEPS = 8, MOST_BARS = 32 };

/* The quantity that varies. The others stay at their defaults: the suite's number of queries, all
 * features, 255 bins and 255 leaves. */
enum axis { DOCUMENTS, FEATURES, BINS, LEAVES, N_AXES };
static const struct {
    const char *name;
    const char *step[MOST_STEPS]; /* NULL at the end */
} axes[N_AXES] = {
    [DOCUMENTS] = {"documents", {"0.25", "0.5", "1", "2", "4", "8"}}, /* multiples of the queries */
    [FEATURES] = {"features", {"8", "4", "2", "1"}},                  /* every n-th feature */
    [BINS] = {"bins", {"15", "31", "63", "127", "255", "511", "1023"}},
    [LEAVES] = {"leaves", {"15", "31", "63", "127", "255", "511", "1023"}},
};

struct bar {
    char what[96];
    double growth;
};

struct grow {
    struct rw_bench *bench;
    uint32_t n_queries; /* for the multiple 1 */
    int n_bars;
    struct bar bar[MOST_BARS];
};

struct step {
    enum axis axis;
    const char *text;         /* from the table above */
    struct rw_params *params; /* borrowed; NULL: no step yet */
    uint32_t n_queries, n_features;
    double size; /* the quantity of the axis; time should not grow faster */
    struct rw_bench_training training;
};

/* Lists the ids of all features except every `keep`th, separated by commas. The caller frees
 * *text. */
static int ignored(struct grow *s, uint32_t keep, char **text, uint32_t *n_kept)
{
    const struct rw_dataset *dataset = s->bench->made.dataset;
    size_t used = 0;
    RW_TRY(RW_NEW(s->bench->ctx, *text, (size_t)dataset->n_columns * 8 + 1));
    *n_kept = 0;
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        if (c % keep == 0)
            (*n_kept)++;
        else
            used += (size_t)snprintf(*text + used, 8, "%s%u", used ? "," : "",
                                     dataset->column[c].feature);
    }
    return RW_OK;
}

static int make_step_params(struct grow *s, struct step *step)
{
    struct rw_ctx *ctx = s->bench->ctx;
    const struct rw_bench_setting setting[] = {
        {"rounds", s->bench->options->quick ? "4" : "50"}, {"leaves", "255"}, {"bins", "255"}};
    RW_SCOPED(rw_mem_free) char *text = NULL;
    RW_TRY(rw_bench_params_new(s->bench, setting, 3, 1, &step->params));
    if (step->axis == FEATURES) {
        uint32_t keep = 1;
        sscanf(step->text, "%u", &keep);
        RW_TRY(ignored(s, keep, &text, &step->n_features));
        if (*text)
            RW_TRY(rw_params_set(ctx, step->params, "ignore", text));
    } else if (step->axis != DOCUMENTS) {
        RW_TRY(rw_params_set(ctx, step->params, axes[step->axis].name, step->text));
    }
    return rw_params_check(ctx, step->params, RW_PARAMS_TRAIN);
}

static int measure_step(struct grow *s, struct step *step)
{
    double times = 1.0;
    if (step->axis == DOCUMENTS)
        sscanf(step->text, "%lf", &times);
    const double queries = ceil(s->n_queries * times);
    step->n_queries = queries < 1e7 ? (uint32_t)queries : 10000000u;
    RW_TRY(rw_bench_data_make(s->bench, s->bench->shape, step->n_queries));
    step->n_features = rw_dataset_n_features(s->bench->made.dataset);
    RW_TRY(make_step_params(s, step));
    RW_TRY(rw_bench_plan(s->bench, step->params, s->bench->made.dataset, &step->training.plan));
    rw_log(s->bench->ctx, RW_LOG_NOTE, "%s, step '%s' of %s, on %s", s->bench->shape, step->text,
           axes[step->axis].name, step->training.plan.device);
    RW_TRY(time_training(s->bench, step->params, s->bench->made.dataset, &step->training, NULL));
    const double size[N_AXES] = {[DOCUMENTS] = rw_dataset_n_docs(s->bench->made.dataset),
                                 [FEATURES] = step->n_features,
                                 [BINS] = step->params->bins,
                                 [LEAVES] = step->training.mean_leaves};
    step->size = size[step->axis];
    return RW_OK;
}

/* Sends the row of a step, and notes its target. last: the previous step on the axis, or NULL for
 * the first. */
static int send_step(struct grow *s, const struct step *step, const struct step *last)
{
    const uint32_t n_docs = rw_dataset_n_docs(s->bench->made.dataset);
    const double time_ratio =
        last ? step->training.median_ms / last->training.median_ms : (double)NAN;
    const double size_ratio = last ? step->size / last->size : (double)NAN;
    /* A step along which the size did not grow (for example, trees did not gain leaves) measures
     * nothing. */
    if (last && size_ratio > 1.0 && s->n_bars < MOST_BARS) {
        struct bar *bar = &s->bar[s->n_bars++];
        snprintf(bar->what, sizeof(bar->what), "%s, %.6g to %.6g: time ratio / size ratio",
                 axes[step->axis].name, last->size, step->size);
        bar->growth = time_ratio / size_ratio;
    }
    return rw_bench_send_row(s->bench, "grow",
                             "axis:s device:s documents:u features:u bins:i leaves:i training:t "
                             "time_ratio:3 size_ratio:3 growth:3",
                             axes[step->axis].name, step->training.plan.device, n_docs,
                             step->n_features, step->params->bins,
                             most_leaves(step->params, n_docs), &step->training, time_ratio,
                             size_ratio, time_ratio / size_ratio);
}

/* Returns 1 if the user's parameters fix the quantity of this axis. It is then not varied. */
static int is_fixed(const struct grow *s, enum axis axis)
{
    const struct rw_params *given = s->bench->options->params;
    if (axis == LEAVES && given && given->grow != RW_GROW_LEAVES)
        return 1;
    return axis >= BINS && rw_bench_is_given(s->bench, axes[axis].name);
}

int rw_bench_growth(struct rw_bench *bench)
{
    enum { QUICK_QUERIES = 16 };
    const struct rw_bench_options *o = bench->options;
    struct grow s = {.bench = bench,
                     .n_queries = rw_bench_number(bench, o->n_queries, QUERIES, QUICK_QUERIES)};
    struct step base = {.axis = DOCUMENTS};
    RW_TRY(make_step_params(&s, &base));
    RW_TRY(rw_bench_send_params(bench, &base.params, 1));
    for (enum axis axis = 0; axis < N_AXES; axis++) {
        struct step last = {.params = NULL};
        for (int i = 0; !is_fixed(&s, axis) && i < MOST_STEPS && axes[axis].step[i]; i++) {
            struct step step = {.axis = axis, .text = axes[axis].step[i]};
            RW_TRY(measure_step(&s, &step));
            RW_TRY(send_step(&s, &step, last.params ? &last : NULL));
            last = step;
        }
    }
    for (int i = 0; i < s.n_bars && !o->quick; i++)
        RW_TRY(rw_bench_bar(bench,
                            &(struct rw_bench_bar){s.bar[i].what, s.bar[i].growth, 1.0, NAN, 1}));
    return RW_OK;
}

/* ---- suite "text": from LETOR text to a finished model ---- */

int rw_bench_text(struct rw_bench *bench)
{
    enum { QUICK_QUERIES = 40 };
    /* Targets for 500 trees on one H200 with 16 cores, excluding program startup. */
    static const double must_s = 8.0, aim_s = 4.0;
    const struct rw_bench_options *o = bench->options;
    const struct rw_bench_setting setting[] = {
        {"rounds", o->quick ? "5" : "500"}, {"leaves", "255"}, {"bins", "255"}};
    const uint32_t n_queries = rw_bench_number(bench, o->n_queries, QUERIES, QUICK_QUERIES);
    const char *path = bench->scratch.temporary;
    struct rw_params *params;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *dataset = NULL;
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    struct rw_bench_training t = {.first = 0};
    struct rw_plan plan;
    double text_bytes;
    int is_default;
    RW_TRY(make_params(bench, setting, 3, &params, &is_default));
    RW_TRY(rw_bench_send_params(bench, &params, 1));
    RW_TRY(rw_bench_write_text(bench, bench->shape, n_queries, path, &text_bytes));
    rw_log(bench->ctx, RW_LOG_NOTE, "reading %.0f MB, training %d trees", text_bytes / 1e6,
           params->rounds);
    const double start = rw_clock_ms();
    RW_TRY(rw_dataset_read(bench->ctx, &path, 1, &dataset));
    const double read_ms = rw_clock_ms() - start;
    RW_TRY(time_training(bench, params, dataset, &t, &model));
    unlink(path); /* the model reuses the name; the removal is not timed */
    const double trained = rw_clock_ms();
    RW_TRY(rw_model_write(bench->ctx, model, path));
    const double write_ms = rw_clock_ms() - trained;
    const double sum_ms = read_ms + t.grown.total_ms + write_ms;
    /* The measurement must include opening the device. A plan opens it, so the plan is made
     * afterwards. */
    RW_TRY(rw_bench_plan(bench, params, dataset, &plan));
    RW_TRY(rw_bench_send_row(
        bench, "text",
        "shape:s device:s queries:u documents:u features:u text_bytes:n trees:i mean_leaves:1 "
        "read_s:3 load_s:3 train_s:3 write_s:3 other_s:3 sum_s:3",
        bench->shape, plan.device, n_queries, rw_dataset_n_docs(dataset),
        rw_dataset_n_features(dataset), text_bytes, t.grown.n, t.mean_leaves, read_ms / 1e3,
        t.grown.load_ms / 1e3, t.grown.rounds_ms / 1e3, write_ms / 1e3,
        (t.grown.total_ms - t.grown.load_ms - t.grown.rounds_ms) / 1e3, sum_ms / 1e3));
    if (!is_default || !plan.on_gpu)
        return RW_OK;
    return rw_bench_bar(
        bench, &(struct rw_bench_bar){"LETOR text to model, excluding program startup: seconds",
                                      sum_ms / 1e3, must_s, aim_s, 1});
}
