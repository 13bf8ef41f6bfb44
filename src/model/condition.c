/* What a split asks, in words. */
#include "base/fpenv.h"
#include "base/number.h"
#include "model/model.h"

/* Text that is cut where the buffer ends, and counted on. */
struct cut_text {
    char *at;
    size_t room, n;
};

static void put(struct cut_text *to, const char *text)
{
    for (; *text; text++, to->n++) {
        const unsigned char c = (unsigned char)*text;
        if (to->n + 1 < to->room)
            to->at[to->n] = c < 32 || c == 127 ? '?' : *text;
    }
}

/* The words on one side, of which those without a code of their own are not. */
static void put_words(struct cut_text *to, const struct rw_feature_categories *of,
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

size_t rw_model_condition(const struct rw_model *model, int tree, int node, char *buffer,
                          size_t size)
{
    RW_DEFAULT_FPENV;
    struct cut_text to = {.at = buffer, .room = size};
    if (size)
        buffer[0] = 0;
    if (node < 0 || node >= rw_model_n_leaves(model, tree) - 1)
        return 0;
    const struct rw_tree *t = &model->tree[tree];
    char number[32];
    if (rw_tree_by_set(t, node)) {
        put_words(&to, rw_categories_find(&model->categories, t->feature[node]), &t->set[node]);
    } else {
        number[rw_number_write(t->cut[node], number)] = 0;
        put(&to, "<= ");
        put(&to, number);
    }
    if (size)
        buffer[to.n < size ? to.n : size - 1] = 0;
    return to.n;
}
