"""Links, downloads, waiting, errors at fields, nets, the gallery and what readers try out."""
# ruff: noqa: F811

import json
import struct
import threading

import pytest
import small
from test_view_page import (  # noqa: F401
    LAPTOP,
    PHONE,
    browser,
    last,
    moment,
    opened,
    overflow,
    playwright,
    press,
    ready,
    served,
    until,
)

import algorist
from algorist.model.learner import Learner, TaskEncoding
from algorist.viewer import app as room
from algorist.viewer.app import App
from algorist.viewer.nets import NetChoice


def learner(names, seed):
    made = Learner.new(names, small.model(), TaskEncoding(), [seed])
    small.lively(made.net)
    return made


@pytest.fixture(scope="module")
def app():
    others = [NetChoice.of("generalist", learner(["heapsort", "bfs"], 7).by_algorithm())]
    known = learner(algorist.algorithms(), 0).by_algorithm()
    return App(known, "small", others, version="1.2.3")


@pytest.fixture(scope="module")
def address(app):
    with served(app) as address:
        yield address


def address_of(page, wanted):
    """The address, as soon as it has a part."""
    return until(page, lambda: wanted in page.url and page.url)


def choose(page, name, n=6, seed=3):
    """Choose an algorithm and draw a problem of it."""
    if page.input_value("#algorithm") != name:
        page.select_option("#algorithm", name)
        page.wait_for_selector(f"body:not(.busy) h1[data-name={name}]")
    page.fill("#n", str(n))
    page.fill("#seed", str(seed))
    with page.expect_response("**/api/solve"):
        page.click("text=Draw")
    page.wait_for_selector(f"body:not(.busy) h1[data-name={name}]")


def downloaded(page, folder, button):
    """The file that a button of the menu gives."""
    if not page.locator(".share").evaluate("each => each.open"):
        page.click("summary:has-text('Share')")
    with page.expect_download() as found:
        page.click(f".menu button:text-is('{button}')")
    file = folder / found.value.suggested_filename
    found.value.save_as(file)
    return file


# Links


def test_the_address_says_what_is_shown_and_a_reload_shows_it_again(opened, address):
    page = opened(f"{address}#heapsort")
    choose(page, "heapsort", n=7, seed=2)
    press(page, *["ArrowRight"] * 3)
    url = address_of(page, "step=3")
    assert url == f"{address}#heapsort?n=7&seed=2&step=3"
    keys = page.input_value("#field-numbers")
    page.reload()
    ready(page)
    assert (moment(page), page.input_value("#n"), page.input_value("#seed")) == (3, "7", "2")
    assert page.input_value("#field-numbers") == keys
    other = opened(url)
    assert moment(other) == 3
    assert other.input_value("#field-numbers") == keys


def test_a_problem_of_ones_own_is_in_the_address_too(opened, address):
    page = opened(f"{address}#dijkstra")
    page.fill("#field-graph", "a,b,1\nb,ü & c,2")
    page.fill("#field-source", "a")
    page.select_option("#field-directed", "undirected")
    page.click("text=Solve")
    page.wait_for_selector("text=3 nodes")
    other = opened(page.url)
    assert other.input_value("#field-graph") == "a,b,1\nb,ü & c,2"
    assert other.inner_text("h1") == "dijkstra"
    assert "3 nodes" in other.inner_text(".family")


def test_back_and_forward_lead_from_problem_to_problem(opened, address):
    page = opened(f"{address}#heapsort")
    choose(page, "bfs", n=5)  # its first problem, and then this one
    page.select_option("#algorithm", "minimum")
    page.wait_for_selector("body:not(.busy) h1[data-name=minimum]")
    page.go_back()
    page.wait_for_selector("body:not(.busy) h1[data-name=bfs]")
    assert page.input_value("#algorithm") == "bfs"
    assert "5 nodes" in page.inner_text(".family")
    page.go_back()
    page.wait_for_selector("body:not(.busy) .family:not(:has-text('5 nodes'))")
    page.go_back()
    page.wait_for_selector("body:not(.busy) h1[data-name=heapsort]")
    page.go_forward()
    page.wait_for_selector("body:not(.busy) h1[data-name=bfs]")


def test_the_link_is_copied(opened, address):
    page = opened(f"{address}#minimum")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("summary:has-text('Share')")
    page.click("text=Copy link")
    page.wait_for_selector(".status:text-is('The link is copied.')")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.keyboard.press("Escape")
    assert not page.locator(".menu").is_visible()


