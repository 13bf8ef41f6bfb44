"""Serves a model over HTTP with FastAPI.

    pip install rankwood fastapi uvicorn
    RANKWOOD_MODEL=model.txt uvicorn --factory serve:app --port 8080 --workers 4      # in this folder
    curl -H 'Content-Type: application/json' -d @request.json http://localhost:8080/rank

A request has the documents of one query, with features by name. Features of `query` are shared by all documents:

    {"query": {"n_words": 2},
     "documents": [{"id": "a", "features": {"text_match": 9.5, "rating": null}},
                   {"id": "b", "features": {"text_match": 12, "rating": 4.5}}]}

The answer has the documents by falling score, and the file of the model that scored them:

    {"model": "model.txt", "documents": [{"id": "b", "score": 1.25}, {"id": "a", "score": 0.5}]}

Each document needs every feature that the trees use, so that a misspelt name cannot become a missing value. `null` and
`NaN` are missing values. Other features are ignored: a client may send a new feature before the model that uses it is
deployed. Invalid requests get status 422 and the reason.

To deploy another model, rename it to the served name, or rename a symbolic link to it. Each worker looks at the file
once per second. It loads and prepares the new model while requests use the old one, then swaps them. If the file cannot
be served, the old model stays, and GET /health reports why. A rename back deploys the earlier model.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, StrictBool, StrictFloat

import rankwood

SECONDS = 1.0  # between looks at the file
Value = StrictFloat | StrictBool | None  # a text, such as "1" or "yes", is not a number


class Document(BaseModel):
    id: str
    features: dict[str, Value]


class Query(BaseModel):
    query: dict[str, Value] = {}
    documents: Annotated[list[Document], Field(max_length=10_000)]


class Served:
    """A model that is ready to score. It never changes, so all threads may share it."""

    def __init__(self, path: str) -> None:
        """Raises an OSError or a ValueError if the file cannot be served."""
        self.name = os.path.basename(os.path.realpath(path))
        self.model = rankwood.Model.load(path)
        names = self.model.feature_names or []
        used = list(self.model.importance())
        if self.model.categories or not set(used) <= set(names):
            raise ValueError(f"{path}: expected a model of named features without categories")
        self.features = {str(name): names.index(str(name)) for name in used}
        self.width = len(names)
        self.model.predict(np.zeros((1, self.width), np.float32))  # prepares the model for all threads

    def rank(self, query: Query) -> dict[str, Any]:
        """Returns the answer to a request. Raises a ValueError if a document lacks a feature."""
        rows = np.zeros((len(query.documents), self.width))
        at = list(self.features.values())
        for document, row in zip(query.documents, rows, strict=True):
            given = query.query | document.features
            try:
                row[at] = np.array([given[name] for name in self.features], np.float64)  # null becomes NaN
            except KeyError as name:
                raise ValueError(f"document {document.id!r} lacks feature {name}; null is a missing value") from None
        scores = self.model.predict(rows, threads=1)
        order = np.argsort(-scores, kind="stable").tolist()
        documents = [{"id": query.documents[i].id, "score": float(scores[i])} for i in order]
        return {"model": self.name, "documents": documents}


def version(path: str) -> tuple[Any, ...]:
    """Returns values that change when another file is at the path; an empty tuple if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return os.path.realpath(path), found.st_ino, found.st_mtime_ns, found.st_size


def answer(content: Any, status: int = 200) -> Response:
    """Returns JSON in ASCII, which can represent any text that a request may contain."""
    return Response(json.dumps(content), status, media_type="application/json")


def app(path: str | None = None) -> FastAPI:
    path = path or os.environ["RANKWOOD_MODEL"]
    seen = version(path)
    served = Served(path)
    error: str | None = None

    async def follow() -> None:
        nonlocal seen, served, error
        while True:
            await asyncio.sleep(SECONDS)
            now = version(path)
            if now == seen:
                continue
            seen = now
            try:
                served, error = await asyncio.to_thread(Served, path), None
                logging.getLogger("uvicorn.error").info("serving %s", served.name)
            except (OSError, ValueError) as failure:  # rankwood's errors are OSErrors or ValueErrors
                error = str(failure)
                logging.getLogger("uvicorn.error").error("still serving %s: %s", served.name, error)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(follow())
        yield
        task.cancel()

    web = FastAPI(title="Rankwood", lifespan=lifespan)

    @web.exception_handler(RequestValidationError)
    async def invalid(_: Request, failure: RequestValidationError) -> Response:
        return answer({"detail": [{"loc": one["loc"], "msg": one["msg"]} for one in failure.errors()]}, 422)

    @web.post("/rank")
    def rank(query: Query) -> Response:
        try:
            return answer(served.rank(query))
        except ValueError as failure:
            return answer({"detail": str(failure)}, 422)

    @web.get("/health")
    def health() -> dict[str, Any]:
        return {"status": "ok", "model": served.name, "features": sorted(served.features), "error": error}

    return web
