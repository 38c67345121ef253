/**
 * NAME      receivers - what takes webhooks, in the frameworks that people use
 * DESCRIPTION
 *   Each reads the octets as they came and checks the signature over them (Standard Webhooks 1.0.0): JSON that was parsed
 *   and written anew has another one. The secret comes from the environment: POSTERN_WEBHOOK_SECRET, `whsec_…`.
 */
import type { Sample } from '../../parts/page-parts.js'

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
