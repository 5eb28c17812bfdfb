// Averages the points of the last hour. `range` includes both ends and returns the oldest point first.
const points = ctx.endpoint.getTimeSeries('auto~humidity').range('now-1h', 'now')
const sum = points.reduce((total, { values }) => total + values.value, 0)
return points.length > 0 && sum / points.length > 60
