/* The launch constants that are the same on all GPUs, with their measurements. Unless
 * stated otherwise, these are from an H200 with mslr30k (3.77 M documents, 136 features).
 * device_tuning.c has the constants that depend on the compute capability. The number of
 * multiprocessors and the sizes of memories come from each device. */
#pragma once

/* ---- lanes ----
 *
 * With 128 uniform features of 256 bins, 512 threads and 32 words in flight reached 2937 G
 * updates/s. 1024 threads and 8 words reached 4065, the limit of the memory. For a gathered quarter
 * with 8 words in flight: list, then words 2331; list and lambdas staged a turn ahead 2370; words a
 * turn ahead too 3084. Atomics alone reach 8138. The rest is instructions, so a cell's address is
 * one dot product. Codes of 16 bits, with 16 words in flight: newton spills registers.
 *
 * Failed: two features per lane and two blocks per multiprocessor (1789); rows staged by
 * asynchronous copies (1 % faster, 64 KB more); two documents' codes of 16 bits in a word (no
 * gathering). */
#define RW_TUNE_LANES_THREADS   1024
#define RW_TUNE_LANES_UNROLL    8
#define RW_TUNE_LANES_UNROLL_16 12
#define RW_TUNE_LANES_RING      4
/* A check drains a cell that is more than 1 / this full. 4 was slower if few bins hold all
 * documents. */
#define RW_TUNE_LANES_FULL 16
/* Documents of a range whose rows are prefetched to the L2 cache before a check: 64 KB per block.
 * Not measured. */
#define RW_TUNE_LANES_AHEAD 512
/* 1: codes of 16 bits are read a turn ahead for ranges, too. Not measured. */
#define RW_TUNE_LANES_RANGE_AHEAD_16 1
/* The minimum cost of a document of a narrow tile, relative to one of 32 lanes. All builds of a
 * tree of 255 leaves took 1.176 | 0.996 | 1.038 ms at 0.05 | 0.15 | 0.3 for a list. */
#define RW_TUNE_LANES_NARROW        0.03
#define RW_TUNE_LANES_NARROW_LISTED 0.15
/* From this many documents per multiprocessor on, newton's four codes of a word are added at once.
 * Fewer documents add two and two, which drains half as many cells. Times in us, at once | two and
 * two: 280 | 314 with 28,500 documents, 60 | 77 with 5,200, 54 | 47 with 4,100.
 *
 * RW_TUNE_LANES_CARRIED: narrow rows are then carried by the blocks of others, if they have at most
 * this many rows of cells per carrying row. A tile of 8 features of 4 bits, in separate blocks,
 * took up to 1.6 times as long as these. Failed: carrying everywhere (5 us more for a call of few
 * documents). */
#define RW_TUNE_LANES_CARRIED     256
#define RW_TUNE_LANES_HALVES_DOCS 3500
/* Documents (of 32 lanes) that a block takes at least, and documents in whose time a block clears
 * and drains its cells. The same builds differ by 1 % with half or twice as many. */
#define RW_TUNE_LANES_LEAST_DOCS 512
#define RW_TUNE_LANES_BLOCK_DOCS 1200

/* ---- the papers' methods ----
 *
 * The papers' own figures (tables 5 and 6 of weighted histogramming, the slides of privatized
 * histograms) if they state one, else estimates. */
/* Documents of a job. The minimum keeps clearing and draining a histogram cheap compared with the
 * job. The maximum spreads a large node over the device even with many features. Multiples of
 * 32. */
#define RW_TUNE_HIST_LEAST_SEGMENT 4096
#define RW_TUNE_HIST_MOST_SEGMENT  4194304
/* Largest node that collision and privatized give to one block per feature. That saves the launches
 * that clear and subtract. */
#define RW_TUNE_HIST_WHOLE_NODE    16384
#define RW_TUNE_HIST_WHOLE_THREADS 1024 /* and the threads of that block */
/* Blocks per multiprocessor into which a launch is divided. */
#define RW_TUNE_HIST_BLOCKS        16
#define RW_TUNE_HIST_TOTALS_BLOCKS 4
/* global-atomic, collision: threads per block, words in flight per thread (figure 8: 8 warps,
 * 1). */
#define RW_TUNE_GLOBAL_ATOMIC_THREADS 256
#define RW_TUNE_COLLISION_THREADS     256
#define RW_TUNE_COLLISION_UNROLL      2
/* collision-free: threads per block with few and with more bins than FEW_BINS. Unrolling: table
 * 5. */
