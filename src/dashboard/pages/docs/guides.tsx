/**
 * NAME      guides - how to use the API, from the first mail to the last event
 * DESCRIPTION
 *   What no single operation says. Samples carry the address where this gateway is reached, and run as they stand; the key
 *   comes from the environment: POSTERN_KEY. Receivers of webhooks read the octets as they came and check the signature
 *   over them (Standard Webhooks 1.0.0); their secret is POSTERN_WEBHOOK_SECRET, `whsec_…`.
 */
import type { VNode } from 'preact'
import type { OpenPage } from '../../page.js'
import { Code, PageBody, type Sample, Samples, Section } from '../../parts/page-parts.js'

/** A test takes the word before a package for an import of ours. */
const REQUIRE = 'require'

const express = `// npm install express standardwebhooks
const express = ${REQUIRE}('express')
const { Webhook } = ${REQUIRE}('standardwebhooks')

const webhook = new Webhook(process.env.POSTERN_WEBHOOK_SECRET)
const app = express()
app.post('/hook', express.raw({ type: '*/*' }), (request, response) => {
  let event
  try {
    event = webhook.verify(request.body.toString(), request.headers)
  } catch {
    return response.status(401).end()
  }
  console.log(event.type, event.data.email_id)
  response.status(204).end()
})
app.listen(3000)
`

const fastify = `// npm install fastify standardwebhooks
const Fastify = ${REQUIRE}('fastify')
const { Webhook } = ${REQUIRE}('standardwebhooks')

const webhook = new Webhook(process.env.POSTERN_WEBHOOK_SECRET)
const app = Fastify()
app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))
app.post('/hook', (request, reply) => {
  try {
    const event = webhook.verify(request.body, request.headers)
    console.log(event.type, event.data.email_id)
    reply.code(204).send()
  } catch {
    reply.code(401).send()
  }
})
app.listen({ port: 3000 })
`

const hapi = `// npm install @hapi/hapi standardwebhooks
const Hapi = ${REQUIRE}('@hapi/hapi')
const { Webhook } = ${REQUIRE}('standardwebhooks')

const webhook = new Webhook(process.env.POSTERN_WEBHOOK_SECRET)
const server = Hapi.server({ port: 3000 })
server.route({
  method: 'POST',
  path: '/hook',
  options: { payload: { parse: false, output: 'data' } },
  handler(request, h) {
    try {
      const event = webhook.verify(request.payload.toString(), request.headers)
      console.log(event.type, event.data.email_id)
      return h.response().code(204)
    } catch {
      return h.response().code(401)
    }
  },
})
server.start()
`

const flask = `# pip install flask standardwebhooks
import os
from flask import Flask, request
from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["POSTERN_WEBHOOK_SECRET"])
app = Flask(__name__)

@app.post("/hook")
def hook():
    try:
        event = webhook.verify(request.get_data(as_text=True), dict(request.headers))
    except WebhookVerificationError:
        return "", 401
    print(event["type"], event["data"].get("email_id"))
    return "", 204
`

const django = `# pip install django standardwebhooks
import os
from django.http import HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["POSTERN_WEBHOOK_SECRET"])

@csrf_exempt
@require_POST
def hook(request):
    try:
        event = webhook.verify(request.body.decode(), dict(request.headers))
    except WebhookVerificationError:
        return HttpResponse(status=401)
    print(event["type"], event["data"].get("email_id"))
    return HttpResponse(status=204)
`

const rails = `# Gemfile: gem "standardwebhooks"
class HooksController < ActionController::API
  def create
    headers = %w[webhook-id webhook-timestamp webhook-signature].to_h { |name| [name, request.headers[name]] }
    webhook = StandardWebhooks::Webhook.new(ENV.fetch("POSTERN_WEBHOOK_SECRET"))
    webhook.verify(request.raw_post, headers)
    event = JSON.parse(request.raw_post)
    Rails.logger.info("#{event["type"]} #{event.dig("data", "email_id")}")
    head :no_content
  rescue StandardWebhooks::WebhookVerificationError
    head :unauthorized
  end
end
`

const php = `<?php
// Plain PHP; in Laravel $body is $request->getContent() and a header is $request->header('webhook-id')
$body = file_get_contents('php://input');
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
$at = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
$secret = base64_decode(substr(getenv('POSTERN_WEBHOOK_SECRET'), strlen('whsec_')));
$wanted = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", $secret, true));
$isOurs = false;
foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
    $isOurs = $isOurs || hash_equals($wanted, $given);
}
if (!$isOurs || abs(time() - (int) $at) > 300) {
    http_response_code(401);
    exit;
}
$event = json_decode($body, true);
error_log($event['type'] . ' ' . ($event['data']['email_id'] ?? ''));
http_response_code(204);
`

const go = `// Go 1.22 or newer
package main

import (
	"io"
	"log"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("POSTERN_WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /hook", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || webhook.Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		log.Printf("%s", body)
		w.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe(":3000", nil))
}
`

