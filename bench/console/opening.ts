/** Opens pages of the console, and a bare page that makes the same requests to the API and prints the answers. */
import type { Page } from 'playwright-core'
import { type Figure, median } from '../report.ts'
import { type BenchConsole, endpoints, settledPage } from './open.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 9)
const warmUps = 2
const slowerTimes = 4

export async function opening(bench: BenchConsole): Promise<Figure[]> {
  const [overview, list] = [await compare(bench, '/'), await compare(bench, '/endpoints')]
  const afterAnswer = await firstRows(bench)
  return [
    ...figuresOf('Overview', overview),
    ...figuresOf(`List of ${endpoints} endpoints`, list),
    {
      name: `First rows after the answer, processor ${slowerTimes} times slower`,
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
  { name: `${name}: opened, signed in`, value: console, unit: 'ms' },
  { name: `${name}: a bare page with the same requests`, value: bare, unit: 'ms' },
  { name: `${name}: against the bare page`, value: ratio, unit: 'times', limit: { max: 3 } },
]

/** The two alternate, because the load of the machine changes over time. */
async function compare(bench: BenchConsole, path: string): Promise<Compared> {
  const times: { console: number; bare: number }[] = []
  for (let round = -warmUps; round < rounds; round++) {
    const { ms, requests } = await openConsole(bench, path)
    const bare = await openBare(bench, requests)
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

const isOfApi = (url: string) => /\/api\/v\d/.test(url) && !/\/live\/api\//.test(url)

async function openConsole({ browser, address }: BenchConsole, path: string) {
  const page = await browser.newPage()
  const requests: ApiRequest[] = []
  page.on('request', (request) => {
    const url = request.url()
    if (isOfApi(url)) requests.push({ method: request.method(), url, body: request.postData() })
  })
  const began = performance.now()
  await page.goto(address(path), { waitUntil: 'commit' })
  await settledPage(page)
  await painted(page)
  const ms = performance.now() - began
  await page.close()
  return { ms, requests }
}

const painted = (page: Page) =>
  page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')

/** Signs in silently as the console does, makes the requests at once, and prints the answers. */
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
  // A page without scripts on the same origin.
  await page.goto(`${platform.baseUrl}/api/v1/no-such-page`)
  await page.evaluate(`(${bareScript})(${JSON.stringify([tenantId, requests])})`)
  const ms = performance.now() - began
  await page.close()
  return ms
}

/** Remembers when the first row of a table was painted. */
const watchRows = `new MutationObserver((_, observer) => {
  if (!document.querySelector('.table-body [role=row] a')) return
  observer.disconnect()
  requestAnimationFrame(() => requestAnimationFrame((at) => { window.firstRowsAt = at }))
}).observe(document, { childList: true, subtree: true })`

const timings = `(() => {
  const answers = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/directory?'))
  return JSON.stringify({ shown: window.firstRowsAt ?? null, answered: answers[0]?.responseEnd ?? null })
})()`

/** From the end of the answer with the first rows until they are painted. */
async function firstRows({ browser, address }: BenchConsole): Promise<number> {
  const times: number[] = []
  for (let round = -1; round < rounds; round++) {
    const page = await browser.newPage()
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowerTimes })
    await page.addInitScript(watchRows)
    await page.goto(address('/endpoints'))
    await page.locator('.table-body [role=row] a').first().waitFor()
    await painted(page)
    const { shown, answered } = JSON.parse(await page.evaluate<string>(timings))
    if (shown === null || answered === null) throw new Error('the list of endpoints did not appear')
    if (round >= 0) times.push(shown - answered)
    await page.close()
  }
  return median(times)
}
