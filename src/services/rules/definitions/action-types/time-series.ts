import { absoluteTimeOf } from '../../../../kernel/times.ts'
import { timeSeriesName } from '../names.ts'
import { type ActionTypeDefinition, endpointIdsExpression } from './action-type.ts'

export const timeSeries: ActionTypeDefinition = {
  type: 'time-series',
  title: 'TimeSeriesAction',
  description: 'Adds a point to a time series of endpoints.',
  attributes: {
    valuesExpression: {
      description: 'An object with the values of the point by name, or one value, which is named `value`.',
      literal: 'value',
      required: true,
    },
    timestampExpression: {
      description:
        'Time of the point: ISO 8601 (UTC if it has no time zone), milliseconds since 1970 or a Date. If absent: now.',
      literal: 'text',
      problem: (value) =>
        absoluteTimeOf(String(value)) === undefined
          ? 'expected ISO 8601, milliseconds since 1970, or a script'
          : undefined,
    },
    endpointIdsExpression,
  },
  fields: { timeSeriesName: timeSeriesName('Name of the time series.') },
  needs: ['endpoint:update', 'time-series:update'],
  example: { name: 'comfort', timeSeriesName: 'comfort', valuesExpression: 'return { value: ctx.data.comfort }' },
}
