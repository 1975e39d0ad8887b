
// ---- The desk: signing in, and asking under /api/ ----

let session = null;        // {signed_in, csrf, expires_at, …}; null until it is known
let sessionEnds = 0;       // by this machine's clock

class DeskError extends Error {
  constructor(text, code, status) {
    super(text);
    Object.assign(this, {code, status});
  }
}

// A whole number that this language would round stays the text that it came as, and is sent so again (JSON.rawJSON).
function exactly(_, value, context) {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !Number.isInteger(value)) return value;
  return context?.source && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
}

async function request(method, path, body) {
  const headers = {};
  if (method !== 'GET') headers['Content-Type'] = 'application/json';
  if (method !== 'GET' && session?.csrf) headers['X-Retryd-Csrf'] = session.csrf;
  let response, answer;
  try {
    response = await fetch('api/' + path, {method, headers, body: body && JSON.stringify(body), cache: 'no-store', signal: AbortSignal.timeout(30000)});
    answer = JSON.parse(await response.text(), exactly);
  } catch (error) {
    throw new DeskError(error.name === 'TimeoutError' ? 'No answer within 30 s. What was asked may be done all the same: see the runs.' :
      response ? 'The answer cannot be read (' + response.status + ').' : 'Nothing answers: is the daemon running? What was asked may be done all the same: see the runs.', 'silent', 0);
  }
  if (!response.ok) throw new DeskError(answer.error ?? 'It answers with status ' + response.status, answer.code ?? '', response.status);
  return answer;
}

// What all but the sign-in ask with: knows what the end of a session is, and renews a token that is not ours any more.
async function api(method, path, body) {
  try {
    return await request(method, path, body);
  } catch (error) {
    if (error.code === 'not_signed_in') endSession('Your session is over: its time ran out, it was signed out, or the password was changed. ' +
      'Nothing that runs was stopped. Sign in to go on where you are.');
    if (error.code !== 'csrf') throw error;
    keepSession(await request('GET', 'session'));
    return request(method, path, body);
  }
}

function keepSession(answer) {
  session = answer;
  sessionEnds = answer.signed_in ? Date.now() + (answer.expires_in ?? 0) * 1000 : 0;
  showDesk();
}

function endSession(why) {
  const was = session?.signed_in;
  session = {signed_in: false};
  showDesk();
  if (was) signIn(why);
}

const signedIn = () => session?.signed_in === true;

// The sign-in may come over a dialog that somebody types in: that one is shown again, as it was, when the sign-in is closed.
function laidAside(dialog) {
  if (!dialog.open || dialog.querySelector('#password')) return null;
  const [form] = dialog.children;
  const {onclose} = dialog;
  return () => {
    dialog.onclose = onclose;
    dialog.replaceChildren(form);
    dialog.setAttribute('aria-labelledby', 'ask-title');
    dialog.showModal();
  };
}

// A dialog with a form: `fields` are its elements, `submit` does what was asked for, or throws what is shown.
function openDialog(title, fields, label, submit, {danger = false} = {}) {
  const dialog = $('ask');
  const opener = document.activeElement;
  const beneath = laidAside(dialog);
  const fault = make('p', {class: 'fault-text', role: 'alert'});
  const go = make('button', {type: 'submit', class: danger ? 'danger' : 'primary'}, label);
  const cancel = make('button', {type: 'button'}, 'Cancel');
  const form = make('form', {}, make('h2', {id: 'ask-title'}, title), ...fields, fault, make('div', {class: 'actions'}, go, cancel));
  cancel.addEventListener('click', () => dialog.close());
  form.addEventListener('submit', async event => {
    event.preventDefault();
    go.disabled = true;
    say(fault, '');
    try {
      await submit(form);
      if (form.isConnected) dialog.close();   // else another one lies over it
    } catch (error) {
      say(fault, plain(error.message));
      go.disabled = false;
      form.querySelector('input:not([type=checkbox], [hidden])')?.focus();
    }
  });
  dialog.onclose = () => {
    if (dialog.open) return;   // the browser tells late that it was closed: another one is shown by now
    dialog.removeAttribute('aria-labelledby');
    dialog.replaceChildren();   // a password does not stay
    beneath?.();
    // What was pressed may be gone by now, and the other one there in its place.
    const heir = !opener?.isConnected || opener.checkVisibility() ? opener : opener.parentNode.querySelector('button:not([hidden])');
    heir?.isConnected && heir.focus();
    if (stale && !dialog.open) { stale = false; refresh(); }
  };
  dialog.replaceChildren(form);
  dialog.setAttribute('aria-labelledby', 'ask-title');
  if (!dialog.open) dialog.showModal();
  form.querySelector('input:not([hidden]), textarea, select')?.focus();
  return {form, go};
}

function signIn(why = '') {
  const password = make('input', {type: 'password', id: 'password', autocomplete: 'current-password', required: ''});
  // Password managers, and readers of the screen, want a name: there is one for all.
  const name = make('input', {type: 'text', autocomplete: 'username', value: 'retryd', hidden: ''});
  const fields = [name, make('p', {}, why || 'Whoever signs in may read the messages that are parked, and send, change or delete them.'),
    make('p', {class: 'field'}, make('label', {for: 'password'}, 'Password of the desk'), password)];
  openDialog('Sign in', fields, 'Sign in', async () => {
    try {
      keepSession(await request('POST', 'session', {password: password.value}));
    } catch (error) {
      password.value = '';
      throw error;
    }
    refresh();
    followRuns();
  });
}

async function signOut() {
  try {
    await api('DELETE', 'session');
  } catch (error) {
    if (error.code !== 'not_signed_in') return deskFault(error);
  }
  session = {signed_in: false};
  location.hash = '#/';
  showDesk();
  $('sign').focus();
}

// Posts a look and waits for what it found. `told` is called with the run meanwhile.
async function look(path, body, told = () => {}) {
  let run = await api('POST', path, body);
  while (!run.ended_at) {
    told(run);
    await new Promise(resolve => setTimeout(resolve, 300));
    run = await api('GET', 'runs/' + run.id);
  }
  if (!run.result) throw new DeskError(run.error || 'It ended without a result.', 'failed', 0);
  return run.result;
}
