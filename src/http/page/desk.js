
// ---- Which view: the place of the page (#/…) says it ----

function where() {
  const hash = location.hash.startsWith('#/') ? location.hash.slice(2) : '';
  const [path, query = ''] = hash.split(/\?(.*)/s);
  const [name, ...parts] = path.split('/').map(part => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
  const known = ['parked', 'list', 'message', 'waiting', 'runs', 'queue'];
  return {name: known.includes(name) && (name !== 'queue' || parts.length) ? name : 'status', parts, parameters: new URLSearchParams(query)};
}

let viewed = 0;            // counts views: what an older one found is not shown any more

function deskFault(error) {
  if (error.code === 'not_signed_in') return;
  say($('desk-error'), plain(error.message));
}

function toldOf(run) {
  say($('desk-busy'), (progressWords({...run.progress, queue: ''}) || 'Looking') + ' …');
}

async function showView(place) {
  const view = ++viewed;
  const current = () => view === viewed;
  say($('desk-error'), '');
  say($('desk-busy'), 'Looking …');
  $('desk').setAttribute('aria-busy', 'true');
  try {
    const {parameters, parts} = place;
    const told = run => { if (current()) toldOf(run); };
    const found = place.name === 'parked' ? await viewGroups(parameters, told) : place.name === 'list' ? await viewList(parameters, told) :
      place.name === 'waiting' ? await viewWaiting(parameters, told) : place.name === 'message' ? await viewMessage(parts[0] ?? '', parts[1] ?? '', told) : {title: 'Runs', elements: []};
    if (!current()) return;
    say($('desk-title'), found.title);
    $('desk-view').replaceChildren(...found.elements);
  } catch (error) {
    if (!current()) return;
    if (!(error instanceof DeskError)) console.error(error);
    say($('desk-title'), {message: 'A message', runs: 'Runs', waiting: 'Waiting on rungs'}[place.name] ?? 'Parked messages');
    $('desk-view').replaceChildren(...(['parked', 'list'].includes(place.name) ? [filterForm(place.parameters, place.name)] : []));
    deskFault(error);
  } finally {
    if (current()) {
      say($('desk-busy'), '');
      $('desk').removeAttribute('aria-busy');
    }
  }
}

// A link to a queue, for who may sign in and for who may not: its ladder.
function showQueueAt(name) {
  $('filter').value = named(name);
  if (status) showQueues();
  $('queues').scrollIntoView();
  $('queues').focus({preventScroll: true});
}

function route(moved = false) {
  showDesk();
  const place = where();
  if (place.name === 'queue') return showQueueAt(place.parts[0]);
  if (place.name === 'status') return;
  if (!signedIn()) { if (session && !$('ask').open) signIn(); return; }
  if (place.name === 'runs') { viewed++; followRuns(); }
  else showView(place);
  if (moved) (place.name === 'runs' ? $('runs-title') : $('desk-title')).focus();
}

const reload = () => route();

let stale = false;         // the view is to be drawn again when the dialog is closed

// What nobody has clicked for must not take away what somebody types. An editor that was left belongs to another place.
function refresh() {
  if ($('ask').open) { stale = true; return; }
  if (where().name === 'queue') return;   // the status comes by itself
  if ($('desk-view').querySelector('.editor')?.place !== location.hash) route();
}

function showDesk() {
  const there = status?.desk === true;
  if (there && session === null) { session = {signed_in: false, unknown: true}; askForSession(); }
  const place = where();
  const atDesk = there && signedIn() && !['status', 'queue'].includes(place.name);
  $('desk-nav').hidden = !there;
  $('desk').hidden = !atDesk || place.name === 'runs';
  $('status-view').hidden = atDesk;
  document.body.classList.toggle('at-desk', atDesk);
  document.body.classList.toggle('signed-in', there && signedIn());
  $('only-looks').hidden = there && signedIn();
  for (const link of $('desk-nav').querySelectorAll('a')) {
    const name = link.getAttribute('href').slice(2) || 'status';
    link.hidden = !signedIn();
    const here = name === place.name || (name === 'parked' && ['list', 'message'].includes(place.name)) || (name === 'status' && place.name === 'queue');
    if (here) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
  }
  say($('sign'), signedIn() ? 'Sign out' : 'Sign in');
  say($('session'), signedIn() ? 'signed in until ' + new Date(sessionEnds).toLocaleTimeString('sv', {hour: '2-digit', minute: '2-digit'}) : '');
  showRuns();
}

async function askForSession() {
  try {
    keepSession(await request('GET', 'session'));
  } catch {
    session = null;          // asked again with the next status
    return;
  }
  route();
  followRuns();
}

$('sign').addEventListener('click', () => { if (signedIn()) signOut(); else signIn(); });
$('ask').addEventListener('click', event => { if (event.target === $('ask')) $('ask').close(); });
setInterval(() => {
  if (signedIn() && sessionEnds && Date.now() > sessionEnds) endSession('Your session is over: its time ran out. Nothing that runs was stopped. Sign in to go on where you are.');
}, 1000);
