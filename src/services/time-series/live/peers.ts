/**
 * Points that are stored in one process and watched in another. Who watches says so to all, and again from time to time; who stores
 * sends what is watched elsewhere, after the commit, in pieces that a message takes. Where nobody watches elsewhere, which is nearly
 * always, nothing is put together.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { monotonicMs, sleep } from '../../../kernel/clock.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { LiveAsked, LiveHeard, LiveLeft, LivePointsSent, LiveWanted } from '../events.ts'
import { bytesOf, type LivePoint } from './live-point.ts'
import { createNeighbours } from './neighbours.ts'

interface Place {
  tenantId: string
  applicationName: string
}

/** What is watched here of an application; undefined: nothing. */
export interface Wanted extends Place {
  /** Undefined: all of them. */
  endpointIds: string[] | undefined
}

export interface Peers {
  /** Whether anybody elsewhere watches anything. */
  isBusy(): boolean
  wants(of: Place & { endpointId: string }): boolean
  forward(of: Place, points: LivePoint[]): void
  /** More is watched here. True when all others know of it: from here on nothing is missed. */
  more(of: Place): Promise<boolean>
  less(of: Place): void
  start(): Promise<void>
  stop(): Promise<void>
}

interface Pieces {
  batch: number
  texts: string[]
}

const renewEveryMs = 20_000
/** Who has not said so again for so long does not watch any more. */
const forgottenMs = 50_000
const togetherMs = 50
const pauseMs = 500
/** Who does not answer for so long is taken for dead. */
const answerMs = 1000
const textMax = 256 * 1024
/** What waits for a slow database, in all; more is lost, and said to be. */
const waitingBytesMax = 8 * 1024 * 1024
/** Of base64, with what stands around it, in one message. */
const pieceLength = 6000
/** Of ids in one message. */
const endpointIdsLength = 5000

