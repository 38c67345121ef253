/** Whose mailbox it is: by the domain, the server that refused, its words. */
import t from 'tap'
import { providerBehind, providerOf } from '../../../src/mail/mailbox-provider.js'

const behind = (domain: string, server: string | null, text = '') => providerBehind({ domain, server, text })

t.test('by the domain', async (t) => {
  t.equal(providerOf('gmail.com'), 'google')
  t.equal(providerOf('yahoo.co.jp'), 'yahoo')
  t.equal(providerOf('yahoo.example.com'), 'other')
  t.equal(behind('gmail.com', 'mx.mimecast.com'), 'google', 'which is surer than anything else')
})

t.test('by the server that refused', async (t) => {
  t.equal(behind('shop.test', 'aspmx.l.google.com'), 'google')
  t.equal(behind('shop.test', 'shop-test.mail.protection.outlook.com.'), 'microsoft')
  t.equal(behind('shop.test', 'mta7.am0.YAHOODNS.net'), 'yahoo')
  t.equal(behind('shop.test', 'eu-smtp-inbound-1.mimecast.com'), 'mimecast')
  t.equal(behind('shop.test', 'd1.a.ess.barracudanetworks.com'), 'barracuda')
  t.equal(behind('shop.test', 'mx.notgoogle.com'), null)
  t.equal(behind('shop.test', '192.0.2.1'), null)
})

t.test('by the words of its reply', async (t) => {
  t.equal(behind('shop.test', null, '5.1.1 no such user a1-2b.3 - gsmtp'), 'google')
  t.equal(behind('shop.test', null, 'see https://support.google.com/mail/?p=NoSuchUser'), 'google')
  t.equal(behind('shop.test', null, 'Access denied [AM1.eurprd01.prod.outlook.com 2026-11-22]'), 'microsoft')
  t.equal(behind('shop.test', null, 'Recipient rejected abc - nsmtp'), 'naver')
  t.equal(behind('shop.test', null, 'rejected by the DMARC policy of gmail.com'), null, "the sender's domain")
  t.equal(behind('shop.test', null, '<ana@mx.google.com> unknown'), null, 'an address')
  t.equal(behind('shop.test', null, 'listed by www.barracudanetworks.com/reputation'), null, 'a list')
  t.equal(behind('shop.test', null, 'a.'.repeat(100_000)), null)
})
