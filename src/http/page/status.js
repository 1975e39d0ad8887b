// The status: what the daemon says of itself, shown.

const pause = 2000;        // between two questions, ms
const patience = 5000;     // for an answer, ms
const cardsAtOnce = 24;    // more only when asked for: a thousand ladders help nobody

let status = null;         // the last answer
let cameAt = 0;            // when it came, by this machine's clock
let silence = '';          // why there is no newer one; empty while retryd answers
let shown = cardsAtOnce;

// By the daemon's clock, which need not be this machine's.
const ago = time => span(status.now - time + (silence ? Date.now() - cameAt : 0));
const since = time => time ? new Date(time).toLocaleString('sv') + ' (' + ago(time) + ')' : 'not known';

// What waits on a shared ladder is told of the ladder, once.
const rungsOf = item => item.shared ? [] : item.rungs;
const waitingIn = item => sum(rungsOf(item).map(rung => rung.messages));
const parkedIn = queue => queue.parked?.messages ?? 0;
const waitingInAll = () => sum([...status.queues, ...status.ladders].map(waitingIn));
const onDetours = () => status.detours.filter(detour => detour.messages).map(({queue, messages}) => named(queue) + ': ' + number(messages));
// Several work queues may park in one queue: it counts once.
function parkedInAll() {
  const places = new Map(status.queues.filter(q => q.parked).map(q => [q.parked.queue, q.parked.messages]));
  places.set(status.catch_all.queue, status.catch_all.messages);
  return sum([...places.values()]);
}

// ---- The verdict ----

function verdict() {
  if (!status) return {mood: 'bad', word: 'retryd does not answer', means: silence + ' Is the daemon running? systemctl status retryd'};
  if (silence) return {mood: 'bad', word: 'retryd does not answer',
    means: silence + ' What you see below is its last answer. Is the daemon running? systemctl status retryd'};
  const broker = status.broker;
  if (!broker.connected) return {mood: 'bad', word: 'Not connected to the broker',
    means: (broker.fault && !status.faults.length ? plain(broker.fault) + '. ' : '') + 'Nothing is lost. As long as the broker itself ' +
      'runs, what waits on a rung returns when its time is over, and what is rejected waits in ' + named(status.errors.queue) +
      '. retryd tries again by itself.'};
  if (broker.blocked) return {mood: 'bad', word: 'The broker takes no messages',
    means: (broker.blocked_reason ? 'It says: ' + plain(broker.blocked_reason) + '. ' : '') + 'Nothing is lost and nothing moves until ' +
      'its alarm ends: free memory or disk on the broker (rabbitmqctl status names the alarm).'};
  if (!status.ready) return {mood: 'bad', word: 'Not ready', means: plain(status.reason)};
  const faults = status.faults.length + found('problem').length;
  if (faults) return {mood: 'bad', word: 'Working, with ' + counted(faults, 'fault', 'faults') + (failingWholly().length ? '; ' + whoFails() : ''),
    means: plain(status.reason)};
  if (failingWholly().length) return failureVerdict();
  const holding = held().filter(outage => outage.state === 'holding').length;
  if (holding) return {mood: 'bad', word: 'Working, and holding the messages of ' + counted(holding, 'work queue', 'work queues'), means: plain(status.reason)};
  const detoured = sum(status.detours.map(detour => detour.messages));
  if (detoured) return {mood: 'bad', word: 'Working, and ' + counted(detoured, 'message takes', 'messages take') + ' a detour',
    means: 'What they are for takes no messages. They lose no attempt and hold up no others.'};
  const failure = failureVerdict();
  if (failure) return failure;
  const warnings = found('warning').length;
  return {mood: 'good', word: 'Working' + (warnings ? ', with ' + counted(warnings, 'warning', 'warnings') : ''), means: plain(status.reason)};
}

// Which of several this is: the broker and the vhost.
const whereItIs = () => plain(status.broker.address ?? status.broker.name) + (status.broker.vhost === undefined ? '' : ' · vhost ' + named(status.broker.vhost));

