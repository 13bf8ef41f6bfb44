#include "io/data_format.h"

#include "each.h"
#include "io/input.h"
#include "io/text.h"
#include "parts_fixture.h"

TestSuite(shards, .init = scratch_begin, .fini = scratch_end, .timeout = 300);

/* Lines with comments, blank lines, ends of both kinds, a long query and short ones. */
static const char text[] = "# a comment that nobody needs\n"
                           "1 qid:1 1:0.5 3:2 # first\n"
                           "0 qid:1 2:7\r\n"
                           "\n"
                           "2 qid:2 1:1 2:nan\n"
                           "   # between\r\n"
                           "0 qid:3 9:1e30 # x y\n"
                           "0 qid:3\n"
                           "1 qid:3 1:-4\n"
                           "1\tqid:3 1:-4 2:8\n"
                           "3 qid:ten 1:5\n"
                           "0 qid:ten 1:6\n"
                           "1 qid:1x 1:6 # qid:7\n"
                           "# the end\n";

/* As many workers as bytes: then every byte is where a shard would begin. */
Test(shards, every_byte)
{
    struct parts parts = {.paths = (const char *const[]){"a.txt"}, .n_paths = 1};
    static const char *const ends[] = {"", "2 qid:z 1:1", "2 qid:z 1:1\r\n"};
    for (int i = SLOW_HERE ? 2 : 0; i < 3; i++) {
        char all[sizeof(text) + 32];
        snprintf(all, sizeof(all), "%s%s", text, ends[i]);
        scratch_text("a.txt", all);
        parts.n_workers = (int)strlen(all);
        check_parts(&parts, ends[i]);
        parts.n_workers = (int)strlen(all) * 5 / 3;
        check_parts(&parts, ends[i]);
    }
}

/* All lengths of the text before, and all numbers of workers. */
Test(shards, every_length)
{
    char all[2 * sizeof(text) + 8];
    struct parts parts = {.paths = (const char *const[]){"a.txt"}, .n_paths = 1};
    for (size_t n = 0; n < sizeof(text); n += SLOW_HERE ? 3 : 1) {
        memset(all, '#', n);
        snprintf(all + n, sizeof(all) - n, "\n%s", text);
        scratch_text("a.txt", all);
        parts.n_workers = 1 + (int)n % 8;
        check_parts(&parts, "padded");
    }
}

/* The result does not depend on the ends of files, even within a query: text split anywhere into
 * files gives the same data. */
Test(shards, two_files)
{
    struct parts parts = {.paths = (const char *const[]){"a.txt", "b.txt"}, .n_paths = 2};
    static const char *const first[] = {"0 qid:5 1:1\n1 qid:6 1:2\n", "0 qid:1 7:1\n", "0 qid:1"};
    for (int i = 0; i < 3; i++) {
        for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
            if (!*p)
                break;
            scratch_text("a.txt", first[i]);
            scratch_text("b.txt", i == 0 ? p : text);
            if (i == 0 && !strstr(p, "qid:")) /* nothing but comments */
                continue;
            for (parts.n_workers = 1; parts.n_workers <= 8; parts.n_workers += SLOW_HERE ? 5 : 3)
                check_parts(&parts, p);
            parts.n_workers = SLOW_HERE ? 13 : 50;
            check_parts(&parts, p);
        }
    }
}

/* Parts are as even as queries allow, and all of them are used. */
Test(shards, even)
{
    FILE *file = fopen("a.txt", "w");
    struct parts parts = {.paths = (const char *const[]){"a.txt"}, .n_paths = 1, .n_workers = 8};
    for (int q = 0; q < 400; q++) {
        for (int i = 0; i < 1 + q % 7; i++)
            fprintf(file, "%d qid:q%03d 1:%03d\n", i % 3, q, i);
    }
    fclose(file);
    cr_assert_eq(parts_read(&parts), RW_OK, "%s", rw_last_error(scratch_ctx));
    for (int r = 0; r < 8; r++) {
        cr_assert_geq(parts.part[r]->n_docs, 1596 / 8 - 7);
        cr_assert_leq(parts.part[r]->n_docs, 1596 / 8 + 7);
    }
    parts_release(&parts);
    check_parts(&parts, "even");
}

