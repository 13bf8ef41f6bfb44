/* The tuning constants that are the same on all GPUs; device_tuning.c has the others. `lanes` and
 * `collision` are histogram methods (gpu/hist/hist.h), `mart` and `newton` histograms without and
 * with hessians. Figures of several variants are separated by "|". Unless stated otherwise, the
 * measurements are from an H200 with mslr30k (3.77 M documents, 136 features). Trials of other
 * values and of other designs: lab/docs/gpu_trials.md. */
#pragma once

/* ---- lanes ----
 *
 * hist_lanes.cu explains tiles, turns, checks and the plan's rows. THREADS: of a block. UNROLL, and
 * UNROLL_16 for codes of 16 bits: words in flight per thread. RING: turns for which documents are
 * staged in shared memory.
 *
 * Billions of updates (of a document and a cell) per second, with 128 features of 256 evenly
 * distributed bins: 2937 with 512 threads and 32 words in flight, 4065, the limit of the memory,
 * with 1024 threads and 8 words; of a list of a quarter of the documents 3084. Atomics alone reach
 * 8138. With codes of 16 bits and 16 words in flight, newton spills registers. */
#define RW_TUNE_LANES_THREADS   1024
#define RW_TUNE_LANES_UNROLL    8
#define RW_TUNE_LANES_UNROLL_16 12
#define RW_TUNE_LANES_RING      4
/* A check drains a cell that is more than 1 / FULL full; 4 was slower with few full bins. */
#define RW_TUNE_LANES_FULL 16
/* Documents of a range whose rows are prefetched to the L2 cache before a check. Not measured. */
#define RW_TUNE_LANES_AHEAD 512
/* The part of a document's cost that does not depend on the tile's lanes, relative to the cost with
 * 32 lanes; LISTED for documents of a list. All histograms of a tree of 255 leaves took 1.176 |
 * 0.996 | 1.038 ms with LISTED at 0.05 | 0.15 | 0.3. */
#define RW_TUNE_LANES_NARROW        0.03
#define RW_TUNE_LANES_NARROW_LISTED 0.15
/* HALVES_DOCS: of newton with codes of 8 bits and more than 128 bins. From this many documents of a
 * call per multiprocessor on, it adds the four codes of a word in one row of the plan, with
 * hessians in halves of words. With fewer it has a row for each two codes, which drains half as
 * many cells per block. Times in us, four codes | two codes per row: 280 | 314 with 28,500
 * documents per multiprocessor, 60 | 77 with 5,200, 54 | 47 with 4,100.
 *
 * CARRIED: with hessians in halves, the blocks of the first row also carry narrow rows
 * (hist_lanes_plan.cuh), if these have at most this many pairs of code and bin per other row. */
#define RW_TUNE_LANES_CARRIED     256
#define RW_TUNE_LANES_HALVES_DOCS 3500
/* In documents of a tile of 32 lanes. LEAST_DOCS: of a block, at least. BLOCK_DOCS: those that a
 * block adds in the time in which it clears and drains its cells. */
#define RW_TUNE_LANES_LEAST_DOCS 512
#define RW_TUNE_LANES_BLOCK_DOCS 1200

/* ---- methods that read columns ----
 *
 * The papers' own constants (Figure 8 of weighted histogramming has 8 warps and 1 word for
 * collision), or estimates. */
/* Documents of a job, which is a segment of a node's documents. The minimum keeps clearing and
 * draining a histogram cheap. The maximum spreads a large node over the device even with many
 * features. Multiples of 32. */
#define RW_TUNE_HIST_LEAST_SEGMENT 4096
#define RW_TUNE_HIST_MOST_SEGMENT  4194304
/* Most documents of a node that collision gives to one block per feature, which saves launches. */
#define RW_TUNE_HIST_WHOLE_NODE    16384
#define RW_TUNE_HIST_WHOLE_THREADS 1024 /* threads of that block */
/* Blocks per multiprocessor into which a launch is divided; TOTALS_BLOCKS for the totals of nodes
 * (zero-skip). */
