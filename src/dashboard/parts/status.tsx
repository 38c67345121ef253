/**
 * NAME      status - a word, a shape and, where somebody should care, a hue
 */
const TONE: Readonly<Record<string, string>> = {
  delivered: 'ok',
  deferred: 'wait',
  held: 'wait',
  bounced: 'bad',
  complained: 'bad',
}

export const word = (status: string): string => status.charAt(0).toUpperCase() + status.slice(1)

/** A symbol of the page's sprite. */
export const Icon = ({ name, tone = '' }: { readonly name: string; readonly tone?: string }) => (
  <svg class={`ic ${tone}`.trim()} aria-hidden="true">
    <use href={`#${name}`} />
  </svg>
)

export const Status = ({ status }: { readonly status: string }) => (
  <span class={`st ${TONE[status] ?? ''}`.trim()}>
    <Icon name={status} />
    {word(status)}
  </span>
)
