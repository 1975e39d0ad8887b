
// ---- Hold and Release: where they are offered, and what they ask before ----

const outageOf = queue => (status.outages ?? []).find(outage => outage.work_queue === queue);
const byDesk = outage => outage?.desk_since !== undefined && outage.desk_since !== null;
// That one lasts until the entry is another one.
const byEntry = outage => Boolean(outage?.by_hand) && !byDesk(outage);

// Of a queue that is not named there nothing is known: the daemon says it.
const mayHold = work => (status.queues.find(queue => queue.work_queue === work) ?? {may_hold: true}).may_hold === true;

// For who is signed in. `work`: the queue.
function newHoldButtons(work) {
  return make('div', {class: 'actions needs-desk'}, button('Hold …', () => askHold(work), '', 'Hold: ' + named(work)), button('Release …', () => askRelease(work), '', 'Release: ' + named(work)));
}

function showHoldButtons({children: [hold, release]}, work, outage) {
  hold.hidden = !mayHold(work) || byDesk(outage) || byEntry(outage);
  release.hidden = !outage || byEntry(outage) || !(outage.state === 'holding' || (outage.state === 'none' && outage.messages > 0));
}

function howItEnds(outage) {
  if (byEntry(outage)) return 'Its entry says hold: true. To release it, take that out and reload.';
  if (byDesk(outage)) return 'Until it is released here. A restart of retryd forgets it.';
  return '';
}

// The list of what is held, on the status and beside what waits.
function showHeldIn(list) {
  keep(list, held(), outage => outage.work_queue,
    outage => make('li', {}, make('span'), make('small'), make('small'), newHoldButtons(outage.work_queue)),
    (item, outage) => {
      const [text, where, end, buttons] = item.children;
      say(text, named(outage.work_queue) + ': ' + plain(outage.text));
      say(where, (outage.state === 'releasing' ? 'They go home from ' : 'They cost no attempt, and are in ') + named(outage.queue));
      say(end, howItEnds(outage));
      showHoldButtons(buttons, outage.work_queue, outage);
    });
}

function showHold(bar, queue) {
  const outage = outageOf(queue.work_queue);
  const [text, buttons] = bar.children;
  say(text, [plain(outage?.text), howItEnds(outage)].filter(Boolean).join('. '));
  showHoldButtons(buttons, queue.work_queue, outage);
}

// What was asked for is done, or refused, before the dialog is closed, and the page shows it.
async function holdOrRelease(action, work) {
  const run = await ended(await begin('queue/' + action, {queue: work}));
  await ask();
  if (run.error) throw new DeskError(run.error, 'failed', 0);
}

function askHold(work) {
  const outage = outageOf(work);
  openDialog('Hold ' + named(work), [
    make('p', {}, `What fails in ${named(work)} from now on is held${outage ? ' in ' + named(outage.queue) : ''}, its attempt unspent. New messages go to its consumers as always. ` +
      'Nothing is sent home to try whether it works again: that lasts until somebody releases it here.'),
    make('p', {}, 'A restart of retryd forgets it. What is held is then tried one by one, and goes home once two have succeeded. For a hold that stays, write hold: true into its entry.'),
    make('p', {class: 'soft'}, 'Only this retryd knows of it. Where several consume one error queue, hold it at each.')],
  'Hold', () => holdOrRelease('hold', work));
}

function askRelease(work) {
  const kept = outageOf(work)?.messages;
  openDialog('Release ' + named(work), [
    make('p', {}, (kept ? counted(kept, 'held message goes', 'held messages go') : 'What is held goes') + ` home to ${named(work)} now, in order, at the rate of release in its entry. No probe is waited for.`),
    make('p', {}, 'What fails again spends an attempt. If nearly all of it fails, retryd holds it again by itself.')],
  'Release', () => holdOrRelease('release', work));
}
