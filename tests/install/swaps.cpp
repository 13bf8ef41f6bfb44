// Tests examples/serve_cpp/scorer.hpp: threads score documents while models are swapped.
//
//   swaps DOCUMENTS MODEL [MODEL]...
//
// DOCUMENTS: a line of feature names, then a line of values per document, "nan" where one is
// missing. Prints each document's score by the first model. Then eight threads score all documents
// repeatedly, while the models take turns every 20 ms. Each answer must be that of one model.
#include "../../examples/serve_cpp/scorer.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>

using Scores = std::vector<double>;

struct Documents {
    std::vector<std::string> names;
    std::vector<std::vector<float>> rows;
};

static Documents read_documents(const char *path)
{
    Documents documents;
    std::ifstream file(path);
    std::string line, word;
    std::getline(file, line);
    for (std::istringstream words(line); words >> word;)
        documents.names.push_back(word);
    while (std::getline(file, line)) {
        documents.rows.emplace_back();
        for (std::istringstream words(line); words >> word;)
            documents.rows.back().push_back(std::strtof(word.c_str(), nullptr));
    }
    return documents;
}

// Returns the scores of the documents, whose columns are found by name.
static Scores score(const Scorer &scorer, const Documents &documents)
{
    std::vector<std::size_t> at;
    std::vector<float> values;
    for (const std::string &name : scorer.features())
        at.push_back(std::find(documents.names.begin(), documents.names.end(), name) -
                     documents.names.begin());
    for (const std::vector<float> &row : documents.rows) {
        for (const std::size_t column : at)
            values.push_back(row.at(column));
    }
    return scorer.score(values, documents.rows.size());
}

static int run(int n_models, char **models, const Documents &documents)
{
    std::vector<Scores> expected;
    for (int i = 0; i < n_models; i++)
        expected.push_back(score(Scorer(models[i]), documents));
    for (const double one : expected[0])
        std::printf("%.17g\n", one);

    auto current = std::make_shared<const Scorer>(models[0]);
    std::atomic<bool> ends{false};
    std::atomic<long> requests{0}, mistakes{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) {
        threads.emplace_back([&] {
            while (!ends) {
                const Scores scores = score(*std::atomic_load(&current), documents);
                requests++;
                mistakes += std::count(expected.begin(), expected.end(), scores) == 0;
            }
        });
    }
    int swaps = 0;
    for (; swaps < 25; swaps++) {
        std::atomic_store(&current, std::make_shared<const Scorer>(models[(swaps + 1) % n_models]));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ends = true;
    for (std::thread &thread : threads)
        thread.join();
    std::fprintf(stderr, "%ld requests by 8 threads, %d swaps, %ld mistakes\n", requests.load(),
                 swaps, mistakes.load());
    return mistakes == 0 && requests > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::cerr << "usage: swaps DOCUMENTS MODEL [MODEL]...\n";
        return 2;
    }
    try {
        return run(argc - 2, argv + 2, read_documents(argv[1]));
    } catch (const std::exception &failure) {
        std::cerr << "swaps: " << failure.what() << '\n';
        return 1;
    }
}
