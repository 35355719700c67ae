// The gateway's page: statements that run and have run, what they cost, and how the gateway is.
//
// It asks /ui/api every now and then and draws what it's told. Whatever comes from clients goes into
// the page as text alone (textContent), never as markup, an address or a style.
"use strict";

const POLL_MS = 1500, HIDDEN_MS = 15000, FIGURES_MS = 2500;
const KINDS = { segment: "cube segments", manifest: "table metadata", index: "an index alone", nothing: "no row passes", rows: "rows read" };
const COLOURS = { segment: "k2", manifest: "k4", index: "k3", nothing: "k5", rows: "k1" };
const OVER = new Set(["FINISHED", "FAILED", "CANCELLED"]);
const $ = (id) => document.getElementById(id);
const asked = { state: "", user: "", text: "", span: 900 };
let changes = "", chosen = "", figuresAt = 0, me = { all: false }, charts = null;

// What a page is made of

function el(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children.filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

function scrolled(name, className, content) {
  const made = el(name, className, content);
  made.tabIndex = 0; // so that keys can scroll it
  return made;
}

function bar(className, share) {
  const made = el("i", className);
  made.style.width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return made;
}

function text(node, value) {
  if (node.textContent !== value) node.textContent = value;
}

// Numbers as people read them

function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (bytes >= 999.5 && at < units.length - 1) { bytes /= 1000; at += 1; }
  return `${at ? bytes.toPrecision(3) : Math.round(bytes)} ${units[at]}`;
}

function time(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 99950) return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`;
  return ms < 5.4e6 ? `${Math.floor(ms / 60000)} min ${Math.round(ms / 1000) % 60} s` : `${(ms / 3.6e6).toFixed(1)} h`;
}

function lasting(seconds) {
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (days) return `${days} d ${hours % 24} h`;
  if (hours || minutes > 9) return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
  return minutes && seconds % 60 >= 1 ? `${minutes} min ${Math.floor(seconds % 60)} s` : minutes ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

const count = (number) => Number(number).toLocaleString("en");
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
const share = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(part && part < whole / 100 ? 1 : 0)} %` : "–");
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

// Asking

async function ask(path) {
  const response = await fetch(path, { credentials: "same-origin", headers: { Accept: "application/json" } });
  if (response.status === 204) return null;
  if (!response.ok) throw new Error(response.status === 401 ? "log in again: reload the page" : (await response.text()).slice(0, 200));
  return response.json();
}

function live(works, why) {
  $("live").className = works ? "live on" : "live off";
  text($("live-text"), works ? "live" : why);
}

async function poll() {
  try {
    if (Date.now() - figuresAt > FIGURES_MS) {
      figuresAt = Date.now();
      drawFigures(await ask(`api/figures?span=${asked.span}`));
    }
    const query = new URLSearchParams({ state: asked.state, user: asked.user, text: asked.text, limit: "200", changes });
    const found = await ask(`api/statements?${query}`);
    if (found) { changes = String(found.changes); drawRows(found); }
    if (chosen && !(shown && shown.id === chosen && OVER.has(shown.state))) await drawChosen();
    live(true);
  } catch (error) {
    live(false, error instanceof TypeError ? "the gateway doesn't answer" : error.message);
  }
  clearTimeout(poll.timer);
  poll.timer = setTimeout(poll, document.hidden ? HIDDEN_MS : POLL_MS);
}

function anew() {
  changes = "";
  clearTimeout(poll.timer);
  poll();
}

// The statements

const kept = new Map();

function rowOf(id) {
  let row = kept.get(id);
  if (row) return row;
  const link = el("a");
  link.href = `#${encodeURIComponent(id)}`;
  row = el("tr", "", el("td", "", el("span", "pill")), el("td", "text", link), el("td", "name wide"), el("td", "wide"),
    el("td", "number"), el("td", "number wide"), el("td", "number wide"), el("td", "number wide soft"));
  row.addEventListener("click", (event) => { if (event.target !== link) location.hash = link.hash; });
  kept.set(id, row);
  return row;
}

function tagsOf(one) {
  if (one.cached) return [el("span", "tag cache", "cache")];
  const found = one.cubes.slice(0, 2).map((name) => el("span", "tag cube", name));
  found.push(...one.indexes.slice(0, 2).map((name) => el("span", "tag index", name)));
  if (one.engine === "spark") {
    const why = one.reason || one.all_rows, tag = el("span", "tag spark", why ? `Spark: ${why.split(":")[0]}` : "Spark");
    if (why) tag.title = why;
    found.push(tag);
  }
  else if (!found.length && one.engine === "duckdb") found.push(el("span", "tag", one.files_total && !one.files_read ? "metadata" : "DuckDB"));
  return found;
}

