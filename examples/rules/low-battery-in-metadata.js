// Reads the current metadata of the endpoint; this works for every kind of event. `?.` handles endpoints without the key `battery`.
return ctx.endpoint.getMetadata().battery?.level < 15
