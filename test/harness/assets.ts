/** Fixture for tests of assets: the service with the register, and builders of types, assets, endpoints and relations. */
import assert from 'node:assert/strict'
import assets from '../../src/services/assets/index.ts'
import { aTenantAdmin } from './builders.ts'
import { openRegister } from './register.ts'
import type { Ask, TestPlatformOptions } from './test-platform.ts'

export const am = '/am/api/v1'

export type EntityName = `ASSET ${string}` | `ENDPOINT ${string}`

/** Returns the fields that name an entity in a request: `entity('ASSET 1')`. */
export function entity(name: EntityName) {
  const [entityType, entityId] = name.split(' ')
  return { entityType: entityType!, entityId: entityId! }
}

export const relation = (type: string, from: EntityName, to: EntityName) => ({
  type,
  from: entity(from),
  to: entity(to),
})

export const anySchema = '{"type":"object"}'

export async function openAssets(options: Partial<TestPlatformOptions> = {}) {
  const opened = await openRegister({ ...options, services: [assets, ...(options.services ?? [])] })
  const { admin, waypost, anApplication, anEndpoint } = opened
  const other = waypost.as(aTenantAdmin('other'))
  const versions = new Map<Ask, string>()

  const expect = async (status: number, operation: string, body?: unknown, ask: Ask = admin) => {
    const answer = await ask(operation, body)
    assert.equal(answer.status, status, `${operation} ${JSON.stringify(body)}: ${answer.text}`)
    return answer
  }

  async function aType(body: Record<string, unknown> = {}, ask: Ask = admin): Promise<string> {
    const input = { displayName: 'Thing', definitionJsonSchema: anySchema, ...body }
    return (await expect(201, `POST ${am}/asset-types`, input, ask)).body.id
  }

  let defaultType: Promise<string> | undefined
  async function anAsset(
    {
      definition = {},
      assetTypeId,
      ...more
    }: { definition?: unknown; assetTypeId?: string; uiJsonSchema?: string } = {},
    ask: Ask = admin,
  ): Promise<EntityName> {
    defaultType ??= aType()
    const input = { assetTypeId: assetTypeId ?? (await defaultType), definition: JSON.stringify(definition), ...more }
    return `ASSET ${(await expect(201, `POST ${am}/assets`, input, ask)).body.id}`
  }

  return {
    ...opened,
    other,
    expect,
    aType,
    anAsset,
    /** Registers an endpoint. All endpoints of one caller belong to the same application. */
    async anEndpointEntity(metadata: object = {}, ask: Ask = admin): Promise<EntityName> {
      const version = versions.get(ask) ?? (await anApplication(ask)).version
      versions.set(ask, version)
      return `ENDPOINT ${await anEndpoint(version, { metadata }, ask)}`
    },
    link: (...relations: ReturnType<typeof relation>[]) => expect(204, `POST ${am}/relations/link`, relations),
    unlink: (...relations: ReturnType<typeof relation>[]) => expect(204, `POST ${am}/relations/unlink`, relations),
    /** Returns the relations of an entity as texts: `CONTAINS ASSET 1`. */
    async relationsOf(name: EntityName, ask: Ask = admin): Promise<string[]> {
      const { entityId } = entity(name)
      const { body } = await expect(200, `GET /am/api/v2/relations?entityIds=${entityId}`, undefined, ask)
      return body
        .map((found: Record<string, string>) => `${found.relationType} ${found.entityType} ${found.entityId}`)
        .toSorted()
    },
    async treeOf(name: EntityName, ask: Ask = admin) {
      const { entityType, entityId } = entity(name)
      const url = `${am}/relation-trees?entityType=${entityType}&entityId=${entityId}`
      return (await expect(200, `GET ${url}`, undefined, ask)).body
    },
    async sessionsOf(name: EntityName, ask: Ask = admin) {
      const { entityId } = entity(name)
      return (await expect(200, `GET ${am}/relation-sessions?entityId=${entityId}`, undefined, ask)).body
    },
  }
}
