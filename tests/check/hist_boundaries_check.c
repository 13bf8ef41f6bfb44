#include "hist_boundaries_check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "binning/bins.h"
#include "gpu/binning/device_cuts.h"
#include "gpu/hist/hist.h"
#include "gpu/device/device.h"
#include "hist_tools.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Kinds of columns; the last ones are sparse. */
enum column_kind {
    COLUMN_CONSTANT,
    COLUMN_TWO,
    COLUMN_TEN,
    COLUMN_AS_MANY, /* as many distinct values as bins, give or take one */
    COLUMN_UNIFORM,
    COLUMN_ZEROS,
    COLUMN_SORTED,
    COLUMN_NEIGHBOURS, /* adjacent floats, and floats with one between them */
    COLUMN_DENORMAL,
    COLUMN_EXTREME,
    COLUMN_SKEWED,
    COLUMN_RUNS, /* a few values that hold many ranks each, and many that hold none */
    COLUMN_RARE, /* a value that hardly any document has */
    COLUMN_HALF_MISSING,
    COLUMN_HALF_ABSENT,
    COLUMN_BOTH,
    COLUMN_ALL_MISSING,
    COLUMN_ALL_ABSENT,
    COLUMN_SPARSE_FEW,
    COLUMN_SPARSE_HALF,
    COLUMN_SPARSE_MISSING,
    COLUMN_SPARSE_NONE,
    COLUMN_SPARSE_ZERO, /* entries that say 0 */
    N_COLUMN_KINDS
};

struct cuts_case {
    struct hist_run *run;
    struct hist_tally *tally;
    const char *what;
    uint32_t n_docs;
    struct rw_cut_rule rule;
};

__attribute__((format(printf, 2, 3))) static void failed(struct cuts_case *c, const char *format,
                                                         ...)
{
    va_list list;
    if (!hist_failed(c->run, c->tally))
        return;
    printf("%s, %u documents, %d bins, absent %s, at least %u documents", c->what, c->n_docs,
           c->rule.bins, c->rule.absent_missing ? "missing" : "0", c->rule.min_docs);
    va_start(list, format);
    hist_failed_why(c->tally, format, list);
    va_end(list);
}

/* ---- hard columns ---- */

static float hard_value(enum column_kind kind, uint32_t i, uint32_t n, int bins, uint64_t w)
{
    const float unit = (float)(w >> 40) * 0x1p-24f;
    switch (kind) {
    case COLUMN_TWO:
        return w % 2 ? -3.5f : 7.25f;
    case COLUMN_TEN:
        return (float)(w % 10) - 4;
    case COLUMN_AS_MANY:
        return (float)(w % ((uint64_t)bins + w / 7 % 2));
    case COLUMN_UNIFORM:
        return unit * 200 - 100;
    case COLUMN_ZEROS:
        return w % 10 < 8 ? 0.0f : unit;
    case COLUMN_SORTED:
        return (float)i - (float)n / 2;
    case COLUMN_NEIGHBOURS:
        return rw_float_of_key(rw_key_of_float(1.0f) + (uint32_t)(w % 4) + (uint32_t)(w % 3) * 5);
    case COLUMN_DENORMAL:
        return rw_float_of_key(rw_key_of_float(0.0f) + (uint32_t)(w % 2000)) * (w >> 63 ? 1 : 2);
    case COLUMN_EXTREME:
        return w % 5 == 0 ? FLT_MAX : w % 5 == 1 ? -FLT_MAX : w % 5 == 2 ? 3e38f : unit * 1e38f;
    case COLUMN_SKEWED:
        return floorf(unit * unit * unit * unit * 65535);
    case COLUMN_RUNS:
        return w % 100 < 97 ? (float)(w % 3) : unit * 3;
    case COLUMN_RARE:
        return w % 100003 == 7 ? 1.0f : 0.5f;
    case COLUMN_HALF_MISSING:
        return w % 2 ? rw_float_of_bits(RW_MISSING_BITS) : floorf(unit * 1000);
    case COLUMN_HALF_ABSENT:
        return w % 2 ? rw_float_of_bits(RW_ABSENT_BITS) : floorf(unit * 1000) - 500;
    case COLUMN_BOTH:
        return w % 3 == 0   ? rw_float_of_bits(RW_ABSENT_BITS)
               : w % 3 == 1 ? rw_float_of_bits(RW_MISSING_BITS)
                            : unit - 0.25f;
    case COLUMN_ALL_MISSING:
        return rw_float_of_bits(RW_MISSING_BITS);
    case COLUMN_ALL_ABSENT:
        return rw_float_of_bits(RW_ABSENT_BITS);
    case COLUMN_SPARSE_MISSING:
        return w % 4 ? unit : rw_float_of_bits(RW_MISSING_BITS);
    case COLUMN_SPARSE_FEW:
    case COLUMN_SPARSE_HALF:
        return unit * 20 - 10;
    default:
        return 0.0f;
    }
}

