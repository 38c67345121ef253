/** What the server gives as uplot.js: the package, with a name to import. */
export { default as uPlot } from 'uplot'
