import { defineSignal } from '../../kernel/signals.ts'
import type { EndpointKey } from './store/outstanding.ts'

/** Informs the node that has the connections of these endpoints that they have new commands. */
export const CommandsWaiting = defineSignal<{ endpoints: EndpointKey[] }>('commands.waiting')

/** Carries a command with `commandTtl=0`, which devices cannot request, to the node that has the connection. */
export const CommandOnce = defineSignal<EndpointKey & { id: number; type: string; payload: string | null }>(
  'commands.once',
)
