/**
 * NAME      docs - the API reference: contents, an operation, its examples
 * DESCRIPTION
 *   Three columns where there is room; the contents go first, then the examples stand below. Members of members are
 *   set in, one step a level.
 */
export const DOCS = `
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
@media (width < 40rem) { .depth-1, .depth-2, .depth-3, .depth-4 { padding-inline-start: var(--s3); } }
`
