/**
 * NAME      controls - buttons, fields, and links for one of few
 * DESCRIPTION
 *   At most one filled button a page; what does harm is outlined. On a touch screen they grow.
 */
export const CONTROLS = `
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
`
