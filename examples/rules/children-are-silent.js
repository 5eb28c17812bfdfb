// Looks at the endpoints that this one contains, for example the sensors of a gateway.
const silent = ctx.endpoint.getChildren().filter((child) => child.getMetadata('status') === 'silent')
ctx.data.count = silent.length
return silent.length > 0
