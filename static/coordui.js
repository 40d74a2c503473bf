/* Beyond htmx: a clock that ticks by the server's time, the wire with its fallback, and the small comforts of the form. */
(() => {
  "use strict";
  const LOOK = 4000, LATE = 10;
  const all = (what, root = document) => root.querySelectorAll(what);
  const pulse = () => document.getElementById("pulse");
  let ahead = 0; // seconds the server's clock is before ours
  let open = false, looking = false, good = false, told = ""; // good: the last poll's answer
  let pressed = null, presses = 0, missed = false; // pressed: where a pointer is down; missed: a piece that came while it was in use

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
  const asked = () => { // what the page's own address chooses, which may have changed since it was loaded
    const all = new URLSearchParams(location.search);
    all.set("seen", seen());
    return all.toString();
  };
  const asking = (path) => `${path.split("?")[0]}?${asked()}`;
  htmx.config.wsReconnectDelay = (tries) => 500 + Math.random() * 2000 * Math.min(tries + 1, 3);
  let wire = null, chosen = ""; // chosen: the address' query, once something was chosen in the page
  htmx.createWebSocket = (path) => wire = new WebSocket(asking(path));
  document.addEventListener("htmx:wsOpen", () => { open = true; });
  document.addEventListener("htmx:replacedInHistory", () => {
    chosen = location.search;
    tell();
  });
  document.addEventListener("htmx:wsClose", () => { open = false; });
  document.addEventListener("htmx:wsAfterMessage", heard);
  document.addEventListener("htmx:afterSettle", heard);
  function tell() { // what the page shows now, and has: the other pieces come
    if (!open) return;
    missed = false;
    wire.send(asked());
  }
  const own = pulse() && pulse().dataset.poll; // of a search that has ended since the pulse names another
  async function look() {
    const beat = pulse(), path = missed ? own : beat && beat.dataset.poll;
    if (open || looking || document.hidden || !path) return;
    const again = missed;
    looking = true;
    missed = false;
    try {
      await htmx.ajax("GET", asking(path), { source: document.body, swap: "none" });
    } catch { /* the next look is four seconds away, and the page says how old it is */ }
    missed = missed || again && !good; // an error page brought nothing
    looking = false;
  }
  document.addEventListener("visibilitychange", look);

  /* The query whose hits are shown is in sight, however long the list of queries */
  function showCurrent() {
    const row = document.querySelector(".queries .current"), list = row && row.closest(".scroll");
    if (list) list.scrollTop = row.offsetTop - list.clientHeight / 2;
  }

  /* A piece is not replaced under a finger, nor before the answer to a click in it: it comes right afterwards */
  const inUse = (piece) => piece.dataset.mark && (piece.contains(pressed) || piece.querySelector(".htmx-request"));
  const caughtUp = () => { if (missed && !pressed) { tell(); look(); } };
  const release = (after) => { const held = presses; setTimeout(() => { if (presses === held) pressed = null; caughtUp(); }, after); };
  document.addEventListener("pointerdown", (event) => { if (event.button === 0) { pressed = event.target; presses++; } }, true);
  document.addEventListener("click", () => release(0), true);
  for (const end of ["pointerup", "pointercancel", "contextmenu", "dragend"]) document.addEventListener(end, () => release(400), true); // on touch the click is later
  addEventListener("blur", () => release(400)); // the window's: let go elsewhere
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.target === document.body) good = event.detail.successful; else caughtUp();
  });

  /* A swap keeps the focus where it was, and what somebody opened stays open */
  let focused = ""; // what finds it again
  const finds = (element) => element.id ? `#${CSS.escape(element.id)}` : element.matches("a[href]") ? `a[href="${CSS.escape(element.getAttribute("href"))}"]` : "";
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const old = event.detail.target, fresh = event.detail.fragment;
    if (inUse(old)) {
      missed = true;
      return event.preventDefault();
    }
    const others = chosen && old.id === "results" && fresh.querySelector && fresh.querySelector("[data-chosen]");
    if (others && others.dataset.chosen !== chosen) return event.preventDefault(); // on its way before the choice
    focused = old.contains(document.activeElement) ? finds(document.activeElement) : "";
    if (old.tagName === "DETAILS" && fresh) {
      const next = fresh.querySelector ? fresh.querySelector("details#" + old.id) || fresh.firstElementChild : null;
      if (next && next.id === old.id) next.open = old.open;
    }
    const list = old.querySelector(".scroll"), at = list ? list.scrollTop : 0;
    if (list || old.id === "results") setTimeout(() => {
      const fresh = document.querySelector(`#${old.id} .scroll`);
      if (at && fresh) fresh.scrollTop = at; else if (old.id === "results") showCurrent();
    }, 0);
  });
  document.addEventListener("htmx:oobAfterSwap", () => { // at once: a moment later it may be somebody's elsewhere
    const again = focused && document.querySelector(focused);
    focused = "";
    if (again) again.focus({ preventScroll: true });
  });

  /* What was typed outlives a sign-in, a reload and the way back: in this tab, for the same user */
  const KEPT = "coordui-draft";
  function kept() {
    try { return JSON.parse(sessionStorage.getItem(KEPT)); } catch { return null; }
  }
  function keep(draft) {
    try {
      sessionStorage.removeItem(KEPT); // an older one must not come back when this one is too long to be kept
      if (draft) sessionStorage.setItem(KEPT, JSON.stringify(draft));
    } catch { /* too long, or storage is off: then it lives in the page alone */ }
  }
  const from = document.referrer && new URL(document.referrer);
  if (from && from.host === location.host && from.pathname === "/" && /^\/searches\/[a-z0-9]+\/$/.test(location.pathname)) {
    const draft = kept(); // sent from the form to the search's own page: it was received
    if (draft && draft.sent) keep({ ...draft, done: true });
  }
  for (const out of all("form.out")) out.addEventListener("submit", () => keep(null));

  /* The form */
  const form = document.getElementById("search-form");
  if (form) {
    const box = form.elements.query, file = form.elements.file, name = document.getElementById("file-name");
    const drop = document.getElementById("drop"), limit = Number(form.dataset.limit);
    const key = form.elements.form_key, first = key.value, restored = document.getElementById("restored");
    const again = () => document.body.dispatchEvent(new Event("look"));
    const fields = () => [...form.elements].filter((e) => e.name && e.type !== "hidden" && e.type !== "file");
    let saving = 0, sent = false; // sent: this key may have made a search already
    const save = (sent = false) => {
      clearTimeout(saving);
      saving = 0;
      const values = Object.fromEntries(fields().map((e) => [e.name, e.value]));
      keep(box.value ? { user: form.dataset.user, key: key.value, values, sent } : null);
    };
    const restore = () => {
      const draft = kept(), [way] = performance.getEntriesByType("navigation");
      const back = Boolean(way) && way.type === "back_forward";
      if (!draft) return;
      if (draft.user !== form.dataset.user || draft.done && !back) return keep(null);
      if (box.value || document.querySelector("[aria-invalid]")) return;
      for (const field of fields()) if (field.name in draft.values) field.value = draft.values[field.name];
      if (!draft.done) { key.value = draft.key; sent = draft.sent; } // sent but not known to be received: sent again it is the same search
      const options = form.querySelector(".options");
      if (fields().some((field) => options.contains(field) && field.value)) options.open = true;
      restored.hidden = false;
      setTimeout(again, 0);
    };
    form.addEventListener("input", () => {
      if (!sent) return; // what was sent and is changed now is a search of its own
      key.value = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
      sent = false;
    });
    form.addEventListener("input", () => { clearTimeout(saving); saving = setTimeout(save, 300); });
    form.addEventListener("change", () => save());
    addEventListener("pagehide", () => { if (saving) save(); });
    document.getElementById("forget").addEventListener("click", () => {
      keep(null);
      form.reset();
      key.value = first;
      restored.hidden = true;
      box.focus();
      again();
    });
    const example = document.getElementById("use-example");
    if (example) example.addEventListener("click", (event) => {
      const untouched = location.search.includes("example") && box.value === box.defaultValue;
      if (box.value.trim() && !untouched && !confirm("Put the example in place of what is in the box?")) event.preventDefault();
    });
    restore();
    const take = async (chosen) => {
      if (!chosen) return;
      if (chosen.size > limit) {
        put(name, `“${chosen.name}” has ${chosen.size.toLocaleString("en")} bytes; one search may bring ${limit.toLocaleString("en")}.`);
        file.value = "";
      } else if (chosen.size <= 1000000) {
        let text = "";
        try { text = new TextDecoder("utf-8", { fatal: true }).decode(await chosen.arrayBuffer()); } catch { /* no text */ }
        if (text && !text.includes("\0")) {
          box.value = text;
          put(name, `${chosen.name} is in the box`);
          file.value = "";
          save();
        } else put(name, `${chosen.name} is sent as it is, ${chosen.size.toLocaleString("en")} bytes`);
      } else put(name, `${chosen.name}, ${chosen.size.toLocaleString("en")} bytes`);
      again();
    };
    file.addEventListener("change", () => take(file.files[0]));
    document.addEventListener("htmx:configRequest", (event) => { // what is beside the form is of a file's beginning
      const data = event.detail.formData, whole = data.get("file"), most = Number(form.dataset.lookedAt) + 1;
      if (whole && whole.size > most) data.set("file", whole.slice(0, most), whole.name);
    });
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
      if (form.dataset.sent) return event.preventDefault();
      form.dataset.sent = "yes";
      sent = true;
      save(true);
      document.getElementById("send").disabled = true;
    });
    addEventListener("pageshow", () => { delete form.dataset.sent; document.getElementById("send").disabled = false; });
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

  showCurrent();
  heard();
  setInterval(tick, 1000);
  setInterval(look, LOOK);
})();
