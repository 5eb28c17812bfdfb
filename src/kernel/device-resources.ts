/** Building blocks of extensions: a table of resources, and payloads that are validated before use. */
import type { DeviceAnswer, DeviceMessage, Extension } from './device.ts'
import { BodyTooLarge, defineError, InvalidRequest } from './errors.ts'
import { parseJson } from './http/body.ts'
import { checkShape } from './http/validation.ts'
import type { Static, TSchema } from './schema.ts'

export const NoSuchResource = defineError<{ extension: string; path: string }>(
  'no_such_resource',
  404,
  'There is no resource "{path}" in {extension}',
)

/** Handles a message. `parts` has the value of each `<name>` in the pattern. The value of an optional `<name>` may be missing. */
export type Resource = (
  message: DeviceMessage,
  parts: Record<string, string | undefined>,
) => Promise<DeviceAnswer | undefined> | DeviceAnswer | undefined

/**
 * Dispatches messages by patterns such as `/config/json[/<name>]`: `<name>` is one non-empty level, `[…]` is optional and `<*>`
 * matches the rest. Slashes count: `/get/` is not `/get`.
 */
export function resources(table: Record<string, Resource>): Extension['receive'] {
  const compiledResources = Object.entries(table).map(([pattern, resource]) => ({
    expression: compilePattern(pattern),
    resource,
  }))
  return (message) => {
    for (const { expression, resource } of compiledResources) {
      const match = expression.exec(message.resourcePath)
      if (match) return resource(message, match.groups ?? {})
    }
    throw NoSuchResource({ extension: message.extension, path: message.resourcePath.slice(0, 100) })
  }
}

const compilePattern = (pattern: string) =>
  new RegExp(
    `^${pattern
      .replaceAll('[', '(?:')
      .replaceAll(']', ')?')
      .replaceAll('<*>', '.*')
      .replaceAll(/<(\w+)>/g, '(?<$1>[^/]+)')}$`,
    's',
  )

/** Default maximum size of a payload, enough for a few named fields. */
const bytesMaxDefault = 64 * 1024

/**
 * Returns a reader for JSON payloads of this shape. A mismatch is 400 with the field; a payload above `bytesMax` (default: 64 KiB) is 413.
 * `empty` is used for a missing payload; without it, a missing payload is an error. For `roundIntegers` see `parseJson`.
 */
export function jsonPayload<S extends TSchema>(
  schema: S,
  options: { empty?: () => Static<S>; roundIntegers?: boolean; bytesMax?: number } = {},
) {
  const { bytesMax = bytesMaxDefault } = options
  const parseOptions = { plainData: true, part: 'payload', roundIntegers: options.roundIntegers === true }
  return (payload: Buffer): Static<S> => {
    if (payload.length > bytesMax) throw BodyTooLarge({ limit: bytesMax })
    const value = parseJson(payload, parseOptions)
    if (value === undefined) {
      if (options.empty) return options.empty()
      throw InvalidRequest({ problem: 'payload: expected JSON' })
    }
    checkShape(schema, value, 'payload')
    return value as Static<S>
  }
}
