/* Launch constants of the laboratory's own kernels, with the figures they were chosen by. Those of
 * the methods that train stand in gpu/device/tuning.h. */
#pragma once

/* ---- generalized ---- First guess, to be measured.
 * Shared memory: threads a block, blocks a multiprocessor at most (one where its cells take more
 * than half of the shared memory), loads of 16 bytes in flight without and with an array of values:
 * 1024 threads with 4 each are 64 KB a multiprocessor, twice what the memory's latency asks for. */
#define RW_TUNE_MULTI_THREADS       1024
#define RW_TUNE_MULTI_BLOCKS        2
#define RW_TUNE_MULTI_UNROLL        4
#define RW_TUNE_MULTI_VALUES_UNROLL 2
/* Global memory (the document: 256 threads). */
#define RW_TUNE_MULTI_GLOBAL_THREADS 256
#define RW_TUNE_MULTI_GLOBAL_UNROLL  2
/* Threads that merge the parts of blocks: lanes are added to a cell up to so many. */
#define RW_TUNE_MULTI_MERGE_THREADS 262144
/* What the choice of M and S adds to the document's equations, from `rankwood-lab
 * generalized` on one H200, 50 million elements; A | B: RF 1 | RF 63. Sub-histograms that
 * atomics of the hardware make use of in shared memory. */
#define RW_TUNE_MULTI_MOST_COPIES 32
/* Hardware, shared memory: its atomics are native, so contention costs little and copies are
 * mostly work. Each cell that a block clears and folds must have COPY elements (505 bins, add32:
 * M 32 0.063 ms, M 6 to 18 0.056), and each bin that it hands on to be merged BIN elements, or
 * one block a multiprocessor runs for two (24,576 bins: M 1, two blocks 0.082 ms; M 2, one block
 * 0.073; but 6,144 bins: 0.0615 and 0.0632). */
#define RW_TUNE_MULTI_COPY_ELEMENTS 32
#define RW_TUNE_MULTI_BIN_ELEMENTS  16
/* CAS and locks, shared memory: waits, and more warps hide more of them than more copies save: half
 * of the memory a block (sat24, 24,576 bins: M 1, two blocks 0.204 | 0.717 ms; M 2, one block 0.255
 * | 0.857; argmax, RF 1, 127 bins: M 72, two blocks 0.510; M 128, one block 0.526). Not where all
 * of it gives each thread a copy (sat24, 31 bins: M 1,024, one block 0.118; M 512, two blocks
 * 0.171), unless one bin is in use (the same 0.118 and 0.104).
 * Locks are taken only by what may raise a cell, and each copy must be raised anew: the time goes
 * by the cells in use, M x bins / RF, of a block, whatever M is. Argmax, two blocks, ms, of both
 * RF: 1 cell 0.596, 8 0.632, 32 0.66, 100 0.70, 297 0.714, 505 0.666, 1,000 0.64, 2,047 0.601,
 * 3,000 0.572, 6,100 0.53, 9,000 0.51. Copies that reach no more cells than a block has threads
 * (RF 63: 31 to 6,144 bins) cost more than they save, and there is one. */
#define RW_TUNE_MULTI_LOCK_CELLS 1024.0
/* Hardware, global memory: it is lines of 128 bytes that wait, not cells. One that is in use for
 * so many threads that run is enough (add32, RF 1, lines in use: 384 0.971 ms, 1,536 0.613,
 * 6,144 0.549, 12,288 0.521, 24,576 0.509; RF 63, M 1: 195 1.196, 780 0.659, 3,120 0.562, 12,483
 * 0.514). Copies side by side add no lines where bins are sparse (12,288 bins, RF 63, M 32: 1.41
 * ms): they lie a whole histogram apart. */
#define RW_TUNE_MULTI_LINE_BYTES   128.0
#define RW_TUNE_MULTI_LINE_THREADS 16.0
/* Locks, global memory: cells in use, one for so many threads that run; with more, each is still
 * being raised when the elements end (argmax, RF 1, cells in use, whatever M: 12,288 1.18 ms,
 * 24,576 1.06, 49,152 1.03 to 1.04, 98,304 1.01 to 1.02, 196,608 1.02 to 1.03, 393,216 1.06,
 * 786,432 1.12 to 1.14, 1.6 million 1.26 to 1.29).
 * Where fewer than one bin in SPARSE is in use, each has a sector of L2 (32 bytes, 4 pairs) to
 * itself: up to 4 copies side by side lie in that sector, so that reads are spread over no more of
 * them, but each copy must be raised. The second is the last that pays everywhere. RF 63, ms, M 1 |
 * 2 | 4 | 8 | 16:
 * 12,288 bins 1.434 | 1.108 | 1.288 | 1.167 | 1.336, 24,576 1.101 | 1.049 | 1.149 | 1.207 | 1.214,
 * 49,152 1.070 | 1.032 | 1.074 | 1.183 | 1.107, 196,608 1.030 | 0.954 | 0.961 | 1.028 | 1.087,
 * 393,216 1.006 | 0.987 | 0.973 | 1.026 | 1.081, 786,432 0.997 | 0.985 | 0.997 | 1.034 | 1.145.
 * M 4 and 8 move by up to a tenth from run to run (24,576 to 196,608 bins in another: M 1 1.101,
 * 1.062, 1.030; 4 1.064, 0.995, 0.996; 8 1.137, 1.080, 1.026), and M 4, which won that run, lost
 * this. */
