/** Provides the values of secrets to scripts, and masks these values in texts that people read. */

import { createCache } from '../../../../kernel/cache.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import { createPace } from '../../../../kernel/pace.ts'
import { type Holder, holds, onResource } from '../../../../kernel/permissions.ts'
import { DefinitionsChanged } from '../../events.ts'
import { findSealedSecrets } from '../store/secrets.ts'
import { resourceName } from './library.ts'
import { secretKind } from './secrets.ts'

export interface SecretValues {
  /** Returns the value of a secret. Returns undefined if there is no such secret, or if `reader` is given and lacks secret:read on it. */
  secretValue(tenantId: string, name: string, reader?: Holder): Promise<string | undefined>
  /** Replaces the values of all the tenant's secrets in a text. */
  maskSecrets(tenantId: string, text: string): Promise<string>
  /** Returns a function that replaces the values of all the tenant's secrets. It is for masking several texts, one after the other. */
  maskOf(tenantId: string): Promise<Mask>
}

export type Mask = (text: string) => Promise<string>

export const mask = '***'

interface TenantSecrets {
  byName: ReadonlyMap<string, { id: string; value: string }>
  /** The texts to replace, the longest first. */
  forms: string[]
}

const tenantsMax = 1000

export function createSecretValues({ db, bus, secrets }: Pick<Kit, 'db' | 'bus' | 'secrets'>): SecretValues {
  const cache = createCache<TenantSecrets>({ max: tenantsMax, bus })
  cache.dropOn(DefinitionsChanged, ({ tenantId }) => tenantId)
  const read = (tenantId: string) =>
    cache.read(tenantId, async () => {
      const rows = await findSealedSecrets(db.sql, tenantId)
      const opened = rows.map(({ id, name, value }) => [name, { id, value: secrets.open(value) }] as const)
      return { byName: new Map(opened), forms: formsOf(opened.map(([, { value }]) => value)) }
    })
  return {
    async secretValue(tenantId, name, reader) {
      const secret = (await read(tenantId))?.byName.get(name)
      if (!secret) return undefined
      const resource = onResource(tenantId, resourceName(secretKind, secret.id))
      return reader && !holds(reader, 'secret:read', resource) ? undefined : secret.value
    },
    maskSecrets: async (tenantId, text) => await maskWith((await read(tenantId))!.forms)(text),
    maskOf: async (tenantId) => maskWith((await read(tenantId))!.forms),
  }
}

/**
 * Returns the texts by which the values are found: as they are, inside JSON, and inside URLs. Longer texts come first, because they may
 * contain shorter texts.
 */
function formsOf(values: string[]): string[] {
  const forms = values.flatMap((value) => [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
  ])
  return [...new Set(forms)].filter((form) => form !== '').sort((one, other) => other.length - one.length)
}

/** Returns a function that masks texts. Masking a thousand secrets in a long text takes seconds, so the function pauses for other work. */
function maskWith(forms: string[]): Mask {
  if (forms.length === 0) return async (text) => text
  const pace = createPace()
  return async (text) => {
    let masked = text
    for (const form of forms) {
      masked = masked.replaceAll(form, mask)
      const pause = pace()
      if (pause) await pause
    }
    return masked
  }
}

export const createMask = (values: string[]): Mask => maskWith(formsOf(values))
