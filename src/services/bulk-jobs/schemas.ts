import { failure } from '../../kernel/error-formats.ts'
import { contentPage, offsetQuery } from '../../kernel/paging.ts'
import { AnyJson, DateTime, describedAs, JsonObject, Name, TextList, Type } from '../../kernel/schema.ts'
import { Selection } from './selection-schema.ts'

const count = (description: string) => Type.Integer({ description })
export const states = ['prepared', 'waiting', 'running', 'finished', 'canceled'] as const
const itemStates = ['succeeded', 'failed', 'pending'] as const
const jobId = Name({ description: 'Id of the job.' })
export const ofJob = Type.Object({ jobId })
export const noJob = 'There is no such job, or the caller may not read it.'

const jobFields = {
  jobId,
  kind: Type.String({
    description: 'Kind of work, such as `register.delete-endpoints`: the service that does it, and what it does.',
  }),
  title: Type.String({ description: 'The kind of work in words.' }),
  state: Type.Enum([...states], {
    description:
      'prepared: a preview that was not started; it is deleted after a day. waiting: queued. running: in progress. finished: every item ' +
      'succeeded or failed. canceled: pending items were not touched.',
  }),
  owner: Type.Object(
    {
      type: Type.String({ description: 'Kind of the caller: `user`, `client`, `api-key` or `system`.' }),
      id: Type.String({ description: 'Id of the caller.' }),
      name: Type.Optional(
        Type.String({
          description:
            'Name of the caller at that time: the user name, or the name of the API key. Omitted for a client.',
        }),
      ),
    },
    {
      title: 'JobOwner',
      description: 'The caller who created the job, with whose permissions its items were selected.',
    },
  ),
  applicationName: Type.Optional(
    Type.String({
      description:
        'Application of all items. Omitted if the items belong to several applications, or to no application.',
    }),
  ),
  counts: Type.Object(
    {
      total: Type.Optional(
        count('Number of all items: succeeded + failed + pending. Omitted while the number is not known.'),
      ),
      succeeded: count('Number of items that are done.'),
      failed: count('Number of items that were rejected or could not be processed; each item has a reason.'),
      pending: Type.Optional(count('Number of items that are not done. Omitted while the number is not known.')),
    },
    { title: 'JobCounts', description: 'The progress of a job. The numbers add up at any time.' },
  ),
  problem: Type.Optional(
    Type.String({
      description: 'Reason why the last attempt failed; the attempt is repeated. Omitted if no attempt failed.',
    }),
  ),
  createdDate: DateTime({ description: 'Time at which the job was created, in UTC.' }),
  finishedDate: Type.Optional(
    DateTime({ description: 'Time at which the job ended, in UTC. Omitted if it has not ended.' }),
  ),
  cancelable: Type.Boolean({ description: 'True when the job can be canceled now.' }),
  hasItems: Type.Boolean({ description: 'True when the job has a list of items with results.' }),
}
const Job = Type.Object(jobFields, { title: 'Job', description: 'Work over many items that runs in the background.' })
const detailFields = {
  ...jobFields,
  parameters: JsonObject({
    description: 'Input of the job, which depends on its kind: for example the patch, or the name of the new version.',
  }),
  file: Type.Optional(
    Type.Object(
      {
        name: Type.String({ description: 'Name of the file.' }),
        size: Type.Integer({ description: 'Size of the file in bytes.' }),
        expiresDate: DateTime({ description: 'Time at which the platform deletes the file, in UTC.' }),
      },
      {
        title: 'ExportFile',
        description:
          'The file of a finished export. Omitted if the job is not an export or has not finished, or if its file has expired.',
      },
    ),
  ),
}
export const JobDetails = Type.Object(detailFields, { title: 'JobDetails', description: 'A job with its parameters.' })
const CreatedJob = Type.Object(
  {
    ...detailFields,
    samples: Type.Array(Type.String(), { description: 'Ids of the first ten endpoints that the job changes.' }),
    refused: count(
      'Number of selected endpoints on which the caller lacks the scope. These endpoints fail without an attempt.',
    ),
    refusedSamples: Type.Array(
      Type.Object(
        {
          endpointId: Type.String({ description: 'Id of the endpoint.' }),
          reason: Type.String({ description: 'Reason why the job does not change the endpoint.' }),
        },
        { title: 'RefusedEndpoint', description: 'A selected endpoint that the caller may not change.' },
      ),
      { description: 'The first ten endpoints that are refused, each with the reason.' },
    ),
  },
  { title: 'CreatedJob', description: 'A new job, with samples of its selection.' },
)