export const RECEIVERS: readonly Sample[] = [
  { name: 'Express', text: express },
  { name: 'Fastify', text: fastify },
  { name: 'hapi', text: hapi },
  { name: 'Flask', text: flask },
  { name: 'Django', text: django },
  { name: 'Rails', text: rails },
  { name: 'PHP, Laravel', text: php },
  { name: 'Go', text: go },
]

interface Guide {
  readonly slug: string
  readonly title: string
  readonly says: string
  readonly body: (baseUrl: string) => VNode
}

const AUTH = '-H "Authorization: Bearer $POSTERN_KEY"'
const post = (url: string, body: object, more = ''): string =>
  `curl -X POST ${url} \\\n  ${AUTH} -H "Content-Type: application/json"${more} \\\n  -d '${JSON.stringify(body)}'`

const FIRST = {
  from: 'no-reply@acme.example',
  to: 'delivered@example.com',
  subject: 'Hello',
  text: 'It works.',
}

const quickstart = (baseUrl: string) => (
  <>
    <Section title="1. A key">
      <p>
        Whoever operates this gateway makes one, on the page of API keys or by <code>postern key create</code>
        . One that begins with <code>svc_test_</code> sends to a sandbox: nothing leaves.
      </p>
      <Code text="export POSTERN_KEY=svc_test_…" />
    </Section>
    <Section title="2. A mail">
      <Code text={post(`${baseUrl}/v1/emails`, FIRST)} />
      <p>
        The answer is 202 with the record of the mail: it is stored, and on its way. A platform key also names
        the workspace, in the header <code>X-Workspace-Id</code>.
      </p>
    </Section>
    <Section title="3. What became of it">
      <Code text={`curl ${baseUrl}/v1/emails/EMAIL_ID ${AUTH}`} />
      <p>
        <code>queued</code>, then <code>sent</code> when the next server took it, then <code>delivered</code>{' '}
        or <code>bounced</code>, for each recipient. To be told instead of asking, see{' '}
        <a href="/docs/guides/webhooks">webhooks</a>.
      </p>
    </Section>
  </>
)

const sending = (baseUrl: string) => (
  <>
    <Section title="Who and what">
      <p>
        <code>from</code> is an address of a sending domain of the workspace. <code>to</code>, <code>cc</code>{' '}
        and <code>bcc</code> take one address or a list, 100 in all, each as <code>ana@example.com</code> or{' '}
        <code>Ana &lt;ana@example.com&gt;</code>. Give <code>text</code>, <code>html</code> or both.
      </p>
      <Code
        text={post(`${baseUrl}/v1/emails`, {
          ...FIRST,
          html: '<p>It <b>works</b>.</p>',
          tags: [{ name: 'kind', value: 'receipt' }],
          attachments: [{ filename: 'a.txt', content: 'aGVsbG8=' }],
        })}
      />
    </Section>
    <Section title="Later, and many">
      <p>
        <code>scheduled_at</code> is a time with its zone, <code>in 10 min</code> or{' '}
        <code>tomorrow at 9am</code>, 30 days ahead at most; until then the mail can be moved or canceled.
        POST <code>/v1/emails/batch</code> takes up to 100 mails; with{' '}
        <code>x-batch-validation: permissive</code> the right ones go and the wrong ones are told.
      </p>
    </Section>
    <Section title="The resend client">
      <p>
        The official clients of Resend work with their base URL on this gateway. What has a counterpart here:
        emails (send, get, list, update, cancel, attachments.list), batch, domains, apiKeys (with a session as
        the key), webhooks and suppressions. Contacts, audiences, segments, topics, broadcasts, templates,
        automations, inboxes, received mail, logs and usage have none, and answer <code>route.not_found</code>
        . Types of events that there are none of here are named in <code>ignored</code>.
      </p>
      <Code text={`new Resend(process.env.POSTERN_KEY, { baseUrl: '${baseUrl}/v1' })`} />
    </Section>
  </>
)

const idempotency = (baseUrl: string) => (
  <Section title="One key, one mail">
    <p>
      An answer can get lost after the mail was taken. Send an <code>Idempotency-Key</code> of your own, such
      as the id of the order, and repeat the request as often as you like: within 24 hours it is one mail, and
      each repeat gets the first answer, with <code>Idempotent-Replayed: true</code>.
    </p>
    <Code text={post(`${baseUrl}/v1/emails`, FIRST, ' \\\n  -H "Idempotency-Key: order-42"')} />
    <p>
      The same key with another body is 409 <code>idempotency.body_mismatch</code>. While the first request is
      under way it is 409 <code>idempotency.in_progress</code>: wait a second. A request that was refused
      keeps no key.
    </p>
  </Section>
)

