import { count } from '../../parts/texts.ts'

/** Returns a rounded percentage. The result is 0 % only if the part is 0, and 100 % only if the part is the whole. */
function percentOf(part: number, all: number): string {
  const percent = Math.round((100 * part) / all)
  if (percent === 0 && part > 0) return 'Less than 1 %'
  return percent === 100 && part < all ? 'More than 99 %' : `${percent} %`
}

export const texts = {
  title: 'Overview',
  lead: 'The present state of your devices, alerts and jobs.',
  endpoints: 'Endpoints',
  connected: 'Connected',
  shareNote: (part: number, all: number) => `${percentOf(part, all)} of all endpoints`,
  silent: 'No activity in a day',
  alerts: 'Open alerts',
  alertsNone: 'No alert is open.',
  allAlerts: 'All alerts',
  jobs: 'Running jobs',
  jobsNote: (waiting: number) => `${count(waiting)} waiting`,
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
    from: 'From',
    type: 'Type',
    severity: 'Severity',
    since: 'Since',
  },
  tenants: 'Tenants',
  nodes: 'Nodes',
  nodesAway: (away: number) => (away === 1 ? '1 has stopped' : `${count(away)} have stopped`),
  database: 'Database',
  lastBackup: 'Last backup',
  noBackup: 'None',
  nothingTitle: 'You may not see anything yet',
  nothingText: 'Your user has no role and no grant. Ask an administrator of your tenant for a role.',
  firstTitle: 'Connect your first device',
  firstText:
    'One page makes everything that a device needs, gives you the lines to run, and shows the first message when it arrives. Without a device, the page itself can act as a device.',
  connect: 'Connect a device',
  firstAction: 'Create an application',
}
