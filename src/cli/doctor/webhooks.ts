/**
 * NAME      webhooks - endpoints that take nothing, and those that were disabled for it
 */

import type { KnownEndpoint } from '../../store/port/hooks.js'
import type { CliContext } from '../context.js'
import { collect } from '../rows.js'
import { ago } from '../time.js'
import { type Finding, warn } from './finding.js'

const findingOf = ({ id, url, status, disabledReason, state }: KnownEndpoint): readonly Finding[] => {
  // what somebody has disabled is as they want it
  if (status === 'disabled' && disabledReason !== 'requested') {
    const why = disabledReason === 'gone' ? 'it answered 410' : 'it took nothing for five days'
    return [warn('webhook', `${url} is disabled: ${why}`, `postern webhook update ${id} --enable`)]
  }
  if (status === 'disabled' || state.health !== 'failing') return []
  const since = state.failingSince === null ? '' : `; it began ${ago(state.failingSince)}`
  return [warn('webhook', `${url} takes nothing${since}`, `postern webhook events ${id} --failed`)]
}

export const checkWebhooks = async ({ store, account }: CliContext): Promise<readonly Finding[]> => {
  const all = { accountId: account.id, workspaceId: null, mode: null }
  const rows = await collect((page) => store.endpoints(all, page))
  return rows.flatMap(findingOf)
}
