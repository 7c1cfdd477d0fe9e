"""Settings from the command line: options, and what is refused before anything is written."""

import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields

import pytest
from commanding import SMALL, parsed, train
from small import ON_GPU

import algorist
from algorist.cli import main
from algorist.commands.settings import field_texts, sections, settings
from algorist.commands.train import configuration, free_folder
from algorist.training import recipes

pytestmark = pytest.mark.usefixtures("piped")


def other_value(kind, value):
    """A value of the same kind that is not the given one, and its text on the command line."""
    if kind is bool:
        return not value, None
    if kind == tuple[int, ...]:
        return (5, 9), "5,9"
    if kind == tuple[str, ...]:
        return ("outputs=2", "hints=0.5"), "outputs=2,hints=0.5"
    if kind is str:
        return "x", "x"
    return (kind(1), "1") if value != 1 else (kind(2), "2")


CHOICES = {
    "processor": "gatv2",
    "hints": "decoded_only",
    "feedback": "hard_on_eval",
    "scalar_hint_init": "default",
    "optimizer": "adamw",
    "schedule": "warmup+cosine",
    "validate_by": "loss",
    "graph_family": "er+ws",
}
NEEDED = {
    "weight_decay": ["--optimizer", "sgd"],
    "momentum": ["--optimizer", "sgd"],
    "transitions": ["--no-carry-state", "--output-step"],
}
"""What else must be said, so that a setting makes sense."""


@pytest.mark.parametrize(
    "setting", [s for name in sections() for s in settings(name)], ids=lambda s: s.place
)
def test_every_setting_is_an_option(setting):
    start = recipes.recipe("ibarz2022", ["bfs"])
    value, text = other_value(setting.kind, setting.of(start))
    if setting.name in CHOICES:
        value = text = CHOICES[setting.name]
    if setting.name in ("dropout", "beta2"):
        value, text = 0.5, "0.5"
    flag = setting.name.replace("_", "-")
    words = [f"--{flag}", text] if text else [f"--{flag}" if value else f"--no-{flag}"]
    needed = NEEDED.get(setting.name, [])
    config = configuration(parsed("train", "bfs", "--out", "x", *words, *needed))
    assert setting.of(config) == value
    if needed:
        start = configuration(parsed("train", "bfs", "--out", "x", *needed))
    changed = [s.place for n in sections() for s in settings(n) if s.of(config) != s.of(start)]
    assert changed == [setting.place]


def test_the_help_of_an_option_is_the_text_under_its_field(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    shown = " ".join(capsys.readouterr().out.split()).lower()
    for name, cls in sections().items():
        assert f"{name}:" in shown
        texts = field_texts(cls)
        assert set(texts) == {f.name for f in fields(cls)}
        for text in texts.values():
            assert text.rstrip(".").lower() in shown
    assert (
        "(default: triplet_gmpnn; ibarz2022 for many tasks: triplet_mpnn; clrs2022: mpnn; "
        "algorist2026: triplet_mpnn; salsa2023: pgn_mask)" in shown
    )


def test_no_two_settings_share_a_name():
    names = Counter(s.name for section in sections() for s in settings(section))
    assert set(names.values()) == {1}


@pytest.mark.parametrize("recipe", recipes.RECIPES)
@pytest.mark.parametrize("tasks", [["dfs"], ["dfs", "bfs"]])
def test_without_options_a_recipe_is_what_it_is(recipe, tasks):
    config = configuration(parsed("train", *tasks, "--out", "x", "--recipe", recipe))
    assert config == recipes.recipe(recipe, tasks)


def test_improvements_are_taken_away_first_and_options_have_the_last_word():
    words = ["train", "dfs", "--out", "x", "--without", "gating,triplets", "--without", "clipping"]
    config = configuration(parsed(*words))
    start = recipes.recipe("ibarz2022", ["dfs"])
    assert config == recipes.without(start, "gating", "triplets", "clipping")
    assert configuration(parsed(*words, "--clip", "2")).optimizer.clip == 2
    assert config.optimizer.clip == 0


def test_families_and_all_are_lists_of_names_without_repetition():
    sorting = configuration(parsed("train", "heapsort", "bfs", "--family", "sorting", "--out", "x"))
    assert sorting.algorithms == ("heapsort", "bfs", "bubble_sort", "insertion_sort", "quicksort")
    everything = configuration(parsed("train", "--all", "--out", "x"))
    assert list(everything.algorithms) == algorist.algorithms()


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ("bfs", "runs/bfs"),
        ("dfs", "runs/dfs-3"),
        ("bfs dfs dijkstra", "runs/bfs-and-2-more"),
        ("--family sorting", "runs/sorting"),
        ("--all", "runs/all"),
    ],
)
def test_a_run_without_a_folder_gets_one_of_its_own(tmp_path, monkeypatch, words, folder):
    monkeypatch.chdir(tmp_path)
    for taken in ("runs/dfs", "runs/dfs-2"):
        (tmp_path / taken).mkdir(parents=True)
    assert free_folder(parsed("train", *words.split())) == folder


def test_several_processes_must_be_told_their_folder(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="the folder that all processes share"):
        free_folder(parsed("train", "bfs"))


def test_a_command_without_a_folder_trains(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "bfs", *SMALL, "--steps", "1", "--sizes", "4"]) == 0
    assert "the run is kept in runs/bfs\n" in capsys.readouterr().out
    assert (tmp_path / "runs" / "bfs" / "best.safetensors").exists()