#define RW_TUNE_MULTI_LOCK_THREADS 4.0
#define RW_TUNE_MULTI_LOCK_SPARSE  4.0
#define RW_TUNE_MULTI_LOCK_COPIES  2.0
/* k_RF (the document: 0.75). CAS fails where two threads meet in a cell, so it goes by the cells in
 * use for each thread that runs (M x bins / RF of them), not by the room in L2. RF 63, sat24, ms,
 * k_RF 1 | 2 | 4, which are 1.5 | 3 | 6 cells in use a thread:
 * 12,288 bins 2.49 | 2.30 | 2.20, 24,576 2.60 | 2.31 | 2.08, 49,152 2.57 | 2.32 | 2.12,
 * 196,608 2.57 | 2.28 | 2.36 (2.18 to 2.37), 393,216 2.43 | 2.30 | 2.16, 786,432 2.43 | 2.27 |
 * 2.14, 1,572,864 2.24 | 2.19 | 2.13.
 * RF 1, where equation 4 has the same room at any k_RF up to 10; half that M | it | twice: 1.67 to
 * 1.69 | 1.63 to 1.65 | 1.62 to 1.64.
 * More than 4 is not measured: there, clearing and merging all cells, 63 for one in use, moves 800
 * MB, 0.18 ms at the memory's rate, and twice as many would cost as much again.
 * Equation 6 has at most N cells, as if a cell were worth an element's time. But an element of CAS
 * takes 42 ps (2.1 ms in all), and a cell's clearing and merging 1.8 ps (8 bytes at 4.5 TB/s): for
 * CAS there may be 2 an element, where N would cut k_RF 4's 99 million cells to 50. */
#define RW_TUNE_MULTI_RACE_SHARE 4.0
#define RW_TUNE_MULTI_CAS_CELLS  2.0
/* Passes up to which shared memory is chosen (the document's section V-A: 3, 4, 6). Hardware: a
 * pass costs 0.03 ms (4 passes 0.169 | 0.170 ms, 7 0.275, 14 0.473 | 0.474, 28 0.882), global
 * memory 0.504 to 0.519. CAS: 4 passes 1.231 | 1.977 ms, global 1.642 | 2.747. Lock: 2 passes 1.189
 * | 2.764 ms, global 1.466 | 1.588; 3 passes 1.673 | 3.674, global 1.490 | 1.636. */
#define RW_TUNE_MULTI_PASSES_HARDWARE 14
#define RW_TUNE_MULTI_PASSES_CAS      4
#define RW_TUNE_MULTI_PASSES_LOCK     1
/* The race factor's sample: elements, and groups at most. */
#define RW_TUNE_MULTI_SAMPLE        262144
#define RW_TUNE_MULTI_SAMPLE_GROUPS 256

/* ---- collision-free ---- The paper's own (tables 5 and 7).
 * Threads per block with at most FEW_BINS bins (FEW_THREADS) and with more (MANY_THREADS). Words in
 * flight per thread with up to 2, up to 8 and more bins. The document's hybrid uses the method
 * without timing up to HYBRID_BINS bins. */
#define RW_TUNE_FREE_FEW_BINS     32
#define RW_TUNE_FREE_FEW_THREADS  128
#define RW_TUNE_FREE_MANY_THREADS 64
#define RW_TUNE_FREE_UNROLL_2     1
#define RW_TUNE_FREE_UNROLL_8     4
#define RW_TUNE_FREE_UNROLL_MORE  16
#define RW_TUNE_FREE_HYBRID_BINS  16

/* ---- raw values ---- First guesses, to be measured. */
/* privatized: 16-byte words of values in flight a thread; values that a block takes at least, alone
 * and for each bin that it clears and drains. */
#define RW_TUNE_VALUES_UNROLL 2
#define RW_TUNE_VALUES_A_CELL 3
#define RW_TUNE_VALUES_LEAST  8192
