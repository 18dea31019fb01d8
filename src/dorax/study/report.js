"use strict";
(() => {
  // The contents are always open beside the text, and closed above it on narrow screens.
  const contents = document.getElementById("contents");
  const isWide = matchMedia("(min-width: 64.01rem)");
  const fold = () => { contents.open = isWide.matches; };
  isWide.addEventListener("change", fold);
  fold();
  contents.addEventListener("click", (event) => { if (event.target.matches("a")) fold(); });
  contents.addEventListener("keydown", (event) => { if (event.key === "Escape") { fold(); contents.querySelector("summary").focus(); } });

  // A link to a folded experiment unfolds it.
  function unfold() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.querySelector(":scope > details");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) unfold(); // the address does not change
  });
  unfold();

  // The part that is read is marked in the contents.
  const links = new Map([...contents.querySelectorAll("a")].map((link) => [document.getElementById(link.hash.slice(1)), link]));
  const parts = [...links.keys()].sort((a, b) => a.compareDocumentPosition(b) & 4 ? -1 : 1);
  function mark() {
    const current = parts.filter((part) => part.getBoundingClientRect().top < innerHeight / 3).pop() || parts[0];
    for (const [part, link] of links) {
      if (part !== current) link.removeAttribute("aria-current");
      else if (!link.hasAttribute("aria-current")) {
        link.setAttribute("aria-current", "true");
        if (isWide.matches) link.scrollIntoView({ block: "nearest" });
      }
    }
  }
  addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
  mark();
})();
