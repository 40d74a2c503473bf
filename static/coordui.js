/* Beyond htmx: a clock that ticks by the server's time, the wire with its fallback, and the small comforts of the form. */
(() => {
  "use strict";
  const LOOK = 4000, LATE = 10;
  const all = (what, root = document) => root.querySelectorAll(what);
  const pulse = () => document.getElementById("pulse");
  let ahead = 0; // seconds the server's clock is before ours
  let open = false, looking = false, told = "";

  /* Time */
  const now = () => Date.now() / 1000 + ahead;
  const two = (number) => String(number).padStart(2, "0");
  function duration(s) {
    if (s < 60) return `${s} s`;
    const m = Math.floor(s / 60), h = Math.floor(m / 60);
    if (h >= 24) return `${Math.floor(h / 24)} d ${h % 24} h`;
    return h ? `${h}:${two(m % 60)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
  }
  function ago(s) {
    if (s < 5) return "just now";
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) if (s >= size) return `${Math.floor(s / size)} ${unit} ago`;
    return `${s} s ago`;
  }
  const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };
  const since = (element, name) => Math.max(0, Math.floor(now() - Date.parse(element.dataset[name]) / 1000));
  function tick() {
    for (const element of all("[data-since]")) put(element, duration(since(element, "since")));
    for (const element of all("[data-ago]")) put(element, ago(since(element, "ago")));
    const beat = pulse();
    if (!beat) return;
    const age = beat.dataset.stamp ? Math.max(0, Math.floor(now() - Number(beat.dataset.stamp))) : null;
    document.body.classList.toggle("late", age === null || age > LATE);
    if (age !== null) for (const element of all("[data-asof]")) put(element, `as of ${age < 100 ? age + " s ago" : ago(age)}`);
  }
  function heard() {
    const beat = pulse();
    if (!beat) return;
    if (beat.dataset.now) { ahead = Number(beat.dataset.now) - Date.now() / 1000; delete beat.dataset.now; beat.classList.remove("late"); }
    const tab = beat.dataset.tab;
    if (tab && tab !== told) {
      document.title = tab;
      if (told) put(document.getElementById("announce"), tab);
      told = tab;
    }
    tick();
  }

  /* The wire, and asking every few seconds while there is none */
  const seen = () => [...all("[data-mark]")].map((e) => `${e.id}:${e.dataset.mark}`).join(",");
  const asking = (path) => path + (path.includes("?") ? "&" : "?") + "seen=" + encodeURIComponent(seen());
  htmx.config.wsReconnectDelay = (tries) => 500 + Math.random() * 2000 * Math.min(tries + 1, 3);
  htmx.createWebSocket = (path) => new WebSocket(asking(path));
  document.addEventListener("htmx:wsOpen", () => { open = true; });
  document.addEventListener("htmx:wsClose", () => { open = false; });
  document.addEventListener("htmx:wsAfterMessage", heard);
  document.addEventListener("htmx:afterSettle", heard);
  async function look() {
    const beat = pulse();
    if (open || looking || document.hidden || !beat || !beat.dataset.poll) return;
    looking = true;
    try {
      await htmx.ajax("GET", asking(beat.dataset.poll), { source: document.body, swap: "none" });
    } catch { /* the next look is four seconds away, and the page says how old it is */ }
    looking = false;
  }
  document.addEventListener("visibilitychange", look);

  /* A swap keeps the focus where it was, and what somebody opened stays open */
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const old = event.detail.target, fresh = event.detail.fragment;
    const held = old && old.contains(document.activeElement) ? document.activeElement.id : "";
    if (old && old.tagName === "DETAILS" && fresh) {
      const next = fresh.querySelector ? fresh.querySelector("details#" + old.id) || fresh.firstElementChild : null;
      if (next && next.id === old.id) next.open = old.open;
    }
    if (held) setTimeout(() => { const again = document.getElementById(held); if (again) again.focus({ preventScroll: true }); }, 0);
  });

  /* The form */
  const form = document.getElementById("search-form");
  if (form) {
    const box = form.elements.query, file = form.elements.file, name = document.getElementById("file-name");
    const drop = document.getElementById("drop"), limit = Number(form.dataset.limit);
    const again = () => document.body.dispatchEvent(new Event("look"));
    const take = async (chosen) => {
      if (!chosen) return;
      if (chosen.size > limit) {
        put(name, `“${chosen.name}” has ${chosen.size.toLocaleString("en")} bytes; one search may bring ${limit.toLocaleString("en")}.`);
        file.value = "";
      } else if (chosen.size <= 1000000) {
        box.value = await chosen.text();
        put(name, `${chosen.name} is in the box`);
        file.value = "";
      } else put(name, `${chosen.name}, ${chosen.size.toLocaleString("en")} bytes`);
      again();
    };
    file.addEventListener("change", () => take(file.files[0]));
    for (const kind of ["dragover", "dragleave", "drop"]) drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind !== "drop" || !event.dataTransfer.files.length) return;
      file.files = event.dataTransfer.files;
      take(file.files[0]);
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
      document.getElementById("send").disabled = true;
    });
    addEventListener("pageshow", () => { delete form.dataset.sent; document.getElementById("send").disabled = false; });
    const wrong = form.querySelector("[aria-invalid]");
    if (wrong) wrong.focus();
  }

  /* A hit's alignments close by the same link that opened them */
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[aria-controls]");
    const place = link && document.getElementById(link.getAttribute("aria-controls"));
    if (!place) return;
    const opened = place.childElementCount > 0;
    link.setAttribute("aria-expanded", String(!opened));
    if (opened) {
      place.replaceChildren();
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, true);

  /* Copying */
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    const text = button.textContent;
    put(button, "copied");
    setTimeout(() => put(button, text), 1200);
  });

  heard();
  setInterval(tick, 1000);
  setInterval(look, LOOK);
})();