/* One query belongs to one worker, whatever the others do. */
Test(shards, one_query)
{
    FILE *file = fopen("a.txt", "w");
    struct parts parts = {.paths = (const char *const[]){"a.txt", "b.txt"}, .n_paths = 1};
    for (int i = 0; i < 5000; i++)
        fprintf(file, "%d qid:long 1:%d\n", i % 3, i);
    fclose(file);
    scratch_text("b.txt", "1 qid:short 1:2\n");
    for (; parts.n_paths <= 2; parts.n_paths++) {
        for (parts.n_workers = 1; parts.n_workers <= 8; parts.n_workers++)
            check_parts(&parts, "one query");
    }
}

/* A range in chunks of all sizes. */
Test(shards, chunks)
{
    struct rw_dataset *whole, *part;
    const char *const path = "a.txt";
    scratch_text(path, text);
    cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &whole), RW_OK);
    const size_t begin = (size_t)(strstr(text, "2 qid:2") - text);
    const size_t end = (size_t)(strstr(text, "3 qid:ten") - text);
    for (size_t chunk_bytes = 1; chunk_bytes < 200; chunk_bytes += EACH(11)) {
        struct rw_range range = {.begin = begin, .end = end};
        struct rw_builder_list list = {0};
        struct rw_input *input;
        struct rw_text *letor;
        int more = 1;
        cr_assert_eq(rw_input_open(scratch_ctx, path, &input), RW_OK);
        cr_assert_eq(
            rw_text_open(scratch_ctx, &rw_letor_text, input, &range, NULL, chunk_bytes, &letor),
            RW_OK);
        while (more)
            cr_assert_eq(rw_text_next(scratch_ctx, letor, &list, &more), RW_OK);
        cr_assert_eq(rw_builder_finish(scratch_ctx, list.builder, (int)list.n, &part), RW_OK);
        cr_assert_eq(part->n_docs, 5);
        cr_assert_eq(range.n_lines, 6);
        for (uint32_t i = 0; i < part->n_docs; i++)
            cr_assert_eq(part->label[i], whole->label[2 + i]);
        rw_dataset_free(part);
        rw_builder_list_release(&list);
        rw_text_close(letor);
        rw_input_close(input);
    }
    rw_dataset_free(whole);
}

/* ---- weights ---- */

Test(shards, weights)
{
    struct parts parts = {
        .paths = (const char *const[]){"a.txt"}, .n_paths = 1, .weights = "w.txt"};
    scratch_text("a.txt", text);
    scratch_text("w.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9.5\n10\n\n\n");
    for (parts.n_workers = 1; parts.n_workers <= 8; parts.n_workers++)
        check_parts(&parts, "weights");
    parts.weights = NULL;
    parts.query_weights = "q.txt";
    scratch_text("q.txt", "1\n2\n0.5\n4\n5\n");
    for (parts.n_workers = 1; parts.n_workers <= 8; parts.n_workers++)
        check_parts(&parts, "weights of queries");
}

/* ---- inputs that cannot be divided ---- */

Test(shards, whole_files)
{
    struct parts parts = {.paths = (const char *const[]){"a.gz", "b.txt", "c.gz", "d.gz", "e.txt"},
                          .n_paths = 5};
    scratch_gzip("a.gz", "wb", "0 qid:1 1:1\n1 qid:1 1:2\n");
    scratch_text("b.txt", "0 qid:2 1:1\n1 qid:3 1:2\n");
    scratch_gzip("c.gz", "wb", "0 qid:4 1:1\n1 qid:4 1:2\n");
    scratch_gzip("d.gz", "wb", "0 qid:5 1:1\n1 qid:6 1:2\n");
    scratch_text("e.txt", "0 qid:7 1:1\n1 qid:8 1:2\n");
    for (parts.n_workers = 1; parts.n_workers <= 5; parts.n_workers++)
        check_parts(&parts, "whole files");
    cr_assert_str_empty(scratch_log);
    parts.n_workers = 5;
    cr_assert_eq(parts_read(&parts), RW_OK);
    for (int r = 0; r < 5; r++)
        cr_assert_eq(parts.part[r]->n_docs, 2);
    parts_release(&parts);
    parts.n_workers = 7;
    check_parts(&parts, "more workers than files");
    cr_assert_not_null(strstr(scratch_log, "5 files for 7 workers: 2 workers get no documents"),
                       "%s", scratch_log);
}