const select = describedAs(Selection, 'The endpoints that the job changes.')
const preview = Type.Optional(
  Type.Boolean({
    description:
      'True when the job only selects its endpoints. It then has the state `prepared`, and its creator starts it within a day. Default: false.',
  }),
)
const selectExample = { applicationName: 'greenhouse', applicationVersionName: 'greenhouse-v1' }

const created = {
  response: { 201: CreatedJob, 409: failure('The tenant has too many jobs that have not ended. Nothing was created.') },
  fails: {
    403: 'The caller may change none of the selected endpoints.',
    404: 'No endpoint of the request exists, or the caller may read no endpoint of the request.',
  },
}
const background =
  'Answers immediately; the job runs in the background, in parts. Each part is done completely or not at all. The caller needs the scope on ' +
  'each endpoint when the job is created; endpoints without it fail with a reason.'

export const createDeletion = {
  name: 'jobs.deletions.create',
  summary: 'Unregister many endpoints by a job',
  description: `Unregisters the selected endpoints as \`endpoints.delete\` does. ${background}`,
  body: Type.Object(
    { select, preview },
    {
      title: 'NewDeletionJob',
      description: 'The endpoints to unregister.',
      examples: [{ select: selectExample, preview: true }],
    },
  ),
  ...created,
}
export const createMetadataPatch = {
  name: 'jobs.metadataPatches.create',
  summary: 'Change the metadata of many endpoints by a job',
  description: `Applies one patch to the metadata of each selected endpoint. If the patch does not fit an endpoint, only that endpoint fails. ${background}`,
  body: Type.Object(
    {
      select,
      preview,
      operations: Type.Optional(
        Type.Array(AnyJson({ description: 'An operation of RFC 6902: add, remove, replace, move, copy or test.' }), {
          minItems: 1,
          maxItems: 1000,
          description: 'JSON Patch (RFC 6902). Exactly one of `operations` and `merge`.',
        }),
      ),
      merge: Type.Optional(
        JsonObject({
          description:
            'JSON Merge Patch (RFC 7396): keys to set, null deletes a key. Exactly one of `operations` and `merge`.',
        }),
      ),
    },
    {
      title: 'NewMetadataJob',
      description: 'The endpoints to change, and the patch of their metadata.',
      examples: [{ select: selectExample, merge: { city: 'Lviv', floor: null } }],
    },
  ),
  ...created,
}
export const createVersionChange = {
  name: 'jobs.versionChanges.create',
  summary: 'Move many endpoints to another version of their application by a job',
  description: `Moves each selected endpoint to the version. The move fails for endpoints of another application. ${background}`,
  body: Type.Object(
    {
      select,
      preview,
      versionName: Name({ description: 'Name of the application version to move the endpoints to.' }),
    },
    {
      title: 'NewVersionJob',
      description: 'The endpoints to move, and their new version.',
      examples: [{ select: selectExample, versionName: 'greenhouse-v2' }],
    },
  ),
  ...created,
}

export const createCommands = {
  name: 'jobs.commands.create',
  summary: 'Send a command to many endpoints by a job',
  description: `Makes one command for each selected endpoint; \`commandId\` of an item is the id of its command. ${background}`,
  body: Type.Object(
    {
      select,
      preview,
      commandType: Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: '^[A-Za-z0-9_-]+$',
        description: 'Type of the command: letters, digits, `_` and `-`. The device decides what it means.',
      }),
      payload: Type.Optional(
        AnyJson({ description: 'Payload of the command: any JSON of at most 16384 bytes. Default: none.' }),
      ),
      commandTtl: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 31_536_000_000,
          description:
            'Milliseconds until a command expires, from the moment in which the job makes it; at most a year. 0: pushed once if the ' +
            'device is connected, and not kept. Default: 60000.',
        }),
      ),
    },
    {
      title: 'NewCommandJob',
      description: 'The endpoints that get a command, and the command.',
      examples: [{ select: selectExample, commandType: 'reboot', payload: { delay: 5 }, commandTtl: 3_600_000 }],
    },
  ),
  ...created,
  fails: { ...created.fails, 413: 'The payload is larger than 16384 bytes.' },
}
export const createConfigurations = {
  name: 'jobs.configurations.create',
  summary: 'Set a configuration of many endpoints by a job',
  description:
    'Gives each selected endpoint the configuration for its present version, and pushes it to connected devices. An endpoint that ' +
    `already has an equal configuration keeps it. If the schema of its version rejects the configuration, the endpoint fails with the reason. ${background}`,
  body: Type.Object(
    {
      select,
      preview,
      name: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          pattern: '^[a-zA-Z0-9_-]+$',
          description: 'Name of the configuration: letters, digits, `_` and `-`. Default: default.',
        }),
      ),
      config: AnyJson({ description: 'The configuration: any JSON of at most 1,000,000 bytes.' }),
    },
    {
      title: 'NewConfigurationJob',
      description: 'The endpoints that get a configuration, and the configuration.',
      examples: [{ select: selectExample, config: { interval: 5 } }],
    },
  ),
  ...created,
  fails: { ...created.fails, 413: 'The configuration is larger than 1,000,000 bytes.' },
}