function drawRows(found) {
  const body = $("rows"), wanted = new Set();
  let before = null;
  for (const one of found.statements) {
    wanted.add(one.id);
    const row = rowOf(one.id), cells = row.cells, state = one.state.toLowerCase();
    const pill = cells[0].firstChild;
    if (pill.textContent !== state) { pill.textContent = state; pill.className = `pill ${state}`; }
    text(cells[1].firstChild, one.sql.replace(/\s+/g, " ").trim() || "(empty)");
    text(cells[2], one.user || "–");
    const told = JSON.stringify([one.cached, one.cubes, one.indexes, one.engine, one.files_read, one.reason]);
    if (row.dataset.told !== told) { row.dataset.told = told; cells[3].replaceChildren(...tagsOf(one)); }
    text(cells[4], time(one.elapsed_ms));
    text(cells[5], count(one.rows));
    text(cells[6], one.cached || !one.bytes_read ? "–" : size(one.bytes_read));
    text(cells[7], clock(one.created));
    row.className = one.id === chosen ? "chosen" : "";
    const place = before ? before.nextSibling : body.firstChild;
    if (place !== row) body.insertBefore(row, place);
    before = row;
  }
  for (const [id, row] of kept) if (!wanted.has(id)) { row.remove(); kept.delete(id); }
  const filtered = asked.state || asked.user || asked.text;
  text($("empty"), filtered ? "No statement is like that." : "No statement yet. Connect a client of Trino's to this address.");
  $("empty").hidden = found.statements.length > 0;
}

// One statement

let shown = null, opener = null;

async function drawChosen() {
  const id = chosen;
  let found = null, why = "";
  try { found = await ask(`api/statements/${encodeURIComponent(id)}`); } catch (error) {
    if (error instanceof TypeError) throw error;
    why = error.message;
  }
  if (id !== chosen) return;
  const told = JSON.stringify({ ...found, now: 0 });
  if (found && shown && shown.told === told) return;
  shown = found ? { id, state: found.state, told } : { id, state: "FAILED", told: "" };
  text($("drawer-title"), id);
  $("detail").replaceChildren(...(found ? partsOf(found) : [el("p", "box", why)]));
}

function fact(name, value, className) {
  return value === "" || value === null ? null : el("div", className || "", el("dt", "", name), el("dd", className === "all" ? "wrap" : "", value));
}

function partsOf(one) {
  const state = one.state.toLowerCase(), parts = [];
  parts.push(el("div", "first", el("span", `pill ${state}`, state), ...tagsOf(one), one.activity ? el("span", "soft", one.activity) : null,
    el("span", "begun", new Date(one.created * 1000).toLocaleString("en-GB"))));
  const cut = one.sql_length > one.sql.length + 200 ? `\n… ${count(one.sql_length)} characters in all` : "";
  parts.push(el("section", "", el("h3", "", "Statement"), scrolled("pre", "sql", one.sql + cut)));
  if (one.error) parts.push(el("div", "box bad", el("b", "", one.error), one.error_message));
  if (one.reason && !one.error) parts.push(el("div", "box", el("b", "", "Plain Spark has answered, since"), one.reason));
  if (one.all_rows) parts.push(el("div", "box", el("b", "", "All rows were read, since"), one.all_rows));
  parts.push(timesOf(one), factsOf(one), ...explanationOf(one));
  return parts;
}

function timesOf(one) {
  const whole = Math.max(one.elapsed_ms, 0.001), planning = one.cached ? 0 : one.planning_ms, run = one.cached ? 0 : one.execution_ms;
  const rest = Math.max(0, whole - one.queued_ms - planning - run);
  const steps = [["waited", one.queued_ms, "k1"], ["planning", planning, "k2"], ["execution", run, "k3"], [one.cached ? "from the cache" : one.rows ? "rows to the client, and the rest" : "the rest", rest, one.cached ? "k4" : "k5"]];
  const seen = steps.filter(([, ms]) => ms > 0);
  const line = el("div", "times", ...seen.map(([, ms, colour]) => bar(colour, ms / whole)));
  const legend = seen.map(([name, ms, colour]) => el("span", "", el("i", colour), name, " ", el("b", "", time(ms))));
  return el("section", "", el("h3", "", `Time: ${time(one.elapsed_ms)}`), line, el("div", "legend", ...legend));
}

