/**
 * NAME      isolate - words of others inside a sentence of ours
 * DESCRIPTION
 *   A reply, a name or a subject may be written from right to left, or try to turn what stands around it. In a string
 *   such words stand between two marks of Unicode, so a title says them right as well; on a page they are a `<bdi>`.
 */
import type { VNode } from 'preact'
import { html } from '../render/markup.js'

const FIRST = '\u2068'
const LAST = '\u2069'
const PART = /\u2068([^\u2069]*)\u2069/

/** Marks of its own would end it too early. */
export const isolate = (text: string): string =>
  text === '' ? '' : `${FIRST}${text.replace(/[\u2066-\u2069]/g, '')}${LAST}`

/** A sentence with such words in it. */
export const Said = ({ text }: { readonly text: string }): VNode =>
  html`${text.split(PART).map((part, at) => (at % 2 === 0 ? part : html`<bdi>${part}</bdi>`))}`
