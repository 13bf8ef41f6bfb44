/* Mutations that know words, numbers and lines, so that many inputs are read to their end; bytes
 * of binary formats are changed in place. libFuzzer's mutations are used too. If too few inputs
 * are accepted, a small change of an accepted one replaces libFuzzer's input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_input.h"

/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

/* At least a fifth of all inputs must be read to their end; libFuzzer's saved inputs lower the
 * share. */
enum { GOAL_PER_CENT = 40 };

#ifdef FUZZ_PLAIN
/* Without AddressSanitizer the stack cannot be printed of what ends inside of malloc: it would wait
 * for malloc's lock, and the input would not be written. */
void __sanitizer_print_stack_trace(void);
void __sanitizer_print_stack_trace(void)
{
}
#endif

/* ---- random numbers ---- */

static uint64_t state;

static uint32_t draw(size_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % (n ? n : 1));
}

/* ---- an input that is changed ---- */

struct input {
    uint8_t *data;
    size_t size, most;
};

struct span {
    size_t begin, end;
};

/* Bytes [begin, end) become `with`, [n]; nothing happens if there is no room. `with` is no part of
 * the input. */
static void replace(struct input *in, struct span span, const void *with, size_t n)
{
    const size_t removed = span.end - span.begin;
    if (in->size - removed + n > in->most)
        return;
    memmove(in->data + span.begin + n, in->data + span.end, in->size - span.end);
    if (n)
        memcpy(in->data + span.begin, with, n);
    in->size += n - removed;
}

static int is_between(uint8_t c)
{
    return c <= ' ' || strchr(",:;=<>[]{}()\"'/#", c) != NULL;
}

/* The word at a byte, or the next one; of length 0 at the end. */
static struct span word_at(const struct input *in, size_t at)
{
    struct span word = {at, at};
    while (word.begin < in->size && is_between(in->data[word.begin]))
        word.begin++;
    while (word.begin > 0 && word.begin < in->size && !is_between(in->data[word.begin - 1]))
        word.begin--;
    word.end = word.begin;
    while (word.end < in->size && !is_between(in->data[word.end]))
        word.end++;
    return word;
}

static struct span some_word(const struct input *in)
{
    return word_at(in, draw(in->size));
}

/* The line of a byte, with its end. */
static struct span line_at(const struct input *in, size_t at)
{
    struct span line = {at, at};
    while (line.begin > 0 && in->data[line.begin - 1] != '\n')
        line.begin--;
    while (line.end < in->size && in->data[line.end] != '\n')
        line.end++;
    line.end += line.end < in->size;
    return line;
}

static struct span some_line(const struct input *in)
{
    return line_at(in, draw(in->size));
}

static int is_number(const struct input *in, struct span word)
{
    if (word.begin == word.end)
        return 0;
    for (size_t i = word.begin; i < word.end; i++)
        if (!strchr("0123456789+-.eE", in->data[i]))
            return 0;
    return 1;
}

/* ---- mutations that leave much as it was ---- */

/* A digit becomes another. */
static void change_digit(struct input *in)
{
    for (size_t i = 0, at = draw(in->size); i < in->size; i++, at = (at + 1) % in->size) {
        if (in->data[at] >= '0' && in->data[at] <= '9') {
            in->data[at] = (uint8_t)('0' + draw(10));
            return;
        }
    }
}

/* A number becomes another of the input. */
static void copy_number(struct input *in)
{
    uint8_t other[40];
    for (int tries = 0; tries < 8; tries++) {
        const struct span from = some_word(in), to = some_word(in);
        const size_t n = from.end - from.begin;
        if (!is_number(in, from) || !is_number(in, to) || n > sizeof(other))
            continue;
        memcpy(other, in->data + from.begin, n);
        replace(in, to, other, n);
        return;
    }
}

/* A real number becomes a real number; whole ones often count something. */
static void make_real(struct input *in)
{
    static const char *const reals[] = {"0.5",       "-0.25", "1e-30",      "3.4028235e38",
                                        "-1e-45",    "-0",    "1e-300",     "0.10000000149011612",
                                        "123456.75", "1e20",  "16777217.5", "0.30000000000000004"};
    for (int tries = 0; tries < 16; tries++) {
        const struct span to = some_word(in);
        if (is_number(in, to) && memchr(in->data + to.begin, '.', to.end - to.begin)) {
            const char *real = reals[draw(sizeof(reals) / sizeof(reals[0]))];
            replace(in, to, real, strlen(real));
            return;
        }
    }
}

static void remove_line(struct input *in)
{
    replace(in, some_line(in), NULL, 0);
}

static uint8_t scratch[65536];

static void repeat_line(struct input *in)
{
    const struct span line = some_line(in);
    const size_t n = line.end - line.begin;
    if (n > sizeof(scratch))
        return;
    memcpy(scratch, in->data + line.begin, n);
    replace(in, (struct span){line.end, line.end}, scratch, n);
}

/* Changes some bytes of a binary format: flips a bit, adds to a byte, stores a small number. */
static void change_bytes(struct input *in)
{
    const size_t at = draw(in->size);
    const uint32_t how = draw(4);
    uint32_t number;
    if (how == 0)
        in->data[at] ^= (uint8_t)(1u << draw(8));
    else if (how == 1)
        in->data[at] = (uint8_t)(in->data[at] + draw(9) - 4);
    else if (how == 2)
        in->data[at] = (uint8_t)draw(256);
    else if (at + sizeof(number) <= in->size) {
        const float some[] = {0.0F, 0.5F, -1.0F, 1e30F, 3.4028235e38F, 1e-40F};
        memcpy(in->data + at, &some[draw(6)], sizeof(number));
    }
}

