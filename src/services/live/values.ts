/** Topics that deliver a current value. It is read once for all subscriptions with the same key, and delivered when it has changed. */
import { monotonicMs } from '../../kernel/clock.ts'
import type { Ctx } from '../../kernel/contract.ts'
import type { TopicDefinition, ValueQuery } from '../../kernel/live/live.ts'
import type { Log } from '../../kernel/log.ts'
import { valueUnread } from './log-messages.ts'

export interface Values {
  /**
   * Reads the value, unless another subscription has already read it. Rejects if the read fails. `join` delivers the value now and whenever
   * it has changed.
   */
  open(
    topic: TopicDefinition,
    ctx: Ctx,
    query: ValueQuery,
  ): Promise<{ join(deliver: (text: string) => void): () => void }>
}

interface Value {
  text: string
  receivers: Set<(text: string) => void>
  timer: NodeJS.Timeout | undefined
}

/** A value whose read takes long is read less often. A node spends at most this fraction of the time on reading it. */
const shareOfTime = 1 / 20

/**
 * Copies the permissions of the caller. The list of a caller grows in place when the caller creates an object, and the other callers that
 * share the value may not read that object.
 */
const withoutLaterPermissions = (ctx: Ctx): Ctx => ({
  ...ctx,
  signal: ctx.signal,
  caller: { ...ctx.caller, permissions: [...ctx.caller.permissions] },
})

export function createValues(log: Log): Values {
  const values = new Map<string, Value>()
  const opening = new Map<string, Promise<Value>>()

  async function openValue(key: string, topic: TopicDefinition, ctx: Ctx, query: ValueQuery): Promise<Value> {
    const { everySeconds, read } = topic.value!
    const pauseMs = (began: number) => Math.max(everySeconds * 1000, (monotonicMs() - began) / shareOfTime)
    const began = monotonicMs()
    const value: Value = { text: await read(ctx, query), receivers: new Set(), timer: undefined }
    values.set(key, value)
    async function readAgain() {
      // The last subscription of this value has ended.
      if (value.receivers.size === 0) return void values.delete(key)
      const began = monotonicMs()
      try {
        const text = await read(ctx, query)
        if (text !== value.text) for (const deliver of value.receivers) deliver(text)
        value.text = text
      } catch (error) {
        valueUnread(log, { err: error, topic: topic.name })
      }
      value.timer = setTimeout(readAgain, pauseMs(began)).unref()
    }
    value.timer = setTimeout(readAgain, pauseMs(began)).unref()
    return value
  }

  return {
    async open(topic, given, query) {
      const ctx = withoutLaterPermissions(given)
      const key = `${topic.name}\n${topic.value!.keyOf(ctx, query)}`
      let value = values.get(key)
      if (!value) {
        const started = opening.get(key) ?? openValue(key, topic, ctx, query).finally(() => opening.delete(key))
        opening.set(key, started)
        value = await started
      }
      const { receivers } = value
      return {
        join(deliver) {
          receivers.add(deliver)
          deliver(value.text)
          return () => void receivers.delete(deliver)
        },
      }
    },
  }
}
