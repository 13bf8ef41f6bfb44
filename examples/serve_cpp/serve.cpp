// Serves a model over HTTP: librankwood-score, cpp-httplib and nlohmann-json.
//
//   apt install g++ cmake make libcpp-httplib-dev nlohmann-json3-dev
//   cmake -S examples/serve_cpp -B build-serve && cmake --build build-serve
//   build-serve/serve MODEL PORT [HOST]
//
// The requests and answers are those of examples/python/serve.py, which explains them:
//
//   curl -H 'Content-Type: application/json' -d @request.json http://localhost:8080/rank
//
// Invalid requests get status 422 and the reason. To deploy another model, rename it to MODEL, or
// rename a symbolic link to it. The server looks at the file once per second, and prepares the new
// model while requests use the old one. If the file cannot be served, the old model stays, and
// GET /health reports why. SIGTERM ends the server after the requests in progress.
#include "scorer.hpp"

#include <httplib.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <cfloat>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>

using json = nlohmann::json;

static constexpr std::size_t MOST_DOCS = 10'000, MOST_BYTES = 64 << 20;
static constexpr std::size_t N_THREADS = 64; // an open connection occupies a thread

// What is served. A request keeps what it began with, and the last request that has it frees it.
// The model and the error are replaced together, so that no answer mixes two states. (With C++20:
// std::atomic<std::shared_ptr<const Served>>.)
struct Served {
    std::shared_ptr<const Scorer> scorer;
    std::string error; // why the file at the path is not served; empty if it is
};
static std::shared_ptr<const Served> current;

// ---- requests ----

// Returns a feature's value. Throws std::invalid_argument if it is not a number, boolean or null.
static float value_of(const std::string &feature, const json &value)
{
    if (value.is_null())
        return std::numeric_limits<float>::quiet_NaN();
    if (value.is_boolean())
        return value.get<bool>() ? 1.0F : 0.0F;
    if (!value.is_number())
        throw std::invalid_argument("feature '" + feature +
                                    "': expected a number, true, false or null");
    if (!(std::fabs(value.get<double>()) <= FLT_MAX))
        throw std::invalid_argument("feature '" + feature + "' is infinite; expected a number");
    return value.get<float>();
}

// Returns a member of an object. Throws std::invalid_argument if it is missing or not an object or
// array, as `is_array` says.
static const json &member(const json &object, const char *name, bool is_array)
{
    const auto found = object.find(name);
    if (found == object.end() || (is_array ? !found->is_array() : !found->is_object()))
        throw std::invalid_argument(std::string("expected ") +
                                    (is_array ? "an array" : "an object") + " as '" + name + "'");
    return *found;
}

// Returns the answer to a request. Throws std::invalid_argument if the request is invalid.
static json rank(const Scorer &scorer, const json &request)
{
    static const json nothing = json::object();
    if (!request.is_object())
        throw std::invalid_argument("expected an object with 'documents'");
    const json &documents = member(request, "documents", true);
    const json &query = request.contains("query") ? member(request, "query", false) : nothing;
    const std::size_t n_docs = documents.size();
    if (n_docs > MOST_DOCS)
        throw std::invalid_argument("more than " + std::to_string(MOST_DOCS) + " documents");
    for (const auto &[name, value] : query.items())
        value_of(name, value);
    std::vector<float> values;
    values.reserve(n_docs * scorer.features().size());
    for (const json &document : documents) {
        if (!document.is_object() || !document.contains("id") || !document["id"].is_string())
            throw std::invalid_argument("expected a text 'id' in each of 'documents'");
        const json &features = member(document, "features", false);
        for (const std::string &name : scorer.features()) {
            auto found = features.find(name);
            if (found == features.end() && (found = query.find(name)) == query.end())
                throw std::invalid_argument("document '" + document["id"].get<std::string>() +
                                            "' lacks feature '" + name +
                                            "'; null is a missing value");
            values.push_back(value_of(name, *found));
        }
    }
    const std::vector<double> scores = scorer.score(values, n_docs);
    std::vector<std::size_t> order(n_docs);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    json ranked = json::array();
    for (const std::size_t doc : order)
        ranked.push_back({{"id", documents[doc]["id"]}, {"score", scores[doc]}});
    return {{"model", scorer.name()}, {"documents", ranked}};
}

