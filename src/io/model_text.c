#include "io/model_text.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "io/model_words.h"

enum { FIRST_READ_BYTES = 65536 };

/* What a parameter is called today. */
static const char *name_now(const struct rw_words *r, const char *name)
{
    return r->version == 1 && strcmp(name, "min-weight") == 0 ? "min-hessian" : name;
}

/* From the word `params` on, without the empty line after them. */
static int read_params(struct rw_words *r, struct rw_model_params *params)
{
    int32_t n;
    RW_TRY(rw_words_take(r, "params "));
    RW_TRY(rw_words_count_of(r, "the number of parameters", 4, &n));
    if (n > RW_MODEL_MAX_PARAMS)
        return rw_fail(r->ctx, RW_ERR_FORMAT, "%s:%u: expected at most %d parameters, found %d",
                       r->path, r->line, RW_MODEL_MAX_PARAMS, n);
    RW_TRY(rw_words_newline(r));
    RW_TRY(RW_NEW(r->ctx, params->param, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        struct rw_param_value *param = &params->param[i];
        char *name = NULL;
        params->n = i + 1;
        const char *c = r->at;
        while (c < r->end &&
               ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_'))
            c++;
        if (c == r->at)
            return rw_words_fail(r, "a parameter's name");
        RW_TRY(RW_NEW(r->ctx, name, (size_t)(c - r->at) + 1));
        memcpy(name, r->at, (size_t)(c - r->at));
        const int status = rw_mem_copy_text(r->ctx, &param->name, name_now(r, name));
        rw_mem_free(name);
        RW_TRY(status);
        for (int32_t j = 0; j < i; j++)
            if (strcmp(params->param[j].name, param->name) == 0)
                return rw_words_fail(r, "a parameter that did not stand before");
        r->at = c;
        RW_TRY(rw_words_take(r, " ="));
        param->is_auto = rw_words_accept(r, " auto ");
        if (param->is_auto || rw_words_accept(r, " "))
            RW_TRY(rw_words_text(r, "a value", &param->value));
        else
            RW_TRY(rw_mem_copy_text(r->ctx, &param->value, ""));
        RW_TRY(rw_words_newline(r));
    }
    return RW_OK;
}

static int read_earlier(struct rw_words *r, struct rw_model *model)
{
    enum { LEAST_BYTES = 23 }; /* run 1 trees 0 params 0 */
    int32_t n;
    uint64_t n_trees;
    RW_TRY(rw_words_take(r, "earlier "));
    RW_TRY(rw_words_count_of(r, "the number of trainings before the last", LEAST_BYTES, &n));
    if (n > RW_MODEL_MAX_RUNS)
        return rw_fail(r->ctx, RW_ERR_FORMAT, "%s:%u: expected at most %d trainings, found %d",
                       r->path, r->line, RW_MODEL_MAX_RUNS, n);
    RW_TRY(rw_words_newline(r));
    RW_TRY(RW_NEW(r->ctx, model->earlier, (size_t)n));
    for (int32_t k = 0; k < n; k++) {
        model->n_earlier = k + 1;
        RW_TRY(rw_words_take(r, "run "));
        RW_TRY(rw_words_number_is(r, (uint64_t)k + 1));
        RW_TRY(rw_words_take(r, " trees "));
        RW_TRY(rw_words_count(r, "the trees of a training", INT32_MAX, &n_trees));
        model->earlier[k].n_trees = (int32_t)n_trees;
        RW_TRY(rw_words_take(r, " "));
        RW_TRY(read_params(r, &model->earlier[k].params));
    }
    return rw_words_newline(r);
}

static int read_features(struct rw_words *r, struct rw_model *model)
{
    uint64_t n, first, last, next = 0;
    RW_TRY(rw_words_take(r, "features "));
    RW_TRY(rw_words_count(r, "the number of features", RW_FEATURE_IDS, &n));
    RW_TRY(rw_words_newline(r));
    RW_TRY(RW_NEW(r->ctx, model->feature, n));
    while (model->n_features < n) {
        const char *begin = r->at;
        RW_TRY(rw_words_count(r, "a feature id", RW_MAX_FEATURE, &first));
        last = first;
        if (rw_words_accept(r, "-"))
            RW_TRY(rw_words_count(r, "a feature id", RW_MAX_FEATURE, &last));
        if (first < next || last < first || last - first >= n - model->n_features) {
            r->at = begin;
            return rw_words_fail(r, "ids that ascend, as many as were announced");
        }
        while (first <= last)
            model->feature[model->n_features++] = (uint32_t)first++;
        next = last + 2; /* neighbours make one range */
        RW_TRY(rw_words_newline(r));
    }
    return rw_words_newline(r);
}

static int read_names(struct rw_words *r, struct rw_model *model)
{
    uint64_t feature, next = 0;
    int32_t n;
    RW_TRY(rw_words_take(r, "names "));
    RW_TRY(rw_words_count_of(r, "the number of names", 4, &n));
    RW_TRY(rw_words_newline(r));
    RW_TRY(RW_NEW(r->ctx, model->name, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        const char *begin = r->at;
        RW_TRY(rw_words_count(r, "a feature id", RW_MAX_FEATURE, &feature));
        if (feature < next) {
            r->at = begin;
            return rw_words_fail(r, "ids that ascend");
        }
        next = feature + 1;
        model->n_names = i + 1;
        model->name[i].feature = (uint32_t)feature;
        RW_TRY(rw_words_take(r, " "));
        RW_TRY(rw_words_text(r, "a name", &model->name[i].name));
        RW_TRY(rw_words_newline(r));
    }
    return rw_words_newline(r);
}

static int metric_value(struct rw_words *r, double *out)
{
    RW_TRY(rw_words_take(r, " "));
    if (rw_words_accept(r, "nan"))
        *out = NAN;
    else if (rw_words_accept(r, "inf"))
        *out = INFINITY;
    else if (rw_words_accept(r, "-inf"))
        *out = -INFINITY;
    else
        return rw_words_real(r, "a metric's value", out);
    return RW_OK;
}

static int read_metrics(struct rw_words *r, struct rw_model *model)
{
    int32_t n, n_rounds;
    RW_TRY(rw_words_take(r, "metrics "));
    RW_TRY(rw_words_count_of(r, "the number of metrics", 9, &n));
    RW_TRY(rw_words_take(r, " rounds "));
    RW_TRY(rw_words_count_of(r, "the number of rounds", 2 + 2 * (size_t)n, &n_rounds));
    RW_TRY(rw_words_newline(r));
    RW_TRY(RW_NEW(r->ctx, model->metric_name, (size_t)n));
    RW_TRY(RW_NEW(r->ctx, model->metric_value, (size_t)n * (size_t)n_rounds));
    for (int32_t i = 0; i < n; i++) {
        model->n_metrics = i + 1;
        RW_TRY(rw_words_take(r, "metric "));
        RW_TRY(rw_words_text(r, "a metric's name", &model->metric_name[i]));
        RW_TRY(rw_words_newline(r));
    }
    double *value = model->metric_value;
    for (int32_t round = 1; round <= n_rounds; round++) {
        RW_TRY(rw_words_number_is(r, (uint64_t)round));
        for (int32_t i = 0; i < n; i++)
            RW_TRY(metric_value(r, value++));
        RW_TRY(rw_words_newline(r));
    }
    model->n_rounds_run = n_rounds;
    return rw_words_newline(r);
}

static int read_child(struct rw_words *r, const char *side, int32_t n_leaves, int32_t *out)
{
    uint64_t number;
    RW_TRY(rw_words_take(r, side));
    if (rw_words_accept(r, "leaf ")) {
        RW_TRY(rw_words_count(r, "a leaf", (uint64_t)n_leaves - 1, &number));
        *out = ~(int32_t)number;
        return RW_OK;
    }
    RW_TRY(rw_words_take(r, "node "));
    if (n_leaves < 3) /* node 0 is nobody's child */
        return rw_words_fail(r, "a leaf");
    RW_TRY(rw_words_count(r, "a node", (uint64_t)n_leaves - 2, &number));
    *out = (int32_t)number;
    return RW_OK;
}

static int read_node(struct rw_words *r, const struct rw_model *model, struct rw_tree *tree,
                     int32_t node)
{
    uint64_t feature;
    RW_TRY(rw_words_take(r, "node "));
    RW_TRY(rw_words_number_is(r, (uint64_t)node));
    RW_TRY(rw_words_take(r, " feature "));
    RW_TRY(rw_words_count(r, "a feature id", RW_MAX_FEATURE, &feature));
    tree->feature[node] = (uint32_t)feature;
    RW_TRY(rw_words_take(r, " <= "));
    RW_TRY(rw_words_float(r, "a cut, a finite float", &tree->cut[node]));
    RW_TRY(read_child(r, " left ", tree->n_leaves, &tree->left[node]));
    RW_TRY(read_child(r, " right ", tree->n_leaves, &tree->right[node]));
    RW_TRY(rw_words_take(r, " missing "));
    tree->missing_left[node] = (uint8_t)rw_words_accept(r, "left");
    if (!tree->missing_left[node])
        RW_TRY(rw_words_take(r, "right"));
    RW_TRY(rw_words_take(r, " gain "));
    RW_TRY(rw_words_real(r, "a gain, a finite number", &tree->gain[node]));
    const char *name = rw_model_feature_name(model, tree->feature[node]);
    if (*name) {
        char *comment = NULL;
        RW_TRY(rw_words_take(r, " # "));
        const char *begin = r->at;
        int status = rw_words_text(r, "the feature's name", &comment);
        if (status == RW_OK && strcmp(comment, name) != 0) {
            r->at = begin;
            status = rw_words_fail(r, "the feature's name");
        }
        rw_mem_free(comment);
        RW_TRY(status);
    }
    return rw_words_newline(r);
}

/* The tree's line is named in what rw_tree_check says. */
static int check_tree(struct rw_words *r, const struct rw_tree *tree, int32_t number, uint32_t line)
{
    const int status = rw_tree_check(r->ctx, tree);
    if (status != RW_ERR_FORMAT || !r->ctx)
        return status;
    char what[256];
    snprintf(what, sizeof(what), "%.*s", (int)sizeof(what) - 1, r->ctx->error);
    return rw_fail(r->ctx, RW_ERR_FORMAT, "%s:%u: tree %d: %s", r->path, line, number + 1, what);
}

static int read_tree(struct rw_words *r, struct rw_model *model, int32_t number)
{
    struct rw_tree *tree = &model->tree[number];
    const uint32_t line = r->line;
    int32_t n_leaves;
    RW_TRY(rw_words_take(r, "tree "));
    RW_TRY(rw_words_number_is(r, (uint64_t)number + 1));
    RW_TRY(rw_words_take(r, " leaves "));
    const char *begin = r->at;
    RW_TRY(rw_words_count_of(r, "the number of leaves", 9, &n_leaves));
    if (n_leaves == 0) {
        r->at = begin;
        return rw_words_fail(r, "1 leaf or more");
    }
    RW_TRY(rw_words_newline(r));
    RW_TRY(rw_tree_init(r->ctx, tree, n_leaves));
    model->n_trees = number + 1;
    for (int32_t i = 0; i < n_leaves - 1; i++)
        RW_TRY(read_node(r, model, tree, i));
    for (int32_t i = 0; i < n_leaves; i++) {
        RW_TRY(rw_words_take(r, "leaf "));
        RW_TRY(rw_words_number_is(r, (uint64_t)i));
        RW_TRY(rw_words_take(r, " "));
        RW_TRY(rw_words_float(r, "a leaf's value, a finite float", &tree->leaf[i]));
        RW_TRY(rw_words_newline(r));
    }
    RW_TRY(check_tree(r, tree, number, line));
    return rw_words_newline(r);
}

static int read_ending(struct rw_words *r, struct rw_model *model)
{
    uint64_t n;
    RW_TRY(rw_words_take(r, "finished "));
    model->is_interrupted = rw_words_accept(r, "no");
    if (!model->is_interrupted)
        RW_TRY(rw_words_take(r, "yes"));
    RW_TRY(rw_words_newline(r));
    RW_TRY(rw_words_take(r, "empty-rounds "));
    RW_TRY(rw_words_count(r, "a number of rounds", INT32_MAX, &n));
    model->empty_rounds = (int32_t)n;
    return rw_words_newline(r);
}

static int read_model(struct rw_words *r, struct rw_model *model)
{
    /* tree 1 leaves 1, leaf 0 0, and an empty line */
    enum { LEAST_TREE_BYTES = 26 };
    uint64_t best_round;
    int32_t n_trees;
    RW_TRY(rw_words_take(r, "absent "));
    model->absent_missing = rw_words_accept(r, "missing");
    if (!model->absent_missing)
        RW_TRY(rw_words_take(r, "zero"));
    RW_TRY(rw_words_newline(r));
    RW_TRY(rw_words_take(r, "best-round "));
    const struct rw_words best = *r;
    RW_TRY(rw_words_count(r, "a round", INT32_MAX, &best_round));
    model->best_round = (int32_t)best_round;
    RW_TRY(rw_words_newline(r));
    if (r->version > 1)
        RW_TRY(read_ending(r, model));
    RW_TRY(rw_words_newline(r));
    RW_TRY(read_params(r, &model->params));
    RW_TRY(rw_words_newline(r));
    const struct rw_words earlier = *r;
    if (r->version > 1)
        RW_TRY(read_earlier(r, model));
    RW_TRY(read_features(r, model));
    RW_TRY(read_names(r, model));
    RW_TRY(read_metrics(r, model));
    RW_TRY(rw_words_take(r, "trees "));
    RW_TRY(rw_words_count_of(r, "the number of trees", LEAST_TREE_BYTES, &n_trees));
    if (model->best_round > n_trees) {
        *r = best;
        return rw_words_fail(r, "a round that is not past the last tree");
    }
    for (int32_t k = 0, left = n_trees; k < model->n_earlier; k++) {
        if (model->earlier[k].n_trees > left) {
            *r = earlier;
            return rw_words_fail(r, "trainings of no more trees than there are");
        }
        left -= model->earlier[k].n_trees;
    }
    RW_TRY(rw_words_newline(r));
    RW_TRY(rw_words_newline(r));
    RW_TRY(RW_NEW(r->ctx, model->tree, (size_t)n_trees));
    for (int32_t i = 0; i < n_trees; i++)
        RW_TRY(read_tree(r, model, i));
    return r->at == r->end ? RW_OK : rw_words_fail(r, "the checksum");
}

/* The first line: told apart before anything else, so that a file of another kind or version is
 * called that and not damaged. */
static int read_header(struct rw_words *r)
{
    char expected[48];
    uint64_t version;
    snprintf(expected, sizeof(expected), "'%s%d'", RW_MODEL_HEADER, RW_MODEL_VERSION);
    if (!rw_words_accept(r, RW_MODEL_HEADER)) {
        return rw_words_fail(r, expected);
    }
    if (r->at == r->end || *r->at < '1' || *r->at > '9')
        return rw_words_fail(r, "a version");
    RW_TRY(rw_words_count(r, "a version", INT32_MAX, &version));
    if (version > RW_MODEL_VERSION)
        return rw_fail(r->ctx, RW_ERR_FORMAT,
                       "%s:1: a model of version %llu; expected version 1 to %d", r->path,
                       (unsigned long long)version, RW_MODEL_VERSION);
    r->version = (int)version;
    return rw_words_newline(r);
}

static int check_sum(struct rw_ctx *ctx, const char *path, const char *all, size_t n)
{
    char line[RW_CHECKSUM_LINE_BYTES + 1];
    const char *last = n >= RW_CHECKSUM_LINE_BYTES ? all + n - RW_CHECKSUM_LINE_BYTES : NULL;
    int whole = last && last > all && last[-1] == '\n' && memcmp(last, "checksum ", 9) == 0 &&
                last[RW_CHECKSUM_LINE_BYTES - 1] == '\n';
    for (int i = 9; whole && i < RW_CHECKSUM_LINE_BYTES - 1; i++)
        whole = rw_words_hex_digit(last[i]) >= 0;
    uint32_t line_number = 1;
    for (const char *c = all; c < (whole ? last : all + n); c++)
        line_number += *c == '\n';
    if (!whole)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%s:%u: expected 'checksum' and 8 hex digits as the last line; "
                       "the file is cut or damaged",
                       path, line_number);
    rw_model_checksum_line(all, n - RW_CHECKSUM_LINE_BYTES, line);
    if (memcmp(line, last, RW_CHECKSUM_LINE_BYTES) != 0)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%s:%u: checksum %.8s, but the lines above have %.8s; the file is damaged",
                       path, line_number, last + 9, line + 9);
    return RW_OK;
}

int rw_model_parse(struct rw_ctx *ctx, const char *path, const char *text_begin, size_t n,
                   struct rw_model **out)
{
    struct rw_words r = {.ctx = ctx,
                         .path = path,
                         .at = text_begin,
                         .line_begin = text_begin,
                         .end = text_begin + n,
                         .after = "the end of the file",
                         .line = 1};
    int status = RW_OK;
    *out = NULL;
    RW_TRY(read_header(&r));
    RW_TRY(check_sum(ctx, path, text_begin, n));
    r.end -= RW_CHECKSUM_LINE_BYTES;
    r.after = "the checksum";
    struct rw_model *model = NULL;
    RW_TRY_OUT(rw_model_new(ctx, &model));
    RW_TRY_OUT(read_model(&r, model));
    *out = model;
    model = NULL;
out:
    rw_model_free(model);
    return status;
}

int rw_model_read(struct rw_ctx *ctx, const char *path, struct rw_model **out)
{
    RW_DEFAULT_FPENV;
    char *all = NULL;
    size_t n = 0, room = 0;
    struct stat info;
    int status = RW_OK;
    *out = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return rw_fail_io(ctx, errno, "cannot open '%s'", path);
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        status =
            rw_fail(ctx, RW_ERR_IO, "cannot read '%s': it is a directory; expected a model", path);
        goto out;
    }
    RW_TRY_OUT(RW_GROW(ctx, all, room, FIRST_READ_BYTES));
    for (;;) {
        const size_t got = fread(all + n, 1, room - n, file);
        n += got;
        if (ferror(file)) {
            status = rw_fail_io(ctx, errno, "cannot read '%s'", path);
            goto out;
        }
        /* A file of another kind may be huge: its first bytes are enough to say so. */
        struct rw_words r = {.ctx = ctx,
                             .path = path,
                             .at = all,
                             .line_begin = all,
                             .end = all + n,
                             .after = "the end of the file",
                             .line = 1};
        RW_TRY_OUT(read_header(&r));
        if (feof(file))
            break;
        if (n == room)
            RW_TRY_OUT(RW_GROW(ctx, all, room, room + 1));
    }
    RW_TRY_OUT(rw_model_parse(ctx, path, all, n, out));
out:
    fclose(file);
    rw_mem_free(all);
    return status;
}