function showVerdict() {
  const {mood, word, means} = verdict();
  $('verdict').className = mood;
  say($('word'), word);
  say($('means'), means);
  if (!status) return;
  const parts = [(waitingInAll() ? counted(waitingInAll(), 'message waits', 'messages wait') : 'Nothing waits') + ' for a retry',
    parkedInAll() ? number(parkedInAll()) + ' parked' : 'nothing parked'];
  const kept = sum(held().map(outage => outage.messages));
  if (kept) parts.push(number(kept) + ' held');
  if (status.errors.messages) parts.push(number(status.errors.messages) + ' in the error queue');
  say($('waits'), (silence ? 'At that time: ' : '') + parts.join(', ') + '.');
  document.title = (mood === 'good' ? '' : '⚠ ') + (failing().length ? number(failing().length) + ' failing · ' : '') +
    (parkedInAll() ? number(parkedInAll()) + ' parked · ' : '') + 'retryd · ' + whereItIs();
  say($('where'), whereItIs());
}

// Of the work queues in an outage, and of those from whose outage something is left.
const held = () => (status.outages ?? []).filter(outage => outage.text);

function showOutages() {
  $('outages').hidden = held().length === 0;
  for (const list of document.querySelectorAll('.held')) showHeldIn(list);
}

function showAge() {
  document.body.classList.toggle('stale', silence !== '');
  if (status) say($('age'), (silence ? 'last answer ' : 'seen ') + span(Date.now() - cameAt) + ' ago');
}

// ---- The flow, drawn wide or tall ----

// A station: where its dot is, where its words begin, which way they run. `way` is the loop from the work queues to the
// rungs, `back` the way to the work queues; an arrow has a place and an angle.
const layouts = {
  wide: {
    box: '70 26 850 240', way: 'M150 196H690A68 68 0 0 0 690 60H610', back: 'M610 60H150A68 68 0 0 0 150 196',
    siding: 'M690 196C760 196 790 226 850 226',
    arrows: [[290, 196, 0, ''], [540, 196, 0, ''], [758, 128, 270, ''], [310, 60, 180, 'waiting'], [82, 128, 90, 'waiting'], [775, 212, 22, 'siding']],
    words: [[280, 182, 'middle', 'rejected'], [744, 133, 'end', 'onto a rung'], [102, 133, 'start', 'back when its time is over'], [765, 240, 'middle', 'ladder used up']],
    stations: {work: [150, 196, 150, 222, 'middle'], errors: [410, 196, 410, 222, 'middle'], retryd: [650, 196, 650, 222, 'middle'],
      rungs: [480, 60, 480, 86, 'middle'], parked: [850, 226, 850, 168, 'middle']},
  },
  tall: {
    box: '0 8 328 362', way: 'M24 68V226A50 50 0 0 0 74 276H130A50 50 0 0 0 180 226V180', back: 'M180 180V68A50 50 0 0 0 130 18H74A50 50 0 0 0 24 68',
    siding: 'M110 276C110 312 120 330 150 330',
    arrows: [[24, 122, 90, ''], [24, 206, 90, ''], [180, 226, 270, ''], [180, 88, 270, 'waiting'], [115, 307, 72, 'siding']],
    words: [[40, 126, 'start', 'rejected'], [196, 230, 'start', 'onto a rung'], [196, 60, 'start', 'back when its'], [196, 76, 'start', 'time is over'], [104, 330, 'end', 'ladder used up']],
    stations: {work: [24, 82, 40, 70, 'start'], errors: [24, 166, 40, 146, 'start'], retryd: [66, 275, 74, 214, 'start'],
      rungs: [180, 150, 196, 130, 'start'], parked: [150, 330, 166, 312, 'start']},
  },
};

