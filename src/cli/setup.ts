/**
 * NAME      setup - an installation as files: apply, and export of everything that files can say
 *   The plan comes first; then one question, or --yes. Off a terminal what removes something wants the number of
 *   removals as well: --yes=N. What was planned is done only while nobody changed anything since.
 *   Secrets are in none of the output; a link for a person who is new is made by another command, on a terminal.
 */
import { diallerOf } from '../base/dial.js'
import { ApplyStopped, applyPlan } from '../setup/apply.js'
import { exportSetup, writeExport } from '../setup/export.js'
import { readSetup, refText } from '../setup/files.js'
import { countOf, isToDo, type Plan, type PlanStep, planRecord, planSetup } from '../setup/plan.js'
import type { SetupDeps } from '../setup/world.js'
import { command } from './command.js'
import { type CliContext, cliActor, withContext } from './context.js'
import { endingOf, Refusal, usage } from './exit.js'
import type { Paint } from './table.js'
import { type Terminal, tellProgress } from './terminal.js'

interface SetupContext extends CliContext {
  readonly setup: SetupDeps
}

const withSetup = <T>(
  args: { readonly config: string | undefined; readonly json: boolean },
  use: (context: SetupContext) => Promise<T>,
): Promise<T> =>
  withContext(args, async (context) => {
    const { config, deps, store } = context
    const dialler = diallerOf(config)
    try {
      return await use({ ...context, setup: { ...deps, store, dialler, dataDir: config.data_dir } })
    } finally {
      await dialler.close()
    }
  })

const PAINTS = { '+': 'green', '~': 'yellow', '-': 'red', '!': 'magenta', '=': 'dim' } as const

const stepLines = (paint: Paint, step: PlanStep): readonly string[] => [
  paint[PAINTS[step.sign]](`${step.sign} ${refText(step)}${step.why === null ? '' : `: ${step.why}`}`),
  ...step.fields.map(({ field, before, after }) =>
    before === undefined ? `    ${field}: ${after}` : `    ${field}: ${before} -> ${after}`,
  ),
]

const planText = (paint: Paint, plan: Plan): string =>
  [
    ...plan.steps.filter(({ sign }) => sign !== '=').flatMap((step) => stepLines(paint, step)),
    `= ${countOf(plan, '=')} as the files say`,
  ].join('\n')

/** `--yes` is true, `--yes=3` a text; in `--yes FILE` it has taken a file. */
const readYes = (given: unknown, files: readonly string[]) => {
  const text = typeof given === 'string' ? given : null
  const isCount = text !== null && /^\d{1,6}$/.test(text)
  return {
    isYes: given === true || text !== null,
    removals: isCount ? Number(text) : null,
    files: text === null || isCount ? files : [...files, text],
  }
}

const orders = (plan: Plan): string =>
  [
    ...(['+', '~', '-'] as const).flatMap((sign) => {
      const many = countOf(plan, sign)
      const verb = { '+': 'make', '~': 'change', '-': 'remove' }[sign]
      return many === 0 ? [] : [`${verb} ${many}`]
    }),
  ].join(', ')

const consent = async (
  terminal: Terminal,
  plan: Plan,
  { isYes, removals }: ReturnType<typeof readYes>,
): Promise<void> => {
  const many = countOf(plan, '-')
  if (removals !== null && removals !== many)
    throw usage(`--yes=${removals}: the plan removes ${many}; nothing was changed`)
  if (many > 0 && isYes && removals === null && !terminal.isTty)
    throw usage(`the plan removes ${many}: off a terminal say how many, --yes=${many}; nothing was changed`)
  await terminal.confirm(`apply the setup ${plan.setup}: ${orders(plan)}`, isYes)
}

