
// ---- Editing a message: what is changed is sent, and the message goes home ----

const headerTypes = ['longstr', 'long', 'int32', 'boolean', 'double', 'timestamp'];
const textTypes = ['longstr', 'bytes', 'decimal'];
const propertyNames = ['content-type', 'content-encoding', 'correlation-id', 'reply-to', 'expiration', 'message-id', 'type', 'app-id', 'user-id', 'cluster-id', 'priority', 'delivery-mode', 'timestamp'];
const numericProperties = ['priority', 'delivery-mode', 'timestamp'];

// A field for text keeps neither a CR nor a NUL: with one of them the body is edited as base64, so that no byte changes unseen.
const fitsTextField = text => !/[\r\0]/.test(text);

// Numbers stay the text that they are: a browser would round large ones.
const sourceOf = value => typeof value === 'string' ? value : JSON.stringify(value);

// Where a browser cannot keep them exactly (see `exactly`), headers with such numbers are not sent back.
const isRounded = value => typeof value === 'number' ? Number.isInteger(value) && !Number.isSafeInteger(value) :
  value !== null && typeof value === 'object' && Object.values(value).some(isRounded);

function headerRow(field = {name: '', type: 'longstr', value: ''}) {
  const coded = field.base64 !== undefined || field.name === undefined;
  const fixed = coded || typeof field.value === 'object' || (typeof field.value === 'string' && !fitsTextField(field.value));
  const name = make('input', {type: 'text', 'aria-label': 'Name of the header', autocomplete: 'off', spellcheck: 'false', maxlength: '255'});
  const type = make('select', {'aria-label': 'Type of the header'}, ...[...new Set([plain(field.type), ...headerTypes])].map(text => make('option', {value: text}, text)));
  const value = make('textarea', {'aria-label': 'Value of the header', rows: '1', spellcheck: 'false', autocomplete: 'off'});
  name.value = field.name ?? '';
  type.value = plain(field.type);
  value.value = fixed ? valueWords(field) : sourceOf(field.value ?? '');
  const row = make('li', {class: 'header-row'}, name, type, value);
  if (fixed) {
    for (const input of [name, type, value]) input.disabled = true;
    row.append(make('small', {}, 'kept as it is; it can be taken out'));
  }
  row.append(button('Remove', () => {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    (next?.querySelector('button') ?? $('add-header')).focus();
  }, '', 'Remove header ' + textIn(field, 'name')));
  row.read = () => {
    if (fixed) return field;
    const text = value.value;
    if (field.name === name.value && field.type === type.value && sourceOf(field.value ?? '') === text) return field;
    if (!name.value) throw new DeskError('A header has no name.', '', 0);
    if (textTypes.includes(type.value)) return {name: name.value, type: type.value, value: text};
    let read;
    try { read = JSON.parse(text); } catch { throw new DeskError(`Header ${name.value}: ${text} is no ${type.value}.`, '', 0); }
    if (typeof read === 'number' && Number.isInteger(read) && !Number.isSafeInteger(read)) throw new DeskError(`Header ${name.value}: the number is too large for this page; use retryd parked edit.`, '', 0);
    return {name: name.value, type: type.value, value: read};
  };
  return row;
}

function bodyEditor(message) {
  const data = decoded(message.body_base64);
  const text = message.body_is_utf8 ? new TextDecoder('utf-8', {ignoreBOM: true}).decode(data) : null;
  if (message.body_cut) return {elements: [make('p', {}, 'The body is too large to be edited here: it stays as it is. retryd parked edit takes it.')], read: () => ({})};
  const asText = text !== null && fitsTextField(text);
  const area = make('textarea', {id: 'edit-body', rows: '12', spellcheck: 'false', 'aria-label': asText ? 'Body' : 'Body as base64'});
  area.value = asText ? text : message.body_base64;
  const before = area.value;
  return {elements: [...(asText ? [] : [make('p', {class: 'soft'}, 'It is not text that a field can hold exactly, so it is edited as base64.')]), area],
    read: () => area.value === before ? {} : asText ? {body: area.value} : {body_base64: area.value.replace(/\s/g, '')}};
}

function propertiesEditor(properties) {
  const inputs = new Map();
  for (const name of propertyNames) {
    if (properties[name + '_base64'] !== undefined) continue;
    const input = make('input', {type: 'text', autocomplete: 'off', spellcheck: 'false'});
    input.value = properties[name] === undefined ? '' : sourceOf(properties[name]);
    inputs.set(name, {input, before: input.value});
  }
  const read = () => {
    if ([...inputs.values()].every(({input, before}) => input.value === before)) return {};
    const made = {...properties};
    for (const [name, {input, before}] of inputs) {
      if (input.value === before) continue;
      if (input.value === '') { delete made[name]; continue; }
      if (numericProperties.includes(name) && !/^[0-9]{1,15}$/.test(input.value)) throw new DeskError(name + ' has to be a number.', '', 0);
      made[name] = numericProperties.includes(name) ? Number(input.value) : input.value;
    }
    return {properties: made};
  };
  return {elements: [make('details', {}, make('summary', {}, 'Properties'), make('div', {class: 'fields'}, ...[...inputs].map(([name, {input}]) => field(name, input))))], read};
}

function showEditor(from, handle, message) {
  const list = make('ul', {class: 'headers'}, ...(message.editable_headers ?? []).map(headerRow));
  const add = button('Add a header', () => { const row = headerRow(); list.append(row); row.querySelector('input').focus(); });
  add.id = 'add-header';
  const body = bodyEditor(message);
  const properties = propertiesEditor(message.properties ?? {});
  const to = make('input', {type: 'text', autocomplete: 'off', spellcheck: 'false'});
  const fault = make('p', {class: 'fault-text', role: 'alert'});
  const form = make('form', {class: 'editor'}, make('h3', {}, 'Body'), ...body.elements, make('h3', {}, 'Headers'), list, add, ...properties.elements,
    field('To another queue', to, 'empty: to its own work queue'), make('p', {class: 'soft'}, 'The changed message goes home at once, and carries that it was edited and which fields. The one that is parked is deleted when it has arrived.'), fault,
    make('div', {class: 'actions'}, make('button', {type: 'submit', class: 'primary'}, 'Send changed message home'), button('Cancel', () => { reload(); })));
  form.addEventListener('submit', async event => {
    event.preventDefault();
    say(fault, '');
    try {
      const changed = {...body.read(), ...properties.read()};
      const headers = [...list.children].map(row => row.read());
      const before = message.editable_headers ?? [];
      if (headers.length !== before.length || headers.some((header, i) => header !== before[i])) changed.headers = headers;
      if (changed.headers && isRounded(changed.headers)) throw new DeskError('This browser rounds a number in the headers. Use a newer one, or retryd parked edit.', '', 0);
      if (!Object.keys(changed).length && !to.value) throw new DeskError('Nothing is changed. A replay sends it home as it is.', '', 0);
      await begin('parked/edit', {from, message: handle, ...changed, ...(to.value ? {to: to.value} : {})});
      location.hash = placeOf('list', {from});
    } catch (error) {
      say(fault, plain(error.message));
    }
  });
  form.place = location.hash;
  viewed++;                // a view that is still being looked for must not replace the editor
  say($('desk-busy'), '');
  $('desk').removeAttribute('aria-busy');
  say($('desk-title'), 'Edit a message of ' + (textIn(message, 'work_queue') || named(from)));
  $('desk-view').replaceChildren(form);
  $('desk-title').focus();
}
