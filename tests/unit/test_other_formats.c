/* Recognition of other formats: tests/golden/bad has one file of each. This file tests text that
 * must not be mistaken for one, and which errors name a format. */
#include "scratch_file.h"

#include "base/ctx.h"

TestSuite(other_formats, .init = scratch_begin, .fini = scratch_end);

/* `text` ends where it says, in memory of its own, so that a sanitizer sees a step past it. */
static struct rw_recognised of(const char *text, size_t n)
{
    char *copy = calloc(n ? n : 1, 1);
    memcpy(copy, text, n);
    const char *end = memchr(copy, '\n', n);
    const struct rw_recognised kind = rw_recognise(copy, end ? end : copy + n);
    free(copy);
    return kind;
}

static void is(const char *text, const char *what)
{
    const struct rw_recognised kind = of(text, strlen(text));
    if (!what)
        cr_expect_null(kind.what, "'%s' is taken for %s", text, kind.what);
    else
        cr_expect(kind.what && strcmp(kind.what, what) == 0, "'%s' is taken for %s", text,
                  kind.what ? kind.what : "nothing");
}

Test(other_formats, kinds_of_text)
{
    is("a,b\n", "CSV");
    is("1;2;3", "CSV with semicolons");
    is("ORCID,label\n1,2\n", "CSV");
    is("1\t2", "TSV");
    is("label\tf1\tf2\n", "TSV");
    is("1 2 3\n", "a table separated by blanks");
    is("1 3:0.5", "svmlight text without query ids");
    is("-1 1:0.5 2:nan", "svmlight text without query ids");
    is("1 17 3:0.5 4:1", "LETOR text without 'qid:' before the query ids");
    is("0.5\n1e-3\n", "a file with one number per line, such as scores or weights");
    is("q Q0 d 1 2.5 run", "a TREC run");
    is("301 0 FBIS3 1", "TREC judgments (qrels)");
    is("{\"a\":1}\n{\"a\":2}\n", "JSON lines");
    is("{\"a\":1,", "JSON");
    is("tree\nversion=v4\n", "a LightGBM model");
    is(" [1, 2]", "JSON");
    is("\xef\xbb\xbf"
       "1 qid:1 1:2\n",
       "text with a byte order mark");
    is("\xef\xbb\xbf"
       "a,b\n",
       "CSV");
}

/* Kinds that tests/golden/bad has no file of. */
Test(other_formats, kinds_of_bytes)
{
    is("7z\xbc\xaf\x27\x1c\n", "a 7-Zip archive");
    is("LZIP\1abc", "an lzip file");
    is("\x1f\x9d\x90", "a compress (.Z) file");
    is("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook or another Office file");
    is("%PDF-1.7\n", "a PDF document");
    is("\x80\2]q", "a Python pickle");
    is("\x01\xab\xff\xff\3", "an XGBoost DMatrix");
    is("______LightGBM_Binary_File_Token______\n", "a LightGBM binary data set");
    is("{\"oblivious_trees\": []}", "a CatBoost model");
    is("<ranker>\n", "a QuickRank model");
    is("<PMML version=\"4.4\">\n", "a PMML model");
    const struct rw_recognised wide = of("\xff\xfe\0\0"
                                         "1\0\0\0",
                                         8);
    cr_expect_str_eq(wide.what, "text in UTF-32");
}

Test(other_formats, unknown_formats_are_not_guessed)
{
    is("", NULL);
    is("\n", NULL);
    is("good qid:1 1:2", NULL);
    is("1 qid:1 1:0,5 2:3", NULL); /* LETOR text: the error of the line is enough */
    is("1,5 qid:1 1:0", NULL);
    is("foo", NULL);
    is("foo bar baz", NULL);
    is("1 2", NULL);
    is("ORC 1", NULL);
    is("trees", NULL);
    is("PAR", NULL);
    is("-1 qid:1 1:2", NULL);
}

/* Every beginning of bytes of every kind is looked at within its bounds. */
Test(other_formats, beginnings_of_files)
{
    static const char *const files[] = {"table.parquet", "letor.xz",     "letor.tar",
                                        "book.xlsx",     "values.npz",   "table.orc",
                                        "utf16.txt",     "xgboost.json", "json_lines.txt",
                                        "ranklib.txt",   "run.txt",      "scores.txt"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[512];
        size_t n_bytes;
        snprintf(path, sizeof(path), RW_TESTS_DIR "/golden/bad/%s", files[i]);
        char *bytes = scratch_read(path, &n_bytes);
        cr_assert_gt(n_bytes, 0u, "%s", path);
        for (size_t n = 0; n <= n_bytes && n < 400; n++)
            of(bytes, n);
        free(bytes);
    }
}

static const char *error_of(const char *text)
{
    struct rw_dataset *dataset;
    const char *path = "data.txt";
    scratch_write(path, text, strlen(text));
    cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &dataset), RW_ERR_PARSE);
    return rw_last_error(scratch_ctx);
}

/* The whole file is guessed at only where its first document should be. */
Test(other_formats, only_before_the_first_document)
{
    cr_expect_str_eq(error_of("1 qid:1 1:2\n1,2,3\n"),
                     "data.txt:2:1: expected a label (a number), found '1,2,3'");
    cr_expect_str_eq(error_of("1 qid:1 1:2\nPAR1\n"),
                     "data.txt:2:1: expected a label (a number), found 'PAR1'");
    cr_expect_str_eq(
        error_of("# one\n\n# two\n1,2,3\n"),
        "data.txt:4:1: expected a label (a number), found '1,2,3'\nhint: 'data.txt' looks like CSV "
        "(3 columns); expected LETOR text (LABEL qid:QUERY FEATURE:VALUE ...), plain or gzip, or a "
        "cache\nhint: a table needs a name that ends in .csv or .tsv, or the parameters "
        "'label-column' and 'qid-column'");
}

Test(other_formats, messages_fit)
{
    struct rw_recognised kind = of("a,b\n", 4);
    char small[20], large[400];
    kind.hint = "something";
    kind.convert_file = kind.convert_stdin = "cat";
    rw_recognised_message(&kind, "x", 0, "wrong", small, sizeof(small));
    cr_expect_eq(strlen(small), 19u);
    rw_recognised_message(&kind, "x", 0, "wrong", large, sizeof(large));
    cr_expect_str_eq(large, "wrong\nhint: 'x' looks like CSV (2 columns, with a header); expected "
                            "LETOR text (LABEL qid:QUERY FEATURE:VALUE ...), plain or gzip, or a "
                            "cache\nhint: something\nhint: cat 'x' | rankwood ... -");
    rw_recognised_message(&kind, "x", 1, "wrong", large, sizeof(large));
    cr_expect(strstr(large, "\nhint: gzip -dc 'x' | cat | rankwood ... -"), "%s", large);
    rw_recognised_message(&kind, "standard input", 1, "wrong", large, sizeof(large));
    cr_expect(strstr(large, "\nhint: ... | gzip -dc | cat | rankwood ... -"), "%s", large);
    kind.convert_stdin = NULL; /* the command needs a file */
    rw_recognised_message(&kind, "standard input", 0, "wrong", large, sizeof(large));
    cr_expect_null(strstr(large, "| rankwood"), "%s", large);
}
