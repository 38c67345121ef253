/**
 * NAME      meter - a share of a whole, always beside its number
 */
export const Meter = ({
  value,
  most,
  tone = '',
}: {
  readonly value: number
  readonly most: number
  readonly tone?: string
}) => (
  <svg class={`meter ${tone}`.trim()} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    <rect width={most <= 0 ? 0 : Math.min(100, (value / most) * 100)} height="10" rx="2" />
  </svg>
)
