#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "dataset/names.h"
#include "train/train.h"
#include "each.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;
static char path[64];
static struct rw_feature_name *names;
static int32_t n_names;
static uint8_t ignore[RW_FEATURE_IDS];
static struct rw_arena arena;
static const struct rw_training_features no_names;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    snprintf(path, sizeof(path), "/tmp/rankwood-names-%ld.txt", (long)getpid());
}

static void teardown(void)
{
    unlink(path);
    rw_names_free(names, n_names);
    rw_ctx_free(ctx);
}

#define FEATURES_TEST(name) Test(features, name, .init = setup, .fini = teardown)

static int read_names(const char *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    rw_names_free(names, n_names);
    return rw_names_read(ctx, path, &names, &n_names);
}

FEATURES_TEST(names)
{
    cr_assert_eq(read_names("# features\n\n7 bm25\r\n3\t tf-idf \n65535 last"), RW_OK);
    cr_assert_eq(n_names, 3);
    cr_assert_eq(names[0].feature, 3);
    cr_assert_str_eq(names[0].name, "tf-idf");
    cr_assert_eq(names[1].feature, 7);
    cr_assert_str_eq(names[1].name, "bm25");
    cr_assert_eq(names[2].feature, 65535);
    cr_assert_eq(read_names(""), RW_OK);
    cr_assert_eq(n_names, 0);
}

static void expect_bad(const char *text, const char *message)
{
    cr_assert_eq(read_names(text), RW_ERR_PARSE, "%s", text);
    cr_assert_null(names);
    cr_assert_eq(n_names, 0);
    cr_assert(strstr(rw_last_error(ctx), message), "%s", rw_last_error(ctx));
}

FEATURES_TEST(bad_names)
{
    expect_bad("1 a\nbm25 7\n", ":2:1: expected 'ID NAME'");
    expect_bad("65536 a\n", ":1:1: expected 'ID NAME'");
    expect_bad("99999999999999999999 a\n", ":1:1:");
    expect_bad("5\n", ":1:1:");
    expect_bad("5 a b\n", ":1:4: expected a name without blanks or commas");
    expect_bad("5 a,b\n", ":1:4:");
    expect_bad("5 a\n6 b\n5 c\n", "feature 5 is named twice");
    expect_bad("5 a\n6 b\n7 a\n", "have the same name, 'a'");
    /* --ignore could not tell these from ids */
    expect_bad("5 6\n", ":1: expected a name that is not an id or a range, found '6'");
    expect_bad("5 3-7\n", ":1: expected a name that is not an id or a range, found '3-7'");
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite("5 a\n6 b\0c\n", 1, 10, file) == 10 && fclose(file) == 0);
    cr_assert_eq(rw_names_read(ctx, path, &names, &n_names), RW_ERR_PARSE);
    cr_assert(strstr(rw_last_error(ctx), ":2:4: expected text, found a zero byte"));
    cr_assert_eq(rw_names_read(ctx, "/nowhere/names", &names, &n_names), RW_ERR_IO);
    cr_assert_eq(rw_names_read(ctx, "/tmp", &names, &n_names), RW_ERR_IO); /* a directory */
    cr_assert(strstr(rw_last_error(ctx), "'/tmp'"));
}

/* A training set with these features, by the names that were read. */
static const struct rw_training_features *called(const uint32_t *feature, uint32_t n)
{
    static struct rw_training_features set;
    set = (struct rw_training_features){names, n_names, feature, n};
    return &set;
}