function stationsNow() {
  const cut = !status.broker.connected;
  return {
    work: {count: '', label: counted(status.queues.length + (status.queues_left_out ?? 0), 'work queue', 'work queues'), kind: ''},
    errors: {label: 'in the error queue', count: number(status.errors.messages), kind: ''},
    retryd: {label: cut ? 'retryd, cut off' : 'retryd, in flight', count: number(status.in_flight), kind: cut ? 'fault' : ''},
    rungs: {label: 'waiting on rungs', count: number(waitingInAll()), kind: waitingInAll() ? 'wait' : ''},
    parked: {label: 'parked', count: number(parkedInAll()), kind: parkedInAll() ? 'park' : ''},
  };
}

const narrow = matchMedia('(max-width: 40rem)');
let drawn = null;          // the layout in the picture, and its texts by station

function drawPicture(name) {
  const layout = layouts[name];
  const picture = $('picture');
  picture.setAttribute('viewBox', layout.box);
  const lines = [['way siding', layout.siding], ['way', layout.way], ['way waiting', layout.back], ['moves', layout.way], ['moves', layout.back]];
  picture.replaceChildren(...lines.map(([kind, d]) => draw('path', {class: kind, d})),
    ...layout.arrows.map(([x, y, angle, kind]) => draw('path', {class: 'arrow ' + kind, d: 'M-6 -8L4 0L-6 8', transform: `translate(${x} ${y}) rotate(${angle})`})),
    ...layout.words.map(([x, y, anchor, text]) => draw('text', {class: 'what', x, y, 'text-anchor': anchor}, text)));
  drawn = {name, texts: {}};
  for (const [station, [x, y, tx, ty, anchor]] of Object.entries(layout.stations)) {
    const count = draw('text', {class: 'count', x: tx, y: ty + 18, 'text-anchor': anchor});
    const label = draw('text', {class: 'what', x: tx, y: ty + (station === 'work' ? 16 : 36), 'text-anchor': anchor});
    picture.append(draw('circle', {cx: x, cy: y, r: 8}), count, label);
    drawn.texts[station] = {count, label};
  }
}

function showFlow() {
  const name = narrow.matches ? 'tall' : 'wide';
  if (drawn?.name !== name) drawPicture(name);
  const now = stationsNow();
  for (const [station, {count, label}] of Object.entries(drawn.texts)) {
    say(count, now[station].count).setAttribute('class', 'count ' + now[station].kind);
    say(label, now[station].label);
  }
  const moving = !silence && status.broker.connected && !status.broker.blocked && (status.in_flight > 0 || waitingInAll() > 0);
  $('picture').classList.toggle('moving', moving);
  for (const way of $('picture').querySelectorAll('.way')) way.classList.toggle('cut', !status.broker.connected && !way.matches('.waiting'));
  say($('flow-words'), 'A rejected message goes from its work queue to ' + named(status.errors.queue) + ' (' + now.errors.count +
    '), from there to retryd (' + now.retryd.count + ' in flight), then onto a rung (' + now.rungs.count + ' waiting) and back to ' +
    'its work queue when its time is over; or, when its ladder is used up, to where it is parked (' + now.parked.count + ').');
}

// ---- Parked, and what to type ----

const reasons = {
  'attempts-exhausted': 'Every step of the ladder was tried and it was rejected again.',
  'too-old': 'Its first failure is longer ago than max_age.',
  'consumer-verdict': 'The consumer said that it is never to be tried again.',
  'no-entry': 'No item of queues: matches its work queue.',
  'no-death': 'It came without an x-death that can be read.',
  'dead-lettered': 'It could not be published again: the broker itself moved it to the catch-all.',
  'queue-gone': 'Its work queue does not exist any more.',
  'unpublishable': 'Its rung cannot be used; the log says why.',
  'reason-expired': 'Its time in the work queue ran out; on: says to park that.',
  'reason-maxlen': 'Its work queue was full; on: says to park that.',
  'reason-delivery_limit': 'It was delivered too often; on: says to park that.',
  'reason-rejected': 'It was rejected; on: says to park that.',
  'by-hand': 'Somebody took it off its rung and parked it.',
};

