/* Fuzzes TREC files: judgments before the first byte 1 of the input, and a run after it. Any
 * bytes give rankings whose metrics are between 0 and 1, or an error of one line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "fuzz_input.h"

/* Labels may be too large for gains, and not whole: metrics that count relevant documents take all.
 */
static void measure(struct rw_ctx *ctx, const struct rw_qrels *qrels)
{
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    struct rw_eval *eval;
    how.metric = "map,mrr@3,p@2,recall@5,rbp:0.5";
    fuzz_check(rw_evaluate(ctx, &how, qrels->dataset, qrels->runs[0].scores, &eval) == RW_OK);
    for (int m = 0; m < eval->n_metrics; m++) {
        const double mean = eval->metrics[m].mean;
        fuzz_check(eval->metrics[m].n_counted == 0 ? isnan(mean) : mean >= 0 && mean <= 1);
    }
    rw_free(eval);
    how.metric = "ndcg@3";
    how.like = "trec";
    if (rw_evaluate(ctx, &how, qrels->dataset, qrels->runs[0].scores, &eval) == RW_OK) {
        fuzz_check(eval->metrics[0].mean >= 0 && eval->metrics[0].mean <= 1);
        rw_free(eval);
    }
}

static void check_documents(const struct rw_qrels *qrels)
{
    const struct rw_dataset *dataset = qrels->dataset;
    char id[512], last[512] = "";
    uint64_t n_ranked = 0;
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        fuzz_check(dataset->query_offset[q] < dataset->query_offset[q + 1]);
        for (uint32_t i = dataset->query_offset[q]; i < dataset->query_offset[q + 1]; i++) {
            const double score = qrels->runs[0].scores[i];
            fuzz_check(isfinite(score) || score == RW_UNRANKED);
            n_ranked += score != RW_UNRANKED;
            fuzz_check(dataset->label[i] >= 0);
            rw_dataset_doc_id(dataset, i, id, sizeof(id));
            fuzz_check(id[0] && (i == dataset->query_offset[q] || strcmp(last, id) > 0));
            strcpy(last, id);
        }
    }
    fuzz_check(n_ranked == qrels->runs[0].n_ranked && n_ranked > 0);
}

const char *const fuzz_words[] = {"1",
                                  "2",
                                  "3",
                                  "Q0",
                                  "A",
                                  "B",
                                  "C",
                                  "0",
                                  "-1",
                                  "0.5",
                                  "1e9",
                                  "1e308",
                                  "nan",
                                  "inf",
                                  "-inf",
                                  "tag",
                                  "t",
                                  "1 0 A 1",
                                  "1 Q0 A 1 2.5 t",
                                  "\t",
                                  "\r\n",
                                  "  ",
                                  "-0",
                                  "1e-320",
                                  "",
                                  NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct rw_ctx *ctx;
    struct rw_qrels *qrels;
    struct fuzz_file judgments, run;
    const uint8_t *end = size > 0 ? memchr(data, 1, size) : NULL;
    const size_t n = end ? (size_t)(end - data) : size, begin = end ? n + 1 : size;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    fuzz_file_open(&judgments, data, n);
    fuzz_file_open(&run, data + begin, size - begin);
    const char *const runs[] = {run.path};
    const int taken = rw_qrels_read(ctx, judgments.path, runs, 1, &qrels) == RW_OK;
    if (taken) {
        check_documents(qrels);
        measure(ctx, qrels);
        rw_free(qrels);
    } else {
        fuzz_check(!qrels && rw_last_error(ctx)[0] != 0);
    }
    fuzz_file_close(&run);
    fuzz_file_close(&judgments);
    rw_ctx_free(ctx);
    return taken;
}
