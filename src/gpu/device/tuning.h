/* Every launch constant that is the same on all GPUs, with what it was chosen by: H200, mslr30k
 * (3.77 M documents, 136 features) where nothing else is said. device_tuning.c has those that go by
 * the compute capability; how many multiprocessors there are, how much of shared memory and of
 * memory, each device is asked. */
#pragma once

/* ---- lanes ----
 * 128 features of 256 bins, uniform; G updates/s: 512 threads, 32 words in flight 2937; 1024, 8:
 * 4065, all that memory gives. A gathered quarter, 8 words in flight: list, then words 2331; list
 * and lambdas staged a turn ahead 2370; words a turn ahead too 3084. Atomics alone give 8138: what
 * is left is instructions, so a cell's address is one dot product. Codes of 16 bits, 16 words in
 * flight: spills with newton.
 * Failed: two features a lane and two blocks a multiprocessor (1789); rows staged by asynchronous
 * copies (1 % faster, 64 KB more); two documents' codes of 16 bits in a word (no gathering). */
#define RW_TUNE_LANES_THREADS   1024
#define RW_TUNE_LANES_UNROLL    8
#define RW_TUNE_LANES_UNROLL_16 12
#define RW_TUNE_LANES_RING      4
/* A cell is drained at a look if it is fuller than 1 / so much; 4 was slower where few bins hold
 * all documents. */
#define RW_TUNE_LANES_FULL 16
/* Documents of a range whose rows are fetched to the L2 cache before a look: 64 KB a block. Not
 * measured. */
#define RW_TUNE_LANES_AHEAD 512
/* 1: of a range too, codes of 16 bits are read a turn ahead. Not measured. */
#define RW_TUNE_LANES_RANGE_AHEAD_16 1
/* What a document of a narrow tile costs at least, of one of 32 lanes. All builds of a tree of 255
 * leaves, ms, at 0.05 | 0.15 | 0.3 of a list: 1.176 | 0.996 | 1.038. */
#define RW_TUNE_LANES_NARROW        0.03
#define RW_TUNE_LANES_NARROW_LISTED 0.15
/* Newton's four codes of a word are taken at once from so many documents a multiprocessor on;
 * fewer, two and two, which drains half as many cells. us, at once | two and two, with 28,500
 * documents 280 | 314, with 5,200 60 | 77, with 4,100 54 | 47. Narrow rows are then carried by
 * others' blocks if they have so many rows of cells at most, for each row that carries: a tile of 8
 * features of 4 bits, in blocks of its own, took up to 1.6 times as long as these. Failed: carried
 * everywhere (5 us more for a call of few documents). */
#define RW_TUNE_LANES_CARRIED     256
#define RW_TUNE_LANES_HALVES_DOCS 3500
/* Documents (of 32 lanes) that a block takes at least, and those in whose time a block clears and
 * drains its cells; the same builds differ by 1 % with half or twice as many. */
#define RW_TUNE_LANES_LEAST_DOCS 512
#define RW_TUNE_LANES_BLOCK_DOCS 1200

/* ---- the papers' methods ---- The papers' own figures (Tables 5 and 6 of weighted histogramming,
 * the slides of privatized histograms) where they state one, else guesses. */
/* Documents of a job: at least, so that clearing and draining a histogram is little beside it, and
 * at most, so that a large node spreads over the device even with many features. Multiples of 32.
 */
#define RW_TUNE_HIST_LEAST_SEGMENT 4096
#define RW_TUNE_HIST_MOST_SEGMENT  4194304
/* Documents of a node, at most, that collision and privatized give to one block a feature: nothing
 * is cleared, nor subtracted, by a launch of its own. */
#define RW_TUNE_HIST_WHOLE_NODE    16384
#define RW_TUNE_HIST_WHOLE_THREADS 1024 /* and the threads of that block */
/* Blocks a multiprocessor that a launch is cut into. */
#define RW_TUNE_HIST_BLOCKS        16
#define RW_TUNE_HIST_TOTALS_BLOCKS 4
/* global-atomic, collision: threads a block, words in flight a thread (Figure 8: 8 warps, 1). */
#define RW_TUNE_GLOBAL_ATOMIC_THREADS 256
#define RW_TUNE_COLLISION_THREADS     256
#define RW_TUNE_COLLISION_UNROLL      2
/* collision-free: threads a block with few and with more bins than FEW_BINS. (Unrolling: Table 5.)
 */
