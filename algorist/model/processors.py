"""Processors: one step of message passing between nodes (paper, section 3.2.3).

A processor is prepared once for a whole window: it folds the encoders into its own maps and
joins the maps that read the same input. What remains is the step itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, relu

from algorist.errors import UnregisteredError
from algorist.kernels.affine import Affine, product
from algorist.kernels.maps import Maps, ProcessMaps, Update
from algorist.kernels.ops import Kernels
from algorist.model.fused.composing import Composer, FusedOutput, OutputGroup
from algorist.model.layers import LayerNorm, Linear
from algorist.plugin_errors import user_error
from algorist.registries import registry

Stepped = tuple[Tensor, Tensor | None]
"""(new hidden, triplet maxima)."""
Step = Callable[[Tensor, Tensor, Tensor | None, Tensor], Stepped]
"""(numbers (S, B, n, F), those of edges (S, B, n, n, F), adjacency, hidden) -> (new hidden, triplet
maxima); the numbers are those of nodes, those of the graph, and a one."""


@dataclass(frozen=True)
class Sizes:
    """What every processor is built from."""

    replicas: int
    hidden: int
    triplet_features: int
    heads: int
    layer_norm: bool


class Processor(nn.Module, ABC):
    """Updates the states of all nodes."""

    triplet_features = 0
    """The number of features of each triplet of nodes; 0 for none."""
    needs_adjacency = False
    """Whether it reads which nodes are adjacent."""
    rules_out_non_edges = False
    """Whether decoders may point and mark along edges only."""

    @property
    def last(self) -> Linear | None:
        """The last map of messages, if there is one."""
        return None

    @abstractmethod
    def columns(self, *, triplets: bool) -> list[FusedOutput]:
        """What it makes of encodings and states; `triplets` where somebody reads them."""

    @abstractmethod
    def compose(self, composer: Composer, joint: OutputGroup) -> Maps:
        """The results that it needs, with its columns where they are."""

    @abstractmethod
    def prepare(self, maps: Maps, kernels: Kernels) -> Step:
        """The step, with the results that it needs."""

    @property
    def widen(self) -> Affine | None:
        """How decoders read the maxima over triplets, if there are any."""
        return None


class Folded(NamedTuple):
    """What is composed for the family around MPNN: as in `ProcessMaps`, but for messages."""

    state: Tensor
    edge: Tensor
    triplet: Tensor | None
    of_message: Tensor


class MessagePassing(Processor):
    """The family around MPNN: which nodes hear each other, with or without triplets and a gate."""

    def __init__(
        self,
        sizes: Sizes,
        *,
        senders: str = "all",
        triplets: bool = False,
        gated: bool = False,
        rules_out_non_edges: bool = False,
    ):
        super().__init__()
        self.senders = senders
        self.needs_adjacency = senders == "neighbours" or rules_out_non_edges
        self.rules_out_non_edges = rules_out_non_edges
        linear = partial(Linear, sizes.replicas)
        h, f = sizes.hidden, sizes.triplet_features
        self.receiver, self.sender = linear(2 * h, h), linear(2 * h, h)
        self.edge, self.graph = linear(h, h), linear(h, h)
        self.first, self.second = linear(h, h), linear(h, h)
        self.keep, self.update = linear(2 * h, h), linear(h, h)
        if triplets:
            self.triplet_features = f
            self.triplet_nodes = nn.ModuleList(linear(2 * h, f) for _ in range(3))
            self.triplet_edges = nn.ModuleList(linear(h, f) for _ in range(3))
            self.triplet_graph = linear(h, f)
            self.triplet_out = linear(f, h)
        else:
            self.triplet_nodes = self.triplet_edges = nn.ModuleList()
        self.norm = LayerNorm(sizes.replicas, h) if sizes.layer_norm else None
        self.gated = gated
        if gated:
            self.gate_state, self.gate_message = linear(2 * h, h), linear(h, h)
            self.gate = linear(h, h, bias=-3.0)

    @property
    def last(self) -> Linear:
        """The last map of messages."""
        return self.second

    def columns(self, *, triplets: bool) -> list[FusedOutput]:
        """Receiver, triplets, sender, keep and gate: the order that kernels know."""
        h, f = self.second.weight.shape[-1], self.triplet_features
        of_triplets = []
        if triplets and f:
            graph = (None, self.triplet_graph, None)
            parts = zip(self.triplet_nodes, self.triplet_edges, graph, strict=True)
            of_triplets = [FusedOutput(f, *maps) for maps in parts]
        return [
            FusedOutput(h, self.receiver, self.edge, self.graph),
            *of_triplets,
            FusedOutput(h, self.sender),
            FusedOutput(h, self.keep, message=self.update),
            *([FusedOutput(h, self.gate_state, message=self.gate_message)] if self.gated else []),
        ]

    def compose(self, composer: Composer, joint: OutputGroup) -> Folded:
        """Join all maps of the node states, and all of messages."""
        edge, *triplets = (composer.edge(span) for column, span in joint.each if column.edge)
        messages = [composer.message(span) for column, span in joint.each if column.message]
        return Folded(
            state=composer.states(joint),
            edge=composer.side_by_side([edge]),
            triplet=composer.side_by_side(triplets) if triplets else None,
            of_message=composer.side_by_side(messages),
        )

    def maps(self, folded: Folded) -> ProcessMaps:
        """All maps of a step."""
        return ProcessMaps(
            state=folded.state,
            edge=folded.edge,
            first=self.first.affine,
            second=self.second.weight,
            triplet=folded.triplet,
            update=Update(
                folded.of_message,
                None if self.norm is None else (self.norm.scale, self.norm.offset),
                self.gate.affine if self.gated else None,
            ),
        )

    def prepare(self, maps: Folded, kernels: Kernels) -> Step:
        """Messages between nodes."""
        whole = self.maps(maps)
        h = self.second.weight.shape[-1]
        wide = 0 if whole.triplet is None else whole.triplet.shape[-1]
        sizes = (h, wide, h, h, h) if self.gated else (h, wide, h, h)
        project = kernels.project(whole.state, sizes)
        message = kernels.message(whole.edge, whole.first, whole.second)
        triplet_max = None if whole.triplet is None else kernels.triplet_max(whole.triplet)
        renew = kernels.renew(whole.update)

        def step(
            numbers: Tensor, edges: Tensor, adjacency: Tensor | None, hidden: Tensor
        ) -> Stepped:
            receiver, triplet, sender, keep, *gate = project(numbers, hidden)
            messages = message(receiver, sender, edges, self._message_mask(adjacency, edges))
            new = renew(keep, gate[0] if gate else None, messages, hidden)
            return new, triplet_max(triplet, edges) if triplet_max else None

        return step

    def _message_mask(self, adjacency: Tensor | None, raw: Tensor) -> Tensor | None:
        if self.senders == "all":
            return None
        if self.senders == "itself":
            return torch.eye(raw.shape[2], device=raw.device).expand(raw.shape[:-1])
        return adjacency

    @property
    def widen(self) -> Affine | None:
        """The map of the triplets of each edge to the hidden size."""
        return self.triplet_out.affine if self.triplet_features else None


class Attention(Processor):
    """Graph attention (Velickovic et al. 2018), and its second version (Brody et al. 2022)."""

    def __init__(self, sizes: Sizes, *, senders: str = "neighbours", dynamic: bool = False):
        super().__init__()
        h, heads = sizes.hidden, sizes.heads
        if h % heads:
            raise ValueError(f"heads: got {heads}, expected a divisor of the hidden size {h}")
        linear = partial(Linear, sizes.replicas)
        self.needs_adjacency = senders == "neighbours"
        self.heads, self.dynamic = heads, dynamic
        width = h if dynamic else heads
        self.value, self.skip = linear(2 * h, h), linear(2 * h, h)
        self.first, self.second = linear(2 * h, width), linear(2 * h, width)
        self.edge, self.graph = linear(h, width), linear(h, width)
        if dynamic:
            self.scores = nn.ModuleList(linear(h // heads, 1) for _ in range(heads))
        self.norm = LayerNorm(sizes.replicas, h) if sizes.layer_norm else None

    def columns(self, *, triplets: bool) -> list[FusedOutput]:
        """What edges and graph add to pairs is added to the first of each."""
        h, width = self.value.weight.shape[-1], self.first.weight.shape[-1]
        first = FusedOutput(width, self.first, self.edge, self.graph)
        return [
            FusedOutput(h, self.value),
            FusedOutput(h, self.skip),
            first,
            FusedOutput(width, self.second),
        ]

    def compose(self, composer: Composer, joint: OutputGroup) -> tuple[Tensor, Tensor]:
        """The maps of the node states, joined, and that of edges."""
        _, _, first, _ = joint.spans
        return composer.states(joint), composer.side_by_side([composer.edge(first)])

    def prepare(self, maps: tuple[Tensor, Tensor], kernels: Kernels) -> Step:
        """Attention among all nodes, or among neighbours."""
        state, edge = maps
        project = kernels.project(state, tuple(c.width for c in self.columns(triplets=False)))

        def step(
            numbers: Tensor, edges: Tensor, adjacency: Tensor | None, hidden: Tensor
        ) -> Stepped:
            value, skip, first, second = project(numbers, hidden)
            looking, seen = (second, first) if self.dynamic else (first, second)
            pairs = product(edges, edge) + looking.unsqueeze(3) + seen.unsqueeze(2)
            logits = self._logits(pairs)  # (S, B, n, n, heads)
            if adjacency is not None:
                logits = logits + (adjacency.unsqueeze(-1) - 1) * 1e9
            values = value.unflatten(-1, (self.heads, -1))  # (S, B, n, heads, f)
            new = torch.einsum("sbijh,sbjhf->sbihf", logits.softmax(3), values).flatten(-2)
            new = relu(new + skip)
            return (new if self.norm is None else self.norm(new)), None

        return step

    def _logits(self, pairs: Tensor) -> Tensor:
        if not self.dynamic:
            return leaky_relu(pairs)
        heads = leaky_relu(pairs).chunk(self.heads, -1)
        return torch.cat([score(head) for score, head in zip(self.scores, heads, strict=True)], -1)


class Memory(Processor):
    """An end-to-end memory network of one hop (Sukhbaatar et al. 2015), a baseline.

    It reads the encoded features as words: numbers cut to integers, which index a dictionary.
    """

    EMBEDDING, SLOTS = 16, 128

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
        self.register_buffer("encoding", encoding, persistent=False)  # (h, EMBEDDING)

    def columns(self, *, triplets: bool) -> list[FusedOutput]:
        """Nothing can be folded: words are not linear in the encoding."""
        return []

    def compose(self, composer: Composer, joint: OutputGroup) -> Maps:
        """The encoders themselves."""
        return composer.encoders()

    def prepare(self, maps: Maps, kernels: Kernels) -> Step:
        """A story for each node."""
        of_node, of_edge, of_graph = maps

        def step(
            numbers: Tensor, edges: Tensor, adjacency: Tensor | None, hidden: Tensor
        ) -> Stepped:
            nodes, edges = product(numbers, of_node), of_edge(edges)
            graph = product(numbers[:, :, 0], of_graph)
            if adjacency is not None:
                edges = edges * adjacency.unsqueeze(-1)
            stories = nn.functional.pad(edges, (0, 0, 0, 1, 0, 1))
            queries = torch.cat((nodes, graph.unsqueeze(2)), 2)
            states = self._answers(queries, stories)
            return states[:, :, :-1] + states[:, :, -1:], None

        return step

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


_BUILDERS: dict[str, Callable[[Sizes], Processor]] = {
    "deepsets": partial(MessagePassing, senders="itself"),
    "gat": Attention,
    "gat_full": partial(Attention, senders="all"),
    "gatv2": partial(Attention, dynamic=True),
    "gatv2_full": partial(Attention, dynamic=True, senders="all"),
    "memnet_full": Memory,
    "memnet_masked": partial(Memory, senders="neighbours"),
}


def _variants() -> dict[str, Callable[[Sizes], Processor]]:
    """The family of MPNN and PGN by the benchmark's names: [triplet_][g](mpnn|pgn)[_mask]."""
    bases = {
        "mpnn": {},
        "pgn": {"senders": "neighbours"},
        "pgn_mask": {"senders": "neighbours", "rules_out_non_edges": True},
    }
    return {
        f"{'triplet_' if triplets else ''}{'g' if gated else ''}{base}": partial(
            MessagePassing, triplets=triplets, gated=gated, **options
        )
        for base, options in bases.items()
        for triplets in (False, True)
        for gated in (False, True)
    }


