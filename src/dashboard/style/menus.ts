/**
 * NAME      menus - what opens: switches, folds, and verbs that ask before they act
 * DESCRIPTION
 *   All are <details>, so that they need no script. On a phone the sheet of a verb stands at the bottom.
 */
export const MENUS = `
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
`
