/* Checkpoints: writing one from time to time in a thread of its own, and resuming a training from
 * one. A checkpoint is accepted only if these are as in the interrupted training: the program
 * version, the parameters that a model stores (except `rounds`), the model that training continues
 * from, the metrics, the names of features and the data. */
#include "train/train.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the file ---- */

void rw_checkpoint_release(struct rw_checkpoint *checkpoint)
{
    rw_mem_free(checkpoint->program);
    rw_mem_free(checkpoint->note);
    rw_mem_free(checkpoint->set);
    rw_mem_free(checkpoint->state_name);
    rw_mem_free(checkpoint->state);
    rw_model_free(checkpoint->model);
    *checkpoint = (struct rw_checkpoint){0};
}

/* ---- the grammar, read and written ---- */

static int note_line(struct rw_words *w, struct rw_checkpoint *c)
{
    int has_note = w->is_writing && *c->note;
    RW_TRY(rw_words_take(w, "note"));
    RW_TRY(rw_words_option(w, " ", &has_note));
    if (has_note)
        RW_TRY(rw_words_text(w, "", "a note", &c->note));
    else if (!w->is_writing)
        RW_TRY(rw_mem_copy_text(w->ctx, &c->note, ""));
    return rw_words_newline(w);
}

static int init_line(struct rw_words *w, struct rw_checkpoint *c)
{
    int has_none = !c->has_init;
    RW_TRY(rw_words_take(w, "\ninit "));
    RW_TRY(rw_words_option(w, "none", &has_none));
    c->has_init = !has_none;
    if (c->has_init) {
        RW_TRY(rw_words_hex(w, "", "a model's checksum, or none", &c->init_checksum));
        RW_TRY(rw_words_count(w, " rounds ", "a number of rounds", INT32_MAX, &c->init_rounds));
        int has_bags = c->init_trees != c->init_rounds;
        RW_TRY(rw_words_option(w, " trees ", &has_bags));
        if (has_bags)
            RW_TRY(rw_words_count(w, "", "a number of trees", INT32_MAX, &c->init_trees));
        else
            c->init_trees = c->init_rounds;
    }
    return rw_words_newline(w);
}

static int sets_section(struct rw_words *w, struct rw_checkpoint *c)
{
    enum { LEAST_BYTES = 60 }; /* least length of a set's line */
    RW_TRY(rw_words_count_of(w, "sets ", "the number of sets", LEAST_BYTES, &c->n_sets));
    RW_TRY(rw_words_hex(w, " boundaries ", "a hexadecimal number", &c->boundaries));
    if (!w->is_writing)
        RW_TRY(RW_NEW(w->ctx, c->set, (size_t)c->n_sets));
    for (int32_t set = 0; set < c->n_sets; set++) {
        for (int i = 0; i < RW_PRINTS; i++) {
            char before[32];
            const int is_optional = i >= RW_PRINT_SIDES;
            int is_there = !is_optional || c->set[set].part[i] != 0;
            snprintf(before, sizeof(before), "%s%s ", i ? " " : "\n", rw_print_name(i));
            if (is_optional) {
                RW_TRY(rw_words_option(w, before, &is_there));
                *before = 0;
            }
            if (!is_there)
                continue;
            RW_TRY(rw_words_hex(w, before, "a hexadecimal number", &c->set[set].part[i]));
        }
    }
    return RW_OK;
}

