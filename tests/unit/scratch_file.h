/* Files for one test: each Criterion test is a process of its own. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/ctx.h"

static struct rw_ctx *scratch_ctx;
static char scratch_folder[64];
static char scratch_log[4096];

static void scratch_on_log(void *user, enum rw_log_level level, const char *line)
{
    (void)user;
    (void)level;
    const size_t n = strlen(scratch_log);
    snprintf(scratch_log + n, sizeof(scratch_log) - n, "%s\n", line);
}

static void scratch_begin(void)
{
    strcpy(scratch_folder, "/tmp/rw-test-XXXXXX");
    cr_assert_not_null(mkdtemp(scratch_folder));
    cr_assert_eq(chdir(scratch_folder), 0);
    cr_assert_eq(rw_ctx_new(&scratch_ctx), RW_OK);
    rw_ctx_set_log(scratch_ctx, scratch_on_log, NULL);
}

static void scratch_end(void)
{
    char command[128];
    rw_ctx_free(scratch_ctx);
    snprintf(command, sizeof(command), "rm -rf %s", scratch_folder);
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(system(command), 0);
}

__attribute__((unused)) static void scratch_write(const char *name, const void *data,
                                                  size_t n_bytes)
{
    FILE *file = fopen(name, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, n_bytes, file), n_bytes);
    cr_assert_eq(fclose(file), 0);
}

__attribute__((unused)) static void scratch_text(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

/* mode: "wb", or "ab" for one more member. */
__attribute__((unused)) static void scratch_gzip(const char *name, const char *mode,
                                                 const char *text)
{
    gzFile file = gzopen(name, mode);
    cr_assert_not_null(file);
    cr_assert_eq((size_t)gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    cr_assert_eq(gzclose(file), Z_OK);
}

/* Returns the whole file and a terminating 0; freed at the end of the test. */
__attribute__((unused)) static char *scratch_read(const char *name, size_t *n_bytes)
{
    FILE *file = fopen(name, "rb");
    cr_assert_not_null(file, "%s", name);
    fseek(file, 0, SEEK_END);
    *n_bytes = (size_t)ftell(file);
    rewind(file);
    char *data = calloc(*n_bytes + 1, 1);
    cr_assert_eq(fread(data, 1, *n_bytes, file), *n_bytes);
    fclose(file);
    return data;
}