PROCESSORS = registry("processor", {**_BUILDERS, **_variants()})
"""Every processor by its name."""


def get(name: str) -> Callable[[Sizes], Processor]:
    """What makes a processor of that name."""
    if name not in PROCESSORS:
        raise UnregisteredError("processor", name, PROCESSORS)
    return PROCESSORS[name]


_MISTAKES = (TypeError, ValueError, NameError, AttributeError, LookupError)
"""Those of people; that memory is short, for one, is none."""


def prepared(name: str, processor: Processor, maps: Maps, kernels: Kernels) -> Step:
    """The step of a processor; mistakes of one that is not ours are told in a line."""
    if type(processor).__module__.startswith("algorist."):
        return processor.prepare(maps, kernels)
    telling = partial(user_error, f"processor {name!r}", type(processor).prepare, _MISTAKES)
    with telling():
        step = processor.prepare(maps, kernels)

    def checked(
        numbers: Tensor, edges: Tensor, adjacency: Tensor | None, hidden: Tensor
    ) -> Stepped:
        with telling():
            after, triplets = step(numbers, edges, adjacency, hidden)
            if after.shape != hidden.shape:
                got, expected = tuple(after.shape), tuple(hidden.shape)
                raise ValueError(f"got states of shape {got}, expected {expected}")
        return after, triplets

    return checked
