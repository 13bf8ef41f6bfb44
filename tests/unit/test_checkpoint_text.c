/* The file of a checkpoint: written checkpoints are read back, all other text is refused. */
#include "train/train.h"
#include "model_fixture.h"

static struct rw_ctx *ctx;
static struct rw_checkpoint made;

static void setup(void)
{
    static char program[] = RW_VERSION, name[] = "made", note[] = " tab\t, line\n, \\ ",
                state[] = "1 2.5\n x\n", metric[] = "valid1 ndcg@10";
    static char *metrics[] = {metric};
    static struct rw_fingerprint sets[2] = {{{1, 0, UINT64_MAX, 3}}, {{5, 6, 7, 8, 9, 10}}};
    static double values[4] = {0.5, NAN, -0.25, 0.75};
    ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 4, 5, 3, 1);
    model->n_metrics = 1;
    model->metric_name = metrics;
    model->metric_value = values;
    model->n_rounds_run = 4;
    model->best_round = 3;
    model->is_interrupted = 1;
    made = (struct rw_checkpoint){.program = program,
                                  .is_ended = 1,
                                  .has_init = 1,
                                  .init_checksum = 0xbadcafe,
                                  .init_rounds = 2,
                                  .init_trees = 2,
                                  .note = note,
                                  .boundaries = 77,
                                  .n_sets = 2,
                                  .set = sets,
                                  .state_name = name,
                                  .state_version = 3,
                                  .state = state,
                                  .model = model};
}

static void teardown(void)
{
    made.model->metric_name = NULL;
    made.model->metric_value = NULL;
    rw_model_free(made.model);
    rw_ctx_free(ctx);
}

TestSuite(checkpoint_text, .init = setup, .fini = teardown, .timeout = 60);

static char *print(const struct rw_checkpoint *checkpoint, size_t *n)
{
    char *text;
    cr_assert_eq(rw_checkpoint_print(ctx, checkpoint, &text, n), RW_OK, "%s", rw_last_error(ctx));
    return text;
}

