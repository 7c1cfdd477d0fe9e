"""Training, resuming and testing from the command line."""

import json
import pickle
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path

import golden
import numpy as np
import pytest
import torch
from processes import PATIENCE, running
from small import ON_GPU

import algorist
from algorist import cli
from algorist.cli import main
from algorist.commands.conduct import Interrupt
from algorist.commands.settings import field_texts, sections, settings
from algorist.commands.train import configuration
from algorist.data import official
from algorist.evaluation.evaluate import evaluate
from algorist.model.official import entries
from algorist.training import recipes
from algorist.training.config import Config

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.usefixtures("piped")

SMALL = ["--hidden", "8", "--batch-size", "4", "--device", "cpu"]


def parsed(*words):
    return cli._parser(words).parse_args(words)


def train(folder, *words):
    return main(["train", *words, "--out", str(folder), *SMALL])


def steps_in(folder):
    return [
        json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of two seeds."""
    folder = tmp_path_factory.mktemp("runs") / "bfs"
    words = ["--seeds", "3,5", "--steps", "6", "--validate-every", "2"]
    assert train(folder, "bfs", *words) == 0
    return folder


# ------------------------------------------------------------------ options


def other_value(kind, value):
    """A value of the same kind that is not the given one, and its text on the command line."""
    if kind is bool:
        return not value, None
    if kind == tuple[int, ...]:
        return (5, 9), "5,9"
    if kind is str:
        return "x", "x"
    return (kind(1), "1") if value != 1 else (kind(2), "2")


CHOICES = {
    "processor": "gatv2",
    "hints": "decoded_only",
    "feedback": "hard_on_eval",
    "scalar_hint_init": "default",
}


@pytest.mark.parametrize(
    "setting", [s for name in sections() for s in settings(name)], ids=lambda s: s.place
)
def test_every_setting_is_an_option(setting):
    start = recipes.recipe("generalist", ["bfs"])
    value, text = other_value(setting.kind, setting.of(start))
    if setting.name in CHOICES:
        value = text = CHOICES[setting.name]
    flag = setting.name.replace("_", "-")
    words = [f"--{flag}", text] if text else [f"--{flag}" if value else f"--no-{flag}"]
    config = configuration(parsed("train", "bfs", "--out", "x", *words))
    assert setting.of(config) == value
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
        "(default: triplet_gmpnn; generalist for many tasks: triplet_mpnn; clrs2022: mpnn)" in shown
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
    start = recipes.recipe("generalist", ["dfs"])
    assert config == recipes.without(start, "gating", "triplets", "clipping")
    assert configuration(parsed(*words, "--clip", "2")).optimiser.clip == 2
    assert config.optimiser.clip == 0


def test_families_and_all_are_lists_of_names_without_repetition():
    sorting = configuration(parsed("train", "heapsort", "bfs", "--family", "sorting", "--out", "x"))
    assert sorting.algorithms == ("heapsort", "bfs", "bubble_sort", "insertion_sort", "quicksort")
    everything = configuration(parsed("train", "--all", "--out", "x"))
    assert list(everything.algorithms) == algorist.algorithms()


def test_seed_and_seeds_are_one_option():
    assert configuration(parsed("train", "bfs", "--out", "x", "--seeds", "4,2")).seeds == (4, 2)
    assert configuration(parsed("train", "bfs", "--out", "x", "--seed", "9")).seeds == (9,)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train --out {out}", "algorithms: got none, expected names, --family or --all"),
        ("train bfs", "the following arguments are required: --out"),
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
        ("train bfs --out {out} --device tpus", "--device: got 'tpus', expected cpu, cuda or auto"),
        ("train bfs --out {out} --device mps", "--device: got 'mps', expected cpu, cuda or auto"),
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
        ("eval {out} --graphs", "unrecognized arguments: --graphs"),
        (
            "train bfs --out {out} --processor-from nowhere",
            "no file, run or shipped learner 'nowhere'",
        ),
        ("resume {out}", "there is no run here"),
        ("report {out}", "there is no run here"),
        ("eval {out}", "there is no file, run or shipped learner"),
        ("import-official {out} x --algorithms bfs", "No such file or directory"),
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


# ---------------------------------------------------------------- training


def test_a_run_prints_a_line_for_each_validation_and_keeps_its_folder(capsys, tmp_path):
    folder = tmp_path / "a run"
    assert train(folder, "bfs", "--steps", "5", "--validate-every", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("bfs: triplet_gmpnn, ")
    steps = [line.split()[1] for line in lines if line.startswith("step")]
    assert steps == ["2/5", "4/5", "5/5"]
    for word in ("loss", "validation", "best", "steps/s", "left"):
        assert word in lines[2]
    assert lines[-1] == f"to test it: algorist eval '{folder}'"
    assert steps_in(folder) == [2, 4, 5]
    config = Config.from_json((folder / "config.json").read_text())
    assert (config.model.hidden, config.schedule.steps) == (8, 5)
    assert {"best.safetensors", "checkpoints", "events"} < {p.name for p in folder.iterdir()}


def test_a_second_run_in_the_same_folder_is_refused(capsys, trained):
    assert train(trained, "bfs") == 2
    assert f"resume it (algorist resume {trained})" in capsys.readouterr().err


def test_a_terminal_shows_the_run_live(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    words = ["--steps", "4", "--validate-every", "2", "--chunk", "8"]
    assert train(tmp_path / "run", "bfs", "dijkstra", *words) == 0
    shown = capsys.readouterr().out
    assert "\x1b[" in shown  # a display that is drawn anew
    last = shown[shown.rindex("task") :]
    assert "step 4/4" in last
    assert "dijkstra" in last


def test_a_finished_run_says_so_and_goes_on_if_told_how_far(capsys, tmp_path):
    folder = tmp_path / "a run"
    train(folder, "bfs", "--steps", "3")
    capsys.readouterr()
    assert main(["resume", str(folder)]) == 0
    said = f"all is done, 3 steps: algorist resume '{folder}' --steps N goes on to N"
    assert said in capsys.readouterr().out
    assert train(folder, "bfs") == 2
    assert f"resume it (algorist resume '{folder}')" in capsys.readouterr().err
    assert main(["pack", str(folder), str(tmp_path / "in few bytes")]) == 0
    go_on = f"to go on: algorist resume '{tmp_path / 'in few bytes'}'"
    assert go_on in capsys.readouterr().out
    assert main(["resume", str(folder), "--steps", "2"]) == 2
    assert "steps: got 2, expected more than the 3 that are done" in capsys.readouterr().err
    assert main(["resume", str(folder), "--steps", "5", "--device", "cpu"]) == 0
    assert "going on after step 3" in capsys.readouterr().out
    assert steps_in(folder) == [3, 5]
    assert Config.from_json((folder / "config.json").read_text()).schedule.steps == 5


def test_an_extended_run_ends_as_one_that_was_long_from_the_start(tmp_path):
    words = ["--validate-every", "2", "--batch-size", "2"]
    train(tmp_path / "short", "bfs", "--steps", "4", *words)
    assert main(["resume", str(tmp_path / "short"), "--steps", "6", "--device", "cpu"]) == 0
    train(tmp_path / "long", "bfs", "--steps", "6", *words)
    short, long = (algorist.load(tmp_path / name).net.state_dict() for name in ("short", "long"))
    assert all(torch.equal(short[name], long[name]) for name in long)


def test_a_run_that_diverges_ends_with_one_line_and_exit_code_1(capsys, tmp_path):
    folder = tmp_path / "run"
    words = ["--learning-rate", "1e30", "--clip", "0", "--steps", "9", "--no-layer-norm"]
    assert train(folder, "bfs", *words) == 1
    error = capsys.readouterr().err
    assert error.startswith("algorist: error: ")
    assert "the last checkpoint is kept" in error
    assert error.count("\n") == 1
    assert (folder / "checkpoints" / "00000000").exists()


def test_a_run_stops_when_its_time_is_over_and_goes_on_later(capsys, tmp_path):
    folder = tmp_path / "run"
    words = ["--steps", "4", "--validate-every", "2"]
    assert train(folder, "bfs", *words, "--stop-after", "0.001s") == 0
    assert "stopped and saved at step 1\n" in capsys.readouterr().out
    words = ["resume", str(folder), "--device", "cpu", "--kernels", "plain", "--workers", "2"]
    assert main([*words, "--stop-after", "1h"]) == 0
    assert "going on after step 1" in capsys.readouterr().out
    assert steps_in(folder) == [2, 4]


@pytest.mark.parametrize(("text", "value"), [("90s", 90), ("9m", 540), ("1.5h", 5400)])
def test_times_are_given_in_seconds_minutes_or_hours(text, value):
    assert parsed("train", "bfs", "--out", "x", "--stop-after", text).stop_after == value


def test_ctrl_c_finishes_the_step_saves_and_says_how_to_go_on(tmp_path):
    folder = tmp_path / "run"
    words = ["train", "bfs", "--out", str(folder), *SMALL]
    words += ["--steps", "100000", "--validate-every", "3"]
    with running("-m", "algorist", *words) as process:
        while not process.stdout.readline().startswith("step"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "finishing this step" in err
    assert "Traceback" not in err
    assert f"to go on: algorist resume {folder}" in out
    saved = max(int(path.name) for path in (folder / "checkpoints").iterdir())
    assert f"stopped and saved at step {saved}" in out
    assert main(["resume", str(folder), "--steps", str(saved + 2), "--device", "cpu"]) == 0
    assert steps_in(folder)[-1] == saved + 2


def test_sigterm_is_waited_for_too_and_a_second_signal_is_not():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        assert not interrupt.came()
        signal.raise_signal(signal.SIGTERM)
        assert interrupt.came()
        assert interrupt.exit_code == 143
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


# -------------------------------------------------------------- evaluation


def test_eval_prints_what_evaluate_says_beside_the_paper(capsys, trained):
    assert main(["eval", str(trained), "--samples", "3", "--device", "cpu"]) == 0
    heading, row = capsys.readouterr().out.splitlines()[:2]
    assert heading.split()[:3] == ["algorithm", "n", "samples"]
    learner = algorist.load(trained)
    batch = official.split("bfs", "test").take(np.arange(3))
    scores = np.array([100 * e.score for e in evaluate(learner, "bfs", batch)])
    error = scores.std(ddof=1) / np.sqrt(2)
    expected = f"{scores.mean():.2f} ± {error:.2f}"
    assert row.split()[:4] == ["bfs", "64", "3", "pi"]
    assert row.count(expected) == 2  # of the output and, since there is one only, of their mean
    assert row.rstrip().endswith("99.73 ± 0.04")


def test_eval_says_that_samples_are_fewer_only_if_they_are_and_tests_nothing_twice(capsys, trained):
    for samples, is_said in (("3", True), ("999999", False)):
        words = ["--samples", samples, "--device", "cpu"]
        assert main(["eval", str(trained), "bfs", "bfs", *words]) == 0
        shown = capsys.readouterr().out
        assert ("samples: only the first 3 of each official test" in shown) == is_said
        assert sum(line.startswith("bfs ") for line in shown.splitlines()) == 1


def test_a_model_without_a_name_is_not_the_usual_one(capsys, monkeypatch, trained):
    monkeypatch.chdir(trained)  # '' is not the folder where one is, either
    for words in (["eval", "--model"], ["bench", "evaluation"], ["run", "minimum", "1", "--model"]):
        assert main([*words, ""]) == 2
        assert "MODEL: got '', expected a run's folder" in capsys.readouterr().err


def test_eval_as_json_has_every_seed_and_fresh_problems_of_any_size(capsys, trained):
    words = [
        "--n",
        "5",
        "--count",
        "6",
        "--seed",
        "7",
        "--option",
        "p=0.3",
        "--json",
        "--over-time",
    ]
    assert main(["eval", str(trained), "bfs", *words, "--device", "cpu"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["algorithm"], row["n"], row["samples"]) == ("bfs", 5, 6)
    batch = official.generate("bfs", n=5, count=6, seed=7, p=0.3)
    both = evaluate(algorist.load(trained), "bfs", batch, hints=True)
    assert [one["outputs"] for one in row["replicas"]] == [dict(e.outputs) for e in both]
    assert [one["correct"] for one in row["replicas"]] == [e.correct for e in both]
    assert len(row["replicas"][0]["hints_over_time"]["pi_h"]) == batch.steps - 1


def test_eval_shows_hints_and_how_they_change(capsys, trained):
    words = ["--split", "val", "--samples", "4", "--hints", "--over-time", "--device", "cpu"]
    assert main(["eval", str(trained), *words]) == 0
    text = capsys.readouterr().out
    assert "paper" not in text  # it has no scores for this set
    assert [line.split()[1:3] for line in text.splitlines() if "pi_h     pointer" in line]
    assert [line for line in text.splitlines() if line.split()[:1] == ["reach_h"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dfs"], "unknown algorithm for this learner 'dfs'"),
        (["--samples", "0"], "samples: got 0"),
        (["--count", "3"], "--count: only fresh problems have it, expected --n too"),
        (["--option", "p=1"], "--option: only fresh problems have it"),
        (["--n", "4", "--split", "val"], "--split: only fixed sets have it, expected no --n"),
        (["--n", "4", "--option", "count=3"], "unknown option 'count'"),
        (["--n", "0"], "n: got 0, expected a whole number of at least 1"),
        (["--split", "tset"], "invalid choice: 'tset'"),
        (["--official", "--split", "val"], "--split: got val, but --official is test"),
        (["--official", "--n", "4"], "--official: only fixed sets have it, expected no --n"),
        (["--html", "x.html", "--n", "4"], "--html: only the official test is kept"),
        (["--results", "x", "--split", "val"], "--results: only the official test is kept"),
        (["--html", "/nowhere/x.html"], "--html: there is no folder /nowhere"),
        (["--html", "/"], "--html: got /, which is a folder, expected a file"),
        (["--html", ""], "--html: got '', expected a file"),
        (["--results", __file__], f"--results: got {__file__}, which is a file, expected a folder"),
        (["--results", ""], "--results: got '', expected a folder"),
        (["--results", "x"], "which lies here, expected a shipped learner"),
        (["--model", "generalist"], "unknown algorithm '"),
    ],
)
def test_eval_refuses_what_makes_no_sense(capsys, trained, words, message):
    assert main(["eval", str(trained), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_learner_without_hints_has_none_to_show(capsys, tmp_path):
    train(tmp_path / "run", "bfs", "--steps", "1", "--hints", "none")
    assert main(["eval", str(tmp_path / "run"), "--hints"]) == 2
    assert "this learner predicts no hints" in capsys.readouterr().err


# ------------------------------------------------------------- interchange


def test_export_writes_one_seed_in_half_precision(capsys, trained, tmp_path):
    file = tmp_path / "one.safetensors"
    assert main(["export", str(trained), str(file), "--seed", "5", "--half"]) == 0
    whole, one = algorist.load(trained), algorist.load(file)
    assert one.net.replicas == 1
    assert [replica["seed"] for replica in one.about["replicas"]] == [5]
    for name, value in one.net.state_dict().items():
        expected = whole.net.state_dict()[name][1:2].half().float()
        assert torch.equal(value, expected)
    assert main(["export", str(trained), str(file), "--seed", "4"]) == 2
    assert "--seed: got 4, expected one of [3, 5]" in capsys.readouterr().err


def test_export_to_nowhere_is_an_error_of_one_line(capsys, trained):
    assert main(["export", str(trained), "/nowhere/net.safetensors"]) == 2
    error = capsys.readouterr().err
    assert error == "algorist: error: FILE: there is no folder /nowhere\n"


@pytest.mark.parametrize(
    "words", [["export", "generalist"], ["import-official", "--algorithms", "bfs", "best.pkl"]]
)
def test_only_learners_are_replaced_by_learners(capsys, tmp_path, words):
    file = tmp_path / "roads.csv"
    file.write_text("a,b")
    assert main([*words, str(file)]) == 2
    expected = "which exists, expected a new file or one that ends in .safetensors\n"
    assert capsys.readouterr().err == f"algorist: error: FILE: got {file}, {expected}"
    assert file.read_text() == "a,b"


def test_a_learner_that_does_not_know_its_seeds_has_none_to_choose(capsys, trained, tmp_path):
    whole = algorist.load(trained)
    algorist.Learner(whole.net, whole.convention, {}).save(tmp_path / "x.safetensors")
    words = ["export", str(tmp_path / "x.safetensors"), str(tmp_path / "y.safetensors")]
    assert main([*words, "--seed", "0"]) == 2
    assert "does not say which its seeds are, try --best" in capsys.readouterr().err
    assert main([*words, "--best"]) == 0


def test_parameters_of_dm_clrs_become_a_learner(trained, tmp_path):
    learner = algorist.load(trained).replica(0)
    arrays = {name: value[0].numpy() for name, value in learner.net.state_dict().items()}
    theirs = {}
    for entry in entries(learner.net):
        theirs |= golden.scattered(entry, arrays[entry.ours])
    nested = {}
    for name, array in theirs.items():
        module, _, parameter = name.rpartition("/")
        nested.setdefault(module, {})[parameter] = array
    file, result = tmp_path / "best.pkl", tmp_path / "ours.safetensors"
    file.write_bytes(pickle.dumps({"params": nested, "opt_state": 0}))
    words = ["import-official", str(file), str(result), "--algorithms", "bfs"]
    assert main([*words, "--hidden", "8"]) == 0
    for name, value in algorist.load(result).net.state_dict().items():
        np.testing.assert_array_equal(value[0], arrays[name])


def test_a_saved_processor_can_be_taken_over_and_frozen(trained, tmp_path):
    words = ["--steps", "2", "--processor-from", str(trained), "--freeze-processor"]
    assert train(tmp_path / "run", "dijkstra", "--seeds", "0,1", *words) == 0
    given = algorist.load(trained).net.processor.state_dict()
    kept = algorist.load(tmp_path / "run").net.processor.state_dict()
    assert all(torch.equal(kept[name], given[name]) for name in given)


def test_what_needs_torch_is_there_under_its_short_name():
    from algorist.model.learner import Learner
    from algorist.training.loading import load

    assert (algorist.load, algorist.Learner) == (load, Learner)
    assert set(algorist._WITH_TORCH) < set(algorist.__all__)
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        algorist.laod  # noqa: B018


def test_the_wandb_option_is_checked_before_a_run_begins(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert train(tmp_path / "run", "bfs", "--wandb", "project") == 2
    assert "pip install 'algorist[wandb]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_interrupts_outside_the_main_thread_are_left_alone():
    from threading import Thread

    before, seen = signal.getsignal(signal.SIGINT), []

    def watch():
        with Interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = Thread(target=watch)
    thread.start()
    thread.join()
    assert seen == [before]
