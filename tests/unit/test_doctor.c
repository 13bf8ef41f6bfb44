/* The checks of `rankwood doctor`, with models that the test corrupts, since real differences
 * are rare. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "each.h"
#include "rankwood.h"

static int n_models, spoiled = -1, failing = -1;

static int write_model(struct rw_ctx *ctx, const struct rw_model *model, char **out, size_t *n)
{
    const int status = rw_model_write_memory(ctx, model, out, n);
    if (n_models == failing) {
        rw_free(*out);
        *out = NULL;
    }
    if (n_models == spoiled)
        strstr(*out, "\ntree 2")[1] = 'T';
    return n_models++ == failing ? RW_ERR_MACHINE : status;
}
#define rw_model_write_memory write_model
#define RW_BUILD              "of a test"
#define RW_GPU_ARCHS          "80"
#include "bench/doctor.c"
#undef rw_model_write_memory
#include "base/machine.h"

static char seen[20000]; /* a line for each row: its table, and name=value */

static int on_row(void *user, const struct rw_bench_row *row)
{
    (void)user;
    size_t n = strlen(seen);
    n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%s:", row->table);
    for (int i = 0; i < row->n_fields; i++) {
        const struct rw_bench_field *field = &row->field[i];
        if (field->kind == RW_BENCH_TEXT)
            n += (size_t)snprintf(seen + n, sizeof(seen) - n, " %s=%s", field->name, field->text);
        else if (field->kind != RW_BENCH_NONE && strcmp(field->name, "ms") != 0)
            n += (size_t)snprintf(seen + n, sizeof(seen) - n, " %s=%.10g", field->name,
                                  field->number);
    }
    snprintf(seen + n, sizeof(seen) - n, "\n");
    return 0;
}

static int examine(void)
{
    struct rw_ctx *ctx;
    int n_wrong = -1;
    seen[0] = 0;
    n_models = 0;
    cr_assert_eq(setenv("CUDA_VISIBLE_DEVICES", "-1", 1), 0); /* no GPU in a child of Criterion's */
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_ctx_set_threads(ctx, 1), RW_OK);
    cr_assert_eq(rw_doctor(ctx, on_row, NULL, &n_wrong), RW_OK, "%s", rw_last_error(ctx));
    rw_ctx_free(ctx);
    return n_wrong;
}

static int has(const char *text)
{
    return strstr(seen, text) != NULL;
}

Test(doctor, how_it_was_built)
{
    char text[512], cut[8];
    cr_assert_eq(setenv("RANKWOOD_ISA", "plain", 1), 0);
    rw_build_text(text, sizeof(text));
    cr_assert_eq(strncmp(text, "build: ", 7), 0, "%s", text);
    cr_assert_not_null(strstr(text, "\nCUDA: "), "%s", text);
    cr_assert_not_null(strstr(text, "\ninstruction sets: plain"), "%s", text);
    cr_assert_str_eq(text + strlen(text) - strlen("; plain is in use\n"), "; plain is in use\n");
    rw_build_text(cut, sizeof(cut));
    cr_assert_str_eq(cut, "build: ");
    cr_assert_eq(examine(), 0);
    char build[256];
    snprintf(build, sizeof(build), " build=%.*s ", (int)strcspn(text + 7, "\n"), text + 7);
    cr_assert(has(build), "%s in %s", build, seen);
}

Test(doctor, all_is_well)
{
    cr_assert_eq(setenv("RANKWOOD_ISA", "plain", 1), 0);
    cr_assert_eq(examine(), 0, "%s", seen);
    cr_assert(has("program: version=" RW_VERSION));
    cr_assert(has(" instructions_taken=plain RANKWOOD_ISA=plain"));
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa_most(); isa++) { /* whichever is in use */
        char row[64];
        snprintf(row, sizeof(row), "check: device=cpu instructions=%s result=ok\n",
                 rw_isa_name((enum rw_isa)isa));
        cr_assert(has(row), "%s in %s", row, seen);
    }
    cr_assert_eq(rw_isa(), RW_ISA_PLAIN); /* and afterwards it is as it was */
    struct rw_cpu_limits limits;
    char threads[64];
    rw_cpu_limits_find("", &limits);
    snprintf(threads, sizeof(threads), " threads_auto=%d threads_by=%s ", limits.threads,
             limits.from);
    cr_assert(has(threads));
    cr_assert(has("auto: documents=10000 features=46 leaves=8 rounds=300 "));
    cr_assert(has(" device=cpu because=no usable GPU\n"));
}

/* Models 0 and 1 are the reference's, then come two for each instruction set. */
Test(doctor, a_model_that_differs)
{
    spoiled = 3;
    cr_assert_eq(examine(), 1, "%s", seen);
    cr_assert(has("check: device=cpu instructions=plain result=differs: split newton, line "));
    cr_assert(has(" of the model is 'Tree 2"));
    cr_assert(has(", not 'tree 2"));
    spoiled = 0; /* then all others are wrong */
    cr_assert_eq(examine(), 1 + (int)rw_isa_most(), "%s", seen);
    cr_assert_not(has("result=ok"));
}

Test(doctor, a_training_that_fails)
{
    failing = 2;
    cr_assert_eq(examine(), 1, "%s", seen);
    cr_assert(has("check: device=cpu instructions=plain result=failed: "));
    cr_assert(rw_isa_most() == RW_ISA_PLAIN || has("result=ok"));
}

static int stop(void *user, const struct rw_bench_row *row)
{
    (void)row;
    return --*(int *)user == 0;
}

Test(doctor, it_can_be_stopped)
{
    struct rw_ctx *ctx;
    int n_wrong;
    cr_assert_eq(setenv("CUDA_VISIBLE_DEVICES", "-1", 1), 0);
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    for (int rows = 1; rows <= 7; rows += SLOW_HERE ? 3 : 1) {
        int left = rows;
        cr_assert_eq(rw_doctor(ctx, stop, &left, &n_wrong), RW_ERR_INTERRUPTED);
        cr_assert_eq(left, 0);
    }
    rw_ctx_free(ctx);
}

Test(doctor, where_models_differ)
{
    static const struct {
        const char *expected, *given, *text;
    } cases[] = {
        {"a\nb\nc\n", "a\nx\nc\n", "line 2 of the model is 'x', not 'b'"},
        {"a\nbcd", "a\nbce", "line 2 of the model is 'bce', not 'bcd'"},
        {"a\n", "a\nb\n", "line 2 of the model is 'b', not ''"},
        {"a\nb\n", "a\n", "line 2 of the model is '', not 'b'"},
        {"", "a", "line 1 of the model is 'a', not ''"},
    };
    char text[DOCTOR_TEXT], longer[600];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        differing_line(cases[i].expected, strlen(cases[i].expected), cases[i].given,
                       strlen(cases[i].given), text);
        cr_assert_str_eq(text, cases[i].text);
    }
    memset(longer, 'x', sizeof(longer));
    differing_line(longer, sizeof(longer), longer, sizeof(longer) - 1, text);
    cr_assert_lt(strlen(text), DOCTOR_TEXT);
}
