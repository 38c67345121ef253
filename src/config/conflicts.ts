/**
 * NAME      conflicts - settings that are good alone and wrong together
 */
import type { Config, ListenAddress, Proxied } from './config.js'
import { formatDuration } from './units.js'

interface Conflict {
  readonly path: readonly (string | number)[]
  /** The setting that it does not go with. */
  readonly against: readonly (string | number)[]
  readonly value: unknown
  readonly expected: string
}

const listeners = (config: Config): readonly (readonly [path: Conflict['path'], at: ListenAddress])[] => [
  [['http'], config.http],
  [['management'], config.management],
  [['bounce'], config.bounce],
  ...config.submission.map((one, i) => [['submission', i], one] as const),
]

const isWild = (host: string): boolean => host === '0.0.0.0' || host === '::'

const takenPorts = (config: Config): readonly Conflict[] => {
  const all = listeners(config)
  return all.flatMap(([path, { host, port }], i) => {
    const first = all
      .slice(0, i)
      .find(([, one]) => one.port === port && (one.host === host || isWild(one.host) || isWild(host)))
    if (port === 0 || first === undefined) return []
    return [
      {
        path: [...path, 'port'],
        against: [...first[0], 'port'],
        value: port,
        expected: `is the port of ${first[0].join('.')} already`,
      },
    ]
  })
}

/** A header from anybody could claim any address. */
const proxies = (config: Config): readonly Conflict[] => {
  const doors: readonly (readonly [Conflict['path'], Proxied])[] = [
    [['bounce'], config.bounce],
    ...config.submission.map((one, i) => [['submission', i], one] as const),
  ]
  return doors.flatMap(([path, { proxy_protocol, trusted_proxies }]) =>
    proxy_protocol && trusted_proxies.length === 0
      ? [
          {
            path: [...path, 'proxy_protocol'],
            against: [...path, 'trusted_proxies'],
            value: true,
            expected: `needs ${[...path, 'trusted_proxies'].join('.')}, the addresses of the proxies`,
          },
        ]
      : [],
  )
}

const waits = ({ relay }: Config): readonly Conflict[] =>
  relay.retry.flatMap((wait, i) =>
    wait <= relay.lifetime
      ? []
      : [
          {
            path: ['relay', 'retry', i],
            against: ['relay', 'lifetime'],
            value: formatDuration(wait),
            expected: `expected at most relay.lifetime, ${formatDuration(relay.lifetime)}: no such attempt would be made`,
          },
        ],
  )

const keeping = ({ retention: { bodies, emails } }: Config): readonly Conflict[] =>
  bodies <= emails
    ? []
    : [
        {
          path: ['retention', 'bodies'],
          against: ['retention', 'emails'],
          value: formatDuration(bodies),
          expected: `expected at most retention.emails, ${formatDuration(emails)}: a body goes with its mail`,
        },
      ]

/** It would come in again by the door that hands it on. */
const circles = ({ bounce: { domain, postmaster } }: Config): readonly Conflict[] =>
  postmaster?.replace(/>$/, '').toLowerCase().endsWith(`@${domain.toLowerCase()}`)
    ? [
        {
          path: ['bounce', 'postmaster'],
          against: ['bounce', 'domain'],
          value: postmaster,
          expected: 'expected an address of another domain than bounce.domain: its mail would go round',
        },
      ]
    : []

const database = ({ store: { driver, url_file, pooler } }: Config): readonly Conflict[] => {
  if (driver === 'postgres' && url_file === null)
    return [
      {
        path: ['store', 'driver'],
        against: ['store', 'url_file'],
        value: driver,
        expected: 'needs store.url_file, a file with the URL of the database',
      },
    ]
  if (driver === 'postgres' || pooler === 'none') return []
  return [
    {
      path: ['store', 'pooler'],
      against: ['store', 'driver'],
      value: pooler,
      expected: 'needs store.driver postgres: there is no pooler before a file',
    },
  ]
}

/** Who has the store to itself carries all of its mail. */
const served = ({ store: { driver }, relay: { pools } }: Config): readonly Conflict[] =>
  driver !== 'postgres' && pools !== null
    ? [
        {
          path: ['relay', 'pools'],
          against: ['store', 'driver'],
          value: pools,
          expected: 'needs store.driver postgres: nobody else would carry the mail of the other pools',
        },
      ]
    : []

/** Settings that are each good and do not go together: shared ports, proxies, waits, retention. */
export const conflictsIn = (config: Config): readonly Conflict[] => [
  ...takenPorts(config),
  ...proxies(config),
  ...circles(config),
  ...waits(config),
  ...keeping(config),
  ...database(config),
  ...served(config),
]
