import assert from 'node:assert/strict'
import { test } from 'node:test'
import { monotonicMs } from './clock.ts'
import { createPace } from './pace.ts'

/** Takes the thread for so long. */
function work(ms: number) {
  for (const end = monotonicMs() + ms; monotonicMs() < end; );
}

/** How long this much work takes, and the longest that others had to wait for it. */
async function paced(pieces: number) {
  const pace = createPace()
  const began = monotonicMs()
  let [last, longest] = [began, 0]
  const others = setInterval(() => {
    longest = Math.max(longest, monotonicMs() - last)
    last = monotonicMs()
  }, 1)
  for (let piece = 0; piece < pieces; piece++) {
    work(1)
    await pace()
  }
  clearInterval(others)
  return { ms: monotonicMs() - began, longest }
}

test('work between short rests lets others in, and takes longer where they are busy', async () => {
  const idle = await paced(60)
  assert.ok(idle.longest < 50, `others had to wait for ${idle.longest} ms`)
  const busy = setInterval(() => work(9), 1)
  const beside = await paced(60)
  clearInterval(busy)
  assert.ok(beside.ms > idle.ms * 2, `${beside.ms} ms beside others, ${idle.ms} ms alone`)
})

test('whoever has hardly worked does not rest', () => {
  assert.equal(createPace()(), undefined)
})
