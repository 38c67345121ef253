/**
 * NAME      variables - settings by their variables
 *   A remedy names a setting as the file has it. Who has no file, as in a container, sets by variables, and is told of
 *   those: `set http.tls: true` becomes `set POSTERN_HTTP__TLS=true`. What was read last decides; this file imports
 *   nothing, so that a command that reads no configuration does not load what reads it.
 */
const PREFIX = 'POSTERN_'

/** The variable that sets this key. */
export const variableOf = (key: string): string => PREFIX + key.replaceAll('.', '__').toUpperCase()

export const isVariable = (name: string): boolean => name.startsWith(PREFIX)

/** `http.tls`, or `http.tls: true`, where a remedy tells to set it. */
const NAMED = /(?<=\b(?:set|or|and|needs) )([a-z_]+(?:\.\w+)*)(?:: (\[[^\]]*\]|[^\s,;]+))?/g

let isByVariable: (key: string) => boolean = () => false

/** Says of the settings in force which of them have, or would have, a variable. */
export const decideBy = (decide: (key: string) => boolean): void => {
  isByVariable = decide
}

/** The words of a remedy for whoever has to follow it. */
export const asTheySet = (text: string): string =>
  text.replace(NAMED, (whole, key: string, value: string | undefined) =>
    isByVariable(key) ? variableOf(key) + (value === undefined ? '' : `=${value}`) : whole,
  )
