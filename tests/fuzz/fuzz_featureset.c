/* Fuzzes the reader of feature sets. Every name of an accepted set must be found by a lookup; a
 * refusal is one line that names the file. */
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "fuzz_input.h"

static void use(const struct rw_feature_set *set)
{
    if (set->n == 0)
        abort();
    for (uint32_t i = 0; i < set->n; i++) {
        const char *found = rw_feature_set_find(set, rw_feature_set_name(set, i));
        if (!found || strcmp(found, rw_feature_set_name(set, i)) != 0)
            abort();
        for (uint32_t k = 0; k < i && set->n < 64; k++)
            if (strcmp(rw_feature_set_name(set, i), rw_feature_set_name(set, k)) == 0)
                abort();
    }
}

const char *const fuzz_words[] = {"featureset",
                                  "features",
                                  "name",
                                  "\"a\"",
                                  "\"b\"",
                                  "_source",
                                  "_id",
                                  "template",
                                  "{}",
                                  "[]",
                                  "null",
                                  "true",
                                  "0",
                                  "-1",
                                  "1e999",
                                  "\"\\\\u0000\"",
                                  "\"\\\\ud800\"",
                                  "{",
                                  "}",
                                  "[",
                                  "]",
                                  ",",
                                  ":",
                                  "hits",
                                  "type",
                                  "params",
                                  "feature_extractors",
                                  "query_extractor",
                                  "feature_name",
                                  "learning_to_rank",
                                  "class",
                                  "store",
                                  NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct rw_ctx *ctx;
    struct fuzz_file file;
    struct rw_feature_set set = {.n = 0};
    if (rw_ctx_new(&ctx) < 0)
        abort();
    fuzz_file_open(&file, data, size);
    const int status = rw_feature_set_read(ctx, file.path, &set);
    const char *message = rw_last_error(ctx);
    if (status >= 0)
        use(&set);
    else if (status != RW_ERR_FORMAT || !strstr(message, file.path) || strchr(message, '\n'))
        abort();
    rw_feature_set_release(&set);
    fuzz_file_close(&file);
    rw_ctx_free(ctx);
    return status >= 0;
}
