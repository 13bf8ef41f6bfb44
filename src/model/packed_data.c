/* Scores of a data set by a packed model. */
#include "base/mem.h"
#include "dataset/dataset.h"
#include "model/packed_run.h"
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
