/**
 * The files of config/container: every field is one that Compose or Kubernetes has, every variable a setting that serve
 * takes, every path one that is mounted, and all of them say what the image says. test/e2e/19-image runs the image.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/config/load.js'
import { safetyDoubts, safetyProblems } from '../../src/config/safety.js'
import { refText } from '../../src/setup/files.js'
import { readEnvironment } from '../../src/setup/start.js'
import { compose, kubernetes } from './container-fields.js'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const read = (name: string): string => readFileSync(join(ROOT, 'config', 'container', name), 'utf8')
const { imageConfig, CONTAINERFILE } = await import(join(ROOT, 'systemd/release/containerfile.mjs'))
const image = imageConfig({ VERSION: '1.2.3', REVISION: 'abc' })
const [UID] = image.User.split(':').map(Number)
const ports = Object.keys(image.ExposedPorts).map((port) => Number.parseInt(port, 10))

type Words = Record<string, string>
// biome-ignore lint/suspicious/noExplicitAny: a file of others' form, which its schema was held against
type Any = any

const ajv = new Ajv({ allErrors: true, formats: { ipv4: /^\d+\.\d+\.\d+\.\d+$/ } })
const complaints = (schema: object, value: unknown): readonly string[] => {
  const isValid = ajv.compile(schema)
  isValid(value)
  return (isValid.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  )
}

/** What the image says, and then the file. */
const imageEnv = (): Words =>
  Object.fromEntries(image.Env.map((word: string) => [word.replace(/=.*/, ''), word.replace(/^[^=]*=/, '')]))
const settled = (env: Words) => readConfig(null, { ...imageEnv(), ...env })
const PRIVATE = ['10.1.2.3', '172.31.77.3']
const paths = (env: Words): readonly string[] =>
  Object.entries(env).flatMap(([name, value]) =>
    name.startsWith('POSTERN_') && value.startsWith('/') ? [value] : [],
  )

const COMPOSE = ['compose.yaml', 'compose.cluster.yaml']
const KUBERNETES = ['kubernetes.yaml', 'kubernetes.cluster.yaml']
const CHOSEN: Words = {
  POSTERN_HOSTNAME: 'mail.example.com',
  POSTERN_BASE_URL: 'https://mail.example.com',
  POSTERN_BOUNCE__DOMAIN: 'bounces.example.com',
  POSTERN_UPSTREAM: 'smtp://user@mta1.example.com:587?tls=verify',
}
/** As Compose puts in what .env says. */
const chosen = (value: string): string =>
  value.replace(/\$\{(\w+)[^}]*\}/g, (_, name: string) => CHOSEN[name] ?? '')
const composeOf = (name: string): Any => parse(read(name), { merge: true })
const manifests = (name: string): Any[] =>
  parseAllDocuments(read(name)).map((one) => {
    if (one.errors.length > 0) throw one.errors[0]
    return one.toJS()
  })
const podOf = (name: string): Any =>
  manifests(name).find(({ kind }) => kind === 'StatefulSet').spec.template.spec

t.test('what the Containerfile does not know is refused', async (t) => {
  const text = readFileSync(CONTAINERFILE, 'utf8')
  const made = (more: string) => () => imageConfig({}, `${text}${more}\n`)
  t.throws(made('ONBUILD RUN true'), /ONBUILD RUN true: not known/)
  t.throws(made('HEALTHCHECK --every=3s CMD ["x"]'), /--every=3s is not known/)
  t.throws(made('HEALTHCHECK --interval=soon CMD ["x"]'), /soon is no time/)
  t.throws(made('LABEL a b'), /LABEL a b/)
  t.match(image.Labels, { 'org.opencontainers.image.version': '1.2.3' })
  t.match(image, { Entrypoint: ['/usr/bin/postern'], Cmd: ['serve'], StopSignal: 'SIGTERM' })
  t.same(image.Healthcheck.Test, ['CMD', '/usr/bin/postern', 'healthcheck'])
  const { http, submission, bounce } = settled(CHOSEN)
  t.same(
    [http, ...submission, bounce].map(({ port }) => port),
    ports,
    'it exposes the ports of the doors',
  )
  t.same(Object.keys(image.Volumes), [settled(CHOSEN).data_dir])
})