# Downloads


def test_the_page_that_is_downloaded_needs_no_network(opened, address, tmp_path):
    page = opened(f"{address}#heapsort")
    choose(page, "heapsort", n=5)
    page.select_option("#beside", "generalist")
    page.wait_for_selector("#side-beside")
    ready(page)
    file = downloaded(page, tmp_path, "Page (HTML)")
    text = file.read_text(encoding="utf-8")
    assert file.name == "heapsort.html"
    assert "connect-src 'none'" in text
    other = opened(f"{file.as_uri()}#heapsort?step=2", offline=True, viewport=PHONE)
    assert other.title() == "heapsort · algorist"
    assert moment(other) == 2
    assert other.locator("#side-net svg.picture").count() >= 1
    assert other.locator("#side-beside svg.picture").count() >= 1
    assert "· algorist 1.2.3" in other.inner_text("#made")
    assert other.text_content(".family").startswith("sorting · 5 keys · ")
    press(other, "End")
    assert moment(other) == last(other)
    assert not other.is_visible("#problem")
    assert overflow(other) <= 0
    png = downloaded(other, tmp_path, "PNG")
    assert png.read_bytes()[:4] == b"\x89PNG"


def test_an_exported_file_can_be_embedded_by_one_line(opened, address, tmp_path):
    page = opened(f"{address}#minimum")
    downloaded(page, tmp_path, "Page (HTML)")
    line = page.input_value(".menu textarea")
    (tmp_path / "index.html").write_text(f"<!doctype html><meta charset=utf-8><p>Look:</p>{line}")
    context = page.context.browser.new_context(offline=True, viewport=LAPTOP)
    host = context.new_page()
    host.goto((tmp_path / "index.html").as_uri())
    frame = host.frame_locator("iframe")
    frame.locator("body.ready.embedded").wait_for()
    assert frame.locator("#side-net svg.picture").count() == 1
    assert not frame.locator(".top").is_visible()
    assert frame.locator("#made").is_visible()
    context.close()


def test_pictures_of_the_stage_say_what_they_show(opened, address, tmp_path):
    page = opened(f"{address}#heapsort")
    choose(page, "heapsort", n=5)
    press(page, "ArrowRight")
    svg = downloaded(page, tmp_path, "SVG").read_text(encoding="utf-8")
    assert "heapsort, step 1 / " in svg
    assert "net: small · algorist 1.2.3" in svg
    assert "var(--" not in svg
    assert "color(srgb" not in svg
    assert "class=" not in svg
    png = downloaded(page, tmp_path, "PNG").read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert width > 1000
    assert 300 < height < width


def test_all_steps_are_in_the_film(opened, address, tmp_path):
    image = pytest.importorskip("PIL.Image")
    page = opened(f"{address}#insertion_sort")
    choose(page, "insertion_sort", n=5)
    press(page, "ArrowRight")
    with image.open(downloaded(page, tmp_path, "GIF, all steps")) as film:
        assert film.n_frames == last(page) + 1
        frames = []
        for turn in range(film.n_frames):
            film.seek(turn)
            frames.append(film.convert("RGB").tobytes())
        assert len(set(frames)) == len(frames)
        assert film.info["loop"] == 0
    assert moment(page) == 1  # where it was


# Waiting


@pytest.fixture
def slow(monkeypatch):
    """Nets that compute until they are let go."""
    go, told = threading.Event(), []
    solve = room.solve

    def slowly(*problem, on_progress=None, **how):
        while not go.wait(0.02):
            told.append(1)
            on_progress(min(len(told), 40), 40)
        return solve(*problem, on_progress=on_progress, **how)

    monkeypatch.setattr(room, "solve", slowly)
    yield go
    go.set()


def test_one_sees_how_far_it_is_and_can_cancel(opened, address, slow):
    slow.set()
    page = opened(f"{address}#heapsort")
    before, url = page.input_value("#field-numbers"), page.url
    slow.clear()
    page.select_option("#algorithm", "bubble_sort")
    page.wait_for_selector("#waiting progress[value]")
    assert "bubble_sort: step " in page.inner_text("#waiting")
    assert not page.is_visible("#stage")
    page.click("text=Cancel")
    ready(page)
    assert page.is_visible("h1[data-name=heapsort]")
    assert page.input_value("#algorithm") == "heapsort"
    assert (page.input_value("#field-numbers"), page.url) == (before, url)
    slow.set()
    choose(page, "bfs", n=4)  # the server has given up, too


