#include "base/words.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "rankwood.h"

size_t rw_word_distance(const char *a, const char *b)
{
    enum { LONGEST = 48 };
    const size_t m = strlen(a), n = strlen(b);
    size_t d[LONGEST + 1][LONGEST + 1];
    if (m > LONGEST || n > LONGEST)
        return m > n ? m : n;
    for (size_t i = 0; i <= m; i++) {
        for (size_t j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[m][n];
}

size_t rw_word_plain(const char *word, char *plain, size_t size)
{
    size_t n = 0;
    for (; word[n] && n < size - 1; n++)
        plain[n] = word[n] == '_' ? '-' : (char)tolower((unsigned char)word[n]);
    plain[n] = 0;
    return n;
}

/* must: the nearest, however far; else one that a slip may have been meant for, or NULL. */
static const char *find_nearest(const char *mistaken, const char *const *words, int n_words,
                                int must)
{
    char plain[64];
    const char *nearest = NULL;
    const size_t n = rw_word_plain(mistaken, plain, sizeof(plain));
    size_t best = must ? SIZE_MAX : n < 5 ? 1 : (n + 1) / 3; /* as many letters as a slip touches */
    for (int i = 0; i < n_words; i++) {
        const size_t length = strlen(words[i]), shared = n < length ? n : length;
        const int begins = !must && shared >= 3 && strncmp(plain, words[i], shared) == 0;
        if (!begins && n + length - 2 * shared > best)
            continue; /* each letter more is a step */
        size_t distance = rw_word_distance(plain, words[i]);
        if (begins && distance > 1)
            distance = 1; /* one begins with the other: "evaluate" */
        if (distance < best || (distance == best && !nearest)) {
            best = distance;
            nearest = words[i];
        }
    }
    return nearest;
}

const char *rw_word_nearest(const char *mistaken, const char *const *words, int n_words)
{
    return find_nearest(mistaken, words, n_words, 0);
}

const char *rw_word_nearest_always(const char *mistaken, const char *const *words, int n_words)
{
    return find_nearest(mistaken, words, n_words, 1);
}

int rw_words_by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}
