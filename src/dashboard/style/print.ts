/**
 * NAME      print - facts and timelines, black on white
 */
export const PRINT = `
.onlyprint { display: none; }
@media print {
  :root { color-scheme: light !important; --paper: #fff; }
  @page { margin: 16mm 14mm; }
  body { font-size: 9.5pt; line-height: 13pt; }
  .app, .mail { display: block; background: none; }
  .bar, .rail, .actions, .tabs, .skip, .view, .filters, .pager, .foot, .bulk, .live-state, .fresh, .verb, .noprint { display: none !important; }
  main { max-width: none; padding: 0; }
  details::details-content { content-visibility: visible !important; height: auto !important; }
  .rcpt, .tl > li, .note, tr { break-inside: avoid; }
  h2, h3, .rcpt > summary { break-after: avoid; }
  /* its place in the grid stays */
  .rcpt > summary::before { visibility: hidden; }
  .pre, .st, .note { background: none !important; }
  .pre, .note { border: 1px solid #bbb; }
  .st { padding-inline: 0 !important; }
  a { color: inherit; text-decoration: none; }
  .plot > svg { visibility: visible !important; }
  .uplot, .readout { display: none; }
  .onlyprint { display: block !important; }
}
`
