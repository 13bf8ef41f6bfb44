/* Inputs (io/input.h): bytes of a file, a pipe or memory, unpacked if they are gzip. The spool is
 * the list of pipes that were opened together; the content of a pipe that is read several times is
 * kept in memory or in a temporary file. Several threads can unpack the members of a gzip file. */
#include "io/input.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/system.h"
#include "binning/bins.h"
#include "comm/comm.h"
#include "io/data_format.h"

/* RAW_BYTES: bytes to read at a time from a pipe or a gzip file. PIECE_BYTES: size of a chunk of a
 * file to load, which one thread reads. SLICE_BYTES: bytes of a chunk to read and sum at a time. */
enum { RAW_BYTES = 1 << 18, PIECE_BYTES = 1 << 22, SLICE_BYTES = 1 << 17 };

struct rw_input {
    char *name; /* owned */
    int fd;     /* -1: bytes in memory */
    int close_fd;
    const unsigned char *memory; /* [memory_bytes] if fd is -1; read up to memory_at; borrowed */
    size_t memory_at, memory_bytes;
    unsigned char *raw; /* [raw_room] file bytes that are read but not used yet: [raw_at, raw_n);
                           owned */
    size_t raw_at, raw_n, raw_room;
    uint64_t n_raw_read; /* number of file bytes read into `raw` so far */
    int raw_end;         /* 1: the end of the file has been read */
    int gzip;
    int stream_open; /* 1: `stream` is inside a gzip member */
    int stream_made;
    z_stream stream;
    int failed;       /* status below 0 that all further calls return; 0: no failure */
    char error[1024]; /* its message */
};

const char *rw_input_name(const struct rw_input *input)
{
    return input->name;
}

static int fail_later(struct rw_input *input, int status, const char *what, const char *why)
{
    input->failed = status;
    snprintf(input->error, sizeof(input->error), "%s'%s': %s", what, input->name, why);
    return status;
}

static int fail_errno(struct rw_input *input, int why)
{
    return fail_later(input, rw_fail_io(NULL, why, "%s", ""), "cannot read ", strerror(why));
}

/* Reads more raw bytes after those not used yet. Sets raw_end at the end of the file. */
static int fetch(struct rw_input *input)
{
    if (input->raw_at == input->raw_n)
        input->raw_at = input->raw_n = 0;
    const size_t room = input->raw_room - input->raw_n;
    if (input->raw_end || room == 0)
        return RW_OK;
    ssize_t n;
    if (input->fd < 0) {
        const size_t left = input->memory_bytes - input->memory_at;
        n = (ssize_t)(left < room ? left : room);
        if (n)
            memcpy(input->raw + input->raw_n, input->memory + input->memory_at, (size_t)n);
        input->memory_at += (size_t)n;
        input->raw_end = input->memory_at == input->memory_bytes;
    } else {
        do {
            n = read(input->fd, input->raw + input->raw_n, room);
        } while (n < 0 && errno == EINTR);
        if (n < 0)
            return fail_errno(input, errno);
        input->raw_end = n == 0;
    }
    input->raw_n += (size_t)n;
    input->n_raw_read += (size_t)n;
    return RW_OK;
}

/* Opens a path that is in the spool. Returns 1, 0 if it is not there, or a negative status. */
static int open_kept(struct rw_ctx *ctx, const char *path, struct rw_input **out);

static int drop(struct rw_input **input, int status)
{
    rw_input_close(*input);
    *input = NULL;
    return status;
}

static int new_input(struct rw_ctx *ctx, const char *name, struct rw_input **out)
{
    RW_TRY(RW_NEW(ctx, *out, 1));
    (*out)->fd = -1;
    const int status = rw_mem_copy_text(ctx, &(*out)->name, name);
    return status < 0 ? drop(out, status) : RW_OK;
}

/* Returns RW_OK, or the failure recorded by fail_later. */
static int failure_of(struct rw_ctx *ctx, const struct rw_input *input)
{
    return input->failed ? rw_fail(ctx, input->failed, "%s", input->error) : RW_OK;
}

