/**
 * NAME      style - the one stylesheet
 *   Tokens, elements without a class, then the parts, in the order in which a later one may overrule an earlier one; what only
 *   some pages have follows (a whole row of the list of mails is the link of its subject; a phone gets three lines a mail), and
 *   print is last. Every colour holds for light and dark; `color-scheme` decides, and `data-theme` where a person chose. Text
 *   has a contrast of 4.5:1 on all three surfaces, what can be operated 3:1. Menus and verbs are <details>: no script needed.
 */
const PAGE_STYLE = `
.live-state { display: inline-flex; align-items: center; gap: var(--s2); margin-inline-start: auto; color: var(--ink-3); font: var(--small) var(--sans); white-space: nowrap; }
.live-state::before { content: ""; width: .5rem; height: .5rem; border: 1.5px solid currentColor; border-radius: 50%; }
.live-state[data-state=live] { color: var(--ok); }
.live-state[data-state=live]::before { background: currentColor; }
.live-state[data-state=wait] { color: var(--wait); }
.live-state button { color: var(--ink); }
.narrow { display: flex; flex-wrap: wrap; align-items: center; gap: 0 var(--s4); margin-bottom: var(--s3); }
.narrow > :is(.filters, .wrong, .fold[open]) { flex: 1 0 100%; }
.narrow > :is(.fold, .chips) { margin-bottom: var(--s2); }
@media (width >= 40rem) { .narrow .filters label > [type=search] { width: 13rem; } .narrow .filters label > input:not([type=search]) { width: 9rem; } }
.head:has(.live-state) > :first-child { flex-basis: 8rem; }
.terms { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); gap: var(--s2) var(--s5); padding: var(--s2) 0 var(--s3); }
.fresh { display: block; width: 100%; margin-bottom: var(--s2); border-color: var(--accent); background: var(--accent-wash); color: var(--accent); }
.mails { table-layout: fixed; }
.mails th, .mails td { white-space: nowrap; }
.mails .tick { width: 2.25rem; }
.mails .c-st { width: 7.75rem; }
.mails .c-to { width: 20%; }
.mails .c-out { width: 22%; }
.mails .c-tag { width: 8rem; }
.mails .c-ws { width: 7rem; }
.mails .c-when { width: 6.5rem; text-align: end; }
.mails td { padding-block: .375rem; }
.mails td:is(.c-out, .c-when, .c-ws), .mails .more { color: var(--ink-3); }
.mails .bad td.c-out { color: var(--bad); }
.mails .wait td.c-out { color: var(--wait); }
.mails td.c-subj a { text-decoration: none; }
.mails tbody tr { position: relative; }
.mails tbody td.c-subj a::after { content: ""; position: absolute; inset: 0; }
.mails .tick { z-index: 1; }
.mails tbody :where(td.tick) { position: relative; }
.mails tr:has(td.c-subj a:focus-visible) { outline: 2px solid var(--accent); outline-offset: -2px; }
.mails td.c-subj a:focus-visible { outline: 0; }
.mails .c-out .ic { display: inline-block; width: .875rem; height: .875rem; margin-inline-end: .375rem; vertical-align: -.2em; }
@media (width < 110rem) { .mails .c-tag { display: none; } }
@media (width < 90rem) { .mails .c-ws { display: none; } }
@media (width < 75rem) { .mails :is(.c-to, .c-out) { width: 18%; } }
@media (width < 70rem) {
  .mails, .mails tbody { display: block; width: auto; margin: 0; }
  .mails thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .mails tbody tr { display: grid; grid-template: "st to when" auto "st subj subj" auto "st out out" auto / 7.5rem minmax(0, 1fr) auto; gap: 0 var(--s3); padding: var(--s2) 0; border-bottom: 1px solid var(--line); }
  .mails tbody tr:has(td.tick) { padding-inline-start: 1.75rem; }
  .t.mails tbody td { width: auto; padding: 0; border: 0; }
  .t.mails tbody td.tick { position: absolute; left: 0; top: .625rem; }
  .mails td.c-st { grid-area: st; width: auto; }
  .mails td.c-to { grid-area: to; width: auto; font-weight: 500; }
  .mails td.c-subj { grid-area: subj; }
  .mails td.c-subj a { color: var(--ink-2); }
  .mails td.c-out { grid-area: out; width: auto; }
  .mails td.c-when { grid-area: when; width: auto; }
  .mails tr:not(.bad, .wait) td.c-out { display: none; }
  .mails td.c-out .one { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; white-space: normal; overflow-wrap: anywhere; }
  .mails tbody tr:hover > * { background: none; }
  .mails tr.new { background: var(--accent-wash); }
}
@media (width < 40rem) {
  .t.mails tbody td.tick { top: .875rem; }
  .head:has(.live-state + .b) > :first-child { flex-basis: 4.75rem; }
  /* while it connects there is nothing to pause, and the line is full */
  .live-state[data-state=wait]:has(+ .b) button { display: none; }
  .live-state + .b { min-height: 1.5rem; padding: 0 var(--s2); border-color: var(--line); font-size: .75rem; line-height: 1.375rem; }
  .narrow > .filters { flex-wrap: nowrap; margin-bottom: var(--s2); }
  .narrow > .filters > label { flex: 1 1 0; min-width: 0; }
  .narrow > .filters > label:has(input) { display: none; }
  .narrow > .filters > label > span { position: absolute; clip-path: inset(50%); }
  .narrow > .filters > label > select { margin: 0; }
  .mails tbody tr { grid-template: "st when" auto "to to" auto "subj subj" auto "out out" auto / minmax(0, 1fr) auto; padding-block: var(--s3); }
}

.verdict { display: grid; grid-template-columns: 1.75rem minmax(0, 1fr); gap: 0 var(--s3); margin-bottom: var(--s5); padding-bottom: var(--s5); border-bottom: 1px solid var(--line); }
.verdict > .ic { width: 1.75rem; height: 1.75rem; }

.verdict > :not(.ic) { grid-column: 2; max-width: 60rem; }
.verdict > p { margin-top: var(--s1); color: var(--ink-2); }
.verdict > .actions { margin-top: var(--s4); }
.mail { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); align-items: start; gap: var(--s6); }
.mail > * { margin: 0; }
.mail > section { position: sticky; top: calc(var(--bar) + var(--s4)); }
.rcpt { padding: var(--s2) 0; border-top: 1px solid var(--line); }
.rcpt:first-of-type { border-top: 0; }
.rcpt > summary { display: grid; grid-template-columns: .5rem minmax(0, 1fr) auto; align-items: baseline; gap: 0 var(--s3); padding: var(--s1) 0; border-radius: var(--r1); }
.rcpt h3 { font-weight: 500; }
.rcpt h3 small { margin-inline-start: var(--s2); color: var(--ink-3); font-size: .75rem; font-weight: 400; }
.rcpt .why { grid-column: 2 / -1; color: var(--ink-2); overflow-wrap: anywhere; }
.tl { padding: var(--s3) 0 var(--s2); }
.tl > li { position: relative; display: grid; grid-template-columns: 6rem 1rem minmax(0, 1fr); gap: 0 var(--s3); padding-bottom: var(--s4); }
.tl > li:last-child { padding-bottom: 0; }
.tl > li:not(:last-child)::before { content: ""; position: absolute; top: 1.375rem; bottom: -.125rem; inset-inline-start: calc(6.5rem + var(--s3)); width: 1px; background: var(--line); }
.tl > li > time, .tl > li > .at { color: var(--ink-3); font: .75rem/1.25rem var(--sans); text-align: end; }
.tl > li > time small, .tl > li > .at small { display: block; font-size: inherit; }
.tl > li > .ic { margin-top: .125rem; }
.tl h4 + p { color: var(--ink-2); }
.tl .hop { display: flex; flex-wrap: wrap; gap: 0 var(--s3); margin: var(--s1) 0; color: var(--ink-3); font: var(--small) var(--sans); }
.tl .hop > * { overflow-wrap: anywhere; min-width: 0; }
.tl .pre { margin: var(--s1) 0; }
.view { margin-top: var(--s3); overflow: clip; border: 1px solid var(--line); border-radius: var(--r2); }
.view > header { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2) var(--s3); padding: var(--s2) var(--s3); border-bottom: 1px solid var(--line); background: var(--wash); color: var(--ink-2); font: var(--small) var(--sans); }
.view .seg { margin-inline-start: auto; border-color: var(--line); }
.view .seg a { padding: .125rem var(--s2); line-height: 1rem; }
.view iframe { display: block; width: 100%; height: 30rem; margin-inline: auto; border: 0; background: #fff; color-scheme: light; }
.view iframe.w360 { max-width: 360px; }
.view iframe.w600 { max-width: 600px; }
.view > .pre { border-radius: 0; max-height: 40rem; overflow-y: auto; }
.checks { display: grid; gap: var(--s3); padding: var(--s4) 0; }
.checks > li { display: grid; grid-template-columns: 1rem minmax(0, 1fr); gap: 0 var(--s3); }
.checks > li > .ic { margin-top: .125rem; }
.checks p, .content .v { overflow-wrap: anywhere; }
.content > :is(.pre, .t, .actions) { margin-top: var(--s3); }
.content > .pre { max-height: 40rem; overflow-y: auto; }
@media (width < 75rem) {
  .mail { grid-template-columns: minmax(0, 1fr); }
  .mail > section { position: static; }
}
@media (width < 40rem) {
  .tl > li { grid-template-columns: 1rem minmax(0, 1fr); }
  .tl > li:not(:last-child)::before { inset-inline-start: calc(.5rem - .5px); }
  .tl > li > div { grid-row: 1; grid-column: 2; }
  .tl > li > .ic { grid-row: 1; grid-column: 1; }
  .tl > li > :is(time, .at) { grid-row: 2; grid-column: 2; text-align: start; }
  .tl > li > :is(time, .at) small { display: inline; margin-inline-start: var(--s2); }
  .rcpt > summary { grid-template-columns: .5rem minmax(0, 1fr); }
  .rcpt > summary > * { grid-column: 2; }
  .rcpt > summary .st { justify-self: start; }
}

.devline { display: flex; flex-wrap: wrap; gap: 0 var(--s4); margin-bottom: var(--s4); padding: var(--s2) var(--s4); border-radius: var(--r2); background: var(--wait-wash); color: var(--ink-2); font: .75rem/1.25rem var(--sans); }
.devline b { display: inline-flex; align-items: center; gap: var(--s2); color: var(--wait); font-weight: 600; }
.panes { display: grid; grid-template-columns: minmax(17rem, 23rem) minmax(0, 1fr); border: solid var(--line); border-width: 1px 0 0; min-height: 60dvh; }
.list { min-width: 0; border-inline-end: 1px solid var(--line); }
.list .tools { display: flex; align-items: center; gap: var(--s2); min-height: 3rem; padding: var(--s2) var(--s4) var(--s2) 0; border-bottom: 1px solid var(--line); color: var(--ink-3); font-size: .75rem; }
.list .tools .b { margin-inline-start: auto; }
.list li { position: relative; display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 var(--s3); padding: var(--s2) var(--s3); border-bottom: 1px solid var(--line); }
.list li:hover { background: var(--wash); }
.list li[aria-current] { background: var(--accent-wash); box-shadow: inset 2px 0 var(--accent); }
.list li :is(a, p) { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.list li a { color: inherit; text-decoration: none; }
.list li a::after { content: ""; position: absolute; inset: 0; }
.list li p { color: var(--ink-2); font: .75rem/1.25rem var(--sans); }
.list li :is(time, .st) { justify-self: end; color: var(--ink-3); font: .75rem/1.25rem var(--sans); }
.list li .st.bad { color: var(--bad); }
.list li .st.wait { color: var(--wait); }
.list li[aria-current] :is(time, p, .st:not(.bad, .wait)) { color: var(--ink-2); }
.list .unread a { font-weight: 650; }
.reader { min-width: 0; padding: var(--s4) 0 var(--s6) var(--s5); }
.reader > :is(.actions, .view, .pre) { margin-top: var(--s3); }
.reader .outcome { display: flex; gap: var(--s2); }
.reader > section { margin-top: var(--s6); }
.grab { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; align-items: center; gap: var(--s2) var(--s3); margin: var(--s4) 0; padding: var(--s3) var(--s4); border-radius: var(--r2); background: var(--sunk); }
.grab > span { color: var(--ink-2); font-size: .75rem; }
.grab code { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.grab .pin { font-size: 1.25rem; letter-spacing: .08em; line-height: 1.25rem; }
.addr { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 var(--s3); margin-top: var(--s2); }
.addr dt { color: var(--ink-3); }
.addr dd { overflow-wrap: anywhere; }
@media (width < 60rem) {
  .panes { grid-template-columns: minmax(0, 1fr); }
  .list { border: 0; border-bottom: 1px solid var(--line); }
  .list ol { max-height: 21.5rem; overflow-y: auto; }
  .reader { padding-inline-start: 0; }
}
@media (width < 40rem) {
  .grab { grid-template-columns: minmax(0, 1fr) auto; }
  .grab > span { grid-column: 1 / -1; margin-bottom: calc(-1 * var(--s1)); }
}

.door { display: grid; align-content: center; place-items: center; min-height: 100dvh; padding: var(--s5) var(--s4); background: var(--wash); }
.door main { width: min(23rem, 100%); padding: 0; }
.door.wide main { width: min(44rem, 100%); }
.door .card { display: grid; gap: var(--s4); padding: var(--s5); border: 1px solid var(--line); border-radius: var(--r3); background: var(--paper); }
.door .card > * { min-width: 0; }
.door .brand { justify-content: center; width: auto; margin-bottom: var(--s4); font-size: 1rem; }
.door .brand span { display: inline; }
.door footer code { white-space: nowrap; }
.door .card :is(.b:not(.tiny), input:not([type=checkbox])) { min-height: 2.5rem; }
.door form > .b, .door .idps .b { width: 100%; white-space: normal; text-align: center; }
.door .note { margin: 0; padding: var(--s3); }
.qr { display: block; width: 14rem; max-width: 100%; margin: 0 0 var(--s4); border-radius: var(--r2); }
.door .idps { display: grid; gap: var(--s2); }
.door footer { margin-top: var(--s4); color: var(--ink-3); font: var(--small) var(--sans); text-align: center; }
.or { display: flex; align-items: center; gap: var(--s3); color: var(--ink-3); font-size: .75rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }

.docs { display: grid; grid-template-columns: 13rem minmax(0, 44rem) minmax(0, 36rem); align-items: start; gap: var(--s6); }
.docs > :is(.toc, aside) { position: sticky; top: calc(var(--bar) + var(--s5)); max-height: calc(100dvh - var(--bar) - var(--s7)); overflow-y: auto; }
.docs > div { min-width: 0; }
.toc h2 { margin: var(--s3) 0 var(--s1); color: var(--ink-3); font: 500 var(--small) var(--sans); }
.toc h2:first-child { margin-top: 0; }
.toc ul { margin: 0; padding: 0; list-style: none; }
.toc a { display: grid; grid-template-columns: 3rem minmax(0, 1fr); padding: .125rem 0; color: var(--ink-2); text-decoration: none; }
.toc a:focus-visible { outline-offset: -2px; }
.toc a:hover { color: var(--ink); }
.toc a[aria-current] { color: var(--ink); font-weight: 600; }
.method { color: var(--ink-3); font: 600 .6875rem/1.25rem var(--mono); }
.op { display: flex; flex-wrap: wrap; align-items: baseline; gap: var(--s2) var(--s3); margin: var(--s2) 0 var(--s4); overflow-wrap: anywhere; }
.op code { min-width: 0; font-size: 1rem; }
.op .method { padding: 0 .375rem; border-radius: var(--r1); background: var(--sunk); color: var(--ink); font-size: .75rem; }
.docs article > p + p { margin-top: var(--s3); }
.fields { margin: var(--s2) 0 0; }
.field { padding: var(--s2) 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.field dt { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--s3); }
.field :is(.type, .must) { color: var(--ink-3); font: var(--small) var(--sans); }
.field .must { color: var(--wait); }
.field dd { margin: var(--s1) 0 0; color: var(--ink-2); }
.depth-1 { padding-inline-start: var(--s4); }
.depth-2 { padding-inline-start: calc(2 * var(--s4)); }
.depth-3 { padding-inline-start: calc(3 * var(--s4)); }
.depth-4 { padding-inline-start: calc(4 * var(--s4)); }
.app.open { grid-template-columns: minmax(0, 1fr); background: none; }
.app.open > main { width: 100%; max-width: 64rem; margin-inline: auto; }
.app.open .bar { justify-content: space-between; }
@media (width < 110rem) { .docs { grid-template-columns: minmax(0, 1fr) minmax(0, 26rem); } .docs > .toc { display: none; } }
@media (width < 75rem) {
  .docs { grid-template-columns: minmax(0, 1fr); }
  .docs > aside { position: static; max-height: none; overflow: visible; }
}
.docs.paper { grid-template-columns: 13rem minmax(0, 56rem); }
.docs.paper > .toc { display: block; }
.paper > .toc a { display: block; }
.paper article > * + * { margin-top: var(--s3); }
.paper article > h2 { margin-top: var(--s6); }
.paper article > h3 { margin-top: var(--s5); }
.paper article > :is(h2, h3) + * { margin-top: var(--s2); }
.paper article :is(ul, ol) { padding-inline-start: 1.25rem; list-style: disc; }
.paper article ol { list-style: decimal; }
.paper li + li { margin-top: var(--s2); }
@media (width < 75rem) {
  .docs.paper { grid-template-columns: minmax(0, 1fr); }
  .docs.paper > .toc { display: none; }
}
@media (width < 40rem) { .depth-1, .depth-2, .depth-3, .depth-4 { padding-inline-start: var(--s3); } }

.record + .record { margin-top: var(--s5); }
.record > .codes, section > p + .codes { margin-top: var(--s2); }
`

