/* CSV and TSV: values, roles of columns, and every message. */
#include "io/text.h"

#include "base/mem.h"
#include "io/cache/cache.h"
#include "io/data_format.h"
#include "same_dataset.h"
#include "scratch_file.h"

TestSuite(csv, .init = scratch_begin, .fini = scratch_end);

/* In chunks of about so many bytes; NULL: refused. */
static struct rw_dataset *read_text(const char *text, size_t n, size_t chunk_bytes)
{
    struct rw_builder_list list = {0};
    struct rw_input *input = NULL;
    struct rw_seen *seen = NULL;
    struct rw_text *csv = NULL;
    struct rw_dataset *dataset = NULL;
    int more = 1, status = 0;
    cr_assert_eq(rw_seen_new(scratch_ctx, &seen), RW_OK);
    cr_assert_eq(rw_input_open_memory(scratch_ctx, "t.csv", text, n, &input), RW_OK);
    status = rw_text_open(scratch_ctx, &rw_csv_text, input, NULL, seen, chunk_bytes, &csv);
    while (status >= 0 && more)
        status = rw_text_next(scratch_ctx, csv, &list, &more);
    if (status >= 0)
        rw_builder_finish(scratch_ctx, list.builder, (int)list.n, &dataset);
    rw_text_close(csv);
    rw_input_close(input);
    rw_seen_free(seen);
    rw_builder_list_release(&list);
    return dataset;
}

static void set_columns(struct rw_columns columns)
{
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_OK);
}

/* Chunks of every size give the same, byte by byte of the cache. */
static struct rw_dataset *read_any(const char *text)
{
    struct rw_dataset *whole = read_text(text, strlen(text), 1 << 19);
    char error[sizeof(scratch_ctx->error)];
    strcpy(error, scratch_ctx->error);
    for (size_t bytes = 1; bytes < 40; bytes += 3) {
        struct rw_dataset *again = read_text(text, strlen(text), bytes);
        cr_assert_eq(!again, !whole, "chunks of %zu: %s", bytes, rw_last_error(scratch_ctx));
        if (whole)
            assert_same_dataset(whole, again);
        else
            cr_assert_str_eq(rw_last_error(scratch_ctx), error);
        rw_dataset_free(again);
    }
    if (!whole)
        strcpy(scratch_ctx->error, error);
    return whole;
}

static float value(const struct rw_dataset *dataset, uint32_t feature, uint32_t doc)
{
    float values[16];
    rw_dataset_feature(dataset, feature, 99, values);
    return values[doc];
}

Test(csv, what_is_read)
{
    set_columns(
        (struct rw_columns){.weight = "w", .ignore = (const char *[]){"title"}, .n_ignore = 1});
    struct rw_dataset *a = read_any("\xef\xbb\xbfqid,bm25,title,label,w,\"a \"\"b\"\", c\"\r\n"
                                    "q 1,0.5,\"red, \"\"big\"\"\nshoes\",2,1,-3e2\r\n"
                                    "q 1,,plain \"quote\",0,0.25,NaN\n"
                                    "\n"
                                    "\"x\"\"y\", 1 ,,1.5,65536,NA\r\n"
                                    "z,true,,0,0,\"7\"");
    cr_assert_not_null(a, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(a->n_docs, 4);
    cr_assert_eq(a->n_queries, 3);
    cr_assert_eq(a->n_columns, 2);
    cr_assert_str_eq(rw_dataset_query_id(a, 0), "q 1");
    cr_assert_str_eq(rw_dataset_query_id(a, 1), "x\"y");
    cr_assert_eq(a->query_offset[1], 2);
    cr_assert_str_eq(rw_dataset_feature_name(a, 0), "bm25");
    cr_assert_str_eq(rw_dataset_feature_name(a, 1), "a \"b\", c");
    cr_assert_str_eq(rw_dataset_feature_name(a, 2), "");
    const float labels[] = {2, 0, 1.5F, 0}, bm25[] = {0.5F, NAN, 1, 1},
                last[] = {-300, NAN, NAN, 7};
    const double weights[] = {1, 0.25, 65536, 0};
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(a->label[i], labels[i]);
        cr_assert_eq(a->weight[i], weights[i]);
        cr_assert(isnan(bm25[i]) ? isnan(value(a, 0, i)) : value(a, 0, i) == bm25[i]);
        cr_assert(isnan(last[i]) ? isnan(value(a, 1, i)) : value(a, 1, i) == last[i]);
    }
    char where[64];
    rw_dataset_where(NULL, a, 1, where, sizeof(where));
    cr_assert_str_eq(where, "t.csv:4:1");
    rw_dataset_where(NULL, a, 3, where, sizeof(where));
    cr_assert_str_eq(where, "t.csv:7:1");
    rw_dataset_free(a);
}

