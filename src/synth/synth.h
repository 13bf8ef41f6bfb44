/* Synthetic ranking data in shapes that imitate the public sets. The public function is rw_synth of
 * rankwood.h. This header has the parts that synth.c shares with synth_tables.c, the benchmarks
 * and the tests.
 *
 * A query is a pure function of (shape, seed, query number). Random numbers are counter-based, and
 * arithmetic is + - * / sqrt, conversions and base/exact.h. The first n queries of sets of one
 * shape and seed are therefore identical, whatever the size of the set, the number of threads or
 * the machine. How relevance depends on the latents is a property of the shape alone. Sets of
 * different seeds are thus new queries from one distribution, and can serve as training, validation
 * and test sets.
 *
 * A document is generated from latent quantities, which are standard normal. Examples are
 * relevance, quality, length, how well each text stream matches, and whether it matches at all.
 * Some belong to the query, others to the document. A score mixes them with non-linear and
 * interacting terms and noise, and fixed thresholds turn it into the label. Each feature is a
 * weighted sum of a few latents and separate noise. 8 knots, the values at -3 to 4 standard
 * deviations, map this sum to the distribution of the feature, and the result is rounded. Many
 * features have a gate: where a latent is below a threshold (the gate is closed), the value is 0,
 * or depends on the query only. */
#pragma once

#include "dataset/dataset.h"

enum {
    RW_SYNTH_KNOTS = 8,   /* at -3, -2, .., 4 standard deviations */
    RW_SYNTH_LOADS = 4,   /* most latents in a feature's weighted sum */
    RW_SYNTH_STREAMS = 5, /* body, anchor, title, url, whole document */
    RW_SYNTH_LABELS = 5,  /* labels are 0 .. 4; a shape may use fewer */
    RW_SYNTH_MAX_FEATURES = 519,
    RW_SYNTH_MAX_QUERIES = 10000000,
    RW_SYNTH_COMMENT_BYTES = 96
};

/* Latent quantities, all close to standard normal. A comment that starts with 4 or 5 means that the
 * name is the first of so many latents; groups of 5 have one latent per stream. */
enum rw_synth_latent {
    RW_LATENT_RELEVANCE, /* the main cause of the label; no feature sees it alone */
    RW_LATENT_QUALITY,
    RW_LATENT_LENGTH,
    RW_LATENT_POPULAR,
    RW_LATENT_SPAM,
    RW_LATENT_FREE, /* 4: topics that features share and that do not affect the label */
    RW_LATENT_CLICK = RW_LATENT_FREE + 4,
    RW_LATENT_LINKS,
    RW_LATENT_MATCH,                                           /* 5: strength of a stream's match */
    RW_LATENT_ANY = RW_LATENT_MATCH + RW_SYNTH_STREAMS,        /* 5: does any query term occur? */
    RW_LATENT_ALL = RW_LATENT_ANY + RW_SYNTH_STREAMS,          /* 5: do all query terms occur? */
    RW_LATENT_QUERY_RARITY = RW_LATENT_ALL + RW_SYNTH_STREAMS, /* the latents from here on belong
                                                                  to the query */
    RW_LATENT_QUERY_DENSITY,                                   /* how many relevant documents
                                                                  exist */
    RW_LATENT_QUERY_INTENT, /* the user looks for a site (high) or a text (low) */
    RW_N_LATENTS
};

enum rw_synth_kind {
    RW_SYNTH_ZERO,    /* always 0 */
    RW_SYNTH_VALUE,   /* mapped by knots */
    RW_SYNTH_COVERED, /* number of query terms that occur in the stream */
    RW_SYNTH_RATIO,   /* as RW_SYNTH_COVERED, divided by the number of query terms */
    RW_SYNTH_BOOLEAN, /* 1: all query terms occur */
    RW_SYNTH_SAME     /* mapped by knots, one value for all documents of the query */
};

/* Values of `decimals` for rounding to multiples of 1 / n and of 1 / n^2, where n is the number of
 * query terms. */
enum { RW_SYNTH_PER_TERM = 100, RW_SYNTH_PER_TERM_2 = 101 };

