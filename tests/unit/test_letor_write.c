#include "same_dataset.h"
#include "io/letor_write.h"
#include "scratch_file.h"

TestSuite(letor_write, .init = scratch_begin, .fini = scratch_end);

static const char text[] = "1 qid:a 1:0.5 7:nan 9:-1e-45 # docid = 1\n"
                           "0 qid:a\n"
                           "2.5 qid:b/2 0:3.4028235e38 65535:16777216\n"
                           "0 qid:c 1:0 7:0.1 # x # y\n";

static struct rw_dataset *read_one(const char *path)
{
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return dataset;
}

static int write_letor(const struct rw_dataset *dataset, const char *path)
{
    struct rw_letor_writer *writer;
    int status = rw_letor_writer_open(scratch_ctx, path, &writer);
    if (status < 0)
        return status;
    status = rw_letor_writer_add(scratch_ctx, writer, dataset);
    if (status >= 0)
        status = rw_letor_writer_commit(scratch_ctx, writer);
    rw_letor_writer_close(writer);
    return status;
}

Test(letor_write, what_was_read_is_written)
{
    scratch_text("a", text);
    struct rw_dataset *a = read_one("a");
    cr_assert_eq(write_letor(a, "b"), RW_OK, "%s", rw_last_error(scratch_ctx));
    size_t n;
    char *back = scratch_read("b", &n);
    cr_assert_str_eq(back, text);
    free(back);
    cr_assert_eq(write_letor(a, "b.gz"), RW_OK);
    struct rw_dataset *b = read_one("b.gz");
    assert_same_dataset(a, b);
    char *packed = scratch_read("b.gz", &n);
    cr_assert_eq(packed[0], 0x1f);
    free(packed);
    rw_dataset_free(a);
    rw_dataset_free(b);
}

Test(letor_write, many_documents)
{
    enum { N = 30000 };
    FILE *file = fopen("a", "w");
    uint32_t state = 3;
    for (int i = 0; i < N; i++) {
        state = state * 1664525u + 1013904223u;
        fprintf(file, "%u qid:%d 1:%g 2:%u", state >> 30, i / 7, (double)state / 7, state);
        fprintf(file, state & 512 ? " 3:1\n" : "\n");
    }
    fclose(file);
    struct rw_dataset *a = read_one("a");
    cr_assert_eq(write_letor(a, "b"), RW_OK);
    cr_assert_eq(write_letor(a, "b.gz"), RW_OK);
    struct rw_dataset *b = read_one("b"), *c = read_one("b.gz");
    assert_same_dataset(a, b);
    assert_same_dataset(a, c);
    rw_dataset_free(a);
    rw_dataset_free(b);
    rw_dataset_free(c);
}

Test(letor_write, failures_leave_nothing)
{
    scratch_text("a", text);
    struct rw_dataset *a = read_one("a");
    cr_assert_eq(write_letor(a, "no/where"), RW_ERR_IO);
    if (access("/dev/full", W_OK) == 0)
        cr_assert_eq(write_letor(a, "/dev/full"), RW_ERR_MACHINE);
    rw_dataset_free(a);
}
