/** Addresses that are damaged or that name nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openConsole } from '../harness/console.ts'

test('an address with a broken escape shows the console with a sentence and a link to the overview', async () => {
  const { open, address, problems, browser } = await openConsole()
  const page = await open('/')
  for (const path of ['/endpoints/%E0%A4%A', '/endpoints/%', '/%E0/x']) {
    await page.goto(address(path))
    await page.getByRole('heading', { name: 'There is no such page', level: 1 }).waitFor()
    await page.getByText('Nothing is at this address').waitFor()
  }
  await page.getByRole('main').getByRole('link').click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()

  const requests: string[] = []
  browser.on('request', (request) => void requests.push(request.url()))
  for (const path of ['/lorawan/applications/zzz', '/lorawan/accounts/1e3', '/lorawan/applications/zzz/edit']) {
    await page.goto(address(path))
    await page.getByRole('heading', { name: 'There is no such page', level: 1 }).waitFor()
  }
  assert.deepEqual(
    requests.filter((url) => url.includes('NaN')),
    [],
  )
  assert.deepEqual(problems, [])
})
