/* A matrix whose codes are not all on the device, of one that has them there. */
#ifndef HIST_FAR_H
#define HIST_FAR_H

#include "hist_run.h"

/* The run's matrix with the codes of documents [0, n_here) on the device, fenced by poison, and those
 * of the others in page-locked memory alone. 0 or -1; released in any case. */
int hist_far_make(struct hist_run *run, uint32_t n_here, struct rw_hist_matrix *out);
void hist_far_release(struct rw_hist_matrix *matrix);
/* Of the call at hand: bytes of codes in the host's memory, once for each node. */
uint64_t hist_far_bytes(const struct hist_run *run, const struct rw_hist_matrix *matrix);

#endif
