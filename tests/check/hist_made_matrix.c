#include "hist_made_matrix.h"

#include "hist_tools.h"

/* Every other matrix of 8 bits ends in features of at most 16 codes. */
static uint32_t n_narrow(const struct hist_matrix_spec *m)
{
    return m->bits == 8 && (m->n_features + m->n_bins) % 2 ? m->n_features / 3 : 0;
}

static void narrow_down(struct hist_run *run)
{
    const uint64_t n = n_narrow(&run->spec), all = run->spec.n_features;
    for (uint64_t i = (all - n) * run->spec.n_docs; i < all * run->spec.n_docs; i++)
        run->columns.code[i] %= 16;
}

/* Rows of every third matrix are as long as their features have codes; every other feature has
 * fewer then. */
static int is_ragged(const struct hist_matrix_spec *m)
{
    return m->n_bins % 4 == 0 && (m->n_docs + m->n_features + m->n_bins / 4) % 3 == 1;
}

static void make_rows(struct hist_run *run)
{
    const struct hist_matrix_spec *m = &run->spec;
    run->row = hist_need(m->n_features + 1, sizeof(*run->row));
    run->row[0] = 0;
    for (uint32_t f = 0; f < m->n_features; f++) {
        uint16_t *code = run->columns.code + (size_t)f * m->n_docs;
        const uint32_t fewer = (f + 1) * 2654435761u % m->n_bins + 1;
        uint32_t most = 0;
        for (uint32_t i = 0; i < m->n_docs && is_ragged(m); i++) {
            code[i] = (uint16_t)(f % 2 ? code[i] % fewer : code[i]);
            most = code[i] > most ? code[i] : most;
        }
        run->row[f + 1] = run->row[f] + (is_ragged(m) ? most / 4 * 4 + 4 : m->n_bins);
    }
}

static int use_rows(struct hist_run *run)
{
    const uint32_t n = run->spec.n_features;
    if (!is_ragged(&run->spec))
        return 0;
    run->matrix->n_row_cells = run->row[n];
    if (hist_buffer_fill(run, &run->d_row, run->row, (n + 1) * sizeof(*run->row)) < 0)
        return -1;
    run->matrix->d_row = hist_buffer_at(&run->d_row);
    return 0;
}

int hist_matrix_make(struct hist_run *run)
{
    struct hist_matrix_spec *m = &run->spec;
    if (m->codes == RW_CODES_SYNTH) {
        if (rw_made_columns_synth(run->ctx, &run->columns, m->bits, m->n_bins, m->distinct,
                                  run->seed) < 0)
            return -1;
        m->n_features = run->columns.n_features;
        m->n_docs = run->columns.n_docs;
    } else {
        const struct rw_made_spec made = {.n_features = m->n_features,
                                          .n_docs = m->n_docs,
                                          .n_bins = m->n_bins,
                                          .codes = m->codes,
                                          .distinct = m->distinct};
        if (rw_made_columns_init(run->ctx, &run->columns, &made, run->seed) < 0)
            return -1;
    }
    narrow_down(run);
    make_rows(run);
    run->frequent = hist_need(m->n_features, sizeof(*run->frequent));
    rw_made_frequent(run->ctx, &run->columns, run->frequent);
    run->have_matrix = 1;
    const struct rw_hist_matrix_spec spec = {.bits = m->bits,
                                             .n_features = m->n_features,
                                             .n_docs = m->n_docs,
                                             .n_bins = m->n_bins,
                                             .n_narrow = n_narrow(m),
                                             .layouts = RW_HIST_TILES | RW_HIST_COLUMNS};
    if (rw_made_matrix(run->ctx, run->device, &spec, &run->columns, &run->matrix) < 0 ||
        use_rows(run) < 0)
        return -1;
    return hist_buffer_fill(run, &run->d_frequent, run->frequent,
                            m->n_features * sizeof(*run->frequent));
}
