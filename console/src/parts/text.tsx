/** Shows a text of users: isolates its text direction, truncates long texts with a note, and makes control characters visible. */
import { texts } from './texts.ts'

const lengthMax = 300
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are shown
const invisible = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g

const names: Record<string, string> = { '\n': '⏎', '\t': '⇥', '\r': '␍', '\0': '␀' }

/** Replaces invisible characters by visible symbols. */
export const withoutInvisible = (text: string) =>
  text.replace(invisible, (character) => names[character] ?? `⟨${character.codePointAt(0)!.toString(16)}⟩`)

/** Truncates a text without splitting a character. */
export function cut(text: string, max = lengthMax): { shown: string; isCut: boolean } {
  if (text.length <= max) return { shown: text, isCut: false }
  const end = /[\ud800-\udbff]/.test(text[max - 1]!) ? max - 1 : max
  return { shown: text.slice(0, end), isCut: true }
}

export interface TextProps {
  /** Any value of the API; objects are shown as JSON. */
  value: unknown
  max?: number
  mono?: boolean
}

export function Text({ value, max, mono = false }: TextProps) {
  if (value === undefined || value === null || value === '') return <span className="text-none">{texts.none}</span>
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value)
  const { shown, isCut } = cut(text, max)
  return (
    <bdi
      className={mono ? 'text text-mono' : 'text'}
      title={isCut ? withoutInvisible(cut(text, 2000).shown) : undefined}
    >
      {withoutInvisible(shown)}
      {isCut && <span className="text-more">{texts.more(text.length - shown.length)}</span>}
    </bdi>
  )
}