#define RW_TUNE_FREE_FEW_BINS     32
#define RW_TUNE_FREE_FEW_THREADS  128
#define RW_TUNE_FREE_MANY_THREADS 64
/* Words in flight a thread, to 2, to 8 and with more bins. */
#define RW_TUNE_FREE_UNROLL_2    1
#define RW_TUNE_FREE_UNROLL_8    4
#define RW_TUNE_FREE_UNROLL_MORE 16
/* multi: threads a block, words of codes in flight. */
#define RW_TUNE_MULTI_HIST_THREADS 1024
#define RW_TUNE_MULTI_HIST_UNROLL  2
/* sort-search: documents x features that are sorted at a time; documents of a job that makes keys,
 * at least. */
#define RW_TUNE_SORT_SEARCH_DOCS    67108864
#define RW_TUNE_SORT_SEARCH_SEGMENT 256

/* ---- hybrid ---- Not measured. */
/* The rule: codes of a feature up to which `lanes` is taken without timing (4-bit groups), and
 * `collision-free` where `lanes` is no candidate (Table 7 of weighted histogramming). */
#define RW_TUNE_HYBRID_FEW_LANES 16
#define RW_TUNE_HYBRID_FEW_FREE  16
/* Runs of a candidate; after two it must be within so many times the best so far. */
#define RW_TUNE_HYBRID_TURNS    4
#define RW_TUNE_HYBRID_HOPELESS 1.5
/* Times are believed if `lanes` takes at most so many times what the memory's bandwidth and a
 * launch say (the 4065 above are 1.2 times). A choice other than `lanes` is looked at again at the
 * root of tree number so many. */
#define RW_TUNE_HYBRID_BELIEVED  6.0
#define RW_TUNE_HYBRID_LAUNCH_MS 0.02
#define RW_TUNE_HYBRID_AGAIN     8
/* What another method than `lanes`, which takes batches of nodes and their siblings at once, must
 * take of its time at the root to be chosen: at 1,024 bins `multi` takes 0.81 of it there, which
 * says nothing of small nodes; on 10,045 documents of 46 features `collision` is rightly taken. */
#define RW_TUNE_HYBRID_FAVOUR 0.7
/* Bytes of scratch that a candidate may need; a method that wants more, to sort all codes at once,
 * would also be slow. */
#define RW_TUNE_HYBRID_SCRATCH 1073741824

/* ---- engine ---- Searches of 48 nodes, us: every gain in double 25, float first 22, exact gains
 * for a block's best only 19. A partition of all documents 97: the memory gives 64 bytes a
 * document; waiting for the chunk before (a scan with look-back) in place of an atomic: no
 * difference. */
#define RW_TUNE_QUANTISE_THREADS 256
#define RW_TUNE_QUANTISE_BLOCKS  1056 /* at most, that draw samples and list them */
#define RW_TUNE_QUANTISE_HELD    8    /* that registers must leave room for: one wave */
#define RW_TUNE_SPLIT_WARPS      8
/* Nodes x features from which on a search is rough first, in two launches (trees of 255 leaves,
 * newton, ms, at 0 | 1024 | 4096 | never: 3.45 | 3.42 | 3.46 | 3.52); warps of its blocks, and
 * blocks a multiprocessor that registers must leave room for, not measured. */
#define RW_TUNE_SPLIT_ROUGH        1024
#define RW_TUNE_SPLIT_ROUGH_WARPS  4
#define RW_TUNE_SPLIT_ROUGH_BLOCKS 9 /* half as many where sums have 64 bits */
#define RW_TUNE_SPLIT_EXACT_WARPS  8
#define RW_TUNE_PARTITION_THREADS  256
/* Documents of a block: 1024, 2048 or 4096 (the same trees: 3.46 | 3.42 | 3.48). Failed: a fetch of
 * 32 bytes asked of the L2 cache, and rows that leave it first (no difference). */
#define RW_TUNE_PARTITION_CHUNK 2048
#define RW_TUNE_SCORES_THREADS  256
/* Of histograms that move, and blocks that share one's words. Not measured. */
#define RW_TUNE_MOVE_THREADS 256
#define RW_TUNE_MOVE_BLOCKS  8
/* Nodes of one histogram call, at most, where scratch holds so many: it grows with them. No fewer
 * than the batches of device_tuning.c, which no call passes but of a --batch that asks for more. */
#define RW_TUNE_ENGINE_NODES 32
/* Bytes that the best split of each (node, feature) of one launch may take. */
#define RW_TUNE_ENGINE_SEARCH_BYTES 16777216

