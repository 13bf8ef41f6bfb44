// A model behind librankwood-score that scores documents by the names of their features.
#pragma once

#include <rankwood_score.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

// It never changes, so all threads may share one.
class Scorer
{
  public:
    // Throws std::runtime_error if the file is no model, or if a feature has no name.
    explicit Scorer(const std::string &path)
    {
        rw_ctx *ctx = nullptr;
        rw_model *model = nullptr;
        std::string error;
        name_ = std::filesystem::weakly_canonical(path).filename().string();
        if (rw_ctx_new(&ctx) != RW_OK)
            throw std::bad_alloc();
        if (rw_model_read(ctx, path.c_str(), &model) != RW_OK ||
            rw_scorer_new(ctx, model, 0, &scorer_) != RW_OK)
            error = rw_last_error(ctx);
        else if (!find_features(model))
            error = path + ": expected a model of named features";
        // Checks the number of columns once. Later calls cannot fail for this reason.
        else if (double score; rw_scorer_rows(ctx, scorer_, std::vector<float>(width_).data(), 1,
                                              width_, 0, &score) != RW_OK)
            error = path + ": " + rw_last_error(ctx);
        rw_model_free(model); // the scorer needs neither afterwards
        rw_ctx_free(ctx);
        if (!error.empty()) {
            rw_scorer_free(scorer_);
            throw std::runtime_error(error);
        }
    }
    ~Scorer()
    {
        rw_scorer_free(scorer_);
    }
    Scorer(const Scorer &) = delete;
    Scorer &operator=(const Scorer &) = delete;

    // The file's name, without the folder. A symbolic link has the name of its target.
    const std::string &name() const
    {
        return name_;
    }
    // The features that the trees use.
    const std::vector<std::string> &features() const
    {
        return features_;
    }

    // Scores documents. values: [n_docs][features().size()], NaN is missing. Runs on the calling
    // thread.
    std::vector<double> score(const std::vector<float> &values, std::size_t n_docs) const
    {
        std::vector<float> rows(n_docs * width_);
        std::vector<double> scores(n_docs);
        for (std::size_t doc = 0; doc < n_docs; doc++) {
            for (std::size_t i = 0; i < at_.size(); i++)
                rows[doc * width_ + at_[i]] = values[doc * at_.size() + i];
        }
        if (rw_scorer_rows(nullptr, scorer_, rows.data(), static_cast<std::uint32_t>(n_docs),
                           width_, 0, scores.data()) != RW_OK)
            throw std::runtime_error("the documents cannot be scored");
        return scores;
    }

  private:
    rw_scorer *scorer_ = nullptr;
    std::string name_;
    std::vector<std::string> features_; // sorted
    std::vector<std::uint32_t> at_;     // their columns
    std::uint32_t width_ = 0;           // columns of the training set

    // Returns false if a feature that the trees use has no name.
    bool find_features(const rw_model *model)
    {
        std::vector<rw_feature_use> uses(RW_FEATURE_IDS);
        uses.resize(std::max(rw_model_features(model, uses.data(), RW_FEATURE_IDS), 0));
        std::sort(uses.begin(), uses.end(), [](const rw_feature_use &a, const rw_feature_use &b) {
            return std::string(a.name) < b.name;
        });
        for (const rw_feature_use &use : uses) {
            if (!*use.name)
                return false;
            features_.emplace_back(use.name);
            at_.push_back(use.feature);
        }
        for (std::uint32_t id = 0; id < RW_FEATURE_IDS; id++) {
            if (*rw_model_feature_name(model, id))
                width_ = id + 1;
        }
        return width_ > 0;
    }
};
