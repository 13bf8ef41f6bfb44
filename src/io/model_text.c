#include "io/model_text.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "io/format.h"

enum { FIRST_READ_BYTES = 65536 };

struct reader {
    struct rw_ctx *ctx;
    const char *path;
    const char *at, *line_begin, *end; /* end: before the checksum's line */
    const char *after;                 /* what stands at `end`, in words */
    uint32_t line;                     /* from 1 */
};

/* What stands at the reader's place, up to a blank, as a person can read it. */
static void describe(const struct reader *r, char *buffer, size_t size)
{
    if (r->at == r->end) {
        snprintf(buffer, size, "%s", r->after);
        return;
    }
    if (*r->at == '\n') {
        snprintf(buffer, size, "the end of the line");
        return;
    }
    size_t n = 0;
    buffer[n++] = '\'';
    for (const char *c = r->at; n + 8 < size && c < r->end && *c != '\n'; c++) {
        if (*c == ' ' && c > r->at)
            break;
        if (*c >= 32 && *c < 127)
            buffer[n++] = *c;
        else
            n += (size_t)snprintf(buffer + n, 5, "\\x%02x", (unsigned)(unsigned char)*c);
    }
    buffer[n++] = '\'';
    buffer[n] = 0;
}

static int fail_at(struct reader *r, const char *expected)
{
    char found[48];
    describe(r, found, sizeof(found));
    return rw_fail(r->ctx, RW_ERR_FORMAT, "%s:%u:%zu: expected %s, found %s", r->path, r->line,
                   (size_t)(r->at - r->line_begin) + 1, expected, found);
}

static int starts(const struct reader *r, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, text, n) == 0;
}

static int accept(struct reader *r, const char *text)
{
    if (!starts(r, text))
        return 0;
    r->at += strlen(text);
    return 1;
}

/* One line's exact words. */
static int word(struct reader *r, const char *text)
{
    if (accept(r, text))
        return RW_OK;
    char expected[64];
    const size_t n = strlen(text);
    const size_t begin = *text == ' ';
    snprintf(expected, sizeof(expected), "'%.*s'", (int)(n - begin - (text[n - 1] == ' ')),
             text + begin);
    if (begin && r->at < r->end && *r->at == ' ')
        r->at++;
    return fail_at(r, expected);
}

static int newline(struct reader *r)
{
    if (r->at == r->end || *r->at != '\n')
        return fail_at(r, "the end of the line");
    r->line_begin = ++r->at;
    r->line++;
    return RW_OK;
}

/* A whole number without leading zeros, at most `most`. */
static int count(struct reader *r, const char *what, uint64_t most, uint64_t *out)
{
    const char *c = r->at;
    uint64_t value = 0;
    int fits = c < r->end && *c >= '0' && *c <= '9' &&
               !(*c == '0' && c + 1 < r->end && c[1] >= '0' && c[1] <= '9');
    for (; fits && c < r->end && *c >= '0' && *c <= '9'; c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        fits = value <= most; /* most < 2^60, so no overflow before this is seen */
    }
    if (!fits) {
        char expected[128];
        snprintf(expected, sizeof(expected), "%s, 0 to %llu", what, (unsigned long long)most);
        return fail_at(r, expected);
    }
    r->at = c;
    *out = value;
    return RW_OK;
}

/* A count of things that take at least `bytes` bytes each: a file cannot ask for more memory than
 * its own size warrants. */
static int count_of(struct reader *r, const char *what, size_t bytes, int32_t *out)
{
    uint64_t most = (uint64_t)(r->end - r->at) / bytes, value;
    if (most > INT32_MAX)
        most = INT32_MAX;
    RW_TRY(count(r, what, most, &value));
    *out = (int32_t)value;
    return RW_OK;
}

/* The number that must stand here: rows are numbered. */
static int number_is(struct reader *r, uint64_t number)
{
    char expected[24];
    snprintf(expected, sizeof(expected), "%llu", (unsigned long long)number);
    const size_t n = strlen(expected);
    if (!starts(r, expected) || (r->at + n < r->end && r->at[n] != ' ' && r->at[n] != '\n'))
        return fail_at(r, expected);
    r->at += n;
    return RW_OK;
}

static int real(struct reader *r, const char *what, double *out)
{
    int clamped = 0;
    const char *end = rw_number_parse_double(r->at, r->end, out, &clamped);
    if (!end || clamped)
        return fail_at(r, what);
    r->at = end;
    return RW_OK;
}