// As a word of a shell that cannot do anything but name the queue.
function word(text) {
  if (/^[\w.:@%+,\/][\w.:@%+,\/-]*$/.test(text)) return text;
  if (plain(text) === text) return "'" + text.replaceAll("'", "'\\''") + "'";
  return "$'" + named(text).replaceAll("'", "\\'") + "'";
}

function command(option = '', name = '') {
  const file = status.config_file === '/etc/retryd/retryd.yaml' ? '' : ' -c ' + word(status.config_file);
  const which = option && ' ' + option + (name.startsWith('-') ? '=' : ' ') + word(name);
  return 'retryd parked list' + file + which;
}

// An option's two dashes stay with its name, wherever the line is broken.
function showCommand(code, text) {
  if (code.textContent === text) return;
  code.replaceChildren(...text.split(/(?<= )(--?[a-z]+)/).map(part => part.startsWith('-') ? make('span', {class: 'option'}, part) : part));
}

async function copy(code, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    // Browsers give the clipboard to https and localhost only; what is selected can be copied everywhere.
    getSelection().selectAllChildren(code);
    done = document.execCommand('copy');
  }
  button.textContent = done ? 'Copied' : 'Selected';
  setTimeout(() => { button.textContent = 'Copy'; }, 1500);
}

function newCommand() {
  const code = make('code', {});
  const button = make('button', {type: 'button'}, 'Copy');
  button.addEventListener('click', () => copy(code, button));
  return make('li', {}, make('span', {class: 'what name'}), code, button);
}

function showParked() {
  const queues = status.queues.filter(parkedIn).sort((a, b) => parkedIn(b) - parkedIn(a));
  const todo = queues.slice(0, 4).map(q => ({key: 'of ' + q.work_queue, what: counted(parkedIn(q), 'message', 'messages') + ' of ' + named(q.work_queue), type: command('--queue', q.work_queue)}));
  const rest = queues.length - todo.length;
  if (status.catch_all.messages) todo.push({key: 'catch-all', what: number(status.catch_all.messages) + ' in the catch-all ' + named(status.catch_all.queue), type: command('--from', status.catch_all.queue)});
  if (rest > 0) todo.push({key: 'rest', what: counted(rest, 'more queue', 'more queues'), type: command()});
  $('no-parked').hidden = todo.length > 0;
  keep($('todo'), todo, item => item.key, newCommand, (element, item) => {
    say(element.children[0], item.what);
    showCommand(element.children[1], item.type);
    element.children[2].setAttribute('aria-label', 'Copy: ' + plain(item.type));
  });
  const why = status.parked_by_reason.filter(item => item.messages);
  $('reasons').hidden = why.length === 0;
  keep($('reasons').tBodies[0], why, item => item.reason,
    item => make('tr', {}, make('th', {scope: 'row'}, make('code', {}, plain(item.reason)), make('small', {}, reasons[item.reason] ?? '')), make('td', {class: 'number'})),
    (row, item) => say(row.cells[1], number(item.messages)));
}

// ---- Ladders ----

function newRow(kind) {
  const bar = make('td', {class: 'rung', 'aria-hidden': 'true'}, make('span'));
  return make('tr', {class: kind}, make('th', {scope: 'row'}), bar, make('td', {class: 'number'}));
}

function showRow(row, label, messages, most) {
  say(row.cells[0], label);
  const bar = row.cells[1].firstChild;
  row.classList.toggle('empty', !messages);
  bar.hidden = !messages;
  bar.style.width = 100 * (messages ?? 0) / most + '%';
  say(row.cells[2], number(messages));
  row.cells[2].title = messages === null ? 'not counted' : '';
}

