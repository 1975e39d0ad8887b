// ---- Asking, and showing what came ----

function show() {
  showVerdict();
  showAge();
  if (!status) return;
  showFailing();
  showFaults();
  showOutages();
  showFlow();
  showParked();
  showRates();
  showQueues();
  showFacts();
  showDesk();
}

async function fetchStatus() {
  const response = await fetch('status.json', {cache: 'no-store', signal: AbortSignal.timeout(patience)});
  if (!response.ok) throw new RangeError('It answers with status ' + response.status + '.');
  const answer = await response.json();
  if (!answer?.queues) throw new SyntaxError();
  return answer;
}

function whyNothing(error) {
  if (error.name === 'TimeoutError') return 'No answer within ' + span(patience) + '.';
  if (error instanceof RangeError) return error.message;
  if (error instanceof SyntaxError) return 'What answers at ' + location.host + ' is not retryd.';
  return 'Nothing answers at ' + location.host + '.';
}

async function ask() {
  try {
    status = await fetchStatus();
    cameAt = Date.now();
    silence = '';
  } catch (error) {
    silence = whyNothing(error);
  }
  show();
}

let timer = 0;
async function turn() {
  clearTimeout(timer);
  if (document.hidden) return;       // asked again when somebody looks
  await ask();
  clearTimeout(timer);
  timer = setTimeout(turn, pause);
}

document.addEventListener('visibilitychange', turn);
narrow.addEventListener('change', () => { if (status) showFlow(); });
$('filter').addEventListener('input', () => {
  shown = cardsAtOnce;
  if ($('filter').value.trim()) $('rest').open = true;   // whoever looks for a name wants to see it
  if (status) showQueues();
});
$('more').addEventListener('click', () => { shown += cardsAtOnce; showQueues(); });
$('rest').addEventListener('toggle', () => { if (status) showQueues(); });
setInterval(() => {
  showAge();
  if (status) showFailing();   // the time until the next retry runs
}, 1000);
document.addEventListener('visibilitychange', askForDay);
setInterval(askForDay, 60000);
askForDay();
turn();
addEventListener('hashchange', () => route(true));
