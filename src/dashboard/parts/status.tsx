/**
 * NAME      status - a word, a shape and, where somebody should care, a hue
 */
import type { ComponentChildren } from 'preact'
import { html } from '../render/markup.js'

export type Tone = '' | 'ok' | 'wait' | 'bad'

const TONES: Readonly<Record<string, Tone>> = {
  delivered: 'ok',
  deferred: 'wait',
  held: 'wait',
  bounced: 'bad',
  complained: 'bad',
}

/** Of what is neither good nor bad: none. */
export const toneOf = (status: string): Tone => TONES[status] ?? ''

/** The shape of what is no status of a mail. */
export const SHAPES: Readonly<Record<Tone, string>> = {
  '': 'queued',
  ok: 'delivered',
  wait: 'deferred',
  bad: 'bounced',
}

export const word = (status: string): string => status.charAt(0).toUpperCase() + status.slice(1)

/** A symbol of the page's sprite. */
export const Icon = ({ name, tone = '' }: { readonly name: string; readonly tone?: string }) =>
  html`<svg class="${`ic ${tone}`.trim()}" aria-hidden="true"><use href="#${name}"></use></svg>`

interface StateProps {
  readonly tone: Tone
  readonly icon?: string
  /** Of the shape alone, where the words have another one. */
  readonly hue?: Tone
  readonly children: ComponentChildren
}

export const State = ({ tone, icon = SHAPES[tone], hue = '', children }: StateProps) =>
  html`<span class="${`st ${tone}`.trim()}">${Icon({ name: icon, tone: hue })}${children}</span>`

export const Status = ({ status }: { readonly status: string }) =>
  State({ tone: toneOf(status), icon: status, children: word(status) })