def test_the_stage_never_shows_another_algorithm_than_the_selector(opened, address, slow):
    slow.set()
    page = opened(f"{address}#heapsort")
    slow.clear()
    page.select_option("#algorithm", "bfs")
    assert not page.is_visible("#stage")
    page.keyboard.press("Escape")
    page.wait_for_selector("#stage >> visible=true")
    assert page.input_value("#algorithm") == "heapsort"
    slow.set()
    page.fill("#n", "999")
    page.click("text=Draw")
    page.wait_for_selector("#n[aria-invalid]")
    assert page.is_visible("h1[data-name=heapsort]")
    refuse = lambda route: route.fulfill(body=json.dumps({"error": "not now"}))  # noqa: E731
    page.route("**/api/solve", refuse)
    page.select_option("#algorithm", "bfs")
    page.wait_for_selector(".error:text-is('not now')")
    assert not page.is_visible("#stage")
    assert "bfs: there is nothing to show yet." in page.inner_text("#waiting")


def test_sizes_are_capped_by_steps_and_the_page_says_so(opened, address):
    page = opened(f"{address}#bubble_sort")
    assert "At most 64 nodes and 1,000 steps" in page.inner_text(".limit >> nth=0")
    page.fill("#n", "64")
    page.click("text=Draw")
    page.wait_for_selector("#n[aria-invalid=true]")
    described = page.get_attribute("#n", "aria-describedby")
    message = "Nodes: got 64, expected at most 45: more take over 1,000 steps"
    assert page.inner_text(f"#{described}") == message
    page.fill("#n", "5")
    page.click("text=Draw")
    page.wait_for_selector("#n:not([aria-invalid])")


def test_fast_play_keeps_its_pace_however_long_a_step_takes_to_draw(opened, address):
    page = opened(f"{address}#insertion_sort")
    choose(page, "insertion_sort", n=64)
    page.select_option("#speed", "20×")
    steps = last(page)
    seconds = page.evaluate(
        """() => new Promise(done => {
             const start = performance.now(), label = document.querySelector('.step');
             new MutationObserver(() => {
               const now = performance.now();
               while (performance.now() < now + 120);  // what a large picture takes
               if (label.textContent === 'answer') done((performance.now() - start) / 1000);
             }).observe(label, {childList: true});
             document.querySelector('button.main').click();
           })"""
    )
    assert steps / seconds >= 20


# Errors


def test_errors_are_said_at_their_field(opened, address):
    page = opened(f"{address}#dijkstra")
    page.fill("#field-graph", "a,b,1\nb,c,far")
    page.fill("#field-source", "a")
    page.click("text=Solve")
    page.wait_for_selector("#field-graph[aria-invalid=true]")
    described = page.get_attribute("#field-graph", "aria-describedby")
    assert page.inner_text(f"#{described}") == "line 2: got 'far', expected a finite number"
    assert page.get_attribute("#field-source", "aria-invalid") is None
    page.fill("#field-graph", "a -> b: 1; b -> c: 2")
    page.click("text=Solve")
    page.wait_for_selector("text=3 nodes")
    assert page.locator("[aria-invalid], form .error").count() == 0


def test_what_a_lenient_person_would_accept_is_accepted(opened, address):
    page = opened(f"{address}#heapsort")
    page.fill("#field-numbers", "5, 2; 9 1")
    page.click("text=Solve")
    page.wait_for_selector("text=4 keys")


# Nets


def test_a_net_can_be_chosen_and_another_one_put_beside_it(opened, address):
    page = opened(f"{address}#heapsort")
    page.select_option("#net", "generalist")
    address_of(page, "net=generalist")
    ready(page)
    assert page.inner_text("#model") == "net: generalist"
    page.select_option("#beside", "small")
    page.wait_for_selector("#side-beside")
    titles = page.locator(".side .title >> visible=true").all_inner_texts()
    assert titles == ["Net: generalist", "Net: small"]
    press(page, "ArrowRight")
    pictures = [page.inner_html(f"#side-{side} svg.picture") for side in ("net", "beside")]
    assert pictures[0] != pictures[1]
    page.reload()
    ready(page)
    assert (page.input_value("#net"), page.input_value("#beside")) == ("generalist", "small")
    choose(page, "minimum", n=4)  # which this net does not know
    assert page.inner_text("#model") == "net: small"


# The gallery