export function createPeers(
  kit: Pick<Kit, 'db' | 'bus' | 'log'>,
  node: string,
  here: {
    wanted(of?: Place): Wanted[]
    deliver(of: Place, points: LivePoint[]): void
    /** Something for these may have been missed; without a place, for anybody. */
    missed(of?: Place): void
  },
): Peers {
  const { db, bus, log } = kit
  const elsewhere = new Map<string, Map<string, { endpointIds: Set<string> | undefined; until: number }>>()
  const incoming = new Map<string, Pieces>()
  let outgoing = new Map<string, { of: Place; points: LivePoint[]; lost: boolean }>()
  let [waitingBytes, batch, isSending] = [0, 0, false]
  let timer: NodeJS.Timeout | undefined
  let renewing: NodeJS.Timeout | undefined

  const neighbours = createNeighbours(answerMs)
  const tenantId = 'platform'

  /** Whether it was told. */
  const tell = (work: Promise<void>, what: string): Promise<boolean> =>
    work.then(
      () => true,
      (error) => {
        log.warn({ err: error }, what)
        return false
      },
    )

  const answer = (to: string, round: number) =>
    void tell(
      db.tx((sql) => bus.publish(sql, LiveHeard, { tenantId, node, to, round })),
      'another process could not be answered; it says that points may be missing',
    )

  let announcing = Promise.resolve(true)
  /** One after the other, each with what holds when it is sent: who is told last is told the truth. */
  function announce(wanted: () => Wanted[], round?: number): Promise<boolean> {
    const events = () =>
      wanted().map(({ endpointIds, ...of }) => {
        const fits = endpointIds !== undefined && JSON.stringify(endpointIds).length < endpointIdsLength
        return { ...of, node, ...(fits && { endpointIds }), ...(round !== undefined && { round }) }
      })
    announcing = announcing.then(() =>
      tell(
        db.tx((sql) => bus.publishAll(sql, LiveWanted, events())),
        'what is watched could not be told; trying again',
      ),
    )
    return announcing
  }

  function wantedNow(of: Place): Wanted[] {
    const [wanted = { ...of, endpointIds: [] }] = here.wanted(of)
    return [wanted]
  }

  bus.hear(LiveAsked, (asked) => {
    if (asked.node === node) return
    neighbours.met(asked.node)
    void announce(() => here.wanted())
    answer(asked.node, 0)
  })

  bus.hear(LiveHeard, ({ node: peer, to, round }) => {
    if (to === node) neighbours.heard(peer, round)
    else if (peer !== node) neighbours.met(peer)
  })

  bus.hear(LiveLeft, ({ node: peer }) => neighbours.left(peer))

  bus.hear(LiveWanted, ({ applicationName, node: peer, endpointIds, round }) => {
    if (peer === node) return
    neighbours.met(peer)
    if (round !== undefined) answer(peer, round)
    const known = elsewhere.get(applicationName) ?? new Map()
    elsewhere.set(applicationName, known)
    if (endpointIds?.length === 0) known.delete(peer)
    else known.set(peer, { endpointIds: endpointIds && new Set(endpointIds), until: monotonicMs() + forgottenMs })
    if (known.size === 0) elsewhere.delete(applicationName)
  })

  bus.hear(LivePointsSent, ({ tenantId, applicationName, node: peer, batch: of, part, parts, data, lost }) => {
    if (peer === node) return
    const place = { tenantId, applicationName }
    const key = `${peer}\n${applicationName}`
    if (lost) here.missed(place)
    let pieces = incoming.get(key)
    if (!pieces || pieces.batch !== of) {
      if (pieces) here.missed(place)
      pieces = { batch: of, texts: [] }
      incoming.set(key, pieces)
    }
    pieces.texts.push(data)
    if (part < parts - 1) return
    incoming.delete(key)
    if (pieces.texts.length < parts) return here.missed(place)
    const text = inflateRawSync(Buffer.from(pieces.texts.join(''), 'base64')).toString()
    here.deliver(place, JSON.parse(text) as LivePoint[])
  })

  bus.onGap(() => {
    incoming.clear()
    here.missed()
    void tell(ask(), 'what is watched elsewhere could not be asked')
  })

  const ask = async () => await db.tx((sql) => bus.publish(sql, LiveAsked, { tenantId, node }))

  async function send() {
    timer = undefined
    if (isSending) return
    isSending = true
    try {
      while (outgoing.size > 0) {
        const all = outgoing
        outgoing = new Map()
        waitingBytes = 0
        for (const { of, points, lost } of all.values()) {
          const events = [...piecesOf(of, points, lost)]
          await db
            .tx((sql) => bus.publishAll(sql, LivePointsSent, events))
            .catch(async (error) => {
              log.warn({ err: error }, 'points that are watched in another process did not get there')
              await sleep(pauseMs)
              place(of).lost = true
            })
        }
      }
    } finally {
      isSending = false
    }
  }

  function* piecesOf(of: Place, points: LivePoint[], lost: boolean) {
    for (const text of textsOf(points)) {
      const data = deflateRawSync(text, { level: 1 }).toString('base64')
      const parts = Math.ceil(data.length / pieceLength)
      batch++
      for (let part = 0; part < parts; part++) {
        const piece = data.slice(part * pieceLength, (part + 1) * pieceLength)
        yield { ...of, node, batch, part, parts, data: piece, ...(lost && part === 0 && { lost }) }
      }
    }
  }

  function place(of: Place) {
    const known = outgoing.get(of.applicationName)
    if (known) return known
    const { tenantId, applicationName } = of
    const made = { of: { tenantId, applicationName }, points: [] as LivePoint[], lost: false }
    outgoing.set(applicationName, made)
    return made
  }

  return {
    isBusy: () => elsewhere.size > 0,
    wants({ applicationName, endpointId }) {
      const known = elsewhere.get(applicationName)
      if (!known) return false
      for (const [peer, { endpointIds, until }] of known) {
        if (until < monotonicMs()) known.delete(peer)
        else if (!endpointIds || endpointIds.has(endpointId)) return true
      }
      if (known.size === 0) elsewhere.delete(applicationName)
      return false
    },
    forward(of, points) {
      const to = place(of)
      for (const point of points)
        if (waitingBytes > waitingBytesMax) to.lost = true
        else {
          to.points.push(point)
          waitingBytes += bytesOf(point)
        }
      if (!isSending) timer ??= setTimeout(() => void send(), togetherMs).unref()
    },
    async more(of) {
      if (neighbours.hasAny()) return await neighbours.tell((round) => announce(() => wantedNow(of), round))
      void announce(() => wantedNow(of))
      return true
    },
    less: (of) => void announce(() => wantedNow(of)),
    async start() {
      await ask()
      renewing = setInterval(() => {
        if (here.wanted().length > 0) void announce(() => here.wanted())
      }, renewEveryMs).unref()
    },
    async stop() {
      clearInterval(renewing)
      clearTimeout(timer)
      const hadAny = neighbours.hasAny()
      neighbours.stop()
      if (!hadAny) return
      await tell(
        db.tx((sql) => bus.publish(sql, LiveLeft, { tenantId, node })),
        'the others could not be told that this process ends; they find out',
      )
    },
  }
}

/** Lists of points as JSON, none longer than it has to be. */
function* textsOf(points: LivePoint[]) {
  let [some, size]: [LivePoint[], number] = [[], 0]
  for (const point of points) {
    some.push(point)
    size += point.text.length
    if (size < textMax) continue
    yield JSON.stringify(some)
    some = []
    size = 0
  }
  // What was lost is said even where nothing is left to send.
  if (some.length > 0 || points.length === 0) yield JSON.stringify(some)
}
