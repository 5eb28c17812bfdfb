/** Returns the applications with their versions. The name of a version is `<application>-<suffix>`, and a suffix contains no `-`. */
export const withVersions = (applications: string[], versions: string[]) =>
  applications.map((name) => ({
    name,
    displayName: undefined,
    versions: versions
      .filter((version) => version.slice(0, version.lastIndexOf('-')) === name)
      .map((version) => ({ name: version })),
  }))
