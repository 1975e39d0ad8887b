
// ---- What is parked: by groups, and as a list ----

const filterKeys = {queue: 'Work queue', reason: 'Reason', type: 'Type', exchange: 'Exchange', header: 'Header', id: 'Message-id', older_than: 'Older than', newer_than: 'Newer than', from: 'Parking queue'};
const hints = {queue: 'name or glob', reason: 'name or glob', type: 'name or glob', exchange: 'name', header: 'name=value', id: 'exactly', older_than: '30m, 2h, 1d', newer_than: '30m, 2h, 1d', from: 'all'};
const groupings = {'': 'work queue and reason', queue: 'work queue', reason: 'reason', type: 'type', exchange: 'exchange'};

// A selection in the place of the page, and back. Only what the API knows.
function selectionOf(parameters) {
  const selection = {};
  for (const key of Object.keys(filterKeys)) if (key !== 'header' && parameters.get(key)) selection[key] = parameters.get(key);
  const headers = parameters.getAll('header').filter(text => text.includes('='));
  if (headers.length) selection.headers = headers.map(text => ({name: text.slice(0, text.indexOf('=')), value: text.slice(text.indexOf('=') + 1)}));
  return selection;
}

function placeOf(name, selection, more = {}) {
  const parameters = new URLSearchParams(more);
  for (const [key, value] of Object.entries(selection)) {
    if (key === 'headers') for (const header of value) parameters.append('header', header.name + '=' + header.value);
    else if (key in filterKeys) parameters.set(key, value);
  }
  const text = parameters.toString();
  return '#/' + name + (text ? '?' + text : '');
}

function filterForm(parameters, open) {
  const form = make('form', {class: 'filter', role: 'search', 'aria-label': 'Parked messages'});
  const inputs = {};
  for (const [key, label] of Object.entries(filterKeys)) {
    inputs[key] = make('input', {type: 'text', name: key, id: 'filter-' + key, autocomplete: 'off', spellcheck: 'false', placeholder: hints[key]});
    inputs[key].value = parameters.get(key) ?? '';
  }
  const by = make('select', {id: 'filter-by'}, ...Object.entries(groupings).map(([value, text]) => make('option', {value}, text)), make('option', {value: '*'}, 'a header …'));
  const given = parameters.get('by') ?? '';
  const header = make('input', {type: 'text', id: 'filter-by-header', autocomplete: 'off', spellcheck: 'false', placeholder: 'name of the header', 'aria-label': 'Header to group by'});
  by.value = given in groupings ? given : '*';
  if (by.value === '*') header.value = given;
  header.hidden = by.value !== '*';
  by.addEventListener('change', () => {
    header.hidden = by.value !== '*';
    if (header.hidden) form.requestSubmit(); else header.focus();
  });
  const few = ['queue', 'reason'];
  const one = key => make('p', {class: 'field'}, make('label', {for: inputs[key].id}, filterKeys[key]), inputs[key]);
  const more = make('details', {}, make('summary', {}, 'More filters'), make('div', {class: 'fields'}, ...Object.keys(filterKeys).filter(key => !few.includes(key)).map(one)));
  more.open = Object.keys(filterKeys).some(key => !few.includes(key) && inputs[key].value);
  form.append(make('div', {class: 'fields'}, ...few.map(one), ...(open === 'parked' ? [make('p', {class: 'field'}, make('label', {for: 'filter-by'}, 'Groups by'), by, header)] : []),
    make('button', {type: 'submit', class: 'primary'}, 'Show')), more);
  form.addEventListener('submit', event => {
    event.preventDefault();
    const wanted = new URLSearchParams();
    for (const [key, input] of Object.entries(inputs)) if (input.value) wanted.set(key, input.value);
    const grouping = by.value === '*' ? header.value : by.value;
    if (open === 'parked' && grouping) wanted.set('by', grouping);
    const place = '#/' + open + (wanted.size ? '?' + wanted : '');
    if (location.hash === place) reload(); else location.hash = place;
  });
  return form;
}