/* Reads ahead until at least n_bytes are available, or the file ends. */
static int fetch_ahead(struct rw_ctx *ctx, struct rw_input *input, size_t n_bytes)
{
    RW_TRY(RW_GROW(ctx, input->raw, input->raw_room, n_bytes));
    while (input->raw_n < n_bytes && !input->raw_end && fetch(input) >= 0)
        ;
    return failure_of(ctx, input);
}

/* Reads the first bytes, and detects gzip by two of them. */
static int open_content(struct rw_ctx *ctx, struct rw_input **out)
{
    struct rw_input *input = *out;
    input->raw_room = RAW_BYTES;
    if (input->fd < 0 && input->memory_bytes < RAW_BYTES) /* the size is known, and small */
        input->raw_room = input->memory_bytes < RW_INPUT_HEAD ? RW_INPUT_HEAD : input->memory_bytes;
    int status = RW_NEW_RAW(ctx, input->raw, input->raw_room);
    status = status < 0 ? status : fetch_ahead(ctx, input, RW_INPUT_HEAD);
    if (status < 0)
        return drop(out, status);
    input->gzip = input->raw_n >= 2 && input->raw[0] == 0x1f && input->raw[1] == 0x8b;
    return RW_OK;
}

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

int rw_input_open(struct rw_ctx *ctx, const char *path, struct rw_input **out)
{
    const int is_stdin = strcmp(path, "-") == 0;
    const int is_kept = open_kept(ctx, path, out);
    if (is_kept)
        return is_kept < 0 ? is_kept : RW_OK;
    RW_TRY(new_input(ctx, name_of(path), out));
    (*out)->fd = is_stdin ? STDIN_FILENO : rw_system_open(path, O_RDONLY, 0);
    (*out)->close_fd = !is_stdin;
    if ((*out)->fd < 0)
        return drop(out, rw_fail_io(ctx, errno, "cannot open '%s'", path));
    return open_content(ctx, out);
}

int rw_input_open_memory(struct rw_ctx *ctx, const char *name, const void *data, size_t n_bytes,
                         struct rw_input **out)
{
    RW_TRY(new_input(ctx, name, out));
    (*out)->memory = data;
    (*out)->memory_bytes = n_bytes;
    return open_content(ctx, out);
}

void rw_input_close(struct rw_input *input)
{
    if (!input)
        return;
    if (input->stream_made)
        inflateEnd(&input->stream);
    if (input->fd >= 0 && input->close_fd)
        close(input->fd);
    rw_mem_free(input->raw);
    rw_mem_free(input->name);
    rw_mem_free(input);
}

const unsigned char *rw_input_head(const struct rw_input *input, size_t *n_bytes)
{
    *n_bytes = input->raw_n < RW_INPUT_HEAD ? input->raw_n : RW_INPUT_HEAD;
    return input->raw;
}

/* Unpacks the gzip data at `from`. Returns the result of inflate, or Z_MEM_ERROR. */
static int unpack(z_stream *stream, unsigned char *from, size_t n_from, unsigned char *to,
                  size_t room, int flush)
{
    *stream = (z_stream){
        .next_in = from, .avail_in = (uInt)n_from, .next_out = to, .avail_out = (uInt)room};
    if (inflateInit2(stream, 15 + 16) != Z_OK)
        return Z_MEM_ERROR;
    const int z = inflate(stream, flush);
    inflateEnd(stream);
    return z;
}

size_t rw_input_peek(const struct rw_input *input, unsigned char *buffer, size_t room,
                     size_t *n_raw)
{
    size_t n = input->raw_n < room ? input->raw_n : room;
    *n_raw = n;
    if (!input->gzip) {
        memcpy(buffer, input->raw, n);
        return n;
    }
    z_stream stream;
    if (unpack(&stream, input->raw, input->raw_n, buffer, room, Z_NO_FLUSH) == Z_MEM_ERROR)
        return 0;
    *n_raw = stream.total_in; /* damage is reported when the data is read */
    return stream.total_out;
}

