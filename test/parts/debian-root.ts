/** A root of Debian with nothing in it, which packages are installed into. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { must, type Ran } from './run.js'

const lacking = ['/usr/bin/dpkg-deb', '/usr/bin/systemd-sysusers'].filter((file) => !existsSync(file))
/** Why no package is installed here, or false. */
export const noDeb: string | false =
  lacking.length > 0
    ? `${lacking.join(' and ')} not installed`
    : process.getuid?.() === 0
      ? false
      : 'dpkg --root needs root'

/** A package that is not compressed is built in a tenth of the time. */
export const UNPACKED = { DPKG_DEB_COMPRESSOR_TYPE: 'none' }

export interface DebianRoot {
  readonly root: string
  readonly dpkg: (...args: readonly string[]) => Promise<Ran>
}

/** In the folder `root` of `dir`. */
export const debianRoot = (dir: string): DebianRoot => {
  const root = join(dir, 'root')
  for (const folder of ['var/lib/dpkg/info', 'var/lib/dpkg/updates', 'etc'])
    mkdirSync(join(root, folder), { recursive: true })
  for (const file of ['status', 'available']) writeFileSync(join(root, 'var/lib/dpkg', file), '')
  const options = [`--root=${root}`, '--force-script-chrootless', '--force-depends', '--force-confold']
  return { root, dpkg: (...args) => must('dpkg', [...options, ...args]) }
}
