/**
 * NAME      papers - the papers of the repository, as pages and as Markdown
 *   One source: what stands in config/ is what /docs shows. A paper is read into tokens, and each token becomes an
 *   element of preact, which escapes its text, so nothing in a paper is taken for HTML. A link to another paper leads
 *   to its page; one to a file that is in the repository alone becomes text that names the file. Addresses of the API
 *   in the samples become those of this gateway, and no page names a version: the papers that show one are written for
 *   the packages. Loaded when somebody looks: the parser and the texts are no part of a start.
 */
import { basename, dirname, join } from 'node:path/posix'
import { marked, type Token, type Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { ButtonLink, Code, Head } from '../../parts/page-parts.js'
import { Table } from '../../parts/table.js'
import type { SiteReader } from '../../visit.js'
import { paperFiles } from './paper-files.js'

/** In reading order; others follow. */
const ORDER = ['clients', 'receivers', 'moving', 'settings', 'operate', 'postgres', 'container', 'faq']

/** A part of a paper below one heading, as the search finds it. */
interface Chapter {
  readonly title: string
  /** Its address on the page, the way hosting services make it. */
  readonly anchor: string
  readonly depth: number
  readonly text: string
}

export interface Paper {
  readonly file: string
  readonly slug: string
  readonly title: string
  /** Its first sentence. */
  readonly says: string
  readonly text: string
  readonly chapters: readonly Chapter[]
}

const slugOf = (file: string): string => {
  const name = basename(file, '.md').toLowerCase()
  const folder = basename(dirname(file))
  return name !== 'readme' ? name : folder === 'config' ? 'settings' : folder
}

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** What is read of a line of Markdown: no backquotes, no addresses of links. */
const plain = (text: string): string =>
  text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .replace(/\s+/g, ' ')
    .trim()

const chaptersOf = (text: string): readonly Chapter[] => {
  const found: { title: string; depth: number; lines: string[] }[] = []
  let isCode = false
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    const [, marks = '', title = ''] = (isCode ? null : /^(#{1,4}) (.*)$/.exec(line)) ?? []
    if (marks !== '') found.push({ title: plain(title), depth: marks.length, lines: [] })
    else found.at(-1)?.lines.push(line)
  }
  return found.map(({ title, depth, lines }) => ({
    ...{ title, depth, anchor: anchorOf(title) },
    text: lines.join('\n').trim(),
  }))
}

const paperOf = ([file, text]: readonly [string, string]): Paper => {
  const chapters = chaptersOf(text)
  const [first = ''] = plain(chapters[0]?.text.split('\n\n')[0] ?? '').split(/(?<=[.!?]) /)
  return { file, text, chapters, slug: slugOf(file), title: chapters[0]?.title ?? file, says: first }
}

let kept: readonly Paper[] | null = null

const rank = ({ slug }: Paper): number => ORDER.indexOf(slug) + 1 || ORDER.length + 1

export const papers = (): readonly Paper[] => {
  kept ??= [...paperFiles()].map(paperOf).sort((a, b) => rank(a) - rank(b))
  return kept
}

export const paperNamed = (slug: string): Paper | null => papers().find((one) => one.slug === slug) ?? null

/** As this gateway says it: samples that run as they stand, and no version. */
const here = (text: string, baseUrl: string): string =>
  text
    .replaceAll('http://127.0.0.1:8080/v1', `${baseUrl}/v1`)
    .replace(/\b(postern[ _-])\d+\.\d+\.\d+/gi, '$1VERSION')

type Target = { readonly paper: Paper; readonly anchor: string } | { readonly url: string } | null

/** Where a link of this paper leads; null where that is in the repository alone. */
const targetOf = (from: Paper, href: string): Target => {
  if (/^https?:\/\//.test(href)) return { url: href }
  const [path = '', anchor = ''] = href.split('#')
  const file = path === '' ? from.file : join(dirname(from.file), path)
  const paper = papers().find((one) => one.file === file)
  return paper === undefined ? null : { paper, anchor: anchor === '' ? '' : `#${anchor}` }
}

/** The paper as Markdown: its links lead from one such address to the next. */
export const markdownOf = (paper: Paper, baseUrl: string): string =>
  here(paper.text, baseUrl).replace(/\[([^\]]*)\]\(([^)\s]+)\)/g, (all, text: string, href: string) => {
    const target = targetOf(paper, href)
    if (target === null) return `${text} (\`${join(dirname(paper.file), href)}\` in the repository)`
    return 'url' in target ? all : `[${text}](${target.paper.slug}.md${target.anchor})`
  })

interface Place {
  readonly paper: Paper
  readonly reader: Pick<SiteReader, 'link'>
}

type MarkdownProps = Place & { readonly tokens: readonly Token[] }

const Anchor = ({ token, ...place }: Place & { readonly token: Tokens.Link }) => {
  const text = <Inline tokens={token.tokens} {...place} />
  const target = targetOf(place.paper, token.href)
  if (target === null)
    return (
      <>
        {text} (<code>{join(dirname(place.paper.file), token.href)}</code> in the repository)
      </>
    )
  if ('url' in target) return <a href={target.url}>{text}</a>
  return <a href={place.reader.link(`/docs/${target.paper.slug}`) + target.anchor}>{text}</a>
}

const Inline = ({ tokens, ...place }: MarkdownProps) => (
  <>
    {tokens.map((token): ComponentChildren => {
      const inner = () => <Inline tokens={(token as Tokens.Generic).tokens ?? []} {...place} />
      switch (token.type) {
        case 'strong':
          return <strong>{inner()}</strong>
        case 'em':
          return <em>{inner()}</em>
        case 'codespan':
          return <code>{(token as Tokens.Codespan).text}</code>
        case 'link':
          return <Anchor token={token as Tokens.Link} {...place} />
        case 'text':
        case 'paragraph':
          return 'tokens' in token && token.tokens !== undefined ? inner() : (token as Tokens.Text).text
        case 'escape':
          return (token as Tokens.Escape).text
        default:
          // also HTML: it is shown as it was written
          return token.raw
      }
    })}
  </>
)

const Rows = ({ token, ...place }: Place & { readonly token: Tokens.Table }) => (
  <Table
    caption={`Table: ${token.header.map(({ text }) => plain(text)).join(', ')}`}
    rows={token.rows}
    columns={token.header.map(({ text }, at) => ({
      head: plain(text),
      cell: (row: readonly Tokens.TableCell[]) => <Inline tokens={row[at]?.tokens ?? []} {...place} />,
    }))}
  />
)

const Items = ({ token, ...place }: Place & { readonly token: Tokens.List }) => {
  const items = token.items.map(({ tokens }) => (
    <li>
      <Blocks tokens={tokens} {...place} />
    </li>
  ))
  return token.ordered ? <ol>{items}</ol> : <ul>{items}</ul>
}

const Heading = ({ token, ...place }: Place & { readonly token: Tokens.Heading }) => {
  const Name = `h${Math.min(token.depth, 4)}` as 'h2' | 'h3' | 'h4'
  return (
    <Name id={anchorOf(plain(token.text))}>
      <Inline tokens={token.tokens} {...place} />
    </Name>
  )
}

const Blocks = ({ tokens, ...place }: MarkdownProps) => (
  <>
    {tokens.map((token): ComponentChildren => {
      switch (token.type) {
        case 'space':
          return null
        case 'heading':
          return <Heading token={token as Tokens.Heading} {...place} />
        case 'code':
          return <Code text={(token as Tokens.Code).text} />
        case 'table':
          return <Rows token={token as Tokens.Table} {...place} />
        case 'list':
          return <Items token={token as Tokens.List} {...place} />
        case 'text':
          return <Inline tokens={[token]} {...place} />
        default:
          return (
            <p>
              <Inline tokens={[token]} {...place} />
            </p>
          )
      }
    })}
  </>
)

const Contents = ({ paper, reader }: Place) => (
  <>
    <h2>On this page</h2>
    <ul>
      {paper.chapters
        .filter(({ depth }) => depth === 2)
        .map(({ title, anchor }) => (
          <li>
            <a href={`#${anchor}`}>{title}</a>
          </li>
        ))}
    </ul>
    <h2>Guides</h2>
    <ul>
      {papers().map(({ slug, title }) => (
        <li>
          <a href={reader.link(`/docs/${slug}`)} aria-current={slug === paper.slug ? 'page' : undefined}>
            {title}
          </a>
        </li>
      ))}
    </ul>
  </>
)

export const PaperBody = ({ paper, reader, baseUrl }: Place & { readonly baseUrl: string }) => {
  const [, ...tokens] = marked.lexer(here(paper.text, baseUrl)).filter(({ type }) => type !== 'space')
  return (
    <div class="docs paper">
      <nav class="toc" aria-label="Guides">
        <Contents {...{ paper, reader }} />
      </nav>
      <div>
        <Head
          crumb={['/docs', 'Documentation', 'Guides']}
          title={paper.title}
          actions={<ButtonLink to={`/docs/${paper.slug}.md`}>As Markdown</ButtonLink>}
        />
        <article>
          <Blocks tokens={tokens} {...{ paper, reader }} />
        </article>
      </div>
    </div>
  )
}

export interface FoundChapter {
  readonly paper: Paper
  readonly chapter: Chapter
}

const MOST_FOUND = 20

/** Chapters that have every word, those first that have them in their heading. */
export const chaptersWith = (matches: (text: string) => boolean): readonly FoundChapter[] => {
  const all = papers().flatMap((paper) => paper.chapters.map((chapter) => ({ paper, chapter })))
  const isNamed = ({ chapter, paper }: FoundChapter) =>
    matches(`${paper.title} ${chapter.title}`.toLowerCase())
  const found = all.filter(({ chapter, paper }) =>
    matches(`${paper.title} ${chapter.title} ${chapter.text}`.toLowerCase()),
  )
  return [...found.filter(isNamed), ...found.filter((one) => !isNamed(one))].slice(0, MOST_FOUND)
}
