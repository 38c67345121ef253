/**
 * NAME      style - the one stylesheet
 * DESCRIPTION
 *   Parts in the order in which a later one may overrule an earlier one; print is last.
 */
import { BASE } from './base.js'
import { CHART } from './chart.js'
import { CONTROLS } from './controls.js'
import { MENUS } from './menus.js'
import { DOCS } from './pages/docs.js'
import { DOOR } from './pages/door.js'
import { EGRESS } from './pages/egress.js'
import { INBOX } from './pages/inbox.js'
import { MAIL } from './pages/mail.js'
import { MAILS } from './pages/mails.js'
import { PRINT } from './print.js'
import { SHELL } from './shell.js'
import { STATUS } from './status.js'
import { TABLE } from './table.js'
import { TEXT } from './text.js'
import { TOKENS } from './tokens.js'

export const STYLE = [
  ...[TOKENS, BASE, SHELL, CONTROLS, MENUS, STATUS, TABLE, TEXT, CHART],
  ...[MAILS, MAIL, INBOX, DOOR, DOCS, EGRESS],
  PRINT,
].join('')