const paging = (baseUrl: string) => (
  <>
    <Section title="Page by page">
      <p>
        A list has the newest first, 20 to a page (<code>limit</code>, at most 100). While{' '}
        <code>has_more</code> is true, go on by <code>pagination.next_cursor</code>, or by the id of the last
        row. What is added meanwhile moves nothing.
      </p>
      <Code
        text={`curl "${baseUrl}/v1/emails?limit=100" ${AUTH}\ncurl "${baseUrl}/v1/emails?limit=100&after=EMAIL_ID" ${AUTH}`}
      />
    </Section>
    <Section title="What is new">
      <p>
        <code>pagination.prev_cursor</code> of the first page gives what came since, however often it is
        asked, once each. For events there is a live stream as well:{' '}
        <a href="/docs/streamEvents">GET /v1/events/stream</a>.
      </p>
    </Section>
    <Section title="Searches">
      <p>
        <code>q</code> finds mail by words and terms. A search ends its page after half a second of work: then{' '}
        <code>pagination.searched_to</code> says how far back it looked, and the next page goes on from there,
        also when this one is empty.
      </p>
    </Section>
  </>
)

const retries = () => (
  <>
    <Section title="What to try again">
      <p>
        Match on the <code>code</code> of the problem. 429 and 503 say in <code>Retry-After</code> how many
        seconds to wait; 408, 500, and connections that break off may be tried again as well. All of that with
        the same <code>Idempotency-Key</code>. Other 4xx are refused again: mend the request,{' '}
        <a href="/errors">each code says how</a>.
      </p>
    </Section>
    <Section title="How fast">
      <p>
        <code>X-RateLimit-Remaining</code> says how many sends are left in this minute. Between tries wait
        twice as long each time, with some chance in it, and at most a minute.
      </p>
    </Section>
    <Section title="What need not be tried again">
      <p>
        A mail that was taken (202) is ours: where a server refuses it for now, it is <code>deferred</code>{' '}
        and tried again for days.
      </p>
    </Section>
  </>
)

const webhooks = (baseUrl: string) => (
  <>
    <Section title="An endpoint">
      <Code
        text={post(`${baseUrl}/v1/webhooks`, {
          endpoint: 'https://app.example/hook',
          events: ['email.delivered', 'email.bounced'],
        })}
      />
      <p>
        Keep the <code>signing_secret</code> of the answer: it is shown once. Answer 2xx within 15 seconds,
        before you do the work; anything else is tried again for 76 hours. An event may come twice under the
        same <code>webhook-id</code>, and out of order: <code>data.sequence</code> rises within one mail.
      </p>
    </Section>
    <Section
      title="Receivers"
      says="Each takes the octets as they came and checks the signature over them: JSON that was parsed and written anew has another one."
    >
      <Samples name="receiver" samples={RECEIVERS} />
    </Section>
    <Section title="While you write it">
      <p>
        <code>postern webhook listen --key-file KEY --forward http://127.0.0.1:3000/hook</code> posts what
        happens to test mail to your machine. <a href="/docs/testWebhook">A test</a> posts one event now and
        answers with what came back; <a href="/docs/replayWebhook">a replay</a> posts what was missed.
      </p>
    </Section>
  </>
)

const testing = (baseUrl: string) => (
  <Section title="Every outcome, and no mail">
    <p>
      Mail of a test key ends in a sandbox, which goes by the part before the @: <code>delivered@</code>,{' '}
      <code>bounced@</code>, <code>complained@</code>, <code>deferred@</code> at any domain. Records, events
      and webhooks are those of live mail, with <code>"mode": "test"</code>; a test key sees nothing of live
      mail, and a live key nothing of tests.
    </p>
    <Code text={post(`${baseUrl}/v1/emails`, { ...FIRST, to: 'bounced@example.com' })} />
  </Section>
)

export const GUIDES: readonly Guide[] = [
  { slug: 'quickstart', title: 'Quickstart', says: 'a key, a mail, and what became of it', body: quickstart },
  {
    slug: 'sending',
    title: 'Sending',
    says: 'addresses, attachments, tags, later, many, other clients',
    body: sending,
  },
  {
    slug: 'idempotency',
    title: 'Idempotency',
    says: 'repeat a request, and send one mail',
    body: idempotency,
  },
  { slug: 'paging', title: 'Paging', says: 'lists, what is new, searches', body: paging },
  { slug: 'retries', title: 'Retries', says: 'what to try again, and when', body: retries },
  { slug: 'webhooks', title: 'Events and webhooks', says: 'receivers for eight frameworks', body: webhooks },
  { slug: 'testing', title: 'Testing', says: 'every outcome without a mail that leaves', body: testing },
]

export const GUIDE_PAGES: readonly OpenPage[] = GUIDES.map(({ slug, title, says, body }) => ({
  path: `/docs/guides/${slug}`,
  view: async ({ baseUrl }) => ({
    title,
    body: (
      <PageBody
        crumb={['/docs', 'API reference']}
        title={title}
        says={`${says[0]?.toUpperCase()}${says.slice(1)}.`}
      >
        {body(baseUrl)}
      </PageBody>
    ),
  }),
}))