function factsOf(one) {
  const by = one.cached ? "the cache" : { duckdb: "DuckDB in process", spark: "Spark", none: "the gateway" }[one.engine] || one.engine;
  const files = one.files_total ? `${count(one.files_read)} of ${count(one.files_total)}` : "";
  const list = el("dl", "facts", fact("Answered by", by || "–"), fact("Rows", count(one.rows)), fact("Given", size(one.bytes)),
    fact("Read", one.cached ? "nothing" : one.engine ? size(one.bytes_read) : "–"), fact("Files read", one.cached ? "" : files), fact("Row groups read", one.row_groups_read ? count(one.row_groups_read) : ""),
    fact("Plan", one.cached || !one.engine ? "" : one.plan_cached ? "known before" : "made for it"), fact("Worker", one.worker ? `process ${one.worker}` : ""),
    fact("User", one.user || "–"), fact("Client", one.source), fact("Address", one.address), fact("Catalog", [one.catalog, one.schema].filter(Boolean).join(".")),
    fact("Cubes", one.cubes.join(", "), "long"), fact("Indexes", one.indexes.join(", "), "long"), fact("Tables", one.tables.join(", "), "long"), fact("Tags", one.tags.join(", "), "long"));
  if (one.made_by) {
    const link = el("a", "", one.made_by);
    link.href = `#${encodeURIComponent(one.made_by)}`;
    list.append(el("div", "long", el("dt", "", "First answered as"), el("dd", "", link)));
  }
  return el("section", "", list);
}

function stageOf([name, left, note], isFirst) {
  return el("div", name === "bytes" ? "stage bytes" : "stage", el("span", "label", isFirst ? "data files" : name), el("span", "track", bar("", left)), el("span", "note", note));
}

function funnelOf(table) {
  const parts = [el("div", "of", table.table || "table")];
  const sources = Object.entries(table.sources).filter(([, files]) => files > 0);
  const files = sources.reduce((sum, [, number]) => sum + number, 0);
  parts.push(...table.funnel.map((stage, at) => stageOf(stage, at === 0)));
  if (files) {
    const line = el("div", "times", ...sources.map(([kind, number]) => bar(COLOURS[kind] || "k5", number / files)));
    const legend = sources.map(([kind, number]) => el("span", "", el("i", COLOURS[kind] || "k5"), KINDS[kind] || kind, " ", el("b", "", plural(number, "file"))));
    parts.push(line, el("div", "legend", ...legend));
  }
  return parts.length > 1 ? el("div", "funnel", ...parts) : null;
}

function explanationOf(one) {
  const told = one.explanation;
  if (!told) {
    if (!one.engine && OVER.has(one.state)) return [];
    if (one.cached) return [el("p", "note", "An earlier answer that was kept is given again.")];
    return [el("p", "note", OVER.has(one.state) ? "How it was answered isn't known any more." : "How it's answered is told once it's planned.")];
  }
  const parts = [], funnels = told.tables.map(funnelOf).filter(Boolean);
  if (funnels.length) parts.push(el("section", "", el("h3", "", "Data files"), ...funnels));
  parts.push(el("section", "", el("h3", "", one.cached ? "Plan of the first answer" : "Plan"), scrolled("pre", "plan", told.text)));
  if (told.reasons.length) {
    const items = told.reasons.map((why) => el("li", why.nearest ? "near" : "", el("span", "", why.cube ? `${why.cube}: ` : "", why.reason || ""),
      el("code", "", why.code || ""), why.ddl ? el("code", "ddl", why.ddl) : null));
    parts.push(el("section", "", el("h3", "", "Why nothing else"), el("ul", "reasons", ...items)));
  }
  return parts;
}

function choose() {
  let id = "";
  try { id = decodeURIComponent(location.hash.slice(1)); } catch { id = ""; }
  if (id === "statements") return;
  const opening = id && !chosen;
  if (opening) opener = document.activeElement;
  chosen = id.slice(0, 100);
  for (const [one, row] of kept) row.className = one === chosen ? "chosen" : "";
  $("drawer").hidden = !chosen;
  shown = null;
  if (!chosen) { if (opener && opener.isConnected) opener.focus(); return; }
  $("detail").replaceChildren();
  text($("drawer-title"), chosen);
  if (opening) $("drawer-title").focus();
  drawChosen().catch(() => live(false, "the gateway doesn't answer"));
}

const unchoose = () => { if (chosen) history.pushState(null, "", location.pathname); choose(); };

// The gateway

