/**
 * NAME      plain-send - most sends, recognised by hand
 * DESCRIPTION
 *   joi takes as long for a send as hapi does for the whole request around it. What
 *   nearly all sends look like (texts, addresses, a few tags) is recognised here in
 *   a tenth of that. True means: the schema would take this body and mean the same
 *   by it. False means nothing: the schema decides, and finds the words for what is
 *   wrong. A test holds both against each other on whatever fast-check thinks of.
 */
import type { WireDraft } from '../../submission/draft.js'

type Test = (value: unknown) => boolean

const string =
  (least: number, most: number): Test =>
  (value) =>
    typeof value === 'string' && value.length >= least && value.length <= most

const orNull =
  (test: Test): Test =>
  (value) =>
    value === null || test(value)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const list =
  (test: Test, most: number): Test =>
  (value) =>
    Array.isArray(value) && value.length <= most && value.every(test)

const address = string(1, 1_000)
const manyAddresses = list(address, 100)
const addresses: Test = (value) => address(value) || manyAddresses(value)

const tagName = string(1, 256)
const tagValue = string(0, 256)
const tag: Test = (value) =>
  isObject(value) && Object.keys(value).length === 2 && tagName(value.name) && tagValue(value.value)

const headerName = string(1, 998)
const headerValue = string(0, 65_536)
const headers: Test = (value) => {
  if (!isObject(value)) return false
  for (const name in value) if (!headerName(name) || !headerValue(value[name])) return false
  return true
}

const anyText = string(0, Number.POSITIVE_INFINITY)

/** Attachments are left to the schema: beside their bytes its time does not count. */
const FIELDS: ReadonlyMap<string, Test> = new Map([
  ['from', orNull(address)],
  ['to', addresses],
  ['cc', orNull(addresses)],
  ['bcc', orNull(addresses)],
  ['reply_to', orNull(addresses)],
  ['subject', orNull(string(0, 998))],
  ['html', orNull(anyText)],
  ['text', orNull(anyText)],
  ['headers', orNull(headers)],
  ['tags', orNull(list(tag, 75))],
  ['attachments', orNull(list(() => false, 0))],
  ['scheduled_at', orNull(string(1, 64))],
])

export const isPlainSend = (value: unknown): value is WireDraft => {
  if (!isObject(value) || !Object.hasOwn(value, 'to')) return false
  for (const name in value) if (FIELDS.get(name)?.(value[name]) !== true) return false
  return true
}
