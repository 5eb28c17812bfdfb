import { defineSettings, type SettingsOf } from '../../kernel/settings.ts'

export const trafficLogSettings = defineSettings(
  {
    TRAFFIC_LOG_PAYLOAD_BYTES: {
      kind: 'integer',
      default: '16384',
      meaning: 'maximum payload in bytes that the traffic log stores; longer payloads are cut and marked',
    },
    TRAFFIC_LOG_DAYS: {
      kind: 'integer',
      default: '7',
      range: [1, 36_500],
      meaning: 'days that the traffic log keeps its records',
    },
    TRAFFIC_LOG_BYTES: {
      kind: 'integer',
      default: '10737418240',
      range: [0, 10 ** 15],
      meaning: 'maximum size of packed traffic records in bytes; beyond it the oldest hour is deleted; 0: no limit',
    },
  },
  (value) => ({
    payloadBytesMax: value.TRAFFIC_LOG_PAYLOAD_BYTES,
    bytesMax: value.TRAFFIC_LOG_BYTES,
    retentionDays: value.TRAFFIC_LOG_DAYS,
  }),
)
export type TrafficLogSettings = SettingsOf<typeof trafficLogSettings>
