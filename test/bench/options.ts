/** `--name=value` or `--name value`; a name without a value is 1. Nobody waits minutes for a run with a typo. */
export type Options = Readonly<Record<string, string>>

const NAMES = ['runs', 'count', 'warm', 'only', 'rows', 'queued', 'further']

export const readOptions = (words: readonly string[]): Options => {
  const options: Record<string, string> = {}
  for (let i = 0; i < words.length; i++) {
    const [, name, value] = /^--([a-z]+)(?:=(.*))?$/.exec(words[i] ?? '') ?? []
    if (name === undefined || !NAMES.includes(name))
      throw new Error(`what does ${words[i]} mean? The options: --${NAMES.join(' --')}`)
    const next = words[i + 1]
    if (value !== undefined) options[name] = value
    else if (next !== undefined && !next.startsWith('--')) options[name] = words[++i] ?? ''
    else options[name] = '1'
  }
  return options
}

/** A positive whole number, or the default. */
export const numberOf = (options: Options, name: string, standard: number): number => {
  const value = Number(options[name] ?? standard)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number of 1 or more`)
  return value
}
