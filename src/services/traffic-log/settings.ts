import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const trafficLogSettings = defineSettings(
  {
    TRAFFIC_LOG_PAYLOAD_BYTES: {
      kind: 'integer',
      default: '16384',
      meaning: 'maximum payload in bytes that the traffic log stores; longer ones are cut and marked',
    },
    TRAFFIC_LOG_DAYS: { kind: 'integer', default: '7', meaning: 'days that the traffic log keeps its records' },
  },
  (value) => ({
    payloadBytesMax: value.TRAFFIC_LOG_PAYLOAD_BYTES,
    retentionDays: Math.max(1, value.TRAFFIC_LOG_DAYS),
  }),
)
export type TrafficLogSettings = SettingsOf<typeof trafficLogSettings>
