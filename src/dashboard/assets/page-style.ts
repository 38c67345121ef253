/**
 * NAME      page-style - what only some pages have, for the one stylesheet
 * DESCRIPTION
 *   The list of mails, one mail, the inbox, sign-in, the API reference, pools and domains. A whole row of the list is the
 *   link of its subject; narrow windows drop what is least, and a phone gets three lines a mail.
 */
export const PAGE_STYLE = `
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
