/**
 * NAME      shell - the bar on top, the rail of pages, and the room for a page
 * DESCRIPTION
 *   The rail is a popover on narrow windows and stands beside the page on others, so a menu needs no script.
 */
export const SHELL = `
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
`