Test(checkpoint_text, reads_back)
{
    size_t n, n_again;
    char *text = print(&made, &n), *again;
    struct rw_checkpoint read;
    cr_assert_eq(rw_checkpoint_parse(ctx, "ck", text, n, &read), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_str_eq(read.note, made.note);
    cr_assert_str_eq(read.state_name, "made");
    cr_assert_str_eq(read.state, "1 2.5\n x\n");
    cr_assert_eq(read.init_checksum, 0xbadcafe);
    cr_assert_eq(read.set[0].part[2], UINT64_MAX);
    cr_assert_eq(read.set[1].part[5], 10);
    cr_assert_eq(read.model->n_trees, 4);
    cr_assert_eq(read.model->best_round, 3);
    again = print(&read, &n_again);
    cr_assert(n == n_again && memcmp(text, again, n) == 0);
    rw_checkpoint_release(&read);
    rw_mem_free(text);
    rw_mem_free(again);
}

Test(checkpoint_text, the_least_one)
{
    static char none[] = "";
    size_t n, n_again;
    made.has_init = made.is_ended = 0;
    made.init_rounds = made.init_trees = 0;
    made.note = none;
    made.state = NULL;
    made.model->n_metrics = made.model->n_rounds_run = 0;
    char *text = print(&made, &n), *again;
    struct rw_checkpoint read;
    cr_assert_eq(rw_checkpoint_parse(ctx, "ck", text, n, &read), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(read.has_init, 0);
    cr_assert_str_eq(read.note, "");
    again = print(&read, &n_again);
    cr_assert(n == n_again && memcmp(text, again, n) == 0);
    rw_checkpoint_release(&read);
    rw_mem_free(text);
    rw_mem_free(again);
}

/* A set without start scores or positions has no lines for them, as in versions that did not
 * support them. */
static void may_be_there(enum rw_print part, const char *line)
{
    size_t n, n_again;
    char *text = print(&made, &n), *again;
    cr_assert_null(memmem(text, n, rw_print_name(part), strlen(rw_print_name(part))));
    rw_mem_free(text);
    made.set[1].part[part] = 0xabc;
    text = print(&made, &n);
    cr_assert_not_null(memmem(text, n, line, strlen(line)));
    struct rw_checkpoint read;
    cr_assert_eq(rw_checkpoint_parse(ctx, "ck", text, n, &read), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(read.set[0].part[part], 0);
    cr_assert_eq(read.set[1].part[part], 0xabc);
    again = print(&read, &n_again);
    cr_assert(n == n_again && memcmp(text, again, n) == 0);
    rw_checkpoint_release(&read);
    rw_mem_free(text);
    rw_mem_free(again);
    made.set[1].part[part] = 0;
}

Test(checkpoint_text, start_scores_positions_and_more_labels)
{
    may_be_there(RW_PRINT_SIDES, " values a start-scores abc\n");
    may_be_there(RW_PRINT_SIDES + 1, " values a positions abc\n");
    may_be_there(RW_PRINT_SIDES + 2, " values a more-labels abc\n");
}

static void refused(const char *text, size_t n, const char *message)
{
    struct rw_checkpoint read;
    cr_assert_eq(rw_checkpoint_parse(ctx, "ck", text, n, &read), RW_ERR_FORMAT, "%s", message);
    cr_assert(strncmp(rw_last_error(ctx), message, strlen(message)) == 0, "'%s'\nexpected '%s'",
              rw_last_error(ctx), message);
    cr_assert_null(read.model);
}

Test(checkpoint_text, truncated_anywhere)
{
    size_t n;
    char *text = print(&made, &n);
    for (size_t k = 0; k < n; k++)
        refused(text, k, "ck:");
    refused(text, n - 1, "ck:");
    cr_assert_not_null(strstr(rw_last_error(ctx), "the file is truncated or damaged"));
    rw_mem_free(text);
}

Test(checkpoint_text, a_bit_flipped_anywhere)
{
    size_t n;
    char *text = print(&made, &n);
    for (size_t k = 0; k < n; k++) {
        text[k] = (char)(text[k] ^ 1 << k % 7);
        refused(text, n, "ck:");
        text[k] = (char)(text[k] ^ 1 << k % 7);
    }
    rw_mem_free(text);
}

/* One line is another, and the checksum is right. */
static void changed(const char *from, const char *to, const char *message)
{
    size_t n;
    char *text = print(&made, &n);
    text[n - RW_CHECKSUM_LINE_BYTES] = 0;
    char *body = fixture_replaced(text, from, to);
    char *whole = fixture_sum(body, strlen(body), &n);
    refused(whole, n, message);
    free(whole);
    free(body);
    rw_mem_free(text);
}

Test(checkpoint_text, unknown_lines)
{
    changed("checkpoint 2", "checkpoint 3", "ck:1: checkpoint format 3; expected 2");
    changed("checkpoint 2\nprogram " RW_VERSION, "checkpoint 3\nprogram 9.8.7\nwhatever",
            "ck:2: checkpoint written by rankwood 9.8.7; rankwood " RW_VERSION);
    changed("checkpoint 2\nprogram " RW_VERSION, "checkpoint 3\npro",
            "ck:1: checkpoint format 3; expected 2");
    changed("rankwood checkpoint 2", "rankwood model 6",
            "ck:1: expected a checkpoint, found a model");
    changed("rankwood", "runkwood", "ck:1:1: expected 'rankwood checkpoint 2', found 'runkwood'");
    changed("ended yes", "ended perhaps", "ck:3:7: expected 'no', found 'perhaps'");
    changed("init badcafe", "init 0badcafe", "ck:4:6: expected a model's checksum, or none, found");
    changed("init badcafe rounds 2", "init badcafe rounds 5",
            "ck: inconsistent checkpoint: 2 sets");
    changed("sets 2", "sets 1", "ck:8:1: expected 'state', found 'documents'");
    changed("sets 2", "sets 99999", "ck:6:6: expected the number of sets, 0 to ");
    changed("values 0", "values 00", "ck:7:");
    changed("query-ids ffffffffffffffff", "query-ids 1ffffffffffffffff",
            "ck:7:33: expected a hexadecimal number, found");
    changed("lines 2", "lines 1", "ck:11:1: expected the end of the line");
    changed("lines 2", "lines 2000000000", "ck:9:28: expected the number of lines, 0 to");
    changed("made version", " version", "ck:9:7: expected an objective's name");
    changed("trees 4", "trees 3", "ck:");
    changed("rounds 4", "rounds 3", "ck:");
    changed("empty-rounds 0", "empty-rounds 1", "ck: inconsistent checkpoint");
}

/* The other way round. */
Test(checkpoint_text, is_no_model)
{
    size_t n;
    char *text = print(&made, &n);
    struct rw_model *model;
    cr_assert_eq(rw_model_parse(ctx, "ck", text, n, &model), RW_ERR_FORMAT);
    cr_assert_str_eq(rw_last_error(ctx),
                     "'ck' looks like a training checkpoint; expected a Rankwood model\n"
                     "hint: pass it as 'resume' to continue the training");
    rw_mem_free(text);
}
