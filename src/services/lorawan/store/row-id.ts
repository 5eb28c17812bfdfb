/**
 * Returns 0, which is not the id of any row, for an integer in a path that cannot be an id. The response is then the same as for an unknown
 * id.
 */
export const rowIdOf = (id: number) => (id > 0 && id <= 2_147_483_647 ? id : 0)
