/** Renders simple Markdown. HTML in the Markdown is shown as text, and links can only lead to pages of the console and to web pages. */
import { Fragment, type ReactNode } from 'react'
import { Link } from './link.tsx'
import { cut, withoutInvisible } from './text.tsx'
import { texts } from './texts.ts'

const lengthMax = 20_000
const linesMax = 1_000

type Block =
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'quote'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'list'; isOrdered: boolean; items: string[] }
  | { kind: 'table'; rows: string[][] }
  | { kind: 'line' }

const heading = /^(#{1,4})\s+(.+)$/
const item = /^\s*(?:[-*+]|(\d{1,4})[.)])\s+(.+)$/
const quote = /^>\s?(.*)$/
const line = /^\s*(?:-{3,}|\*{3,}|_{3,})\s*$/
const fence = /^```/
const row = /^\s*\|(.+)\|\s*$/
const isSeparatorRow = (cells: string[]) => cells.every((cell) => /^:?-+:?$/.test(cell))
const cellsOf = (text: string) =>
  row
    .exec(text)![1]!
    .split('|')
    .map((cell) => cell.trim())
const startsBlock = (text: string) => [heading, item, quote, line, fence, row].some((pattern) => pattern.test(text))

/** Removes lines from the front while they match, and returns them. */
function takeWhile(lines: string[], matches: (text: string) => boolean): string[] {
  const end = lines.findIndex((text) => !matches(text))
  return lines.splice(0, end < 0 ? lines.length : end)
}

function nextBlock(lines: string[]): Block {
  const first = lines[0]!
  if (fence.test(first)) {
    lines.shift()
    const code = takeWhile(lines, (text) => !fence.test(text))
    lines.shift()
    return { kind: 'code', text: code.join('\n') }
  }
  const headed = heading.exec(first)
  if (headed) {
    lines.shift()
    return { kind: 'heading', level: headed[1]!.length, text: headed[2]! }
  }
  if (line.test(first)) {
    lines.shift()
    return { kind: 'line' }
  }
  if (item.test(first)) {
    const items = takeWhile(lines, (text) => item.test(text))
    return {
      kind: 'list',
      isOrdered: item.exec(first)![1] !== undefined,
      items: items.map((one) => item.exec(one)![2]!),
    }
  }
  if (quote.test(first)) {
    const quoted = takeWhile(lines, (text) => quote.test(text))
    return { kind: 'quote', text: quoted.map((one) => quote.exec(one)![1]!).join('\n') }
  }
  if (row.test(first)) {
    const rows = takeWhile(lines, (text) => row.test(text)).map(cellsOf)
    return { kind: 'table', rows: rows.filter((cells) => !isSeparatorRow(cells)) }
  }
  lines.shift()
  const rest = takeWhile(lines, (text) => text.trim() !== '' && !startsBlock(text))
  return { kind: 'paragraph', text: [first, ...rest].join('\n') }
}

export function blocksOf(text: string): Block[] {
  const lines = text.split(/\r?\n/).slice(0, linesMax)
  const blocks: Block[] = []
  while (lines.length > 0)
    if (lines[0]!.trim() === '') lines.shift()
    else blocks.push(nextBlock(lines))
  return blocks
}

/** Matches code, strong text, emphasis and links. Each alternative takes linear time in the length of the text. */
const marks =
  /`([^`\n]{1,500})`|\*\*([^*\n]{1,500})\*\*|\*([^*\n]{1,500})\*|\[([^[\]\n]{1,300})\]\(([^()\s]{1,1000})\)/g

/** Returns the target of a link: a page of the console, or a web page. Other addresses, such as scripts, do not become links. */
function targetOf(address: string): { to: string } | { href: string } | undefined {
  if (/^\/(?!\/)/.test(address)) return { to: address }
  return /^(?:https?:\/\/|mailto:)/i.test(address) ? { href: address } : undefined
}

function linkOf(label: string, address: string, source: string): ReactNode {
  const target = targetOf(address)
  if (!target) return withoutInvisible(source)
  if ('to' in target) return <Link to={target.to}>{withoutInvisible(label)}</Link>
  return (
    <a className="link" href={target.href} target="_blank" rel="noopener noreferrer nofollow">
      {withoutInvisible(label)}
    </a>
  )
}

function inline(text: string): ReactNode[] {
  const parts: ReactNode[] = []
  let end = 0
  const plain = (until: number) => {
    const lines = text.slice(end, until).split('\n')
    for (const [index, one] of lines.entries()) {
      if (index > 0) parts.push(<br key={`${end} ${index}`} />)
      parts.push(withoutInvisible(one))
    }
  }
  for (const found of text.matchAll(marks)) {
    plain(found.index)
    end = found.index + found[0].length
    const [source, code, strong, emphasis, label, address] = found
    parts.push(
      <Fragment key={found.index}>
        {code !== undefined ? (
          <code>{withoutInvisible(code)}</code>
        ) : strong !== undefined ? (
          <strong>{withoutInvisible(strong)}</strong>
        ) : emphasis !== undefined ? (
          <em>{withoutInvisible(emphasis)}</em>
        ) : (
          linkOf(label!, address!, source)
        )}
      </Fragment>,
    )
  }
  plain(text.length)
  return parts
}

/** Heading levels of the text. They begin below the level of the section that contains the text. */
const levels = ['h3', 'h4', 'h5', 'h6'] as const

function BlockView({ block }: { block: Block }) {
  if (block.kind === 'line') return <hr />
  if (block.kind === 'code') return <pre>{block.text.split('\n').map(withoutInvisible).join('\n')}</pre>
  if (block.kind === 'quote') return <blockquote>{inline(block.text)}</blockquote>
  if (block.kind === 'paragraph') return <p>{inline(block.text)}</p>
  if (block.kind === 'heading') {
    const Heading = levels[block.level - 1]!
    return <Heading className={`markdown-${block.level}`}>{inline(block.text)}</Heading>
  }
  if (block.kind === 'list') {
    const List = block.isOrdered ? 'ol' : 'ul'
    return (
      <List>
        {block.items.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no other name
          <li key={index}>{inline(one)}</li>
        ))}
      </List>
    )
  }
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <tbody>
          {block.rows.map((cells, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
            <tr key={index}>
              {cells.map((cell, at) =>
                index === 0 ? (
                  // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other name
                  <th key={at} scope="col">
                    {inline(cell)}
                  </th>
                ) : (
                  // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other name
                  <td key={at}>{inline(cell)}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Shows a Markdown text: `<Markdown text={…} />`. */
export function Markdown({ text }: { text: string }) {
  const { shown, isCut } = cut(text, lengthMax)
  return (
    <div className="markdown" dir="auto">
      {blocksOf(shown).map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other name
        <BlockView key={index} block={block} />
      ))}
      {isCut && <p className="text-more">{texts.more(text.length - shown.length)}</p>}
    </div>
  )
}
