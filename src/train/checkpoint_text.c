#include "train/checkpoint_text.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/other_formats.h"
#include "model/model_words.h"

const char *const rw_print_name[RW_PRINTS] = {"documents",    "queries",   "query-ids",
                                              "labels",       "weights",   "values",
                                              "start-scores", "positions", "more-labels"};

void rw_checkpoint_release(struct rw_checkpoint *checkpoint)
{
    rw_mem_free(checkpoint->program);
    rw_mem_free(checkpoint->note);
    rw_mem_free(checkpoint->set);
    rw_mem_free(checkpoint->state_name);
    for (int32_t i = 0; checkpoint->state_line && i < checkpoint->n_state_lines; i++)
        rw_mem_free(checkpoint->state_line[i]);
    rw_mem_free(checkpoint->state_line);
    rw_model_free(checkpoint->model);
    *checkpoint = (struct rw_checkpoint){0};
}

/* ------------------------------------------------------------------ the grammar, read and written
 */

/* A word and, if there is one, a text behind it. */
static int optional_text(struct rw_words *w, const char *word, const char *what, char **text)
{
    int is_there = w->is_writing && **text;
    RW_TRY(rw_words_take(w, word));
    RW_TRY(rw_words_option(w, " ", &is_there));
    if (is_there)
        RW_TRY(rw_words_text(w, "", what, text));
    else if (!w->is_writing)
        RW_TRY(rw_mem_copy_text(w->ctx, text, ""));
    return rw_words_newline(w);
}

static int init_line(struct rw_words *w, struct rw_checkpoint *c)
{
    int has_none = !c->has_init;
    RW_TRY(rw_words_take(w, "init "));
    RW_TRY(rw_words_option(w, "none", &has_none));
    c->has_init = !has_none;
    if (c->has_init) {
        RW_TRY(rw_words_hex(w, "", "a model's checksum, or none", &c->init_checksum));
        RW_TRY(rw_words_count(w, " rounds ", "a number of rounds", INT32_MAX, &c->init_rounds));
    }
    return rw_words_newline(w);
}

static int sets_section(struct rw_words *w, struct rw_checkpoint *c)
{
    enum { LEAST_BYTES = 60 }; /* of a set's line */
    RW_TRY(rw_words_count_of(w, "sets ", "the number of sets", LEAST_BYTES, &c->n_sets));
    RW_TRY(rw_words_hex(w, " boundaries ", "a hexadecimal number", &c->boundaries));
    RW_TRY(rw_words_newline(w));
    if (!w->is_writing)
        RW_TRY(RW_NEW(w->ctx, c->set, (size_t)c->n_sets));
    for (int32_t set = 0; set < c->n_sets; set++) {
        for (int i = 0; i < RW_PRINTS; i++) {
            char before[32];
            const int is_optional = i >= RW_PRINT_START_SCORES;
            int is_there = !is_optional || c->set[set].part[i] != 0;
            snprintf(before, sizeof(before), "%s%s ", i ? " " : "", rw_print_name[i]);
            if (is_optional) {
                RW_TRY(rw_words_option(w, before, &is_there));
                *before = 0;
            }
            if (!is_there)
                continue;
            RW_TRY(rw_words_hex(w, before, "a hexadecimal number", &c->set[set].part[i]));
        }
        RW_TRY(rw_words_newline(w));
    }
    return RW_OK;
}

/* The objective's name is a word. */
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
    RW_TRY(rw_words_take(w, "state "));
    RW_TRY(state_name(w, &c->state_name));
    RW_TRY(rw_words_count(w, " version ", "a version", INT32_MAX, &c->state_version));
    RW_TRY(rw_words_count_of(w, " lines ", "the number of lines", 2, &c->n_state_lines));
    RW_TRY(rw_words_newline(w));
    if (!w->is_writing)
        RW_TRY(RW_NEW(w->ctx, c->state_line, (size_t)c->n_state_lines));
    for (int32_t i = 0; i < c->n_state_lines; i++) {
        RW_TRY(rw_words_text(w, "", "a line of the objective's state", &c->state_line[i]));
        RW_TRY(rw_words_newline(w));
    }
    return rw_words_newline(w);
}

