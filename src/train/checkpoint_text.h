/* The file from which a training is resumed: a model so far, and what it lacks for that.
 *
 *   rankwood checkpoint 2
 *   program 0.2.0                     that wrote it
 *   ended yes|no                      yes: whoever trains ended it after the last round
 *   init none                         or: init HEX rounds N, the model that training continued from
 *                                     (its checksum), and the rounds that came with it
 *   note TEXT                         of whoever trains; or note alone
 *   sets N boundaries HEX             of the training set's bins; then N lines, it first:
 *   documents HEX queries HEX query-ids HEX labels HEX weights HEX values HEX
 *                                     and, of sets that have some but 0, start-scores HEX, and of
 *                                     those that have them, positions HEX and more-labels HEX
 *   state NAME version V lines N      the objective's own; then N lines as it wrote them
 *
 *   and a model's lines from 'absent' to the last tree (model/model_text.h): all trees that were
 * grown and the metrics of all rounds; best-round is the best one until then, finished is no.
 *
 *   checksum 0badcafe
 *
 * A new version of the model's text makes a new one here. The first two lines stay as they are:
 * they say which program resumes it, and no other does (train/checkpoint.c). */
#ifndef RW_TRAIN_CHECKPOINT_TEXT_H
#define RW_TRAIN_CHECKPOINT_TEXT_H

#include "model/model_text.h"

enum { RW_CHECKPOINT_VERSION = 2 };

/* What tells sets apart: each part is a sum over documents or queries, modulo 2^64, so that those
 * of shares of a set can be added. */
enum rw_print {
    RW_PRINT_DOCUMENTS, /* their number; the same of queries */
    RW_PRINT_QUERIES,
    RW_PRINT_QUERY_IDS,
    RW_PRINT_LABELS,
    RW_PRINT_WEIGHTS,
    RW_PRINT_VALUES,
    RW_PRINT_START_SCORES, /* 0: none, or all of them 0 */
    RW_PRINT_POSITIONS,    /* 0: none */
    RW_PRINT_MORE_LABELS,  /* 0: none */
    RW_PRINTS
};
struct rw_fingerprint {
    uint64_t part[RW_PRINTS];
};
extern const char *const rw_print_name[RW_PRINTS]; /* "query-ids" */

/* Read, it owns everything; to be written, it borrows. */
struct rw_checkpoint {
    char *program;
    int is_ended;
    int has_init;
    uint64_t init_checksum;
    int32_t init_rounds;
    char *note; /* "": none */
    uint64_t boundaries;
    int32_t n_sets;
    struct rw_fingerprint *set; /* [n_sets] the training set first */
    char *state_name;           /* the objective's */
    int32_t state_version, n_state_lines;
    char **state_line;      /* [n_state_lines] none is empty */
    struct rw_model *model; /* as many trees as rounds */
};
void rw_checkpoint_release(struct rw_checkpoint *checkpoint); /* of one that was read, or zeroed */

/* RW_ERR_FORMAT: the file is no checkpoint, cut or damaged; or of a version that is not read. */
int rw_checkpoint_read(struct rw_ctx *ctx, const char *path, struct rw_checkpoint *out);
/* The same of a text in memory; path is for messages. */
int rw_checkpoint_parse(struct rw_ctx *ctx, const char *path, const char *text, size_t n,
                        struct rw_checkpoint *out);
/* RW_ERR_FORMAT, and who resumes it: a checkpoint that another version of the program wrote. */
int rw_checkpoint_fail_program(struct rw_ctx *ctx, const char *path, const char *program);
/* Its text, not followed by 0; *out is owned by the caller (rw_mem_free). */
int rw_checkpoint_print(struct rw_ctx *ctx, const struct rw_checkpoint *checkpoint, char **out,
                        size_t *n);

#endif