/* One in so many documents has an entry; 0: a dense column. */
static uint32_t sparse_share(enum column_kind kind)
{
    switch (kind) {
    case COLUMN_SPARSE_FEW:
        return 50;
    case COLUMN_SPARSE_HALF:
    case COLUMN_SPARSE_MISSING:
    case COLUMN_SPARSE_ZERO:
        return 3;
    case COLUMN_SPARSE_NONE:
        return UINT32_MAX;
    default:
        return 0;
    }
}

static void hard_column(struct rw_column *column, enum column_kind kind, uint32_t n_docs, int bins,
                        uint64_t seed)
{
    const uint32_t share = sparse_share(kind);
    column->value = hist_need(n_docs, sizeof(*column->value));
    column->row = share ? hist_need(n_docs, sizeof(*column->row)) : NULL;
    column->n = 0;
    for (uint32_t i = 0; i < n_docs; i++) {
        const struct rw_philox r = rw_random4(seed, i, kind, RW_STREAM_SYNTH + 120);
        const float value =
            hard_value(kind, i, n_docs, bins, (uint64_t)r.word[1] << 32 | r.word[0]);
        if (share && r.word[2] % share != 0)
            continue;
        if (share)
            column->row[column->n] = i;
        column->value[column->n++] = value == 0.0f ? 0.0f : value; /* values hold no -0 */
    }
}

/* Columns of all kinds whose number is not `without`; ids have gaps. Queries of 1 to 200 documents.
 */
static struct rw_dataset *hard_dataset(uint32_t n_docs, int bins, uint64_t seed, int without)
{
    struct rw_dataset *d = hist_need(1, sizeof(*d));
    d->n_docs = n_docs;
    d->column = hist_need(N_COLUMN_KINDS, sizeof(*d->column));
    for (int k = 0; k < N_COLUMN_KINDS; k++) {
        if (without >= 0 && k % 5 == without)
            continue;
        struct rw_column *column = &d->column[d->n_columns++];
        column->feature = (uint32_t)k * 3 + 1;
        hard_column(column, (enum column_kind)k, n_docs, bins, seed);
    }
    d->label = hist_need(n_docs, sizeof(*d->label));
    d->query_offset = hist_need((uint64_t)n_docs + 1, sizeof(*d->query_offset));
    d->query_id.offset = hist_need((uint64_t)n_docs + 1, sizeof(*d->query_id.offset));
    d->query_id.text = hist_need((uint64_t)n_docs * 12 + 12, 1);
    uint64_t at = 0;
    for (uint32_t doc = 0; doc < n_docs;) {
        const uint32_t q = d->n_queries++, left = n_docs - doc, size = 1 + q * 7 % 200;
        d->query_id.offset[q] = at;
        at += (uint64_t)sprintf(d->query_id.text + at, "q%u", q) + 1;
        doc += size < left ? size : left;
        d->query_offset[q + 1] = doc;
    }
    d->query_id.offset[d->n_queries] = at;
    return d;
}

static void hard_free(struct rw_dataset *d)
{
    for (uint32_t c = 0; c < d->n_columns; c++) {
        free(d->column[c].row);
        free(d->column[c].value);
    }
    free(d->column);
    free(d->label);
    free(d->query_offset);
    free(d->query_id.offset);
    free(d->query_id.text);
    free(d);
}

/* ---- comparing ---- */

