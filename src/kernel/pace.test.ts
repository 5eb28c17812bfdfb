import assert from 'node:assert/strict'
import { test } from 'node:test'
import { monotonicMs } from './clock.ts'
import { createPace } from './pace.ts'

/** Blocks the thread for this number of milliseconds. */
function work(ms: number) {
  for (const end = monotonicMs() + ms; monotonicMs() < end; );
}

/** Works for 200 ms in pieces of 1 ms, while other work has this utilization. Returns the length of each pause. */
async function pausesBeside(utilization: number, pauseMinMs?: number): Promise<number[]> {
  let time = 0
  const pauses: number[] = []
  const deps = {
    now: () => time,
    async sleep(ms: number) {
      pauses.push(ms)
      time += ms
    },
    utilization: () => utilization,
  }
  const pace = createPace(deps, pauseMinMs)
  for (let worked = 0; worked < 200; worked++) {
    time++
    await pace()
  }
  return pauses
}

test('the busier the process is, the longer the pauses are', async () => {
  const alone = await pausesBeside(0)
  assert.deepEqual(new Set(alone), new Set([1]))
  assert.equal(alone.length, 50)
  assert.deepEqual(new Set(await pausesBeside(0, 6)), new Set([6]))
  const besideSome = (await pausesBeside(0.5)).at(-1)!
  const besideMany = (await pausesBeside(1)).at(-1)!
  // If other work uses the whole time of the thread, a pause is eight times as long as the 4 ms of work before it.
  assert.ok(besideSome > 8 && besideSome < 10, `${besideSome} ms`)
  assert.ok(besideMany > 32 && besideMany < 34, `${besideMany} ms`)
})

test('other work runs during the pauses and makes them longer', async () => {
  const pace = createPace()
  let turns = 0
  let rested = 0
  const others = setInterval(() => {
    turns++
    work(5)
  }, 1)
  for (let piece = 0; piece < 60; piece++) {
    work(1)
    const began = monotonicMs()
    await pace()
    rested += monotonicMs() - began
  }
  clearInterval(others)
  assert.ok(turns >= 10, `${turns} turns`)
  assert.ok(rested > 200, `${rested} ms`)
})

test('there is no pause before the first 4 ms of work', () => {
  assert.equal(createPace()(), undefined)
})