// A text of the API's, which may be bytes.
function textIn(object, key) {
  if (object[key] !== undefined && object[key] !== null) return named(object[key]);
  if (object[key + '_base64'] !== undefined) return 'bytes ' + plain(object[key + '_base64']);
  return '';
}

const when = time => time ? plain(time).replace('T', ' ').replace(/(\.\d+)?Z$/, '') : '–';
const aged = time => time && !Number.isNaN(Date.parse(time)) ? span(Date.now() - Date.parse(time)) : '–';

function bytes(n) {
  return n === undefined || n === null ? '–' : n < 1000 ? number(n) + ' B' : n < 1e6 ? (n / 1000).toFixed(1) + ' kB' : (n / 1e6).toFixed(1) + ' MB';
}

function button(text, act, kind = '', label = '') {
  const made = make('button', {type: 'button', class: kind}, text);
  if (label) made.setAttribute('aria-label', label);
  made.addEventListener('click', act);
  return made;
}

// Cells become lines of their own on a phone, each with the head of its column before it.
function table(caption, heads, rows, kind = '') {
  const head = make('tr', {}, ...heads.map(([text, number]) => make('th', {scope: 'col', class: number ? 'number' : ''}, text)));
  const body = rows.map(({cells, ...rest}) => {
    const row = make('tr', rest, ...cells.map((content, i) => {
      const cell = make('td', {class: heads[i][1] ? 'number' : ''});
      cell.append(content);
      if (heads[i][0]) cell.dataset.head = heads[i][0];
      return cell;
    }));
    return row;
  });
  return make('table', {class: 'list ' + kind}, make('caption', {class: 'unseen'}, caption), make('thead', {}, head), make('tbody', {}, ...body));
}

// A column of boxes to choose rows with, and what can be done with those that are chosen.
function chooser(rows, bar) {
  const chosen = () => rows.filter(row => row.box.checked);
  const all = make('input', {type: 'checkbox', 'aria-label': 'Choose all that are shown'});
  all.addEventListener('change', () => { for (const row of rows) if (!row.box.disabled) row.box.checked = all.checked; told(); });
  const told = () => {
    all.checked = rows.length > 0 && chosen().length === rows.filter(row => !row.box.disabled).length;
    all.indeterminate = !all.checked && chosen().length > 0;
    bar(chosen());
  };
  for (const row of rows) row.box.addEventListener('change', told);
  return {all, told};
}

// `counts`: of each selection its own; null where they are to be counted before anything is deleted.
function manyOf(selections, counts, what) {
  return {bodies: selections, counts, what: what ?? (counts === null ? 'all that fit' : counted(sum(counts), 'message', 'messages'))};
}

// A deletion takes those that cannot be handed over as well, and no group counts them: then the daemon has to say how many.
const countsAll = result => !(result.queues ?? []).some(queue => queue.undeliverable?.length);

const isEmpty = selection => Object.keys(selection).length === 0;
const whole = selection => isEmpty(selection) ? {all: true} : selection;

// A selection of which all parts have to hold: where both name a thing, the group's is the narrower one.
const both = (selection, group) => ({...selection, ...group, ...(selection.headers && group.headers ? {headers: [...selection.headers, ...group.headers]} : {})});

function actionBar() {
  const words = make('span', {class: 'soft'});
  const replay = make('button', {type: 'button', class: 'primary'}, 'Replay …');
  const drop = make('button', {type: 'button', class: 'danger'}, 'Delete …');
  const bar = make('div', {class: 'bar', role: 'group', 'aria-label': 'With what is chosen'}, words, replay, drop);
  let now = null;
  replay.addEventListener('click', () => now && askReplay(now));
  drop.addEventListener('click', () => now && askDrop(now));
  return {bar, set(text, many) {
    now = many;
    say(words, text);
    replay.disabled = drop.disabled = !many;
  }};
}

