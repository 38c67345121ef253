/**
 * NAME      qr - a text as a QR code
 * DESCRIPTION
 *   One path of an inline SVG: the policy of the pages lets in no picture of elsewhere, and no style of an element.
 */
import qrcode from 'qrcode-generator'

/** Light modules around it (ISO/IEC 18004 §5.3.8). */
const QUIET = 4

export const Qr = ({ text, label }: { readonly text: string; readonly label: string }) => {
  const code = qrcode(0, 'M')
  code.addData(text)
  code.make()
  const n = code.getModuleCount()
  let path = ''
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      if (code.isDark(row, column)) path += `M${column + QUIET} ${row + QUIET}h1v1h-1z`
    }
  }
  const size = n + 2 * QUIET
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <path fill="#fff" d={`M0 0h${size}v${size}h-${size}z`} />
      <path fill="#000" d={path} />
    </svg>
  )
}
