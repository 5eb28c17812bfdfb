/** Contents of dashboards for tests. */

const area = { x: 0, y: 0, width: 12, height: 6 }

/** One widget of each kind, with all fields of that kind. */
export const everyWidget = [
  {
    kind: 'chart',
    id: 'temperature',
    title: 'Temperature',
    ...area,
    series: [{ endpoint: '$device', timeSeries: 'auto~temperature', value: 'value', label: 'T', colour: 'blue' }],
    style: 'area',
    aggregate: 'avg',
    unit: '°C',
    time: '$when',
    thresholds: [{ from: -1.5, colour: 'red' }],
  },
  { kind: 'value', id: 'now', ...area, series: { timeSeries: 'auto~temperature' }, aggregate: 'last', decimals: 1 },
  {
    kind: 'table',
    id: 'list',
    ...area,
    application: '$app',
    filter: '$which',
    columns: ['id', 'metadata.city'],
    limit: 20,
  },
  { kind: 'map', id: 'map', ...area, application: '$app', label: 'metadata.name', colourBy: 'state' },
  { kind: 'alerts', id: 'alerts', ...area, endpoint: '$device', states: ['ACTIVE'], severities: ['HIGH'] },
  {
    kind: 'command',
    id: 'reboot',
    ...area,
    endpoint: '$device',
    commandType: 'reboot',
    payload: { __proto__x: [1, null] },
  },
  { kind: 'text', id: 'note', ...area, text: '# Title\n<script>alert(1)</script>' },
]

export const aDefinition = {
  variables: [
    { name: 'app', kind: 'application', label: 'Application', value: 'a' },
    { name: 'which', kind: 'filter' },
    { name: 'device', kind: 'endpoint' },
    { name: 'when', kind: 'time', value: 'PT6H' },
  ],
  widgets: everyWidget,
}
