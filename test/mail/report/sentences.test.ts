/**
 * Sentences in 14 languages, each in eight forms: as a reply in the dialogue and in a report of Postfix, Sendmail or Exim, with its
 * enhanced code and without. No living address is dead in any of them; a dead one is found in all, but for those that are known as missed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseReply } from '../../../src/mail/reply.js'
import { classify, suppresses } from '../../../src/mail/report/classify.js'
import { readReport } from '../../../src/mail/report/read-report.js'

const LINE = /^(living|dead|missed) (\w\w) (.+)$/

const postfix = (address: string, said: string): string =>
  `<${address}>: host mx.far.example[192.0.2.9] said: ${said}
    (in reply to RCPT TO command)`

/** It writes its own guess under every 550. */
const sendmail = (address: string, said: string): string =>
  `   ----- The following addresses had permanent fatal errors -----
<${address}>
    (reason: ${said})

   ----- Transcript of session follows -----
... while talking to mx.far.example.:
>>> DATA
<<< ${said}
550 5.1.1 <${address}>... User unknown
<<< 503 5.5.1 no valid recipients`

/** Prose only: no field repeats the reply. */
const exim = (address: string, said: string): Buffer =>
  Buffer.from(`From: Mail Delivery System <Mailer-Daemon@relay.example>
To: <b1@bounce.example>
Subject: Mail delivery failed: returning message to sender
Auto-Submitted: auto-replied
X-Failed-Recipients: ${address}
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ${address}
    host mx.far.example [192.0.2.9]
    SMTP error from remote mail server after RCPT TO:<${address}>:
    ${said}
`)

const addressIn = (said: string): string => /<([^>@]+@[^>]+)>/.exec(said)?.[1] ?? 'ann@far.example'

const report = (said: string, words: typeof postfix, vague: string): Buffer => {
  const status = /^\d{3} ([45]\.\d+\.\d+)/.exec(said)?.[1] ?? vague
  const address = addressIn(said)
  return Buffer.from(`From: MAILER-DAEMON@relay.example
To: <b1@bounce.example>
Subject: Undelivered mail
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="x"

--x
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

${words(address, said)}

--x
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.example

Final-Recipient: rfc822; ${address}
Action: failed
Status: ${status}
Remote-MTA: dns; mx.far.example
Diagnostic-Code: smtp; ${said}

--x--
`)
}

const isHard = (said: string): boolean => {
  const reply = parseReply(said)
  return reply !== null && classify(reply).class === 'hard'
}

const isListed = async (said: string, words: typeof postfix, vague: string): Promise<boolean> =>
  (await readReport(report(said, words, vague))).recipients.some(suppresses)

const isListedByExim = async (said: string): Promise<boolean> =>
  (await readReport(exim(addressIn(said), said))).recipients.some(suppresses)

const textsOf = (said: string): readonly string[] => [
  ...new Set([said, said.replace(/^(\d{3}) [245]\.\d+\.\d+ /, '$1 ')]),
]

/** In which forms it counts as dead. */
const deadIn = async (said: string): Promise<readonly string[]> => {
  const forms: string[] = []
  for (const text of textsOf(said)) {
    if (isHard(text)) forms.push(`dialogue: ${text}`)
    if (await isListed(text, postfix, '5.0.0')) forms.push(`Postfix: ${text}`)
    if (await isListed(text, sendmail, '5.1.1')) forms.push(`Sendmail: ${text}`)
    if (await isListedByExim(text)) forms.push(`Exim: ${text}`)
  }
  return forms
}

for (const file of ['sentences-1.txt', 'sentences-2.txt', 'sentences-3.txt'])
  t.test(file, async (t) => {
    const path = join(process.cwd(), 'test', 'fixtures', file)
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      if (line === '' || line.startsWith('#')) continue
      const [, verdict, , said = ''] = LINE.exec(line) ?? []
      const forms = await deadIn(said)
      if (verdict === 'living' || verdict === 'missed') t.same(forms, [], line)
      else {
        t.equal(verdict, 'dead', line)
        t.equal(forms.length, 4 * textsOf(said).length, `${line}: ${forms.join(' | ')}`)
      }
    }
  })
