/**
 * NAME      all - the pages, one line each
 */
import type { Page, RawRoute } from '../page.js'
import { credentialsPage } from './access/credentials.js'
import { keysPage } from './access/keys.js'
import { newCredentialPage } from './access/new-credential.js'
import { newKeyPage } from './access/new-key.js'
import { emailsPage } from './emails.js'

export const PAGES: readonly Page[] = [emailsPage, keysPage, newKeyPage, credentialsPage, newCredentialPage]

export const RAW_ROUTES: readonly RawRoute[] = []
