/* Texts that stand for numbers: names of features, lists of features, query ids, and the words of
 * categories. */
#pragma once

#include "base/ctx.h"

struct rw_feature_name {
    uint32_t feature;
    char *name; /* owned */
};
enum { RW_FEATURE_TEXT = 160 };
/* What messages call a feature: "feature 'title'", or "feature 7" where it has no name. */
const char *rw_feature_text(const struct rw_feature_name *names, int32_t n, uint32_t feature,
                            char text[RW_FEATURE_TEXT]);
void rw_names_free(struct rw_feature_name *names, int32_t n);
/* *out: NULL after a failure, and if there are none. */
int rw_names_copy(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                  struct rw_feature_name **out);
int rw_names_are_same(const struct rw_feature_name *a, int32_t n_a, const struct rw_feature_name *b,
                      int32_t n_b);

/* A name as a model's file can hold it: '_' for each blank, control character and comma, and before
 * what could be an id or a range. *out: the caller's. */
int rw_name_for_model(struct rw_ctx *ctx, const char *name, char **out);
/* A copy with such names. RW_ERR_DATA: two have become equal. */
int rw_names_for_model(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                       struct rw_feature_name **out);

/* Lists of features, "3-7,url_length", as parameters and options take them. */
/* A feature id at the start of `text`; -1 if there is none in range. */
long rw_parse_id(const char *text, const char **end);
/* Features that an item of a list says: a name, an id or a range of ids. The same, but for what it
 * is called in messages, for all parameters that take such lists. */
int rw_list_item(struct rw_ctx *ctx, const char *parameter, const char *item, size_t length,
                 const struct rw_feature_name *names, int32_t n_names, long *first, long *last);
/* From an item to the next one; *list ends at the end of the text. */
int rw_list_next(struct rw_ctx *ctx, const char *parameter, size_t length, const char **list);
/* A list of nothing but such items. marked: [RW_FEATURE_IDS], written: 1 where the list has the
 * feature. */
int rw_list_parse(struct rw_ctx *ctx, const char *parameter, const char *list,
                  const struct rw_feature_name *names, int32_t n_names, uint8_t *marked);
/* How many features such a list names at most: all ids of a range count. */
uint32_t rw_list_count(const char *list);

/* Ids of queries, to notice one that comes back: a hash table with open addressing. */
/* Zero-initialise. */
struct rw_query_ids {
    struct rw_query_id_slot *slot; /* [room], a power of two, at most half full; owned */
    size_t room, n;
};
void rw_query_ids_release(struct rw_query_ids *ids);
/* Adds an id, which is borrowed for the life of *ids: 0, and *index is its number, from 0. 1: it is
 * there already, and *index is the number of the first. */
int rw_query_ids_add(struct rw_ctx *ctx, struct rw_query_ids *ids, const char *id, size_t *index);
/* 1: the id of n bytes is there, and *index is its number. */
int rw_query_ids_find(const struct rw_query_ids *ids, const char *id, size_t n, size_t *index);

/* Words that categories are called by, and their numbers, in the order in which they came: values
 * of a feature by categories are such numbers in a data set that has a vocabulary. Data sets that
 * are read together share one, and several threads may add to it; so numbers mean nothing but "the
 * same word or not", and what is made of them must not depend on their order. */
/* Numbers are floats in a column: up to here they are whole. */
enum { RW_MAX_WORDS = 1 << 24, RW_MAX_WORD_BYTES = 65535 };

struct rw_vocabulary;
int rw_vocabulary_new(struct rw_ctx *ctx, struct rw_vocabulary **out);
/* One more owner. NULL gives NULL. */
struct rw_vocabulary *rw_vocabulary_share(struct rw_vocabulary *vocabulary);
/* One less; the last one frees it. */
void rw_vocabulary_free(struct rw_vocabulary *vocabulary);

/* word: `n` bytes, none of them 0. Never touches a context. RW_ERR_DATA: there are too many. */
int rw_vocabulary_add(struct rw_vocabulary *vocabulary, const char *word, size_t n,
                      uint32_t *number);
uint32_t rw_vocabulary_n(struct rw_vocabulary *vocabulary);
/* Ended by 0; stays where it is. */
const char *rw_vocabulary_word(struct rw_vocabulary *vocabulary, uint32_t number);

/* The feature's values are words. */
void rw_vocabulary_mark(struct rw_vocabulary *vocabulary, uint32_t feature);
/* vocabulary: may be NULL. */
int rw_vocabulary_has(const struct rw_vocabulary *vocabulary, uint32_t feature);
