/* The grammar of model/model_text.h, by which model files are both read and written, and the
 * functions that read and check a file. Several threads read the trees. */
#include "model/model_text.h"

#include <sys/stat.h>

#include "base/system.h"

/* Allocates a zeroed array when reading; when writing, the array exists. */
#define MAKE(w, array, n) ((w)->is_writing ? RW_OK : RW_NEW((w)->ctx, array, (size_t)(n)))

/* ---- categories ---- */

/* Reads or writes an id that is at least `next`. before: begins the line. */
static int ascending_id(struct rw_words *w, const char *before, uint32_t next, uint32_t *id)
{
    RW_TRY(rw_words_id(w, before, id));
    return *id >= next ? RW_OK : rw_words_fail_at(w, w->line_begin, "ids that ascend");
}

static int words_of_feature(struct rw_words *w, struct rw_feature_categories *of, uint32_t next)
{
    enum { LEAST_BYTES = 11 }; /* bytes of "category a" */
    int32_t n = (int32_t)of->n;
    RW_TRY(ascending_id(w, "\nfeature ", next, &of->feature));
    RW_TRY(rw_words_count_of(w, " words ", "the number of words", LEAST_BYTES, &n));
    const int32_t most = w->version < RW_MODEL_VERSION_WITH_MANY ? RW_MODEL_FEW_CATEGORIES
                                                                 : (int32_t)RW_MAX_CATEGORIES;
    if (n > most)
        return rw_fail(w->ctx, RW_ERR_FORMAT, "%s:%u: expected at most %d words, found %d", w->path,
                       w->line, most, n);
    RW_TRY(MAKE(w, of->word, n));
    if (!w->is_writing)
        of->n = (uint32_t)n;
    for (int32_t i = 0; i < n; i++) {
        RW_TRY(rw_words_text(w, "\ncategory ", "a word", &of->word[i]));
        if (i > 0 && strcmp(of->word[i - 1], of->word[i]) >= 0)
            return rw_words_fail_at(w, w->line_begin, "words that ascend");
    }
    return RW_OK;
}

/* Reads or writes the section of categories. */
static int categories_grammar(struct rw_words *w, struct rw_categories *categories)
{
    enum { LEAST_BYTES = 18 }; /* bytes of "feature 0 words 0" */
    int32_t n = (int32_t)categories->n;
    RW_TRY(rw_words_count_of(w, "categories ", "the number of features with categories",
                             LEAST_BYTES, &n));
    RW_TRY(MAKE(w, categories->of, n));
    categories->n = (uint32_t)n;
    for (uint32_t i = 0, next = 0; i < categories->n; i++) {
        RW_TRY(words_of_feature(w, &categories->of[i], next));
        next = categories->of[i].feature + 1;
    }
    if (!w->is_writing)
        RW_TRY(rw_categories_index(w->ctx, categories));
    return rw_words_take(w, "\n\n");
}

/* Reads or writes the codes of a set, ascending, with neighbours as a range ("0,2-5"), or "none".
 * n_codes: the set may have codes 0 to n_codes - 1. */
static int code_set_grammar(struct rw_words *w, uint32_t n_codes, struct rw_code_set *set)
{
    int is_none = 1;
    int32_t code = -2, last;
    for (int i = 0; i < RW_SET_WORDS; i++)
        is_none = is_none && set->word[i] == 0;
    RW_TRY(rw_words_take(w, " in "));
    RW_TRY(rw_words_option(w, "none", &is_none));
    for (int more = !is_none; more;) {
        const char *begin = w->at;
        const int32_t least = code + 2;
        for (code = least; w->is_writing && !rw_set_has(set, (uint32_t)code);)
            code++;
        for (last = code; w->is_writing && rw_set_has(set, (uint32_t)last + 1);)
            last++;
        int is_range = last > code;
        RW_TRY(rw_words_count(w, "", "a code", RW_MAX_CATEGORIES, &code));
        RW_TRY(rw_words_option(w, "-", &is_range));
        if (!w->is_writing)
            last = code;
        if (is_range)
            RW_TRY(rw_words_count(w, "", "a code", RW_MAX_CATEGORIES, &last));
        if (code < least || last < code + is_range || (uint32_t)last >= n_codes)
            return rw_words_fail_at(w, begin,
                                    "codes of the feature that ascend, neighbours as a range");
        for (int32_t c = code; c <= last && !w->is_writing; c++)
            rw_set_add(set, (uint32_t)c);
        code = last;
        for (more = 0, last++; w->is_writing && last <= RW_MAX_CATEGORIES && !more; last++)
            more = rw_set_has(set, (uint32_t)last);
        RW_TRY(rw_words_option(w, ",", &more));
    }
    return RW_OK;
}