FEATURES_TEST(ignore_lists)
{
    cr_assert_eq(read_names("1 one\n2 two\n9 f5\n"), RW_OK);
    cr_assert_eq(rw_list_parse(ctx, "ignore", "two,f5,10-12,65535", names, n_names, ignore), RW_OK);
    int n = 0;
    for (int f = 0; f <= RW_MAX_FEATURE; f++)
        n += ignore[f];
    cr_assert_eq(n, 6);
    cr_assert(ignore[2] && ignore[9] && !ignore[5] && ignore[10] && ignore[12] && ignore[65535]);
    char *text;
    cr_assert_eq(rw_ignore_text(ctx, ignore, &text), RW_OK);
    cr_assert_str_eq(text, "2,9-12,65535");
    uint8_t again[RW_FEATURE_IDS];
    cr_assert_eq(rw_list_parse(ctx, "ignore", text, NULL, 0, again), RW_OK);
    cr_assert_eq(memcmp(ignore, again, sizeof(again)), 0);
    rw_mem_free(text);
    memset(ignore, 0, sizeof(ignore));
    cr_assert_eq(rw_ignore_text(ctx, ignore, &text), RW_OK);
    cr_assert_str_eq(text, "");
    rw_mem_free(text);
    for (int f = 0; f <= RW_MAX_FEATURE; f += 2)
        ignore[f] = 1; /* the longest text */
    cr_assert_eq(rw_ignore_text(ctx, ignore, &text), RW_OK);
    cr_assert_eq(rw_list_parse(ctx, "ignore", text, NULL, 0, again), RW_OK);
    cr_assert_eq(memcmp(ignore, again, sizeof(again)), 0);
    rw_mem_free(text);
}

FEATURES_TEST(bad_ignore_lists)
{
    static const char *const bad[] = {"3-1", "65536", "1,", ",1", "1,,2", "1-",
                                      "-1",  "1-2-3", "x",  "1 ", "0x10", "3-65536"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_eq(rw_list_parse(ctx, "ignore", bad[i], NULL, 0, ignore), RW_ERR_ARGUMENT, "'%s'",
                     bad[i]);
        cr_assert_eq(strncmp(rw_last_error(ctx), "ignore: expected", 16), 0);
    }
}

FEATURES_TEST(monotone_lists)
{
    static double direction[RW_FEATURE_IDS], again[RW_FEATURE_IDS];
    static const uint32_t present[] = {2, 9, 10, 11, 12, 65535};
    char *text;
    cr_assert_eq(read_names("1 one\n2 two\n9 f:5\n"), RW_OK);
    cr_assert_eq(rw_list_values(ctx, RW_LIST_MONOTONE, "two:-,f:5:+,10-12:+,65535:-",
                                called(NULL, 0), direction),
                 RW_OK);
    int n = 0;
    for (int f = 0; f <= RW_MAX_FEATURE; f++)
        n += direction[f] != 0;
    cr_assert_eq(n, 6);
    cr_assert(direction[2] == -1 && direction[9] == 1 && direction[12] == 1);
    cr_assert_eq(direction[65535], -1.0);
    cr_assert_eq(rw_list_text(ctx, RW_LIST_MONOTONE, direction, &text), RW_OK);
    cr_assert_str_eq(text, "2:-,9-12:+,65535:-");
    cr_assert_eq(rw_list_values(ctx, RW_LIST_MONOTONE, text, &no_names, again), RW_OK);
    cr_assert_eq(memcmp(direction, again, sizeof(again)), 0);
    rw_mem_free(text);
    memset(ignore, 0, sizeof(ignore));
    cr_assert_eq(
        rw_feature_list_check(ctx, "monotone", 1, "two:-,f:5:+,10-14:+", called(present, 6), NULL),
        RW_OK);
    cr_assert_eq(rw_feature_list_check(ctx, "monotone", 1, "2:-,13-20:-", called(present, 6), NULL),
                 RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "monotone: the training set has no feature '13-20:-'");
    cr_assert_eq(rw_feature_list_check(ctx, "monotone", 1, "one:+", called(present, 6), NULL),
                 RW_ERR_ARGUMENT);
    ignore[9] = 1;
    cr_assert_eq(rw_feature_list_check(ctx, "monotone", 1, "9-10:-", called(present, 6), ignore),
                 RW_OK);
    cr_assert_eq(rw_feature_list_check(ctx, "monotone", 1, "2:-,f:5:+", called(present, 6), ignore),
                 RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx),
                     "monotone: the training set has no feature 'f:5:+' that is not ignored");
}

