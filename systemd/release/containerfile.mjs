// What config/container/Containerfile says of the image below its last FROM, as the configuration of an image in Docker's
// format. An instruction or a flag that is not known here is an error, so that the file and the image never differ.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const CONTAINERFILE = join(dirname(fileURLToPath(import.meta.url)), '../../config/container/Containerfile')

const UNITS = { s: 1e9, m: 60e9 }
const nanoseconds = (text) => {
  const [, count, unit] = /^(\d+)([sm])$/.exec(text) ?? []
  if (count === undefined) throw new Error(`Containerfile: ${text} is no time`)
  return Number(count) * UNITS[unit]
}

const healthcheck = (text) => {
  const [, flags, command] = /^(.*?)CMD (.*)$/.exec(text) ?? []
  const names = { interval: 'Interval', timeout: 'Timeout', 'start-period': 'StartPeriod', retries: 'Retries' }
  const entries = flags.trim().split(' ').map((flag) => {
    const [, name, value] = /^--([a-z-]+)=(\w+)$/.exec(flag) ?? []
    if (names[name] === undefined) throw new Error(`Containerfile: HEALTHCHECK ${flag} is not known`)
    return [names[name], name === 'retries' ? Number(value) : nanoseconds(value)]
  })
  return { Test: ['CMD', ...JSON.parse(command)], ...Object.fromEntries(entries) }
}

const set = {
  USER: (config, text) => ({ ...config, User: text }),
  ENV: (config, text) => ({ ...config, Env: [...(config.Env ?? []), text] }),
  ENTRYPOINT: (config, text) => ({ ...config, Entrypoint: JSON.parse(text) }),
  CMD: (config, text) => ({ ...config, Cmd: JSON.parse(text) }),
  WORKDIR: (config, text) => ({ ...config, WorkingDir: text }),
  VOLUME: (config, text) => ({ ...config, Volumes: Object.fromEntries(JSON.parse(text).map((path) => [path, {}])) }),
  EXPOSE: (config, text) => ({ ...config, ExposedPorts: Object.fromEntries(text.split(' ').map((port) => [`${port}/tcp`, {}])) }),
  STOPSIGNAL: (config, text) => ({ ...config, StopSignal: text }),
  HEALTHCHECK: (config, text) => ({ ...config, Healthcheck: healthcheck(text) }),
  LABEL: (config, text) => {
    const [, name, value] = /^([\w.]+)="([^"]*)"$/.exec(text) ?? []
    if (name === undefined) throw new Error(`Containerfile: LABEL ${text}: write one, as name="value"`)
    return { ...config, Labels: { ...config.Labels, [name]: value } }
  },
}

/** `args` are the values of its ARGs. */
export const imageConfig = (args, text = readFileSync(CONTAINERFILE, 'utf8')) => {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const last = lines.findLastIndex((line) => line.startsWith('FROM '))
  let config = {}
  for (const line of lines.slice(last + 1)) {
    const [, word, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    if (word === 'ARG' || word === 'COPY') continue
    if (set[word] === undefined) throw new Error(`Containerfile: ${line}: not known to systemd/release/containerfile.mjs`)
    config = set[word](config, rest.replace(/\$([A-Z]+)/g, (_, name) => args[name]))
  }
  return config
}
