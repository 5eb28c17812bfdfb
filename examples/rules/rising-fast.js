// Compares the newest stored point with the point before it. `last(2)` returns the newest point first.
const [newest, previous] = ctx.endpoint.getTimeSeries('auto~temperature').last(2)
if (!previous) return null
return newest.values.value - previous.values.value > 5