function newCard(title, work) {
  const table = make('table', {class: 'ladder'}, make('caption', {class: 'unseen'}),
    make('thead', {class: 'unseen'}, make('tr', {}, make('th', {scope: 'col'}, 'Delay'), make('td'), make('th', {scope: 'col'}, 'Messages'))), make('tbody'));
  const own = work === undefined ? [] : [make('div', {class: 'hold'}, make('small', {}), newHoldButtons(work))];
  return make('li', {}, make('h3', {}, ...(work === undefined ? [named(title)] : [make('a', {href: '#/queue/' + inAddress(work)}, named(title))])), make('small', {}), table, make('small', {}), ...own);
}

// `rows`: [label, messages, kind]. Widths are comparable over the whole page.
function showCard(card, about, rows, below, most) {
  say(card.children[1], about);
  const table = card.children[2];
  say(table.caption, 'Messages on the rungs of ' + card.firstChild.textContent);
  keep(table.tBodies[0], rows, ([label, , kind]) => kind + label, ([, , kind]) => newRow(kind),
    (row, [label, messages]) => showRow(row, label, messages, most));
  say(card.children[3], below);
}

function showQueue(card, queue, most) {
  const own = 'messages' in queue ? '; ' + depthWords(queue) : '';
  const about = queue.shared ? 'waits on the shared ladder ' + named(queue.ladder) + own : counted(waitingIn(queue), 'waits', 'wait').replace(/^0 wait/, 'nothing waits') + ' on ladder ' + named(queue.ladder) + own;
  const rows = rungsOf(queue).map(rung => [plain(rung.delay), rung.messages, '']);
  if (queue.parked) rows.push(['parked', queue.parked.messages, 'parked']);
  const t = queue.totals;
  showCard(card, about, rows, t ? `since the start: ${number(t.retried)} retried, ${number(t.parked)} parked, ${number(t.dropped)} dropped` : '', most);
  showHold(card.children[4], queue);
}

const weight = queue => waitingIn(queue) + parkedIn(queue);
const isQuiet = queue => weight(queue) === 0;

function showQueues() {
  const wanted = $('filter').value.trim().toLowerCase();
  const matching = status.queues.filter(q => named(q.work_queue).toLowerCase().includes(wanted));
  const busy = matching.filter(q => !isQuiet(q)).sort((a, b) => weight(b) - weight(a) || (a.work_queue < b.work_queue ? -1 : 1));
  const most = Math.max(1, ...[...status.queues, ...status.ladders].flatMap(q => [...rungsOf(q).map(r => r.messages ?? 0), q.parked?.messages ?? 0]));
  keep($('shared'), wanted ? [] : status.ladders, ladder => ladder.name, ladder => newCard('shared ladder ' + ladder.name),
    (card, ladder) => showCard(card, counted(waitingIn(ladder), 'waits', 'wait') + ', of all its work queues', ladder.rungs.map(r => [plain(r.delay), r.messages, '']), '', most));
  // Where there are only a few, the quiet ones are ladders too: nothing is folded that fits.
  const few = matching.length <= 8;
  const cards = few ? [...busy, ...matching.filter(isQuiet)] : busy.slice(0, shown);
  keep($('list'), cards, q => q.work_queue, q => newCard(q.work_queue, q.work_queue), (card, q) => showQueue(card, q, most));
  $('more').hidden = few || busy.length <= shown;
  say($('more'), 'Show more: ' + number(busy.length - shown) + ' busy queues are not shown');
  showQuiet(few ? [] : matching.filter(isQuiet));
  say($('found'), wanted ? number(matching.length) + ' of ' + counted(status.queues.length, 'queue', 'queues') : '');
  const out = status.queues_left_out ?? 0;
  say($('left-out'), out ? 'The daemon names the ' + number(status.queues.length) + ' busiest; ' + number(out) + ' more are left out.' : '');
  if (!status.queues.length) say($('left-out'), 'No work queue yet: one appears here when the configuration names it, or with its first message.');
}

// A thousand names are made only for those who open them.
function showQuiet(queues) {
  $('rest').hidden = queues.length === 0;
  say($('rest').firstChild, counted(queues.length, 'quiet queue', 'quiet queues') + ': nothing waits, nothing parked');
  if ($('rest').open) keep($('quiet'), queues, q => q.work_queue, q => make('li', {class: 'name'}, named(q.work_queue)), () => {});
}