/* A worker begins with the file that begins nearest to its share of the bytes; of two as near,
 * with the later one; but each has a file. */
Test(shards, nearest_files)
{
    enum { FILES = 6, SETS = 40 };
    static const char *const path[FILES] = {"0.csv", "1.csv", "2.csv", "3.csv", "4.csv", "5.csv"};
    uint32_t random = 7, n[FILES];
    for (int set = 0; set < SETS; set += EACH(8)) {
        long begin[FILES + 1] = {0}; /* bytes */
        for (int f = 0; f < FILES; f++) {
            FILE *file = fopen(path[f], "w");
            random = random * 1664525 + 1013904223;
            n[f] = 1 + (random >> 16) % (random >> 30 ? 6 : 40);
            fprintf(file, "label,qid,x\n");
            for (uint32_t i = 0; i < n[f]; i++)
                fprintf(file, "1,%d,%u\n", f, i);
            begin[f + 1] = begin[f] + ftell(file);
            fclose(file);
        }
        for (int n_workers = 2; n_workers < FILES; n_workers += EACH(2)) {
            struct parts parts = {.paths = path, .n_paths = FILES, .n_workers = n_workers};
            cr_assert_eq(parts_read(&parts), RW_OK, "%s", rw_last_error(scratch_ctx));
            for (int r = 0, first = 0, next; r < n_workers; r++, first = next) {
                const long share = begin[FILES] * (r + 1) / n_workers;
                uint32_t n_docs = 0;
                next = first + 1;
                for (int f = next; f <= FILES - (n_workers - r - 1); f++)
                    next = labs(begin[f] - share) <= labs(begin[next] - share) ? f : next;
                for (int f = first; f < next; f++)
                    n_docs += n[f];
                cr_assert_eq(parts.part[r]->n_docs, n_docs, "set %d: %d of %d", set, r, n_workers);
            }
            parts_release(&parts);
        }
    }
}

Test(shards, tables)
{
    struct parts parts = {
        .paths = (const char *const[]){"a.csv", "b.csv"}, .n_paths = 2, .weight_column = "weight"};
    scratch_text("a.csv", "label,qid,weight,x,y\n1,1,0.5,3,4\n0,1,2,5,\n");
    scratch_text("b.csv", "label,qid,weight,x,y\n2,\"2\",1,3,\"4\"\n0,3,2,5,6\n");
    for (parts.n_workers = 1; parts.n_workers <= 3; parts.n_workers++) {
        struct parts again = parts;
        check_parts(&parts, "tables");
        cr_assert_eq(parts_read(&again), RW_OK);
        for (int r = 0; r < again.n_workers; r++) { /* also those without documents */
            cr_assert_eq(again.part[r]->n_names, 2, "rank %d of %d: %d", r, again.n_workers,
                         again.part[r]->n_names);
            cr_assert_str_eq(again.part[r]->name[1].name, "y");
            cr_assert_not_null(again.part[r]->weight);
            cr_assert_eq(again.n_tables[r], again.n_tables[0]);
        }
        parts_release(&again);
    }
}

/* ---- errors ---- */

static void check_error(const char *const *paths, int n_paths, int n_workers, const char *message)
{
    struct parts parts = {.paths = paths, .n_paths = n_paths, .n_workers = n_workers};
    cr_assert_lt(parts_read(&parts), 0, "expected: %s", message);
    cr_assert_str_eq(rw_last_error(scratch_ctx), message);
    parts_release(&parts);
}

/* With file, line and column, as for one worker. */
Test(shards, bad_line)
{
    const char *const path = "a.txt";
    for (const char *line = text; strchr(line, '\n'); line = strchr(line, '\n') + 1) {
        const int n = (int)(line - text);
        struct rw_dataset *dataset = NULL;
        char all[sizeof(text) + 64];
        snprintf(all, sizeof(all), "%.*s1 qid:1y x:3\n%s", n, text, text + n);
        scratch_text(path, all);
        cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &dataset), RW_ERR_PARSE);
        char expected[512];
        snprintf(expected, sizeof(expected), "%s", rw_last_error(scratch_ctx));
        for (int n_workers = 2; n_workers <= 8; n_workers++) {
            struct parts parts = {.paths = &path, .n_paths = 1, .n_workers = n_workers};
            cr_assert_eq(parts_read(&parts), RW_ERR_PARSE);
            const char *error = rw_last_error(scratch_ctx);
            cr_assert_eq(strncmp(error, "worker ", 7), 0, "%s", error);
            cr_assert_str_eq(strstr(error, ": ") + 2, expected);
            parts_release(&parts);
        }
    }
}