t.test('the image wants the two names, and says which variable is wrong', async (t) => {
  t.same(safetyProblems(settled(CHOSEN), PRIVATE), [])
  for (const [name, key] of [
    ['POSTERN_HOSTNAME', 'hostname'],
    ['POSTERN_BASE_URL', 'base_url'],
  ] as const) {
    const { [name]: _, ...others } = CHOSEN
    t.match(safetyProblems(settled({ POSTERN_HOSTNAME: 'localhost', ...others }), PRIVATE), [{ key }])
  }
})

for (const name of COMPOSE)
  t.test(name, async (t) => {
    const file = composeOf(name)
    t.same(complaints(compose, file), [])
    t.match(complaints(compose, { ...file, volume: {} }), [/additional/], 'the check sees what is wrong')
    const services: [string, Any][] = Object.entries(file.services)
    const ours = services.filter(([, { image }]) => /^postern:\d+\.\d+\.\d+$/.test(image))
    t.equal(ours.length, name === 'compose.yaml' ? 1 : 3)
    for (const [called, service] of services) {
      for (const secret of service.secrets ?? [])
        t.ok(file.secrets[secret], `${called}: ${secret} is a secret`)
      for (const volume of service.volumes ?? []) {
        const [from = ''] = volume.split(':')
        t.ok(from.startsWith('./') ? read(from.slice(2)) : file.volumes[from], `${called}: ${volume}`)
      }
      for (const other of Object.keys(service.depends_on ?? {}))
        t.ok(file.services[other], `${called}: ${other}`)
    }
    const used = services.flatMap(([, one]) => [
      ...(one.secrets ?? []),
      ...(one.volumes ?? []).map((v: string) => v.split(':')[0]),
    ])
    for (const one of [...Object.keys(file.volumes), ...Object.keys(file.secrets)])
      t.ok(used.includes(one), `${one} is used`)
    const proxy = file.services.haproxy.networks.front.ipv4_address
    for (const [, service] of ours) {
      const env: Words = Object.fromEntries(
        Object.entries<string>(service.environment).map(([key, value]) => [key, chosen(value)]),
      )
      const config = settled(env)
      t.same([...safetyProblems(config, PRIVATE), ...safetyDoubts(config)], [])
      t.match(config, {
        hostname: 'mail.example.com',
        data_dir: '/data',
        http: { behind_proxy: true, tls: false },
      })
      for (const door of [config.http, ...config.submission, config.bounce]) {
        t.equal(door.host, '0.0.0.0')
        t.same(door.trusted_proxies, [proxy])
      }
      const mounts: string[] = service.volumes.map((volume: string) => volume.split(':')[1])
      t.ok(mounts.includes('/data'))
      for (const path of paths(env))
        t.ok(service.secrets.includes(path.replace('/run/secrets/', '')), `${path} is mounted`)
      t.match(service, { read_only: true, cap_drop: ['ALL'] })
    }
    t.equal(
      new Set(ours.flatMap(([, { volumes }]) => volumes.filter((one: string) => one.endsWith(':/data'))))
        .size,
      ours.length,
    )
  })

t.test('compose.cluster.yaml: the daemons meet the database at its socket', async (t) => {
  const { services } = composeOf('compose.cluster.yaml')
  const socket = services.database.volumes.find((one: string) => one.startsWith('socket:'))
  for (const one of [1, 2, 3]) t.ok(services[`postern-${one}`].volumes.includes(socket))
  const url = /'(postgres:[^']*)\\n'/.exec(read('README.md'))?.[1]?.replaceAll('%%', '%') ?? ''
  t.equal(decodeURIComponent(new URL(url.replace('%s', 'word')).hostname), socket.split(':')[1])
  t.equal(new URL(url.replace('%s', 'word')).username, services.database.environment.POSTGRES_USER)
})

t.test('haproxy.cfg leads to the ports of the image', async (t) => {
  const lines = read('haproxy.cfg')
    .split('\n')
    .map((line) => line.trim())
  const targets = lines
    .flatMap((line) => /^server-template postern 3 postern:(\d+)/.exec(line)?.[1] ?? [])
    .map(Number)
  t.same(new Set(targets), new Set(ports))
  t.same(lines.filter((line) => line.includes('send-proxy-v2')).length, 3, 'SMTP has a PROXY header')
  const bound = lines.flatMap((line) => /^bind :(\d+)/.exec(line)?.[1] ?? [])
  for (const name of COMPOSE) {
    const { haproxy } = composeOf(name).services
    t.same(haproxy.ports.map((one: string) => one.split(':')[1]).sort(), bound.sort())
    t.ok(haproxy.volumes.some((one: string) => one.startsWith('./haproxy.cfg:')))
    for (const secret of haproxy.secrets)
      t.ok(
        lines.some((line) => line.includes(`/run/secrets/${secret}`)),
        secret,
      )
  }
})

