// Share what is shown: a link, the page as one file, and pictures of the stage.

import { captured, rastered, svgText } from "./capture.js";
import { element } from "./dom.js";
import { Gif } from "./gif.js";
import { madeText } from "./made.js";

const MOST_FRAMES = 150;
const WIDEST_GIF = 900;
const WHOLE_GIF = 14000; // milliseconds, about

export class Share {
  constructor(player, stage) {
    Object.assign(this, { player, stage });
    this.status = element("p", { class: "status", role: "status" });
    this.link = item("Copy link", () => this.copy(location.href, "The link is copied."));
    this.file = item("Page (HTML)", () => this.page());
    this.embed = element("textarea", { readonly: true, rows: 3, "aria-label": "To embed it" });
    this.note = element("p", { class: "note" });
    this.embedding = element(
      "div",
      { class: "embedding" },
      element("h2", {}, "Embed"),
      this.note,
      this.embed,
      item("Copy this line", () => this.copy(this.embed.value, "The line is copied.")),
    );
    this.menu = element(
      "details",
      { class: "share" },
      element("summary", {}, "Share"),
      element(
        "div",
        { class: "card menu" },
        this.link,
        element("h2", {}, "Download"),
        element(
          "div",
          { class: "formats" },
          this.file,
          item("PNG", () => this.png()),
          item("SVG", () => this.svg()),
          item("GIF, all steps", () => this.gif()),
        ),
        this.embedding,
        this.status,
      ),
    );
    this.parts = [this.menu];
    document.addEventListener("click", ({ target }) => {
      if (!this.menu.contains(target)) this.menu.open = false;
    });
    this.menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.menu.open = false;
      this.menu.firstChild.focus();
    });
  }

  // A trace, and its text if the page can write it to a file.
  load(data, text) {
    Object.assign(this, { data, text });
    this.file.hidden = text === null;
    this.link.hidden = !location.protocol.startsWith("http");
    this.embedding.hidden = location.protocol === "about:"; // it is embedded in a page itself
    this.note.textContent = text
      ? "Download the page, put it beside yours, and add this line to yours:"
      : "With this file beside your page, add this line to yours:";
    const name = text ? this.name("html") : decodeURI(location.pathname.split("/").at(-1));
    this.embed.value = element("iframe", {
      src: name,
      title: `${data.algorithm}, step by step`,
      width: "100%",
      height: 620,
      loading: "lazy",
    }).outerHTML;
    this.say("");
  }

  say(text) {
    this.status.textContent = text;
  }

  async copy(text, done) {
    try {
      await navigator.clipboard.writeText(text);
      this.say(done);
    } catch {
      this.say(`It cannot be copied by itself: ${text}`);
    }
  }

  name(end) {
    return `${this.data.algorithm}.${end}`;
  }

  // The page as it was served, with the trace inside: nothing is loaded from elsewhere then.
  async page() {
    const html = await (await fetch("./")).text();
    const inside = `id="trace">${this.text.replaceAll("<", "\\u003c")}<`;
    const whole = html
      .replace('id="trace">null<', () => inside)
      .replace("connect-src 'self'", "connect-src 'none'")
      .replace("<title>algorist<", `<title>${this.data.algorithm} · algorist<`);
    this.save(new Blob([whole], { type: "text/html" }), this.name("html"));
  }

  save(blob, name) {
    const link = element("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    this.say(`${name} is written.`);
  }

  picture() {
    const when = this.player.label.textContent;
    const { algorithm } = this.data;
    return captured(`${algorithm}, ${when}`, madeText(this.data));
  }

  svg() {
    const text = svgText(this.picture());
    this.save(new Blob([text], { type: "image/svg+xml" }), this.name("svg"));
  }

  async png() {
    const { canvas } = await rastered(this.picture(), 2);
    canvas.toBlob((blob) => this.save(blob, this.name("png")), "image/png");
  }

  // All steps, or as many as make a film that people watch to its end.
  async gif() {
    const { player } = this;
    const back = player.moment;
    const moments = spread(player.trace.answer + 1);
    const delay = Math.min(700, Math.max(60, WHOLE_GIF / moments.length));
    document.body.classList.add("capturing"); // nothing moves meanwhile
    try {
      const some = [moments[0], moments[moments.length >> 1], moments.at(-1)];
      const size = largest(some.map((moment) => this.pictureAt(moment)));
      const samples = [];
      for (const moment of some) samples.push(await this.frame(moment, size));
      const gif = new Gif(size.width, size.height, samples);
      for (const [turn, moment] of moments.entries()) {
        this.say(`Drawing ${turn + 1} of ${moments.length} …`);
        const last = turn === moments.length - 1;
        gif.add(await this.frame(moment, size), last ? 2500 : delay);
      }
      this.save(gif.blob(), this.name("gif"));
    } finally {
      document.body.classList.remove("capturing");
      player.go(back);
    }
  }

  pictureAt(moment) {
    this.player.go(moment);
    return this.picture();
  }

  // The pixels of a moment: all frames have one size.
  async frame(moment, { width, height, scale }) {
    const { context } = await rastered(this.pictureAt(moment), scale, { width, height });
    return context.getImageData(0, 0, width, height).data;
  }
}

// How large a film of pictures is.
function largest(pictures) {
  const [wide, high] = ["width", "height"].map((name) =>
    Math.max(...pictures.map((picture) => Number(picture.getAttribute(name)))),
  );
  const scale = Math.min(1, WIDEST_GIF / wide);
  return { width: Math.round(wide * scale), height: Math.round(high * scale), scale };
}

function spread(count) {
  const shown = Math.min(count, MOST_FRAMES);
  return Array.from({ length: shown }, (_, turn) =>
    Math.round((turn * (count - 1)) / Math.max(shown - 1, 1)),
  );
}

function item(text, onclick) {
  return element("button", { type: "button", onclick }, text);
}