static size_t read_plain(struct rw_input *input, unsigned char *buffer, size_t room)
{
    size_t n = 0;
    while (n < room) {
        if (input->raw_at == input->raw_n) {
            if (input->raw_end || fetch(input) < 0 || input->raw_n == 0)
                break;
        }
        const size_t have = input->raw_n - input->raw_at;
        const size_t take = have < room - n ? have : room - n;
        memcpy(buffer + n, input->raw + input->raw_at, take);
        input->raw_at += take;
        n += take;
    }
    return n;
}

/* Starts the next gzip member. Returns 1, 0 at the end of the file, or a negative status. */
static int next_member(struct rw_input *input)
{
    while (input->raw_n - input->raw_at < 2 && !input->raw_end) {
        if (input->raw_at > 0) {
            memmove(input->raw, input->raw + input->raw_at, input->raw_n - input->raw_at);
            input->raw_n -= input->raw_at;
            input->raw_at = 0;
        }
        if (fetch(input) < 0)
            return input->failed;
    }
    if (input->raw_at == input->raw_n)
        return 0;
    if (input->raw_n - input->raw_at < 2 || input->raw[input->raw_at] != 0x1f ||
        input->raw[input->raw_at + 1] != 0x8b) {
        char why[96];
        snprintf(why, sizeof(why), "unexpected data after the gzip data, from byte %llu on",
                 (unsigned long long)(input->n_raw_read - (input->raw_n - input->raw_at)));
        return fail_later(input, RW_ERR_FORMAT, "cannot unpack ", why);
    }
    const int z =
        input->stream_made ? inflateReset(&input->stream) : inflateInit2(&input->stream, 15 + 16);
    if (z != Z_OK)
        return fail_later(input, RW_ERR_MEMORY, "cannot unpack ", "out of memory");
    input->stream_made = input->stream_open = 1;
    return 1;
}

static size_t read_gzip(struct rw_input *input, unsigned char *buffer, size_t room)
{
    size_t n = 0;
    while (n < room) {
        if (!input->stream_open && next_member(input) <= 0)
            break;
        if (input->raw_at == input->raw_n && !input->raw_end && fetch(input) < 0)
            break;
        const size_t take = room - n < (1u << 30) ? room - n : 1u << 30;
        input->stream.next_in = input->raw + input->raw_at;
        input->stream.avail_in = (uInt)(input->raw_n - input->raw_at);
        input->stream.next_out = buffer + n;
        input->stream.avail_out = (uInt)take;
        const int at_end = input->raw_end && input->raw_at == input->raw_n;
        const int z = inflate(&input->stream, Z_NO_FLUSH);
        input->raw_at = input->raw_n - input->stream.avail_in;
        n += take - input->stream.avail_out;
        if (z == Z_STREAM_END) {
            input->stream_open = 0;
        } else if (z == Z_BUF_ERROR || z == Z_OK) {
            if (at_end && input->stream.avail_out > 0) {
                fail_later(input, RW_ERR_FORMAT, "cannot unpack ", "the gzip data is truncated");
                break;
            }
        } else {
            fail_later(input, z == Z_MEM_ERROR ? RW_ERR_MEMORY : RW_ERR_FORMAT, "cannot unpack ",
                       z == Z_MEM_ERROR ? "out of memory" : "the gzip data is damaged");
            break;
        }
    }
    return n;
}

int rw_input_read(struct rw_ctx *ctx, struct rw_input *input, void *buffer, size_t room,
                  size_t *got)
{
    *got = 0;
    if (!input->failed)
        *got = input->gzip ? read_gzip(input, buffer, room) : read_plain(input, buffer, room);
    return *got == 0 ? failure_of(ctx, input) : RW_OK;
}

/* Returns 1 for a regular file that is read from its beginning. Returns 0 for standard input, which
 * may begin within a file, and for size 0, which some files report that are not empty. */