function tile(value, unit, name, className) {
  return el("div", `tile ${className || ""}`, el("b", "", value, unit ? el("small", "", unit) : null), el("span", "", name));
}

function meter(name, value, part, whole) {
  return el("div", "meter", el("span", "name", name), el("span", "value", value), whole ? el("span", "track", bar(part >= whole ? "full" : "", part / whole)) : null);
}

function split(shownAs) {
  const at = shownAs.indexOf(" ");
  return at < 0 ? [shownAs, ""] : [shownAs.slice(0, at), shownAs.slice(at + 1)];
}

function drawFigures(found) {
  me = found;
  text($("about"), `${found.version} · up ${lasting(found.up_s)}${found.user ? ` · ${found.user}${found.all ? "" : ", own statements"}` : ""}`);
  $("whole").hidden = !found.all;
  if (!found.all) return;
  const recent = found.recent, cache = found.cache;
  $("tiles").replaceChildren(
    tile(recent.rate < 10 ? recent.rate.toFixed(1) : count(Math.round(recent.rate)), "/ s", `${count(recent.statements)} in ${lasting(Math.min(found.span_s, found.up_s))}`),
    tile(...split(time(recent.p50)), "half are faster"), tile(...split(time(recent.p95)), "95 of 100 are faster"),
    tile(...split(share(recent.cached, recent.statements)), "from the cache"),
    tile(count(found.running), found.queued ? `+ ${count(found.queued)} waiting` : "", "running now", found.queued ? "warn" : ""),
    tile(...split(share(recent.failed, recent.statements)), "failed", recent.failed ? "bad" : ""));
  const free = found.workers.filter((one) => !one.spark).length;
  text($("workers-note"), [plural(found.restarts, "restart"), found.retries ? plural(found.retries, "retry").replace(/retrys$/, "retries") : ""].filter(Boolean).join(", "));
  $("workers").replaceChildren(...found.workers.map((one) => meter(`${one.spark ? "Spark" : "Process"} ${one.pid}`,
    `${one.running} of ${found.threads} · ${size(one.memory_bytes)} · ${lasting(found.now - one.since)}`, one.running, found.threads)));
  if (!free) $("workers").append(el("p", "note", "No worker is there; one is being started."));
  const turned = Object.values(found.turned_away).reduce((sum, one) => sum + one, 0);
  text($("limits-note"), `${plural(turned, "statement")} turned away`);
  $("limits").replaceChildren(...found.limits.slice(0, 6).map((one) => meter(one.key ? `${one.name}: ${one.key}` : one.name,
    `${count(one.running)}${one.concurrent_max === null ? "" : ` of ${count(one.concurrent_max)}`} run · ${count(one.queued)} wait`, one.running, one.concurrent_max || 0)));
  const looks = cache.hits + cache.misses;
  text($("cache-note"), cache.on ? `${share(cache.hits, looks)} of ${count(looks)} found` : "off");
  $("cache").replaceChildren(
    meter("Memory", `${plural(cache.answers, "answer")} · ${size(cache.memory_bytes)} of ${size(cache.memory_max)}`, cache.memory_bytes, cache.memory_max),
    ...(cache.disk_max ? [meter("Disk", `${size(cache.disk_bytes)} of ${size(cache.disk_max)}`, cache.disk_bytes, cache.disk_max)] : []),
    meter("Grown old", count(cache.stale)), meter("Event loop late by", time(found.lag_ms)),
    ...(found.certificate_days === null ? [] : [meter("Certificate ends in", lasting(Math.max(0, found.certificate_days) * 86400))]));
  const alarms = found.broken.length ? [`The newest content of these files can't be used, so an older one counts: ${found.broken.join(", ")}. The log says why.`] : [];
  if (found.spark_failed) alarms.push(`Spark hasn't started with the gateway: ${found.spark_failed}`);
  $("alarm").hidden = !alarms.length;
  text($("alarm"), alarms.join(" "));
  drawCharts(found.timeline, found.now - Math.max(60, found.up_s + found.step_s));
}