/* LETOR text with the same numbers gives the same data set, except names and line numbers. */
/* Of a record, both are kept until its end. */
Test(csv, quoted_id_and_quoted_category)
{
    set_columns((struct rw_columns){.categorical = "c"});
    struct rw_dataset *a = read_any("qid,label,c,x\n"
                                    "\"q\"\"1\",0,\"r\"\"ed\",1\n"
                                    "\"q\"\"1\",1,\"bl\"\"ue\",2\n");
    cr_assert_not_null(a, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(a->n_queries, 1);
    cr_assert_str_eq(rw_dataset_query_id(a, 0), "q\"1");
    rw_dataset_free(a);
}

Test(csv, as_letor)
{
    const char *const paths[] = {"a.txt"}, *const table[] = {"a.tsv.gz"};
    struct rw_dataset *a, *b;
    scratch_text("a.txt", "1 qid:7 0:0.5 1:nan\n0 qid:7 0:0 1:3\n2 qid:8 0:1e39 1:-0\n");
    gzFile file = gzopen("a.tsv.gz", "wb");
    gzputs(file, "x\tqid\tlabel\ty\n0.5\t7\t1\t\n0\t7\t0\t3\n1e39\t8\t2\t-0\n");
    gzclose(file);
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &a), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, table, 1, &b), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    assert_same_dataset(a, b);
    cr_assert_eq(rw_ctx_n_tables(scratch_ctx), 1);
    rw_dataset_free(a);
    rw_dataset_free(b);
}

/* Without a header, columns have numbers, from 1; a range leaves out several. */
Test(csv, by_number)
{
    const char *const ignore[] = {"4-5"};
    set_columns((struct rw_columns){.label = "3", .qid = "1", .ignore = ignore, .n_ignore = 1});
    struct rw_dataset *a = read_any("7,0.5,1,text,more,9\n8,1,0,text,more,8\n");
    cr_assert_not_null(a, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(a->n_docs, 2);
    cr_assert_eq(a->n_names, 0);
    cr_assert_eq(value(a, 0, 0), 0.5F);
    cr_assert_eq(value(a, 1, 1), 8);
    rw_dataset_free(a);
    a = read_any("q,x,l,t,u,y\n7,0.5,1,text,more,9\n");
    cr_assert_eq(a->n_docs, 1);
    cr_assert_str_eq(rw_dataset_feature_name(a, 1), "y");
    rw_dataset_free(a);
}

/* Columns of a second file are found by the names of the first, and others are not read. */
Test(csv, like_another)
{
    struct rw_dataset *a = read_any("label,qid,x,a b\n1,7,1,2\n");
    set_columns((struct rw_columns){.like = a});
    struct rw_dataset *b = read_any("title,a b,x,qid,label\nred,2,1,7,1\n");
    cr_assert_not_null(b, "%s", rw_last_error(scratch_ctx));
    assert_same_dataset(a, b);
    cr_assert(rw_names_are_same(a->name, a->n_names, b->name, b->n_names));
    cr_assert_null(read_any("a b,qid,label\n2,7,1\n"));
    cr_assert_str_eq(
        rw_last_error(scratch_ctx),
        "'t.csv' lacks 1 feature, such as 'x'; its columns are 'a b', 'qid', 'label'");
    rw_dataset_free(a);
    rw_dataset_free(b);
}

Test(csv, to_be_scored)
{
    set_columns((struct rw_columns){.no_label = 1, .no_qid = 1});
    struct rw_dataset *a = read_any("x,label,y\n1,?,2\n3,,4\n");
    cr_assert_not_null(a, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(a->n_queries, 1);
    cr_assert_eq(a->n_columns, 2);
    cr_assert_eq(a->label[1], 0);
    rw_dataset_free(a);
}

Test(csv, files_of_one_set_agree)
{
    const char *const paths[] = {"a.csv", "b.csv"};
    struct rw_dataset *both;
    scratch_text("a.csv", "label,qid,x\n1,7,1\n");
    scratch_text("b.csv", "label,qid,x\n0,7,2\n");
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 2, &both), RW_OK);
    cr_assert_eq(both->n_queries, 1);
    cr_assert_eq(both->n_names, 1);
    rw_dataset_free(both);
    scratch_text("b.csv", "label,qid,y\n0,7,2\n");
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 2, &both), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "'b.csv': its columns differ from those of the files before it\nhint: all "
                     "files of a data set must have the same columns in the same order");
}

