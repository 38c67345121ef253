/**
 * Disks of a test's own: a small one in memory, or one in an image that can lose
 * its power. They want root and a kernel that lets us; where they can not be had
 * the reason is an answer, to be printed.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Disk {
  readonly path: string
  /** Of an image: what has reached the device by now is all there will be. Whoever writes must stand still. */
  cutPower(): void
  /** After a cut: what the image holds. */
  mountAgain(): void
  remove(): void
}

const run = (file: string, ...words: string[]): string =>
  execFileSync(file, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

const reasonOf = (error: unknown): string => {
  const { stderr, message } = error as { stderr?: string; message: string }
  return (stderr ?? message).trim().split('\n')[0] ?? message
}

/** A disk in memory of so many MiB, for so many files (0: any number), or why there is none. */
export const smallDisk = (mib: number, files = 0): Disk | string => {
  const path = mkdtempSync(join(tmpdir(), 'postern-disk-'))
  const unmount = (): void => {
    run('umount', path)
  }
  try {
    run('mount', '-t', 'tmpfs', '-o', `size=${mib}m,nr_inodes=${files},mode=0700`, 'tmpfs', path)
  } catch (error) {
    rmSync(path, { recursive: true })
    return reasonOf(error)
  }
  return {
    path,
    cutPower: unmount,
    mountAgain: () => {},
    remove: () => {
      unmount()
      rmSync(path, { recursive: true })
    },
  }
}

/** An XFS file system in an image, or why there is none. */
export const imageDisk = (mib: number): Disk | string => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-image-'))
  const image = join(folder, 'image')
  const path = join(folder, 'disk')
  let device = ''
  const mount = (): void => {
    run('mount', device, path)
  }
  try {
    run('truncate', '-s', `${mib}M`, image)
    run('mkfs.xfs', '-q', image)
    // one device for all its lives: two would not see each other's writes
    device = run('losetup', '-f', '--show', image).trim()
    run('mkdir', '-m', '0700', path)
    mount()
    run('chmod', '0700', path)
  } catch (error) {
    if (device !== '') run('losetup', '-d', device)
    rmSync(folder, { recursive: true, force: true })
    return reasonOf(error)
  }
  return {
    path,
    // not `xfs_io -c shutdown`: kernel 6.18 keeps what was never synced, and the control loses nothing
    cutPower: () => {
      run('cp', '--sparse=always', image, `${image}.cut`)
    },
    mountAgain: () => {
      run('umount', path)
      run('losetup', '-d', device)
      run('mv', `${image}.cut`, image)
      device = run('losetup', '-f', '--show', image).trim()
      mount()
    },
    remove: () => {
      try {
        run('umount', path)
      } finally {
        run('losetup', '-d', device)
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}