#define RW_TUNE_FREE_FEW_BINS     32
#define RW_TUNE_FREE_FEW_THREADS  128
#define RW_TUNE_FREE_MANY_THREADS 64
/* Words in flight per thread, up to 2, up to 8 and with more bins. */
#define RW_TUNE_FREE_UNROLL_2    1
#define RW_TUNE_FREE_UNROLL_8    4
#define RW_TUNE_FREE_UNROLL_MORE 16
/* multi: threads per block, words of codes in flight. */
#define RW_TUNE_MULTI_HIST_THREADS 1024
#define RW_TUNE_MULTI_HIST_UNROLL  2
/* sort-search: documents x features that are sorted at a time; minimum documents of a job that
 * makes keys. */
#define RW_TUNE_SORT_SEARCH_DOCS    67108864
#define RW_TUNE_SORT_SEARCH_SEGMENT 256

/* ---- hybrid ---- Not measured. */
/* The rule: `lanes` is used without timing for features of up to this many codes (4-bit groups),
 * and `collision-free` if `lanes` is no candidate (table 7 of weighted histogramming). */
#define RW_TUNE_HYBRID_FEW_LANES 16
#define RW_TUNE_HYBRID_FEW_FREE  16
/* Runs of each candidate. After two it must be within this factor of the best so far. */
#define RW_TUNE_HYBRID_TURNS    4
#define RW_TUNE_HYBRID_HOPELESS 1.5
/* Times are believed if `lanes` takes at most this factor of the time by the memory's bandwidth and
 * a launch (the 4065 above are 1.2 times). A choice that is not `lanes` is checked again at the
 * root of tree number RW_TUNE_HYBRID_AGAIN. */
#define RW_TUNE_HYBRID_BELIEVED  6.0
#define RW_TUNE_HYBRID_LAUNCH_MS 0.02
#define RW_TUNE_HYBRID_AGAIN     8
/* A method is chosen instead of `lanes` if it takes less than this share of its time at the root.
 * `lanes` takes batches of nodes and their siblings at once. At 1,024 bins `multi` takes 0.81 of
 * its time at the root, but small nodes differ. On 10,045 documents of 46 features `collision` is
 * rightly chosen. */
#define RW_TUNE_HYBRID_FAVOUR 0.7
/* Bytes of scratch that a candidate may need. A method that needs more, to sort all codes at once,
 * would also be slow. */
#define RW_TUNE_HYBRID_SCRATCH 1073741824

/* ---- engine ----
 *
 * Searches of 48 nodes took 25 us with every gain in double, 22 with float first, and 19 with exact
 * gains only for a block's best. A partition of all documents took 97 us; the memory moves 64 bytes
 * per document. Waiting for the chunk before (a scan with look-back) in place of an atomic made no
 * difference. */
#define RW_TUNE_QUANTISE_THREADS 256
#define RW_TUNE_QUANTISE_BLOCKS  1056 /* upper limit, for kernels that draw and list samples */
#define RW_TUNE_QUANTISE_HELD    8    /* blocks for which registers must leave room: one wave */
#define RW_TUNE_SPLIT_WARPS      8
/* From this number of nodes x features on, a search is rough first, in two launches. Trees of 255
 * leaves with newton took 3.45 | 3.42 | 3.46 | 3.52 ms at 0 | 1024 | 4096 | never. The warps of its
 * blocks, and the blocks per multiprocessor for which registers must leave room, were not
 * measured. */
#define RW_TUNE_SPLIT_ROUGH        1024
#define RW_TUNE_SPLIT_ROUGH_WARPS  4
#define RW_TUNE_SPLIT_ROUGH_BLOCKS 9 /* half as many if sums have 64 bits */
#define RW_TUNE_SPLIT_EXACT_WARPS  8
#define RW_TUNE_PARTITION_THREADS  256
/* Documents of a block: 1024, 2048 or 4096 took 3.46 | 3.42 | 3.48 ms for the same trees. Failed:
 * requesting fetches of 32 bytes from the L2 cache, and rows that leave it first (no
 * difference). */
#define RW_TUNE_PARTITION_CHUNK 2048
#define RW_TUNE_SCORES_THREADS  256
/* Threads that move histograms, and blocks that share a histogram's words. Not measured. */
#define RW_TUNE_MOVE_THREADS 256
#define RW_TUNE_MOVE_BLOCKS  8
/* Largest number of nodes of one histogram call, if scratch has room, which grows with them. It is
 * at least the batches of device_tuning.c. Only a larger --batch exceeds it. */
#define RW_TUNE_ENGINE_NODES 32
/* Limit in bytes for the best splits of all (node, feature) of one launch. */
#define RW_TUNE_ENGINE_SEARCH_BYTES 16777216

