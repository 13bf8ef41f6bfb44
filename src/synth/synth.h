/* Made ranking data: shapes that imitate the public sets. The public side is rw_synth of
 * rankwood.h; here is what it and its tests share.
 *
 * A query is a pure function of (shape, seed, number of the query): random numbers are
 * counter-based, arithmetic is + - * / sqrt, conversions and base/exact.h. So the first n queries
 * of any set are the same, threads do not matter, and the bytes are the same on every machine. What
 * makes a document relevant depends on the shape alone: sets of different seeds are fresh queries
 * of one world, and serve as training, validation and test sets.
 *
 * How a document comes about: latent quantities (standard normal: relevance, quality, length, how
 * well each text stream matches, whether it matches at all, ...), some of the query and some of the
 * document, are mixed into a score with non-linear and interacting terms and noise; fixed
 * thresholds make the label. Each feature sees a weighted sum of a few latents and noise of its
 * own, bent to its marginal distribution by 8 knots and rounded to its decimals. */
#pragma once

#include "dataset/dataset.h"

enum {
    RW_SYNTH_KNOTS = 8,   /* at -3, -2, .., 4 standard deviations */
    RW_SYNTH_LOADS = 4,   /* latents that one feature sees */
    RW_SYNTH_STREAMS = 5, /* body, anchor, title, url, whole document */
    RW_SYNTH_LABELS = 5,  /* labels are 0 .. 4 at most */
    RW_SYNTH_MAX_FEATURES = 519,
    RW_SYNTH_MAX_QUERIES = 10000000,
    RW_SYNTH_COMMENT_BYTES = 96
};

/* Latent quantities, all close to standard normal. A group of 5 is one a stream. */
enum rw_synth_latent {
    RW_LATENT_RELEVANCE, /* what the label mostly is; no feature sees it alone */
    RW_LATENT_QUALITY,
    RW_LATENT_LENGTH,
    RW_LATENT_POPULAR,
    RW_LATENT_SPAM,
    RW_LATENT_FREE, /* 4: topics that features share and that do not matter */
    RW_LATENT_CLICK = RW_LATENT_FREE + 4,
    RW_LATENT_LINKS,
    RW_LATENT_MATCH,                                           /* 5: strength of a stream's match */
    RW_LATENT_ANY = RW_LATENT_MATCH + RW_SYNTH_STREAMS,        /* 5: does any query term occur */
    RW_LATENT_ALL = RW_LATENT_ANY + RW_SYNTH_STREAMS,          /* 5: do all query terms occur */
    RW_LATENT_QUERY_RARITY = RW_LATENT_ALL + RW_SYNTH_STREAMS, /* from here on: of the query */
    RW_LATENT_QUERY_DENSITY,                                   /* how much there is to be found */
    RW_LATENT_QUERY_INTENT, /* a site is looked for (high) or a text (low) */
    RW_N_LATENTS
};

enum rw_synth_kind {
    RW_SYNTH_ZERO,    /* always 0 */
    RW_SYNTH_VALUE,   /* knots */
    RW_SYNTH_COVERED, /* number of query terms that occur in the stream */
    RW_SYNTH_RATIO,   /* that, by the number of query terms */
    RW_SYNTH_BOOLEAN, /* 1: all query terms occur */
    RW_SYNTH_SAME     /* knots, one value for the query's documents */
};

/* How a value is rounded: to so many decimals, or to a multiple of 1 / terms^1 or 2. */
enum { RW_SYNTH_PER_TERM = 100, RW_SYNTH_PER_TERM_2 = 101 };

struct rw_synth_feature {
    uint16_t id;
    uint8_t kind;            /* enum rw_synth_kind */
    uint8_t stream;          /* of COVERED, RATIO, BOOLEAN */
    uint8_t decimals;        /* or RW_SYNTH_PER_TERM.. */
    uint8_t zero_if_single;  /* 0 for a query of one term (a variance over terms) */
    uint8_t query_if_closed; /* behind a closed gate: 1: what the query says; 0: 0 */
    int8_t gate;             /* latent that must reach gate_from, else closed; -1: none */
    int8_t unknown;          /* latent that from unknown_from on gives FLT_MAX; -1: none */
    double gate_from, unknown_from;
    uint8_t load[RW_SYNTH_LOADS];    /* latents */
    double weight[RW_SYNTH_LOADS];   /* the squares of all weights sum to 1 */
    double weight_query, weight_doc; /* of the feature's own noise, by query and by document */
    double knot[RW_SYNTH_KNOTS];
};

struct rw_synth_shape;
/* What a shape is, but for its features. */
struct rw_synth_traits {
    const char *name;
    void (*make)(struct rw_synth_shape *shape); /* all but `traits`, `stream` and usual sizes */
    int sparse;                                 /* zeros are absent */
    int as_letor;               /* each query's values to [0, 1], 6 decimals; "docid = ..." */
    uint32_t max_docs;          /* of a query */
    double median_docs, spread; /* of a query: by halves and doubles for a standard deviation */
    double noise, density;      /* weights in the score behind the label */
    double label_from[RW_SYNTH_LABELS - 1]; /* score from which a label is 1, 2, .. */
};
struct rw_synth_shape {
    const struct rw_synth_traits *traits;
    uint32_t stream;                                               /* of random numbers */
    double size_knot[RW_SYNTH_KNOTS];                              /* documents a query */
    double any_from[RW_SYNTH_STREAMS], all_from[RW_SYNTH_STREAMS]; /* thresholds of the gates */
    int n_features;
    struct rw_synth_feature feature[RW_SYNTH_MAX_FEATURES]; /* by ascending id */
};

/* Parameters measured on the real sets (synth/synth_tables.c). */
struct rw_synth_mslr_row {
    float zero;    /* share of zeros */
    float between; /* share of the ranks' variance that lies between queries */
    uint8_t decimals;
    float knot[RW_SYNTH_KNOTS]; /* of what is not zero */
};
extern const struct rw_synth_mslr_row rw_synth_mslr_rows[136];
struct rw_synth_letor_row {
    float zero;  /* share of zeros before the query is normalised; 1: always 0 */
    float bend;  /* the raw value is 2^(bend z), or -2^(bend z) if bend is negative */
    float scale; /* 0: continuous; else the raw value is multiplied by this and made whole */
};
extern const struct rw_synth_letor_row rw_synth_letor_rows[46];

/* The shape of a name; an unknown name is RW_ERR_ARGUMENT and lists them. Ended by rw_mem_free. */
int rw_synth_shape_new(struct rw_ctx *ctx, const char *name, struct rw_synth_shape **out);
/* Share of a standard normal under x, |x| <= 8, and the x of a share in (0, 1). */
double rw_synth_normal_share(double x);
double rw_synth_normal_quantile(double share);

/* Documents of a query: [1, shape->max_docs]. */
uint32_t rw_synth_query_docs(const struct rw_synth_shape *shape, uint64_t seed, uint32_t query);
struct rw_synth_doc {
    uint32_t query, doc; /* doc: of the query, from 0 */
    float label;
    float *value;                         /* [n_features] the callee's to change */
    char comment[RW_SYNTH_COMMENT_BYTES]; /* "" for shapes without */
};