static void answer_rank(const httplib::Request &request, httplib::Response &response)
{
    const std::shared_ptr<const Served> served = std::atomic_load(&current);
    json answer;
    try {
        answer = rank(*served->scorer, json::parse(request.body));
    } catch (const json::exception &failure) {
        response.status = 422;
        answer = {{"detail", failure.what()}};
    } catch (const std::invalid_argument &failure) {
        response.status = 422;
        answer = {{"detail", failure.what()}};
    }
    response.set_content(answer.dump(-1, ' ', true, json::error_handler_t::replace),
                         "application/json");
}

static void answer_health(const httplib::Request &, httplib::Response &response)
{
    const std::shared_ptr<const Served> served = std::atomic_load(&current);
    const json why = served->error.empty() ? json(nullptr) : json(served->error);
    response.set_content(json{{"status", "ok"},
                              {"model", served->scorer->name()},
                              {"features", served->scorer->features()},
                              {"error", why}}
                             .dump(-1, ' ', true, json::error_handler_t::replace),
                         "application/json");
}

// ---- models ----

// Returns a text that changes when another file is at the path; empty if there is none.
static std::string version_of(const char *path)
{
    struct stat found;
    std::error_code none;
    if (stat(path, &found) != 0)
        return "";
    return std::filesystem::canonical(path, none).string() + ' ' + std::to_string(found.st_ino) +
           ' ' + std::to_string(found.st_size) + ' ' + std::to_string(found.st_mtim.tv_sec) + ' ' +
           std::to_string(found.st_mtim.tv_nsec);
}

// Serves the model at the path if it has changed since `seen`.
static void follow(const char *path, std::string &seen)
{
    const std::string now = version_of(path);
    if (now == seen)
        return;
    seen = now;
    Served next = *std::atomic_load(&current);
    try {
        next = {std::make_shared<const Scorer>(path), ""};
        std::fprintf(stderr, "serve: serving %s\n", next.scorer->name().c_str());
    } catch (const std::exception &failure) {
        next.error = failure.what();
        std::fprintf(stderr, "serve: still serving %s: %s\n", next.scorer->name().c_str(),
                     next.error.c_str());
    }
    std::atomic_store(&current, std::make_shared<const Served>(std::move(next)));
}

static int run(const char *path, int port, const char *host)
{
    sigset_t ends;
    const timespec second = {1, 0};
    std::string seen = version_of(path);
    current = std::make_shared<const Served>(Served{std::make_shared<const Scorer>(path), ""});
    // All threads inherit the mask, so that only sigtimedwait takes these signals.
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);

    httplib::Server server;
    server.new_task_queue = [] { return new httplib::ThreadPool(N_THREADS); };
    server.set_payload_max_length(MOST_BYTES);
    server.set_tcp_nodelay(true);
    // cpp-httplib's default would let a second server take the same port.
    server.set_socket_options([](auto socket) {
        const int yes = 1;
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server.Post("/rank", answer_rank);
    server.Get("/health", answer_health);
    if (port == 0)
        port = server.bind_to_any_port(host);
    else if (!server.bind_to_port(host, port))
        port = -1;
    if (port < 0)
        throw std::runtime_error(std::string("cannot listen at ") + host);
    std::fprintf(stderr, "serve: serving %s at http://%s:%d\n", current->scorer->name().c_str(),
                 host, port);
    std::thread follower([&] {
        while (sigtimedwait(&ends, nullptr, &second) < 0)
            follow(path, seen);
        server.stop();
    });
    server.listen_after_bind();
    follower.join();
    return 0;
}

int main(int argc, char **argv)
{
    char *end = nullptr;
    const long port = argc > 2 ? std::strtol(argv[2], &end, 10) : -1;
    if (argc < 3 || argc > 4 || *end || port < 0 || port > 65535) {
        std::fputs("usage: serve MODEL PORT [HOST]\n", stderr);
        return 2;
    }
    try {
        return run(argv[1], static_cast<int>(port), argc > 3 ? argv[3] : "localhost");
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "serve: %s\n", failure.what());
        return 1;
    }
}
