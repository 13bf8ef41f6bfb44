#include "gpu/hist/hist_trial.h"

#include "gpu/device/tuning.h"
#include "gpu/hist/hist_moved.h"

int rw_hist_time_in_turns(struct rw_hist_timing *timing, int n,
                          const struct rw_hist_method *favourite, rw_hist_time *time, void *user)
{
    for (int turn = 0; turn < RW_TUNE_HYBRID_TURNS; turn++) {
        double best = 0.0; /* by the turns before */
        for (int i = 0; i < n && turn > 0; i++)
            best = i == 0 || timing[i].ms < best ? timing[i].ms : best;
        for (int i = 0; i < n; i++) {
            double ms;
            if (turn > 1 && timing[i].method != favourite &&
                timing[i].ms > RW_TUNE_HYBRID_HOPELESS * best)
                continue;
            RW_TRY(time(user, &timing[i], &ms));
            if (turn == 0 || ms < timing[i].ms)
                timing[i].ms = ms;
        }
    }
    return RW_OK;
}

double rw_hist_expected_ms(const struct rw_hist_call *call, double bandwidth)
{
    const struct rw_hist_matrix *matrix = call->matrix;
    const int newton = call->sums == RW_HIST_NEWTON;
    double docs = 0.0, doc_bytes = newton ? 8.0 : 4.0;
    if (call->far)
        return 0.0;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        docs += call->node[i].n;
    if (call->d_list && call->by_position)
        doc_bytes = (double)rw_moved_bytes(rw_moved_of(newton, call->largest));
    if (call->d_list)
        doc_bytes += 4.0;
    const double cell_bytes = newton ? 20.0 : 12.0;
    const double bytes = docs * (doc_bytes + matrix->n_features * matrix->bits / 8.0) +
                         (double)rw_hist_matrix_cells(matrix) * call->n_nodes * cell_bytes;
    return bytes / bandwidth * 1e3 + RW_TUNE_HYBRID_LAUNCH_MS;
}

const struct rw_hist_timing *rw_hist_pick(const struct rw_hist_timing *timing, int n,
                                          const struct rw_hist_method *favourite,
                                          double expected_ms)
{
    const struct rw_hist_timing *best = timing, *favoured = NULL;
    for (int i = 0; i < n; i++) {
        if (timing[i].ms < best->ms)
            best = &timing[i];
        if (timing[i].method == favourite && (!favoured || timing[i].ms < favoured->ms))
            favoured = &timing[i];
    }
    if (!favoured)
        return best;
    const int is_believed =
        expected_ms <= 0.0 || favoured->ms <= RW_TUNE_HYBRID_BELIEVED * expected_ms;
    return is_believed && best->ms <= RW_TUNE_HYBRID_FAVOUR * favoured->ms ? best : favoured;
}
