// What moves in the HTML report: filters and search (their state is in the address, so that a link can be shared),
// drawings of inputs and accesses, copying, and the list of all cases. Without it the page can still be read.
"use strict";
(() => {
  const byId = id => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }
  const labelled = (label, control) => (control.setAttribute("aria-label", label), control);

  // ---- the state: #problem-ID&q=words&severity=error ----

  const names = ["q", "kind", "severity", "rule", "operator", "outcome", "check"];
  const state = {};
  function readState() {
    state.at = "";
    for (const name of names) state[name] = "";
    for (const part of location.hash.slice(1).split("&")) {
      const [name, ...value] = part.split("=");
      let text = value.join("=");
      try { text = decodeURIComponent(text.replaceAll("+", " ")); } catch { /* a link that was cut */ }
      if (value.length === 0) state.at = name;
      else if (names.includes(name)) state[name] = text;
    }
  }
  function address(changes = {}) {
    const next = { ...state, ...changes };
    const parts = names.filter(name => next[name]).map(name => name + "=" + encodeURIComponent(next[name]));
    return "#" + [next.at, ...parts].filter(Boolean).join("&");
  }
  function change(changes) {
    Object.assign(state, changes, { at: "" });
    history.replaceState(null, "", address());
    apply();
  }
  function goTo(id) {
    const target = id && byId(id);
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.hidden = false;
    const settle = frames => { // the parts above get their real heights only when they are on the screen
      target.scrollIntoView();
      if (frames > 0) requestAnimationFrame(() => settle(frames - 1));
    };
    settle(3);
    const focus = target.matches("details") ? target.querySelector("summary") : target.querySelector("h2");
    if (focus && !focus.matches("summary")) focus.tabIndex = -1;
    focus?.focus({ preventScroll: true });
  }

  // ---- filters ----

  const problems = all(".problem").map(element => ({
    element,
    text: element.textContent.toLowerCase(),
    kind: element.dataset.kind,
    rule: element.dataset.rule,
    severity: element.dataset.severity,
    operators: [...new Set(all(":scope > summary .op, dd[data-fact=operators] code", element).map(code => code.textContent))],
  }));
  const rows = all(".matrix tbody tr").map(element => ({ element, text: element.firstChild.textContent }));
  const operators = all(".operator").map(element => ({ element, text: element.querySelector("code").textContent }));

  const search = labelled("Search problems, operators and cases", make("input", { type: "search", placeholder: "Search ( / )" }));
  const count = make("output");
  const severities = [["", "All"], ["error", "Errors"], ["warning", "Warnings"]].map(([value, label]) => {
    const found = problems.filter(problem => !value || problem.severity === value).length;
    return make("button", { type: "button", value, textContent: `${label} ${found}`, onclick: () => change({ severity: value }) });
  });
  function choice(label, name, counts) {
    const entries = [...counts].sort((a, b) => a[0].localeCompare(b[0]));
    const select = labelled(label, make("select", { onchange: () => change({ [name]: select.value }) }));
    select.append(new Option(label, ""), ...entries.map(([value, number]) => new Option(number === null ? value : `${value} (${number})`, value)));
    return select;
  }
  const tally = lists => lists.flat().reduce((counts, value) => counts.set(value, (counts.get(value) ?? 0) + 1), new Map());
  const kind = choice("Every kind", "kind", tally(problems.map(problem => problem.kind).filter(Boolean)));
  kind.hidden = kind.options.length === 1; // only two runs compared have kinds
  const rule = choice("Every rule", "rule", tally(problems.map(problem => problem.rule)));
  const operator = choice("Every operator", "operator", new Map([...new Set([...rows.map(row => row.text), ...problems.flatMap(problem => problem.operators)])].map(name => [name, null])));
  const reset = make("button", { type: "button", textContent: "Clear", onclick: () => change(Object.fromEntries(names.map(name => [name, ""]))) });
  const expand = make("button", { type: "button", textContent: "Open all", onclick: () => {
    const shown = problems.filter(problem => !problem.element.hidden), open = shown.some(problem => !problem.element.open);
    for (const problem of shown) problem.element.open = open;
  } });

  function apply() {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const has = text => words.every(word => text.includes(word));
    let shown = 0;
    for (const problem of problems) {
      const fits = has(problem.text) && (!state.kind || problem.kind === state.kind) && (!state.severity || problem.severity === state.severity) && (!state.rule || problem.rule === state.rule) &&
        (!state.operator || problem.operators.includes(state.operator));
      problem.element.hidden = !fits;
      shown += fits;
    }
    for (const row of [...rows, ...operators])
      row.element.hidden = !(has(row.text.toLowerCase()) || problems.some(problem => !problem.element.hidden && problem.operators.includes(row.text) && words.length)) ||
        Boolean(state.operator && row.text !== state.operator);
    if (search.value !== state.q) search.value = state.q;
    for (const button of severities) button.setAttribute("aria-pressed", String(button.value === state.severity));
    kind.value = state.kind;
    rule.value = state.rule;
    operator.value = state.operator;
    reset.hidden = !names.some(name => state[name]);
    count.value = shown === problems.length ? `${shown} problems` : `${shown} of ${problems.length} problems`;
    if (cases.shown) showCases();
  }

  // ---- drawings: made when a problem is opened ----

  const numbers = text => text ? text.split(",").map(Number) : [];
  // "float32[2, 3] strides [1, 4] offset 2": which cells of the storage hold which element.
  function drawTensor(code) {
    const match = /^\w+\[([\d, ]*)\](?: strides \[([\d, ]*)\])?(?: offset (\d+))?/.exec(code.textContent);
    if (!match || !(match[2] || match[3])) return;
    const sizes = numbers(match[1]), offset = Number(match[3] ?? 0), most = 64;
    const strides = match[2] ? numbers(match[2]) : sizes.map((_, d) => sizes.slice(d + 1).reduce((a, b) => a * b, 1));
    const elements = sizes.reduce((a, b) => a * b, 1);
    const end = sizes.reduce((sum, size, d) => sum + (size - 1) * strides[d], offset) + 1;
    if (elements === 0 || sizes.length === 0) return;
    const cells = Array.from({ length: Math.min(end, most) }, () => []);
    for (let element = 0; element < Math.min(elements, 4096); element++) {
      let rest = element, place = offset;
      const index = [];
      for (let d = sizes.length - 1; d >= 0; rest = Math.floor(rest / sizes[d--])) {
        index.unshift(rest % sizes[d]);
        place += index[0] * strides[d];
      }
      if (place < cells.length) cells[place].push(index.join(","));
    }
    const picture = make("div", { className: "memory" });
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", `In memory: ${elements} elements in ${end} places, the first at place ${offset}`);
    const row = Math.max(...strides); // a line of the picture for each row of the tensor
    if (row > 1 && row <= 24) { picture.classList.add("rows"); picture.style.setProperty("--row", row); }
    for (const cell of cells) picture.append(make("i", { className: cell.length ? "" : "gap", textContent: cell.length > 1 ? `${cell[0]} ×${cell.length}` : cell[0] ?? "" }));
    if (end > most) picture.append(`… ${end - most} more`);
    code.after(picture);
  }
  // The storage between its guard pages, and where the access was.
  function drawAccess(figure) {
    const offset = Number(figure.dataset.offset), bytes = Number(figure.dataset.bytes);
    const far = distance => 1 + 20 * Math.min(1, distance / Math.max(bytes, 64));
    const place = offset < 0 ? 25 - far(-offset) : offset >= bytes ? 75 + far(offset - bytes) : 25 + 50 * offset / bytes;
    const mark = make("b");
    mark.style.left = `${place}%`;
    mark.dataset.text = `${figure.dataset.access} at ${offset}`;
    const zones = make("div", { className: "zones" }, make("span", { className: "guard", textContent: "not its own" }),
      make("span", { className: "tensor", textContent: `${bytes} bytes` }), make("span", { className: "guard", textContent: "not its own" }), mark);
    zones.setAttribute("aria-hidden", "true");
    figure.prepend(zones);
  }
  const drawn = new WeakSet();
  function draw(problem) {
    if (drawn.has(problem)) return;
    drawn.add(problem);
    all(".input dd code", problem).forEach(drawTensor);
    all(".access", problem).forEach(drawAccess);
    all(".copy", problem).forEach(addCopy);
  }

  const said = make("div", { className: "unseen" });
  said.setAttribute("role", "status");
  function addCopy(box) {
    const button = make("button", { type: "button", textContent: "Copy" });
    button.onclick = async () => {
      const text = box.querySelector("code").textContent;
      let copied = true;
      try {
        await navigator.clipboard.writeText(text);
      } catch { // not allowed for this page: the older way
        getSelection().selectAllChildren(box.querySelector("code"));
        copied = document.execCommand("copy");
      }
      button.textContent = said.textContent = copied ? "Copied" : "Press Ctrl+C";
      setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2000);
    };
    box.append(button);
  }

  // ---- all cases: read when somebody gets there ----

  const cases = { shown: 0, groups: null };
  const step = 100;
  const caseCount = make("output"), caseBody = make("tbody");
  const caseMore = make("button", { type: "button", textContent: "Show more", onclick: () => { cases.shown += step; showCases(); } });
  let outcome, check;
  function loadCases() {
    if (cases.groups) return;
    cases.groups = all("script.cases").map(script => ({ operator: script.dataset.operator, ...JSON.parse(script.textContent) }));
    const outcomes = new Map(), checks = new Map();
    const add = (counts, key, number) => counts.set(key, (counts.get(key) ?? 0) + number);
    for (const group of cases.groups)
      for (const row of group.rows) {
        const how = group.words[row[4]], number = row.length - 6;
        add(checks, group.words[row[0]], number);
        for (const key of new Set([how, how.split(" ")[0]])) add(outcomes, key, number);
      }
    outcome = choice("Every outcome", "outcome", outcomes);
    check = choice("Every check", "check", checks);
    const head = make("tr", {}, ...["outcome", "operator", "check", "device", "dtype", "sample", "variants", "message"].map(text => make("th", { scope: "col", textContent: text })));
    const widths = make("colgroup", {}, ...[9, 13, 7, 4, 5, 7, 10].map(width => { const column = make("col"); column.style.width = `${width}rem`; return column; }), make("col"));
    const box = make("div", { className: "scroll", tabIndex: 0 },
      make("table", {}, make("caption", { className: "unseen", textContent: "Cases" }), widths, make("thead", {}, head), caseBody));
    box.setAttribute("role", "group");
    byId("case-list").append(make("div", { className: "case-controls" }, outcome, check, caseCount), labelled("Cases", box), caseMore);
    cases.shown = step;
  }
  function* matching() {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    for (const group of cases.groups) {
      if (state.operator && group.operator !== state.operator) continue;
      const rest = words.filter(word => !group.operator.toLowerCase().includes(word));
      const hits = rest.map(word => new Set(group.words.flatMap((text, i) => text.toLowerCase().includes(word) ? [i] : [])));
      for (const row of group.rows) {
        if (state.check && group.words[row[0]] !== state.check) continue;
        if (state.outcome && group.words[row[4]] !== state.outcome && group.words[row[4]].split(" ")[0] !== state.outcome) continue;
        if (hits.every(hit => row.some(number => hit.has(number)))) yield [group, row];
      }
    }
  }
  function showCases() {
    let seen = 0, total = 0;
    const shown = [];
    for (const [group, row] of matching()) {
      total += row.length - 6;
      if (seen++ >= cases.shown) continue;
      const [which, device, dtype, sample, how, message, ...variants] = row.map(number => group.words[number]);
      const list = variants.length > 6 ? `${variants.slice(0, 6).join(", ")} and ${variants.length - 6} more` : variants.join(", ");
      const line = make("tr", {}, make("td", { className: how.split(" ")[0], textContent: how }),
        ...[group.operator, which, device, dtype, sample, list, message].map(text => make("td", { textContent: text })));
      line.lastChild.className = "text";
      shown.push(line);
    }
    caseBody.replaceChildren(...shown);
    caseMore.hidden = seen <= cases.shown;
    caseCount.value = `${total} cases` + (seen > cases.shown ? `, the first ${cases.shown} of ${seen} rows are shown` : "");
    outcome.value = state.outcome;
    check.value = state.check;
  }

  // ---- start ----

  document.querySelector("nav").append(make("search", {}, search));
  byId("filters").append(...severities, kind, rule, operator, expand, reset, count);
  document.body.append(said);
  for (const row of rows) {
    const name = row.element.firstChild;
    name.replaceChildren(make("a", { href: "#operator=" + encodeURIComponent(row.text), textContent: row.text, title: "Only this operator" }));
  }
  let waiting = 0;
  search.oninput = () => { clearTimeout(waiting); waiting = setTimeout(() => change({ q: search.value }), 120); };
  addEventListener("keydown", event => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); search.focus(); }
    else if (event.key === "Escape" && event.target === search) change({ q: "" });
  });
  addEventListener("click", event => {
    const link = event.target.closest?.("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const id = link.hash.slice(1);
    if (!id || id.includes("=")) return; // a filter: the address becomes it
    event.preventDefault();
    history.pushState(null, "", address({ at: id }));
    state.at = id;
    goTo(id);
  });
  addEventListener("mouseover", event => {
    const cell = event.target.closest?.(".matrix tbody td");
    if (!cell || cell.title) return;
    const column = all("thead tr + tr th", cell.closest("table"))[cell.cellIndex];
    cell.title = `${cell.parentElement.firstChild.textContent}, ${column.textContent}: ${cell.textContent}`;
  });
  document.addEventListener("toggle", event => { if (event.target.open && event.target.matches(".problem")) draw(event.target); }, true);
  addEventListener("beforeprint", () => { for (const problem of problems) { problem.element.open = true; draw(problem.element); } });
  addEventListener("hashchange", () => { readState(); apply(); goTo(state.at); });
  if (byId("cases")) new IntersectionObserver((entries, observer) => {
    if (!entries.some(entry => entry.isIntersecting)) return;
    observer.disconnect();
    loadCases();
    showCases();
  }, { rootMargin: "600px" }).observe(byId("cases"));
  for (const problem of problems) if (problem.element.open) draw(problem.element);
  readState();
  if (byId("cases") && (state.outcome || state.check)) loadCases();
  apply();
  addEventListener("load", () => goTo(state.at)); // after the browser went there in its own way
})();