for (const name of KUBERNETES)
  t.test(name, async (t) => {
    const all = manifests(name)
    for (const one of all) {
      t.same(complaints(kubernetes[one.kind] ?? {}, one), [], one.kind)
      t.match(complaints(kubernetes[one.kind] ?? {}, { ...one, specs: {} }), [/additional/])
    }
    const set = all.find(({ kind }) => kind === 'StatefulSet').spec
    const services = all.filter(({ kind }) => kind === 'Service')
    const pod = podOf(name)
    const [container] = pod.containers
    t.match(container.image, /^postern:\d+\.\d+\.\d+$/)
    t.equal(set.replicas, name === 'kubernetes.yaml' ? 1 : 3)
    t.ok(services.some(({ metadata }) => metadata.name === set.serviceName))
    for (const { selector } of [...services.map(({ spec }) => spec), { selector: set.selector.matchLabels }])
      t.same(selector, set.template.metadata.labels)
    t.match(pod.securityContext, { runAsUser: UID, runAsGroup: UID, fsGroup: UID })
    const open = new Map(container.ports.map((one: Any) => [one.name, one.containerPort]))
    t.same([...open.values()], ports)
    for (const { spec } of services)
      for (const { targetPort } of spec.ports) t.ok(open.has(targetPort), targetPort)

    const env: Words = Object.fromEntries(container.env.map((one: Any) => [one.name, one.value]))
    const config = settled(env)
    t.same([...safetyProblems(config, PRIVATE), ...safetyDoubts(config)], [])
    t.match(config, { http: { host: '0.0.0.0', tls: true }, bounce: { domain: 'bounces.example.com' } })
    const mounts: Any[] = container.volumeMounts
    for (const path of paths(env))
      t.ok(
        mounts.some((one) => path.startsWith(`${one.mountPath}/`)),
        `${path} is mounted`,
      )
    const volumes = [...pod.volumes, ...set.volumeClaimTemplates.map(({ metadata }: Any) => metadata)].map(
      (one) => one.name,
    )
    t.same(mounts.map((one) => one.name).sort(), volumes.sort())
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      t.equal(
        container[probe].exec.command.join(' ').replace(' --ready', ''),
        image.Healthcheck.Test.slice(1).join(' '),
      )
    for (const { secret } of pod.volumes)
      t.ok(read('README.md').includes(` ${secret.secretName} `), `${secret.secretName} is in the paper`)
    for (const path of paths(env))
      if (path.startsWith('/run/secrets/postern/'))
        t.match(read('README.md'), `--from-file ${path.slice('/run/secrets/postern/'.length)}`, path)
    t.match(env, { POSTERN_UPSTREAM: CHOSEN.POSTERN_UPSTREAM }, 'where its mail goes')
    const { setup, said } = readEnvironment(env, true, 'default')
    t.same(said, [])
    t.same(setup?.mistakes, [])
    t.same(setup?.objects.map(refText), ['pool/default', 'key/default/app'], 'and by which key it comes')
  })

t.test('a container has the time to end that the unit has', async (t) => {
  const unit = readFileSync(join(ROOT, 'systemd/postern.service'), 'utf8')
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])
  for (const name of COMPOSE)
    for (const [called, { stop_grace_period }] of Object.entries<Any>(composeOf(name).services))
      if (called.startsWith('postern')) t.equal(stop_grace_period, `${seconds}s`)
  for (const name of KUBERNETES) t.equal(podOf(name).terminationGracePeriodSeconds, seconds)
  t.match(read('README.md'), `--stop-timeout ${seconds} `)
})

t.test('the variables and the ports of the paper are those of the product', async (t) => {
  const names = [...read('README.md').matchAll(/POSTERN_[A-Z]\w+/g)].map(([one]) => one)
  const known = (one: string) => {
    const value = /__(TLS|BEHIND_PROXY)$/.test(one)
      ? 'true'
      : one.endsWith('PORT')
        ? '0'
        : (CHOSEN[one] ?? '[10.0.0.2]')
    settled({ ...CHOSEN, [one]: /HOST$/.test(one) ? '0.0.0.0' : value })
  }
  t.ok(names.length > 8)
  for (const one of new Set(names)) t.doesNotThrow(() => known(one), one)
  for (const port of ports) t.match(read('README.md'), new RegExp(`\\| (\\d+, )?${port}\\b`, 'm'))
})
