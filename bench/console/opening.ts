/**
 * Measures how long pages of the console take to open, compared with a bare page that sends the same requests to the API and prints the
 * responses.
 */
import type { Page } from 'playwright-core'
import { settled } from '../../test/harness/console.ts'
import { type Figure, median } from '../report.ts'
import { type BenchConsole, endpoints } from './open.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 9)
const warmUps = 2
/** Factor by which the processor is slowed down for the measurement of the first rows. */
const cpuSlowdown = 4

export async function opening(bench: BenchConsole): Promise<Figure[]> {
  const overview = await compare(bench, () => openConsole(bench, '/', fillInSignIn))
  const list = await compare(bench, () => openConsole(bench, '/endpoints'))
  const afterAnswer = await firstRows(bench)
  return [
    ...figuresOf('From the sign-in page to the overview', overview),
    ...figuresOf(`List of ${endpoints} endpoints`, list),
    {
      name: `First rows after the answer, processor ${cpuSlowdown} times slower`,
      value: afterAnswer,
      unit: 'ms',
      limit: { max: 200 },
    },
  ]
}

interface Compared {
  console: number
  bare: number
  ratio: number
}

const figuresOf = (name: string, { console, bare, ratio }: Compared): Figure[] => [
  { name: `${name}: the console`, value: console, unit: 'ms' },
  { name: `${name}: a bare page with the same requests`, value: bare, unit: 'ms' },
  { name: `${name}: against the bare page`, value: ratio, unit: 'times', limit: { max: 3 } },
]

/** Opens the console and the bare page alternately, because the load of the machine changes over time. */
async function compare(bench: BenchConsole, open: () => Promise<Opened>): Promise<Compared> {
  const times: { console: number; bare: number }[] = []
  for (let round = -warmUps; round < rounds; round++) {
    const { ms, requests, signInMs } = await open()
    const bare = signInMs + (await openBare(bench, requests))
    if (round >= 0) times.push({ console: ms, bare })
  }
  return {
    console: median(times.map(({ console }) => console)),
    bare: median(times.map(({ bare }) => bare)),
    ratio: median(times.map(({ console, bare }) => console / bare)),
  }
}

interface ApiRequest {
  method: string
  url: string
  body: string | null
}

/** Returns whether an address is of the API. Live streams are excluded, because they do not end, and the bare page waits for each end. */
const isOfApi = (url: string) => /\/api\/v\d/.test(url) && !/\/live\/api\//.test(url)

interface Opened {
  ms: number
  /**
   * Milliseconds that the form of the identity provider took. They are added to the time of the bare page, which would also need the form.
   */
  signInMs: number
  requests: ApiRequest[]
}

/** Opens a page of the console and measures the time. `prepare` runs before and returns the function that begins the measurement. */
async function openConsole(
  bench: BenchConsole,
  path: string,
  prepare?: (bench: BenchConsole, page: Page) => Promise<() => Promise<void>>,
): Promise<Opened> {
  const { browser, address } = bench
  const page = await browser.newPage()
  const submit = await prepare?.(bench, page)
  const requests: ApiRequest[] = []
  page.on('request', (request) => {
    const url = request.url()
    if (isOfApi(url)) requests.push({ method: request.method(), url, body: request.postData() })
  })
  const began = performance.now()
  await (submit ? submit() : page.goto(address(path), { waitUntil: 'commit' }))
  const signInMs = submit ? performance.now() - began : 0
  await settled(page)
  await painted(page)
  const ms = performance.now() - began
  await page.close()
  return { ms, signInMs, requests }
}

