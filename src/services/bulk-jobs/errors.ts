import { defineError } from '../../kernel/errors.ts'

export const NoJob = defineError<{ jobId: string }>(
  'no_such_job',
  404,
  'There is no job {jobId}, or the caller may not read it; ended jobs are deleted after some days',
)
export const JobEnded = defineError<{ jobId: string; state: string }>(
  'job_ended',
  409,
  'Job {jobId} has ended already: its state is {state}',
)
export const JobNotCancelable = defineError<{ jobId: string; title: string }>(
  'job_not_cancelable',
  409,
  'Job {jobId} ({title}) cannot be canceled, because an object would stay incomplete; wait for its end',
)
export const JobNotPrepared = defineError<{ jobId: string; state: string }>(
  'job_not_prepared',
  409,
  'Job {jobId} is not a preview that can be started: its state is {state}',
)
export const NotOwnJob = defineError<{ jobId: string }>(
  'job_of_another_caller',
  403,
  'Only the caller who created the preview {jobId} can start it: the job acts with the permissions of its creator',
)
export const TooManyJobs = defineError<{ limit: number }>(
  'too_many_jobs',
  409,
  'The tenant has {limit} jobs that have not ended, the maximum; wait until a job ends, or cancel a job',
)
export const NoExportFile = defineError<{ jobId: string }>(
  'no_export_file',
  404,
  'Job {jobId} has no file, or its file has expired; create the export again',
)
export const ExportNotFinished = defineError<{ jobId: string; state: string }>(
  'export_not_finished',
  409,
  'The file of job {jobId} is not complete: its state is {state}',
)
export const NotOwnFile = defineError<{ jobId: string }>(
  'export_of_another_caller',
  403,
  'Only the caller who created the export {jobId} can download its file, which was read with the permissions of its creator',
)
export const NoAccount = defineError(
  'caller_without_account',
  403,
  'An export reads with the permissions of its creator, and this caller has no account on the platform: log in with a user, client or API key',
)
