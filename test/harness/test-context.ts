/**
 * The runner (tools/run-tests.ts) preloads this module into every test process. `node:test` finds the test of a call or error with a hook
 * of `async_hooks`, which follows all promises. This module makes `node:test` use AsyncLocalStorage, which is cheaper: the tests of two
 * services took 24 instead of 29 processor seconds in one comparison on a busy machine.
 */
import asyncHooks from 'node:async_hooks'

const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = asyncHooks

/** The id of the test whose code runs. */
const currentTest = new AsyncLocalStorage<number>()

/** Function of `node:test` that records a new test. It is defined while the hook of `node:test` is enabled. */
let recordTest: asyncHooks.HookCallbacks['init']

/** Base class of the tests of `node:test`: while `node:test` is being loaded, this class takes the place of AsyncResource. */
class TestResource extends AsyncResource {
  constructor(type: string, options?: asyncHooks.AsyncResourceOptions) {
    super(type, options)
    recordTest?.(this.asyncId(), type, this.triggerAsyncId(), this)
  }

  override runInAsyncScope<This, Result>(
    run: (this: This, ...values: unknown[]) => Result,
    self?: This,
    ...values: unknown[]
  ): Result {
    return super.runInAsyncScope(() =>
      currentTest.run(this.asyncId(), () => Reflect.apply(run, self as This, values) as Result),
    )
  }
}

const replacements = {
  AsyncResource: TestResource,
  createHook: ({ init }: asyncHooks.HookCallbacks) => ({
    enable() {
      recordTest = init
    },
    disable() {
      recordTest = undefined
    },
  }),
  // The result 0 means "no test", because no test has the id 0.
  executionAsyncId: () => currentTest.getStore() ?? 0,
}

Object.assign(asyncHooks, replacements)
await import('node:test')
Object.assign(asyncHooks, { AsyncResource, createHook, executionAsyncId })
