
// The page's own script. It never makes markup of content: it opens folds, moves about, and marks ranges of text.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const input = $("q"), found = $("found"), prev = $("prev"), next = $("next");
  const entries = all(".e");

  // Moving about.
  const reveal = (node) => {
    for (let at = node; at; at = at.parentElement) if (at.localName === "details" && !at.open) at.open = true;
  };
  // What is not rendered yet has a guessed height; each look renders a little more, until the place is right.
  let moving = 0;
  const settle = (look, frames = 8) => {
    const own = ++moving;
    const again = () => {
      if (own !== moving) return;
      look();
      if (--frames > 0) requestAnimationFrame(again);
    };
    again();
  };
  for (const kind of ["wheel", "touchmove", "keydown", "mousedown"]) addEventListener(kind, () => moving++, { passive: true, capture: true });
  const show = (element) => {
    reveal(element.parentElement);
    settle(() => element.scrollIntoView({ block: "start" }));
  };
  const toHash = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    const fold = target.querySelector(":scope > details");
    if (fold && !fold.open) fold.open = true;
    show(target);
  };
  addEventListener("hashchange", toHash);
  // A second click on the same place goes there again.
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) toHash();
  });
  const bar = document.querySelector(".bar");
  const below = () => (getComputedStyle(bar).position === "sticky" ? bar.getBoundingClientRect().bottom : 0);
  // Of elements in the order of the page, the next or previous one from where the reader is.
  const step = (elements, forward) => {
    const line = below() + 24;
    let low = 0, high = elements.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (elements[middle].getBoundingClientRect().top <= line) low = middle + 1; else high = middle;
    }
    const at = forward ? low : low - 1;
    if (forward) return elements[at];
    const here = elements[at];
    return here && here.getBoundingClientRect().top < below() - 4 ? here : elements[at - 1];
  };
  const turns = all(".turn");
  const failures = all(".e.bad");
  const move = (elements, forward) => {
    const to = step(elements, forward);
    if (to) show(to);
  };

  // The timeline follows the reader.
  const bars = all(".timeline a");
  const firsts = bars.map((link) => Number(link.dataset.e));
  let marked = null, waiting = false;
  const follow = () => {
    waiting = false;
    const x = Math.min(innerWidth / 2, innerWidth - 40);
    let at = null;
    for (let y = below() + 30; !at && y < innerHeight; y += 40) {
      const hit = document.elementFromPoint(x, y);
      at = hit && hit.closest(".e");
    }
    if (!at) return;
    const number = Number(at.id.slice(1));
    let bar = 0;
    for (let index = 0; index < firsts.length && firsts[index] <= number; index++) bar = index;
    if (bars[bar] === marked) return;
    if (marked) marked.classList.remove("here");
    marked = bars[bar];
    if (marked) marked.classList.add("here");
  };
  addEventListener("scroll", () => {
    if (!waiting) { waiting = true; requestAnimationFrame(follow); }
  }, { passive: true });

  // Folding.
  const folds = {
    tools: () => all(".tool > details:not(.agent)"),
    thoughts: () => all(".thought > details"),
    turns: () => turns,
    all: () => all("main details"),
  };
  const toggle = (name) => {
    const button = $(name), open = button.getAttribute("aria-pressed") !== "true";
    const anchor = step(entries, true);
    for (const fold of folds[name]()) if (name !== "all" || open || !fold.matches(".turn, .agent")) fold.open = open;
    button.setAttribute("aria-pressed", String(open));
    if (name === "all") for (const other of ["tools", "thoughts"]) $(other).setAttribute("aria-pressed", String(open));
    if (name === "all" && open) $("turns").setAttribute("aria-pressed", "true");
    if (anchor && name !== "turns") settle(() => anchor.scrollIntoView({ block: "start" }));
  };
  for (const name of Object.keys(folds)) $(name).addEventListener("click", () => toggle(name));

  // Searching. Text is read from the page itself, entry by entry, and folded parts count too. What merely repeats a
  // folded part (data-echo) and the numbers of entries are passed over.
  const texts = (entry) => {
    const nodes = [];
    const walker = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) => {
      if (node.nodeType === Node.TEXT_NODE) return NodeFilter.FILTER_ACCEPT;
      const skip = node.classList.contains("e") || node.classList.contains("n") || "echo" in node.dataset;
      return skip ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    });
    while (walker.nextNode()) nodes.push(walker.currentNode);
    return nodes;
  };
  const marks = typeof Highlight === "function" && CSS.highlights;
  const MOST_MARKED = 2000;
  let matches = [], current = -1, running = 0, query = "";
  let looked = -1, nodes = [];
  const range = ({ entry, node, at }) => {
    if (entry !== looked) [looked, nodes] = [entry, texts(entries[entry])];
    const text = nodes[node];
    const result = document.createRange();
    result.setStart(text, at);
    result.setEnd(text, Math.min(at + query.length, text.length));
    return result;
  };
  const say = (more) => {
    found.textContent = !query ? "" : matches.length ? `${(current + 1).toLocaleString("en")} of ${matches.length.toLocaleString("en")}${more ? "+" : ""}`
      : more ? "…" : "no match";
    prev.disabled = next.disabled = !matches.length;
  };
  const mark = () => {
    if (!marks) return;
    CSS.highlights.delete("found");
    CSS.highlights.delete("here");
    if (!matches.length) return;
    const start = Math.max(0, Math.min(current - MOST_MARKED / 2, matches.length - MOST_MARKED));
    CSS.highlights.set("found", new Highlight(...matches.slice(start, start + MOST_MARKED).map(range)));
    if (current >= 0) {
      const here = new Highlight(range(matches[current]));
      here.priority = 1;
      CSS.highlights.set("here", here);
    }
  };
  const go = (to) => {
    if (!matches.length) return;
    current = (to + matches.length) % matches.length;
    const at = range(matches[current]);
    reveal(at.startContainer.parentElement);
    const scroll = () => {
      const box = at.getBoundingClientRect(), top = below();
      if (box.top < top + 20 || box.bottom > innerHeight - 20) scrollBy(0, box.top - top - (innerHeight - top) / 3);
    };
    settle(scroll);
    if (!marks) { const selection = getSelection(); selection.removeAllRanges(); selection.addRange(at); }
    mark();
    say(running);
  };
  const search = () => {
    const run = Date.now() + Math.random();
    running = run;
    matches = [];
    current = -1;
    query = input.value.toLowerCase();
    mark();
    say(query);
    if (!query) { running = 0; return; }
    // Those whose lower case has another length would move every place behind them.
    const lower = (text) => { const low = text.toLowerCase(); return low.length === text.length ? low : text; };
    let entry = 0;
    const slice = () => {
      if (running !== run) return;
      const until = performance.now() + 40;
      while (entry < entries.length && performance.now() < until) {
        texts(entries[entry]).forEach((text, node) => {
          const low = lower(text.data);
          for (let at = low.indexOf(query); at >= 0; at = low.indexOf(query, at + query.length)) matches.push({ entry, node, at });
        });
        entry++;
      }
      if (entry < entries.length) { say(true); setTimeout(slice); return; }
      running = 0;
      if (matches.length && current < 0) {
        const first = step(entries, true), from = first ? entries.indexOf(first) : 0;
        const near = matches.findIndex((match) => match.entry >= from - 1);
        go(near < 0 ? 0 : near);
      } else { mark(); say(false); }
    };
    slice();
  };
  let pause = 0;
  input.addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(search, 150); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      if (query !== input.value.toLowerCase()) { clearTimeout(pause); search(); } else go(current + (event.shiftKey ? -1 : 1));
    } else if (event.key === "Escape") { input.value = ""; search(); input.blur(); }
  });
  next.addEventListener("click", () => go(current + 1));
  prev.addEventListener("click", () => go(current - 1));

  // Keys.
  const help = $("keys");
  $("help").addEventListener("click", () => help.showModal());
  const keys = {
    "/": () => { input.focus(); input.select(); },
    n: () => go(current + 1), p: () => go(current - 1),
    j: () => move(turns, true), k: () => move(turns, false),
    f: () => move(failures, true), F: () => move(failures, false),
    t: () => toggle("tools"), r: () => toggle("thoughts"), a: () => toggle("all"),
    "?": () => help.showModal(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open || /^(input|textarea|select)$/.test(event.target.localName)) return;
    const act = Object.hasOwn(keys, event.key) && keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  toHash();
  follow();
})();
