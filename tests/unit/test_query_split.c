#include "dataset/dataset.h"
#include "scratch_file.h"

TestSuite(query_split, .init = scratch_begin, .fini = scratch_end);

static const char table[] =
    "label,qid,text,day,f\n"
    "1,a,\"red, \"\"shoes\"\"\",2024-02-01,1\n0,a,\"red, \"\"shoes\"\"\",2024-02-01,2\n"
    "0,b,nan,2024-01-31,3\n"
    "2,c,\"red, \"\"shoes\"\"\",2024-02-03,4\n"
    "0,d,1,2024-02-02,5\n0,d,1,2024-02-02,6\n"
    "0,e,nan,2024-02-03,7\n";

/* Reads a table in which `column` has the texts of the queries. */
static struct rw_dataset *read_table(const char *text, const char *column, int n_ignored)
{
    static const char *const ignored[] = {"day", "text"};
    const struct rw_columns columns = {.query_text = column,
                                       .ignore = ignored + (strcmp(column, "day") == 0),
                                       .n_ignore = n_ignored};
    const char *paths[] = {"t.csv"};
    struct rw_dataset *dataset;
    scratch_text("t.csv", text);
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return dataset;
}

static void expect_groups(const struct rw_dataset *dataset, const char *source)
{
    static const uint32_t expected[5] = {0, 1, 0, 2, 1};
    uint32_t groups[5], n;
    cr_assert_eq(rw_dataset_query_groups(scratch_ctx, dataset, source, groups, &n), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_expect_eq(n, 3u);
    cr_expect_arr_eq(groups, expected, sizeof(groups));
}

Test(query_split, groups_of_a_column_and_of_a_file)
{
    struct rw_dataset *dataset = read_table(table, "text", 1);
    cr_expect_eq(rw_dataset_n_features(dataset), 1u);
    expect_groups(dataset, "text");
    scratch_text("groups", "# comment\ne x y\nd z\nc  y\nb x y\na y \nunknown w\n");
    expect_groups(dataset, "groups");
    rw_dataset_free(dataset);
}

static void refused(const char *text, const char *column, int status, const char *message)
{
    struct rw_dataset *dataset = read_table(text, column, 0), *part[2];
    uint32_t groups[8], n;
    char from[32];
    const int found = strcmp(column, "day") == 0
                          ? rw_dataset_split_time(scratch_ctx, dataset, column, part, from, 32)
                          : rw_dataset_query_groups(scratch_ctx, dataset, column, groups, &n);
    cr_expect_eq(found, status);
    cr_expect_str_eq(rw_last_error(scratch_ctx), message);
    rw_dataset_free(dataset);
}

Test(query_split, refused_groups)
{
    refused("label,qid,text,f\n1,a,x,1\n0,a,y,1\n", "text", RW_ERR_DATA,
            "t.csv:3:1: column 'text' has 'x' and 'y' in one query; expected one text per query");
    refused("label,qid,text,f\n1,a,x,1\n0,b,,1\n", "text", RW_ERR_DATA,
            "t.csv:3:1: column 'text' is empty");
    refused("label,qid,f\n1,a,1\n", "text", RW_ERR_ARGUMENT,
            "no column and no file has the name 'text'");
    scratch_text("text", "b x\n");
    refused("label,qid,f\n1,a,1\n", "text", RW_ERR_DATA,
            "'text' lacks query 'a'; expected a line 'QUERY TEXT' for each query");
}

/* The latest fifth is e; c has its time. */
Test(query_split, times)
{
    struct rw_dataset *dataset = read_table(table, "day", 1), *part[2];
    char from[32];
    cr_assert_eq(rw_dataset_split_time(scratch_ctx, dataset, "day", part, from, sizeof(from)),
                 RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_expect_str_eq(from, "2024-02-03");
    cr_expect(part[0]->n_queries == 3 && part[0]->n_docs == 5);
    cr_expect_str_eq(rw_dataset_query_id(part[0], 2), "d");
    cr_expect(part[1]->n_queries == 2 && part[1]->n_docs == 2);
    cr_expect_str_eq(rw_dataset_query_id(part[1], 0), "c");
    rw_dataset_free(part[0]);
    rw_dataset_free(part[1]);
    /* numbers are ordered by value; if the latest time has most queries, the earliest train */
    scratch_text("times", "a 1e1\nb 9\nc 10\nd 10.0\ne 10\n");
    cr_assert_eq(rw_dataset_split_time(scratch_ctx, dataset, "times", part, from, sizeof(from)),
                 RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_expect(part[0]->n_queries == 1 && part[1]->n_queries == 4);
    cr_expect_str_eq(rw_dataset_query_id(part[0], 0), "b");
    rw_dataset_free(part[0]);
    rw_dataset_free(part[1]);
    /* and if the earliest time has most queries, they all train */
    scratch_text("times", "a 1\nb 1\nc 1\nd 1\ne 2\n");
    cr_assert_eq(rw_dataset_split_time(scratch_ctx, dataset, "times", part, from, sizeof(from)),
                 RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_expect(part[0]->n_queries == 4 && part[1]->n_queries == 1);
    rw_dataset_free(part[0]);
    rw_dataset_free(part[1]);
    rw_dataset_free(dataset);
}

Test(query_split, refused_times)
{
#define EXPECTED \
    "; expected numbers, or dates of one form such as 2024-01-31 or 2024-01-31T12:00:00"
    refused("label,qid,day,f\n1,a,2024-01-31,1\n0,b,5 May,1\n", "day", RW_ERR_DATA,
            "query 'b' has the time '5 May' after '2024-01-31'" EXPECTED);
    refused("label,qid,day,f\n1,a,2024-01-31,1\n0,b,2024-01-31T10,1\n", "day", RW_ERR_DATA,
            "query 'b' has the time '2024-01-31T10' after '2024-01-31'" EXPECTED);
    refused("label,qid,day,f\n1,a,2024-01-31T10+01,1\n0,b,2024-01-31T10+02,1\n", "day", RW_ERR_DATA,
            "query 'a' has the time '2024-01-31T10+01'" EXPECTED);
    refused("label,qid,day,f\n1,a,31.01.2024,1\n0,b,01.02.2024,1\n", "day", RW_ERR_DATA,
            "query 'a' has the time '31.01.2024'" EXPECTED);
    refused("label,qid,day,f\n1,a,20240131,1\n0,b,nan,1\n", "day", RW_ERR_DATA,
            "query 'b' has the time 'nan' after '20240131'" EXPECTED);
    refused("label,qid,day,f\n1,a,7,1\n0,b,7.0,1\n", "day", RW_ERR_DATA,
            "all 2 queries have one time; expected different ones");
}
