/**
 * State of a page in its address, so that a shared link opens the same view.
 *
 *     const view = useAddressState({ q: text(), sort: oneOf(['id', '-id'], 'id'), page: wholeNumber(0) })
 *     view.set({ page: view.values.page + 1 })
 */
import { useCallback, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'

/** Reads and writes a value in the address. `read` returns undefined if the value is invalid. */
export interface Codec<T> {
  default: T
  read(text: string): T | undefined
  write(value: T): string
}

export const text = (byDefault = ''): Codec<string> => ({ default: byDefault, read: (value) => value, write: String })

export const oneOf = <const T extends string>(choices: readonly T[], byDefault: NoInfer<T>): Codec<T> => ({
  default: byDefault,
  read: (value) => choices.find((choice) => choice === value),
  write: String,
})

export const wholeNumber = (byDefault: number, max = Number.MAX_SAFE_INTEGER): Codec<number> => ({
  default: byDefault,
  read: (value) => (/^\d{1,15}$/.test(value) && Number(value) <= max ? Number(value) : undefined),
  write: String,
})

export const manyOf = (byDefault: string[] = []): Codec<string[]> => ({
  default: byDefault,
  read: (value) => (value === '' ? [] : value.split(',').map(decodeURIComponent)),
  write: (values) => values.map(encodeURIComponent).join(','),
})

type AnyCodec = { default: unknown; read(text: string): unknown; write(value: never): string }
type Values<C> = { [K in keyof C]: C[K] extends Codec<infer T> ? T : never }

export interface AddressState<V> {
  values: V
  /** Parts of the address that no codec accepts, such as `sort=colour`. */
  invalid: string[]
  /** True if at least one value differs from its default. */
  isChanged: boolean
  set(values: Partial<V>): void
  reset(): void
}

export function useAddressState<C extends Record<string, AnyCodec>>(codecs: C): AddressState<Values<C>> {
  const search = useSearch()
  const [path, navigate] = useLocation()
  // The codecs are created anew at each render, but never change.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const read = useMemo(() => readAddress(codecs, search), [search])
  const set = useCallback(
    (changed: Partial<Values<C>>) => {
      const query = new URLSearchParams(location.search)
      for (const [name, value] of Object.entries(changed)) {
        const codec = codecs[name] as unknown as Codec<unknown>
        const written = value === undefined ? '' : codec.write(value)
        if (value === undefined || written === codec.write(codec.default)) query.delete(name)
        else query.set(name, written)
      }
      const queryText = query.toString()
      navigate(queryText === '' ? path : `${path}?${queryText}`, { replace: true })
    },
    [path, navigate, codecs],
  )
  return { ...read, set, reset: () => navigate(path, { replace: true }) }
}

function readAddress<C extends Record<string, AnyCodec>>(codecs: C, search: string) {
  const query = new URLSearchParams(search)
  const values: Record<string, unknown> = {}
  const invalid: string[] = []
  let isChanged = false
  for (const [name, codec] of Object.entries(codecs) as unknown as [string, Codec<unknown>][]) {
    const text = query.get(name)
    const read = text === null ? undefined : readSafely(codec, text)
    if (text !== null && read === undefined) invalid.push(`${name}=${text}`)
    values[name] = read ?? codec.default
    if (read !== undefined && codec.write(read) !== codec.write(codec.default)) isChanged = true
  }
  for (const name of new Set(query.keys())) if (!Object.hasOwn(codecs, name)) invalid.push(name)
  return { values: values as Values<C>, invalid, isChanged }
}

function readSafely<T>(codec: Codec<T>, text: string): T | undefined {
  try {
    return codec.read(text)
  } catch {
    return undefined
  }
}
