/**
 * Carries the cause of automatic work through asynchronous calls: while a rule calls the API of its own platform, the events that this
 * publishes name the run of the rule.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

const causes = new AsyncLocalStorage<string>()

/** Returns the cause of the current work; undefined if it began with a user or a device. */
export const currentCause = (): string | undefined => causes.getStore()

/** Runs work whose events have this cause. */
export const withCause = <T>(cause: string, work: () => T): T => causes.run(cause, work)