/* What a file may say and no training could have left. */
static int check(struct rw_words *w, const struct rw_checkpoint *c)
{
    const struct rw_model *model = c->model;
    const int32_t measured = model->n_metrics > 0 ? model->n_trees : 0;
    if (c->n_sets < 1 || model->n_rounds_run != measured || model->n_earlier > 0 ||
        model->empty_rounds > 0 || c->init_rounds > model->n_trees)
        return rw_fail(w->ctx, RW_ERR_FORMAT,
                       "%s: no training leaves this: %d sets, %d trees, %d of them from a model, "
                       "and metrics of %d rounds",
                       w->path, c->n_sets, model->n_trees, c->init_rounds, model->n_rounds_run);
    return RW_OK;
}

static int grammar(struct rw_words *w, struct rw_checkpoint *c)
{
    RW_TRY(rw_words_text(w, "program ", "a version", &c->program));
    RW_TRY(rw_words_newline(w));
    RW_TRY(rw_words_choice(w, "ended ", "yes", "no", &c->is_ended));
    RW_TRY(rw_words_newline(w));
    RW_TRY(init_line(w, c));
    RW_TRY(optional_text(w, "note", "a note", &c->note));
    RW_TRY(sets_section(w, c));
    RW_TRY(state_section(w, c));
    w->version = RW_MODEL_VERSION;
    return rw_model_grammar(w, c->model);
}

/* ------------------------------------------------------------------ reading and writing */

int rw_checkpoint_fail_program(struct rw_ctx *ctx, const char *path, const char *program)
{
    return rw_fail(ctx, RW_ERR_FORMAT,
                   "%s:2: a checkpoint of rankwood %.40s; this is %s, which may go on to another "
                   "model\nhint: rankwood %.40s resumes it; without the file, training starts anew",
                   path, program, RW_VERSION, program);
}

/* Whatever else has changed, the second line says who resumes it. */
static int fail_version(struct rw_words *w)
{
    char *program = NULL;
    const int32_t version = w->version;
    const int is_known = rw_words_newline(w) == RW_OK &&
                         rw_words_text(w, "program ", "a version", &program) == RW_OK &&
                         strcmp(program, RW_VERSION) != 0;
    const int status =
        is_known ? rw_checkpoint_fail_program(w->ctx, w->path, program)
                 : rw_fail(w->ctx, RW_ERR_FORMAT, "%s:1: a checkpoint of version %d; expected %d",
                           w->path, version, RW_CHECKPOINT_VERSION);
    rw_mem_free(program);
    return status;
}

static int read_header(struct rw_words *w)
{
    char expected[48];
    int is_checkpoint, is_model;
    snprintf(expected, sizeof(expected), "'%s%d'", RW_CHECKPOINT_HEADER, RW_CHECKPOINT_VERSION);
    RW_TRY(rw_words_option(w, RW_MODEL_HEADER, &is_model));
    if (is_model)
        return rw_fail(w->ctx, RW_ERR_FORMAT,
                       "%s:1: a model, which a training continues from (init); expected a "
                       "checkpoint, from which one is resumed",
                       w->path);
    RW_TRY(rw_words_option(w, RW_CHECKPOINT_HEADER, &is_checkpoint));
    if (!is_checkpoint)
        return rw_words_fail(w, expected);
    RW_TRY(rw_words_count(w, "", "a version", INT32_MAX, &w->version));
    if (w->version != RW_CHECKPOINT_VERSION)
        return fail_version(w);
    return rw_words_newline(w);
}

static int parse(struct rw_words *w, struct rw_checkpoint *out)
{
    RW_TRY(rw_model_new(w->ctx, &out->model));
    RW_TRY(grammar(w, out));
    return check(w, out);
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
    const int status = parse(&words, out);
    if (status < 0)
        rw_checkpoint_release(out);
    return status;
}

int rw_checkpoint_read(struct rw_ctx *ctx, const char *path, struct rw_checkpoint *out)
{
    char *all;
    size_t n = 0;
    *out = (struct rw_checkpoint){0};
    RW_TRY(rw_model_file_read(ctx, path, "a checkpoint", read_header, &all, &n));
    const int status = rw_checkpoint_parse(ctx, path, all, n, out);
    rw_mem_free(all);
    return status;
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
    struct rw_checkpoint written = *checkpoint; /* whose arrays stay as they are */
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
