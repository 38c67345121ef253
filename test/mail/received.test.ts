import t from 'tap'
import { formatDate, receivedLine } from '../../src/mail/header.js'

const trace = {
  helo: 'app.test',
  ip: '192.0.2.7',
  host: 'mail.acme.test',
  id: 'em_01k9',
  tls: true,
  authenticated: true,
  recipients: ['ana@example.com'],
  now: Date.UTC(2026, 10, 5, 9, 8, 7),
}

t.equal(formatDate(trace.now), 'Thu, 5 Nov 2026 09:08:07 +0000')
for (let i = 0; i < 400; i++) {
  const at = i * 86_400_000 * 37 + i * 61_000
  t.equal(Date.parse(formatDate(at)), Math.floor(at / 1000) * 1000)
}

t.equal(
  receivedLine(trace),
  'Received: from app.test ([192.0.2.7])\r\n by mail.acme.test with ESMTPSA id em_01k9\r\n' +
    ' for <ana@example.com>;\r\n Thu, 5 Nov 2026 09:08:07 +0000\r\n',
)
t.notMatch(
  receivedLine({ ...trace, recipients: ['a@b.c', 'd@e.f'] }),
  /for </,
  'two recipients: nobody is named',
)
t.match(receivedLine({ ...trace, ip: '2001:db8::1' }), /\(\[IPv6:2001:db8::1\]\)/)
t.match(receivedLine({ ...trace, tls: false, authenticated: false }), / with ESMTP id /)
t.match(receivedLine({ ...trace, smtpUtf8: true, authenticated: false }), / with UTF8SMTPS id /)
t.match(receivedLine({ ...trace, helo: 'x (evil)\r\nBcc: y' }), /^Received: from x\?\?evil\?\?\?Bcc:\?y \(/)
t.match(receivedLine({ ...trace, helo: '' }), /from unknown /)
