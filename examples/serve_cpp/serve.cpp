// A server's heart over librankwood-score: threads score requests while models are swapped under
// them.
//
//   g++ -std=c++17 -O2 serve.cpp $(pkg-config --cflags --libs rankwood-score) -pthread -o serve
//   ./serve DOCUMENTS MODEL [MODEL]...
//
// DOCUMENTS: text, a document a line, values of features 0, 1, ... with blanks between them, "nan"
// where one is missing; as many on each line. Prints each document's score by the first model; then
// eight threads score all of them again and again, while the models take turns every 20
// milliseconds, and every answer must be one model's, whole.
#include <rankwood_score.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// Dense documents, row by row.
struct Documents {
    std::vector<float> values;
    std::uint32_t n_docs = 0, n_features = 0;
};

// A model that is ready to score. It never changes, so all threads may share one.
class Scorer
{
  public:
    explicit Scorer(const char *path)
    {
        rw_ctx *ctx = nullptr;
        rw_model *model = nullptr;
        std::string error;
        if (rw_ctx_new(&ctx) != RW_OK)
            throw std::bad_alloc();
        if (rw_model_read(ctx, path, &model) != RW_OK ||
            rw_scorer_new(ctx, model, 0, &scorer_) != RW_OK)
            error = rw_last_error(ctx);
        rw_model_free(model); // the scorer needs neither afterwards
        rw_ctx_free(ctx);
        if (!error.empty())
            throw std::runtime_error(error);
    }
    ~Scorer()
    {
        rw_scorer_free(scorer_);
    }
    Scorer(const Scorer &) = delete;
    Scorer &operator=(const Scorer &) = delete;

    void score(const Documents &documents, std::vector<double> &scores) const
    {
        scores.resize(documents.n_docs);
        // No context: the work stays on this thread, as a server wants it.
        if (rw_scorer_rows(nullptr, scorer_, documents.values.data(), documents.n_docs,
                           documents.n_features, 0, scores.data()) != RW_OK)
            throw std::runtime_error("the documents cannot be scored");
    }

  private:
    rw_scorer *scorer_ = nullptr;
};

static Documents read_documents(const char *path)
{
    Documents documents;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line); documents.n_docs++) {
        std::istringstream words(line);
        std::uint32_t n = 0;
        for (std::string word; words >> word; n++)
            documents.values.push_back(std::strtof(word.c_str(), nullptr));
        if (documents.n_docs > 0 && n != documents.n_features)
            throw std::runtime_error(std::string(path) + ": lines of different lengths");
        documents.n_features = n;
    }
    if (documents.n_docs == 0)
        throw std::runtime_error(std::string("no documents in '") + path + "'");
    return documents;
}

// What the threads take their model from. A request keeps the one that it began with, and the last
// request that has it frees it. (With C++20: std::atomic<std::shared_ptr<const Scorer>>.)
static std::shared_ptr<const Scorer> current;

static void serve(const Documents &documents, const std::vector<std::vector<double>> &expected,
                  const std::atomic<bool> &ends, std::atomic<long> &requests,
                  std::atomic<long> &mistakes)
{
    std::vector<double> scores;
    while (!ends) {
        const std::shared_ptr<const Scorer> scorer = std::atomic_load(&current);
        scorer->score(documents, scores);
        bool is_some_models = false;
        for (const std::vector<double> &one : expected)
            is_some_models = is_some_models || scores == one;
        requests++;
        mistakes += !is_some_models;
    }
}

static int run(int n_models, char **models, const Documents &documents)
{
    std::vector<std::vector<double>> expected(n_models);
    for (int i = 0; i < n_models; i++)
        Scorer(models[i]).score(documents, expected[i]);
    for (const double score : expected[0])
        std::printf("%.17g\n", score);

    std::atomic<bool> ends{false};
    std::atomic<long> requests{0}, mistakes{0};
    std::atomic_store(&current, std::make_shared<const Scorer>(models[0]));
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&] { serve(documents, expected, ends, requests, mistakes); });
    int swaps = 0;
    for (; swaps < 25; swaps++) {
        // Read and made ready here, aside: requests never wait for it.
        const auto next = std::make_shared<const Scorer>(models[(swaps + 1) % n_models]);
        std::atomic_store(&current, next);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ends = true;
    for (std::thread &thread : threads)
        thread.join();
    std::fprintf(stderr, "%ld requests of %u documents by 8 threads, %d swaps, %ld mistakes\n",
                 requests.load(), documents.n_docs, swaps, mistakes.load());
    return mistakes == 0 && requests > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::cerr << "usage: serve DOCUMENTS MODEL [MODEL]...\n";
        return 2;
    }
    try {
        return run(argc - 2, argv + 2, read_documents(argv[1]));
    } catch (const std::exception &failure) {
        std::cerr << "serve: " << failure.what() << '\n';
        return 1;
    }
}
