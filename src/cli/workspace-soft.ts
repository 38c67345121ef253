/**
 * NAME      workspace-soft - after how many soft bounces an address is suppressed, as people write it
 * DESCRIPTION
 *   `mailbox_full=8/30d`: eight of that kind, the first 30 days before the last; several between commas.
 */
import { MOST_SOFT_BOUNCES, MOST_SOFT_DAYS, SOFT_KINDS, type SoftLimits } from '../store/port/alarms.js'
import { usage } from './exit.js'

export const SOFT_OPTION = {
  'suppress-soft': {
    type: 'string',
    describe: `Suppress after soft bounces, such as mailbox_full=8/30d: 8 of that kind over 30 days (${SOFT_KINDS.join(', ')}); none for never`,
  },
} as const

const FORM = /^([a-z_]+)=(\d{1,4})\/(\d{1,3})d$/

/** What is written replaces all that was. */
export const softLimitsIn = (text: string | undefined): SoftLimits | undefined => {
  if (text === undefined) return undefined
  const limits = text === 'none' ? [] : text.split(',').map((one) => one.trim())
  return Object.fromEntries(
    limits.map((one) => {
      const [, name = '', many = '', length = ''] = FORM.exec(one) ?? []
      const kind = SOFT_KINDS.find((known) => known === name)
      const [bounces, days] = [Number(many), Number(length)]
      if (kind === undefined || bounces < 1 || bounces > MOST_SOFT_BOUNCES || days > MOST_SOFT_DAYS)
        throw usage(
          `--suppress-soft: ${one} is not a kind (${SOFT_KINDS.join(', ')}), a count and days such as mailbox_full=8/30d`,
        )
      return [kind, { bounces, days }]
    }),
  )
}

export const softLimitsText = (limits: SoftLimits): string =>
  SOFT_KINDS.flatMap((kind) => {
    const limit = limits[kind]
    return limit === undefined ? [] : [`${kind}=${limit.bounces}/${limit.days}d`]
  }).join(', ') || 'never'
