/**
 * NAME      uplot - the package, by a name that browsers can import
 *   A browser gets the package itself in the place of this file.
 */
export { default as uPlot } from 'uplot'
