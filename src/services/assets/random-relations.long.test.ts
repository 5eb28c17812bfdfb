/** Makes random changes of relations, on two nodes and through two services, and compares the result with a simple model. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { am, type EntityName, entity, openAssets, relation } from '../../../test/harness/assets.ts'
import { freshDatabase } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { seededInteger } from '../../../test/harness/seeded-random.ts'

const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31)
const options = { connection: await freshDatabase(), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
const nodes = [await openAssets(options), await openAssets(options)] as const
const [{ expect, anAsset, anEndpointEntity, relationsOf, sessionsOf, treeOf, anApplication, anEndpoint }] = nodes

type Type = 'CONTAINS' | 'MANAGES'
interface Edge {
  type: Type
  from: EntityName
  to: EntityName
}

const keyOf = ({ type, from, to }: Edge) => `${type} ${from} ${to}`
const isOfRegister = ({ type, from, to }: Edge) =>
  type === 'CONTAINS' && from.startsWith('ENDPOINT') && to.startsWith('ENDPOINT')

/** The model consists of the relations that exist, and counts how often each relation was created. */
function aModel() {
  const edges = new Map<string, Edge>()
  const started = new Map<string, number>()
  const reaches = (from: EntityName, to: EntityName): boolean =>
    from === to ||
    [...edges.values()].some((edge) => edge.type === 'CONTAINS' && edge.from === from && reaches(edge.to, to))
  return {
    edges,
    started,
    isAllowed: ({ type, from, to }: Edge) => from !== to && (type === 'MANAGES' || !reaches(to, from)),
    link(edge: Edge) {
      if (edges.has(keyOf(edge))) return
      edges.set(keyOf(edge), edge)
      started.set(keyOf(edge), (started.get(keyOf(edge)) ?? 0) + 1)
    },
    unlink: (edge: Edge) => void edges.delete(keyOf(edge)),
    end(name: EntityName) {
      for (const [key, { from, to }] of edges) if (from === name || to === name) edges.delete(key)
    },
    relationsOf: (name: EntityName) =>
      [...edges.values()]
        .flatMap(({ type, from, to }) => [
          ...(from === name ? [`${type} ${to}`] : []),
          ...(to === name ? [`${type === 'CONTAINS' ? 'IS_CONTAINED_BY' : 'IS_MANAGED_BY'} ${from}`] : []),
        ])
        .toSorted(),
    /** Returns all paths downwards from an entity, as texts. A path ends at an entity that is already on it. */
    pathsFrom(name: EntityName, above: EntityName[] = []): string[] {
      if (above.includes(name)) return [name]
      const below = [...edges.values()].filter(({ from }) => from === name)
      return [
        name,
        ...below.flatMap(({ type, to }) =>
          this.pathsFrom(to, [...above, name]).map((path) => `${name} ${type} ${path}`),
        ),
      ]
    },
  }
}

interface TreeNode {
  entityType: string
  entityId: string
  relationType: string
  children: TreeNode[]
}

const pathsOf = ({ entityType, entityId, children }: TreeNode): string[] => {
  const name = `${entityType} ${entityId}`
  return [name, ...children.flatMap((child) => pathsOf(child).map((path) => `${name} ${child.relationType} ${path}`))]
}