export const listJobs = {
  name: 'jobs.list',
  summary: 'List the jobs of all services',
  description:
    'The newest first: jobs over endpoints, batches of registrations, commands to filters, matching of filters, exports. The caller sees its own jobs, and with the scope `application:job:read` all jobs of the tenant or of an application. Ended jobs are deleted after some days.',
  query: Type.Object({
    state: Type.Optional(TextList({ description: `Only jobs in these states: ${states.join(', ')}. Default: all.` })),
    kind: Type.Optional(TextList({ description: 'Only jobs of these kinds. Default: all.' })),
    applicationName: Type.Optional(
      Name({ description: 'Only jobs whose items all belong to this application. Default: all.' }),
    ),
    own: Type.Optional(
      Type.Boolean({ description: 'True when only jobs that the caller created are returned. Default: false.' }),
    ),
    ...offsetQuery(100, { all: false, maximum: 1000 }),
  }),
  response: { 200: contentPage(Job) },
}
export const readJob = {
  name: 'jobs.get',
  summary: 'Get a job with its progress',
  params: ofJob,
  response: { 200: JobDetails },
  fails: { 404: noJob },
}
export const listItems = {
  name: 'jobs.items.list',
  summary: 'List the items of a job with their results',
  description:
    'The items are in the order of processing. After a cancellation, items in the state `pending` were not processed, and all other items are done.',
  params: ofJob,
  query: Type.Object({
    state: Type.Optional(
      Type.Enum([...itemStates], {
        description:
          'Only items in this state. succeeded: done. failed: not done, see `reason`. pending: not done. Default: all.',
      }),
    ),
    ...offsetQuery(100, { all: false, maximum: 1000 }),
  }),
  response: {
    200: contentPage(
      Type.Object(
        {
          position: count('Number of the item, counted from 0.'),
          state: Type.Enum([...itemStates], {
            description:
              'succeeded: done. failed: not done, see `reason`. pending: not done yet, or never after a cancellation.',
          }),
          endpointId: Type.Optional(
            Type.String({ description: 'Id of the endpoint. Omitted if the endpoint does not exist yet.' }),
          ),
          reason: Type.Optional(
            Type.String({ description: 'Reason why the item failed. Omitted if it has not failed.' }),
          ),
          commandId: Type.Optional(
            Type.Integer({
              description: 'Id of the command for the endpoint. Omitted if no command was created.',
            }),
          ),
        },
        { title: 'JobItem', description: 'An item of a job, with its result.' },
      ),
    ),
  },
  fails: { 404: noJob },
}
export const startJob = {
  name: 'jobs.execute',
  summary: 'Start a job that was created as a preview',
  description: 'Processes exactly the endpoints of the preview. Only the caller who created it can start it.',
  params: ofJob,
  response: { 200: JobDetails, 409: failure('The job is not in state `prepared`.') },
  fails: { 403: 'Another caller created the preview.', 404: noJob },
}
export const cancelJob = {
  name: 'jobs.cancel',
  summary: 'Cancel a job',
  description:
    'Waits for the part in progress. After the response, no further item is processed: an item is either done, or in the state `pending` and unchanged. The creator of a job can cancel it; other callers need the scope `application:job:cancel`.',
  params: ofJob,
  response: { 200: JobDetails, 409: failure('The job has ended, or jobs of its kind cannot be canceled.') },
  fails: { 403: 'The caller did not create the job and lacks the scope.', 404: noJob },
}
