/** Shapes for the retention of points. */
import { DateTime, Type } from '../../../kernel/schema.ts'
import { application, noApplication } from './common.ts'

const days = (description: string) => Type.Integer({ minimum: 1, maximum: 36_500, description })

const Retention = Type.Object(
  {
    days: Type.Optional(
      days('Days for which points of series that `series` does not name are kept. Default: for ever.'),
    ),
    series: Type.Optional(
      Type.Record(Type.String({ maxLength: 300 }), days('Days for which points of this series are kept.'), {
        description:
          'Days for which points are kept, by name of the series, such as `auto~temperature`. Default: none.',
      }),
    ),
  },
  {
    title: 'Retention',
    description: 'Retention: the time for which points are kept.',
    additionalProperties: false,
    examples: [{ days: 365, series: { 'auto~vibration': 30 } }],
  },
)

const RetentionPreview = Type.Object(
  {
    points: Type.Integer({ description: 'Number of points that would be deleted.' }),
    bytes: Type.Integer({ description: 'Size of the packed points in bytes.' }),
    series: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Name of the series.' }),
          valueName: Type.String({ description: 'Name of the value.' }),
          days: Type.Integer({ description: 'Days for which points are kept.' }),
          before: DateTime({ description: 'Points before this time would be deleted; whole days, in UTC.' }),
          points: Type.Integer({
            description:
              'Number of points that would be deleted. If a point was overwritten before it was packed, each version of the point counts.',
          }),
          unpacked: Type.Integer({
            description: 'Number of these points that arrived late and are not packed yet.',
          }),
          bytes: Type.Integer({ description: 'Size of the packed points in bytes.' }),
        },
        {
          title: 'SeriesRetentionPreview',
          description: 'Points of one value of a series that a retention would delete.',
        },
      ),
      { description: 'Every value of a series that is not kept for ever.' },
    ),
    problems: Type.Array(
      Type.Object(
        {
          place: Type.String({ description: 'Path of the wrong part in the configuration.' }),
          problem: Type.String({ description: 'Reason why this part of the configuration cannot be used.' }),
        },
        { title: 'ConfigurationProblem', description: 'A part of a configuration that is not valid.' },
      ),
      { description: 'Parts of the configured retention that are not valid; these parts delete nothing.' },
    ),
  },
  { title: 'RetentionPreview', description: 'Points that a retention would delete now.' },
)

const previewText =
  'Deletes nothing. The retention of an application is `retention` in its configuration of the instance `epts`.'

export const previewRetention = {
  name: 'timeSeries.retention.preview',
  summary: 'Preview what the configured retention would delete now',
  description: previewText,
  params: application,
  response: { 200: RetentionPreview },
  fails: noApplication,
}

export const previewProposedRetention = {
  name: 'timeSeries.proposedRetention.preview',
  summary: 'Preview what a proposed retention would delete now',
  description: previewText,
  params: application,
  body: Retention,
  response: { 200: RetentionPreview },
  fails: noApplication,
}
