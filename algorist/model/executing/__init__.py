"""What only nets that execute need (docs/executing.md): what they read, and how they decode it.

`derived_features` are the numbers that encoders read beside the features of a task,
`decoder_features` those that decoders read. Both are computed by `selection`, `comparisons`,
`orders`, `places` and `splits`. `decoders` and `exact_sums` predict hints from them; `transitions`
draws single steps to train on.
"""
