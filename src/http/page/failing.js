
// ---- What is wrong: the work queues in which messages fail, the faults, and what the daemon's own checks find ----

const failing = () => status.failing ?? [];
const failingWholly = () => failing().filter(queue => queue.state === 'wholly');

// Of a work queue itself, which is not retryd's.
function depthWords({messages, consumers}) {
  const ready = messages ? number(messages) + ' ready in it' : 'nothing ready in it';
  return ready + ', ' + (consumers ? counted(consumers, 'consumer', 'consumers') : 'no consumer');
}

function whoFails() {
  const whole = failingWholly();
  if (whole.length === 1) return named(whole[0].work_queue) + ' fails wholly';
  if (whole.length) return counted(whole.length, 'work queue fails', 'work queues fail') + ' wholly';
  const [first, ...others] = failing().filter(queue => queue.state === 'unknown');
  return 'messages fail in ' + (others.length ? counted(others.length + 1, 'work queue', 'work queues') : named(first.work_queue));
}

// Green is left for what is known to get through: where nothing tells, it is not said either.
function failureVerdict() {
  if (failingWholly().length) return {mood: 'bad', word: whoFails(),
    means: 'Nothing that is seen of its work gets done. No message is lost: each comes back along its ladder, and is parked when that is used up. Look at its consumers.'};
  if (failing().some(queue => queue.state === 'unknown')) return {mood: 'fair', word: 'Working; ' + whoFails(),
    means: 'Each comes back along its ladder. How many others get through cannot be seen from here.'};
  return null;
}

function trend({failures, minutes}) {
  const before = minutes.slice(0, -1);
  if (!before.length) return 'first seen within this minute';
  const usual = sum(before) / before.length;
  const past = `${rate(usual)} a minute in the ${before.length === 1 ? 'minute' : before.length + ' minutes'} before`;
  if (failures > 1.5 * usual + 1) return '▲ up from ' + past;
  if (failures < usual / 1.5 - 1) return '▼ down from ' + past;
  return 'as before: ' + past;
}

function dueWords({next_due_ms: due, due_at_most: atMost}) {
  if (due === null || due === undefined) return 'no retry waits, as far as is known';
  const left = Math.max(0, due - (Date.now() - cameAt));
  return atMost ? 'next retry within ' + span(left) : 'next retry in ' + span(left);
}

const stateWords = {wholly: 'fails wholly', partly: 'fails in part', unknown: 'fails'};

// What is known of it, each a sentence.
function evidence(queue) {
  const words = [];
  if (queue.came_back) words.push(`${number(queue.failed_again)} of ${counted(queue.came_back, 'retry', 'retries')} that came back within two minutes failed again`);
  if (queue.acked !== null && queue.acked !== undefined) words.push(queue.acked ? number(queue.acked) + ' were acked within a minute' : 'none was acked within a minute');
  if (queue.consumers !== null && queue.consumers !== undefined) words.push(depthWords(queue));
  return words.join('; ');
}

function remedyFor(queue) {
  if (queue.consumers === 0) return 'Nobody consumes from it: start its consumers. None of its messages is lost.';
  return 'See what its consumers say: they reject, or crash. None of its messages is lost.';
}

function newFailing() {
  const bars = draw('svg', {viewBox: '0 0 90 24', preserveAspectRatio: 'none', 'aria-hidden': 'true'});
  return make('li', {}, make('h3', {}), make('span', {class: 'state'}), make('span', {class: 'rate'}), bars, make('span', {class: 'due'}), make('p', {}), make('p', {}), make('p', {}));
}

function showBars(svg, minutes) {
  const most = Math.max(1, ...minutes);
  const from = 15 - minutes.length;
  const d = minutes.map((n, i) => n ? `M${(from + i) * 6} 24V${(24 - 22 * n / most).toFixed(1)}h4V24z` : '').join('');
  if (svg.lastChild?.getAttribute('d') !== d) svg.replaceChildren(draw('path', {class: 'ground', d: 'M0 23.5H88'}), draw('path', {d}));
}

function showFailing() {
  $('failing').hidden = failing().length === 0;
  keep($('failing').querySelector('ul'), failing(), queue => queue.work_queue, newFailing, (item, queue) => {
    const [name, state, perMinute, bars, due, past, known, remedy] = item.children;
    item.className = queue.state;
    say(name, named(queue.work_queue));
    say(state, stateWords[queue.state] ?? 'fails');
    say(perMinute, number(queue.failures) + ' a minute');
    showBars(bars, queue.minutes);
    say(due, dueWords(queue));
    say(past, trend(queue));
    say(known, evidence(queue));
    say(remedy, remedyFor(queue));
  });
  const out = status.failing_left_out ?? 0;
  $('failing-more').hidden = !out;
  say($('failing-more'), 'Messages fail in ' + counted(out, 'further work queue', 'further work queues') + ', fewer than in these.');
}

// Of the daemon's own checks, which it makes where it has a management API.
const found = severity => (status.checks?.findings ?? []).filter(finding => finding.severity === severity);

function textOf(finding) {
  const more = finding.names.length - 1;
  return (finding.severity === 'warning' ? 'Warning: ' : '') + finding.cause + (more > 0 ? ', and ' + counted(more, 'other', 'others') : '');
}

function newFault() {
  const code = make('code', {});
  const button = make('button', {type: 'button'}, 'Copy');
  button.addEventListener('click', () => copy(code, button));
  return make('li', {}, make('span'), make('small'), make('p'), make('div', {class: 'command'}, code, button));
}

function showFaults() {
  const findings = [...found('problem'), ...found('warning')].map(finding => ({since: finding.since, text: textOf(finding), kind: finding.severity,
    so: finding.consequence, remedy: finding.remedy, command: finding.command}));
  const faults = [...status.faults, ...findings];
  $('faults').hidden = faults.length === 0;
  keep($('faults').querySelector('ul'), faults, fault => fault.text, newFault, (item, fault) => {
    const [text, when, remedy, command] = item.children;
    item.className = fault.kind ?? '';
    say(text, plain(fault.text));
    say(when, 'since ' + since(fault.since) + (fault.so ? '; so that ' + plain(fault.so) : ''));
    remedy.hidden = !fault.remedy;
    say(remedy, fault.remedy ? 'Remedy: ' + plain(fault.remedy) : '');
    command.hidden = !fault.command;
    if (fault.command) showCommand(command.firstChild, plain(fault.command));
    command.lastChild.setAttribute('aria-label', 'Copy: ' + plain(fault.command ?? ''));
  });
}