// ---- Rates ----

const kinds = {retried: 'Retried', parked: 'Parked', dropped: 'Dropped'};

function newChart(kind) {
  const svg = draw('svg', {viewBox: '0 0 100 40', preserveAspectRatio: 'none', role: 'img'});
  svg.append(draw('path'), draw('line', {x1: 0, y1: 40, x2: 100, y2: 40}));
  return make('figure', {class: kind}, make('figcaption', {}, make('span'), make('span', {class: 'soft'})), svg);
}

// Right is now; what is not known yet stays empty at the left.
function areaOf(perSecond, peak, places) {
  const x = i => 100 - (perSecond.length - 1 - i) * 100 / (places - 1);
  const points = perSecond.map((n, i) => x(i).toFixed(2) + ' ' + (40 - 38 * n / peak).toFixed(2));
  return peak && points.length ? `M${x(0).toFixed(2)} 40L${points.join('L')}L100 40` : '';
}

function showRates() {
  const {interval_ms: interval, ...series} = status.rates;
  const places = 120;
  keep($('charts'), Object.keys(kinds), kind => kind, newChart, (figure, kind) => {
    const perSecond = (series[kind] ?? []).map(n => n * 1000 / interval);
    const peak = Math.max(0, ...perSecond);
    const text = kinds[kind] + ' ' + rate(perSecond.at(-1) ?? 0) + '/s';
    say(figure.firstChild.firstChild, text);
    say(figure.firstChild.lastChild, 'peak ' + rate(peak) + '/s');
    const svg = figure.lastChild;
    svg.setAttribute('aria-label', text + ' now, at most ' + rate(peak) + ' a second in the last ' + span(places * interval));
    svg.firstChild.setAttribute('d', areaOf(perSecond, peak, places));
  });
  const axis = $('rates').querySelector('.axis');
  say(axis.children[0], span(places * interval) + ' ago');
  say(axis.children[1], span(places * interval / 2) + ' ago');
}

// ---- Broker and daemon ----

function factsNow() {
  const b = status.broker;
  const confirm = status.confirm_ms;
  return [
    ['Broker', plain(b.name) + (b.version ? ', RabbitMQ ' + plain(b.version) : '')],
    ['Connection', b.connected ? 'connected since ' + since(b.since) : 'not connected' + (b.since ? ' since ' + since(b.since) : '')],
    ['Publishing', b.blocked ? 'blocked by the broker: ' + plain(b.blocked_reason) : b.connected ? 'not blocked' : 'not connected'],
    ['Reconnects', number(b.reconnects)],
    ['Confirms', confirm?.p50 ? `half within ${confirm.p50.toFixed(1)} ms, 99 % within ${confirm.p99.toFixed(1)} ms` : 'none yet'],
    ['Given back', counted(status.requeued, 'delivery', 'deliveries') + ' to the error queue, to be tried again'],
    ['Error queue', named(status.errors.queue) + ': ' + number(status.errors.messages)],
    ['Catch-all', named(status.catch_all.queue) + ': ' + number(status.catch_all.messages)],
    ...(onDetours().length ? [['Detours', onDetours().join(', ')]] : []),
    ...(status.oldest_unsettled_ms > 60000 ? [['Oldest not settled', span(status.oldest_unsettled_ms)]] : []),
    ['Depths counted', status.counted ? ago(status.counted) + ' ago' : 'not yet'],
    ['Running', 'since ' + since(status.started)],
    ['Configuration', plain(status.config_file)],
  ];
}

function showFacts() {
  keep($('facts'), factsNow().flatMap(([name, value]) => [{tag: 'dt', name, text: name}, {tag: 'dd', name, text: value}]),
    item => item.tag + item.name, item => make(item.tag), (element, item) => say(element, item.text));
  say($('version'), plain(status.version));
}
