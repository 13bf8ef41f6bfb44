#include "io/members.h"

#include <string.h>
#include <zlib.h>

#include "base/mem.h"

enum {
    LEAST_MEMBER = 18,      /* a header, a trailer; the content has at least two more */
    FIRST_WINDOW = 1 << 20, /* file bytes looked at */
    MOST_WINDOW = 1 << 24,  /* a larger member is unpacked in sequence */
    MOST_OUT = 1 << 27,     /* unpacked at a time */
    MOST_MEMBERS = 1 << 12,
};

/* Could a member begin here? RFC 1952: magic, deflate, no reserved flag, and the two bytes
 * about the packer as packers write them. */
static int may_begin(const unsigned char *p)
{
    return p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 && (p[3] & 0xe0) == 0 &&
           (p[8] == 0 || p[8] == 2 || p[8] == 4) && (p[9] <= 13 || p[9] == 255);
}

/* The next offset from `at` on where one may; n if there is none. */
static size_t next_begin(const unsigned char *raw, size_t at, size_t n)
{
    while (at + LEAST_MEMBER <= n) {
        const unsigned char *found = memchr(raw + at, 0x1f, n - LEAST_MEMBER + 1 - at);
        if (!found)
            return n;
        at = (size_t)(found - raw);
        if (may_begin(found))
            return at;
        at++;
    }
    return n;
}

/* The size of the content, modulo 2^32, is the member's end. */
static size_t size_before(const unsigned char *end)
{
    return (size_t)end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
}

/* Lists members of the first n bytes of `raw`; the last one may be cut short unless is_all.
 * Returns 1 if there are as many as are wanted, or more would be too much. */
static int list(struct rw_members *m, size_t n, int is_all, size_t wanted_out, int wanted_n)
{
    m->n = 0;
    m->raw_used = m->n_out = 0;
    while (m->raw_used < n && (m->n_out < wanted_out || m->n < wanted_n)) {
        const size_t begin = m->raw_used;
        const size_t end = next_begin(m->raw, begin + LEAST_MEMBER, n);
        if (n - begin < LEAST_MEMBER || (end == n && !is_all))
            return 0;
        const size_t n_out = size_before(m->raw + end);
        if (m->n == MOST_MEMBERS || n_out > MOST_OUT - m->n_out)
            return 1;
        if (RW_GROW(NULL, m->member, m->member_room, (size_t)m->n + 1) < 0)
            return 1;
        m->member[m->n++] = (struct rw_member){
            .at = begin, .n_bytes = end - begin, .out = m->n_out, .n_out = n_out};
        m->n_out += n_out;
        m->raw_used = end;
    }
    return m->raw_used == n ? is_all : 1;
}

int rw_members_next(struct rw_members *m, size_t wanted_out, int wanted_n)
{
    m->at += m->raw_used;
    m->raw_used = m->n_out = 0;
    m->n = 0;
    for (size_t window = FIRST_WINDOW; window <= MOST_WINDOW; window *= 2) {
        size_t got;
        if (RW_GROW(NULL, m->raw, m->room, window) < 0 ||
            rw_input_read_at(m->input, m->at, m->raw, window, &got) != 0) {
            m->raw_used = m->n_out = 0;
            return m->n = 0;
        }
        const int is_all = m->at + got == m->n_file;
        if (got == 0 || list(m, got, is_all, wanted_out, wanted_n) || is_all)
            break;
    }
    return m->n;
}

int rw_members_open(struct rw_ctx *ctx, struct rw_input *input, size_t wanted_out, int wanted_n,
                    struct rw_members **out)
{
    struct rw_members *m;
    uint64_t n_bytes;
    *out = NULL;
    if (!rw_input_is_packed(input, &n_bytes))
        return RW_OK;
    RW_TRY(RW_NEW(ctx, m, 1));
    m->input = input;
    m->n_file = n_bytes;
    if (rw_members_next(m, wanted_out, wanted_n) > 1) {
        m->raw_used = 0; /* they come again */
        *out = m;
    } else {
        rw_members_close(m);
    }
    return RW_OK;
}

void rw_members_close(struct rw_members *m)
{
    if (!m)
        return;
    rw_mem_free(m->raw);
    rw_mem_free(m->member);
    rw_mem_free(m);
}

int rw_members_unpack(const struct rw_members *m, int i, void *content)
{
    const struct rw_member *member = &m->member[i];
    unsigned char nothing; /* room for the end to be seen, where there is no content */
    const uInt room = member->n_out ? (uInt)member->n_out : 1;
    z_stream stream;
    memset(&stream, 0, sizeof(stream));
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return -1;
    stream.next_in = m->raw + member->at;
    stream.avail_in = (uInt)member->n_bytes;
    stream.next_out = member->n_out ? (unsigned char *)content + member->out : &nothing;
    stream.avail_out = room;
    const int z = inflate(&stream, Z_FINISH);
    const int is_whole =
        z == Z_STREAM_END && stream.avail_in == 0 && stream.total_out == member->n_out;
    inflateEnd(&stream);
    return is_whole ? 0 : -1;
}

void rw_members_leave(const struct rw_members *m, int i)
{
    rw_input_go_to_member(m->input, m->at + (i < m->n ? m->member[i].at : m->raw_used));
}
