/**
 * NAME      table - rows, dense and wide, and as label and value on a phone
 * DESCRIPTION
 *   Tables reach 12 px beyond the text on both sides, so that their words stand below the headings'.
 */
const STACKED = `
  .t.KIND, .t.KIND tbody { display: block; width: auto; margin: 0; }
  .t.KIND thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .t.KIND tbody tr { display: block; padding: var(--s3) 0; border-bottom: 1px solid var(--line); }
  .t.KIND tbody tr:last-child { border-bottom-color: transparent; }
  .t.KIND tbody :is(td, th) { position: relative; display: block; width: auto; min-height: 1.25rem; padding: 0 0 var(--s1) 7.25rem; border: 0; white-space: normal; text-align: start; overflow-wrap: anywhere; }
  .t.KIND tbody :is(td, th)::before { content: attr(data-l); position: absolute; left: 0; width: 6.5rem; color: var(--ink-3); font: 400 .75rem/1.25rem var(--sans); overflow-wrap: anywhere; }
  .t.KIND tbody :is(td:first-child, th:first-child, td.solo, td.act, td.tick) { padding-inline-start: 0; }
  .t.KIND tbody :is(td:first-child, th:first-child, td.solo, td.act, td.tick)::before { content: none; }
  .t.KIND tbody :is(td:first-child, th:first-child):not(.tick) { font-weight: 500; }
  .t.KIND tbody :is(td.none, td:empty) { display: none; }
  .t.KIND tbody td.act { padding-top: var(--s1); }
  .t.KIND tbody tr:hover > * { background: none; }
`

export const TABLE = `
.t { width: calc(100% + 1.5rem); margin-inline: -.75rem; border-collapse: collapse; }
.t caption { padding: 0 var(--s3) var(--s2); color: var(--ink-3); font: var(--small) var(--sans); text-align: start; }
.t :is(th, td) { padding: var(--s2) var(--s3); border-bottom: 1px solid var(--line); text-align: start; vertical-align: top; }
.t thead th { padding-bottom: calc(var(--s2) - 1px); color: var(--ink-3); font: 500 var(--small) var(--sans); white-space: nowrap; }
.t tbody th { font-weight: 500; }
.t tbody tr:hover > * { background: var(--wash); }
.t tbody tr:last-child > * { border-bottom-color: transparent; }
.t.calm tbody tr:hover > * { background: none; }
.t .num { text-align: end; white-space: nowrap; }
.t .fit, .t .solo, .t .tick { width: 1%; white-space: nowrap; }
.t .grow { width: 40%; }
.t td { overflow-wrap: break-word; }
.t tbody :is(th, td.grow, td.name, td:first-child:not(.tick)) { min-width: 8rem; overflow-wrap: anywhere; }
.t .act { width: 1%; padding-block: .3125rem; text-align: end; white-space: nowrap; }
.t .act .b { min-height: 1.5rem; padding: 0 var(--s2); border-color: var(--line); font-size: .75rem; line-height: 1.375rem; }
.t .act > .actions { flex-wrap: nowrap; justify-content: flex-end; }
.t .act .verb > form .b { min-height: 2rem; padding: calc(.375rem - 1px) var(--s3); font-size: .875rem; line-height: 1.25rem; }
.t tbody a { color: var(--ink); }
.t tbody a:hover { color: var(--accent); }
.t tbody .b.harm { color: var(--bad); }
.t .say > .ic { display: inline-block; vertical-align: -.2em; }
.t .say { color: var(--ink-2); overflow-wrap: anywhere; }
.t tr.new > * { background: var(--accent-wash); }
.t tr[aria-selected=true] > *, .t tr.at > * { background: var(--sunk); }
.one { display: block; min-width: 0; overflow: hidden; text-align: left; text-overflow: ellipsis; white-space: nowrap; }
.pair { display: flex; gap: var(--s1); min-width: 0; }
.pair .one { flex: 0 1 auto; }
.clamp { display: -webkit-box; overflow: hidden; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow-wrap: anywhere; }
.reply { display: block; margin-top: .125rem; color: var(--ink-2); font: var(--small) var(--mono); overflow-wrap: anywhere; white-space: normal; }
.sub { display: block; margin-top: .125rem; color: var(--ink-3); font: 400 var(--small) var(--sans); overflow-wrap: anywhere; white-space: normal; }
.t .verb > summary.b { max-width: none; white-space: nowrap; overflow-wrap: normal; }
.t .sub { min-width: 5rem; }
.heat-1 { background: color-mix(in srgb, var(--fill) 10%, transparent); }
.heat-2 { background: color-mix(in srgb, var(--fill) 20%, transparent); }
.heat-3 { background: color-mix(in srgb, var(--fill) 32%, transparent); }
.heat-4 { background: color-mix(in srgb, var(--fill) 45%, transparent); }
.scroll { max-width: 100%; overflow-x: auto; }
@media (width < 75rem) {${STACKED.replaceAll('KIND', 'many')}}
@media (40rem <= width < 75rem) {
  .t.many tbody tr { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 var(--s5); }
  .t.many tbody :is(td:first-child, th:first-child, td.solo, td.act) { grid-column: 1 / -1; }
}
@media (width < 40rem) {${STACKED.replaceAll('KIND', 'stack')}
  .t .opt { display: none !important; }
  .t:not(.stack, .many) { width: 100%; margin-inline: 0; }
  .t:not(.stack, .many) :is(th, td) { padding-inline: var(--s1); }
}
`
