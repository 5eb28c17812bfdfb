import { defineEvent } from '../../kernel/bus.ts'

interface OfApplication {
  tenantId: string
  applicationName: string
}
const key = ({ applicationName }: OfApplication) => applicationName

export const SoftwareChanged = defineEvent<OfApplication>('software.version.changed', {
  description:
    'Versions of an application, their files or their rollouts changed, so that endpoints may have other targets',
  key,
})

export const SoftwareOffered = defineEvent<
  OfApplication & { version: string; endpointIds: string[]; offeredDate: string }
>('software.version.offered', {
  description: 'Endpoints were offered a version; long lists are divided into several events',
  key,
})

export const SoftwareReported = defineEvent<
  OfApplication & {
    endpointId: string
    version: string
    statusCode: number
    reasonPhrase?: string
    reportedDate: string
  }
>('software.version.reported', {
  description: 'An endpoint reported that it has applied a version (2xx) or rejected it',
  key: ({ endpointId }) => endpointId,
})

export const RolloutHalted = defineEvent<OfApplication & { version: string; reason: string }>(
  'software.rollout.halted',
  {
    description:
      'The failure threshold of a version was reached; the version is not offered until somebody resumes its rollout',
    key,
  },
)
