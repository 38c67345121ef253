/**
 * NAME      text - facts, words to copy, and pages that teach
 */
export const TEXT = `
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
`
