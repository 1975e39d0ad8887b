// What a checker of accessibility would say first: controls without a name, ids twice, headings that jump, a table without heads.
const faults = [], seen = e => e.checkVisibility({visibilityProperty: true});
const nameOf = e => (e.getAttribute('aria-label') ?? '') + (e.labels ? [...e.labels].map(l => l.textContent).join('') : '') + (e.tagName === 'BUTTON' || e.tagName === 'A' ? e.textContent : '')
    + (e.getAttribute('aria-labelledby') ?? '').split(' ').map(id => document.getElementById(id)?.textContent ?? '').join('');
for (const e of document.querySelectorAll('button, a, input, select, textarea, progress, dialog[open], section, nav, form[role], [role=group]'))
    if (seen(e) && !nameOf(e).trim()) faults.push('no name: ' + e.outerHTML.slice(0, 120));
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
for (const id of new Set(ids)) if (ids.filter(each => each === id).length > 1) faults.push('id twice: ' + id);
for (const e of document.querySelectorAll('[aria-describedby], [aria-labelledby], [for]'))
    for (const name of ['aria-describedby', 'aria-labelledby', 'for'])
        for (const id of (e.getAttribute(name) ?? '').split(' ').filter(Boolean)) if (!ids.includes(id)) faults.push(name + ' leads nowhere: ' + id);
let level = 0;
for (const e of [...document.querySelectorAll('h1, h2, h3, h4')].filter(seen)) {
    if (Number(e.tagName[1]) > level + 1) faults.push('a heading jumps: ' + e.textContent);
    level = Number(e.tagName[1]);
}
for (const e of document.querySelectorAll('table')) if (seen(e) && !e.caption) faults.push('a table without a caption');
for (const e of document.querySelectorAll('button, input, select, summary')) {
    const {width, height} = e.getBoundingClientRect();
    if (seen(e) && !e.closest('.unseen') && (width < 16 || height < 16)) faults.push('too small: ' + e.outerHTML.slice(0, 100));
}
return faults;
