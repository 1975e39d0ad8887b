// What the scripts of the page share: names as text, elements that stay, numbers and times in words.

const $ = id => document.getElementById(id);

// ---- Building blocks. Names come from brokers: they only ever become text. ----

// What steers a terminal, turns the reading direction or cannot be seen is shown as its number: the list and the spelling of
// core/safe_text.h. Two unseen characters belong to emoji.
const picture = '[\\u2190-\\u2bff\\u{1f000}-\\u{1faff}]';
const unsafe = new RegExp('[\\0-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200c\\u200e\\u200f' +
  '\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0e\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}' +
  `\\u{e0000}-\\u{e0fff}]|(?<!${picture})\\ufe0f|(?<!${picture}\\ufe0f?)\\u200d|\\u200d(?!${picture})`, 'gu');
function escape(c) {
  const code = c.codePointAt(0);
  const [prefix, width] = code < 0x80 ? ['\\x', 2] : code < 0x10000 ? ['\\u', 4] : ['\\U', 8];
  return prefix + code.toString(16).padStart(width, '0');
}
// As a part of the page's own address; half of a pair of surrogates cannot be one.
const inAddress = name => encodeURIComponent(String(name).toWellFormed?.() ?? name);
const plain = text => String(text ?? '').replace(unsafe, escape);
// A name alone: unambiguous.
const named = name => plain(String(name ?? '').replaceAll('\\', '\\\\'));

// Sets only what differs: a reader's place, a selection and a focus stay where they are.
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
  return element;
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function draw(tag, attributes = {}, text = '') {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}

// One child of `parent` for each item, in their order, the same element for the same key. While the hand is on the list
// nothing changes places.
function keep(parent, items, keyOf, create, update) {
  const old = parent.kept ?? new Map();
  const now = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const element = old.get(key) ?? create(item);
    update(element, item);
    now.set(key, element);
  }
  for (const [key, element] of old) if (!now.has(key)) element.remove();
  const held = parent.matches(':hover, :focus-within') && [...now.values()].every(e => e.parentNode === parent);
  if (!held) [...now.values()].forEach((e, i) => { if (parent.children[i] !== e) parent.insertBefore(e, parent.children[i] ?? null); });
  parent.kept = now;
}

// ---- Numbers and times in words ----

const number = n => n === null || n === undefined ? '–' : Math.round(n).toLocaleString('en');
const counted = (n, one, many) => number(n) + ' ' + (n === 1 ? one : many);
const sum = list => list.reduce((total, n) => total + (n ?? 0), 0);

function rate(n) {
  return n === 0 ? '0' : n < 10 ? n.toFixed(1) : number(n);
}

function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 100) return s + ' s';
  if (s < 6000) return Math.round(s / 60) + ' min';
  return s < 172800 ? Math.round(s / 3600) + ' h' : Math.round(s / 86400) + ' days';
}