/* Reads or writes the name of the objective, a single word. */
static int state_name(struct rw_words *w, char **name)
{
    if (w->is_writing)
        return rw_words_take(w, *name);
    const char *c = w->at;
    while (c < w->end && *c && strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", *c))
        c++;
    const size_t n = (size_t)(c - w->at);
    if (n == 0)
        return rw_words_fail(w, "an objective's name");
    RW_TRY(RW_NEW(w->ctx, *name, n + 1));
    memcpy(*name, w->at, n);
    w->at = c;
    return RW_OK;
}

static int state_section(struct rw_words *w, struct rw_checkpoint *c)
{
    RW_TRY(rw_words_take(w, "\nstate "));
    RW_TRY(state_name(w, &c->state_name));
    RW_TRY(rw_words_count(w, " version ", "a version", INT32_MAX, &c->state_version));
    int32_t n_lines = 0;
    for (const char *at = c->state; at && *at; at++)
        n_lines += *at == '\n';
    RW_TRY(rw_words_count_of(w, " lines ", "the number of lines", 2, &n_lines));
    RW_TRY(rw_words_newline(w));
    if (w->is_writing)
        RW_TRY(rw_words_take(w, c->state ? c->state : ""));
    const char *begin = w->at;
    for (int32_t i = 0; i < n_lines && !w->is_writing; i++) {
        char *line RW_FREED = NULL;
        RW_TRY(rw_words_text(w, "", "a line of the objective's state", &line));
        RW_TRY(rw_words_newline(w));
    }
    if (!w->is_writing) {
        RW_TRY(RW_NEW(w->ctx, c->state, (size_t)(w->at - begin) + 1));
        memcpy(c->state, begin, (size_t)(w->at - begin));
    }
    return rw_words_newline(w);
}

/* Rejects contents that parse but that no training could have written. */
static int check_content(struct rw_words *w, const struct rw_checkpoint *c)
{
    const struct rw_model *model = c->model;
    const int32_t n_own = model->n_trees - c->init_trees, n_bags = rw_model_bags(&model->params);
    const int32_t measured = model->n_metrics > 0 ? c->init_rounds + n_own / n_bags : 0;
    if (c->n_sets < 1 || n_own % n_bags != 0 || model->n_rounds_run != measured ||
        model->n_earlier > 0 || model->empty_rounds > 0 || n_own < 0 ||
        c->init_rounds > c->init_trees ||
        (model->best_round > 0 && model->best_round < c->init_rounds))
        return rw_fail(w->ctx, RW_ERR_FORMAT,
                       "%s: inconsistent checkpoint: %d sets, %d trees, %d of them from a model, "
                       "and metrics of %d rounds",
                       w->path, c->n_sets, model->n_trees, c->init_rounds, model->n_rounds_run);
    return RW_OK;
}

static int grammar(struct rw_words *w, struct rw_checkpoint *c)
{
    RW_TRY(rw_words_text(w, "program ", "a version", &c->program));
    RW_TRY(rw_words_choice(w, "\nended ", "yes", "no", &c->is_ended));
    RW_TRY(init_line(w, c));
    RW_TRY(note_line(w, c));
    RW_TRY(sets_section(w, c));
    RW_TRY(state_section(w, c));
    w->version = RW_MODEL_VERSION;
    return rw_model_grammar(w, c->model);
}

/* ---- reading and writing ---- */

/* Fails with RW_ERR_FORMAT and names the program version that can resume the checkpoint. */
static int fail_program(struct rw_ctx *ctx, const char *path, const char *program)
{
    return rw_fail(
        ctx, RW_ERR_FORMAT,
        "%s:2: checkpoint written by rankwood %.40s; rankwood %s might continue it to a different "
        "model\nhint: resume it with rankwood %.40s, or train again from the start",
        path, program, RW_VERSION, program);
}

/* Fails for another version. The second line names the program in every version of the format. */
static int fail_version(struct rw_words *w)
{
    char *program RW_FREED = NULL;
    const int32_t version = w->version;
    const int is_known = rw_words_newline(w) == RW_OK &&
                         rw_words_text(w, "program ", "a version", &program) == RW_OK &&
                         strcmp(program, RW_VERSION) != 0;
    return is_known ? fail_program(w->ctx, w->path, program)
                    : rw_fail(w->ctx, RW_ERR_FORMAT, "%s:1: checkpoint format %d; expected %d",
                              w->path, version, RW_CHECKPOINT_VERSION);
}

static int read_header(struct rw_words *w)
{
    char expected[48];
    int is_checkpoint, is_model;
    snprintf(expected, sizeof(expected), "'%s%d'", RW_CHECKPOINT_HEADER, RW_CHECKPOINT_VERSION);
    RW_TRY(rw_words_option(w, RW_MODEL_HEADER, &is_model));
    if (is_model)
        return rw_fail(w->ctx, RW_ERR_FORMAT,
                       "%s:1: expected a checkpoint, found a model\nhint: to add trees to a model, "
                       "continue from it with 'init'",
                       w->path);
    RW_TRY(rw_words_option(w, RW_CHECKPOINT_HEADER, &is_checkpoint));
    if (!is_checkpoint)
        return rw_words_fail(w, expected);
    RW_TRY(rw_words_count(w, "", "a version", INT32_MAX, &w->version));
    if (w->version != RW_CHECKPOINT_VERSION)
        return fail_version(w);
    return rw_words_newline(w);
}

int rw_checkpoint_parse(struct rw_ctx *ctx, const char *path, const char *text, size_t n,
                        struct rw_checkpoint *out)
{
    struct rw_words words = rw_words_of(ctx, path, text, n);
    *out = (struct rw_checkpoint){0};
    RW_TRY(read_header(&words));
    RW_TRY(rw_model_checksum_check(ctx, path, text, n));
    words.end -= RW_CHECKSUM_LINE_BYTES;
    words.after = "the checksum";
    int status = rw_model_new(ctx, &out->model);
    status = status < 0 ? status : grammar(&words, out);
    status = status < 0 ? status : check_content(&words, out);
    if (status < 0)
        rw_checkpoint_release(out);
    return status;
}

int rw_checkpoint_read(struct rw_ctx *ctx, const char *path, struct rw_checkpoint *out)
{
    char *all RW_FREED = NULL;
    size_t n = 0;
    *out = (struct rw_checkpoint){0};
    RW_TRY(rw_model_file_read(ctx, path, "a checkpoint", read_header, &all, &n));
    return rw_checkpoint_parse(ctx, path, all, n, out);
}

static int print(struct rw_words *w, struct rw_checkpoint *checkpoint)
{
    char line[RW_CHECKSUM_LINE_BYTES + 1];
    RW_TRY(rw_words_number(w, RW_CHECKPOINT_HEADER, RW_CHECKPOINT_VERSION));
    RW_TRY(rw_words_newline(w));
    RW_TRY(grammar(w, checkpoint));
    rw_model_checksum_line(w->text, w->n_bytes, line);
    return rw_words_take(w, line);
}

int rw_checkpoint_print(struct rw_ctx *ctx, const struct rw_checkpoint *checkpoint, char **out,
                        size_t *n)
{
    struct rw_words words = {.ctx = ctx, .is_writing = 1};
    struct rw_checkpoint written = *checkpoint; /* a shallow copy */
    *out = NULL;
    *n = 0;
    RW_TRY(rw_model_check(ctx, written.model));
    const int status = print(&words, &written);
    if (status < 0) {
        rw_mem_free(words.text);
        return status;
    }
    *out = words.text;
    *n = words.n_bytes;
    return RW_OK;
}

/* ---- a training's checkpoints ---- */

/* Without an interval from the caller, a checkpoint is due after default_seconds. It is due later
 * if writing would otherwise take more than most_share of the training time. */
static const double default_seconds = 60.0;
static const double most_share = 0.01;

int rw_checkpoints_set_every(struct rw_ctx *ctx, struct rw_checkpoints *checkpoints,
                             const char *every)
{
    enum { MOST = 1000000 };
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"s", 1.0}, {"m", 60.0}, {"h", 3600.0}};
    const size_t digits = strspn(every, "0123456789");
    const long number = digits > 0 && digits < 8 ? strtol(every, NULL, 10) : 0;
    checkpoints->every_rounds = 0;
    checkpoints->every_seconds = 0.0;
    if (number >= 1 && number <= MOST && !every[digits])
        checkpoints->every_rounds = (int)number;
    for (size_t i = 0; number >= 1 && number <= MOST && i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(every + digits, units[i].unit) == 0)
            checkpoints->every_seconds = (double)number * units[i].seconds;
    }
    if (checkpoints->every_rounds > 0 || checkpoints->every_seconds > 0.0)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "invalid interval '%.100s': expected rounds (50) or a time (30s, 10m, 2h), a "
                   "number up to %d",
                   every, MOST);
}

