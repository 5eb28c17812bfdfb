// Reads the present metadata of the endpoint, whatever the event was. `?.` covers endpoints without the key.
return ctx.endpoint.getMetadata().battery?.level < 15
