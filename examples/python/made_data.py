"""Made search results of a shop: what the examples train on in place of a table of yours."""

from __future__ import annotations

import numpy as np
import pandas as pd

FEATURES = ["text_match", "clicks", "rating", "price", "typical_price", "age_days", "in_stock"]


def searches(n_queries: int = 400, seed: int = 1) -> pd.DataFrame:
    """One product found a row: a query as text, a title, FEATURES (a rating may be missing), a label 0 to 4.

    The rows of a query stand together, 5 to 29 of them.
    """
    random = np.random.default_rng(seed)
    sizes = random.integers(5, 30, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    n = len(query)
    rating = np.where(random.random(n) < 0.3, np.nan, random.uniform(1, 5, n).round(1))
    typical_price = np.exp(random.normal(3, 0.8, n_queries)).round(2)[query]
    table = pd.DataFrame(
        {
            "query": [f"search {q}" for q in query],
            "title": [f"product {i}" for i in random.integers(0, 10_000, n)],
            "text_match": random.gamma(2, 4, n).round(2),
            "clicks": random.negative_binomial(1, 0.02, n),
            "rating": rating,
            "price": (typical_price * np.exp(random.normal(0, 0.5, n))).round(2),
            "typical_price": typical_price,
            "age_days": random.integers(0, 1000, n),
            "in_stock": random.random(n) < 0.85,
        }
    )
    wanted = (
        0.12 * table["text_match"]
        + 0.5 * np.log1p(table["clicks"]) * np.exp(-table["age_days"] / 500)
        + 0.6 * table["rating"].fillna(2.5)
        - 1.5 * np.abs(np.log(table["price"] / table["typical_price"]))
        + 1.5 * table["in_stock"]
        + random.normal(0, 1.2, n)
    )
    return table.assign(label=np.digitize(wanted, [4.5, 5.5, 6.5, 7.5]))
