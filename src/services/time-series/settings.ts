import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const timeSeriesSettings = defineSettings(
  {
    SERIES_PER_APPLICATION: {
      kind: 'integer',
      default: '10000',
      meaning: 'time series values that an application may have; a sample with more is refused',
    },
    LIVE_SUBSCRIPTIONS: {
      kind: 'integer',
      default: '1000',
      meaning: 'how many may watch time series at the same time in this process',
    },
    LIVE_SUBSCRIPTIONS_PER_TENANT: {
      kind: 'integer',
      default: '100',
      meaning: 'how many of one tenant may watch time series at the same time in this process',
    },
  },
  (value) => ({
    /** Values of series that an application may have. */
    seriesMax: value.SERIES_PER_APPLICATION,
    /** How many may watch points at the same time, in this process. */
    live: { inAll: value.LIVE_SUBSCRIPTIONS, perTenant: value.LIVE_SUBSCRIPTIONS_PER_TENANT },
  }),
)
export type TimeSeriesSettings = SettingsOf<typeof timeSeriesSettings>