static int real_float(struct reader *r, const char *what, float *out)
{
    int clamped = 0;
    const char *end = rw_number_parse(r->at, r->end, out, &clamped);
    if (!end || clamped)
        return fail_at(r, what);
    r->at = end;
    return RW_OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The rest of the line, at least one byte of it, escapes undone. */
static int text(struct reader *r, const char *what, char **out)
{
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!end || end == r->at)
        return fail_at(r, what);
    RW_TRY(RW_NEW(r->ctx, *out, (size_t)(end - r->at) + 1));
    char *to = *out;
    while (r->at < end) {
        const unsigned char c = (unsigned char)*r->at;
        if (c < 32 || c == 127)
            return fail_at(r, "a printable character");
        if (c != '\\') {
            *to++ = *r->at++;
        } else if (end - r->at >= 2 && r->at[1] == '\\') {
            *to++ = '\\';
            r->at += 2;
        } else {
            const int high = end - r->at >= 4 && r->at[1] == 'x' ? hex_digit(r->at[2]) : -1;
            const int low = high >= 0 ? hex_digit(r->at[3]) : -1;
            const int code = high * 16 + low;
            if (low < 0 || code == 0 || (code >= 32 && code != 127))
                return fail_at(r, "'\\\\' or '\\x' and two hex digits of a control character");
            *to++ = (char)code;
            r->at += 4;
        }
    }
    return RW_OK;
}

