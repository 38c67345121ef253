/**
 * NAME      manual - manual pages and completion, made from the commands and from the schema of the settings
 *   Pages are text for man(7), which is read everywhere. Every command, its options and its examples stand in one page,
 *   so that one search finds them. The completion for bash holds all words itself: a Tab costs no start of Node.
 */
import type { Options } from 'yargs'
import { DEFAULT_FILE } from '../config/load.js'
import { settings } from '../config/reference.js'
import {
  type Catalog,
  type Command,
  command,
  GLOBAL_OPTIONS,
  isSubject,
  optionsOf,
  verbOf,
} from './command.js'
import { EXITS } from './exit.js'
import { loadWhole } from './parse.js'
import { versionText } from './version.js'

/** Nothing in it is taken for an order of roff: no backslash, no dot or quote at the start of a line. */
const esc = (text: string): string =>
  text
    .replaceAll('…', '...')
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^([.'])/gm, '\\&$1')
    .replace(
      /[^\x20-\x7e\n]/g,
      (char) => `\\[u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )

const configPage = (): string =>
  [
    `.TH POSTERN.YAML 5 "" "postern ${versionText()}" "File Formats"`,
    '.ad l',
    '.SH NAME',
    'postern.yaml \\- configuration of postern',
    '.SH DESCRIPTION',
    'YAML. Every setting has a default. A flag wins over the environment, that over the file, that over the default.',
    'Durations are written 90s, 5m, 4h, 5d; sizes 64KiB, 25MiB. Relative paths are taken from the folder of the file;',
    'a path that begins with $CREDENTIALS_DIRECTORY/ names a credential of systemd.',
    'postern config check names every mistake with its line.',
    '.SH SETTINGS',
    ...settings().flatMap(({ key, description, form, preset, variable }) => [
      '.TP',
      `.B ${esc(key)}`,
      `${esc(description)}.`,
      ...(preset === null
        ? []
        : ['.br', esc(`${form}, default ${preset}${variable ? `, ${variable}` : ''}`)]),
    ]),
    '.SH FILES',
    `.TP\n.I ${DEFAULT_FILE}\nRead when neither \\-\\-config nor POSTERN_CONFIG names another.`,
    '.SH SEE ALSO',
    '.BR postern (1),\n.BR systemd.exec (5)',
  ].join('\n')

const optionLine = (name: string, { describe = '', type, choices, default: preset }: Options): string[] => {
  const flag = name.length === 1 ? `-${name}` : `--${name}`
  const value =
    choices !== undefined ? choices.join('|') : type === 'number' ? 'N' : type === 'boolean' ? '' : 'TEXT'
  const ending = preset === undefined ? '' : ` (default ${String(preset)})`
  return [
    '.TP',
    `.B ${esc(flag)}${value === '' ? '' : ` \\fI${esc(value)}\\fR`}`,
    esc(`${describe}${ending}`),
  ]
}

const commandPart = (path: string, one: Command): string[] => [
  `.SS "${esc(path)}"`,
  `${esc(one.summary)}.`,
  ...Object.entries(one.positionals).flatMap(([name, { describe = '' }]) => [
    '.TP',
    `.I ${esc(name)}`,
    esc(describe),
  ]),
  ...Object.entries(optionsOf(one)).flatMap(([name, option]) => optionLine(name, option)),
  ...one.examples.flatMap(([example, meaning]) => [
    '.PP',
    ...(meaning === '' ? [] : [`${esc(`${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}`)}:`]),
    '.RS',
    '.nf',
    esc(example.replace('$0', 'postern')),
    '.fi',
    '.RE',
  ]),
]

const commandParts = async (catalog: Catalog): Promise<string[]> => {
  const parts: string[] = []
  for (const entry of catalog) {
    const loaded = await loadWhole(entry)
    if (isSubject(loaded)) {
      for (const one of loaded.commands) parts.push(...commandPart(`postern ${entry.name} ${one.usage}`, one))
    } else parts.push(...commandPart(`postern ${loaded.usage}`, loaded))
  }
  return parts
}

const page = async (catalog: Catalog): Promise<string> =>
  [
    `.TH POSTERN 1 "" "postern ${versionText()}" "User Commands"`,
    '.ad l',
    '.SH NAME',
    'postern \\- self\\-hosted gateway for transactional email',
    '.SH SYNOPSIS',
    '.B postern',
    '.I subject verb',
    '[\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    'Postern takes mail over HTTP and SMTP, puts it on disk before it says yes, hands it to the mail servers of a pool,',
    'and tells what became of it.',
    'What a command answers goes to standard output, what it remarks to standard error.',
    '.SH OPTIONS',
    ...Object.entries(GLOBAL_OPTIONS).flatMap(([name, option]) => optionLine(name, option)),
    '.SH COMMANDS',
    ...(await commandParts(catalog)),
    '.SH ENVIRONMENT',
    '.TP\n.B POSTERN_CONFIG\nThe configuration file, when there is no \\-\\-config.',
    '.TP\n.B POSTERN_HTTP__PORT \\fRand the like\nAny setting; postern config reference names them.',
    '.TP\n.B POSTERN_KEY_FILE\nA file with an API key, for send, sendmail and mcp.',
    '.TP\n.B NO_COLOR\nNo colour, even on a terminal.',
    '.TP\n.B POSTERN_DEBUG\nShow where an error came from.',
    '.SH EXIT STATUS',
    ...Object.entries(EXITS).flatMap(([code, meaning]) => ['.TP', `.B ${code}`, esc(meaning)]),
    '.SH FILES',
    '.TP\n.I /etc/postern/postern.yaml\nThe configuration.',
    '.SH SEE ALSO',
    '.BR postern.yaml (5),\n.BR postfix (1),\n.BR sendmail (8),\n.BR systemd (1)',
  ].join('\n')

const PAGES = ['postern', 'postern.yaml'] as const

export const manFor = (catalog: Catalog): Command =>
  command({
    usage: 'man [page]',
    summary: 'Print the manual page',
    positionals: {
      page: { choices: PAGES, default: PAGES[0], describe: 'Of the commands, or of the settings' },
    },
    examples: [
      ['postern man | man -l -', 'read it'],
      ['postern man postern.yaml | man -l -', 'the settings'],
    ],
    run: async (args, terminal) =>
      terminal.write(args.page === 'postern.yaml' ? configPage() : await page(catalog)),
  })

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
    const loaded = await loadWhole(entry)
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