static int same_cuts(struct cuts_case *c, const struct rw_cuts *want, const struct rw_cuts *got)
{
    if (want->n_features != got->n_features || want->n_constant != got->n_constant ||
        want->n_few != got->n_few || want->n_ignored != got->n_ignored) {
        failed(c, "%u features in use, %u constant, %u few, %u ignored; not %u, %u, %u, %u",
               got->n_features, got->n_constant, got->n_few, got->n_ignored, want->n_features,
               want->n_constant, want->n_few, want->n_ignored);
        return 0;
    }
    for (uint32_t f = 0; f < want->n_features; f++) {
        if (want->feature[f] != got->feature[f] || want->offset[f + 1] != got->offset[f + 1] ||
            want->has_missing[f] != got->has_missing[f]) {
            failed(c, "feature %u has %u bins%s, not feature %u with %u%s", got->feature[f],
                   rw_cuts_n_bins(got, f), got->has_missing[f] ? " and missing" : "",
                   want->feature[f], rw_cuts_n_bins(want, f),
                   want->has_missing[f] ? " and missing" : "");
            return 0;
        }
        for (uint64_t k = want->offset[f]; k < want->offset[f + 1]; k++) {
            if (rw_bits_of_float(want->cut[k]) != rw_bits_of_float(got->cut[k])) {
                failed(c, "cut %llu of feature %u is %.9g, not %.9g",
                       (unsigned long long)(k - want->offset[f]), want->feature[f],
                       (double)got->cut[k], (double)want->cut[k]);
                return 0;
            }
        }
    }
    return 1;
}

/* A document's code as hist.h lays it out. words: of the tile, or of the feature's column. */
static uint32_t code_in_tile(const struct rw_hist_tile *tile, int bits, const void *words,
                             uint32_t place, uint32_t doc)
{
    const uint64_t element = (uint64_t)doc * tile->lanes + place % tile->lanes;
    if (bits == 16)
        return ((const uint16_t *)words)[element];
    return ((const uint32_t *)words)[element] >> (place / tile->lanes * (uint32_t)bits) &
           ((1u << bits) - 1);
}

static uint32_t code_in_column(int bits, const uint32_t *words, uint32_t doc)
{
    const uint32_t n = 32 / (uint32_t)bits;
    return words[doc / n] >> (doc % n * (uint32_t)bits) & ((1u << bits) - 1);
}

/* The codes of one feature, dense. */
static void expand(const struct rw_bins *bins, uint32_t f, uint16_t *codes)
{
    const struct rw_codes *from = &bins->codes[f];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    for (uint32_t i = 0; from->row && i < bins->n_docs; i++)
        codes[i] = (uint16_t)from->rest;
    for (uint32_t i = 0; i < from->n; i++)
        codes[from->row ? from->row[i] : i] = (uint16_t)rw_codes_get(from->code, bytes, i);
}

static int same_tile(struct cuts_case *c, const struct rw_hist_matrix *m,
                     const struct rw_hist_tile *tile, const uint16_t *want)
{
    const uint64_t bytes = (uint64_t)m->n_docs * tile->lanes * (m->bits == 16 ? 2 : 4);
    void *words = hist_need((bytes + 127) / 128 * 128, 1);
    int same =
        rw_transfer_read(c->run->device, words, tile->d_word, (bytes + 127) / 128 * 128) >= 0;
    for (uint64_t i = bytes; i < (bytes + 127) / 128 * 128; i++)
        same &= ((unsigned char *)words)[i] == 0;
    if (!same)
        failed(c, "the padding of a tile is not 0, or it cannot be read");
    for (uint32_t place = 0; place < tile->n_features && same; place++) {
        const uint16_t *column = want + (uint64_t)(tile->first_feature + place) * m->n_docs;
        for (uint32_t doc = 0; doc < m->n_docs && same; doc++) {
            const uint32_t got = code_in_tile(tile, tile->bits, words, place, doc);
            same = got == column[doc];
            if (!same)
                failed(c, "%d bits: in its tile, code of document %u, feature %u is %u, not %u",
                       m->bits, doc, tile->first_feature + place, got, column[doc]);
        }
    }
    free(words);
    return same;
}

static int same_columns(struct cuts_case *c, const struct rw_hist_matrix *m, const uint16_t *want)
{
    uint32_t *words = hist_need(m->column_words, sizeof(*words));
    int same = 1;
    for (uint32_t f = 0; f < m->n_features && same; f++) {
        if (rw_transfer_read(c->run->device, words, m->d_column + (uint64_t)f * m->column_words,
                             m->column_words * sizeof(*words)) < 0) {
            failed(c, "a column cannot be read: %s", rw_last_error(c->run->ctx));
            same = 0;
        }
        for (uint32_t doc = 0; doc < m->n_docs && same; doc++) {
            const uint32_t got = code_in_column(m->bits, words, doc);
            same = got == want[(uint64_t)f * m->n_docs + doc];
            if (!same)
                failed(c, "%d bits: in its column, code of document %u, feature %u is %u, not %u",
                       m->bits, doc, f, got, want[(uint64_t)f * m->n_docs + doc]);
        }
    }
    free(words);
    return same;
}

