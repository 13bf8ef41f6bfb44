"""quality.py --part valid: NDCG of a variant on validation parts only. Standard library only.

One training serves all ways of dealing the validation queries into halves: the library hands out its
scores after every round, here through ctypes."""
import ctypes
import statistics

from common import Hooks, Library
from quality_sets import ndcg_by_query


class CurveLibrary(Library):
    def curve(self, options, train, valid, queries, seed, most=1000, resume=100):
        """(patience, [n_rounds][n_queries] NDCG on `valid`, whose labels are `queries`), until
        `resume` rounds without a better mean; patience is early-stop's value, which does not end
        the training itself."""
        params = ctypes.c_void_p()
        self.call("rw_params_new", ctypes.byref(params))
        settings = [o.split("=", 1) for o in options.split()] + [["seed", str(seed)]]
        for name, value in settings:
            self.call("rw_params_set", params, name.encode(), value.encode())
        patience = int(self.lib.rw_params_get(params, b"early-stop"))
        resume = max(resume, patience)
        for name, value in (("early-stop", "0"), ("rounds", str(most))):
            self.call("rw_params_set", params, name.encode(), value.encode())

        by_round, means = [], []

        def metric(_user, _data, scores, value):
            by_round.append(ndcg_by_query(queries, scores[: sum(map(len, queries))]))
            means.append(statistics.fmean(by_round[-1]))
            value[0] = means[-1]
            return 0

        def on_round(_user, _round):
            return len(means) >= resume and len(means) - 1 - means.index(max(means)) >= resume

        hooks = Hooks(on_round=Hooks.ON_ROUND(on_round), metric=Hooks.METRIC(metric),
                      metric_name=b"ndcg")
        parts, model = (self.read(train), self.read(valid)), ctypes.c_void_p()
        self.call("rw_train", params, parts[0], ctypes.byref(parts[1]), 1, ctypes.byref(hooks),
                  ctypes.byref(model))
        self.lib.rw_model_free(model)
        self.lib.rw_params_free(params)
        for part in parts:
            self.lib.rw_dataset_free(part)
        return patience, by_round


def deal(n, times=40):
    """Ways of dealing n queries into halves; the same for every variant, so that they compare."""
    state = 88172645463325252
    for _ in range(times):
        first = set()
        while len(first) < n // 2:
            state ^= state << 13 & (1 << 64) - 1
            state ^= state >> 7
            state ^= state << 17 & (1 << 64) - 1
            first.add((state >> 32) % n)
        yield sorted(first), sorted(set(range(n)) - first)


def stop_by_halves(by_round, patience):
    """(NDCG on the half that did not stop training, rounds): means over halves and deals."""
    value, rounds, n_deals, n = 0.0, 0, 0, len(by_round[0])
    for halves in deal(n):
        curves = [[sum(map(row.__getitem__, half)) for row in by_round] for half in halves]
        for stop, measured in (curves, curves[::-1]):
            best = 0
            for i, reached in enumerate(stop):
                if i - best > patience:
                    break
                if reached > stop[best]:
                    best = i
            value += measured[best] / n
            rounds += best + 1
        n_deals += 1
    return value / n_deals, rounds / (2 * n_deals)