/* ---- trees: most of the text, read by several threads ---- */

static int child_of(struct rw_words *w, const char *side, int32_t n_leaves, int32_t *child)
{
    int is_leaf = *child < 0;
    int32_t number = is_leaf ? ~*child : *child;
    RW_TRY(rw_words_choice(w, side, "leaf ", "node ", &is_leaf));
    if (!is_leaf && n_leaves < 3) /* node 0 cannot be a child */
        return rw_words_fail(w, "a leaf");
    RW_TRY(rw_words_count(w, "", is_leaf ? "a leaf" : "a node", n_leaves - (is_leaf ? 1 : 2),
                          &number));
    if (!w->is_writing)
        *child = is_leaf ? ~number : number;
    return RW_OK;
}

/* Reads or writes a node's condition: a threshold, or codes. */
static int condition(struct rw_words *w, const struct rw_model *model, struct rw_tree *tree,
                     int32_t node)
{
    const struct rw_feature_categories *of =
        rw_categories_find(&model->categories, tree->feature[node]);
    if (!of)
        return rw_words_float(w, " <= ", "a threshold, a finite float", &tree->cut[node]);
    if (!w->is_writing) {
        RW_TRY(rw_tree_add_sets(w->ctx, tree));
        tree->by_set[node] = 1;
    }
    return code_set_grammar(w, of->n + 1, &tree->set[node]);
}

static int node_line(struct rw_words *w, const struct rw_model *model, struct rw_tree *tree,
                     int32_t node)
{
    int missing_left = tree->missing_left[node];
    RW_TRY(rw_words_number(w, "node ", node));
    RW_TRY(rw_words_id(w, " feature ", &tree->feature[node]));
    RW_TRY(condition(w, model, tree, node));
    RW_TRY(child_of(w, " left ", tree->n_leaves, &tree->left[node]));
    RW_TRY(child_of(w, " right ", tree->n_leaves, &tree->right[node]));
    RW_TRY(rw_words_choice(w, " missing ", "left", "right", &missing_left));
    RW_TRY(rw_words_real(w, " gain ", "a gain, a finite number", &tree->gain[node]));
    if (!w->is_writing)
        tree->missing_left[node] = (uint8_t)missing_left;
    const char *name = rw_model_feature_name(model, tree->feature[node]);
    if (*name)
        RW_TRY(rw_words_text_is(w, " # ", "the feature's name", name));
    return rw_words_newline(w);
}

/* Reads or writes a leaf. If the first leaf of a tree has a cover, all other leaves must have one;
 * else none may. */
static int leaf_line(struct rw_words *w, struct rw_tree *tree, int32_t leaf)
{
    int has_covers = tree->hessian != NULL;
    RW_TRY(rw_words_number(w, "leaf ", leaf));
    RW_TRY(rw_words_float(w, " ", "a leaf's value, a finite float", &tree->leaf[leaf]));
    if (leaf == 0 && tree->n_leaves > 1 && w->version >= RW_MODEL_VERSION) {
        RW_TRY(rw_words_option(w, " docs ", &has_covers));
        if (has_covers && !w->is_writing)
            RW_TRY(rw_tree_add_covers(w->ctx, tree));
    } else if (has_covers) {
        RW_TRY(rw_words_take(w, " docs "));
    }
    if (has_covers) {
        RW_TRY(rw_words_real(w, "", "a number of documents", &tree->docs[leaf]));
        RW_TRY(rw_words_float(w, " hessian ", "a sum of hessians, a finite float",
                              &tree->hessian[leaf]));
    }
    return rw_words_newline(w);
}

