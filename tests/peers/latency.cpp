// Latency of scoring requests in C++ while models are swapped: threads score requests of some
// documents, and another thread reads the next model from its file, makes it ready and swaps it in.
// latency.py builds and runs this; it prints one JSON object.
//
//   latency ENGINE LIBRARY MODEL_A MODEL_B VALUES N_FEATURES N_DOCS THREADS SECONDS SWAP_MS RATE
//
// ENGINE: rankwood, lightgbm, treelite (GTIL), compiled (a library that tl2cgen has made). LIBRARY:
// of the last three, what dlopen takes; treelite's and LightGBM's own. VALUES: float32, row by row;
// a request is N_DOCS rows of it. RATE: requests a second of all threads, each due at its time,
// from which its latency counts; 0: each thread sends its next request when the last one is
// answered.
#include <dlfcn.h>
#include <rankwood_score.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

static void expect(bool holds, const std::string &what)
{
    if (!holds)
        throw std::runtime_error(what);
}

struct Scorer {
    virtual ~Scorer() = default;
    // values: [n_docs][n_features]; scores: [n_docs].
    virtual void score(const float *values, int n_docs, int n_features, double *scores) const = 0;
};

struct Rankwood : Scorer {
    rw_scorer *scorer = nullptr;
    explicit Rankwood(const char *path)
    {
        rw_ctx *ctx = nullptr;
        rw_model *model = nullptr;
        expect(rw_ctx_new(&ctx) == RW_OK, "out of memory");
        const int status = rw_model_read(ctx, path, &model);
        if (status == RW_OK)
            rw_scorer_new(ctx, model, 0, &scorer);
        const std::string error = rw_last_error(ctx);
        rw_model_free(model);
        rw_ctx_free(ctx);
        expect(scorer != nullptr, error);
    }
    ~Rankwood() override
    {
        rw_scorer_free(scorer);
    }
    void score(const float *values, int n_docs, int n_features, double *scores) const override
    {
        expect(rw_scorer_rows(nullptr, scorer, values, n_docs, n_features, 0, scores) == RW_OK,
               "rankwood fails");
    }
};

class Library
{
  public:
    explicit Library(const char *path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL))
    {
        expect(handle_ != nullptr, std::string("cannot load '") + path + "'");
    }
    template <class Function> Function *find(const char *name) const
    {
        void *found = dlsym(handle_, name);
        expect(found != nullptr, std::string("no function '") + name + "'");
        return reinterpret_cast<Function *>(found);
    }

  private:
    void *handle_;
};

struct LightGBM : Scorer {
    using Create = int(const char *, int *, void **);
    using Predict = int(void *, const void *, int, std::int32_t, std::int32_t, int, int, int, int,
                        const char *, std::int64_t *, double *);
    Predict *predict;
    std::function<void()> end;
    void *booster = nullptr;
    LightGBM(const Library &library, const char *path)
        : predict(library.find<Predict>("LGBM_BoosterPredictForMat"))
    {
        int iterations;
        expect(library.find<Create>("LGBM_BoosterCreateFromModelfile")(path, &iterations,
                                                                       &booster) == 0,
               "LightGBM does not read the model");
        auto *release = library.find<int(void *)>("LGBM_BoosterFree");
        end = [this, release] { release(booster); };
    }
    ~LightGBM() override
    {
        end();
    }
    void score(const float *values, int n_docs, int n_features, double *scores) const override
    {
        enum { FLOAT32 = 0, RAW_SCORE = 1 };
        std::int64_t n;
        expect(predict(booster, values, FLOAT32, n_docs, n_features, 1, RAW_SCORE, 0, -1,
                       "num_threads=1", &n, scores) == 0,
               "LightGBM fails");
    }
};

struct Treelite : Scorer {
    using Load = int(const char *, const char *, void **);
    using Predict = int(void *, const void *, const char *, std::uint64_t, void *, void *);
    Predict *predict;
    std::function<void()> end;
    void *model = nullptr, *config = nullptr;
    Treelite(const Library &library, const char *path)
        : predict(library.find<Predict>("TreeliteGTILPredict"))
    {
        expect(library.find<Load>("TreeliteLoadLightGBMModel")(path, "{}", &model) == 0,
               "treelite does not read the model");
        expect(library.find<int(const char *, void **)>("TreeliteGTILParseConfig")(
                   "{\"predict_type\": \"raw\", \"nthread\": 1}", &config) == 0,
               "treelite takes no configuration");
        auto *release = library.find<int(void *)>("TreeliteFreeModel");
        auto *release_config = library.find<int(void *)>("TreeliteGTILDeleteConfig");
        end = [this, release, release_config] { release(model), release_config(config); };
    }
    ~Treelite() override
    {
        end();
    }
    void score(const float *values, int n_docs, int n_features, double *scores) const override
    {
        const std::vector<double> wide(values, values + (size_t)n_docs *
                                                            n_features); // LightGBM's are doubles
        expect(predict(model, wide.data(), "float64", n_docs, scores, config) == 0,
               "treelite fails");
    }
};

// As tl2cgen's header.h has it, of a model whose thresholds are doubles.
struct Compiled : Scorer {
    union Entry {
        int missing;
        double fvalue;
        int qvalue;
    };
    using Predict = void(Entry *, int, double *);
    Library library;
    Predict *predict;
    explicit Compiled(const char *path) : library(path), predict(library.find<Predict>("predict"))
    {
    }
    void score(const float *values, int n_docs, int n_features, double *scores) const override
    {
        std::vector<Entry> row(n_features);
        for (int doc = 0; doc < n_docs; doc++) {
            for (int i = 0; i < n_features; i++) {
                const float value = values[(size_t)doc * n_features + i];
                if (value != value)
                    row[i].missing = -1;
                else
                    row[i].fvalue = value;
            }
            scores[doc] = 0; // it adds
            predict(row.data(), 1, &scores[doc]);
        }
    }
};

