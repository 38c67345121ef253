/**
 * NAME      chart - strips on one axis of time, lines, and meters
 * DESCRIPTION
 *   The SVG stretches with the window; words and figures are HTML beside it and keep their size.
 */
export const CHART = `
.strips { display: grid; grid-template-columns: 10rem minmax(0, 1fr) auto; column-gap: var(--s3); }
.strip { display: grid; grid-column: 1 / -1; grid-template-columns: subgrid; align-items: end; padding-top: var(--s2); }
.strip h3 { display: flex; align-items: center; gap: var(--s2); color: var(--ink-2); font-weight: 500; }
.strip .big { font: 560 var(--head) var(--sans); letter-spacing: -.01em; }
.strip .big a { color: inherit; }
.strip .rate { margin-inline-start: var(--s2); color: var(--ink-3); font: 400 var(--small) var(--sans); letter-spacing: 0; }
.strip .plot { position: relative; min-width: 0; height: 3.75rem; border-bottom: 1px solid var(--edge); }
.strip .plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.strip .top { align-self: start; min-width: 3ch; color: var(--ink-3); font: var(--small) var(--sans); }
.xaxis { display: flex; grid-column: 2; justify-content: space-between; padding-top: var(--s1); color: var(--ink-3); font: var(--small) var(--sans); }
.bars { fill: var(--fill); }
.bars.ok { fill: var(--fill-ok); }
.bars.wait { fill: var(--fill-wait); }
.bars.bad { fill: var(--fill-bad); }
.lines { display: grid; grid-template-columns: auto minmax(0, 1fr); column-gap: var(--s2); }
.lines .y { display: flex; flex-direction: column; justify-content: space-between; margin-block: -.5rem; color: var(--ink-3); font: var(--small) var(--sans); text-align: end; }
.lines .plot { position: relative; min-width: 0; height: 10rem; }
.lines .plot > svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.lines line { stroke: var(--line); vector-effect: non-scaling-stroke; }
.line { fill: none; stroke: var(--fill); stroke-width: 1.75; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.line.ok { stroke: var(--fill-ok); }
.line.wait { stroke: var(--fill-wait); }
.line.bad { stroke: var(--fill-bad); }
.line.dash { stroke-dasharray: 4 3; }
.legend { display: flex; flex-wrap: wrap; grid-column: 2; gap: var(--s1) var(--s4); padding-top: var(--s2); color: var(--ink-2); font: var(--small) var(--sans); }
.legend li { display: inline-flex; align-items: center; gap: var(--s2); }
.legend svg { width: 1.5rem; height: .5rem; }
.legend b { font-weight: 600; color: var(--ink); }
.meter { display: inline-block; width: 4rem; height: .375rem; margin-inline-end: var(--s2); border-radius: 3px; background: var(--sunk); box-shadow: inset 0 0 0 1px var(--line); vertical-align: .1em; }
.meter rect { fill: var(--fill); }
.meter.ok rect { fill: var(--fill-ok); }
.meter.wait rect { fill: var(--fill-wait); }
.meter.bad rect { fill: var(--fill-bad); }
.readout { min-height: 1rem; color: var(--ink-2); font: var(--small) var(--sans); }
.plot[data-drawn] > svg { visibility: hidden; }
.uplot { position: absolute; inset: 0; }
.uplot .u-wrap { position: relative; width: 100%; height: 100%; }
.uplot :is(.u-under, .u-over, .u-select) { position: absolute; }
.uplot :is(.u-under, .u-select, .u-cursor-x, .u-cursor-y) { pointer-events: none; }
.uplot canvas { display: block; width: 100%; height: 100%; }
.uplot .u-cursor-x { position: absolute; top: 0; left: 0; height: 100%; border-inline-start: 1px solid var(--ink-3); }
.uplot .u-off { display: none; }
@media (width < 48rem) {
  .strips { grid-template-columns: minmax(0, 1fr) auto; }
  .strip > div:first-child { display: flex; grid-column: 1 / -1; align-items: baseline; justify-content: space-between; gap: var(--s3); }
  .strip .big { font: 560 var(--large) var(--sans); }
  .strip .plot { height: 2.5rem; }
  .strips .xaxis { grid-column: 1; }
  .xaxis span:nth-child(even) { display: none; }
  .lines .plot { height: 8rem; }
}
`