function troubles(result) {
  const texts = [...(result.queues ?? []).filter(queue => queue.fault).map(queue => named(queue.queue) + ': ' + plain(queue.fault)), ...(result.not_seen ?? []).map(plain)];
  return texts.length ? [make('ul', {class: 'notes'}, ...texts.map(text => make('li', {}, text)))] : [];
}

function groupName(group, by) {
  if (!by) return [textIn(group, 'work_queue') || '(no work queue)', textIn(group, 'reason') || '(no reason)'];
  if (group.others) return ['(all further values)'];
  return [textIn(group, 'value') || (group.value === '' ? '(empty)' : '(none)')];
}

async function viewGroups(parameters, told) {
  const selection = selectionOf(parameters);
  const by = parameters.get('by') ?? '';
  const result = await look('parked/groups', {...selection, ...(by ? {by} : {})}, told);
  const rows = [];
  for (const queue of result.queues ?? []) for (const group of queue.groups ?? []) rows.push({group, queue: queue.queue});
  rows.sort((a, b) => (b.group.messages ?? 0) - (a.group.messages ?? 0));
  const heads = [[''], ...(by ? [[groupings[by] ? groupings[by].replace(/^./, c => c.toUpperCase()) : 'Header ' + named(by)]] : [['Work queue'], ['Reason']]),
    ['Messages', true], ['Oldest', true], ['Newest', true], ['Size', true], ['Replayed before', true], ['Parked in']];
  for (const row of rows) {
    const {group} = row;
    const names = groupName(group, by);
    row.selection = group.select ? both(selection, group.select) : null;
    row.box = make('input', {type: 'checkbox', 'aria-label': 'Choose ' + names.join(', ') + ' in ' + named(row.queue)});
    row.box.disabled = !row.selection;
    const opens = text => row.selection ? make('a', {href: placeOf('list', row.selection), class: 'name'}, text) : make('span', {class: 'name', title: 'cannot be selected by this'}, text);
    row.cells = [row.box, opens(names[0]), ...names.slice(1).map(text => make('code', {}, text)), number(group.messages), aged(group.oldest), aged(group.newest), bytes(group.bytes), number(group.replayed_before),
      make('code', {}, named(row.queue))];
  }
  const bar = actionBar();
  const {all, told: choose} = chooser(rows, chosen => {
    const count = sum(chosen.map(row => row.group.messages));
    if (chosen.length) bar.set(counted(count, 'message', 'messages') + ' in ' + counted(chosen.length, 'group', 'groups') + ' chosen', manyOf(chosen.map(row => row.selection),
      countsAll(result) ? chosen.map(row => row.group.messages) : null, countsAll(result) ? undefined : 'all of ' + counted(chosen.length, 'group', 'groups')));
    else bar.set(`Nothing chosen: all ${number(result.selected)} that fit`, result.selected || !countsAll(result) ? manyOf([whole(selection)], countsAll(result) ? [result.selected] : null) : null);
  });
  const shown = table('Groups of parked messages', heads, rows.map(row => ({cells: row.cells})), 'groups');
  shown.querySelector('th').append(all);
  choose();
  const links = make('p', {}, make('a', {href: placeOf('list', selection)}, 'Show the messages one by one'));
  return {title: 'Parked messages: ' + counted(result.selected ?? 0, 'message', 'messages') + ', ' + counted(rows.length, 'group', 'groups'),
    elements: [filterForm(parameters, 'parked'), ...troubles(result), ...(rows.length ? [bar.bar, make('div', {class: 'wide'}, shown), links] : [make('p', {}, isEmpty(selection) ? 'Nothing is parked.' : 'Nothing that is parked fits.')])]};
}

const pageSize = 100;

