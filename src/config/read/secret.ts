/**
 * NAME      secret - files that a setting names, and what must not be read by everybody
 */
import { readFileSync, statSync } from 'node:fs'
import { ConfigError } from '../problem.js'

export const refuse = (key: string, value: string, expected: string, remedy: string): ConfigError =>
  new ConfigError([{ where: null, key, value, expected, remedy }])

export const readText = (key: string, name: string): string => {
  try {
    return readFileSync(name, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw refuse(key, name, `cannot be read: ${code}`, 'name a file that this user may read')
  }
}

/** Without the line end. `remedy` is for a file that is empty. Throws ConfigError. */
export const secretIn = (key: string, name: string, remedy: string): string => {
  const text = readText(key, name).trim()
  if ((statSync(name).mode & 0o007) !== 0)
    throw refuse(key, name, 'the secret can be read by everybody', `run: chmod o= ${name}`)
  if (text === '') throw refuse(key, name, 'is empty', remedy)
  return text
}

const LEAST = 16

/** What opens the management listener from elsewhere; null: no token does. Throws ConfigError. */
export const readManagementToken = (name: string | null): string | null => {
  if (name === null) return null
  const remedy = `run: openssl rand -hex 32 > ${name}`
  const token = secretIn('management.token_file', name, remedy)
  if (token.length < LEAST || /\s/.test(token))
    throw refuse('management.token_file', name, `holds no token of at least ${LEAST} characters`, remedy)
  return token
}
