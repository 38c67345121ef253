/**
 * NAME      setup-link - a way into the dashboard for whoever runs this installation
 * DESCRIPTION
 *   A link for one use, good for half an hour: as an owner, or as the person named, who can then set another password.
 *   Looking at it changes nothing; its page has a button that signs in. It is printed on a terminal only, since other
 *   output may be kept; --out writes it to a file that nobody else can read.
 */
import { writeFileSync } from 'node:fs'
import { ownUrl } from '../config/load.js'
import { createLink, createSetupLink, linkUrl } from '../tenant/people.js'
import { command } from './command.js'
import { cliActor, withContext } from './context.js'
import { usage } from './exit.js'
import { asListening } from './listening.js'

export const setupLinkCommand = command({
  usage: 'setup-link',
  summary: 'Make a link that opens the dashboard signed in, once, within 30 minutes',
  options: {
    user: { type: 'string', describe: 'As this person, by mail address or id; else as an owner' },
    out: { type: 'string', describe: 'Write it to this new file, mode 0600, instead of the terminal' },
  },
  examples: [['$0 setup-link --user ana@example.com', 'for somebody who forgot the password']],
  run: async (args, terminal) => {
    const { out } = args
    if (!terminal.isTty && out === undefined)
      throw usage('a link that signs in is printed on a terminal only; else name a file: --out FILE')
    await withContext(args, async ({ deps, account, config }) => {
      const createdBy = cliActor().id
      const { row, token } =
        args.user === undefined
          ? await createLink(deps, account.id, { kind: 'setup', role: 'owner', createdBy })
          : await createSetupLink(deps, account.id, args.user, createdBy)
      const base =
        config.base_url === ownUrl(config.http) ? ownUrl(asListening(config).http) : config.base_url
      const url = linkUrl(base, row, token)
      if (out === undefined) terminal.data({ id: row.id, object: 'link', url }, () => url)
      else writeFileSync(out, `${url}\n`, { mode: 0o600, flag: 'wx' })
      terminal.say(`${row.id}: good for one use within 30 minutes${out === undefined ? '' : `, in ${out}`}`)
    })
  },
})
