/** Writes a name of the API with dashes: `applicationName` becomes `application-name`. */
export const dashed = (name: string) =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
