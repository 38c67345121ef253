/**
 * NAME      look - how the pages look to whoever looks, and the views that stand in the rail
 *   Light or dark belongs to a browser and lies in a cookie; pinned views belong to a person. The forms of both stand
 *   around every page and post here.
 */
import { queryText } from '../ask.js'
import type { Form } from '../form.js'
import { FormMarks, Hidden, Submit } from '../parts/form.js'
import { Empty, PageBody, Section } from '../parts/page-parts.js'
import { Table } from '../parts/table.js'
import { html } from '../render.js'
import { does, type FormDone, type SitePage, THEMES, titled, type Visit } from '../visit.js'

interface SavedView {
  readonly title: string
  readonly path: string
}

const WORDS = { light: 'Light', dark: 'Dark', system: 'As the system' } as const

/** A path of ours and nothing else, whoever wrote the form. */
const ownPath = (path: string | null): string =>
  path !== null && /^\/(?![/\\])[^\\\s]*$/.test(path) ? path : '/'

export const ThemeForm = ({ visit }: { readonly visit: Visit }) => {
  const marks = [FormMarks({ action: 'theme' }), Hidden({ of: { back: visit.here({}) } })]
  const buttons = THEMES.map(
    (theme) =>
      html`<button type="submit" name="theme" value="${theme}" aria-pressed="${String(visit.theme === theme)}">${theme === 'system' ? 'Auto' : WORDS[theme]}</button>`,
  )
  return html`<form method="post" action="/settings/look" class="theme">${marks}<div class="seg" role="group" aria-label="Colours">${buttons}</div></form>`
}

const viewsOf = (visit: Visit): readonly SavedView[] => visit.who.person?.views ?? []

const keep = (visit: Visit, views: readonly SavedView[]) =>
  visit.ask('PATCH', '/v1/session', { body: { views }, scoped: false })

const pin = async (visit: Visit, form: Form): Promise<FormDone> => {
  const path = ownPath(form.text('back'))
  const title = form.text('title') ?? path
  await keep(visit, [...viewsOf(visit).filter((view) => view.path !== path), { title, path }])
  return { to: path, notice: `“${title}” stands in the rail now.` }
}

const unpin = async (visit: Visit, form: Form): Promise<FormDone> => {
  const path = form.raw('path')
  await keep(
    visit,
    viewsOf(visit).filter((view) => view.path !== path),
  )
  return { to: ownPath(form.text('back')), notice: 'The view is gone from the rail.' }
}

export const Views = ({ visit }: { readonly visit: Visit }) => {
  const views = viewsOf(visit)
  if (views.length === 0)
    return (
      <Empty
        title="No view is pinned"
        says="Open a list, set its filters, and choose “Pin this view” at the foot of the rail."
      />
    )
  return (
    <Table
      caption="Pinned views"
      rows={views}
      href={({ path }) => path}
      columns={[
        { head: 'Title', cell: ({ title }) => <span dir="auto">{title}</span> },
        { head: 'Address', kind: 'grow', cell: ({ path }) => <code>{path}</code> },
        {
          head: '',
          kind: 'act',
          cell: ({ path }) => (
            <form method="post" action="/settings/look">
              <FormMarks action="unpin" />
              <Hidden of={{ path, back: visit.here({}) }} />
              <Submit>Unpin</Submit>
            </form>
          ),
        },
      ]}
    />
  )
}

export const lookPage: SitePage = {
  path: '/settings/look',
  async view(visit) {
    return titled(
      'Views and colours',
      <PageBody title="Views and colours">
        <Section title="Colours" says="of this browser">
          <ThemeForm visit={visit} />
        </Section>
        <Section title="Pinned views">
          <Views visit={visit} />
        </Section>
      </PageBody>,
    )
  },
  actions: {
    theme: does('getSession', async (_visit, form) => {
      const theme = THEMES.find((one) => one === form.raw('theme')) ?? 'system'
      return { to: ownPath(form.text('back')), theme }
    }),
    pin: does('updateSession', pin),
    unpin: does('updateSession', unpin),
  },
}

/** The link of a view keeps everything but the place in the list. */
export const pinPath = (visit: Visit): string => {
  const query = Object.fromEntries(visit.url.searchParams)
  return visit.url.pathname + queryText({ ...query, cursor: null })
}