/** A table as blocks of label and value, for one of its looks. */
const STACKED = `
  .t.KIND, .t.KIND tbody { display: block; width: auto; margin: 0; }
  .t.KIND thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .t.KIND tbody tr { display: block; padding: var(--s3) 0; border-bottom: 1px solid var(--line); }
  .t.KIND tbody tr:last-child { border-bottom-color: transparent; }
  .t.KIND tbody :is(td, th) { position: relative; display: block; width: auto; min-height: 1.25rem; padding: 0 0 var(--s1) 7.25rem; border: 0; white-space: normal; text-align: start; overflow-wrap: anywhere; }
  .t.KIND tbody :is(td, th)::before { content: attr(data-l); position: absolute; left: 0; width: 6.5rem; color: var(--ink-3); font: 400 .75rem/1.25rem var(--sans); overflow-wrap: anywhere; }
  .t.KIND tbody :is(td:first-child, th:first-child, td.solo, td.act, td.tick) { padding-inline-start: 0; }
  .t.KIND tbody :is(td:first-child, th:first-child, td.solo, td.act, td.tick)::before { content: none; }
  .t.KIND tbody :is(td:first-child, th:first-child):not(.tick) { font-weight: 500; }
  .t.KIND tbody :is(td.none, td:empty) { display: none; }
  .t.KIND tbody td.act { padding-top: var(--s1); }
  .t.KIND tbody tr:hover > * { background: none; }
`

