/** What an extension is made of: a table of its resources, and payloads that are checked before anybody uses them. */
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

/** `parts`: what stands in the path for each `<name>` of the pattern; an optional one may be missing. */
export type Resource = (
  message: DeviceMessage,
  parts: Record<string, string | undefined>,
) => Promise<DeviceAnswer | undefined> | DeviceAnswer | undefined

/**
 * By pattern: `/config/json[/<name>]`, where `<name>` is one level that is not empty, `[…]` may be missing and `<*>` is all
 * the rest. Slashes count: `/get/` is not `/get`.
 */
export function resources(table: Record<string, Resource>): Extension['receive'] {
  const rows = Object.entries(table).map(([pattern, resource]) => ({ expression: compiled(pattern), resource }))
  return (message) => {
    for (const { expression, resource } of rows) {
      const match = expression.exec(message.resourcePath)
      if (match) return resource(message, match.groups ?? {})
    }
    throw NoSuchResource({ extension: message.extension, path: message.resourcePath.slice(0, 100) })
  }
}

const compiled = (pattern: string) =>
  new RegExp(
    `^${pattern
      .replaceAll('[', '(?:')
      .replaceAll(']', ')?')
      .replaceAll('<*>', '.*')
      .replaceAll(/<(\w+)>/g, '(?<$1>[^/]+)')}$`,
    's',
  )

/** Of payloads that hold a few named fields. */
const bytesMaxDefault = 64 * 1024

/**
 * Reads JSON of this shape; what it does not fit is a 400 that names the field, and more than `bytesMax` (64 KiB) a 413. `empty`: what
 * no payload at all means; without it, there has to be one. `nearest`: see `parseJson`.
 */
export function jsonPayload<S extends TSchema>(
  schema: S,
  options: { empty?: () => Static<S>; nearest?: boolean; bytesMax?: number } = {},
) {
  const { bytesMax = bytesMaxDefault } = options
  const reading = { plainData: true, part: 'payload', nearest: options.nearest === true }
  return (payload: Buffer): Static<S> => {
    if (payload.length > bytesMax) throw BodyTooLarge({ limit: bytesMax })
    const value = parseJson(payload, reading)
    if (value === undefined) {
      if (options.empty) return options.empty()
      throw InvalidRequest({ problem: 'payload: expected JSON' })
    }
    checkShape(schema, value, 'payload')
    return value as Static<S>
  }
}
