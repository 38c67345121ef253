/**
 * NAME      figure - a number as people read it
 */
const FORMAT = new Intl.NumberFormat('en-US')

/** `12,345`. */
export const figure = (n: number): string => FORMAT.format(n)
