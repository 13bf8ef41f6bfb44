"""One measurement of latency.py from Python, by an interpreter that has numpy, the rankwood package and the
peers: threads score requests while models are swapped under them. Reads a job (JSON) from its argument and
prints the figures as latency.cpp does."""

import json
import sys
import threading
import time

import numpy


def make_rankwood(path):
    import rankwood

    model = rankwood.Model.load(path)
    return model.predict


def make_lightgbm(path):
    import lightgbm

    booster = lightgbm.Booster(model_file=path)
    return lambda rows: booster.predict(rows, raw_score=True, num_threads=1)


def make_treelite(path):
    import treelite

    model = treelite.frontend.load_lightgbm_model(path)
    return lambda rows: treelite.gtil.predict(model, rows, nthread=1, pred_margin=True).reshape(-1)


def make_compiled(path):
    import tl2cgen

    predictor = tl2cgen.Predictor(path, nthread=1)
    return lambda rows: predictor.predict(tl2cgen.DMatrix(rows.astype(numpy.float64)), pred_margin=True).reshape(-1)


ENGINES = {
    "rankwood": make_rankwood,
    "lightgbm": make_lightgbm,
    "treelite": make_treelite,
    "compiled": make_compiled,
}


class Server:
    def __init__(self, job):
        self.job = job
        self.make = ENGINES[job["engine"]]
        n_docs, n_features = job["docs"], job["features"]
        values = numpy.fromfile(job["values"], numpy.float32)
        n = len(values) // (n_docs * n_features)
        self.requests = values[: n * n_docs * n_features].reshape(n, n_docs, n_features)
        self.wanted = []
        for path in job["models"]:
            predict = self.make(path)
            self.wanted.append([numpy.array(predict(rows)) for rows in self.requests])
        self.current = self.ready(job["models"][0])
        self.ends = False
        self.wrong = 0
        self.latencies = []

    def ready(self, path):
        """A model that has scored once, so that the work of the first call is done."""
        predict = self.make(path)
        predict(self.requests[0])
        return predict

    def serve(self, thread, begin):
        mine, wrong, i = [], 0, 0
        threads, rate = self.job["threads"], self.job["rate"]
        while not self.ends:
            due = time.perf_counter()
            if rate:
                due = begin + (i + thread / threads) * threads / rate
                time.sleep(max(0, due - time.perf_counter()))
            at = (i * 7919 + thread * 104729) % len(self.requests)
            scores = self.current(self.requests[at])
            mine.append(time.perf_counter() - due)
            wrong += not any(numpy.array_equal(scores, want[at]) for want in self.wanted)
            i += 1
        self.latencies.append(mine)
        self.wrong += wrong

    def run(self):
        begin = time.perf_counter()
        end = begin + self.job["seconds"]
        threads = [threading.Thread(target=self.serve, args=(t, begin)) for t in range(self.job["threads"])]
        for thread in threads:
            thread.start()
        swaps = 0
        while True:
            time.sleep(max(0, min(self.job["swap_ms"] / 1e3, end - time.perf_counter())))
            if time.perf_counter() >= end:
                break
            self.current = self.ready(self.job["models"][swaps % 2])
            swaps += 1
        self.ends = True
        for thread in threads:
            thread.join()
        return swaps, time.perf_counter() - begin


def main():
    server = Server(json.loads(sys.argv[1]))
    swaps, seconds = server.run()
    all_of_them = numpy.sort(numpy.concatenate(server.latencies)) * 1e3
    at = [all_of_them[min(len(all_of_them) - 1, int(part * len(all_of_them)))] for part in (0.5, 0.99, 0.999)]
    print(json.dumps({
        "requests": len(all_of_them), "p50_ms": at[0], "p99_ms": at[1], "p999_ms": at[2], "most_ms": all_of_them[-1],
        "swaps": swaps, "wrong": int(server.wrong), "seconds": seconds,
        "sum": float(sum(scores.sum() for scores in server.wanted[0])),
    }))


main()