#define RW_TUNE_HIST_BLOCKS        16
#define RW_TUNE_HIST_TOTALS_BLOCKS 4
/* Threads per block; of collision and multi also words of codes in flight per thread. */
#define RW_TUNE_GLOBAL_ATOMIC_THREADS 256
#define RW_TUNE_COLLISION_THREADS     256
#define RW_TUNE_COLLISION_UNROLL      2
#define RW_TUNE_MULTI_HIST_THREADS    1024
#define RW_TUNE_MULTI_HIST_UNROLL     2

/* ---- hybrid: the choice of a method (gpu/hist/hist.h) ----
 *
 * Not measured, unless a comment has figures. */
/* `lanes` is used without timing if no feature of a group has more codes than this, which fit 4
 * bits. */
#define RW_TUNE_HYBRID_FEW_LANES 16
#define RW_TUNE_HYBRID_TURNS     3 /* runs of each candidate */
/* BELIEVED: times are believed if `lanes` takes at most this factor of the expected time, that of
 * the memory's bandwidth plus LAUNCH_MS; at 4065 billion updates per second it takes 1.2. */
#define RW_TUNE_HYBRID_BELIEVED  6.0
#define RW_TUNE_HYBRID_LAUNCH_MS 0.02
/* A method is chosen instead of `lanes` if it takes at most this share of the time of `lanes` at
 * the root. In small nodes, unlike at the root, it counts that `lanes` takes batches of nodes and
 * their siblings at once. */
#define RW_TUNE_HYBRID_FAVOUR 0.7

/* ---- engine ----
 *
 * QUANTISE: the kernels that quantise, sample and list documents. SPLIT: the search for splits.
 * SPLIT_WARPS: the warps of a block in a search of one launch. SCORES: adding a tree to scores. */
#define RW_TUNE_QUANTISE_THREADS 256
#define RW_TUNE_QUANTISE_BLOCKS  1056 /* most blocks of the kernels that draw and list samples */
#define RW_TUNE_QUANTISE_HELD    8    /* blocks per multiprocessor for which registers leave room */
#define RW_TUNE_SPLIT_WARPS      8
/* ROUGH: from this number of nodes x features on, a search may be rough first, in two launches
 * (is_rough). Trees of 255 leaves with newton took 3.45 | 3.42 | 3.46 | 3.52 ms at 0 | 1024
 * | 4096 | never. Not measured: warps of a block in the two launches, and blocks as in HELD. */
#define RW_TUNE_SPLIT_ROUGH        1024
#define RW_TUNE_SPLIT_ROUGH_WARPS  4
#define RW_TUNE_SPLIT_ROUGH_BLOCKS 9 /* half as many if sums have 64 bits */
#define RW_TUNE_SPLIT_EXACT_WARPS  8
#define RW_TUNE_PARTITION_THREADS  256
/* CHUNK: documents per block of a partition: 1024 | 2048 | 4096 took 3.46 | 3.42 | 3.48 ms for the
 * same trees. HELD: as in QUANTISE_HELD. */
#define RW_TUNE_PARTITION_CHUNK 2048
#define RW_TUNE_PARTITION_HELD  6
#define RW_TUNE_SCORES_THREADS  256
/* Not measured: threads of a block that moves histograms, and blocks per histogram. */
#define RW_TUNE_MOVE_THREADS        256
#define RW_TUNE_MOVE_BLOCKS         8
#define RW_TUNE_ENGINE_NODES        32 /* most nodes of a histogram call, and of a row's batch */
#define RW_TUNE_ENGINE_SEARCH_BYTES 16777216 /* limit for the best splits of one search */

/* Columns that are cached for partitions. MOST and SHARE limit their number and their share of the
 * codes' bytes. A node is large if it has at least 1 / LARGE of all documents; a smaller one reads
 * a sector of 32 bytes per document from a column, too. FADE: the value of a use one tree later.
 * WORTH: by how much a column's use must exceed that of the column it replaces, as a share of the
 * copy's cost in documents (is_worth_it in cuda_columns.c). SAVED: the share of a partition's
 * time that a column saves if it is made just before. SHARE is limited by the memory of `bench
 * train`. Slower by 3 to 5 %: LARGE 8 or 128, and nodes under 1 / 32 of the documents on tiles. */
#define RW_TUNE_COLUMNS_THREADS 256
#define RW_TUNE_COLUMNS_MOST    96
#define RW_TUNE_COLUMNS_SHARE   0.48
#define RW_TUNE_COLUMNS_LARGE   32
#define RW_TUNE_COLUMNS_FADE    0.98
#define RW_TUNE_COLUMNS_WORTH   0.2
#define RW_TUNE_COLUMNS_SAVED   0.9

