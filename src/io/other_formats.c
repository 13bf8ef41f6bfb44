/* Files that are known by their first bytes, or by the look of their first line. */
#include "io/other_formats.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/ctx.h"
#include "base/number.h"
#include "io/cache.h"

#define EXPECTED "LETOR text (LABEL qid:QUERY FEATURE:VALUE ...), gzip of it, or a cache"

/* Bytes at an offset; the first row that fits is taken. */
struct magic {
    size_t at, n;
    const char *bytes;
    const char *holds; /* must stand somewhere behind them; NULL: nothing must */
    int is_word;       /* letters may begin a word: a control character follows them, or nothing */
    struct rw_recognised kind;
};
#define BYTES(text)   .n = sizeof(text) - 1, .bytes = text
#define PIPE(command) .pipe = command, .filter = command
#define WORKBOOK      "an Excel workbook, or another file of Office"
static const struct magic magics[] = {
    {BYTES("PAR1"), .kind = {.what = "a Parquet file"}},
    {BYTES("ARROW1"), .kind = {.what = "an Arrow (Feather) file"}},
    {BYTES("FEA1"), .kind = {.what = "a Feather file"}},
    {BYTES("\xff\xff\xff\xff"), .kind = {.what = "an Arrow stream"}},
    {BYTES("Obj\1"), .kind = {.what = "an Avro file"}},
    {BYTES("\x89HDF\r"), .kind = {.what = "an HDF5 file"}},
    {BYTES("\x93NUMPY"), .kind = {.what = "a numpy array (.npy)"}},
    {BYTES("SQLite format 3"), .kind = {.what = "an SQLite database"}},
    {BYTES("\xfd\x37zXZ"), .kind = {.what = "an xz file", PIPE("xz -dc")}},
    {BYTES("\x28\xb5\x2f\xfd"), .kind = {.what = "a zstd file", PIPE("zstd -dc")}},
    {.at = 4, BYTES("1AY&SY"), .kind = {.what = "a bzip2 file", PIPE("bzip2 -dc")}},
    {BYTES("\x04\x22\x4d\x18"), .kind = {.what = "an lz4 file", PIPE("lz4 -dc")}},
    {BYTES("LZIP\1"), .kind = {.what = "an lzip file", PIPE("lzip -dc")}},
    {BYTES("\x1f\x9d"), .kind = {.what = "a file of compress", PIPE("gzip -dc")}},
    {BYTES("7z\xbc\xaf\x27\x1c"), .kind = {.what = "a 7-Zip archive", .pipe = "7z x -so"}},
    {BYTES("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), .kind = {.what = WORKBOOK}},
    {.at = 257,
     BYTES("ustar"),
     .kind = {.what = "a tar archive", .pipe = "tar -xOf", .filter = "tar -xOf -"}},
    {BYTES("\x80\2"), .kind = {.what = "a Python pickle"}},
    {BYTES("\x80\3"), .kind = {.what = "a Python pickle"}},
    {BYTES("\x80\4"), .kind = {.what = "a Python pickle"}},
    {BYTES("\x80\5"), .kind = {.what = "a Python pickle"}},
    {BYTES("%PDF"), .kind = {.what = "a PDF document"}},
    {BYTES("\x01\xab\xff\xff"), .kind = {.what = "a DMatrix of XGBoost"}},
    {BYTES("______LightGBM_Binary_File_Token______"), .kind = {.what = "a data set of LightGBM"}},
    {BYTES(RW_CACHE_MAGIC),
     .kind = {.what = "a cache inside gzip", .hint = "a cache is read as it is: unpack it first"}},
    {BYTES("\xff\xfe\0\0"), .kind = {.what = "text in UTF-32", PIPE("iconv -f UTF-32 -t UTF-8")}},
    {BYTES("\xff\xfe"), .kind = {.what = "text in UTF-16", PIPE("iconv -f UTF-16 -t UTF-8")}},
    {BYTES("\xfe\xff"), .kind = {.what = "text in UTF-16", PIPE("iconv -f UTF-16 -t UTF-8")}},
    {BYTES("rankwood model "),
     .kind = {.what = "a model of Rankwood", .hint = "of MODEL and DATA, the model comes first"}},
    /* zip archives, by the names that are in them */
    {BYTES("PK\3\4"), .holds = "docProps/", .kind = {.what = WORKBOOK}},
    {BYTES("PK\3\4"), .holds = "[Content_Types].xml", .kind = {.what = WORKBOOK}},
    {BYTES("PK\3\4"), .holds = ".npy", .kind = {.what = "an archive of numpy arrays (.npz)"}},
    {BYTES("PK\3\4"), .kind = {.what = "a zip archive", .pipe = "unzip -p"}},
    {BYTES("ORC"), .is_word = 1, .kind = {.what = "an ORC file"}},
};

/* Text that other programs wrote. */
static const struct magic texts[] = {
    {BYTES("<"), .holds = "<ensemble>", .kind = {.what = "a model of RankLib"}},
    {BYTES("<"), .holds = "<ranker>", .kind = {.what = "a model of QuickRank"}},
    {BYTES("<"), .holds = "<PMML", .kind = {.what = "a model in PMML"}},
    {BYTES("<"), .kind = {.what = "XML or HTML"}},
    {BYTES(""), .holds = "\"learner\"", .kind = {.what = "a model of XGBoost"}},
    {BYTES(""), .holds = "\"oblivious_trees\"", .kind = {.what = "a model of CatBoost"}},
    {BYTES(""), .kind = {.what = "JSON"}},
};
#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

static int holds(const char *begin, const char *end, const char *text)
{
    return begin < end && memmem(begin, (size_t)(end - begin), text, strlen(text)) != NULL;
}

static struct rw_recognised find(const struct magic *row, size_t n_rows, const char *begin,
                                 const char *end)
{
    const size_t n = (size_t)(end - begin);
    for (size_t i = 0; i < n_rows; i++, row++) {
        const size_t n_all = row->at + row->n;
        if (n_all <= n && memcmp(begin + row->at, row->bytes, row->n) == 0 &&
            (!row->holds || holds(begin, end, row->holds)) &&
            (!row->is_word || n == n_all || (unsigned char)begin[n_all] < ' '))
            return row->kind;
    }
    return (struct rw_recognised){.what = NULL};
}

/* ------------------------------------------------------------------ text */

enum { MOST_WORDS = 8 };
struct word {
    const char *begin, *end;
};

/* The first words of a line; returns how many words it has. */
static unsigned split(const char *p, const char *end, struct word word[MOST_WORDS])
{
    unsigned n = 0;
    while (p < end) {
        while (p < end && isspace((unsigned char)*p))
            p++;
        const char *begin = p;
        while (p < end && !isspace((unsigned char)*p))
            p++;
        if (p > begin && n < MOST_WORDS)
            word[n] = (struct word){begin, p};
        n += p > begin;
    }
    return n;
}

static int is_number(const char *begin, const char *end)
{
    double value;
    int clamped;
    return rw_number_parse_double(begin, end, &value, &clamped) == end;
}

static int is_whole(struct word word)
{
    const char *p = word.begin;
    while (p < word.end && *p >= '0' && *p <= '9')
        p++;
    return p == word.end;
}

/* "3:0.5" */
static int is_entry(struct word word)
{
    const char *colon = memchr(word.begin, ':', (size_t)(word.end - word.begin));
    return colon && colon > word.begin && is_whole((struct word){word.begin, colon}) &&
           is_number(colon + 1, word.end);
}

/* A table, if such a character is in the line: it stands between columns. */
static struct rw_recognised table(const char *what, const char *line, const char *end, char between)
{
    const char *first_end = memchr(line, between, (size_t)(end - line));
    if (!first_end)
        return (struct rw_recognised){.what = NULL};
    struct rw_recognised kind = {.what = what, .is_text = 1, .columns = 1};
    kind.has_header = !is_number(line, first_end);
    if (between != ';')
        kind.hint = "tables are read if their names end in .csv or .tsv, or if their columns are "
                    "given ('label-column', 'qid-column')";
    for (const char *p = line; p < end; p++)
        kind.columns += *p == between;
    return kind;
}

static struct rw_recognised by_words(const char *line, const char *end)
{
    struct rw_recognised kind = {.what = NULL, .is_text = 1};
    struct word word[MOST_WORDS] = {{line, line}};
    const unsigned n = split(line, end, word);
    const int is_labelled = is_number(word[0].begin, word[0].end);
    if (n >= 2 && is_labelled && is_entry(word[1])) {
        kind.what = "svmlight text without query ids";
        kind.hint = "each line needs its query's id behind the label, as in '1 qid:7 1:0.5', and a "
                    "query's lines stand together; files of group sizes are not read";
    } else if (n >= 3 && is_labelled && is_whole(word[1]) && is_entry(word[2])) {
        kind.what = "LETOR text without 'qid:' before the query ids";
    } else if (n == 6 && word[1].end - word[1].begin == 2 &&
               strncasecmp(word[1].begin, "q0", 2) == 0 && is_number(word[4].begin, word[4].end)) {
        kind.what = "a TREC run";
    } else if (n == 4 && is_whole(word[1]) && is_number(word[3].begin, word[3].end) &&
               !is_number(word[2].begin, word[2].end)) {
        kind.what = "TREC's judgments (qrels)";
    } else if (n == 1 && is_labelled) {
        kind.what = "a file of one number a line, as scores and weights are";
    } else if (n == 1 && end - line == 4 && memcmp(line, "tree", 4) == 0) {
        kind.what = "a model of LightGBM";
        kind.is_text = 0;
    } else if (n >= 3 && is_labelled && is_number(word[1].begin, word[1].end) &&
               is_number(word[2].begin, word[2].end)) {
        kind.what = "a table with blanks";
        kind.columns = n;
    }
    return kind;
}

static struct rw_recognised by_text(const char *line, const char *end)
{
    struct rw_recognised kind = {.what = NULL};
    while (line < end && isspace((unsigned char)*line))
        line++;
    while (end > line && isspace((unsigned char)end[-1]))
        end--;
    if (line == end || memchr(line, 0, (size_t)(end - line)))
        return kind;
    if (strchr("<{[", *line)) {
        kind = find(texts, N_ROWS(texts), line, end);
        if (strcmp(kind.what, "JSON") == 0 && *line == '{' && end[-1] == '}')
            kind.what = "JSON, an object a line";
        return kind;
    }
    if (holds(line, end, "qid:"))
        return kind; /* meant as LETOR text: what is wrong with the line says it all */
    kind = table("CSV", line, end, ',');
    if (!kind.what)
        kind = table("CSV with semicolons", line, end, ';');
    if (kind.what)
        return kind;
    kind = by_words(line, end);
    const struct rw_recognised tabs = table("TSV", line, end, '\t');
    return (!kind.what || kind.columns) && tabs.what ? tabs : kind;
}

struct rw_recognised rw_recognise(const char *line, const char *end)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct rw_recognised kind = find(magics, N_ROWS(magics), line, end);
    if (kind.what)
        return kind;
    const int is_marked = end - line >= 3 && memcmp(line, mark, 3) == 0;
    kind = by_text(is_marked ? line + 3 : line, end);
    if (!kind.what && is_marked) {
        kind.what = "text with a byte order mark";
        kind.pipe = kind.filter = "tail -c +4";
    }
    return kind;
}

void rw_recognised_message(const struct rw_recognised *kind, const char *name, int is_packed,
                           const char *wrong, char *message, size_t size)
{
    char columns[64] = "";
    size_t n;
    if (kind->columns)
        snprintf(columns, sizeof(columns), " (%u columns%s)", kind->columns,
                 kind->has_header ? ", with a header" : "");
    if (kind->is_text)
        n = (size_t)snprintf(message, size, "%s\nhint: '%s' looks like %s%s; expected " EXPECTED,
                             wrong, name, kind->what, columns);
    else
        n = (size_t)snprintf(message, size, "'%s' looks like %s; expected " EXPECTED, name,
                             kind->what);
    if (kind->hint && n < size)
        n += (size_t)snprintf(message + n, size - n, "\nhint: %s", kind->hint);
    if (n >= size)
        return;
    const int is_stdin = strcmp(name, "standard input") == 0;
    if (is_stdin && kind->filter)
        snprintf(message + n, size - n, "\nhint: ... | %s%s | rankwood ... -",
                 is_packed ? "gzip -dc | " : "", kind->filter);
    else if (is_packed && kind->filter)
        snprintf(message + n, size - n, "\nhint: gzip -dc '%s' | %s | rankwood ... -", name,
                 kind->filter);
    else if (!is_packed && !is_stdin && kind->pipe)
        snprintf(message + n, size - n, "\nhint: %s '%s' | rankwood ... -", kind->pipe, name);
}
