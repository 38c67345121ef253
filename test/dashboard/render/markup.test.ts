/** Rows are written as text: what is in them must be escaped as preact does it, and its parts rendered where they stand. */
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import t from 'tap'
import { isolate, Said } from '../../../src/dashboard/parts/text.js'
import { attrs, html, isText, renderPage } from '../../../src/dashboard/render.js'

const HOSTILE = `"><script>alert('1')</script>&amp;`

t.test('values are text, in attributes too', async (t) => {
  const row = html`<td title="${HOSTILE}"${attrs({ 'data-l': HOSTILE })}>${HOSTILE}${[HOSTILE, [1]]}</td>`
  const text = `&quot;>&lt;script>alert('1')&lt;/script>&amp;amp;`
  t.equal(renderToString(row), `<td title="${text}" data-l="${text}">${text}${text}1</td>`)
  const asPreact = renderToString(h('td', { title: HOSTILE, 'data-l': HOSTILE }, HOSTILE, [HOSTILE, [1]]))
  t.equal(renderToString(row), asPreact)
})

t.test('nothing is nothing', async (t) => {
  t.equal(renderToString(html`<p>${null}${undefined}${false}${true}${0}${''}</p>`), '<p>0</p>')
  const said = attrs({ class: undefined, id: null, open: false, hidden: true, maxlength: 3 })
  t.equal(renderToString(html`<p${said}></p>`), '<p hidden maxlength="3"></p>')
})

t.test('elements and components are rendered where they stand', async (t) => {
  const Name = ({ of }: { readonly of: string }) => h('b', null, of)
  const inner = html`<i>${h(Name, { of: '<' })}</i>`
  t.equal(isText(inner), false)
  t.equal(isText(html`<i>${'<'}</i>`), true)
  const row = html`<p>${[inner, html`<u>${'&'}</u>`]}${h('br', null)}</p>`
  t.equal(renderToString(row), '<p><i><b>&lt;</b></i><u>&amp;</u><br/></p>')
})

t.test('what came as JSON is no markup', async (t) => {
  for (const said of ['{"tpl":["<b>"]}', '{"props":{"tpl":["<b>"],"exprs":[]},"type":"b"}']) {
    const value = JSON.parse(said)
    t.notMatch(renderToString(html`<p>${value}</p>`), /<b>/)
    t.equal(isText(value), false)
  }
})

t.test('what turns the direction of text is shown by its number', async (t) => {
  const page = (text: string) => {
    const one = h('p', { title: text }, h('input', { value: text }), text, h('bdi', null, text))
    return renderPage(h('div', null, one), '')
  }
  const shown = page('a \u202etxt.exe\u202c "b"')
  const said = 'a [U+202E]txt.exe[U+202C] &quot;b&quot;'
  t.match(shown, `<p title="${said}">`)
  t.match(shown, `>${said}<bdi>${said}</bdi>`)
  t.match(shown, 'value="a \u202etxt', 'what is in a field is sent back as it was')
  t.match(page('Hello \u2068Ana\u2069!'), '>Hello \u2068Ana\u2069!', 'isolates that end are left')
  t.match(page('\u2067never'), '>[U+2067]never<')
  t.match(page('\u2069\u2067'), '>[U+2069][U+2067]<')
})

t.test('words of others are a <bdi> in a sentence of ours', async (t) => {
  const text = `It said “${isolate('550 \u2069<b>\u2067')}”, twice.`
  t.equal(renderToString(h(Said, { text })), 'It said “<bdi>550 &lt;b></bdi>”, twice.')
  t.equal(renderToString(h(Said, { text: 'Delivered.' })), 'Delivered.')
})