def test_seed_and_seeds_are_one_option():
    assert configuration(parsed("train", "bfs", "--out", "x", "--seeds", "4,2")).seeds == (4, 2)
    assert configuration(parsed("train", "bfs", "--out", "x", "--seed", "9")).seeds == (9,)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train --out {out}", "algorithms: got none, expected names, --family or --all"),
        ("train bsf --out {out}", "unknown algorithm 'bsf': did you mean 'bfs'?"),
        ("train --family sort --out {out}", "unknown family 'sort': did you mean 'sorting'?"),
        ("train bfs --out {out} --recipe general", "unknown recipe 'general'"),
        ("train bfs --out {out} --without gate", "unknown improvement 'gate'"),
        ("train bfs --out {out} --hiden 8", "unrecognized arguments: --hiden"),
        ("train bfs --out {out} --step 8", "unrecognized arguments: --step"),
        ("train bfs --out {out} --hidden many", "argument --hidden: invalid int value: 'many'"),
        ("train bfs --out {out} --sizes 4,x", "got '4,x', expected whole numbers"),
        ("train bfs --out {out} --seeds 1,1", "seeds: got (1, 1), expected each once"),
        ("train bfs --out {out} --seeds 4294967296", "seeds: got 4294967296, expected 0 to 2**32"),
        ("train bfs --out {out} --no-online --sizes 4", "--sizes: the fixed training set has its"),
        ("train bfs --out {out} --without ,", "got ',', expected names"),
        ("train kmp_matcher --out {out} --sizes 4", "kmp_matcher cannot be drawn at size 5"),
        ("train bfs --out {out} --clip -1", "clip: got -1.0, expected 0 or more"),
        ("train bfs --out {out} --processor mpn", "unknown processor 'mpn': did you mean 'mpnn'?"),
        ("train bfs --out {out} --device tpus", "device: got 'tpus', expected cpu, cuda or auto"),
        ("train bfs --out {out} --device mps", "device: got 'mps', expected cpu, cuda or auto"),
        ("train bfs --out {out} --learning-rate nan", "learning_rate: got nan, expected a number"),
        ("train bfs --out {out} --clip inf", "clip: got inf, expected 0 or more"),
        ("reproduce specialists --out {out} --average 5", "unrecognized arguments: --average"),
        ("train bfs --out {out} --kernels fusd", "unknown kernels 'fusd': did you mean 'fused'?"),
        ("train bfs --out {out} --kernels fused --processor gat", "fused ones know no gat"),
        ("train bfs --out {out} --precision fp16", "unknown precision 'fp16'"),
        ("train bfs --out {out} --workers -1", "workers: got -1, expected 0 or more"),
        ("train bfs --out {out} --stop-after 9", "got '9', expected a time such as 90s, 9m or 1h"),
        ("train bfs --out {out} --stop-after -1m", "expected one argument"),
        ("train bfs --out {out} --stop-after 0s", "got '0s', expected a time"),
        ("train bfs --out {out} --stop-after nanh", "got 'nanh', expected a time"),
        ("eval {out} --pictures", "unrecognized arguments: --pictures"),
        (
            "train bfs --out {out} --processor-from nowhere",
            "no file, run or shipped learner 'nowhere'",
        ),
        ("resume {out}", "there is no run here"),
        ("report {out}", "there is no run here"),
        ("eval {out}", "there is no file, run or shipped learner"),
        ("import-official {out} x --algorithms bfs", "no such file or directory"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    capsys, tmp_path, words, message
):
    out = tmp_path / "run"
    assert main(words.format(out=out).split()) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("folder", ["", "roads.csv", "roads.csv/below"])
@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("train bfs --out {}", "--out"),
        ("sweep bfs --out {}", "--out"),
        ("sweep bfs --out new --runs {}", "--runs"),
        ("sweep bfs --out new --pack {}", "--pack"),
        ("reproduce --out {}", "--out"),
        ("reproduce specialists --runs {}", "--runs"),
        ("pack run {}", "OUT"),
    ],
)
def test_folders_that_cannot_be_made_are_refused_at_once(
    capsys, monkeypatch, tmp_path, words, option, folder
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roads.csv").write_text("a,b")
    assert main([word.format(folder) for word in words.split()]) == 2
    got = "roads.csv, which is a file" if folder else "''"
    assert f"{option}: got {got}, expected a folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["roads.csv"]


def test_too_little_memory_is_told_in_one_line(capsys, tmp_path):
    words = ["train", "bfs", "--out", str(tmp_path / "run"), "--hidden", "99999999"]
    assert main([*words, "--device", "cpu"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("algorist: error: there is not enough memory (")
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_warnings_do_not_tell_where_they_arise(tmp_path):
    folder = tmp_path / "run"
    assert train(folder, "bfs", "--steps", "2", "--checkpoint-every", "1") == 0
    (folder / "checkpoints" / "00000002" / "state.json").write_text("scribble")
    words = [sys.executable, "-m", "algorist", "resume", str(folder), "--device", "cpu"]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    assert re.fullmatch(
        r"algorist: warning: the checkpoint .*: trying the one before\n", ended.stderr
    )


@pytest.mark.skipif(ON_GPU, reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_an_error(capsys, tmp_path):
    assert main(["train", "bfs", "--out", str(tmp_path / "run"), "--device", "cuda"]) == 2
    assert "there is no such GPU here" in capsys.readouterr().err
