/**
 * NAME      import - a whole list of suppressed addresses, pasted
 * DESCRIPTION
 *   Addresses, one a line, or CSV as the command line reads it. What /v1 calls no address is left out and named by its
 *   line; where nothing could be taken, the text comes back. To send it again does no harm.
 */

import { parseRecipient } from '../../../mail/address.js'
import { type ListLine, readSuppressionList } from '../../../record/csv.js'
import { AskError, mistake } from '../../ask.js'
import type { Form } from '../../form.js'
import { ActionForm, Choice, Field, Send } from '../../parts/form.js'
import { figure } from '../../parts/text.js'
import type { Done, Visit } from '../../visit.js'
import { chosenWorkspace, within, workspacesOf } from '../access/whose.js'

const MOST = 10_000
/** What /v1 takes at once. */
const CHUNK = 100
/** Lines in a notice. */
const MOST_NAMED = 20

const counted = (n: number, one: string, many = `${one}s`): string =>
  n === 1 ? `1 ${one}` : `${figure(n)} ${many}`

export const ImportForm = (props: { readonly wide: boolean }) => {
  const { wide } = props
  return (
    <ActionForm action="import">
      <Field
        name="list"
        label="Addresses or CSV"
        rows={6}
        required
        hint="One address a line, or CSV with them in the first column or under a head such as email; at most 10,000."
      />
      <Field name="reason" label="Reason" maxLength={500} hint="The same for all of them." />
      <Choice
        name="scope"
        label="For"
        value={wide ? 'account' : 'workspace'}
        options={[
          ['workspace', 'this workspace'],
          ['account', 'every workspace'],
        ]}
      />
      <Send plain>Import</Send>
    </ActionForm>
  )
}

/** Which items of a batch were wrong. */
export const wrongItems = (error: unknown): readonly number[] =>
  error instanceof AskError
    ? (error.problem.errors ?? []).flatMap(({ field }) => {
        const item = /\[(\d+)\]/.exec(field)?.[1]
        return item === undefined ? [] : [Number(item)]
      })
    : []

interface Taken {
  /** Ids; of an address that stands twice, twice. */
  readonly ids: readonly string[]
  readonly wrong: readonly ListLine[]
}

/** A batch is taken whole or not at all, so it is sent again without what was wrong with it. */
const take = async (
  add: (emails: readonly string[]) => Promise<readonly string[]>,
  lines: readonly ListLine[],
) => {
  const wrong: ListLine[] = []
  let left = lines
  while (left.length > 0) {
    try {
      return { ids: await add(left.map(({ email }) => email)), wrong }
    } catch (error) {
      const items = new Set(wrongItems(error))
      if (items.size === 0) throw error
      wrong.push(...left.filter((_, i) => items.has(i)))
      left = left.filter((_, i) => !items.has(i))
    }
  }
  return { ids: [], wrong }
}

const notTaken = (wrong: readonly ListLine[]): string => {
  if (wrong.length === 0) return ''
  const named = wrong.slice(0, MOST_NAMED).map(({ at }) => at)
  const more = wrong.length - named.length
  const lines = `${wrong.length === 1 ? 'line' : 'lines'} ${named.join(', ')}`
  return `No single address: ${lines}${more === 0 ? '' : ` and ${figure(more)} more`}.`
}

/** What was added before something else failed stays, and the page says so. */
const halfway = (error: unknown, n: number): unknown =>
  n > 0 && error instanceof AskError
    ? new AskError({
        ...error.problem,
        detail: `${counted(n, 'address is', 'addresses are')} on the list, the rest is not: ${error.message} Send it again; what is there stays.`,
      })
    : error

export const importList = async (visit: Visit, form: Form): Promise<Done> => {
  const lines = readSuppressionList(form.raw('list'))
  if (lines.length === 0) throw mistake('list', 'there is no address in it')
  if (lines.length > MOST) throw mistake('list', `at most 10,000 at once; these are ${figure(lines.length)}`)
  const slug = chosenWorkspace(visit, await workspacesOf(visit))
  const scope = form.text('scope')
  const addTo = (list: string) => async (emails: readonly string[]) => {
    const body = { emails, list: list === '' ? null : list, reason: form.text('reason'), scope }
    const path = '/v1/suppressions/batch/add'
    const { data } = await visit.ask<{ data: readonly { id: string }[] }>('POST', path, {
      ...within(slug),
      body,
    })
    return data.map(({ id }) => id)
  }
  // several on one line would be taken for an address and its reason, and the others lost
  const several = ({ reason }: ListLine): boolean => reason !== null && parseRecipient(reason) !== null
  const wrong = lines.filter(several)
  const single = lines.filter((line) => !several(line))
  const ids = new Set<string>()
  for (const list of new Set(single.map((line) => line.list))) {
    const lines = single.filter((line) => line.list === list)
    for (let at = 0; at < lines.length; at += CHUNK) {
      const taken: Taken = await take(addTo(list), lines.slice(at, at + CHUNK)).catch((error) => {
        throw halfway(error, ids.size)
      })
      for (const id of taken.ids) ids.add(id)
      wrong.push(...taken.wrong)
    }
  }
  wrong.sort((a, b) => a.at - b.at)
  if (ids.size === 0) throw mistake('list', notTaken(wrong))
  return {
    to: visit.link('/suppressions', { scope: scope === 'account' ? 'account' : null }),
    notice: `${counted(ids.size, 'address is', 'addresses are')} on the list. ${notTaken(wrong)}`.trim(),
  }
}
