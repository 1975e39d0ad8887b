
// ---- The last 24 hours, which the daemon keeps in memory ----

const dayLength = 24 * 3600 * 1000;
const dayPlaces = 288;     // what the picture can show: steps of five minutes
let day = null;            // the last answer

// The newest last, each of them the sum of `by`.
function inSteps(numbers, by) {
  const steps = [];
  for (let end = numbers.length; end > 0; end -= by) steps.unshift(sum(numbers.slice(Math.max(0, end - by), end)));
  return steps.slice(-dayPlaces);
}

function newDayRow(name) {
  const svg = draw('svg', {viewBox: '0 0 100 40', preserveAspectRatio: 'none', role: 'img'});
  svg.append(draw('path'), draw('line', {x1: 0, y1: 40, x2: 100, y2: 40}));
  return make('figure', {class: name}, make('figcaption', {}, make('span'), make('span', {class: 'soft'})), svg);
}

function showDayRow(figure, title, steps) {
  const peak = Math.max(0, ...steps);
  const per = ' in five minutes';
  say(figure.firstChild.firstChild, title + ' ' + number(sum(steps)));
  say(figure.firstChild.lastChild, 'peak ' + number(peak) + per);
  const svg = figure.lastChild;
  svg.setAttribute('aria-label', `${title} ${number(sum(steps))} in the last 24 hours, at most ${number(peak)}${per}`);
  svg.firstChild.setAttribute('d', areaOf(steps, peak, dayPlaces));
}

function showDay() {
  $('day').hidden = !day;
  if (!day) return;
  const by = Math.max(1, Math.round(dayLength / dayPlaces / day.interval_ms));
  keep($('day-charts'), Object.keys(kinds), kind => kind, newDayRow,
    (figure, kind) => showDayRow(figure, kinds[kind], inSteps(day[kind] ?? [], by)));
  const clock = ms => new Date(ms).toLocaleTimeString('sv', {hour: '2-digit', minute: '2-digit'});
  const places = [24, 18, 12, 6].map(hours => clock(day.now - hours * 3600 * 1000));
  keep($('day-axis'), [...places, 'now'], (text, i) => text, text => make('span', {}, text), () => {});
  const worst = (day.failing ?? []).slice(0, 8);
  $('day-failing-title').hidden = worst.length === 0;
  keep($('day-failing'), worst, queue => queue.work_queue, () => make('li', {}, newDayRow('')),
    (item, queue) => showDayRow(item.firstChild, named(queue.work_queue), queue.failures));
}

async function askForDay() {
  if (document.hidden) return;
  try {
    const response = await fetch('history.json', {cache: 'no-store', signal: AbortSignal.timeout(patience)});
    const answer = response.ok ? await response.json() : null;
    if (answer?.interval_ms) day = answer;
  } catch {
    // The status says that nothing answers; the day stays as it was.
  }
  showDay();
}