/* Names and weights are in the cache, and chunks of it. */
Test(csv, cache)
{
    const char *const table[] = {"a.csv"}, *const cache[] = {"a.rwb"},
                      *const both[] = {"a.rwb", "b.csv"};
    struct rw_dataset *a, *b;
    struct rw_params *params;
    scratch_text("a.csv", "label,qid,x,w\n1,red shoes,1,0.5\n0,8,2,3\n");
    scratch_text("b.csv", "label,qid,x,w\n1,9,1,0.75\n");
    set_columns((struct rw_columns){.weight = "w"});
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_dataset_cache_files(scratch_ctx, params, table, 1, "a.rwb"), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, table, 1, &a), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, cache, 1, &b), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    assert_same_dataset(a, b);
    cr_assert(rw_names_are_same(a->name, a->n_names, b->name, b->n_names));
    cr_assert(b->weight && b->weight[0] == 0.5 && b->weight[1] == 3 && !b->weight_by_query);
    rw_dataset_free(b);
    cr_assert_eq(rw_dataset_read(scratch_ctx, both, 2, &b), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert(b->n_names == 1 && b->weight[1] == 3 && b->weight[2] == 0.75);
    rw_dataset_free(b);
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, a, "query-weights", (const double[]){4, 5}, 2, 1),
        RW_OK);
    cr_assert_eq(rw_dataset_write_cache(scratch_ctx, a, params, "a.rwb"), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, cache, 1, &b), RW_OK);
    cr_assert(b->weight[1] == 5 && b->weight_by_query);
    rw_dataset_free(a);
    rw_dataset_free(b);
    rw_params_free(params);
}

