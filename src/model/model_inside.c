/* Functions of rankwood.h and model.h that inspect, copy and write models: properties, copies,
 * trees as text and model files (model_text.c reads them). Also checks data against a model, and
 * warns about features that no document has. */
#include <errno.h>

#include "model/model_text.h"

struct rw_model_info rw_model_info(const struct rw_model *model)
{
    struct rw_model_info info = {.best_round = model->best_round,
                                 .is_finished = !model->is_interrupted,
                                 .n_runs = model->n_earlier + 1,
                                 .n_categorical = model->categories.n,
                                 .columns = model->columns,
                                 .width = model->width};
    if (model->columns == RW_COLUMNS_LETOR && model->n_features)
        info.width = model->feature[model->n_features - 1] + 1;
    return info;
}

const char *rw_model_metric_at(const struct rw_model *model, int i, double *value)
{
    const int round = model->best_round > 0 ? model->best_round : model->n_rounds_run;
    if (i >= model->n_metrics || round == 0)
        return NULL;
    *value = model->metric_value[(round - 1) * model->n_metrics + i];
    return model->metric_name[i];
}

struct rw_run_view rw_model_run(const struct rw_model *model, int run)
{
    if (run < 0 || run > model->n_earlier)
        return (struct rw_run_view){0};
    const int is_last = run == model->n_earlier;
    const struct rw_model_params *params = is_last ? &model->params : &model->earlier[run].params;
    const int n_trees = is_last ? rw_model_last_trees(model) : model->earlier[run].n_trees;
    return (struct rw_run_view){n_trees, params->n, params->param};
}

struct rw_tree_view rw_model_tree(const struct rw_model *model, int tree)
{
    if (tree < 0 || tree >= model->n_trees)
        return (struct rw_tree_view){0};
    const struct rw_tree *t = &model->tree[tree];
    return (struct rw_tree_view){.n_leaves = t->n_leaves,
                                 .left = t->left,
                                 .right = t->right,
                                 .feature = t->feature,
                                 .cut = t->cut,
                                 .missing_left = t->missing_left,
                                 .gain = t->gain,
                                 .by_category = t->by_set,
                                 .leaf = t->leaf,
                                 .docs = t->docs};
}

struct rw_categorical rw_model_categorical(const struct rw_model *model, uint32_t i)
{
    if (i >= model->categories.n)
        return (struct rw_categorical){0};
    const struct rw_feature_categories *of = &model->categories.of[i];
    return (struct rw_categorical){of->feature, of->n, of->word};
}

int rw_model_n_bags(const struct rw_model *model)
{
    return rw_model_bags(&model->params);
}

/* ---- copies ---- */

int rw_model_some(struct rw_ctx *ctx, const struct rw_model *from, const uint8_t *keep,
                  struct rw_arena *arena, struct rw_model *out)
{
    int32_t t = 0;
    *out = *from;
    out->n_trees = out->best_round = out->n_metrics = out->n_rounds_run = 0;
    out->map = (struct rw_score_map){0};
    RW_TRY(RW_ARENA_NEW(ctx, arena, out->tree, (size_t)from->n_trees));
    RW_TRY(RW_ARENA_NEW(ctx, arena, out->earlier, (size_t)from->n_earlier));
    for (int32_t k = 0; k <= from->n_earlier; k++) {
        const int32_t n_before = out->n_trees;
        const int32_t end = k < from->n_earlier ? t + from->earlier[k].n_trees : from->n_trees;
        for (; t < end; t++) {
            if (!keep || keep[t])
                out->tree[out->n_trees++] = from->tree[t];
        }
        if (k < from->n_earlier)
            out->earlier[k] =
                (struct rw_model_run){out->n_trees - n_before, from->earlier[k].params};
    }
    /* empty rounds follow the last tree, so they are dropped if any tree is */
    out->empty_rounds = out->n_trees == from->n_trees ? from->empty_rounds : 0;
    return RW_OK;
}