/* Columns that are cached for partitions. MOST and SHARE limit their number and their share of the
 * codes' bytes. A node is large if it has 1 / LARGE of all documents; smaller ones read a sector
 * per document from columns, too. The other constants: the value of a use one tree later; by how
 * much a column's use must exceed that of the column it replaces, in units of all documents; the
 * share of a partition that a column made just before it saves; and copies between two trees. A
 * copy takes 0.074 ms, a partition of all documents 0.088 ms, or 0.020 from a column. SHARE is as
 * large as the limit on memory of `bench train` allows.
 *
 * Trees of 255 leaves, ms, mart and newton, with shares and worths of .2, 1: 2.80, 3.83; .45, 1:
 * 2.75, 3.70; .45, .3: 2.67, 3.71. Later, with a share of .4, fading by .9 and a worth of .3: 2.33,
 * 3.14. With .48 instead: 2.30, 3.06. With all features, 0: 2.18, 2.95, and 244 MiB more. Fading
 * and worth alone were not timed. Failed: nodes of fewer than 1 / 32 from tiles although there is a
 * column: 2.81, 3.64 in place of the third. Failed: large nodes from 1 / 8 or 1 / 128 on: 2.83,
 * 3.91 or 2.74, 3.74 in place of the second. */
#define RW_TUNE_COLUMNS_THREADS 256
#define RW_TUNE_COLUMNS_MOST    96
#define RW_TUNE_COLUMNS_SHARE   0.48
#define RW_TUNE_COLUMNS_LARGE   32
#define RW_TUNE_COLUMNS_FADE    0.98
#define RW_TUNE_COLUMNS_WORTH   0.2
#define RW_TUNE_COLUMNS_SAVED   0.9
#define RW_TUNE_COLUMNS_A_TREE  4

/* ---- codes in host memory ----
 *
 * A node of fewer than one in this many documents reads the codes of its feature from host memory,
 * in sectors of 32 bytes at about 0.4 of a copy's rate. A larger node has the whole column copied,
 * one byte per document. Both take the same time at one in 84. */
#define RW_TUNE_FAR_SECTOR_DOCS 64
/* The share of the memory left for codes that is used for columns; the rest is for tiles. A column
 * saves the copies of it that a tree would make. A tile's byte saves about as many reads by
 * histograms. Not measured. */
#define RW_TUNE_FAR_COLUMNS_SHARE 0.3
/* One in this many bytes of the free memory is not used for codes. */
#define RW_TUNE_FAR_PAGES_SHARE 64
/* Bytes per document of a validation set, and bytes per set, reserved for its scores, metrics and
 * tables. */
#define RW_TUNE_FAR_OTHER_BYTES 64
#define RW_TUNE_FAR_SET_BYTES   65536
/* The size of each of the two pieces into which histograms gather rows: one in this many bytes of
 * the codes, and at most this many bytes, which take 1.2 ms to gather. Not measured. */
#define RW_TUNE_FAR_PIECE_SHARE 16
#define RW_TUNE_FAR_MOST_PIECE  67108864
/* Rows are gathered in windows of 2^16 documents, 8 MB of rows of 128 bytes. One in 100 of 22.5 M
 * documents in 32 nodes came at 48 GB/s. With windows of 2^19 it was 19 GB/s, without windows 8. */
#define RW_TUNE_FAR_LOG_WINDOW 16
/* Blocks of 1,024 threads that gather rows. With 15 M documents 16 blocks reached .756 of a copy's
 * rate, 66 blocks .744, 4 blocks .733. On a small GPU they are at most about one in this many
 * multiprocessors, since other blocks add meanwhile. */
#define RW_TUNE_FAR_BLOCKS       16
#define RW_TUNE_FAR_BLOCKS_SHARE 8
/* Minimum number of pieces of a call of many documents, and documents of a piece from which on
 * launches cost little in comparison. Not measured. */
#define RW_TUNE_FAR_LEAST_PIECES 4
#define RW_TUNE_FAR_LEAST_DOCS   32768
/* A piece of the columns that a walk reads: one in this many codes of the training set, and at most
 * this many bytes. */
#define RW_TUNE_FAR_WALK_SHARE 64
#define RW_TUNE_FAR_MOST_WALK  67108864
/* Documents whose codes are converted to rows at a time, and bytes of the rows being sent to the
 * device. */
#define RW_TUNE_FAR_FILL_DOCS   256
#define RW_TUNE_FAR_STAGE_BYTES 33554432
/* Assumed bytes per second of a link that was not measured. */
#define RW_TUNE_FAR_LINK_RATE 5.0e10
/* Constants of the plan, from trees of 255 leaves of 30 M documents. They are the reads of all
 * rows, one plus this many per level (2.0 in all with mart, 2.4 with newton); the rate at which
 * histograms gather, relative to a copy (0.72); and the share of the columns without room that a
 * tree copies. */
#define RW_TUNE_FAR_LEVEL_PASSES        0.125
#define RW_TUNE_FAR_LEVEL_PASSES_NEWTON 0.175
#define RW_TUNE_FAR_GATHER_RATE         0.72
#define RW_TUNE_FAR_COLUMNS_READ        0.4
#define RW_TUNE_FAR_COLUMNS_READ_NEWTON 0.7