struct rw_synth_feature {
    uint16_t id;
    uint8_t kind;            /* enum rw_synth_kind */
    uint8_t stream;          /* for COVERED, RATIO, BOOLEAN */
    uint8_t decimals;        /* to round to, at most 6; or RW_SYNTH_PER_TERM, RW_SYNTH_PER_TERM_2 */
    uint8_t zero_if_single;  /* 1: 0 for a query of one term (a variance over terms) */
    uint8_t query_if_closed; /* if the gate is closed: 1: the value depends on the query's
                                latents and noise only; 0: it is 0 */
    int8_t gate;             /* latent that opens the gate from gate_from on; -1: always open */
    int8_t unknown;          /* latent that yields FLT_MAX from unknown_from on; -1: never */
    double gate_from, unknown_from;
    uint8_t load[RW_SYNTH_LOADS];    /* the latents in the feature's weighted sum */
    double weight[RW_SYNTH_LOADS];   /* the squares of all weights sum to 1 */
    double weight_query, weight_doc; /* weights of the feature's noise, by query and by document */
    double knot[RW_SYNTH_KNOTS];
};

struct rw_synth_shape;
/* The properties of a shape, except its features. */
struct rw_synth_traits {
    const char *name;
    /* sets the members of a shape except `traits` and `stream`; may replace the knots of size_knot,
     * which follow median_docs and spread */
    void (*make)(struct rw_synth_shape *shape);
    int sparse;   /* 1: zeros are absent */
    int as_letor; /* 1: each feature is scaled to [0, 1] within the query and has 6 decimals, and
                     documents have comments "docid = ..." */
    uint32_t max_docs;          /* most documents per query */
    double median_docs, spread; /* documents per query; one standard deviation is a factor of
                                   2^spread */
    double noise, density;      /* weights in the score that determines the label */
    double label_from[RW_SYNTH_LABELS - 1]; /* scores from which the label is 1, 2, .. */
};
struct rw_synth_shape {
    const struct rw_synth_traits *traits;
    uint32_t stream;                  /* stream of random numbers */
    double size_knot[RW_SYNTH_KNOTS]; /* knots of the number of documents per query */
    /* values of RW_LATENT_ANY + k and RW_LATENT_ALL + k from which a gate of stream k is open */
    double any_from[RW_SYNTH_STREAMS], all_from[RW_SYNTH_STREAMS];
    int n_features;
    struct rw_synth_feature feature[RW_SYNTH_MAX_FEATURES]; /* ascending by id */
};

/* Parameters measured on the real sets (synth/synth_tables.c). */
struct rw_synth_mslr_row {
    float zero;    /* share of zeros */
    float between; /* share of the variance of ranks that is between queries */
    uint8_t decimals;
    float knot[RW_SYNTH_KNOTS]; /* distribution of the nonzero values */
};
extern const struct rw_synth_mslr_row rw_synth_mslr_rows[136];
struct rw_synth_letor_row {
    float zero;  /* share of zeros before normalisation within the query; 1: always 0 */
    float bend;  /* the raw value is 2^(bend z), or -2^(bend z) if bend is negative */
    float scale; /* 0: continuous; otherwise the raw value is multiplied by this and rounded to an
                    integer */
};
extern const struct rw_synth_letor_row rw_synth_letor_rows[46];

/* Makes the shape of a name. An unknown name fails with RW_ERR_ARGUMENT and a list of names. The
 * caller frees the shape with rw_mem_free. */
int rw_synth_shape_new(struct rw_ctx *ctx, const char *name, struct rw_synth_shape **out);
/* rw_synth_normal_share returns the share of a standard normal distribution below x, for |x| <= 8.
 * rw_synth_normal_quantile is its inverse, for a share in (0, 1). */
double rw_synth_normal_share(double x);
double rw_synth_normal_quantile(double share);

/* Returns the number of documents of a query, from 1 to shape->traits->max_docs. */
uint32_t rw_synth_query_docs(const struct rw_synth_shape *shape, uint64_t seed, uint32_t query);
struct rw_synth_doc {
    uint32_t query, doc; /* doc: number within the query, from 0 */
    float label;
    float *value; /* [n_features] the function that receives the document may change them */
    char comment[RW_SYNTH_COMMENT_BYTES]; /* "" for shapes without comments */
};
