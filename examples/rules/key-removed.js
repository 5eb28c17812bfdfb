// Finds metadata keys that were removed, and writes them to the trace.
const keys = Object.keys(ctx.trigger.endpointMetadataUpdated.removed)
console.log('removed:', keys.join(', '))
return keys.includes('owner')
