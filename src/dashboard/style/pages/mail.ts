/**
 * NAME      mail - one mail: the verdict, a timeline per recipient, and what it contains
 */
export const MAIL = `
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
`
