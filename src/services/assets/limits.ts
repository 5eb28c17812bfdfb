/** Maximum number of characters of a definition. */
export const definitionLengthMax = 262_144
