#include "io/trec_lines.h"

#include "base/number.h"

int rw_trec_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

int rw_trec_words(const char *at, const char *end, struct rw_trec_word *words, int most)
{
    int n = 0;
    for (;; n++) {
        while (at < end && rw_trec_is_blank(*at))
            at++;
        if (at == end)
            return n;
        const char *begin = at;
        while (at < end && !rw_trec_is_blank(*at))
            at++;
        if (n < most)
            words[n] = (struct rw_trec_word){begin, (size_t)(at - begin)};
    }
}

int rw_trec_wrong(struct rw_ctx *ctx, const struct rw_trec_line *line,
                  const struct rw_trec_word *found, const char *expected)
{
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s, found '%.*s'", line->file,
                   (unsigned long long)line->number, (size_t)(found->text - line->begin) + 1,
                   expected, (int)(found->n < 40 ? found->n : 40), found->text);
}

static int wrong_words(struct rw_ctx *ctx, const struct rw_trec_line *line, const char *expected,
                       int n)
{
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:1: expected '%s', found %d word%s", line->file,
                   (unsigned long long)line->number, expected, n, n == 1 ? "" : "s");
}

/* Is the word a number, all of it? */
static int number_of(const struct rw_trec_word *word, double *number)
{
    const char *end = word->text + word->n;
    int clamped;
    return rw_number_parse_double(word->text, end, number, &clamped) == end && !clamped;
}

int rw_trec_run_line(struct rw_ctx *ctx, const struct rw_trec_line *line,
                     struct rw_trec_run_line *out)
{
    enum { WORDS = 6 };
    struct rw_trec_word word[WORDS];
    const int n = rw_trec_words(line->begin, line->end, word, WORDS);
    if (n == 0)
        return 0;
    if (n < WORDS)
        return wrong_words(ctx, line, "query Q0 document rank score tag", n);
    if (!number_of(&word[4], &out->score))
        return rw_trec_wrong(ctx, line, &word[4], "a score (a finite number)");
    out->query = word[0];
    out->document = word[2];
    return 1;
}

int rw_trec_qrels_line(struct rw_ctx *ctx, const struct rw_trec_line *line,
                       struct rw_trec_qrels_line *out)
{
    enum { WORDS = 4 };
    static const double most = 2147483648.0;
    struct rw_trec_word word[WORDS];
    double label;
    const int n = rw_trec_words(line->begin, line->end, word, WORDS);
    if (n == 0)
        return 0;
    if (n != WORDS)
        return wrong_words(ctx, line, "query iteration document label", n);
    if (!number_of(&word[3], &label) || label > most)
        return rw_trec_wrong(ctx, line, &word[3], "a label (a number up to 2147483648)");
    out->query = word[0];
    out->document = word[2];
    out->label = label > 0 ? (float)label : 0.0F;
    return 1;
}
