import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printList } from './print.ts'

/** Returns the table of one item on a terminal with this number of columns. */
async function tableAt(columns: number): Promise<string> {
  const { stdout } = process
  const kept = { columns: stdout.columns, write: stdout.write }
  let text = ''
  const write = (more: string) => {
    text += more
    return true
  }
  Object.assign(stdout, { columns, write })
  try {
    const items = (async function* () {
      yield { name: 'meadow', city: 'Lviv' }
    })()
    await printList(items, { output: 'table', columns: undefined, known: ['name', 'city'], idsOf: () => [] })
  } finally {
    Object.assign(stdout, kept)
  }
  return text
}

test('a table has the columns that fit into the terminal, and all columns if the width of the terminal is not known', async () => {
  assert.equal(await tableAt(8), 'NAME\nmeadow\n')
  assert.equal(await tableAt(0), 'NAME    CITY\nmeadow  Lviv\n')
})
