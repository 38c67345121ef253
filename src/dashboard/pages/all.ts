/**
 * NAME      all - the pages, one line each
 */
import type { Page, RawRoute } from '../page.js'
import { emailsPage } from './emails.js'

export const PAGES: readonly Page[] = [emailsPage]

export const RAW_ROUTES: readonly RawRoute[] = []
