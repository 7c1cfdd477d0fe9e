"""The page of `algorist view` in a real browser."""

import re
import shutil
import threading
import time
from contextlib import contextmanager, suppress

import pytest
import small
from processes import PATIENCE

import algorist
from algorist import algorithm, edge, node, record
from algorist.algorithms.samplers.arrays import keys
from algorist.commands.arguments import algorithms_of_family
from algorist.model.learner import Learner, TaskEncoding
from algorist.viewer.app import App
from algorist.viewer.pages import page as made_page
from algorist.viewer.server import Server

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
if BROWSER is None:
    pytest.skip(f"no browser found: {', '.join(BROWSERS)}", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
LAPTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}
FAMILIES = sorted({algorist.get(name).family for name in algorist.algorithms()})
SIDES = ("net", "algorithm")
ROADS = "home,shop,1\nhome,park,3\nshop,park,1\npark,sea,4"


@pytest.fixture(scope="module")
def learners():
    learner = Learner.new(algorist.algorithms(), small.model(), TaskEncoding())
    small.lively(learner.net)
    return learner.by_algorithm()


@pytest.fixture(scope="module")
def app(learners):
    return App(learners, "small")


@pytest.fixture(scope="module")
def address(app):
    with served(app) as address:
        yield address


@contextmanager
def served(app):
    with Server(app) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.address
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open pages, which must not have complained about anything when the test is over."""
    contexts, complaints = [], []

    def opened(url, *, viewport=LAPTOP, scheme="light", offline=False):
        context = browser.new_context(
            viewport=viewport, color_scheme=scheme, offline=offline, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda said: complaints.append(said.text) if said.type == "error" else None
        )
        page.goto(url)
        ready(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def exported(folder, trace):
    """The address of the file to share that a trace is written to."""
    file = folder / "trace.html"
    file.write_text(made_page(trace).html, encoding="utf-8")
    return file.as_uri()


def ready(page):
    page.wait_for_selector("body.ready:not(.busy)")


def choose(page, name, n=6, seed=3):
    """Draw a problem and wait for its trace."""
    if not page.is_visible("#problem"):  # as on a phone
        page.click(".fold")
    page.fill("#n", str(n))
    page.fill("#seed", str(seed))
    with page.expect_response("**/api/solve"):
        if page.input_value("#algorithm") == name:
            page.click("text=Draw")
        else:
            page.select_option("#algorithm", name)
    page.wait_for_selector(f"body:not(.busy) h1[data-name={name}]")


def moment(page):
    return int(page.get_attribute(".track", "aria-valuenow"))


def last(page):
    return int(page.get_attribute(".track", "aria-valuemax"))


def overflow(page):
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def press(page, *keys):
    page.evaluate("document.activeElement.blur()")
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_opens_plays_and_scrubs(opened, address, family):
    page = opened(f"{address}#{algorithms_of_family(family)[0]}")
    page.select_option("#speed", "20×")
    for name in algorithms_of_family(family):
        choose(page, name)
        assert moment(page) == 0
        assert page.locator("#side-net svg.picture").count() >= 1
        page.click("button[aria-label^=Play]")
        page.wait_for_selector(".track:not([aria-valuenow='0'])")
        press(page, "Home", "ArrowRight")
        assert moment(page) == 1
        assert page.get_attribute("button.main", "aria-label") == "Play (space)"
        press(page, "End")
        assert moment(page) == last(page)
        assert page.inner_text(".step") == "answer"
        press(page, "ArrowLeft")
        assert moment(page) == last(page) - 1
        box = page.locator(".track").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 10)
        assert moment(page) == pytest.approx(last(page) / 2, abs=0.51)
        pictures = page.locator("#side-algorithm svg.picture")
        assert all("NaN" not in pictures.nth(i).inner_html() for i in range(pictures.count()))
        assert page.locator("#side-algorithm .wrong").count() == 0
    assert overflow(page) <= 0


def test_playing_ends_at_the_answer(opened, address):
    page = opened(f"{address}#minimum")
    choose(page, "minimum", n=4)
    page.select_option("#speed", "20×")
    press(page, " ")
    page.wait_for_selector(".step:text-is('answer')")
    assert page.get_attribute("button.main", "aria-label") == "Play (space)"
    page.select_option("#speed", "1×")  # so that there is time for a second press
    press(page, " ")  # from the beginning
    page.wait_for_selector(".step:not(:text-is('answer'))")
    press(page, " ")
    paused = moment(page)
    page.wait_for_timeout(150)
    assert moment(page) == paused


def test_the_curve_can_be_dragged(opened, address):
    page = opened(f"{address}#heapsort")
    box = page.locator(".track").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 20, steps=4)
    page.mouse.up()
    assert moment(page) == pytest.approx(0.75 * last(page), abs=0.51)


def test_a_pasted_graph_is_solved(opened, address, app):
    page = opened(f"{address}#dijkstra")
    page.fill("#field-graph", ROADS)
    page.select_option("#field-directed", "as usual")
    page.fill("#field-source", "home")
    page.click("text=Solve")
    page.wait_for_selector("#side-net title:has-text('node shop')", state="attached")
    page.click(".reveal")
    page.click("text=Both answers")
    asked = {"algorithm": "dijkstra", "fields": {"graph": ROADS, "source": "home"}}
    true_answer = app.solve(asked)["answer"]["algorithm"]
    rows = [row.split("\t") for row in page.locator(".answers tbody tr").all_inner_texts()]
    assert [(row[0], row[-1]) for row in rows] == list(map(tuple, true_answer))
    assert page.inner_text(".error") == ""
    assert page.locator("#side-net .node").count() == 4


def test_the_algorithm_sorts_before_your_eyes(opened, address):
    page = opened(f"{address}#heapsort")
    page.fill("#field-numbers", "5 2 9 1 7")
    page.click("text=Solve")
    page.wait_for_selector("text=5 keys")
    press(page, "End")
    bars = page.eval_on_selector_all(
        "#side-algorithm .bar",
        """bars => bars
             .map(bar => [new DOMMatrix(getComputedStyle(bar).transform).e,
                          bar.querySelector('.back').height])
             .sort((a, b) => a[0] - b[0]).map(([x, height]) => height.baseVal.value)""",
    )
    assert len(bars) == 5
    assert bars == sorted(bars)


@pytest.mark.parametrize(
    ("name", "first", "second", "letters"),
    [
        ("kmp_matcher", "text", "pattern", ".cell text:not(.place)"),
        ("lcs_length", "x", "y", ".matrix .name"),
    ],
)
def test_letters_may_be_digits(opened, address, name, first, second, letters):
    page = opened(f"{address}#{name}")
    page.fill(f"#field-{first}", "0110")
    page.fill(f"#field-{second}", "11")
    page.click("text=Solve")
    page.wait_for_selector("text=4 letters and")
    assert page.locator(f"#side-net {letters}").all_text_contents() == list("011011")


def test_mistakes_are_marked_on_the_net_alone_and_can_be_visited(opened, address):
    page = opened(f"{address}#heapsort")
    choose(page, "heapsort", n=8)
    page.click(".reveal")
    page.click(".verdict .link")
    step = moment(page)
    assert f"step {step}," in page.inner_text(".verdict .link")
    assert page.locator("#side-net .wrong").count() > 0
    assert page.locator("#side-algorithm .wrong").count() == 0
    assert page.locator(".features .value.wrong").count() > 0
    press(page, "Home", "m")
    assert moment(page) == step


def test_features_can_be_hidden(opened, address):
    page = opened(f"{address}#bfs")
    choose(page, "bfs", n=9, seed=4)
    press(page, "End")
    assert page.locator("#side-algorithm .arrow.blue").count() > 0
    page.get_by_label("pi").first.uncheck()
    assert page.locator("#side-algorithm .arrow.blue").count() == 0


@pytest.mark.parametrize(
    ("name", "fill", "message"),
    [
        ("heapsort", {"#field-numbers": "5 x"}, "got 'x', expected a finite number"),
        (
            "dijkstra",
            {"#field-graph": "a,b,-1", "#field-source": "a"},
            "got the negative weight -1 from 'a' to 'b', expected no weight below 0",
        ),
        ("heapsort", {"#field-numbers": "1 " * 65}, "got 65 nodes, expected at most 64"),
    ],
)
def test_bad_input_shows_a_friendly_message(opened, address, name, fill, message):
    page = opened(f"{address}#{name}")
    for field, text in fill.items():
        page.fill(field, text)
    page.click("text=Solve")
    page.wait_for_selector(".error:not(:empty)")
    assert message in page.inner_text(".fields .error")
    assert page.is_visible(f"h1[data-name={name}]")  # what was there stays


@pytest.mark.parametrize(("viewport", "scheme"), [(LAPTOP, "dark"), (PHONE, "light")])
def test_it_fits_screens_large_and_small_light_and_dark(opened, address, viewport, scheme):
    page = opened(f"{address}#dijkstra", viewport=viewport, scheme=scheme)
    for name in ("strongly_connected_components", "matrix_chain_order", "kmp_matcher"):
        choose(page, name, n=10)
        press(page, "ArrowRight", "ArrowRight")
        for width in (320, 768, viewport["width"]):
            page.set_viewport_size({**viewport, "width": width})
            assert overflow(page) <= 0, (name, width)
    assert page.is_visible("#side-net")
    assert page.is_visible("#side-algorithm") == (viewport == LAPTOP)
    red, *_ = background(page)
    assert (red < 100) == (scheme == "dark")
    page.click("#theme")
    red, *_ = background(page)
    assert (red < 100) == (scheme == "light")


def background(page):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [float(number) for number in re.findall(r"[\d.]+", colour)]


def test_sixty_four_nodes_are_drawn(opened, address):
    page = opened(f"{address}#dijkstra")
    choose(page, "dijkstra", n=64)
    press(page, *["ArrowRight"] * 3)
    assert page.locator("#side-net .node").count() == 64
    assert overflow(page) <= 0


def test_an_exported_trace_needs_no_network(opened, app, tmp_path):
    found = app.trace(algorist.get("dijkstra"), {"A": {"<b>": {"</script>": 2}}, "s": "<b>"})
    page = opened(exported(tmp_path, found), offline=True, viewport=PHONE)
    assert page.title() == "dijkstra · algorist"
    assert not page.is_visible("#problem")
    assert page.locator("#side-net .node").count() == 2
    assert "</script>" in page.locator("#side-net .node title").nth(1).text_content()
    press(page, "ArrowRight", "End")
    assert page.inner_text(".step") == "answer"
    assert overflow(page) <= 0


def test_algorithms_of_plugins_are_drawn(opened, tmp_path, euclid):
    learner = Learner.new(["euclid"], small.model(), TaskEncoding())
    found = App(learner.by_algorithm(), "euclid").trace(euclid, {"value": [12, 18, 9]})
    page = opened(exported(tmp_path, found))
    assert page.locator("#side-algorithm .bar").count() == 3
    press(page, "ArrowRight")
    assert page.locator("#side-algorithm .tag").all_text_contents() == ["smaller", "larger"]


@algorithm(
    "sorting",
    inputs={"pos": node.scalar, "key": node.scalar},
    hints={"inverted_h": edge.mask},
    outputs={"inverted": edge.mask},
    sampler=keys,
)
def inversions(key, inverted_h, inverted, trace):
    """Find the pairs of keys of which the larger one comes first."""
    record(trace)
    for i in range(len(key)):
        for j in range(i):
            inverted_h[j, i] = inverted[j, i] = key[j] > key[i]
        record(trace)


@pytest.mark.usefixtures("own_registry")
def test_masks_of_pairs_are_a_matrix_where_there_is_no_graph(opened, tmp_path):
    algorist.register(inversions)
    learner = Learner.new(["inversions"], small.model(), TaskEncoding())
    found = App(learner.by_algorithm(), "small").trace(inversions, {"key": [3, 1, 2]})
    page = opened(exported(tmp_path, found))
    known = page.locator("#side-algorithm .matrix .known title")
    assert known.count() == 0
    for key, name in (("ArrowLeft", "inverted_h"), ("End", "inverted")):
        press(page, "End", key)
        assert known.all_text_contents() == [f"0, 1\n{name}: yes", f"0, 2\n{name}: yes"]
        assert page.inner_text(".feature .note") == "the matrix"
    assert page.locator("#side-algorithm .bar").count() == 3


def test_the_side_of_a_net_that_predicts_no_hints_is_empty_until_it_answers(opened, tmp_path):
    learner = Learner.new(["bfs", "floyd_warshall"], small.model(hints="none"), TaskEncoding())
    app = App(learner.by_algorithm(), "silent")
    for name, given in (("bfs", {"s": 0}), ("floyd_warshall", {})):
        found = app.trace(algorist.get(name), {"A": [[0, 1, 0], [1, 0, 1], [0, 1, 0]], **given})
        page = opened(exported(tmp_path, found))
        assert "This net predicts no hints." in page.inner_text(".verdict")
        press(page, "ArrowRight")
        drawn = [
            page.locator(f"#side-{side} .known, #side-{side} .arrow").count() for side in SIDES
        ]
        assert drawn[0] == 0 < drawn[1]
        press(page, "End")
        assert page.locator("#side-algorithm .known, #side-algorithm .arrow").count() > 0


def test_what_people_need_to_find_their_way_has_names(opened, address):
    page = opened(f"{address}#dijkstra")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, textarea, [role=slider]')]
             .filter(each => each.checkVisibility())
             .filter(each => !(each.ariaLabel || each.labels?.length
                               || each.tagName === 'BUTTON' && each.textContent.trim()))
             .map(each => each.outerHTML)"""
    )
    assert unnamed == []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the pictures"
    press(page, "ArrowRight")
    assert page.inner_text("#live").startswith("The net at step 1: ")
    assert page.get_attribute(".track", "aria-valuetext").startswith("step 1 / ")


