/**
 * Applications of other providers, moved here by one URL: the official clients of Mailgun, Postmark and SendGrid, and Debian's
 * django-anymail, through the whole product to a real Postfix, whose reports come back. Afterwards the key stands nowhere.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sendgridClient from '@sendgrid/client'
import sendgrid from '@sendgrid/mail'
import FormData from 'form-data'
import Mailgun from 'mailgun.js'
import { ServerClient } from 'postmark'
import t from 'tap'
import { overPostfix } from '../parts/over-postfix.js'
import { noPostfix } from '../parts/postfix.js'

const run = promisify(execFile)
/** Debian's own, whatever else is called python3. */
const PYTHON = '/usr/bin/python3'

const DJANGO = `
import json, sys
from django.conf import settings
backend, key, url = sys.argv[1:]
settings.configure(
    EMAIL_BACKEND=f"anymail.backends.{backend}.EmailBackend",
    ANYMAIL={"MAILGUN_API_KEY": key, "MAILGUN_API_URL": url + "/mailgun/v3",
             "POSTMARK_SERVER_TOKEN": key, "POSTMARK_API_URL": url + "/postmark/",
             "SENDGRID_API_KEY": key, "SENDGRID_API_URL": url + "/sendgrid/v3/"})
import django
django.setup()
from django.core.mail import EmailMultiAlternatives
from anymail.exceptions import AnymailAPIError

def message(*to, **more):
    mail = EmailMultiAlternatives("Anymail", "Hello", '"Acme, Inc" <app@gw.test>', list(to), **more)
    mail.attach_alternative("<p>Hello</p>", "text/html")
    return mail

mail = message('"Ok, really" <ok@deliver.test>', cc=["ok2@deliver.test"], reply_to=["help@gw.test"], headers={"X-Order": "42"})
mail.attach("a.txt", "hello", "text/plain")
mail.tags = ["receipt"]
mail.metadata = {"order": "42"}
mail.send()
said = {who: one.status for who, one in mail.anymail_status.recipients.items()}
merged = None
if backend == "mailgun":
    batch = EmailMultiAlternatives("Hi %recipient.name%", "Hello", "app@gw.test", ["ok@deliver.test", "ok2@deliver.test"])
    batch.merge_data = {"ok@deliver.test": {"name": "Ana"}, "ok2@deliver.test": {"name": "Bo"}}
    batch.merge_metadata = {"ok@deliver.test": {"order": "1"}, "ok2@deliver.test": {"order": "2"}}
    batch.send()
    merged = batch.anymail_status.message_id
tracked = message("ok@deliver.test")
tracked.track_opens = True
try:
    tracked.send()
    refused = None
except AnymailAPIError as error:
    refused = error.status_code
print(json.dumps({"status": said, "id": mail.anymail_status.esp_response.headers.get("x-message-id") or mail.anymail_status.message_id, "refused": refused, "merged": merged}))
`