async function viewList(parameters, told) {
  const selection = selectionOf(parameters);
  const after = Number(parameters.get('after')) || 0;
  const result = await look('parked/messages', {...selection, ...(after ? {after} : {}), limit: pageSize}, told);
  const rows = (result.messages ?? []).map(message => ({message}));
  const heads = [[''], ['Parked'], ['Work queue'], ['Reason'], ['Type or id'], ['Attempts', true], ['Size', true], ['Replayed']];
  for (const row of rows) {
    const m = row.message;
    row.box = make('input', {type: 'checkbox', 'aria-label': 'Choose message ' + number(m.number) + ' of ' + textIn(m, 'work_queue')});
    const open = make('a', {href: messagePlace(m.parking_queue, m.handle)}, when(m.parked_at));
    const what = [textIn(m, 'type'), textIn(m, 'message_id')].filter(Boolean).join(' · ');
    row.cells = [row.box, open, make('span', {class: 'name'}, textIn(m, 'work_queue')), make('code', {}, textIn(m, 'reason')), make('code', {}, what || '–'), number(m.attempts), bytes(m.bytes), m.replayed_before ? 'yes' : 'no'];
  }
  const bar = actionBar();
  const {all, told: choose} = chooser(rows, chosen => {
    const places = new Map();
    for (const {message} of chosen) places.set(message.parking_queue, [...(places.get(message.parking_queue) ?? []), message.handle]);
    const bodies = [...places].map(([from, messages]) => ({from, messages}));
    if (chosen.length) bar.set(counted(chosen.length, 'message', 'messages') + ' chosen', manyOf(bodies, bodies.map(body => body.messages.length)));
    else bar.set('Nothing chosen: all that fit', rows.length ? manyOf([whole(selection)], after || result.more || !countsAll(result) ? null : [result.selected ?? rows.length]) : null);
  });
  const shown = table('Parked messages', heads, rows.map(row => ({cells: row.cells})), 'messages');
  shown.querySelector('th').append(all);
  choose();
  const pages = make('p', {class: 'pages'});
  if (after) pages.append(make('a', {href: placeOf('list', selection)}, 'From the beginning'), ' ');
  if (result.more) pages.append(make('a', {href: placeOf('list', selection, {after: String(rows.at(-1)?.message.number ?? after)})}, 'Next ' + pageSize), ' ');
  pages.append(make('a', {href: placeOf('parked', selection)}, 'As groups'));
  const range = rows.length ? `, number ${number(rows[0].message.number)} to ${number(rows.at(-1).message.number)}` : '';
  return {title: 'Messages' + range, elements: [filterForm(parameters, 'list'), ...troubles(result), ...(rows.length ? [bar.bar, make('div', {class: 'wide'}, shown)] : [make('p', {}, 'Nothing that is parked fits.')]), pages]};
}

async function viewWaiting(parameters, told) {
  const queue = parameters.get('queue');
  const result = await look('waiting/list', queue ? {queue} : {}, told);
  const rungs = (result.rungs ?? []).filter(rung => rung.messages !== 0);  // null: not known
  const heads = [['Rung'], ['Of'], ['Delay', true], ['Messages', true], ['']];
  const rows = rungs.map(rung => {
    const name = named(rung.rung);
    return {cells: [make('span', {class: 'name'}, name), make('span', {class: 'name'}, rung.work_queue !== undefined ? named(rung.work_queue) : 'ladder ' + named(rung.ladder)), span(rung.delay_ms), number(rung.messages),
      rung.messages === null ? '' : make('div', {class: 'actions'}, button('Send home …', () => askWaiting(rung, 'send'), '', 'Send home: ' + name), button('Park …', () => askWaiting(rung, 'park'), '', 'Park: ' + name))]};
  });
  const list = make('ul', {class: 'held'});
  showHeldIn(list);
  return {title: 'Waiting on rungs: ' + (rungs.some(rung => rung.messages === null) ? 'at least ' : '') + counted(sum(rungs.map(rung => rung.messages)), 'message', 'messages'),
    elements: [...troubles(result), rows.length ? make('div', {class: 'wide'}, table('Rungs', heads, rows)) : make('p', {}, 'Nothing waits on a rung.'),
      make('h3', {}, 'Held'), list, make('p', {class: 'soft'}, 'What is held goes home by itself when its outage is over, or when it is released.')]};
}
