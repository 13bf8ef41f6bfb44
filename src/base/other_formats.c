/* Recognises files by their first bytes or their first line. Messages then name the kind of file
 * that was passed instead of data or a model. */

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/ctx.h"
#include "base/mem.h"

#define EXPECTED "LETOR text (LABEL qid:QUERY FEATURE:VALUE ...), plain or gzip, or a cache"

/* Bytes at an offset. The first matching row applies. */
struct magic {
    size_t at, n;
    const char *bytes;
    const char *holds; /* must occur somewhere after the bytes, unless NULL */
    int is_word;       /* the bytes are letters that may begin a word: a control character or the
                          end must follow */
    struct rw_recognised kind;
};
#define BYTES(text)      .n = sizeof(text) - 1, .bytes = text
#define CONVERT(command) .convert_file = command, .convert_stdin = command
#define WORKBOOK         "an Excel workbook or another Office file"
/* A row for pickles of Python that name this module. call: the method that writes the model, for
 * the hint. */
#define PICKLE(module, program, call)                                                       \
    {                                                                                       \
        BYTES("\x80"), .holds = module, .kind = {                                           \
            .what = "a Python pickle of " program,                                          \
            .hint = "unpickle it in Python, write the model with " call ", and import that" \
        }                                                                                   \
    }
#define UBJSON      "an XGBoost model in UBJSON"
#define MODEL_FIRST "MODEL comes before DATA"
#define ONNX        "an ONNX model"
#define CATBOOST    "a CatBoost model"
#define LIGHTGBM_DUMP \
    "a dump cannot be imported; import the file that save_model('model.txt') writes"
