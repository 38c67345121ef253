/**
 * NAME      open-layout - what stands around a page for people without a session
 */
import type { ComponentChildren } from 'preact'
import type { Assets } from './assets/assets.js'
import { Document } from './layout.js'
import { Icon } from './parts/status.js'

interface OpenLayoutProps {
  readonly title: string
  readonly assets: Assets
  /** The page itself, to come back to. */
  readonly path: string
  readonly children: ComponentChildren
}

export const OpenLayout = ({ title, assets, path, children }: OpenLayoutProps) => (
  <Document title={title} assets={assets}>
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <div class="app open">
      <header class="bar">
        <a class="brand" href="/" aria-label="Postern">
          <Icon name="gate" />
          <span>Postern</span>
        </a>
        <a class="end" href={`/sign-in?return_to=${encodeURIComponent(path)}`}>
          Sign in
        </a>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  </Document>
)
