import { offsetQuery } from '../../../kernel/paging.ts'
import { DateTime, describedAs, Empty, Name, TextList, Type } from '../../../kernel/schema.ts'
import { endpointId, noApplication, noSoftware, ofApplication, ofEndpoint, ofVersion } from './common.ts'
import { rolloutState, rolloutStrategy, warnings } from './versions.ts'

export const pauseRollout = {
  name: 'software.rollout.pause',
  summary: 'Pause the rollout of a software version',
  description:
    'The version is not offered until the rollout is resumed. Endpoints that were offered it before may still apply it.',
  params: ofVersion,
  response: { 204: Empty('The rollout is paused.') },
  fails: noSoftware,
}
export const resumeRollout = {
  name: 'software.rollout.resume',
  summary: 'Resume the rollout of a software version',
  description: 'Ends a pause or a halt. Earlier reports no longer count for the failure threshold.',
  params: ofVersion,
  response: { 204: Empty('The rollout is active.') },
  fails: noSoftware,
}

export const retryRollout = {
  name: 'software.rollout.retry',
  summary: 'Retry a software version on endpoints that failed',
  description:
    'Offers the version again to endpoints that could not apply it; connected endpoints get the version immediately. ' +
    'Without `endpointIds`, this applies to all failed endpoints, and earlier reports no longer count for the failure threshold. ' +
    'A rollout that is paused or halted stays so.',
  params: ofVersion,
  body: Type.Object(
    {
      endpointIds: Type.Optional(
        Type.Array(endpointId, {
          minItems: 1,
          maxItems: 1000,
          description:
            'Only these endpoints; an endpoint that has not failed is ignored. Default: all endpoints that failed.',
        }),
      ),
    },
    { title: 'SoftwareRetry', description: 'The endpoints that are offered a version again.' },
  ),
  response: {
    200: Type.Object(
      { endpointsCount: Type.Integer({ minimum: 0, description: 'Number of endpoints that had failed.' }) },
      { title: 'SoftwareRetried', description: 'Number of endpoints that are offered the version again.' },
    ),
  },
  fails: noSoftware,
}

const count = (description: string) => Type.Integer({ minimum: 0, description })
export const readRollout = {
  name: 'software.rollout.get',
  summary: 'Get the progress of a rollout',
  params: ofVersion,
  response: {
    200: Type.Object(
      {
        rolloutState,
        reason: Type.Optional(Type.String({ description: 'Reason why the rollout is halted.' })),
        counts: Type.Object(
          {
            waiting: count(
              'Number of endpoints whose target is this version and that were not offered the version yet.',
            ),
            offered: count('Number of endpoints that were offered the version and have not reported.'),
            applied: count('Number of endpoints that run the version.'),
            failed: count(
              'Number of endpoints that reported since the last resume that they could not apply the version.',
            ),
          },
          { title: 'SoftwareRolloutCounts', description: 'Numbers of endpoints. Each endpoint is counted once.' },
        ),
        warnings,
      },
      { title: 'SoftwareRollout', description: 'The progress of a rollout.' },
    ),
  },
  fails: noSoftware,
}
export const previewRollout = {
  name: 'software.rollout.preview',
  summary: 'Preview who would be offered a software version',
  description:
    'Computes the endpoints whose target the version would be now, if its rollout were active. Nothing changes.',
  params: ofVersion,
  query: Type.Object({
    rolloutStrategy: Type.Optional(
      describedAs(
        rolloutStrategy,
        'Strategy to try: suspended, targeted or general. Default: the strategy of the version.',
      ),
    ),
  }),
  response: {
    200: Type.Object(
      {
        endpointsCount: count('Number of endpoints.'),
        byCurrentVersion: Type.Record(Type.String(), Type.Integer(), {
          description: 'Number of endpoints of each version.',
        }),
        sample: Type.Array(Type.String({ description: 'Id of an endpoint.' }), {
          description: 'Ids of at most 100 of the endpoints, in order.',
        }),
      },
      { title: 'SoftwareRolloutPreview', description: 'The endpoints that would be offered a version.' },
    ),
  },
  fails: noSoftware,
}

