// The page works without this script; with it columns can be searched, the forecast follows the sliders, and a fit
// reports how far it is. It holds no logic of the fits: the server makes every sentence.
"use strict";
const $ = (selector) => document.querySelector(selector);

function focusError() {
  const error = $("#error");
  if (error) error.focus();
}

function foldOnPhones() {
  const chosen = $("aside details");
  if (chosen && matchMedia("(max-width: 63.9rem)").matches) chosen.open = false;
}

function tips() {
  // Escape hides a hover until the pointer or the focus moves on.
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.body.classList.add("quiet-tips");
  });
  for (const name of ["pointermove", "focusin"]) {
    addEventListener(name, () => document.body.classList.remove("quiet-tips"));
  }
  for (const term of document.querySelectorAll(".term")) {
    const place = () => term.classList.toggle("left", term.getBoundingClientRect().left > innerWidth / 2);
    term.addEventListener("pointerenter", place);
    term.addEventListener("focus", place);
  }
}

function columns() {
  const rows = $("#rows");
  if (!rows) return;
  const all = [...rows.rows], count = $("#count"), search = $("#search");
  const tell = () => {
    const ticked = all.filter((row) => row.querySelector("[type=checkbox]").checked).length;
    const seen = all.filter((row) => !row.hidden).length;
    count.textContent = `${ticked} of ${all.length} columns are ticked; ${seen} are shown.`;
  };
  const hints = new Map();
  const hint = (row) => {
    const select = row.querySelector("select"), value = row.querySelector("td:last-child input");
    value.hidden = select.value === "learn";
    value.placeholder = hints.get(select.value) || "";
  };
  const examples = { range: "20 to 80", center: "50, 15", share: "0.2", categories: "north, south" };
  for (const [key, text] of Object.entries(examples)) hints.set(key, text);
  all.forEach(hint);
  rows.addEventListener("change", (event) => { hint(event.target.closest("tr")); tell(); });
  $("#search-box").hidden = false;
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase();
    for (const row of all) row.hidden = !row.dataset.name.includes(words);
    tell();
  });
  // Only what belongs to the kind of response that is chosen is shown.
  const family = () => {
    const chosen = $("[name=family]:checked")?.value;
    $("#of-yes-or-no").hidden = chosen !== "binomial";
    $("#of-a-count").hidden = chosen !== "poisson";
    $("#of-a-number").hidden = chosen !== "linear";
  };
  family();
  for (const radio of document.querySelectorAll("[name=family]")) radio.addEventListener("change", family);
  // Enter goes on with the form's last button, not with the first that is in it.
  $("#columns-form").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
    event.preventDefault();
    if (event.target.id.startsWith("pattern")) $("[value=apply]").click();
    else if (["target", "response_positive"].includes(event.target.id)) $("#next").click();
  });
}

function forecast() {
  const form = $("#accuracy-form");
  if (!form) return;
  // Not by form.dataset, which is a field of the form.
  const show = $("#forecast"), address = form.getAttribute("data-forecast");
  let asking = false, again = false;
  // One question at a time: what a slider passes while the server works is skipped, and where it stops is asked.
  const ask = async () => {
    again = asking;
    if (asking) return;
    asking = true;
    const fields = new URLSearchParams(new FormData(form));
    for (const name of ["csrf", "sure", "back", "dataset"]) fields.delete(name);
    const answer = await fetch(`${address}?${fields}`).catch(() => null);
    if (answer && answer.ok) show.innerHTML = await answer.text();
    shorten();
    asking = false;
    if (again) ask();
  };
  const shorten = () => { $("#short").textContent = show.querySelector("[data-short]")?.dataset.short || ""; };
  shorten();
  for (const slider of form.querySelectorAll("[type=range]")) {
    const logarithmic = slider.dataset.logFor, box = form.elements[logarithmic || slider.dataset.for];
    const ends = [Number(slider.min), Number(slider.max)], hint = Number(box.placeholder);
    const follow = () => {
      if (logarithmic === "effect") {
        // Effects are in units of the noise, where it was guessed.
        const noise = Number(form.elements.noise.value) > 0 ? Number(form.elements.noise.value) : 1;
        [slider.min, slider.max] = ends.map((end) => end + Math.log10(noise));
        box.placeholder = Number((hint * noise).toPrecision(2));
      }
      const value = Number(box.value || box.placeholder);
      if (value > 0) slider.value = logarithmic ? Math.log10(value) : value;
    };
    const lead = () => {
      const value = logarithmic ? 10 ** Number(slider.value) : Number(slider.value);
      box.value = box.inputMode === "numeric" ? Math.round(Number(value.toPrecision(3))) : Number(value.toPrecision(2));
    };
    slider.hidden = false;
    follow();
    slider.addEventListener("input", lead);
    box.addEventListener("input", follow);
    if (logarithmic === "effect") form.elements.noise.addEventListener("input", follow);
  }
  form.addEventListener("input", () => {
    for (const place of form.querySelectorAll("[data-show]")) place.textContent = form.elements[place.dataset.show].value;
    ask();
  });
}

function report() {
  const frame = $("iframe.report"), loading = $("#loading");
  if (!frame) return;
  // As high as what it shows, whatever is unfolded: nobody scrolls in a box.
  const whole = () => {
    const inside = frame.contentDocument;
    if (!inside?.body || inside.URL === "about:blank") return;
    const fit = () => { frame.style.height = `${Math.ceil(inside.body.getBoundingClientRect().height) + 2}px`; };
    new ResizeObserver(fit).observe(inside.body);
    fit();
    if (loading) loading.hidden = true;
  };
  if (frame.contentDocument?.readyState === "complete") whole();
  frame.addEventListener("load", whole);
}

function progress() {
  const section = $("#progress");
  if (!section) return;
  const bar = $("#bar"), words = $("#words"), cancel = $("#cancel");
  const say = (text) => { if (words.textContent !== text) words.textContent = text; };
  const look = async () => {
    try {
      const answer = await fetch(section.dataset.state);
      if (answer.status === 403) return say("The program was started anew. Open the address that it printed.");
      const state = await answer.json();
      if (state.state !== "started") return location.reload();
      if (state.share > 0) bar.value = state.share;
      say(`${state.words}${state.share > 0 ? " (" + Math.round(100 * state.share) + " %)" : ""}. You may close this page.`);
      cancel.form.hidden = !state.cancellable;
    } catch {
      say("The connection to the program is lost. If it still runs, the fit goes on; if it ended, start dpsparse app " +
        "again: step 6 will say what became of this fit. Nothing is spent twice.");
    }
    setTimeout(look, 500);
  };
  look();
}

// A form is sent once; a second click on a slow machine would only wait.
addEventListener("submit", (event) => {
  const button = event.submitter;
  setTimeout(() => { if (button) button.disabled = true; }, 0);
});
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

foldOnPhones();
focusError();
tips();
columns();
forecast();
report();
progress();
