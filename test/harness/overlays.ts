/** Opens every menu and dialog of a page of the console by keyboard, checks it with axe, and closes it with Escape. */
import assert from 'node:assert/strict'
import type { Page, Route } from 'playwright-core'
import { checkAccessibility } from './console.ts'

const overlays = '.overlay, .popover'

/** Matches the names of buttons that never open a menu or dialog. The test presses every button that does not match. */
const others = new RegExp(
  `^(?:${[
    'Copy|Copied|Undo|Redo|Refresh|Download|Cancel|Zoom|Clear|Close|Reset|reset|Save|Edit|Disable|Earlier|Later|Full screen',
    'Show (?:as a|the)|Settings of|Add a (?:condition|variable)|Remove (?:the|this)|Move |Upload a file|Choose a file|Another name',
    'Changes of|What version|Value$|Text$|Table of endpoints|Map$|Chart$|Command$|Alerts$|Delete command|\\d+ \\w+ ago',
  ].join('|')})`,
)

/**
 * Marks the next button that may open something and is not in `done`, and returns its name. The script is a text, because the tests are
 * compiled without the types of browsers.
 */
const markNext = (done: string[]) => `(() => {
  document.querySelector('[data-opener]')?.removeAttribute('data-opener')
  const seen = {}
  for (const button of document.querySelectorAll('main button:not([type=submit], [aria-pressed], [disabled], [tabindex="-1"])')) {
    if (!button.checkVisibility() || button.closest('[role=columnheader], .number')) continue
    const text = (button.getAttribute('aria-label') ?? button.innerText).trim()
    if (${others}.test(text)) continue
    seen[text] = (seen[text] ?? 0) + 1
    const name = text + (seen[text] > 1 ? ' (' + seen[text] + ')' : '')
    if (${JSON.stringify(done)}.includes(name)) continue
    button.setAttribute('data-opener', '')
    return name
  }
})()`

/**
 * Returns whether an element appears within some animation frames. A frame takes longer on a slow machine, so the function then waits
 * longer.
 */
const appears = (page: Page, selector: string) =>
  page.evaluate<boolean>(`new Promise((resolve) => {
    let frames = 0
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)})) resolve(true)
      else if (++frames > 20) resolve(false)
      else requestAnimationFrame(look)
    }
    look()
  })`)

interface Visit {
  page: Page
  name: string
  /** Opens the page again. */
  openAgain(): Promise<void>
}

/** Checks the menu or dialog that has opened, closes it, and checks that the focus returns to the button that opened it. */
async function checkAndClose({ page, name }: Visit, opener: string) {
  const shown = page.locator(overlays).last()
  await shown.waitFor()
  await shown.locator('.skeleton').first().waitFor({ state: 'detached' })
  await checkAccessibility(page, `${name}: ${opener}`, overlays)
  const items = await page.getByRole('menuitem').allInnerTexts()
  await page.keyboard.press('Escape')
  await page.locator(overlays).first().waitFor({ state: 'detached' })
  const isBack = await appears(page, '[data-opener]:focus')
  const active = await page.evaluate(`document.activeElement.outerHTML.slice(0, 300)`)
  assert.ok(isBack, `${name}: after Escape the focus is not at "${opener}" but at ${active}`)
  return items
}

/** Chooses an entry of a menu. If a dialog opens, it is checked too. */
async function checkEntry(visit: Visit, done: string[], opener: string, entry: string) {
  const { page } = visit
  await page.locator('[data-opener]').press('Enter')
  await page.getByRole('menuitem', { name: entry, exact: true }).press('Enter')
  if (await appears(page, '.overlay')) return void (await checkAndClose(visit, `${opener}, ${entry}`))
  await visit.openAgain()
  await page.evaluate(markNext(done.filter((name) => name !== opener)))
}

/** Responds to every write with 409, because a button that writes without a dialog must not change the data of the test. */
async function refuseChanges(route: Route) {
  if (route.request().method() === 'GET') return await route.fallback()
  await route.fulfill({ status: 409, json: { message: 'Refused by the test.' } })
}

/**
 * Key: route. Value: names of buttons and menus that were already checked. The buttons above the tabs are the same for all tabs of a page.
 */
const checked = new Map<string, { openers: string[]; menus: Set<string> }>()

export async function checkOverlays(visit: Visit) {
  const { page, openAgain: again, name } = visit
  const route = name.split('?')[0]!
  const { openers, menus } = checked.get(route) ?? { openers: [], menus: new Set() }
  checked.set(route, { openers, menus })
  const changes = /\/api\/v\d/
  await page.route(changes, refuseChanges)
  for (;;) {
    const opener = await page.evaluate<string | undefined>(markNext(openers))
    if (opener === undefined) break
    openers.push(opener)
    await page.locator('[data-opener]').press('Enter')
    if (!(await appears(page, overlays))) {
      await again()
      continue
    }
    const entries = await checkAndClose(visit, opener)
    if (menus.has(entries.join())) continue
    menus.add(entries.join())
    for (const entry of entries) await checkEntry(visit, openers, opener, entry)
  }
  await page.unroute(changes, refuseChanges)
}