int rw_model_copy(struct rw_ctx *ctx, const struct rw_model *from, struct rw_model **out)
{
    RW_FREED char *text = NULL;
    size_t n;
    *out = NULL;
    RW_TRY(rw_model_print(ctx, from, &text, &n));
    return rw_model_parse(ctx, "model", text, n, out);
}

int rw_model_select(struct rw_ctx *ctx, const struct rw_model *from, const uint8_t *keep,
                    struct rw_model **out)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    struct rw_model some;
    *out = NULL;
    RW_TRY(rw_model_some(ctx, from, keep, &arena, &some));
    return rw_model_copy(ctx, &some, out);
}

/* ---- conditions of splits as text ---- */

/* The destination of text: a file, or a buffer that truncates it. Control characters become '?'. */
struct sink {
    FILE *file;     /* NULL: the buffer */
    int dot;        /* 1: a quoted label of Graphviz dot, in which '"' and '\\' need a backslash */
    char *at;       /* [room] the buffer */
    size_t room, n; /* n: bytes of the whole text so far, without added backslashes */
};

static void put(struct sink *to, const char *text)
{
    for (; *text; text++, to->n++) {
        const unsigned char c = (unsigned char)*text;
        const char shown = c < 32 || c == 127 ? '?' : *text;
        if (to->file && to->dot && (c == '"' || c == '\\'))
            fputc('\\', to->file);
        if (to->file)
            fputc(shown, to->file);
        else if (to->n + 1 < to->room)
            to->at[to->n] = shown;
    }
}

/* Writes the test for the left child: "in {...}", or "not in {...}" if unknown categories go left.
 */
static void put_words(struct sink *to, const struct rw_feature_categories *of,
                      const struct rw_code_set *set)
{
    const int listed_left = !rw_set_has(set, of->n);
    const char *before = "";
    put(to, listed_left ? "in {" : "not in {");
    for (uint32_t code = 0; code < of->n; code++) {
        if (rw_set_has(set, code) != listed_left)
            continue;
        put(to, before);
        put(to, of->word[code]);
        before = ", ";
    }
    put(to, "}");
}

static const char *float_text(float value, char *buffer)
{
    buffer[rw_number_write(value, buffer)] = 0;
    return buffer;
}

static void put_condition(struct sink *to, const struct rw_model *model, const struct rw_tree *tree,
                          int32_t node)
{
    char number[32];
    if (rw_tree_by_set(tree, node)) {
        put_words(to, rw_categories_find(&model->categories, tree->feature[node]),
                  &tree->set[node]);
    } else {
        put(to, "<= ");
        put(to, float_text(tree->cut[node], number));
    }
}

size_t rw_model_condition(const struct rw_model *model, int tree, int node, char *buffer,
                          size_t size)
{
    RW_DEFAULT_FPENV;
    struct sink to = {.at = buffer, .room = size};
    if (tree >= 0 && tree < model->n_trees && node >= 0 && node < model->tree[tree].n_leaves - 1)
        put_condition(&to, model, &model->tree[tree], node);
    if (size)
        buffer[to.n < size ? to.n : size - 1] = 0;
    return to.n;
}

/* ---- features of data ---- */

int rw_dataset_has_feature(const struct rw_dataset *dataset, uint32_t feature)
{
    return rw_dataset_column(dataset, feature) != NULL;
}

void rw_dataset_note_features(const struct rw_dataset *dataset, unsigned char *seen)
{
    for (uint32_t i = 0; i < dataset->n_columns; i++)
        seen[dataset->column[i].feature] = 1;
}

/* ---- a tree for people ---- */

enum {
    /* Deeper nodes have no further indentation: otherwise the text of a chain would grow with
     * the square of its leaves. */
    MAX_INDENT = 40
};

static const char *double_text(double value, char *buffer)
{
    buffer[rw_number_write_double(value, buffer)] = 0;
    return buffer;
}

