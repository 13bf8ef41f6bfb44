#include <criterion/criterion.h>

#include "base/ctx.h"
#include "rankwood.h"

Test(words, distance)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {{"", "", 0},        {"leaves", "leaves", 0}, {"leaves", "leafs", 2},
                 {"", "rate", 4},    {"raet", "rate", 1},     {"ndgc", "ndcg", 1},
                 {"bins", "bit", 2}, {"a", "b", 1},           {"rounds", "round", 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert_eq(rw_word_distance(cases[i].a, cases[i].b), cases[i].distance, "%s %s",
                     cases[i].a, cases[i].b);
        cr_assert_eq(rw_word_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

Test(words, long_words_are_far)
{
    char word[101];
    memset(word, 'x', 100);
    word[100] = 0;
    cr_assert_eq(rw_word_distance(word, "x"), 100);
}

Test(words, nearest)
{
    static const char *const words[] = {"train", "eval", "explain", "min-docs"};
    static const char *const cases[][2] = {
        {"trian", "train"},       {"evaluate", "eval"}, {"Explain", "explain"},
        {"MIN_DOCS", "min-docs"}, {"frob", NULL},       {"", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *near = rw_word_nearest(cases[i][0], words, 4);
        if (cases[i][1])
            cr_expect(near && strcmp(near, cases[i][1]) == 0, "'%s' gives '%s'", cases[i][0],
                      near ? near : "nothing");
        else
            cr_expect_null(near, "'%s' gives '%s'", cases[i][0], near);
    }
    cr_expect_null(rw_word_nearest("train", NULL, 0));
}

Test(words, nearest_always)
{
    static const char *const words[] = {"ranklib", "ranx", "xgboost-", "ydf"};
    static const char *const cases[][2] = {
        {"rank", "ranx"}, /* fewest letters, though "ranklib" begins with it */
        {"ran", "ranx"},          {"YDF", "ydf"}, {"XGBoost_", "xgboost-"},
        {"qqqqqqqqq", "ranklib"}, {"", "ydf"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        cr_expect_str_eq(rw_word_nearest_always(cases[i][0], words, 4), cases[i][1], "'%s'",
                         cases[i][0]);
}
