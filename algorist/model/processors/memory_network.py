"""A memory network."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from algorist.model.factored import dense
from algorist.model.layers import Linear
from algorist.model.processors.base import Encoded, ReplicatedProcessor, Sizes, StepOutput


class Memory(ReplicatedProcessor):
    """An end-to-end memory network of one hop (Sukhbaatar et al. 2015), a baseline.

    It reads the encoded features as words: numbers cut to integers, which index a dictionary.
    """

    EMBEDDING, SLOTS = 16, 128
    encoding: Tensor  # (h, EMBEDDING)

    def __init__(self, sizes: Sizes, *, senders: str = "all"):
        super().__init__()
        h, linear = sizes.hidden, partial(Linear, sizes.replicas, bias=None)
        self.needs_adjacency = senders == "neighbours"
        words = partial(torch.zeros, sizes.replicas, h - 1)
        self.query_words = nn.Parameter(words(self.EMBEDDING))
        self.story_words = nn.Parameter(words(self.EMBEDDING))
        self.answer_words = nn.Parameter(words(self.EMBEDDING))
        self.slots = nn.Parameter(torch.zeros(sizes.replicas, self.SLOTS, self.EMBEDDING))
        self.inner, self.outer = linear(self.EMBEDDING, h), linear(h, h)
        place = torch.arange(1, h + 1) - h / 2
        channel = torch.arange(1, self.EMBEDDING + 1) - self.EMBEDDING / 2
        encoding = 1 + 4 * place[:, None] * channel / self.EMBEDDING / h
        self.register_buffer("encoding", encoding, persistent=False)

    def forward(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        adjacency: Tensor | None,
        hidden: Tensor,
    ) -> StepOutput:
        """A story for each node: its edges. Words are not linear in the encoding."""
        stories = dense(edges)
        if adjacency is not None:
            stories = stories * adjacency.unsqueeze(-1)
        stories = nn.functional.pad(stories, (0, 0, 0, 1, 0, 1))
        queries = torch.cat((dense(nodes), dense(graph).unsqueeze(2)), 2)
        states = self._answers(queries, stories)
        return StepOutput(states[:, :, :-1] + states[:, :, -1:])

    def _answers(self, queries: Tensor, stories: Tensor) -> Tensor:
        count = stories.shape[3]
        if count > self.SLOTS:
            raise ValueError(
                f"a memory network: got {count - 1}, expected at most {self.SLOTS - 1} nodes; "
                "choose another processor for larger problems"
            )
        empty = (0, 0, 0, self.SLOTS - count)
        memory = nn.functional.pad(self._embedded(stories, self.story_words), empty)
        memory = memory + self.slots[:, None, None]
        output = nn.functional.pad(self._embedded(stories, self.answer_words), empty)
        query = self._embedded(queries, self.query_words)  # (S, B, n + 1, EMBEDDING)
        attention = (memory * query.unsqueeze(3)).sum(-1).softmax(-1)
        answer = (output * attention.unsqueeze(-1)).sum(3)
        return self.outer(relu(self.inner(query + answer)))

    def _embedded(self, values: Tensor, words: Tensor) -> Tensor:
        """The sum over channels of the words that the values index, weighted by place."""
        dictionary = nn.functional.pad(words, (0, 0, 0, 1))  # the last word is empty
        size = dictionary.shape[1]
        indices = values.detach().long().clamp(-size, size - 1) % size
        offsets = torch.arange(len(words), device=words.device) * size
        indices = indices + offsets.view(-1, *(1,) * (values.ndim - 1))
        return (nn.functional.embedding(indices, dictionary.flatten(0, 1)) * self.encoding).sum(-2)