static void put_feature(struct sink *to, const struct rw_model *model, uint32_t feature)
{
    const char *name = rw_model_feature_name(model, feature);
    fprintf(to->file, "feature %u", feature);
    if (*name) {
        fputs(" (", to->file);
        put(to, name);
        fputc(')', to->file);
    }
}

struct pending {
    int32_t child; /* as in rw_tree */
    int32_t depth;
    const char *side;
};

static void show_text(const struct rw_model *model, const struct rw_tree *tree,
                      struct pending *stack, FILE *out)
{
    struct sink to = {.file = out};
    char cut[32], gain[40];
    size_t n = 0;
    stack[n++] = (struct pending){tree->n_leaves == 1 ? ~0 : 0, 0, ""};
    while (n > 0) {
        const struct pending at = stack[--n];
        fprintf(out, "%*s%s", 2 * (at.depth < MAX_INDENT ? at.depth : MAX_INDENT), "", at.side);
        if (at.child < 0) {
            fprintf(out, "leaf %d: %s\n", ~at.child, float_text(tree->leaf[~at.child], cut));
            continue;
        }
        const int32_t i = at.child;
        fprintf(out, "node %d: ", i);
        put_feature(&to, model, tree->feature[i]);
        fputc(' ', out);
        put_condition(&to, model, tree, i);
        fprintf(out, ", missing %s, gain %s\n", tree->missing_left[i] ? "left" : "right",
                double_text(tree->gain[i], gain));
        stack[n++] = (struct pending){tree->right[i], at.depth + 1, "right: "};
        stack[n++] = (struct pending){tree->left[i], at.depth + 1, "left: "};
    }
}

static void dot_edge(FILE *out, int32_t node, int32_t child, const char *side, int missing)
{
    fprintf(out, "    node%d -> %s%d [label=\"%s%s\"];\n", node, child < 0 ? "leaf" : "node",
            child < 0 ? ~child : child, side, missing ? ", missing" : "");
}

static void show_dot(const struct rw_model *model, int number, FILE *out)
{
    const struct rw_tree *tree = &model->tree[number];
    struct sink to = {.file = out, .dot = 1};
    char cut[32], gain[40];
    fprintf(out, "digraph tree%d {\n    node [shape=box];\n", number + 1);
    for (int32_t i = 0; i < tree->n_leaves - 1; i++) {
        fprintf(out, "    node%d [label=\"", i);
        put_feature(&to, model, tree->feature[i]);
        fputs("\\n", out);
        put_condition(&to, model, tree, i);
        fprintf(out, "\\ngain %s\"];\n", double_text(tree->gain[i], gain));
    }
    for (int32_t i = 0; i < tree->n_leaves; i++)
        fprintf(out, "    leaf%d [label=\"leaf %d\\n%s\", shape=ellipse];\n", i, i,
                float_text(tree->leaf[i], cut));
    for (int32_t i = 0; i < tree->n_leaves - 1; i++) {
        dot_edge(out, i, tree->left[i], "left", tree->missing_left[i]);
        dot_edge(out, i, tree->right[i], "right", !tree->missing_left[i]);
    }
    fputs("}\n", out);
}

int rw_model_show(struct rw_ctx *ctx, const struct rw_model *model, int tree, int dot, FILE *out)
{
    RW_DEFAULT_FPENV;
    if (model->n_trees == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "tree is %d; the model has no trees", tree);
    if (tree < 0 || tree >= model->n_trees)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "tree is %d; expected 0 to %d", tree,
                       model->n_trees - 1);
    const struct rw_tree *shown = &model->tree[tree];
    /* show_text stacks at most one child per level and one more: no more than leaves. */
    RW_FREED struct pending *stack = NULL;
    RW_TRY(RW_NEW(ctx, stack, (size_t)shown->n_leaves + 1));
    errno = 0;
    if (dot) {
        show_dot(model, tree, out);
    } else {
        fprintf(out, "tree %d: %d %s\n", tree + 1, shown->n_leaves,
                shown->n_leaves == 1 ? "leaf" : "leaves");
        show_text(model, shown, stack, out);
    }
    const int failed = fflush(out) != 0 || ferror(out);
    return failed ? rw_fail_io(ctx, errno, "cannot write tree %d", tree + 1) : RW_OK;
}