static int tree_section(struct rw_words *w, struct rw_model *model, int32_t number)
{
    struct rw_tree *tree = &model->tree[number];
    const uint32_t line = w->line;
    int32_t n_leaves = tree->n_leaves;
    RW_TRY(rw_words_number(w, "tree ", number + 1));
    RW_TRY(rw_words_count_of(w, " leaves ", "the number of leaves", 9, &n_leaves));
    if (n_leaves == 0)
        return rw_words_fail_at(w, w->at - 1, "1 leaf or more");
    RW_TRY(rw_words_newline(w));
    if (!w->is_writing)
        RW_TRY(rw_tree_init(w->ctx, tree, n_leaves));
    for (int32_t i = 0; i < n_leaves - 1; i++)
        RW_TRY(node_line(w, model, tree, i));
    for (int32_t i = 0; i < n_leaves; i++)
        RW_TRY(leaf_line(w, tree, i));
    if (!w->is_writing) {
        char where[1024];
        snprintf(where, sizeof(where), "%.900s:%u: tree %d: ", w->path, line, number + 1);
        RW_TRY(rw_tree_check(w->ctx, tree, where));
    }
    return rw_words_newline(w);
}

/* ---- by several threads ---- */

/* PART_BYTES is the least size of a part, of which threads read one at a time. */
enum { PART_BYTES = 1 << 16, MOST_PARTS = 256 };

/* The trees from `first` up to, but without, `first` of the next part. Their text starts at
 * `begin`. */
struct part {
    struct rw_words words; /* the reader of this part */
    const char *begin;
    int32_t first;
};

struct parts {
    struct rw_model *model;
    struct part part[MOST_PARTS + 1]; /* one more than there are parts, for its `first` */
    int n;
};

/* Divides the text into parts of similar size. It reads only the first line of each part. */
static void find_parts(const struct rw_words *w, struct parts *parts)
{
    static const char begin[] = "\ntree ";
    const int32_t n_trees = parts->model->n_trees;
    const size_t n_bytes = (size_t)(w->end - w->at);
    const size_t n = n_bytes / PART_BYTES < MOST_PARTS ? n_bytes / PART_BYTES : MOST_PARTS;
    parts->part[parts->n++] = (struct part){*w, w->at, 0};
    for (size_t i = 1; i < n; i++) {
        const char *from = w->at + n_bytes / n * i;
        struct rw_words at = *w;
        int32_t number = 0;
        const char *found = memmem(from, (size_t)(w->end - from), begin, sizeof(begin) - 1);
        const char *first = at.at = found ? found + 1 : NULL;
        if (!first || rw_words_count(&at, begin + 1, "", n_trees, &number) < 0)
            break;
        at.at = at.line_begin = first;
        if (number - 1 > parts->part[parts->n - 1].first)
            parts->part[parts->n++] = (struct part){at, first, number - 1};
    }
    parts->part[parts->n].first = n_trees;
}

static int read_parts(void *user, struct rw_share *share)
{
    struct parts *parts = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        struct part *part = &parts->part[i];
        for (int32_t tree = part->first; tree < part[1].first; tree++)
            RW_TRY(tree_section(&part->words, parts->model, tree));
    }
    return RW_OK;
}

/* Reads trees with several threads. Returns 1 if it succeeded. Returns 0 and leaves no trees if
 * there is only one thread, or if the text is short or malformed. The caller then reads the text
 * with one thread, which reports the error in a malformed text. */
static int read_by_threads(struct rw_words *w, struct rw_model *model)
{
    struct parts parts = {.model = model};
    struct rw_words silent = *w;
    silent.ctx = NULL;
    if (!w->ctx || w->ctx->n_threads < 2)
        return 0;
    find_parts(&silent, &parts);
    if (parts.n < 2)
        return 0;
    int is_good =
        rw_parallel(w->ctx, w->ctx->n_threads, (uint64_t)parts.n, 1, read_parts, &parts) >= 0;
    uint32_t n_lines = 0;
    for (int i = 0; i < parts.n; i++) {
        const struct rw_words *after = &parts.part[i].words;
        is_good &= i + 1 == parts.n || after->at == parts.part[i + 1].begin;
        n_lines += after->line - w->line; /* every part counted from this line */
    }
    for (int32_t i = 0; !is_good && i < model->n_trees; i++)
        rw_tree_release(&model->tree[i]);
    if (!is_good)
        return 0;
    w->at = parts.part[parts.n - 1].words.at;
    w->line_begin = parts.part[parts.n - 1].words.line_begin;
    w->line += n_lines;
    return 1;
}

enum { FIRST_READ_BYTES = 65536 }; /* for rw_model_file_read */

/* ---- the grammar of other sections ---- */

