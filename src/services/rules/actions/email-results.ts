/** Checks the results of an e-mail action's expressions (document 5, 5.5), so that no text can inject headers or further recipients. */
import type { EmailContent } from '../deliveries/email.ts'
import { ActionFailed, objectOf, textOf } from './results.ts'

const recipientsMax = 50
const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/
const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is searched for
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

function isAddress(text: string): boolean {
  const at = text.lastIndexOf('@')
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)]
  return (
    at > 0 &&
    text.length <= 254 &&
    localPart.test(local) &&
    !/^\.|\.\.|\.$/.test(local) &&
    domain.split('.').every((part) => label.test(part))
  )
}

/** Parses `a@b.c` or `Name <a@b.c>`. Returns undefined if the text is neither. */
function recipientOf(text: string): string | undefined {
  if (control.test(text)) return undefined
  if (text.length > 1000) return undefined
  const [, name, address] = /^([^<>]*)<([^<>]+)>$/.exec(text) ?? []
  if (address === undefined) return isAddress(text) ? text : undefined
  if (!isAddress(address.trim())) return undefined
  const plain = (name ?? '')
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .replace(/["\\]/g, '')
  return plain === '' ? address.trim() : `"${plain}" <${address.trim()}>`
}

/** Splits a text at the commas and semicolons that are outside of quotes. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  let [start, isQuoted] = [0, false]
  for (let at = 0; at <= text.length; at++) {
    const character = text[at]
    if (character === '"') isQuoted = !isQuoted
    const isEnd = character === undefined || (!isQuoted && (character === ',' || character === ';'))
    if (!isEnd) continue
    parts.push(text.slice(start, at).trim())
    start = at + 1
  }
  return parts.filter((part) => part !== '')
}

export function recipientsOf(attribute: string, value: unknown): string[] {
  const parts = typeof value === 'string' ? partsOf(value) : value
  if (!Array.isArray(parts) || parts.length < 1 || parts.length > recipientsMax)
    throw new ActionFailed(`${attribute}: expected 1 to ${recipientsMax} addresses, as text or as an array of texts`)
  return parts.map((part: unknown) => {
    const recipient = typeof part === 'string' ? recipientOf(part.trim()) : undefined
    if (recipient === undefined)
      throw new ActionFailed(`${attribute}: ${JSON.stringify(part)?.slice(0, 200)} is not an e-mail address`)
    return recipient
  })
}

/** Returns the subject. Control characters, such as line breaks, are replaced by blanks. */
export const subjectOf = (attribute: string, value: unknown) =>
  textOf(attribute, value).replace(new RegExp(control, 'g'), ' ')

const token = "[A-Za-z0-9!#$&^_.+'*%`|~-]+"
const mimeType = new RegExp(`^${token}/${token}(?:\\s*;\\s*${token}=(?:${token}|"[^"\\\\\\r\\n]*"))*$`)
const isBase64 = (text: string) => /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.replace(/=+$/, '').length % 4 !== 1

export function attachmentOf(attribute: string, value: unknown): EmailContent['attachment'] {
  if (value === undefined || value === null || value === '') return undefined
  const fail = (problem: string) => new ActionFailed(`${attribute}: ${problem}`)
  const { fileName, type, payload } = objectOf(attribute, value)
  if (
    typeof fileName !== 'string' ||
    fileName === '' ||
    fileName.length > 255 ||
    control.test(fileName) ||
    /[/\\]/.test(fileName)
  )
    throw fail('fileName must be a name of 1 to 255 characters without slashes and control characters')
  if (typeof type !== 'string' || type.length > 255 || !mimeType.test(type)) throw fail('type must be a MIME type')
  if (typeof payload !== 'string' || !isBase64(payload)) throw fail('payload must be base64 text')
  return { fileName, type, payload }
}
