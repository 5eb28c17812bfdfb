/** ETags and conditional requests: If-Match, If-None-Match and If-Modified-Since. */
import { hash } from 'node:crypto'
import { PreconditionFailed } from './errors.ts'

/** Returns a strong ETag. The parts must contain everything that determines the response. */
export const etagOf = (...parts: unknown[]) => {
  let text = ''
  for (const part of parts) text += `${typeof part === 'string' ? part : JSON.stringify(part)}\0`
  return `"${hash('sha1', text, 'base64url')}"`
}

const opaqueTag = (tag: string) =>
  tag
    .trim()
    .replace(/^W\//, '')
    .replace(/^"(.*)"$/, '$1')

/**
 * Returns whether the header lists the ETag; undefined if there is no header. Existing clients send ETags with and without quotes. They
 * also send empty headers, which count as missing (document 3, 1.14).
 */
function headerMatches(header: string | undefined, etag: string | undefined): boolean | undefined {
  if (header === undefined || header.trim() === '') return undefined
  if (header.trim() === '*') return etag !== undefined
  if (etag === undefined) return false
  return header.split(',').some((tag) => opaqueTag(tag) === opaqueTag(etag))
}

/** Returns whether the caller already has this version, so that the answer is 304 without a body. */
export const notModified = (headers: { 'if-none-match'?: string | undefined }, etag: string) =>
  headerMatches(headers['if-none-match'], etag) === true

/**
 * Returns whether the content is no newer than If-Modified-Since, as `wget -N` and `curl -z` send it. If-None-Match has precedence, and an
 * invalid date is ignored (RFC 9110, 13.1.3).
 */
export function notModifiedSince(
  headers: { 'if-none-match'?: string | undefined; 'if-modified-since'?: string | undefined },
  modified: Date,
): boolean {
  if (headers['if-none-match']) return false
  // Last-Modified has whole seconds. An invalid date becomes NaN, and a comparison with NaN is false.
  return Math.floor(modified.getTime() / 1000) * 1000 <= Date.parse(headers['if-modified-since'] ?? '')
}

/** Throws 412 if If-Match is given and does not match the current ETag. `etag` is undefined if the resource does not exist. */
export function checkIfMatch(ifMatch: string | undefined, etag: string | undefined, failure = PreconditionFailed) {
  if (headerMatches(ifMatch, etag) === false) throw failure()
}
