/* The model's own format, which rw_model_write and rw_model_read (rankwood.h) put in a file.
 *
 * The grammar, one line each; sections are parted by an empty line:
 *
 *   rankwood model 1
 *   absent zero|missing
 *   best-round N
 *
 *   params N                          then N lines:   name = value
 *   features N                        then ranges:    1-136        of ids, N in all
 *   names N                           then N lines:   id name
 *   metrics N rounds R                then N lines:   metric name  and R lines:  round value ...
 *   trees N                           then N trees:
 *
 *   tree 1 leaves 3                  trees count from 1, as rounds do
 *   node 0 feature 12 <= 0.5 left node 1 right leaf 2 missing left gain 34.5 # name
 *   leaf 0 0.01
 *
 *   checksum 0badcafe                 zlib's crc32 of every byte above
 *
 * Numbers are the shortest decimals that read back as the same float or double. Texts run to the
 * end of the line; in them a backslash is \\ and a control character \xHH. There is one way to
 * write a model, so equal models are equal files. */
#ifndef RW_IO_MODEL_TEXT_H
#define RW_IO_MODEL_TEXT_H

#include "model/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RW_MODEL_HEADER "rankwood model "

enum {
    RW_MODEL_VERSION = 1,
    RW_MODEL_MAX_PARAMS = 1000, /* they are compared with one another */
    RW_CHECKSUM_DIGITS = 8,
    RW_CHECKSUM_LINE_BYTES = 18
};

/* Reads a model from memory. text: [n], not changed; `path` is for messages. Anything that
 * rw_model_write would not have written is RW_ERR_FORMAT. */
int rw_model_parse(struct rw_ctx *ctx, const char *path, const char *text, size_t n,
                   struct rw_model **out);

/* The model's text, not followed by 0; *out is owned by the caller (rw_mem_free). */
int rw_model_print(struct rw_ctx *ctx, const struct rw_model *model, char **out, size_t *n);

/* The last line of a model whose text so far is `text`: [n]; a 0 follows it. */
void rw_model_checksum_line(const char *text, size_t n, char line[RW_CHECKSUM_LINE_BYTES + 1]);

#ifdef __cplusplus
}
#endif
#endif