/* ---- lambdas and ranks ---- Measured by check_lambda --bench. */
/* Threads that sort a query of 257 to 2,048 documents; the same number of warps sort a shorter
 * query each. Blocks per multiprocessor for which registers must leave room: 48 registers, no
 * spills. A sort in shared memory used 90 % of that memory's throughput. Counting for queries of up
 * to 128 documents took 3 % less time for 31,531 queries, and 36 % more for 6,306. */
#define RW_TUNE_RANK_THREADS 256
#define RW_TUNE_RANK_BLOCKS  5
/* Warps of a block of pairs. They share a query over 256 documents, or have one each. */
#define RW_TUNE_LAMBDA_WARPS 4
/* Documents per thread in the kernel of bounded queries. Each is compared with every upper
 * document, whose sums are added over the warp once for all of them. Blocks per multiprocessor for
 * which registers must leave room: 93 registers, no spills.
 *
 * Times in ms for slots x blocks, truncation 30, with the ranks. They are from before upper
 * documents were compared only once: 2 x 7 .5888, 2 x 6 .5847, 3 x 5 .5810, 4 x 5 .5982, 1 x 8
 * .6390; plain pairs .8450. */
#define RW_TUNE_LAMBDA_SLOTS  3
#define RW_TUNE_LAMBDA_BLOCKS 5
/* Documents per thread of the kernel of spread queries: 80 registers. */
#define RW_TUNE_LAMBDA_SPREAD_SLOTS 4
/* A query with more visits (documents x upper documents) is spread over blocks; this many take
 * about 0.1 ms of one block. */
#define RW_TUNE_LAMBDA_MOST_VISITS 262144
/* Largest number of blocks of all such queries together. */
#define RW_TUNE_LAMBDA_SPREAD_JOBS 65536

/* ---- plan ----
 *
 * The expected time of a tree, from the memory's bandwidth, pairs of documents, and launches and
 * waits of each batch of nodes. `--device auto` uses it. It was fitted to `bench train --suite
 * grow`. Milliseconds measured | expected with 255 leaves: 0.95 M documents 1.50 | 1.5, 3.77 M 2.68
 * | 2.9, 30.2 M 16.3 | 15.7. With 3.77 M documents: 31 leaves 1.82 | 2.1, 1,023 bins 7.61 | 4.4. */
#define RW_TUNE_PLAN_BATCH_US        38.0
#define RW_TUNE_PLAN_BANDWIDTH       1.0e12 /* if the device does not report it */
#define RW_TUNE_PLAN_BANDWIDTH_SHARE 0.75
/* Bytes per document: in addition to its codes, for each read by a histogram; per level; per tree;
 * and per level of a tree that is only walked. */
#define RW_TUNE_PLAN_ROW_BYTES   12.0
#define RW_TUNE_PLAN_LEVEL_BYTES 60.0
#define RW_TUNE_PLAN_DOC_BYTES   160.0
#define RW_TUNE_PLAN_WALK_BYTES  40.0
/* Bytes of memory per document in addition to its codes, approximately. */
#define RW_TUNE_PLAN_HELD_BYTES 90.0
/* How often each cell of a node is written or read. */
#define RW_TUNE_PLAN_CELL_PASSES 8.0
/* Nanoseconds per pair of documents, with this many multiprocessors. */
#define RW_TUNE_PLAN_PAIR_NS         0.004
#define RW_TUNE_PLAN_MULTIPROCESSORS 132.0

/* ---- predict ---- Not measured.
 *
 * Threads per block; blocks per multiprocessor for which registers must leave room; documents per
 * block if their values fit (64 documents of 136 features are 34 KiB); largest number of trees of a
 * batch; and the share of a block's shared memory that must be left for trees. */
#define RW_TUNE_PREDICT_THREADS 1024
#define RW_TUNE_PREDICT_BLOCKS  2
#define RW_TUNE_PREDICT_DOCS    64
#define RW_TUNE_PREDICT_TREES   32
#define RW_TUNE_PREDICT_SHARE   0.4
/* Bytes of a chunk: a wave of blocks at 136 features. Page-locked memory takes long to allocate. */
#define RW_TUNE_PREDICT_CHUNK_BYTES 8388608
#define RW_TUNE_PREDICT_STREAMS     3
/* The expected time of a run, by which auto decides: milliseconds to start it; bytes of values per
 * millisecond that the host's threads fill and send; nodes that documents pass per millisecond on a
 * multiprocessor. */
#define RW_TUNE_PREDICT_START_MS 1.0
#define RW_TUNE_PREDICT_BYTES_MS 1.0e7
#define RW_TUNE_PREDICT_STEPS_MS 1.5e6
