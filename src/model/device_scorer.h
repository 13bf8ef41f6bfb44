/* Scores of many documents on a device: the same doubles everywhere. A document's leaves are found
 * by model/walk.h and added in tree order, in double.
 *
 * To add a device: (1) fill a `struct rw_device_scorer_ops` (as gpu/predict/predict_cuda.c does),
 * (2) declare its open function here, (3) give it a row in device_scorer.c's table. */
#ifndef RW_MODEL_DEVICE_SCORER_H
#define RW_MODEL_DEVICE_SCORER_H

#include "model/flat.h"

struct rw_device_scorer;

struct rw_device_scorer_ops {
    const char *name;
    void (*close)(struct rw_device_scorer *);
    /* scores: [n_docs], written. RW_ERR_MEMORY: the device has too little, and nothing was lost. */
    int (*run)(struct rw_device_scorer *, const struct rw_dataset *, double *scores);
    /* Milliseconds that a run over so many documents is expected to take. */
    double (*run_ms)(const struct rw_device_scorer *, uint32_t n_docs);
};

struct rw_device_scorer {
    const struct rw_device_scorer_ops *ops;
    struct rw_ctx *ctx;         /* borrowed */
    const struct rw_flat *flat; /* borrowed */
};

/* `device` counts GPUs. */
int rw_device_scorer_open_cuda(struct rw_ctx *ctx, const struct rw_flat *flat, int device,
                               struct rw_device_scorer **out);

#endif
