/* Every launch constant, with the device, the data and the figures it was chosen by, and, one line
 * each, what was tried and failed. */
#ifndef RW_GPU_TUNING_H
#define RW_GPU_TUNING_H

/* ---- lanes ---- H200; 3.77 M documents, 128 features, 256 bins, uniform codes, one packed
 * integer, drained once; G updates/s: threads 512  768  1024   words in flight 1081 1546  1869   2
 *          1742 2335  2696   4
 *          2435 2918  3101   8
 *          3122 3357  3468   16
 * Two features a lane (16-bit loads) and two blocks a multiprocessor: 1789. */
#define RW_TUNE_LANES_THREADS 1024
#define RW_TUNE_LANES_UNROLL  16
/* Documents (of 32 lanes) that a block takes at least: clearing and draining its cells costs as
 * much as about so many. To be measured with the nodes of real trees. */
#define RW_TUNE_LANES_LEAST_DOCS 512

#endif
