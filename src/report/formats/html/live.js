"use strict";
// What somebody has opened stays open, and what somebody types is never taken away.
(() => {
  const root = document.documentElement;
  const PAUSE = 1000;
  let busy = false, again = false;
  const isTyped = () => [...document.querySelectorAll("textarea, input[type=text]")].some((field) => field.value !== field.defaultValue);
  const opened = () => [...document.querySelectorAll("details")].map((details) => details.open);
  async function refresh() {
    if (busy) { again = true; return; }
    if (isTyped()) { document.querySelector("#stale")?.removeAttribute("hidden"); return; }
    busy = true;
    try {
      const answer = await fetch(location.href);
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const before = opened(), focus = document.activeElement?.id;
      for (const part of ["header", "main"]) document.querySelector(part)?.replaceWith(fresh.querySelector(part));
      const after = [...document.querySelectorAll("details")];
      if (after.length === before.length) after.forEach((details, at) => { details.open = before[at]; });
      if (focus) document.getElementById(focus)?.focus();
      document.title = fresh.title;
      root.dataset.event = fresh.documentElement.dataset.event;
    } finally {
      setTimeout(() => { busy = false; if (again) { again = false; refresh(); } }, PAUSE);
    }
  }
  new EventSource(root.dataset.events).onmessage = (message) => { if (message.data !== root.dataset.event) refresh(); };
})();
