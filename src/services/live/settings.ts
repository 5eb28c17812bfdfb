import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const liveSettings = defineSettings(
  {
    LIVE_STREAMS: {
      kind: 'integer',
      default: '2000',
      meaning: 'maximum number of live streams with topics on this node',
    },
    LIVE_STREAMS_PER_TENANT: {
      kind: 'integer',
      default: '500',
      meaning: 'maximum number of live streams with topics of one tenant on this node',
    },
    LIVE_STREAMS_PER_CALLER: {
      kind: 'integer',
      default: '20',
      meaning: 'maximum number of live streams with topics of one user, client or API key on this node',
    },
  },
  (value) => ({
    total: value.LIVE_STREAMS,
    perTenant: value.LIVE_STREAMS_PER_TENANT,
    perCaller: value.LIVE_STREAMS_PER_CALLER,
  }),
)
export type LiveSettings = SettingsOf<typeof liveSettings>