Test(csv, messages)
{
    static const char head[] = "label,qid,x,y\n";
    const struct {
        const char *head, *text, *error;
    } cases[] = {
        {"", "", "t.csv:1:1: expected column names, found the end of the file"},
        {head, "", "t.csv:2:1: expected a document, found the end of the file"},
        {head, "1,7,0.5,1\n0,7,abc,1\n",
         "t.csv:3:5: expected a number in column 'x', found 'abc'\n"
         "hint: ignore columns that are not numbers by 'ignore', or name them in 'categorical'"},
        {head, "1,7,\"a\nb\",1\n",
         "t.csv:2:6: expected a number in column 'x', found 'a?b'\n"
         "hint: ignore columns that are not numbers by 'ignore', or name them in 'categorical'"},
        {head, "1,7,1,null\n",
         "t.csv:2:7: expected a number in column 'y', found 'null'\n"
         "hint: a missing value is an empty field, NA or NaN"},
        {head, "1,7,inf,1\n",
         "t.csv:2:5: expected a number in column 'x', found 'inf'\n"
         "hint: values must be finite, at most 3.4028235e38"},
        {head, "1,7,\"0,5\",1\n",
         "t.csv:2:6: expected a number in column 'x', found '0,5'\n"
         "hint: write decimals with a point, not a comma"},
        {head, "1,7,1\n", "t.csv:2:6: expected 4 fields as in the first line, found fewer"},
        {head, "1,7,1,2,3\n", "t.csv:2:8: expected 4 fields as in the first line, found more"},
        {head, ",7,1,2\n", "t.csv:2:1: expected a label (a number), found an empty field"},
        {head, "-1,7,1,2\n",
         "t.csv:2:1: expected a label of 0 or more, found '-1'\n"
         "hint: -1 means 'not judged' in some data sets; remove such documents"},
        {head, "1,,1,2\n", "t.csv:2:3: expected a query id, found an empty field"},
        {head, "1,\"a\tb\",1,2\n",
         "t.csv:2:5: expected a query id or text without tabs, line ends or zero bytes, found 'a\\x09b'"},
        {head, "1,7,\"1\"2,2\n",
         "t.csv:2:8: expected the end of the field after its closing '\"', found '2'"},
        {head, "1,7,1,2\n1,\"7,1,2\n",
         "t.csv:3:3: expected a '\"' that closes the field, found none"},
        {head, "1,7,1,2\n\n1,8,1,2\n1,7,1,2\n",
         "t.csv:5:3: query '7' appears again after another query\nhint: it began at t.csv:2; a "
         "query's lines must be consecutive"},
        {"rel,qid,x\n", "1,7,1\n",
         "t.csv:1:1: no column 'label'; the columns are 'rel', 'qid', 'x'\nhint: name the column "
         "of labels by the parameter 'label-column'"},
        {"label,q,x\n", "1,7,1\n",
         "t.csv:1:1: no column 'qid'; the columns are 'label', 'q', 'x'\nhint: name the column of "
         "query ids by the parameter 'qid-column'"},
        {"label,qid,x,x\n", "1,7,1,2\n", "t.csv:1:13: column 4 has the same name as column 3, 'x'"},
        {",label,qid,x\n", "0,1,7,1\n",
         "t.csv:1:1: column 1 has no name\nhint: if it numbers the lines, ignore it ('ignore')"},
        {"label,qid\n", "1,7\n", "t.csv:1:1: the file has no column with features"},
        {"label;qid;x\n", "1;7;1\n",
         "t.csv:1:1: expected columns separated by commas or tabs, found semicolons\nhint: also "
         "write decimals with a point, not a comma"},
        {"1,7,0.5\n", "0,7,1\n",
         "t.csv:1:1: expected column names, found numbers\nhint: without a header, give columns by "
         "number, from 1 ('label-column')"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[256];
        snprintf(text, sizeof(text), "%s%s", cases[i].head, cases[i].text);
        cr_expect_null(read_any(text), "%zu", i);
        cr_expect_str_eq(rw_last_error(scratch_ctx), cases[i].error);
    }
}

Test(csv, messages_on_columns)
{
    static const char text[] = "label,qid,x,w\n1,7,1,2\n";
    const char *const nothing[] = {"nothing"}, *const far[] = {"3-9"};
    const struct {
        struct rw_columns columns;
        const char *error;
    } cases[] = {
        {{.label = "rel"},
         "t.csv:1:1: no column 'rel' for labels; the columns are 'label', 'qid', 'x', 'w'"},
        {{.qid = "9"},
         "t.csv:1:1: no column '9' for query ids; the columns are 'label', 'qid', 'x', 'w'"},
        {{.weight = "qid"}, "t.csv:1:7: the column is given a second time, for weights"},
        {{.ignore = nothing, .n_ignore = 1},
         "t.csv:1:1: no column 'nothing' to ignore; the columns are 'label', 'qid', 'x', 'w'"},
        {{.ignore = far, .n_ignore = 1},
         "t.csv:1:1: no column '3-9' to ignore; the columns are 'label', 'qid', 'x', 'w'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        set_columns(cases[i].columns);
        cr_expect_null(read_any(text));
        cr_expect_str_eq(rw_last_error(scratch_ctx), cases[i].error);
    }
    set_columns((struct rw_columns){.weight = "w"});
    cr_expect_null(read_any("label,qid,x,w\n1,7,1,-2\n"));
    cr_expect_str_eq(rw_last_error(scratch_ctx),
                     "t.csv:2:7: expected a weight from 0 to 65536, found '-2'");
}

Test(csv, every_allocation_may_fail)
{
    static const char text[] = "label,qid,x,\"y \"\"z\"\"\",w\n1,7,1,,2\n0,\"8\"\"\",1,,2\n";
    set_columns((struct rw_columns){.weight = "w"});
    for (long n = 1; n <= 200; n++) {
        struct rw_input *input = NULL;
        struct rw_builder_list list = {0};
        struct rw_text *csv = NULL;
        struct rw_dataset *dataset = NULL;
        int more = 1;
        cr_assert_eq(rw_input_open_memory(scratch_ctx, "t.csv", text, strlen(text), &input), RW_OK);
        if (n > 100) /* that one alone */
            rw_mem_fail_once(n - 100);
        else
            rw_mem_fail_from(n);
        int status = rw_text_open(scratch_ctx, &rw_csv_text, input, NULL, NULL, 8, &csv);
        while (status >= 0 && more)
            status = rw_text_next(scratch_ctx, csv, &list, &more);
        if (status >= 0)
            status = rw_builder_finish(scratch_ctx, list.builder, (int)list.n, &dataset);
        rw_mem_fail_from(0);
        rw_text_close(csv);
        rw_input_close(input);
        rw_builder_list_release(&list);
        rw_dataset_free(dataset);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY, "allocation %ld: %s", n,
                  rw_last_error(scratch_ctx));
        cr_assert(status == RW_OK || !dataset);
    }
}

/* A cache is not put in order: one that is in another is refused. */
Test(csv, cache_in_another_order)
{
    const char *const table[] = {"a.csv"}, *const cache[] = {"a.rwb"};
    struct rw_dataset *a, *b, *other = read_any("label,qid,new,x,y\n1,7,9,1,2\n");
    struct rw_params *params;
    scratch_text("a.csv", "label,qid,x,y\n1,7,1,2\n");
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_dataset_cache_files(scratch_ctx, params, table, 1, "a.rwb"), RW_OK);
    rw_params_free(params);
    cr_assert_eq(rw_dataset_read(scratch_ctx, table, 1, &a), RW_OK);
    set_columns((struct rw_columns){.like = a});
    cr_assert_eq(rw_dataset_read(scratch_ctx, cache, 1, &b), RW_OK);
    rw_dataset_free(b);
    set_columns((struct rw_columns){.like = other});
    cr_assert_eq(rw_dataset_read(scratch_ctx, cache, 1, &b), RW_ERR_DATA);
    cr_assert_str_eq(
        rw_last_error(scratch_ctx),
        "'a.rwb': 'x' is feature 0, but the model or training set has that name for feature "
        "1\nhint: columns of CSV and TSV are found by name, those of a cache are not");
    rw_dataset_free(a);
    rw_dataset_free(other);
}

