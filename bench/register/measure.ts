/** Measures a page of the API and a plain SQL statement that finds the same rows, alternately, over one connection each. */
import type { BenchPlatform } from './bench-platform.ts'
import type { HttpConnection } from './http-connection.ts'

/** The result that the API and the plain statement must both return. */
export interface PageResult {
  total?: number | undefined
  ids: string[]
}

export interface PageKind {
  name: string
  /** Returns the path; each round requests a different path. */
  path(round: number): string
  plain(round: number): Promise<PageResult>
  /** Token of the caller. By default, the caller may read all endpoints. */
  token?: (() => Promise<string>) | undefined
  /**
   * `limited`: the limits of ratio and p99 apply. `comparable`: the page has the same number of rows at every size of the register, so the
   * bench compares its times at both sizes.
   */
  limited?: boolean
  comparable?: boolean
}

export interface Timing {
  kind: PageKind
  p50: number
  p99: number
  plainP50: number
  ratio: number
  /**
   * p50 of the API in rounds without the plain statement. It is compared between the sizes of the register. With a million endpoints, the
   * plain statement runs for a tenth of a second and evicts the caches of the processor.
   */
  aloneP50?: number
}

const warmUps = 15
const roundsMax = 200
const roundsMin = 8
const roundsAlone = 400
/** Time limit, because scans of a million rows cannot be repeated two hundred times. */
const budgetMilliseconds = 15_000

export async function measure({ token }: BenchPlatform, connection: HttpConnection, kind: PageKind): Promise<Timing> {
  const ours: number[] = []
  const theirs: number[] = []
  const began = performance.now()
  const hasTime = () => performance.now() - began < budgetMilliseconds
  for (let round = -warmUps; round < roundsMax && (hasTime() || ours.length < roundsMin); round++) {
    const callerToken = await (kind.token ?? token)()
    const path = kind.path(round + warmUps)
    let text = ''
    let expected: PageResult = { ids: [] }
    const api = () => timed(async () => (text = await connection.ask('GET', path, callerToken)))
    const plain = () => timed(async () => (expected = await kind.plain(round + warmUps)))
    // The order alternates, because the second of the two reads finds the rows in the cache.
    const times = round % 2 === 0 ? [await api(), await plain()] : [await plain(), await api()].reverse()
    compare(kind.name, foundIn(text), expected)
    if (round < 0 && hasTime()) continue
    ours.push(times[0]!)
    theirs.push(times[1]!)
  }
  const [p50, plainP50] = [quantile(ours, 0.5), quantile(theirs, 0.5)]
  const aloneP50 = kind.comparable ? { aloneP50: await measureAlone(connection, kind, kind.token ?? token) } : {}
  return { kind, p50, p99: quantile(ours, 0.99), plainP50, ratio: p50 / plainP50, ...aloneP50 }
}

async function measureAlone(connection: HttpConnection, kind: PageKind, token: () => Promise<string>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < warmUps + roundsAlone; round++) {
    const asking = await token()
    times.push(await timed(() => connection.ask('GET', kind.path(round), asking)))
  }
  return quantile(times.slice(warmUps), 0.5)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

export const quantile = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!

function foundIn(text: string): PageResult {
  const answer = JSON.parse(text)
  if (!answer.content) return { ids: [answer.endpointId] }
  return { total: answer.totalElements, ids: answer.content.map((one: { endpointId: string }) => one.endpointId) }
}

function compare(name: string, found: PageResult, expected: PageResult) {
  const problem =
    expected.ids.length === 0
      ? 'the statement found no endpoints'
      : found.total !== expected.total
        ? `a total of ${found.total} instead of ${expected.total}`
        : found.ids.join() !== expected.ids.join()
          ? 'other endpoints than the statement finds'
          : undefined
  if (problem) throw new Error(`${name}: ${problem}`)
}
