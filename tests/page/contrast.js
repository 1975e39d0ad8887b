// Each visible text against the first background behind it that is not transparent: WCAG 2's contrast ratio, AA.
function channels(colour) {
  const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
  return {r, g, b, a};
}
function luminance({r, g, b}) {
  const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}
function ratio(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
function behind(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = channels(getComputedStyle(at).backgroundColor);
    if (colour.a > 0) return colour;
  }
  return {r: 255, g: 255, b: 255, a: 1};
}
// Opacity counts: the background is mixed into the colour.
function faded(colour, back, element) {
  let share = 1;
  for (let at = element; at; at = at.parentElement) share *= Number(getComputedStyle(at).opacity);
  const mix = name => colour[name] * share + back[name] * (1 - share);
  return {r: mix('r'), g: mix('g'), b: mix('b')};
}
const poor = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || element.closest('script, style, noscript, .unseen, .skip') || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  const ink = channels(element instanceof SVGElement ? style.fill : style.color);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const back = behind(element);
  const found = ratio(faded(ink, back, element), back);
  if (found < (large ? 3 : 4.5)) poor.push(`'${text.slice(0, 40)}': ${found.toFixed(2)}`);
}
return poor;