static int is_regular(const struct rw_input *input, uint64_t *n_bytes)
{
    struct stat info;
    if (input->fd < 0 || !input->close_fd || fstat(input->fd, &info) != 0 ||
        !S_ISREG(info.st_mode) || info.st_size <= 0)
        return 0;
    *n_bytes = (uint64_t)info.st_size;
    return 1;
}

static int is_file(const struct rw_input *input, uint64_t *n_bytes)
{
    *n_bytes = input->memory_bytes;
    return input->fd < 0 || is_regular(input, n_bytes);
}

int rw_input_is_seekable(const struct rw_input *input, uint64_t *n_bytes)
{
    return !input->gzip && is_file(input, n_bytes);
}

int rw_input_is_packed(const struct rw_input *input, uint64_t *n_bytes)
{
    return input->gzip && is_file(input, n_bytes);
}

int rw_input_is_gzip(const struct rw_input *input)
{
    return input->gzip;
}

/* Continues reading with the gzip member at raw byte `at`. Requires rw_input_is_packed. */
static void go_to_member(struct rw_input *input, uint64_t at)
{
    input->raw_at = input->raw_n = 0;
    input->raw_end = input->stream_open = 0;
    input->n_raw_read = at;
    if (input->fd < 0) {
        input->memory_at = (size_t)at;
    } else if (lseek(input->fd, (off_t)at, SEEK_SET) < 0) {
        fail_errno(input, errno);
    }
}

int rw_input_read_at(const struct rw_input *input, uint64_t at, void *buffer, size_t n, size_t *got)
{
    *got = 0;
    if (input->fd < 0) {
        const size_t left = at < input->memory_bytes ? input->memory_bytes - (size_t)at : 0;
        *got = n < left ? n : left;
        if (*got)
            memcpy(buffer, input->memory + at, *got);
        return 0;
    }
    while (*got < n) {
        const ssize_t more = pread(input->fd, (char *)buffer + *got, n - *got, (off_t)(at + *got));
        if (more < 0 && errno != EINTR)
            return errno;
        if (more == 0)
            break;
        if (more > 0)
            *got += (size_t)more;
    }
    return 0;
}

/* Sets the size, and rounds the range to leave out to whole slices (SLICE_BYTES) of the file. */
static void set_size(struct rw_loaded *loaded, size_t n_bytes)
{
    const size_t end = loaded->left_out_end < n_bytes ? loaded->left_out_end : n_bytes;
    const size_t begin = (loaded->left_out + SLICE_BYTES - 1) / SLICE_BYTES * SLICE_BYTES;
    loaded->n_bytes = n_bytes;
    loaded->left_out_end = end / SLICE_BYTES * SLICE_BYTES;
    loaded->left_out = begin < loaded->left_out_end ? begin : loaded->left_out_end;
}

/* Sums and loads file bytes [begin, end), except those that `loaded` leaves out. */
struct load_job {
    const struct rw_input *input;
    const struct rw_loaded *loaded;
    uint64_t begin, end;
    uint32_t *sums; /* checksum of each chunk of PIECE_BYTES */
    int read_errno; /* errno of any failed read; 0 after RW_ERR_IO: the file has become shorter */
};

/* Loads a chunk slice by slice, so each is summed while it is in the processor's caches. left_out:
 * [SLICE_BYTES] scratch for data that is not kept. */
static int load_chunk(struct load_job *job, uint64_t chunk, unsigned char *left_out, int *why)
{
    const struct rw_loaded *l = job->loaded;
    const uint64_t first = job->begin + chunk * PIECE_BYTES, left = job->end - first;
    const uint64_t end = left < PIECE_BYTES ? job->end : first + PIECE_BYTES;
    size_t n, got;
    for (uint64_t at = first; at < end; at += n) {
        n = end - at < SLICE_BYTES ? (size_t)(end - at) : SLICE_BYTES;
        unsigned char *to =
            at >= l->left_out && at < l->left_out_end ? left_out : (unsigned char *)l->data + at;
        *why = rw_input_read_at(job->input, at, to, n, &got);
        if (*why || got < n)
            return RW_ERR_IO;
        job->sums[chunk] = rw_checksum(job->sums[chunk], to, n);
    }
    return RW_OK;
}

