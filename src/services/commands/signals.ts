import { defineSignal } from '../../kernel/signals.ts'
import type { EndpointKey } from './store/outstanding.ts'

/** Informs the node that has the connections of these endpoints that they have new commands. */
export const CommandsWaiting = defineSignal<{ endpoints: EndpointKey[] }>('commands.waiting')

/** Sends a command with `commandTtl=0` to the node that has the connection. Devices cannot request such a command. */
export const CommandOnce = defineSignal<EndpointKey & { id: number; type: string; payload: string | null }>(
  'commands.once',
)
