/**
 * NAME      base - elements as they are without a class
 */
export const BASE = `
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
`
