/** Characters of a definition. */
export const definitionLengthMax = 262_144
