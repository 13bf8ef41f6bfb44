#include "dataset/lexicon.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "dataset/names.h"
#include "dataset/query_ids.h"

enum { BLOCK_BYTES = 1 << 16 };

struct rw_lexicon {
    pthread_mutex_t mutex; /* of all below */
    int n_owners;
    struct rw_query_ids ids; /* of the words */
    const char **word;       /* [ids.n] in blocks; owned */
    size_t word_room;
    char **block; /* [n_blocks] words, each ended by 0; owned */
    size_t block_room, n_blocks, used, block_bytes;
    uint8_t marked[RW_FEATURE_IDS];
};

int rw_lexicon_new(struct rw_ctx *ctx, struct rw_lexicon **out)
{
    RW_TRY(RW_NEW(ctx, *out, 1));
    pthread_mutex_init(&(*out)->mutex, NULL);
    (*out)->n_owners = 1;
    return RW_OK;
}

struct rw_lexicon *rw_lexicon_share(struct rw_lexicon *lexicon)
{
    if (!lexicon)
        return NULL;
    pthread_mutex_lock(&lexicon->mutex);
    lexicon->n_owners++;
    pthread_mutex_unlock(&lexicon->mutex);
    return lexicon;
}

void rw_lexicon_free(struct rw_lexicon *lexicon)
{
    if (!lexicon)
        return;
    pthread_mutex_lock(&lexicon->mutex);
    const int n_owners = --lexicon->n_owners;
    pthread_mutex_unlock(&lexicon->mutex);
    if (n_owners > 0)
        return;
    for (size_t b = 0; b < lexicon->n_blocks; b++)
        rw_mem_free(lexicon->block[b]);
    rw_mem_free(lexicon->block);
    rw_mem_free(lexicon->word);
    rw_query_ids_release(&lexicon->ids);
    pthread_mutex_destroy(&lexicon->mutex);
    rw_mem_free(lexicon);
}

/* Room for n bytes at the end of the last block. */
static int make_room(struct rw_lexicon *l, size_t n)
{
    const size_t bytes = n > BLOCK_BYTES ? n : BLOCK_BYTES;
    if (l->n_blocks && l->block_bytes - l->used >= n)
        return RW_OK;
    RW_TRY(RW_GROW(NULL, l->block, l->block_room, l->n_blocks + 1));
    RW_TRY(RW_NEW_RAW(NULL, l->block[l->n_blocks], bytes));
    l->n_blocks++;
    l->used = 0;
    l->block_bytes = bytes;
    return RW_OK;
}

static int add(struct rw_lexicon *l, const char *word, size_t n, size_t *index)
{
    RW_TRY(make_room(l, n + 1));
    char *copy = l->block[l->n_blocks - 1] + l->used;
    memcpy(copy, word, n);
    copy[n] = 0;
    if (rw_query_ids_find(&l->ids, copy, strlen(copy), index))
        return RW_OK;
    if (l->ids.n == RW_MAX_WORDS)
        return RW_ERR_DATA;
    RW_TRY(RW_GROW(NULL, l->word, l->word_room, l->ids.n + 1));
    RW_TRY(rw_query_ids_add(NULL, &l->ids, copy, index));
    l->word[*index] = copy;
    l->used += n + 1;
    return RW_OK;
}

int rw_lexicon_add(struct rw_lexicon *lexicon, const char *word, size_t n, uint32_t *number)
{
    size_t index = 0;
    pthread_mutex_lock(&lexicon->mutex);
    const int status = add(lexicon, word, n, &index);
    pthread_mutex_unlock(&lexicon->mutex);
    *number = (uint32_t)index;
    return status < 0 ? status : RW_OK;
}

uint32_t rw_lexicon_n(struct rw_lexicon *lexicon)
{
    pthread_mutex_lock(&lexicon->mutex);
    const uint32_t n = (uint32_t)lexicon->ids.n;
    pthread_mutex_unlock(&lexicon->mutex);
    return n;
}

const char *rw_lexicon_word(struct rw_lexicon *lexicon, uint32_t number)
{
    pthread_mutex_lock(&lexicon->mutex);
    const char *word = lexicon->word[number];
    pthread_mutex_unlock(&lexicon->mutex);
    return word;
}

void rw_lexicon_mark(struct rw_lexicon *lexicon, uint32_t feature)
{
    pthread_mutex_lock(&lexicon->mutex);
    lexicon->marked[feature] = 1;
    pthread_mutex_unlock(&lexicon->mutex);
}

int rw_lexicon_has(const struct rw_lexicon *lexicon, uint32_t feature)
{
    return lexicon && lexicon->marked[feature & RW_MAX_FEATURE];
}
