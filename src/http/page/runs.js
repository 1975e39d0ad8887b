
// ---- Runs: what is being done, how far it is, and what came of it ----

const runs = new Map();    // by id, as the daemon told them last
const mine = new Set();    // those that were begun here: they are told when they end
const announced = new Set();
let followed = 0;

const runTitles = {'parked replay': 'Replay', 'parked drop': 'Delete', 'parked edit': 'Edit and send home', 'parked undo': 'Take back', 'waiting send': 'Send home', 'waiting park': 'Park', 'queue hold': 'Hold', 'queue release': 'Release'};
const runTitle = run => (runTitles[run.action] ?? plain(run.action)) + (run.request?.dry_run ? ', tried only' : '');

function selectionWords(request = {}) {
  const words = [];
  const queue = request.from ? ' of ' + named(request.from) : '';
  // A run tells only how many were chosen; what was not begun yet still has them.
  const chosen = request.messages_count ?? request.messages?.length;
  if (chosen) return counted(chosen, 'message', 'messages') + queue;
  if (typeof request.message === 'string') return 'one message' + queue;
  for (const [key, name] of Object.entries({queue: 'work queue', reason: 'reason', exchange: 'exchange', type: 'type', id: 'message-id', older_than: 'older than', newer_than: 'newer than'}))
    if (request[key]) words.push(name + ' ' + named(request[key]));
  for (const header of request.headers ?? []) if (header.name !== undefined) words.push('header ' + named(header.name) + ' = ' + named(header.value));
  if (request.run) words.push('of run ' + plain(request.run));
  if (request.first) words.push('the first ' + number(request.first));
  return (words.join(', ') || (request.all ? 'all' : '')) + queue;
}

function outcomeWords(run) {
  if (run.error) return plain(run.error);
  const result = run.result;
  if (!result) return run.ended_at ? (run.result_dropped ? 'What came of it is not kept any more.' : '') : '';
  const words = [];
  const parts = result.queues ?? result.rungs ?? [];
  const done = {'parked drop': 'deleted', 'parked undo': 'taken back', 'waiting park': 'parked'}[run.action] ?? 'sent home';
  if (result.done !== undefined) words.push(number(result.done) + (result.selected !== undefined ? ' of ' + number(result.selected) : '') + ' ' + (run.request?.dry_run ? 'would be ' : '') + done);
  if (result.changed?.length) words.push('changed: ' + result.changed.map(plain).join(', '));
  for (const [key, name] of Object.entries({failed_again: 'failed again', came_back: 'came back', refused: 'refused', unrouted: 'led nowhere', headers_too_large: 'with headers too large',
    work_queue_unknown: 'of no known work queue', outcome_unknown: 'of unknown outcome', no_place_to_go_to: 'without a place to go to'})) {
    const all = sum(parts.map(part => part[key]));
    if (all) words.push(number(all) + ' ' + name);
  }
  for (const part of parts) for (const text of [part.ended_text, part.fault]) if (text) words.push(plain(text));
  return [words.join(', '), ...(result.notes ?? []).map(plain), ...(result.not_seen ?? []).map(plain)].filter(Boolean).join('. ');
}

// The note says what fails, or what it waits for.
function progressWords({doing, done, all, queue, note} = {}) {
  const words = doing ? [`${plain(doing)} ${number(done)}${all ? ' of ' + number(all) : ''}${queue ? ' in ' + named(queue) : ''}`] : [];
  if (note) words.push(plain(note));
  return words.join(', ');
}

const stateOfRun = run => ({running: 'running', stopping: 'stopping', done: 'done', failed: 'failed', stopped: 'stopped'}[run.state] ?? plain(run.state));

function newRun(run) {
  const stop = make('button', {type: 'button'}, 'Stop');
  const undo = make('button', {type: 'button'}, 'Undo …');
  const more = make('button', {type: 'button'}, 'What came of it');
  stop.addEventListener('click', () => api('DELETE', 'runs/' + run.id).then(takeRun, deskFault));
  undo.addEventListener('click', () => askUndo(runs.get(run.id)));
  more.addEventListener('click', () => api('GET', 'runs/' + run.id).then(takeRun, deskFault));
  return make('li', {}, make('h3', {}), make('span', {class: 'state'}), make('progress', {}), make('p', {}), make('div', {class: 'actions'}, stop, undo, more));
}

