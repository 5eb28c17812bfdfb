import assert from 'node:assert/strict'
import { test } from 'node:test'
import { monotonicMs } from './clock.ts'
import { createPace } from './pace.ts'

/** Takes the thread for so long. */
function work(ms: number) {
  for (const end = monotonicMs() + ms; monotonicMs() < end; );
}

/** Works for 200 ms in pieces of one, while others use the thread as much as this; answers how long each rest was. */
async function restsBeside(utilization: number): Promise<number[]> {
  let time = 0
  const rests: number[] = []
  const pace = createPace({
    now: () => time,
    async sleep(ms) {
      rests.push(ms)
      time += ms
    },
    utilization: () => utilization,
  })
  for (let worked = 0; worked < 200; worked++) {
    time++
    await pace()
  }
  return rests
}

test('work is done between short rests, which are longer the less there is to spare', async () => {
  const alone = await restsBeside(0)
  assert.deepEqual(new Set(alone), new Set([1]))
  assert.equal(alone.length, 50)
  const besideSome = (await restsBeside(0.5)).at(-1)!
  const besideMany = (await restsBeside(1)).at(-1)!
  // Four milliseconds of work, and with all of the time taken eight times as long for the others.
  assert.ok(besideSome > 8 && besideSome < 10, `${besideSome} ms`)
  assert.ok(besideMany > 32 && besideMany < 34, `${besideMany} ms`)
})

test('the others really get their turns, and are noticed', async () => {
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

test('whoever has hardly worked does not rest', () => {
  assert.equal(createPace()(), undefined)
})
