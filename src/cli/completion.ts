/**
 * NAME      completion - for bash, made from the commands
 * DESCRIPTION
 *   The script holds all words itself, so that a Tab costs no start of Node.
 *   `source <(postern completion)`, or a file in bash-completion's folder.
 */
import {
  type Catalog,
  type Command,
  command,
  GLOBAL_OPTIONS,
  isSubject,
  optionsOf,
  verbOf,
} from './command.js'

const flags = (one: Command): string =>
  [...Object.keys({ ...optionsOf(one), ...GLOBAL_OPTIONS }), 'help']
    .map((name) => (name.length === 1 ? `-${name}` : `--${name}`))
    .join(' ')

const choicesOf = (path: string, one: Command): string[] =>
  Object.entries(optionsOf(one)).flatMap(([name, { choices }]) =>
    choices === undefined ? [] : [`    "${path} --${name}") words='${choices.join(' ')}' ;;`],
  )

const CUT = `_postern() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) ;; *) [[ $path == *' '* ]] || path="\${path:+$path }$word" ;; esac
  done
  case "$path $prev" in`

const complete = async (catalog: Catalog): Promise<string> => {
  const lines: string[] = []
  const choices: string[] = []
  const alone: string[] = []
  for (const entry of catalog) {
    const loaded = await entry.load()
    if (isSubject(loaded)) {
      lines.push(`    '${entry.name}') words='${loaded.commands.map(verbOf).join(' ')}' ;;`)
      for (const one of loaded.commands) {
        const path = `${entry.name} ${verbOf(one)}`
        lines.push(`    '${path}') words='${flags(one)}' ;;`)
        choices.push(...choicesOf(path, one))
      }
    } else {
      alone.push(entry.name)
      lines.push(`    '${entry.name}'|'${entry.name} '*) words='${flags(loaded)}' ;;`)
      choices.push(...choicesOf(entry.name, loaded))
    }
  }
  return [
    '# bash completion for postern; made by: postern completion',
    CUT,
    ...choices,
    '    *" --config"|*" --"*"-file"|*" --attach") COMPREPLY=($(compgen -f -- "$cur")); return ;;',
    '  esac',
    '  [[ -n $words ]] || case "$path" in',
    `    '') words='${catalog.map(({ name }) => name).join(' ')} --help --version' ;;`,
    ...lines,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    `  [[ \${#COMPREPLY[@]} -gt 0 || $cur == -* ]] || COMPREPLY=($(compgen -f -- "$cur"))`,
    '}',
    'complete -F _postern postern',
  ].join('\n')
}

export const completionFor = (catalog: Catalog): Command =>
  command({
    usage: 'completion',
    summary: 'Print the completion script for bash',
    examples: [['source <(postern completion)', 'try it in this shell']],
    run: async (_args, terminal) => terminal.write(await complete(catalog)),
  })
