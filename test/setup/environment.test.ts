/** The variables of a container, and those of other images. */
import t from 'tap'
import { InlineUpstream } from '../../src/setup/files.js'
import { readEnvironment } from '../../src/setup/start.js'

const read = (env: Record<string, string>, isImage = true) => {
  const { setup, said } = readEnvironment(env, isImage, 'default')
  return {
    objects: setup?.objects.map(({ kind, workspace, name, given }) => ({ kind, workspace, name, given })),
    mistakes: setup?.mistakes.map(({ where, message }) => `${where}: ${message}`),
    said: said.map(({ isWarning, variable, says }) => `${isWarning ? '! ' : ''}${variable} ${says}`),
  }
}

const upstreams = (env: Record<string, string>) => read(env).objects?.[0]?.given.upstreams

t.test('none of them', async (t) => {
  t.same(read({ PATH: '/bin', POSTERN_HOSTNAME: 'a.b', POSTERN_UPSTREAM: '' }), {
    ...{ objects: undefined, mistakes: undefined, said: [] },
  })
})

t.test('our own', async (t) => {
  t.same(
    read({
      POSTERN_UPSTREAM: 'smtp://gw@mta1.example:587?tls=verify',
      POSTERN_UPSTREAM_PASSWORD_FILE: '/run/secrets/a b',
      POSTERN_KEY_FILE: '/data/no.key',
    }).objects,
    [
      {
        ...{ kind: 'pool', workspace: '', name: 'default' },
        given: {
          upstreams: ['smtp://gw@mta1.example:587?tls=verify&password_file=%2Frun%2Fsecrets%2Fa%20b'],
        },
      },
      { ...{ kind: 'key', workspace: 'default', name: 'app' }, given: { out: '/data/no.key' } },
    ],
  )
  t.same(read({ POSTERN_KEY_FILE: '/etc/hostname' }).objects?.[0]?.given, { secret_file: '/etc/hostname' })
  t.same(read({ POSTERN_UPSTREAM_PASSWORD_FILE: '/x' }).mistakes, [
    'POSTERN_UPSTREAM_PASSWORD_FILE: needs POSTERN_UPSTREAM',
  ])
})

t.test('as other images name a smart host', async (t) => {
  for (const [text, url] of [
    ['mta.example', 'smtp://mta.example'],
    ['mta.example:587', 'smtp://mta.example:587'],
    ['[mta.example]:25', 'smtp://mta.example:25'],
    ['[2001:db8::1]:587', 'smtp://[2001:db8::1]:587'],
    ['192.0.2.1', 'smtp://192.0.2.1'],
  ])
    t.same(upstreams({ RELAYHOST: text as string }), [url], text as string)
  for (const text of ['smtp://x', 'a b', '[mta.example', 'mta.example:x', 'me@mta.example'])
    t.same(read({ RELAYHOST: text }).mistakes, ['RELAYHOST: is no host such as [mta1.example.com]:587'], text)
  t.same(
    upstreams({
      RELAYHOST: 'm',
      RELAYHOST_USERNAME: "o'x@y",
      RELAYHOST_PASSWORD_FILE: '/s',
      RELAYHOST_TLS_LEVEL: 'encrypt',
    }),
    ["smtp://o'x%40y@m?tls=required&password_file=%2Fs"],
  )
  t.same(
    upstreams({
      SMARTHOST_ADDRESS: 'm',
      SMARTHOST_PORT: '587',
      SMARTHOST_USER: 'u',
      SMARTHOST_PASSWORD: 'hunter22',
    }),
    [new InlineUpstream('smtp://u@m:587', { password_file: 'hunter22' })],
  )
  t.same(read({ RELAYHOST: 'm', RELAYHOST_TLS_LEVEL: 'dane' }).mistakes, [
    'RELAYHOST_TLS_LEVEL: must be one of none, may, encrypt, verify, secure',
  ])
})

t.test('each is named as what it became, and no password is', async (t) => {
  const { said } = read({
    ...{ SMARTHOST_ADDRESS: 'm', SMARTHOST_USER: 'u', SMARTHOST_PASSWORD: 'hunter22' },
    ...{
      MAILNAME: 'x',
      RELAY_NETWORKS: '10.0.0.0/8',
      POSTFIX_myhostname: 'y',
      RELAYHOST_PASSWORD_FILE: '/z',
    },
  })
  t.same(said, [
    '! MAILNAME is of another image and not understood here; nothing is made of it',
    '! POSTFIX_myhostname is of another image and not understood here; nothing is made of it',
    '! RELAYHOST_PASSWORD_FILE is of another image and not understood here; nothing is made of it',
    '! RELAY_NETWORKS is of another image and not understood here; nothing is made of it',
    'SMARTHOST_ADDRESS became POSTERN_UPSTREAM=smtp://u@m',
    '! SMARTHOST_PASSWORD holds a password that others can read; name its file by SMARTHOST_PASSWORD_FILE',
  ])
  t.same(read({ RELAYHOST: 'm', MAILNAME: 'x' }, false).objects, undefined, 'only in our image')
  const both = read({ RELAYHOST: 'm', POSTERN_UPSTREAM: 'smtp://own' })
  t.same(both.objects?.[0]?.given, { upstreams: ['smtp://own'] })
  t.match(both.said, ['! RELAYHOST is of another image'])
})