/* Reads or writes the name of parameter i. */
static int param_name(struct rw_words *w, struct rw_model_params *params, int32_t i)
{
    char **name = &params->param[i].name;
    if (w->is_writing)
        return rw_words_take(w, *name);
    const char *c = w->at;
    while (c < w->end &&
           ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_'))
        c++;
    const size_t n = (size_t)(c - w->at);
    if (n == 0)
        return rw_words_fail(w, "a parameter's name");
    RW_TRY(RW_NEW(w->ctx, *name, n + 2));
    memcpy(*name, w->at, n);
    if (w->version == 1 && strcmp(*name, "min-weight") == 0)
        strcpy(*name, "min-hessian"); /* its present name */
    for (int32_t j = 0; j < i; j++)
        if (strcmp(params->param[j].name, *name) == 0)
            return rw_words_fail(w, "a new parameter");
    w->at = c;
    return RW_OK;
}

static int param_value(struct rw_words *w, struct rw_run_param *param)
{
    int has_value = w->is_writing && *param->value;
    RW_TRY(rw_words_take(w, " ="));
    RW_TRY(rw_words_option(w, " auto ", &param->is_auto));
    if (!param->is_auto)
        RW_TRY(rw_words_option(w, " ", &has_value));
    if (param->is_auto || has_value)
        return rw_words_text(w, "", "a value", &param->value);
    return w->is_writing ? RW_OK : rw_mem_copy_text(w->ctx, &param->value, "");
}

/* Reads or writes the section `params`, without the end of its last line. */
static int params_section(struct rw_words *w, struct rw_model_params *params)
{
    RW_TRY(rw_words_count_of(w, "params ", "the number of parameters", 4, &params->n));
    if (params->n > RW_MODEL_MAX_PARAMS)
        return rw_fail(w->ctx, RW_ERR_FORMAT, "%s:%u: expected at most %d parameters, found %d",
                       w->path, w->line, RW_MODEL_MAX_PARAMS, params->n);
    RW_TRY(MAKE(w, params->param, params->n));
    for (int32_t i = 0; i < params->n; i++) {
        RW_TRY(rw_words_newline(w));
        RW_TRY(param_name(w, params, i));
        RW_TRY(param_value(w, &params->param[i]));
    }
    return RW_OK;
}

static int earlier_section(struct rw_words *w, struct rw_model *model)
{
    enum { LEAST_BYTES = 23 }; /* bytes of "run 1 trees 0 params 0" */
    RW_TRY(rw_words_count_of(w, "earlier ", "the number of trainings before the last", LEAST_BYTES,
                             &model->n_earlier));
    if (model->n_earlier > RW_MODEL_MAX_RUNS)
        return rw_fail(w->ctx, RW_ERR_FORMAT, "%s:%u: expected at most %d trainings, found %d",
                       w->path, w->line, RW_MODEL_MAX_RUNS, model->n_earlier);
    RW_TRY(MAKE(w, model->earlier, model->n_earlier));
    for (int32_t k = 0; k < model->n_earlier; k++) {
        RW_TRY(rw_words_number(w, "\nrun ", k + 1));
        RW_TRY(rw_words_count(w, " trees ", "the trees of a training", INT32_MAX,
                              &model->earlier[k].n_trees));
        RW_TRY(rw_words_take(w, " "));
        RW_TRY(params_section(w, &model->earlier[k].params));
    }
    return rw_words_take(w, "\n\n");
}

/* Reads or writes a line with ids *first to *last. A line that is read may have at most `most` ids,
 * all of them at least `least`. */
static int id_range(struct rw_words *w, uint32_t least, uint32_t most, uint32_t *first,
                    uint32_t *last)
{
    int is_range = *last > *first;
    RW_TRY(rw_words_id(w, "\n", first));
    RW_TRY(rw_words_option(w, "-", &is_range));
    if (is_range)
        RW_TRY(rw_words_id(w, "", last));
    else
        *last = *first;
    if (*first < least || *last < *first || *last - *first >= most)
        return rw_words_fail_at(w, w->line_begin, "ids that ascend, as many as were announced");
    return RW_OK;
}

static int features_section(struct rw_words *w, struct rw_model *model)
{
    int32_t n_features = (int32_t)model->n_features;
    RW_TRY(rw_words_count(w, "features ", "the number of features", RW_FEATURE_IDS, &n_features));
    RW_TRY(MAKE(w, model->feature, n_features));
    const uint32_t n = model->n_features = (uint32_t)n_features;
    for (uint32_t i = 0, first = 0, last = 0, least = 0; i < n; least = last + 2) {
        if (w->is_writing) { /* a range covers neighbouring ids */
            first = last = model->feature[i];
            while (i + last - first + 1 < n && model->feature[i + last - first + 1] == last + 1)
                last++;
        }
        RW_TRY(id_range(w, least, n - i, &first, &last));
        for (uint32_t id = first; id <= last; id++, i++)
            if (!w->is_writing)
                model->feature[i] = id;
    }
    RW_TRY(rw_words_newline(w));
    if (n > 0 && model->width > 0 && model->feature[n - 1] >= model->width)
        return rw_fail(w->ctx, RW_ERR_FORMAT, "%s:%u: feature %u; expected features 0 to %u",
                       w->path, w->line - 1, model->feature[n - 1], model->width - 1);
    return rw_words_newline(w);
}

static int names_section(struct rw_words *w, struct rw_model *model)
{
    RW_TRY(rw_words_count_of(w, "names ", "the number of names", 4, &model->n_names));
    RW_TRY(MAKE(w, model->name, model->n_names));
    for (int32_t i = 0, next = 0; i < model->n_names; i++) {
        struct rw_feature_name *name = &model->name[i];
        RW_TRY(ascending_id(w, "\n", (uint32_t)next, &name->feature));
        next = (int32_t)name->feature + 1;
        RW_TRY(rw_words_text(w, " ", "a name", &name->name));
    }
    return rw_words_take(w, "\n\n");
}

static int metrics_section(struct rw_words *w, struct rw_model *model)
{
    RW_TRY(rw_words_count_of(w, "metrics ", "the number of metrics", 9, &model->n_metrics));
    const size_t n = (size_t)model->n_metrics;
    RW_TRY(
        rw_words_count_of(w, " rounds ", "the number of rounds", 2 + 2 * n, &model->n_rounds_run));
    RW_TRY(MAKE(w, model->metric_name, n));
    RW_TRY(MAKE(w, model->metric_value, n * (size_t)model->n_rounds_run));
    for (size_t i = 0; i < n; i++)
        RW_TRY(rw_words_text(w, "\nmetric ", "a metric's name", &model->metric_name[i]));
    double *value = model->metric_value;
    for (int32_t round = 1; round <= model->n_rounds_run; round++) {
        RW_TRY(rw_words_number(w, "\n", round));
        for (size_t i = 0; i < n; i++)
            RW_TRY(rw_words_any_real(w, " ", "a metric's value", value++));
    }
    return rw_words_take(w, "\n\n");
}

static int trees_section(struct rw_words *w, struct rw_model *model, const struct rw_words *best,
                         const struct rw_words *earlier)
{
    enum { LEAST_BYTES = 26 }; /* bytes of "tree 1 leaves 1", "leaf 0 0" and an empty line */
    RW_TRY(rw_words_count_of(w, "trees ", "the number of trees", LEAST_BYTES, &model->n_trees));
    if (!w->is_writing && model->best_round > model->n_trees) {
        *w = *best;
        return rw_words_fail(w, "a round that is not past the last tree");
    }
    for (int32_t k = 0, left = model->n_trees; k < model->n_earlier; k++) {
        if (!w->is_writing && model->earlier[k].n_trees > left) {
            *w = *earlier;
            return rw_words_fail(w, "earlier trainings with no more trees than the model");
        }
        left -= model->earlier[k].n_trees;
    }
    RW_TRY(rw_words_take(w, "\n\n"));
    RW_TRY(MAKE(w, model->tree, model->n_trees));
    if (!w->is_writing && read_by_threads(w, model))
        return RW_OK;
    for (int32_t i = 0; i < model->n_trees; i++)
        RW_TRY(tree_section(w, model, i));
    return RW_OK;
}

/* Returns NULL if knot i is valid, else a description of a valid one for the message. Earlier knots
 * must be valid. */
static const char *knot_fault(const struct rw_score_map *map, int32_t i)
{
    const double score = map->score[i], probability = map->probability[i];
    if (!(fabs(score) <= 1e300))
        return "a score from -1e300 to 1e300";
    if (i > 0 && !(score > map->score[i - 1]))
        return "a score above that of the knot before";
    if (!(probability >= 0.0 && probability <= 1.0))
        return "a probability, 0 to 1";
    if (i > 0 && !(probability >= map->probability[i - 1]))
        return "a probability that is not below that of the knot before";
    return NULL;
}

static int knot_line(struct rw_words *w, struct rw_score_map *map, int32_t i)
{
    RW_TRY(rw_words_take(w, "\nknot "));
    const char *begin = w->at;
    RW_TRY(rw_words_real(w, "", "a score, a finite number", &map->score[i]));
    RW_TRY(rw_words_real(w, " ", "a probability, 0 to 1", &map->probability[i]));
    const char *expected = knot_fault(map, i);
    return expected ? rw_words_fail_at(w, begin, expected) : RW_OK;
}

static int knots_section(struct rw_words *w, struct rw_score_map *map)
{
    enum { LEAST_BYTES = 9 }; /* bytes of "knot 0 0" */
    RW_TRY(rw_words_count_of(w, " knots ", "the number of knots", LEAST_BYTES, &map->n_knots));
    if (map->n_knots == 0)
        return rw_words_fail_at(w, w->at - 1, "1 knot or more");
    RW_TRY(MAKE(w, map->score, map->n_knots));
    RW_TRY(MAKE(w, map->probability, map->n_knots));
    for (int32_t i = 0; i < map->n_knots; i++)
        RW_TRY(knot_line(w, map, i));
    return rw_words_take(w, "\n\n");
}

static int slope_of(struct rw_words *w, struct rw_score_map *map)
{
    RW_TRY(rw_words_take(w, " slope "));
    const char *begin = w->at;
    RW_TRY(rw_words_real(w, "", "a slope, a finite number", &map->slope));
    if (map->slope < 0.0)
        return rw_words_fail_at(w, begin, "a slope that is not below 0");
    RW_TRY(rw_words_real(w, " intercept ", "an intercept, a finite number", &map->intercept));
    return rw_words_take(w, "\n\n");
}

static int map_section(struct rw_words *w, struct rw_score_map *map)
{
    int is_isotonic = map->kind == RW_SCORE_MAP_ISOTONIC;
    RW_TRY(rw_words_choice(w, "calibration ", "isotonic", "logistic", &is_isotonic));
    map->kind = is_isotonic ? RW_SCORE_MAP_ISOTONIC : RW_SCORE_MAP_LOGISTIC;
    RW_TRY(rw_words_take(w, " relevant "));
    const char *begin = w->at;
    RW_TRY(rw_words_real(w, "", "a label, 0 to 1e9", &map->relevant));
    if (!(map->relevant >= 0.0 && map->relevant <= 1e9))
        return rw_words_fail_at(w, begin, "a label, 0 to 1e9");
    return is_isotonic ? knots_section(w, map) : slope_of(w, map);
}

/* Reads or writes the line about how the training set identified its features. */
static int columns_line(struct rw_words *w, struct rw_model *model)
{
    static const char *const word[] = {[RW_COLUMNS_UNKNOWN] = "unknown",
                                       [RW_COLUMNS_NUMBERED] = "numbered ",
                                       [RW_COLUMNS_NAMED] = "named ",
                                       [RW_COLUMNS_LETOR] = "letor"};
    enum { N_KINDS = sizeof(word) / sizeof(word[0]) };
    int32_t width = (int32_t)model->width;
    RW_TRY(rw_words_take(w, "\ncolumns "));
    for (int kind = 0, found = 0; !found; kind++) {
        if (kind == N_KINDS)
            return rw_words_fail(w, "'unknown', 'numbered', 'named' or 'letor'");
        found = w->is_writing && model->columns == (enum rw_columns_kind)kind;
        RW_TRY(rw_words_option(w, word[kind], &found));
        if (found)
            model->columns = (enum rw_columns_kind)kind;
    }
    if (model->columns == RW_COLUMNS_NUMBERED || model->columns == RW_COLUMNS_NAMED) {
        const char *begin = w->at;
        RW_TRY(rw_words_count(w, "", "the number of columns", RW_FEATURE_IDS, &width));
        if (width == 0)
            return rw_words_fail_at(w, begin, "1 column or more");
    }
    model->width = (uint32_t)width;
    return RW_OK;
}

/* Reads or writes the section of categories if the text has it. Versions 4 and 5 always have it,
 * even if it is empty, and older ones never. */
static int optional_categories(struct rw_words *w, struct rw_categories *categories)
{
    const struct rw_words before = *w;
    int is_there = categories->n > 0;
    if (w->version >= RW_MODEL_VERSION && !w->is_writing) {
        RW_TRY(rw_words_option(w, "categories ", &is_there));
        *w = before;
    } else if (w->version < RW_MODEL_VERSION) {
        is_there = w->version >= RW_MODEL_VERSION_WITH_CATEGORIES;
    }
    return is_there ? categories_grammar(w, categories) : RW_OK;
}

int rw_model_grammar(struct rw_words *w, struct rw_model *model)
{
    RW_TRY(rw_words_choice(w, "absent ", "missing", "zero", &model->absent_missing));
    if (w->version >= RW_MODEL_VERSION)
        RW_TRY(columns_line(w, model));
    RW_TRY(rw_words_take(w, "\nbest-round "));
    const struct rw_words best = *w;
    RW_TRY(rw_words_count(w, "", "a round", INT32_MAX, &model->best_round));
    if (w->version > 1) {
        RW_TRY(rw_words_choice(w, "\nfinished ", "no", "yes", &model->is_interrupted));
        RW_TRY(rw_words_count(w, "\nempty-rounds ", "a number of rounds", INT32_MAX,
                              &model->empty_rounds));
    }
    RW_TRY(rw_words_take(w, "\n\n"));
    RW_TRY(params_section(w, &model->params));
    RW_TRY(rw_words_take(w, "\n\n"));
    const struct rw_words earlier = *w;
    if (w->version > 1)
        RW_TRY(earlier_section(w, model));
    RW_TRY(features_section(w, model));
    RW_TRY(names_section(w, model));
    RW_TRY(optional_categories(w, &model->categories));
    RW_TRY(metrics_section(w, model));
    RW_TRY(trees_section(w, model, &best, &earlier));
    const int may_have_map = w->version >= RW_MODEL_VERSION_WITH_CATEGORIES;
    const int has_map = w->is_writing ? model->map.kind != RW_SCORE_MAP_NONE : w->at < w->end;
    if (may_have_map ? has_map : w->version == RW_MODEL_VERSION_WITH_MAP)
        RW_TRY(map_section(w, &model->map));
    return w->at == w->end ? RW_OK : rw_words_fail(w, "the checksum");
}

/* ---- reading ---- */

/* Returns 1 if the first bytes differ from the header in at most two bytes. */
static int is_damaged_header(const struct rw_words *w)
{
    const size_t n = strlen(RW_MODEL_HEADER);
    size_t n_equal = 0;
    for (size_t i = 0; i < n && w->at + i < w->end; i++)
        n_equal += w->at[i] == RW_MODEL_HEADER[i];
    return n_equal + 3 > n; /* such as by one or two flipped bits */
}

/* Reads the first line before anything else, so that a file of a different kind or version is
 * not reported as damaged. */
static int read_header(struct rw_words *w)
{
    char expected[48];
    int is_model;
    snprintf(expected, sizeof(expected), "'%s%d'", RW_MODEL_HEADER, RW_MODEL_VERSION);
    RW_TRY(rw_words_option(w, RW_MODEL_HEADER, &is_model));
    if (!is_model) {
        const struct rw_recognised kind = rw_recognise_head(w->at, w->end);
        return kind.what && !is_damaged_header(w)
                   ? rw_fail_not_a_model(w->ctx, &kind, w->path, "a Rankwood model")
                   : rw_words_fail(w, expected);
    }
    if (w->at == w->end || *w->at < '1' || *w->at > '9')
        return rw_words_fail(w, "a version");
    RW_TRY(rw_words_count(w, "", "a version", INT32_MAX, &w->version));
    if (w->version > RW_MODEL_VERSION)
        return rw_fail(w->ctx, RW_ERR_FORMAT,
                       "%s:1: a model of version %d; expected version 1 to %d", w->path, w->version,
                       RW_MODEL_VERSION);
    return rw_words_newline(w);
}

void rw_model_checksum_line(const char *text, size_t n, char line[RW_CHECKSUM_LINE_BYTES + 1])
{
    const uint32_t sum = rw_checksum(0, text, n);
    snprintf(line, RW_CHECKSUM_LINE_BYTES + 1, "checksum %08x\n", (unsigned)sum);
}

static uint32_t n_newlines(const char *text, const char *end)
{
    uint32_t n = 0;
    for (; text < end; text++)
        n += *text == '\n';
    return n;
}

int rw_model_checksum_check(struct rw_ctx *ctx, const char *path, const char *all, size_t n)
{
    char line[RW_CHECKSUM_LINE_BYTES + 1] = "";
    const char *last = n >= RW_CHECKSUM_LINE_BYTES ? all + n - RW_CHECKSUM_LINE_BYTES : NULL;
    if (last)
        memcpy(line, last, RW_CHECKSUM_LINE_BYTES);
    const int whole = last && last > all && last[-1] == '\n' && memcmp(line, "checksum ", 9) == 0 &&
                      line[RW_CHECKSUM_LINE_BYTES - 1] == '\n' &&
                      strspn(line + 9, "0123456789abcdef") == RW_CHECKSUM_DIGITS;
    if (!whole)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%s:%u: expected 'checksum' and 8 hex digits as the last line; "
                       "the file is truncated or damaged",
                       path, 1 + n_newlines(all, all + n));
    rw_model_checksum_line(all, n - RW_CHECKSUM_LINE_BYTES, line);
    if (memcmp(line, last, RW_CHECKSUM_LINE_BYTES) != 0)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%s:%u: checksum %.8s, but the lines above have %.8s; the file is damaged",
                       path, 1 + n_newlines(all, last), last + 9, line + 9);
    return RW_OK;
}