/* Columns that partitions keep: at most so many, and of a share of the codes' bytes; a node is
 * large with 1 / so many of all documents, since smaller ones' read a sector a document from
 * columns, too; what use counts a tree later; by how much it must be above that of the column which
 * gives way, in all documents; the share of a partition that a column made just before it saves (a
 * copy is 0.074 ms, a partition of all 0.088 ms, or 0.020 from a column); and copies between two
 * trees. Of the share as much stands as the bound on memory of `bench train` leaves. Trees of 255
 * leaves, ms, mart and newton, with shares and worths of .2, 1: 2.80, 3.83; .45, 1: 2.75, 3.70;
 * .45, .3: 2.67, 3.71. Later, with a share of .4, fading by .9 and a worth of .3: 2.33, 3.14; .48
 * in its place: 2.30, 3.06; all features, 0: 2.18, 2.95, and 244 MiB more. Fading and worth alone
 * were not timed. Failed: nodes of fewer than 1 / 32 from tiles, though there is a column: 2.81,
 * 3.64 in place of the third; large ones from 1 / 8 or 1 / 128 on: 2.83, 3.91 or 2.74, 3.74 in
 * place of the second. */
#define RW_TUNE_COLUMNS_THREADS 256
#define RW_TUNE_COLUMNS_MOST    96
#define RW_TUNE_COLUMNS_SHARE   0.48
#define RW_TUNE_COLUMNS_LARGE   32
#define RW_TUNE_COLUMNS_FADE    0.98
#define RW_TUNE_COLUMNS_WORTH   0.2
#define RW_TUNE_COLUMNS_SAVED   0.9
#define RW_TUNE_COLUMNS_A_TREE  4

/* ---- codes in the host's memory ----
 * A node of fewer than one in so many documents reads the codes of its feature where they are, in
 * sectors of 32 bytes at about 0.4 of a copy's rate; a larger one has the whole column copied, a
 * byte a document: they take the same time at one in 84. */
#define RW_TUNE_FAR_SECTOR_DOCS 64
/* What is left for codes on the device goes to columns for partitions in this share, the rest to
 * tiles: a column is worth as many copies of it as a tree makes, a tile's byte as many as
 * histograms read it, about as many. Not measured. */
#define RW_TUNE_FAR_COLUMNS_SHARE 0.3
/* Of all memory that is free, one in so many bytes is not given to codes. */
#define RW_TUNE_FAR_PAGES_SHARE 64
/* Bytes a document of another set, and of another set, that are left free for its scores, metrics
 * and tables. */
#define RW_TUNE_FAR_OTHER_BYTES 64
#define RW_TUNE_FAR_SET_BYTES   65536
/* A piece of the rows that histograms gather, of which there are two: one in so many bytes of the
 * codes, and bytes at most, which take 1.2 ms to gather. Not measured. */
#define RW_TUNE_FAR_PIECE_SHARE 16
#define RW_TUNE_FAR_MOST_PIECE  67108864
/* Rows are gathered in windows of 2^16 documents, 8 MB of rows of 128 bytes. Of 22.5 M documents
 * one in 100 in 32 nodes came at 48 GB/s, at 19 in windows of 2^19, and without windows at 8. */
#define RW_TUNE_FAR_LOG_WINDOW 16
/* Blocks of 1,024 threads that gather rows: 16 gave .756 of a copy's rate with 15 M documents, 66
 * .744, 4 .733; of a small GPU's multiprocessors no more than about one in so many, for others add
 * meanwhile. */
#define RW_TUNE_FAR_BLOCKS       16
#define RW_TUNE_FAR_BLOCKS_SHARE 8
/* Pieces that a call of many documents is cut into at least, and documents of one from which on
 * launches take little beside it. Not measured. */
#define RW_TUNE_FAR_LEAST_PIECES 4
#define RW_TUNE_FAR_LEAST_DOCS   32768
/* A piece of the columns that a walk reads: one in so many codes of the training set, and bytes at
 * most. */
#define RW_TUNE_FAR_WALK_SHARE 64
#define RW_TUNE_FAR_MOST_WALK  67108864
/* Documents whose codes are turned into rows at a time, and bytes of such rows on their way to the
 * device. */
#define RW_TUNE_FAR_FILL_DOCS   256
#define RW_TUNE_FAR_STAGE_BYTES 33554432
/* Bytes a second that are expected of a link that was not measured. */
#define RW_TUNE_FAR_LINK_RATE 5.0e10
/* The plan, by trees of 255 leaves of 30 M documents: readings of all rows, one and so many more
 * for each level (2.0 in all with mart, 2.4 with newton); the rate at which histograms gather, in a
 * copy's (0.72); and the share of the columns without room that a tree has copied. */
#define RW_TUNE_FAR_LEVEL_PASSES        0.125
#define RW_TUNE_FAR_LEVEL_PASSES_NEWTON 0.175
#define RW_TUNE_FAR_GATHER_RATE         0.72
#define RW_TUNE_FAR_COLUMNS_READ        0.4
#define RW_TUNE_FAR_COLUMNS_READ_NEWTON 0.7

