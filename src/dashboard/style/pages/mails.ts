/**
 * NAME      mails - the list of mails, one line a mail
 * DESCRIPTION
 *   Each whole row is the link of its subject. Narrow windows drop what is least, and a phone gets three lines a mail.
 */
export const MAILS = `
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
`
