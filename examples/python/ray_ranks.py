"""Training on a Ray cluster, with two workers, and the same model from one process.

    python ray_ranks.py         # needs rankwood[ray]
"""

from __future__ import annotations

import ray
import ray.data
from made_data import searches

import rankwood
import rankwood.ray

PARAMS = {"rounds": 30}


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)  # on a cluster: ray.init()
    table = searches(200)
    data = ray.data.from_pandas([table[:1000], table[1000:]])  # or ray.data.read_parquet("train/")
    model = rankwood.ray.train(PARAMS, data, label="label", qid="query", ignore=["title"], n_workers=2)
    alone = rankwood.train(PARAMS, rankwood.Dataset(table, label="label", qid="query", ignore=["title"]))
    print(f"2 workers: {model.n_trees} trees; identical to one worker's: {model.to_bytes() == alone.to_bytes()}")


if __name__ == "__main__":
    main()