/** Opens the sign-in page and fills it in. Returns a function that submits the form, and that resolves when the console begins to load. */
async function fillInSignIn({ browser, address, platform }: BenchConsole, page: Page) {
  const { username, password = '' } = platform.bootstrap.default.admin
  await browser.clearCookies()
  await page.goto(address('/'))
  await page.getByLabel(/user/i).fill(username)
  await page.getByLabel(/password/i).fill(password)
  return async () => {
    await page.getByRole('button').click({ noWaitAfter: true })
    await page.waitForURL(/\/console\//, { waitUntil: 'commit' })
  }
}

const painted = (page: Page) =>
  page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')

/** Gets an access token without a form, as the console does. Then it sends all requests at the same time and prints the responses. */
const bareScript = `async ([tenant, requests]) => {
  const realm = location.origin + '/auth/realms/' + tenant
  const discovery = await (await fetch(realm + '/.well-known/openid-configuration')).json()
  const random = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32)))).replace(/[+/=]/g, 'a')
  const verifier = random()
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)))
  const challenge = btoa(String.fromCharCode(...digest)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  const redirect = location.origin + '/console/@/signed-in?to='
  const parameters = { client_id: 'waypost-console', response_type: 'code', redirect_uri: redirect, scope: 'openid profile email',
    state: random(), nonce: random(), code_challenge: challenge, code_challenge_method: 'S256', prompt: 'none' }
  const answer = await fetch(discovery.authorization_endpoint + '?' + new URLSearchParams(parameters), { cache: 'no-store' })
  await answer.arrayBuffer()
  const code = new URL(answer.url).searchParams.get('code')
  const body = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'waypost-console', code, redirect_uri: redirect,
    code_verifier: verifier })
  const { access_token } = await (await fetch(discovery.token_endpoint, { method: 'POST', body })).json()
  const authorization = 'Bearer ' + access_token
  const texts = await Promise.all(requests.map(async ({ method, url, body }) => {
    const headers = { authorization, ...(body !== null && { 'content-type': 'application/json' }) }
    const response = await fetch(url, { method, headers, ...(body !== null && { body }) })
    if (!response.ok) throw new Error(url + ': ' + response.status)
    return JSON.stringify(await response.json(), null, 1)
  }))
  const output = document.createElement('pre')
  output.textContent = texts.join('\\n')
  document.body.replaceChildren(output)
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
}`

async function openBare({ browser, platform, tenantId }: BenchConsole, requests: ApiRequest[]): Promise<number> {
  const page = await browser.newPage()
  const began = performance.now()
  // This address of the same origin shows a page without scripts.
  await page.goto(`${platform.baseUrl}/api/v1/no-such-page`)
  await page.evaluate(`(${bareScript})(${JSON.stringify([tenantId, requests])})`)
  const ms = performance.now() - began
  await page.close()
  return ms
}

/** Logs a message to the browser console when the first row of a table is painted. */
const watchRows = `new MutationObserver((_, observer) => {
  if (!document.querySelector('.table-body [role=row] a')) return
  observer.disconnect()
  requestAnimationFrame(() => requestAnimationFrame((at) => { window.firstRowsAt = at; console.debug('first rows') }))
}).observe(document, { childList: true, subtree: true })`

const timings = `(() => {
  const answers = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/directory?'))
  return JSON.stringify({ shown: window.firstRowsAt ?? null, answered: answers[0]?.responseEnd ?? null })
})()`

/** Returns the time from the end of the response with the first rows until these rows are painted. */
async function firstRows({ browser, address }: BenchConsole): Promise<number> {
  const times: number[] = []
  for (let round = -1; round < rounds; round++) {
    const page = await browser.newPage()
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: cpuSlowdown })
    await page.addInitScript(watchRows)
    // The bench does not wait with a locator, because a locator searches the page in each animation frame and delays the rows.
    const shows = page.waitForEvent('console', (message) => message.text() === 'first rows')
    await page.goto(address('/endpoints'), { waitUntil: 'commit' })
    await shows
    const { shown, answered } = JSON.parse(await page.evaluate<string>(timings))
    if (shown === null || answered === null) throw new Error('the list of endpoints did not appear')
    if (round >= 0) times.push(shown - answered)
    await page.close()
  }
  return median(times)
}
