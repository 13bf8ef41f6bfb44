/* Scores of a data set, or of lines that are none yet, by a packed model. */
#include "base/mem.h"
#include "base/search.h"
#include "dataset/dataset.h"
#include "model/packed.h"
#include "model/predict.h"

/* A column of all the blocks at a time, for memory is read best in order. Documents past `end` are
 * like others before them: what they are does not matter. */
static void encode_blocks(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                          const struct rw_packed_room *room)
{
    const struct rw_packed *p = job->packed;
    const struct rw_packed_width *width = p->ops->width[p->code_bytes - 1];
    const size_t column_bytes = (size_t)RW_PACKED_DOCS * p->code_bytes;
    const size_t codes_bytes = rw_packed_codes_bytes(p);
    for (uint32_t i = 0; i < p->n_columns; i++) {
        const struct rw_packed_column *to = &p->column[i];
        const struct rw_column *column = job->column[to->slot];
        if (i > 0 && to->slot == to[-1].slot)
            ; /* its values are there */
        else if (column)
            rw_column_values(column, begin, end, p->flat->absent, room->value);
        else
            for (uint32_t d = 0; d < end - begin; d++)
                room->value[d] = p->flat->absent;
        if (p->flat->set_of && !(i > 0 && to->slot == to[-1].slot))
            for (uint32_t d = 0; d < end - begin; d++)
                room->value[d] = rw_flat_of_code(p->flat, to->slot, room->value[d]);
        for (uint32_t d = 0, b = 0; d < end - begin; d += RW_PACKED_DOCS, b++)
            width->encode(p, to, room->value + d, room->codes + b * codes_bytes + i * column_bytes);
    }
}

int rw_packed_scores(struct rw_ctx *ctx, const struct rw_packed *packed,
                     const struct rw_dataset *dataset, double *scores)
{
    struct rw_packed_job job = {.packed = packed, .encode = encode_blocks};
    RW_TRY(rw_flat_columns(ctx, packed->flat, dataset, &job.column));
    const int status = rw_packed_run(ctx, &job, dataset->n_docs, scores);
    rw_mem_free(job.column);
    return status;
}

/* Some lines of a run; all their features in turn, so that the lines stay in the first-level cache.
 * Features ascend in both, and no slot is for a set of categories. */
static void turn_run(const struct rw_flat *flat, const uint16_t *feature, uint32_t n,
                     const float *line, uint32_t n_docs, float *value)
{
    for (uint32_t k = 0, slot = 0; k < n && slot < flat->n_used;) {
        if (feature[k] < flat->feature[slot]) {
            k++;
        } else if (feature[k] > flat->feature[slot]) {
            slot++;
        } else {
            float *to = value + (size_t)slot++ * RW_PACKED_DOCS;
            for (uint32_t d = 0; d < n_docs; d++)
                to[d] = line[(size_t)d * n + k];
            k++;
        }
    }
}

static void turn_lines(const struct rw_packed_job *job, uint32_t begin, uint32_t end, float *value)
{
    enum { DOCS = 16 };
    const struct rw_flat *flat = job->packed->flat;
    const struct rw_builder *lines = job->lines;
    for (size_t i = 0; i < (size_t)flat->n_used * RW_PACKED_DOCS; i++)
        value[i] = flat->absent;
    uint32_t r = rw_records_under(lines->run, sizeof(*lines->run), lines->n_runs, begin + 1) - 1;
    for (uint32_t doc = begin; doc < end; r++) {
        const struct rw_run *run = &lines->run[r];
        const uint32_t run_end = run->doc + rw_builder_run_docs(lines, r);
        const uint32_t last = run_end < end ? run_end : end;
        for (uint32_t n; doc < last; doc += n) {
            n = last - doc < DOCS ? last - doc : DOCS;
            turn_run(flat, lines->entry_feature + run->feature, run->n,
                     lines->entry_value + run->value + (size_t)(doc - run->doc) * run->n, n,
                     value + (doc - begin));
        }
    }
}

int rw_packed_lines(const struct rw_packed *packed, const struct rw_builder *lines, double *scores)
{
    struct rw_packed_job job = {.packed = packed,
                                .encode = rw_packed_encode_turned,
                                .turn = turn_lines,
                                .lines = lines,
                                .more_values = (size_t)packed->flat->n_used * RW_PACKED_DOCS};
    return rw_packed_run(NULL, &job, lines->n_docs, scores);
}
