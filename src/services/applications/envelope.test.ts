import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEnvelope, type StoredEntry, writeWholeEnvelope } from './envelope.ts'

const row = (instance: string, applicationName: string, versionName: string | null, config: object): StoredEntry => ({
  instance,
  applicationName,
  versionName,
  config: config as Record<string, unknown>,
})

async function written(rows: StoredEntry[]) {
  const pieces: string[] = []
  for await (const piece of writeWholeEnvelope(
    (async function* () {
      yield* rows
    })(),
  ))
    pieces.push(piece)
  return JSON.parse(pieces.join(''))
}

test('an envelope that is written and read again is unchanged, for any combination of levels', async () => {
  const sets: StoredEntry[][] = [
    [row('a', 'x', null, { k: 1 })],
    [row('a', 'x', 'x-1', { k: 1 })],
    [row('a', 'x', null, { k: 1 }), row('a', 'x', 'x-1', {}), row('a', 'x', 'x-2', { k: [2] })],
    [row('a', 'x', 'x-1', {}), row('a', 'y', null, {}), row('b', 'x', 'x-1', { k: 1 }), row('b', 'y', 'y-1', {})],
    [row('a', 'x', null, {}), row('b', 'x', null, {}), row('b', 'y', null, { k: 1 }), row('b', 'y', 'y-1', {})],
  ]
  for (const rows of sets) {
    const read = readEnvelope(await written(rows))
    assert.deepEqual(
      read.map(({ instance, applicationName, versionName, config }) =>
        row(instance, applicationName, versionName ?? null, config as object),
      ),
      rows,
    )
  }
  assert.deepEqual(await written([]), {})
})

test('an application whose own configuration is empty is written as one object with the configurations of its versions', async () => {
  const rows = [row('a', 'x', null, {}), row('a', 'x', 'x-1', { k: 1 })]
  assert.deepEqual(await written(rows), { a: { platform: { applications: { x: { versions: { 'x-1': { k: 1 } } } } } } })
})
