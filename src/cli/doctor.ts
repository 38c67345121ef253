/**
 * NAME      doctor - what is wrong here, and the one command that mends it
 *   Numbered checks from the configuration to the DNS. Nothing is changed and no
 *   mail is sent. Ends with the exit code of the first failure.
 */
import { DEFAULT_FILE, fileOfConfig } from '../config/load.js'
import { ConfigError } from '../config/problem.js'
import { safetyProblems } from '../config/safety.js'
import { asTheySet } from '../config/variables.js'
import { adminOf, placeOf } from '../store/open.js'
import { command } from './command.js'
import { configOf, RESOLVER, readResolver, withContext } from './context.js'
import { checkDatabase, checkServer } from './doctor/database.js'
import { type Check, type DoctorFacts, type Finding, type FindingResult, fail, ok } from './doctor/finding.js'
import {
  checkClock,
  checkDaemon,
  checkDisk,
  checkFactors,
  checkLimits,
  checkModes,
  checkOwner,
  checkPepper,
  checkPorts,
} from './doctor/host.js'
import {
  checkAlarms,
  checkRelays,
  checkRunning,
  checkTimes,
  checkUpstreams,
  checkWebhooks,
  checkWorkspaces,
} from './doctor/inside.js'
import { checkCertificate, checkDomains, checkNames, checkProviders } from './doctor/outside.js'
import { endingOf } from './exit.js'
import { asListening } from './listening.js'
import { clean, type Paint } from './table.js'
import { whileAt } from './terminal.js'

const configFailures = (error: ConfigError): readonly Finding[] =>
  error.problems.map(({ where, key, value, expected, remedy }) => {
    const subject = [where, key].filter((part) => part).join(': ')
    const detail = `${subject}: ${expected}${value === null ? '' : `, found ${value}`}`
    return fail('configuration', detail, remedy ?? 'postern config reference', 78)
  })

const checkConfig: Check = async ({ config, written }) => {
  const problems = safetyProblems(config)
  if (problems.length > 0) return configFailures(new ConfigError(problems))
  return [ok('configuration', fileOfConfig(written) ?? `the defaults: there is no ${DEFAULT_FILE}`)]
}

const CHECKS: readonly Check[] = [
  checkModes,
  checkPepper,
  checkDisk,
  checkClock,
  checkLimits,
  checkDaemon,
  checkPorts,
  checkCertificate,
  checkRunning,
  checkNames,
  checkProviders,
]

/** A check that itself fails is a finding, too. */
const attempt = async (
  name: string,
  check: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> => {
  try {
    return await check()
  } catch (error) {
    const { exit, message } = endingOf(error)
    return [fail(name, message, 'mend that, then: postern doctor', exit)]
  }
}

const examine = async (facts: DoctorFacts): Promise<readonly Finding[]> => {
  const found: Finding[] = [...(await attempt('doctor', () => checkConfig(facts)))]
  const stranger = await attempt('doctor', () => checkOwner(facts))
  found.push(...stranger)
  if (stranger.length > 0) return found
  for (const check of CHECKS) found.push(...(await attempt('doctor', () => check(facts))))
  const look = facts.config.store.driver === 'sqlite' ? checkDatabase : checkServer
  const database = await attempt('database', () => look(facts))
  found.push(...database)
  // only a sound database is opened: opening one brings it up to date
  if (!database.every(({ check, result }) => result === 'ok' || (check !== 'database' && result === 'warn')))
    return found
  const inside = await attempt('store', () =>
    withContext({ config: facts.configFile, json: false }, async (context) => [
      ...(await checkTimes(context, facts)),
      ...(await checkWorkspaces(context)),
      ...(await checkUpstreams(context)),
      ...(await checkRelays(context)),
      ...(await checkFactors(context)),
      ...(await checkAlarms(context)),
      ...(await checkWebhooks(context)),
      ...(await checkDomains(context, facts)),
    ]),
  )
  return [...found, ...inside]
}

const COLOUR: Readonly<Record<FindingResult, (paint: Paint) => (text: string) => string>> = {
  ok: (paint) => paint.green,
  warn: (paint) => paint.yellow,
  fail: (paint) => paint.red,
}

const reportText = (paint: Paint, found: readonly Finding[]): string =>
  found
    .map(({ check, result, detail, remedy }, i) => {
      const head = `${String(i + 1).padStart(2)} ${COLOUR[result](paint)(result.padEnd(4))} ${check}: ${clean(detail)}`
      return remedy === null ? head : `${head}\n        ${paint.dim('→')} ${clean(remedy)}`
    })
    .join('\n')

const findAll = async (
  configFile: string | undefined,
  resolver: string | undefined,
): Promise<readonly Finding[]> => {
  try {
    const configured = configOf({ config: configFile })
    const running = (await adminOf(placeOf(configured.data_dir))).isLocked()
    const config = running ? asListening(configured) : configured
    return await examine({ config, written: configured, configFile, running, resolver, now: Date.now() })
  } catch (error) {
    if (error instanceof ConfigError) return configFailures(error)
    throw error
  }
}

export const doctorCommand = command({
  usage: 'doctor',
  summary: 'Look for what is wrong, and name the command that mends it',
  options: RESOLVER,
  examples: [
    ['$0 doctor', 'look at everything'],
    ['$0 doctor --resolver 1.1.1.1', 'ask another name server'],
  ],
  run: async (args, terminal) => {
    const resolver = readResolver(args.resolver)
    const seen = await whileAt(terminal, 'looking', findAll(args.config, resolver))
    const found = seen.map((one) => ({ ...one, remedy: one.remedy === null ? null : asTheySet(one.remedy) }))
    const records = found.map(({ check, result, detail, remedy }, i) => ({
      number: i + 1,
      check,
      result,
      detail,
      remedy,
    }))
    terminal.data(records, (paint) => reportText(paint, found))
    const count = (wanted: FindingResult): number => found.filter(({ result }) => result === wanted).length
    const many = (wanted: FindingResult, word: string): string =>
      `${count(wanted)} ${word}${count(wanted) === 1 ? '' : 's'}`
    terminal.say(`${count('ok')} ok, ${many('warn', 'warning')}, ${many('fail', 'failure')}`)
    if (count('fail') === 0)
      terminal.say(`the dashboard: ${configOf(args).base_url}; a way in: postern setup-link`)
    return found.find(({ result }) => result === 'fail')?.exit ?? 0
  },
})