static int read_params(struct reader *r, struct rw_model *model)
{
    int32_t n;
    RW_TRY(word(r, "params "));
    RW_TRY(count_of(r, "the number of parameters", 4, &n));
    if (n > RW_MODEL_MAX_PARAMS)
        return rw_fail(r->ctx, RW_ERR_FORMAT, "%s:%u: expected at most %d parameters, found %d",
                       r->path, r->line, RW_MODEL_MAX_PARAMS, n);
    RW_TRY(newline(r));
    RW_TRY(RW_NEW(r->ctx, model->param, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        struct rw_param_value *param = &model->param[i];
        model->n_params = i + 1;
        const char *c = r->at;
        while (c < r->end &&
               ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_'))
            c++;
        if (c == r->at)
            return fail_at(r, "a parameter's name");
        RW_TRY(RW_NEW(r->ctx, param->name, (size_t)(c - r->at) + 1));
        memcpy(param->name, r->at, (size_t)(c - r->at));
        for (int32_t j = 0; j < i; j++)
            if (strcmp(model->param[j].name, param->name) == 0)
                return fail_at(r, "a parameter that did not stand before");
        r->at = c;
        RW_TRY(word(r, " ="));
        if (accept(r, " "))
            RW_TRY(text(r, "a value", &param->value));
        else
            RW_TRY(rw_mem_copy_text(r->ctx, &param->value, ""));
        RW_TRY(newline(r));
    }
    return newline(r);
}

static int read_features(struct reader *r, struct rw_model *model)
{
    uint64_t n, first, last, next = 0;
    RW_TRY(word(r, "features "));
    RW_TRY(count(r, "the number of features", RW_MAX_FEATURE + 1, &n));
    RW_TRY(newline(r));
    RW_TRY(RW_NEW(r->ctx, model->feature, n));
    while (model->n_features < n) {
        const char *begin = r->at;
        RW_TRY(count(r, "a feature id", RW_MAX_FEATURE, &first));
        last = first;
        if (accept(r, "-"))
            RW_TRY(count(r, "a feature id", RW_MAX_FEATURE, &last));
        if (first < next || last < first || last - first >= n - model->n_features) {
            r->at = begin;
            return fail_at(r, "ids that ascend, as many as were announced");
        }
        while (first <= last)
            model->feature[model->n_features++] = (uint32_t)first++;
        next = last + 2; /* neighbours make one range */
        RW_TRY(newline(r));
    }
    return newline(r);
}

static int read_names(struct reader *r, struct rw_model *model)
{
    uint64_t feature, next = 0;
    int32_t n;
    RW_TRY(word(r, "names "));
    RW_TRY(count_of(r, "the number of names", 4, &n));
    RW_TRY(newline(r));
    RW_TRY(RW_NEW(r->ctx, model->name, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        const char *begin = r->at;
        RW_TRY(count(r, "a feature id", RW_MAX_FEATURE, &feature));
        if (feature < next) {
            r->at = begin;
            return fail_at(r, "ids that ascend");
        }
        next = feature + 1;
        model->n_names = i + 1;
        model->name[i].feature = (uint32_t)feature;
        RW_TRY(word(r, " "));
        RW_TRY(text(r, "a name", &model->name[i].name));
        RW_TRY(newline(r));
    }
    return newline(r);
}

static int metric_value(struct reader *r, double *out)
{
    RW_TRY(word(r, " "));
    if (accept(r, "nan"))
        *out = NAN;
    else if (accept(r, "inf"))
        *out = INFINITY;
    else if (accept(r, "-inf"))
        *out = -INFINITY;
    else
        return real(r, "a metric's value", out);
    return RW_OK;
}

static int read_metrics(struct reader *r, struct rw_model *model)
{
    int32_t n, n_rounds;
    RW_TRY(word(r, "metrics "));
    RW_TRY(count_of(r, "the number of metrics", 9, &n));
    RW_TRY(word(r, " rounds "));
    RW_TRY(count_of(r, "the number of rounds", 2 + 2 * (size_t)n, &n_rounds));
    RW_TRY(newline(r));
    RW_TRY(RW_NEW(r->ctx, model->metric_name, (size_t)n));
    RW_TRY(RW_NEW(r->ctx, model->metric_value, (size_t)n * (size_t)n_rounds));
    for (int32_t i = 0; i < n; i++) {
        model->n_metrics = i + 1;
        RW_TRY(word(r, "metric "));
        RW_TRY(text(r, "a metric's name", &model->metric_name[i]));
        RW_TRY(newline(r));
    }
    double *value = model->metric_value;
    for (int32_t round = 1; round <= n_rounds; round++) {
        RW_TRY(number_is(r, (uint64_t)round));
        for (int32_t i = 0; i < n; i++)
            RW_TRY(metric_value(r, value++));
        RW_TRY(newline(r));
    }
    model->n_rounds_run = n_rounds;
    return newline(r);
}

static int read_child(struct reader *r, const char *side, int32_t n_leaves, int32_t *out)
{
    uint64_t number;
    RW_TRY(word(r, side));
    if (accept(r, "leaf ")) {
        RW_TRY(count(r, "a leaf", (uint64_t)n_leaves - 1, &number));
        *out = ~(int32_t)number;
        return RW_OK;
    }
    RW_TRY(word(r, "node "));
    if (n_leaves < 3) /* node 0 is nobody's child */
        return fail_at(r, "a leaf");
    RW_TRY(count(r, "a node", (uint64_t)n_leaves - 2, &number));
    *out = (int32_t)number;
    return RW_OK;
}

static int read_node(struct reader *r, const struct rw_model *model, struct rw_tree *tree,
                     int32_t node)
{
    uint64_t feature;
    RW_TRY(word(r, "node "));
    RW_TRY(number_is(r, (uint64_t)node));
    RW_TRY(word(r, " feature "));
    RW_TRY(count(r, "a feature id", RW_MAX_FEATURE, &feature));
    tree->feature[node] = (uint32_t)feature;
    RW_TRY(word(r, " <= "));
    RW_TRY(real_float(r, "a cut, a finite float", &tree->cut[node]));
    RW_TRY(read_child(r, " left ", tree->n_leaves, &tree->left[node]));
    RW_TRY(read_child(r, " right ", tree->n_leaves, &tree->right[node]));
    RW_TRY(word(r, " missing "));
    tree->missing_left[node] = (uint8_t)accept(r, "left");
    if (!tree->missing_left[node])
        RW_TRY(word(r, "right"));
    RW_TRY(word(r, " gain "));
    RW_TRY(real(r, "a gain, a finite number", &tree->gain[node]));
    const char *name = rw_model_feature_name(model, tree->feature[node]);
    if (*name) {
        char *comment = NULL;
        RW_TRY(word(r, " # "));
        const char *begin = r->at;
        int status = text(r, "the feature's name", &comment);
        if (status == RW_OK && strcmp(comment, name) != 0) {
            r->at = begin;
            status = fail_at(r, "the feature's name");
        }
        rw_mem_free(comment);
        RW_TRY(status);
    }
    return newline(r);
}

/* The tree's line is named in what rw_tree_check says. */
static int check_tree(struct reader *r, const struct rw_tree *tree, int32_t number, uint32_t line)
{
    const int status = rw_tree_check(r->ctx, tree);
    if (status != RW_ERR_FORMAT || !r->ctx)
        return status;
    char what[256];
    snprintf(what, sizeof(what), "%.*s", (int)sizeof(what) - 1, r->ctx->error);
    return rw_fail(r->ctx, RW_ERR_FORMAT, "%s:%u: tree %d: %s", r->path, line, number + 1, what);
}

static int read_tree(struct reader *r, struct rw_model *model, int32_t number)
{
    struct rw_tree *tree = &model->tree[number];
    const uint32_t line = r->line;
    int32_t n_leaves;
    RW_TRY(word(r, "tree "));
    RW_TRY(number_is(r, (uint64_t)number + 1));
    RW_TRY(word(r, " leaves "));
    const char *begin = r->at;
    RW_TRY(count_of(r, "the number of leaves", 9, &n_leaves));
    if (n_leaves == 0) {
        r->at = begin;
        return fail_at(r, "1 leaf or more");
    }
    RW_TRY(newline(r));
    RW_TRY(rw_tree_init(r->ctx, tree, n_leaves));
    model->n_trees = number + 1;
    for (int32_t i = 0; i < n_leaves - 1; i++)
        RW_TRY(read_node(r, model, tree, i));
    for (int32_t i = 0; i < n_leaves; i++) {
        RW_TRY(word(r, "leaf "));
        RW_TRY(number_is(r, (uint64_t)i));
        RW_TRY(word(r, " "));
        RW_TRY(real_float(r, "a leaf's value, a finite float", &tree->leaf[i]));
        RW_TRY(newline(r));
    }
    RW_TRY(check_tree(r, tree, number, line));
    return newline(r);
}

static int read_model(struct reader *r, struct rw_model *model)
{
    uint64_t best_round;
    int32_t n_trees;
    RW_TRY(word(r, "absent "));
    model->absent_missing = accept(r, "missing");
    if (!model->absent_missing)
        RW_TRY(word(r, "zero"));
    RW_TRY(newline(r));
    RW_TRY(word(r, "best-round "));
    const struct reader best = *r;
    RW_TRY(count(r, "a round", INT32_MAX, &best_round));
    model->best_round = (int32_t)best_round;
    RW_TRY(newline(r));
    RW_TRY(newline(r));
    RW_TRY(read_params(r, model));
    RW_TRY(read_features(r, model));
    RW_TRY(read_names(r, model));
    RW_TRY(read_metrics(r, model));
    RW_TRY(word(r, "trees "));
    RW_TRY(count_of(r, "the number of trees", 27, &n_trees));
    if (model->best_round > n_trees) {
        *r = best;
        return fail_at(r, "a round that is not past the last tree");
    }
    RW_TRY(newline(r));
    RW_TRY(newline(r));
    RW_TRY(RW_NEW(r->ctx, model->tree, (size_t)n_trees));
    for (int32_t i = 0; i < n_trees; i++)
        RW_TRY(read_tree(r, model, i));
    return r->at == r->end ? RW_OK : fail_at(r, "the checksum");
}

/* The first line: told apart before anything else, so that a file of another kind or version is
 * called that and not damaged. */
static int read_header(struct reader *r)
{
    char expected[48];
    uint64_t version;
    snprintf(expected, sizeof(expected), "'%s%d'", RW_MODEL_HEADER, RW_MODEL_VERSION);
    if (!accept(r, RW_MODEL_HEADER)) {
        return fail_at(r, expected);
    }
    if (r->at == r->end || *r->at < '1' || *r->at > '9')
        return fail_at(r, "a version");
    RW_TRY(count(r, "a version", INT32_MAX, &version));
    if (version != RW_MODEL_VERSION)
        return rw_fail(r->ctx, RW_ERR_FORMAT, "%s:1: a model of version %llu; expected version %d",
                       r->path, (unsigned long long)version, RW_MODEL_VERSION);
    return newline(r);
}

static int check_sum(struct rw_ctx *ctx, const char *path, const char *all, size_t n)
{
    char line[RW_CHECKSUM_LINE_BYTES + 1];
    const char *last = n >= RW_CHECKSUM_LINE_BYTES ? all + n - RW_CHECKSUM_LINE_BYTES : NULL;
    int whole = last && last > all && last[-1] == '\n' && memcmp(last, "checksum ", 9) == 0 &&
                last[RW_CHECKSUM_LINE_BYTES - 1] == '\n';
    for (int i = 9; whole && i < RW_CHECKSUM_LINE_BYTES - 1; i++)
        whole = hex_digit(last[i]) >= 0;
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
    struct reader r = {.ctx = ctx,
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
        return rw_fail(ctx, RW_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
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
            status = rw_fail(ctx, RW_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
            goto out;
        }
        /* A file of another kind may be huge: its first bytes are enough to say so. */
        struct reader r = {.ctx = ctx,
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
