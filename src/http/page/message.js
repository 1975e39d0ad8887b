
// ---- One message: where it has been, its headers, its body. Every byte of it is a stranger's: it only ever becomes text. ----

const messagePlace = (from, handle) => '#/message/' + inAddress(from) + '/' + inAddress(handle);

const decoded = base64 => Uint8Array.from(atob(base64 ?? ''), c => c.charCodeAt(0));

// Lines and tabs stay what they are, all else that is not safe is shown as its number.
const plainLines = text => text.split('\n').map(line => line.split('\t').map(plain).join('\t')).join('\n');

// A value of a header: numbers as they came, tables and arrays as text of JSON.
function valueWords(field) {
  if (field.base64 !== undefined) return 'bytes ' + plain(field.base64);
  if (typeof field.value === 'string') return plainLines(field.value);
  return plain(JSON.stringify(field.value));
}

function pairs(caption, list, tag = 'code') {
  if (!list.length) return make('p', {class: 'soft'}, 'none');
  return make('table', {class: 'pairs'}, make('caption', {class: 'unseen'}, caption),
    make('tbody', {}, ...list.map(([name, value, type]) => make('tr', {}, make('th', {scope: 'row'}, make(tag, {}, name)), make('td', {}, make('span', {class: 'value'}, value), ...(type ? [make('small', {}, ' ' + type)] : []))))));
}

// JSON's numbers as they stand there: a browser's are rounded.
class Exact {
  constructor(source) { this.source = source; }
}

function parsed(text) {
  try {
    const value = JSON.parse(text, (_, value, context) => typeof value === 'number' && context?.source ? new Exact(context.source) : value);
    return {value};
  } catch {
    return null;
  }
}

const atOnce = 500;        // members that are made when a node is opened

function jsonNode(value, name = null, depth = 0) {
  const label = name === null ? [] : [make('span', {class: 'key'}, plain(name) + ': ')];
  if (value === null || typeof value !== 'object' || value instanceof Exact)
    return make('div', {class: 'leaf'}, ...label, make('span', {class: 'value'}, value instanceof Exact ? value.source : typeof value === 'string' ? plain(JSON.stringify(value)) : String(value)));
  const list = Array.isArray(value);
  const members = list ? value.map((item, i) => [String(i), item]) : Object.entries(value);
  const node = make('details', {class: 'node'}, make('summary', {}, ...label, list ? `[ ${counted(members.length, 'item', 'items')} ]` : `{ ${counted(members.length, 'member', 'members')} }`));
  let made = 0;
  const more = () => {
    for (const [key, item] of members.slice(made, made + atOnce)) node.append(jsonNode(item, key, depth + 1));
    made += atOnce;
    if (made < members.length) {
      const rest = button('Show more: ' + number(members.length - made), () => { rest.remove(); more(); });
      node.append(rest);
    }
  };
  node.addEventListener('toggle', () => { if (node.open && !made) more(); });
  if (depth < 2 && members.length <= 50) {
    more();
    node.open = true;
  }
  return node;
}

