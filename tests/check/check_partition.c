/* partition: the places of documents show in later histograms, sums and scores. */
#include "check.h"
#include "tree/engine_host.h"

uint32_t check_count_left(const struct check_run *run, const struct rw_split *split)
{
    const struct rw_ref *ref = (const struct rw_ref *)run->ref;
    const struct rw_bins *bins = ref->host.set[0].bins;
    const uint32_t column = (uint32_t)split->column;
    const uint32_t n_bins = rw_cuts_n_bins(bins->cuts, column);
    struct rw_split *out = (struct rw_split *)split; /* a random bin is brought into range */
    out->bin = split->is_set ? 0 : split->bin % n_bins;
    out->feature = bins->cuts->feature[column];
    out->cut = split->is_set ? 0.0f : bins->cuts->cut[bins->cuts->offset[column] + out->bin];
    uint32_t left = 0;
    for (uint32_t doc = 0; doc < bins->n_docs; doc++) {
        const uint32_t code = rw_bins_code(bins, column, doc);
        const int goes_left = code == n_bins  ? split->missing_left
                              : split->is_set ? rw_set_has(&split->set, code)
                                              : code <= split->bin;
        left += ref->slot_of_doc[doc] == split->slot && goes_left;
    }
    return left;
}

void check_partition(struct check_run *run, const struct rw_split *splits, int n)
{
    const int status = run->ref->ops->partition(run->ref, splits, n);
    check_status(run, OP_PARTITION, status, run->engine->ops->partition(run->engine, splits, n));
    check_that(run, OP_PARTITION, status >= 0, "ref: %s", rw_last_error(run->ref_ctx));
}