int rw_model_parse(struct rw_ctx *ctx, const char *path, const char *text, size_t n,
                   struct rw_model **out)
{
    struct rw_words words = rw_words_of(ctx, path, text, n);
    *out = NULL;
    RW_TRY(read_header(&words));
    RW_TRY(rw_model_checksum_check(ctx, path, text, n));
    words.end -= RW_CHECKSUM_LINE_BYTES;
    words.after = "the checksum";
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    RW_TRY(rw_model_new(ctx, &model));
    RW_TRY(rw_model_grammar(&words, model));
    for (int32_t i = 0; i < model->n_names; i++) /* of earlier versions */
        RW_TRY(rw_name_to_utf8(ctx, &model->name[i].name));
    *out = RW_TAKE(model);
    return RW_OK;
}

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

int rw_model_file_read(struct rw_ctx *ctx, const char *path, const char *what,
                       int (*header)(struct rw_words *w), char **out, size_t *n_bytes)
{
    RW_FREED char *all = NULL;
    size_t n = 0, room = 0;
    struct stat info;
    *out = NULL;
    RW_RELEASED(close_file) FILE *file = rw_system_fopen(path, "rb");
    if (!file)
        return rw_fail_io(ctx, errno, "cannot open '%s'", path);
    const int is_known = fstat(fileno(file), &info) == 0;
    const size_t n_file = is_known && S_ISREG(info.st_mode) ? (size_t)info.st_size : 0;
    if (is_known && S_ISDIR(info.st_mode))
        return rw_fail(ctx, RW_ERR_IO, "cannot read '%s': it is a directory; expected %s", path,
                       what);
    RW_TRY(RW_GROW(ctx, all, room, FIRST_READ_BYTES));
    for (;;) {
        const size_t got = fread(all + n, 1, room - n, file);
        n += got;
        if (ferror(file))
            return rw_fail_io(ctx, errno, "cannot read '%s'", path);
        /* A file of a different kind may be huge, so it is recognised by its first bytes. */
        struct rw_words words = rw_words_of(ctx, path, all, n);
        RW_TRY(header(&words));
        if (feof(file))
            break;
        if (n == room) /* room for one byte more than the file has, so that fread finds its end */
            RW_TRY(RW_GROW(ctx, all, room, n < n_file ? n_file + 1 : n + 1));
    }
    *out = RW_TAKE(all);
    *n_bytes = n;
    return RW_OK;
}

int rw_model_read(struct rw_ctx *ctx, const char *path, struct rw_model **out)
{
    RW_DEFAULT_FPENV;
    RW_FREED char *all = NULL;
    size_t n = 0;
    *out = NULL;
    RW_TRY(rw_model_file_read(ctx, path, "a model", read_header, &all, &n));
    return rw_model_parse(ctx, path, all, n, out);
}

int rw_model_read_memory(struct rw_ctx *ctx, const char *name, const char *text, size_t n_bytes,
                         struct rw_model **out)
{
    RW_DEFAULT_FPENV;
    return rw_model_parse(ctx, name, text, n_bytes, out);
}
