/** Uses the console by keys only: a test moves the focus with the keys that a person has, never by itself. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'

type Role = Parameters<Page['getByRole']>[0]

export function keyboardOf(page: Page) {
  const press = (key: string) => page.keyboard.press(key)
  const type = (text: string) => page.keyboard.type(text)

  /** Presses a key until the focus is at the control with this name. */
  async function moveTo(role: Role, name: string | RegExp, key = 'Tab') {
    const wanted = page.getByRole(role, { name }).and(page.locator(':focus'))
    for (let steps = 0; steps < 80; steps++) {
      if ((await wanted.count()) > 0) return
      await press(key)
    }
    assert.fail(`the key ${key} does not reach the ${role} ${name}`)
  }

  /** Moves to a control and presses Enter. */
  async function activate(role: Role, name: string | RegExp, key?: string) {
    await moveTo(role, name, key)
    await press('Enter')
  }

  /** Moves into the table, whose cells the arrow keys reach. */
  async function enterTable() {
    const table = page.getByRole('grid').locator(':focus')
    for (let steps = 0; steps < 40 && (await table.count()) === 0; steps++) await press('Tab')
  }

  /** Opens a page or an endpoint by the palette; its heading then has the focus. */
  async function open(words: string, heading: string | RegExp) {
    await press('Control+k')
    await page.getByRole('dialog').waitFor()
    await type(words)
    await page.getByRole('menuitem', { name: words, exact: true }).first().waitFor()
    await press('Enter')
    await page.getByRole('heading', { level: 1, name: heading }).and(page.locator(':focus')).waitFor()
  }

  /** Opens a menu and chooses an entry. */
  async function choose(menu: string, entry: string) {
    await activate('button', menu)
    await page.getByRole('menu').waitFor()
    await activate('menuitem', entry, 'ArrowDown')
  }

  return { press, type, moveTo, activate, enterTable, open, choose }
}