def held(page):
    """Questions for traces, which wait until they are let go."""
    questions = []
    page.route("**/api/solve", lambda question: questions.append(question))
    return questions


def until(page, found):
    """What is found, after a while."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := found():
            return value
        page.wait_for_timeout(10)
    raise AssertionError("there is nothing")


def pressed(page, text, questions):
    """Press a button by its key, and return what it asks."""
    page.focus(f"text={text}")
    page.keyboard.press("Enter")
    return until(page, lambda: questions and questions.pop())


def focused(page):
    return page.evaluate("document.activeElement.textContent")


def test_the_focus_stays_on_the_button_that_was_pressed(opened, address):
    page = opened(f"{address}#minimum")
    question = pressed(page, "Draw", held(page))
    assert page.get_attribute("#main", "aria-busy") == "true"
    assert focused(page) == "Draw"
    question.continue_()
    ready(page)
    assert page.get_attribute("#main", "aria-busy") == "false"
    assert focused(page) == "Draw"


def test_a_solved_problem_comes_into_view_and_a_refused_one_stays(opened, address):
    page = opened(f"{address}#dijkstra", viewport={**LAPTOP, "height": 480})
    top = "() => document.getElementById('summary').getBoundingClientRect().top"
    page.fill("#field-graph", "a,b,far")
    page.click("text=Solve")
    page.wait_for_selector("#field-graph[aria-invalid=true]")
    page.wait_for_timeout(200)
    assert page.evaluate(top) < -1
    page.fill("#field-graph", ROADS)
    page.fill("#field-source", "home")
    page.click("text=Solve")
    page.wait_for_selector("text=4 nodes, 4 undirected edges")
    until(page, lambda: -1 <= page.evaluate(top) <= 240)


def test_the_same_question_is_asked_once_and_the_last_one_counts(opened, address):
    page = opened(f"{address}#minimum")
    questions = held(page)
    first = pressed(page, "Draw", questions)
    page.keyboard.press("Enter")
    page.fill("#n", "5")
    pressed(page, "Draw", questions).continue_()
    page.wait_for_selector("text=5 keys")
    ready(page)
    with suppress(playwright.Error):  # nobody waits for it any more
        first.continue_()
    page.wait_for_timeout(200)
    assert page.is_visible("text=5 keys")
    assert questions == []


def test_what_is_typed_while_a_problem_is_drawn_stays(opened, address):
    page = opened(f"{address}#heapsort")
    questions = held(page)
    for write, kept in (
        (lambda: page.fill("#field-numbers", "5 2 9"), "5 2 9"),
        (lambda: page.click("text=Example"), page.get_attribute("#field-numbers", "placeholder")),
    ):
        question = pressed(page, "Draw", questions)
        write()
        question.continue_()
        ready(page)
        assert page.input_value("#field-numbers") == kept
    pressed(page, "Draw", questions).continue_()
    ready(page)
    assert len(page.input_value("#field-numbers").split()) == 9


def test_values_wider_than_the_screen_scroll_by_the_arrow_keys(opened, address):
    page = opened(f"{address}#heapsort", viewport=PHONE)
    choose(page, "heapsort", n=40)
    values = page.locator(".values").first
    values.focus()
    page.keyboard.press("ArrowRight")
    until(page, lambda: values.evaluate("each => each.scrollLeft"))
    assert moment(page) == 0
    choose(page, "heapsort", n=3)  # which has room
    values.focus()
    page.keyboard.press("ArrowRight")
    assert moment(page) == 1


def test_the_curve_obeys_the_keys_of_a_slider(opened, address):
    page = opened(f"{address}#heapsort")
    page.focus(".track")
    steps = {
        "PageUp": 10, "ArrowUp": 11, "ArrowRight": 12, "ArrowDown": 11, "ArrowLeft": 10,
        "PageDown": 0, "End": last(page), "Home": 0,
    }  # fmt: skip
    for key, step in steps.items():
        page.keyboard.press(key)
        assert moment(page) == step
    press(page, "PageUp", "ArrowUp")  # elsewhere they scroll the page
    assert moment(page) == 0


def test_the_way_to_the_pictures_leaves_the_address_alone(opened, address):
    page = opened(f"{address}#heapsort", viewport=PHONE)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "stage"
    assert page.locator("#stage").bounding_box()["y"] == pytest.approx(0, abs=1)
    page.reload()
    ready(page)
    assert page.is_visible("h1[data-name=heapsort]")


def test_an_unknown_algorithm_in_the_address_is_the_usual_one(opened, address):
    page = opened(f"{address}#stage")
    assert page.url.endswith("#dijkstra")
    assert page.is_visible("h1[data-name=dijkstra]")


def test_the_page_begins_with_the_problem_that_it_was_given(opened, learners):
    app = App(learners, "small")
    fields = {"graph": ROADS, "directed": "as usual", "source": "sea"}
    app.begin_with({"algorithm": "bellman_ford", "fields": fields})
    with served(app) as address:
        page = opened(address)
        for _ in range(2):
            assert page.is_visible("h1[data-name=bellman_ford]")
            assert {name: page.input_value(f"#field-{name}") for name in fields} == fields
            told = page.locator("#side-algorithm .node title").first.text_content()
            assert told.startswith("node home\n")
            page.reload()
            ready(page)
        choose(page, "heapsort")
        url, keys = page.url, page.input_value("#field-numbers")
        page.reload()
        ready(page)
        assert page.is_visible("h1[data-name=heapsort]")
        assert (page.url, page.input_value("#field-numbers")) == (url, keys)


def test_a_server_that_did_not_answer_can_be_asked_again(opened, address):
    page = opened(f"{address}#heapsort")
    page.route("**/api/algorithms", lambda route: route.fulfill(json={"error": "not now"}), times=2)
    page.reload()
    for _ in range(2):
        page.wait_for_selector(".error:text-is('not now')")
        assert page.locator("#problem form").count() == 0
        page.focus("text=Try again")
        with page.expect_response("**/api/algorithms"):
            page.keyboard.press("Enter")
    ready(page)
    assert page.is_visible("h1[data-name=heapsort]")
    assert page.evaluate("document.activeElement.id") == "algorithm"
    assert page.inner_text("#model") == "net: small"


def test_the_end_of_playing_is_announced(opened, app, tmp_path):
    found = app.trace(algorist.get("minimum"), {"key": [5, 2, 9, 1, 7, 3]})
    (output,) = found["outputs"].values()
    output["wrong"] = [0]
    page = opened(exported(tmp_path, found))
    page.select_option("#speed", "20×")
    press(page, " ")
    page.wait_for_selector("#live:text-is('The net at the answer: 1 value wrong')")
    page.select_option("#speed", "1×")
    press(page, "Home", " ")
    page.wait_for_selector(".track:not([aria-valuenow='0'])")
    press(page, " ")
    assert page.inner_text("#live").startswith(f"The net at step {moment(page)}: ")


def test_too_few_nodes_are_refused_in_words_of_the_page(opened, address):
    page = opened(f"{address}#strongly_connected_components")
    page.fill("#n", "3")
    page.click("text=Draw")
    page.wait_for_selector(".error:not(:empty)")
    message = "Nodes: got 3 nodes, expected at least 4: one per community"
    assert page.inner_text(".random .error") == message
    assert page.get_attribute("#n", "aria-invalid") == "true"