/* For rw_model_warn_lacking. With fewer than FEW_DOCS documents, an absent feature is not
 * suspicious. A feature with a smaller share of the gain of all trees than `matters` is not
 * reported. If the gains are 0, splits are counted instead. */
enum { FEW_DOCS = 1000 };
static const double matters = 0.01;

uint32_t rw_dataset_width(const struct rw_dataset *dataset)
{
    return dataset->width;
}

/* ---- checking data ---- */

struct rw_column_view rw_column_view_of(const struct rw_dataset *dataset)
{
    struct rw_column_view view = {.what = "the data",
                                  .width = dataset->width,
                                  .by_name = dataset->by_name,
                                  .n_ids = dataset->codes.n_ids};
    if (dataset->n_columns)
        view.n_ids = dataset->column[dataset->n_columns - 1].feature + 1;
    return view;
}

/* Checks the names of the features that trees use. RW_ERR_DATA: the data has a different name for
 * one. */
static int check_names(struct rw_ctx *ctx, const struct rw_model *model, const char *what,
                       const struct rw_dataset *dataset)
{
    if (!dataset->n_names || !model->n_names)
        return RW_OK;
    for (int32_t t = 0; t < model->n_trees; t++) {
        for (int32_t node = 0; node < model->tree[t].n_leaves - 1; node++) {
            const uint32_t feature = model->tree[t].feature[node];
            const char *ours = rw_model_feature_name(model, feature);
            const char *theirs = rw_dataset_feature_name(dataset, feature);
            char *held;
            if (!*ours || !*theirs || strcmp(ours, theirs) == 0)
                continue;
            RW_TRY(rw_name_for_model(ctx, theirs, &held));
            const int is_same = strcmp(ours, held) == 0;
            rw_mem_free(held);
            if (!is_same)
                return rw_fail(ctx, RW_ERR_DATA,
                               "feature %u is '%.64s' in %s and '%.64s' in the model\n"
                               "hint: columns are found by name where the data is read for the "
                               "model",
                               feature, theirs, what, ours);
        }
    }
    return RW_OK;
}

int rw_model_check_view(struct rw_ctx *ctx, const struct rw_model *model,
                        const struct rw_column_view *view)
{
    const struct rw_column_rule rule = rw_column_rule_of(model, rw_model_n_ids(model));
    return rw_column_rule_check(ctx, &rule, view);
}

int rw_model_check_data(struct rw_ctx *ctx, const struct rw_model *model,
                        const struct rw_dataset *dataset)
{
    const struct rw_column_view view = rw_column_view_of(dataset);
    RW_TRY(check_names(ctx, model, view.what, dataset));
    return rw_model_check_view(ctx, model, &view);
}

int rw_model_check_rows(struct rw_ctx *ctx, const struct rw_model *model, uint32_t n_features,
                        uint32_t first_feature)
{
    const struct rw_column_view view = rw_column_view_rows(n_features, first_feature);
    return rw_model_check_view(ctx, model, &view);
}

/* ---- features that no document has ---- */

/* Appends the feature's name if there is room for it. */
static void add_name(const struct rw_model *model, uint32_t feature, char *text, size_t size)
{
    const size_t n = strlen(text);
    const char *name = rw_model_feature_name(model, feature), *before = n ? ", " : "";
    if (n + 90 > size)
        return;
    if (*name)
        snprintf(text + n, size - n, "%s'%.64s'", before, name);
    else
        snprintf(text + n, size - n, "%s%u", before, feature);
}

