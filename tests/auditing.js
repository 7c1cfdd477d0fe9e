// What a browser says about the text of the page: how large it is, how well it stands out, what it
// covers. An expression, which tests evaluate in the page.
({
  // Every text that can be seen: its size in pixels, and its contrast with what lies under it.
  texts() {
    const everything = new CSSStyleSheet(); // a style element would offend the page's policy
    everything.replaceSync("* { pointer-events: auto !important }");
    document.adoptedStyleSheets = [everything];
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const rgba = (colour) => {
      if (!known.has(colour)) {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = "#0000";
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
        known.set(colour, [r, g, b, a / 255]);
      }
      return known.get(colour);
    };
    const over = (top, ground) => [0, 1, 2].map((i) => top[i] * top[3] + ground[i] * (1 - top[3]));
    const light = (colour) => {
      const [r, g, b] = colour.map((x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
      const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
      return (high + 0.05) / (low + 0.05);
    };
    const opacity = (each) => {
      let product = 1;
      for (; each instanceof Element; each = each.parentElement) product *= getComputedStyle(each).opacity;
      return product;
    };
    const paint = (each) => {
      const look = getComputedStyle(each);
      if (!(each instanceof SVGElement) || each.tagName === "svg") return rgba(look.backgroundColor);
      if (look.fill === "none") return [0, 0, 0, 0];
      const [r, g, b, a] = rgba(look.fill);
      return [r, g, b, a * look.fillOpacity * opacity(each)];
    };
    const ground = (each, x, y) => {
      const stack = document.elementsFromPoint(x, y);
      const place = stack.indexOf(each);
      if (place < 0) return null;
      const look = getComputedStyle(each);
      if (each instanceof SVGElement && look.paintOrder.startsWith("stroke") && parseFloat(look.strokeWidth) >= 3)
        return rgba(look.stroke).slice(0, 3);
      const layers = [];
      for (const below of stack.slice(place + (each instanceof SVGElement ? 1 : 0))) {
        layers.push(paint(below));
        if (layers.at(-1)[3] > 0.99) break;
      }
      return layers.reverse().reduce((colour, layer) => over(layer, colour), [255, 255, 255]);
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const each = walker.currentNode.parentElement;
      const text = walker.currentNode.textContent.trim();
      if (!text || each.closest("script, style, noscript, title, option, .unseen, .skip")) continue;
      if (!each.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const range = document.createRange();
      range.selectNodeContents(walker.currentNode);
      const box = range.getClientRects()[0];
      if (!box || box.width < 1) continue;
      const look = getComputedStyle(each);
      const scale = each instanceof SVGElement ? each.getScreenCTM().a : 1;
      const below = ground(each, box.x + box.width / 2, box.y + box.height / 2);
      const colour = rgba(each instanceof SVGElement ? look.fill : look.color);
      const shown = below && over([...colour.slice(0, 3), colour[3] * opacity(each)], below);
      found.push({
        text: text.slice(0, 30),
        where: each.closest("[id]")?.id + " " + (each.getAttribute("class") ?? each.tagName),
        size: parseFloat(look.fontSize) * scale,
        contrast: below ? contrast(shown, below) : null,
      });
    }
    document.adoptedStyleSheets = [];
    return found;
  },

  // Labels of pictures that cover each other, a node or the head of an arrow, or are cut off. Wrong
  // arrows go anywhere, and labels lie over them.
  overlaps() {
    const inner = (each, by) => {
      const { left, top, right, bottom } = each.getBoundingClientRect();
      return { left: left + by, top: top + by, right: right - by, bottom: bottom - by };
    };
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const called = ({ each }) => each.textContent || each.getAttribute("class") || each.tagName;
    const found = [];
    for (const svg of document.querySelectorAll("svg.picture")) {
      if (!svg.checkVisibility()) continue;
      const frame = inner(svg, -2);
      const texts = [...svg.querySelectorAll("text")].map((each) => ({ each, box: inner(each, 1.5) }));
      const disks = [...svg.querySelectorAll(".node .back")].map((each) => ({ each, box: inner(each, 4) }));
      const heads = [...svg.querySelectorAll(".arrow:not(.wrong) polygon")].map((each) => ({ each, box: inner(each, 1.5) }));
      const pills = [...svg.querySelectorAll(".tag .pill")].map((each) => ({ each, box: inner(each, 1) }));
      const say = (a, b) => found.push(`${svg.closest("figure").id}: ${called(a)} / ${called(b)}`);
      texts.forEach((a, i) => texts.slice(0, i).forEach((b) => meet(a.box, b.box) && say(a, b)));
      pills.forEach((a, i) => pills.slice(0, i).forEach((b) => meet(a.box, b.box) && say(a, b)));
      for (const a of texts) {
        for (const b of heads) if (meet(a.box, b.box)) say(a, b);
        for (const b of disks) if (a.each.parentNode !== b.each.parentNode && meet(a.box, b.box)) say(a, b);
        for (const b of pills) if (a.each.parentNode !== b.each.parentNode && meet(a.box, b.box)) say(a, b);
        if (a.box.left < frame.left || a.box.right > frame.right || a.box.top < frame.top || a.box.bottom > frame.bottom)
          found.push(`${svg.closest("figure").id}: ${a.each.textContent} is cut off`);
      }
    }
    return found;
  },
})
