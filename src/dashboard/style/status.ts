/**
 * NAME      status - shape, word, then hue
 * DESCRIPTION
 *   What is fine is quiet; what wants somebody is tinted.
 */
export const STATUS = `
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
.note:has(+ .note) { margin-bottom: var(--s2); }
.note > .ic { margin-top: .125rem; }
.note > div:not(.actions) { flex: 1 1 0; min-width: min(16rem, 100%); }
.note > .ic + div:not(.actions) { min-width: min(14rem, calc(100% - 2rem)); }
.note > div p + p { color: var(--ink-2); }
@media (width >= 60rem) {
  .note > div:has(> .actions) { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 var(--s4); }
  .note > div > :not(.actions) { grid-column: 1; }
  .note > div > .actions { grid-column: 2; grid-row: 1 / span 9; align-self: start; justify-content: flex-end; max-width: 26rem; }
}
.note.ok { background: var(--ok-wash); }
.note.wait { background: var(--wait-wash); }
.note.bad { background: var(--bad-wash); }
.note.ok > .ic { color: var(--ok); }
.note.wait > .ic { color: var(--wait); }
.note.bad > .ic { color: var(--bad); }
:is(.note.ok, .note.wait, .note.bad) :is(.hint, .sub, .faint) { color: var(--ink-2); }
`
