// Every page works without this file; it only makes some things quicker.
const form = (id) => document.getElementById(id);

// "/" puts the cursor into the search box.
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, select, textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    form("find")?.focus();
  }
});

// Dragging over the bars of a search sets its two dates.
for (const area of document.querySelectorAll("[data-brush]")) {
  const target = form(area.dataset.brush);
  const picture = area.querySelector("svg");
  if (!target || !picture) continue;
  const bars = [...picture.querySelectorAll("rect")].map((bar) => ({
    bar,
    day: (bar.querySelector("title")?.textContent ?? "").slice(0, 10),
  }));
  const near = (x) => {
    let best = null;
    let least = Infinity;
    for (const one of bars) {
      const box = one.bar.getBoundingClientRect();
      const away = Math.abs((box.left + box.right) / 2 - x);
      if (away < least) [best, least] = [one, away];
    }
    return best;
  };
  let from = null;
  const chosen = (x) => [from.day, near(x).day].sort();
  picture.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    from = near(event.clientX);
  });
  picture.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [first, last] = chosen(event.clientX);
    for (const one of bars) one.bar.classList.toggle("chosen", one.day >= first && one.day <= last);
  });
  addEventListener("pointerup", (event) => {
    if (!from) return;
    const [first, last] = chosen(event.clientX);
    from = null;
    target.elements.since.value = first;
    target.elements.until.value = last;
    target.requestSubmit();
  });
}

// A change is sent once, however often its button is pressed.
for (const change of document.querySelectorAll('form[method="post"]')) {
  change.addEventListener("submit", () => {
    for (const button of change.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    if (change.dataset.sent) return;
    change.dataset.sent = "1";
    setTimeout(() => delete change.dataset.sent, 5000);
  });
}

// Parameters that say nothing are left out of addresses.
for (const filter of document.querySelectorAll("form.filter")) {
  filter.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData.entries()]) {
      if (value === "" && event.formData.getAll(name).length === 1) event.formData.delete(name);
    }
  });
}
