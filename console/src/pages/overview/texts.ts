import { count } from '../../parts/texts.ts'

export const texts = {
  title: 'Overview',
  lead: 'What your fleet does at the moment.',
  endpoints: 'Endpoints',
  connected: 'Connected',
  connectedNote: (share: number) => `${share} % of all endpoints`,
  applications: 'Applications',
  alerts: 'Open alerts',
  number: (value: number | undefined) => (value === undefined ? '…' : count(value)),
  newest: 'Newest endpoints',
  allEndpoints: 'All endpoints',
  refused: 'Refused messages',
  refusedNone: 'No message was refused. Refused messages of devices and their reasons appear here.',
  columns: {
    id: 'Id',
    version: 'Version',
    created: 'Registered',
    time: 'Time',
    reason: 'Reason',
    endpoint: 'Endpoint',
  },
  firstTitle: 'Connect your first device',
  firstText:
    'Create an application for a kind of device, a version of it, and an endpoint. The token of the endpoint is what the device needs.',
  firstAction: 'Create an application',
  register: 'Register an endpoint',
}