/* ---- mutations that may leave nothing as it was ---- */

static void put_word(struct input *in)
{
    size_t n_words = 0;
    while (fuzz_words[n_words])
        n_words++;
    const char *word = n_words ? fuzz_words[draw(n_words)] : "0";
    struct span to = some_word(in);
    if (draw(4) == 0)
        to.end = to.begin; /* inserted */
    replace(in, to, word, strlen(word));
}

static void put_number(struct input *in)
{
    static const char *const numbers[] = {"0",          "-1",
                                          "1",          "255",
                                          "256",        "65535",
                                          "65536",      "2147483647",
                                          "2147483648", "4294967295",
                                          "4294967296", "9223372036854775808",
                                          "1e39",       "-1e39",
                                          "1e-46",      "nan",
                                          "inf",        "18446744073709551616",
                                          "1e999",      "1.7976931348623157e308"};
    const char *number = numbers[draw(sizeof(numbers) / sizeof(numbers[0]))];
    replace(in, some_word(in), number, strlen(number));
}

static void copy_word(struct input *in)
{
    const struct span from = some_word(in);
    const size_t n = from.end - from.begin;
    if (n > sizeof(scratch))
        return;
    memcpy(scratch, in->data + from.begin, n);
    replace(in, some_word(in), scratch, n);
}

static void remove_word(struct input *in)
{
    replace(in, some_word(in), NULL, 0);
}

static void move_lines(struct input *in)
{
    struct span lines = some_line(in);
    for (uint32_t more = draw(4); more > 0 && lines.end < in->size; more--)
        lines.end = line_at(in, lines.end).end;
    const size_t n = lines.end - lines.begin;
    if (n > sizeof(scratch))
        return;
    memcpy(scratch, in->data + lines.begin, n);
    if (draw(2))
        replace(in, lines, NULL, 0);
    const size_t to = in->size ? some_line(in).begin : 0;
    replace(in, (struct span){to, to}, scratch, n);
}

/* Lines of one that was taken. */
static void splice(struct input *in)
{
    size_t n;
    const uint8_t *other = fuzz_taken(draw(64), &n);
    if (!other)
        return;
    struct input from = {(uint8_t *)(uintptr_t)other, n, n};
    struct span lines = some_line(&from);
    for (uint32_t more = draw(8); more > 0 && lines.end < n; more--)
        lines.end = line_at(&from, lines.end).end;
    const size_t to = in->size ? some_line(in).begin : 0;
    replace(in, (struct span){to, to}, other + lines.begin, lines.end - lines.begin);
}

static void put_integer(struct input *in)
{
    static const uint64_t numbers[] = {0,          1,          0x7f,       0x80,       0xff,
                                       0x7fff,     0xffff,     0x10000,    0x7fffffff, 0x80000000,
                                       0xffffffff, UINT64_MAX, 1ull << 62, 1ull << 32, INT64_MAX};
    const size_t n = (size_t)1 << draw(4);
    if (n > in->size)
        return;
    memcpy(in->data + draw(in->size - n + 1), &numbers[draw(sizeof(numbers) / sizeof(numbers[0]))],
           n);
}

static void mutate_bytes(struct input *in)
{
    in->size = LLVMFuzzerMutate(in->data, in->size, in->most);
}

/* ---- which ---- */

typedef void mutation_fn(struct input *in);
#define SOME(list) list[draw(sizeof(list) / sizeof(list[0]))]

static int is_text(const struct input *in)
{
    return in->size > 0 && !memchr(in->data, 0, in->size < 512 ? in->size : 512);
}

static void mutate_little(struct input *in)
{
    static mutation_fn *const text[] = {change_digit, change_digit, copy_number, make_real,
                                        repeat_line,  remove_line,  copy_word};
    (is_text(in) ? SOME(text) : change_bytes)(in);
}

static void mutate_much(struct input *in)
{
    static mutation_fn *const text[] = {put_word,     put_word,     put_number,
                                        copy_word,    remove_word,  move_lines,
                                        mutate_bytes, mutate_bytes, splice};
    static mutation_fn *const binary[] = {put_integer, put_integer, change_bytes, mutate_bytes,
                                          mutate_bytes};
    (is_text(in) ? SOME(text) : SOME(binary))(in);
}

static void print_counts(void)
{
    fprintf(stderr, "fuzz: %llu of %llu inputs were read to their end\n",
            (unsigned long long)fuzz_counts.n_taken, (unsigned long long)fuzz_counts.n_inputs);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static int is_announced;
    struct input in = {data, size, most};
    if (!is_announced) { /* all saved inputs were run */
        is_announced = atexit(print_counts) == 0;
        fuzz_counts.n_inputs = fuzz_counts.n_taken = 0;
    }
    state = seed;
    draw(1);
    const int is_short = fuzz_counts.n_taken * 100 < fuzz_counts.n_inputs * GOAL_PER_CENT;
    size_t n_taken;
    const uint8_t *taken = is_short && draw(4) > 0 ? fuzz_taken(draw(64), &n_taken) : NULL;
    if (taken && n_taken <= most) {
        memcpy(data, taken, n_taken);
        in.size = n_taken;
        mutate_little(&in);
    } else if (in.size > 0 && draw(3) == 0) {
        mutate_little(&in);
    } else if (in.size > 0) {
        mutate_much(&in);
    } else {
        mutate_bytes(&in);
    }
    if (in.size == 0)
        mutate_bytes(&in);
    return in.size;
}
