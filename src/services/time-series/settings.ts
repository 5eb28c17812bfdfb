import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const timeSeriesSettings = defineSettings(
  {
    SERIES_PER_APPLICATION: {
      kind: 'integer',
      default: '10000',
      meaning: 'maximum number of time series values of an application; a sample with a further value is rejected',
    },
    LIVE_SUBSCRIPTIONS: {
      kind: 'integer',
      default: '1000',
      meaning: 'maximum number of live streams on this node',
    },
    LIVE_SUBSCRIPTIONS_PER_TENANT: {
      kind: 'integer',
      default: '100',
      meaning: 'maximum number of live streams of one tenant on this node',
    },
  },
  (value) => ({
    /** Maximum number of series values in an application. */
    seriesMax: value.SERIES_PER_APPLICATION,
    /** Maximum number of live streams on this node, in total and for each tenant. */
    live: { total: value.LIVE_SUBSCRIPTIONS, perTenant: value.LIVE_SUBSCRIPTIONS_PER_TENANT },
  }),
)
export type TimeSeriesSettings = SettingsOf<typeof timeSeriesSettings>