const stopped = (error: unknown): unknown => {
  if (!(error instanceof ApplyStopped)) return error
  const { exit, message } = endingOf(error.cause)
  const names = (steps: readonly PlanStep[]): string => steps.map(refText).join(', ') || 'nothing'
  return new Refusal(
    exit,
    [
      `${refText(error.failed)}: ${message}`,
      `done: ${names(error.done)}`,
      `not done: ${names([error.failed, ...error.left])}`,
      'the same command goes on from here',
    ].join('\n'),
  )
}

export const applyCommand = command({
  usage: 'apply [paths..]',
  summary: 'Make this installation as YAML files say: the plan first, then a question',
  positionals: {
    paths: { type: 'string', array: true, describe: 'Files, or folders of *.yaml files' },
  },
  options: {
    name: { type: 'string', describe: 'Name of the setup, where no file has `setup: NAME`' },
    'dry-run': { type: 'boolean', describe: 'Only show the plan; exit code 2 when there is something to do' },
    prune: { type: 'boolean', describe: 'Also remove what this setup made and the files lack' },
    yes: {
      requiresArg: false,
      describe: 'Do it without asking; --yes=N where N are removed, which a script must say',
    },
    adopt: {
      type: 'string',
      array: true,
      describe: 'Take over what a person made or changed, such as pool/eu; repeatable',
    },
    again: {
      type: 'string',
      array: true,
      describe: 'Make anew what a person removed, such as key/shop/web; repeatable',
    },
  },
  examples: [
    ['$0 apply postern.d --dry-run', 'what would be done'],
    ['$0 apply postern.d --prune --yes=2', 'in a script, where two things go'],
  ],
  run: async (args, terminal) => {
    const yes = readYes(args.yes, args.paths ?? [])
    if (yes.files.length === 0) throw usage('apply needs files or folders, such as postern.d')
    const setup = readSetup(yes.files, args.name ?? null)
    const wish = { prune: args.prune === true, adopt: args.adopt ?? [], again: args.again ?? [] }
    return withSetup(args, async ({ setup: deps, account }) => {
      const planNow = () => planSetup(deps, account.id, setup, wish)
      const plan = await planNow()
      const isIdle = !plan.steps.some(isToDo)
      if (args.dryRun === true) {
        terminal.data(planRecord(plan, false), (paint) => planText(paint, plan))
        return isIdle ? 0 : 2
      }
      if (!terminal.json) terminal.write(planText(terminal.paint, plan))
      if (!isIdle) await consent(terminal, plan, yes)
      const told = isIdle ? () => {} : tellProgress(terminal, plan.steps.filter(isToDo).length)
      const applying = { deps, accountId: account.id, actor: cliActor() }
      try {
        const done = await applyPlan(applying, plan, planNow, { told })
        if (terminal.json) terminal.data(planRecord(plan, true), () => '')
        terminal.say(isIdle ? 'nothing to do' : `${done.length} done`)
      } catch (error) {
        throw stopped(error)
      }
      for (const { kind, name, sign } of plan.steps)
        if (kind === 'person' && sign === '+') terminal.say(`next: postern setup-link --user ${name}`)
      return 0
    })
  },
})

export const exportCommand = command({
  usage: 'export',
  summary: 'Write the files that would make this installation, for postern apply',
  options: {
    setup: { type: 'string', demandOption: true, describe: 'A folder that is made for them' },
    name: { type: 'string', default: 'main', describe: 'Name of the setup' },
  },
  examples: [['$0 export --setup postern.d', 'then fill in the secrets']],
  run: (args, terminal) =>
    withSetup(args, async ({ setup: deps, account }) => {
      const done = await exportSetup(deps, account.id, args.name)
      writeExport(args.setup, done)
      const record = { object: 'setup_export', folder: args.setup, fill_in: done.fillIns }
      terminal.data(record, () => [...done.files.keys()].map((name) => `${args.setup}/${name}`).join('\n'))
      if (done.fillIns > 0)
        terminal.say(`${done.fillIns} times FILL-IN stands for the file of a secret; apply wants them`)
      for (const line of done.stopped) terminal.say(line)
    }),
})