FEATURES_TEST(penalty_lists)
{
    static double penalty[RW_FEATURE_IDS], again[RW_FEATURE_IDS];
    char *text;
    cr_assert_eq(read_names("1 one\n2 two\n9 f:5\n"), RW_OK);
    cr_assert_eq(rw_list_values(ctx, RW_LIST_PENALTY, "two:2,f:5:0.50,10-12:.5,20:0,65535:1e30",
                                called(NULL, 0), penalty),
                 RW_OK);
    cr_assert(penalty[1] == 0.0 && penalty[2] == 2.0 && penalty[9] == 0.5 && penalty[20] == 0.0);
    cr_assert_eq(rw_list_text(ctx, RW_LIST_PENALTY, penalty, &text), RW_OK);
    cr_assert_str_eq(text, "2:2,9-12:0.5,65535:1e30");
    cr_assert_eq(rw_list_values(ctx, RW_LIST_PENALTY, text, &no_names, again), RW_OK);
    cr_assert_eq(memcmp(penalty, again, sizeof(again)), 0);
    rw_mem_free(text);
    for (int f = 0; f <= RW_MAX_FEATURE; f++)
        penalty[f] = 1.2345678901234567e-300 * (f + 1); /* the longest text */
    cr_assert_eq(rw_list_text(ctx, RW_LIST_PENALTY, penalty, &text), RW_OK);
    /* AddressSanitizer reads a text to its end for each number of it: of the last ones there. */
    const int first = SLOW_HERE ? RW_FEATURE_IDS - RW_FEATURE_IDS / 16 : 0;
    const char *rest = text;
    for (int f = 0; f < first; f++)
        rest = (const char *)rawmemchr(rest, ',') + 1;
    cr_assert_eq(rw_list_values(ctx, RW_LIST_PENALTY, rest, &no_names, again), RW_OK);
    for (int f = 0; f < first; f++)
        cr_assert_eq(again[f], 0.0);
    cr_assert_eq(
        memcmp(penalty + first, again + first, (RW_FEATURE_IDS - (size_t)first) * sizeof(*again)),
        0);
    rw_mem_free(text);
    static const char *const bad[] = {"3",     "3:",   ":3",     "3:x",     "3:-1", "3:1,",
                                      "3:nan", "3:1x", "3:1e31", "3:1,3:1", "x:1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_eq(rw_list_values(ctx, RW_LIST_PENALTY, bad[i], &no_names, penalty),
                     RW_ERR_ARGUMENT, "'%s'", bad[i]);
        cr_assert_eq(strncmp(rw_last_error(ctx), "feature-penalty: expected", 25), 0, "%s",
                     rw_last_error(ctx));
    }
}

static int parse_groups(const char *list, struct rw_interactions *out)
{
    rw_arena_free(&arena);
    arena.last = NULL;
    return rw_interactions_parse(ctx, &arena, list, called(NULL, 0), out);
}

