/** Log messages at warn and above of the outbox. */
import { defineLogMessage } from '../define-log-message.ts'

export const deliveryFailed = defineLogMessage({
  level: 'error',
  text: 'could not deliver events; retrying within 5 s',
  cause: 'A worker of the outbox could not read or update waiting events, most likely because of the database.',
  action: 'Check the database if this message repeats. No event is lost.',
})

export const eventHandlerFailed = defineLogMessage({
  level: 'error',
  text: 'an event handler failed; retrying later, and later events of the same key wait',
  cause:
    'A service threw an error while it handled an event. `subscription` names the handler; `retryInSeconds` is the delay.',
  action: 'Look at the error. The event is retried with growing delays up to 5 minutes until it succeeds.',
})

export const batchFailed = defineLogMessage({
  level: 'error',
  text: 'an event handler failed within a batch; delivering the events of its key one by one',
  cause:
    'A service threw an error while it handled an event in a batch of events with the same key, so the batch was rolled back.',
  action: 'Look at the error. If the event fails again when it is delivered alone, another message follows.',
})
