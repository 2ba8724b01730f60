"use strict";
(() => {
  const $ = (s, of = document) => of.querySelector(s), $$ = (s, of = document) => [...of.querySelectorAll(s)];
  const tip = $("#tip"), said = $("#said");

  // say shows a short message, also to screen readers.
  let quiet;
  const say = (text) => {
    said.textContent = text;
    clearTimeout(quiet);
    quiet = setTimeout(() => { said.textContent = ""; }, 4000);
  };

  // The reports: JSON, in which the byte 1 replaces a histogram; a byte 0; the counts of the histograms.
  const bytesOf = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
  const join = (parts) => {
    const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
    parts.reduce((at, p) => { all.set(p, at); return at + p.length; }, 0);
    return all;
  };
  const base64Of = (bytes) => {
    let text = "";
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return btoa(text);
  };
  // encoded is a histogram in the V2 compressed encoding: 1 ns to 1 h, three digits.
  const encoded = async (counts) => {
    const head = new DataView(new ArrayBuffer(40));
    [[0, 0x1c849313], [4, counts.length], [12, 3]].forEach(([at, v]) => head.setUint32(at, v));
    head.setBigUint64(16, 1n);
    head.setBigUint64(24, 3600000000000n);
    head.setFloat64(32, 1);
    const packed = await through(join([new Uint8Array(head.buffer), counts]), new CompressionStream("deflate"));
    const front = new DataView(new ArrayBuffer(8));
    front.setUint32(0, 0x1c849314);
    front.setUint32(4, packed.length);
    return base64Of(join([new Uint8Array(front.buffer), packed]));
  };
  const reports = async () => {
    const all = await through(bytesOf($("#takt-reports").textContent), new DecompressionStream("gzip"));
    const end = all.indexOf(0), text = all.subarray(0, end), parts = [];
    let at = end + 1, from = 0;
    for (let next; (next = text.indexOf(1, from)) >= 0; from = next + 1) {
      let length = 0;
      for (let shift = 1, c = 128; c & 128; shift *= 128) { c = all[at++]; length += (c & 127) * shift; }
      parts.push(text.subarray(from, next), new TextEncoder().encode('"' + await encoded(all.subarray(at, at + length)) + '"'));
      at += length;
    }
    return new TextDecoder().decode(join([...parts, text.subarray(from)]));
  };

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.body.appendChild(document.createElement("textarea"));
      area.value = text;
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      if (!done) throw new Error("the browser does not permit it");
    }
  };
  const source = async (what) => what === "json" && !$("#json") ? reports() : $("#" + what).textContent;
  $$("[data-copy]").forEach((button) => button.addEventListener("click", async () => {
    try {
      const text = await source(button.dataset.copy);
      await copy(text);
      say("Copied " + text.length.toLocaleString("en").replaceAll(",", " ") + " characters.");
    } catch (fault) { say("Not copied: " + fault.message); }
  }));
  $$(".actions").forEach((a) => { a.hidden = false; });

  // The heat map on a canvas. The levels are in the picture, as its opacity: 255 × the logarithm of
  // 1 + a cell's count, as a part of the largest cell's.
  const heat = async (box) => {
    const low = Number(box.dataset.low), high = Number(box.dataset.high), most = Number(box.dataset.most), edges = box.dataset.edges.split(" ").map(Number), end = edges.at(-1);
    const canvas = document.createElement("canvas"), picture = $("img", box);
    await picture.decode();
    const width = canvas.width = picture.naturalWidth, rows = canvas.height = picture.naturalHeight;
    canvas.setAttribute("aria-hidden", "true");
    const paint = canvas.getContext("2d", { willReadFrequently: true });
    paint.drawImage(picture, 0, 0);
    const image = paint.getImageData(0, 0, width, rows), level = (x, y) => image.data[4 * ((rows - 1 - y) * width + x) + 3];
    const draw = () => {
      const colour = matchMedia("(prefers-color-scheme: dark)").matches ? [63, 193, 191] : [8, 112, 114];
      for (let i = 0; i < image.data.length; i += 4) image.data.set(colour, i);
      paint.putImageData(image, 0, 0);
    };
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    picture.after(canvas);
    picture.hidden = true;
    const time = (us) => { const [v, unit] = us >= 1e6 ? [us / 1e6, "s"] : us >= 1e3 ? [us / 1e3, "ms"] : [us, "µs"]; return Number(v.toPrecision(3)) + unit; };
    canvas.addEventListener("pointermove", (e) => {
      const at = canvas.getBoundingClientRect();
      const x = Math.min(width - 1, Math.max(0, Math.floor((e.clientX - at.left) / at.width * width)));
      const until = edges.findIndex((t, i) => t / end >= (x + 0.5) / width || i === edges.length - 1);
      const y = Math.min(rows - 1, Math.max(0, Math.floor((at.bottom - e.clientY) / at.height * rows)));
      const edge = (i) => low * (high / low) ** (i / rows), count = Number(Math.expm1(level(x, y) / 255 * Math.log1p(most)).toPrecision(2));
      show(e, [["time", Number((edges[until - 1] ?? 0).toPrecision(4)) + "s to " + Number(edges[until].toPrecision(4)) + "s"], ["latency", time(edge(y)) + " to " + time(edge(y + 1))], ["operations", count === 0 ? "none" : "≈ " + Math.max(1, Math.round(count))]]);
    });
    canvas.addEventListener("pointerleave", hide);
  };

  const show = (e, rows) => {
    tip.replaceChildren(document.createElement("table"));
    rows.forEach(([name, value]) => {
      const row = tip.firstChild.insertRow(), head = document.createElement("th");
      head.textContent = name;
      row.append(head);
      row.insertCell().textContent = value;
    });
    tip.hidden = false;
    const x = e.clientX + 16, y = e.clientY + 16;
    tip.style.left = Math.max(4, x + tip.offsetWidth > innerWidth - 8 ? e.clientX - tip.offsetWidth - 16 : x) + "px";
    tip.style.top = Math.max(4, y + tip.offsetHeight > innerHeight - 8 ? innerHeight - tip.offsetHeight - 8 : y) + "px";
  };
  const hide = () => { tip.hidden = true; $$(".cross").forEach((c) => c.remove()); };

  // Beside the pointer is the row of the table behind the chart.
  const secondsOf = (text) => [...text.matchAll(/([\d.]+)(h|ms|m|s)/g)].reduce((sum, [, n, unit]) => sum + n * { h: 3600, m: 60, s: 1, ms: 0.001 }[unit], 0);
  const rowsOf = (id) => $$("#" + id + " tbody tr").map((row) => ({ row, end: secondsOf(row.cells[0].textContent) }));
  const pointed = (plot) => {
    const rows = rowsOf(plot.dataset.table), heads = $$("#" + plot.dataset.table + " thead th").map((c) => c.textContent.trim());
    plot.addEventListener("pointermove", (e) => {
      const at = plot.getBoundingClientRect(), part = (e.clientX - at.left) / at.width;
      if (part < 0 || part > 1 || rows.length === 0) return hide();
      const end = rows[rows.length - 1].end, one = rows.find((r) => r.end >= part * end) ?? rows[rows.length - 1];
      hide();
      $$("[data-table]").forEach((other) => {
        const line = other.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "line"));
        Object.entries({ class: "cross", x1: part * 100 + "%", x2: part * 100 + "%", y1: 0, y2: other.getAttribute("height") }).forEach(([k, v]) => line.setAttribute(k, v));
      });
      show(e, heads.map((h, i) => [h, one.row.cells[i].textContent.trim()]));
    });
    plot.addEventListener("pointerleave", hide);
  };

  // Save a chart as PNG: the SVG with its computed styles, on the page's background.
  const kept = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "font-size", "font-family", "font-weight", "vector-effect", "display"];
  const png = async (plot) => {
    const at = plot.getBoundingClientRect(), clone = plot.cloneNode(true), all = [plot, ...$$("*", plot)], copies = [clone, ...$$("*", clone)];
    all.forEach((e, i) => { const s = getComputedStyle(e); kept.forEach((k) => copies[i].setAttribute(k, s.getPropertyValue(k))); });
    const width = at.width + 80, height = at.height + 80, image = new Image(), canvas = document.createElement("canvas");
    clone.setAttribute("x", 64);
    clone.setAttribute("y", 44);
    clone.setAttribute("width", at.width);
    clone.setAttribute("height", at.height);
    clone.setAttribute("overflow", "visible");
    const outer = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    outer.setAttribute("width", width);
    outer.setAttribute("height", height);
    outer.append(clone);
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(outer));
    await image.decode();
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    const paint = canvas.getContext("2d");
    paint.scale(2, 2);
    paint.fillStyle = getComputedStyle(document.body).backgroundColor;
    paint.fillRect(0, 0, width, height);
    const cells = $("canvas", plot.parentElement);
    if (cells) { paint.imageSmoothingEnabled = false; paint.drawImage(cells, 64, 44, at.width, at.height); }
    paint.drawImage(image, 0, 0);
    return canvas.toDataURL("image/png");
  };
  const saved = (chart) => {
    const button = chart.appendChild(document.createElement("button"));
    button.type = "button";
    button.className = "save";
    button.textContent = "Save as PNG";
    button.addEventListener("click", async () => {
      try {
        const link = document.createElement("a");
        link.href = await png($$("svg.plot", chart).find((p) => p.getBoundingClientRect().width > 0));
        link.download = "takt-" + (chart.closest("section")?.id ?? "chart") + ".png";
        link.click();
      } catch (fault) { say("Not saved: " + (fault.message || "the browser cannot draw it")); }
    });
  };

  // A click on a heading sorts the table of shards by its column, the largest first; again: the smallest.
  const seconds = { ns: 1e-9, µs: 1e-6, ms: 1e-3, m: 60, h: 3600 };
  const sizeOf = (text) => [...text.matchAll(/([\d.]+)\s*(ns|µs|ms|m|h)?/g)].reduce((sum, [, n, unit]) => sum + n * (seconds[unit] ?? 1), 0);
  const sorted = (head, column) => {
    const figures = head.classList.contains("n"), cell = (row) => row.children[column].textContent;
    const order = figures ? (a, b) => sizeOf(cell(b)) - sizeOf(cell(a)) : (a, b) => cell(a).localeCompare(cell(b), "en", { numeric: true });
    const sort = () => {
      const again = head.ariaSort ? -1 : 1, body = $("#shard-table tbody");
      $$("#shard-table thead th").forEach((other) => { other.ariaSort = null; });
      head.ariaSort = again > 0 ? (figures ? "descending" : "ascending") : null;
      body.append(...[...body.children].sort((a, b) => again * order(a, b)));
    };
    head.tabIndex = 0;
    head.title = "sort by " + head.textContent;
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (e) => { if (e.key === "Enter") sort(); });
  };

  const enliven = () => {
    $$("#shard-table thead th").forEach(sorted);
    $$("[data-table]").forEach(pointed);
    $$(".chart").forEach(saved);
    $$(".heat").forEach(heat);
  };
  enliven();

  // The page of a run that goes on asks for itself every two seconds, and replaces what has changed.
  // It waits while somebody points at a chart, and leaves open what is open.
  const main = $("#main"), pause = $("[data-pause]");
  let paused = false;
  pause?.addEventListener("click", () => {
    paused = !paused;
    pause.ariaPressed = String(paused);
    pause.textContent = paused ? "Continue" : "Pause";
  });
  const replace = (text) => {
    const next = new DOMParser().parseFromString(text, "text/html");
    if (!$("#main", next)) return;
    const open = $$("details", main).map((d) => d.open), chosen = $$("input:checked", main).map((i) => i.id), focused = main.contains(document.activeElement) ? document.activeElement.id : "";
    document.title = next.title;
    [".subtitle", "h1", "#markdown"].forEach((s) => { if ($(s) && $(s, next)) $(s).textContent = $(s, next).textContent; });
    main.replaceChildren(...[...$("#main", next).childNodes].map((n) => document.adoptNode(n)));
    $$("details", main).forEach((d, i) => { d.open = open[i] ?? d.open; });
    chosen.forEach((id) => { const input = document.getElementById(id); if (input) input.checked = true; });
    enliven();
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };
  const again = async () => {
    const from = performance.now();
    try {
      if (!paused && !document.hidden && tip.hidden && !$(".save:focus, summary:focus, .scroll:focus", main)) {
        const answer = await fetch(location.href, { cache: "no-store" });
        if (answer.redirected && answer.ok) return location.replace(answer.url); // the run has ended, and the store has it
        replace(await answer.text());
      }
    } catch { say("The server does not answer."); }
    setTimeout(again, Math.max(2000, 10 * (performance.now() - from)));
  };
  if (document.body.dataset.refresh) setTimeout(again, 2000);
})();
