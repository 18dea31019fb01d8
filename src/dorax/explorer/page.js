"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const world = data.world;
  const actions = world.actions.length;
  const states = world.cells.length;
  const UNIT = 20; // a cell of a map, in the units of its picture
  const byId = (id) => document.getElementById(id);

  // Frames hold what changed since the one before: here every frame gets whole tables.
  const agents = data.agents.map((frames) => {
    let tables = { visits: new Float64Array(states * actions), counts: new Float64Array(states * actions),
                   q: new Float64Array(states * actions) };
    return frames.map((frame) => {
      tables = { visits: tables.visits.slice(), counts: tables.counts.slice(), q: tables.q.slice() };
      for (const name in tables) frame.pairs.forEach((pair, i) => { tables[name][pair] = frame[name][i]; });
      return { ...frame, ...tables };
    });
  });

  const available = world.available.map((row) => row.flatMap((has, action) => (has ? [action] : [])));
  const shown = world.cells.flatMap((_, state) => (world.reachable[state] ? [state] : []));
  const stateAt = new Map(shown.map((state) => [world.cells[state].join(), state]));
  const ofState = (table, state) => available[state].map((action) => table[state * actions + action]);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const best = (numbers) => Math.max(...numbers);
  const summary = { visits: sum, counts: sum, q: best };

  // Scales: one for all counts, logarithmic; one for Q, a square root on either side of 0.
  const every = (measure) => agents.flatMap((frames) => frames.flatMap((frame) => shown.map((s) => measure(frame, s))));
  const largest = (numbers) => numbers.reduce((a, b) => Math.max(a, b), 0);
  const most = largest(every((f, s) => Math.max(sum(ofState(f.visits, s)), sum(ofState(f.counts, s))))) || 1;
  const gain = largest(every((f, s) => best(ofState(f.q, s))));
  const loss = largest(every((f, s) => -Math.min(...ofState(f.q, s))));
  const onCounts = (count) => Math.log1p(Math.max(count, 0)) / Math.log1p(most);
  const floor = Math.max(loss, gain); // gains fill their side of the scale, small losses do not
  const onValues = (value) => Math.sqrt(Math.abs(value) / ((value < 0 ? floor : gain) || 1));

  function paint(element, kind, number) {
    const t = kind === "q" ? onValues(number) : onCounts(number);
    element.style.setProperty("--t", t.toFixed(4));
    element.classList.toggle(kind === "q" ? "below" : "high", kind === "q" ? number < 0 : t > 0.5);
  }

  function written(number) {
    const size = Math.abs(number);
    if (size > 0 && size < 1e-3) return number.toExponential(2).replaceAll("-", "−");
    const short = size >= 1e4 ? Math.round(number) : Number(number.toPrecision(size < 0.1 ? 3 : 4));
    return String(short).replace("-", "−");
  }

  function element(name, attributes = {}, parent = null) {
    const made = document.createElementNS(document.querySelector("svg").namespaceURI, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (parent) parent.append(made);
    return made;
  }

  const polygon = (points) => points.map((point) => point.join()).join(" ");
  const square = (x, y, inset = 0.5) => ({ x: x + inset, y: y + inset, width: UNIT - 2 * inset, height: UNIT - 2 * inset });
  const middle = (state) => [(world.cells[state][1] + 0.5) * UNIT, (world.cells[state][0] + 0.5) * UNIT];

  // The part of a cell that stands for an action: a triangle where the four actions lead
  // to the four sides, else a strip, those that lead west first.
  function partOf(state, action) {
    const [row, column] = world.cells[state];
    const [x, y, z] = [column * UNIT + 0.5, row * UNIT + 0.5, UNIT - 1];
    const ways = available[state].map((a) => world.directions[state][a]);
    const sides = new Set(ways.filter(([r, c]) => Math.abs(r) + Math.abs(c) === 1).map(String));
    if (ways.length > 1 && sides.size === ways.length) {
      const [r, c] = world.directions[state][action];
      const corner = (side) => (r ? [x + (z + side * z) / 2, y + (z + r * z) / 2] : [x + (z + c * z) / 2, y + (z + side * z) / 2]);
      return polygon([corner(-1), corner(1), [x + z / 2, y + z / 2]]);
    }
    const order = [...available[state]].sort((a, b) => world.directions[state][a][1] - world.directions[state][b][1]);
    const width = z / order.length, left = x + width * order.indexOf(action);
    return polygon([[left, y], [left + width, y], [left + width, y + z], [left, y + z]]);
  }

  // Where an episode may begin nearly anywhere, starts tell nothing.
  const isStart = new Set(world.start.length > shown.length / 4 && world.start.length > 1 ? [] : world.start);
  const LOOKS = { "█": "wall", "#": "fall", "~": "fall", G: "goal", x: "exit", S: "floor", ".": "floor" };

  // A map: the world beneath, shapes for what is known above, and how to show a frame.
  function drawMap(figure, kind) {
    const height = world.rows.length, width = world.rows[0].length;
    const svg = element("svg", { viewBox: `-1 -1 ${width * UNIT + 2} ${height * UNIT + 2}`, role: "img",
                                  preserveAspectRatio: "xMinYMin" }, figure);
    world.rows.forEach((cells, row) => [...cells].forEach((cell, column) => {
      if (cell === " ") return;
      const state = stateAt.get([row, column].join());
      const [x, y] = [column * UNIT, row * UNIT];
      const look = state === undefined && LOOKS[cell] === "floor" ? "never" : LOOKS[cell];
      element("rect", { ...square(x, y), class: look }, svg);
      if (state === undefined && (cell === "G" || cell === "x"))
        element("text", { x: x + UNIT / 2, y: y + UNIT / 2, class: "mark" }, svg).textContent = cell;
    }));
    const shapes = shown.map((state) => (kind === "policy" ? drawArrows(svg, state) : drawShapes(svg, kind, state)));
    shown.forEach((state) => {
      const [row, column] = world.cells[state];
      if (isStart.has(state)) element("rect", { ...square(column * UNIT, row * UNIT, 1.3), class: "start" }, svg);
      if (world.rows[row][column] === "G") element("rect", { ...square(column * UNIT, row * UNIT, 1.3), class: "start", style: "stroke:var(--goal)" }, svg);
    });
    const path = kind === "policy" && element("polyline", { class: "path" });
    const end = kind === "policy" && element("circle", { class: "end", r: 2.8 }, svg);
    if (path) svg.insertBefore(path, svg.querySelector(".on-path"));
    const chosen = element("rect", { class: "chosen" }, svg);
    svg.addEventListener("pointermove", (event) => choose(stateUnder(svg, event)));
    svg.addEventListener("pointerdown", (event) => choose(stateUnder(svg, event)));
    return {
      show(frame, title) {
        shown.forEach((state, i) => shapes[i](frame, state));
        if (path) drawPath(path, end, frame);
        svg.setAttribute("aria-label", title);
      },
      choose(state) {
        const [row, column] = world.cells[state];
        const place = square(column * UNIT, row * UNIT, 0);
        for (const key in place) chosen.setAttribute(key, place[key]);
      },
    };
  }

  function drawShapes(svg, kind, state) {
    const [row, column] = world.cells[state];
    const look = kind === "q" ? "value" : "count";
    const parts = available[state].map((action) =>
      element("polygon", { points: partOf(state, action), class: `${look} part` }, svg));
    const inset = kind === "q" ? 0.28 * UNIT : 0.5;
    const whole = element("rect", { ...square(column * UNIT, row * UNIT, inset), class: `${look} whole${kind === "q" ? " middle" : ""}` }, svg);
    return (frame) => {
      const numbers = ofState(frame[kind], state);
      numbers.forEach((number, i) => paint(parts[i], kind, number));
      paint(whole, kind, summary[kind](numbers));
    };
  }

  const ARROW = "M-5.5 0H5.5M2-3.5 5.5 0 2 3.5", SHORT_ARROW = "M1 0H7M4.4-2.6 7 0 4.4 2.6"; // alone, and among others
  function drawArrows(svg, state) {
    const [x, y] = middle(state);
    const group = element("g", { class: "on-path", transform: `translate(${x} ${y})` }, svg);
    const marks = available[state].map((action) => {
      const [down, right] = world.directions[state][action];
      if (!down && !right) {
        const name = element("text", { class: "name" }, group);
        name.textContent = world.actions[action];
        return name;
      }
      const turn = (Math.atan2(down, right) * 180) / Math.PI;
      return element("path", { class: "arrow", transform: `rotate(${turn})` }, group);
    });
    const dot = element("circle", { class: "dot", r: 1.6 }, group);
    return (frame) => {
      const values = ofState(frame.q, state), highest = best(values);
      const ways = values.filter((value) => value === highest).length;
      const isEqual = values.length > 1 && values.every((value) => value === highest);
      marks.forEach((mark, i) => {
        mark.style.display = !isEqual && values[i] === highest ? "" : "none";
        mark.setAttribute("d", ways === 1 ? ARROW : SHORT_ARROW);
      });
      dot.style.display = isEqual ? "" : "none";
    };
  }

  function drawPath(path, end, frame) {
    const points = frame.path.map(middle);
    if (frame.exit !== null) {
      const [x, y] = points[points.length - 1];
      const [down, right] = world.directions[frame.path[frame.path.length - 1]][frame.exit];
      points.push([x + 0.62 * right * UNIT, y + 0.62 * down * UNIT]); // to the edge: what lies there stays readable
    }
    path.setAttribute("points", polygon(points));
    end.style.display = points.length ? "" : "none";
    const [x, y] = points[points.length - 1] || [0, 0];
    end.setAttribute("cx", x);
    end.setAttribute("cy", y);
  }

  function stateUnder(svg, event) {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return stateAt.get([Math.floor(place.y / UNIT), Math.floor(place.x / UNIT)].join());
  }

  // The numbers of the chosen cell, an action a column.
  const ROWS = { visits: "visits", counts: "gen. counts", q: "Q" };
  function drawNumbers(section) {
    const table = section.querySelector("table");
    table.style.setProperty("--rows", actions + 2); // where the table is turned, on a phone
    const cells = (parent, tag, texts) => texts.map((text) => {
      const cell = document.createElement(tag);
      cell.textContent = text;
      parent.append(cell);
      return cell;
    });
    const head = table.tHead.insertRow();
    cells(head, "th", ["", ...world.actions, "cell"]).forEach((cell) => { cell.scope = "col"; });
    const rows = Object.keys(ROWS).map((kind) => {
      const row = table.tBodies[0].insertRow();
      row.dataset.kind = kind;
      cells(row, "th", [ROWS[kind]])[0].scope = "row";
      return [kind, cells(row, "td", Array(actions + 1).fill(""))];
    });
    return (frame, state) => {
      head.cells[0].textContent = placeOf(state);
      for (const [kind, tds] of rows) {
        const numbers = ofState(frame[kind], state);
        world.actions.forEach((_, action) => {
          const at = available[state].indexOf(action);
          tds[action].textContent = at < 0 ? "–" : written(numbers[at]);
          tds[action].classList.toggle("best", kind === "q" && numbers[at] === best(numbers));
        });
        tds[actions].textContent = written(summary[kind](numbers));
        tds[actions].className = "all";
      }
    };
  }

  function placeOf(state) {
    const [row, column] = world.cells[state];
    if (!world.distances) return `row ${row + 1}, col ${column + 1}`;
    const steps = world.distances[state];
    return `state ${state}, ${steps < 0 ? "not" : steps} ${steps === 1 ? "step" : "steps"} ${world.from}`.replace("not steps", "never");
  }

  // Legends.
  function drawLegends() {
    const scale = (label, kind, numbers, ticks) => {
      const box = document.createElement("div");
      box.className = "scale";
      box.innerHTML = `<span>${label}</span><div class="bar"></div><div class="ticks"></div>`;
      for (const number of numbers) {
        const swatch = document.createElement("i");
        swatch.className = kind === "q" ? "value" : "count";
        paint(swatch, kind, number);
        box.querySelector(".bar").append(swatch);
      }
      ticks.forEach(([number, at]) => {
        const tick = document.createElement("span");
        tick.textContent = written(number);
        tick.style.left = `${100 * at}%`;
        if (at > 0.97) tick.className = "last";
        box.querySelector(".ticks").append(tick);
      });
      byId("scales").append(box);
    };
    const steps = Array.from({ length: 40 }, (_, i) => i / 39);
    const isClear = (n) => onCounts(n) > 0.12 && onCounts(n) < 0.8 && (most < 1e4 || n !== 10 && n !== 1e3);
    const powers = [0, ...[1, 10, 100, 1e3, 1e4, 1e5, 1e6].filter(isClear)];
    scale("visits, counts", "counts", steps.map((t) => Math.expm1(t * Math.log1p(most))),
          [...powers, Math.round(most)].map((n) => [n, onCounts(n)]));
    const left = loss > 0 ? (gain > 0 ? 0.5 : 1) : 0;
    const value = (at) => (at < left ? -floor * ((left - at) / left) ** 2 : gain * ((at - left) / (1 - left || 1)) ** 2);
    const ends = [...(loss > 0 ? [[-floor, 0]] : []), [0, left], ...(gain > 0 ? [[gain, 1]] : [])];
    scale("Q", "q", steps.map(value), ends);
    const present = world.rows.join("");
    const looks = [["start", "start", "S"], ["goal", "goal", "G"], ["exit", "exit", "x"], ["fall", "fall", "#~"], ["wall", "wall", "█"]];
    for (const [look, word, characters] of looks) {
      if (![...characters].some((character) => present.includes(character))) continue;
      const item = document.createElement("span");
      item.innerHTML = `<i class="${look}"></i>${word}`;
      byId("key").append(item);
    }
  }

  // Curves of all agents over the episodes that are shown; their marks move with the slider, and pointing moves it.
  function drawCurve(title, measure) {
    const WIDTH = 300, HEIGHT = 72, lines = agents.map(measure);
    const low = Math.min(0, ...lines.flat()), highest = Math.max(...lines.flat());
    const high = highest > low ? highest : low + 1;
    const x = (frame) => (WIDTH * (frame - 1)) / Math.max(last - 1, 1);
    const y = (number) => HEIGHT * (1 - (number - low) / (high - low));
    const box = document.createElement("figure");
    box.className = "curve";
    box.innerHTML = `<figcaption>${title}</figcaption><div class="plot"><span>${written(high)}</span><span>${written(low)}</span></div>`;
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" }, box.lastChild);
    svg.setAttribute("aria-label", title);
    lines.forEach((line, i) => element("polyline", { class: `line agent-${i}`, points: polygon(line.map((n, at) => [x(at + 1), y(n)])) }, svg));
    const mark = element("line", { class: "now", y1: 0, y2: HEIGHT }, svg);
    // Rings and dots are lines without length, round at every aspect ratio.
    const point = (look, frame, i) => {
      const at = [x(frame), y(lines[i][frame - 1])].join(" ");
      return element("path", { class: `${look} agent-${i}`, d: `M${at}L${at}` }, svg);
    };
    data.reached.forEach((episode, i) => {
      const frame = data.episodes.findIndex((shownOne) => episode !== null && shownOne >= episode);
      if (frame < 1) return;
      point("ring", frame, i);
      point("hole", frame, i);
    });
    const dots = agents.map((_, i) => point("dot-now", 1, i));
    const move = (event) => {
      if (event.type === "pointermove" && !event.buttons) return;
      const { left, width } = svg.getBoundingClientRect();
      step(1 + Math.round((last - 1) * Math.min(Math.max((event.clientX - left) / width, 0), 1)) - index);
    };
    svg.addEventListener("pointerdown", move);
    svg.addEventListener("pointermove", move);
    byId("curves").append(box);
    return (frame) => {
      for (const shape of [mark, ...dots]) shape.style.display = frame ? "" : "none";
      if (!frame) return;
      mark.setAttribute("x1", x(frame));
      mark.setAttribute("x2", x(frame));
      dots.forEach((dot, i) => {
        const at = [x(frame), y(lines[i][frame - 1])].join(" ");
        dot.setAttribute("d", `M${at}L${at}`);
      });
    };
  }

  const TITLES = { policy: "Greedy policy", q: "Q", visits: "Visits", counts: "Generalized counts" };
  const sections = [...document.querySelectorAll(".agent")].map((section, i) => ({
    frames: agents[i],
    name: section.querySelector("h2").textContent,
    element: section,
    maps: [...section.querySelectorAll("figure")].map((figure) => [figure.dataset.map, drawMap(figure, figure.dataset.map)]),
    showNumbers: drawNumbers(section),
    facts: Object.fromEntries([...section.querySelectorAll("[data-fact]")].map((fact) => [fact.dataset.fact, fact])),
  }));

  let index = 0, chosen = world.start[0], timer = null;
  const last = data.episodes.length - 1;
  const seenIn = (frame) => shown.filter((state) => sum(ofState(frame.visits, state)) > 0).length;
  const seenWords = `${world.distances ? "states" : "cells"} seen`;
  const curves = [drawCurve(`return, mean of ${data.window} episodes`, (_, i) => data.returns[i]),
                  drawCurve(seenWords, (frames) => frames.slice(1).map(seenIn))];

  function show(next) {
    index = Math.min(Math.max(next, 0), last);
    const episode = data.episodes[index];
    const label = episode ? `episode ${episode} of ${data.episodes[last]}` : "before the first";
    byId("slider").value = index;
    byId("slider").setAttribute("aria-valuetext", label);
    byId("episode").textContent = label;
    for (const curve of curves) curve(index);
    for (const { frames, name, maps, showNumbers, facts } of sections) {
      const frame = frames[index];
      for (const [kind, map] of maps) map.show(frame, `${TITLES[kind]} of ${name}, ${label}`);
      facts.steps.textContent = frame.steps.toLocaleString("en");
      facts.seen.textContent = `${seenIn(frame)} of ${shown.length}`;
      facts.length.textContent = episode ? `${frame.path.length} step${frame.path.length === 1 ? "" : "s"}` : "–";
      facts.return.textContent = episode ? written(frame.return) : "–";
      showNumbers(frame, chosen);
    }
  }

  function choose(state) {
    if (state === undefined) return;
    chosen = state;
    for (const { frames, maps, showNumbers } of sections) {
      for (const [, map] of maps) map.choose(state);
      showNumbers(frames[index], state);
    }
  }

  // From the chosen cell on in one direction, over walls, to the next cell that is a state.
  function walk(down, right, section) {
    let [row, column] = world.cells[chosen];
    do { row += down; column += right; } while (row in world.rows && column in [...world.rows[row]] && !stateAt.has([row, column].join()));
    choose(stateAt.get([row, column].join()));
    const frame = section.frames[index];
    const facts = Object.keys(ROWS).map((kind) => `${ROWS[kind]} ${written(summary[kind](ofState(frame[kind], chosen)))}`);
    byId("said").textContent = `${placeOf(chosen)}: ${facts.join(", ")}`;
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    document.body.classList.remove("playing");
    byId("play").setAttribute("aria-label", "Play");
  }

  function play() {
    if (index === last) show(0);
    document.body.classList.add("playing");
    byId("play").setAttribute("aria-label", "Pause");
    clearInterval(timer);
    timer = setInterval(() => { show(index + 1); if (index === last) pause(); }, 1000 / Number(byId("speed").value));
  }

  const toggle = () => (timer ? pause() : play());
  const step = (by) => { pause(); show(index + by); };
  const KEYS = { " ": toggle, ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => step(-last), End: () => step(last) };
  const WALKS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const section = sections.find(({ element }) => element.querySelector(".maps") === event.target);
    if (section && WALKS[event.key]) walk(...WALKS[event.key], section);
    else if (section && event.key === "Escape") byId("slider").focus();
    else if (event.target.matches("select") || (event.key === " " && event.target.matches("button, input[type=checkbox]"))) return;
    else if (KEYS[event.key]) KEYS[event.key]();
    else return;
    event.preventDefault();
  });
  byId("play").addEventListener("click", toggle);
  byId("back").addEventListener("click", () => step(-1));
  byId("forward").addEventListener("click", () => step(1));
  byId("slider").addEventListener("input", () => { pause(); show(Number(byId("slider").value)); });
  byId("speed").addEventListener("change", () => { if (timer) play(); });
  byId("by-action").addEventListener("change", (event) => document.body.classList.toggle("by-action", event.target.checked));
  byId("show-path").addEventListener("change", (event) => document.body.classList.toggle("without-path", !event.target.checked));

  byId("slider").max = last;
  document.body.classList.toggle("wide", world.rows[0].length > 2 * world.rows.length);
  drawLegends();
  choose(chosen);
  show(1); // before the first there is nothing to see
})();
