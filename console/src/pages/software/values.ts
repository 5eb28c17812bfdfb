/** The fields of a software version as a form has them, and back. */
import type { ArgumentsOf, BodyOf } from '../../api/operation-types.ts'
import { parseJson } from '../../parts/json-field.tsx'

export type Software = BodyOf<'software.get'>
export type Strategy = Software['rolloutStrategy']
export type RolloutFilter = Software['filters'][number]
export type SoftwareUpdate = ArgumentsOf<'software.update'>['body']

export interface RolloutValues {
  rolloutStrategy: Strategy
  upgradableFrom: string[]
  filters: RolloutFilter[]
  skipDispatchingToEndpoint: boolean
  /** Whether the rollout halts by itself. */
  failureThreshold: boolean
  percent: number
  minimumAttempts: number
  /** JSON; empty: none. */
  metadata: string
}

export const textOfJson = (value: unknown) => (value === undefined ? '' : JSON.stringify(value, null, 2))

export const valuesOf = (software: Software): RolloutValues => ({
  rolloutStrategy: software.rolloutStrategy,
  upgradableFrom: software.upgradableFrom,
  filters: software.filters,
  skipDispatchingToEndpoint: software.skipDispatchingToEndpoint,
  failureThreshold: software.failureThreshold !== undefined,
  percent: software.failureThreshold?.percent ?? 10,
  minimumAttempts: software.failureThreshold?.minimumAttempts ?? 10,
  metadata: textOfJson(software.metadata),
})

/** A new version is not offered until its rollout is started. */
export const newValues = (newest: string | undefined): RolloutValues => ({
  rolloutStrategy: 'suspended',
  upgradableFrom: newest === undefined ? [] : [newest],
  filters: [],
  skipDispatchingToEndpoint: true,
  failureThreshold: true,
  percent: 10,
  minimumAttempts: 10,
  metadata: '',
})

/** Returns the value of a text that may be empty; `problem` says why it is not JSON. */
export function optionalJson(text: string): { value: unknown; problem: string | undefined } {
  return text.trim() === '' ? { value: undefined, problem: undefined } : parseJson(text)
}

/** An update replaces all fields, so all of them are sent. */
export function bodyOf(values: RolloutValues): SoftwareUpdate {
  const { rolloutStrategy, upgradableFrom, filters, skipDispatchingToEndpoint, percent, minimumAttempts } = values
  const metadata = optionalJson(values.metadata).value
  return {
    ...{ rolloutStrategy, upgradableFrom, filters, skipDispatchingToEndpoint },
    ...(values.failureThreshold && { failureThreshold: { percent, minimumAttempts } }),
    ...(metadata !== undefined && { metadata }),
  }
}