def test_the_start_page_shows_all_algorithms_and_leads_to_them(opened, address):
    page = opened(address)
    assert page.locator(".preview-card").count() == 30
    page.wait_for_selector(".preview-card[data-name=heapsort] svg.picture")
    until(page, lambda: page.locator(".preview svg.picture").count() == 30)
    assert overflow(page) <= 0
    page.click("[data-name=heapsort]")
    page.wait_for_selector("h1[data-name=heapsort]")
    assert not page.is_visible("#gallery")
    page.go_back()
    page.wait_for_selector("#gallery >> visible=true")
    assert not page.is_visible("#stage")
    page.click("[data-name=heapsort]")
    page.wait_for_selector("#stage >> visible=true")
    page.click("#brand")
    page.wait_for_selector("#gallery >> visible=true")


def test_pictures_move_unless_people_want_none_to(browser, opened, address):
    context = browser.new_context(viewport=LAPTOP, reduced_motion="no-preference")
    page = context.new_page()
    page.goto(address)
    picture = page.locator("[data-name=bubble_sort] svg.picture")
    first = picture.inner_html()
    until(page, lambda: picture.inner_html() != first)
    context.close()
    still = opened(address, viewport=PHONE)
    picture = still.locator("[data-name=bubble_sort] svg.picture")
    first = picture.inner_html()
    still.wait_for_timeout(1500)
    assert picture.inner_html() == first
    assert overflow(still) <= 0


def test_shipped_nets_have_their_scores_in_the_gallery(opened):
    known = learner(["heapsort"], 0).by_algorithm()
    with served(App(known, "generalist")) as address:
        page = opened(address)
        assert page.inner_text(".score-bar").endswith("%")
    with served(App(known, "small")) as address:
        assert opened(address).inner_text(".score-bar") == "no score known"


# What readers try out


def test_one_sees_where_it_breaks_and_a_problem_of_that_size(opened, address):
    page = opened(f"{address}#bfs")
    assert page.locator("#breaks polyline").count() == 1  # of the net that is called generalist
    assert "small was not measured" in page.inner_text("#breaks")
    page.evaluate(
        "size => { const s = document.getElementById('size'); s.value = size;"
        "s.dispatchEvent(new Event('input')); }",
        24,
    )
    assert "generalist" in page.inner_text(".sizes-said")
    with page.expect_response("**/api/solve"):
        page.click("text=Look at a problem with n = 24")
    ready(page)
    assert "24 nodes" in page.inner_text(".family")
    assert overflow(page) <= 0


def test_the_truth_can_be_given_and_taken_back(opened, address):
    page = opened(f"{address}#heapsort")
    choose(page, "heapsort", n=8)
    assert not page.is_visible("text=Give it the truth")
    press(page, *["ArrowRight"] * 4)
    assert page.locator("#side-net .wrong").count() > 0
    page.click("text=Give it the truth at this step")
    page.wait_for_selector(".truth :text('Given the truth at step 4')")
    ready(page)
    assert moment(page) == 4
    assert page.locator("#side-net .wrong").count() == 0
    assert page.locator(".track .given").count() == 1
    assert "truth=4" in page.url
    page.click("text=Take it back")
    ready(page)
    until(page, lambda: page.locator("#side-net .wrong").count() > 0)
    assert "truth" not in page.url


def test_the_reader_predicts_before_a_step_is_shown(opened, address):
    page = opened(f"{address}#insertion_sort")
    page.fill("#field-numbers", "3 1 2")
    page.click("text=Solve")
    page.wait_for_selector("text=3 keys")
    page.check("#predict")
    page.click("button[aria-label^='Step forward']")
    assert moment(page) == 0
    assert page.inner_text(".question").startswith("Next step: ")
    page.click("#side-algorithm .bar >> nth=1")
    assert moment(page) == 1
    assert page.inner_text(".question").startswith(("Yes, ", "No: "))
    assert page.inner_text(".try .score").endswith("of 1 right")
    press(page, "ArrowRight")
    assert moment(page) == 1
    page.locator(".choices button").nth(2).click()
    assert moment(page) == 2
    page.uncheck("#predict")
    press(page, "Home", "ArrowRight")
    assert moment(page) == 1


def test_new_views_fit_a_phone(opened, address):
    page = opened(f"{address}#heapsort", viewport=PHONE, scheme="dark")
    page.click("summary:has-text('Share')")
    assert overflow(page) <= 0
    page.keyboard.press("Escape")
    page.check("#predict")
    page.click("button[aria-label^='Step forward']")
    assert overflow(page) <= 0