static int load_chunks(void *user, struct rw_share *share)
{
    struct load_job *job = user;
    unsigned char *left_out;
    int status, why = 0;
    RW_TRY(RW_NEW_RAW(NULL, left_out, SLICE_BYTES));
    for (uint64_t chunk, end; rw_share_next(share, &chunk, &end);)
        RW_TRY_OUT(load_chunk(job, chunk, left_out, &why));
    status = RW_OK;
out:
    if (why) {
        rw_share_lock(share);
        job->read_errno = why;
        rw_share_unlock(share);
    }
    rw_mem_free(left_out);
    return status;
}

/* Returns the checksum of n_bytes bytes, computed from those of chunks. */
static uint32_t join_sums(const uint32_t *sums, size_t n_bytes)
{
    const size_t n_whole = n_bytes / PIECE_BYTES, rest = n_bytes % PIECE_BYTES;
    uint32_t crc = 0;
    for (size_t i = 0; i < n_whole; i++)
        crc = (uint32_t)crc32_combine(crc, sums[i], PIECE_BYTES);
    return rest ? (uint32_t)crc32_combine(crc, sums[n_whole], (z_off_t)rest) : crc;
}

static int fail_no_room(struct rw_ctx *ctx, const struct rw_input *input)
{
    return rw_fail(ctx, RW_ERR_MEMORY, "out of memory while reading '%s'", input->name);
}

int rw_input_check_room(struct rw_ctx *ctx, const struct rw_input *input, size_t bytes)
{
    char lack[RW_LIMIT_TEXT];
    if (bytes <= PIECE_BYTES || !rw_memory_lacks(bytes, lack)) /* small sizes are not checked */
        return RW_OK;
    return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: '%s' needs %s", input->name, lack);
}

/* Loads bytes [begin, end) of a regular file with all threads. */
static int load_range(struct rw_ctx *ctx, const struct rw_input *input, uint64_t begin,
                      uint64_t end, const struct rw_loaded *loaded, uint32_t *crc)
{
    const size_t n_bytes = (size_t)(end - begin);
    const uint64_t n_chunks = n_bytes / PIECE_BYTES + (n_bytes % PIECE_BYTES > 0);
    struct load_job job = {.input = input, .loaded = loaded, .begin = begin, .end = end};
    RW_TRY(RW_NEW(ctx, job.sums, n_chunks));
    const int status = rw_parallel(ctx, ctx->n_threads, n_chunks, 1, load_chunks, &job);
    *crc = join_sums(job.sums, n_bytes);
    rw_mem_free(job.sums);
    if (status == RW_ERR_MEMORY)
        return fail_no_room(ctx, input);
    if (status != RW_ERR_IO)
        return status;
    return job.read_errno
               ? rw_fail_io(ctx, job.read_errno, "cannot read '%s'", input->name)
               : rw_fail(ctx, status, "cannot read '%s': it became shorter while it was being read",
                         input->name);
}

static int load_file(struct rw_ctx *ctx, struct rw_input *input, struct rw_loaded *loaded)
{
    const size_t n = loaded->n_bytes, left_out = loaded->left_out, end = loaded->left_out_end;
    RW_TRY(rw_input_check_room(ctx, input, n - (end - left_out)));
    char *map = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return fail_no_room(ctx, input);
    loaded->data = map;
    int status = mprotect(map, left_out, PROT_READ | PROT_WRITE) == 0 &&
                         mprotect(map + end, n - end, PROT_READ | PROT_WRITE) == 0
                     ? RW_OK
                     : fail_no_room(ctx, input);
    rw_system_large_pages(map, n);
    if (status >= 0)
        status = load_range(ctx, input, 0, n, loaded, &loaded->crc);
    if (status < 0)
        munmap(map, n);
    return status;
}