/* ---- codes in host memory ----
 *
 * A partition of a node with fewer than one in this many documents reads codes from host memory, in
 * sectors of 32 bytes at about 0.4 of a copy's rate. For a larger node the whole column is copied
 * first (cuda_columns.c). With one byte per code, both take the same time at one in 84. */
#define RW_TUNE_FAR_SECTOR_DOCS 64
/* COLUMNS_SHARE: of the memory for codes, used for columns; the rest is for tiles. PAGES_SHARE: one
 * in this many bytes of the free memory is not used for codes, unless the user limits the memory.
 * OTHER_BYTES and SET_BYTES: bytes per document of a validation set, and per set, reserved for its
 * scores, metrics and tables. Not measured. */
#define RW_TUNE_FAR_COLUMNS_SHARE 0.3
#define RW_TUNE_FAR_PAGES_SHARE   64
#define RW_TUNE_FAR_OTHER_BYTES   64
#define RW_TUNE_FAR_SET_BYTES     65536
/* The size of each of the two pieces into which histograms gather rows: one in PIECE_SHARE bytes of
 * the codes, at most MOST_PIECE bytes, which take 1.2 ms to gather. Not measured. */
#define RW_TUNE_FAR_PIECE_SHARE 16
#define RW_TUNE_FAR_MOST_PIECE  67108864
/* Rows are gathered in windows of 2^16 documents, 8 MB of rows of 128 bytes. One in 100 of 22.5 M
 * documents in 32 nodes came at 48 GB/s, with windows of 2^19 at 19 GB/s, without windows at 8. */
#define RW_TUNE_FAR_LOG_WINDOW 16
/* Blocks of 1,024 threads that gather rows, at most about one for each BLOCKS_SHARE
 * multiprocessors. With 15 M documents 16 | 66 | 4 reached .756 | .744 | .733 of a copy's rate. */
#define RW_TUNE_FAR_BLOCKS       16
#define RW_TUNE_FAR_BLOCKS_SHARE 8
/* The least pieces of a call, unless they have fewer than LEAST_DOCS documents. Not measured. */
#define RW_TUNE_FAR_LEAST_PIECES 4
#define RW_TUNE_FAR_LEAST_DOCS   32768
/* Bytes of the buffer for columns that a walk reads: one for each WALK_SHARE codes of the training
 * set, at most MOST_WALK, and at least enough for 256 documents of all features. */
#define RW_TUNE_FAR_WALK_SHARE  64
#define RW_TUNE_FAR_MOST_WALK   67108864
#define RW_TUNE_FAR_FILL_DOCS   256      /* documents that one thread converts to rows at once */
#define RW_TUNE_FAR_STAGE_BYTES 33554432 /* bytes of rows that are sent at a time */
#define RW_TUNE_FAR_LINK_RATE   5.0e10   /* bytes per second of a link that was not measured */
/* Constants of the plan, from trees of 255 leaves of 30 M documents. LEVEL_PASSES: a tree reads all
 * rows once, plus this many times per level (2.0 in all with mart, 2.4 with newton). GATHER_RATE:
 * the rate at which histograms gather, relative to a copy. COLUMNS_READ: the share of the columns
 * without room on the device that a tree copies. */
#define RW_TUNE_FAR_LEVEL_PASSES        0.125
#define RW_TUNE_FAR_LEVEL_PASSES_NEWTON 0.175
#define RW_TUNE_FAR_GATHER_RATE         0.72
#define RW_TUNE_FAR_COLUMNS_READ        0.4
#define RW_TUNE_FAR_COLUMNS_READ_NEWTON 0.7

/* ---- lambdas and ranks ---- Measured by check_lambda --bench. */
/* BLOCKS: as in HELD, with 48 registers, no spills. Finding ranks by counting, for queries of up to
 * 128 documents, took 3 % less time with 31,531 queries, and 36 % more with 6,306. */
