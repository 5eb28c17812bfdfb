/** The thread of the workshop: one order at a time, in the order of their coming. */
import { parentPort } from 'node:worker_threads'
import { makeAuthority, makeCertificate, makeRevocationList } from './make.ts'
import type { Order } from './workshop.ts'

const tasks = { makeAuthority, makeCertificate, makeRevocationList }

parentPort?.on('message', async ({ id, task, input }: Order) => {
  try {
    parentPort?.postMessage({ id, output: await tasks[task](input as never) })
  } catch (error) {
    parentPort?.postMessage({ id, problem: (error as Error).stack ?? String(error) })
  }
})
