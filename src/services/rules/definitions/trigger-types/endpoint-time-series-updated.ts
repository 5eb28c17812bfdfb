import { timeSeriesName } from '../names.ts'
import { example, listOfNames, type TriggerTypeDefinition } from './trigger-type.ts'

export const endpointTimeSeriesUpdated: TriggerTypeDefinition = {
  type: 'endpoint-time-series-updated',
  title: 'EndpointTimeSeriesUpdatedTrigger',
  description: 'Fires when points are added to time series of an endpoint, once for each message.',
  fields: {
    timeSeriesNames: listOfNames(
      timeSeriesName('Name of a time series.'),
      'Fires only for these time series. If absent: for all.',
    ),
  },
  example: { ...example, timeSeriesNames: ['auto~temperature'] },
}