/* Loads a stream. It must be in memory as a whole before parts can be left out. */
static int load_stream(struct rw_ctx *ctx, struct rw_input *input, struct rw_loaded *loaded)
{
    size_t room = input->fd < 0 ? input->memory_bytes + 1 : RAW_BYTES, n = 0;
    unsigned char *map = rw_system_map(room, 0);
    while (map != MAP_FAILED) {
        const size_t got = read_plain(input, map + n, room - n);
        loaded->crc = rw_checksum(loaded->crc, map + n, got);
        n += got;
        if (n < room)
            break;
        unsigned char *bigger = rw_system_remap(map, room, room * 2);
        if (bigger == MAP_FAILED)
            munmap(map, room);
        map = bigger;
        room *= 2;
    }
    if (map == MAP_FAILED)
        return fail_no_room(ctx, input);
    if (input->failed || n == 0) {
        munmap(map, room);
        return input->failed ? failure_of(ctx, input)
                             : rw_fail(ctx, RW_ERR_FORMAT, "'%s' is empty", input->name);
    }
    set_size(loaded, n);
    rw_system_forget(map + loaded->left_out, loaded->left_out_end - loaded->left_out);
    /* shrinks in place, so munmap(n_bytes) frees everything */
    loaded->data = rw_system_remap(map, room, loaded->n_bytes);
    return RW_OK;
}

int rw_input_load(struct rw_ctx *ctx, struct rw_input *input, struct rw_loaded *loaded)
{
    uint64_t n_bytes;
    loaded->data = NULL;
    loaded->crc = 0;
    if (!is_regular(input, &n_bytes))
        return load_stream(ctx, input, loaded);
    set_size(loaded, (size_t)n_bytes);
    return load_file(ctx, input, loaded);
}

int rw_input_sum(struct rw_ctx *ctx, const struct rw_input *input, uint64_t begin, uint64_t end,
                 uint32_t *crc)
{
    const struct rw_loaded nothing = {.left_out_end = SIZE_MAX};
    return load_range(ctx, input, begin, end, &nothing, crc);
}

int rw_input_read_all(struct rw_ctx *ctx, struct rw_input *input, char **text, size_t *n_bytes)
{
    char *all RW_FREED = NULL;
    size_t room = 0, n = 0, got;
    *text = NULL;
    do {
        RW_TRY(RW_GROW(ctx, all, room, n + (1 << 14)));
        RW_TRY(rw_input_read(ctx, input, all + n, room - n - 1, &got));
        n += got;
    } while (n == room - 1 || got > 0);
    all[n] = 0;
    *text = all;
    *n_bytes = n;
    all = NULL;
    return RW_OK;
}

/* A path in the spool: a pipe, or standard input from a regular file. */
struct rw_spool {
    struct rw_spool *next; /* owned */
    char *path, *name;     /* as given, and for messages; owned */
    unsigned char *little; /* [n_bytes] content, if `fd` is -1; owned */
    int fd;                /* a file with the content, usually a temporary one, or -1 */
    uint64_t n_bytes;
    struct rw_input *input; /* the pipe itself, if it is not stored, until it is opened; owned */
};

static void spool_free(struct rw_spool *spool)
{
    if (!spool)
        return;
    rw_input_close(spool->input);
    if (spool->fd >= 0)
        close(spool->fd);
    rw_mem_free(spool->little);
    rw_mem_free(spool->path);
    rw_mem_free(spool->name);
    rw_mem_free(spool);
}
RW_SCOPED_BY(spool_free)

void rw_spool_end(struct rw_ctx *ctx, int begun)
{
    while (begun && ctx->spool) {
        struct rw_spool *spool = ctx->spool;
        ctx->spool = spool->next;
        spool_free(spool);
    }
}

static struct rw_spool *find(const struct rw_ctx *ctx, const char *path)
{
    struct rw_spool *spool = ctx ? ctx->spool : NULL;
    while (spool && strcmp(spool->path, path) != 0)
        spool = spool->next;
    return spool;
}