#define RW_TUNE_RANK_THREADS 256
#define RW_TUNE_RANK_BLOCKS  5
/* WARPS: of a block that computes pairs. SLOTS: documents per thread for bounded queries
 * (lambda_bounded.h). BLOCKS: as in HELD, with 93 registers, no spills. Times in ms for slots x
 * blocks with truncation 30, including those of the ranks: 2 x 7 .5888, 2 x 6 .5847, 3 x 5 .5810,
 * 4 x 5 .5982, 1 x 8 .6390; plain pairs .8450. */
#define RW_TUNE_LAMBDA_WARPS  4
#define RW_TUNE_LAMBDA_SLOTS  3
#define RW_TUNE_LAMBDA_BLOCKS 5
/* A query with more visits (documents x upper documents) than MOST_VISITS, 0.1 ms of one block, is
 * spread over blocks: at most about SPREAD_JOBS in all, with SPREAD_SLOTS documents per thread (80
 * registers). */
#define RW_TUNE_LAMBDA_MOST_VISITS  262144
#define RW_TUNE_LAMBDA_SPREAD_SLOTS 4
#define RW_TUNE_LAMBDA_SPREAD_JOBS  65536

/* ---- plan ----
 *
 * The expected time of a tree, from the memory's bandwidth, pairs of documents, and launches and
 * waits of each batch of nodes (BATCH_US in microseconds). It was fitted to `bench train --suite
 * grow`. BANDWIDTH_SHARE: the share of the memory's bandwidth that a tree reaches. Milliseconds
 * measured | expected: 0.95 M documents 1.50 | 1.5, 3.77 M 2.68 | 2.9, 30.2 M 16.3 | 15.7.
 * With 3.77 M documents: 31 leaves 1.82 | 2.1, 1,023 bins 7.61 | 4.4. */
#define RW_TUNE_PLAN_BATCH_US        38.0
#define RW_TUNE_PLAN_BANDWIDTH       1.0e12 /* if the device does not report it */
#define RW_TUNE_PLAN_BANDWIDTH_SHARE 0.75
/* Bytes per document. ROW_BYTES: for each read by a histogram, in addition to its codes.
 * LEVEL_BYTES: per level. DOC_BYTES: per tree. WALK_BYTES: per level of a walk. */
#define RW_TUNE_PLAN_ROW_BYTES   12.0
#define RW_TUNE_PLAN_LEVEL_BYTES 60.0
#define RW_TUNE_PLAN_DOC_BYTES   160.0
#define RW_TUNE_PLAN_WALK_BYTES  40.0
#define RW_TUNE_PLAN_HELD_BYTES  90.0 /* of memory, in addition to codes, approximately */
#define RW_TUNE_PLAN_CELL_PASSES 8.0  /* how often each cell of a node is written or read */
/* PAIR_NS: nanoseconds per pair, on a GPU with PLAN_MULTIPROCESSORS multiprocessors. */
#define RW_TUNE_PLAN_PAIR_NS         0.004
#define RW_TUNE_PLAN_MULTIPROCESSORS 132.0

/* ---- predict ---- Not measured.
 *
 * THREADS: of a block. BLOCKS: as in HELD. DOCS: documents per block if their values fit (64
 * documents of 136 features are 34 KiB). TREES: largest number of trees of a batch. SHARE: the share
 * of a block's shared memory that must be left for trees. */
#define RW_TUNE_PREDICT_THREADS 1024
#define RW_TUNE_PREDICT_BLOCKS  2
#define RW_TUNE_PREDICT_DOCS    64
#define RW_TUNE_PREDICT_TREES   32
#define RW_TUNE_PREDICT_SHARE   0.4
/* Bytes of a chunk of values, which is a wave of blocks at 136 features, and streams that send
 * chunks. Page-locked memory for larger chunks takes long to allocate. */
#define RW_TUNE_PREDICT_CHUNK_BYTES 8388608
#define RW_TUNE_PREDICT_STREAMS     3
/* The expected time of a run, by which `--device auto` decides. START_MS: milliseconds to start it.
 * BYTES_MS: bytes of values per millisecond that the host's threads fill and send. STEPS_MS: nodes
 * that documents pass per millisecond on a multiprocessor. */
#define RW_TUNE_PREDICT_START_MS 1.0
#define RW_TUNE_PREDICT_BYTES_MS 1.0e7
#define RW_TUNE_PREDICT_STEPS_MS 1.5e6
