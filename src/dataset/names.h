/* Texts with numbers: feature names, feature lists, query ids, and the words of categories. */
#pragma once

#include "base/bits.h"
#include "base/ctx.h"

struct rw_feature_name {
    uint32_t feature;
    char *name; /* owned */
};
/* Returns a feature's name, or "" for a feature without one. names: [n] by ascending id. */
static inline const char *rw_name_of(const struct rw_feature_name *names, int32_t n,
                                     uint32_t feature)
{
    const uint32_t at = rw_records_under(names, sizeof(*names), (uint32_t)n, feature);
    return at < (uint32_t)n && names[at].feature == feature ? names[at].name : "";
}
enum { RW_FEATURE_TEXT = 160 };
/* Writes a feature's name for messages: "feature 'title'", or "feature 7" without a name. */
const char *rw_feature_text(const struct rw_feature_name *names, int32_t n, uint32_t feature,
                            char text[RW_FEATURE_TEXT]);
void rw_names_free(struct rw_feature_name *names, int32_t n);
/* Copies names. *out is NULL after a failure, or if n is 0. */
int rw_names_copy(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                  struct rw_feature_name **out);
int rw_names_are_same(const struct rw_feature_name *a, int32_t n_a, const struct rw_feature_name *b,
                      int32_t n_b);

/* Converts a name for a model's file: '_' replaces blanks, control characters and commas, and
 * precedes a name that could be an id or a range. The caller frees *out. */
int rw_name_for_model(struct rw_ctx *ctx, const char *name, char **out);
/* Copies names in that form. Fails with RW_ERR_DATA if two become equal. */
int rw_names_for_model(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                       struct rw_feature_name **out);

/* ---- lists of features, "3-7,url_length", as in parameters and options ---- */
/* Parses a feature id at the start of `text`. Returns -1 if it is missing or out of range. */
long rw_parse_id(const char *text, const char **end);
/* Parses an item of a list: a name, an id or a range of ids. All parameters with such lists use it,
 * and differ only in their name in messages. */
int rw_list_item(struct rw_ctx *ctx, const char *parameter, const char *item, size_t length,
                 const struct rw_feature_name *names, int32_t n_names, long *first, long *last);
/* Advances from an item to the next one. *list is the end of the text after the last. */
int rw_list_next(struct rw_ctx *ctx, const char *parameter, size_t length, const char **list);
/* Parses a list of such items only. marked: [RW_FEATURE_IDS], written: 1 for each feature in the
 * list. */
int rw_list_parse(struct rw_ctx *ctx, const char *parameter, const char *list,
                  const struct rw_feature_name *names, int32_t n_names, uint8_t *marked);
/* Returns the most features that the list can name; all ids of a range count. */
uint32_t rw_list_count(const char *list);

/* ---- query ids: a hash table with open addressing, to detect repeated ids ---- */
/* Initialise with zeros. */
struct rw_query_ids {
    struct rw_query_id_slot *slot; /* [room], a power of two, at most half full; owned */
    size_t room, n;
};
void rw_query_ids_release(struct rw_query_ids *ids);
/* Adds an id, which must outlive *ids. Returns 0, and its number from 0 in *index; or 1 if it
 * exists, and the existing number. */
int rw_query_ids_add(struct rw_ctx *ctx, struct rw_query_ids *ids, const char *id, size_t *index);
/* Returns 1, and the number in *index, if the id of n bytes exists. */
int rw_query_ids_find(const struct rw_query_ids *ids, const char *id, size_t n, size_t *index);

/* ---- vocabularies: the words of categories, and their numbers in order of arrival ----
 *
 * In a data set with a vocabulary, the values of a categorical feature are such numbers. Data sets
 * that are read together share a vocabulary, and several threads may add words. Numbers thus only
 * tell whether two words are equal, and results must not depend on their order. */
/* Numbers are stored as floats in a column, which are exact integers up to this limit. */
enum { RW_MAX_WORDS = 1 << 24, RW_MAX_WORD_BYTES = 65535 };

struct rw_vocabulary;
int rw_vocabulary_new(struct rw_ctx *ctx, struct rw_vocabulary **out);
/* Adds an owner and returns the vocabulary. NULL returns NULL. */
struct rw_vocabulary *rw_vocabulary_share(struct rw_vocabulary *vocabulary);
/* Removes an owner. The last one frees the vocabulary. */
void rw_vocabulary_free(struct rw_vocabulary *vocabulary);

/* Adds a word of `n` bytes without 0. Never uses a context. Returns RW_ERR_DATA if there are too
 * many words. */
int rw_vocabulary_add(struct rw_vocabulary *vocabulary, const char *word, size_t n,
                      uint32_t *number);
uint32_t rw_vocabulary_n(struct rw_vocabulary *vocabulary);
/* Returns the word, terminated by 0, at an address that does not change. */
const char *rw_vocabulary_word(struct rw_vocabulary *vocabulary, uint32_t number);

/* Records that the feature's values are words. */
void rw_vocabulary_mark(struct rw_vocabulary *vocabulary, uint32_t feature);
/* Returns 1 if the feature's values are words. vocabulary may be NULL. */
int rw_vocabulary_has(const struct rw_vocabulary *vocabulary, uint32_t feature);
