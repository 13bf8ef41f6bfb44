/* How near two words are, for messages that suggest the right one. */
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
