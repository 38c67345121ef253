/**
 * NAME      facts - what is known of a mail besides what became of it
 */
import type { Email } from '../../mail/record.js'
import { Code, Facts, Section } from '../../parts/page-parts.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'

const SHOWN = 3

const Addresses = ({ list }: { readonly list: readonly string[] }) => {
  const one = (address: string) => <bdi>{address}</bdi>
  if (list.length <= SHOWN) return <>{list.map((address, at) => [at > 0 ? ', ' : '', one(address)])}</>
  return (
    <details class="fold">
      <summary>
        <span>
          {list.length} addresses: {one(list[0] ?? '')} and {list.length - 1} more
        </span>
      </summary>
      <div>{list.map((address, at) => [at > 0 ? ', ' : '', one(address)])}</div>
    </details>
  )
}

interface MailFactsProps {
  readonly visit: Visit
  readonly email: Email
  /** As it is called; null where nobody knows. */
  readonly workspace: string | null
}

const AsCurl = ({ visit, email }: Pick<MailFactsProps, 'visit' | 'email'>) => {
  const api = `${visit.baseUrl.replace(/\/+$/, '')}/v1/emails`
  return (
    <details class="fold noprint">
      <summary>As curl</summary>
      <div>
        <Code label="This mail" text={`curl ${api}/${email.id} -H "Authorization: Bearer $KEY"`} />
        <Code
          label="Send it again"
          text={`curl -X POST ${api}/${email.id}/resend -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"to":null}'`}
        />
      </div>
    </details>
  )
}

const tagsOf = (visit: Visit, email: Email) =>
  email.tags.map(({ name, value }) => (
    <a class="tag" href={visit.link('/emails', { tag: `${name}:${value}` })}>
      <bdi>{`${name}:${value}`}</bdi>
    </a>
  ))

export const MailFacts = ({ visit, email, workspace }: MailFactsProps) => {
  const people = (name: string, list: readonly string[]) =>
    list.length === 0 ? null : ([name, <Addresses list={list} />] as const)
  return (
    <Section title="Facts">
      <Facts
        facts={[
          ['From', <bdi>{email.from}</bdi>],
          people('Reply-To', email.reply_to),
          people('To', email.to),
          people('Cc', email.cc),
          people('Bcc', email.bcc),
          ['Accepted', <Time at={email.created_at} exact />],
          email.scheduled_at === null ? null : ['Scheduled for', <Time at={email.scheduled_at} exact />],
          [
            'Workspace, mode',
            <>
              <a href={visit.link('/emails', { workspace: email.workspace_id })}>
                {workspace === null ? <code>{email.workspace_id}</code> : workspace}
              </a>
              , {email.mode}
            </>,
          ],
          [
            'Came by',
            email.source === 'api' ? 'the API' : email.source === 'smtp' ? 'SMTP' : 'the gateway itself',
          ],
          email.tags.length === 0 ? null : ['Tags', tagsOf(visit, email)],
          email.resent_from === undefined
            ? null
            : [
                'Sent again, from',
                <a href={visit.link(`/emails/${email.resent_from}`)}>
                  <code>{email.resent_from}</code>
                </a>,
              ],
          ['Message-ID', <code>{email.message_id}</code>],
          ['Id', <code>{email.id}</code>],
        ]}
      />
      <AsCurl {...{ visit, email }} />
    </Section>
  )
}
