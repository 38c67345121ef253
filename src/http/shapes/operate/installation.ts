/**
 * NAME      installation - the shapes of where clients reach this Postern, and of how it does in short
 */
import Joi from 'joi'
import { record } from '../common.js'
import { queueState } from './queue.js'

export const installation = record('Installation', () => ({
  object: Joi.string().valid('installation').required(),
  base_url: Joi.string().required().description('Of the API, without a slash at its end'),
  hostname: Joi.string().required().description('What it calls itself'),
  bounce_domain: Joi.string()
    .required()
    .description('Of return paths: bounces come back to it, and SPF is checked for it'),
  submission: Joi.array()
    .items(
      Joi.object({
        host: Joi.string()
          .required()
          .description('`hostname`, or an address of loopback where it listens nowhere else'),
        port: Joi.number().integer().required(),
        tls: Joi.string().valid('starttls', 'implicit', 'none').required(),
        ip_credentials: Joi.boolean().required().description('Takes address ranges instead of logins'),
      }),
    )
    .required()
    .description('Where mail is taken over SMTP'),
}))

const figure = () => Joi.number().integer().min(0).required()

export const summary = record('Summary', () => ({
  object: Joi.string().valid('summary').required(),
  waiting: figure().description('Recipients of live mail that are due or under way'),
  held: figure().description('Recipients of live mail that are held'),
  pools_down: figure(),
  webhooks_failing: figure(),
  live: queueState(),
  test: queueState(),
}))
