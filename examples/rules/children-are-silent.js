// Checks the endpoints that the endpoint of the event contains, for example the sensors of a field gateway.
const silent = ctx.endpoint.getChildren().filter((child) => child.getMetadata('status') === 'silent')
ctx.data.count = silent.length
return silent.length > 0
