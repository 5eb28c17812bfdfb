/** A fleet operator finds an asset, changes its definition, and deletes it with its relations. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccessibility, checkNarrow, openConsole, settled, type TestConsole } from '../harness/console.ts'

let console_: TestConsole
let page: Page
let id: string

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  const definitionJsonSchema = JSON.stringify({ type: 'object', properties: { floors: { type: 'integer' } } })
  const type = (await api('POST /am/api/v1/asset-types', { displayName: 'Building', definitionJsonSchema })).body
  const create = async (definition: object) =>
    (await api('POST /am/api/v1/assets', { assetTypeId: type.id, definition: JSON.stringify(definition) })).body.id
  id = await create({ name: 'Tower <img src=x onerror=alert(1)>', floors: 9 })
  const room = await create({ name: 'Room 1' })
  const entity = (entityId: string) => ({ entityType: 'ASSET', entityId })
  await api('POST /am/api/v1/relations/link', { type: 'CONTAINS', from: entity(id), to: entity(room) })
  page = await console_.open('/')
})

test('an asset is found and its definition is changed; one that breaks the schema is rejected', async () => {
  const definition = async () => JSON.parse((await console_.api(`GET /am/api/v1/assets/${id}`)).body.definition)
  for (const path of ['/assets', '/assets?tab=types']) {
    await page.goto(console_.address(path))
    await settled(page)
    await page.getByRole('link', { name: path === '/assets' ? /^Tower <img/ : 'Building' }).waitFor()
    await checkAccessibility(page, path)
    await checkNarrow(page, path)
  }
  await page.goto(console_.address('/assets?q=Tower'))
  await settled(page)
  await page.getByRole('link', { name: /^Tower <img/ }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: /^Tower <img/ }).waitFor()
  await page.getByText('contains', { exact: true }).waitFor()
  await checkAccessibility(page, 'asset')
  await checkNarrow(page, 'asset')
  await page.getByRole('button', { name: 'Edit' }).click()
  const editor = page.getByRole('textbox', { name: /^Definition/ })
  const write = async (text: string) => {
    await editor.focus()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText(text)
    await page.getByRole('button', { name: 'Save' }).click()
  }
  console_.expect(/400/)
  await write('{"name": "Tower", "floors": "many"}')
  await page.getByRole('alert').first().waitFor()
  assert.equal((await definition()).floors, 9)
  await write('{"name": "Tower", "floors": 10}')
  await page.getByRole('heading', { level: 1, name: 'Tower', exact: true }).waitFor()
  assert.deepEqual(await definition(), { name: 'Tower', floors: 10 })
})

test('deletion counts the relations', async () => {
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByText('1 relations, which end').waitFor()
  // The page reads the asset once more before it leaves.
  console_.expect(/404/)
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('link', { name: 'Room 1' }).waitFor()
  assert.equal((await console_.api(`GET /am/api/v1/assets/${id}`)).status, 404)
  assert.deepEqual(console_.problems, [])
})
