
// ---- What can be done with messages; each action asks first ----

function field(label, input, hint = '') {
  input.id ||= 'f-' + label.toLowerCase().replace(/[^a-z]+/g, '-');
  const parts = [make('label', {for: input.id}, label), input];
  if (hint) {
    input.setAttribute('aria-describedby', input.id + '-hint');
    parts.push(make('small', {id: input.id + '-hint'}, hint));
  }
  return make('p', {class: 'field'}, ...parts);
}

const check = (label, input) => make('p', {class: 'check'}, make('label', {}, input, ' ' + label));

// `many`: {bodies: selections, each a run; counts: how many messages each has, null where that is not known; what: in words}
function askReplay(many) {
  const rate = make('input', {type: 'text', inputmode: 'numeric', value: '50', pattern: '[1-9][0-9]*|unlimited', required: ''});
  const stopAfter = make('input', {type: 'text', inputmode: 'numeric', value: '10', pattern: '[1-9][0-9]*|never', required: ''});
  const ramp = make('input', {type: 'checkbox'});
  const to = make('input', {type: 'text', autocomplete: 'off', spellcheck: 'false'});
  const dry = make('input', {type: 'checkbox'});
  const fields = [make('p', {}, 'Sends ' + many.what + ' back, each to the work queue that it came from. Attempts are counted from the beginning.'),
    field('Messages a second', rate, 'a number, or unlimited'), check('Begin slowly, and get faster as long as they succeed', ramp),
    field('Stop after so many failures', stopAfter, 'of what was sent and fails again; or never'),
    make('details', {}, make('summary', {}, 'More'), field('To another queue', to, 'empty: each to its own work queue'), check('Only try: nothing is sent', dry))];
  openDialog('Replay ' + many.what, fields, 'Replay', () => {
    const how = {rate: /^[0-9]+$/.test(rate.value) ? Number(rate.value) : rate.value, stop_after: /^[0-9]+$/.test(stopAfter.value) ? Number(stopAfter.value) : stopAfter.value};
    if (ramp.checked) how.ramp = true;
    if (to.value) how.to = to.value;
    if (dry.checked) how.dry_run = true;
    return beginAll('parked/replay', many.bodies.map(body => ({...body, ...how})));
  });
}

// Who deletes types how many there are; where that is not known it is looked first. Each run is told its own number: what came
// after the look has been agreed to by nobody, and the daemon then drops nothing.
async function askDrop(many) {
  let {counts} = many;
  const word = () => String(sum(counts));
  const typed = make('input', {type: 'text', autocomplete: 'off', spellcheck: 'false', required: ''});
  const fields = [make('p', {}, `Deletes ${many.what} for good. This cannot be undone: no run, no restart and no backup of retryd's brings a dropped message back. ` +
    'An archive does: retryd parked export writes one first.'),
    field('Type the number of messages', typed, counts === null ? 'being counted …' : word())];
  const {go, form} = openDialog('Delete ' + many.what, fields, 'Delete for good', () => {
    if (typed.value.trim().replaceAll(',', '') !== word()) throw new DeskError('That is not ' + word() + '. Nothing was deleted.', '', 0);
    return beginAll('parked/drop', many.bodies.map((body, i) => ({...body, expected: counts[i]})));
  }, {danger: true});
  const judge = () => { go.disabled = counts === null || typed.value.trim().replaceAll(',', '') !== word(); };
  judge();
  form.addEventListener('input', judge);
  if (counts !== null) return;
  const hint = form.querySelector('small');
  try {
    const found = [];
    for (const body of many.bodies) found.push((await look('parked/drop', {...body, dry_run: true})).selected ?? 0);
    counts = found;
    say(hint, word());
    judge();
  } catch (error) {
    say(hint, 'They could not be counted, so they cannot be deleted here: ' + plain(error.message));
  }
}

// First it is looked how many there are to take back: nothing has been changed when it asks.
async function askUndo(run) {
  const queue = make('input', {type: 'text', autocomplete: 'off', spellcheck: 'false', value: run.request?.queue ?? ''});
  const found = make('p', {role: 'status'}, 'Looking what of it waits on a rung …');
  const {go} = openDialog('Undo a replay', [make('p', {}, 'Parks again what this run sent, failed again and waits on a rung now. What is in its work queue, was ' +
    'consumed, or is parked again already, is left as it is.'), found, field('Work queue', queue, 'needed where the daemon does not remember the run')], 'Park it again',
  () => begin('parked/undo', {run: run.id, ...(queue.value ? {queue: queue.value} : {})}));
  go.disabled = true;
  try {
    const result = await look('parked/undo', {run: run.id, dry_run: true, ...(queue.value ? {queue: queue.value} : {})});
    // A dry run has done nothing: what it would take back is what it selected.
    const waiting = sum((result.rungs ?? []).map(rung => rung.selected));
    const unseen = result.ok ? [] : result.not_seen ?? [];
    const nothing = unseen.length ? 'It is not known whether anything of it waits on a rung: ' : 'Nothing of it waits on a rung: there is nothing to take back.';
    say(found, (waiting ? counted(waiting, 'message waits', 'messages wait') + ' on a rung and can be taken back.' + (unseen.length ? ' Not seen: ' : '') : nothing) + unseen.map(plain).join('; '));
    go.disabled = !waiting;
  } catch (error) {
    say(found, plain(error.message));
    go.disabled = false;
  }
}

function askWaiting(rung, action) {
  const send = action === 'send';
  const queue = make('input', {type: 'text', autocomplete: 'off', spellcheck: 'false'});
  const first = make('input', {type: 'number', min: '1', step: '1'});
  const rate = make('input', {type: 'text', inputmode: 'numeric', value: '50', pattern: '[1-9][0-9]*|unlimited'});
  const what = counted(rung.messages, 'message', 'messages') + ' on ' + named(rung.rung);
  openDialog((send ? 'Send home ' : 'Park ') + what, [
    make('p', {}, send ? 'They go back to their work queues now, before their time is over. Their attempts stay counted.' : 'They are parked now instead of being tried again; a replay brings them back.'),
    ...(rung.work_queue === undefined ? [field('Only of this work queue', queue, 'empty: of all that wait here')] : []),
    field('Only the first', first, 'empty: all of them'), ...(send ? [field('Messages a second', rate, 'a number, or unlimited')] : [])], send ? 'Send home' : 'Park', () => {
    const body = {from: rung.rung};
    if (queue.value) body.queue = queue.value;
    if (first.value) body.first = Number(first.value); else body.all = true;
    if (send) body.rate = /^[0-9]+$/.test(rate.value) ? Number(rate.value) : rate.value;
    return begin('waiting/' + action, body);
  });
}
