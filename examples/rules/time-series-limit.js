// Starts when points are added to time series. Points are in the order of their times: `at(-1)` is the newest.
const points = ctx.trigger.endpointTimeSeriesUpdated['auto~co2']
return points.at(-1).values.value > 1000
