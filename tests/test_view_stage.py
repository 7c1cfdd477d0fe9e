"""The stage in a real browser: it explains itself, and can be read."""

# ruff: noqa: F811  (tests name the fixtures that are imported)

import pytest
import small
from auditing import overlaps, texts
from test_view_page import (  # noqa: F401
    LAPTOP,
    PHONE,
    address,
    app,
    browser,
    choose,
    exported,
    last,
    learners,
    moment,
    opened,
    overflow,
    press,
    served,
)

import algorist
from algorist.model.learner import Learner, TaskEncoding
from algorist.viewer.app import App
from algorist.viewer.first_problems import FIRST_PROBLEMS

NAMES = algorist.algorithms()
TALL = {"width": 1366, "height": 1500}


def steps_to_look_at(page):
    """The beginning, some steps in between, the last one and the answer."""
    end = last(page)
    return sorted({0, 1, end // 3, end // 2, 2 * end // 3, end - 1, end})


def go(page, step):
    press(page, "Home", *["Shift+ArrowRight"] * (step // 10), *["ArrowRight"] * (step % 10))
    assert moment(page) == step


@pytest.mark.parametrize("name", NAMES)
def test_every_step_of_a_first_problem_is_explained(opened, address, name):
    page = opened(f"{address}#{name}")
    assert page.is_visible(f"h1[data-name={name}]")
    assert last(page) >= 5
    pictures = set()
    for step in range(last(page)):
        assert moment(page) == step
        assert page.locator(".pseudocode .lit").count() >= 1
        sides = ("net", "algorithm")
        assert all(page.inner_text(f"#side-{side} .sentence").strip() for side in sides)
        pictures.add(page.locator("#side-algorithm .pictures").inner_html())
        page.keyboard.press("ArrowRight")
    assert len(pictures) >= 4
    assert page.locator("#stage .marks li").count() >= 3
    assert page.locator("#side-algorithm .wrong, #side-algorithm .different").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_text_is_large_enough_and_stands_out(opened, address, name, scheme):
    page = opened(f"{address}#{name}", viewport=TALL, scheme=scheme)
    for step in steps_to_look_at(page)[1::2]:
        go(page, step)
        found = texts(page)
        assert len(found) > 40
        assert [each for each in found if each["size"] < 10.99] == []
        seen = [each for each in found if each["contrast"] is not None]
        assert len(seen) > 0.8 * len(found)
        assert [each for each in seen if each["contrast"] < 4.5] == []


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("name", NAMES)
def test_labels_and_the_player_cover_nothing(opened, address, name, viewport):
    page = opened(f"{address}#{name}", viewport=viewport)
    player = page.locator("#player").bounding_box()["y"]
    for picture in page.locator("#stage svg.picture:visible").all():
        box = picture.bounding_box()
        assert box["y"] + box["height"] <= player + 1
    for step in steps_to_look_at(page):
        go(page, step)
        assert overlaps(page) == [], step
    assert [each for each in texts(page) if each["size"] < 10.99] == []
    assert overflow(page) <= 0


def test_a_random_problem_of_the_command_line_is_drawn(opened, learners):
    app = App(learners, "small")
    app.begin_with({"algorithm": "heapsort", "random": {"n": 5, "seed": 2}})
    with served(app) as address:
        page = opened(address)
        assert page.is_visible("text=5 keys")
        page.select_option("#algorithm", "minimum")
        page.wait_for_selector("h1[data-name=minimum]")
        assert page.input_value("#field-numbers") == FIRST_PROBLEMS["minimum"]["numbers"]


def test_the_verdict_comes_in_the_end_or_when_asked_for(opened, address):
    page = opened(f"{address}#minimum")
    assert not page.is_visible(".verdict")
    assert not page.is_visible(".answers")
    press(page, "ArrowRight")
    assert not page.is_visible(".verdict")
    press(page, "End")
    assert page.is_visible(".verdict")
    assert not page.is_visible(".reveal")
    choose(page, "heapsort")
    assert not page.is_visible(".verdict")
    page.click(".reveal")
    assert page.is_visible(".verdict")
    assert moment(page) == 0


def view(page, name):
    page.click(f".views .{name}")
    assert page.get_attribute(f".views .{name}", "aria-pressed") == "true"


def test_nothing_moves_when_the_verdict_comes(opened, address):
    for name in ("dijkstra", "find_maximum_subarray_kadane", "strongly_connected_components"):
        page = opened(f"{address}#{name}")
        before = page.locator("#side-net").bounding_box()
        page.click(".reveal")
        assert page.is_visible(".verdict")
        assert page.locator("#side-net").bounding_box() == before
        page.click("text=Both answers")
        assert page.is_visible(".answers table")
        assert page.locator("#side-net").bounding_box() == before


def test_the_curve_goes_no_further_than_the_reader_until_the_verdict_is_told(opened, address):
    page = opened(f"{address}#heapsort")

    def hidden():
        style = "getComputedStyle(document.querySelector('.track svg')).clipPath"
        return page.evaluate(style)

    assert "100%" in hidden()
    go(page, last(page) // 2)
    halfway = hidden()
    assert halfway != "none"
    press(page, "Home")
    assert hidden() == halfway
    page.click(".reveal")
    assert hidden() == "none"


def test_on_a_phone_the_button_for_the_verdict_covers_no_text(opened, address):
    page = opened(f"{address}#floyd_warshall", viewport=PHONE)
    button = page.locator(".reveal").bounding_box()
    assert page.locator(".family").bounding_box()["y"] >= button["y"] + button["height"]


def test_on_a_phone_the_problem_is_folded_at_first(opened, address):
    page = opened(f"{address}#bfs", viewport=PHONE)
    assert not page.is_visible("#problem")
    page.click(".fold")
    assert page.is_visible("#algorithm")
    page.select_option("#algorithm", "dfs")
    page.wait_for_selector("body:not(.busy) h1[data-name=dfs]")


def test_the_way_of_a_common_subsequence_is_drawn(opened, address):
    page = opened(f"{address}#lcs_length")
    assert page.locator(".entry.path").count() == 0
    press(page, "End")
    assert page.locator("#side-algorithm .entry.path.done").count() == 4  # bcba
    assert page.locator("#side-algorithm .entry.path").count() == 8


def test_pairs_of_bars_are_told_apart(opened, address):
    page = opened(f"{address}#task_scheduling")
    legend = page.inner_text("#stage .guide .marks")
    assert "left bar: the deadline" in legend
    assert "right bar: the weight" in legend


def test_views_show_one_side_both_or_what_differs(opened, address):
    page = opened(f"{address}#dijkstra")
    go(page, 3)
    before = page.locator("#side-net .pictures").bounding_box()["width"]
    view(page, "algorithm")
    assert not page.is_visible("#side-net")
    assert page.locator("#side-algorithm .pictures").bounding_box()["width"] > 1.5 * before
    view(page, "overlay")
    assert not page.is_visible("#side-algorithm")
    wrong = page.locator("#side-net .arrow.wrong").count()
    assert wrong > 0
    assert 0 < page.locator("#side-net .arrow.truth").count() <= wrong + 1
    assert "the net says" in page.inner_text("#side-net .sentence")
    arrows = page.locator("#side-net .pictures .arrow:not(.wrong, .truth)").count()
    view(page, "differences")
    assert page.locator("#side-net .arrow.wrong").count() == wrong
    assert page.locator("#side-net .pictures .arrow:not(.wrong, .truth)").count() <= arrows
    plain = page.locator("#side-net .node.plain:not(.wrong)").count()
    assert plain + page.locator("#side-net .node.wrong").count() == 8
    choose(page, "heapsort")  # the view stays
    assert page.inner_text("#side-net .title") == "Differences"
    view(page, "both")
    assert page.is_visible("#side-net")
    assert page.is_visible("#side-algorithm")


def test_on_a_phone_one_switches_between_net_and_algorithm(opened, address):
    page = opened(f"{address}#bfs", viewport=PHONE)
    assert page.is_visible("#side-net")
    assert not page.is_visible("#side-algorithm")
    assert not page.is_visible(".views .both")
    view(page, "algorithm")
    assert page.is_visible("#side-algorithm")
    assert not page.is_visible("#side-net")
    press(page, "ArrowRight")
    assert page.locator("#side-algorithm .node.busy").count() == 2
    page.set_viewport_size(LAPTOP)
    view(page, "both")
    assert page.locator("#side-net .node").count() == 9


def test_the_problem_folds_away(opened, address):
    page = opened(f"{address}#bfs")
    width = page.locator("#side-net svg").first.bounding_box()["width"]
    page.click(".fold")
    assert not page.is_visible("#problem")
    assert page.get_attribute(".fold", "aria-expanded") == "false"
    assert page.locator("#side-net svg").first.bounding_box()["width"] > width + 50
    page.click(".fold")
    assert page.is_visible("#problem")


@pytest.mark.parametrize("height", [768, 1100])
def test_the_stage_uses_the_height_there_is(opened, address, height):
    page = opened(f"{address}#dijkstra", viewport={"width": 1366, "height": height})
    picture = page.locator("#side-net svg.picture").bounding_box()
    player = page.locator("#player").bounding_box()
    assert picture["y"] + picture["height"] <= player["y"]
    assert picture["height"] > 0.36 * height
    sizes = page.eval_on_selector_all(
        "svg.picture text", "all => all.map(each => each.getScreenCTM().a)"
    )
    assert sizes == pytest.approx([1] * len(sizes))  # text is not scaled with the drawing


@pytest.mark.parametrize("name", ["dijkstra", "articulation_points", "floyd_warshall"])
def test_a_window_that_stays_as_it_is_leaves_the_pictures_as_they_are(opened, address, name):
    page = opened(f"{address}#{name}")
    pictures = page.locator("#side-net svg.picture")
    before = [picture.bounding_box() for picture in pictures.all()]
    page.evaluate("dispatchEvent(new Event('resize'))")
    assert [picture.bounding_box() for picture in pictures.all()] == before


def test_the_heap_is_also_a_tree(opened, address):
    page = opened(f"{address}#heapsort")
    press(page, "ArrowRight")
    assert page.locator("#side-algorithm .tree .node").count() == 7
    assert page.locator("#side-algorithm .tree .arrow").count() == 6
    go(page, last(page) - 1)
    assert page.locator("#side-algorithm .tree .node.done").count() == 6


@pytest.mark.parametrize(
    ("name", "drawn", "count"),
    [
        ("find_maximum_subarray_kadane", ".band", 1),
        ("find_maximum_subarray_kadane", ".bar.done", 4),
        ("strongly_connected_components", ".node.group0", 3),
        ("strongly_connected_components", ".node.group1", 2),
        ("graham_scan", ".hull.answer", 1),
        ("mst_kruskal", ".marked.green", 5),
        ("dijkstra", ".arrow:not(.plain) path[stroke-width='4.5']", 7),
        ("kmp_matcher", ".cell.done", 4),
        ("activity_selector", ".bar.done", 3),
        ("articulation_points", ".node.other", 4),
    ],
)
def test_answers_are_drawn_as_answers(opened, address, name, drawn, count):
    page = opened(f"{address}#{name}")
    press(page, "End")
    assert page.locator(f"#side-algorithm {drawn}").count() == count


@pytest.mark.parametrize("name", ["matrix_chain_order", "optimal_bst"])
def test_cells_without_a_value_are_empty(opened, address, name):
    page = opened(f"{address}#{name}")
    filled = "#side-algorithm .entry:has(text)"
    rows = 6
    assert page.locator(filled).count() == rows  # a node alone
    assert page.locator("#side-algorithm .entry.unused").count() == rows * (rows - 1) // 2
    press(page, "End")
    assert page.locator(filled).count() == rows * (rows - 1) // 2


def test_opposite_arrows_do_not_cover_each_other(opened, app, tmp_path):
    found = app.trace(algorist.get("dfs"), {"A": [[0, 1, 1], [1, 0, 0], [0, 0, 0]]})
    hint = found["hints"]["pi_h"]
    hint["net"] = [[1, 0, 2], *[None] * (found["steps"] - 1)]
    hint["wrong"] = [[] for _ in range(found["steps"])]
    page = opened(exported(tmp_path, found))
    paths = page.eval_on_selector_all(
        "#side-net .arrow path", "all => all.map(each => each.getAttribute('d'))"
    )
    middles = [tuple(path.split("Q")[1].split(" ")[0].split(",")) for path in paths]
    assert len(set(middles)) == len(middles) == 5


def test_pointers_into_strings_have_letter_and_place(opened, address):
    page = opened(f"{address}#kmp_matcher")
    press(page, "ArrowRight")
    titles = page.locator("#side-algorithm .cell title").all_text_contents()
    assert any("pi: a@0" in title for title in titles)
    assert page.locator("#side-net .cell .place").all_text_contents() == [*"012345678", *"0123"]


def test_slightly_off_differs_from_wrong_and_the_tolerance_is_said(opened, app, tmp_path):
    found = app.trace(algorist.get("dijkstra"), {"A": [[0, 4, 0], [4, 0, 6], [0, 6, 0]], "s": 0})
    hint, step = found["hints"]["d"], found["steps"] - 1
    hint["net"][step] = [0, 4.3, 7]
    hint["wrong"][step] = [2]
    page = opened(exported(tmp_path, found))
    go(page, step)
    assert page.locator("#side-net .number.off").all_text_contents() == ["≈4.3"]
    assert page.locator("#side-net .number.wrong").all_text_contents() == ["7"]
    legend = page.inner_text("#stage .general")
    assert "wrong: by more than 5 % of the largest number" in legend
    assert "≈off by less" in legend.replace("\n", "")
    view(page, "overlay")
    assert "pale green: right" in page.inner_text("#stage .general")
    assert page.locator("#side-net .number.wrong").all_text_contents() == ["7≠10"]


def test_doubt_is_a_bar_and_nothing_fades(opened, app, tmp_path):
    found = app.trace(algorist.get("bfs"), {"A": [[0, 1, 0], [1, 0, 1], [0, 1, 0]], "s": 0})
    for hint in found["hints"].values():
        hint["confidence"] = [[40] * 3, *[None] * (found["steps"] - 1)]
    page = opened(exported(tmp_path, found))
    press(page, "ArrowRight")
    bars = page.locator("#side-net .confidence .filled")
    assert bars.count() == 3
    assert float(bars.first.get_attribute("width")) == pytest.approx(0.4 * 18)
    faded = page.eval_on_selector_all(
        "#stage *", "all => all.filter(each => getComputedStyle(each).opacity < 1).length"
    )
    assert faded == 0


def test_a_plugin_without_an_explanation_is_shown_all_the_same(opened, euclid, tmp_path):
    learner = Learner.new(["euclid"], small.model(), TaskEncoding())
    found = App(learner.by_algorithm(), "euclid").trace(euclid, {"value": [12, 18, 9]})
    page = opened(exported(tmp_path, found))
    assert not page.is_visible(".pseudocode")
    assert page.inner_text("#side-algorithm .sentence").startswith("Larger is 0, smaller is 0")
    assert page.locator("#stage .marks li").count() >= 3


COUNTED = """
() => {
  window.drawn = 0;
  window.begun = performance.now();
  const label = document.querySelector(".step");
  new MutationObserver(() => window.drawn++).observe(label, { childList: true });
}
"""


@pytest.mark.parametrize("name", ["floyd_warshall", "mst_prim"])
def test_sixty_four_nodes_play_at_twenty_steps_a_second(opened, address, name):
    page = opened(f"{address}#{name}")
    choose(page, name, n=64, seed=1)
    page.select_option("#speed", "20×")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds():  # of the processor: whoever else computes on this machine shall not count
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "TaskDuration")

    before = seconds()
    page.evaluate(COUNTED)
    press(page, " ")
    page.wait_for_selector(".step:text-is('answer')")
    assert (seconds() - before) / page.evaluate("window.drawn") < 0.05
    assert page.evaluate("performance.now() - window.begun") < 2 * 50 * last(page)


def test_values_follow_when_it_has_been_played(opened, address):
    page = opened(f"{address}#mst_prim")
    page.select_option("#speed", "20×")
    press(page, " ")
    page.wait_for_selector(".step:text-is('answer')")
    assert page.inner_text("#details h2") == "The answer, value by value"


def test_weights_stand_beside_edges_that_are_too_short_for_them(opened, learners):
    app = App(learners, "small")
    fields = {"graph": "home,shop,1\nhome,park,3\nshop,park,1\npark,sea,4\nx", "source": "home"}
    app.begin_with({"algorithm": "dijkstra", "fields": fields})
    with served(app) as address:
        page = opened(address, viewport=PHONE)
        page.click("text=Algorithm >> visible=true")
        go(page, last(page))
        hidden = page.evaluate(
            """() => [...document.querySelectorAll("#side-algorithm .arrow polygon")].filter(h => {
                const {x, y, width, height} = h.getBoundingClientRect();
                return [...document.querySelectorAll("#side-algorithm .weight rect")].some(r => {
                    const box = r.getBoundingClientRect();
                    return x + width / 2 > box.left && x + width / 2 < box.right
                        && y + height / 2 > box.top && y + height / 2 < box.bottom;
                });
            }).length"""
        )
        assert page.locator("#side-algorithm .arrow polygon").count() == 3
        assert hidden == 0
