/** Verifies, joins and dispatches the texts that the transport receives. */
import type { Log } from '../log.ts'
import { createAssembler, type Frame, isFrom, openFrame } from './frames.ts'
import type { Handlers } from './handlers.ts'
import type { SigningKey } from './key.ts'
import { signatureInvalid } from './log-messages.ts'
import { sweepNow } from './rows.ts'
import type { Address } from './transport.ts'

export function createReceiver(deps: {
  nodeId: string
  key: SigningKey
  handlers: Handlers
  log: Log
  countReceived(count: number): void
  countRejected(): void
  sweep(): void
}) {
  const { nodeId, key, handlers, log } = deps
  const assembler = createAssembler()

  function dispatchFrame(address: Address, frame: Frame) {
    const messages = assembler.add(address, frame) ?? []
    deps.countReceived(messages.length)
    for (const { topic, payload } of messages) void handlers.dispatch(topic, payload, frame.from)
  }

  /** Loads the current key, which a restore may have replaced, and checks the signature again. */
  async function retryWithNewKey(address: Address, text: string) {
    const renewal = await key.reload()
    const frame = renewal === 'replaced' ? openFrame(key.current(), address, text) : undefined
    if (frame) return dispatchFrame(address, frame)
    deps.countRejected()
    if (renewal !== 'too soon') signatureInvalid(log, { address })
  }

  return (address: Address, text: string) => {
    if (text === sweepNow) return deps.sweep()
    if (isFrom(text, nodeId)) return
    const frame = openFrame(key.current(), address, text)
    if (frame) dispatchFrame(address, frame)
    else void retryWithNewKey(address, text)
  }
}
