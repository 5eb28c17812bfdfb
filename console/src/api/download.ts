/** Returns the text of a response that the SDK streams. Use it for small files only. */
export const textOf = (download: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> =>
  new Response(download).text()
