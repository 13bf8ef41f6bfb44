"""Training in a Ray cluster: a rank in each actor; the bytes go by pyzmq.

    python ray_ranks.py         # needs ray, and rankwood[zmq]
"""

from __future__ import annotations

import secrets
import socket
from typing import Any

import numpy as np
import pandas as pd
import ray
from made_data import searches

import rankwood

PARAMS = {"rounds": 30, "threads": 1}
COLUMNS: dict[str, Any] = {"label": "label", "qid": "query", "ignore": ["title"]}


def share(rank: int, n_ranks: int) -> pd.DataFrame:
    """What this rank trains on: whole queries, which follow those of the rank before. Read yours from files."""
    table = searches(200)
    mine = np.array_split(table["query"].unique(), n_ranks)[rank]
    return table[table["query"].isin(mine)]


@ray.remote(num_cpus=1)
class Rank:
    def address(self) -> str:
        """Of a free port of this machine, where rank 0 listens."""
        with socket.socket() as one:
            one.bind(("", 0))
            return f"{ray.util.get_node_ip_address()}:{one.getsockname()[1]}"

    def train(self, rank: int, n_ranks: int, address: str, token: str) -> rankwood.Model:
        """Every rank gets the model. One that fails, or is killed, is an error of all of them."""
        with rankwood.zmq.workers(rank, n_ranks, address, token=token):
            return rankwood.train(PARAMS, rankwood.Dataset(share(rank, n_ranks), **COLUMNS))


def main(n_ranks: int = 2) -> None:
    ray.init(num_cpus=n_ranks, include_dashboard=False, log_to_driver=False)  # of yours: ray.init()
    ranks = [Rank.remote() for _ in range(n_ranks)]
    token = secrets.token_hex()
    address = ray.get(ranks[0].address.remote())
    models = ray.get([one.train.remote(rank, n_ranks, address, token) for rank, one in enumerate(ranks)])
    alone = rankwood.train(PARAMS, rankwood.Dataset(searches(200), **COLUMNS))
    same = all(one.to_bytes() == alone.to_bytes() for one in models)
    print(f"{n_ranks} ranks and one process: {alone.n_trees} trees, the same bytes: {same}")


if __name__ == "__main__":
    main()