test(`relations, sessions and trees equal the model after each of 150 random changes (seed ${seed})`, async () => {
  const below = seededInteger(seed)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
  const model = aModel()
  const { version } = await anApplication()
  const names: EntityName[] = [await anAsset(), await anAsset(), await anAsset(), await anAsset()]
  for (let n = 0; n < 4; n++) names.push(`ENDPOINT ${await anEndpoint(version)}`)

  /** Links or unlinks one to three relations in one request, which changes all relations or no relation. */
  async function change(word: 'link' | 'unlink') {
    const edges = Array.from(
      { length: 1 + below(3) },
      (): Edge => ({
        type: below(3) === 0 ? 'MANAGES' : 'CONTAINS',
        from: pick(names),
        to: pick(names),
      }),
    )
    const before = [...model.edges.values()]
    const startedBefore = new Map(model.started)
    let isAllowed = true
    for (const edge of edges)
      if (word === 'unlink') model.unlink(edge)
      else if (model.isAllowed(edge)) model.link(edge)
      else isAllowed = false
    if (!isAllowed) {
      model.edges.clear()
      for (const edge of before) model.edges.set(keyOf(edge), edge)
      model.started.clear()
      for (const [key, count] of startedBefore) model.started.set(key, count)
    }
    const body = edges.map(({ type, from, to }) => relation(type, from, to))
    await expect(isAllowed ? 204 : 400, `POST ${am}/relations/${word}`, body, pick(nodes).admin)
  }

  /** Links two endpoints through the register. */
  async function changeInRegister() {
    const endpoints = names.filter((name) => name.startsWith('ENDPOINT'))
    const edge: Edge = { type: 'CONTAINS', from: pick(endpoints), to: pick(endpoints) }
    const exists = model.edges.has(keyOf(edge))
    const body = [{ type: 'contains', from: entity(edge.from).entityId, to: entity(edge.to).entityId }]
    const { admin } = pick(nodes)
    if (exists && below(2) === 0) {
      await expect(204, 'PUT /epr/api/v1/relations/unlink', body, admin)
      model.unlink(edge)
    } else {
      const isAllowed = model.isAllowed(edge) && !exists
      await expect(isAllowed ? 204 : 400, 'PUT /epr/api/v1/relations/link', body, admin)
      if (isAllowed) model.link(edge)
    }
  }

  async function replaceEntity() {
    const index = below(names.length)
    const name = names[index]!
    const { entityId } = entity(name)
    const path = name.startsWith('ASSET') ? `${am}/assets/${entityId}` : `/epr/api/v1/endpoints/${entityId}`
    await expect(204, `DELETE ${path}`, undefined, pick(nodes).admin)
    model.end(name)
    names[index] = name.startsWith('ASSET') ? await anAsset() : `ENDPOINT ${await anEndpoint(version)}`
  }

  for (let step = 0; step < 150; step++) {
    const dice = below(20)
    if (dice < 9) await change('link')
    else if (dice < 13) await change('unlink')
    else if (dice < 18) await changeInRegister()
    else await replaceEntity()
    const name = pick(names)
    const { admin } = pick(nodes)
    assert.deepEqual(await relationsOf(name, admin), model.relationsOf(name), `step ${step}`)
    assert.deepEqual(pathsOf(await treeOf(name, admin)).toSorted(), model.pathsFrom(name).toSorted(), `step ${step}`)
  }
  await eventually(async () => {
    for (const name of names) {
      assert.deepEqual(await relationsOf(name), model.relationsOf(name))
      const sessions: { type: Type; from: object; to: object; endedAt?: string }[] = await sessionsOf(name)
      const expected = [...model.started].filter(([key]) => key.includes(name))
      assert.equal(
        sessions.length,
        expected.reduce((sum, [, count]) => sum + count, 0),
      )
      assert.equal(sessions.filter(({ endedAt }) => !endedAt).length, model.relationsOf(name).length)
    }
  })
})

test(`concurrent requests at two nodes and through two services never form a cycle (seed ${seed})`, async () => {
  const below = seededInteger(seed + 1)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
  for (let round = 0; round < 12; round++) {
    const names: EntityName[] = [
      await anAsset(),
      await anAsset(),
      await anEndpointEntity(),
      await anEndpointEntity(),
      await anEndpointEntity(),
    ]
    const edges = Array.from({ length: 24 }, (): Edge => {
      const [from, to] = [pick(names), pick(names)]
      return { type: 'CONTAINS', from, to }
    }).filter(({ from, to }) => from !== to)
    const statuses = await Promise.all(
      edges.map(async (edge, index) => {
        const { admin } = nodes[index % 2]!
        if (!isOfRegister(edge) || below(2) === 0)
          return (await admin(`POST ${am}/relations/link`, relation('CONTAINS', edge.from, edge.to))).status
        const body = [{ type: 'contains', from: entity(edge.from).entityId, to: entity(edge.to).entityId }]
        return (await admin('PUT /epr/api/v1/relations/link', body)).status
      }),
    )
    for (const status of statuses) assert.ok([204, 400].includes(status), String(status))
    const stored = new Map<EntityName, EntityName[]>()
    for (const name of names) {
      const seen = await relationsOf(name, nodes[round % 2]!.admin)
      const children = seen.filter((text) => text.startsWith('CONTAINS ')).map((text) => text.slice('CONTAINS '.length))
      stored.set(name, children as EntityName[])
    }
    for (const [index, { from, to }] of edges.entries())
      if (statuses[index] === 204) assert.ok(stored.get(from)!.includes(to), `${from} ${to} was accepted`)
    for (const name of names)
      for (const child of stored.get(name)!)
        assert.ok((await relationsOf(child)).includes(`IS_CONTAINED_BY ${name}`), 'both ends of a relation must agree')
    const isOnCycle = (name: EntityName, above: EntityName[]): boolean =>
      above.includes(name) || stored.get(name)!.some((child) => isOnCycle(child, [...above, name]))
    assert.ok(!names.some((name) => isOnCycle(name, [])), `there is a cycle after round ${round}`)
  }
})