function hexLines(data, from, to) {
  const lines = [];
  for (let at = from; at < to; at += 16) {
    const row = [...data.subarray(at, Math.min(at + 16, to))];
    lines.push(at.toString(16).padStart(8, '0') + '  ' + row.map(byte => byte.toString(16).padStart(2, '0')).join(' ').padEnd(48) + ' ' +
      row.map(byte => byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.').join(''));
  }
  return lines.join('\n');
}

// Of much text a part is shown, and more when asked for.
function inParts(size, part, textOf) {
  const pre = make('pre', {tabindex: '0', 'aria-label': 'Body'});
  const box = make('div', {}, pre);
  let at = 0;
  const more = () => {
    const to = Math.min(size, at + part);
    pre.append(textOf(at, to));
    at = to;
    if (at < size) {
      const rest = button('Show more: ' + bytes(size - at) + ' left', () => { rest.remove(); pre.append('\n'); more(); });
      box.append(rest);
    }
  };
  more();
  return box;
}

function bodyView(message) {
  const data = decoded(message.body_base64);
  const text = message.body_is_utf8 ? new TextDecoder('utf-8', {ignoreBOM: true}).decode(data) : null;
  const json = text !== null && !message.body_cut && /^\s*[[{"]/.test(text) ? parsed(text) : null;
  const kinds = {...(json ? {JSON: () => make('div', {class: 'json'}, jsonNode(json.value))} : {}),
    ...(text !== null ? {Text: () => inParts(text.length, 65536, (from, to) => plainLines(text.slice(from, to)))} : {}),
    Hex: () => inParts(data.length, 16384, (from, to) => hexLines(data, from, to))};
  const shown = make('div', {id: 'body-shown'});
  const buttons = Object.entries(kinds).map(([name, view]) => button(name, () => {
    for (const each of buttons) each.setAttribute('aria-pressed', String(each.textContent === name));
    shown.replaceChildren(view());
  }));
  const info = make('span', {class: 'soft'}, bytes(message.bytes) + (text === null ? ', not UTF-8' : '') + (message.body_cut ? '; the first ' + bytes(data.length) + ' are shown' : ''));
  if (data.length) buttons[0].click(); else shown.append(make('p', {class: 'soft'}, 'It is empty.'));
  return make('div', {class: 'body'}, make('div', {class: 'choices', role: 'group', 'aria-label': 'How to show the body'}, ...(data.length ? buttons : []), info), shown);
}

function deathsOf(deaths) {
  if (!deaths.length) return make('p', {class: 'soft'}, 'The broker has recorded none.');
  const rows = deaths.map(death => ({cells: [make('span', {class: 'name'}, textIn(death, 'queue')), make('code', {}, textIn(death, 'reason')), number(death.count), when(death.time),
    make('code', {}, (textIn(death, 'exchange') || '(default)') + ' → ' + (death.routing_keys ?? []).map(named).join(', '))]}));
  return make('div', {class: 'wide'}, table('Deaths, the newest first', [['Queue'], ['Reason'], ['Times', true], ['Last'], ['From']], rows));
}

async function viewMessage(from, handle, told) {
  const message = await look('parked/message', {from, message: handle}, told);
  const one = {from, messages: [handle]};
  const many = manyOf([one], [1], 'this message');
  const properties = Object.entries(message.properties ?? {}).map(([name, value]) => [plain(name), typeof value === 'string' ? plain(value) : plain(JSON.stringify(value))]);
  const facts = [['Work queue', textIn(message, 'work_queue') || 'not known'], ['Reason', textIn(message, 'reason')], ['The consumer said', textIn(message, 'verdict_reason')],
    ['Parked', when(message.parked_at) + ' UTC, ' + aged(message.parked_at) + ' ago'], ['First failed', message.first_death ? when(message.first_death) + ' UTC' : ''], ['Attempts', number(message.attempts)],
    ['Parked in', named(message.parking_queue ?? from)], ['Published to', (textIn(message, 'exchange') || '(default)') + ' → ' + textIn(message, 'routing_key')],
    ['Its history', message.proven ? 'written by retryd' : 'not proven to be written by retryd']].filter(([, value]) => value);
  const past = [...(message.replays ?? []).map(replay => [when(replay.time), 'replayed by run ' + plain(replay.run) + (replay.to ? ' to ' + named(replay.to) : '') + (replay.parked_reason ? '; it had been parked as ' + plain(replay.parked_reason) : '')]),
    ...(message.edits ?? []).map(edit => [when(edit.time), 'edited' + (edit.by ? ' by ' + named(edit.by) : '') + ': ' + (edit.fields ?? []).map(plain).join(', ')])].sort(([a], [b]) => (a < b ? 1 : -1));
  const part = (title, ...elements) => [make('h3', {}, title), ...elements];
  return {title: 'A message of ' + (textIn(message, 'work_queue') || named(from)), elements: [
    make('p', {}, make('a', {href: placeOf('list', {from, ...(message.work_queue ? {queue: message.work_queue} : {})})}, 'Back to the list')),
    make('div', {class: 'bar', role: 'group', 'aria-label': 'With this message'}, button('Replay …', () => askReplay(many), 'primary'), button('Edit …', () => showEditor(from, handle, message)), button('Delete …', () => askDrop(many), 'danger')),
    pairs('About this message', facts, 'span'), ...part('Body', bodyView(message)),
    ...part('Headers', pairs('Headers', (message.headers ?? []).map(header => [textIn(header, 'name'), valueWords(header), plain(header.type)]))),
    ...part('Properties', pairs('Properties', properties)), ...part('Deaths', deathsOf(message.deaths ?? [])), ...(past.length ? part('What was done with it', pairs('What was done with it', past)) : [])]};
}