/* ---- lambdas and ranks ---- Measured by check_lambda --bench. */
/* Threads that sort a query of 257 to 2,048 documents; as many warps sort a shorter query each; and
 * blocks a multiprocessor that registers must leave room for: 48, none spilled. Of a sort in shared
 * memory 90 % of what that gives were taken; queries of up to 128 by counting: 3 % less time for
 * 31,531 queries, 36 % more for 6,306. */
#define RW_TUNE_RANK_THREADS 256
#define RW_TUNE_RANK_BLOCKS  5
/* Warps of a block of pairs: they share a query over 256 documents, or have one each. */
#define RW_TUNE_LAMBDA_WARPS 4
/* Documents of a thread in the kernel of bounded queries, which meet each upper one, whose sums are
 * added over the warp once for all of them; and blocks a multiprocessor that registers must leave
 * room for: 93 registers, none spilled. ms, slots x blocks, truncation 30, with the ranks, when
 * two upper documents were met twice and ranks took longer: 2 x 7 .5888, 2 x 6 .5847, 3 x 5
 * .5810, 4 x 5 .5982, 1 x 8 .6390; plain pairs .8450. */
#define RW_TUNE_LAMBDA_SLOTS  3
#define RW_TUNE_LAMBDA_BLOCKS 5
/* Documents of a thread of the kernel of spread queries: 80 registers. */
#define RW_TUNE_LAMBDA_SPREAD_SLOTS 4
/* A query with more visits (documents x upper documents) is spread over blocks: about 0.1 ms of
 * one. */
#define RW_TUNE_LAMBDA_MOST_VISITS 262144
/* Most blocks that such queries are cut into, together. */
#define RW_TUNE_LAMBDA_SPREAD_JOBS 65536

/* ---- plan ---- What a tree is expected to take: bytes at a share of the memory's bandwidth, pairs
 * of documents, and launches and waits of each batch of nodes; `--device auto` decides by it.
 * Fitted to `bench train --suite grow`, ms measured | expected: 255 leaves, 0.95 M documents 1.50
 * | 1.5, 3.77 M 2.68 | 2.9, 30.2 M 16.3 | 15.7; 3.77 M, 31 leaves 1.82 | 2.1, 1,023 bins 7.61
 * | 4.4. */
#define RW_TUNE_PLAN_BATCH_US        38.0
#define RW_TUNE_PLAN_BANDWIDTH       1.0e12 /* where the device does not say */
#define RW_TUNE_PLAN_BANDWIDTH_SHARE 0.75
/* Bytes of a document: beside its codes each time a histogram reads it; at each level; at each
 * tree; and at each level of a tree that it only walks. */
#define RW_TUNE_PLAN_ROW_BYTES   12.0
#define RW_TUNE_PLAN_LEVEL_BYTES 60.0
#define RW_TUNE_PLAN_DOC_BYTES   160.0
#define RW_TUNE_PLAN_WALK_BYTES  40.0
/* And those that it holds of a document beside its codes, about. */
#define RW_TUNE_PLAN_HELD_BYTES 90.0
/* How often a cell of a node is written or read. */
#define RW_TUNE_PLAN_CELL_PASSES 8.0
/* A pair of documents, with so many multiprocessors. */
#define RW_TUNE_PLAN_PAIR_NS         0.004
#define RW_TUNE_PLAN_MULTIPROCESSORS 132.0

/* ---- predict ---- Not measured.
 * Threads of a block, blocks of a multiprocessor that registers must leave room for, documents of a
 * block where their values fit (64 documents of 136 features are 34 KiB), trees of a batch at most,
 * and the share of a block's shared memory that must be left for trees. */
#define RW_TUNE_PREDICT_THREADS 1024
#define RW_TUNE_PREDICT_BLOCKS  2
#define RW_TUNE_PREDICT_DOCS    64
#define RW_TUNE_PREDICT_TREES   32
#define RW_TUNE_PREDICT_SHARE   0.4
/* Bytes of a chunk: a wave of blocks at 136 features; page-locked memory takes long to make. */
#define RW_TUNE_PREDICT_CHUNK_BYTES 8388608
#define RW_TUNE_PREDICT_STREAMS     3
/* What a run is expected to take, by which auto decides: milliseconds to begin it; bytes of values
 * a millisecond, filled by the host's threads and sent; nodes that documents pass a millisecond on
 * a multiprocessor. */
#define RW_TUNE_PREDICT_START_MS 1.0
#define RW_TUNE_PREDICT_BYTES_MS 1.0e7
#define RW_TUNE_PREDICT_STEPS_MS 1.5e6