#define DUMP "a dump cannot be imported; import the file that save_model('model.json') writes"
static const struct magic magics[] = {
    {BYTES("PAR1"), .kind = {.what = "a Parquet file"}},
    {BYTES("ARROW1"), .kind = {.what = "an Arrow (Feather) file"}},
    {BYTES("FEA1"), .kind = {.what = "a Feather file"}},
    {BYTES("\xff\xff\xff\xff"), .kind = {.what = "an Arrow stream"}},
    {BYTES("Obj\1"), .kind = {.what = "an Avro file"}},
    {BYTES("\x89HDF\r"), .kind = {.what = "an HDF5 file"}},
    {BYTES("\x93NUMPY"), .kind = {.what = "a numpy array (.npy)"}},
    {BYTES("SQLite format 3"), .kind = {.what = "an SQLite database"}},
    {BYTES("\xfd\x37zXZ"), .kind = {.what = "an xz file", CONVERT("xz -dc")}},
    {BYTES("\x28\xb5\x2f\xfd"), .kind = {.what = "a zstd file", CONVERT("zstd -dc")}},
    {.at = 4, BYTES("1AY&SY"), .kind = {.what = "a bzip2 file", CONVERT("bzip2 -dc")}},
    {BYTES("\x04\x22\x4d\x18"), .kind = {.what = "an lz4 file", CONVERT("lz4 -dc")}},
    {BYTES("\x1f\x8b"), .kind = {.what = "a gzip file", CONVERT("gzip -dc")}},
    {BYTES("LZIP\1"), .kind = {.what = "an lzip file", CONVERT("lzip -dc")}},
    {BYTES("\x1f\x9d"), .kind = {.what = "a compress (.Z) file", CONVERT("gzip -dc")}},
    {BYTES("7z\xbc\xaf\x27\x1c"), .kind = {.what = "a 7-Zip archive", .convert_file = "7z x -so"}},
    {BYTES("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), .kind = {.what = WORKBOOK}},
    {.at = 257,
     BYTES("ustar"),
     .kind = {.what = "a tar archive", .convert_file = "tar -xOf", .convert_stdin = "tar -xOf -"}},
    PICKLE("lightgbm.", "LightGBM", "booster_.save_model('model.txt')"),
    PICKLE("xgboost.", "XGBoost", "save_model('model.json')"),
    PICKLE("catboost.", "CatBoost", "save_model('model.json', format='json')"),
    {BYTES("\x80"), .holds = "rankwood.",
     .kind = {.what = "a Python pickle of Rankwood",
              .hint = "unpickle it in Python, and write the model with Model.save"}},
    {BYTES("\x80\2"), .kind = {.what = "a Python pickle"}},
    {BYTES("\x80\3"), .kind = {.what = "a Python pickle"}},
    {BYTES("\x80\4"), .kind = {.what = "a Python pickle"}},
    {BYTES("\x80\5"), .kind = {.what = "a Python pickle"}},
    {BYTES("%PDF"), .kind = {.what = "a PDF document"}},
    {BYTES("\x01\xab\xff\xff"), .kind = {.what = "an XGBoost DMatrix"}},
    {BYTES("______LightGBM_Binary_File_Token______"),
     .kind = {.what = "a LightGBM binary data set"}},
    {BYTES(RW_CACHE_MAGIC),
     .kind = {.what = "a cache",
              .packed_hint = "a cache must not be compressed: unpack it first",
              .is_data = 1}},
    {BYTES("\xff\xfe\0\0"),
     .kind = {.what = "text in UTF-32", CONVERT("iconv -f UTF-32 -t UTF-8")}},
    {BYTES("\xff\xfe"), .kind = {.what = "text in UTF-16", CONVERT("iconv -f UTF-16 -t UTF-8")}},
    {BYTES("\xfe\xff"), .kind = {.what = "text in UTF-16", CONVERT("iconv -f UTF-16 -t UTF-8")}},
    {BYTES(RW_MODEL_HEADER),
     .kind = {.what = "a Rankwood model", .hint = MODEL_FIRST, .is_model = 1}},
    {BYTES(RW_CHECKPOINT_HEADER), .kind = {.what = "a training checkpoint",
                                           .hint = "pass it as 'resume' to continue the training"}},
    /* models of other programs */
    {BYTES("tree\nversion="), .kind = {.what = "a LightGBM model", .from = "lightgbm"}},
    {BYTES("tree\r\nversion="), .kind = {.what = "a LightGBM model", .from = "lightgbm"}},
    {BYTES("{L\0\0\0\0\0\0\0\7learner"), .kind = {.what = UBJSON, .from = "xgboost-ubj"}},
    {BYTES("{L\0\0\0\0\0\0\0\7version"), .kind = {.what = UBJSON, .from = "xgboost-ubj"}},
    {BYTES("binf"),
     .kind = {.what = "an XGBoost model in its old binary format",
              .hint =
                  "load it in XGBoost, and import the file that save_model('model.json') writes"}},
    {BYTES("booster[0]:\n0:"), .kind = {.what = "an XGBoost dump", .hint = DUMP}},
    {BYTES("CBM1"), .kind = {.what = "a CatBoost model in its binary format",
                             .hint = "load it in CatBoost, and import the file that "
                                     "save_model('model.json', format='json') writes"}},
    {BYTES("##"), .holds = "<ensemble>", .kind = {.what = "a RankLib model", .from = "ranklib"}},
    {BYTES("\x08"), .holds = "TreeEnsembleRegressor", .kind = {.what = ONNX, .from = "onnx"}},
    {BYTES("\x08"), .holds = "TreeEnsembleClassifier", .kind = {.what = ONNX, .from = "onnx"}},
    {BYTES("\x08"), .holds = "TreeEnsemble", .kind = {.what = ONNX, .from = "onnx5"}},
    /* zip archives, by the names of their members */
    {BYTES("PK\3\4"), .holds = "docProps/", .kind = {.what = WORKBOOK}},
    {BYTES("PK\3\4"), .holds = "[Content_Types].xml", .kind = {.what = WORKBOOK}},
    {BYTES("PK\3\4"), .holds = ".npy", .kind = {.what = "an archive of numpy arrays (.npz)"}},
    {BYTES("PK\3\4"), .kind = {.what = "a zip archive", .convert_file = "unzip -p"}},
    {BYTES("ORC"), .is_word = 1, .kind = {.what = "an ORC file"}},
};

/* Text written by other programs. */
static const struct magic texts[] = {
    {BYTES("<"), .holds = "<ensemble>", .kind = {.what = "a RankLib model", .from = "ranklib"}},
    {BYTES("<"), .holds = "<ranker>", .kind = {.what = "a QuickRank model", .from = "quickrank"}},
    {BYTES("<"), .holds = "<PMML",
     .kind = {.what = "a PMML model", .hint = "PMML models can be exported, but not imported"}},
    {BYTES("<"), .kind = {.what = "XML or HTML"}},
    {BYTES("{"), .holds = "org.apache.solr.ltr", .kind = {.what = "a Solr model", .from = "solr"}},
    {BYTES("{"), .holds = "\"learner\"", .kind = {.what = "an XGBoost model", .from = "xgboost"}},
    {BYTES("{"), .holds = "\"num_tree_per_iteration\"",
     .kind = {.what = "a LightGBM JSON dump", .hint = LIGHTGBM_DUMP}},
    {BYTES("{"), .holds = "\"features_info\"", .kind = {.what = CATBOOST, .from = "catboost"}},
    {BYTES("{"), .holds = "\"oblivious_trees\"", .kind = {.what = CATBOOST, .from = "catboost"}},
    {BYTES(""), .holds = "\"nodeid\"", .kind = {.what = "an XGBoost dump", .hint = DUMP}},
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

/* ---- text ---- */

enum { MOST_WORDS = 8 };
struct word {
    const char *begin, *end;
};

/* Splits a line into its first words and returns the number of all its words. */
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

/* Returns 1 if the word is an entry such as "3:0.5". */
static int is_entry(struct word word)
{
    const char *colon = memchr(word.begin, ':', (size_t)(word.end - word.begin));
    return colon && colon > word.begin && is_whole((struct word){word.begin, colon}) &&
           is_number(colon + 1, word.end);
}

/* Recognises a table by a character that separates its columns. */
static struct rw_recognised table(const char *what, const char *line, const char *end, char between)
{
    const char *first_end = memchr(line, between, (size_t)(end - line));
    if (!first_end)
        return (struct rw_recognised){.what = NULL};
    struct rw_recognised kind = {.what = what, .is_text = 1, .columns = 1, .is_data = 1};
    kind.has_header = !is_number(line, first_end);
    if (between != ';')
        kind.hint = "a table needs a name that ends in .csv or .tsv, or the parameters "
                    "'label-column' and 'qid-column'";
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
        kind.is_data = 1;
        kind.hint = "each line needs a query id after the label, as in '1 qid:7 1:0.5', and a "
                    "query's lines must be consecutive; files of group sizes are not supported";
    } else if (n >= 3 && is_labelled && is_whole(word[1]) && is_entry(word[2])) {
        kind.what = "LETOR text without 'qid:' before the query ids";
        kind.is_data = 1;
    } else if (n == 6 && word[1].end - word[1].begin == 2 &&
               strncasecmp(word[1].begin, "q0", 2) == 0 && is_number(word[4].begin, word[4].end)) {
        kind.what = "a TREC run";
    } else if (n == 4 && is_whole(word[1]) && is_number(word[3].begin, word[3].end) &&
               !is_number(word[2].begin, word[2].end)) {
        kind.what = "TREC judgments (qrels)";
    } else if (n == 1 && is_labelled) {
        kind.what = "a file with one number per line, such as scores or weights";
    } else if (n == 1 && end - line == 4 && memcmp(line, "tree", 4) == 0) {
        kind.what = "a LightGBM model";
        kind.from = "lightgbm";
        kind.is_text = 0;
    } else if (n >= 3 && is_labelled && is_number(word[1].begin, word[1].end) &&
               is_number(word[2].begin, word[2].end)) {
        kind.what = "a table separated by blanks";
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
            kind.what = "JSON lines";
        return kind;
    }
    if (holds(line, end, "qid:"))
        return kind; /* meant as LETOR text: the description of the line's error suffices */
    kind = table("CSV", line, end, ',');
    if (!kind.what)
        kind = table("CSV with semicolons", line, end, ';');
    if (kind.what)
        return kind;
    kind = by_words(line, end);
    const struct rw_recognised tabs = table("TSV", line, end, '\t');
    return (!kind.what || kind.columns) && tabs.what ? tabs : kind;
}

static const char mark[] = "\xef\xbb\xbf"; /* UTF-8's byte order mark */

static int is_marked(const char *begin, const char *end)
{
    return end - begin >= 3 && memcmp(begin, mark, 3) == 0;
}

struct rw_recognised rw_recognise(const char *line, const char *end)
{
    struct rw_recognised kind = find(magics, N_ROWS(magics), line, end);
    if (kind.what)
        return kind;
    kind = by_text(is_marked(line, end) ? line + 3 : line, end);
    if (!kind.what && is_marked(line, end)) {
        kind.what = "text with a byte order mark";
        kind.convert_file = kind.convert_stdin = "tail -c +4";
    }
    return kind;
}

struct rw_recognised rw_recognise_head(const char *head, const char *end)
{
    struct rw_recognised kind = find(magics, N_ROWS(magics), head, end);
    const char *p = is_marked(head, end) ? head + 3 : head;
    while (!kind.what && p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *line_end = newline ? newline : end;
        while (p < line_end && isspace((unsigned char)*p))
            p++;
        if (p < line_end && strchr("<{[", *p))
            return find(texts, N_ROWS(texts), p, end);
        if (p < line_end && *p != '#') {
            kind = rw_recognise(p, line_end);
            if (!kind.what && holds(p, line_end, "qid:"))
                kind = (struct rw_recognised){.what = "LETOR text", .is_data = 1};
            return kind;
        }
        p = newline ? newline + 1 : end;
    }
    return kind;
}

/* Appends the lines after the first one. */
static void put_hints(const struct rw_recognised *kind, const char *name, int is_packed,
                      char *message, size_t size)
{
    size_t n = strlen(message);
    const char *hint = is_packed && kind->packed_hint ? kind->packed_hint : kind->hint;
    const int is_stdin = strcmp(name, "standard input") == 0;
    if (hint)
        n += (size_t)snprintf(message + n, size - n, "\nhint: %s", hint);
    if (n >= size)
        return;
    if (kind->from)
        snprintf(message + n, size - n, "\nhint: rankwood import '%s' --from %s -o MODEL", name,
                 kind->from);
    else if (is_stdin && kind->convert_stdin)
        snprintf(message + n, size - n, "\nhint: ... | %s%s | rankwood ... -",
                 is_packed ? "gzip -dc | " : "", kind->convert_stdin);
    else if (is_packed && kind->convert_stdin)
        snprintf(message + n, size - n, "\nhint: gzip -dc '%s' | %s | rankwood ... -", name,
                 kind->convert_stdin);
    else if (!is_packed && !is_stdin && kind->convert_file)
        snprintf(message + n, size - n, "\nhint: %s '%s' | rankwood ... -", kind->convert_file,
                 name);
}

void rw_recognised_message(const struct rw_recognised *kind, const char *name, int is_packed,
                           const char *wrong, char *message, size_t size)
{
    char columns[64] = "";
    if (kind->columns)
        snprintf(columns, sizeof(columns), " (%u columns%s)", kind->columns,
                 kind->has_header ? ", with a header" : "");
    if (kind->is_text)
        snprintf(message, size, "%s\nhint: '%s' looks like %s%s; expected " EXPECTED, wrong, name,
                 kind->what, columns);
    else
        snprintf(message, size, "'%s' looks like %s%s; expected " EXPECTED, name, kind->what,
                 is_packed && kind->packed_hint ? " inside gzip" : "");
    put_hints(kind, name, is_packed, message, size);
}

int rw_fail_not_a_model(struct rw_ctx *ctx, const struct rw_recognised *kind, const char *name,
                        const char *expected)
{
    char message[2048];
    struct rw_recognised about = *kind;
    snprintf(message, sizeof(message), "'%.1000s' looks like %s; expected %s", name, kind->what,
             expected);
    if (kind->is_data)
        about.hint = MODEL_FIRST;
    else if (kind->is_text) /* how to convert it to data does not matter here */
        about.hint = NULL;
    about.convert_file = about.convert_stdin = NULL;
    put_hints(&about, name, 0, message, sizeof(message));
    return rw_fail(ctx, RW_ERR_FORMAT, "%s", message);
}

/* ---- names in other encodings ---- */

/* Returns 1 if the first n bytes are UTF-8. */
static int is_utf8(const char *text, size_t n)
{
    size_t i = 0;
    for (int length; i < n; i += (size_t)length) {
        length = rw_utf8_bytes((const unsigned char *)text + i);
        if (length == 0)
            return 0;
    }
    return i == n;
}

/* Writes a character of Windows-1252 as UTF-8. Returns the number of bytes. */
static size_t put_latin1(unsigned char c, char utf8[3])
{
    static const uint16_t of_windows[32] = {
        0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,  0x2030, 0x160,
        0x2039, 0x152,  0x8d,   0x17d,  0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
        0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};
    const unsigned code = c >= 0x80 && c < 0xa0 ? of_windows[c - 0x80] : c;
    if (code < 0x80) {
        utf8[0] = (char)code;
        return 1;
    }
    size_t n = 0;
    if (code < 0x800) {
        utf8[n++] = (char)(0xc0 | code >> 6);
    } else {
        utf8[n++] = (char)(0xe0 | code >> 12);
        utf8[n++] = (char)(0x80 | (code >> 6 & 0x3f));
    }
    utf8[n++] = (char)(0x80 | (code & 0x3f));
    return n;
}

int rw_name_to_utf8(struct rw_ctx *ctx, char **name)
{
    const size_t n = strlen(*name);
    char *made, *to;
    if (is_utf8(*name, n))
        return 0;
    RW_TRY(RW_NEW(ctx, made, 3 * n + 1));
    to = made;
    for (size_t i = 0; i < n; i++)
        to += put_latin1((unsigned char)(*name)[i], to);
    rw_mem_free(*name);
    *name = made;
    return 1;
}

int rw_name_is(const char *name, const char *text, size_t n)
{
    if (strlen(name) == n && memcmp(name, text, n) == 0)
        return 1;
    if (is_utf8(text, n))
        return 0;
    for (size_t i = 0; i < n; i++) {
        char utf8[3];
        const size_t length = put_latin1((unsigned char)text[i], utf8);
        if (strncmp(name, utf8, length) != 0)
            return 0;
        name += length;
    }
    return *name == 0;
}
