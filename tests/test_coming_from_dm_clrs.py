"""The page for those who know dm-clrs: its table of flags, and its examples for both packages."""

import re
from argparse import ArgumentParser
from pathlib import Path

import pytest
from commanding import parsed

from algorist.cli import COMMANDS

PAGE = (Path(__file__).parent.parent / "docs" / "coming-from-dm-clrs.md").read_text()
ROWS = [row.strip("| ").split(" | ") for row in PAGE.splitlines() if row.startswith("| `--")]
FLAGS = """\
algorithms train_lengths length_needle seed random_pos enforce_permutations enforce_pred_as_input
batch_size chunked_training chunk_length train_steps eval_every test_every hidden_size nb_heads
nb_msg_passing_steps learning_rate grad_clip_max_norm dropout_prob hint_teacher_forcing hint_mode
hint_repred_mode use_ln use_lstm nb_triplet_fts encoder_init processor_type checkpoint_path
dataset_path freeze_processor"""
"""All flags of clrs.examples.run, version 2.0.3."""


def options(text):
    return re.findall(r"`(--[^`]+)`", text)


def test_every_flag_of_dm_clrs_has_its_row():
    named = [re.split("[= ]", flag)[0][2:] for theirs, _ in ROWS for flag in options(theirs)]
    assert sorted(set(named)) == sorted(FLAGS.split())


def test_every_option_of_ours_is_understood():
    known = {"--family": "graphs", "--processor-from": "runs/bfs"}
    for _, ours in ROWS:
        for option in options(ours):
            words = option.replace("FOLDER", "runs/two").split()
            needed = [known[words[0]]] if words[0] in known else []
            assert parsed("train", "bfs", "--out", "runs/two", *words, *needed).command == "train"


def test_options_that_have_no_equal_are_not_ours():
    parser = ArgumentParser()
    COMMANDS["train"].add_arguments(parser)
    words = parser.format_help().lower()
    assert "--teacher-forcing" in words
    without = {flag for theirs, ours in ROWS if ours.startswith("none") for flag in options(theirs)}
    assert without == {"--test_every=500", "--dataset_path=FOLDER"}
    for missing in ("--test-every", "--dataset"):
        assert missing not in words


def blocks(*words):
    """The pieces of Python that are no doctest and have these words."""
    found = re.findall(r"^```python\n(?!>>>)([\s\S]*?)^```$", PAGE, re.MULTILINE)
    return [block for block in found if all(word in block for word in words)]


@pytest.mark.parametrize("block", blocks("clrs"))
def test_examples_for_dm_clrs_run_where_it_is_installed(block):
    pytest.importorskip("clrs", reason="dm-clrs is not installed")
    exec(compile(block, "coming-from-dm-clrs.md", "exec"), {})


def test_there_are_such_examples():
    assert len(blocks("clrs")) == 4