static int is_pipe(const char *path)
{
    struct stat info;
    return strcmp(path, "-") == 0 || (stat(path, &info) == 0 && S_ISFIFO(info.st_mode));
}

/* ---- a temporary file ---- */

/* Opens a file without a name. `path` receives the name that it had. */
static int open_temporary(char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");
    const int n = snprintf(path, size, "%s/rankwood-XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = n > 0 && (size_t)n < size ? rw_system_above_standard(mkstemp(path)) : -1;
    if (fd < 0)
        return -1;
    unlink(path);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static int write_all(int fd, const unsigned char *from, size_t n)
{
    while (n) {
        const ssize_t done = write(fd, from, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        from += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Copies the pipe's content to the file: bytes already read, and all that follow. */
static int fill_temporary(struct rw_ctx *ctx, struct rw_spool *spool, const char *path)
{
    struct rw_input *input = spool->input;
    int why = 0;
    while (!why && !input->raw_end) {
        why = write_all(spool->fd, input->raw, input->raw_n);
        spool->n_bytes += input->raw_n;
        input->raw_at = input->raw_n;
        if (fetch(input) < 0)
            return failure_of(ctx, input);
    }
    return why ? rw_fail_io(ctx, why,
                            "cannot copy '%s' to the temporary file '%s', which training from a "
                            "pipe needs (set TMPDIR to another folder)",
                            spool->name, path)
               : RW_OK;
}

/* ---- a pipe ---- */

/* Returns 1 for standard input from a regular file, at its beginning. Such a file need not be
 * copied. */
static int is_plain_file(const char *path, uint64_t *n_bytes)
{
    struct stat info;
    if (strcmp(path, "-") != 0 || fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode) ||
        lseek(STDIN_FILENO, 0, SEEK_CUR) != 0 || info.st_size <= 0)
        return 0;
    *n_bytes = (uint64_t)info.st_size;
    return 1;
}

/* Stores the content of a pipe, or leaves the pipe to be read once. */
static int keep(struct rw_ctx *ctx, struct rw_spool *spool, struct rw_read_goal *goal)
{
    /* bytes of "0 qid:1\n"; content with no more documents than the sample stays in memory */
    enum { LEAST_LINE = 8 };
    struct rw_input *input = spool->input;
    char path[4096] = "";
    if (rw_data_format_of(ctx, input) != &rw_data_format_letor)
        return RW_OK;
    RW_TRY(fetch_ahead(ctx, input, (size_t)LEAST_LINE * rw_cut_sample_docs));
    if (input->raw_end) {
        spool->little = RW_TAKE(input->raw);
        spool->n_bytes = input->raw_n;
    } else {
        spool->fd = goal->bins_text(ctx, goal) ? open_temporary(path, sizeof(path)) : -1;
        if (spool->fd < 0)
            return RW_OK; /* the text is not binned while it is read, or cannot be stored: it is
                             read once */
        RW_TRY(fill_temporary(ctx, spool, path));
    }
    rw_input_close(input);
    spool->input = NULL;
    return RW_OK;
}

static int add(struct rw_ctx *ctx, const char *path, struct rw_read_goal *goal)
{
    RW_SCOPED(spool_free) struct rw_spool *spool = NULL;
    RW_TRY(RW_NEW(ctx, spool, 1));
    spool->fd = -1;
    RW_TRY(rw_mem_copy_text(ctx, &spool->path, path));
    RW_TRY(rw_mem_copy_text(ctx, &spool->name, name_of(path)));
    if (is_plain_file(path, &spool->n_bytes)) {
        spool->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (spool->fd < 0)
            return rw_fail_io(ctx, errno, "cannot read standard input");
    } else {
        RW_TRY(rw_input_open(ctx, path, &spool->input));
        RW_TRY(keep(ctx, spool, goal));
    }
    spool->next = ctx->spool;
    ctx->spool = spool;
    spool = NULL;
    return RW_OK;
}

int rw_spool_begin(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                   struct rw_read_goal *goal)
{
    int begun = 0;
    for (int i = 0; goal->bins_text && rw_n_workers(ctx) == 1 && i < n_paths; i++) {
        if (!is_pipe(paths[i]) || find(ctx, paths[i]))
            continue;
        const int status = add(ctx, paths[i], goal);
        if (status < 0) {
            rw_spool_end(ctx, begun);
            return status;
        }
        begun = 1;
    }
    return begun;
}

/* ---- reading stored pipes ---- */

int rw_spool_size(const struct rw_ctx *ctx, const char *path, uint64_t *n_bytes)
{
    const struct rw_spool *spool = find(ctx, path);
    if (!spool || (spool->fd < 0 && !spool->little))
        return 0;
    *n_bytes = spool->n_bytes;
    return 1;
}

int rw_spool_is_once(const struct rw_ctx *ctx, const char *path)
{
    const struct rw_spool *spool = find(ctx, path);
    return spool && spool->fd < 0 && !spool->little;
}

/* Opens the temporary file from its beginning. Only one input at a time may use it. */
static int open_again(struct rw_ctx *ctx, const struct rw_spool *spool, struct rw_input **out)
{
    RW_TRY(new_input(ctx, spool->name, out));
    (*out)->fd = fcntl(spool->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    (*out)->close_fd = 1;
    if ((*out)->fd < 0 || lseek(spool->fd, 0, SEEK_SET) < 0)
        return drop(out, rw_fail_io(ctx, errno, "cannot open '%s' again", spool->name));
    return open_content(ctx, out);
}

static int open_kept(struct rw_ctx *ctx, const char *path, struct rw_input **out)
{
    struct rw_spool *spool = find(ctx, path);
    if (!spool)
        return 0;
    if (spool->input) {
        *out = spool->input;
        spool->input = NULL;
        return 1;
    }
    RW_TRY(spool->little
               ? rw_input_open_memory(ctx, spool->name, spool->little, (size_t)spool->n_bytes, out)
               : open_again(ctx, spool, out));
    return 1;
}

enum {
    LEAST_MEMBER = 18,      /* header and trailer; the content has at least two more bytes */
    FIRST_WINDOW = 1 << 20, /* file bytes to search first; doubled until enough members are found */
    MOST_WINDOW = 1 << 24,  /* most file bytes to search; a larger member is unpacked in sequence */
    MOST_OUT = 1 << 27,     /* most bytes to unpack at a time */
    MOST_MEMBERS = 1 << 12, /* most members to unpack at a time */
};

/* Returns 1 if a member could begin here. It needs the magic bytes, deflate and no reserved flag
 * (RFC 1952), and the two bytes about the packer must have the usual values. */
static int may_begin(const unsigned char *p)
{
    return p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 && (p[3] & 0xe0) == 0 &&
           (p[8] == 0 || p[8] == 2 || p[8] == 4) && (p[9] <= 13 || p[9] == 255);
}

/* Returns the next offset from `at` on where a member may begin, or n. */
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

/* Returns the content's size modulo 2^32, which a member ends with. */
static size_t size_before(const unsigned char *end)
{
    return (size_t)end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
}

/* Lists the members in the first n bytes of `raw`. Unless is_all, more bytes of the file follow,
 * and the last member, which may be incomplete, is left out. Returns 1 if enough members are found,
 * or all, or if a limit is reached or memory is short. */
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
        m->raw_used = 0; /* they will be listed again */
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
    unsigned char nothing; /* one byte, so inflate can detect the end of an empty member */
    z_stream stream;
    const int z = unpack(&stream, m->raw + member->at, member->n_bytes,
                         member->n_out ? (unsigned char *)content + member->out : &nothing,
                         member->n_out ? member->n_out : 1, Z_FINISH);
    return z == Z_STREAM_END && stream.avail_in == 0 && stream.total_out == member->n_out ? 0 : -1;
}

void rw_members_leave(const struct rw_members *m, int i)
{
    go_to_member(m->input, m->at + (i < m->n ? m->member[i].at : m->raw_used));
}
