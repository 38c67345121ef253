/**
 * NAME      status - a word, a shape and, where somebody should care, a hue
 * DESCRIPTION
 *   Each status has a silhouette of its own, so that nobody needs to tell colours apart. The shapes stand once in each
 *   document.
 */
import type { ComponentChildren } from 'preact'
import { html } from '../render.js'

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

const line = {
  fill: 'none',
  stroke: 'currentColor',
  'stroke-width': '1.5',
  'stroke-linecap': 'round',
} as const

export const Sprite = () => (
  <svg class="hid" aria-hidden="true">
    <defs>
      <symbol id="queued" viewBox="0 0 16 16">
        <circle cx="8" cy="8" r="5.5" stroke-dasharray="2 2" {...line} />
      </symbol>
      <symbol id="scheduled" viewBox="0 0 16 16">
        <circle cx="8" cy="8" r="5.75" {...line} />
        <path d="M8 5v3.2l2 1.3" {...line} />
      </symbol>
      <symbol id="sent" viewBox="0 0 16 16">
        <path d="M2.5 8h10M8.8 4l4 4-4 4" {...line} />
      </symbol>
      <symbol id="delivered" viewBox="0 0 16 16">
        <circle cx="8" cy="8" r="6.5" fill="currentColor" />
        <path d="m5 8.2 2 2L11 6" class="on" {...line} />
      </symbol>
      <symbol id="deferred" viewBox="0 0 16 16">
        <path d="M13.3 8A5.3 5.3 0 1 1 11.5 4M12 1.8v2.8H9.2" {...line} />
      </symbol>
      <symbol id="bounced" viewBox="0 0 16 16">
        <path d="M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z" fill="currentColor" />
        <path d="m5.7 5.7 4.6 4.6m0-4.6-4.6 4.6" class="on" {...line} />
      </symbol>
      <symbol id="canceled" viewBox="0 0 16 16">
        <circle cx="8" cy="8" r="5.75" {...line} />
        <path d="m4 12 8-8" {...line} />
      </symbol>
      <symbol id="complained" viewBox="0 0 16 16">
        <path d="M4 14.5v-13" {...line} />
        <path d="M4 2.2h8.5l-2.2 3 2.2 3H4z" fill="currentColor" />
      </symbol>
      <symbol id="held" viewBox="0 0 16 16">
        <path d="M5.2 3.5v9M10.8 3.5v9" {...line} />
      </symbol>
      <symbol id="alarm" viewBox="0 0 16 16">
        <path d="M8 1.8 14.8 14H1.2z" fill="currentColor" />
        <path d="M8 6v4m0 1.8v.2" class="on" {...line} />
      </symbol>
      <symbol id="menu" viewBox="0 0 16 16">
        <path d="M2 4h12M2 8h12M2 12h12" {...line} />
      </symbol>
      <symbol id="gate" viewBox="0 0 20 20">
        <path d="M3 18V8.5a7 7 0 0 1 14 0V18" {...line} />
        <path d="M7.5 18V9.2a2.5 2.5 0 0 1 5 0V18z" fill="currentColor" />
      </symbol>
    </defs>
  </svg>
)
