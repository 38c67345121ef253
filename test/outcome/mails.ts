/** Reports as mails, for tests: as true or as forged as a test wants them. */

export interface Group {
  readonly final?: string
  readonly original?: string
  readonly action: string
  readonly status: string
  readonly diagnostic?: string
}

interface Shape {
  /** Of the report's own header; whoever@ unless given. */
  readonly to?: string
  readonly groups: readonly Group[]
  readonly envid?: string
  readonly id?: string
  readonly returned?: string
}

/** A report as Postfix would make it, field by field. */
export const dsn = ({
  groups,
  envid,
  to = 'whoever@bounces.test',
  id = '<dsn-1@mx.test>',
  returned = '',
}: Shape): Buffer =>
  Buffer.from(
    [
      'From: MAILER-DAEMON@mx.test',
      `To: ${to}`,
      'Subject: Delivery Status Notification',
      `Message-ID: ${id}`,
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'About your mail.',
      '--b',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.test',
      ...(envid === undefined ? [] : [`Original-Envelope-Id: ${envid}`]),
      ...groups.flatMap((group) => [
        '',
        ...(group.original === undefined ? [] : [`Original-Recipient: rfc822;${group.original}`]),
        ...(group.final === undefined ? [] : [`Final-Recipient: rfc822; ${group.final}`]),
        `Action: ${group.action}`,
        `Status: ${group.status}`,
        ...(group.diagnostic === undefined ? [] : [`Diagnostic-Code: smtp; ${group.diagnostic}`]),
      ]),
      '',
      '--b',
      'Content-Type: text/rfc822-headers',
      '',
      returned || 'Subject: hello',
      '',
      '--b--',
      '',
    ].join('\r\n'),
  )

export const arf = (type: string): Buffer =>
  Buffer.from(
    [
      'From: fbl@isp.test',
      'To: whoever@bounces.test',
      'Subject: complaint',
      'Message-ID: <arf@isp.test>',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=feedback-report; boundary="b"',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'A complaint.',
      '--b',
      'Content-Type: message/feedback-report',
      '',
      `Feedback-Type: ${type}`,
      'User-Agent: test/1',
      'Version: 1',
      '',
      '--b',
      'Content-Type: message/rfc822',
      '',
      'Subject: hello',
      '',
      'Hello',
      '--b--',
      '',
    ].join('\r\n'),
  )

export const HARD = { action: 'failed', status: '5.1.1', diagnostic: '550 5.1.1 no such user' }
