/* Texts with numbers: feature names, feature lists, query ids, and the words of categories. */
#pragma once

#include "base/bits.h"
#include "base/mem.h"

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

/* Converts a name for a model's file: '_' replaces each comma and each byte up to 32 (blanks,
 * control characters), and precedes a name that has only digits and '-', like an id or a range, or
 * is empty. The caller frees *out. */
int rw_name_for_model(struct rw_ctx *ctx, const char *name, char **out);
/* Copies names, converted by rw_name_for_model. Fails with RW_ERR_DATA if two become equal. *out is
 * NULL after a failure, or if n is 0. */
int rw_names_for_model(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                       struct rw_feature_name **out);

/* ---- lists of features, "3-7,url_length", as in parameters and options ---- */
/* Parses a feature id at the start of `text`, and sets *end to the text after it. Returns -1 if the
 * id is missing or out of range; *end is then `text`. */
long rw_parse_id(const char *text, const char **end);
/* Parses an item of a list, of `length` bytes: a name among `names`, an id or a range of ids. Sets
 * *first and *last to the first and last id of the item. parameter: name of the list in messages.
 * Fails with RW_ERR_ARGUMENT. All parameters with such lists use it. */
int rw_list_item(struct rw_ctx *ctx, const char *parameter, const char *item, size_t length,
                 const struct rw_feature_name *names, int32_t n_names, long *first, long *last);
/* Advances *list from an item of `length` bytes over the separator to the next item, or to the end
 * of the text after the last item. Fails with RW_ERR_ARGUMENT if the text ends after the separator.
 */
int rw_list_next(struct rw_ctx *ctx, const char *parameter, size_t length, const char **list);
/* Parses a list of such items, separated by commas. marked: [RW_FEATURE_IDS], written: 1 for each
 * feature in the list, 0 for others. */
int rw_list_parse(struct rw_ctx *ctx, const char *parameter, const char *list,
                  const struct rw_feature_name *names, int32_t n_names, uint8_t *marked);
/* Returns an upper limit of the number of features that a list separated by commas names: all ids
 * of a range count, and features that are named twice count twice. */
uint32_t rw_list_count(const char *list);

/* ---- query ids: a hash table with open addressing, to detect repeated ids ---- */
/* Computes a hash: FNV-1a, 64 bits, with a final mix, so that any of its bits can select a slot. */
uint64_t rw_text_hash(const char *text, size_t n);
/* A set of distinct texts, which have the numbers 0, 1, ... in order of arrival. Query ids, words
 * and names use it. Initialise with zeros. */
struct rw_query_ids {
    struct rw_query_id_slot *slot; /* [room], a power of two, at most half full; owned */
    size_t room, n;
};
void rw_query_ids_release(struct rw_query_ids *ids);
/* Adds an id, which must outlive *ids. Returns 0 and sets *index to its number; or, if the id
 * exists, returns 1 and sets *index to the existing number. Fails if memory is short. */
int rw_query_ids_add(struct rw_ctx *ctx, struct rw_query_ids *ids, const char *id, size_t *index);
/* Returns 1 and sets *index to the number if the id of n bytes exists; otherwise 0. */
int rw_query_ids_find(const struct rw_query_ids *ids, const char *id, size_t n, size_t *index);

/* Such a set that owns copies of its texts, in large blocks. Initialise with zeros. */
struct rw_text_set {
    struct rw_query_ids ids;
    const char **text; /* [ids.n] each terminated by 0, at an address that does not change; owned */
    size_t room;
    struct rw_arena arena; /* owns the blocks */
    char *block;           /* the last block; the first `used` of its block_bytes hold texts */
    size_t used, block_bytes;
};
/* Adds a text of `n` bytes, none of them 0, unless it exists. Sets *index to its number. Fails if
 * memory is short. */
int rw_text_set_add(struct rw_ctx *ctx, struct rw_text_set *texts, const char *text, size_t n,
                    size_t *index);
void rw_text_set_release(struct rw_text_set *texts);

/* ---- vocabularies: the words of categories, and their numbers in order of arrival ----
 *
 * In a data set with a vocabulary, the values of a categorical feature are such numbers. Data sets
 * that are read together share a vocabulary, and several threads may add words. Numbers thus only
 * tell whether two words are equal, and results must not depend on their order. */
/* The number of words is limited, since columns store their numbers as floats, which represent all
 * integers up to 2^24 exactly. A word has at most RW_MAX_WORD_BYTES bytes without the final 0. */
enum { RW_MAX_WORDS = 1 << 24, RW_MAX_WORD_BYTES = 65535 };

struct rw_vocabulary;
int rw_vocabulary_new(struct rw_ctx *ctx, struct rw_vocabulary **out);
/* Adds an owner and returns the vocabulary. NULL returns NULL. */
struct rw_vocabulary *rw_vocabulary_share(struct rw_vocabulary *vocabulary);
/* Removes an owner. The last one frees the vocabulary. */
void rw_vocabulary_free(struct rw_vocabulary *vocabulary);

/* Adds a word of `n` bytes, none of them 0, unless it exists, and sets *number to its number. Never
 * uses a context. Fails if memory is short, and with RW_ERR_DATA if there are too many words. */
int rw_vocabulary_add(struct rw_vocabulary *vocabulary, const char *word, size_t n,
                      uint32_t *number);
/* Returns the number of words. */
uint32_t rw_vocabulary_n(struct rw_vocabulary *vocabulary);
/* Returns the word with a number, terminated by 0. Its address does not change. */
const char *rw_vocabulary_word(struct rw_vocabulary *vocabulary, uint32_t number);

/* Records that the feature's values are words. */
void rw_vocabulary_mark(struct rw_vocabulary *vocabulary, uint32_t feature);
/* Returns 1 if the feature's values are words; 0 if not, or if vocabulary is NULL. Must not be
 * called in parallel with rw_vocabulary_mark. */
int rw_vocabulary_has(const struct rw_vocabulary *vocabulary, uint32_t feature);
