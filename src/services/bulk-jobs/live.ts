/**
 * The topic `jobs` of live streams. It sends jobs whose state or progress has changed. Each node reads the jobs while one of its streams
 * subscribes to this topic.
 */
import type { AnyTask } from '../../kernel/bulk/bulk.ts'
import { monotonicMs } from '../../kernel/clock.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { type LiveEvent, textOf } from '../../kernel/live/live.ts'
import { createPoll } from '../../kernel/live/poll.ts'
import { applicationOf, mayRead, readScope } from './access.ts'
import { viewOf } from './view.ts'

const everyMs = 500
/** A job is read at least until this many seconds after its end. */
const endedSecondsMin = 30
const jobsMax = 2000

export function defineTopic({ live, bulk, db, log, now }: Pick<Kit, 'live' | 'bulk' | 'db' | 'log' | 'now'>) {
  /** The text that was last published, by job. */
  let published = new Map<string, string>()
  let readAt: number | undefined
  const poll = createPoll({ topic: 'jobs', everyMs, read, log })
  const topic = live.define({
    name: 'jobs',
    description:
      'jobs whose state or progress has changed, as in `jobs.list`; it begins with the jobs that have not ended.',
    scopes: [readScope],
    on: 'event',
    mayRead: (ctx, { tenantId, applicationName, facets = {} }) =>
      mayRead(ctx, { tenantId, applicationName, createdBy: { type: facets.ownerType!, id: facets.ownerId! } }),
    facets: ['jobIds'],
    hasApplications: true,
    isLocal: true,
    beginsWithHistory: true,
    watched(isWatched) {
      published = new Map()
      readAt = undefined
      poll.watched(isWatched)
    },
    async history({ tenantIds, since, limit }) {
      const endedSeconds = Math.max(0, now().getTime() - since / 1000) / 1000
      const tasks = await find([...tenantIds], endedSeconds, limit + 1)
      return tasks.length > limit ? 'too_many' : tasks.map(eventOf)
    },
  })

  const find = (tenantIds: string[], endedSeconds: number, limit: number) =>
    bulk.active(db.sql, { tenantIds, endedSeconds, fields: ['applicationName'], limit })

  async function read() {
    const began = monotonicMs()
    const tasks = await find(topic.tenantsHere(), endedSecondsOf(began), jobsMax)
    const found = new Map(tasks.map((task) => [task.taskId, eventOf(task)]))
    topic.publish(
      [...found].filter(([jobId, event]) => published.get(jobId) !== textOf(event)).map(([, event]) => event),
    )
    published = new Map([...found].map(([jobId, event]) => [jobId, textOf(event)]))
    readAt = began
  }

  /**
   * Returns how many seconds before `at` a job may have ended to be read again. This period begins before the last successful read, so
   * that no end of a job is missed while the database is unreachable.
   */
  const endedSecondsOf = (at: number) => endedSecondsMin + (readAt === undefined ? 0 : (at - readAt) / 1000)
}

function eventOf(task: AnyTask): LiveEvent {
  const { type, id } = task.createdBy
  return {
    tenantId: task.tenantId,
    applicationName: applicationOf(task),
    facets: { jobIds: task.taskId, ownerType: type, ownerId: id },
    text: JSON.stringify(viewOf(task)),
  }
}
