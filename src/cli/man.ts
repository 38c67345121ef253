/**
 * NAME      man - the manual page, made from the commands
 * DESCRIPTION
 *   mdoc would be nicer to write, man(7) is read everywhere. Every command, its
 *   options and its examples stand in one page, so that one search finds them. The
 *   settings have a page of their own, postern.yaml(5).
 */
import type { Options } from 'yargs'
import { type Catalog, type Command, command, GLOBAL_OPTIONS, isSubject, optionsOf } from './command.js'
import { EXITS } from './exit.js'
import { configPage } from './man-config.js'
import { esc } from './roff.js'
import { versionText } from './version.js'

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
    const loaded = await entry.load()
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
    '.TP\n.B POSTERN_KEY_FILE\nA file with an API key, for send and sendmail.',
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
