import { defineInstance, forApplicationAndVersion } from '../../kernel/configuration.ts'
import { defaulted, Type } from '../../kernel/schema.ts'

/** The instance for the status of requests (document 3, 2.C). */
export const requestStatusInstance = defineInstance({
  name: 'rsx',
  group: 'Communication',
  description: 'Request status extension',
  schemas: forApplicationAndVersion(
    Type.Object({
      outcomes: defaulted(
        Type.Integer({
          minimum: 1,
          maximum: 10_000,
          default: 1000,
          description: 'Number of last requests of an endpoint to an extension that are remembered',
        }),
      ),
    }),
  ),
})

export const levels = ['all', 'headers', 'errors', 'off'] as const
export type TrafficLevel = (typeof levels)[number]

export const trafficLogInstance = defineInstance({
  name: 'al',
  group: 'Communication',
  description: 'Traffic log',
  urlPrefix: '/al',
  schemas: forApplicationAndVersion(
    Type.Object({
      level: defaulted(
        Type.Enum([...levels], {
          default: 'all',
          description:
            'Messages that the traffic log keeps. all: every message. headers: every message without its payload. errors: rejected ' +
            'messages and the responses to them. off: none.',
        }),
      ),
    }),
  ),
})

export const trafficLogInstances = [requestStatusInstance, trafficLogInstance]