function showRuns() {
  const onRuns = where().name === 'runs';
  const shown = [...runs.values()].filter(run => run.changes && (onRuns || !run.ended_at || mine.has(run.id)))
    .sort((a, b) => (a.started_at < b.started_at ? 1 : -1));
  $('runs').hidden = !signedIn() || (where().name === 'status' ? !shown.some(run => !run.ended_at) : shown.length === 0 && !onRuns);
  keep($('runs-list'), shown, run => run.id, newRun, (item, run) => {
    const [title, state, progress, words, {children: [stop, undo, more]}] = item.children;
    item.className = run.state + (run.ended_at && !run.ok ? ' bad' : '');
    say(title, runTitle(run) + ': ' + selectionWords(run.request));
    say(state, stateOfRun(run) + (run.ended_at && !run.ok && run.state === 'done' ? ', not all' : ''));
    const {done, all} = run.progress ?? {};
    progress.hidden = Boolean(run.ended_at);
    progress.setAttribute('aria-label', runTitle(run));
    if (all) { progress.max = all; progress.value = Math.min(done, all); } else progress.removeAttribute('value');
    say(words, run.ended_at ? outcomeWords(run) : progressWords(run.progress));
    stop.hidden = Boolean(run.ended_at);
    stop.disabled = run.state === 'stopping';
    undo.hidden = !run.ended_at || run.action !== 'parked replay' || run.request?.dry_run || run.result?.done === 0;
    more.hidden = !run.ended_at || Boolean(run.result) || Boolean(run.error) || run.result_dropped;
    for (const button of [stop, undo, more]) button.setAttribute('aria-label', button.textContent + ': ' + title.textContent);
  });
}

function takeRun(run) {
  const before = runs.get(run.id);
  // The list has no results: one that is known already stays.
  runs.set(run.id, before?.result && !run.result ? {...run, result: before.result} : run);
  const now = runs.get(run.id);
  if (mine.has(run.id) && run.ended_at && !before?.ended_at && run.changes) refresh();
  if (mine.has(run.id) && run.ended_at && !announced.has(run.id) && (now.result || now.error || now.result_dropped)) {
    announced.add(run.id);
    say($('runs-news'), `${runTitle(run)}: ${stateOfRun(run)}. ${outcomeWords(now)}`);
  }
  showRuns();
}

async function begin(path, body) {
  const run = await api('POST', path, body);
  mine.add(run.id);
  takeRun(run);
  followRuns();
  return run;
}

async function ended(run) {
  while (!run.ended_at) {
    await new Promise(resolve => setTimeout(resolve, 400));
    run = await api('GET', 'runs/' + run.id);
    takeRun(run);
  }
  return run;
}

// One after the other: two that change one parking queue exclude each other.
async function beginAll(path, bodies) {
  let run = await begin(path, bodies[0]);
  if (bodies.length === 1) return;
  (async () => {
    for (const body of bodies.slice(1)) {
      run = await ended(run);
      if (run.state !== 'done' || !run.ok) throw new DeskError('The run before did not end well, so the rest was not begun: ' + selectionWords(body), 'stopped', 0);
      run = await begin(path, body);
    }
  })().catch(deskFault);
}

// Those of others as well; until none runs any more.
async function followRuns() {
  clearTimeout(followed);
  if (!signedIn()) return;
  try {
    for (const run of (await api('GET', 'runs')).runs ?? []) takeRun(run);
    for (const run of [...runs.values()]) if (mine.has(run.id) && run.ended_at && !run.result && !run.error && !run.result_dropped && !run.asked) {
      run.asked = true;
      takeRun(await api('GET', 'runs/' + run.id));
    }
  } catch (error) {
    if (error.code === 'not_signed_in') return;
  }
  const busy = [...runs.values()].some(run => !run.ended_at);
  clearTimeout(followed);
  followed = setTimeout(followRuns, document.hidden ? 10000 : busy ? 500 : 10000);
}
