// Starts when metadata changes. Values of the change are texts, so convert them before you compare them as numbers.
const { added, updated } = ctx.trigger.endpointMetadataUpdated
const level = updated.battery?.newValue ?? added.battery
return level === undefined ? null : Number(level) < 15