void rw_model_warn_lacking(struct rw_ctx *ctx, const struct rw_model *model, uint64_t n_docs,
                           const unsigned char *seen)
{
    RW_FREED struct rw_feature_use *use = NULL;
    double all = 0, lacking = 0;
    char names[600] = "";
    uint32_t n = 0;
    if (n_docs < FEW_DOCS)
        return;
    const int end = rw_model_uses(NULL, model, &use);
    for (int f = 0; f < end; f++)
        all += use[f].gain;
    const char *const of = all > 0 ? "gain" : "splits"; /* trees without gains: count splits */
    for (int f = 0, by_splits = !(all > 0); f < end; f++) {
        use[f].gain = by_splits ? (double)use[f].n_splits : use[f].gain;
        all += by_splits ? use[f].gain : 0;
    }
    for (int f = 0; f < end; f++) {
        if (seen[f] || !(use[f].gain >= matters * all) || !(use[f].gain > 0))
            continue;
        n++;
        lacking += use[f].gain;
        add_name(model, (uint32_t)f, names, sizeof(names));
    }
    if (n > 0)
        rw_log(ctx, RW_LOG_WARNING,
               "no document has feature%s %s, which make%s %.0f %% of the model's %s",
               n > 1 ? "s" : "", names, n > 1 ? "" : "s", 100 * lacking / all, of);
}

/* ---- model files ---- */

static int print(struct rw_words *w, const struct rw_model *model)
{
    char line[RW_CHECKSUM_LINE_BYTES + 1];
    struct rw_model written = *model; /* a shallow copy */
    RW_TRY(rw_words_number(w, RW_MODEL_HEADER, w->version));
    RW_TRY(rw_words_newline(w));
    RW_TRY(rw_model_grammar(w, &written));
    rw_model_checksum_line(w->text, w->n_bytes, line);
    return rw_words_take(w, line);
}

int rw_model_print(struct rw_ctx *ctx, const struct rw_model *model, char **out, size_t *n)
{
    struct rw_words words = {.ctx = ctx, .is_writing = 1, .version = RW_MODEL_VERSION};
    *out = NULL;
    *n = 0;
    RW_TRY(rw_model_check(ctx, model));
    const int status = print(&words, model);
    if (status < 0) {
        rw_mem_free(words.text);
        return status;
    }
    *out = words.text;
    *n = words.n_bytes;
    return RW_OK;
}

int rw_model_write_file(struct rw_ctx *ctx, const struct rw_model *model, FILE *out,
                        const char *name)
{
    RW_DEFAULT_FPENV;
    RW_FREED char *text = NULL;
    size_t n;
    RW_TRY(rw_model_print(ctx, model, &text, &n));
    const int failed = fwrite(text, 1, n, out) != n || fflush(out) != 0;
    const int why = errno;
    return failed ? rw_fail_io(ctx, why, "cannot write '%s'", name) : RW_OK;
}

int rw_model_write(struct rw_ctx *ctx, const struct rw_model *model, const char *path)
{
    RW_RELEASED(rw_out_file_abandon) struct rw_out_file file = {0};
    RW_TRY(rw_out_file_open(ctx, &file, path));
    RW_TRY(rw_model_write_file(ctx, model, file.file, path));
    RW_TRY(rw_out_file_commit(ctx, &file));
    return RW_OK;
}

int rw_model_write_memory(struct rw_ctx *ctx, const struct rw_model *model, char **out,
                          size_t *n_bytes)
{
    RW_DEFAULT_FPENV;
    RW_FREED char *text = NULL;
    *out = NULL;
    RW_TRY(rw_model_print(ctx, model, &text, n_bytes));
    const int status = rw_result_new(ctx, (void **)out, *n_bytes + 1);
    if (status >= 0)
        memcpy(*out, text, *n_bytes);
    return status;
}

void rw_free(void *result)
{
    rw_result_free(result);
}
