"""A model behind HTTP, with nothing but the standard library.

    python serve.py model.txt 8080
    curl -d '[{"text_match": 9.5, "rating": null}, {"text_match": 12}]' http://localhost:8080/

The request is a list of documents, each a mapping from features to numbers; one that is null or left out is
missing. The answer is [{"document": its place in the request from 0, "score": ...}, ...], the best first.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pandas as pd

import rankwood


def ranked(model: rankwood.Model, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answer to a request. ValueError: it is none."""
    features = pd.DataFrame(documents, columns=model.feature_names, dtype=np.float32)
    scores = model.predict(features)
    order = np.argsort(-scores, kind="stable")
    return [{"document": int(i), "score": float(scores[i])} for i in order]


def server(model: rankwood.Model, port: int) -> ThreadingHTTPServer:
    """Of this machine alone, and not begun yet. port: 0 takes a free one. Threads may share a model."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                answer = json.dumps(ranked(model, request)).encode()
            except (ValueError, TypeError) as error:  # rankwood.DataError is a ValueError
                self.send_error(400, explain=str(error))
                return
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_request(self, *_: object) -> None:
            """Errors alone are logged."""

    return ThreadingHTTPServer(("localhost", port), Handler)


if __name__ == "__main__":
    with server(rankwood.Model.load(sys.argv[1]), int(sys.argv[2])) as service:
        print(f"serving {sys.argv[1]} at http://localhost:{service.server_port}/", flush=True)
        service.serve_forever()