int rw_checkpointer_init(struct rw_checkpointer *c, struct rw_ctx *ctx,
                         const struct rw_train_hooks *hooks)
{
    *c = (struct rw_checkpointer){.ctx = ctx};
    if (!hooks || !hooks->checkpoints)
        return RW_OK;
    const struct rw_checkpoints *how = hooks->checkpoints;
    c->user = hooks->user;
    c->how = how;
    if (how->path && strcmp(how->path, "-") == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a checkpoint cannot go to standard output");
    if (how->path && rw_worker(ctx) == 0) {
        RW_TRY(rw_out_file_open(ctx, NULL, how->path));
        if (rw_ctx_new(&c->writer) < 0)
            return rw_fail(ctx, RW_ERR_MEMORY, "out of memory");
    }
    if (!how->resume || (how->or_start && access(how->resume, F_OK) != 0 && errno == ENOENT))
        return RW_OK;
    RW_TRY(rw_checkpoint_read(ctx, how->resume, &c->resumed));
    if (strcmp(c->resumed.program, RW_VERSION) != 0)
        return fail_program(ctx, how->resume, c->resumed.program);
    if (how->path && strcmp(how->path, how->resume) == 0) {
        const struct rw_model *model = c->resumed.model;
        c->kept_round = c->resumed.init_rounds +
                        (model->n_trees - c->resumed.init_trees) / rw_model_bags(&model->params);
        c->kept_is_ended = c->resumed.is_ended;
    }
    return RW_OK;
}

int rw_checkpointer_agree(struct rw_checkpointer *c)
{
    const int n_trees = rw_checkpointer_resumes(c) ? c->resumed.model->n_trees : -1;
    const uint64_t own = ((uint64_t)(c->how != NULL) << 32) + (uint64_t)(n_trees + 1);
    uint64_t most = own, least = own;
    RW_TRY(rw_comm_max(c->ctx, &most, 1));
    RW_TRY(rw_comm_all_reduce(c->ctx, &least, 1, RW_COMM_U64, RW_COMM_MIN));
    if (most == least)
        return RW_OK;
    return rw_fail(c->ctx, RW_ERR_ARGUMENT,
                   "workers resume from different checkpoints, or only some of them resume\nhint: "
                   "all workers must see the same file");
}

void rw_checkpointer_release(struct rw_checkpointer *c)
{
    if (c->is_running)
        pthread_join(c->thread, NULL);
    rw_arena_free(&c->arena);
    rw_ctx_free(c->writer);
    rw_checkpoint_release(&c->resumed);
    rw_mem_free(c->content.set);
    *c = (struct rw_checkpointer){0};
}

/* ---- is it the same training? ---- */

/* Returns a model's value of a parameter. Some parameters are stored only if they are not at
 * their default; if one of them is missing, it has its default. Any other missing one is "unset".
 */
static struct rw_run_param value_of(const struct rw_model_params *params, const char *name)
{
    static char not_there[] = "unset";
    const struct rw_run_param *found = rw_model_params_find(params, name);
    const int at = rw_param_find(name);
    struct rw_run_param value = {.value = not_there};
    if (found)
        value = *found;
    else if (at >= 0 && rw_param_rows[at].info.model == 2)
        value.value = (char *)(uintptr_t)rw_param_rows[at].info.default_value;
    return value;
}

static void compare_param(const struct rw_model_params *was, const struct rw_model_params *is,
                          const char *name, char *text, size_t size)
{
    const struct rw_run_param theirs = value_of(was, name), ours = value_of(is, name);
    if (strcmp(name, "rounds") == 0 ||
        (theirs.is_auto == ours.is_auto && strcmp(theirs.value, ours.value) == 0))
        return;
    const size_t n = strlen(text);
    snprintf(text + n, size - n, "%s%s was %s%s and is now %s%s", n ? "; " : "", name,
             theirs.is_auto ? "auto " : "", theirs.value, ours.is_auto ? "auto " : "", ours.value);
}

static int check_params(struct rw_checkpointer *c)
{
    const struct rw_model_params *was = &c->resumed.model->params, *is = &c->model->params;
    char text[1024] = "";
    for (int32_t i = 0; i < is->n; i++)
        compare_param(was, is, is->param[i].name, text, sizeof(text));
    for (int32_t i = 0; i < was->n; i++) {
        if (!rw_model_params_find(is, was->param[i].name))
            compare_param(was, is, was->param[i].name, text, sizeof(text));
    }
    if (!*text)
        return RW_OK;
    return rw_fail(c->ctx, RW_ERR_ARGUMENT,
                   "cannot resume from '%s' with different parameters: %s\nhint: threads, "
                   "device, gpu-memory, hist and batch may change; rounds may increase",
                   c->how->resume, text);
}

static int check_features(struct rw_checkpointer *c)
{
    const struct rw_model *was = c->resumed.model, *is = c->model;
    if (was->n_features != is->n_features ||
        (is->n_features &&
         memcmp(was->feature, is->feature, is->n_features * sizeof(*is->feature)) != 0))
        return rw_fail(c->ctx, RW_ERR_DATA,
                       "cannot resume from '%s': the training set's features have changed",
                       c->how->resume);
    if (!rw_names_are_same(was->name, was->n_names, is->name, is->n_names))
        return rw_fail(c->ctx, RW_ERR_DATA,
                       "cannot resume from '%s': the features' names have changed", c->how->resume);
    return RW_OK;
}

static int check_metrics(struct rw_checkpointer *c)
{
    const struct rw_model *was = c->resumed.model;
    for (int i = 0; i < was->n_metrics || i < c->model->n_metrics; i++) {
        const char *theirs = i < was->n_metrics ? was->metric_name[i] : "nothing";
        const char *ours = i < c->model->n_metrics ? c->model->metric_name[i] : "nothing";
        if (strcmp(theirs, ours) != 0)
            return rw_fail(
                c->ctx, RW_ERR_ARGUMENT,
                "cannot resume from '%s': the metrics have changed: '%s' was measured, now '%s'",
                c->how->resume, theirs, ours);
    }
    return RW_OK;
}

static int check_init(struct rw_checkpointer *c)
{
    const struct rw_checkpoint *was = &c->resumed, *is = &c->content;
    if (was->has_init == is->has_init &&
        (!is->has_init ||
         (was->init_checksum == is->init_checksum && was->init_rounds == is->init_rounds)))
        return RW_OK;
    return rw_fail(c->ctx, RW_ERR_ARGUMENT,
                   "cannot resume from '%s': that training continued from %s, this one from %s",
                   c->how->resume, was->has_init ? "a model" : "no model",
                   !is->has_init   ? "none"
                   : was->has_init ? "another"
                                   : "one");
}

static int check_state(struct rw_checkpointer *c)
{
    const struct rw_checkpoint *was = &c->resumed, *is = &c->content;
    if (strcmp(was->state_name, is->state_name) == 0 && was->state_version == is->state_version &&
        (was->state_version > 0 || !*was->state))
        return RW_OK;
    return rw_fail(c->ctx, RW_ERR_FORMAT,
                   "cannot resume from '%s': it stores the state of objective %s, version %d; "
                   "expected %s, version %d",
                   c->how->resume, was->state_name, was->state_version, is->state_name,
                   is->state_version);
}

/* Names the parts of a set that differ. It omits parts that differ only as a consequence:
 * without equal documents, no other part can be equal. */
static void describe_set(const struct rw_fingerprint *was, const struct rw_fingerprint *is,
                         const char *set, char *text, size_t size)
{
    int n = 0;
    for (int i = 0; i < RW_PRINTS; i++) {
        const size_t used = strlen(text);
        if (was->part[i] == is->part[i] || (n > 0 && was->part[0] != is->part[0]))
            continue;
        snprintf(text + used, size - used, "%s%s %s", n || !used ? "" : "; ", n ? "," : set,
                 rw_print_name(i));
        n++;
    }
}

/* Compares the fingerprints of all sets. The number of sets is known to be equal. */
static int check_data(struct rw_checkpointer *c)
{
    const struct rw_checkpoint *was = &c->resumed, *is = &c->content;
    char text[1024] = "", name[32] = "the training set's";
    for (int set = 0; set < is->n_sets; set++) {
        if (set > 0)
            snprintf(name, sizeof(name), "validation set %d's", set);
        describe_set(&was->set[set], &is->set[set], name, text, sizeof(text));
    }
    if (!*text && was->boundaries != is->boundaries)
        snprintf(text, sizeof(text), "the training set's values");
    if (!*text)
        return RW_OK;
    return rw_fail(c->ctx, RW_ERR_DATA, "cannot resume from '%s': the data has changed: %s",
                   c->how->resume, text);
}

int rw_checkpointer_take(struct rw_checkpointer *c, const struct rw_model *model,
                         const struct rw_eval_sets *eval, const struct rw_objective *objective,
                         const struct rw_model *init)
{
    static char program[] = RW_VERSION, custom[] = "custom";
    char *text RW_FREED = NULL;
    size_t n;
    c->model = model;
    c->content.program = program;
    c->content.state_name = objective ? (char *)(uintptr_t)objective->name : custom;
    c->content.state_version = objective && objective->state ? objective->state->version : 0;
    if (init) {
        RW_TRY(rw_model_print(c->ctx, init, &text, &n));
        c->content.has_init = 1;
        c->content.init_checksum = rw_checksum(0, text, n);
        c->content.init_rounds = (int32_t)rw_model_n_rounds(init);
        c->content.init_trees = init->n_trees + init->empty_rounds * rw_model_bags(&init->params);
    }
    if (!rw_checkpointer_resumes(c))
        return RW_OK;
    if (c->resumed.n_sets !=
        eval->n_sets) /* this number also changes parameters, so it is compared first */
        return rw_fail(
            c->ctx, RW_ERR_DATA,
            "cannot resume from '%s': that training had %d validation set%s, this one has %d",
            c->how->resume, c->resumed.n_sets - 1, c->resumed.n_sets == 2 ? "" : "s",
            eval->n_sets - 1);
    RW_TRY(check_params(c));
    RW_TRY(check_init(c));
    RW_TRY(check_state(c));
    RW_TRY(check_metrics(c));
    return check_features(c);
}

/* Keeps the fingerprints for a manifest. */
static int record_data(struct rw_checkpointer *c)
{
    const struct rw_checkpoint *content = &c->content;
    struct rw_data_record *record = NULL;
    RW_TRY(RW_NEW(c->ctx, record, 1));
    record->boundaries = content->boundaries;
    record->n_sets = content->n_sets;
    memcpy(record->set, content->set, (size_t)content->n_sets * sizeof(*content->set));
    rw_mem_free(c->ctx->data_record);
    c->ctx->data_record = record;
    return RW_OK;
}

int rw_checkpointer_take_data(struct rw_checkpointer *c, struct rw_engine *engine,
                              const struct rw_sets *sets)
{
    RW_TRY(rw_comm_agree(c->ctx, RW_NEW(c->ctx, c->content.set, (size_t)sets->n_sets)));
    for (int set = 0; set < sets->n_sets; set++)
        RW_TRY(rw_fingerprint_of_all(engine, set, sets->set[set], &c->content.set[set]));
    c->content.n_sets = sets->n_sets;
    c->content.boundaries = rw_fingerprint_boundaries(engine->cuts);
    if (c->ctx->records_data)
        RW_TRY(rw_comm_agree(c->ctx, record_data(c)));
    return rw_checkpointer_resumes(c) ? check_data(c) : RW_OK;
}

/* ---- resuming ---- */

static void log_resumed(const struct rw_checkpointer *c, const struct rw_eval_sets *eval)
{
    if (!c->how || !c->how->on_resume)
        return;
    const struct rw_resumed resumed = {.path = c->how->resume,
                                       .round = c->last_round,
                                       .best_round = eval->best_round,
                                       .best_value = rw_eval_sets_best_value(eval),
                                       .note = c->resumed.note,
                                       .n_metrics = eval->n_values,
                                       .metrics = eval->value,
                                       .values = c->model->metric_value};
    c->how->on_resume(c->user, &resumed);
}

int rw_checkpointer_restore(struct rw_checkpointer *c, const struct rw_bags *bags,
                            struct rw_eval_sets *eval, int n_rounds, struct rw_model *model,
                            size_t *tree_room)
{
    const int first = c->content.init_rounds;
    c->last_round = first;
    c->last_ms = rw_clock_ms();
    if (!rw_checkpointer_resumes(c))
        return RW_OK;
    struct rw_model *was = c->resumed.model;
    const int last = first + (was->n_trees - model->n_trees) / bags->n;
    if (last > n_rounds)
        return rw_fail(c->ctx, RW_ERR_ARGUMENT,
                       "cannot resume from '%s': it has %d rounds, more than rounds = %d",
                       c->how->resume, last - first, n_rounds - first);
    RW_TRY(RW_GROW(c->ctx, model->tree, *tree_room, (size_t)was->n_trees));
    if (first > 0)
        RW_TRY(rw_eval_sets_replay(eval, bags->engine[0], first));
    for (int round = first; round < last; round++) {
        struct rw_tree *tree = &model->tree[model->n_trees];
        for (int k = 0; k < bags->n; k++) {
            RW_TRY(rw_engine_add_tree(bags->engine[k], 0, &was->tree[model->n_trees], NULL));
            tree[k] = was->tree[model->n_trees];
            was->tree[model->n_trees++] = (struct rw_tree){0};
        }
        RW_TRY(rw_bags_add_round(bags, c->ctx, tree));
        RW_TRY(rw_eval_sets_replay(eval, bags->engine[0], round + 1));
    }
    rw_eval_sets_restore(eval, was);
    RW_TRY(rw_eval_sets_verify(eval, bags->engine[0]));
    c->last_round = last;
    log_resumed(c, eval);
    c->last_ms = rw_clock_ms();
    return RW_OK;
}

int rw_checkpointer_take_state(struct rw_checkpointer *c, struct rw_gradients *gradients)
{
    c->gradients = gradients;
    if (!rw_checkpointer_resumes(c) || !c->resumed.state)
        return RW_OK;
    const int status = rw_gradients_read(gradients, 0, "the objective's state", c->resumed.state,
                                         strlen(c->resumed.state));
    if (status >= 0 || !c->how) /* of a training that was paused, only memory can be missing */
        return status < 0 ? status : RW_OK;
    return rw_fail(c->ctx, status, "cannot resume from '%s': %s", c->how->resume,
                   rw_last_error(c->ctx));
}

int rw_checkpointer_was_ended(const struct rw_checkpointer *c, int n_rounds)
{
    if (!rw_checkpointer_resumes(c) || !c->resumed.is_ended)
        return 0;
    const struct rw_run_param *rounds = rw_model_params_find(&c->resumed.model->params, "rounds");
    return rounds && n_rounds - c->resumed.init_rounds <= atoi(rounds->value);
}

/* ---- writing ---- */

/* Copies the growing parts of the model for the writer and borrows its trees, which no longer
 * change. Failures go to the writer's context: that of the training may hold the error that ends
 * it. */
static int take_snapshot(struct rw_checkpointer *c, const struct rw_eval_sets *eval, int n_rounds,
                         int is_ended)
{
    static char no_note[] = "";
    struct rw_model *s = &c->snapshot;
    const int first = c->content.init_rounds;
    const size_t n_trees =
        (size_t)(c->content.init_trees + (n_rounds - first) * rw_model_bags(&c->model->params));
    const size_t n_values = (size_t)n_rounds * (size_t)eval->n_values;
    const char *note = c->how->note ? c->how->note(c->user) : NULL;
    rw_arena_free(&c->arena);
    *s = *c->model;
    s->n_trees = (int32_t)n_trees;
    s->best_round = eval->best_round;
    s->is_interrupted = 1;
    s->n_rounds_run = eval->n_values ? n_rounds : 0;
    RW_TRY(RW_ARENA_NEW(c->writer, &c->arena, s->tree, n_trees));
    memcpy(s->tree, c->model->tree, n_trees * sizeof(*s->tree));
    RW_TRY(RW_ARENA_NEW(c->writer, &c->arena, s->metric_value, n_values));
    if (n_values)
        memcpy(s->metric_value, c->model->metric_value, n_values * sizeof(*s->metric_value));
    c->content.model = s;
    c->content.is_ended = is_ended;
    c->content.note = no_note;
    if (c->gradients) {
        RW_TRY(rw_gradients_print(c->writer, c->gradients, (uint32_t)n_rounds, &c->content.state));
        RW_TRY(rw_arena_own(c->writer, &c->arena, c->content.state, rw_mem_free));
    }
    return note ? rw_arena_text(c->writer, &c->arena, (const char **)&c->content.note, note)
                : RW_OK;
}

static int write_file(struct rw_checkpointer *c)
{
    struct rw_out_file file RW_RELEASED(rw_out_file_abandon) = {0};
    char *text RW_FREED = NULL;
    size_t n;
    RW_TRY(rw_checkpoint_print(c->writer, &c->content, &text, &n));
    RW_TRY(rw_out_file_open(c->writer, &file, c->how->path));
    if (fwrite(text, 1, n, file.file) != n)
        return rw_fail_io(c->writer, errno, "cannot write '%s'", c->how->path);
    return rw_out_file_commit(c->writer, &file);
}

static void *write_in_thread(void *user)
{
    RW_DEFAULT_FPENV;
    struct rw_checkpointer *c = user;
    const double start = rw_clock_ms();
    c->status = write_file(c);
    c->ms = rw_clock_ms() - start;
    __atomic_store_n(&c->is_done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Starts the writer's thread with signals blocked, so that other threads handle them. */
static int start_thread(struct rw_checkpointer *c)
{
    sigset_t all, old;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
        return 0;
    __atomic_store_n(&c->is_done, 0, __ATOMIC_RELEASE);
    c->is_running = pthread_create(&c->thread, NULL, write_in_thread, c) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return c->is_running;
}

/* Warns of a failed write, once until a write succeeds. */
static void warn(struct rw_checkpointer *c)
{
    if (!c->has_failed)
        rw_log(c->ctx, RW_LOG_WARNING, "cannot write the checkpoint of round %d: %s", c->last_round,
               rw_last_error(c->writer));
    c->has_failed = 1;
}

/* Records the result of a finished write. */
static void settle(struct rw_checkpointer *c)
{
    c->written_ms += c->ms;
    if (c->status < 0) {
        warn(c);
        return;
    }
    c->n_written++;
    c->has_failed = 0;
    c->kept_round = c->last_round;
    c->kept_is_ended = c->content.is_ended;
}

/* Collects the result of a finished write. wait: first wait for a running one. */
static void collect(struct rw_checkpointer *c, int wait)
{
    if (!c->is_running || (!wait && !__atomic_load_n(&c->is_done, __ATOMIC_ACQUIRE)))
        return;
    pthread_join(c->thread, NULL);
    c->is_running = 0;
    settle(c);
}

static int is_due(const struct rw_checkpointer *c, int n_rounds, double now)
{
    if (c->how->every_rounds > 0)
        return n_rounds - c->last_round >= c->how->every_rounds;
    if (c->how->every_seconds > 0.0)
        return now - c->last_ms >= c->how->every_seconds * 1e3;
    const double least = c->ms / most_share;
    return now - c->last_ms >= (least > default_seconds * 1e3 ? least : default_seconds * 1e3);
}

/* Writes a checkpoint. If the last argument is 1, the writer's thread writes the file while
 * training continues. If the argument is 0 or the thread cannot be started, this function writes
 * the file itself. */
static void begin(struct rw_checkpointer *c, const struct rw_eval_sets *eval, int n_rounds,
                  int is_ended, int beside)
{
    c->last_round = n_rounds;
    if (take_snapshot(c, eval, n_rounds, is_ended) < 0) {
        warn(c);
    } else if (!beside || !start_thread(c)) {
        write_in_thread(c);
        settle(c);
    }
}

void rw_checkpointer_round(struct rw_checkpointer *c, const struct rw_eval_sets *eval, int n_rounds)
{
    if (!c->writer)
        return;
    const double now = rw_clock_ms();
    collect(c, 0);
    if (c->is_running || !is_due(c, n_rounds, now))
        return;
    c->last_ms = now;
    begin(c, eval, n_rounds, 0, 1);
    c->stopped_ms += rw_clock_ms() - now;
}

void rw_checkpointer_end(struct rw_checkpointer *c, const struct rw_eval_sets *eval, int n_rounds,
                         int is_ended)
{
    if (!c->writer)
        return;
    collect(c, 1);
    if (n_rounds > c->content.init_rounds &&
        (n_rounds != c->kept_round || is_ended != c->kept_is_ended))
        begin(c, eval, n_rounds, is_ended, 0);
    rw_log(c->ctx, RW_LOG_DEBUG,
           "%d checkpoint%s: training paused for %.3f ms; writing took %.3f ms, all but the last "
           "in parallel with training",
           c->n_written, c->n_written == 1 ? "" : "s", c->stopped_ms, c->written_ms);
}
