import { defineSignal } from '../../kernel/signals.ts'
import type { Place } from './store/outstanding.ts'

/** Informs the node that has the connections of these endpoints that they have new commands. */
export const CommandsWaiting = defineSignal<{ endpoints: Place[] }>('commands.waiting')

/** Carries a command with `commandTtl=0`, which devices cannot ask for, to the node that has the connection. */
export const CommandOnce = defineSignal<Place & { id: number; type: string; payload: string | null }>('commands.once')
