#!/usr/bin/env node
// Which version is built here. A tag vX.Y.Z on the commit makes X.Y.Z. Between tags it is X.Y.Z-dev.N+commit: X.Y.Z is the
// next one (that of package.json where it is ahead of the last tag, else the last tag's next patch) and N the commits
// since, so that what is built later is newer, for apt, too. Outside of a repository it is package.json's.
//   node systemd/release/version.mjs [--deb]    prints it, as Debian writes it with --deb
import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const numbers = (version) => version.split(/[-+]/)[0].split('.').map(Number)
const isAhead = (one, other) => {
  const [ours, theirs] = [numbers(one), numbers(other)]
  const i = ours.findIndex((n, at) => n !== theirs[at])
  return i !== -1 && ours[i] > theirs[i]
}
const nextPatch = (version) => {
  const [major, minor, patch] = numbers(version)
  return version.includes('-') ? version.split('-')[0] : `${major}.${minor}.${patch + 1}`
}

/** `epoch` is the time of the commit in seconds: everything that is built carries it. */
export const versionOf = (top) => {
  const git = (...args) =>
    execFileSync('git', args, { cwd: top, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  const { version: said } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
  const { SOURCE_DATE_EPOCH: given } = process.env
  const made = (version, more) => ({ version, deb: version.replace('-', '~'), tag: null, commit: '', ...more })
  let commit
  try {
    if (git('rev-parse', '--show-toplevel') !== realpathSync(top)) throw new Error('another repository')
    commit = git('rev-parse', '--short=12', 'HEAD')
  } catch {
    return made(said, { epoch: Number(given ?? Math.floor(Date.now() / 1000)), isClean: false })
  }
  const isClean = git('status', '--porcelain', '--untracked-files=no') === ''
  const about = {
    commit: isClean ? commit : `${commit}+changes`,
    epoch: Number(given ?? git('log', '-1', '--format=%ct')),
    isClean,
  }
  let last = null
  let since = git('rev-list', '--count', 'HEAD')
  try {
    const words = git('describe', '--tags', '--long', '--match', 'v[0-9]*.[0-9]*.[0-9]*')
    const [, tag, count] = /^v(.+)-(\d+)-g\w+$/.exec(words) ?? []
    last = tag
    since = count
  } catch {
    // no tag yet
  }
  if (last !== null && since === '0' && isClean) return made(last, { ...about, tag: `v${last}` })
  const next = last === null || isAhead(said, last) ? said : nextPatch(last)
  return made(`${next}-dev.${since}+${about.commit.replace('+', '.')}`, about)
}

if (realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url)) {
  const { version, deb } = versionOf(process.cwd())
  console.log(process.argv[2] === '--deb' ? deb : version)
}