static int same_counts(struct cuts_case *c, const struct rw_bins *bins, const uint32_t *feature,
                       const struct rw_hist_matrix *m, const uint64_t *counts)
{
    uint32_t want[1026];
    for (uint32_t k = 0; k < m->n_features; k++) {
        memset(want, 0, sizeof(want));
        rw_bins_count(bins, feature[k], want);
        for (uint32_t b = 0; b < m->n_bins; b++) {
            if (counts[(uint64_t)k * m->n_bins + b] != want[b]) {
                failed(c, "%d bits: count of code %u of feature %u is %llu, not %u", m->bits, b, k,
                       (unsigned long long)counts[(uint64_t)k * m->n_bins + b], want[b]);
                return 0;
            }
        }
    }
    return 1;
}

/* The features whose codes take `bits` bits: coded from values, then from the codes that a cache
 * would bring. */
static void check_group(struct cuts_case *c, const struct rw_dataset *dataset,
                        const struct rw_bins *bins, int bits)
{
    const struct rw_cuts *cuts = bins->cuts;
    uint32_t *feature = hist_need(cuts->n_features, sizeof(*feature));
    uint32_t *same_place = hist_need(cuts->n_features, sizeof(*same_place));
    struct rw_cuda_coding coding = {.dataset = dataset,
                                    .cuts = cuts,
                                    .absent_missing = c->rule.absent_missing,
                                    .feature = feature,
                                    .matrix = {.bits = bits,
                                               .n_docs = dataset->n_docs,
                                               .n_bins = 1,
                                               .layouts = RW_HIST_TILES | RW_HIST_COLUMNS}};
    struct rw_hist_matrix *matrix = NULL;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint32_t n_codes = rw_cuts_n_codes(cuts, f);
        if (rw_code_bits(n_codes) != bits)
            continue;
        feature[coding.matrix.n_features++] = f;
        coding.matrix.n_bins = n_codes > coding.matrix.n_bins ? n_codes : coding.matrix.n_bins;
    }
    const uint32_t n_wide = coding.matrix.n_features;
    for (uint32_t f = 0; bits == 8 && n_wide > 0 && f < cuts->n_features; f++)
        if (rw_code_bits(rw_cuts_n_codes(cuts, f)) == 4)
            feature[coding.matrix.n_features++] = f;
    coding.matrix.n_narrow = coding.matrix.n_features - n_wide;
    uint64_t *counts =
        hist_need((uint64_t)coding.matrix.n_features * coding.matrix.n_bins, sizeof(*counts));
    uint16_t *want = hist_need((uint64_t)coding.matrix.n_features * dataset->n_docs, sizeof(*want));
    for (uint32_t k = 0; k < coding.matrix.n_features; k++)
        expand(bins, feature[k], want + (uint64_t)k * dataset->n_docs);
    for (uint32_t f = 0; f < cuts->n_features; f++)
        same_place[f] = f;
    for (int from_codes = 0; from_codes < 2; from_codes++) {
        coding.codes = from_codes ? bins : NULL;
        coding.code_of = same_place;
        if (coding.matrix.n_features > 0 &&
            rw_cuda_bins_make(c->run->device, &coding, counts, &matrix) < 0) {
            failed(c, "codes of %d bits: %s", bits, rw_last_error(c->run->ctx));
        } else if (matrix) {
            int same =
                same_counts(c, bins, feature, matrix, counts) && same_columns(c, matrix, want);
            for (uint32_t t = 0; t < matrix->n_tiles && same; t++)
                same = same_tile(c, matrix, &matrix->tile[t], want);
            c->tally->passed += (uint64_t)same;
        }
        rw_hist_matrix_free(matrix);
        matrix = NULL;
    }
    free(same_place);
    free(feature);
    free(counts);
    free(want);
}

