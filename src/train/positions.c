#include "train/positions.h"

#include <string.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "io/input.h"
#include "objective/debias.h"

int rw_positions_check(struct rw_ctx *ctx, const struct rw_params *params,
                       const struct rw_objective *objective, const struct rw_dataset *train)
{
    if (objective && objective->uses_shown && !train->position)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'debias' is set, but the training set has no positions\n"
                       "hint: --positions FILE has the position at which each document was shown "
                       "(rw_dataset_set_positions)");
    if (train->position && !(objective && objective->uses_shown) &&
        !params->is_idle[RW_AT_PARAM_positions])
        rw_log(ctx, RW_LOG_WARNING,
               "the training set's positions are not used: parameter 'debias' is off");
    return RW_OK;
}

/* ------------------------------------------------------------------ propensities from a file */

/* given: [RW_MAX_POSITION + 1], 0 where nothing was said. */
static int read_line(struct rw_ctx *ctx, const char *name, unsigned number, const char *line,
                     const char *end, struct rw_position_bias *given)
{
    struct rw_position_bias bias;
    uint32_t position;
    if (!rw_debias_parse_line(RW_DEBIAS_IPW, line, end, &position, &bias))
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:%u: expected 'POSITION PROPENSITY': a whole number from 0 to %d and a "
                       "number from 1/1024 to 1024, and perhaps one more for t-",
                       name, number, RW_MAX_POSITION);
    if (given[position].of[0] != 0.0)
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%u: position %u is there twice", name, number,
                       position);
    given[position] = bias;
    return RW_OK;
}

static int read_file(struct rw_ctx *ctx, const char *path, struct rw_position_bias *given)
{
    struct rw_input *input;
    char *text = NULL;
    size_t n = 0;
    unsigned number = 1;
    RW_TRY(rw_input_open(ctx, path, &input));
    int status = rw_input_read_all(ctx, input, &text, &n);
    for (const char *line = text, *stop = text + n; status >= 0 && line < stop; number++) {
        const char *end = memchr(line, '\n', (size_t)(stop - line));
        end = end ? end : stop;
        if (end > line && !(end == line + 1 && *line == '\r'))
            status = read_line(ctx, rw_input_name(input), number, line, end, given);
        line = end + 1;
    }
    rw_mem_free(text);
    rw_input_close(input);
    return status;
}

int rw_positions_give(struct rw_ctx *ctx, const struct rw_params *params,
                      struct rw_gradients *gradients)
{
    struct rw_position_bias *given;
    if (!params->propensities[0])
        return RW_OK;
    RW_TRY(RW_NEW(ctx, given, RW_MAX_POSITION + 1));
    int status = read_file(ctx, params->propensities, given);
    if (status >= 0)
        status = rw_debias_give(rw_gradients_debias(gradients), given, RW_MAX_POSITION + 1);
    rw_mem_free(given);
    return status;
}

/* ------------------------------------------------------------------ what was found */

/* Positions that have documents, by number; the caller's. */
struct found {
    uint32_t *position;
    uint64_t *n_docs;
    double *bias, *propensity, *unclicked;
};

static void found_release(struct found *found)
{
    rw_mem_free(found->position);
    rw_mem_free(found->n_docs);
    rw_mem_free(found->bias);
    rw_mem_free(found->propensity);
    rw_mem_free(found->unclicked);
}

static int take(struct rw_ctx *ctx, const struct rw_debias *debias,
                const struct rw_position_bias *bias, struct found *found, int *n)
{
    RW_TRY(RW_NEW(ctx, found->position, debias->n_positions));
    RW_TRY(RW_NEW(ctx, found->n_docs, debias->n_positions));
    RW_TRY(RW_NEW(ctx, found->bias, debias->n_positions));
    RW_TRY(RW_NEW(ctx, found->propensity, debias->n_positions));
    RW_TRY(RW_NEW(ctx, found->unclicked, debias->n_positions));
    for (uint32_t p = 0; p < debias->n_positions; p++) {
        if (debias->n_docs[p] == 0)
            continue;
        found->position[*n] = p;
        found->n_docs[*n] = debias->n_docs[p];
        found->bias[*n] = bias[p].of[0];
        found->propensity[*n] = rw_debias_propensity(debias, bias, p);
        found->unclicked[*n] = bias[p].of[1];
        ++*n;
    }
    return RW_OK;
}

int rw_positions_tell(struct rw_ctx *ctx, const struct rw_train_hooks *hooks,
                      struct rw_gradients *gradients, int n_rounds)
{
    const struct rw_debias *debias = gradients ? rw_gradients_debias(gradients) : NULL;
    struct found found = {.position = NULL};
    if (!debias || !hooks || !hooks->on_positions)
        return RW_OK;
    struct rw_positions told = {.round = n_rounds, .is_given = debias->is_given};
    const int status =
        take(ctx, debias, rw_gradients_bias(gradients, (uint32_t)n_rounds), &found, &told.n);
    const int additive = debias->kind == RW_DEBIAS_ADDITIVE;
    told.position = found.position;
    told.n_docs = found.n_docs;
    told.bias = additive ? found.bias : NULL;
    told.propensity = found.propensity;
    told.unclicked = additive ? NULL : found.unclicked;
    if (status >= 0)
        hooks->on_positions(hooks->user, &told);
    found_release(&found);
    return status;
}
