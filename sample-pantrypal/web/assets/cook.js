// Cook mode: one step at a time with what it needs, timers, and a screen that stays on. It ends in
// the form that notes the dish as cooked.
"use strict";

const dialogOf = () => document.getElementById("cook");
const stepsOf = () => [...dialogOf().querySelectorAll(".step")];
const place = "pantrypal.step " + location.pathname; // a phone that forgets the page comes back to the step

// offerCookMode shows the button, which does nothing without this script.
function offerCookMode() {
  const bar = document.getElementById("cook-mode");
  if (bar && dialogOf()) bar.hidden = false;
}

let lock = null;
async function keepAwake() {
  try {
    lock = await navigator.wakeLock?.request("screen");
  } catch { /* the screen may go dark */ }
}

let at = 0;

function goTo(n) {
  const steps = stepsOf();
  at = Math.max(0, Math.min(n, steps.length - 1));
  steps.forEach((s, i) => { s.hidden = i !== at; });
  document.getElementById("cook-back").disabled = at === 0;
  const next = document.getElementById("cook-next");
  next.hidden = at === steps.length - 1;
  next.textContent = at === steps.length - 2 ? say("done") : say("next");
  document.getElementById("cook-progress").value = at;
  dialogOf().querySelector(".pages").scrollTop = 0;
  sessionStorage.setItem(place, at);
}

main.addEventListener("click", (e) => {
  const on = e.target.closest("button");
  if (!on) return;
  if (on.id === "cook-start") {
    dialogOf().showModal();
    goTo(Number(sessionStorage.getItem(place) ?? 0));
    document.getElementById("cook-next").focus();
    keepAwake();
  } else if (on.id === "cook-leave") dialogOf().close();
  else if (on.id === "cook-next") goTo(at + 1);
  else if (on.id === "cook-back") goTo(at - 1);
  else if (on.classList.contains("timer")) start(on);
});
main.addEventListener("close", (e) => {
  if (e.target !== dialogOf()) return;
  lock?.release();
  lock = null;
  if (again) soon();
}, true);
main.addEventListener("submit", (e) => { if (e.target.closest("#cook")) sessionStorage.removeItem(place); });
addEventListener("keydown", (e) => {
  if (!dialogOf()?.open || e.target.matches("input")) return;
  if (e.key === "ArrowRight") goTo(at + 1);
  if (e.key === "ArrowLeft") goTo(at - 1);
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && dialogOf()?.open) keepAwake(); });

// A swipe turns the page, as in a book.
let from = null;
main.addEventListener("pointerdown", (e) => { from = e.target.closest("#cook .pages") && !e.target.closest("button, input") ? [e.clientX, e.clientY] : null; });
main.addEventListener("pointerup", (e) => {
  if (!from) return;
  const dx = e.clientX - from[0], dy = e.clientY - from[1];
  if (Math.abs(dx) > 60 && Math.abs(dx) > 2 * Math.abs(dy)) goTo(at + (dx < 0 ? 1 : -1));
  from = null;
});

const clock = (s) => `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;

// start starts a timer, which runs on whatever step is shown.
function start(button) {
  const ends = Date.now() + Number(button.dataset.seconds) * 1000, row = document.createElement("li"), left = document.createElement("span"), stop = document.createElement("button");
  const name = say("step", at + 1);
  stop.type = "button";
  stop.textContent = say("stop");
  stop.setAttribute("aria-label", say("stopTimer", at + 1));
  row.append(left, stop);
  document.getElementById("timers").append(row);
  const tick = () => {
    const s = Math.max(0, Math.round((ends - Date.now()) / 1000));
    left.textContent = say("timer", name, s ? clock(s) : say("timeUp"));
    if (s || row.classList.contains("over")) return;
    row.classList.add("over");
    row.setAttribute("role", "alert");
    navigator.vibrate?.([300, 200, 300]);
    beep();
  };
  const ticking = setInterval(tick, 250);
  stop.addEventListener("click", () => {
    clearInterval(ticking);
    row.remove();
  });
  tick();
}

// beep is three short tones; where a browser plays none, the row turns red all the same.
function beep() {
  try {
    const sound = new AudioContext();
    for (const n of [0, 1, 2]) {
      const tone = sound.createOscillator(), volume = sound.createGain();
      tone.frequency.value = 880;
      volume.gain.value = 0.2;
      tone.connect(volume).connect(sound.destination);
      tone.start(sound.currentTime + n * 0.4);
      tone.stop(sound.currentTime + n * 0.4 + 0.22);
    }
  } catch { /* silent */ }
}

addEventListener("pantrypal:shown", offerCookMode);
offerCookMode();
