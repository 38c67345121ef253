/**
 * NAME      as-markdown - the reference for programs that read text
 * DESCRIPTION
 *   /llms.txt lists all pages, one line each, and each of them is there as Markdown at its address and `.md`. Samples and
 *   addresses are those of this gateway.
 */
import type { Paper } from './papers.js'
import { type Field, fieldOf, type Operation, type Reference } from './reference.js'
import { samplesOf } from './samples.js'

const sentence = (text: string): string => text.replace(/\.?$/, '.')

const fieldLine = ({ name, type, required, says, oneOf }: Field): string =>
  [
    `- \`${name}\` (${type}${required ? ', required' : ''})`,
    says.length === 0 ? '' : `: ${says.join(' ')}`,
    oneOf.length === 0 ? '' : ` One of ${oneOf.map((one) => `\`${one}\``).join(', ')}.`,
  ].join('')

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`## ${title}`, '', ...lines, '']

const fenced = (language: string, text: string): readonly string[] => [`\`\`\`${language}`, text, '```']

const shown = (example: unknown): string =>
  typeof example === 'string' ? example : JSON.stringify(example, null, 2)

export const operationMarkdown = (operation: Operation, { errors, baseUrl }: Reference): string => {
  const { method, path, summary, description, parameters, request, answers, twin } = operation
  const [curl] = samplesOf(operation, baseUrl)
  return [
    `# ${summary}`,
    '',
    `\`${method} ${path}\``,
    '',
    description,
    '',
    twin.command === undefined
      ? `Not on the command line: ${sentence(twin.reason ?? '')}`
      : `On the command line: \`${twin.command}\``,
    '',
    ...section('Sample', fenced('sh', curl?.text ?? '')),
    ...section(
      'Parameters',
      parameters.map(({ name, in: place, required = false, description: says, schema }) => {
        const field = fieldOf(name, required, says === undefined ? schema : { ...schema, description: says })
        return fieldLine({ ...field, type: `${place}, ${field.type}` })
      }),
    ),
    ...section('Body', request?.fields().map(fieldLine) ?? []),
    ...answers.flatMap(({ status, media, example, fields }) =>
      section(`Answer ${status}`, [
        `\`${media}\``,
        '',
        ...fields().map(fieldLine),
        ...(example === undefined ? [] : ['', ...fenced('', shown(example))]),
      ]),
    ),
    ...section(
      'Errors',
      operation.errors.map((code) => {
        const { status, description: says = '' } = errors.get(code) ?? {}
        return `- ${status} \`${code}\`: ${says}`
      }),
    ),
  ].join('\n')
}

export const indexMarkdown = (papers: readonly Paper[], { groups, baseUrl }: Reference): string =>
  [
    '# Postern',
    '',
    '> A self-hosted gateway for transactional email: an HTTP API and an SMTP door in front of your own mail servers.',
    '',
    `The API is at ${baseUrl}/v1; each request carries \`Authorization: Bearer KEY\`. Errors are problem details (RFC 9457): match on`,
    'their `code`.',
    '',
    ...section('Guides', [
      ...papers.map(({ slug, title, says }) => `- [${title}](${baseUrl}/docs/${slug}.md): ${says}`),
    ]),
    ...section('The whole API', [
      `- [OpenAPI 3.1](${baseUrl}/docs/openapi.json): all operations in one document`,
      `- [Errors](${baseUrl}/errors): each code with its cause and remedy, as JSON`,
    ]),
    ...groups.flatMap(({ name, operations }) =>
      section(
        `Operations: ${name}`,
        operations.map(
          ({ id, method, path, summary }) =>
            `- [${summary}](${baseUrl}/docs/${id}.md): \`${method} ${path}\``,
        ),
      ),
    ),
  ].join('\n')
