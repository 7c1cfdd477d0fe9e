"""Pages about learners: trajectories are drawn, few samples are warned of, and phones have room."""
# ruff: noqa: F811

import pytest
import small
from test_view_page import PHONE, browser, overflow  # noqa: F401

from algorist.cli import main
from algorist.model.learner import Learner, TaskEncoding

FEW = "Only 2 samples of each test: that is few"

pytestmark = pytest.mark.usefixtures("piped")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page of a test on two samples."""
    folder = tmp_path_factory.mktemp("page")
    learner = Learner.new(["bfs", "minimum", "binary_search"], small.model(), TaskEncoding())
    learner.save(folder / "small.safetensors")
    words = ["eval", str(folder / "small.safetensors"), "--samples", "2", "--device", "cpu"]
    assert main([*words, "--html", str(folder / "page.html")]) == 0
    return folder / "page.html"


def test_few_samples_are_warned_of(written, tmp_path, capsys, trained):
    assert FEW in written.read_text()
    page = tmp_path / "bfs.html"
    assert main(["report", str(trained), "--samples", "2", "--out", str(page)]) == 0
    assert FEW in page.read_text()
    assert main(["eval", str(trained), "--samples", "2"]) == 0
    assert FEW in " ".join(capsys.readouterr().out.split())
    assert main(["eval", str(trained), "--samples", "16"]) == 0
    assert "that is few" not in capsys.readouterr().out


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1100, "height": 800}])
def test_trajectories_are_drawn_without_network(browser, written, viewport):
    complaints = []
    context = browser.new_context(viewport=viewport, offline=True)
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text))
    page.goto(written.as_uri())
    page.locator("iframe").scroll_into_view_if_needed()
    frame = page.frame_locator("iframe")
    frame.locator("body.ready.embedded").wait_for()
    assert frame.locator("#chooser option").all_text_contents() == ["bfs", "binary_search"]
    frame.locator("#chooser").select_option("binary_search")
    frame.locator("h1[data-name=binary_search]").wait_for()
    frame.locator("button[aria-label^='Step forward']").click()
    assert frame.locator(".track").get_attribute("aria-valuenow") == "1"
    assert frame.locator("#side-net svg.picture").count() >= 1
    assert overflow(page) <= 0
    page.click("text=The same in numbers")
    assert page.is_visible("table.steps >> nth=0")
    assert overflow(page) <= 0
    context.close()
    assert complaints == []
