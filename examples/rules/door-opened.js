// Starts when metadata changes, and reacts to one transition only.
const door = ctx.trigger.endpointMetadataUpdated.updated.door
return door?.oldValue === 'closed' && door.newValue === 'open' ? true : null
