/* partition: sums of both children; the places of documents show in later histograms and scores. */
#include <string.h>

#include "check.h"
#include "tree/engine_ref.h"

uint32_t check_count_left(const struct check_run *run, const struct rw_split *split)
{
    const struct rw_ref *ref = (const struct rw_ref *)run->ref;
    const struct rw_bins *bins = ref->host.set[0].bins;
    const uint32_t column = (uint32_t)split->column;
    const uint32_t n_bins = rw_cuts_n_bins(bins->cuts, column);
    struct rw_split *out = (struct rw_split *)split; /* a random bin is brought into range */
    out->bin %= n_bins;
    out->feature = bins->cuts->feature[column];
    out->cut = bins->cuts->cut[bins->cuts->offset[column] + out->bin];
    uint32_t left = 0;
    for (uint32_t doc = 0; doc < bins->n_docs; doc++) {
        const uint32_t code = rw_bins_code(bins, column, doc);
        left += ref->slot_of_doc[doc] == split->slot &&
                (code == n_bins ? split->missing_left : code <= split->bin);
    }
    return left;
}

void check_partition(struct check_run *run, const struct rw_split *splits, int n,
                     struct rw_sum *sums)
{
    struct rw_sum *out[2];
    int status[2];
    for (int side = 0; side < 2; side++) {
        out[side] = check_buffer(2 * (size_t)n, sizeof(**out), side);
        status[side] = rw_engine_partition(side ? run->engine : run->ref, splits, n, out[side]);
    }
    check_status(run, OP_PARTITION, status[0], status[1]);
    for (int i = 0; i < 2 * n; i++)
        check_that(run, OP_PARTITION, check_same_sum(&out[0][i], &out[1][i]),
                   "%s child of slot %d: %llu documents, ref has %llu", i % 2 ? "right" : "left",
                   splits[i / 2].slot, (unsigned long long)out[1][i].n,
                   (unsigned long long)out[0][i].n);
    check_that(run, OP_PARTITION, check_fences(out[1], 2 * (size_t)n, sizeof(**out)),
               "sums: written past their end");
    memcpy(sums, out[0], 2 * (size_t)n * sizeof(*sums));
    check_free(out[0]);
    check_free(out[1]);
}