const why = noPostfix()
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  t.setTimeout(300_000)
  const { postern, upstream } = await overPostfix(t)
  const key = await postern.key()
  const at = `127.0.0.1:${postern.ports.http}/v1/as`

  /** The newest mail of a request. */
  const found = async (tag: string): Promise<string> =>
    (await postern.api('GET', `/v1/emails?tag=${tag}`, key)).body.data[0].id

  /** The id of a mail stands in its Message-ID. */
  const idIn = (text: string): string => /em_\w+/.exec(text)?.[0] ?? ''

  t.test('the client of Mailgun', async (t) => {
    const client = new Mailgun(FormData).client({ username: 'api', key, url: `http://${at}/mailgun` })
    const mail = { from: 'App <app@gw.test>', to: 'ok@deliver.test', text: 'Hello' }
    const attachment = { data: 'hello', filename: 'a.txt' }
    const sent = await client.messages.create('gw.test', { ...mail, subject: 'Mailgun', attachment })
    t.match(await postern.until(key, idIn(sent.id ?? ''), ['delivered']), {
      attachments: [{ filename: 'a.txt' }],
    })
    t.ok(
      upstream.delivered().some((raw) => raw.includes(sent.id ?? '?') && /^Subject: Mailgun$/m.test(raw)),
      'the mailbox has it',
    )
    const message = 'From: app@gw.test\r\nSubject: Whole\r\n\r\nHello\r\n'
    const whole = await client.messages.create('gw.test', { to: 'ok@deliver.test', message })
    t.match(await postern.until(key, idIn(whole.id ?? ''), ['delivered']), { subject: 'Whole' })
    await t.rejects(client.messages.create('other.test', { ...mail, subject: 'x' }), /Bad Request/)
  })

  t.test('the client of Postmark', async (t) => {
    const client = new ServerClient(key, { requestHost: `${at}/postmark`, useHttps: false })
    const mail = { From: 'App <app@gw.test>', Subject: 'Postmark', TextBody: 'Hello' }
    const sent = await client.sendEmail({ ...mail, To: 'ok@deliver.test' })
    t.match(await postern.until(key, sent.MessageID, ['delivered']), { status: 'delivered' })
    t.ok(
      upstream.delivered().some((raw) => raw.includes(sent.MessageID) && /^Subject: Postmark$/m.test(raw)),
      'the mailbox has it',
    )
    const [good, bad] = await client.sendEmailBatch([
      { ...mail, To: 'nobody@deliver.test' },
      { ...mail, To: 'no address' },
    ])
    t.equal(bad?.ErrorCode, 300)
    await postern.until(key, good?.MessageID ?? '', ['bounced'])
    await t.rejects(
      client.sendEmail({ ...mail, To: 'nobody@deliver.test' }),
      { code: 406 },
      'it is suppressed since',
    )
  })

  t.test('the client of SendGrid', async (t) => {
    sendgridClient.setApiKey(key)
    sendgridClient.setDefaultRequest('baseUrl', `http://${at}/sendgrid`)
    sendgrid.setClient(sendgridClient)
    const [answer] = await sendgrid.send({
      from: 'app@gw.test',
      to: 'ok@deliver.test',
      subject: 'SendGrid',
      text: 'Hello',
    })
    t.equal(answer.statusCode, 202)
    const id = await found(`x-message-id:${answer.headers['x-message-id']}`)
    t.match(await postern.until(key, id, ['delivered']), { subject: 'SendGrid' })
  })

  const lacks = await run(PYTHON, ['-c', 'import anymail']).then(
    () => false as const,
    () => `${PYTHON} has no anymail (Debian: python3-django-anymail)`,
  )
  for (const backend of ['mailgun', 'postmark', 'sendgrid'])
    t.test(`django-anymail as ${backend}`, { skip: lacks }, async (t) => {
      const { stdout } = await run(PYTHON, ['-c', DJANGO, backend, key, `http://${at}`])
      const said = JSON.parse(stdout)
      const status = backend === 'postmark' ? 'sent' : 'queued'
      t.match(said, { status: { 'ok@deliver.test': status, 'ok2@deliver.test': status } })
      t.equal(said.refused, backend === 'postmark' ? 422 : 400, 'readers are not watched')
      const id = backend === 'sendgrid' ? await found(`x-message-id:${said.id}`) : idIn(said.id)
      const mail = await postern.until(key, id, ['delivered'])
      t.match(mail, {
        to: [/Ok, really.* <ok@deliver\.test>/],
        cc: ['ok2@deliver.test'],
        reply_to: ['help@gw.test'],
        headers: { 'X-Order': '42' },
        attachments: [{ filename: 'a.txt' }],
      })
      if (said.merged !== null)
        t.match(await postern.until(key, idIn(said.merged), ['delivered']), {
          to: ['ok@deliver.test'],
          subject: 'Hi Ana',
          tags: [{ name: 'order', value: '1' }],
        })
      const tags = mail.tags.map(({ name, value }: { name: string; value: string }) => `${name}=${value}`)
      for (const one of ['tag=receipt', 'order=42']) t.ok(tags.includes(one), one)
    })

  t.test('the key is in no file, and in no line of the log', async (t) => {
    await postern.stop()
    const files = (dir: string): readonly string[] =>
      readdirSync(dir).flatMap((name) => {
        const path = join(dir, name)
        return statSync(path).isDirectory() ? files(path) : [path]
      })
    const all = files(postern.dir)
    t.ok(all.length > 2, `${all.length} files`)
    const forms = [key, btoa(`api:${key}`)]
    for (const path of all)
      t.notOk(
        forms.some((one) => readFileSync(path).includes(one)),
        path,
      )
    t.notOk(postern.output.some((line) => forms.some((one) => line.includes(one))))
  })
}
