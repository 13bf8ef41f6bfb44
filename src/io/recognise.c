/* Files that are told by their first bytes, or by the look of their first line. */
#include "io/recognise.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/ctx.h"
#include "base/number.h"
#include "io/cache.h"

#define EXPECTED "LETOR text (LABEL qid:QUERY FEATURE:VALUE ...), gzip of it, or a cache"

/* Bytes at a place; the first row that fits is taken. */
struct magic {
    size_t at, n;
    const char *bytes, *what;
    const char *hint;
    const char *pipe, *filter; /* as in struct rw_recognised */
};
#define BYTES(at, bytes) at, sizeof(bytes) - 1, bytes
#define PLAIN(at, bytes, what)                   \
    {                                            \
        BYTES(at, bytes), what, NULL, NULL, NULL \
    }
#define HINT(at, bytes, what, hint)              \
    {                                            \
        BYTES(at, bytes), what, hint, NULL, NULL \
    }
#define PIPE(at, bytes, what, command)                 \
    {                                                  \
        BYTES(at, bytes), what, NULL, command, command \
    }
#define UTF(bytes, n) PIPE(0, bytes, "text in UTF-" n, "iconv -f UTF-" n " -t UTF-8")
#define WORKBOOK      "an Excel workbook, or another file of Office"
static const struct magic magics[] = {
    PLAIN(0, "PAR1", "a Parquet file"),
    PLAIN(0, "ARROW1", "an Arrow (Feather) file"),
    PLAIN(0, "FEA1", "a Feather file"),
    PLAIN(0, "\xff\xff\xff\xff", "an Arrow stream"),
    PLAIN(0, "Obj\1", "an Avro file"),
    PLAIN(0, "\x89HDF\r", "an HDF5 file"),
    PLAIN(0, "\x93NUMPY", "a numpy array (.npy)"),
    PLAIN(0, "SQLite format 3", "an SQLite database"),
    PIPE(0, "\xfd\x37zXZ", "an xz file", "xz -dc"),
    PIPE(0, "\x28\xb5\x2f\xfd", "a zstd file", "zstd -dc"),
    PIPE(4, "1AY&SY", "a bzip2 file", "bzip2 -dc"),
    PIPE(0, "\x04\x22\x4d\x18", "an lz4 file", "lz4 -dc"),
    PIPE(0, "LZIP\1", "an lzip file", "lzip -dc"),
    PIPE(0, "\x1f\x9d", "a file of compress", "gzip -dc"),
    {BYTES(0, "7z\xbc\xaf\x27\x1c"), "a 7-Zip archive", NULL, "7z x -so", NULL},
    PLAIN(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", WORKBOOK),
    {BYTES(257, "ustar"), "a tar archive", NULL, "tar -xOf", "tar -xOf -"},
    PLAIN(0, "\x80\2", "a Python pickle"),
    PLAIN(0, "\x80\3", "a Python pickle"),
    PLAIN(0, "\x80\4", "a Python pickle"),
    PLAIN(0, "\x80\5", "a Python pickle"),
    PLAIN(0, "%PDF", "a PDF document"),
    PLAIN(0, "\x01\xab\xff\xff", "a DMatrix of XGBoost"),
    PLAIN(0, "______LightGBM_Binary_File_Token______", "a data set of LightGBM"),
    HINT(0, RW_CACHE_MAGIC, "a cache inside gzip", "a cache is read as it is: unpack it first"),
    UTF("\xff\xfe\0\0", "32"),
    UTF("\xff\xfe", "16"),
    UTF("\xfe\xff", "16"),
    HINT(0, "rankwood model ", "a model of Rankwood", "of MODEL and DATA, the model comes first"),
};
static const struct magic orc = PLAIN(0, "ORC", "an ORC file");
/* Zip archives, by the names that are in them. */
static const struct magic zip = {BYTES(0, "PK\3\4"), "a zip archive", NULL, "unzip -p", NULL};
static const struct magic workbook = PLAIN(0, "PK\3\4", WORKBOOK);
static const struct magic arrays = PLAIN(0, "PK\3\4", "an archive of numpy arrays (.npz)");

static int holds(const char *begin, const char *end, const char *text)
{
    return begin < end && memmem(begin, (size_t)(end - begin), text, strlen(text)) != NULL;
}

static int fits(const struct magic *row, const char *begin, const char *end)
{
    const size_t n = (size_t)(end - begin);
    return row->at + row->n <= n && memcmp(begin + row->at, row->bytes, row->n) == 0;
}

static struct rw_recognised by_magic(const char *begin, const char *end)
{
    const struct magic *row = NULL;
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]) && !row; i++) {
        if (fits(&magics[i], begin, end))
            row = &magics[i];
    }
    if (!row && fits(&zip, begin, end))
        row = holds(begin, end, "docProps/") || holds(begin, end, "[Content_Types].xml") ? &workbook
              : holds(begin, end, ".npy")                                                ? &arrays
                                                                                         : &zip;
    /* three letters may begin a word: the length of a block follows them, or a newline's byte */
    if (!row && fits(&orc, begin, end) && (end - begin == 3 || (unsigned char)begin[3] < ' '))
        row = &orc;
    if (!row)
        return (struct rw_recognised){.what = NULL};
    return (struct rw_recognised){
        .what = row->what, .hint = row->hint, .pipe = row->pipe, .filter = row->filter};
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

/* Columns with such a character between them; 0: it is not in the line. */
static unsigned count_columns(const char *line, const char *end, char between)
{
    unsigned n = 0;
    for (const char *p = line; p < end; p++)
        n += *p == between;
    return n ? n + 1 : 0;
}

static struct rw_recognised table(const char *what, const char *line, const char *end, char between)
{
    struct rw_recognised kind = {.what = what, .is_text = 1};
    const char *first_end = memchr(line, between, (size_t)(end - line));
    kind.columns = count_columns(line, end, between);
    kind.has_header = !is_number(line, first_end ? first_end : end);
    return kind;
}

/* Objects and elements: text that other programs wrote. */
static struct rw_recognised by_bracket(const char *line, const char *end)
{
    struct rw_recognised kind = {.what = NULL};
    if (*line == '<')
        kind.what = holds(line, end, "<ensemble>") ? "a model of RankLib"
                    : holds(line, end, "<ranker>") ? "a model of QuickRank"
                    : holds(line, end, "<PMML")    ? "a model in PMML"
                                                   : "XML or HTML";
    else if (*line == '{' || *line == '[')
        kind.what = holds(line, end, "\"learner\"")           ? "a model of XGBoost"
                    : holds(line, end, "\"oblivious_trees\"") ? "a model of CatBoost"
                    : *line == '{' && end[-1] == '}'          ? "JSON, an object a line"
                                                              : "JSON";
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
    if (strchr("<{[", *line))
        return by_bracket(line, end);
    if (holds(line, end, "qid:"))
        return kind; /* meant as LETOR text: what is wrong with the line says it all */
    if (memchr(line, ',', (size_t)(end - line)))
        return table("CSV", line, end, ',');
    if (memchr(line, ';', (size_t)(end - line)))
        return table("CSV with semicolons", line, end, ';');
    kind = by_words(line, end);
    if ((!kind.what || kind.columns) && memchr(line, '\t', (size_t)(end - line)))
        return table("TSV", line, end, '\t');
    return kind;
}

struct rw_recognised rw_recognise(const char *line, const char *end)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct rw_recognised kind = by_magic(line, end);
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