export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fff, #131416);
  --wash: light-dark(#f7f7f5, #191a1d);
  --sunk: light-dark(#efefec, #222429);
  --line: light-dark(#e3e3df, #2b2d32);
  --edge: light-dark(#85867f, #767981);
  --ink: light-dark(#1a1b1e, #ececea);
  --ink-2: light-dark(#505257, #b4b6bb);
  --ink-3: light-dark(#66686d, #9a9da3);
  --accent: light-dark(#3448b8, #a3b4ff);
  --on-accent: light-dark(#fff, #10142b);
  --accent-wash: light-dark(#edf0fc, #20253f);
  --ok: light-dark(#17703f, #6fcb97);
  --ok-wash: light-dark(#e6f4eb, #14291d);
  --wait: light-dark(#8a5000, #ebb765);
  --wait-wash: light-dark(#fdf0d9, #2f2411);
  --bad: light-dark(#b0251d, #ff9a8f);
  --bad-wash: light-dark(#fdebe9, #3a1b19);
  --fill: light-dark(#8089c4, #6672b8);
  --fill-ok: light-dark(#4f9a70, #4b9a70);
  --fill-wait: light-dark(#c27c14, #c08a35);
  --fill-bad: light-dark(#cc4a41, #d9655b);
  --shade: light-dark(rgb(0 0 0 / .13), rgb(0 0 0 / .6));
  --lift: 0 1px 2px var(--shade), 0 .5rem 1.5rem var(--shade);
  --s1: .25rem; --s2: .5rem; --s3: .75rem; --s4: 1rem; --s5: 1.5rem; --s6: 2rem; --s7: 3rem;
  --small: .75rem/1rem; --text: .875rem/1.25rem; --large: 1rem/1.5rem; --head: 1.25rem/1.75rem;
  --r1: 4px; --r2: 6px; --r3: 10px;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;
  --bar: 3rem;
  --rail: 11.5rem;
}
[data-theme=light] { color-scheme: light; }
[data-theme=dark] { color-scheme: dark; }

*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-top: calc(var(--bar) + var(--s4)); }
body { margin: 0; background: var(--paper); color: var(--ink); font: var(--text) var(--sans); font-variant-numeric: tabular-nums; }
h1, h2, h3, h4, p, ul, ol, dl, dd, figure, pre, fieldset { margin: 0; padding: 0; }
ul, ol { list-style: none; }
fieldset { border: 0; min-width: 0; }
legend { padding: 0; font-weight: 500; }
h1, h2, h3, h4 { font-weight: 620; overflow-wrap: anywhere; }
h1 { font: 620 var(--head) var(--sans); letter-spacing: -.01em; text-wrap: balance; }
h2 { font: 620 var(--large) var(--sans); }
h3, h4 { font-size: inherit; line-height: inherit; }
p { text-wrap: pretty; overflow-wrap: anywhere; }
a { color: var(--accent); text-decoration: underline 1px color-mix(in srgb, currentColor 40%, transparent); text-underline-offset: .2em; }
a:hover { text-decoration-color: currentColor; }
code, kbd, samp, pre, .mono { font-family: var(--mono); font-size: .9286em; font-variant-ligatures: none; }
code, samp, .mono { overflow-wrap: anywhere; }
:is(code, samp, kbd):not(pre *) { line-height: 1; }
kbd { padding: 0 .35em; border: 1px solid var(--line); border-bottom-width: 2px; border-radius: var(--r1); background: var(--paper); color: var(--ink-2); font-size: .75rem; }
time, .nb { white-space: nowrap; }
button, input, select, textarea { color: inherit; font: inherit; letter-spacing: inherit; }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
svg { display: block; }
mark { padding: 0 .15em; border-radius: 2px; background: var(--accent-wash); color: inherit; }
::selection { background: var(--accent-wash); color: var(--ink); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: var(--r1); }
[hidden] { display: none !important; }
.hid { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.soft { color: var(--ink-2); }
.faint { color: var(--ink-3); }
.small { font: var(--small) var(--sans); }
.skip { position: absolute; top: var(--s2); left: var(--s2); z-index: 99; padding: var(--s2) var(--s4); border-radius: var(--r2); background: var(--accent); color: var(--on-accent); translate: 0 -300%; }
.skip:focus { translate: none; }
html:not([data-scripts]) :is(.copy, .scripted, kbd[aria-hidden]) { display: none !important; }
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after { animation: none !important; transition: none !important; scroll-behavior: auto !important; }
}

.app { display: grid; grid-template: auto 1fr / var(--rail) minmax(0, 1fr); min-height: 100dvh; background: linear-gradient(to right, var(--wash) calc(var(--rail) - 1px), var(--line) 0 var(--rail), transparent 0); }
.bar { position: sticky; top: 0; z-index: 20; grid-column: 1 / -1; display: flex; align-items: center; gap: var(--s3); min-height: var(--bar); padding: var(--s2) var(--s4); border-bottom: 1px solid var(--line); background: var(--wash); }
.brand { display: flex; flex: none; align-items: center; gap: var(--s2); width: calc(var(--rail) - var(--s4) - var(--s3)); color: var(--ink); font-weight: 650; letter-spacing: -.01em; text-decoration: none; }
.brand .ic { width: 1.25rem; height: 1.25rem; color: var(--accent); }
.b.open-nav { display: none; padding-inline: var(--s2); }
.find { position: relative; flex: 1 1 12rem; max-width: 34rem; margin-inline-start: auto; }
.find input { width: 100%; padding-inline: var(--s3) 2.25rem; }
.find kbd { position: absolute; top: 50%; right: var(--s2); translate: 0 -50%; }
.flow { display: flex; flex: none; align-items: center; gap: var(--s1); color: var(--ink-2); text-decoration: none; white-space: nowrap; }
.flow:hover { color: var(--ink); }
.rail[popover] { position: sticky; inset: auto; top: var(--bar); display: flex; flex-direction: column; align-self: start; width: auto; height: calc(100dvh - var(--bar)); max-height: none; margin: 0; padding: var(--s4) var(--s2); overflow-y: auto; border: 0; border-inline-end: 1px solid var(--line); background: var(--wash); color: inherit; }
.rail h2 { padding: var(--s4) var(--s2) var(--s1); color: var(--ink-3); font: 500 var(--small) var(--sans); }
.rail a { display: flex; justify-content: space-between; gap: var(--s2); padding: var(--s1) var(--s2); border-radius: var(--r2); color: var(--ink-2); text-decoration: none; overflow-wrap: anywhere; }
.rail a:hover { background: var(--sunk); color: var(--ink); }
.rail a[aria-current] { background: var(--sunk); box-shadow: inset 2px 0 var(--accent); color: var(--ink); font-weight: 600; }
.rail .n { flex: 0 999 auto; overflow-wrap: normal; text-align: end; text-wrap: balance; color: var(--ink-3); font-size: .75rem; font-weight: 400; }
.rail .n.warn { color: var(--wait); font-weight: 600; }
.rail .pin { padding: var(--s4) var(--s2) 0; font: var(--small) var(--sans); }
.rail footer { margin-top: auto; padding: var(--s4) var(--s2) 0; color: var(--ink-3); font: var(--small) var(--sans); }
.app.open { display: block; background: none; }
.bar .end { margin-inline-start: auto; }
main { min-width: 0; max-width: 110rem; padding: var(--s5) var(--s6) var(--s7); outline: 0; }
.head { display: flex; flex-wrap: wrap; align-items: flex-start; gap: var(--s2) var(--s4); margin-bottom: var(--s5); }
.head > :first-child { flex: 1 1 20rem; min-width: 0; }
.head > div > p { max-width: 48rem; margin-top: var(--s1); color: var(--ink-2); }
.crumb { margin-bottom: var(--s1); color: var(--ink-3); font: var(--small) var(--sans); }
.crumb a { color: inherit; }
.crumb .one { display: inline-block; max-width: min(100%, 40rem); vertical-align: bottom; }
.t + :is(.actions, p, .form), .t + .fold { margin-top: var(--s4); }
.actions { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2); }
.gap + .note { margin-top: var(--s4); }
:where(section, .two, article > p, form, .note, .gap, p.actions, .facts, .t, .fold, .code, .empty) + :where(section, .two) { margin-top: var(--s6); }
form + .note { margin-top: var(--s5); }
.sec { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--s3); margin-bottom: var(--s2); }
.sec > p { color: var(--ink-3); font: var(--small) var(--sans); }
.sec > .actions { margin-inline-start: auto; }
.gap { margin-top: var(--s4); }
.two { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); align-items: start; gap: var(--s6); }
.two > section + section { margin-top: 0; }
.pager, .foot { display: flex; flex-wrap: wrap; align-items: center; justify-content: flex-end; gap: var(--s2) var(--s4); padding-top: var(--s4); color: var(--ink-3); font: var(--small) var(--sans); }
.foot { justify-content: space-between; }
@media (width < 75rem) { .two { grid-template-columns: minmax(0, 1fr); } }
@media (width < 60rem) {
  .app { grid-template-columns: minmax(0, 1fr); background: none; }
  .brand { width: auto; }
  .b.open-nav { display: inline-flex; }
  .rail[popover]:not(:popover-open) { display: none; }
  .rail:popover-open { position: fixed; inset: 0 auto 0 0; width: min(18rem, 86vw); height: 100dvh; box-shadow: var(--lift); }
  .rail::backdrop { background: rgb(0 0 0 / .4); }
  main { padding: var(--s5) var(--s5) var(--s7); }
}
@media (width < 40rem) {
  :root { --bar: 6rem; }
  .bar { flex-wrap: wrap; gap: var(--s2); padding: var(--s2) var(--s3); }
  .brand span, .flow span, .find kbd { display: none; }
  .find { order: 9; flex-basis: 100%; max-width: none; }
  .bar .switch:not(.who) { flex: 1 1 0; min-width: 0; }
  main { padding: var(--s4) var(--s4) var(--s7); }
  .head { margin-bottom: var(--s4); }
}

.b, input, select, textarea { min-height: 2rem; padding: calc(.375rem - 1px) var(--s3); border: 1px solid var(--edge); border-radius: var(--r2); background: var(--paper); line-height: 1.25rem; }
.b { display: inline-flex; align-items: center; justify-content: center; gap: var(--s2); color: var(--ink); font-weight: 500; text-decoration: none; white-space: nowrap; cursor: pointer; }
.b:hover { background: var(--sunk); }
.b.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
.b.main:hover { background: color-mix(in srgb, var(--accent) 88%, var(--ink)); }
.b.harm { border-color: color-mix(in srgb, var(--bad) 55%, var(--edge)); color: var(--bad); }
.b.harm:hover { background: var(--bad-wash); }
.b.tiny { min-height: 1.5rem; padding: 0 var(--s2); border-color: var(--line); font-size: .75rem; line-height: 1.375rem; }
.b.tiny:hover { border-color: var(--edge); }
.b:is([disabled], [aria-disabled=true]) { border-style: dashed; background: var(--wash); color: var(--ink-3); cursor: not-allowed; }
input { text-overflow: ellipsis; }
input:not([type=checkbox], [type=radio], [type=file]), select, textarea { max-width: 100%; }
textarea { display: block; resize: vertical; }
:is(input, textarea)::placeholder { color: var(--ink-3); opacity: 1; }
:is(input[type=checkbox], input[type=radio]) { width: 1rem; height: 1rem; min-height: 0; margin: 0; padding: 0; accent-color: var(--accent); vertical-align: -.15em; }
[aria-invalid=true] { border-color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad); }
label { display: block; font-weight: 500; }
label > :is(input:not([type=checkbox], [type=radio]), select, textarea) { display: block; width: 100%; margin-top: var(--s1); font-weight: 400; }
label:has(> input:is([type=checkbox], [type=radio])) { font-weight: 400; }
label > input:is([type=checkbox], [type=radio]) { margin-inline-end: var(--s2); }
.hint, .wrong { display: block; margin-top: var(--s1); font: 400 var(--small) var(--sans); color: var(--ink-3); overflow-wrap: anywhere; }
.wrong { color: var(--bad); font-weight: 500; }
.form { display: grid; gap: var(--s4); max-width: 40rem; }
.form > * { min-width: 0; }
.form > .unseen { order: -1; }
.form .row, .form-row { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(12rem, 100%), 1fr)); gap: var(--s4); align-items: start; }
.checks { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(14rem, 100%), 1fr)); gap: var(--s1) var(--s4); margin-top: var(--s1); }
.seg { display: inline-flex; flex: none; flex-wrap: wrap; gap: 1px; max-width: 100%; overflow: hidden; border: 1px solid var(--edge); border-radius: var(--r2); background: var(--line); }
.seg :is(a, button) { flex: 1 0 auto; padding: calc(.375rem - 1px) var(--s3); border: 0; background: var(--paper); text-align: center; color: var(--ink-2); line-height: 1.25rem; text-decoration: none; cursor: pointer; }
.seg :is(a, button):hover { background: var(--sunk); }
.seg :is([aria-current], [aria-pressed=true]) { background: var(--sunk); color: var(--ink); font-weight: 600; }
.seg :is(a, button):focus-visible, .tabs a:focus-visible { outline-offset: -2px; }
.mode .test[aria-current] { background: var(--wait-wash); color: var(--wait); }
.tabs { display: flex; flex-wrap: wrap; gap: 0 var(--s4); border-bottom: 1px solid var(--line); }
.tabs a { flex: none; margin-bottom: -1px; padding: var(--s2) 0; border-bottom: 2px solid transparent; color: var(--ink-2); text-decoration: none; }
.tabs a:hover { color: var(--ink); }
.tabs a[aria-current] { border-color: var(--accent); color: var(--ink); font-weight: 600; }
.tabs .n { margin-inline-start: .35em; color: var(--ink-3); font-weight: 400; }
.filters { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2) var(--s3); margin-bottom: var(--s3); }
.filters > .filters { margin-bottom: 0; }
.filters label { display: inline-flex; max-width: 100%; align-items: center; gap: var(--s2); color: var(--ink-2); font-weight: 400; }
.filters label > :is(input:not([type=checkbox], [type=radio]), select) { width: auto; max-width: 14rem; margin: 0; color: var(--ink); }
.chips { display: flex; flex-wrap: wrap; gap: var(--s2); margin-bottom: var(--s3); }
.chip { display: inline-flex; align-items: center; gap: var(--s2); max-width: 100%; padding: 0 var(--s2); border-radius: var(--r1); background: var(--sunk); color: var(--ink-2); font: 400 .75rem/1.5rem var(--sans); overflow-wrap: anywhere; }
.chip a { color: inherit; text-decoration: none; }
.chip a:hover { color: var(--bad); }
.bulk > .note { order: 1; }
.bulk { position: sticky; bottom: 0; z-index: 10; display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2) var(--s4); padding: var(--s2) 0; border-top: 1px solid var(--line); background: var(--paper); }
@media (width < 40rem) {
  form.filters label { display: block; flex: 1 1 9rem; }
  form.filters label:has([type=search]) { flex-basis: 100%; }
  form.filters label > :is(input:not([type=checkbox], [type=radio]), select) { width: 100%; max-width: none; }
}
@media (pointer: coarse) {
  .b, input:not([type=checkbox], [type=radio]), select { min-height: 2.5rem; }
  .b.tiny { min-height: 2rem; }
  .rail a, .menu a { padding-block: var(--s2); }
}

.switch { position: relative; min-width: 0; }
.switch > summary { display: flex; align-items: center; gap: var(--s2); max-width: 14rem; min-height: 2rem; padding: calc(.375rem - 1px) var(--s3); border: 1px solid var(--edge); border-radius: var(--r2); background: var(--paper); line-height: 1.25rem; }
.switch > summary:hover { background: var(--sunk); }
.switch > summary > span:not(.hid) { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.switch > summary::after, .fold > summary::before, details.code > summary::before, .rcpt > summary::before { content: ""; flex: none; width: .4rem; height: .4rem; border: solid var(--ink-3); border-width: 0 1.5px 1.5px 0; rotate: 45deg; translate: 0 -.125rem; }
.switch .menu { position: absolute; top: calc(100% + .25rem); left: 0; z-index: 30; min-width: 15rem; max-width: min(24rem, 90vw); max-height: 70dvh; overflow-y: auto; padding: var(--s1); border: 1px solid var(--line); border-radius: var(--r3); background: var(--paper); box-shadow: var(--lift); }
.switch.end .menu { right: 0; left: auto; }
.menu :is(a, button:not(.b)) { display: block; width: 100%; padding: var(--s1) var(--s3); border: 0; border-radius: var(--r2); background: none; color: var(--ink); text-align: start; text-decoration: none; overflow-wrap: anywhere; cursor: pointer; }
.menu :is(a, button:not(.b)):hover { background: var(--sunk); }
.menu a[aria-current]::after { content: " \\2713"; color: var(--accent); }
.menu :is(p, form, .seg) { margin: var(--s1) var(--s3); overflow-wrap: anywhere; }
.menu form .b { width: 100%; }
.menu .seg { margin: 0; }
.menu .seg button { display: inline-block; width: auto; border-radius: 0; }
.menu .seg button[aria-pressed=true] { background: var(--sunk); }
.who > summary { justify-content: center; flex: none; width: 2rem; padding: 0; border-radius: 50%; font-size: .75rem; }
.who > summary::after { content: none; }
.fold > summary { display: inline-flex; align-items: center; gap: var(--s3); padding: var(--s1) 0; border-radius: var(--r1); color: var(--ink-2); }
.fold > summary:hover { color: var(--ink); }
:is(.fold, details.code, .rcpt) > summary::before { rotate: -45deg; translate: 0; }
:is(.fold, details.code, .rcpt)[open] > summary::before { rotate: 45deg; translate: 0 -.125rem; }
.fold > :not(summary) { margin-top: var(--s2); }
.verb { max-width: 100%; }
.verb > summary.b { max-width: 100%; white-space: normal; overflow-wrap: anywhere; }
.verb { position: relative; display: inline-block; text-align: start; }
.verb > form { position: absolute; top: calc(100% + .25rem); right: 0; z-index: 15; display: grid; gap: var(--s3); width: min(22rem, 80vw); padding: var(--s4); border: 1px solid var(--line); border-radius: var(--r3); background: var(--paper); box-shadow: var(--lift); color: var(--ink); font: 400 var(--text) var(--sans); white-space: normal; text-align: start; }
.verb > form.wide { width: min(34rem, 86vw); }
.verb .note { margin: 0; }
:is(.verdict, .start) .verb > form { right: auto; left: 0; }
td.act .verb[open] { z-index: 16; }
@media (width < 40rem) {
  .verb > form, .verb > form.wide, :is(.verdict, .start) .verb > form { position: fixed; inset: auto 0 0; z-index: 40; width: auto; max-height: 85dvh; overflow-y: auto; padding-bottom: var(--s6); border-radius: var(--r3) var(--r3) 0 0; }
}

.ic { flex: none; width: 1rem; height: 1rem; color: var(--ink-2); }
.on { stroke: var(--paper); }
.st { display: inline-flex; align-items: baseline; gap: .375rem; white-space: nowrap; }
.st .ic { align-self: center; }
.ic.ok, .st.ok .ic { color: var(--ok); }
.ic.wait, .st.wait .ic { color: var(--wait); }
.ic.bad, .st.bad .ic { color: var(--bad); }
.st:is(.wait, .bad) { margin-inline-start: -.25rem; padding: 0 .5rem 0 .25rem; border-radius: var(--r1); font-weight: 500; }
.st.wait { background: var(--wait-wash); color: var(--wait); }
.st.bad { background: var(--bad-wash); color: var(--bad); }
.tag { display: inline-block; max-width: 100%; padding: 0 .375rem; overflow: hidden; border-radius: var(--r1); background: var(--sunk); color: var(--ink-2); font: .75rem/1.25rem var(--sans); text-overflow: ellipsis; white-space: nowrap; vertical-align: top; }
.note { display: flex; flex-wrap: wrap; align-items: flex-start; gap: var(--s1) var(--s3); margin-bottom: var(--s5); padding: var(--s3) var(--s4); border-radius: var(--r2); background: var(--sunk); }
.note:has(+ :is(.note, .fold)) { margin-bottom: var(--s2); }
.note + .fold { margin-bottom: var(--s5); }
.note > .ic { margin-top: .125rem; }
.note > div:not(.actions) { flex: 1 1 0; min-width: min(16rem, 100%); }
.note > .ic + div:not(.actions) { min-width: min(14rem, calc(100% - 2rem)); }
.note > div p + p { color: var(--ink-2); }
.note p + .actions { margin-top: var(--s2); }
@media (width >= 60rem) {
  .note > div:has(> .actions) { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 var(--s4); }
  .note > div > :not(.actions) { grid-column: 1; }
  .note > div > .actions { margin: 0; grid-column: 2; grid-row: 1 / span 9; align-self: start; justify-content: flex-end; max-width: 26rem; }
}
.note.ok { background: var(--ok-wash); }
.note.wait { background: var(--wait-wash); }
.note.bad { background: var(--bad-wash); }
.note.ok > .ic { color: var(--ok); }
.note.wait > .ic { color: var(--wait); }
.note.bad > .ic { color: var(--bad); }
:is(.note.ok, .note.wait, .note.bad) :is(.hint, .sub, .faint) { color: var(--ink-2); }

.t { width: calc(100% + 1.5rem); margin-inline: -.75rem; border-collapse: collapse; }
.t caption { padding: 0 var(--s3) var(--s2); color: var(--ink-3); font: var(--small) var(--sans); text-align: start; }
.t :is(th, td) { padding: var(--s2) var(--s3); border-bottom: 1px solid var(--line); text-align: start; vertical-align: top; }
.t thead th { padding-bottom: calc(var(--s2) - 1px); color: var(--ink-3); font: 500 var(--small) var(--sans); white-space: nowrap; }
.t tbody th { font-weight: 500; }
.t tbody tr:hover > * { background: var(--wash); }
.t tbody tr:last-child > * { border-bottom-color: transparent; }
.t.calm tbody tr:hover > * { background: none; }
.t .num { text-align: end; white-space: nowrap; }
.t .fit, .t .solo, .t .tick { width: 1%; white-space: nowrap; }
.t .grow { width: 40%; }
.t td { overflow-wrap: break-word; }
.t tbody :is(th, td.grow, td.name, td:first-child:not(.tick)) { min-width: 8rem; overflow-wrap: anywhere; }
.t .act { width: 1%; padding-block: .3125rem; text-align: end; white-space: nowrap; }
.t .act .b { min-height: 1.5rem; padding: 0 var(--s2); border-color: var(--line); font-size: .75rem; line-height: 1.375rem; }
.t .act > .actions { flex-wrap: nowrap; justify-content: flex-end; }
.t .act .verb > form .b { min-height: 2rem; padding: calc(.375rem - 1px) var(--s3); font-size: .875rem; line-height: 1.25rem; }
.t tbody a { color: var(--ink); }
.t tbody a:hover { color: var(--accent); }
.t tbody .b.harm { color: var(--bad); }
.t .say > .ic { display: inline-block; vertical-align: -.2em; }
.t .say { color: var(--ink-2); overflow-wrap: anywhere; }
.t tr.new > * { background: var(--accent-wash); }
.t tr[aria-selected=true] > *, .t tr.at > * { background: var(--sunk); }
.one { display: block; min-width: 0; overflow: hidden; text-align: left; text-overflow: ellipsis; white-space: nowrap; }
.pair { display: flex; gap: var(--s1); min-width: 0; }
.pair .one { flex: 0 1 auto; }
.clamp { display: -webkit-box; overflow: hidden; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow-wrap: anywhere; }
.reply { display: block; margin-top: .125rem; color: var(--ink-2); font: var(--small) var(--mono); overflow-wrap: anywhere; white-space: normal; }
.sub { display: block; margin-top: .125rem; color: var(--ink-3); font: 400 var(--small) var(--sans); overflow-wrap: anywhere; white-space: normal; }
.t .verb > summary.b { max-width: none; white-space: nowrap; overflow-wrap: normal; }
.t .sub { min-width: 5rem; }
.heat-1 { background: color-mix(in srgb, var(--fill) 10%, transparent); }
.heat-2 { background: color-mix(in srgb, var(--fill) 20%, transparent); }
.heat-3 { background: color-mix(in srgb, var(--fill) 32%, transparent); }
.heat-4 { background: color-mix(in srgb, var(--fill) 45%, transparent); }
.scroll { max-width: 100%; overflow-x: auto; }
@media (width < 75rem) {${STACKED.replaceAll('KIND', 'many')}}
@media (40rem <= width < 75rem) {
  .t.many tbody tr { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 var(--s5); }
  .t.many tbody :is(td:first-child, th:first-child, td.solo, td.act) { grid-column: 1 / -1; }
}
@media (width < 40rem) {${STACKED.replaceAll('KIND', 'stack')}
  .t .opt { display: none !important; }
  .t:not(.stack, .many) { width: 100%; margin-inline: 0; }
  .t:not(.stack, .many) :is(th, td) { padding-inline: var(--s1); }
}

.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: var(--s3) var(--s5); }
.facts dt { color: var(--ink-3); font: var(--small) var(--sans); }
.facts dd { min-width: 0; overflow-wrap: anywhere; }
.facts .wide { grid-column: span 2; }
.code { position: relative; overflow: clip; border: 1px solid var(--line); border-radius: var(--r2); background: var(--wash); }
.code + .code { margin-top: var(--s3); }
.code > :is(.label, figcaption, summary) { display: flex; align-items: center; gap: var(--s2); min-height: 2rem; padding: var(--s1) 5rem var(--s1) var(--s3); color: var(--ink-2); font: var(--small) var(--sans); }
.code pre { padding: var(--s2) var(--s3); font: .8125rem/1.25rem var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
.code > :is(.label, figcaption, summary) + pre { padding-top: var(--s1); padding-bottom: var(--s3); }
.code > .copy { position: absolute; top: .25rem; right: .25rem; background: var(--paper); }
html[data-scripts] .code > pre:first-child { padding-inline-end: 5.5rem; }
details.code[open] > summary { color: var(--ink); font-weight: 600; }
.codes > .code { margin: 0; border-radius: 0; }
.codes > .code + .code { border-top: 0; }
.codes > .code:first-child { border-radius: var(--r2) var(--r2) 0 0; }
.codes > .code:last-child { border-radius: 0 0 var(--r2) var(--r2); }
.codes + .code, .codes + .codes { margin-top: var(--s3); }
.pre { padding: var(--s2) var(--s3); border-radius: var(--r1); background: var(--sunk); font: .8125rem/1.25rem var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
.copy::before { content: ""; width: .625rem; height: .625rem; border: 1.25px solid; border-radius: 2px; box-shadow: 2px -2px 0 -1px var(--paper), 2px -2px 0 0 currentColor; translate: -1px 1px; }
.copy.done::before { border-width: 0 2px 2px 0; border-radius: 0; box-shadow: none; width: .35rem; rotate: 45deg; }
.empty { display: grid; gap: var(--s3); max-width: 46rem; padding: var(--s4) 0; }
.empty > p { color: var(--ink-2); }
.empty > * { min-width: 0; }
.teach { max-width: 46rem; }
.teach ol { display: grid; gap: var(--s5); counter-reset: step; }
.teach ol > li { display: grid; grid-template-columns: 1.5rem minmax(0, 1fr); gap: var(--s2) var(--s3); counter-increment: step; }
.teach ol > li::before { content: counter(step); color: var(--ink-3); font: 600 var(--large) var(--sans); text-align: end; }
.teach ol > li > div { display: grid; gap: var(--s2); min-width: 0; }
.key-help { width: min(30rem, 92vw); padding: var(--s5); border: 1px solid var(--line); border-radius: var(--r3); background: var(--paper); box-shadow: var(--lift); color: var(--ink); }
.key-help::backdrop { background: rgb(0 0 0 / .4); }
.key-help dl { display: grid; grid-template-columns: auto 1fr; gap: var(--s2) var(--s4); margin: var(--s4) 0; }
html[data-blur] :is(.private, main td, main dd, .pre, .reply, bdi, .code pre, [dir=auto]) { filter: blur(5px); }
html[data-blur] :is(.private, main td, main dd, .pre, .reply, bdi, .code pre, [dir=auto]) * { filter: none; }
html[data-blur] :is(.view iframe, main h1) { filter: blur(9px); }
@media (width < 48rem) { .facts .wide { grid-column: auto; } }

.strips { display: grid; grid-template-columns: 10rem minmax(0, 1fr) auto; column-gap: var(--s3); }
.strip { display: grid; grid-column: 1 / -1; grid-template-columns: subgrid; align-items: end; padding-top: var(--s2); }
.strip h3 { display: flex; align-items: center; gap: var(--s2); color: var(--ink-2); font-weight: 500; }
.strip .big { font: 560 var(--head) var(--sans); letter-spacing: -.01em; }
.strip .big a { color: inherit; }
.strip .rate { margin-inline-start: var(--s2); color: var(--ink-3); font: 400 var(--small) var(--sans); letter-spacing: 0; }
.strip .plot { position: relative; min-width: 0; height: 3.75rem; border-bottom: 1px solid var(--edge); }
.strip .plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.strip .top { align-self: start; min-width: 3ch; color: var(--ink-3); font: var(--small) var(--sans); }
.xaxis { display: flex; grid-column: 2; justify-content: space-between; padding-top: var(--s1); color: var(--ink-3); font: var(--small) var(--sans); }
.bars { fill: var(--fill); }
.bars.ok { fill: var(--fill-ok); }
.bars.wait { fill: var(--fill-wait); }
.bars.bad { fill: var(--fill-bad); }
.lines { display: grid; grid-template-columns: auto minmax(0, 1fr); column-gap: var(--s2); }
.lines .y { display: flex; flex-direction: column; justify-content: space-between; margin-block: -.5rem; color: var(--ink-3); font: var(--small) var(--sans); text-align: end; }
.lines .plot { position: relative; min-width: 0; height: 10rem; }
.lines .plot > svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.lines line { stroke: var(--line); vector-effect: non-scaling-stroke; }
.line { fill: none; stroke: var(--fill); stroke-width: 1.75; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.line.ok { stroke: var(--fill-ok); }
.line.wait { stroke: var(--fill-wait); }
.line.bad { stroke: var(--fill-bad); }
.line.dash { stroke-dasharray: 4 3; }
.legend { display: flex; flex-wrap: wrap; grid-column: 2; gap: var(--s1) var(--s4); padding-top: var(--s2); color: var(--ink-2); font: var(--small) var(--sans); }
.legend li { display: inline-flex; align-items: center; gap: var(--s2); }
.legend svg { width: 1.5rem; height: .5rem; }
.legend b { font-weight: 600; color: var(--ink); }
.readout { min-height: 1rem; color: var(--ink-2); font: var(--small) var(--sans); }
.plot[data-drawn] > svg { visibility: hidden; }
.uplot { position: absolute; inset: 0; }
.uplot .u-wrap { position: relative; width: 100%; height: 100%; }
.uplot :is(.u-under, .u-over, .u-select) { position: absolute; }
.uplot :is(.u-under, .u-select, .u-cursor-x, .u-cursor-y) { pointer-events: none; }
.uplot canvas { display: block; width: 100%; height: 100%; }
.uplot .u-cursor-x { position: absolute; top: 0; left: 0; height: 100%; border-inline-start: 1px solid var(--ink-3); }
.uplot .u-off { display: none; }
@media (width < 48rem) {
  .strips { grid-template-columns: minmax(0, 1fr) auto; }
  .strip > div:first-child { display: flex; grid-column: 1 / -1; align-items: baseline; justify-content: space-between; gap: var(--s3); }
  .strip .big { font: 560 var(--large) var(--sans); }
  .strip .plot { height: 2.5rem; }
  .strips .xaxis { grid-column: 1; }
  .xaxis span:nth-child(even) { display: none; }
  .lines .plot { height: 8rem; }
}
${PAGE_STYLE}
@media print {
  :root { color-scheme: light !important; --paper: #fff; }
  @page { margin: 16mm 14mm; }
  body { font-size: 9.5pt; line-height: 13pt; }
  .app, .mail { display: block; background: none; }
  .bar, .rail, .actions, .tabs, .skip, .view, .filters, .pager, .foot, .bulk, .live-state, .fresh, .verb, .noprint { display: none !important; }
  main { max-width: none; padding: 0; }
  details::details-content { content-visibility: visible !important; height: auto !important; }
  .rcpt, .tl > li, .note, tr { break-inside: avoid; }
  h2, h3, .rcpt > summary { break-after: avoid; }
  /* its place in the grid stays */
  .rcpt > summary::before { visibility: hidden; }
  .pre, .st, .note { background: none !important; }
  .pre, .note { border: 1px solid #bbb; }
  .st { padding-inline: 0 !important; }
  a { color: inherit; text-decoration: none; }
  .plot > svg { visibility: visible !important; }
  .uplot, .readout { display: none; }
}
`