static std::shared_ptr<const Scorer> make(const std::string &engine, const char *library,
                                          const char *path)
{
    if (engine == "rankwood")
        return std::make_shared<const Rankwood>(path);
    if (engine == "compiled")
        return std::make_shared<const Compiled>(path);
    static const Library loaded(library);
    if (engine == "lightgbm")
        return std::make_shared<const LightGBM>(loaded, path);
    expect(engine == "treelite", "expected an engine, not '" + engine + "'");
    return std::make_shared<const Treelite>(loaded, path);
}

struct Run {
    const char *values_path;
    int n_features, n_docs, n_threads;
    double seconds, swap_ms, rate;
    std::vector<float> values;
    size_t n_requests; // that the values have
    std::vector<double> expected[2];
    std::shared_ptr<const Scorer> current;
    std::atomic<bool> ends{false};
    std::atomic<long> wrong{0};
};

static void send(Run &run, int thread, std::vector<double> &latencies)
{
    using Seconds = std::chrono::duration<double>;
    std::vector<double> scores(run.n_docs);
    const auto begin = Clock::now();
    const double every = run.rate > 0 ? run.n_threads / run.rate : 0;
    for (long i = 0; !run.ends; i++) {
        auto due = Clock::now();
        if (run.rate > 0) {
            due = begin + std::chrono::duration_cast<Clock::duration>(
                              Seconds(every * (i + (double)thread / run.n_threads)));
            std::this_thread::sleep_until(due);
        }
        const size_t at = ((size_t)i * 7919 + (size_t)thread * 104729) % run.n_requests;
        const std::shared_ptr<const Scorer> scorer = std::atomic_load(&run.current);
        scorer->score(run.values.data() + at * run.n_docs * run.n_features, run.n_docs,
                      run.n_features, scores.data());
        latencies.push_back(Seconds(Clock::now() - due).count());
        const bool is_one = [&] {
            for (const std::vector<double> &want : run.expected)
                if (std::equal(scores.begin(), scores.end(), want.begin() + at * run.n_docs))
                    return true;
            return false;
        }();
        run.wrong += !is_one;
    }
}

static int measure(Run &run, const std::string &engine, const char *library, char **models)
{
    std::ifstream file(run.values_path, std::ios::binary);
    file.seekg(0, std::ios::end);
    run.values.resize((size_t)file.tellg() / sizeof(float));
    file.seekg(0);
    file.read(reinterpret_cast<char *>(run.values.data()), run.values.size() * sizeof(float));
    run.n_requests = run.values.size() / ((size_t)run.n_features * run.n_docs);
    expect(file && run.n_requests > 0, "too few values");
    for (int m = 0; m < 2; m++) {
        run.current = make(engine, library, models[m]);
        run.expected[m].resize(run.n_requests * run.n_docs);
        for (size_t i = 0; i < run.n_requests; i++)
            run.current->score(run.values.data() + i * run.n_docs * run.n_features, run.n_docs,
                               run.n_features, run.expected[m].data() + i * run.n_docs);
    }
    std::vector<std::vector<double>> latencies(run.n_threads);
    std::vector<std::thread> threads;
    const auto begin = Clock::now(),
               end = begin + std::chrono::milliseconds((long)(run.seconds * 1e3));
    for (int t = 0; t < run.n_threads; t++)
        threads.emplace_back([&, t] { send(run, t, latencies[t]); });
    int swaps = 0;
    for (;; swaps++) {
        const auto next = Clock::now() + std::chrono::milliseconds((long)run.swap_ms);
        std::this_thread::sleep_until(std::min(next, end));
        if (Clock::now() >= end)
            break;
        std::atomic_store(&run.current, make(engine, library, models[swaps % 2]));
    }
    run.ends = true;
    for (std::thread &thread : threads)
        thread.join();
    std::vector<double> all;
    for (const std::vector<double> &one : latencies)
        all.insert(all.end(), one.begin(), one.end());
    expect(!all.empty(), "no request was answered");
    std::sort(all.begin(), all.end());
    const auto at = [&](double part) {
        return all[std::min(all.size() - 1, (size_t)(part * all.size()))] * 1e3;
    };
    double sum = 0; // of the scores by the first model, for a look across engines
    for (const double score : run.expected[0])
        sum += score;
    std::printf("{\"requests\": %zu, \"p50_ms\": %.6f, \"p99_ms\": %.6f, \"p999_ms\": %.6f, "
                "\"most_ms\": %.6f, "
                "\"swaps\": %d, \"wrong\": %ld, \"sum\": %.17g, \"seconds\": %.3f}\n",
                all.size(), at(0.5), at(0.99), at(0.999), all.back() * 1e3, swaps, run.wrong.load(),
                sum, std::chrono::duration<double>(Clock::now() - begin).count());
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 12) {
        std::fprintf(stderr, "latency: see the comment at the top of latency.cpp\n");
        return 2;
    }
    try {
        Run run;
        run.values_path = argv[5];
        run.n_features = std::atoi(argv[6]);
        run.n_docs = std::atoi(argv[7]);
        run.n_threads = std::atoi(argv[8]);
        run.seconds = std::atof(argv[9]);
        run.swap_ms = std::atof(argv[10]);
        run.rate = std::atof(argv[11]);
        return measure(run, argv[1], argv[2], argv + 3);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "latency: %s\n", failure.what());
        return 1;
    }
}
