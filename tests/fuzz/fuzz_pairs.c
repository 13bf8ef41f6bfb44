/* Files of given pairs: any bytes give pairs of two documents of one query each, with a weight, or
 * an error of one line. */
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "fuzz_input.h"

enum { DOCS = 5, QUERIES = 3 };

const char *const fuzz_words[] = {"1",         "2",      "3",   "0",          "65536", "65537",
                                  "0.5",       "1e-300", "nan", "-1",         "#",     "1 1 2",
                                  "2 2 1 0.5", "\t",     "  ",  "4294967297", "+1",    NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    static const float values[DOCS] = {1, 2, 3, 4, 5}, labels[DOCS] = {0, 1, 0, 2, 1};
    static const uint32_t offsets[QUERIES + 1] = {0, 2, 4, 5};
    struct rw_ctx *ctx;
    struct rw_dataset *dataset;
    struct fuzz_file file;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    fuzz_check(rw_dataset_from_memory(ctx, values, labels, offsets, DOCS, 1, QUERIES, 1,
                                      &dataset) == RW_OK);
    fuzz_file_open(&file, data, size);
    const int taken = rw_dataset_read_side_column(ctx, dataset, "pairs-file", file.path) == RW_OK;
    if (taken) {
        fuzz_check(dataset->pairs.offset[0] == 0 && dataset->pairs.offset[QUERIES] > 0);
        for (uint32_t q = 0; q < QUERIES; q++) {
            for (size_t i = dataset->pairs.offset[q]; i < dataset->pairs.offset[q + 1]; i++) {
                const struct rw_given_pair *pair = &dataset->pairs.item[i];
                fuzz_check(pair->better >= offsets[q] && pair->better < offsets[q + 1]);
                fuzz_check(pair->worse >= offsets[q] && pair->worse < offsets[q + 1]);
                fuzz_check(pair->better != pair->worse);
                fuzz_check(pair->weight >= 0.0 && pair->weight <= RW_MAX_WEIGHT);
            }
        }
    } else {
        fuzz_check(!dataset->pairs.item && rw_last_error(ctx)[0] &&
                   !strchr(rw_last_error(ctx), '\n'));
    }
    fuzz_file_close(&file);
    rw_dataset_free(dataset);
    rw_ctx_free(ctx);
    return taken;
}
