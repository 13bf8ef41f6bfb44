/* NCCL for emulated devices, whose workers are threads of one process. RANKWOOD_NCCL names this
 * library. Every call completes before it returns, as all work of an emulated stream does. It
 * waits for all workers, and the last one to arrive computes the results. If calls do not match,
 * or a worker gave up or does not arrive in time, every worker gets an error. */
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace
{

enum result { SUCCESS = 0, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6 };
enum type { UINT32 = 3, UINT64 = 5 };
enum op { SUM = 0, MAX = 2, MIN = 3, NONE };
enum kind { INIT, ALL_REDUCE, REDUCE_SCATTER };
constexpr std::chrono::seconds PATIENCE{20};

struct call {
    enum kind kind;
    size_t n; /* of all_reduce: elements; else: of each worker */
    int type, op;
    const void *send;
    void *recv;

    bool belongs_to(const call &other) const
    {
        return kind == other.kind && n == other.n && type == other.type && op == other.op;
    }
};

struct group {
    explicit group(int n) : calls(static_cast<size_t>(n))
    {
    }

    std::mutex lock;
    std::condition_variable changed;
    std::vector<call> calls; /* [workers] of the current collective */
    size_t n_come = 0;
    uint64_t n_done = 0;
    int result = SUCCESS; /* of the last one that is done */
    bool is_broken = false;
};

struct communicator {
    std::shared_ptr<group> of;
    size_t rank;
};

struct id {
    char internal[128];
};

std::mutex registry_lock;
std::map<uint64_t, std::weak_ptr<group>> registry; /* by the number that an id begins with */

template <typename T> T reduced(int op, T a, T b)
{
    return op == SUM ? static_cast<T>(a + b) : op == MAX ? (a > b ? a : b) : (a < b ? a : b);
}

/* n elements from `from` on, of all workers. */
template <typename T> std::vector<T> reduce(const std::vector<call> &calls, size_t from, size_t n)
{
    std::vector<T> out(n);
    for (size_t rank = 0; rank < calls.size(); rank++) {
        const T *send = static_cast<const T *>(calls[rank].send) + from;
        for (size_t i = 0; i < n; i++)
            out[i] = rank == 0 ? send[i] : reduced(calls[0].op, out[i], send[i]);
    }
    return out;
}

/* Nothing is written before all is read: ranks receive where they send from. */
template <typename T> void perform(const std::vector<call> &calls)
{
    const size_t n = calls[0].n, n_ranks = calls.size();
    const bool scatters = calls[0].kind == REDUCE_SCATTER;
    const std::vector<T> all = reduce<T>(calls, 0, scatters ? n * n_ranks : n);
    for (size_t rank = 0; rank < n_ranks; rank++) {
        const size_t count = scatters ? n : all.size();
        if (count > 0)
            std::memcpy(calls[rank].recv, all.data() + (scatters ? rank * n : 0),
                        count * sizeof(T));
    }
}

int perform_any(const std::vector<call> &calls)
{
    for (const call &one : calls) {
        if (!one.belongs_to(calls[0]))
            return INVALID_USAGE;
    }
    if (calls[0].kind == INIT)
        return SUCCESS;
    switch (calls[0].type) {
    case UINT32:
        perform<uint32_t>(calls);
        return SUCCESS;
    case UINT64:
        perform<uint64_t>(calls);
        return SUCCESS;
    default:
        return INVALID_ARGUMENT;
    }
}

int meet(const communicator &comm, const call &mine)
{
    group &of = *comm.of;
    std::unique_lock<std::mutex> guard(of.lock);
    if (of.is_broken)
        return REMOTE_ERROR;
    const uint64_t turn = of.n_done;
    of.calls[comm.rank] = mine;
    if (++of.n_come == of.calls.size()) {
        of.result = perform_any(of.calls);
        of.n_come = 0;
        of.n_done++;
        of.changed.notify_all();
        return of.result;
    }
    of.changed.wait_for(guard, PATIENCE, [&] { return of.n_done != turn || of.is_broken; });
    if (of.n_done != turn)
        return of.result; /* no other worker has begun another collective without this one */
    of.is_broken = true;
    of.changed.notify_all();
    return REMOTE_ERROR;
}

std::shared_ptr<group> group_of(const id &of, int n_ranks)
{
    uint64_t number;
    std::memcpy(&number, of.internal, sizeof(number));
    std::lock_guard<std::mutex> guard(registry_lock);
    std::shared_ptr<group> found = registry[number].lock();
    if (!found)
        registry[number] = found = std::make_shared<group>(n_ranks);
    return found;
}

} // namespace

extern "C" {

int ncclGetUniqueId(id *out)
{
    static uint64_t n_ids;
    std::lock_guard<std::mutex> guard(registry_lock);
    n_ids++;
    std::memset(out, 0, sizeof(*out));
    std::memcpy(out->internal, &n_ids, sizeof(n_ids));
    return SUCCESS;
}

/* *out also where it fails, as of what NCCL wants to be aborted. */
int ncclCommInitRank(communicator **out, int n_ranks, id of, int rank)
{
    *out = nullptr;
    if (n_ranks < 1 || rank < 0 || rank >= n_ranks)
        return INVALID_ARGUMENT;
    *out = new communicator{group_of(of, n_ranks), static_cast<size_t>(rank)};
    if ((*out)->of->calls.size() != static_cast<size_t>(n_ranks))
        return INVALID_USAGE;
    return meet(**out, {INIT, 0, UINT32, NONE, nullptr, nullptr});
}

int ncclCommDestroy(communicator *comm)
{
    delete comm;
    return SUCCESS;
}

int ncclCommAbort(communicator *comm)
{
    {
        std::lock_guard<std::mutex> guard(comm->of->lock);
        comm->of->is_broken = true;
        comm->of->changed.notify_all();
    }
    delete comm;
    return SUCCESS;
}

int ncclCommGetAsyncError(communicator *comm, int *out)
{
    std::lock_guard<std::mutex> guard(comm->of->lock);
    *out = comm->of->is_broken ? REMOTE_ERROR : SUCCESS;
    return SUCCESS;
}

const char *ncclGetErrorString(int result)
{
    return result == INVALID_USAGE      ? "ranks call what does not belong together"
           : result == REMOTE_ERROR     ? "another rank gave up, or does not come"
           : result == INVALID_ARGUMENT ? "invalid argument"
                                        : "no error";
}

int ncclAllReduce(const void *send, void *recv, size_t n, int type, int op, communicator *comm,
                  void *)
{
    return meet(*comm, {ALL_REDUCE, n, type, op, send, recv});
}

int ncclReduceScatter(const void *send, void *recv, size_t n_each, int type, int op,
                      communicator *comm, void *)
{
    return meet(*comm, {REDUCE_SCATTER, n_each, type, op, send, recv});
}
}