Test(shards, query_that_returns)
{
    const char *const path = "a.txt", *const files[] = {"a.txt", "b.txt"};
    scratch_text(path, "1 qid:a\n1 qid:b\n1 qid:c\n1 qid:d\n1 qid:e\n0 qid:b\n");
    check_error(&path, 1, 2,
                "worker 1: a.txt:6:1: query 'b' appears again after another query\nhint: it began "
                "at a.txt:2:1; a query's lines must be consecutive");
    check_error(&path, 1, 6,
                "worker 4: a.txt:6:1: query 'b' appears again after another query\nhint: it began "
                "at a.txt:2:1; a query's lines must be consecutive");
    scratch_text(path, "1 qid:x\n1 qid:b\n1 qid:b\n1 qid:d\n1 qid:e\n0 qid:d\n");
    check_error(&path, 1, 2,
                "worker 1: a.txt:6:1: query 'd' appears again after another query\nhint: it began "
                "at a.txt:4:1; a query's lines must be consecutive");
    scratch_text("b.txt", "1 qid:new\n1 qid:b\n");
    scratch_text(path, "1 qid:x\n1 qid:b\n1 qid:b\n1 qid:d\n");
    check_error(files, 2, 3,
                "worker 1: b.txt:2:1: query 'b' appears again after another query\nhint: it began "
                "at a.txt:2:1; a query's lines must be consecutive");
}

Test(shards, in_two_parts)
{
    const char *const paths[] = {"a.gz", "b.gz"};
    scratch_gzip("a.gz", "wb", "0 qid:1 1:1\n1 qid:2 1:2\n");
    scratch_gzip("b.gz", "wb", "0 qid:2 1:1\n1 qid:3 1:2\n");
    check_error(paths, 2, 2,
                "worker 1: b.gz:1:1: query '2' began in the files of another worker, at "
                "a.gz:2:1\nhint: a query's documents must be in files of one worker; plain LETOR "
                "text and caches ('rankwood bin') are divided between queries");
}

Test(shards, other_errors)
{
    const char *const path = "a.txt", *const none = "none.txt", *const stdin_path = "-";
    const char *const tables[] = {"a.csv", "b.csv"};
    check_error(&none, 1, 2, "worker 0: cannot open 'none.txt': No such file or directory");
    check_error(&stdin_path, 1, 2,
                "worker 0: standard input cannot be divided among 2 workers\n"
                "hint: each worker reads its shard of a file, but a pipe can be read only once");
    scratch_text(path, "# nothing\n\n");
    check_error(&path, 1, 3, "worker 0: a.txt:3:1: expected a document, found the end of the file");
    scratch_text("a.csv", "label,qid,x,y\n1,1,0.5,3\n");
    scratch_text("b.csv", "label,qid,y,x\n1,2,0.5,3\n");
    check_error(tables, 2, 2,
                "worker 1: 'b.csv': its columns differ from those of the files before it\nhint: "
                "all files of a data set must have the same columns in the same order");
}

Test(shards, bad_weights)
{
    struct parts parts = {
        .paths = (const char *const[]){"a.txt"}, .n_paths = 1, .n_workers = 3, .weights = "w.txt"};
    scratch_text("a.txt", text);
    scratch_text("w.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    cr_assert_eq(parts_read(&parts), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "worker 0: 'w.txt' has 9 weights; expected one per document, 10\n"
                     "hint: 'query-weights' and 'valid-query-weights' expect one per query (5)");
    parts_release(&parts);
    scratch_text("w.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n");
    cr_assert_eq(parts_read(&parts), RW_ERR_PARSE);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "worker 2: w.txt:10:1: expected a weight from 0 to 65536, found 'ten'");
    parts_release(&parts);
}