FEATURES_TEST(interaction_lists)
{
    struct rw_interactions groups = {0, 0, NULL};
    static const uint32_t present[] = {2, 9, 10, 11, 12, 65535};
    char *text;
    cr_assert_eq(read_names("1 one\n2 two\n9 f5\n"), RW_OK);
    cr_assert_eq(parse_groups("f5,two,10-12;3;65535,11", &groups), RW_OK);
    cr_assert(groups.n_groups == 3 && groups.n_words == 1);
    cr_assert(*rw_groups_of(&groups, 2) == 1 && *rw_groups_of(&groups, 3) == 2);
    cr_assert(*rw_groups_of(&groups, 11) == 5 && *rw_groups_of(&groups, 4) == 0);
    cr_assert_eq(rw_interactions_text(ctx, &groups, &text), RW_OK);
    cr_assert_str_eq(text, "2,9-12;3;11,65535");
    rw_mem_free(text);
    cr_assert_eq(
        rw_feature_list_check(ctx, "interactions", 0, "two;10-14,f5", called(present, 6), NULL),
        RW_OK);
    cr_assert_eq(rw_feature_list_check(ctx, "interactions", 0, "two;one", called(present, 6), NULL),
                 RW_ERR_ARGUMENT);
    char many[200] = "9";
    for (int g = 1; g < 64; g++)
        sprintf(many + strlen(many), ";%d", g % 10);
    cr_assert_eq(parse_groups(many, &groups), RW_OK); /* as many as a word has bits */
    cr_assert(groups.n_groups == 64 && groups.n_words == 1);
    cr_assert_eq(rw_interactions_text(ctx, &groups, &text), RW_OK);
    cr_assert_str_eq(text, many);
    rw_mem_free(text);
    sprintf(many + strlen(many), ";4;5");
    cr_assert_eq(parse_groups(many, &groups), RW_OK);
    cr_assert(groups.n_groups == 66 && groups.n_words == 2);
    cr_assert_eq(rw_groups_of(&groups, 5)[1], 2);
    static const char *const bad[] = {";", "1;", "1;;2", "1,;2", ",1", "1,1", "1-3,2", "x", "1:2"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_eq(parse_groups(bad[i], &groups), RW_ERR_ARGUMENT, "'%s'", bad[i]);
        cr_assert_eq(strncmp(rw_last_error(ctx), "interactions: expected", 22), 0, "%s",
                     rw_last_error(ctx));
    }
    rw_arena_free(&arena);
}

FEATURES_TEST(bad_monotone_lists)
{
    static double direction[RW_FEATURE_IDS];
    static const char *const bad[] = {
        "3",     "3:",   "3:*",  "3:+,",    ",3:+",    "3+",      ":+",        "3:+-",    "x:+",
        "3-1:+", "3::+", "3 :+", "3:+,3:+", "3:+,3:-", "3:+;4:-", "2-5:+,4:-", "65536:-", "3:1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_eq(rw_list_values(ctx, RW_LIST_MONOTONE, bad[i], &no_names, direction),
                     RW_ERR_ARGUMENT, "'%s'", bad[i]);
        cr_assert_eq(strncmp(rw_last_error(ctx), "monotone: expected", 18), 0, "%s",
                     rw_last_error(ctx));
    }
}

FEATURES_TEST(limits)
{
    static const uint32_t present[] = {1, 2, 4, 5, 9};
    cr_assert_eq(read_names("1 one\n2 f-2\n9 f5\n"), RW_OK);
    memset(ignore, 0, sizeof(ignore));
    ignore[4] = 1;
    cr_assert_eq(rw_features_limit(ctx, "f5,f-2,3-4", called(present, 5), ignore), RW_OK);
    for (int f = 0; f <= RW_MAX_FEATURE; f++) /* features that the set lacks are not excluded */
        cr_assert_eq(ignore[f], f == 1 || f == 4 || f == 5, "%d", f);
    cr_assert_eq(rw_features_limit(ctx, "3,6-8", called(present, 5), ignore), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "features: the training set has no feature of '3,6-8'");
    cr_assert_eq(rw_features_limit(ctx, "1,title", called(present, 5), ignore), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "features: expected a feature id (0 to 65535), a range of "
                                         "ids or a feature name, found 'title'");
    cr_assert_eq(rw_features_limit(ctx, "1,", called(present, 5), ignore), RW_ERR_ARGUMENT);
}

FEATURES_TEST(listed)
{
    cr_assert_eq(rw_list_count(""), 0u);
    cr_assert_eq(rw_list_count("7"), 1u);
    cr_assert_eq(rw_list_count("3-7,9,title,f-2"), 8u);
    cr_assert_eq(rw_list_count("0-65535"), 65536u);
}