/* Boundaries of `dataset`; then the codes of both data sets under them. */
static void check_cuts(struct cuts_case *c, const struct rw_dataset *dataset,
                       const struct rw_dataset *other)
{
    static const int bits[] = {4, 8, 16};
    struct rw_ctx *const ctx = c->run->ctx;
    struct rw_cuts *want = NULL, *got = NULL;
    c->n_docs = dataset->n_docs;
    if (rw_cuts_make(ctx, dataset, &c->rule, &want) < 0 ||
        rw_cuda_cuts_make(c->run->device, dataset, &c->rule, &got) < 0) {
        failed(c, "cuts: %s", rw_last_error(ctx));
        c->run->dead = rw_transfer_wait(c->run->device) < 0;
    } else if (same_cuts(c, want, got)) {
        c->tally->passed++;
        for (int i = 0; i < 2 * LENGTH(bits) && !c->run->dead; i++) {
            const struct rw_dataset *coded = i % 2 ? other : dataset;
            struct rw_bins *bins = NULL;
            if (!coded)
                continue;
            if (rw_bins_make(ctx, coded, want, &c->rule, 0, &bins) < 0)
                failed(c, "codes: %s", rw_last_error(ctx));
            else
                check_group(c, coded, bins, bits[i / 2]);
            rw_bins_free(bins);
        }
    }
    rw_cuts_free(want);
    rw_cuts_free(got);
}

/* ---- the stage ---- */

static int chosen(const struct hist_run *run, uint64_t turn)
{
    return ((run->seed + turn) * 0x9E3779B97F4A7C15u >> 20) % run->every == 0;
}

static void check_hard(struct cuts_case *c)
{
    static const uint32_t sizes[] = {1,    2,    3,     31,     255,    256,   257,
                                     1024, 5003, 20011, 262144, 262145, 300007};
    static const int bins[] = {2, 3, 15, 16, 17, 255, 256, 1000, 1023, 1024};
    static const uint32_t least[] = {1, 20, 100};
    uint8_t *ignore = hist_need(RW_FEATURE_IDS, 1);
    ignore[1 + 3 * COLUMN_TWO] = ignore[1 + 3 * COLUMN_SPARSE_FEW] = 1;
    c->what = "hard columns";
    for (int s = 0; s < LENGTH(sizes); s++) {
        for (int b = 0; b < LENGTH(bins); b++) {
            const uint64_t turn = (uint64_t)(s * LENGTH(bins) + b);
            if ((sizes[s] > 100000 && b % 3 != s % 3) || !chosen(c->run, turn) || c->run->dead)
                continue;
            struct rw_dataset *d = hard_dataset(sizes[s], bins[b], c->run->seed + turn, -1);
            struct rw_dataset *other =
                hard_dataset(sizes[s] / 2 + 1, bins[b], c->run->seed + turn + 1000, b % 5);
            for (int i = 0; i < 2; i++) {
                c->rule = (struct rw_cut_rule){.bins = bins[b],
                                               .absent_missing = i,
                                               .min_docs = least[(s + b + i) % LENGTH(least)],
                                               .ignore = b % 4 == 1 ? ignore : NULL};
                check_cuts(c, d, b % 2 ? other : NULL);
            }
            hard_free(d);
            hard_free(other);
        }
    }
    free(ignore);
}

static void check_synth(struct cuts_case *c)
{
    static const char *const shapes[] = {"mslr30k", "yahoo"};
    static const int bins[] = {255, 16, 1023};
    c->what = "made data";
    for (int i = 0; i < LENGTH(shapes) * LENGTH(bins) && !c->run->dead; i++) {
        const struct rw_synth_options options = {
            .shape = shapes[i % LENGTH(shapes)], .n_queries = 400, .seed = c->run->seed};
        struct rw_dataset *d = NULL;
        if (!chosen(c->run, (uint64_t)i + 5000))
            continue;
        c->rule = (struct rw_cut_rule){
            .bins = bins[i / LENGTH(shapes)], .absent_missing = i % 2, .min_docs = 1};
        if (rw_synth(c->run->ctx, &options, NULL, &d) < 0)
            failed(c, "made data: %s", rw_last_error(c->run->ctx));
        else
            check_cuts(c, d, NULL);
        rw_dataset_free(d);
    }
}

void stage_cuts(struct hist_run *run)
{
    struct cuts_case c = {.run = run, .tally = &run->tally[0]};
    check_hard(&c);
    check_synth(&c);
}
