/**
 * Carries the cause of automatic work through asynchronous calls. If a rule calls the API of its own platform, the events that the call
 * publishes name the run of the rule as their cause.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

const causes = new AsyncLocalStorage<string>()

/** Returns the cause of the current work. It is undefined if a user or a device started the work. */
export const currentCause = (): string | undefined => causes.getStore()

/** Runs work whose events have this cause. */
export const withCause = <T>(cause: string, work: () => T): T => causes.run(cause, work)