/* Names and weights of a hostile cache, whose checksum is right. */
Test(csv, damaged_cache)
{
    const char *const table[] = {"a.csv"}, *const bad[] = {"bad.rwb"};
    /* In a section, or in the header (-1), 4 bytes are replaced. */
    const struct {
        int section;
        size_t at;
        uint32_t value;
        const char *error;
    } cases[] = {
        {-1, offsetof(struct rw_cache_header, n_names), 3, "a feature's name is wrong"},
        {-1, offsetof(struct rw_cache_header, n_names), UINT32_MAX,
         "its counts do not fit its size"},
        {-1, offsetof(struct rw_cache_header, weights), 0, "its counts do not fit its size"},
        {-1, offsetof(struct rw_cache_header, weights), 3, "a count is out of range"},
        {-1, offsetof(struct rw_cache_header, name_bytes), UINT32_MAX,
         "its counts do not fit its size"},
        {-1, offsetof(struct rw_cache_header, name_bytes), 5, "a feature's name is wrong"},
        {RW_CACHE_NAME_FEATURE, 0, 1, "a feature's name is wrong"},
        {RW_CACHE_NAME_FEATURE, 4, RW_FEATURE_IDS, "a feature's name is wrong"},
        {RW_CACHE_NAME_TEXT, 0, 0, "a feature's name is wrong"},
        {RW_CACHE_NAME_TEXT, 0, 0x78787878, "a feature's name is wrong"},
        {RW_CACHE_WEIGHT, 4, 0xbff00000, "a weight is wrong"},
        {RW_CACHE_WEIGHT, 4, 0x7ff80000, "a weight is wrong"},
        {RW_CACHE_WEIGHT, 12, 0x40f00020, "a weight is wrong"},
    };
    struct rw_params *params;
    struct rw_cache_header header;
    struct rw_cache_layout layout;
    struct rw_dataset *dataset;
    char data[4096];
    scratch_text("a.csv", "label,qid,x,y,w\n1,7,1,2,0.5\n0,8,2,3,3\n");
    set_columns((struct rw_columns){.weight = "w"});
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_dataset_cache_files(scratch_ctx, params, table, 1, "a.rwb"), RW_OK);
    rw_params_free(params);
    FILE *file = fopen("a.rwb", "rb");
    const size_t n = fread(data, 1, sizeof(data), file);
    fclose(file);
    memcpy(&header, data, sizeof(header));
    cr_assert_eq(rw_cache_layout(&header, n, &layout), RW_OK);
    cr_assert_eq(layout.n[RW_CACHE_NAME_TEXT], 4);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char expected[128], kept[4];
        char *at =
            data + (cases[i].section < 0 ? 0 : layout.offset[cases[i].section]) + cases[i].at;
        memcpy(kept, at, 4);
        memcpy(at, &cases[i].value, 4);
        const uint32_t crc = rw_checksum(0, data, n - 4);
        memcpy(data + n - 4, &crc, 4);
        scratch_write("bad.rwb", data, n);
        memcpy(at, kept, 4);
        snprintf(expected, sizeof(expected), "'bad.rwb' is damaged: %s", cases[i].error);
        cr_expect_lt(rw_dataset_read(scratch_ctx, bad, 1, &dataset), 0, "%zu", i);
        cr_expect_str_eq(rw_last_error(scratch_ctx), expected, "%zu: %s", i,
                         rw_last_error(scratch_ctx));
    }
}
