/** Returns the text of an answer that the SDK streams, for files that are small. */
export const textOf = (download: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> =>
  new Response(download).text()
