/**
 * What large providers and products answer, in their manner, and what is made of it: any of the
 * categories named is right where the words leave it open, but none of another severity. A false hard
 * is the costly error, so codes that lie (5.1.1 on a policy) stand among them.
 */
import t from 'tap'
import { codesIn } from '../../../src/mail/reply.js'
import { CATEGORIES, type Category, classify } from '../../../src/mail/report/classify.js'

const SAID: readonly (readonly [string, ...Category[]])[] = [
  [
    "550-5.1.1 The email account that you tried to reach does not exist. Please try 550-5.1.1 double-checking the recipient's email address for typos or 550-5.1.1 unnecessary spaces. For more information, go to 550 5.1.1 https://support.google.com/mail/?p=NoSuchUser a1si1 - gsmtp",
    'unknown_user',
  ],
  [
    '550-5.2.1 The email account that you tried to reach is inactive. For more information, go to 550 5.2.1 https://support.google.com/mail/?p=DisabledUser x - gsmtp',
    'disabled',
    'suspended',
  ],
  [
    "452-4.2.2 The recipient's inbox is out of storage space. Please direct the recipient to 452 4.2.2 https://support.google.com/mail/?p=OverQuotaTemp x - gsmtp",
    'mailbox_full',
  ],
  [
    '550-5.7.1 [192.0.2.4] Our system has detected that this message is likely unsolicited mail. To reduce the amount of spam sent to Gmail, this message has been blocked. https://support.google.com/mail/?p=UnsolicitedMessageError x - gsmtp',
    'spam',
    'reputation',
  ],
  [
    "550-5.7.26 Unauthenticated email from acme.test is not accepted due to domain's 550-5.7.26 DMARC policy.",
    'authentication',
  ],
  [
    '421-4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address.',
    'rate_limited',
    'reputation',
  ],
  [
    '550-5.7.25 [192.0.2.4] The IP address sending this message does not have a PTR record setup',
    'reputation',
  ],
  [
    '550-5.2.1 The user you are trying to contact is receiving mail at a rate that 550-5.2.1 prevents additional messages from being delivered.',
    'rate_limited',
  ],
  [
    '450-4.2.1 The user you are trying to contact is receiving mail too quickly. Please resend your message at a later time.',
    'rate_limited',
  ],
  ["552-5.2.3 Your message exceeded Google's message size limits.", 'too_big'],
  [
    '552-5.7.0 This message was blocked because its content presents a potential 552-5.7.0 security issue.',
    'content',
    'virus',
    'policy',
    'spam',
    'reputation',
  ],
  ['550 5.4.5 Daily sending quota exceeded', 'rate_limited'],
  ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup', 'unknown_user'],
  [
    '550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [DB5EUR01FT1.eop-EUR01.prod.protection.outlook.com]',
    'unknown_user',
  ],
  ['550 5.7.1 RESOLVER.RST.NotAuthorized; not authorized', 'recipient_rejected'],
  [
    '550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; Delivery restriction check failed because the sender was not authenticated when sending to this group',
    'recipient_rejected',
  ],
  [
    '550 5.7.124 RESOLVER.RST.SenderNotInAllowedSendersList; sender not in allowed-senders list',
    'recipient_rejected',
    'sender_rejected',
    'policy',
  ],
  [
    '554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException.MapiExceptionShutoffQuotaExceeded; Failed to process message due to a permanent exception',
    'mailbox_full',
  ],
  [
    '550 5.7.606 Access denied, banned sending IP [192.0.2.4]. To request removal from this list please visit https://sender.office.com/',
    'reputation',
  ],
  ['550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP.', 'reputation'],
  [
    '451 4.7.500 Server busy. Please try again later from [192.0.2.4]. (S77719)',
    'rate_limited',
    'system',
    'reputation',
    'policy',
  ],
  [
    '550 5.7.23 The message was rejected because of Sender Policy Framework violation -> 550 5.7.1',
    'authentication',
  ],
  ['550 5.4.310 DNS domain acme.example does not exist [Message=InfoDomainNonexistent]', 'unknown_domain'],
  ['450 4.4.312 DNS query failed [Message=InfoDnsFailure]', 'network'],
  ['550 5.4.316 Message expired, connection refused', 'expired', 'network'],
  ['550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302). [BL2NAM02FT1]', 'unknown_user'],
  [
    "550 5.7.1 Unfortunately, messages from [192.0.2.4] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3150).",
    'reputation',
  ],
  [
    "421 RP-001 (BAY004-MC1F1) Unfortunately, some messages from 192.0.2.4 weren't sent. Please try again. We have limits for how many messages can be sent per hour and per day.",
    'rate_limited',
    'reputation',
  ],
  [
    "550 SC-001 (BAY004-MC1F1) Unfortunately, messages from 192.0.2.4 weren't sent. Reasons for rejection may be related to content with spam-like characteristics",
    'reputation',
    'spam',
  ],
  [
    '554 delivery error: dd Requested mail action aborted, mailbox not found [-20] - mta1.mail.bf1.yahoo.com',
    'unknown_user',
  ],
  ['552 1 Requested mail action aborted, mailbox not found', 'unknown_user'],
  [
    '554 30 Sorry, your message to x@yahoo.com cannot be delivered. This mailbox is disabled (554.30).',
    'disabled',
  ],
  [
    '421 4.7.0 [TSS04] Messages from 192.0.2.4 temporarily deferred due to unexpected volume or user complaints - 4.16.55.1',
    'rate_limited',
    'reputation',
  ],
  [
    '553 5.7.2 [TSS09] All messages from 192.0.2.4 will be permanently deferred; Retrying will NOT succeed.',
    'reputation',
    'policy',
    'rate_limited',
  ],
  [
    '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes',
    'policy',
  ],
  ['550 5.1.1 <x@aol.com>: Recipient address rejected: aol.com', 'unknown_user'],
  [
    '521 5.2.1 : AOL will not accept delivery of this message.',
    'policy',
    'reputation',
    'unknown',
    'recipient_rejected',
    'spam',
  ],
  ['550 5.1.1 <x@icloud.com>: user does not exist', 'unknown_user'],
  [
    '554 5.7.1 [HM08] Message rejected due to local policy. Please visit https://support.apple.com/en-us/HT204137',
    'policy',
  ],
  ['550 5.7.0 Blocked - see https://support.proofpoint.com/dnsbl-lookup.cgi?ip=192.0.2.4', 'reputation'],
  ['554 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.4', 'reputation'],
  ['550 5.1.1 <x@comcast.net> Account not available', 'unknown_user'],
  [
    '550 5.2.0 x Message rejected due to DMARC. Please see http://postmaster.comcast.net/mail-error-codes.php#DM000001',
    'authentication',
  ],
  [
    '554 resimta-po-11v.sys.comcast.net comcast 192.0.2.4 Comcast BL000000 Blocked for spam. Please see http://postmaster.comcast.net',
    'reputation',
    'spam',
  ],
  ['550 4.2.1 mailbox temporarily disabled: x@verizon.net', 'suspended'],
  [
    '550 Requested action not taken: mailbox unavailable invalid DNS MX or A/AAAA resource record For explanation visit https://postmaster.gmx.net/',
    'sender_rejected',
    'reputation',
    'network',
  ],
  [
    '550 Requested action not taken: mailbox unavailable For explanation visit https://postmaster.web.de/de/case?c=r0101',
    'unknown_user',
  ],
  [
    '554-Transaction failed 554-Reject due to policy restrictions. 554 For explanation visit https://postmaster.gmx.net/en/case?c=hi',
    'policy',
  ],
  ['552-Requested mail action aborted: exceeded storage allocation 552-Quota exceeded.', 'mailbox_full'],
  ['550-5.7.1 [TOI-03] Refused by local policy. No SPAM please! (T-Online)', 'spam', 'policy'],
  [
    '554 IP=192.0.2.4 - A problem occurred. (Ask your postmaster for help or to contact tosa@rx.t-online.de to clarify.)',
    'reputation',
    'policy',
    'unknown',
    'system',
  ],
  [
    '550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]',
    'unknown_user',
  ],
  ['550 5.2.0 Mail rejete. Mail rejected. OFR_506 [506]', 'spam', 'policy'],
  [
    '421 mwinf5c04 ME Trop de connexions, veuillez verifier votre configuration. Too many connections, slow down. OFR004_104 [104]',
    'rate_limited',
  ],
  ['550 spam detected (Free.fr)', 'spam'],
  ['550 unknown user - x@free.fr', 'unknown_user'],
  ['550 5.1.1 user not found; x@mail.ru', 'unknown_user'],
  [
    '550 Message was not accepted -- invalid mailbox. Local mailbox x@mail.ru is unavailable: user not found',
    'unknown_user',
  ],
  [
    '550 Message was not accepted -- invalid mailbox. Local mailbox x@mail.ru is unavailable: account is disabled',
    'disabled',
    'unknown_user',
  ],
  ['550 spam message rejected. Please visit http://help.mail.ru/notspam-support/id?c=abc', 'spam'],
  [
    '451 4.7.1 Sorry, the service is currently unavailable. Please come back later. (Yandex)',
    'system',
    'policy',
    'rate_limited',
  ],
  ['550 5.7.1 No such user! 1511900-abc (Yandex)', 'unknown_user'],
  ['554 5.7.1 [1] Message rejected under suspicion of SPAM; https://ya.cc/1IrBc', 'spam'],
  ['552 5.2.2 Mailbox size limit exceeded 1511900', 'mailbox_full'],
  ['550 Mailbox not found. http://service.mail.qq.com/cgi-bin/help?subtype=1&&no=1000728', 'unknown_user'],
  [
    '550 Mail content denied. http://service.mail.qq.com/cgi-bin/help?subtype=1&&id=20022&&no=1000726',
    'content',
    'spam',
    'policy',
  ],
  [
    '550 Ip frequency limited. http://service.mail.qq.com/cgi-bin/help?subtype=1&&id=20022&&no=1000725',
    'rate_limited',
  ],
  [
    '550 User has no permission (163)',
    'recipient_rejected',
    'policy',
    'relay_denied',
    'sender_rejected',
    'suspended',
  ],
  ['550 MI:NHD no such user, 163 mx10,abc http://mail.163.com/help/help_spam_16.htm', 'unknown_user'],
  ['554 DT:SPM 163 mx7,abc http://mail.163.com/help/help_spam_16.htm?ip=1', 'spam', 'policy', 'unknown'],
  ['550 User not found: x@126.com', 'unknown_user'],
  ['550 5.1.1 recipient <x@zoho.com> invalid mail address domain', 'unknown_user', 'unknown_domain'],
  [
    '550 5.4.6 Unusual sending activity detected. Please try after sometime',
    'rate_limited',
    'policy',
    'reputation',
    'loop',
  ],
  ['550 Recipient address rejected: User email address is marked as invalid (Mimecast)', 'unknown_user'],
  [
    '550 Rejected by header based manually Blocked Senders: a@b.test (Mimecast)',
    'sender_rejected',
    'policy',
    'recipient_rejected',
    'reputation',
  ],
  [
    '550 Administrative prohibition - envelope blocked - https://community.mimecast.com/docs/DOC-1369#550',
    'policy',
    'reputation',
    'sender_rejected',
  ],
  ['550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550', 'unknown_user'],
  [
    '451 Internal resources are temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451',
    'system',
  ],
  [
    '550 permanent failure for one or more recipients (x@y.com:blocked) Barracuda',
    'recipient_rejected',
    'policy',
    'unknown',
    'suspended',
    'reputation',
  ],
  ['550 permanent failure for one or more recipients (x@y.com:550 5.1.1 User unknown)', 'unknown_user'],
  [
    '554 Service unavailable; Client host [1.2.3.4] blocked using Barracuda Reputation; http://www.barracudanetworks.com/reputation/?pr=1&ip=1.2.3.4',
    'reputation',
  ],
  [
    '550-Verification failed for <a@b.test> 550-No Such User Here 550 Sender verify failed',
    'sender_rejected',
  ],
  ['550 Previous (cached) callout verification failure', 'sender_rejected', 'system', 'policy', 'unknown'],
  [
    '550-Callback setup failed while verifying <a@b.test> 550-(result of an earlier callout reused). 550 Sender verify failed',
    'sender_rejected',
  ],
  ['550 relay not permitted', 'relay_denied'],
  ['550 authentication required', 'relay_denied', 'security', 'protocol', 'recipient_rejected'],
  ['550 5.1.1 <x@y.com> User unknown; rejecting', 'unknown_user'],
  [
    '550 #5.1.0 Address rejected.',
    'unknown',
    'policy',
    'recipient_rejected',
    'unknown_user',
    'sender_rejected',
  ],
  [
    '550 #5.7.1 Your access to submit messages to this e-mail system has been rejected.',
    'policy',
    'reputation',
    'sender_rejected',
    'spam',
  ],
  [
    "554-mx.example.com 554 Your access to this mail system has been rejected due to the sending MTA's poor reputation. If you believe that this failure is in error, please contact the intended recipient via alternate means.",
    'reputation',
  ],
  [
    '450 4.2.0 <x@y.com>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/y.com.html',
    'rate_limited',
  ],
  ['450 4.7.1 <host>: Helo command rejected: Host not found', 'reputation', 'sender_rejected'],
  ['450 4.1.8 <a@b.test>: Sender address rejected: Domain not found', 'sender_rejected'],
  [
    '554 5.7.1 <x@y.com>: Recipient address rejected: Message rejected due to: SPF fail - not authorized',
    'authentication',
  ],
  [
    '550 5.7.1 <x@y.com>: Recipient address rejected: Please see http://www.openspf.net/Why',
    'authentication',
    'policy',
  ],
  ['550 5.1.1 <x@y.com>: Email address could not be found, or was misspelled (G8)', 'unknown_user'],
  ['550 5.1.1 x@y.com... User is not registered', 'unknown_user'],
  ['550 Account suspended for non-payment', 'suspended'],
  ['550 5.2.1 Mailbox disabled, not accepting messages', 'disabled'],
  ['552 5.3.4 Error: message file too big', 'too_big'],
  ['550 5.1.3 bad recipient address syntax', 'unknown_user'],
  ['501 5.1.3 Bad recipient address syntax', 'unknown_user'],
  ["550 5.0.0 <x@y.com>... Can't create output", 'system', 'mailbox_full', 'unknown'],
  ['550 5.1.2 Domain x.test unknown', 'unknown_domain'],
  ['554 5.4.4 [internal] Domain Lookup Failed', 'unknown_domain', 'network'],
  ['550 5.4.4 unrouteable address', 'unknown_user', 'unknown_domain'],
  ['550 Unrouteable address', 'unknown_user'],
  ['451 4.3.0 Temporary lookup failure', 'system', 'network'],
  ['451 4.3.2 Please try again later', 'system', 'rate_limited'],
  ['550 5.3.5 System config error', 'system'],
  ['554 5.3.0 unknown mailer error 1', 'system', 'unknown'],
  ['550 5.7.1 Email rejected per DKIM policy', 'authentication'],
  [
    '550 5.7.515 Access denied, sending domain acme.test does not meet the required authentication level.',
    'authentication',
  ],
  ['550 5.7.64 TenantAttribution; Relay Access Denied', 'relay_denied'],
  ['550 5.1.8 Access denied, bad outbound sender AS(42003)', 'sender_rejected', 'reputation'],
  ['550 5.1.20 Multiple From addresses are not allowed', 'sender_rejected', 'content', 'protocol'],
  ['550 5.6.11 SMTPSEND.BareLinefeedsAreIllegal; message contains bare linefeeds', 'content'],
  ["550 5.1.1 The user's mailbox in x@y has exceeded quota", 'mailbox_full'],
  [
    '550 5.1.1 Sender is blocked by recipient',
    'recipient_rejected',
    'sender_rejected',
    'policy',
    'reputation',
  ],
  ['550 5.1.1 message refused by DMARC', 'authentication'],
  ['550 5.1.1 Connection rejected by policy [7.7] 20003', 'policy', 'reputation'],
  ['550 5.2.1 Content rejected', 'content', 'spam'],
  ['550 5.2.1 Mailbox unavailable. Your IP address 192.0.2.4 is blacklisted using rbl-plus', 'reputation'],
  ['553 5.1.2 relaying denied', 'relay_denied'],
  ['550 5.1.1 rate limit exceeded for this recipient', 'rate_limited'],
  ['550 5.1.2 Temporary DNS error resolving domain', 'network', 'system'],
  ['550 5.4.4 SPF lookup failed for sender domain', 'authentication', 'sender_rejected'],
  ['550 5.1.1 too many hops', 'loop'],
  ['550 5.1.1 message size exceeds limit', 'too_big'],
  ['550 5.1.1 Virus found in message', 'virus'],
]

t.test('replies of large providers', async (t) => {
  for (const [text, ...right] of SAID) {
    const verdict = classify({ ...codesIn(text), text })
    t.ok(right.includes(verdict.category), `${verdict.category} for ${text}`)
    t.ok(
      right.some((one) => CATEGORIES[one].severity === verdict.class),
      text,
    )
  }
  t.ok(SAID.length > 100)
})