// ── endpoints

const endpointStates = ['current', 'waiting', 'offered', 'failed'] as const
const state = Type.Enum([...endpointStates], {
  description:
    'current: nothing to do. waiting: the target was not offered yet. offered: a version was offered and not reported yet. ' +
    'failed: the last report was that a version could not be applied.',
})
const described = {
  endpointId,
  currentVersion: Type.Optional(
    Type.String({ description: 'The version that the endpoint last reported as applied.' }),
  ),
  targetVersion: Type.Optional(
    Type.String({ description: 'The version that is offered to the endpoint. Omitted if no version is offered.' }),
  ),
  lastAppliedStatusCode: Type.Optional(Type.Integer({ description: 'Status code of the last report.' })),
  reasonPhrase: Type.Optional(Type.String({ description: 'Reason in the last report.' })),
  updatedDate: DateTime({ description: 'Time at which the endpoint last reported or was offered a version, in UTC.' }),
  state,
  failedVersion: Type.Optional(
    Type.String({
      description: 'The version that the endpoint could not apply by its last report, since the last resume.',
    }),
  ),
  offeredVersion: Type.Optional(Type.String({ description: 'The version that was offered and not reported yet.' })),
  offeredDate: Type.Optional(
    DateTime({ description: 'Time at which the version was offered to the endpoint, in UTC.' }),
  ),
}
const SoftwareEndpoint = Type.Object(described, {
  title: 'SoftwareEndpoint',
  description: 'The software of an endpoint that reported or was offered a version.',
})
const Attempt = Type.Object(
  {
    version: Type.String({ description: 'The version that was offered.' }),
    offeredDate: DateTime({ description: 'Time at which the version was offered to the endpoint, in UTC.' }),
    reportedDate: Type.Optional(
      DateTime({ description: 'Time at which the endpoint reported, in UTC. Omitted if it has not reported yet.' }),
    ),
    statusCode: Type.Optional(Type.Integer({ description: 'Status code of the report; 2xx: applied.' })),
    reasonPhrase: Type.Optional(Type.String({ description: 'Reason in the report.' })),
  },
  { title: 'SoftwareAttempt', description: 'One offer of a version to an endpoint.' },
)

export const listEndpoints = {
  name: 'software.endpoints.list',
  summary: 'List the software of endpoints',
  description:
    'Lists endpoints that reported or were offered a version, in the order of their ids. `X-Total-Count` is the number of all endpoints that match.',
  params: ofApplication,
  query: Type.Object({
    endpointId: Type.Optional(TextList({ description: 'Only these endpoints (ids). Default: all.' })),
    version: Type.Optional(Name({ description: 'Only endpoints that run this version. Default: all.' })),
    targetVersion: Type.Optional(Name({ description: 'Only endpoints with this target. Default: all.' })),
    failedVersion: Type.Optional(
      Name({ description: 'Only endpoints that could not apply this version, since the last resume. Default: all.' }),
    ),
    state: Type.Optional(
      describedAs(state, 'Only endpoints in this state: current, waiting, offered or failed. Default: all.'),
    ),
    ...offsetQuery(1000),
  }),
  response: { 200: Type.Array(SoftwareEndpoint, { description: 'The endpoints.' }) },
  fails: noApplication,
}
export const readEndpoint = {
  name: 'software.endpoints.get',
  summary: 'Get the software of an endpoint',
  params: ofEndpoint,
  response: {
    200: Type.Object(
      { ...described, attempts: Type.Array(Attempt, { description: 'The last offers, newest first, at most 100.' }) },
      { title: 'SoftwareEndpointDetails', description: 'The software of an endpoint with its attempts.' },
    ),
  },
  fails: {
    404: 'The endpoint has reported no software and was offered no software, or the caller lacks the scope on the application.',
  },
}
