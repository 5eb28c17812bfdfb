/** Operates the console by keyboard only: keys move the focus, as for a person without a mouse. No script sets the focus. */
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'

type Role = Parameters<Page['getByRole']>[0]
type Name = string | RegExp

export function keyboardOf(page: Page) {
  const press = (key: string) => page.keyboard.press(key)
  const type = (text: string) => page.keyboard.type(text)

  /** Presses a key until the focus is at this element. */
  async function reach(element: Locator, key = 'Tab') {
    const focusedElement = element.and(page.locator(':focus'))
    for (let steps = 0; steps < 80; steps++) {
      if ((await focusedElement.count()) > 0) return
      await press(key)
    }
    assert.fail(`the key ${key} does not reach ${element}`)
  }

  /** Presses a key until the focus is at the control with this name. */
  const moveTo = (role: Role, name: Name, key?: string) => reach(page.getByRole(role, { name }), key)

  /** Moves to a control and presses Enter. */
  async function activate(role: Role, name: Name, key?: string) {
    await moveTo(role, name, key)
    await press('Enter')
  }

  /** Moves to a text field and replaces its text. */
  async function fill(name: Name, text: string) {
    await moveTo('textbox', name)
    await press('Control+A')
    await type(text)
  }

  /** Moves the focus into the table. From there the arrow keys reach its cells. */
  async function enterTable() {
    const table = page.getByRole('grid').locator(':focus')
    for (let steps = 0; steps < 40 && (await table.count()) === 0; steps++) await press('Tab')
  }

  /** Waits until a page is open. When a page opens, the focus moves to its heading. */
  const arrive = (heading: Name) =>
    page.getByRole('heading', { level: 1, name: heading }).and(page.locator(':focus')).waitFor()

  /** Opens a page or an endpoint with the search palette. */
  async function open(searchText: string, heading: Name) {
    await press('Control+k')
    await page.getByRole('dialog').getByRole('searchbox').and(page.locator(':focus')).waitFor()
    await type(searchText)
    await page.getByRole('menuitem', { name: searchText, exact: true }).first().waitFor()
    await press('Enter')
    await arrive(heading)
  }

  /** Opens a menu and chooses an entry. */
  async function choose(menu: string, entry: string) {
    await activate('button', menu)
    await page.getByRole('menu').waitFor()
    await activate('menuitem', entry, 'ArrowDown')
  }

  /** Chooses an option of a select field. */
  async function pick(field: Name, option: string) {
    await activate('button', field)
    await page.getByRole('listbox').waitFor()
    await activate('option', option, 'ArrowDown')
  }

  return { press, type, reach, moveTo, activate, fill, enterTable, arrive, open, choose, pick }
}
