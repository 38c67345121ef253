/**
 * NAME      incident - the shapes of hard bounces that wait for a decision
 */
import Joi from 'joi'
import { count, id, nullable, pageQuery, record, shapeOf, time } from './common.js'

export const incidentQuery = shapeOf(() => ({
  open: Joi.string().valid('true', 'false').description('true: only those that nobody has decided'),
  ...pageQuery(),
}))

export const incident = record('Incident', () => ({
  id: id('inc'),
  object: Joi.string().valid('incident').required(),
  workspace_id: id('ws'),
  upstream_id: nullable(Joi.string()).description('Who refused them, or took the mail that came back'),
  domain: Joi.string().allow('').required().description('Of the recipients; empty: several'),
  said: Joi.string()
    .allow('')
    .required()
    .description('What was said of all, without what names one mail; empty: several texts'),
  addresses: count().description('How many were refused when it began'),
  delivered_before: count().description('Of those, the ones that took mail in the 90 days before'),
  outcomes: count().description('How many recipients that server answered for in all'),
  pending: count().description('Suppressions that wait for it'),
  decision: nullable(Joi.string().valid('accepted', 'dismissed')),
  created_at: time(),
  decided_at: nullable(Joi.string()),
}))