// Time lines

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function plot(place, series, axis, scale) {
  const soft = colour("--soft"), grid = { stroke: colour("--line"), width: 1 };
  const font = "11px system-ui, sans-serif", ticks = { show: false };
  return new uPlot({
    width: place.clientWidth - 16, height: 184, cursor: { points: { size: 6 }, drag: { x: false, y: false } }, legend: { live: true, markers: { width: 0, fill: (_, at) => (at ? colour(series[at - 1].colour) : "transparent") } },
    scales: { x: { time: true }, y: scale },
    axes: [{ stroke: soft, grid: { show: false }, ticks, font, size: 26, values: (self, all) => all.map((one) => clock(one).slice(0, self.scales.x.max - self.scales.x.min < 240 ? 8 : 5)), space: 70 },
      { stroke: soft, grid, ticks, font, size: (self, all, at, cycle) => (cycle > 1 ? self.axes[at]._size : Math.max(36, ...(all || []).map((one) => 7 * String(one).length + 14))), ...axis }],
    series: [{ value: (_, one) => (one === null || one === undefined ? "" : clock(one)) }, ...series],
  }, [[0], ...series.map(() => [null])], place);
}

function powers(least, most) {
  const found = [];
  for (let at = Math.round(Math.log10(least)); at <= Math.round(Math.log10(most)); at += 1) found.push(10 ** at);
  return found;
}

function line(label, name, value, more) {
  return { label, colour: name, stroke: colour(name), width: 1.8, points: { show: false }, spanGaps: false, value: (_, one) => (one === null || one === undefined ? "–" : value(one)), ...more };
}

function makeCharts() {
  if (charts) charts.forEach((one) => one.destroy());
  const rate = (one) => (one < 10 ? one.toFixed(1) : count(Math.round(one)));
  const stepped = { paths: uPlot.paths.stepped({ align: 1 }) };
  charts = [
    plot($("chart-rate"), [line("all", "--c1", rate, { fill: `${colour("--c1")}22`, ...stepped }), line("from the cache", "--c2", rate, { fill: `${colour("--c2")}33`, ...stepped }), line("failed", "--c3", rate, stepped)],
      { space: 26, values: (_, all) => all.map(rate) }, { range: (_, __, most) => [0, Math.max(1, most * 1.15)] }),
    plot($("chart-time"), [line("half are faster (p50)", "--c1", time, { points: { show: true, size: 4 } }), line("95 of 100 are (p95)", "--c4", time, { points: { show: true, size: 4 } })],
      { splits: (self) => powers(self.scales.y.min, self.scales.y.max), filter: (_, all) => all, values: (_, all) => all.map((one) => time(one).replace(/\.0+/, "")) },
      { distr: 3, range: (_, least, most) => [Math.max(0.1, 10 ** Math.floor(Math.log10(least || 1))), 10 ** Math.ceil(Math.log10((most || 100) * 1.01))] }),
  ];
}

function drawCharts(told, since) {
  if (!charts) makeCharts();
  const first = Math.max(0, told.at.findIndex((one) => one >= since)), lines = {};
  for (const [name, all] of Object.entries(told)) lines[name] = all.slice(first);
  charts[0].setData([lines.at, lines.rate, lines.cached, lines.failed]);
  charts[1].setData([lines.at, lines.p50, lines.p95]);
  for (const one of charts) if (one.cursor.left < 0) one.setLegend({ idx: lines.at.length - 1 }); // the newest
}

// What people do

function pressed(group, key, value) {
  for (const one of group.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one.dataset[key] === String(value)));
}

function begin() {
  pressed($("spans"), "span", asked.span);
  $("spans").addEventListener("click", (event) => {
    const span = event.target.dataset.span;
    if (span) { asked.span = Number(span); pressed($("spans"), "span", span); figuresAt = 0; anew(); }
  });
  $("states-of").addEventListener("click", (event) => {
    const state = event.target.dataset.state;
    if (state !== undefined) { asked.state = state; pressed($("states-of"), "state", state); anew(); }
  });
  for (const [id, key] of [["of-user", "user"], ["of-text", "text"]]) {
    $(id).addEventListener("input", () => {
      asked[key] = $(id).value;
      clearTimeout(begin.timer);
      begin.timer = setTimeout(anew, 200);
    });
  }
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("close").addEventListener("click", unchoose);
  window.addEventListener("hashchange", choose);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) anew(); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement;
    if (event.key === "Escape") { if (chosen) unchoose(); else if (typing) event.target.blur(); }
    if (event.key === "/" && !typing) { event.preventDefault(); $("of-text").focus(); }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.closest && event.target.closest("#rows")) {
      const row = event.target.closest("tr"), next = event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
      if (next) { event.preventDefault(); next.cells[1].firstChild.focus(); if (chosen) location.hash = next.cells[1].firstChild.hash; }
    }
  });
  let resized;
  const again = () => { clearTimeout(resized); resized = setTimeout(() => { if (charts) { makeCharts(); figuresAt = 0; anew(); } }, 150); };
  window.addEventListener("resize", again);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  choose();
  poll();
}

begin();
