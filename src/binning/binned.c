#include "binning/binned.h"

#include "base/mem.h"

void rw_binned_release(struct rw_binned *binned)
{
    if (binned->keep && binned->keep->made)
        binned->keep->drop(&binned->keep->made);
    rw_mem_free(binned->keep);
    rw_bins_free(binned->bins); /* its codes may be views of the documents' cache */
    rw_dataset_free(binned->documents);
    rw_mem_free(binned->feature);
    rw_mem_free(binned->scores);
    *binned = (struct rw_binned){.documents = NULL};
}

void rw_binned_free(struct rw_binned *binned)
{
    if (binned)
        rw_binned_release(binned);
    rw_mem_free(binned);
}

struct rw_dataset *rw_binned_documents(struct rw_binned *binned)
{
    return binned->documents;
}

uint32_t rw_binned_n_features(const struct rw_binned *binned)
{
    return binned->bins ? binned->n_features : rw_dataset_n_features(binned->documents);
}
